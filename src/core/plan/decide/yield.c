/* The walk where the order delays a start: it tries pods that must not be late first. If such a pod
 * does not fit, it gets the reserved start or is set aside. */
#include "core/plan/decide/walk.h"

/* Lets others pass a pod which something other than a lack of units holds. */
static void set_aside(struct sl_planner *planner, struct sl_plan_lane *lane,
                      struct sl_plan_pod *pod)
{
    sl_plan_bounded_set_aside(planner, pod);
    lane->run.set_aside = true;
}

/* Nominates a pod without slack, or reserves for it unless another such pod has the reserved start.
 * False: the run stops. */
static bool try_urgent(struct sl_plan_run *run, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_pick pick;
    if (sl_plan_preempt_holds(planner, lane, pod)) {
        lane->preempt_waits = true;
        return true;
    }
    sl_plan_pick(run, pod, NULL, &pick);
    if (run->lacking) {
        return false;
    }
    if (pick.node != NULL) {
        return run->room > 0 && sl_plan_act_nominate(run, pod, &pick);
    }
    sl_plan_set_reason(planner, pod, pick.reason);
    if (pick.reason == SL_HOLD_HEADROOM) {
        set_aside(planner, lane, pod);
    } else if (!lane->run.kept && !sl_plan_may_not_come(pod)) {
        sl_plan_reserve_end(planner, lane);
        lane->run.kept = sl_plan_reserve(run, lane, pod);
        if (!lane->run.kept && !run->lacking) {
            set_aside(planner, lane, pod);
        }
    }
    return !run->lacking;
}

enum sl_plan_step sl_plan_yield(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                const struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_pod *urgent[SL_PLAN_URGENT_MAX];
    lane->run.tried_us = sl_sat_add(pod->item.timeout_us, pod->item.timeout_us);
    size_t n = sl_plan_bounded_urgent(planner, pod, urgent);
    bool more = true;
    if (!lane->run.kept) { /* an urgent pod may need it */
        sl_plan_reserve_end(planner, lane);
    }
    for (size_t i = 0; i < n && more; i++) {
        more = try_urgent(run, lane, urgent[i]);
    }
    return more ? SL_PLAN_STEP_NOMINATED : SL_PLAN_STEP_STOP;
}

bool sl_plan_is_to_yield(struct sl_planner *planner, const struct sl_plan_lane *lane,
                         const struct sl_plan_pod *pod)
{
    return lane->run.tried_us < pod->item.timeout_us && sl_plan_bounded_yields(planner, pod);
}

enum sl_plan_step sl_plan_refuse(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                 struct sl_plan_pod *pod, enum sl_plan_admission admission)
{
    struct sl_planner *planner = run->planner;
    sl_plan_set_reason(planner, pod, SL_HOLD_PROMISE);
    lane->run.refused++;
    if (admission == SL_PLAN_REFUSED_HERE) {
        if (lane->run.here_us < pod->item.timeout_us) { /* those it would delay may fit nowhere */
            lane->run.here_us = sl_sat_add(pod->item.timeout_us, pod->item.timeout_us);
            return sl_plan_yield(run, lane, pod);
        }
        return run->checks == 0 ? SL_PLAN_STEP_STOP : SL_PLAN_STEP_HELD;
    }
    if (lane->run.refused > SL_PLAN_REFUSED_MAX) {
        if (lane->run.set_aside) { /* others may go now */
            sl_plan_touch(planner, SL_PLAN_RUN);
            planner->hurry = true;
        }
        lane->rest_reason = SL_HOLD_PROMISE;
        return SL_PLAN_STEP_CLOSED;
    }
    return SL_PLAN_STEP_HELD;
}

enum sl_plan_step sl_plan_yield_to_due(struct sl_plan_run *run, struct sl_plan_lane *lane)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_pod *due = sl_plan_bounded_due(planner, lane);
    struct sl_plan_pick pick;
    if (run->room == 0 || due == NULL || !sl_plan_is_queued(due) || lane->run.due_tried ||
        sl_plan_preempt_holds(planner, lane, due)) {
        return SL_PLAN_STEP_HELD;
    }
    lane->run.due_tried = true;
    sl_plan_reserve_end(planner, lane);
    sl_plan_pick(run, due, NULL, &pick);
    if (pick.node != NULL) {
        bool nominated = sl_plan_act_nominate(run, due, &pick);
        lane->run.due_tried = !nominated;
        return nominated ? SL_PLAN_STEP_NOMINATED : SL_PLAN_STEP_STOP;
    }
    sl_plan_set_reason(planner, due, pick.reason);
    if (pick.reason == SL_HOLD_HEADROOM || !sl_plan_reserve(run, lane, due)) {
        set_aside(planner, lane, due);
        lane->run.due_tried = false;
        return SL_PLAN_STEP_NOMINATED;
    }
    return SL_PLAN_STEP_HELD;
}
