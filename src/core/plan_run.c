/* A run: what has lapsed, what changed, refusals, the walk, releases; and when to run again. */
#include "core/plan_internal.h"

void sl_plan_tell(struct sl_planner *planner, const struct sl_plan_action *action)
{
    planner->act(planner->context, action);
}

int sl_planner_run(struct sl_planner *planner, const struct sl_demand *demand, size_t max_claims,
                   int64_t now_us, void (*act)(void *context, const struct sl_plan_action *action),
                   void *context, struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    planner->act = act;
    planner->context = context;
    planner->demand = demand;
    planner->scored = NULL;
    planner->room = max_claims;
    planner->checks = SL_PLAN_CHECKS;
    planner->lacking = false;
    sl_plan_expire(planner);
    if (!sl_plan_refresh(planner) || !sl_plan_queue_order(planner, planner->now_us)) {
        planner->dirty = true;
        return sl_error_nomem(err);
    }
    sl_plan_bound_tell(planner);
    while (planner->refused.first != NULL) {
        struct sl_plan_pod *pod = planner->refused.first;
        sl_plan_list_remove(pod);
        pod->told = pod->reason;
        planner->n_refusals++;
        const struct sl_plan_action action = {
            .kind = SL_PLAN_REFUSE, .pod = pod->pod, .reason = pod->reason};
        sl_plan_tell(planner, &action);
    }
    if (!planner->ready || (!planner->dirty && !planner->paused)) {
        return 0;
    }
    planner->dirty = false;
    sl_plan_walk(planner);
    if (!planner->lacking) {
        sl_plan_release(planner);
    }
    planner->demand = NULL;
    planner->scored = NULL;
    if (planner->lacking) {
        planner->dirty = true;
        return sl_error_nomem(err);
    }
    return 0;
}

void sl_planner_failed(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL || pod->claim == NULL) {
        return;
    }
    struct sl_plan_node *node = pod->node;
    bool again = pod->bad_node != NULL && sl_plan_is_barred(planner, pod);
    sl_node_unref(pod->bad_node);
    pod->bad_node = sl_node_ref(node->node);
    sl_plan_unclaim(planner, pod);
    sl_plan_node_grown(planner, node); /* it has more room, but for others only */
    node->shrunk = true;
    pod->bad_seq = node->seq;
    if (again) { /* it failed on two nodes that have not changed since: as good as a lapse */
        sl_plan_time_out(planner, pod);
    }
    planner->n_failed++;
    planner->dirty = true;
    sl_plan_settle(planner, pod);
}

int64_t sl_planner_wake(const struct sl_planner *planner)
{
    int64_t wake = planner->hurry ? planner->now_us : INT64_MAX;
    for (const struct sl_plan_pod *pod = planner->claims.first; pod != NULL; pod = pod->next) {
        int64_t at = sl_plan_due(planner, pod);
        wake = at < wake ? at : wake;
        at = sl_plan_silent_since(planner, pod);
        at = at < INT64_MAX ? sl_plan_add(at, sl_plan_silence(planner)) : at;
        wake = at > planner->now_us && at < wake ? at : wake; /* that it is silent is told */
    }
    for (const struct sl_plan_pod *pod = planner->lapsed.first; pod != NULL; pod = pod->next) {
        wake = pod->retry_us < wake ? pod->retry_us : wake;
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        int64_t at = sl_plan_preempt_wake(planner, lane);
        wake = at < wake ? at : wake;
        for (int i = 0; i < SL_PLAN_RETRIES; i++) {
            const struct sl_plan_retry *retry = &lane->retry[i];
            wake = retry->waits && retry->at_us < wake ? retry->at_us : wake;
        }
        at = sl_plan_add(lane->reserve.at_us, 1);
        wake = lane->reserve.active && at < wake ? at : wake;
        at = sl_plan_bound_wake(lane);
        wake = at < wake ? at : wake;
    }
    return wake;
}
