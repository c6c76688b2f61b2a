/* When the clock is put: what the planner has noted in the old time goes on as long as it would
 * have. Pods' own times are the API server's, and stay. */
#include "core/plan_internal.h"

static void move(int64_t *at_us, int64_t by_us)
{
    if (*at_us != 0) { /* 0: not set */
        *at_us = sl_plan_add(*at_us, by_us);
    }
}

static void move_pod(struct sl_plan_pod *pod, int64_t by_us)
{
    move(&pod->since_us, by_us);
    move(&pod->ready_us, by_us);
    move(&pod->retry_us, by_us);
    move(&pod->pardoned_us, by_us);
    move(&pod->claimed_us, by_us);
    move(&pod->held_us, by_us);
    move(&pod->heard_us, by_us);
    pod->start_us = 0;
}

static void move_lane(struct sl_planner *planner, struct sl_plan_lane *lane, int64_t by_us)
{
    move(&lane->preempting_us, by_us);
    move(&lane->asked_us, by_us);
    for (int i = 0; i < SL_PLAN_RETRIES; i++) {
        move(&lane->retry[i].at_us, by_us);
    }
    if (lane->reserve.pod != NULL) {
        sl_plan_reserve_end(planner, lane);
    }
}

void sl_planner_rebase(struct sl_planner *planner, int64_t by_us, int64_t now_us)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        move_pod(pod, by_us);
    }
    for (struct sl_plan_ran *ran = planner->ran; ran != NULL; ran = ran->next) {
        move(&ran->claimed_us, by_us);
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        move_lane(planner, lane, by_us);
    }
    for (size_t i = 0; i < planner->n_nodes; i++) {
        planner->node[i]->ends_us = INT64_MIN; /* residents' ends are made anew */
    }
    move(&planner->heard_us, by_us);
    planner->now_us = now_us;
    sl_plan_bound_reset(planner);
    at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->queued) {
            sl_plan_bound_arrive(planner, pod);
        }
    }
    planner->epoch++;
    planner->touch++;
    planner->dirty = true;
}
