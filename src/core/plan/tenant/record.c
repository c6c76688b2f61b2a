/* The record of the shares: for each the longest wait under FIFO, the pods that have ended and
 * still stand there, and the starts of those that have not. Lines of words; times in seconds before
 * the record was written:
 *
 *     tenants1 SECONDS
 *     s TENANT RESOURCE LONGEST [MODEL]
 *     e SHARE USER UNITS PRIORITY TIMEOUT SUBMITTED FIFO-START USER-START START RUN
 *     p NUMBER FIFO-START USER-START START
 *
 * Where there is no room for all, the last lines are missing. Pods that wait stand first: what
 * they lose is their turn. What cannot be read is passed over. save.c writes it. */
#include "core/plan/tenant/tenants.h"

#include <stdlib.h>

enum { WORDS_MAX = 11 };

/* A line "p". */
struct known {
    uint64_t number;
    int64_t fifo_us;
    int64_t user_us;
    int64_t start_us;
};

struct sl_plan_record {
    int64_t at_us;
    struct sl_map pods; /* number -> struct known */
    struct known *known;
    char *text; /* the lines */
    size_t len;
};

struct words {
    size_t n;
    struct sl_str at[WORDS_MAX];
};

static struct words words_of(struct sl_str line)
{
    struct words words = {.n = 0};
    while (line.s != NULL && words.n < WORDS_MAX) {
        words.at[words.n] = sl_str_cut(&line, ' ');
        words.n++;
    }
    return words;
}

static int64_t number_at(const struct words *words, size_t i)
{
    int64_t value = 0;
    return sl_str_to_i64(words->at[i], &value) ? value : 0;
}

static int64_t seconds_at(const struct words *words, size_t i)
{
    int64_t value = number_at(words, i);
    return value < SL_SHARE_RUN_MAX_US / SL_SECOND_US && value > -SL_SHARE_RUN_MAX_US / SL_SECOND_US
               ? value * SL_SECOND_US
               : 0;
}

static int64_t time_at(const struct sl_plan_record *record, const struct words *words, size_t i)
{
    return sl_str_eq(words->at[i], SL_STR("-")) ? INT64_MAX : record->at_us - seconds_at(words, i);
}

static uint64_t hex_of(struct sl_str text)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.len && i < 16; i++) {
        value = value << 4 | (uint64_t)sl_plan_hex(text.s[i]);
    }
    return value;
}

static void learn_pods(struct sl_plan_record *record, struct sl_str text)
{
    size_t n = 0;
    while (text.s != NULL) {
        const struct words words = words_of(sl_str_cut(&text, '\n'));
        if (words.n == 5 && sl_str_eq(words.at[0], SL_STR("p"))) {
            struct known *known = &record->known[n];
            *known = (struct known){.number = hex_of(words.at[1]),
                                    .fifo_us = time_at(record, &words, 2),
                                    .user_us = time_at(record, &words, 3),
                                    .start_us = time_at(record, &words, 4)};
            n += sl_map_put(&record->pods, (const char *)&known->number, sizeof(known->number),
                            known, NULL) == 0;
        }
    }
}

int sl_plan_record_load(struct sl_planner *planner, struct sl_str text, int64_t by_us,
                        struct sl_error *err)
{
    struct sl_str rest = text;
    const struct words head = words_of(sl_str_cut(&rest, '\n'));
    size_t lines = 1;
    planner->account.fresh = true;
    sl_plan_record_free(planner);
    if (head.n != 2 || !sl_str_eq(head.at[0], SL_STR("tenants1"))) {
        return 0;
    }
    for (size_t i = 0; i < text.len; i++) {
        lines += text.s[i] == '\n';
    }
    struct sl_plan_record *record = calloc(1, sizeof(*record));
    if (record != NULL) {
        record->at_us = sl_plan_earlier(seconds_at(&head, 1) + by_us, planner->now_us);
        record->text = malloc(rest.len + 1);
        record->known = calloc(lines, sizeof(*record->known));
    }
    planner->record = record;
    if (record == NULL || record->text == NULL || record->known == NULL) {
        sl_plan_record_free(planner);
        return sl_error_nomem(err);
    }
    memcpy(record->text, rest.s == NULL ? "" : rest.s, rest.len);
    record->len = rest.len;
    learn_pods(record, rest);
    return 0;
}

int sl_planner_tenants_load(struct sl_planner *planner, struct sl_str text, int64_t now_us,
                            struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    return sl_plan_record_load(planner, text, 0, err);
}

int64_t sl_plan_record_of(const struct sl_planner *planner, struct sl_str *lines)
{
    const struct sl_plan_record *record = planner->record;
    *lines =
        (struct sl_str){record == NULL ? NULL : record->text, record == NULL ? 0 : record->len};
    return record == NULL ? planner->now_us : record->at_us;
}

void sl_plan_record_free(struct sl_planner *planner)
{
    struct sl_plan_record *record = planner->record;
    planner->record = NULL;
    if (record != NULL) {
        sl_map_free(&record->pods);
        free(record->known);
        free(record->text);
        free(record);
    }
}

/* Puts an ended pod back on its share. Without memory it is lost. */
static void restore(struct sl_planner *planner, const struct words *words, struct sl_share *share)
{
    const struct sl_plan_record *record = planner->record;
    const struct sl_share_facts facts = {
        .item = {.priority = (int32_t)number_at(words, 4),
                 .timeout_us = seconds_at(words, 5),
                 .submit_us = time_at(record, words, 6)},
        .number = UINT64_MAX,
        .units = number_at(words, 3),
        .fifo_us = time_at(record, words, 7),
        .user_us = time_at(record, words, 8),
        .start_us = time_at(record, words, 9),
        .run_us = seconds_at(words, 10),
    };
    if (facts.units > 0 && facts.units <= SL_UNITS_MAX && facts.run_us >= 0) {
        struct sl_str user = sl_str_eq(words->at[2], SL_STR("-")) ? SL_STR("") : words->at[2];
        (void)sl_share_arrive(share, &facts, user, planner->now_us);
    }
}

void sl_plan_record_share(struct sl_planner *planner, const char *resource, const char *model,
                          const char *tenant, struct sl_share *share)
{
    struct sl_str text;
    (void)sl_plan_record_of(planner, &text);
    int64_t share_at = -1;
    int64_t n = 0;
    while (text.s != NULL) {
        const struct sl_str line = sl_str_cut(&text, '\n');
        char kind = line.len == 0 ? '\0' : line.s[0];
        const struct words words = kind == 'p' ? (struct words){.n = 0} : words_of(line);
        if (kind == 's') {
            bool same = words.n == (model[0] == '\0' ? 4 : 5) &&
                        sl_str_eq(words.at[1], sl_str_of(tenant)) &&
                        sl_str_eq(words.at[2], sl_str_of(resource));
            if (same && (words.n == 4 || sl_str_eq(words.at[4], sl_str_of(model)))) {
                share_at = n;
                sl_share_set_longest(share, seconds_at(&words, 3));
            }
            n++;
        } else if (kind == 'e' && words.n == WORDS_MAX && number_at(&words, 1) == share_at) {
            restore(planner, &words, share);
        }
    }
}

void sl_plan_record_pod(const struct sl_planner *planner, uint64_t number,
                        struct sl_share_facts *facts)
{
    const struct known *known =
        planner->record == NULL
            ? NULL
            : sl_map_get(&planner->record->pods, (const char *)&number, sizeof(number));
    if (known != NULL) {
        facts->fifo_us = known->fifo_us;
        facts->user_us = known->user_us;
        facts->start_us = known->start_us;
    }
}
