/* A run: expiries, changes, refusals, the walk, releases; and when to run again. */
#include "core/plan/decide/decide.h"

/* ---- what happens though nothing changes: each time is stated once ---- */

/* Pods that stand here do so until a certain time. */
static const enum sl_plan_stand timed[] = {SL_STAND_NOMINATED, SL_STAND_RESTING};
enum { TIMED = sizeof(timed) / sizeof(timed[0]) };

static int64_t pod_ends(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return pod->stand == SL_STAND_NOMINATED ? sl_plan_due(planner, pod) : pod->retry_us;
}

/* When the silence of kube-scheduler that the pod shows is to be reported. */
static int64_t pod_reports(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    int64_t since_us =
        pod->stand == SL_STAND_NOMINATED ? sl_plan_silent_since(planner, pod) : INT64_MAX;
    int64_t at_us = sl_sat_add(since_us, sl_plan_silence(planner));
    return at_us > planner->now_us ? at_us : INT64_MAX;
}

/* When the lane's pods are to be looked at again, given that its preemption is up to date. */
static int64_t lane_wakes(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    int64_t wake = sl_plan_preempt_wake(planner, lane);
    for (int i = 0; i < SL_PLAN_RETRIES; i++) {
        wake = sl_plan_earlier(wake, lane->retry[i].waits ? lane->retry[i].at_us : INT64_MAX);
    }
    if (lane->reserve.active) { /* later a pod runs longer than it stated */
        wake = sl_plan_earlier(wake, sl_sat_add(lane->reserve.at_us, 1));
    }
    return planner->order == NULL ? wake : sl_plan_earlier(wake, planner->order->wake(lane));
}

static void expire_due(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    sl_plan_expire_gone(run);
    sl_plan_drain_expire(planner, NULL);
    planner->away = sl_planner_silent(planner, planner->now_us) > 0;
    for (int i = 0; i < TIMED; i++) {
        struct sl_plan_pod *next = NULL;
        for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, timed[i]); pod != NULL;
             pod = next) {
            next = sl_plan_pod_next(pod);
            if (pod_ends(planner, pod) > planner->now_us) {
                continue;
            }
            if (pod->stand == SL_STAND_NOMINATED) {
                sl_plan_expire(run, pod, SL_HOLD_EXPIRED);
            } else {
                sl_plan_settle(planner, pod);
            }
        }
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_preempt_expire(planner, lane);
        if (lane_wakes(planner, lane) <= planner->now_us) {
            sl_plan_touch(planner, SL_PLAN_RUN);
        }
    }
}

int64_t sl_planner_wake(const struct sl_planner *planner)
{
    int64_t wake = planner->hurry ? planner->now_us : sl_plan_drain_wake(planner);
    for (int i = 0; i < TIMED; i++) {
        for (const struct sl_plan_pod *pod = sl_plan_pod_first(planner, timed[i]); pod != NULL;
             pod = sl_plan_pod_next(pod)) {
            wake = sl_plan_earlier(wake, pod_ends(planner, pod));
            wake = sl_plan_earlier(wake, pod_reports(planner, pod));
        }
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        wake = sl_plan_earlier(wake, lane_wakes(planner, lane));
    }
    return wake;
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
