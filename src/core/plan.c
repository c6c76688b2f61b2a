/* The planner: pods come, change and go. */
#include "core/plan_internal.h"

#include <stdlib.h>

static const int64_t US_PER_S = 1000000;

/* ---- small things ---- */

bool sl_plan_grow(void *array, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap) {
        return true;
    }
    size_t more = *cap < 64 ? 64 : *cap;
    while (more < n) {
        more *= 2;
    }
    void *old = NULL;
    memcpy(&old, array, sizeof old);
    void *fresh = realloc(old, more * size);
    if (fresh == NULL) {
        return false;
    }
    memcpy(array, &fresh, sizeof fresh);
    *cap = more;
    return true;
}

int64_t sl_plan_add(int64_t a, int64_t b)
{
    if (b > 0) {
        return a > INT64_MAX - b ? INT64_MAX : a + b;
    }
    return a < INT64_MIN - b ? INT64_MIN : a + b;
}

void sl_plan_list_add(struct sl_plan_list *list, struct sl_plan_pod *pod)
{
    pod->list = list;
    pod->prev = list->last;
    pod->next = NULL;
    if (list->last != NULL) {
        list->last->next = pod;
    } else {
        list->first = pod;
    }
    list->last = pod;
    list->n++;
}

void sl_plan_list_remove(struct sl_plan_pod *pod)
{
    struct sl_plan_list *list = pod->list;
    if (list == NULL) {
        return;
    }
    if (pod->prev != NULL) {
        pod->prev->next = pod->next;
    } else {
        list->first = pod->next;
    }
    if (pod->next != NULL) {
        pod->next->prev = pod->prev;
    } else {
        list->last = pod->prev;
    }
    list->n--;
    pod->list = NULL;
    pod->prev = NULL;
    pod->next = NULL;
}

void sl_plan_advance(struct sl_planner *planner, int64_t now_us)
{
    planner->now_us = now_us > planner->now_us ? now_us : planner->now_us;
}

int64_t sl_plan_timeout(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return pod->timeout_s > 0 ? pod->timeout_s * US_PER_S : planner->config.default_timeout_us;
}

/* ---- the planner ---- */

void sl_plan_defaults(struct sl_plan_config *config)
{
    *config = (struct sl_plan_config){
        .default_timeout_us = 86400 * US_PER_S,
        .hold_us = 60 * US_PER_S,
        .hold_max_us = 3600 * US_PER_S,
        .backfill = true,
        .preemption = true,
    };
    sl_order_defaults(&config->order);
    sl_bound_defaults(&config->bound);
    config->score.weight[SL_TERM_AVAILABILITY] = 3;
    config->score.weight[SL_TERM_PACKING] = 1;
}

static int check_config(const struct sl_plan_config *config, struct sl_error *err)
{
    const char *wrong = NULL;
    if (config->order.kind >= SL_ORDER_KINDS) {
        wrong = "there is no such order";
    } else if (config->default_timeout_us <= 0) {
        wrong = "the default timeout must be above 0";
    } else if (config->hold_us <= 0 || config->hold_max_us < config->hold_us) {
        wrong = "claims must be held for a time above 0 and at most their longest time-out";
    } else if (config->n_limits > SL_PLAN_RULES_MAX || config->n_headrooms > SL_PLAN_RULES_MAX ||
               config->n_overrides > SL_PLAN_RULES_MAX) {
        wrong = "there are too many limits, headrooms or overrides";
    }
    return wrong == NULL ? 0 : sl_error_set(err, SL_ERR_FIELD, "%s", wrong);
}

struct sl_planner *sl_planner_new(const struct sl_plan_config *config, struct sl_error *err)
{
    if (check_config(config, err) < 0) {
        return NULL;
    }
    struct sl_planner *planner = calloc(1, sizeof *planner);
    if (planner == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    planner->lane = sl_plan_nowhere_new();
    planner->nowhere = planner->lane;
    planner->heap = malloc(sizeof(struct sl_plan_lane *));
    if (planner->lane == NULL || planner->heap == NULL) {
        free(planner->lane);
        free(planner->heap);
        free(planner);
        (void)sl_error_nomem(err);
        return NULL;
    }
    planner->config = *config;
    planner->heap_cap = 1;
    planner->n_lanes = 1;
    planner->seq = 1;
    planner->nodes_seq = 1;
    return planner;
}

static void free_pod(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->class != NULL) {
        sl_plan_class_unref(planner, pod->class);
    }
    sl_pod_unref(pod->claim);
    sl_pod_unref(pod->pod);
    sl_node_unref(pod->bad_node);
    sl_plan_space_unref(planner, pod->space);
    free(pod->why);
    free(pod);
}

