/* The walk of a run: merges the lanes' queues into one order and tries their pods until none can
 * start. */
#include "core/plan/decide/walk.h"
#include "util/data/heap.h"

/* ---- the order of all lanes ---- */

static bool lane_is_before(const void *a, const void *b, const void *planner)
{
    const struct sl_plan_lane *x = *(struct sl_plan_lane *const *)a;
    const struct sl_plan_lane *y = *(struct sl_plan_lane *const *)b;
    return sl_plan_compare(planner, x->queue[x->run.at], y->queue[y->run.at]) < 0;
}

static struct sl_heap_rule by_head(const struct sl_planner *planner)
{
    return (struct sl_heap_rule){
        .size = sizeof(struct sl_plan_lane *), .is_before = lane_is_before, .context = planner};
}

/* ---- one pod ---- */

/* Reserves for the lane's first pod that cannot start, unless the order forbids it. */
static void reserve_first(struct sl_plan_run *run, struct sl_plan_lane *lane,
                          struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    bool taken = lane->reserve.active || lane->run.headroom_us > 0;
    if (taken || sl_plan_may_not_come(pod) || lane->run.tries >= SL_PLAN_RESERVE_TRIES) {
        return;
    }
    if (pod->reason == SL_HOLD_HEADROOM) {
        lane->run.headroom_us = sl_plan_headroom_time(run, lane, pod);
        return;
    }
    if (!sl_plan_bounded_may_reserve(planner, pod)) {
        lane->run.tries = SL_PLAN_RESERVE_TRIES;
        return;
    }
    lane->run.tries += !sl_plan_reserve(run, lane, pod);
}

/* No node fits even the smallest request of the lane. */
static bool is_empty(const struct sl_plan_lane *lane)
{
    return lane->tree[1] < lane->least;
}

static enum sl_plan_step hold_pod(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                  struct sl_plan_pod *pod, enum sl_hold_reason reason)
{
    struct sl_planner *planner = run->planner;
    sl_plan_set_reason(planner, pod, reason);
    lane->run.refused += reason == SL_HOLD_PROMISE;
    if (planner->order == &sl_plan_bounded && is_empty(lane) && run->n_open == 1) {
        lane->rest_reason = SL_HOLD_NO_ROOM; /* no other lane's pods could take the room */
        return SL_PLAN_STEP_CLOSED;
    }
    reserve_first(run, lane, pod);
    bool settled = lane->reserve.active || lane->run.tries >= SL_PLAN_RESERVE_TRIES;
    if (settled && is_empty(lane)) {
        lane->rest_reason = SL_HOLD_NO_ROOM;
        return SL_PLAN_STEP_CLOSED;
    }
    if (lane->reserve.active && !planner->config.backfill) {
        lane->rest_reason = SL_HOLD_BEHIND;
        return SL_PLAN_STEP_CLOSED;
    }
    return run->checks == 0 ? SL_PLAN_STEP_STOP : SL_PLAN_STEP_HELD;
}

/* Would the pod take units from another of its lane that waits for headroom? */
static bool delays_headroom(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                            const struct sl_plan_pod *pod)
{
    return lane->run.headroom_us > 0 &&
           sl_sat_add(planner->now_us, pod->item.timeout_us) > lane->run.headroom_us &&
           sl_plan_needs_headroom(planner, pod);
}

/* Picks a node. A pod that the order has reserved this time for goes before the one that the lane
 * keeps a node for; if even so no node will do, it no longer holds up others in the order. */
static void pick_for(struct sl_plan_run *run, struct sl_plan_lane *lane, struct sl_plan_pod *pod,
                     struct sl_plan_pick *pick)
{
    struct sl_planner *planner = run->planner;
    sl_plan_pick(run, pod, NULL, pick);
    if (pick->node != NULL || run->lacking || sl_plan_may_not_come(pod) ||
        !sl_plan_bounded_is_due(planner, pod)) {
        return;
    }
    if (lane->reserve.active && lane->reserve.pod != pod) {
        sl_plan_reserve_end(planner, lane);
        sl_plan_pick(run, pod, NULL, pick);
    }
    if (pick->node == NULL && pick->reason != SL_HOLD_BEHIND && !run->lacking && run->checks > 0) {
        sl_plan_bounded_set_aside(planner, pod);
        if (lane->run.refused > 0) { /* others may go now */
            sl_plan_touch(planner, SL_PLAN_RUN);
            planner->hurry = true;
        }
    }
}

