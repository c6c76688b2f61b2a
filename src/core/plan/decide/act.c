/* Carries out and reports two acts of a run: a nomination, and a release without one. */
#include "core/plan/decide/decide.h"

void sl_plan_set_reason(struct sl_planner *planner, struct sl_plan_pod *pod,
                        enum sl_hold_reason reason)
{
    pod->reason = reason;
    pod->run = planner->runs;
}

bool sl_plan_act_nominate(struct sl_plan_run *run, struct sl_plan_pod *pod,
                          const struct sl_plan_pick *pick)
{
    struct sl_planner *planner = run->planner;
    if (!sl_plan_nominate(planner, pod, pick->node, &pick->assignment)) {
        run->lacking = true;
        return false;
    }
    bool backfilled = sl_plan_reserve_adjust(planner, pick->node);
    planner->stats.backfills += backfilled;
    run->room--;
    const struct sl_plan_action action = {
        .kind = SL_PLAN_NOMINATE,
        .pod = pod->pod,
        .node = pod->nomination->pod->node,
        .assignment = pod->nomination->pod->assignment,
        .due_us = pod->item.due_us == INT64_MAX ? 0 : pod->item.due_us,
        .backfilled = backfilled,
    };
    sl_plan_tell(run, &action);
    return true;
}

void sl_plan_release_pod(struct sl_plan_run *run, struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    pod->released = true;
    sl_plan_settle(planner, pod);
    sl_plan_set_reason(planner, pod, reason);
    planner->stats.releases++;
    const struct sl_plan_action action = {
        .kind = SL_PLAN_RELEASE, .pod = pod->pod, .reason = reason};
    sl_plan_tell(run, &action);
}
