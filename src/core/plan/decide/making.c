/* Where kube-scheduler makes room for a preemptor, and which pods may still start there. */
#include "core/plan/decide/decide.h"

struct sl_plan_node *sl_plan_making_node(const struct sl_planner *planner,
                                         const struct sl_plan_pod *pod)
{
    bool named = pod->pod->gate == SL_GATE_NONE && pod->pod->nominated != NULL;
    return named ? sl_plan_node_find(planner, pod->pod->nominated) : NULL;
}

void sl_plan_preempt_begin(struct sl_plan_run *run)
{
    run->n_making = 0;
    for (struct sl_plan_lane *lane = run->planner->lane; lane != NULL; lane = lane->next) {
        lane->run.making =
            lane->preemptor == NULL ? NULL : sl_plan_making_node(run->planner, lane->preemptor);
        run->n_making += lane->run.making != NULL;
    }
}

/* kube-scheduler does not place a pod of equal priority there either. */
static bool gives_way(const struct sl_plan_lane *lane, const struct sl_plan_pod *pod)
{
    return lane->preemptor != pod && pod->item.priority <= lane->preemptor->item.priority;
}

bool sl_plan_preempt_holds(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                           const struct sl_plan_pod *pod)
{
    return lane->preemptor != NULL && lane->run.making == NULL && gives_way(lane, pod) &&
           sl_plan_compare(planner, lane->preemptor, pod) < 0 &&
           sl_sat_add(lane->asked_us, SL_PLAN_NAMING_US) > planner->now_us;
}

bool sl_plan_preempt_holds_node(const struct sl_plan_run *run, const struct sl_plan_node *node,
                                const struct sl_plan_pod *pod)
{
    bool claims = false;
    for (const struct sl_plan_lane *lane = run->planner->lane;
         run->n_making > 0 && lane != NULL && !claims; lane = lane->next) {
        claims = lane->run.making == node && gives_way(lane, pod);
    }
    return claims;
}

bool sl_plan_preempt_allows(const struct sl_planner *planner, const struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, const struct sl_assignment *assignment)
{
    bool allows = true;
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL && allows;
         lane = lane->next) {
        allows = lane->run.making != node || !gives_way(lane, pod) ||
                 sl_plan_leaves_room(node, lane->preemptor, pod, assignment);
    }
    return allows;
}
