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

/* Must the pod let others go first? */
bool sl_plan_is_to_yield(struct sl_planner *planner, const struct sl_plan_lane *lane,
                         const struct sl_plan_pod *pod);
/* Tries the pods, in order, that a start of this one could make late. */
enum sl_plan_step sl_plan_yield(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                const struct sl_plan_pod *pod);
/* Holds a pod that has room: another would miss its latest start. */
enum sl_plan_step sl_plan_refuse(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                 struct sl_plan_pod *pod, enum sl_plan_admission admission);
/* After refusals, when no other pod of the lane may go: nominates the one that must go next, or
 * reserves for it. */
enum sl_plan_step sl_plan_yield_to_due(struct sl_plan_run *run, struct sl_plan_lane *lane);

#endif
