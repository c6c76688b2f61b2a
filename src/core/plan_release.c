/* Pods that are released though they do not fit: one for each resource that could preempt, so that
 * kube-scheduler does; and the first few for an autoscaler to see. */
#include "core/plan_internal.h"

static void release(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    enum sl_hold_reason reason = sl_plan_reason(planner, pod);
    uint64_t run = pod->run;
    pod->released = true;
    sl_plan_set_state(planner, pod, SL_QUEUE_RELEASED, reason);
    pod->run = run == planner->run ? run : planner->run;
    planner->n_releases++;
    const struct sl_plan_action action = {
        .kind = SL_PLAN_RELEASE, .pod = pod->pod, .reason = reason};
    sl_plan_tell(planner, &action);
}

/* ---- preemption ---- */

/* Claims are not there for kube-scheduler to preempt. */
static bool is_claim(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return sl_map_get(&planner->pods, pod->uid, strlen(pod->uid)) != NULL;
}

static bool fits_without_lower(struct sl_planner *planner, const struct sl_plan_node *node,
                               const struct sl_plan_pod *pod)
{
    const struct sl_view *view = node->view;
    const struct sl_ask *ask = &pod->class->ask->ask;
    struct sl_scratch scratch;
    for (unsigned i = 0; i < ask->n; i++) {
        int pool = sl_view_pool(view, ask->item[i].key);
        if (pool < 0 || ask->item[i].count > view->room[pool].most) {
            return false;
        }
    }
    if (!sl_plan_admits(planner, pod->class, node->node)) {
        return false;
    }
    sl_scratch_init(&scratch, view);
    for (unsigned i = 0; i < view->n_residents; i++) {
        const struct sl_pod *resident = view->resident[i].pod;
        if (resident->priority < pod->item.priority && !is_claim(planner, resident)) {
            sl_scratch_remove(&scratch, i);
        }
    }
    return sl_choose_on(&scratch, ask, NULL, NULL);
}

static bool could_preempt(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (pod->pod->never_preempts || pod->preemptive) {
        return false;
    }
    for (size_t i = 0; i < planner->n_nodes; i++) {
        const struct sl_plan_node *node = planner->node[i];
        if (node->least_priority < pod->item.priority && fits_without_lower(planner, node, pod)) {
            return true;
        }
    }
    return false;
}

static void release_preemptor(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_queue && i < SL_PLAN_PREEMPT_MAX; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (sl_plan_reason(planner, pod) == SL_HOLD_NO_ROOM && could_preempt(planner, pod)) {
            pod->preemptive = true;
            lane->preemptor = pod;
            lane->preempting_us = planner->now_us;
            if (!pod->released) {
                release(planner, pod);
            }
            return;
        }
    }
}

/* ---- autoscalers ---- */

static bool wants_nodes(enum sl_hold_reason reason)
{
    return reason == SL_HOLD_NO_ROOM || reason == SL_HOLD_CONSTRAINT || reason == SL_HOLD_NEVER;
}

static void release_for_autoscaler(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    int32_t left = planner->config.autoscaler_pods;
    for (uint32_t i = 0; i < lane->n_queue && left > 0; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (!wants_nodes(sl_plan_reason(planner, pod))) {
            continue;
        }
        left--;
        if (!pod->released) {
            release(planner, pod);
        }
    }
}

void sl_plan_release(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (planner->config.preemption && lane->preemptor == NULL) {
            release_preemptor(planner, lane);
        }
        release_for_autoscaler(planner, lane);
    }
}
