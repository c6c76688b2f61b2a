/* How long pods of one owner usually run: the median of the last ones that ended. For estimates
 * beside those by timeouts, and for nothing else. */
#include <stdlib.h>

#include "core/plan/state/state.h"

/* A node shows the pod no longer, or not as running. */
void sl_plan_note_run(struct sl_planner *planner, const struct sl_pod *pod)
{
    int64_t ran_s = (planner->now_us - pod->started_us) / SL_SECOND_US;
    bool ran = pod->started_us > 0 && ran_s >= 0;
    planner->stats.ended += ran;
    planner->stats.timeouts += ran && pod->timeout_s > 0 && ran_s >= pod->timeout_s;
    if (!planner->config.learn_runtime || pod->owner == 0 || !ran) {
        return;
    }
    if (planner->past == NULL) {
        planner->past = sl_past_new(SL_PLAN_OWNERS);
    }
    if (planner->past != NULL) { /* without memory nothing is usual */
        sl_past_add(planner->past, pod->owner, ran_s < INT32_MAX ? (int32_t)ran_s : INT32_MAX);
    }
}

static int by_size(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

bool sl_plan_learns(const struct sl_planner *planner)
{
    return planner->config.learn_runtime && planner->past != NULL;
}

int64_t sl_plan_usual(const struct sl_planner *planner, const struct sl_pod *pod)
{
    int32_t sorted[SL_PAST_VALUES];
    unsigned n = 0;
    const int32_t *run = !planner->config.learn_runtime || pod->owner == 0
                             ? NULL
                             : sl_past_values(planner->past, pod->owner, &n);
    if (n < SL_PLAN_RUNS_LEAST) {
        return 0;
    }
    memcpy(sorted, run, n * sizeof(*run));
    qsort(sorted, n, sizeof(*sorted), by_size);
    int64_t usual_us = sorted[n / 2] * SL_SECOND_US;
    int64_t timeout_us = sl_plan_timeout(planner, pod);
    usual_us = usual_us < SL_SECOND_US ? SL_SECOND_US : usual_us;
    return usual_us < timeout_us ? usual_us : timeout_us;
}