static void free_nodes(struct sl_planner *planner)
{
    for (size_t i = 0; i < planner->n_nodes; i++) {
        sl_plan_node_free(planner->node[i]);
    }
    while (planner->gone != NULL) {
        struct sl_plan_node *node = planner->gone;
        planner->gone = node->stale_next;
        sl_plan_node_free(node);
    }
    free(planner->node);
    free(planner->base);
    free(planner->grown);
    free(planner->offer);
    free(planner->news);
}

void sl_planner_free(struct sl_planner *planner)
{
    if (planner == NULL) {
        return;
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        free_pod(planner, pod);
    }
    while (planner->ran != NULL) {
        sl_plan_ran_forget(planner, planner->ran);
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_bound_free(lane->bound);
        lane->bound = NULL;
    }
    planner->nowhere->refs = 0;
    sl_plan_lane_tidy(planner);
    free_nodes(planner);
    sl_map_free(&planner->pods);
    sl_map_free(&planner->classes);
    sl_map_free(&planner->asks);
    sl_map_free(&planner->rans);
    sl_map_free(&planner->ids);
    sl_map_free(&planner->spaces);
    free(planner->heap);
    free(planner->bid);
    free(planner->pod_list);
    free(planner->sort);
    free(planner->freed);
    free(planner->arriving);
    free(planner);
}

/* ---- what a pod's state is ---- */

static const struct sl_order_weights *weights_of(const struct sl_planner *planner,
                                                 const struct sl_pod *pod)
{
    for (unsigned i = 0; i < planner->config.n_overrides; i++) {
        const struct sl_plan_override *rule = &planner->config.override[i];
        bool here = rule->namespace[0] == '\0' || strcmp(rule->namespace, pod->namespace) == 0;
        if (here && (!rule->of_priority || rule->priority == pod->priority)) {
            return &rule->weights;
        }
    }
    return NULL;
}

static struct sl_order_item item_of(const struct sl_planner *planner, const struct sl_pod *pod)
{
    return (struct sl_order_item){
        .timeout_us = sl_plan_timeout(planner, pod),
        .submit_us = pod->created_us > 0 ? pod->created_us : 0,
        .weights = weights_of(planner, pod),
        .uid = sl_str_of(pod->uid),
        .priority = pod->priority,
    };
}

/* Why the pod is not among those that may go, SL_HOLD_NONE when it is. */
static enum sl_hold_reason obstacle(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                                    enum sl_queue_state *state)
{
    *state = SL_QUEUE_CLAIMED;
    if (pod->claim != NULL) {
        return SL_HOLD_NONE;
    }
    *state = SL_QUEUE_REFUSED;
    if (pod->class == NULL) {
        return SL_HOLD_MALFORMED;
    }
    if (sl_plan_limit_of(planner, pod) != NULL) {
        return SL_HOLD_LIMIT;
    }
    if (pod->stage == SL_HOLD_STAGE_FAILED || pod->stage == SL_HOLD_STAGE_CYCLE) {
        return pod->stage;
    }
    if (pod->pod->gate == SL_GATE_OTHERS) {
        *state = SL_QUEUE_GATED;
        return SL_HOLD_GATES;
    }
    if (pod->stage == SL_HOLD_STAGE) {
        *state = SL_QUEUE_STAGED;
        return SL_HOLD_STAGE;
    }
    if (pod->class->ask->never && planner->config.autoscaler_pods == 0) {
        return SL_HOLD_NEVER;
    }
    if (planner->config.autoscaler_pods == 0 && sl_plan_over_headroom(planner, pod).units > 0) {
        return SL_HOLD_OVER_HEADROOM;
    }
    *state = pod->released ? SL_QUEUE_RELEASED : SL_QUEUE_HELD;
    return pod->retry_us > planner->now_us ? SL_HOLD_LAPSED : SL_HOLD_NONE;
}

void sl_plan_set_state(struct sl_planner *planner, struct sl_plan_pod *pod,
                       enum sl_queue_state state, enum sl_hold_reason reason)
{
    bool failed = pod->reason == SL_HOLD_STAGE_FAILED || pod->reason == SL_HOLD_STAGE_CYCLE;
    pod->reason = reason;
    if (pod->state == state) {
        return;
    }
    planner->count[pod->state]--;
    planner->count[state]++;
    if (pod->state == SL_QUEUE_STAGED || pod->state == SL_QUEUE_GATED || failed) {
        pod->ready_us = planner->now_us;
    }
    pod->state = state;
    pod->since_us = planner->now_us;
}

