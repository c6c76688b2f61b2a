/* Namespaces whose pods the API server does not let go: a policy or a quota of theirs refuses every
 * release. Their pods then go as those go that did not take their claims, one at a time with
 * pauses, so that others have the devices and the API server has its rest; the first that it lets
 * go ends that. */
#include "core/plan_internal.h"

/* Nobody waits for pods that are not let go: they are no more, or once more, the bound's. */
static void tell_bounds(struct sl_planner *planner, const struct sl_plan_space *space, bool doubted)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->space != space || !pod->queued) {
            continue;
        }
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        if (!doubted) {
            sl_plan_bound_arrive(planner, pod);
            continue;
        }
        sl_plan_bound_leave(planner, pod);
        if (lane->reserve.pod == pod) {
            sl_plan_reserve_end(planner, lane);
        }
    }
    planner->dirty = true;
}

void sl_plan_note_refusal(struct sl_planner *planner, struct sl_plan_space *space)
{
    if (space->refusals < SL_PLAN_REFUSALS_MAX) {
        space->refusals++;
        if (space->refusals == SL_PLAN_REFUSALS_MAX) {
            tell_bounds(planner, space, true);
        }
    }
}

void sl_planner_released(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return;
    }
    bool doubted = pod->space->refusals == SL_PLAN_REFUSALS_MAX;
    pod->space->refusals = 0;
    if (doubted) {
        tell_bounds(planner, pod->space, false);
    }
}
