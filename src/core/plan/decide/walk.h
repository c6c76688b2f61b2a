/* Shared by walk.c and yield.c. */
#ifndef SLICED_CORE_PLAN_DECIDE_WALK_H
#define SLICED_CORE_PLAN_DECIDE_WALK_H

#include "core/plan/decide/decide.h"

/* How the walk goes on after a pod. */
enum sl_plan_step {
    SL_PLAN_STEP_NOMINATED, /* the queue has changed: the same place once more */
    SL_PLAN_STEP_HELD,      /* on to the next of its lane */
    SL_PLAN_STEP_CLOSED,    /* no other pod of its lane can start either */
    SL_PLAN_STEP_STOP,      /* no pod of any lane */
};

/* Holds a pod that has room: another would miss its latest start. */
enum sl_plan_step sl_plan_refuse(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                 struct sl_plan_pod *pod);
/* After refusals, when no other pod of the lane may go: nominates the one that must go next, or
 * reserves for it. */
enum sl_plan_step sl_plan_yield_to_due(struct sl_plan_run *run, struct sl_plan_lane *lane);

#endif
