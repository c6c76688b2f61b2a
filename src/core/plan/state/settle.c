/* Transitions: transition_of computes what is to happen to a pod, and transition_make does it.
 * Nothing else changes a pod's state, its list, or its place in the order's account. */
#include "core/plan/state/state.h"

/* The state that a pod is to have. */
struct transition {
    enum sl_queue_state state;
    enum sl_hold_reason reason; /* why it does not wait in its lane's queue; SL_HOLD_NONE: it does,
                                   unless it is nominated */
    bool gone; /* it leaves its lane: it no longer waits, or asks for something else; state stays */
};

static struct transition is_refused(enum sl_hold_reason reason)
{
    return (struct transition){.state = SL_QUEUE_REFUSED, .reason = reason};
}

/* The transition that follows from all that is known of the pod. */
static struct transition transition_of(const struct sl_planner *planner,
                                       const struct sl_plan_pod *pod)
{
    if (pod->nomination != NULL) {
        return (struct transition){.state = SL_QUEUE_NOMINATED};
    }
    if (pod->class == NULL) {
        return is_refused(SL_HOLD_MALFORMED);
    }
    if (sl_plan_limit_of(planner, pod) != NULL) {
        return is_refused(SL_HOLD_LIMIT);
    }
    if (pod->stage == SL_HOLD_STAGE_FAILED || pod->stage == SL_HOLD_STAGE_CYCLE) {
        return is_refused(pod->stage);
    }
    if (pod->pod->gate == SL_GATE_OTHERS) {
        return (struct transition){.state = SL_QUEUE_GATED, .reason = SL_HOLD_GATES};
    }
    if (pod->stage == SL_HOLD_STAGE) {
        return (struct transition){.state = SL_QUEUE_STAGED, .reason = SL_HOLD_STAGE};
    }
    if (pod->class->ask->never && planner->config.autoscaler_pods == 0) {
        return pod->class->ask->by_dra
                   ? (struct transition){.state = SL_QUEUE_HELD, .reason = SL_HOLD_DEVICE_CLASS}
                   : is_refused(SL_HOLD_NEVER);
    }
    if (planner->config.autoscaler_pods == 0 && sl_plan_over_headroom(planner, pod).units > 0) {
        return is_refused(SL_HOLD_OVER_HEADROOM);
    }
    bool timed_out = pod->retry_us > planner->now_us;
    return (struct transition){
        .state = pod->released ? SL_QUEUE_RELEASED : SL_QUEUE_HELD,
        .reason = timed_out ? SL_HOLD_EXPIRED : SL_HOLD_NONE,
    };
}

void sl_plan_enlist(struct sl_plan_pod *pod, struct sl_list *list)
{
    if (pod->list != NULL) {
        sl_list_remove(pod->list, &pod->listed);
    }
    pod->list = list;
    if (list != NULL) {
        sl_list_add_last(list, &pod->listed);
    }
}

static struct sl_list *list_for(struct sl_planner *planner, const struct sl_plan_pod *pod,
                                struct transition next)
{
    if (next.gone) {
        return NULL;
    }
    if (next.state == SL_QUEUE_NOMINATED) {
        return &planner->nominations;
    }
    if (next.reason == SL_HOLD_EXPIRED) {
        return &planner->expired;
    }
    return next.state == SL_QUEUE_REFUSED && pod->told != next.reason ? &planner->refused : NULL;
}

static void set_state(struct sl_planner *planner, struct sl_plan_pod *pod, struct transition next)
{
    bool failed = pod->reason == SL_HOLD_STAGE_FAILED || pod->reason == SL_HOLD_STAGE_CYCLE;
    pod->reason = next.reason;
    if (pod->state == next.state) {
        return;
    }
    planner->stats.waiting[pod->state]--;
    planner->stats.waiting[next.state]++;
    if (pod->state == SL_QUEUE_STAGED || pod->state == SL_QUEUE_GATED || failed) {
        pod->ready_us = planner->now_us;
    }
    pod->state = next.state;
    pod->since_us = planner->now_us;
}

static void keep_account(struct sl_planner *planner, struct sl_plan_pod *pod,
                         struct transition next)
{
    enum sl_plan_stand stand = SL_PLAN_LEAVES;
    if (next.state == SL_QUEUE_NOMINATED && !next.gone) {
        stand = SL_PLAN_STARTS;
    } else if (pod->queued && !pod->class->ask->never && !sl_plan_may_not_come(pod)) {
        stand = SL_PLAN_WAITS;
    }
    if (planner->order != NULL) {
        planner->order->settle(planner, pod, stand);
    }
}

/* Brings the pod's state, list, queue and the order's account in line with it. Never fails. */
static void transition_make(struct sl_planner *planner, struct sl_plan_pod *pod,
                            struct transition next)
{
    bool may_go = !next.gone && next.state != SL_QUEUE_NOMINATED && next.reason == SL_HOLD_NONE;
    struct sl_list *list = list_for(planner, pod, next);
    if (pod->queued && !may_go) {
        sl_plan_queue_remove(planner, pod);
    }
    if (pod->list != list) {
        sl_plan_enlist(pod, list);
    }
    if (!next.gone && (!pod->queued || next.state != pod->state)) {
        set_state(planner, pod, next);
    }
    if (!next.gone && next.state != SL_QUEUE_REFUSED) {
        pod->told = SL_HOLD_NONE;
    }
    if (may_go && !pod->queued) {
        sl_plan_queue_add(planner, pod);
    }
    keep_account(planner, pod, next);
}

void sl_plan_settle(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    transition_make(planner, pod, transition_of(planner, pod));
}

void sl_plan_depart(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    transition_make(planner, pod, (struct transition){.state = pod->state, .gone = true});
}

void sl_plan_settle_all(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        sl_plan_settle(planner, pod);
    }
}
