/* Remembers how the cuts of a node went. */
#include <string.h>

#include "sliced/cut_run.h"
#include "util/data/sat.h"
#include "util/time.h"

/* A pod that came needs a plan that knows it. */
static const int64_t taken_us = 10 * SL_SECOND_US;

/* Did it fail while it was applied? A file that was behind, clients that did not go, or a write
 * that was not taken say nothing against the cut. */
static bool was_applied(const struct sl_cut_run *run)
{
    return run->outcome == SL_CUT_HALF_APPLIED || run->outcome == SL_CUT_NOT_FOLLOWED ||
           (run->outcome == SL_CUT_FAILED && run->moved);
}

void sl_cut_record_note(struct sl_cut_record *record, const struct sl_cut_run *run,
                        const struct sl_cut_rules *rules, int64_t now_us)
{
    int64_t took_us = now_us - run->begun_us;
    if (run->outcome == SL_CUT_DONE) {
        record->failures = 0;
        record->out_until_us = 0;
        record->suspect = 0;
        if (!run->resumed) {
            record->seconds_us = sl_cut_mean_us(record->seconds_us, took_us);
        }
        return;
    }
    if (run->resumed && run->outcome == SL_CUT_LEFT) {
        return; /* nothing was tried */
    }
    if (run->outcome == SL_CUT_TAKEN) {
        record->out_until_us = sl_sat_add(now_us, taken_us);
        return;
    }
    int64_t out_us = rules->backoff_us;
    for (uint32_t i = 0; i < record->failures && out_us < rules->max_backoff_us; i++) {
        out_us = sl_sat_add(out_us, out_us);
    }
    out_us = out_us < rules->max_backoff_us ? out_us : rules->max_backoff_us;
    record->failures += record->failures < UINT32_MAX ? 1 : 0;
    record->out_until_us = sl_sat_add(now_us, out_us);
    bool again = run->digest != 0 && record->suspect == run->digest;
    if (was_applied(run)) {
        record->suspect = run->digest;
    }
    if (was_applied(run) && again) {
        const uint64_t *failed = sl_cut_record_failed(record, now_us);
        memmove(&record->failed[1], failed, sizeof(record->failed) - sizeof(record->failed[0]));
        record->failed[0] = run->digest;
        record->failed_until_us = sl_sat_add(record->out_until_us, rules->max_backoff_us);
    }
}

const uint64_t *sl_cut_record_failed(const struct sl_cut_record *record, int64_t now_us)
{
    static const uint64_t none[SL_CUT_FAILED_KEPT] = {0};
    return now_us < record->failed_until_us ? record->failed : none;
}

int64_t sl_cut_mean_us(int64_t mean_us, int64_t took_us)
{
    return mean_us == 0 ? took_us : (3 * mean_us + took_us) / 4;
}

int64_t sl_cut_seconds_us(const struct sl_cut_record *record, int64_t others_us,
                          enum sl_actuator actuator)
{
    if (record != NULL && record->seconds_us > 0) {
        return record->seconds_us;
    }
    int64_t usual_us = (actuator == SL_ACTUATOR_MIG_MANAGER ? 60 : 10) * SL_SECOND_US;
    return others_us > 0 ? others_us : usual_us;
}
