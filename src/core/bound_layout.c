/* May a pod overtake? The others are laid out in order behind the running pods and the one that
 * goes first; a tree answers the clear cases. */
#include "bound_internal.h"

/* Found by simulation (test/bench/bench_bound.c): the smallest room with which, on random
 * workloads, nobody waited longer than c*W with exact timeouts, and with wrong ones both the mean
 * and the longest wait stayed below those of the order p. */
enum {
    STEPS_MAX = 16384, /* pods laid out at one time */

    /* While W is small against the pods' run times, the next pods to come could be late without
     * anybody's fault. So c grows to its full size until W is this many times the mean estimate, in
     * halves, and until this many the lane's end is kept close to the virtual FIFO's; from then on
     * it may lie W/2 further behind. */
    RAMP_HALVES = 6,
    CLOSE_HALVES = 2,
    LAG_SHARE = 2,

    /* Where pods have several widths a layout says less of what will come: so much of what c allows
     * is used, the rest makes up for that. */
    MIXED_EIGHTHS = 7,

    /* Where run times are guessed, W is one too: it is taken smaller by 0.9 of the relative error,
     * 0.35 at most, and every pod gets 26 times the mean error, 3W at most. */
    DISCOUNT_PERMILLE = 900,
    DISCOUNT_MAX_PERMILLE = 350,
    ERRORS = 26,
    ERRORS_MAX_LONGEST = 3,
    SLIP_PERMILLE = 400, /* of the mean error */
};

static int64_t permille(int64_t us, int64_t factor)
{
    return us / 1000 * factor + us % 1000 * factor / 1000;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void sl_bound_allowance(const struct sl_bound *bound, uint8_t rank, struct sl_allowance *out)
{
    const int64_t longest = bound->rank[rank].longest_us;
    const int64_t mean = bound->arrived_n == 0 ? 0 : bound->arrived_sum / bound->arrived_n;
    const int64_t beyond_one = bound->config.c_permille - 1000;
    const int64_t extra = bound->mixed.active ? beyond_one * MIXED_EIGHTHS / 8 : beyond_one;
    const int64_t full = mean / 2 * RAMP_HALVES;
    int64_t beyond = permille(longest, extra);
    if (longest < full) {
        beyond = permille(beyond, longest / (full / 1000 + 1));
    }
    const int64_t discount = least(DISCOUNT_MAX_PERMILLE, sl_learn_error_permille(&bound->learn) *
                                                              DISCOUNT_PERMILLE / 1000);
    const int64_t error = sl_learn_error_us(&bound->learn);
    const int64_t unsure = least(error * ERRORS, longest * ERRORS_MAX_LONGEST);
    const int64_t loose = longest > mean / 2 * CLOSE_HALVES ? longest / LAG_SHARE : 0;
    out->wait_us = permille(longest + beyond, 1000 - discount) + unsure;
    out->lag_us = beyond + unsure + (bound->mixed.active ? 0 : loose);
    out->slip_us = permille(error, SLIP_PERMILLE);
}

int sl_layout_reserve(struct sl_bound *bound)
{
    const size_t n = bound->n_running + bound->n_waiting + 4;
    if (sl_units_reserve(&bound->units, n) != 0 || sl_units_reserve(&bound->base, n) != 0) {
        return -1;
    }
    return sl_units_reserve(&bound->scratch, n);
}

/* When the running pods free their units. */
static void refresh_units(struct sl_bound *bound)
{
    if (bound->units_state == bound->state) {
        return;
    }
    bound->units_state = bound->state;
    bound->units.n = 0;
    bound->running_work = 0;
    bound->running_end = bound->now;
    bound->due_us = INT64_MAX;
    for (size_t i = 0; i < bound->n_running; i++) {
        const struct sl_bound_waiter *w = bound->running[i];
        const int64_t rest =
            sl_learn_rest(&bound->learn, w->spec.timeout_us, bound->now - w->started_us);
        sl_units_add(&bound->units, bound->now + rest, w->spec.width);
        bound->running_work += (sl_work)w->spec.width * rest;
        bound->running_end = most(bound->running_end, bound->now + rest);
        const int64_t out_us = w->started_us + w->spec.timeout_us;
        const int64_t due_us = out_us < bound->now ? bound->now + rest : out_us;
        bound->due_us = due_us < bound->due_us ? due_us : bound->due_us;
    }
    if (bound->running_units < bound->capacity) {
        sl_units_add(&bound->units, bound->now, bound->capacity - bound->running_units);
    } else { /* units that went away under running pods */
        (void)sl_units_take(&bound->units, bound->running_units - bound->capacity, 0);
    }
}

static int64_t estimate_of(const struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    return sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
}

/* Everybody in order, nobody overtakes. */
static void refresh_base(struct sl_bound *bound)
{
    if (bound->base_state == bound->state) {
        return;
    }
    bound->base_state = bound->state;
    sl_units_copy(&bound->base, &bound->units);
    int64_t last = bound->now;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            struct sl_bound_waiter *w = rank->slot[i];
            if (w != NULL && sl_bound_fits_lane(bound, w->spec.width)) {
                last = sl_units_take(&bound->base, w->spec.width, last);
                sl_units_add(&bound->base, last + estimate_of(bound, w), w->spec.width);
                w->base_us = last;
                w->base_state = bound->state;
            }
        }
    }
    sl_units_sort(&bound->base);
    bound->base_last_us = last;
    bound->steps += bound->n_waiting;
}

