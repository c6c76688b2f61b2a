/* Moves the planner's own times when the clock is set, so that holds and time-outs last as long as
 * before. Pods' own times come from the API server and stay. */
#include "core/plan/decide/decide.h"

static void move_time(int64_t *at_us, int64_t by_us)
{
    if (*at_us != 0) { /* 0: not set */
        *at_us = sl_sat_add(*at_us, by_us);
    }
}

/* Its place in the queue follows from that time. */
static void move_opened(struct sl_planner *planner, struct sl_plan_pod *pod, int64_t by_us)
{
    bool queued = sl_plan_is_queued(pod);
    if (pod->opened_us == 0) {
        return;
    }
    if (queued) {
        sl_plan_queue_remove(planner, pod);
    }
    move_time(&pod->opened_us, by_us);
    pod->item = sl_plan_item_of(planner, pod->pod, pod->opened_us);
    if (queued) {
        sl_plan_queue_add(planner, pod);
    }
}

static void move_pod(struct sl_planner *planner, struct sl_plan_pod *pod, int64_t by_us)
{
    move_opened(planner, pod, by_us);
    move_time(&pod->since_us, by_us);
    move_time(&pod->ready_us, by_us);
    move_time(&pod->retry_us, by_us);
    move_time(&pod->pardoned_us, by_us);
    if (pod->nomination != NULL) {
        move_time(&pod->nomination->since_us, by_us);
        move_time(&pod->nomination->held_us, by_us);
        move_time(&pod->nomination->heard_us, by_us);
    }
    pod->start_us = 0;
    if (pod->cut != NULL) {
        move_time(&pod->cut->start_us, by_us);
    }
}

static void move_lane(struct sl_planner *planner, struct sl_plan_lane *lane, int64_t by_us)
{
    move_time(&lane->preempting_us, by_us);
    move_time(&lane->asked_us, by_us);
    for (int i = 0; i < SL_PLAN_RETRIES; i++) {
        move_time(&lane->retry[i].at_us, by_us);
    }
    sl_plan_reserve_end(planner, lane);
}

void sl_planner_rebase(struct sl_planner *planner, int64_t by_us, int64_t now_us)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        move_pod(planner, pod, by_us);
    }
    for (struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        move_time(&ran->nominated_us, by_us);
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        move_lane(planner, lane, by_us);
    }
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        sl_plan_node_at(planner, i)->ends_us = INT64_MIN; /* residents' ends are made anew */
        move_time(&sl_plan_node_at(planner, i)->drain_us, by_us);
    }
    move_time(&planner->heard_us, by_us);
    planner->now_us = now_us;
    if (planner->order != NULL) {
        planner->order->end(planner);
        planner->order->begin(planner);
    }
    sl_plan_settle_all(planner);
    sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
}
