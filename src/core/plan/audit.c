/* Walks all of the planner and checks that its parts agree: for tests, as it takes as long as there
 * are pods and nodes. */
#include "core/plan/decide/decide.h"
#include "util/check.h"

/* How often the pod stands in the node's list. */
static unsigned count_on(const struct sl_plan_node *node, const struct sl_plan_pod *pod)
{
    unsigned n = 0;
    for (const struct sl_plan_pod *at = node->nominations; at != NULL; at = at->node_next) {
        SL_CHECK(at->node == node);
        n += at == pod;
    }
    return n;
}

static bool is_in_queue(const struct sl_plan_lane *lane, const struct sl_plan_pod *pod)
{
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        if (lane->queue[i] == pod) {
            return true;
        }
    }
    return false;
}

static void audit_nomination(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    bool nominated = pod->nomination != NULL;
    SL_CHECK(nominated == (pod->state == SL_QUEUE_NOMINATED));
    SL_CHECK(nominated == (pod->list == &planner->nominations));
    SL_CHECK(nominated == (pod->node != NULL));
    if (nominated) {
        SL_CHECK(count_on(pod->node, pod) == 1);
        SL_CHECK(!pod->queued);
    }
}

static void audit_pod(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    audit_nomination(planner, pod);
    SL_CHECK(pod->class != NULL || pod->state == SL_QUEUE_REFUSED);
    if (pod->class != NULL) {
        SL_CHECK(pod->queued == is_in_queue(sl_plan_lane_of(pod), pod));
    }
    SL_CHECK(pod->list != &planner->expired || pod->reason == SL_HOLD_EXPIRED);
    SL_CHECK(pod->list != &planner->refused || pod->state == SL_QUEUE_REFUSED);
}

static void audit_lane(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    uint32_t members = 0;
    for (const struct sl_plan_ask *ask = sl_plan_ask_at(planner->all_asks.first); ask != NULL;
         ask = sl_plan_ask_at(ask->all.next)) {
        members += ask->lane[0] == lane ? ask->members : 0;
    }
    SL_CHECK(members == lane->members);
    SL_CHECK(lane->n_queue <= lane->members && lane->members <= lane->queue_cap);
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        SL_CHECK(lane->queue[i]->queued && sl_plan_lane_of(lane->queue[i]) == lane);
        SL_CHECK(i == 0 || sl_plan_compare(planner, lane->queue[i - 1], lane->queue[i]) < 0);
    }
    SL_CHECK(lane->reserve.pod == NULL || lane->reserve.pod->queued);
    SL_CHECK(lane->preemptor == NULL || lane->preemptor->queued);
}

void sl_planner_audit(const struct sl_planner *planner)
{
    size_t waiting[SL_QUEUE_STATES] = {0};
    size_t drains = 0;
    size_t reserves = 0;
    size_t lanes = 0;
    size_t at = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        audit_pod(planner, pod);
        waiting[pod->state]++;
    }
    for (unsigned i = 0; i < SL_QUEUE_STATES; i++) {
        SL_CHECK(waiting[i] == planner->stats.waiting[i]);
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        audit_lane(planner, lane);
        reserves += lane->reserve.active;
        lanes++;
    }
    for (size_t i = 0; i < planner->n_nodes; i++) {
        const struct sl_plan_node *node = planner->node[i];
        SL_CHECK(node->index == i);
        SL_CHECK(!planner->ready || (node->base != NULL && planner->base[i] == node->base));
        drains += node->drain_us > 0;
    }
    SL_CHECK(lanes == planner->n_lanes);
    SL_CHECK(reserves == planner->n_reserves);
    SL_CHECK(drains == planner->n_drains);
}
