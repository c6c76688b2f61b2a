/* Moves asks for resources that no node offered to lanes of their own once a node does. */
#include "core/plan/state/state.h"

bool sl_plan_relane(struct sl_planner *planner)
{
    bool any = false;
    bool whole = true;
    if (!sl_plan_offers_fresh(planner)) {
        return true;
    }
    for (struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        ask->moving = false;
        for (unsigned i = 0; i < ask->ask.n; i++) {
            ask->moving = ask->moving || (ask->lane[i] == planner->nowhere &&
                                          sl_plan_offers(planner, ask->ask.item[i].key));
        }
        any = any || ask->moving;
    }
    if (any) { /* the next refresh settles all pods, since the nodes have changed */
        sl_plan_empty(planner, planner->nowhere, false);
        sl_plan_preempt_end(planner, planner->nowhere);
    }
    for (struct sl_plan_ask *ask = sl_plan_ask_first(planner); any && ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        whole = (!ask->moving || sl_plan_ask_move(planner, ask)) && whole;
    }
    if (whole) {
        sl_plan_offers_met(planner);
    }
    return whole;
}
