/* The order bounded: tells each lane's promise what happens and asks it which pod may start. A pod
 * of several resources belongs to the lane of its first. */
#include "core/plan/decide/decide.h"

#include <stdlib.h>

enum {
    NODE_PARTS_MAX = 64, /* devices of a node told apart */
    IDLE_MAX = 64,       /* drained nodes that a promise can bear */
};

/* ---- numbers for pods ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The leading 64 bits of a UID, or a hash of one that is not hexadecimal. A restart keeps both. */
static uint64_t number_of(const char *uid)
{
    uint64_t number = 0;
    unsigned digits = 0;
    for (const char *c = uid; *c != '\0' && digits < 16; c++) {
        int digit = hex_of(*c);
        if (digit < 0 && *c != '-') {
            break;
        }
        number = digit < 0 ? number : number << 4 | (unsigned)digit;
        digits += digit >= 0;
    }
    return digits == 16 ? number : sl_rank_hash(uid, strlen(uid));
}

/* Gives the pod a number of its own, which leads to owner. False: out of memory. */
static bool take_id(struct sl_planner *planner, const char *uid, uint64_t *id, void *owner)
{
    *id = number_of(uid);
    while (sl_map_get(&planner->ids, (const char *)id, sizeof(*id)) != NULL) {
        (*id)++;
    }
    return sl_map_put(&planner->ids, (const char *)id, sizeof(*id), owner, NULL) == 0;
}

static void give_id(struct sl_planner *planner, const uint64_t *id)
{
    sl_map_remove(&planner->ids, (const char *)id, sizeof(*id));
}

/* ---- pods that the promise never saw waiting ---- */

/* The promise orders nodes by this key. */
static uint64_t key_of(const char *node)
{
    return sl_rank_hash(node, strlen(node));
}

static void bounded_adopt(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_lane *lane =
        pod->n_items == 0 ? NULL : sl_plan_lane_find(planner, pod->items[0].key);
    if (lane == NULL || lane->promise == NULL || pod->uid[0] == '\0' ||
        sl_map_get(&planner->pods, pod->uid, strlen(pod->uid)) != NULL) {
        return;
    }
    int64_t started_us = sl_plan_start(planner, pod);
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    if (ran != NULL && ran->counted) {
        return;
    }
    /* An uncounted record dates from the promise before a reload. */
    ran = ran != NULL ? ran : sl_plan_ran_new(planner, pod->uid);
    if (ran == NULL) {
        return;
    }
    ran->nominated_us = started_us;
    ran->lane = lane->key;
    ran->seen = true;
    if (!take_id(planner, pod->uid, &ran->promise_id, ran)) {
        return;
    }
    const struct sl_promise_pod row = {
        .id = ran->promise_id,
        .width = pod->items[0].count,
        .submit_us = pod->created_us,
        .timeout_us = sl_plan_timeout(planner, pod),
        .priority = pod->priority,
    };
    ran->counted = sl_promise_adopt(lane->promise, &row, started_us, planner->now_us, NULL) == 0;
    if (ran->counted && pod->node != NULL) {
        sl_promise_place(lane->promise, ran->promise_id, key_of(pod->node));
    }
    if (!ran->counted) {
        give_id(planner, &ran->promise_id);
    }
}

/* Splits the node's units into parts that one pod can have together: all of them, a device's, or
 * one where a container gets one.
 * Appends the parts to the n in out (may be NULL, to count); returns how many there are then. */
static size_t split_node(const struct sl_plan_lane *lane, const struct sl_plan_node *node,
                         struct sl_promise_node *out, size_t n)
{
    int pool = sl_view_pool(node->view, lane->key);
    int64_t left = lane->node_capacity[node->index];
    int64_t most = pool < 0 ? 0 : node->view->room[pool].most;
    most = most > 0 && node->node->pool[pool].one_each ? 1 : most;
    int64_t part = most > 0 && left / most <= NODE_PARTS_MAX ? most : left;
    for (; left > 0; left -= part, n++) {
        if (out != NULL) {
            out[n] = (struct sl_promise_node){.key = key_of(node->node->name),
                                              .units = part < left ? part : left};
        }
    }
    return n;
}

