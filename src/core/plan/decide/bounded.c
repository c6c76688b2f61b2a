/* The order bounded: tells each lane's promise what happens and asks it which pod may start. A pod
 * of several resources belongs to the lane of its first. */
#include "core/plan/decide/decide.h"
#include "util/check.h"

#include <stdlib.h>

enum {
    NODE_PARTS_MAX = 64, /* devices of a node told apart */
    IDLE_MAX = 64,       /* drained nodes that a promise can bear */
    STEPS_A_LOOK = 8,    /* of a promise cost as much as a look at a node */
};

/* ---- records ---- */

enum stand {
    COMING, /* told when the run begins */
    WAITING,
    ASIDE, /* taken out of the promise: it lacks something other than units */
    RUNNING,
};

struct sl_plan_account_pod {
    uint64_t id; /* in the promise, and in the map of all records */
    enum stand stand;
    struct sl_plan_pod *pod; /* NULL: bound */
    struct sl_link coming;
};

struct sl_plan_account_lane {
    struct sl_promise *promise;
    int64_t units;  /* capacity that the promise knows of */
    uint64_t kinds; /* seq.kinds then; 0: it knows no nodes yet */
};

struct sl_promise *sl_plan_bounded_promise(const struct sl_plan_lane *lane)
{
    return lane == NULL || lane->account == NULL ? NULL : lane->account->promise;
}

static bool stands(const struct sl_plan_pod *pod, enum stand stand)
{
    return pod->account != NULL && pod->account->stand == stand;
}

/* Accounts are another's otherwise. */
static bool is_bounded(const struct sl_planner *planner)
{
    return planner->order == &sl_plan_bounded;
}

/* Gives the record a number of its own. False: out of memory. */
static bool take_id(struct sl_planner *planner, struct sl_plan_account_pod *record, const char *uid)
{
    struct sl_map *ids = &planner->account.ids;
    record->id = sl_plan_number_of(uid);
    while (sl_map_get(ids, (const char *)&record->id, sizeof(record->id)) != NULL) {
        record->id++;
    }
    return sl_map_put(ids, (const char *)&record->id, sizeof(record->id), record, NULL) == 0;
}

static void give_id(struct sl_planner *planner, const struct sl_plan_account_pod *record)
{
    sl_map_remove(&planner->account.ids, (const char *)&record->id, sizeof(record->id));
}

/* ---- pods that the promise never saw waiting ---- */

/* The promise orders nodes by this key. */
static uint64_t key_of(const char *node)
{
    return sl_rank_hash(node, strlen(node));
}

static void bounded_adopt(struct sl_planner *planner, const struct sl_pod *pod)
{
    const struct sl_plan_lane *lane =
        pod->n_items == 0 ? NULL : sl_plan_lane_find(planner, pod->items[0].key);
    struct sl_promise *promise = sl_plan_bounded_promise(lane);
    if (promise == NULL || pod->uid[0] == '\0' ||
        sl_plan_find(planner, sl_str_of(pod->uid)) != NULL) {
        return;
    }
    int64_t started_us = sl_plan_start(planner, pod);
    struct sl_plan_ran *ran = sl_plan_ran_find(planner, pod->uid);
    if (ran != NULL && ran->account != NULL) {
        return;
    }
    /* One without a record dates from the promise before a reload. */
    ran = ran != NULL ? ran : sl_plan_ran_new(planner, pod->uid);
    if (ran == NULL) {
        return;
    }
    ran->nominated_us = started_us;
    ran->lane = pod->items[0].key;
    ran->seen = true;
    struct sl_plan_account_pod *record = calloc(1, sizeof(*record));
    if (record == NULL || !take_id(planner, record, pod->uid)) {
        free(record);
        return;
    }
    const struct sl_promise_pod row = {
        .id = record->id,
        .width = pod->items[0].count,
        .submit_us = pod->created_us,
        .timeout_us = sl_plan_timeout(planner, pod),
        .priority = pod->priority,
    };
    if (sl_promise_adopt(promise, &row, started_us, planner->now_us, NULL) < 0) {
        give_id(planner, record);
        free(record);
        return;
    }
    if (pod->node != NULL) {
        sl_promise_place(promise, record->id, key_of(pod->node));
    }
    record->stand = RUNNING;
    ran->account = record;
}

static struct sl_plan_pod *pod_of(const struct sl_planner *planner, uint64_t id)
{
    const struct sl_plan_account_pod *record =
        sl_map_get(&planner->account.ids, (const char *)&id, sizeof(id));
    return record == NULL ? NULL : record->pod;
}