/* Free times of the virtual FIFO, in order. */
static const struct sl_units *fifo_sorted(struct sl_fifo *fifo)
{
    if (fifo->sorted_stale) {
        sl_units_copy(&fifo->sorted, &fifo->units);
        sl_units_sort(&fifo->sorted);
        fifo->sorted_stale = false;
    }
    return &fifo->sorted;
}

/* The last start, and when every unit of the sorted layout is free, come no later than in the
 * virtual FIFO + lag, or than in the layout in which nobody overtakes. */
static bool end_in_time(struct sl_bound *bound, const struct sl_units *layout, int64_t last_us,
                        const struct sl_allowance *allowance)
{
    const struct sl_units *fifo = fifo_sorted(&bound->fifo);
    /* Between pods of one unit the last start is never what holds up the next. */
    if (bound->widest > 1 && last_us > most(bound->fifo.last_us, bound->now) + allowance->lag_us) {
        refresh_base(bound);
        if (last_us > bound->base_last_us + allowance->slip_us) {
            return false;
        }
    }
    size_t f = 0;
    size_t b = 0;
    int64_t units = 0;      /* of the layout, up to here */
    int64_t fifo_units = 0; /* before f */
    int64_t base_units = 0;
    for (size_t i = 0; i < layout->n; i++) {
        /* The first unit of a group meets the earliest of the others: that one decides. */
        while (f + 1 < fifo->n && fifo_units + fifo->group[f].units <= units) {
            fifo_units += fifo->group[f++].units;
        }
        const int64_t at = layout->group[i].at;
        if (f < fifo->n && at > most(fifo->group[f].at, bound->now) + allowance->lag_us) {
            refresh_base(bound);
            while (b + 1 < bound->base.n && base_units + bound->base.group[b].units <= units) {
                base_units += bound->base.group[b++].units;
            }
            if (b >= bound->base.n || at > bound->base.group[b].at + allowance->slip_us) {
                return false;
            }
        }
        units += layout->group[i].units;
    }
    return true;
}

static bool is_late(struct sl_bound *bound, const struct sl_bound_waiter *waiter, bool higher,
                    int64_t start, const struct sl_allowance *allowance)
{
    if (!higher && start <= waiter->spec.submit_us + allowance->wait_us) {
        return false;
    }
    refresh_base(bound);
    return start > waiter->base_us + (higher ? 0 : allowance->slip_us);
}

static void remember(struct sl_bound *bound, const struct sl_bound_waiter *waiter,
                     const struct sl_bound_waiter *late)
{
    if (bound->n_rejects < SL_BOUND_REJECTS) {
        bound->reject[bound->n_rejects++] = (struct sl_reject){
            .late = late, .estimate = estimate_of(bound, waiter), .width = waiter->spec.width};
    }
}

