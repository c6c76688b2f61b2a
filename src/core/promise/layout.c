/* Decides whether a pod may overtake, by a layout of the other pods in order behind the running
 * pods and this one; a tree answers the clear cases. */
#include "core/promise/layout.h"

#include "core/promise/allowance.h"
#include "core/promise/lane.h"

enum { STEPS_MAX = 16384 }; /* pods laid out at one time */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int sl_promise_layout_reserve(struct sl_promise *promise)
{
    struct sl_promise_layout *layout = &promise->layout;
    const size_t n = promise->n_running + promise->n_waiting + 4;
    if (sl_supply_reserve(&layout->units, n) != 0 || sl_supply_reserve(&layout->base, n) != 0) {
        return -1;
    }
    return sl_supply_reserve(&layout->scratch, n);
}

void sl_promise_layout_free(struct sl_promise_layout *layout)
{
    sl_supply_free(&layout->units);
    sl_supply_free(&layout->base);
    sl_supply_free(&layout->scratch);
}

/* ---- what runs ---- */

static void count_running(struct sl_promise *promise, const struct sl_promise_member *member,
                          int64_t rest_us)
{
    struct sl_promise_layout *layout = &promise->layout;
    const int64_t end_us = promise->now_us + rest_us;
    sl_supply_add(&layout->units, end_us, member->pod.width);
    layout->running_work += (sl_work)member->pod.width * rest_us;
    layout->running_end_us = most(layout->running_end_us, end_us);
}

static void refresh_units(struct sl_promise *promise)
{
    struct sl_promise_layout *layout = &promise->layout;
    const int64_t unused = promise->capacity - promise->running_units;
    if (layout->units_state == promise->state) {
        return;
    }
    layout->units_state = promise->state;
    layout->units.n = 0;
    layout->running_work = 0;
    layout->running_end_us = promise->now_us;
    promise->due_us = INT64_MAX;
    for (size_t i = 0; i < promise->n_running; i++) {
        const struct sl_promise_member *member = promise->running[i];
        count_running(promise, member, sl_promise_rest(promise, member));
    }
    if (unused > 0) {
        sl_supply_add(&layout->units, promise->now_us, unused);
    } else { /* units removed under running pods */
        sl_supply_drop(&layout->units, -unused);
    }
}

void sl_promise_layout_started(struct sl_promise *promise, const struct sl_promise_member *member)
{
    struct sl_promise_layout *layout = &promise->layout;
    if (layout->units_state + 1 == promise->state && promise->running_units <= promise->capacity) {
        layout->units_state = promise->state;
        sl_supply_drop(&layout->units, member->pod.width);
        count_running(promise, member, sl_promise_rest(promise, member));
    }
}

/* ---- the layout in which no pod overtakes ---- */

static void refresh_base(struct sl_promise *promise)
{
    struct sl_promise_layout *layout = &promise->layout;
    if (layout->base_state == promise->state) {
        return;
    }
    layout->base_state = promise->state;
    sl_supply_copy(&layout->base, &layout->units);
    int64_t last_us = promise->now_us;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            struct sl_promise_member *member = rank->slot[i];
            if (member != NULL && sl_promise_fits_lane(promise, member->pod.width)) {
                const int64_t width = member->pod.width;
                last_us = sl_supply_take(&layout->base, width, last_us);
                sl_supply_add(&layout->base, last_us + sl_promise_estimate(promise, member), width);
                member->base_us = last_us;
            }
        }
    }
    sl_supply_sort(&layout->base);
    layout->base_last_us = last_us;
    layout->steps += promise->n_waiting;
}

/* ---- a layout in which one overtakes ---- */

/* A position in a sorted supply. */
struct cursor {
    const struct sl_supply *supply;
    size_t group;
    int64_t before; /* units in the groups before it */
};

/* Returns when the unit behind that many others comes free; the last group's time if there are
 * fewer. */
static int64_t unit_time(struct cursor *at, int64_t units)
{
    const struct sl_supply *supply = at->supply;
    while (at->group + 1 < supply->n && at->before + supply->group[at->group].units <= units) {
        at->before += supply->group[at->group++].units;
    }
    return supply->group[at->group].at_us;
}

