/* One plan: the lanes' queues merged into one order, and walked until there is nothing left that a
 * pod could have. */
#include "core/plan_internal.h"

enum step {
    STEP_CLAIMED, /* it left its queue */
    STEP_HELD,    /* on to the next of its lane */
    STEP_CLOSED,  /* nobody else of its lane can go either */
    STEP_STOP,    /* nobody at all */
};

/* ---- the order of all lanes ---- */

static const struct sl_plan_pod *head(const struct sl_plan_lane *lane)
{
    return lane->queue[lane->at];
}

static bool goes_first(const struct sl_planner *planner, const struct sl_plan_lane *a,
                       const struct sl_plan_lane *b)
{
    return sl_plan_compare(planner, head(a), head(b)) < 0;
}

static void sink(struct sl_planner *planner, size_t n, size_t at)
{
    struct sl_plan_lane **heap = planner->heap;
    for (;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            first = goes_first(planner, heap[child], heap[first]) ? child : first;
        }
        if (first == at) {
            return;
        }
        struct sl_plan_lane *swap = heap[at];
        heap[at] = heap[first];
        heap[first] = swap;
        at = first;
    }
}

/* ---- one pod ---- */

static void set_reason(struct sl_planner *planner, struct sl_plan_pod *pod,
                       enum sl_hold_reason reason)
{
    pod->reason = reason;
    pod->run = planner->run;
}

static bool claim(struct sl_planner *planner, struct sl_plan_pod *pod,
                  const struct sl_plan_pick *pick)
{
    if (!sl_plan_claim(planner, pod, pick->node, &pick->assignment)) {
        planner->lacking = true;
        return false;
    }
    bool backfilled = sl_plan_reserve_adjust(planner, pick->node);
    planner->n_backfills += backfilled;
    planner->room--;
    const struct sl_plan_action action = {
        .kind = SL_PLAN_CLAIM,
        .pod = pod->pod,
        .node = pod->claim->node,
        .assignment = pod->claim->assignment,
        .backfilled = backfilled,
    };
    sl_plan_tell(planner, &action);
    return true;
}

static bool is_bounded(const struct sl_planner *planner)
{
    return planner->config.order.kind == SL_ORDER_BOUNDED;
}

/* The first of the lane that cannot start has a reservation, unless its order forbids it. */
static void reserve(struct sl_planner *planner, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    bool taken = lane->reserve.active || lane->headroom_us > 0;
    if (taken || sl_plan_may_not_come(pod) || lane->tries >= SL_PLAN_RESERVE_TRIES) {
        return;
    }
    if (pod->reason == SL_HOLD_HEADROOM) {
        lane->headroom_us = sl_plan_headroom_time(planner, lane, pod);
        return;
    }
    if (is_bounded(planner) && !sl_plan_bound_is_mixed(lane) &&
        !sl_plan_bound_admits(planner, pod)) {
        lane->tries = SL_PLAN_RESERVE_TRIES; /* as little may it keep devices as have them */
        return;
    }
    lane->tries += !sl_plan_reserve(planner, lane, pod);
}

/* Nothing that anybody of the lane asks for is there. */
static bool is_empty(const struct sl_plan_lane *lane)
{
    return lane->tree[1] < lane->least;
}

static enum step held(struct sl_planner *planner, struct sl_plan_lane *lane,
                      struct sl_plan_pod *pod, enum sl_hold_reason reason)
{
    set_reason(planner, pod, reason);
    if (is_bounded(planner) && is_empty(lane) && planner->n_open == 1) {
        lane->rest_reason = SL_HOLD_NO_ROOM; /* nobody to keep anything from */
        return STEP_CLOSED;
    }
    reserve(planner, lane, pod);
    bool settled = lane->reserve.active || lane->tries >= SL_PLAN_RESERVE_TRIES;
    if (settled && is_empty(lane)) {
        lane->rest_reason = SL_HOLD_NO_ROOM;
        return STEP_CLOSED;
    }
    if (lane->reserve.active && !planner->config.backfill) {
        lane->rest_reason = SL_HOLD_BEHIND;
        return STEP_CLOSED;
    }
    return planner->checks == 0 ? STEP_STOP : STEP_HELD;
}

