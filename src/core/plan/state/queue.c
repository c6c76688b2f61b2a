/* The pods of a lane in their order: a sorted array. */
#include "core/plan/state/state.h"
#include "util/data/search.h"

int sl_plan_compare(const struct sl_planner *planner, const struct sl_plan_pod *a,
                    const struct sl_plan_pod *b)
{
    return sl_order_compare(&planner->config.order, &a->item, &b->item, planner->order_now_us);
}

struct place {
    const struct sl_planner *planner;
    const struct sl_plan_pod *pod;
};

static bool is_ahead(const void *item, const void *key)
{
    const struct sl_plan_pod *const *queued = item;
    const struct place *place = key;
    return sl_plan_compare(place->planner, *queued, place->pod) < 0;
}

uint32_t sl_plan_queue_place(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                             const struct sl_plan_pod *pod)
{
    const struct place place = {planner, pod};
    return (uint32_t)sl_lower_bound(lane->queue, lane->n_queue, sizeof(struct sl_plan_pod *),
                                    &place, is_ahead);
}

void sl_plan_queue_add(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    bool dues = planner->order != NULL && planner->order->due != NULL;
    pod->item.due_us = dues ? planner->order->due(pod) : INT64_MAX;
    uint32_t at = sl_plan_queue_place(planner, lane, pod);
    memmove(lane->queue + at + 1, lane->queue + at,
            (lane->n_queue - at) * sizeof(struct sl_plan_pod *));
    lane->queue[at] = pod;
    lane->n_queue++;
    if (pod->space->tenant != NULL) {
        pod->space->tenant->waiting++;
    }
    planner->names = planner->names || pod->named;
    sl_plan_touch(planner, SL_PLAN_RUN);
}

void sl_plan_queue_remove(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    uint32_t at = sl_plan_queue_place(planner, lane, pod);
    struct sl_tenant *tenant = pod->space->tenant;
    lane->n_queue--;
    if (tenant != NULL) {
        tenant->waiting--;
        planner->uncaps = planner->uncaps || tenant->capped > 0;
    }
    memmove(lane->queue + at, lane->queue + at + 1,
            (lane->n_queue - at) * sizeof(struct sl_plan_pod *));
    lane->run.at -= at < lane->run.at;
    if (lane->reserve.pod == pod) {
        sl_plan_reserve_end(planner, lane);
        sl_plan_touch(planner, SL_PLAN_RUN);
    }
    if (lane->preemptor == pod) {
        sl_plan_preempt_end(planner, lane);
    }
}

static int compare_in_order(const void *context, const struct sl_plan_pod *a,
                            const struct sl_plan_pod *b)
{
    return sl_plan_compare(context, a, b);
}

bool sl_plan_queue_order(struct sl_planner *planner, int64_t now_us)
{
    if (sl_order_is_static(planner->config.order.kind)) {
        planner->order_now_us = now_us;
        return true;
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (sl_vec_reserve(&planner->scratch.sort, &planner->scratch.sort_cap, lane->n_queue,
                           sizeof(struct sl_plan_pod *)) < 0) {
            return false;
        }
    }
    planner->order_now_us = now_us;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_plan_sort(lane->queue, planner->scratch.sort, lane->n_queue, compare_in_order, planner);
    }
    return true;
}
