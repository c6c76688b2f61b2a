/* From when on one node can have what pods of a class ask for: their estimated starts are no
 * earlier. Worked out once for all that ask for the same, then for each class by which nodes it may
 * use. */
#include "core/plan_internal.h"

#include <stdlib.h>

static int earlier_bid(const void *a, const void *b)
{
    const struct sl_plan_bid *x = a;
    const struct sl_plan_bid *y = b;
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

/* Of a node that has changed since the last run there is no view with the claims yet. */
static int64_t time_on(struct sl_planner *planner, struct sl_plan_node *node,
                       const struct sl_ask *ask)
{
    bool known = !node->stale && node->view != NULL;
    const struct sl_view *view = known ? node->view : node->base;
    if (view == NULL || !sl_plan_is_enough(view, ask)) {
        return INT64_MAX;
    }
    return known ? sl_plan_not_before(planner, node, ask) : planner->now_us;
}

/* Nodes by the time at which they can have the units. */
static size_t list_times(struct sl_planner *planner, const struct sl_ask *ask)
{
    size_t n = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        int64_t at_us = time_on(planner, planner->node[i], ask);
        if (at_us < INT64_MAX) {
            planner->bid[n] = (struct sl_plan_bid){at_us, (uint32_t)i};
            n++;
        }
    }
    if (n > 1) {
        qsort(planner->bid, n, sizeof *planner->bid, earlier_bid);
    }
    return n;
}

static int64_t earliest(struct sl_planner *planner, const struct sl_plan_class *class, size_t n,
                        size_t *checks)
{
    for (size_t i = 0; i < n; i++) {
        if (*checks == 0) {
            return planner->bid[i].at_us;
        }
        (*checks)--;
        if (sl_plan_admits(planner, class, planner->node[planner->bid[i].node]->node)) {
            return planner->bid[i].at_us;
        }
    }
    return INT64_MAX;
}

/* Each class that waits, to its ask. */
static void gather(struct sl_planner *planner)
{
    planner->early++;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue; i++) {
            struct sl_plan_class *class = lane->queue[i]->class;
            if (class->early != planner->early) {
                class->early = planner->early;
                class->early_next = class->ask->early;
                class->ask->early = class;
            }
        }
    }
}

bool sl_plan_early(struct sl_planner *planner)
{
    size_t checks = SL_PLAN_EARLY_CHECKS;
    if (!sl_plan_grow(&planner->bid, &planner->bid_cap, planner->n_nodes, sizeof *planner->bid)) {
        return false;
    }
    planner->lacking = false;
    gather(planner);
    for (struct sl_plan_ask *ask = planner->ask; ask != NULL; ask = ask->next) {
        struct sl_plan_class *class = ask->early;
        bool told = class != NULL && checks > planner->n_nodes;
        size_t n = told ? list_times(planner, &ask->ask) : 0;
        checks -= told ? planner->n_nodes : 0;
        for (; class != NULL; class = class->early_next) {
            class->early_us = told ? earliest(planner, class, n, &checks) : planner->now_us;
        }
        ask->early = NULL;
    }
    return !planner->lacking;
}
