/* A run: expiries, changes, refusals, the walk, releases; and when to run again. */
#include "core/plan/decide/decide.h"

static void expire_due(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    while (planner->gone != NULL) {
        struct sl_plan_node *node = planner->gone;
        while (node->nominations != NULL) {
            sl_plan_expire(run, node->nominations, SL_HOLD_NO_ROOM);
        }
        planner->gone = node->stale_next;
        sl_plan_node_free(node);
    }
    struct sl_plan_pod *next = NULL;
    sl_plan_drain_expire(planner, NULL);
    planner->away = sl_planner_silent(planner, planner->now_us) > 0;
    for (struct sl_plan_pod *pod = sl_plan_listed(planner->nominations.first); pod != NULL;
         pod = next) {
        next = sl_plan_listed(pod->listed.next);
        if (sl_plan_due(planner, pod) <= planner->now_us) {
            sl_plan_expire(run, pod, SL_HOLD_EXPIRED);
        }
    }
    for (struct sl_plan_pod *pod = sl_plan_listed(planner->expired.first); pod != NULL;
         pod = next) {
        next = sl_plan_listed(pod->listed.next);
        if (pod->retry_us <= planner->now_us) {
            sl_plan_settle(planner, pod);
        }
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        bool again = false;
        sl_plan_preempt_expire(planner, lane);
        for (int i = 0; i < SL_PLAN_RETRIES; i++) {
            const struct sl_plan_retry *retry = &lane->retry[i];
            again = again || (retry->waits && retry->at_us <= planner->now_us);
        }
        /* Then a pod runs longer than it stated. */
        again = again || (lane->reserve.active && lane->reserve.at_us < planner->now_us);
        again = again || (planner->order != NULL && planner->order->wake(lane) <= planner->now_us);
        sl_plan_touch(planner, again ? SL_PLAN_RUN : 0);
    }
}

static void tell_refusals(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    while (planner->refused.first != NULL) {
        struct sl_plan_pod *pod = sl_plan_listed(planner->refused.first);
        sl_plan_enlist(pod, NULL);
        pod->told = pod->reason;
        planner->stats.refusals++;
        const struct sl_plan_action action = {
            .kind = SL_PLAN_REFUSE, .pod = pod->pod, .reason = pod->reason};
        sl_plan_tell(run, &action);
    }
}

int sl_planner_run(struct sl_planner *planner, const struct sl_demand *demand,
                   size_t max_nominations, int64_t now_us,
                   void (*act)(void *context, const struct sl_plan_action *action), void *context,
                   struct sl_error *err)
{
    struct sl_scorer scorer; /* large: initialised only when needed */
    struct sl_plan_run run = {
        .planner = planner,
        .demand = demand,
        .act = act,
        .context = context,
        .search = ++planner->searches,
        .checks = SL_PLAN_CHECKS,
        .room = max_nominations,
        .scorer = &scorer,
    };
    sl_plan_advance(planner, now_us);
    expire_due(&run);
    if (!sl_plan_refresh(&run) || !sl_plan_queue_order(planner, planner->now_us)) {
        sl_plan_touch(planner, SL_PLAN_RUN);
        return sl_error_nomem(err);
    }
    if (planner->order != NULL) {
        planner->order->tell(planner);
    }
    tell_refusals(&run);
    if (!planner->ready || !sl_plan_untouch(planner)) {
        return 0;
    }
    sl_plan_walk(&run);
    if (!run.lacking) {
        sl_plan_release(&run);
    }
    if (run.lacking) {
        sl_plan_touch(planner, SL_PLAN_RUN);
        return sl_error_nomem(err);
    }
    return 0;
}

int64_t sl_planner_wake(const struct sl_planner *planner)
{
    int64_t wake = planner->hurry ? planner->now_us : sl_plan_drain_wake(planner);
    for (const struct sl_plan_pod *pod = sl_plan_listed(planner->nominations.first); pod != NULL;
         pod = sl_plan_listed(pod->listed.next)) {
        int64_t at = sl_plan_due(planner, pod);
        wake = at < wake ? at : wake;
        at = sl_plan_silent_since(planner, pod);
        at = at < INT64_MAX ? sl_sat_add(at, sl_plan_silence(planner)) : at;
        wake = at > planner->now_us && at < wake ? at : wake; /* to report the silence */
    }
    for (const struct sl_plan_pod *pod = sl_plan_listed(planner->expired.first); pod != NULL;
         pod = sl_plan_listed(pod->listed.next)) {
        wake = pod->retry_us < wake ? pod->retry_us : wake;
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        int64_t at = sl_plan_preempt_wake(planner, lane);
        wake = at < wake ? at : wake;
        for (int i = 0; i < SL_PLAN_RETRIES; i++) {
            const struct sl_plan_retry *retry = &lane->retry[i];
            wake = retry->waits && retry->at_us < wake ? retry->at_us : wake;
        }
        at = sl_sat_add(lane->reserve.at_us, 1);
        wake = lane->reserve.active && at < wake ? at : wake;
        at = planner->order == NULL ? INT64_MAX : planner->order->wake(lane);
        wake = at < wake ? at : wake;
    }
    return wake;
}
