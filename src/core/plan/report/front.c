/* The foremost of those that wait for units: who is not the queue's goes behind them, on the nodes
 * where they can start. */
#include "core/plan/report/report.h"

#include "sliced/admit.h"
#include "sliced/fit.h"

enum {
    LANE_FRONTS = 8, /* filter asks each about each node */
    WEIGHT_MAX = 8,  /* of its constraints, for the same reason: with more it keeps nobody */
};

struct lane_fronts {
    size_t n;
    struct sl_plan_pod *pod[LANE_FRONTS];
};

/* A pod takes no room soon, and so keeps nobody from it, when something other than units holds it
 * back, or when no end of a running pod makes room for it. */
static bool waits_for_units(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    bool units = reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_BEHIND ||
                 reason == SL_HOLD_PROMISE || reason == SL_HOLD_PACE || reason == SL_HOLD_CUT;
    return units && pod->class->weight <= WEIGHT_MAX && sl_plan_is_foreseen(planner, pod) &&
           pod->class->timeless_seq != planner->seq.nodes + 1;
}

static bool is_ahead(const struct sl_plan_pod *a, const struct sl_plan_pod *b)
{
    return a->item.priority != b->item.priority ? a->item.priority > b->item.priority
                                                : a->item.submit_us < b->item.submit_us;
}

/* Where the list is full, the rearmost makes room. */
static void add_front(struct lane_fronts *fronts, struct sl_plan_pod *pod)
{
    size_t at = 0;
    size_t last = 0;
    for (; at < fronts->n && fronts->pod[at]->class != pod->class; at++) {
        last = is_ahead(fronts->pod[last], fronts->pod[at]) ? at : last;
    }
    at = at == LANE_FRONTS ? last : at;
    if (at == fronts->n || is_ahead(pod, fronts->pod[at])) {
        fronts->n += at == fronts->n;
        fronts->pod[at] = pod;
    }
}

size_t sl_planner_fronts(const struct sl_planner *planner,
                         struct sl_plan_front out[SL_PLAN_FRONTS_MAX])
{
    size_t n = 0;
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        struct lane_fronts fronts = {.n = 0};
        for (uint32_t i = 0; i < lane->n_queue; i++) {
            if (waits_for_units(planner, lane->queue[i])) {
                add_front(&fronts, lane->queue[i]);
            }
        }
        for (size_t i = 0; i < fronts.n && n < SL_PLAN_FRONTS_MAX; i++, n++) {
            const struct sl_plan_pod *pod = fronts.pod[i];
            out[n] = (struct sl_plan_front){sl_pod_ref(pod->pod), pod->item.submit_us,
                                            pod->item.priority};
        }
    }
    return n;
}

const struct sl_ask_item *sl_plan_front_item(const struct sl_plan_front *front,
                                             const struct sl_pod *pod)
{
    for (uint32_t k = 0; k < pod->n_items; k++) {
        for (uint32_t i = 0; i < front->pod->n_items; i++) {
            if (front->pod->items[i].key == pod->items[k].key) {
                return &pod->items[k];
            }
        }
    }
    return NULL;
}

size_t sl_plan_fronts_ahead(const struct sl_plan_front *front, size_t n, const struct sl_pod *pod,
                            struct sl_plan_front out[SL_PLAN_FRONTS_MAX])
{
    int64_t created_us = pod->created_us > 0 ? pod->created_us : INT64_MAX;
    size_t ahead = 0;
    for (size_t i = 0; i < n; i++) {
        if (sl_plan_front_item(&front[i], pod) != NULL &&
            (front[i].priority > pod->priority ||
             (front[i].priority == pod->priority && front[i].submit_us <= created_us))) {
            out[ahead] = front[i];
            sl_pod_ref(front[i].pod);
            ahead++;
        }
    }
    return ahead;
}

/* A pod without a timeout has no end to wait for. */
static bool can_start(const struct sl_pod *pod, const struct sl_view *view)
{
    struct sl_ask ask;
    sl_pod_ask(pod, &ask);
    if (!sl_plan_is_enough(view, &ask) ||
        sl_constraints_admit(pod->constraints, view->node) != SL_CONSTRAINT_NONE) {
        return false;
    }
    struct sl_host_use use = sl_host_use_of(view);
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    sl_scratch_init(&scratch, view);
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *resident = view->resident[i].pod;
        if (resident->timeout_s > 0 || resident->deleting) {
            sl_scratch_remove(&scratch, i);
            sl_host_use_remove(&use, resident);
        }
    }
    return sl_host_admits(&view->node->host, &use, pod->constraints) == SL_CONSTRAINT_NONE &&
           sl_choose_on(&scratch, &ask, &assignment, NULL);
}

bool sl_plan_fronts_use(const struct sl_plan_front *front, size_t n, const struct sl_view *view)
{
    for (size_t i = 0; i < n; i++) {
        if (can_start(front[i].pod, view)) {
            return true;
        }
    }
    return false;
}

void sl_plan_fronts_free(struct sl_plan_front *front, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sl_pod_unref(front[i].pod);
    }
}