/* Which sites admit the pod; all while the promise knows nodes as they were. */
static uint64_t sites_of(void *context, uint64_t id)
{
    struct sl_planner *planner = context;
    const struct sl_plan_pod *pod = pod_of(planner, id);
    const bool known = pod != NULL && pod->class != NULL &&
                       sl_plan_lane_of(pod)->account->kinds == planner->seq.kinds;
    return known ? sl_plan_sites_of(planner, pod->class) : UINT64_MAX;
}

/* Splits the node's units into parts that one pod can have together: all of them, a device's, or
 * one where a container gets one.
 * Appends the parts to the n in out (may be NULL, to count); returns how many there are then. */
static size_t split_node(struct sl_planner *planner, const struct sl_plan_lane *lane,
                         const struct sl_plan_node *node, struct sl_promise_node *out, size_t n)
{
    const uint8_t site = sl_plan_site_of(planner, node);
    int pool = sl_view_pool(node->base, lane->key); /* its own view may be out of date here */
    int64_t left = lane->node_capacity[node->index];
    int64_t most = pool < 0 ? 0 : node->base->room[pool].most;
    most = most > 0 && node->node->pool[pool].one_each ? 1 : most;
    int64_t part = most > 0 && left / most <= NODE_PARTS_MAX ? most : left;
    for (; left > 0; left -= part, n++) {
        if (out != NULL) {
            out[n] = (struct sl_promise_node){
                .key = key_of(node->node->name), .units = part < left ? part : left, .site = site};
        }
    }
    return n;
}

static size_t split_nodes(struct sl_planner *planner, const struct sl_plan_lane *lane,
                          struct sl_promise_node *out)
{
    size_t n = 0;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        n = split_node(planner, lane, sl_plan_node_at(planner, i), out, n);
    }
    return n;
}

/* Do the weights keep whole GPUs together for pods of several? */
static bool keeps_sets(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    const struct sl_ask whole = {.n = 0};
    bool keeps = false;
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        const struct sl_plan_node *node = sl_plan_node_at(planner, i);
        int pool = sl_view_pool(node->base, lane->key);
        keeps = keeps || (pool >= 0 && sl_kinds[node->node->pool[pool].kind].whole);
    }
    return keeps && sl_score_weights(&planner->config.score, &whole)[SL_TERM_WHOLE] > 0;
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
    sl_promise_keep_sets(lane->account->promise, keeps_sets(planner, lane));
    if (sl_promise_set_nodes(lane->account->promise, nodes, n, planner->now_us, NULL) == 0) {
        lane->account->units = lane->capacity;
        lane->account->kinds = planner->seq.kinds;
    }
    free(nodes);
}

static void bounded_capacity(struct sl_planner *planner)
{
    struct sl_plan_lane *first = planner->ready ? planner->lane : NULL; /* else views are gone */
    for (struct sl_plan_lane *lane = first; lane != NULL; lane = lane->next) {
        const struct sl_plan_account_lane *account = lane->account;
        if (account != NULL && lane->leaves > 0 &&
            (account->units != lane->capacity || account->kinds != planner->seq.kinds)) {
            tell_nodes(planner, lane);
        }
    }
}

/* The lane's promise, which it makes if need be. NULL: out of memory. */
static struct sl_promise *promise_get(struct sl_planner *planner, struct sl_plan_lane *lane)
{
    if (lane->account != NULL) {
        return lane->account->promise;
    }
    struct sl_plan_account_lane *account = calloc(1, sizeof(*account));
    if (account == NULL) {
        return NULL;
    }
    account->promise = sl_promise_new(&planner->config.promise);
    if (account->promise == NULL) {
        free(account);
        return NULL;
    }
    sl_promise_ask_sites(account->promise, sites_of, planner);
    lane->account = account;
    bounded_capacity(planner);
    sl_plan_each_resident(planner, bounded_adopt);
    return account->promise;
}

/* ---- pods of ours ---- */

static void come(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    pod->account->stand = COMING;
    sl_list_add_last(&planner->account.coming, &pod->account->coming);
    planner->account.n_coming++;
}

static void arrive(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->account == NULL) {
        pod->account = calloc(1, sizeof(*pod->account));
        if (pod->account != NULL) {
            pod->account->pod = pod;
            come(planner, pod);
        }
    }
}

static void drop(struct sl_plan_pod *pod)
{
    free(pod->account);
    pod->account = NULL;
}

static void withdraw(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    (void)sl_promise_withdraw(sl_plan_bounded_promise(sl_plan_lane_of(pod)), pod->account->id,
                              planner->now_us, NULL);
    give_id(planner, pod->account);
}