/* Who runs no shorter and no narrower than one that would make somebody late makes him late too,
 * when behind him. */
static bool is_rejected(struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    if (bound->reject_state != bound->state) {
        bound->reject_state = bound->state;
        bound->n_rejects = 0;
    }
    const int64_t estimate = estimate_of(bound, waiter);
    for (size_t i = 0; i < bound->n_rejects; i++) {
        const struct sl_reject *reject = &bound->reject[i];
        if (estimate >= reject->estimate && waiter->spec.width >= reject->width &&
            sl_bound_compare(&reject->late->spec, &waiter->spec) < 0) {
            return true;
        }
    }
    return false;
}

/* The layout itself; the time it takes grows with the pods that wait. */
static bool layout_admits(struct sl_bound *bound, const struct sl_bound_waiter *waiter,
                          const struct sl_allowance *allowance)
{
    struct sl_units *units = &bound->scratch;
    sl_units_copy(units, &bound->units);
    (void)sl_units_take(units, waiter->spec.width, bound->now);
    sl_units_add(units, bound->now + estimate_of(bound, waiter), waiter->spec.width);
    bound->steps += bound->n_waiting;
    int64_t last = bound->now;
    bool higher = true; /* than the waiter's */
    bool lower = false;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        lower = !higher;
        higher = higher && bound->order[r] != waiter->rank;
        for (size_t i = rank->first; i < rank->used; i++) {
            const struct sl_bound_waiter *w = rank->slot[i];
            if (w == NULL || w == waiter || !sl_bound_fits_lane(bound, w->spec.width)) {
                continue;
            }
            last = sl_units_take(units, w->spec.width, last);
            if (!lower && is_late(bound, w, higher, last, allowance)) {
                remember(bound, waiter, w);
                return false;
            }
            sl_units_add(units, last + estimate_of(bound, w), w->spec.width);
        }
    }
    sl_units_sort(units);
    return end_in_time(bound, units, last, allowance);
}

/* Strict FIFO with widths keeps at least divisor units busy until a pod starts, so that it starts
 * by now + (all work ahead of it) / divisor. */
static bool surely_admits(const struct sl_bound *bound, const struct sl_bound_waiter *waiter,
                          const struct sl_allowance *allowance)
{
    if (bound->divisor <= 0 || bound->fifo.units.n == 0) {
        return false;
    }
    const sl_work own = (sl_work)waiter->spec.width * estimate_of(bound, waiter);
    const sl_work ahead = bound->running_work + own;
    int64_t fifo_end = bound->fifo.units.group[0].at;
    if (bound->widest > 1) {
        fifo_end = least(fifo_end, bound->fifo.last_us);
    }
    fifo_end = most(fifo_end, bound->now) + allowance->lag_us;
    sl_work waiting = -own;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        waiting += bound->rank[r].size > 0 ? bound->rank[r].tree[1].work : 0;
    }
    const sl_work room =
        (sl_work)bound->divisor * (fifo_end - bound->longest_estimate - bound->now);
    if (ahead + waiting > room || bound->running_end > fifo_end) {
        return false;
    }
    const sl_work until = (sl_work)bound->divisor * (allowance->wait_us - bound->now);
    return sl_rank_slack(&bound->rank[waiter->rank], waiter, ahead) + until >= 0;
}

bool sl_layout_admits(struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    struct sl_allowance allowance;
    sl_bound_allowance(bound, waiter->rank, &allowance);
    refresh_units(bound);
    bool alone = true; /* nobody of higher priority waits */
    for (unsigned r = 0; bound->order[r] != waiter->rank; r++) {
        alone = alone && bound->rank[bound->order[r]].n == 0;
    }
    if (alone && surely_admits(bound, waiter, &allowance)) {
        return true;
    }
    if (bound->steps_at != bound->now) {
        bound->steps_at = bound->now;
        bound->steps = 0;
    }
    if (is_rejected(bound, waiter) ||
        (bound->steps > 0 && bound->steps + bound->n_waiting > STEPS_MAX)) {
        return false;
    }
    return layout_admits(bound, waiter, &allowance);
}
