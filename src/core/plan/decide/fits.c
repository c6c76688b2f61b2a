/* Tests whether and when a pod fits on one node: beside reserved starts there, and as residents
 * end. */
#include "core/plan/decide/decide.h"

#include "sliced/admit.h"

static void book_assignment(struct sl_scratch *scratch, const struct sl_ask *ask,
                            const struct sl_assignment *assignment)
{
    for (unsigned i = 0; i < assignment->n; i++) {
        const struct sl_assignment_part *part = &assignment->part[i];
        int pool = sl_view_pool(scratch->view, ask->item[part->item].key);
        if (pool >= 0) {
            sl_scratch_take(scratch, (unsigned)pool, &ask->item[part->item], part, 1);
        }
    }
}

/* Use at a time to come: without the residents that have ended by then, gone of which scratch does
 * without already, and with what others than pod have reserved by then. */
static void use_then(const struct sl_planner *planner, const struct sl_scratch *scratch,
                     uint32_t gone, const struct sl_plan_node *node, const struct sl_plan_pod *pod,
                     int64_t at_us, struct sl_scratch *out)
{
    memcpy(out, scratch, sizeof(*out));
    for (uint32_t i = gone; i < node->n_ends && node->end[i].at_us <= at_us; i++) {
        sl_scratch_remove(out, node->end[i].resident);
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        const struct sl_plan_reserve *reserve = &lane->reserve;
        if (sl_plan_reserve_is_on(reserve, node) && reserve->pod != pod &&
            reserve->at_us <= at_us) {
            book_assignment(out, &reserve->pod->class->ask->ask, &reserve->assignment);
        }
    }
}

/* The pod must fit beside the use now, and beside that at the time of each reserved start: until
 * then its devices may still be in use. */
bool sl_plan_fits_beside(const struct sl_planner *planner, const struct sl_scratch *scratch,
                         uint32_t gone, const struct sl_plan_node *node,
                         const struct sl_plan_pod *pod, struct sl_assignment *out)
{
    struct sl_scratch most;
    struct sl_scratch then;
    memcpy(&most, scratch, sizeof(most));
    for (const struct sl_plan_lane *lane = planner->lane; planner->n_reserves > 0 && lane != NULL;
         lane = lane->next) {
        if (sl_plan_reserve_is_on(&lane->reserve, node) && lane->reserve.pod != pod) {
            use_then(planner, scratch, gone, node, pod, lane->reserve.at_us, &then);
            sl_scratch_raise(&most, &then);
        }
    }
    return sl_choose_on(&most, &pod->class->ask->ask, out, NULL);
}

/* CPU, memory and pods of the node, as residents end. */
struct host {
    const struct sl_constraints *constraints;
    const struct sl_host *has;
    struct sl_host_use use;
};

static struct host host_of(const struct sl_plan_node *node, const struct sl_plan_pod *pod)
{
    return (struct host){pod->class->constraints, &node->node->host, sl_host_use_of(node->view)};
}

static bool host_fits(const struct host *host)
{
    return sl_host_admits(host->has, &host->use, host->constraints) == SL_CONSTRAINT_NONE;
}

int64_t sl_plan_earliest_on(struct sl_planner *planner, struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, struct sl_assignment *out)
{
    const struct sl_view *view = node->view;
    struct host host = host_of(node, pod);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    int64_t at_us = planner->now_us;
    uint32_t i = 0;
    for (;;) {
        at_us = sl_plan_drained(planner, node, pod, at_us);
        while (i < node->n_ends && node->end[i].at_us <= at_us) {
            sl_scratch_remove(&scratch, node->end[i].resident);
            sl_host_use_remove(&host.use, view->resident[node->end[i].resident].pod);
            i++;
        }
        if (host_fits(&host) && sl_plan_fits_beside(planner, &scratch, i, node, pod, out)) {
            return at_us;
        }
        if (i >= node->n_ends) {
            return INT64_MAX;
        }
        at_us = node->end[i].at_us;
    }
}

bool sl_plan_host_then(const struct sl_plan_node *node, const struct sl_plan_reserve *reserve,
                       const struct sl_plan_pod *pod)
{
    struct host host = host_of(node, reserve->pod);
    if (pod != NULL) {
        sl_host_use_add(&host.use, pod->pod);
    }
    for (uint32_t i = 0; i < node->n_ends && node->end[i].at_us <= reserve->at_us; i++) {
        sl_host_use_remove(&host.use, node->view->resident[node->end[i].resident].pod);
    }
    return host_fits(&host);
}

bool sl_plan_choose_then(const struct sl_plan_node *node, const struct sl_plan_reserve *reserve,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment,
                         struct sl_assignment *out)
{
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, node->view);
    if (assignment != NULL) {
        book_assignment(&scratch, &pod->class->ask->ask, assignment);
    }
    for (uint32_t i = 0; i < node->n_ends && node->end[i].at_us <= reserve->at_us; i++) {
        sl_scratch_remove(&scratch, node->end[i].resident);
    }
    return sl_choose_on(&scratch, &reserve->pod->class->ask->ask, out, NULL);
}

bool sl_plan_leaves_room(const struct sl_plan_node *node, const struct sl_plan_pod *other,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment)
{
    const struct sl_view *view = node->view;
    struct host host = host_of(node, other);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    book_assignment(&scratch, &pod->class->ask->ask, assignment);
    sl_host_use_add(&host.use, pod->pod);
    for (unsigned i = 0; i < view->n_residents; i++) {
        if (view->resident[i].pod->deleting) {
            sl_scratch_remove(&scratch, i);
            sl_host_use_remove(&host.use, view->resident[i].pod);
        }
    }
    return host_fits(&host) && sl_choose_on(&scratch, &other->class->ask->ask, NULL, NULL);
}