/* Does a pod of its lane wait for headroom, that this one would take units from? */
static bool delays_headroom(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                            const struct sl_plan_pod *pod)
{
    return lane->headroom_us > 0 &&
           sl_plan_add(planner->now_us, pod->item.timeout_us) > lane->headroom_us &&
           sl_plan_needs_headroom(planner, pod);
}

/* One of those that have nothing to spare: it goes, or has the reservation when no other has. */
static bool try_urgent(struct sl_planner *planner, struct sl_plan_lane *lane,
                       struct sl_plan_pod *pod)
{
    struct sl_plan_pick pick;
    if (sl_plan_preempt_holds(planner, lane, pod)) {
        lane->preempt_waits = true;
        return true;
    }
    sl_plan_pick(planner, pod, NULL, &pick);
    if (planner->lacking) {
        return false;
    }
    if (pick.node != NULL) {
        return planner->room > 0 && claim(planner, pod, &pick);
    }
    set_reason(planner, pod, pick.reason);
    if (pick.reason == SL_HOLD_HEADROOM) {
        sl_plan_bound_set_aside(planner, pod);
        lane->set_aside = true;
    } else if (!lane->kept && !sl_plan_may_not_come(pod)) {
        sl_plan_reserve_end(planner, lane);
        lane->kept = sl_plan_reserve(planner, lane, pod);
        if (!lane->kept && !planner->lacking) {
            sl_plan_bound_set_aside(planner, pod);
            lane->set_aside = true;
        }
    }
    return !planner->lacking;
}

/* Those that a start of the pod could make late are tried before it, in order. */
static enum step yield_to_urgent(struct sl_planner *planner, struct sl_plan_lane *lane,
                                 const struct sl_plan_pod *pod)
{
    struct sl_plan_pod *urgent[SL_PLAN_URGENT_MAX];
    lane->tried_us = sl_plan_add(pod->item.timeout_us, pod->item.timeout_us);
    size_t n = sl_plan_bound_urgent(planner, pod, urgent);
    bool more = true;
    if (!lane->kept) { /* it has to be free for one of them */
        sl_plan_reserve_end(planner, lane);
    }
    for (size_t i = 0; i < n && more; i++) {
        more = try_urgent(planner, lane, urgent[i]);
    }
    return more ? STEP_CLAIMED : STEP_STOP; /* the same once more */
}

/* Does the pod have to let others go first? */
static bool is_to_yield(struct sl_planner *planner, const struct sl_plan_lane *lane,
                        const struct sl_plan_pod *pod)
{
    return lane->tried_us < pod->item.timeout_us && sl_plan_bound_is_mixed(lane) &&
           !sl_plan_bound_admits(planner, pod);
}

/* Somebody would miss a latest start: others may not be in the way. */
static enum step refuse(struct sl_planner *planner, struct sl_plan_lane *lane,
                        struct sl_plan_pod *pod)
{
    set_reason(planner, pod, SL_HOLD_PROMISE);
    lane->refused++;
    if (lane->refused > SL_PLAN_REFUSED_MAX) {
        planner->paused = planner->paused || lane->set_aside;
        planner->hurry = planner->hurry || lane->set_aside; /* there is more to be found out */
        lane->rest_reason = SL_HOLD_PROMISE;
        return STEP_CLOSED;
    }
    return STEP_HELD;
}

/* When nobody else may go, the pod that must go next goes, or has the reservation. */
static enum step yield_to_due(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    struct sl_plan_pod *due = sl_plan_bound_due(planner, lane);
    if (due != NULL && due->queued && !lane->due_tried &&
        !sl_plan_preempt_holds(planner, lane, due)) {
        struct sl_plan_pick pick;
        lane->due_tried = true;
        sl_plan_reserve_end(planner, lane);
        sl_plan_pick(planner, due, NULL, &pick);
        if (pick.node != NULL && !claim(planner, due, &pick)) {
            return STEP_STOP;
        }
        if (pick.node != NULL) {
            lane->due_tried = false;
            return planner->room == 0 ? STEP_STOP : STEP_CLAIMED; /* the same once more */
        }
        set_reason(planner, due, pick.reason);
        if (pick.reason == SL_HOLD_HEADROOM || !sl_plan_reserve(planner, lane, due)) {
            sl_plan_bound_set_aside(planner, due);
            lane->due_tried = false;
            lane->set_aside = true;
            return STEP_CLAIMED; /* the same once more */
        }
    }
    return STEP_HELD;
}

