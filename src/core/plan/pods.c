/* Pods come, change and go. */
#include "core/plan/decide/decide.h"

#include <stdlib.h>

/* Finds the class of the pod, and makes room in its lane's queue. False: out of memory. */
static bool class_join(struct sl_planner *planner, struct sl_pod *pod, struct sl_plan_class **out)
{
    *out = NULL;
    if (pod->malformed != NULL) {
        return true;
    }
    struct sl_plan_class *class = sl_plan_class_get(planner, pod);
    if (class == NULL) {
        return false;
    }
    bool is_new = class->refs == 1 && class->ask->refs == 1;
    if (is_new && planner->ready) {
        sl_plan_judge(planner, class->ask);
    }
    struct sl_plan_lane *lane = class->ask->lane[0];
    if (sl_vec_reserve(&lane->queue, &lane->queue_cap, (size_t)lane->members + 1,
                       sizeof(struct sl_plan_pod *)) < 0) {
        sl_plan_class_unref(planner, class);
        return false;
    }
    lane->members++;
    class->ask->members++;
    *out = class;
    return true;
}

static void class_part(struct sl_planner *planner, struct sl_plan_class *class)
{
    if (class != NULL) {
        class->ask->lane[0]->members--;
        class->ask->members--;
        sl_plan_class_unref(planner, class);
        sl_plan_lane_tidy(planner);
    }
}

static int add_pod(struct sl_planner *planner, struct sl_pod *pod, struct sl_error *err)
{
    struct sl_plan_pod *fresh = calloc(1, sizeof(*fresh));
    struct sl_plan_space *space = sl_plan_space_get(planner, pod->namespace);
    planner->order_now_us = planner->pods.len == 0 ? planner->now_us : planner->order_now_us;
    if (fresh == NULL || space == NULL) {
        goto lacking;
    }
    if (!class_join(planner, pod, &fresh->class) ||
        sl_map_put(&planner->pods, pod->uid, strlen(pod->uid), fresh, NULL) < 0) {
        class_part(planner, fresh->class);
        goto lacking;
    }
    fresh->pod = sl_pod_ref(pod);
    fresh->space = space;
    fresh->item = sl_plan_item_of(planner, pod, 0);
    fresh->stage = pod->after != NULL ? SL_HOLD_STAGE : SL_HOLD_NONE;
    fresh->ready_us = pod->created_us;
    fresh->since_us = planner->now_us;
    fresh->named = pod->gate == SL_GATE_NONE && pod->nominated != NULL;
    sl_plan_settle(planner, fresh);
    return 0;
lacking:
    if (space != NULL) {
        sl_plan_space_unref(planner, space);
    }
    free(fresh);
    return sl_error_nomem(err);
}

static bool same_after(const struct sl_pod *a, const struct sl_pod *b)
{
    return sl_str_eq(sl_str_of(a->after), sl_str_of(b->after));
}

/* Could the change of the pod alter a decision? */
static bool change_matters(const struct sl_planner *planner, const struct sl_plan_pod *known,
                           const struct sl_pod *pod)
{
    struct sl_order_item item = sl_plan_item_of(planner, pod, known->opened_us);
    bool malformed = pod->malformed != NULL;
    if (!same_after(known->pod, pod)) {
        return true;
    }
    if (malformed || known->class == NULL) {
        return malformed != (known->class == NULL);
    }
    return !sl_plan_class_is_of(known->class, pod) || item.priority != known->item.priority ||
           item.timeout_us != known->item.timeout_us || item.submit_us != known->item.submit_us ||
           item.weights != known->item.weights ||
           (pod->gate == SL_GATE_OTHERS) != (known->pod->gate == SL_GATE_OTHERS) ||
           pod->never_preempts != known->pod->never_preempts;
}

/* The map's key points into the old pod: putting the entry again moves it to the new one. */
static void swap_pod(struct sl_planner *planner, struct sl_plan_pod *known, struct sl_pod *pod)
{
    struct sl_pod *old = known->pod;
    known->pod = sl_pod_ref(pod);
    known->item.uid = sl_str_of(pod->uid);
    (void)sl_map_put(&planner->pods, pod->uid, strlen(pod->uid), known, NULL);
    sl_pod_unref(old);
}

