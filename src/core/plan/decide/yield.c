/* The walk after the order refused starts: the pod that is due goes. If it does not fit, it gets
 * the reserved start or is set aside. Not in mixed lanes, whose order reserves starts itself. */
#include "core/plan/decide/walk.h"

/* Lets others pass a pod which something other than a lack of units holds. */
static void set_aside(struct sl_planner *planner, struct sl_plan_lane *lane,
                      struct sl_plan_pod *pod)
{
    sl_plan_bounded_set_aside(planner, pod);
    lane->run.set_aside = true;
}

enum sl_plan_step sl_plan_refuse(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                 struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    sl_plan_set_reason(planner, pod, SL_HOLD_PROMISE);
    lane->run.refused++;
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
