/* Which nodes the constraints of a class admit; caches answers by kind of node. */
#include "core/plan/nodes/nodes.h"

#include "core/request/constraint_draft.h"
#include "sliced/admit.h"

void sl_plan_spend(struct sl_plan_run *run, size_t n)
{
    run->planner->looked += n;
    run->checks -= n < run->checks ? n : run->checks;
    if (run->spender != NULL) {
        run->spender->spent += n;
    }
}

void sl_plan_charge(struct sl_plan_run *run, struct sl_plan_space *space)
{
    if (space != NULL && space->search != run->search) {
        space->search = run->search;
        space->spent = 0;
    }
    run->spender = space;
}

bool sl_plan_is_spent(const struct sl_plan_run *run, const struct sl_plan_space *space)
{
    return space->search == run->search && space->spent > run->checks;
}

/* Nodes of which the constraints see the same. */
static uint64_t site_of(const struct sl_constraints *constraints, const struct sl_node *node)
{
    bool by_name = constraints != NULL && constraints->by_name;
    return by_name ? sl_mix_text(node->own_digest, node->name) : node->site_digest;
}

/* Returns what a look at the constraints costs. On all nodes together no more than a quarter of a
 * run, or a search would never come to its end. */
static size_t weight_of(const struct sl_planner *planner, const struct sl_plan_class *class)
{
    const size_t most = SL_PLAN_CHECKS / 4 / (planner->fleet.n + 1);
    return class->weight < most ? class->weight : most;
}

bool sl_plan_admits(struct sl_plan_run *run, const struct sl_plan_class *class,
                    const struct sl_node *node)
{
    const struct sl_constraints *constraints = class->constraints;
    uint64_t pod = constraints == NULL ? 1 : constraints->digest;
    uint64_t site = site_of(constraints, node) << 1;
    uint64_t slot = (pod ^ (site * UINT64_C(0x9e3779b97f4a7c15))) >> 20;
    struct sl_plan_memo *memo = &run->planner->memo[slot % SL_PLAN_MEMO];
    if (memo->pod != pod || (memo->site & ~UINT64_C(1)) != site) {
        sl_plan_spend(run, weight_of(run->planner, class));
        bool admits = sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE;
        *memo = (struct sl_plan_memo){.pod = pod, .site = site | admits};
    }
    return (memo->site & 1) != 0;
}
