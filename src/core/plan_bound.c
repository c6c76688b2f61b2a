/* The order bounded: tells each lane's bound what happens. A pod of several resources belongs to
 * the lane of its first. Without memory a pod is simply not known to the bound, and not bounded. */
#include "core/plan_internal.h"

#include <stdlib.h>

enum { NODE_PARTS_MAX = 64 }; /* devices of a node told apart */

static bool is_bounded(const struct sl_planner *planner)
{
    return planner->config.order.kind == SL_ORDER_BOUNDED;
}

/* ---- numbers for pods ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The leading 64 bits of a UID; of one that is spelled otherwise a hash that a restart does not
 * change. */
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

static bool take_id(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    pod->bound_id = number_of(pod->pod->uid);
    while (sl_map_get(&planner->ids, (const char *)&pod->bound_id, sizeof pod->bound_id) != NULL) {
        pod->bound_id++;
    }
    return sl_map_put(&planner->ids, (const char *)&pod->bound_id, sizeof pod->bound_id, pod,
                      NULL) == 0;
}

static void give_id(struct sl_planner *planner, const uint64_t *id)
{
    sl_map_remove(&planner->ids, (const char *)id, sizeof *id);
}

/* ---- what others started, or was started before the bound was there ---- */

/* Nodes are looked at in this order. */
static uint64_t key_of(const char *node)
{
    return sl_rank_hash(node, strlen(node));
}

void sl_plan_bound_adopt(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_lane *lane =
        pod->n_items == 0 ? NULL : sl_plan_lane_find(planner, pod->items[0].key);
    if (lane == NULL || lane->bound == NULL || pod->uid[0] == '\0' ||
        sl_map_get(&planner->pods, pod->uid, strlen(pod->uid)) != NULL) {
        return;
    }
    int64_t started_us = sl_plan_start(planner, pod);
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    if (ran != NULL && ran->counted) {
        return;
    }
    /* One that is not counted was known to the bound that was there before a reload. */
    ran = ran != NULL ? ran : sl_plan_ran_new(planner, pod->uid);
    if (ran == NULL) {
        return;
    }
    ran->claimed_us = started_us;
    ran->lane = lane->key;
    ran->seen = true;
    ran->bound_id = number_of(pod->uid);
    while (sl_map_get(&planner->ids, (const char *)&ran->bound_id, sizeof ran->bound_id) != NULL) {
        ran->bound_id++;
    }
    const struct sl_bound_pod row = {
        .id = ran->bound_id,
        .width = pod->items[0].count,
        .submit_us = pod->created_us,
        .timeout_us = sl_plan_timeout(planner, pod),
        .priority = pod->priority,
    };
    if (sl_map_put(&planner->ids, (const char *)&ran->bound_id, sizeof ran->bound_id, ran, NULL) <
        0) {
        return;
    }
    ran->counted = sl_bound_adopt(lane->bound, &row, started_us, planner->now_us, NULL) == 0;
    if (ran->counted && pod->node != NULL) {
        sl_bound_place(lane->bound, ran->bound_id, key_of(pod->node));
    }
    if (!ran->counted) {
        give_id(planner, &ran->bound_id);
    }
}

/* What of a node's units one pod can have together: all, or those of a device. */
static size_t split(const struct sl_plan_lane *lane, const struct sl_plan_node *node,
                    struct sl_bound_node *out, size_t n)
{
    int pool = sl_view_pool(node->view, lane->key);
    int64_t units = lane->node_capacity[node->index];
    int64_t most = pool < 0 ? 0 : node->view->room[pool].most;
    bool parts = most > 0 && units / most < NODE_PARTS_MAX;
    for (int64_t left = units; left > 0 && out != NULL; left -= parts ? most : left) {
        out[n] = (struct sl_bound_node){.key = key_of(node->node->name),
                                        .units = parts && most < left ? most : left};
        n++;
    }
    if (out == NULL && units > 0) {
        n += parts ? (size_t)((units + most - 1) / most) : 1;
    }
    return n;
}

static size_t split_all(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                        struct sl_bound_node *out)
{
    size_t n = 0;
    for (size_t i = 0; i < planner->n_nodes; i++) {
        n = split(lane, planner->node[i], out, n);
    }
    return n;
}

/* Without memory the nodes are told another time. */
static void tell_nodes(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    size_t n = split_all(planner, lane, NULL);
    struct sl_bound_node *nodes = calloc(n + 1, sizeof *nodes);
    if (nodes == NULL) {
        return;
    }
    (void)split_all(planner, lane, nodes);
    if (sl_bound_set_nodes(lane->bound, nodes, n, planner->now_us, NULL) == 0) {
        lane->bound_units = lane->capacity;
        lane->bound_seq = planner->nodes_seq;
    }
    free(nodes);
}

void sl_plan_bound_capacity(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        if (lane->bound != NULL && lane->leaves > 0 &&
            (lane->bound_units != lane->capacity || lane->bound_seq != planner->nodes_seq)) {
            tell_nodes(planner, lane);
        }
    }
}

