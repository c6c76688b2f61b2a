/* When what runs on a node ends, as far as timeouts tell. */
#include "core/plan_internal.h"

#include <stdlib.h>

static const int64_t late_least_us = 1000000; /* ends are not told to the microsecond */

int64_t sl_plan_start(const struct sl_planner *planner, const struct sl_pod *pod)
{
    if (pod->started_us > 0) {
        return pod->started_us;
    }
    const struct sl_plan_pod *waiting = sl_map_get(&planner->pods, pod->uid, strlen(pod->uid));
    if (waiting != NULL && waiting->claim != NULL) {
        return waiting->claimed_us;
    }
    const struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    return ran != NULL ? ran->claimed_us : pod->created_us;
}

int64_t sl_plan_gone(const struct sl_pod *pod)
{
    return pod->gone_s * INT64_C(1000000);
}

/* By its timeout, or when the grace that it was given at its deletion is over. */
static int64_t stated_end(const struct sl_planner *planner, const struct sl_pod *pod,
                          int64_t start_us)
{
    int64_t end_us = sl_plan_add(start_us, sl_plan_timeout(planner, pod));
    int64_t gone_us = pod->gone_s > 0 ? sl_plan_gone(pod) : planner->now_us - 1;
    return pod->deleting && gone_us < end_us ? gone_us : end_us;
}

int64_t sl_plan_end(const struct sl_planner *planner, const struct sl_pod *pod, int64_t start_us)
{
    int64_t now_us = planner->now_us;
    int64_t end_us = stated_end(planner, pod, start_us);
    if (end_us >= now_us) {
        return end_us;
    }
    int64_t more_us = now_us - (pod->timeout_s > 0 || pod->deleting ? end_us : start_us);
    return sl_plan_add(now_us, more_us > late_least_us ? more_us : late_least_us);
}

static int earlier_end(const void *a, const void *b)
{
    const struct sl_plan_end *x = a;
    const struct sl_plan_end *y = b;
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return (x->resident > y->resident) - (x->resident < y->resident);
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
    size_t cap = node->end_cap;
    if (!sl_plan_grow(&node->end, &cap, view->n_residents, sizeof *node->end)) {
        return false;
    }
    node->end_cap = (uint32_t)cap;
    node->ends_us = INT64_MAX;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int64_t start_us = sl_plan_start(planner, pod);
        int64_t end_us = stated_end(planner, pod, start_us);
        bool late = end_us < planner->now_us;
        node->end[i] = (struct sl_plan_end){sl_plan_end(planner, pod, start_us), i};
        end_us = late ? planner->now_us : end_us; /* who is late is later with every moment */
        node->ends_us = end_us < node->ends_us ? end_us : node->ends_us;
    }
    qsort(node->end, view->n_residents, sizeof *node->end, earlier_end);
    node->n_ends = view->n_residents;
    return true;
}