void sl_plan_settle(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    enum sl_queue_state state = SL_QUEUE_HELD;
    enum sl_hold_reason reason = obstacle(planner, pod, &state);
    bool may_go = reason == SL_HOLD_NONE && state != SL_QUEUE_CLAIMED;
    if (pod->queued && !may_go) {
        sl_plan_queue_remove(planner, pod);
    }
    bool doubtful = pod->class != NULL && pod->class->ask->never;
    if ((!may_go && state != SL_QUEUE_CLAIMED) || doubtful) {
        sl_plan_bound_leave(planner, pod);
    }
    struct sl_plan_list *list = NULL;
    if (state == SL_QUEUE_CLAIMED) {
        list = &planner->claims;
    } else if (reason == SL_HOLD_LAPSED) {
        list = &planner->lapsed;
    } else if (state == SL_QUEUE_REFUSED && pod->told != reason) {
        list = &planner->refused;
    }
    if (pod->list != list) {
        sl_plan_list_remove(pod);
        if (list != NULL) {
            sl_plan_list_add(list, pod);
        }
    }
    if (!pod->queued || state != pod->state) {
        sl_plan_set_state(planner, pod, state, reason);
    }
    pod->told = state == SL_QUEUE_REFUSED ? pod->told : SL_HOLD_NONE;
    if (may_go && !pod->queued) {
        sl_plan_queue_add(planner, pod);
    } else if (may_go) {
        sl_plan_bound_arrive(planner, pod); /* where it was no use before */
    }
}

/* ---- pods ---- */

struct sl_plan_pod *sl_plan_find(const struct sl_planner *planner, struct sl_str uid)
{
    return uid.len == 0 ? NULL : sl_map_get(&planner->pods, uid.s, uid.len);
}

/* A class, and room in its lane's queue. False: out of memory. */
static bool join(struct sl_planner *planner, struct sl_pod *pod, struct sl_plan_class **out)
{
    *out = NULL;
    if (pod->malformed != NULL) {
        return true;
    }
    struct sl_plan_class *class = sl_plan_class_get(planner, pod);
    if (class == NULL) {
        return false;
    }
    struct sl_plan_lane *lane = class->ask->lane[0];
    if (!sl_plan_queue_reserve(lane, (size_t)lane->members + 1)) {
        sl_plan_class_unref(planner, class);
        return false;
    }
    lane->members++;
    class->ask->members++;
    *out = class;
    return true;
}

static void part(struct sl_planner *planner, struct sl_plan_class *class)
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
    struct sl_plan_pod *fresh = calloc(1, sizeof *fresh);
    struct sl_plan_space *space = sl_plan_space_get(planner, pod->namespace);
    planner->order_now_us = planner->pods.len == 0 ? planner->now_us : planner->order_now_us;
    if (fresh == NULL || space == NULL) {
        goto lacking;
    }
    if (!sl_plan_grow(&planner->arriving, &planner->arriving_cap, planner->pods.len + 1,
                      sizeof(struct sl_plan_pod *)) ||
        !join(planner, pod, &fresh->class) ||
        sl_map_put(&planner->pods, pod->uid, strlen(pod->uid), fresh, NULL) < 0) {
        part(planner, fresh->class);
        goto lacking;
    }
    fresh->pod = sl_pod_ref(pod);
    fresh->space = space;
    fresh->item = item_of(planner, pod);
    fresh->stage = pod->after != NULL ? SL_HOLD_STAGE : SL_HOLD_NONE;
    fresh->ready_us = pod->created_us;
    fresh->since_us = planner->now_us;
    fresh->nominated = pod->gate == SL_GATE_NONE && pod->nominated != NULL;
    planner->count[fresh->state]++;
    sl_plan_settle(planner, fresh);
    return 0;
lacking:
    if (space != NULL) {
        sl_plan_space_unref(planner, space);
    }
    free(fresh);
    return sl_error_nomem(err);
}

static bool same_weights(const struct sl_order_weights *a, const struct sl_order_weights *b)
{
    return a == b;
}

static bool same_after(const struct sl_pod *a, const struct sl_pod *b)
{
    return sl_str_eq(sl_str_of(a->after), sl_str_of(b->after));
}

/* Would the planner decide otherwise for the pod as it is now? */
static bool matters(const struct sl_planner *planner, const struct sl_plan_pod *known,
                    const struct sl_pod *pod)
{
    struct sl_order_item item = item_of(planner, pod);
    bool malformed = pod->malformed != NULL;
    if (!same_after(known->pod, pod)) {
        return true;
    }
    if (malformed || known->class == NULL) {
        return malformed != (known->class == NULL);
    }
    return !sl_plan_class_is_of(known->class, pod) || item.priority != known->item.priority ||
           item.timeout_us != known->item.timeout_us || item.submit_us != known->item.submit_us ||
           !same_weights(item.weights, known->item.weights) ||
           (pod->gate == SL_GATE_OTHERS) != (known->pod->gate == SL_GATE_OTHERS) ||
           pod->never_preempts != known->pod->never_preempts;
}

