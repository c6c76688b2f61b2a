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

static void release_for_autoscaler(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    int32_t left = planner->config.autoscaler_pods;
    for (uint32_t i = 0; i < lane->n_queue && left > 0; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (!wants_nodes(sl_plan_reason(planner, pod))) {
            continue;
        }
        left--;
        if (!pod->released) {
            sl_plan_release_pod(planner, pod);
        }
    }
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
