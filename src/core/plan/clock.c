/* Moves the planner's own times (SL_TIMES) when the clock is set, so that holds and time-outs last
 * as long as before. Pods' own times come from the API server and stay. */
#include "core/plan/decide/decide.h"

#include <stdlib.h>

/* Its place in the queue follows from when it was opened. */
static void move_pod(struct sl_planner *planner, struct sl_plan_pod *pod, int64_t by_us)
{
    bool moves = sl_plan_is_queued(pod) && pod->opened_us != 0;
    if (moves) {
        sl_plan_queue_remove(planner, pod);
    }
    const bool came_ready = pod->ready_us == pod->pod->created_us;
    sl_times_move(pod, by_us);
    pod->ready_us = came_ready ? pod->pod->created_us : pod->ready_us;
    int64_t due_us = pod->item.due_us;
    pod->item = sl_plan_item_of(planner, pod->pod, pod->opened_us);
    pod->item.due_us = due_us == INT64_MAX ? due_us : sl_sat_add(due_us, by_us);
    if (moves) {
        sl_plan_queue_add(planner, pod);
    }
    if (pod->nomination != NULL) {
        sl_times_move(pod->nomination, by_us);
    }
    pod->start_us = 0;
    if (pod->cut != NULL) {
        sl_times_move(pod->cut, by_us);
    }
}

static void move_lane(struct sl_planner *planner, struct sl_plan_lane *lane, int64_t by_us)
{
    sl_times_move(lane, by_us);
    for (int i = 0; i < SL_PLAN_RETRIES; i++) {
        sl_times_move(&lane->retry[i], by_us);
    }
    sl_plan_reserve_end(planner, lane);
}

void sl_planner_rebase(struct sl_planner *planner, int64_t by_us, int64_t now_us)
{
    size_t at = 0;
    size_t len = 0;
    char *record = sl_planner_tenants_save(planner, SL_PLAN_RECORD_MAX, &len);
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        move_pod(planner, pod, by_us);
    }
    for (struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        sl_times_move(ran, by_us);
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        move_lane(planner, lane, by_us);
    }
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        sl_plan_node_at(planner, i)->ends_us = INT64_MIN; /* residents' ends are made anew */
        sl_times_move(sl_plan_node_at(planner, i), by_us);
    }
    sl_times_move(planner, by_us);
    planner->now_us = now_us;
    if (planner->order != NULL) {
        planner->order->end(planner);
        (void)sl_plan_record_load(planner, (struct sl_str){record, len}, by_us, NULL);
        planner->order->begin(planner);
    }
    free(record);
    sl_plan_settle_all(planner);
    sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
}
