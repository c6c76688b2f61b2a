/* Where a pod stands: transition_of computes it from all that is known of the pod, and
 * transition_make moves the pod there. Nothing else changes a pod's stand, state, list, or place in
 * the order's account. */
#include "core/plan/state/state.h"
#include "util/check.h"

#define BIT(stand) (1U << (stand))

enum {
    KEPT =
        BIT(SL_STAND_STAGED) | BIT(SL_STAND_GATED) | BIT(SL_STAND_BY_DRA) | BIT(SL_STAND_REFUSED),
    FREE = KEPT | BIT(SL_STAND_CAPPED) | BIT(SL_STAND_HELD) | BIT(SL_STAND_RELEASED) |
           BIT(SL_STAND_RESTING),
};

/* A pod is nominated from a queue alone, and rests before it is queued again. */
static const struct {
    enum sl_queue_state state;
    enum sl_plan_list list;
    unsigned next; /* stands that may follow, beside itself and OUT */
} stands[SL_STANDS] = {
    [SL_STAND_OUT] = {SL_QUEUE_HELD, SL_LIST_NONE, FREE | BIT(SL_STAND_NOMINATED)},
    [SL_STAND_HELD] = {SL_QUEUE_HELD, SL_LIST_NONE, FREE | BIT(SL_STAND_NOMINATED)},
    [SL_STAND_RELEASED] = {SL_QUEUE_RELEASED, SL_LIST_NONE, FREE | BIT(SL_STAND_NOMINATED)},
    [SL_STAND_RESTING] = {SL_QUEUE_HELD, SL_LIST_RESTING,
                          KEPT | BIT(SL_STAND_HELD) | BIT(SL_STAND_CAPPED)},
    [SL_STAND_CAPPED] = {SL_QUEUE_HELD, SL_LIST_CAPPED, FREE},
    [SL_STAND_NOMINATED] = {SL_QUEUE_NOMINATED, SL_LIST_NOMINATED,
                            KEPT | BIT(SL_STAND_HELD) | BIT(SL_STAND_RESTING) |
                                BIT(SL_STAND_CAPPED)},
    [SL_STAND_STAGED] = {SL_QUEUE_STAGED, SL_LIST_NONE, FREE},
    [SL_STAND_GATED] = {SL_QUEUE_GATED, SL_LIST_NONE, FREE},
    [SL_STAND_BY_DRA] = {SL_QUEUE_HELD, SL_LIST_NONE, FREE},
    [SL_STAND_REFUSED] = {SL_QUEUE_REFUSED, SL_LIST_REFUSED, FREE | BIT(SL_STAND_TOLD)},
    [SL_STAND_TOLD] = {SL_QUEUE_REFUSED, SL_LIST_NONE, FREE},
};

struct transition {
    enum sl_plan_stand stand;
    enum sl_hold_reason reason; /* why it does not wait in its lane's queue; SL_HOLD_NONE: it does,
                                   or is nominated */
};

static struct transition is_refused(const struct sl_plan_pod *pod, enum sl_hold_reason reason)
{
    bool told = pod->stand == SL_STAND_TOLD && pod->reason == reason;
    return (struct transition){told ? SL_STAND_TOLD : SL_STAND_REFUSED, reason};
}

/* The transition that follows from all that is known of the pod. */
static struct transition transition_of(const struct sl_planner *planner,
                                       const struct sl_plan_pod *pod)
{
    if (pod->nomination != NULL) {
        return (struct transition){SL_STAND_NOMINATED, SL_HOLD_NONE};
    }
    if (pod->class == NULL) {
        return is_refused(pod, SL_HOLD_MALFORMED);
    }
    if (sl_plan_limit_of(planner, pod) != NULL) {
        return is_refused(pod, SL_HOLD_LIMIT);
    }
    if (pod->stage == SL_HOLD_STAGE_FAILED || pod->stage == SL_HOLD_STAGE_CYCLE) {
        return is_refused(pod, pod->stage);
    }
    if (pod->pod->gate == SL_GATE_OTHERS) {
        return (struct transition){SL_STAND_GATED, SL_HOLD_GATES};
    }
    if (pod->stage == SL_HOLD_STAGE) {
        return (struct transition){SL_STAND_STAGED, SL_HOLD_STAGE};
    }
    if (pod->class->ask->never && planner->config.autoscaler_pods == 0) {
        return pod->class->ask->by_dra ? (struct transition){SL_STAND_BY_DRA, SL_HOLD_DEVICE_CLASS}
                                       : is_refused(pod, SL_HOLD_NEVER);
    }
    if (planner->config.autoscaler_pods == 0 && sl_plan_over_headroom(planner, pod).units > 0) {
        return is_refused(pod, SL_HOLD_OVER_HEADROOM);
    }
    if (pod->retry_us > planner->now_us) {
        return (struct transition){SL_STAND_RESTING, SL_HOLD_EXPIRED};
    }
    if (!sl_plan_is_queued(pod) && sl_plan_is_full(pod->space->tenant)) {
        return (struct transition){SL_STAND_CAPPED, SL_HOLD_CAP};
    }
    return (struct transition){pod->released ? SL_STAND_RELEASED : SL_STAND_HELD, SL_HOLD_NONE};
}

