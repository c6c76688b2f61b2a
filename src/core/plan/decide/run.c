/* A run: expiries, changes, refusals, the walk, releases; and when to run again. */
#include "core/plan/decide/decide.h"

/* ---- what happens though nothing changes: each time is stated once ---- */

/* When the silence of kube-scheduler that the nominated pod shows is to be reported. */
static int64_t pod_reports(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    int64_t since_us = sl_plan_silent_since(planner, pod);
    int64_t at_us = sl_sat_add(since_us, sl_plan_silence(planner));
    return at_us > planner->now_us ? at_us : INT64_MAX;
}

/* The next three return when something is due; given a run, they do what is due by now. */

/* Pods that stand here do so until a certain time. */
static int64_t pods_due(const struct sl_planner *planner, enum sl_plan_stand stand,
                        struct sl_plan_run *run)
{
    bool nominated = stand == SL_STAND_NOMINATED;
    int64_t due_us = INT64_MAX;
    struct sl_plan_pod *next = NULL;
    for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, stand); pod != NULL; pod = next) {
        int64_t ends_us = nominated ? sl_plan_due(planner, pod) : pod->retry_us;
        int64_t reports_us = nominated ? pod_reports(planner, pod) : INT64_MAX;
        next = sl_plan_pod_next(pod);
        due_us = sl_plan_earlier(due_us, sl_plan_earlier(ends_us, reports_us));
        if (run == NULL || ends_us > planner->now_us) {
            continue;
        }
        if (nominated) {
            sl_plan_expire(run, pod, SL_HOLD_EXPIRED);
        } else {
            sl_plan_settle(run->planner, pod);
        }
    }
    return due_us;
}

/* The pods of the lane are to be looked at again. */
static int64_t lane_due(const struct sl_planner *planner, struct sl_plan_lane *lane,
                        struct sl_plan_run *run)
{
    if (run != NULL) {
        sl_plan_preempt_expire(run->planner, lane);
    }
    int64_t due_us = sl_plan_preempt_wake(planner, lane);
    for (int i = 0; i < SL_PLAN_RETRIES; i++) {
        due_us = sl_plan_earlier(due_us, lane->retry[i].waits ? lane->retry[i].at_us : INT64_MAX);
    }
    if (lane->reserve.active && lane->reserve.later) { /* then a pod runs longer than it stated */
        due_us = sl_plan_earlier(due_us, sl_sat_add(lane->reserve.at_us, 1));
    }
    if (planner->order != NULL) {
        due_us = sl_plan_earlier(due_us, planner->order->wake(lane));
    }
    if (run != NULL && due_us <= planner->now_us) {
        sl_plan_touch(run->planner, SL_PLAN_RUN);
    }
    return due_us;
}

static int64_t all_due(const struct sl_planner *planner, struct sl_plan_run *run)
{
    if (run != NULL) {
        sl_plan_drain_expire(run->planner, NULL);
        run->planner->away = sl_planner_silent(planner, planner->now_us) > 0;
    }
    int64_t due_us = sl_plan_drain_wake(planner);
    due_us = sl_plan_earlier(due_us, pods_due(planner, SL_STAND_NOMINATED, run));
    due_us = sl_plan_earlier(due_us, pods_due(planner, SL_STAND_RESTING, run));
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        due_us = sl_plan_earlier(due_us, lane_due(planner, lane, run));
    }
    return due_us;
}

int64_t sl_planner_wake(const struct sl_planner *planner)
{
    return planner->hurry ? planner->now_us : all_due(planner, NULL);
}

/* ---- a run ---- */

static void tell_refusals(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_pod *next = NULL;
    for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_REFUSED); pod != NULL;
         pod = next) {
        next = sl_plan_pod_next(pod);
        sl_plan_told(planner, pod);
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
    if (planner->relabelled) {
        const struct sl_plan_config config = planner->config;
        (void)sl_plan_restart(planner, &config, true, NULL); /* makes nothing that can fail */
    }
    sl_plan_expire_gone(&run);
    (void)all_due(planner, &run);
    if (!sl_plan_refresh(&run) || !sl_plan_queue_order(planner, planner->now_us)) {
        sl_plan_touch(planner, SL_PLAN_RUN);
        return sl_error_nomem(err);
    }
    sl_plan_uncap(planner);
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