/* True when the last start, and the time at which each unit is free at the end, are no later than
 * in the virtual FIFO + lag, or than in the layout in which no pod overtakes. */
static bool ends_in_time(struct sl_promise *promise, const struct sl_supply *end, int64_t last_us,
                         const struct sl_allowance *allowance)
{
    struct sl_promise_layout *layout = &promise->layout;
    struct cursor fifo = {sl_fifo_sorted(&promise->fifo), 0, 0};
    struct cursor base = {&layout->base, 0, 0};
    /* With pods of one unit the last start never holds up the next pod. */
    if (promise->widest > 1 &&
        last_us > most(promise->fifo.last_us, promise->now_us) + allowance->lag_us) {
        refresh_base(promise);
        if (last_us > layout->base_last_us + allowance->slip_us) {
            return false;
        }
    }
    int64_t units = 0;
    for (size_t i = 0; i < end->n && fifo.supply->n > 0; i++) {
        /* The first unit of a group meets the earliest time in the other supply, so it decides. */
        const int64_t at_us = end->group[i].at_us;
        const int64_t fifo_us = unit_time(&fifo, units);
        if (at_us > most(fifo_us, promise->now_us) + allowance->lag_us) {
            refresh_base(promise);
            if (base.supply->n == 0 || at_us > unit_time(&base, units) + allowance->slip_us) {
                return false;
            }
        }
        units += end->group[i].units;
    }
    return true;
}

static bool is_late(struct sl_promise *promise, const struct sl_promise_member *member, bool higher,
                    int64_t start_us, const struct sl_allowance *allowance)
{
    if (!higher && start_us <= member->pod.submit_us + allowance->wait_us) {
        return false;
    }
    refresh_base(promise);
    return start_us > member->base_us + (higher ? 0 : allowance->slip_us);
}

static void note_reject(struct sl_promise *promise, const struct sl_promise_member *member,
                        const struct sl_promise_member *late)
{
    struct sl_promise_layout *layout = &promise->layout;
    if (layout->n_rejects < SL_PROMISE_REJECTS) {
        layout->reject[layout->n_rejects++] =
            (struct sl_promise_reject){late, late->rank != member->rank,
                                       sl_promise_estimate(promise, member), member->pod.width};
    }
}

/* A pod at least as long and wide as a rejected one delays the same waiter, if queued behind it. */
static bool is_rejected(struct sl_promise *promise, const struct sl_promise_member *member)
{
    struct sl_promise_layout *layout = &promise->layout;
    const int64_t estimate_us = sl_promise_estimate(promise, member);
    if (layout->reject_state != promise->state) {
        layout->reject_state = promise->state;
        layout->n_rejects = 0;
    }
    for (size_t i = 0; i < layout->n_rejects; i++) {
        const struct sl_promise_reject *reject = &layout->reject[i];
        if (estimate_us >= reject->estimate_us && member->pod.width >= reject->width &&
            sl_lane_compare(&reject->late->pod, &member->pod) < 0 &&
            (!reject->higher || reject->late->rank != member->rank)) {
            return true;
        }
    }
    return false;
}

/* Lays out all waiting pods behind the member. O(n log n) for n of them. */
static bool try_layout(struct sl_promise *promise, const struct sl_promise_member *member,
                       const struct sl_allowance *allowance)
{
    struct sl_supply *units = &promise->layout.scratch;
    sl_supply_copy(units, &promise->layout.units);
    sl_supply_drop(units, member->pod.width);
    sl_supply_add(units, promise->now_us + sl_promise_estimate(promise, member), member->pod.width);
    promise->layout.steps += promise->n_waiting;
    int64_t last_us = promise->now_us;
    bool higher = true; /* the rank's priority is higher than the member's */
    bool lower = false;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        lower = !higher;
        higher = higher && promise->order[r] != member->rank;
        for (size_t i = rank->first; i < rank->used; i++) {
            const struct sl_promise_member *other = rank->slot[i];
            if (other == NULL || other == member ||
                !sl_promise_fits_lane(promise, other->pod.width)) {
                continue;
            }
            last_us = sl_supply_take(units, other->pod.width, last_us);
            if (!lower && is_late(promise, other, higher, last_us, allowance)) {
                note_reject(promise, member, other);
                return false;
            }
            sl_supply_add(units, last_us + sl_promise_estimate(promise, other), other->pod.width);
        }
    }
    sl_supply_sort(units);
    return ends_in_time(promise, units, last_us, allowance);
}

