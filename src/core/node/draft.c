/* Collects the problems of a node while it is judged. */
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
