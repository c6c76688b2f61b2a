/* Namespaces whose policy or quota makes the API server refuse every release. Their pods try one at
 * a time with pauses, as pods do whose nomination expired: that leaves the devices to others and
 * spares the API server. The first release that succeeds ends this. */
#include "core/plan/state/state.h"

#include <stdlib.h>

static void set_tenant(const struct sl_planner *planner, struct sl_plan_space *space)
{
    space->tenant = planner->tenancy == NULL ? NULL : sl_tenancy_of(planner->tenancy, space->name);
    space->limit.max_timeout_us = space->tenant == NULL ? 0 : space->tenant->share->max_timeout_us;
}

void sl_plan_spaces_renew(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_space *space = sl_map_next(&planner->spaces, &at); space != NULL;
         space = sl_map_next(&planner->spaces, &at)) {
        set_tenant(planner, space);
    }
}

struct sl_plan_space *sl_plan_space_get(struct sl_planner *planner, const char *name)
{
    struct sl_str key = sl_str_of(name);
    struct sl_plan_space *space = sl_map_get(&planner->spaces, key.s, key.len);
    if (space == NULL) {
        space = SL_MAP_ADD(&planner->spaces, struct sl_plan_space, name, key);
        if (space == NULL) {
            return NULL;
        }
        set_tenant(planner, space);
    }
    space->refs++;
    return space;
}

void sl_plan_space_unref(struct sl_planner *planner, struct sl_plan_space *space)
{
    space->refs--;
    if (space->refs == 0) {
        (void)sl_map_remove(&planner->spaces, space->name, strlen(space->name));
        free(space);
    }
}

bool sl_planner_waits_beside(const struct sl_planner *planner, const char *namespace)
{
    bool here = sl_map_get(&planner->spaces, namespace, strlen(namespace)) != NULL;
    return planner->spaces.len > (here ? 1 : 0);
}

/* ---- namespaces whose releases are refused ---- */

/* Takes the pods out of the order's account, as none waits for them now, or puts them back. */
static void settle_space(struct sl_planner *planner, const struct sl_plan_space *space)
{
    bool doubted = space->refusals == SL_PLAN_REFUSALS_MAX;
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->space != space || !sl_plan_is_queued(pod)) {
            continue;
        }
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        sl_plan_settle(planner, pod);
        if (doubted && lane->reserve.pod == pod) {
            sl_plan_reserve_end(planner, lane);
        }
    }
    sl_plan_touch(planner, SL_PLAN_RUN);
}

void sl_plan_note_refusal(struct sl_planner *planner, struct sl_plan_space *space)
{
    if (space->refusals < SL_PLAN_REFUSALS_MAX) {
        space->refusals++;
        if (space->refusals == SL_PLAN_REFUSALS_MAX) {
            settle_space(planner, space);
        }
    }
}

void sl_plan_note_release(struct sl_planner *planner, struct sl_plan_space *space)
{
    bool doubted = space->refusals == SL_PLAN_REFUSALS_MAX;
    space->refusals = 0;
    if (doubted) {
        settle_space(planner, space);
    }
}
