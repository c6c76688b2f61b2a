/* When a single node can first satisfy pods of a class: a lower bound of their estimated starts.
 * Works out each node's time once for equal asks, then the first that each class may use. */
#include "core/plan/report/report.h"

#include <stdlib.h>

static int earlier_bid(const void *a, const void *b)
{
    const struct sl_plan_bid *x = a;
    const struct sl_plan_bid *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

/* A node that no run has refreshed since its last change has only its base view. */
static int64_t time_on(struct sl_plan_run *run, struct sl_plan_node *node, const struct sl_ask *ask)
{
    bool known = !node->stale && node->view != NULL;
    const struct sl_view *view = known ? node->view : node->base;
    sl_plan_spend(run,
                  1 + (run->usual && view != NULL ? view->n_residents : 0)); /* it sorts them */
    if (view == NULL || !sl_plan_is_enough(view, ask)) {
        return INT64_MAX;
    }
    return known ? sl_plan_not_before(run, node, ask) : run->planner->now_us;
}

/* Nodes by the time at which they can have the units. */
static size_t list_times(struct sl_plan_run *run, const struct sl_ask *ask)
{
    struct sl_planner *planner = run->planner;
    size_t n = 0;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        int64_t at_us = time_on(run, sl_plan_node_at(planner, i), ask);
        if (at_us < INT64_MAX) {
            planner->scratch.bid[n] = (struct sl_plan_bid){at_us, (uint32_t)i};
            n++;
        }
    }
    if (n > 1) {
        qsort(planner->scratch.bid, n, sizeof(*planner->scratch.bid), earlier_bid);
    }
    return n;
}

static int64_t earliest(struct sl_plan_run *run, const struct sl_plan_class *class, size_t n)
{
    struct sl_planner *planner = run->planner;
    for (size_t i = 0; i < n; i++) {
        if (sl_plan_is_spent(run, class->early_of)) {
            return planner->scratch.bid[i].at_us;
        }
        sl_plan_spend(run, 1);
        if (sl_plan_admits(run, class,
                           sl_plan_node_at(planner, planner->scratch.bid[i].node)->node)) {
            return planner->scratch.bid[i].at_us;
        }
    }
    return INT64_MAX;
}

/* Lists waiting classes by ask. */
static void gather(struct sl_planner *planner)
{
    planner->early++;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue; i++) {
            struct sl_plan_class *class = lane->queue[i]->class;
            if (class->early != planner->early) {
                class->early = planner->early;
                class->early_of = lane->queue[i]->space;
                class->early_next = class->ask->early;
                class->ask->early = class;
            }
        }
    }
}

/* For one ask, whose first class pays for the look at all nodes. */
static void time_classes(struct sl_plan_run *run, struct sl_plan_ask *ask)
{
    const int64_t now_us = run->planner->now_us;
    size_t n = 0;
    bool listed = false;
    for (struct sl_plan_class *class = ask->early; class != NULL; class = class->early_next) {
        sl_plan_charge(run, class->early_of);
        bool told =
            run->checks > sl_plan_nodes(run->planner) && !sl_plan_is_spent(run, class->early_of);
        if (told && !listed) {
            n = list_times(run, &ask->ask);
            listed = true;
        }
        class->early_us = told ? earliest(run, class, n) : now_us;
    }
    ask->early = NULL;
}

bool sl_plan_early(struct sl_planner *planner, bool usual)
{
    struct sl_plan_run run = {.planner = planner, /* it plans nothing */
                              .usual = usual,
                              .search = ++planner->searches,
                              .checks = SL_PLAN_EARLY_CHECKS};
    if (sl_vec_reserve(&planner->scratch.bid, &planner->scratch.bid_cap, sl_plan_nodes(planner),
                       sizeof(*planner->scratch.bid)) < 0) {
        return false;
    }
    gather(planner);
    for (struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        time_classes(&run, ask);
    }
    return !run.lacking;
}
