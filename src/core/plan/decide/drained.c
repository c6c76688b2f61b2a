/* Which pods a drain keeps from a node, and until when. */
#include "core/plan/decide/decide.h"
#include "sliced/cut.h"

/* Does the order's promise to the pods of the lane bear the drains? A lane whose promise does not
 * is not drained: the pod that is due goes. */
static bool is_spared(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    struct sl_plan_lane_run *run = &lane->run;
    if (!run->drained || run->drained_touch != planner->seq.nodes) {
        run->drained = true;
        run->drained_touch = planner->seq.nodes;
        run->spared = sl_plan_bounded_spares(planner, lane);
        /* What drains forbade in this run may go. */
        sl_plan_touch(planner, run->spared ? 0 : SL_PLAN_KEPT);
    }
    return run->spared;
}

/* Has the drain's pod been ready first, and patient for long enough? Else pods that are ahead, or
 * due, as some always are under a stream of them, would take what comes free for ever. */
static bool gives_way(const struct sl_planner *planner, const struct sl_plan_node *node,
                      const struct sl_plan_pod *pod)
{
    const struct sl_plan_pod *first = node->drain_for;
    return pod->item.priority <= first->item.priority && pod->ready_us > first->ready_us &&
           sl_cut_is_patient(first->ready_us, first->item.timeout_us, node->drain_us,
                             planner->now_us);
}

static bool asks_for_drained(const struct sl_plan_node *node, const struct sl_plan_pod *pod)
{
    bool found = false;
    for (uint32_t i = 0; i < pod->pod->n_items; i++) {
        found = found || sl_plan_drains(node, pod->pod->items[i].key);
    }
    return found;
}

int64_t sl_plan_drained(struct sl_planner *planner, const struct sl_plan_node *node,
                        const struct sl_plan_pod *pod, int64_t at_us)
{
    bool held = node->drain_us > at_us &&
                sl_sat_add(at_us, pod->item.timeout_us) > node->drain_us &&
                asks_for_drained(node, pod);
    bool goes = held && !gives_way(planner, node, pod) &&
                (sl_plan_compare(planner, pod, node->drain_for) <= 0 ||
                 !is_spared(planner, sl_plan_lane_of(pod)));
    return held && !goes ? node->drain_us : at_us;
}