static size_t split_nodes(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                          struct sl_promise_node *out)
{
    size_t n = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        n = split_node(lane, planner->node[i], out, n);
    }
    return n;
}

/* Without memory a later call tells the nodes. */
static void tell_nodes(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    size_t n = split_nodes(planner, lane, NULL);
    struct sl_promise_node *nodes = calloc(n + 1, sizeof(*nodes));
    if (nodes == NULL) {
        return;
    }
    (void)split_nodes(planner, lane, nodes);
    if (sl_promise_set_nodes(lane->promise, nodes, n, planner->now_us, NULL) == 0) {
        lane->promise_units = lane->capacity;
        lane->promise_seq = planner->seq.kinds;
    }
    free(nodes);
}

static void bounded_capacity(struct sl_planner *planner)
{
    struct sl_plan_lane *first = planner->ready ? planner->lane : NULL; /* else views are gone */
    for (struct sl_plan_lane *lane = first; lane != NULL; lane = lane->next) {
        if (lane->promise != NULL && lane->leaves > 0 &&
            (lane->promise_units != lane->capacity || lane->promise_seq != planner->seq.kinds)) {
            tell_nodes(planner, lane);
        }
    }
}

static struct sl_promise *promise_of(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    if (lane->promise != NULL) {
        return lane->promise;
    }
    lane->promise = sl_promise_new(&planner->config.promise);
    lane->promise_seq = 0; /* it knows no nodes yet */
    bounded_capacity(planner);
    for (size_t i = 0; lane->promise != NULL && i < planner->n_nodes; i++) {
        const struct sl_view *view = planner->node[i]->base;
        for (unsigned r = 0; view != NULL && r < view->n_residents; r++) {
            bounded_adopt(planner, view->resident[r].pod);
        }
    }
    return lane->promise;
}

/* ---- pods of ours ---- */

static void bounded_arrive(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    bool doubtful = sl_plan_may_not_come(pod) || pod->class->ask->never;
    if (!doubtful && !pod->aside && !pod->arrived && !pod->started && pod->arriving == 0) {
        planner->arriving[planner->n_arriving] = pod;
        planner->n_arriving++;
        pod->arriving = (uint32_t)planner->n_arriving;
    }
}

static void bounded_tell_of(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (lane->nowhere || promise_of(planner, lane) == NULL ||
        !take_id(planner, pod->pod->uid, &pod->promise_id, pod)) {
        return;
    }
    const struct sl_promise_pod row = {
        .id = pod->promise_id,
        .width = pod->class->ask->ask.item[0].count,
        .submit_us = pod->ready_us,
        .timeout_us = pod->item.timeout_us,
        .priority = pod->item.priority,
    };
    pod->arrived = sl_promise_arrive(lane->promise, &row, planner->now_us, NULL) == 0;
    if (!pod->arrived) {
        give_id(planner, &pod->promise_id);
    }
}

static int by_submission(const void *context, const struct sl_plan_pod *a,
                         const struct sl_plan_pod *b)
{
    (void)context;
    if (a->ready_us != b->ready_us) {
        return a->ready_us < b->ready_us ? -1 : 1;
    }
    return strcmp(a->pod->uid, b->pod->uid);
}

static void bring_back(struct sl_planner *planner)
{
    unsigned left = SL_PLAN_BACK_MAX;
    planner->aside_seq = planner->seq.room;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue && planner->n_aside > 0 && left > 0; i++) {
            if (lane->queue[i]->aside) {
                left--;
                lane->queue[i]->aside = false;
                planner->n_aside--;
                bounded_arrive(planner, lane->queue[i]);
            }
        }
    }
}

static void bounded_tell(struct sl_planner *planner)
{
    if (planner->n_aside > 0 && planner->aside_seq != planner->seq.room) {
        bring_back(planner);
    }
    size_t n = planner->n_arriving;
    if (sl_vec_reserve(&planner->scratch.sort, &planner->scratch.sort_cap, n,
                       sizeof(struct sl_plan_pod *)) == 0) {
        sl_plan_sort(planner->arriving, planner->scratch.sort, n, by_submission, NULL);
    }
    planner->n_arriving = 0;
    for (size_t i = 0; i < n; i++) {
        planner->arriving[i]->arriving = 0;
        bounded_tell_of(planner, planner->arriving[i]);
    }
}

