/* The events of a lane. */
#include <stdlib.h>

#include "core/promise/lane.h"
#include "core/promise/reserved.h"
#include "sliced/ask.h"
#include "util/data/sat.h"
#include "util/data/vec.h"
#include "util/time.h"

enum { FORGET_ARRIVED = 256 };

/* Times are cut to -TIME_MAX_US..TIME_MAX_US, so that no sum of waits overflows. */
#define TIME_MAX_US (INT64_C(1) << 53)

void sl_promise_defaults(struct sl_promise_config *config)
{
    *config = (struct sl_promise_config){.c_permille = SL_PROMISE_C_DEFAULT,
                                         .pods_max = SL_PROMISE_PODS_DEFAULT};
}

struct sl_promise *sl_promise_new(const struct sl_promise_config *config)
{
    struct sl_promise *promise = calloc(1, sizeof(*promise));
    if (promise == NULL) {
        return NULL;
    }
    promise->config = *config;
    promise->now_us = INT64_MIN;
    promise->due_us = INT64_MAX;
    promise->layout.steps_at_us = INT64_MIN;
    promise->fifo.settled_last_us = INT64_MIN;
    promise->fifo.last_us = INT64_MIN;
    return promise;
}

void sl_promise_free(struct sl_promise *promise)
{
    if (promise == NULL) {
        return;
    }
    size_t at = 0;
    for (void *pod = sl_map_next(&promise->pods, &at); pod != NULL;
         pod = sl_map_next(&promise->pods, &at)) {
        free(pod);
    }
    sl_map_free(&promise->pods);
    for (unsigned i = 0; i < SL_PROMISE_RANKS; i++) {
        sl_promise_rank_free(&promise->rank[i]);
    }
    sl_fifo_free(&promise->fifo);
    sl_mixed_free(&promise->mixed);
    sl_promise_layout_free(&promise->layout);
    free(promise->running);
    free(promise);
}

int sl_promise_set_capacity(struct sl_promise *promise, int64_t units, int64_t now_us,
                            struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    const int64_t wanted = units > 0 ? units : 0;
    if (wanted == promise->capacity) {
        return 0;
    }
    const int64_t before = promise->capacity;
    if (sl_fifo_capacity(promise, before, wanted) != 0) {
        return sl_error_nomem(err);
    }
    promise->capacity = wanted;
    promise->tree_stale = true;
    promise->state++;
    return 0;
}

int sl_promise_set_nodes(struct sl_promise *promise, const struct sl_promise_node *node, size_t n,
                         int64_t now_us, struct sl_error *err)
{
    int64_t units = 0;
    for (size_t i = 0; i < n; i++) {
        units = sl_sat_add(units, node[i].units);
    }
    if (sl_promise_set_capacity(promise, units, now_us, err) != 0) {
        return -1;
    }
    if (sl_mixed_set_nodes(promise, node, n) != 0) {
        return sl_error_nomem(err);
    }
    promise->state++;
    return 0;
}

void sl_promise_ask_sites(struct sl_promise *promise, uint64_t (*sites)(void *context, uint64_t id),
                          void *context)
{
    promise->mixed.sites = sites;
    promise->mixed.sites_context = context;
}

void sl_promise_keep_sets(struct sl_promise *promise, bool keep)
{
    promise->mixed.keeps_sets = keep;
}