static struct sl_bound *bound_of(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    if (lane->bound != NULL) {
        return lane->bound;
    }
    lane->bound = sl_bound_new(&planner->config.bound);
    lane->bound_units = 0;
    lane->bound_seq = 0;
    sl_plan_bound_capacity(planner);
    for (size_t i = 0; lane->bound != NULL && i < planner->n_nodes; i++) {
        const struct sl_view *view = planner->node[i]->base;
        for (unsigned r = 0; view != NULL && r < view->n_residents; r++) {
            sl_plan_bound_adopt(planner, view->resident[r].pod);
        }
    }
    return lane->bound;
}

/* ---- pods of ours ---- */

void sl_plan_bound_arrive(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    bool doubtful = sl_plan_may_not_come(pod) || pod->class->ask->never;
    if (is_bounded(planner) && !doubtful && !pod->aside && !pod->arrived && !pod->started &&
        pod->arriving == 0) {
        planner->arriving[planner->n_arriving] = pod;
        planner->n_arriving++;
        pod->arriving = (uint32_t)planner->n_arriving;
    }
}

static void arrive(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    if (lane->nowhere || bound_of(planner, lane) == NULL || !take_id(planner, pod)) {
        return;
    }
    const struct sl_bound_pod row = {
        .id = pod->bound_id,
        .width = pod->class->ask->ask.item[0].count,
        .submit_us = pod->ready_us,
        .timeout_us = pod->item.timeout_us,
        .priority = pod->item.priority,
    };
    pod->arrived = sl_bound_arrive(lane->bound, &row, planner->now_us, NULL) == 0;
    if (!pod->arrived) {
        give_id(planner, &pod->bound_id);
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
    planner->aside_seq = planner->seq;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue && planner->n_aside > 0 && left > 0; i++) {
            if (lane->queue[i]->aside) {
                left--;
                lane->queue[i]->aside = false;
                planner->n_aside--;
                sl_plan_bound_arrive(planner, lane->queue[i]);
            }
        }
    }
}

void sl_plan_bound_tell(struct sl_planner *planner)
{
    if (planner->n_aside > 0 && planner->aside_seq != planner->seq) {
        bring_back(planner);
    }
    size_t n = planner->n_arriving;
    if (sl_plan_grow(&planner->sort, &planner->sort_cap, n, sizeof(struct sl_plan_pod *))) {
        sl_plan_sort(planner->arriving, planner->sort, n, by_submission, NULL);
    }
    planner->n_arriving = 0;
    for (size_t i = 0; i < n; i++) {
        planner->arriving[i]->arriving = 0;
        arrive(planner, planner->arriving[i]);
    }
}

static void withdraw(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    (void)sl_bound_withdraw(lane->bound, pod->bound_id, planner->now_us, NULL);
    give_id(planner, &pod->bound_id);
    pod->arrived = false;
}

void sl_plan_bound_set_aside(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    withdraw(planner, pod);
    pod->aside = true;
    planner->n_aside++;
}

void sl_plan_bound_leave(struct sl_planner *planner, struct sl_plan_pod *pod)
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

void sl_plan_bound_start(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    planner->n_aside -= pod->aside;
    pod->aside = false;
    if (pod->arrived) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        pod->arrived = false;
        pod->started = sl_bound_start(lane->bound, pod->bound_id, planner->now_us, NULL) == 0;
        sl_bound_place(lane->bound, pod->bound_id, key_of(pod->node->node->name));
    }
}

void sl_plan_bound_unstart(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->started) {
        struct sl_plan_lane *lane = sl_plan_lane_of(pod);
        pod->started = false;
        pod->arrived = sl_bound_unstart(lane->bound, pod->bound_id, planner->now_us, NULL) == 0;
    }
}

bool sl_plan_bound_admits(struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return !pod->arrived ||
           sl_bound_admits(sl_plan_lane_of(pod)->bound, pod->bound_id, planner->now_us);
}

struct sl_plan_pod *sl_plan_bound_due(const struct sl_planner *planner, struct sl_plan_lane *lane)
{
    uint64_t id = 0;
    if (lane->bound == NULL || !sl_bound_due(lane->bound, &id)) {
        return NULL;
    }
    struct sl_plan_pod *pod = sl_map_get(&planner->ids, (const char *)&id, sizeof id);
    return pod;
}

int64_t sl_plan_bound_wake(const struct sl_plan_lane *lane)
{
    bool asks = lane->bound != NULL && lane->refused > 0;
    return asks ? sl_plan_add(sl_bound_due_us(lane->bound), 1) : INT64_MAX;
}

bool sl_plan_bound_delays(struct sl_planner *planner, const struct sl_plan_pod *pod,
                          const struct sl_plan_node *node)
{
    return pod->arrived && sl_bound_delays(sl_plan_lane_of(pod)->bound, pod->bound_id,
                                           key_of(node->node->name), planner->now_us);
}

bool sl_plan_bound_is_mixed(const struct sl_plan_lane *lane)
{
    return lane->bound != NULL && sl_bound_is_mixed(lane->bound);
}