/* Is there time left to lay all waiting pods out once more? */
static bool may_lay_out(struct sl_promise *promise)
{
    struct sl_promise_layout *layout = &promise->layout;
    if (layout->steps_at_us != promise->now_us) {
        layout->steps_at_us = promise->now_us;
        layout->steps = 0;
    }
    return layout->steps == 0 || layout->steps + promise->n_waiting <= STEPS_MAX;
}

bool sl_promise_layout_spares(struct sl_promise *promise, const struct sl_promise_idle *idle,
                              size_t n)
{
    struct sl_supply *supply = &promise->layout.scratch;
    refresh_units(promise);
    if (!may_lay_out(promise) || sl_supply_reserve(supply, supply->n + n) != 0) {
        return false;
    }
    sl_supply_copy(supply, &promise->layout.units);
    for (size_t i = 0; i < n; i++) {
        (void)sl_supply_take(supply, idle[i].units, promise->now_us);
        sl_supply_add(supply, idle[i].until_us, idle[i].units);
    }
    promise->layout.steps += promise->n_waiting;
    int64_t last_us = promise->now_us;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        struct sl_allowance allowance;
        sl_promise_allowance(promise, promise->order[r], &allowance);
        allowance.slip_us = 0;
        for (size_t i = rank->first; i < rank->used; i++) {
            const struct sl_promise_member *other = rank->slot[i];
            if (other == NULL || !sl_promise_fits_lane(promise, other->pod.width)) {
                continue;
            }
            last_us = sl_supply_take(supply, other->pod.width, last_us);
            if (is_late(promise, other, false, last_us, &allowance)) {
                return false;
            }
            sl_supply_add(supply, last_us + sl_promise_estimate(promise, other), other->pod.width);
        }
    }
    return true;
}

/* ---- the clear cases ---- */

/* True when the tree shows that no pod becomes late. Strict FIFO with widths keeps at least divisor
 * units busy until a pod starts, so that it starts by now + (all work ahead of it) / divisor. */
static bool surely_admits(const struct sl_promise *promise, const struct sl_promise_member *member,
                          const struct sl_allowance *allowance)
{
    const struct sl_promise_layout *layout = &promise->layout;
    if (promise->divisor <= 0 || promise->fifo.units.n == 0) {
        return false;
    }
    const sl_work own = (sl_work)member->pod.width * sl_promise_estimate(promise, member);
    const sl_work ahead = layout->running_work + own;
    int64_t end_us = promise->fifo.units.group[0].at_us;
    if (promise->widest > 1) {
        end_us = least(end_us, promise->fifo.last_us);
    }
    end_us = most(end_us, promise->now_us) + allowance->lag_us;
    sl_work waiting = -own;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        waiting += promise->rank[r].size > 0 ? promise->rank[r].tree[1].work : 0;
    }
    const sl_work room =
        (sl_work)promise->divisor * (end_us - promise->longest_estimate_us - promise->now_us);
    if (ahead + waiting > room || layout->running_end_us > end_us) {
        return false;
    }
    const sl_work until = (sl_work)promise->divisor * (allowance->wait_us - promise->now_us);
    return sl_promise_rank_slack(&promise->rank[member->rank], member, ahead) + until >= 0;
}

bool sl_promise_layout_admits(struct sl_promise *promise, const struct sl_promise_member *member)
{
    struct sl_allowance allowance;
    sl_promise_allowance(promise, member->rank, &allowance);
    refresh_units(promise);
    bool alone = true; /* no pod of higher priority waits */
    for (unsigned r = 0; promise->order[r] != member->rank; r++) {
        alone = alone && promise->rank[promise->order[r]].n == 0;
    }
    if (alone && surely_admits(promise, member, &allowance)) {
        return true;
    }
    return may_lay_out(promise) && !is_rejected(promise, member) &&
           try_layout(promise, member, &allowance);
}
