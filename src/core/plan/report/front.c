/* The foremost of those that wait for each resource: who is not the queue's goes behind them. */
#include "core/plan/report/report.h"

/* What something else than units holds takes no room, and keeps nobody from it. */
static bool wants_units(enum sl_hold_reason reason)
{
    return reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_BEHIND || reason == SL_HOLD_PROMISE ||
           reason == SL_HOLD_HEADROOM || reason == SL_HOLD_PACE || reason == SL_HOLD_CUT;
}

static size_t add_front(struct sl_plan_front out[SL_PLAN_FRONTS_MAX], size_t n, uint64_t key,
                        const struct sl_order_item *item)
{
    size_t i = 0;
    while (i < n && out[i].key != key) {
        i++;
    }
    if (i == SL_PLAN_FRONTS_MAX) {
        return n;
    }
    bool ahead = i == n || item->priority > out[i].priority ||
                 (item->priority == out[i].priority && item->submit_us < out[i].submit_us);
    if (ahead) {
        out[i] = (struct sl_plan_front){key, item->submit_us, item->priority};
    }
    return i == n ? n + 1 : n;
}

size_t sl_planner_fronts(const struct sl_planner *planner,
                         struct sl_plan_front out[SL_PLAN_FRONTS_MAX])
{
    size_t n = 0;
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue; i++) {
            const struct sl_plan_pod *pod = lane->queue[i];
            bool waits = wants_units(sl_plan_reason(planner, pod));
            for (uint32_t k = 0; waits && k < pod->pod->n_items; k++) {
                n = add_front(out, n, pod->pod->items[k].key, &pod->item);
            }
        }
    }
    return n;
}

const struct sl_ask_item *sl_plan_behind(const struct sl_plan_front *front, size_t n,
                                         const struct sl_pod *pod)
{
    int64_t created_us = pod->created_us > 0 ? pod->created_us : INT64_MAX;
    for (uint32_t k = 0; k < pod->n_items; k++) {
        for (size_t i = 0; i < n; i++) {
            if (front[i].key == pod->items[k].key &&
                (front[i].priority > pod->priority ||
                 (front[i].priority == pod->priority && front[i].submit_us <= created_us))) {
                return &pod->items[k];
            }
        }
    }
    return NULL;
}
