/* Moves asks for resources that no node offered to lanes of their own once a node does. */
#include "core/plan/state/state.h"

/* Takes the pods of moving asks out of the queue. The next refresh settles all pods, since the
 * nodes have changed: that puts these into the queues of their new lanes. */
static void take_out_moving(struct sl_planner *planner)
{
    struct sl_plan_lane *nowhere = planner->nowhere;
    uint32_t n = 0;
    for (uint32_t i = 0; i < nowhere->n_queue; i++) {
        struct sl_plan_pod *pod = nowhere->queue[i];
        pod->queued = !pod->class->ask->moving;
        nowhere->queue[n] = pod;
        n += pod->queued;
    }
    nowhere->n_queue = n;
    sl_plan_reserve_end(planner, nowhere);
    sl_plan_preempt_end(planner, nowhere);
}

bool sl_plan_relane(struct sl_planner *planner)
{
    bool any = false;
    bool whole = true;
    if (!planner->moves) {
        return true;
    }
    for (struct sl_plan_ask *ask = sl_plan_ask_at(planner->all_asks.first); ask != NULL;
         ask = sl_plan_ask_at(ask->all.next)) {
        ask->moving = false;
        for (unsigned i = 0; i < ask->ask.n; i++) {
            ask->moving = ask->moving || (ask->lane[i] == planner->nowhere &&
                                          sl_plan_offers(planner, ask->ask.item[i].key));
        }
        any = any || ask->moving;
    }
    if (any) {
        take_out_moving(planner);
    }
    for (struct sl_plan_ask *ask = sl_plan_ask_at(planner->all_asks.first); any && ask != NULL;
         ask = sl_plan_ask_at(ask->all.next)) {
        whole = (!ask->moving || sl_plan_ask_move(planner, ask)) && whole;
    }
    planner->moves = !whole;
    return whole;
}
