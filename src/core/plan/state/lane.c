/* Lanes: one for each resource that pods ask for and a node offers, one for all resources that no
 * node offers. */
#include "core/plan/state/state.h"

#include <stdlib.h>

enum { LANES_KEPT = 64 }; /* idle lanes kept for what their order has learned */

struct sl_plan_lane *sl_plan_lane_find(const struct sl_planner *planner, uint64_t key)
{
    struct sl_plan_lane *lane = planner->lane;
    while (lane != NULL && (lane->nowhere || lane->key != key)) {
        lane = lane->next;
    }
    return lane;
}

struct sl_plan_lane *sl_plan_nowhere_new(void)
{
    struct sl_plan_lane *lane = calloc(1, sizeof(*lane));
    if (lane != NULL) {
        lane->nowhere = true;
        lane->refs = 1;
    }
    return lane;
}

static bool lane_before(const struct sl_plan_lane *a, const struct sl_plan_lane *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->key < b->key;
}

struct sl_plan_lane *sl_plan_lane_get(struct sl_planner *planner, const struct sl_ask_item *item)
{
    struct sl_plan_lane *lane = sl_plan_offers(planner, item->key)
                                    ? sl_plan_lane_find(planner, item->key)
                                    : planner->nowhere;
    if (lane == NULL) {
        if (sl_vec_reserve(&planner->scratch.heap, &planner->scratch.heap_cap, planner->n_lanes + 1,
                           sizeof(struct sl_plan_lane *)) < 0) {
            return NULL;
        }
        lane = calloc(1, sizeof(*lane));
        if (lane == NULL) {
            return NULL;
        }
        lane->key = item->key;
        lane->rank = sl_rank_hash(item->resource, strlen(item->resource));
        struct sl_plan_lane **at = &planner->lane;
        while (!(*at)->nowhere && lane_before(*at, lane)) {
            at = &(*at)->next;
        }
        lane->next = *at;
        *at = lane;
        planner->n_lanes++;
    }
    lane->refs++;
    return lane;
}

void sl_plan_lane_tidy(struct sl_planner *planner)
{
    struct sl_plan_lane **at = &planner->lane;
    while (*at != NULL) {
        struct sl_plan_lane *lane = *at;
        bool crowded = planner->n_lanes > LANES_KEPT;
        if (lane->refs > 0 || (planner->order != NULL && !planner->order->forget(lane, crowded))) {
            at = &lane->next;
            continue;
        }
        *at = lane->next;
        planner->n_lanes--;
        free(lane->queue);
        free(lane->tree);
        free(lane->node_free);
        free(lane);
    }
}

void sl_plan_reserve_end(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    planner->n_reserves -= lane->reserve.active;
    sl_plan_touch(planner, lane->reserve.active ? SL_PLAN_KEPT : 0);
    lane->reserve.active = false;
    lane->reserve.pod = NULL;
    lane->reserve.node = NULL;
}

void sl_plan_preempt_end(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    lane->run.making = NULL;
    lane->preemptor = NULL;
    lane->preempt_waits = false;
    /* Others may have what was kept. */
    sl_plan_touch(planner, SL_PLAN_KEPT | SL_PLAN_NODES | SL_PLAN_RUN |
                               (sl_plan_any_aside(planner) ? SL_PLAN_ROOM : 0));
}

bool sl_plan_has_room(const struct sl_plan_ask *ask)
{
    bool room = true;
    for (unsigned i = 0; i < ask->ask.n; i++) {
        const struct sl_plan_lane *lane = ask->lane[i];
        room = room && lane->leaves > 0 && lane->tree[1] >= ask->ask.item[i].count;
    }
    return room;
}

enum sl_hold_reason sl_plan_reason(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!sl_plan_is_queued(pod)) {
        return pod->reason;
    }
    if (pod->run == planner->runs && planner->runs > 0) {
        return pod->reason;
    }
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (lane->rest_run != planner->runs || planner->runs == 0) {
        return SL_HOLD_NONE; /* it came after the last run */
    }
    return sl_plan_has_room(pod->class->ask) ? lane->rest_reason : SL_HOLD_NO_ROOM;
}