static void leave(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (stands(pod, COMING)) {
        sl_list_remove(&planner->account.coming, &pod->account->coming);
        planner->account.n_coming--;
    } else if (stands(pod, WAITING)) {
        withdraw(planner, pod);
    }
    planner->account.n_aside -= stands(pod, ASIDE);
    drop(pod);
}

static void start(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (stands(pod, WAITING)) {
        struct sl_promise *promise = sl_plan_bounded_promise(sl_plan_lane_of(pod));
        pod->account->stand = RUNNING;
        (void)sl_promise_start(promise, pod->account->id, planner->now_us, NULL);
        sl_promise_place(promise, pod->account->id, key_of(pod->nomination->node->node->name));
    } else if (!stands(pod, RUNNING)) {
        leave(planner, pod);
    }
}

/* Without memory the promise takes the pod for one that has ended. */
static void unstart(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (stands(pod, RUNNING)) {
        struct sl_promise *promise = sl_plan_bounded_promise(sl_plan_lane_of(pod));
        pod->account->stand = WAITING;
        if (sl_promise_unstart(promise, pod->account->id, planner->now_us, NULL) < 0) {
            (void)sl_promise_end(promise, pod->account->id, planner->now_us, NULL);
            give_id(planner, pod->account);
            drop(pod);
        }
    }
}

static void bounded_settle(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    if (pod->stand == SL_STAND_NOMINATED) {
        start(planner, pod);
        return;
    }
    unstart(planner, pod);
    if (sl_plan_is_queued(pod) && !pod->class->ask->never && !sl_plan_may_not_come(pod)) {
        arrive(planner, pod);
    } else {
        leave(planner, pod);
    }
}

/* Tells the promise of a pod that comes, and of its nomination. */
static void tell_of(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_promise *promise = lane->nowhere ? NULL : promise_get(planner, lane);
    struct sl_plan_account_pod *record = pod->account;
    if (record == NULL || promise == NULL || !take_id(planner, record, pod->pod->uid)) {
        drop(pod);
        return;
    }
    const struct sl_promise_pod row = {
        .id = record->id,
        .width = pod->class->ask->ask.item[0].count,
        .submit_us = pod->ready_us,
        .timeout_us = pod->item.timeout_us,
        .priority = pod->item.priority,
    };
    if (sl_promise_arrive(promise, &row, planner->now_us, NULL) < 0) {
        give_id(planner, record);
        drop(pod);
        return;
    }
    record->stand = WAITING;
    if (pod->nomination != NULL) {
        start(planner, pod);
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
    struct sl_plan_account *account = &planner->account;
    unsigned left = SL_PLAN_BACK_MAX;
    account->aside_room = planner->seq.room;
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        for (uint32_t i = 0; i < lane->n_queue && account->n_aside > 0 && left > 0; i++) {
            if (stands(lane->queue[i], ASIDE)) {
                left--;
                account->n_aside--;
                come(planner, lane->queue[i]);
            }
        }
    }
}

