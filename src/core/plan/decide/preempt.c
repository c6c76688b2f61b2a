/* Preemption: the planner releases one pod of each resource at a time so that kube-scheduler makes
 * room for it. kube-scheduler first names the node (status.nominatedNodeName), then its victims end
 * one after the other. Until the pod has its nomination, their devices are kept from pods of no
 * higher priority, or kube-scheduler would seek more victims. */
#include "core/plan/decide/decide.h"

/* ---- preemptors ---- */

/* kube-scheduler cannot preempt a nomination, which it does not see. */
static bool is_nomination(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return sl_plan_find(planner, sl_str_of(pod->uid)) != NULL;
}

/* May it preempt those of lower priority, or the borrowed runs among them? */
static bool may_preempt(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return planner->config.preemption || sl_plan_reclaims(planner, pod);
}

/* Does it lack room, though there may be some where it may not run, as on other models? */
static bool lacks_room(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    return reason == SL_HOLD_NO_ROOM ||
           (reason == SL_HOLD_CONSTRAINT && !planner->config.preemption);
}

static bool fits_without_lower(struct sl_plan_run *run, const struct sl_plan_node *node,
                               const struct sl_plan_pod *pod)
{
    const struct sl_view *view = node->view;
    const struct sl_ask *ask = &pod->class->ask->ask;
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_scratch scratch;
    sl_plan_spend(run, 1 + view->n_residents);
    if (!sl_plan_is_enough(view, ask) || !sl_plan_admits(run, pod->class, node->node)) {
        return false;
    }
    if (!run->planner->config.preemption) {
        int64_t ripe_us = lane->ripe_us == 0 ? INT64_MAX : lane->ripe_us;
        bool fits = sl_plan_reclaim(run->planner, pod, view, &ripe_us, NULL, NULL) > 0;
        lane->ripe_us = ripe_us == INT64_MAX ? 0 : ripe_us;
        return fits;
    }
    sl_scratch_init(&scratch, view);
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *resident = view->resident[i].pod;
        if (resident->priority < pod->item.priority && !is_nomination(run->planner, resident)) {
            sl_scratch_remove(&scratch, i);
        }
    }
    return sl_choose_on(&scratch, ask, NULL, NULL);
}

/* Is there something left of the run for the pod's namespace? Else a later one looks. */
static bool may_search(const struct sl_plan_run *run, const struct sl_plan_pod *pod)
{
    return run->checks > 0 && !sl_plan_is_spent(run, pod->space);
}

static bool could_preempt(struct sl_plan_run *run, const struct sl_plan_pod *pod)
{
    bool could = false;
    if (pod->pod->never_preempts || pod->preemptive) {
        return false;
    }
    sl_plan_charge(run, pod->space);
    for (size_t i = 0; i < sl_plan_nodes(run->planner) && !could; i++) {
        const struct sl_plan_node *node = sl_plan_node_at(run->planner, i);
        could = node->least_priority < pod->item.priority && fits_without_lower(run, node, pod);
    }
    sl_plan_charge(run, NULL);
    return could;
}

static void watch_preemptor(struct sl_planner *planner, struct sl_plan_lane *lane,
                            struct sl_plan_pod *pod)
{
    lane->preemptor = pod;
    lane->preempting_us = planner->now_us;
    lane->asked_us = planner->now_us;
    sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
}

static void begin_preempting(struct sl_plan_run *run, struct sl_plan_lane *lane,
                             struct sl_plan_pod *pod)
{
    pod->preemptive = true;
    watch_preemptor(run->planner, lane, pod);
    if (!pod->released) {
        sl_plan_release_pod(run, pod);
    }
}

void sl_plan_preempt(struct sl_plan_run *run, struct sl_plan_lane *lane)
{
    lane->ripe_us = 0;
    for (uint32_t i = 0; i < lane->n_queue && i < SL_PLAN_PREEMPT_MAX; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (may_preempt(run->planner, pod) && lacks_room(run->planner, pod) &&
            may_search(run, pod) && could_preempt(run, pod)) {
            begin_preempting(run, lane, pod);
            return;
        }
    }
}

void sl_plan_preempt_resume(struct sl_plan_run *run, struct sl_plan_pod *pod,
                            const struct sl_plan_node *node)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (may_preempt(run->planner, pod) && lane->preemptor == NULL && !pod->preemptive &&
        !pod->pod->never_preempts && fits_without_lower(run, node, pod)) {
        sl_plan_set_reason(run->planner, pod, SL_HOLD_NO_ROOM);
        begin_preempting(run, lane, pod);
    }
}

/* ---- how long a preemption may take ---- */

void sl_plan_preempt_note(struct sl_planner *planner, struct sl_plan_pod *pod,
                          const struct sl_pod *next)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (sl_plan_is_queued(pod) && lane->preemptor == NULL && pod->released && pod->preemptive &&
        next->nominated != NULL) { /* the node is named after the wait for it ended */
        watch_preemptor(planner, lane, pod);
    }
    if (lane == NULL || lane->preemptor != pod) {
        return;
    }
    bool opened = pod->pod->gate != SL_GATE_NONE && next->gate == SL_GATE_NONE;
    if (opened) {
        lane->asked_us = planner->now_us;
    }
    if (opened || !sl_str_eq(sl_str_of(pod->pod->nominated), sl_str_of(next->nominated))) {
        sl_plan_touch(planner, SL_PLAN_NODES | SL_PLAN_RUN);
    }
}

/* When the planner gives the preemptor up: hold_us after its begin or the last victim's grace, and
 * after hold_max_us in any case. */
static int64_t preempting_ends(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    int64_t hold_us = planner->config.hold_us;
    int64_t until_us = sl_sat_add(lane->preempting_us, hold_us);
    const struct sl_plan_node *node = sl_plan_making_node(planner, lane->preemptor);
    const struct sl_view *view = node == NULL ? NULL : node->base;
    for (unsigned i = 0; view != NULL && i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int64_t gone_us = pod->deleting ? sl_sat_add(sl_plan_gone(pod), hold_us) : INT64_MIN;
        until_us = gone_us > until_us ? gone_us : until_us;
    }
    int64_t at_most_us = sl_sat_add(lane->preempting_us, planner->config.hold_max_us);
    return until_us < at_most_us ? until_us : at_most_us;
}

void sl_plan_preempt_expire(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    if (lane->preemptor != NULL && preempting_ends(planner, lane) <= planner->now_us) {
        sl_plan_preempt_end(planner, lane); /* no room was made for it: another may try */
    } else if (lane->preempt_waits &&
               sl_sat_add(lane->asked_us, SL_PLAN_NAMING_US) <= planner->now_us) {
        lane->preempt_waits = false;
        sl_plan_touch(planner, SL_PLAN_RUN);
    }
}

int64_t sl_plan_preempt_wake(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    if (lane->preemptor == NULL) {
        return lane->ripe_us > 0 ? lane->ripe_us : INT64_MAX;
    }
    return lane->preempt_waits ? sl_sat_add(lane->asked_us, SL_PLAN_NAMING_US)
                               : preempting_ends(planner, lane);
}
