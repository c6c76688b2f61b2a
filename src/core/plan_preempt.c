/* Preemption: one pod of each resource at a time is released so that kube-scheduler makes room for
 * it. That takes a while: first it names the node (status.nominatedNodeName), and its victims go
 * one after the other. Until the pod has its claim, what they leave is not for those that matter
 * less: kube-scheduler would find more victims. */
#include "core/plan_internal.h"

static const int64_t naming_us = 2000000; /* within that it names a node, if it finds victims */

/* ---- who could ---- */

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

static void watch(struct sl_planner *planner, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    lane->preemptor = pod;
    lane->preempting_us = planner->now_us;
    lane->asked_us = planner->now_us;
    planner->touch++;
    planner->dirty = true;
}

static void begin(struct sl_planner *planner, struct sl_plan_lane *lane, struct sl_plan_pod *pod)
{
    pod->preemptive = true;
    watch(planner, lane, pod);
    if (!pod->released) {
        sl_plan_release_pod(planner, pod);
    }
}

void sl_plan_preempt(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    for (uint32_t i = 0; i < lane->n_queue && i < SL_PLAN_PREEMPT_MAX; i++) {
        struct sl_plan_pod *pod = lane->queue[i];
        if (sl_plan_reason(planner, pod) == SL_HOLD_NO_ROOM && could_preempt(planner, pod)) {
            begin(planner, lane, pod);
            return;
        }
    }
}

void sl_plan_preempt_resume(struct sl_planner *planner, struct sl_plan_pod *pod,
                            const struct sl_plan_node *node)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (planner->config.preemption && lane->preemptor == NULL && !pod->preemptive &&
        !pod->pod->never_preempts && fits_without_lower(planner, node, pod)) {
        pod->reason = SL_HOLD_NO_ROOM;
        pod->run = planner->run;
        begin(planner, lane, pod);
    }
}

/* ---- until when ---- */

void sl_plan_preempt_end(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    planner->n_making -= lane->making != NULL;
    lane->making = NULL;
    lane->preemptor = NULL;
    lane->preempt_waits = false;
    planner->epoch++;
    planner->touch++; /* others may have what was kept */
    planner->seq += planner->n_aside > 0;
    planner->dirty = true;
}

void sl_plan_preempt_note(struct sl_planner *planner, struct sl_plan_pod *pod,
                          const struct sl_pod *next)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (pod->queued && lane->preemptor == NULL && pod->released && pod->preemptive &&
        next->nominated != NULL) { /* later than was waited for */
        watch(planner, lane, pod);
    }
    if (lane == NULL || lane->preemptor != pod) {
        return;
    }
    bool opened = pod->pod->gate != SL_GATE_NONE && next->gate == SL_GATE_NONE;
    if (opened) {
        lane->asked_us = planner->now_us;
    }
    if (opened || !sl_str_eq(sl_str_of(pod->pod->nominated), sl_str_of(next->nominated))) {
        planner->touch++;
        planner->dirty = true;
    }
}

/* Where kube-scheduler makes room for the pod, by what it says on it. */
static struct sl_plan_node *node_of(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    bool named = pod->pod->gate == SL_GATE_NONE && pod->pod->nominated != NULL;
    return named ? sl_plan_node_find(planner, pod->pod->nominated) : NULL;
}

/* Victims that take their time get it, but nobody waits for ever for one that does not go. */
static int64_t over_us(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    int64_t hold_us = planner->config.hold_us;
    int64_t until_us = sl_plan_add(lane->preempting_us, hold_us);
    const struct sl_plan_node *node = node_of(planner, lane->preemptor);
    const struct sl_view *view = node == NULL ? NULL : node->base;
    for (unsigned i = 0; view != NULL && i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        int64_t gone_us = pod->deleting ? sl_plan_add(sl_plan_gone(pod), hold_us) : INT64_MIN;
        until_us = gone_us > until_us ? gone_us : until_us;
    }
    int64_t at_most_us = sl_plan_add(lane->preempting_us, planner->config.hold_max_us);
    return until_us < at_most_us ? until_us : at_most_us;
}

void sl_plan_preempt_expire(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    if (lane->preemptor != NULL && over_us(planner, lane) <= planner->now_us) {
        sl_plan_preempt_end(planner, lane); /* no room was made for it: another may try */
    } else if (lane->preempt_waits && sl_plan_add(lane->asked_us, naming_us) <= planner->now_us) {
        lane->preempt_waits = false;
        planner->dirty = true;
    }
}

int64_t sl_plan_preempt_wake(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    if (lane->preemptor == NULL) {
        return INT64_MAX;
    }
    return lane->preempt_waits ? sl_plan_add(lane->asked_us, naming_us) : over_us(planner, lane);
}

/* ---- what others may have meanwhile ---- */

void sl_plan_preempt_begin(struct sl_planner *planner)
{
    planner->n_making = 0;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->making = lane->preemptor == NULL ? NULL : node_of(planner, lane->preemptor);
        planner->n_making += lane->making != NULL;
    }
}

/* kube-scheduler does not place a pod of equal priority there either. */
static bool gives_way(const struct sl_plan_lane *lane, const struct sl_plan_pod *pod)
{
    return lane->preemptor != pod && pod->item.priority <= lane->preemptor->item.priority;
}

bool sl_plan_preempt_holds(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                           const struct sl_plan_pod *pod)
{
    return lane->preemptor != NULL && lane->making == NULL && gives_way(lane, pod) &&
           sl_plan_compare(planner, lane->preemptor, pod) < 0 &&
           sl_plan_add(lane->asked_us, naming_us) > planner->now_us;
}

bool sl_plan_preempt_keeps(const struct sl_planner *planner, const struct sl_plan_node *node,
                           const struct sl_plan_pod *pod)
{
    bool keeps = false;
    for (const struct sl_plan_lane *lane = planner->lane;
         planner->n_making > 0 && lane != NULL && !keeps; lane = lane->next) {
        keeps = lane->making == node && gives_way(lane, pod);
    }
    return keeps;
}

bool sl_plan_preempt_allows(const struct sl_planner *planner, const struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, const struct sl_assignment *assignment)
{
    bool allows = true;
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL && allows;
         lane = lane->next) {
        allows = lane->making != node || !gives_way(lane, pod) ||
                 sl_plan_leaves_room(node, lane->preemptor, pod, assignment);
    }
    return allows;
}