/* In order of submission, or without memory in any. */
static void tell_all(struct sl_planner *planner)
{
    struct sl_plan_account *account = &planner->account;
    struct sl_plan_scratch *scratch = &planner->scratch;
    size_t n = 0;
    bool sorts = sl_vec_reserve(&scratch->sort, &scratch->sort_cap, 2 * account->n_coming,
                                sizeof(struct sl_plan_pod *)) == 0;
    account->n_coming = 0;
    while (account->coming.first != NULL) {
        struct sl_plan_account_pod *record =
            SL_CONTAINER(account->coming.first, struct sl_plan_account_pod, coming);
        sl_list_remove(&account->coming, &record->coming);
        if (sorts) {
            scratch->sort[n] = record->pod;
            n++;
        } else {
            tell_of(planner, record->pod);
        }
    }
    if (n > 1) {
        sl_plan_sort(scratch->sort, scratch->sort + n, n, by_submission, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        tell_of(planner, scratch->sort[i]);
    }
}

static void bounded_tell(struct sl_planner *planner)
{
    if (planner->account.n_aside > 0 && planner->account.aside_room != planner->seq.room) {
        bring_back(planner);
    }
    tell_all(planner);
}

/* ---- what the walk asks ---- */

void sl_plan_bounded_set_aside(struct sl_planner *planner, struct sl_plan_pod *pod)
{
    withdraw(planner, pod);
    pod->account->stand = ASIDE;
    planner->account.n_aside++;
}

static bool is_mixed(const struct sl_plan_lane *lane)
{
    return lane->account != NULL && sl_promise_is_mixed(lane->account->promise);
}

static bool promise_admits(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return !is_bounded(planner) || !stands(pod, WAITING) ||
           sl_promise_admits(sl_plan_bounded_promise(sl_plan_lane_of(pod)), pod->account->id,
                             planner->now_us);
}

/* Has the pod a promise in a mixed lane? */
static bool is_in_mixed(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_bounded(planner) && stands(pod, WAITING) && is_mixed(sl_plan_lane_of(pod));
}

bool sl_plan_bounded_admits(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_in_mixed(planner, pod) || promise_admits(planner, pod);
}

bool sl_plan_bounded_is_settled(const struct sl_plan_run *run, const struct sl_plan_lane *lane)
{
    return lane->run.judged >= SL_PLAN_JUDGED_MAX || run->judged >= SL_PLAN_JUDGED_RUN;
}

bool sl_plan_bounded_admits_on(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                               const struct sl_plan_node *node)
{
    const struct sl_planner *planner = run->planner;
    if (!is_in_mixed(planner, pod)) {
        return true;
    }
    struct sl_plan_lane *lane = sl_plan_lane_of(pod);
    struct sl_promise *promise = sl_plan_bounded_promise(lane);
    const uint64_t key = key_of(node->node->name);
    if (sl_plan_bounded_is_settled(run, lane)) {
        return sl_promise_is_due_on(promise, pod->account->id, key, planner->now_us);
    }
    const size_t before = sl_promise_steps(promise);
    const bool admits = sl_promise_admits_on(promise, pod->account->id, key, planner->now_us);
    const size_t looks = (sl_promise_steps(promise) - before) / STEPS_A_LOOK;
    sl_plan_spend(run, looks);
    lane->run.judged += admits ? 0 : looks + 1;
    run->judged += admits ? 0 : looks + 1;
    return admits;
}

bool sl_plan_bounded_is_due(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_in_mixed(planner, pod) &&
           sl_promise_is_due(sl_plan_bounded_promise(sl_plan_lane_of(pod)), pod->account->id,
                             planner->now_us);
}

bool sl_plan_bounded_may_reserve(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return is_in_mixed(planner, pod) ? pod->reason != SL_HOLD_PROMISE
                                     : promise_admits(planner, pod);
}

struct sl_plan_pod *sl_plan_bounded_due(const struct sl_planner *planner,
                                        const struct sl_plan_lane *lane)
{
    uint64_t id = 0;
    if (!is_bounded(planner) || lane->account == NULL || is_mixed(lane) ||
        !sl_promise_due(lane->account->promise, &id)) {
        return NULL;
    }
    return pod_of(planner, id);
}

bool sl_plan_bounded_spares(const struct sl_planner *planner, const struct sl_plan_lane *lane)
{
    struct sl_promise_idle idle[IDLE_MAX];
    size_t n = 0;
    bool any = is_bounded(planner) && lane->account != NULL;
    if (!any || sl_plan_drains_count(planner) > IDLE_MAX) {
        return !any;
    }
    for (size_t i = 0; i < sl_plan_nodes(planner); i++) {
        const struct sl_plan_node *node = sl_plan_node_at(planner, i);
        if (node->drain_us > planner->now_us && lane->node_free[i] > 0 &&
            sl_plan_drains(node, lane->key)) {
            idle[n++] = (struct sl_promise_idle){key_of(node->node->name), lane->node_free[i],
                                                 node->drain_us};
        }
    }
    return sl_promise_spares(lane->account->promise, idle, n, planner->now_us);
}

static int64_t bounded_wake(const struct sl_plan_lane *lane)
{
    bool asks = lane->account != NULL && (lane->run.refused > 0 || lane->run.drained);
    return asks ? sl_sat_add(sl_promise_due_us(lane->account->promise), 1) : INT64_MAX;
}

static int64_t bounded_latest(const struct sl_planner *planner, const struct sl_plan_pod *pod)
{
    return stands(pod, WAITING)
               ? sl_promise_latest_start(sl_plan_bounded_promise(sl_plan_lane_of(pod)),
                                         pod->account->id, planner->now_us)
               : 0;
}

int64_t sl_planner_fifo_wait(const struct sl_planner *planner, int32_t priority)
{
    int64_t longest_us = 0;
    const struct sl_plan_lane *first = is_bounded(planner) ? planner->lane : NULL;
    for (const struct sl_plan_lane *lane = first; lane != NULL; lane = lane->next) {
        struct sl_promise *promise = sl_plan_bounded_promise(lane);
        if (promise != NULL) {
            const int64_t wait_us = sl_promise_longest_us(promise, priority, planner->now_us);
            longest_us = sl_plan_later(longest_us, wait_us);
        }
    }
    return longest_us;
}

/* ---- what runs and ends ---- */

static void bounded_bound(struct sl_plan_pod *pod, struct sl_plan_ran *ran)
{
    if (stands(pod, RUNNING)) {
        ran->account = pod->account;
        ran->account->pod = NULL;
        pod->account = NULL;
    }
}

static void bounded_ended(struct sl_planner *planner, struct sl_plan_ran *ran)
{
    if (ran->account == NULL) {
        return;
    }
    uint64_t id = ran->account->id;
    struct sl_promise *promise = sl_plan_bounded_promise(sl_plan_lane_find(planner, ran->lane));
    if (promise != NULL && ran->seen) {
        (void)sl_promise_end(promise, id, planner->now_us, NULL);
    } else if (promise != NULL && sl_promise_unstart(promise, id, planner->now_us, NULL) == 0) {
        (void)sl_promise_withdraw(promise, id, planner->now_us, NULL);
    }
    give_id(planner, ran->account);
    free(ran->account);
}

/* ---- the whole account ---- */

static void forget(struct sl_plan_lane *lane)
{
    sl_promise_free(sl_plan_bounded_promise(lane));
    free(lane->account);
    lane->account = NULL;
}

static bool bounded_forget(struct sl_plan_lane *lane, bool crowded)
{
    struct sl_promise *promise = sl_plan_bounded_promise(lane);
    if (promise != NULL && (!crowded || sl_promise_running(promise) > 0)) {
        return false;
    }
    forget(lane);
    return true;
}

static void bounded_end(struct sl_planner *planner)
{
    for (struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        forget(lane);
    }
    sl_plan_records_free(planner);
    sl_map_free(&planner->account.ids);
    planner->account = (struct sl_plan_account){.n_aside = 0};
}

static void bounded_begin(struct sl_planner *planner)
{
    size_t at = 0;
    for (struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        if (pod->nomination != NULL && pod->class != NULL) {
            arrive(planner, pod);
        }
    }
    tell_all(planner);
}

static size_t audit_record(const struct sl_planner *planner,
                           const struct sl_plan_account_pod *record)
{
    SL_CHECK(sl_map_get(&planner->account.ids, (const char *)&record->id, sizeof(record->id)) ==
             record);
    return 1;
}

void sl_plan_bounded_audit(const struct sl_planner *planner)
{
    if (!is_bounded(planner)) {
        return;
    }
    size_t n[RUNNING + 1] = {0};
    size_t at = 0;
    uint64_t waiting = 0;
    uint64_t running = 0;
    for (const struct sl_plan_pod *pod = sl_map_next(&planner->pods, &at); pod != NULL;
         pod = sl_map_next(&planner->pods, &at)) {
        const struct sl_plan_account_pod *record = pod->account;
        if (record != NULL) {
            bool told = record->stand == WAITING || record->stand == RUNNING;
            SL_CHECK(record->pod == pod);
            SL_CHECK((record->stand == RUNNING) == (pod->nomination != NULL));
            n[record->stand] += told ? audit_record(planner, record) : 1;
        }
    }
    for (const struct sl_plan_ran *ran = sl_plan_ran_first(planner); ran != NULL;
         ran = sl_plan_ran_next(ran)) {
        n[RUNNING] += ran->account == NULL ? 0 : audit_record(planner, ran->account);
    }
    for (const struct sl_plan_lane *lane = planner->lane; lane != NULL; lane = lane->next) {
        const struct sl_promise *promise = sl_plan_bounded_promise(lane);
        waiting += promise == NULL ? 0 : sl_promise_waiting(promise);
        running += promise == NULL ? 0 : sl_promise_running(promise);
    }
    SL_CHECK(n[COMING] == planner->account.n_coming && n[ASIDE] == planner->account.n_aside);
    SL_CHECK(n[WAITING] == waiting && n[RUNNING] == running);
    SL_CHECK(n[WAITING] + n[RUNNING] == planner->account.ids.len);
}

const struct sl_plan_order sl_plan_bounded = {
    .begin = bounded_begin,
    .end = bounded_end,
    .settle = bounded_settle,
    .bound = bounded_bound,
    .adopt = bounded_adopt,
    .ended = bounded_ended,
    .capacity = bounded_capacity,
    .forget = bounded_forget,
    .tell = bounded_tell,
    .wake = bounded_wake,
    .latest = bounded_latest,
};