static enum sl_plan_step try_pod(struct sl_plan_run *run, struct sl_plan_lane *lane,
                                 struct sl_plan_pod *pod)
{
    struct sl_planner *planner = run->planner;
    struct sl_plan_pick pick;
    if (sl_plan_is_to_pause(planner, pod)) {
        sl_plan_set_reason(planner, pod, SL_HOLD_EXPIRED);
        return SL_PLAN_STEP_HELD;
    }
    if (pod->class->ask->never) { /* it stays queued for an autoscaler's sake */
        sl_plan_set_reason(planner, pod,
                           pod->class->ask->by_dra ? SL_HOLD_DEVICE_CLASS : SL_HOLD_NEVER);
        return SL_PLAN_STEP_HELD;
    }
    enum sl_hold_reason held = sl_plan_tenants_hold(planner, pod);
    if (held != SL_HOLD_NONE) {
        sl_plan_set_reason(planner, pod, held);
        return SL_PLAN_STEP_HELD;
    }
    if (sl_plan_preempt_holds(planner, lane, pod)) {
        lane->preempt_waits = true;
        lane->rest_reason = SL_HOLD_BEHIND;
        return SL_PLAN_STEP_CLOSED;
    }
    if (delays_headroom(planner, lane, pod)) {
        return hold_pod(run, lane, pod, SL_HOLD_HEADROOM);
    }
    if (sl_plan_bounded_is_settled(run, lane) && !sl_plan_bounded_is_due(planner, pod)) {
        return hold_pod(run, lane, pod, SL_HOLD_PROMISE);
    }
    if (sl_plan_is_spent(run, pod->space) && sl_plan_must_search(planner, pod)) {
        sl_plan_touch(planner, SL_PLAN_RUN); /* the next run goes on with it */
        planner->hurry = true;
        sl_plan_set_reason(planner, pod, SL_HOLD_PACE);
        return SL_PLAN_STEP_HELD;
    }
    if (run->room == 0 && sl_plan_must_search(planner, pod)) { /* a search would be in vain */
        return SL_PLAN_STEP_STOP;
    }
    pick_for(run, lane, pod, &pick);
    if (run->lacking) {
        return SL_PLAN_STEP_STOP;
    }
    if (pick.node == NULL) {
        return hold_pod(run, lane, pod, pick.reason);
    }
    if (run->room == 0) {
        return SL_PLAN_STEP_STOP;
    }
    if (!sl_plan_bounded_admits(planner, pod)) {
        return sl_plan_refuse(run, lane, pod);
    }
    lane->run.due_tried = false;
    return sl_plan_act_nominate(run, pod, &pick) ? SL_PLAN_STEP_NOMINATED : SL_PLAN_STEP_STOP;
}

/* ---- the walk ---- */

static void note_least(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->least = INT64_MAX;
    }
    for (const struct sl_plan_ask *ask = sl_plan_ask_first(planner); ask != NULL;
         ask = sl_plan_ask_next(ask)) {
        struct sl_plan_lane *lane = ask->lane[0];
        lane->least = ask->ask.item[0].count < lane->least ? ask->ask.item[0].count : lane->least;
    }
}

static size_t begin_walk(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    const struct sl_heap_rule rule = by_head(planner);
    size_t n = 0;
    planner->runs++;
    sl_plan_touch(planner, SL_PLAN_KEPT);
    planner->n_reserves = 0;
    planner->hurry = false;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->run = (struct sl_plan_lane_run){.making = NULL};
        lane->retry[SL_PLAN_RETRY_EXPIRED].waits = false;
        lane->retry[SL_PLAN_RETRY_DOUBTED].waits = false;
        lane->preempt_waits = false;
        lane->reserve.active = false;
    }
    if (sl_plan_asks_changed(planner)) {
        note_least(planner);
    }
    if (planner->names) {
        sl_plan_nominate_named(run);
    }
    sl_plan_preempt_begin(run);
    sl_plan_nominate_made_room(run);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (lane->n_queue > 0) {
            planner->scratch.heap[n] = lane;
            n++;
        }
    }
    run->n_open = n;
    sl_heap_make(&rule, planner->scratch.heap, n);
    return n;
}

/* Drops reserved starts of pods that the walk did not reach. */
static void end_walk(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (!lane->reserve.active) {
            sl_plan_reserve_end(planner, lane);
        }
    }
}

void sl_plan_walk(struct sl_plan_run *run)
{
    struct sl_planner *planner = run->planner;
    const struct sl_heap_rule rule = by_head(planner);
    size_t n = begin_walk(run);
    enum sl_plan_step step = run->lacking ? SL_PLAN_STEP_STOP : SL_PLAN_STEP_HELD;
    while (n > 0 && step != SL_PLAN_STEP_STOP) {
        struct sl_plan_lane *lane = planner->scratch.heap[0];
        step = try_pod(run, lane, lane->queue[lane->run.at]);
        lane->run.at += step == SL_PLAN_STEP_HELD;
        bool over = step == SL_PLAN_STEP_CLOSED ||
                    (step == SL_PLAN_STEP_HELD && lane->run.at >= lane->n_queue);
        if (over && lane->run.refused > 0) {
            enum sl_plan_step due = sl_plan_yield_to_due(run, lane);
            lane->run.at = due == SL_PLAN_STEP_NOMINATED ? 0 : lane->run.at;
            step = due == SL_PLAN_STEP_HELD ? step : due;
        }
        if (step == SL_PLAN_STEP_CLOSED) {
            lane->rest_run = planner->runs;
        }
        if (step == SL_PLAN_STEP_CLOSED || lane->run.at >= lane->n_queue) {
            n--;
            planner->scratch.heap[0] = planner->scratch.heap[n];
        }
        sl_heap_fix(&rule, planner->scratch.heap, n, 0);
        step = run->lacking ? SL_PLAN_STEP_STOP : step;
    }
    if (step == SL_PLAN_STEP_STOP) {
        sl_plan_touch(planner, SL_PLAN_RUN);
        planner->hurry = planner->hurry || run->checks == 0;
        for (size_t i = 0; i < n; i++) {
            planner->scratch.heap[i]->rest_run = planner->runs;
            planner->scratch.heap[i]->rest_reason = SL_HOLD_PACE;
        }
    }
    end_walk(planner);
}
