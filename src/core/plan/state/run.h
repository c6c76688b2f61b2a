/* One run of the planner: all that begins and ends with it. It stands on the stack of the function
 * that plans. */
#ifndef SLICED_CORE_PLAN_STATE_RUN_H
#define SLICED_CORE_PLAN_STATE_RUN_H

#include "core/plan/state/planner.h"

enum { SL_PLAN_CHECKS = 1 << 20 /* looks at nodes of one run; the next run goes on */ };

struct sl_plan_run {
    struct sl_planner *planner;
    const struct sl_demand *demand; /* may be NULL */
    void (*act)(void *context, const struct sl_plan_action *action);
    void *context;
    uint64_t search;               /* number of its budget, */
    size_t checks;                 /* of which so much is left: looks at nodes */
    struct sl_plan_space *spender; /* namespace that pays for the search; NULL: none */
    size_t room;                   /* nominations that may still be made */
    size_t n_open;                 /* lanes in which pods wait */
    size_t judged;                 /* looks at nodes that the order's refusals took */
    size_t n_making;               /* lanes for which kube-scheduler made room as the run began */
    bool lacking;                  /* out of memory */
    bool usual; /* pods end as is usual, not by their timeouts: an estimate alone, no plan */
    const struct sl_plan_ask *scored; /* the ask that the scorer is set up for; NULL: none yet */
    struct sl_scorer *scorer;
};

static inline void sl_plan_tell(struct sl_plan_run *run, const struct sl_plan_action *action)
{
    run->act(run->context, action);
}

#endif