/* Without memory the stage counts, but its text is lost. */
static void set_stage(struct sl_plan_pod *pod, enum sl_hold_reason stage, const char *why)
{
    size_t size = why == NULL ? 0 : strlen(why) + 1;
    free(pod->why);
    pod->why = size == 0 ? NULL : malloc(size);
    if (pod->why != NULL) {
        memcpy(pod->why, why, size);
    }
    pod->stage = stage;
}

/* The pod now asks for something else: takes it out of its lane, where another gets its turn. */
static void leave_lane(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_retry *retry = sl_plan_retrying(sl_plan_lane_of(pod), pod);
    sl_plan_depart(planner, pod);
    if (retry != NULL) {
        retry->pod = NULL;
    }
}

/* Ends the time-out of a changed pod, which may fit now. Only once within hold_max_us, or a pod
 * that is edited all the time would keep devices all the time. */
static void pardon_pod(const struct sl_planner *planner, struct sl_plan_pod *pod)
{
    int64_t again_us = sl_sat_add(pod->pardoned_us, planner->config.hold_max_us);
    bool expired = pod->strikes > 0 || pod->retry_us > 0;
    if (expired && (pod->pardoned_us == 0 || again_us <= planner->now_us)) {
        pod->retry_us = 0;
        pod->strikes = 0;
        pod->pardoned_us = planner->now_us;
    }
}

/* Is it refused for what its owner wrote? */
static bool is_wrong(const struct sl_plan_pod *pod)
{
    return pod->state == SL_QUEUE_REFUSED &&
           (pod->reason == SL_HOLD_LIMIT || pod->reason == SL_HOLD_MALFORMED);
}

static int change_pod(struct sl_planner *planner, struct sl_plan_pod *known, struct sl_pod *pod,
                      struct sl_error *err)
{
    if (planner->heard_us > 0 && pod->tried && !known->pod->tried) {
        sl_planner_heard(planner, sl_str_of(pod->uid), planner->now_us);
    }
    bool matters = change_matters(planner, known, pod);
    if ((known->pod->gate == SL_GATE_OTHERS && pod->gate != SL_GATE_OTHERS) ||
        (matters && is_wrong(known))) {
        known->opened_us = planner->now_us;
        known->ready_us = planner->now_us;
    }
    if (!matters) {
        sl_plan_preempt_note(planner, known, pod);
        swap_pod(planner, known, pod);
        return 0;
    }
    struct sl_plan_class *class = NULL;
    if (!class_join(planner, pod, &class)) {
        return sl_error_nomem(err);
    }
    struct sl_plan_nomination *nomination = known->nomination;
    if (nomination != NULL && class != known->class) {
        nomination->broken = true;
    }
    bool broken = nomination != NULL && nomination->broken;
    bool moves = class == NULL || class->ask->lane[0] != sl_plan_lane_of(known);
    if (sl_plan_is_queued(known) || (broken && moves)) {
        leave_lane(planner, known);
    }
    sl_plan_touch(planner, broken ? SL_PLAN_RUN : 0);
    struct sl_plan_class *old = known->class;
    known->class = class;
    if (!same_after(known->pod, pod)) {
        set_stage(known, pod->after != NULL ? SL_HOLD_STAGE : SL_HOLD_NONE, NULL);
    }
    swap_pod(planner, known, pod);
    known->item = sl_plan_item_of(planner, pod, known->opened_us);
    pardon_pod(planner, known);
    sl_plan_take_out(planner, known);
    sl_plan_settle(planner, known);
    class_part(planner, old);
    return 0;
}

int sl_planner_put(struct sl_planner *planner, struct sl_pod *pod, int64_t now_us,
                   struct sl_error *err)
{
    sl_plan_advance(planner, now_us);
    if (pod->uid[0] == '\0') {
        return sl_error_set(err, SL_ERR_FIELD, "metadata.uid is missing");
    }
    if (pod->n_items == 0 && pod->malformed == NULL) {
        return 0;
    }
    struct sl_plan_pod *known = sl_plan_find(planner, sl_str_of(pod->uid));
    return known == NULL ? add_pod(planner, pod, err) : change_pod(planner, known, pod, err);
}