size_t sl_plan_bound_urgent(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                            struct sl_plan_pod **out)
{
    uint64_t ids[SL_PLAN_URGENT_MAX];
    size_t n = pod->arrived ? sl_bound_urgent(sl_plan_lane_of(pod)->bound, pod->bound_id, ids,
                                              SL_PLAN_URGENT_MAX)
                            : 0;
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        out[known] = sl_map_get(&planner->ids, (const char *)&ids[i], sizeof ids[i]);
        known += out[known] != NULL && out[known]->queued;
    }
    return known;
}

int64_t sl_plan_bound_latest(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    if (!pod->arrived) {
        return 0;
    }
    return sl_bound_latest_start(sl_plan_lane_of(pod)->bound, pod->bound_id, planner->now_us);
}

/* ---- what runs and ends ---- */

static void end_ran(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    struct sl_plan_lane *lane = ran->counted ? sl_plan_lane_find(planner, ran->lane) : NULL;
    if (lane != NULL && lane->bound != NULL) {
        if (ran->seen) {
            (void)sl_bound_end(lane->bound, ran->bound_id, planner->now_us, NULL);
        } else if (sl_bound_unstart(lane->bound, ran->bound_id, planner->now_us, NULL) == 0) {
            (void)sl_bound_withdraw(lane->bound, ran->bound_id, planner->now_us, NULL);
        }
    }
    if (ran->counted) {
        give_id(planner, &ran->bound_id);
    }
    sl_plan_ran_forget(planner, ran);
}

void sl_plan_ran_keep(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_ran *ran = sl_plan_ran_new(planner, pod->pod->uid);
    if (ran == NULL) {
        return; /* its bound, if it has one, sees it go at once */
    }
    ran->claimed_us = pod->claimed_us;
    ran->lane = pod->claim->items[0].key;
    ran->seen = pod->node->base != NULL && sl_plan_shows(pod->node->base, pod->claim);
    ran->bound_id = pod->bound_id;
    ran->counted = pod->started;
    if (pod->started) {
        pod->started = false;
        (void)sl_map_put(&planner->ids, (const char *)&ran->bound_id, sizeof ran->bound_id, ran,
                         NULL); /* the key moves: never fails */
    }
}

static int order_of(const struct sl_pod *a, const struct sl_pod *b)
{
    if (a->created_us != b->created_us) {
        return a->created_us < b->created_us ? -1 : 1;
    }
    return strcmp(a->uid, b->uid);
}

static void came(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    struct sl_plan_pod *waiting = sl_map_get(&planner->pods, pod->uid, strlen(pod->uid));
    if (ran != NULL) {
        ran->seen = true;
    }
    if (ran == NULL && waiting != NULL) {
        waiting->elsewhere = waiting->claim == NULL;
    } else if (is_bounded(planner)) {
        sl_plan_bound_adopt(planner, pod);
    }
}

static void went(struct sl_planner *planner, const struct sl_pod *pod)
{
    struct sl_plan_ran *ran = planner->ran == NULL ? NULL : sl_plan_ran_find(planner, pod->uid);
    if (ran != NULL) {
        end_ran(planner, ran);
    }
}

/* Residents are in order of creation and UID in both. */
void sl_plan_bound_diff(struct sl_planner *planner, const struct sl_view *before,
                        const struct sl_view *after)
{
    unsigned n_before = before == NULL ? 0 : before->n_residents;
    unsigned n_after = after == NULL ? 0 : after->n_residents;
    unsigned i = 0;
    unsigned j = 0;
    while (i < n_before || j < n_after) {
        int order = 0;
        if (i >= n_before || j >= n_after) {
            order = i < n_before ? -1 : 1;
        } else {
            order = order_of(before->resident[i].pod, after->resident[j].pod);
        }
        if (order < 0) {
            went(planner, before->resident[i].pod);
        } else if (order > 0) {
            came(planner, after->resident[j].pod);
        }
        i += order <= 0;
        j += order >= 0;
    }
}

void sl_plan_ran_check(struct sl_planner *planner)
{
    struct sl_plan_ran *next = NULL;
    for (struct sl_plan_ran *ran = planner->ran; ran != NULL; ran = next) {
        next = ran->next;
        if (!ran->seen) {
            end_ran(planner, ran);
        }
    }
}

void sl_plan_bound_reset(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        sl_bound_free(lane->bound);
        lane->bound = NULL;
    }
    sl_map_free(&planner->ids);
    struct sl_plan_ran *next = NULL;
    for (struct sl_plan_ran *ran = planner->ran; ran != NULL; ran = next) {
        next = ran->next;
        ran->counted = false;
    }
    size_t n = 0;
    size_t at = 0;
    bool room = sl_plan_grow(&planner->sort, &planner->sort_cap, 2 * planner->pods.len,
                             sizeof(struct sl_plan_pod *));
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        pod->arrived = false;
        pod->started = false;
        if (room && pod->claim != NULL && pod->class != NULL && is_bounded(planner)) {
            planner->sort[n] = pod;
            n++;
        }
    }
    if (n > 1) {
        sl_plan_sort(planner->sort, planner->sort + n, n, by_submission, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        arrive(planner, planner->sort[i]);
        sl_plan_bound_start(planner, planner->sort[i]);
    }
}
