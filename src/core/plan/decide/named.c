/* Nominates, before the walk, pods which name a node: those released before a restart, and those
 * for which kube-scheduler has made room. */
#include "core/plan/decide/decide.h"

/* Pods that may not take a nomination try one at a time, with a pause after each failure: together
 * they block one pod's devices for at most half of the time. */
bool sl_plan_is_to_pause(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!sl_plan_may_not_come(pod)) {
        return false;
    }
    struct sl_plan_retry *retry = sl_plan_retry_of(pod);
    if (retry->pod == NULL && retry->at_us <= planner->now_us) {
        return false;
    }
    retry->waits = retry->waits || retry->pod == NULL;
    return true;
}

void sl_plan_nominate_named(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    planner->names = false;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue;) {
            struct sl_plan_pod *pod = lane->queue[i];
            if (!pod->named || run->room == 0) {
                planner->names = planner->names || pod->named;
                i++;
                continue;
            }
            pod->named = false; /* so that it is passed over next, if it stays in the queue */
            struct sl_plan_pick pick = {.node = NULL};
            struct sl_plan_node *node = pod->pod->nominated == NULL
                                            ? NULL
                                            : sl_plan_node_find(planner, pod->pod->nominated);
            if (node != NULL && sl_plan_tenants_hold(planner, pod) == SL_HOLD_NONE) {
                sl_plan_pick(run, pod, node, &pick);
            }
            if (pick.node == NULL && node != NULL) {
                sl_plan_preempt_resume(run, pod, node);
            } else if (pick.node != NULL && !sl_plan_act_nominate(run, pod, &pick)) {
                pod->named = true;
                planner->names = true;
                return;
            }
        }
    }
}

/* Room that kube-scheduler made for a pod goes to that pod. */
void sl_plan_nominate_made_room(struct sl_plan_run *run)
{
    for (struct sl_plan_lane *lane = run->planner->lane; lane != NULL && run->room > 0;
         lane = lane->next) {
        struct sl_plan_pick pick = {.node = NULL};
        if (lane->run.making != NULL && !sl_plan_is_to_pause(run->planner, lane->preemptor) &&
            sl_plan_tenants_hold(run->planner, lane->preemptor) == SL_HOLD_NONE) {
            sl_plan_pick(run, lane->preemptor, lane->run.making, &pick);
        }
        if (pick.node != NULL && !sl_plan_act_nominate(run, lane->preemptor, &pick)) {
            return;
        }
    }
}
