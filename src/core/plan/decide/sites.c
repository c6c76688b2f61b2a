/* Numbers what constraints tell apart of nodes, and says which of these sites admit a class: the
 * order bounded reserves starts by that. */
#include "core/plan/decide/decide.h"

#include "sliced/admit.h"

enum { REST = SL_PROMISE_SITES - 1, WEIGHT_MAX = 256 };

uint8_t sl_plan_site_of(struct sl_planner *planner, const struct sl_plan_node *node)
{
    struct sl_plan_sites *sites = &planner->sites;
    if (sites->kinds != planner->seq.kinds) {
        *sites = (struct sl_plan_sites){.kinds = planner->seq.kinds};
    }
    uint8_t i = 0;
    while (i < sites->n && sites->digest[i] != node->node->site_digest) {
        i++;
    }
    if (i == sites->n && i < REST) {
        sites->digest[i] = node->node->site_digest;
        sites->node[i] = node->index;
        sites->n++;
    }
    return i;
}

uint64_t sl_plan_sites_of(struct sl_planner *planner, struct sl_plan_class *class)
{
    const struct sl_plan_sites *sites = &planner->sites;
    const struct sl_constraints *constraints = class->constraints;
    if (constraints == NULL || constraints->by_name || class->weight > WEIGHT_MAX ||
        sites->kinds != planner->seq.kinds) {
        return UINT64_MAX;
    }
    if (class->sites_kinds != sites->kinds || class->n_sites != sites->n) {
        class->sites_kinds = sites->kinds;
        class->n_sites = sites->n;
        class->sites = UINT64_C(1) << REST; /* nobody knows */
        for (uint8_t i = 0; i < sites->n; i++) {
            const struct sl_node *node = sl_plan_node_at(planner, sites->node[i])->node;
            bool admits = sl_constraints_admit(constraints, node) == SL_CONSTRAINT_NONE;
            class->sites |= (uint64_t)admits << i;
        }
    }
    return class->sites;
}
