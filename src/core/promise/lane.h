/* The state of a lane. */
#ifndef SLICED_CORE_PROMISE_LANE_H
#define SLICED_CORE_PROMISE_LANE_H

#include "core/forecast/learn.h"
#include "core/promise/fifo.h"
#include "core/promise/layout.h"
#include "core/promise/mixed.h"
#include "core/promise/rank.h"
#include "sliced/promise.h"
#include "util/data/map.h"

struct sl_promise {
    struct sl_promise_config config;
    int64_t now_us;
    uint64_t state; /* changes with every event, and when time passes */
    int64_t capacity;
    int64_t running_units;
    struct sl_map pods; /* by id */
    struct sl_promise_member **running;
    size_t n_running;
    size_t running_cap;
    size_t n_waiting;
    struct sl_promise_rank rank[SL_PROMISE_RANKS];
    uint8_t order[SL_PROMISE_RANKS]; /* indexes of rank, highest priority first */
    uint8_t n_ranks;
    bool tree_stale;
    uint32_t tree_version;       /* version of the estimates in the ranks' trees */
    int64_t divisor;             /* of the trees' slack: units surely busy while a pod waits */
    int64_t longest_estimate_us; /* of waiting pods, an upper bound */
    int64_t widest;              /* of the waiting */
    int64_t arrived_sum_us;      /* sum of estimates of recently arrived pods */
    int64_t arrived_n;
    int64_t due_us; /* see sl_promise_due_us */
    struct sl_learn learn;
    struct sl_fifo fifo;
    struct sl_promise_layout layout;
    struct sl_mixed mixed;
};

/* Moves the lane's time on, never back. */
void sl_promise_set_now(struct sl_promise *promise, int64_t now_us);
/* Return the pod of that id. sl_promise_find: NULL when there is none. sl_promise_find_as: NULL
 * with *err set when no running, or else no waiting, pod has the id. */
struct sl_promise_member *sl_promise_find(const struct sl_promise *promise, uint64_t id);
struct sl_promise_member *sl_promise_find_as(const struct sl_promise *promise, uint64_t id,
                                             bool running, struct sl_error *err);
/* Returns the first waiting pod in order that could ever start; NULL: none. */
struct sl_promise_member *sl_promise_first(const struct sl_promise *promise);

static inline bool sl_promise_fits_lane(const struct sl_promise *promise, int64_t width)
{
    return width <= promise->capacity;
}

static inline int64_t sl_promise_estimate(const struct sl_promise *promise,
                                          const struct sl_promise_member *member)
{
    return sl_learn_estimate(&promise->learn, member->pod.timeout_us);
}

/* Returns the least that FIFO's wait was: an observed wait may be stretched by up to c. */
static inline int64_t sl_promise_unstretch(const struct sl_promise *promise, int64_t wait_us)
{
    const int64_t c = promise->config.c_permille;
    return wait_us / c * 1000 + wait_us % c * 1000 / c;
}

/* Returns how much longer a running pod is expected to run, and notes in due_us when that
 * expectation ends. */
static inline int64_t sl_promise_rest(struct sl_promise *promise,
                                      const struct sl_promise_member *member)
{
    const int64_t rest_us = sl_learn_rest(&promise->learn, member->pod.timeout_us,
                                          promise->now_us - member->started_us);
    const int64_t out_us = member->started_us + member->pod.timeout_us;
    const int64_t due_us = out_us < promise->now_us ? promise->now_us + rest_us : out_us;
    promise->due_us = due_us < promise->due_us ? due_us : promise->due_us;
    return rest_us;
}

#endif