static void withdraw(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    (void)sl_promise_withdraw(lane->promise, pod->promise_id, planner->now_us, NULL);
    give_id(planner, &pod->promise_id);
    pod->arrived = false;
}

static void bounded_set_aside(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    withdraw(planner, pod);
    pod->aside = true;
    planner->n_aside++;
}

static void bounded_leave(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    planner->n_aside -= pod->aside;
    pod->aside = false;
    if (pod->arriving > 0) {
        planner->n_arriving--;
        struct sl_plan_pod *last = planner->arriving[planner->n_arriving];
        planner->arriving[pod->arriving - 1] = last;
        last->arriving = pod->arriving;
        pod->arriving = 0;
    }
    if (pod->arrived) {
        withdraw(planner, pod);
    }
}

static void bounded_start(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    planner->n_aside -= pod->aside;
    pod->aside = false;
    if (pod->arrived) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        pod->arrived = false;
        pod->started = sl_promise_start(lane->promise, pod->promise_id, planner->now_us, NULL) == 0;
        sl_promise_place(lane->promise, pod->promise_id, key_of(pod->node->node->name));
    }
}

static void bounded_unstart(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->started) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        pod->started = false;
        pod->arrived =
            sl_promise_unstart(lane->promise, pod->promise_id, planner->now_us, NULL) == 0;
    }
}

/* ---- what the walk asks ---- */

static bool is_mixed(const struct sl_plan_lane *lane)
{
    return lane->promise != NULL && sl_promise_is_mixed(lane->promise);
}

static bool promise_admits(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return !pod->arrived ||
           sl_promise_admits(sl_plan_lane_of(pod)->promise, pod->promise_id, planner->now_us);
}

static bool bounded_yields(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_mixed(sl_plan_lane_of(pod)) && !promise_admits(planner, pod);
}

static enum sl_plan_admission bounded_admit(struct sl_planner *planner,
                                            const struct sl_plan_pod *pod,
                                            const struct sl_plan_node *node)
{
    const struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (!is_mixed(lane)) {
        return promise_admits(planner, pod) ? SL_PLAN_ADMITTED : SL_PLAN_REFUSED;
    }
    bool delays = pod->arrived && sl_promise_delays(lane->promise, pod->promise_id,
                                                    key_of(node->node->name), planner->now_us);
    return delays ? SL_PLAN_REFUSED_HERE : SL_PLAN_ADMITTED;
}

/* What may not start may not reserve. */
static bool bounded_may_reserve(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_mixed(sl_plan_lane_of(pod)) || promise_admits(planner, pod);
}

static struct sl_plan_pod *bounded_due(const struct sl_planner *planner,
                                       const struct sl_plan_lane *lane)
{
    uint64_t id = 0;
    if (lane->promise == NULL || is_mixed(lane) || !sl_promise_due(lane->promise, &id)) {
        return NULL;
    }
    struct sl_plan_pod *pod = sl_map_get(&planner->ids, (const char *)&id, sizeof(id));
    return pod;
}

static bool bounded_spares(struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    struct sl_promise_idle idle[IDLE_MAX];
    size_t n = 0;
    if (lane->promise == NULL || planner->n_drains > IDLE_MAX) {
        return lane->promise == NULL;
    }
    for (size_t i = 0; i < planner->n_nodes; i++) {
        const struct sl_plan_node *node = planner->node[i];
        if (node->drain_us > planner->now_us && lane->node_free[i] > 0 &&
            sl_plan_drains(node, lane->key)) {
            idle[n++] = (struct sl_promise_idle){key_of(node->node->name), lane->node_free[i],
                                                 node->drain_us};
        }
    }
    return sl_promise_spares(lane->promise, idle, n, planner->now_us);
}

static int64_t bounded_wake(const struct sl_plan_lane *lane)
{
    bool asks = lane->promise != NULL && (lane->run.refused > 0 || lane->run.drained);
    return asks ? sl_sat_add(sl_promise_due_us(lane->promise), 1) : INT64_MAX;
}