/* Pods that did not take their claims try again one at a time, with a pause behind each that fails
 * again: however many there are, they keep at most half of the time of one pod's devices from those
 * that come. */
static bool is_to_pause(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!sl_plan_may_not_come(pod)) {
        return false;
    }
    struct sl_plan_retry *retry = sl_plan_retry_of(pod);
    if (retry->pod == NULL && retry->at_us <= planner->now_us) {
        return false;
    }
    retry->waits = retry->waits || retry->pod == NULL;
    return true;
}

static enum step try_pod(struct sl_planner *planner, struct sl_plan_lane *lane,
                         struct sl_plan_pod *pod)
{
    struct sl_plan_pick pick;
    if (is_to_pause(planner, pod)) {
        set_reason(planner, pod, SL_HOLD_LAPSED);
        return STEP_HELD;
    }
    if (pod->class->ask->never) { /* kept for an autoscaler's sake */
        set_reason(planner, pod, SL_HOLD_NEVER);
        return STEP_HELD;
    }
    if (sl_plan_preempt_holds(planner, lane, pod)) {
        lane->preempt_waits = true;
        lane->rest_reason = SL_HOLD_BEHIND;
        return STEP_CLOSED;
    }
    if (delays_headroom(planner, lane, pod)) {
        return held(planner, lane, pod, SL_HOLD_HEADROOM);
    }
    if (sl_plan_is_spent(planner, pod) && sl_plan_must_search(planner, pod)) {
        planner->paused = true; /* the next run goes on with it */
        planner->hurry = true;
        set_reason(planner, pod, SL_HOLD_PACE);
        return STEP_HELD;
    }
    if (planner->room == 0 && sl_plan_must_search(planner, pod)) { /* nothing would come of it */
        set_reason(planner, pod, SL_HOLD_PACE);
        return STEP_STOP;
    }
    sl_plan_pick(planner, pod, NULL, &pick);
    if (planner->lacking) {
        return STEP_STOP;
    }
    if (is_bounded(planner) && pick.reason != SL_HOLD_HEADROOM && is_to_yield(planner, lane, pod)) {
        return yield_to_urgent(planner, lane, pod);
    }
    if (pick.node == NULL) {
        return held(planner, lane, pod, pick.reason);
    }
    if (planner->room == 0) {
        set_reason(planner, pod, SL_HOLD_PACE);
        return STEP_STOP;
    }
    if (is_bounded(planner) && !sl_plan_bound_is_mixed(lane) &&
        !sl_plan_bound_admits(planner, pod)) {
        return refuse(planner, lane, pod);
    }
    if (is_bounded(planner) && sl_plan_bound_is_mixed(lane) &&
        sl_plan_bound_delays(planner, pod, pick.node)) {
        lane->refused++;
        set_reason(planner, pod, SL_HOLD_PROMISE);
        return planner->checks == 0 ? STEP_STOP : STEP_HELD;
    }
    lane->due_tried = false;
    return claim(planner, pod, &pick) ? STEP_CLAIMED : STEP_STOP;
}

/* ---- pods that were released before this planner was there ---- */

static void claim_nominated(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue && planner->n_nominated > 0;) {
            struct sl_plan_pod *pod = lane->queue[i];
            if (!pod->nominated || planner->room == 0) {
                i++;
                continue;
            }
            pod->nominated = false;
            planner->n_nominated--;
            struct sl_plan_pick pick = {.node = NULL};
            struct sl_plan_node *node = pod->pod->nominated == NULL
                                            ? NULL
                                            : sl_plan_node_find(planner, pod->pod->nominated);
            if (node != NULL) {
                sl_plan_pick(planner, pod, node, &pick);
            }
            if (pick.node == NULL) {
                i++;
                if (node != NULL) {
                    sl_plan_preempt_resume(planner, pod, node);
                }
            } else if (!claim(planner, pod, &pick)) {
                pod->nominated = true;
                planner->n_nominated++;
                return;
            }
        }
    }
}