struct sl_plan_pod *sl_plan_pod_first(const struct sl_planner *planner, enum sl_plan_stand stand)
{
    return sl_plan_listed(planner->listed[stands[stand].list].first);
}

static void move(struct sl_planner *planner, struct sl_plan_pod *pod, enum sl_plan_stand stand)
{
    enum sl_plan_list from = stands[pod->stand].list;
    enum sl_plan_list to = stands[stand].list;
    bool queued = sl_plan_is_queued(pod);
    SL_CHECK(stand == pod->stand || stand == SL_STAND_OUT ||
             (stands[pod->stand].next & BIT(stand)) != 0);
    pod->stand = stand;
    if (queued && !sl_plan_is_queued(pod)) {
        sl_plan_queue_remove(planner, pod);
    }
    if (pod->space->tenant != NULL) {
        pod->space->tenant->capped += (to == SL_LIST_CAPPED) - (size_t)(from == SL_LIST_CAPPED);
    }
    if (from != to && from != SL_LIST_NONE) {
        sl_list_remove(&planner->listed[from], &pod->listed);
    }
    if (from != to && to != SL_LIST_NONE) {
        sl_list_add_last(&planner->listed[to], &pod->listed);
    }
    if (!queued && sl_plan_is_queued(pod)) {
        sl_plan_queue_add(planner, pod);
    }
}

static void set_state(struct sl_planner *planner, struct sl_plan_pod *pod, struct transition next)
{
    bool failed = pod->reason == SL_HOLD_STAGE_FAILED || pod->reason == SL_HOLD_STAGE_CYCLE;
    enum sl_queue_state state = stands[next.stand].state;
    pod->reason = next.reason;
    if (pod->state == state) {
        return;
    }
    if (pod->state == SL_QUEUE_STAGED || failed) {
        pod->ready_us = planner->now_us;
    }
    pod->state = state;
    pod->since_us = planner->now_us;
}

static void keep_account(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (planner->order != NULL) {
        planner->order->settle(planner, pod);
    }
}

void sl_plan_settle(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct transition next = transition_of(planner, pod);
    bool stays = sl_plan_is_queued(pod) && next.stand == pod->stand; /* for the last run's reason */
    move(planner, pod, next.stand);
    if (!stays) {
        set_state(planner, pod, next);
    }
    keep_account(planner, pod);
}

void sl_plan_depart(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    move(planner, pod, SL_STAND_OUT);
    keep_account(planner, pod);
}

void sl_plan_take_out(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    move(planner, pod, SL_STAND_OUT);
}

void sl_plan_told(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    move(planner, pod, SL_STAND_TOLD);
}

void sl_plan_empty(struct sl_planner *planner, struct sl_plan_lane *lane, bool all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < lane->n_queue; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (all || pod->class->ask->moving) {
            pod->stand = SL_STAND_OUT;
            if (pod->space->tenant != NULL) {
                pod->space->tenant->waiting--;
            }
            keep_account(planner, pod);
        } else {
            lane->queue[n] = pod;
            n++;
        }
    }
    lane->n_queue = n;
    sl_plan_reserve_end(planner, lane);
}

void sl_plan_uncap(struct sl_planner *planner)
{
    struct sl_plan_pod *next = NULL;
    bool uncaps = planner->uncaps;
    planner->uncaps = false;
    for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_CAPPED);
         pod != NULL && uncaps; pod = next) {
        next = sl_plan_pod_next(pod);
        if (!sl_plan_is_full(pod->space->tenant)) {
            sl_plan_settle(planner, pod);
        }
    }
}

void sl_plan_count_capped(struct sl_planner *planner, bool counts)
{
    for (const struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_CAPPED); pod != NULL;
         pod = sl_plan_pod_next(pod)) {
        if (pod->space->tenant != NULL) {
            pod->space->tenant->capped += counts ? 1 : SIZE_MAX;
        }
    }
}

/* Pods that a cap holds come last, and in their order, so that they take nobody's place. */
void sl_plan_settle_all(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->stand != SL_STAND_CAPPED) {
            sl_plan_settle(planner, pod);
        }
    }
    struct sl_plan_pod *next = NULL;
    for (struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_CAPPED); pod != NULL;
         pod = next) {
        next = sl_plan_pod_next(pod);
        sl_plan_settle(planner, pod);
    }
}