static size_t bounded_urgent(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                             struct sl_plan_pod **out)
{
    uint64_t ids[SL_PLAN_URGENT_MAX];
    size_t n = pod->arrived ? sl_promise_urgent(sl_plan_lane_of(pod)->promise, pod->promise_id, ids,
                                                SL_PLAN_URGENT_MAX)
                            : 0;
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        out[known] = sl_map_get(&planner->ids, (const char *)&ids[i], sizeof(ids[i]));
        known += out[known] != NULL && out[known]->queued;
    }
    return known;
}

static int64_t bounded_latest(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!pod->arrived) {
        return 0;
    }
    return sl_promise_latest_start(sl_plan_lane_of(pod)->promise, pod->promise_id, planner->now_us);
}

/* ---- what runs and ends ---- */

static void bounded_bound(struct sl_planner *planner, struct sl_plan_pod *pod,
                          struct sl_plan_ran *ran)
{
    ran->promise_id = pod->promise_id;
    ran->counted = pod->started;
    if (pod->started) {
        pod->started = false;
        (void)sl_map_put(&planner->ids, (const char *)&ran->promise_id, sizeof(ran->promise_id),
                         ran, NULL); /* the key is there already: never fails */
    }
}

static void bounded_ended(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    struct sl_plan_lane *lane = ran->counted ? sl_plan_lane_find(planner, ran->lane) : NULL;
    if (lane != NULL && lane->promise != NULL) {
        if (ran->seen) {
            (void)sl_promise_end(lane->promise, ran->promise_id, planner->now_us, NULL);
        } else if (sl_promise_unstart(lane->promise, ran->promise_id, planner->now_us, NULL) == 0) {
            (void)sl_promise_withdraw(lane->promise, ran->promise_id, planner->now_us, NULL);
        }
    }
    if (ran->counted) {
        give_id(planner, &ran->promise_id);
    }
}

/* ---- the whole account ---- */

static bool bounded_remembers(const struct sl_plan_lane *lane, bool crowded)
{
    return lane->promise != NULL && (!crowded || sl_promise_running(lane->promise) > 0);
}

static void bounded_forget(struct sl_plan_lane *lane)
{
    sl_promise_free(lane->promise);
    lane->promise = NULL;
}

static void bounded_end(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        bounded_forget(lane);
    }
    sl_map_free(&planner->ids);
    for (struct sl_plan_ran *ran = sl_plan_ran_at(planner->all_rans.first); ran != NULL;
         ran = sl_plan_ran_at(ran->all.next)) {
        ran->counted = false;
    }
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        pod->arrived = false;
        pod->started = false;
    }
}

static void bounded_begin(struct sl_planner *planner)
{
    size_t n = 0;
    size_t at = 0;
    bool room = sl_vec_reserve(&planner->scratch.sort, &planner->scratch.sort_cap,
                               2 * planner->pods.len, sizeof(struct sl_plan_pod *)) == 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (room && pod->nomination != NULL && pod->class != NULL) {
            planner->scratch.sort[n] = pod;
            n++;
        }
    }
    if (n > 1) {
        sl_plan_sort(planner->scratch.sort, planner->scratch.sort + n, n, by_submission, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        bounded_tell_of(planner, planner->scratch.sort[i]);
        bounded_start(planner, planner->scratch.sort[i]);
    }
}

const struct sl_plan_order sl_plan_bounded = {
    .begin = bounded_begin,
    .end = bounded_end,
    .arrive = bounded_arrive,
    .leave = bounded_leave,
    .start = bounded_start,
    .unstart = bounded_unstart,
    .bound = bounded_bound,
    .adopt = bounded_adopt,
    .ended = bounded_ended,
    .capacity = bounded_capacity,
    .forget = bounded_forget,
    .remembers = bounded_remembers,
    .tell = bounded_tell,
    .yields = bounded_yields,
    .urgent = bounded_urgent,
    .admit = bounded_admit,
    .may_reserve = bounded_may_reserve,
    .due = bounded_due,
    .set_aside = bounded_set_aside,
    .spares = bounded_spares,
    .wake = bounded_wake,
    .latest = bounded_latest,
    .spares_idle_lanes = true,
};
