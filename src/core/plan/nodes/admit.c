/* Which nodes the constraints of a class admit; caches answers by kind of node. */
#include "core/plan/nodes/nodes.h"

#include "sliced/admit.h"

void sl_plan_spend(struct sl_plan_run *run, size_t n)
{
    run->planner->looked += n;
    run->checks -= n < run->checks ? n : run->checks;
    if (run->spender != NULL) {
        run->spender->spent += n;
    }
}

/* May answers be cached by kind of node? */
static bool is_general(const struct sl_constraints *constraints)
{
    return constraints == NULL || !constraints->by_name;
}

bool sl_plan_admits(struct sl_plan_run *run, const struct sl_plan_class *class,
                    const struct sl_node *node)
{
    const struct sl_constraints *constraints = class->constraints;
    if (!is_general(constraints)) {
        sl_plan_spend(run, class->weight);
        return sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE;
    }
    uint64_t pod = constraints == NULL ? 0 : constraints->digest;
    uint64_t slot = (pod ^ (node->site_digest * UINT64_C(0x9e3779b97f4a7c15))) >> 20;
    struct sl_plan_memo *memo = &run->planner->memo[slot % SL_PLAN_MEMO];
    if (!memo->known || memo->pod != pod || memo->site != node->site_digest) {
        sl_plan_spend(run, class->weight);
        *memo = (struct sl_plan_memo){
            .pod = pod,
            .site = node->site_digest,
            .answer = sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE,
            .known = true,
        };
    }
    return memo->answer != 0;
}
