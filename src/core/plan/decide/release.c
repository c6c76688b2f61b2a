/* Releases pods that do not fit: for each resource one that could preempt, so that kube-scheduler
 * does; and the first few for an autoscaler to see. */
#include "core/plan/decide/decide.h"

static bool wants_nodes(enum sl_hold_reason reason)
{
    return reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_CONSTRAINT || reason == SL_HOLD_NEVER;
}

/* Resources that no node offers share a lane, so that each is counted apart. Without memory to
 * count, no further pod is released. */
static bool are_enough(const struct sl_planner *planner, struct sl_map *counted,
                       const struct sl_plan_pod *pod)
{
    struct sl_plan_ask *ask = pod->class->ask;
    const char *key = (const char *)&ask->ask.item[0].key;
    struct sl_plan_ask *first = sl_map_get(counted, key, sizeof(ask->ask.item[0].key));
    if (first == NULL) {
        first = ask;
        first->wanted = 0;
        if (sl_map_put(counted, key, sizeof(ask->ask.item[0].key), first, NULL) < 0) {
            return true;
        }
    }
    first->wanted++;
    return first->wanted > planner->config.autoscaler_pods;
}

static void release_for_autoscaler(struct sl_plan_run *run, struct sl_plan_lane *lane)
{
    struct sl_planner *planner = run->planner;
    struct sl_map counted = {.len = 0};
    int32_t left = planner->config.autoscaler_pods;
    bool any = left > 0;
    for (uint32_t i = 0; i < lane->n_queue && any; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (!wants_nodes(sl_plan_reason(planner, pod)) ||
            (lane->nowhere && are_enough(planner, &counted, pod))) {
            continue;
        }
        left--;
        any = left > 0 || lane->nowhere;
        if (!pod->released) {
            sl_plan_release_pod(run, pod);
        }
    }
    sl_map_free(&counted);
}

void sl_plan_release(struct sl_plan_run *run)
{
    for (struct sl_plan_lane *lane = run->planner->lane; lane != NULL; lane = lane->next) {
        if (lane->preemptor == NULL) {
            sl_plan_preempt(run, lane);
        }
        release_for_autoscaler(run, lane);
    }
}