void sl_planner_remove(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return;
    }
    const bool others_started = pod->resident && pod->nomination == NULL;
    if (pod->nomination != NULL) {
        sl_plan_ran_keep(planner, pod);
        sl_plan_withdraw(planner, pod);
    }
    sl_plan_depart(planner, pod);
    sl_plan_drain_expire(planner, pod);
    sl_map_remove(&planner->pods, uid.s, uid.len);
    if (others_started && planner->order != NULL) {
        planner->order->adopt(planner, pod->pod);
    }
    struct sl_plan_class *class = pod->class;
    pod->class = NULL;
    class_part(planner, class);
    sl_plan_pod_free(planner, pod);
}

void sl_planner_set_stage(struct sl_planner *planner, struct sl_str uid, enum sl_hold_reason stage,
                          const char *why, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return;
    }
    bool other = pod->stage != stage;
    set_stage(pod, stage, why);
    if (other) {
        sl_plan_settle(planner, pod);
    }
}

void sl_planner_set_cut(struct sl_planner *planner, struct sl_str uid, const char *node,
                        const char *text, int64_t start_us)
{
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL) {
        return;
    }
    free(pod->cut);
    pod->cut = NULL;
    if (text == NULL) {
        return;
    }
    size_t name = strlen(node) + 1;
    size_t size = strlen(text) + 1;
    pod->cut = malloc(sizeof(*pod->cut) + name + size);
    if (pod->cut != NULL) { /* without memory nothing is said */
        pod->cut->start_us = start_us;
        pod->cut->text = pod->cut->node + name;
        memcpy(pod->cut->node, node, name);
        memcpy(pod->cut->node + name, text, size);
    }
}

void sl_planner_failed(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL || pod->nomination == NULL) {
        return;
    }
    struct sl_plan_node *node = pod->nomination->node;
    bool again = pod->bad_node != NULL && sl_plan_is_barred(planner, pod);
    sl_node_unref(pod->bad_node);
    pod->bad_node = sl_node_ref(node->node);
    sl_plan_withdraw(planner, pod);
    sl_plan_node_grown(planner, node); /* the room is for other pods only */
    node->shrunk = true;
    pod->bad_seq = node->seq;
    if (again) { /* a second failure, while the first node is unchanged, counts as an expiry */
        sl_plan_time_out(planner, pod);
    }
    planner->stats.failed++;
    sl_plan_touch(planner, SL_PLAN_RUN);
    sl_plan_settle(planner, pod);
}

void sl_planner_denied(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod == NULL || (pod->nomination == NULL && !pod->released)) {
        return;
    }
    if (pod->nomination != NULL) {
        sl_plan_nomination_end(planner, pod, SL_HOLD_EXPIRED);
    } else {
        pod->released = false;
        sl_plan_time_out(planner, pod);
        sl_plan_settle(planner, pod);
    }
    pod->denied = true;
    sl_plan_touch(planner, SL_PLAN_RUN);
    sl_plan_note_refusal(planner, pod->space);
}

void sl_planner_released(struct sl_planner *planner, struct sl_str uid, int64_t now_us)
{
    sl_plan_advance(planner, now_us);
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    if (pod != NULL) {
        sl_plan_note_release(planner, pod->space);
    }
}

/* ---- what is asked ---- */

void sl_planner_nominated(const struct sl_planner *planner,
                          void (*visit)(void *context, const struct sl_pod *pod,
                                        int64_t nominated_us),
                          void *context)
{
    for (const struct sl_plan_pod *pod = sl_plan_pod_first(planner, SL_STAND_NOMINATED);
         pod != NULL; pod = sl_plan_pod_next(pod)) {
        visit(context, pod->pod, pod->nomination->since_us);
    }
}

int64_t sl_planner_nominated_at(const struct sl_planner *planner, struct sl_str uid)
{
    const struct sl_plan_pod *pod = sl_plan_find(planner, uid);
    return pod != NULL && pod->nomination != NULL ? pod->nomination->since_us : 0;
}
