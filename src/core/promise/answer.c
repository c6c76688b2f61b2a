/* Tells which pods may go, and what is promised to them. */
#include "core/promise/allowance.h"
#include "core/promise/lane.h"
#include "core/promise/reserved.h"

bool sl_promise_due(const struct sl_promise *promise, uint64_t *id)
{
    const struct sl_promise_member *first = sl_promise_first(promise);
    if (first == NULL) {
        return false;
    }
    *id = first->pod.id;
    return true;
}

/* True when the pod and all pods before it have room now, so that it overtakes none. */
static bool starts_now(const struct sl_promise *promise, const struct sl_promise_member *member)
{
    int64_t units = promise->running_units;
    for (unsigned r = 0; promise->order[r] != member->rank; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        units += rank->size > 0 ? rank->tree[1].units : 0;
    }
    return units + sl_promise_rank_units_to(&promise->rank[member->rank], member) <=
           promise->capacity;
}

static bool is_admitted(struct sl_promise *promise, uint64_t id, uint64_t node, int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    struct sl_promise_member *member = sl_promise_find_as(promise, id, false, NULL);
    if (member == NULL || !sl_promise_fits_lane(promise, member->pod.width)) {
        return false;
    }
    if (promise->mixed.active) {
        return sl_reserved_admits(promise, member, node);
    }
    sl_fifo_refresh(promise);
    sl_promise_rank_refresh(promise);
    return member == sl_promise_first(promise) || starts_now(promise, member) ||
           sl_promise_layout_admits(promise, member);
}

bool sl_promise_admits(struct sl_promise *promise, uint64_t id, int64_t now_us)
{
    return is_admitted(promise, id, 0, now_us);
}

bool sl_promise_admits_on(struct sl_promise *promise, uint64_t id, uint64_t node, int64_t now_us)
{
    return is_admitted(promise, id, node, now_us);
}

size_t sl_promise_steps(const struct sl_promise *promise)
{
    return promise->mixed.steps;
}

bool sl_promise_is_due(struct sl_promise *promise, uint64_t id, int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    const struct sl_promise_member *member = sl_promise_find_as(promise, id, false, NULL);
    return member != NULL && (promise->mixed.active ? sl_reserved_is_due(promise, member)
                                                    : member == sl_promise_first(promise));
}

bool sl_promise_is_due_on(struct sl_promise *promise, uint64_t id, uint64_t node, int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    const struct sl_promise_member *member = sl_promise_find_as(promise, id, false, NULL);
    return member != NULL && promise->mixed.active && sl_reserved_is_due(promise, member) &&
           member->bin < promise->mixed.fifo.bins.n &&
           promise->mixed.fifo.bins.bin[member->bin].key == node;
}

bool sl_promise_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n,
                       int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    if (promise->n_waiting == 0) {
        return true;
    }
    if (promise->mixed.active) {
        return sl_reserved_spares(promise, idle, n);
    }
    sl_fifo_refresh(promise);
    sl_promise_rank_refresh(promise);
    return sl_promise_layout_spares(promise, idle, n);
}

bool sl_promise_is_mixed(const struct sl_promise *promise)
{
    return promise->mixed.active;
}

static void refresh_longest(struct sl_promise *promise)
{
    if (!promise->mixed.active) {
        sl_fifo_refresh(promise);
    } else if (promise->mixed.looked != promise->state) {
        sl_mixed_look_ahead(promise);
    }
}

int64_t sl_promise_latest_start(struct sl_promise *promise, uint64_t id, int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    const struct sl_promise_member *member = sl_promise_find_as(promise, id, false, NULL);
    if (member == NULL) {
        return 0;
    }
    struct sl_allowance allowance;
    refresh_longest(promise);
    sl_promise_allowance(promise, member->rank, &allowance);
    return member->pod.submit_us + allowance.wait_us;
}

int64_t sl_promise_due_us(const struct sl_promise *promise)
{
    return promise->due_us;
}

int64_t sl_promise_longest_us(struct sl_promise *promise, int32_t priority, int64_t now_us)
{
    sl_promise_set_now(promise, now_us);
    refresh_longest(promise);
    for (unsigned r = 0; r < promise->n_ranks; r++) { /* an unknown priority makes no rank */
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        if (rank->priority == priority ||
            (rank->priority < priority && promise->n_ranks == SL_PROMISE_RANKS)) {
            return rank->longest_us;
        }
    }
    return 0;
}

int32_t sl_promise_ratio_permille(const struct sl_promise *promise)
{
    const int64_t unused = (promise->learn.all.share * 1000) >> SL_LEARN_SHIFT;
    return (int32_t)(1000 - unused);
}

uint32_t sl_promise_waiting(const struct sl_promise *promise)
{
    return (uint32_t)promise->n_waiting;
}

uint32_t sl_promise_running(const struct sl_promise *promise)
{
    return (uint32_t)promise->n_running;
}
