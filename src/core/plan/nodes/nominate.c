/* Makes, withdraws and expires nominations. */
#include "core/plan/nodes/nodes.h"

#include <stdlib.h>

/* Pause between tries of a namespace whose releases are refused: short, as another pod may
 * succeed. */
static const int64_t doubted_rest_us = SL_SECOND_US;

static char *assignment_text(const struct sl_plan_node *node, const struct sl_plan_pod *pod,
                             const struct sl_assignment *assignment,
                             char text[SL_ASSIGNMENT_TEXT_MAX])
{
    size_t len = sl_assignment_format(node->node, &pod->class->ask->ask, assignment, text,
                                      SL_ASSIGNMENT_TEXT_MAX);
    return len == 0 ? NULL : text;
}

bool sl_plan_nominate(struct sl_planner *planner, struct sl_plan_pod *pod,
                      struct sl_plan_node *node, const struct sl_assignment *assignment)
{
    char text[SL_ASSIGNMENT_TEXT_MAX];
    struct sl_plan_nomination *nomination = calloc(1, sizeof(*nomination));
    struct sl_pod *copy = sl_pod_bound_to(
        pod->pod, node->node->name, assignment_text(node, pod, assignment, text), SL_POD_PENDING);
    struct sl_view *own =
        nomination == NULL || copy == NULL ? NULL : sl_plan_node_with(planner, node, copy);
    if (own == NULL) {
        sl_pod_unref(copy);
        free(nomination);
        return false;
    }
    *nomination = (struct sl_plan_nomination){
        .pod = copy,
        .node = node,
        .next = node->nominations,
        .since_us = planner->now_us,
        .held_us = planner->now_us,
    };
    pod->nomination = nomination;
    pod->released = false;
    node->nominations = pod;
    if (sl_plan_may_not_come(pod)) {
        sl_plan_retry_of(pod)->pod = pod;
    }
    sl_plan_settle(planner, pod);
    sl_plan_node_take(planner, node, own);
    planner->stats.nominations++;
    return true;
}

void sl_plan_withdraw(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_nomination *nomination = pod->nomination;
    struct sl_plan_node *node = nomination->node;
    struct sl_plan_pod **at = &node->nominations;
    while (*at != pod) {
        at = &(*at)->nomination->next;
    }
    *at = nomination->next;
    sl_pod_unref(nomination->pod);
    free(nomination);
    pod->nomination = NULL;
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_plan_retry *retry = sl_plan_retrying(lane, pod);
    if (retry != NULL) {
        retry->pod = NULL;
    }
    sl_plan_node_stale(planner, node, false);
}

void sl_plan_time_out(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    int64_t wait = planner->config.hold_us;
    for (uint32_t i = 0; i < pod->strikes && wait < planner->config.hold_max_us; i++) {
        wait = sl_sat_add(wait, wait);
    }
    wait = wait < planner->config.hold_max_us ? wait : planner->config.hold_max_us;
    pod->retry_us = sl_sat_add(planner->now_us, wait);
    pod->strikes++;
    pod->denied = false;
}

bool sl_plan_is_barred(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    const struct sl_plan_node *node =
        pod->bad_node == NULL ? NULL : sl_plan_node_find(planner, pod->bad_node->name);
    return node != NULL && node->seq <= pod->bad_seq;
}

/* SL_HOLD_EXPIRED counts against the pod. */
void sl_plan_nomination_end(struct sl_planner *planner, struct sl_plan_pod *pod,
                            enum sl_hold_reason why)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_plan_retry *retry = sl_plan_retrying(lane, pod);
    bool excused = !pod->excused && sl_plan_is_doubtful(planner, pod);
    sl_plan_withdraw(planner, pod);
    if (retry != NULL && why == SL_HOLD_EXPIRED) {
        bool doubted = retry == &lane->retry[SL_PLAN_RETRY_DOUBTED];
        int64_t rest_us = doubted ? doubted_rest_us : planner->config.hold_us;
        retry->at_us = sl_sat_add(planner->now_us, rest_us);
    }
    if (why == SL_HOLD_EXPIRED) {
        sl_plan_time_out(planner, pod);
        pod->strikes -= excused;
        pod->excused = pod->excused || excused;
        pod->expiries++;
        planner->stats.expiries++;
    }
    sl_plan_settle(planner, pod);
}

void sl_plan_expire(struct sl_plan_run *run, struct sl_plan_pod *pod, enum sl_hold_reason why)
{
    struct sl_pod *nomination = sl_pod_ref(pod->nomination->pod);
    sl_plan_nomination_end(run->planner, pod, why);
    const struct sl_plan_action action = {.kind = SL_PLAN_EXPIRE,
                                          .pod = pod->pod,
                                          .node = nomination->node,
                                          .assignment = nomination->assignment,
                                          .reason = why};
    sl_plan_tell(run, &action);
    sl_pod_unref(nomination);
}