/* The map's key is the pod's own text: it moves on to the new one. */
static void swap_pod(struct sl_planner *planner, struct sl_plan_pod *known, struct sl_pod *pod)
{
    struct sl_pod *old = known->pod;
    known->pod = sl_pod_ref(pod);
    known->item.uid = sl_str_of(pod->uid);
    (void)sl_map_put(&planner->pods, pod->uid, strlen(pod->uid), known, NULL);
    sl_pod_unref(old);
}

/* Without memory for the text there is none. */
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

/* A claimed pod that asks for something else now. */
static void leave_lane(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    sl_plan_bound_unstart(planner, pod);
    sl_plan_bound_leave(planner, pod);
    struct sl_plan_retry *retry = sl_plan_retrying(lane, pod); /* no lane: it was malformed */
    if (retry != NULL) {
        retry->pod = NULL;
    }
}

/* Something about it has changed, so it may be placed now. Not again and again: whoever changes a
 * pod all the time would have its devices all the time. */
static void pardon(const struct sl_planner *planner, struct sl_plan_pod *pod)
{
    int64_t again_us = sl_plan_add(pod->pardoned_us, planner->config.hold_max_us);
    bool lapsed = pod->strikes > 0 || pod->retry_us > 0;
    if (lapsed && (pod->pardoned_us == 0 || again_us <= planner->now_us)) {
        pod->retry_us = 0;
        pod->strikes = 0;
        pod->pardoned_us = planner->now_us;
    }
}

static int change_pod(struct sl_planner *planner, struct sl_plan_pod *known, struct sl_pod *pod,
                      struct sl_error *err)
{
    if (planner->heard_us > 0 && pod->tried && !known->pod->tried) {
        sl_planner_heard(planner, sl_str_of(pod->uid), planner->now_us);
    }
    if (!matters(planner, known, pod)) {
        sl_plan_preempt_note(planner, known, pod);
        swap_pod(planner, known, pod);
        return 0;
    }
    struct sl_plan_class *class = NULL;
    if (!join(planner, pod, &class)) {
        return sl_error_nomem(err);
    }
    if (known->queued) {
        sl_plan_queue_remove(planner, known);
        sl_plan_bound_leave(planner, known);
    }
    known->broken = known->broken || (known->claim != NULL && class != known->class);
    if (known->broken && (class == NULL || class->ask->lane[0] != sl_plan_lane_of(known))) {
        leave_lane(planner, known);
    }
    planner->dirty = planner->dirty || known->broken;
    struct sl_plan_class *old = known->class;
    known->class = class;
    if (!same_after(known->pod, pod)) {
        set_stage(known, pod->after != NULL ? SL_HOLD_STAGE : SL_HOLD_NONE, NULL);
    }
    swap_pod(planner, known, pod);
    known->item = item_of(planner, pod);
    pardon(planner, known);
    known->told = SL_HOLD_NONE;
    sl_plan_list_remove(known);
    sl_plan_settle(planner, known);
    part(planner, old);
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
    if (pod->claim != NULL) {
        sl_plan_ran_keep(planner, pod);
        sl_plan_unclaim(planner, pod);
    } else if (pod->queued) {
        sl_plan_queue_remove(planner, pod);
    }
    sl_plan_bound_leave(planner, pod);
    sl_plan_list_remove(pod);
    planner->count[pod->state]--;
    sl_map_remove(&planner->pods, uid.s, uid.len);
    if (pod->elsewhere && planner->config.order.kind == SL_ORDER_BOUNDED) {
        sl_plan_bound_adopt(planner, pod->pod);
    }
    struct sl_plan_class *class = pod->class;
    pod->class = NULL;
    part(planner, class);
    free_pod(planner, pod);
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

int sl_planner_configure(struct sl_planner *planner, const struct sl_plan_config *config,
                         struct sl_error *err)
{
    if (check_config(config, err) < 0) {
        return -1;
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        sl_plan_bound_leave(planner, pod);
        pod->queued = false;
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        lane->n_queue = 0;
        sl_plan_reserve_end(planner, lane);
    }
    bool other = config->order.kind != planner->config.order.kind ||
                 memcmp(&config->bound, &planner->config.bound, sizeof config->bound) != 0;
    planner->n_nominated = 0;
    planner->scored = NULL;
    planner->config = *config;
    planner->dirty = true;
    if (other) {
        sl_plan_bound_reset(planner);
    }
    at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        pod->item = item_of(planner, pod->pod);
        sl_plan_settle(planner, pod);
    }
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        bool goes_on = config->preemption && lane->preemptor != NULL && lane->preemptor->queued;
        if (!goes_on) { /* victims are going, and what they leave stays for whom they go */
            sl_plan_preempt_end(planner, lane);
        }
    }
    return 0;
}