/* Where kube-scheduler has made room for a pod, that is its own. */
static void claim_made_room(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL && planner->room > 0;
         lane = lane->next) {
        struct sl_plan_pick pick = {.node = NULL};
        if (lane->making != NULL && !is_to_pause(planner, lane->preemptor)) {
            sl_plan_pick(planner, lane->preemptor, lane->making, &pick);
        }
        if (pick.node != NULL && !claim(planner, lane->preemptor, &pick)) {
            return;
        }
    }
}

/* ---- the walk ---- */

static void note_least(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->least = INT64_MAX;
    }
    for (const struct sl_plan_ask *ask = planner->ask; ask != NULL; ask = ask->next) {
        struct sl_plan_lane *lane = ask->lane[0];
        lane->least = ask->ask.item[0].count < lane->least ? ask->ask.item[0].count : lane->least;
    }
}

static size_t begin(struct sl_planner *planner)
{
    size_t n = 0;
    planner->run++;
    planner->epoch++;
    planner->n_reserves = 0;
    planner->n_making = 0;
    planner->hurry = false;
    planner->paused = false;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->at = 0;
        lane->tries = 0;
        lane->refused = 0;
        lane->due_tried = false;
        lane->set_aside = false;
        lane->kept = false;
        lane->tried_us = 0;
        lane->retry[SL_PLAN_RETRY_LAPSED].waits = false;
        lane->retry[SL_PLAN_RETRY_DOUBTED].waits = false;
        lane->preempt_waits = false;
        lane->making = NULL;
        lane->headroom_us = 0;
        lane->rest_run = 0;
        lane->reserve.active = false;
        lane->reserve.fixed = false;
    }
    if (planner->other_asks) {
        planner->other_asks = false;
        note_least(planner);
    }
    if (planner->n_nominated > 0) {
        claim_nominated(planner);
    }
    sl_plan_preempt_begin(planner);
    claim_made_room(planner);
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (lane->n_queue > 0) {
            planner->heap[n] = lane;
            n++;
        }
    }
    planner->n_open = n;
    for (size_t i = n / 2; i > 0; i--) {
        sink(planner, n, i - 1);
    }
    return n;
}

/* Reservations of pods that the walk did not come to are no longer true. */
static void end(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (!lane->reserve.active) {
            sl_plan_reserve_end(planner, lane);
        }
    }
}

void sl_plan_walk(struct sl_planner *planner)
{
    size_t n = begin(planner);
    enum step step = planner->lacking ? STEP_STOP : STEP_HELD;
    while (n > 0 && step != STEP_STOP) {
        struct sl_plan_lane *lane = planner->heap[0];
        step = try_pod(planner, lane, lane->queue[lane->at]);
        lane->at += step == STEP_HELD;
        bool over = step == STEP_CLOSED || (step == STEP_HELD && lane->at >= lane->n_queue);
        if (over && lane->refused > 0 && !sl_plan_bound_is_mixed(lane)) {
            enum step due = yield_to_due(planner, lane);
            lane->at = due == STEP_CLAIMED ? 0 : lane->at;
            step = due == STEP_HELD ? step : due;
        }
        if (step == STEP_CLOSED) {
            lane->rest_run = planner->run;
        }
        if (step == STEP_CLOSED || lane->at >= lane->n_queue) {
            n--;
            planner->heap[0] = planner->heap[n];
        }
        sink(planner, n, 0);
        step = planner->lacking ? STEP_STOP : step;
    }
    if (step == STEP_STOP) {
        planner->paused = true;
        planner->hurry = planner->hurry || planner->checks == 0;
        for (size_t i = 0; i < n; i++) {
            planner->heap[i]->rest_run = planner->run;
            planner->heap[i]->rest_reason = SL_HOLD_PACE;
        }
    }
    end(planner);
}
