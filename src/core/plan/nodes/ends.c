/* When pods on a node end, by their timeouts. */
#include <stdlib.h>

#include "core/forecast/learn.h"
#include "core/plan/nodes/nodes.h"

int64_t sl_plan_start(const struct sl_planner *planner, const struct sl_pod *pod)
{
    if (pod->started_us > 0) {
        return pod->started_us;
    }
    const struct sl_plan_pod *waiting = sl_plan_find(planner, sl_str_of(pod->uid));
    if (waiting != NULL && waiting->nomination != NULL) {
        return waiting->nomination->since_us;
    }
    const struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    return ran != NULL ? ran->nominated_us : pod->created_us;
}

int64_t sl_plan_gone(const struct sl_pod *pod)
{
    return pod->gone_s * SL_SECOND_US;
}

/* The end of the pod by its timeout, or by its grace if it is being deleted. */
static int64_t stated_end(const struct sl_planner *planner, const struct sl_pod *pod,
                          int64_t start_us)
{
    int64_t end_us = sl_sat_add(start_us, sl_plan_timeout(planner, pod));
    int64_t gone_us = pod->gone_s > 0 ? sl_plan_gone(pod) : planner->now_us - 1;
    return pod->deleting && gone_us < end_us ? gone_us : end_us;
}

/* Expected end of a pod running since start_us; never in the past. An overdue pod is assumed to run
 * on for as long as it is overdue, or, if it states no timeout, for as long as it has run. A pod
 * being deleted ends with its grace. */
static int64_t expected_end(const struct sl_planner *planner, const struct sl_pod *pod,
                            int64_t start_us)
{
    int64_t now_us = planner->now_us;
    int64_t end_us = stated_end(planner, pod, start_us);
    if (end_us >= now_us) {
        return end_us;
    }
    int64_t more_us = now_us - (pod->timeout_s > 0 || pod->deleting ? end_us : start_us);
    return sl_sat_add(now_us, sl_learn_overdue(more_us));
}

/* The same if the pod runs as long as is usual; one that runs longer is assumed to run on for as
 * long as it is late, but not beyond its timeout. */
static int64_t usual_end(const struct sl_planner *planner, const struct sl_pod *pod,
                         int64_t start_us)
{
    int64_t by_timeout_us = expected_end(planner, pod, start_us);
    int64_t usual_us = sl_plan_usual(planner, pod);
    int64_t end_us = sl_sat_add(start_us, usual_us);
    if (usual_us == 0) {
        return by_timeout_us;
    }
    if (end_us < planner->now_us) {
        end_us = sl_sat_add(planner->now_us, sl_learn_overdue(planner->now_us - end_us));
    }
    return end_us < by_timeout_us ? end_us : by_timeout_us;
}

static int earlier_end(const void *a, const void *b)
{
    const struct sl_plan_end *x = a;
    const struct sl_plan_end *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

bool sl_plan_node_ends_hold(const struct sl_planner *planner, const struct sl_plan_node *node)
{
    return node->view != NULL && node->n_ends == node->view->n_residents &&
           (node->n_ends == 0 || planner->now_us <= node->ends_us);
}

bool sl_plan_node_ends(struct sl_planner *planner, struct sl_plan_node *node)
{
    const struct sl_view *view = node->view;
    if (sl_plan_node_ends_hold(planner, node)) {
        return true;
    }
    if (sl_vec_reserve(&node->end, &node->end_cap, view->n_residents, sizeof(*node->end)) < 0) {
        return false;
    }
    node->ends_us = INT64_MAX;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int64_t start_us = sl_plan_start(planner, pod);
        int64_t end_us = stated_end(planner, pod, start_us);
        bool late = end_us < planner->now_us;
        node->end[i] = (struct sl_plan_end){expected_end(planner, pod, start_us), i};
        end_us = late ? planner->now_us : end_us; /* a late pod is later with every moment */
        node->ends_us = end_us < node->ends_us ? end_us : node->ends_us;
    }
    qsort(node->end, view->n_residents, sizeof(*node->end), earlier_end);
    node->n_ends = view->n_residents;
    return true;
}

bool sl_plan_usual_ends(struct sl_planner *planner, const struct sl_plan_node *node, uint32_t *n)
{
    const struct sl_view *view = node->view;
    struct sl_plan_scratch *scratch = &planner->scratch;
    *n = view->n_residents;
    if (sl_vec_reserve(&scratch->end, &scratch->end_cap, *n, sizeof(*scratch->end)) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < *n; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        scratch->end[i] =
            (struct sl_plan_end){usual_end(planner, pod, sl_plan_start(planner, pod)), i};
    }
    if (*n > 1) {
        qsort(scratch->end, *n, sizeof(*scratch->end), earlier_end);
    }
    return true;
}

static bool supply_add(struct sl_planner *planner, const struct sl_plan_lane *lane,
                       const struct sl_pod *pod, int64_t at_us)
{
    struct sl_supply *supply = &planner->scratch.supply;
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (pod->items[i].key != lane->key) {
            continue;
        }
        if (sl_supply_reserve(supply, supply->n + 1) != 0) {
            return false;
        }
        sl_supply_add(supply, at_us, pod->items[i].count);
    }
    return true;
}

/* Reads base views, since nodes' own views may be out of date here. */
bool sl_plan_supply(struct sl_planner *planner, const struct sl_plan_lane *lane, bool usual)
{
    int64_t (*end)(const struct sl_planner *, const struct sl_pod *, int64_t) =
        usual ? usual_end : expected_end;
    bool whole = true;
    planner->scratch.supply.n = 0;
    for (size_t i = 0; i < planner->fleet.n; i++) {
        const struct sl_plan_node *node = planner->fleet.node[i];
        const struct sl_view *view = node->base;
        if (view == NULL || sl_view_pool(view, lane->key) < 0) {
            continue;
        }
        for (unsigned r = 0; r < view->n_residents && whole; r++) {
            const struct sl_pod *pod = view->resident[r].pod;
            whole = supply_add(planner, lane, pod, end(planner, pod, sl_plan_start(planner, pod)));
        }
        for (const struct sl_plan_pod *pod = node->nominations; pod != NULL && whole;
             pod = pod->nomination->next) {
            whole = sl_plan_shows(view, pod->nomination->pod) ||
                    supply_add(planner, lane, pod->nomination->pod,
                               end(planner, pod->pod, pod->nomination->since_us));
        }
    }
    return whole;
}
