/* Pods that are released though they do not fit: one for each resource that could preempt, so that
 * kube-scheduler does; and the first few for an autoscaler to see. */
#include "core/plan_internal.h"

void sl_plan_release_pod(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    uint64_t run = pod->run;
    pod->released = true;
    sl_plan_set_state(planner, pod, SL_QUEUE_RELEASED, reason);
    pod->run = run == planner->run ? run : planner->run;
    planner->n_releases++;
    const struct sl_plan_action action = {
        .kind = SL_PLAN_RELEASE, .pod = pod->pod, .reason = reason};
    sl_plan_tell(planner, &action);
}

/* ---- autoscalers ---- */

static bool wants_nodes(enum sl_hold_reason reason)
{
    return reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_CONSTRAINT || reason == SL_HOLD_NEVER;
}

/* Of what no node offers many resources share a lane: each has its own number. Without memory to
 * count by there are enough. */
static bool are_enough(const struct sl_planner *planner, struct sl_map *counted,
                       const struct sl_plan_pod *pod)
{
    struct sl_plan_ask *ask = pod->class->ask;
    const char *key = (const char *)&ask->ask.item[0].key;
    struct sl_plan_ask *first = sl_map_get(counted, key, sizeof ask->ask.item[0].key);
    if (first == NULL) {
        first = ask;
        first->wanted = 0;
        if (sl_map_put(counted, key, sizeof ask->ask.item[0].key, first, NULL) < 0) {
            return true;
        }
    }
    first->wanted++;
    return first->wanted > planner->config.autoscaler_pods;
}

static void release_for_autoscaler(struct sl_planner *planner, struct sl_plan_lane *lane)
{
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
            sl_plan_release_pod(planner, pod);
        }
    }
    sl_map_free(&counted);
}

void sl_plan_release(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (planner->config.preemption && lane->preemptor == NULL) {
            sl_plan_preempt(planner, lane);
        }
        release_for_autoscaler(planner, lane);
    }
}