void sl_promise_observe(struct sl_promise *promise, int32_t priority, int64_t wait_us)
{
    struct sl_promise_rank *rank = &promise->rank[sl_promise_rank_of(promise, priority)];
    const int64_t least_us = sl_promise_unstretch(promise, wait_us);
    rank->settled_us = least_us > rank->settled_us ? least_us : rank->settled_us;
    rank->longest_us = least_us > rank->longest_us ? least_us : rank->longest_us;
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Makes a pod's record, and reserves room for one more pod everywhere. */
static struct sl_promise_member *new_member(struct sl_promise *promise,
                                            const struct sl_promise_pod *pod, struct sl_error *err)
{
    if (pod->width <= 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "pod %llx asks for no unit",
                           (unsigned long long)pod->id);
        return NULL;
    }
    if (sl_promise_find(promise, pod->id) != NULL) {
        (void)sl_error_set(err, SL_ERR_CONFLICT, "pod %llx is known already",
                           (unsigned long long)pod->id);
        return NULL;
    }
    if (promise->n_waiting + promise->n_running >= promise->config.pods_max) {
        (void)sl_error_set(err, SL_ERR_LIMIT, "more than %u pods", promise->config.pods_max);
        return NULL;
    }
    struct sl_promise_member *member = calloc(1, sizeof(*member));
    if (member == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    member->pod = *pod;
    member->bin = SL_BIN_NONE;
    member->pod.width = within(pod->width, 1, SL_UNITS_MAX);
    member->pod.submit_us = within(pod->submit_us, -TIME_MAX_US, TIME_MAX_US);
    if (member->pod.timeout_us <= 0) {
        member->pod.timeout_us = SL_SECOND_US;
    }
    if (member->pod.timeout_us > SL_PROMISE_TIMEOUT_MAX_US) {
        member->pod.timeout_us = SL_PROMISE_TIMEOUT_MAX_US;
    }
    member->rank = sl_promise_rank_of(promise, pod->priority);
    if (sl_mixed_begin(promise, member->pod.width) != 0) {
        (void)sl_error_nomem(err);
        free(member);
        return NULL;
    }
    promise->mixed.serial++;
    member->serial = promise->mixed.serial;
    return member;
}

static int reserve_for_one(struct sl_promise *promise)
{
    const size_t n = promise->n_waiting + promise->n_running + 1;
    if (sl_vec_reserve(&promise->running, &promise->running_cap, n,
                       sizeof(struct sl_promise_member *)) != 0) {
        return -1;
    }
    return sl_promise_layout_reserve(promise) != 0 ? -1 : sl_mixed_reserve(promise);
}

/* Tells the virtual FIFO of the pod. */
static int line_up_virtually(struct sl_promise *promise, struct sl_promise_member *member,
                             bool adopted)
{
    if (!promise->mixed.active) {
        sl_mixed_pass(promise, member->pod.width);
        return sl_fifo_arrive(promise, member, adopted);
    }
    member->entry = UINT32_MAX;
    sl_mixed_arrive(promise, member, adopted);
    return 0;
}

/* Makes the pod wait. All room but its slot has been reserved. */
static int line_up(struct sl_promise *promise, struct sl_promise_member *member)
{
    if (sl_promise_rank_insert(promise, member) != 0) {
        return -1;
    }
    promise->n_waiting++;
    const int64_t estimate = sl_promise_estimate(promise, member);
    if (estimate > promise->longest_estimate_us) {
        promise->longest_estimate_us = estimate;
    }
    if (member->pod.width > promise->widest && sl_promise_fits_lane(promise, member->pod.width)) {
        promise->tree_stale = true;
    }
    promise->state++;
    return 0;
}

static void count_arrival(struct sl_promise *promise, const struct sl_promise_member *member)
{
    if (promise->arrived_n == FORGET_ARRIVED) {
        promise->arrived_n /= 2;
        promise->arrived_sum_us /= 2;
    }
    promise->arrived_n++;
    promise->arrived_sum_us += sl_promise_estimate(promise, member);
}

int sl_promise_arrive(struct sl_promise *promise, const struct sl_promise_pod *pod, int64_t now_us,
                      struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = new_member(promise, pod, err);
    if (member == NULL) {
        return -1;
    }
    void *old = NULL;
    if (reserve_for_one(promise) != 0 || sl_map_put(&promise->pods, (const char *)&member->pod.id,
                                                    sizeof(member->pod.id), member, &old) != 0) {
        free(member);
        return sl_error_nomem(err);
    }
    if (line_up(promise, member) != 0) {
        goto unknown;
    }
    if (line_up_virtually(promise, member, false) != 0) {
        sl_promise_rank_remove(promise, member);
        promise->n_waiting--;
        goto unknown;
    }
    count_arrival(promise, member);
    return 0;

unknown:
    (void)sl_map_remove(&promise->pods, (const char *)&member->pod.id, sizeof(member->pod.id));
    free(member);
    return sl_error_nomem(err);
}

static void run_member(struct sl_promise *promise, struct sl_promise_member *member,
                       int64_t started_us)
{
    member->running = true;
    member->started_us = started_us;
    member->place = (uint32_t)promise->n_running;
    promise->running[promise->n_running++] = member;
    promise->running_units += member->pod.width;
}

static void stop_member(struct sl_promise *promise, struct sl_promise_member *member)
{
    member->running = false;
    promise->running[member->place] = promise->running[--promise->n_running];
    promise->running[member->place]->place = member->place;
    promise->running_units -= member->pod.width;
}

static void forget_member(struct sl_promise *promise, struct sl_promise_member *member)
{
    (void)sl_map_remove(&promise->pods, (const char *)&member->pod.id, sizeof(member->pod.id));
    free(member);
    promise->state++;
}

int sl_promise_adopt(struct sl_promise *promise, const struct sl_promise_pod *pod,
                     int64_t started_us, int64_t now_us, struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = new_member(promise, pod, err);
    if (member == NULL) {
        return -1;
    }
    void *old = NULL;
    member->started_us = within(started_us, -TIME_MAX_US, promise->now_us);
    if (reserve_for_one(promise) != 0 || sl_map_put(&promise->pods, (const char *)&member->pod.id,
                                                    sizeof(member->pod.id), member, &old) != 0) {
        free(member);
        return sl_error_nomem(err);
    }
    if (line_up_virtually(promise, member, true) != 0) {
        forget_member(promise, member);
        return sl_error_nomem(err);
    }
    run_member(promise, member, member->started_us);
    promise->state++;
    sl_promise_observe(promise, pod->priority, member->started_us - member->pod.submit_us);
    return 0;
}

int sl_promise_start(struct sl_promise *promise, uint64_t id, int64_t now_us, struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = sl_promise_find_as(promise, id, false, err);
    if (member == NULL) {
        return -1;
    }
    sl_reserved_starts(promise, member);
    sl_promise_rank_remove(promise, member);
    promise->n_waiting--;
    run_member(promise, member, promise->now_us);
    promise->state++;
    sl_promise_layout_started(promise, member);
    return 0;
}

void sl_promise_place(struct sl_promise *promise, uint64_t id, uint64_t node)
{
    struct sl_promise_member *member = sl_promise_find_as(promise, id, true, NULL);
    if (member != NULL) {
        member->node = node;
        sl_reserved_placed(promise, member);
    }
}

int sl_promise_unstart(struct sl_promise *promise, uint64_t id, int64_t now_us,
                       struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = sl_promise_find_as(promise, id, true, err);
    if (member == NULL) {
        return -1;
    }
    const uint32_t place = member->place;
    if (line_up(promise, member) != 0) {
        return sl_error_nomem(err);
    }
    const uint32_t slot = member->place;
    member->place = place;
    stop_member(promise, member);
    member->place = slot;
    return 0;
}

int sl_promise_end(struct sl_promise *promise, uint64_t id, int64_t now_us, struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = sl_promise_find_as(promise, id, true, err);
    if (member == NULL) {
        return -1;
    }
    const int64_t run_us = promise->now_us - member->started_us;
    stop_member(promise, member);
    sl_mixed_over(promise, member, run_us, false);
    sl_fifo_over(promise, member, run_us, false);
    sl_learn_ended(&promise->learn, member->pod.timeout_us, run_us);
    forget_member(promise, member);
    return 0;
}

int sl_promise_withdraw(struct sl_promise *promise, uint64_t id, int64_t now_us,
                        struct sl_error *err)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = sl_promise_find_as(promise, id, false, err);
    if (member == NULL) {
        return -1;
    }
    sl_promise_rank_remove(promise, member);
    promise->n_waiting--;
    sl_mixed_over(promise, member, 0, true);
    sl_fifo_over(promise, member, 0, true);
    forget_member(promise, member);
    return 0;
}
