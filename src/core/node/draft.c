/* Collects the problems of a node while it is judged, and reads its labels. */
#include "core/node/draft.h"

void sl_draft_problem(struct sl_draft *draft, const char *start)
{
    sl_text_next(&draft->problem, start);
}

void sl_draft_problem_count(struct sl_draft *draft, struct sl_str what, int64_t have,
                            const char *text)
{
    sl_draft_problem(draft, "");
    sl_text_add(&draft->problem, what);
    sl_text_puts(&draft->problem, ": ");
    sl_text_i64(&draft->problem, have);
    sl_text_puts(&draft->problem, text);
}

int64_t sl_draft_number(const struct sl_pair *list, struct sl_str key)
{
    const struct sl_pair *pair = sl_pair_find(list, key);
    int64_t value = 0;
    bool good = pair != NULL && sl_str_to_i64(pair->value, &value) && value <= SL_UNITS_MAX;
    return good && value > 0 ? value : 0;
}

struct sl_str sl_draft_key(char out[SL_DRAFT_KEY_MAX], struct sl_str profile, const char *end)
{
    struct sl_text text;
    sl_text_init(&text, out, SL_DRAFT_KEY_MAX);
    sl_text_puts(&text, "nvidia.com/mig-");
    sl_text_add(&text, profile);
    sl_text_puts(&text, end);
    return (struct sl_str){out, text.len};
}
