/* A lane of several widths whose nodes are known: the virtual FIFO and the layouts are played on
 * the nodes, with EASY backfill. */
#include "bound_internal.h"

#include <stdlib.h>

#include "util/sat.h"

enum {
    CREDIT = 64,      /* steps of looking ahead that each event pays for */
    CREDIT_MIN = 256, /* a look ahead that takes no more is free */
    CREDIT_MAX = 1 << 15,
};

static struct sl_turn turn_of(const struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    return (struct sl_turn){
        .waiter = waiter,
        .serial = waiter->serial,
        .id = waiter->spec.id,
        .width = waiter->spec.width,
        .run_us = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us),
        .submit_us = waiter->spec.submit_us,
        .priority = waiter->spec.priority,
        .rank = waiter->rank,
    };
}

static void take_bins(struct sl_yard *to, const struct sl_yard *from)
{
    memcpy(to->bin, from->bin, from->n_bins * sizeof(*from->bin));
    to->n_bins = from->n_bins;
}

/* As it is in fact: who runs, and who waits. */
static void set_up(struct sl_bound *bound, struct sl_yard *yard,
                   const struct sl_bound_waiter *without)
{
    sl_yard_clear(yard, bound->now);
    bound->due_us = INT64_MAX;
    for (size_t i = 0; i < bound->n_running; i++) {
        const struct sl_bound_waiter *w = bound->running[i];
        const int64_t rest =
            sl_learn_rest(&bound->learn, w->spec.timeout_us, bound->now - w->started_us);
        const struct sl_lease lease = {.start = w->started_us,
                                       .end = bound->now + rest,
                                       .width = w->spec.width,
                                       .serial = w->serial};
        sl_yard_seat(yard, &lease, w->node);
        const int64_t out_us = w->started_us + w->spec.timeout_us;
        const int64_t due_us = out_us < bound->now ? bound->now + rest : out_us;
        bound->due_us = due_us < bound->due_us ? due_us : bound->due_us;
    }
    sl_yard_seated(yard);
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            if (rank->slot[i] != NULL && rank->slot[i] != without) {
                const struct sl_turn turn = turn_of(bound, rank->slot[i]);
                sl_yard_push(yard, &turn);
            }
        }
    }
}

/* One more pod at the end, as wide as any and so long that it fits in no gap: stands for those to
 * come. */
static void push_last(const struct sl_bound *bound, struct sl_yard *yard)
{
    const struct sl_turn last = {.id = UINT64_MAX,
                                 .width = bound->mixed.widest < yard->largest ? bound->mixed.widest
                                                                              : yard->largest,
                                 .run_us = SL_BOUND_TIMEOUT_MAX_US,
                                 .submit_us = INT64_MAX,
                                 .priority = INT32_MIN};
    sl_yard_push(yard, &last);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

int sl_mixed_reserve(struct sl_bound *bound)
{
    struct sl_mixed *mixed = &bound->mixed;
    if (!mixed->active) {
        return 0;
    }
    const size_t waiting = mixed->fifo.used - mixed->fifo.first;
    /* whoever runs may come back to wait: a claim lapses */
    const size_t turns = most(waiting, bound->n_waiting + bound->n_running) + 4;
    const size_t leases =
        most(mixed->fifo.n_leases + waiting, bound->n_running + bound->n_waiting) + 4;
    if (sl_yard_reserve(&mixed->fifo, mixed->fifo.n_bins, leases, turns) != 0) {
        return -1;
    }
    return sl_yard_reserve(&mixed->trial, mixed->fifo.n_bins, leases,
                           most(turns, mixed->fifo.size));
}

int sl_mixed_begin(struct sl_bound *bound, int64_t width)
{
    struct sl_mixed *mixed = &bound->mixed;
    if (mixed->width == 0) {
        mixed->width = width;
    }
    mixed->widest = width > mixed->widest ? width : mixed->widest;
    if (width != mixed->width) {
        mixed->width = -1;
    }
    if (mixed->active || mixed->width > 0 || mixed->fifo.n_bins == 0) {
        return 0;
    }
    mixed->active = true;
    if (sl_mixed_reserve(bound) != 0) {
        mixed->active = false;
        return -1;
    }
    set_up(bound, &mixed->fifo, NULL);
    return 0;
}

static void show(int64_t *longest_us, int64_t wait_us)
{
    *longest_us = wait_us > *longest_us ? wait_us : *longest_us;
}

static bool settle(void *context, const struct sl_turn *turn, int64_t at)
{
    struct sl_bound *bound = context;
    show(&bound->rank[turn->rank].settled_us, at - turn->submit_us);
    show(&bound->rank[turn->rank].longest_us, at - turn->submit_us);
    return true;
}

static bool foresee(void *context, const struct sl_turn *turn, int64_t at)
{
    struct sl_bound *bound = context;
    if (turn->serial == 0) {
        bound->mixed.last_fifo_us = at;
        return true;
    }
    show(&bound->rank[turn->rank].longest_us, at - turn->submit_us);
    return true;
}

static bool lay(void *context, const struct sl_turn *turn, int64_t at)
{
    struct sl_bound *bound = context;
    if (turn->serial == 0) {
        bound->mixed.last_laid_us = at;
        return true;
    }
    turn->waiter->laid_us = at;
    turn->waiter->layout = bound->mixed.layout;
    return true;
}

static void catch_up(struct sl_bound *bound)
{
    const struct sl_yard_watch watch = {settle, bound};
    sl_yard_play(&bound->mixed.fifo, bound->now, &watch);
    bound->mixed.credit += bound->mixed.credit < CREDIT_MAX ? CREDIT : 0;
}

void sl_mixed_arrive(struct sl_bound *bound, struct sl_bound_waiter *waiter, bool adopted)
{
    const struct sl_turn turn = turn_of(bound, waiter);
    catch_up(bound);
    if (adopted) {
        const struct sl_lease lease = {.start = waiter->started_us,
                                       .end = waiter->started_us + turn.run_us,
                                       .width = turn.width,
                                       .serial = turn.serial};
        (void)sl_yard_run(&bound->mixed.fifo, &lease, waiter->node);
    } else {
        sl_yard_push(&bound->mixed.fifo, &turn);
    }
}

void sl_mixed_over(struct sl_bound *bound, const struct sl_bound_waiter *waiter, int64_t run_us,
                   bool withdrawn)
{
    if (!bound->mixed.active) {
        return;
    }
    const struct sl_turn turn = {.serial = waiter->serial,
                                 .id = waiter->spec.id,
                                 .submit_us = waiter->spec.submit_us,
                                 .priority = waiter->spec.priority};
    catch_up(bound);
    if (withdrawn) {
        sl_yard_withdraw(&bound->mixed.fifo, &turn);
    } else if (run_us != sl_learn_estimate(&bound->learn, waiter->spec.timeout_us)) {
        sl_yard_known(&bound->mixed.fifo, &turn, run_us);
    }
}

void sl_mixed_started(struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    if (bound->mixed.active &&
        (waiter->layout != bound->mixed.layout || waiter->laid_us > bound->now)) {
        bound->mixed.put_in +=
            (sl_work)waiter->spec.width * sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
    }
}

void sl_mixed_look_ahead(struct sl_bound *bound)
{
    struct sl_mixed *mixed = &bound->mixed;
    const struct sl_yard_watch watch = {foresee, bound};
    mixed->looked = bound->state;
    mixed->looks++;
    catch_up(bound);
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        bound->rank[r].longest_us = bound->rank[r].settled_us;
    }
    sl_yard_copy(&mixed->trial, &mixed->fifo);
    push_last(bound, &mixed->trial);
    sl_yard_play(&mixed->trial, INT64_MAX, &watch);
}

/* What everybody who waits has to spare. */
static void lay_out(struct sl_bound *bound)
{
    struct sl_mixed *mixed = &bound->mixed;
    const struct sl_yard_watch watch = {lay, bound};
    mixed->layout++;
    mixed->state = bound->state;
    mixed->put_in = 0;
    take_bins(&mixed->trial, &mixed->fifo);
    set_up(bound, &mixed->trial, NULL);
    push_last(bound, &mixed->trial);
    sl_yard_play(&mixed->trial, INT64_MAX, &watch);
    int64_t least = INT64_MAX;
    mixed->lag_us = INT64_MAX;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        struct sl_allowance allowance;
        sl_bound_allowance(bound, bound->order[r], &allowance);
        mixed->wait_us[bound->order[r]] = allowance.wait_us;
        mixed->lag_us = allowance.lag_us < mixed->lag_us ? allowance.lag_us : mixed->lag_us;
        for (size_t i = rank->first; i < rank->used; i++) {
            struct sl_bound_waiter *w = rank->slot[i];
            if (w == NULL || w->layout != mixed->layout) {
                continue;
            }
            w->before_us = least;
            w->spare_us = w->spec.submit_us + allowance.wait_us - w->laid_us;
            least = w->spare_us < least ? w->spare_us : least;
        }
        least = rank->n > 0 && least > 0 ? 0 : least; /* those below delay none of these */
    }
    const int64_t last = mixed->last_fifo_us + mixed->lag_us - mixed->last_laid_us;
    mixed->last_us = last;
    mixed->least_us = last < least ? last : least;
}

static int64_t spare_before(const struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    const struct sl_mixed *mixed = &bound->mixed;
    if (waiter->layout != mixed->layout) {
        return mixed->least_us;
    }
    return waiter->before_us < mixed->last_us ? waiter->before_us : mixed->last_us;
}

static bool keeps(void *context, const struct sl_turn *turn, int64_t at)
{
    struct sl_bound *bound = context;
    struct sl_mixed *mixed = &bound->mixed;
    const struct sl_bound_waiter *w = turn->waiter;
    if (turn->serial == 0) {
        mixed->kept =
            mixed->kept && (at <= mixed->last_laid_us || at <= mixed->last_fifo_us + mixed->lag_us);
        return mixed->kept;
    }
    const bool higher = w->spec.priority > mixed->tried->spec.priority;
    const bool lower = w->spec.priority < mixed->tried->spec.priority;
    const int64_t latest = w->spec.submit_us + mixed->wait_us[w->rank];
    const int64_t base = w->layout == mixed->layout ? w->laid_us : latest;
    if (!lower && at > base && (higher || at > latest)) {
        mixed->kept = false;
    }
    return mixed->kept;
}

/* Does everybody start in time when that one starts now? */
static bool try_out(struct sl_bound *bound, const struct sl_bound_waiter *waiter, uint64_t node)
{
    struct sl_mixed *mixed = &bound->mixed;
    const struct sl_yard_watch watch = {keeps, bound};
    const int64_t own = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
    const struct sl_lease lease = {.start = bound->now,
                                   .end = bound->now + own,
                                   .width = waiter->spec.width,
                                   .serial = waiter->serial};
    take_bins(&mixed->trial, &mixed->fifo);
    set_up(bound, &mixed->trial, waiter);
    push_last(bound, &mixed->trial);
    mixed->tried = waiter;
    mixed->kept = sl_yard_run(&mixed->trial, &lease, node);
    if (mixed->kept) {
        sl_yard_play(&mixed->trial, INT64_MAX, &watch);
    }
    return mixed->kept;
}

/* Steps that one look ahead takes; false when there is no credit for it. */
static bool may_look(struct sl_bound *bound)
{
    struct sl_mixed *mixed = &bound->mixed;
    const size_t cost = bound->n_waiting + bound->n_running;
    if (cost > mixed->credit && cost > CREDIT_MIN) {
        return false;
    }
    mixed->credit = mixed->credit > cost ? mixed->credit - cost : 0;
    return true;
}

static bool was_refused(struct sl_mixed *mixed, const struct sl_bound *bound, int64_t own,
                        int64_t width, uint64_t node)
{
    if (mixed->answered_state != bound->state) {
        mixed->answered_state = bound->state;
        mixed->n_answered = 0;
    }
    for (size_t i = 0; i < mixed->n_answered; i++) {
        if (own >= mixed->answered[i].run_us && width >= mixed->answered[i].width &&
            mixed->answered[i].node == node) {
            return true;
        }
    }
    return false;
}

bool sl_mixed_admits(struct sl_bound *bound, const struct sl_bound_waiter *waiter, uint64_t node)
{
    struct sl_mixed *mixed = &bound->mixed;
    const int64_t own = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
    const int64_t capacity = bound->capacity > 0 ? bound->capacity : 1;
    mixed->asked_us = own + (int64_t)(mixed->put_in / capacity);
    mixed->sure = true;
    if (mixed->layout > 0 && mixed->asked_us <= spare_before(bound, waiter)) {
        return true;
    }
    if (mixed->state != bound->state) {
        if (!may_look(bound)) {
            mixed->sure = false;
            return false;
        }
        sl_mixed_look_ahead(bound);
        lay_out(bound);
        mixed->asked_us = own;
        if (own <= spare_before(bound, waiter)) {
            return true;
        }
    }
    if (was_refused(mixed, bound, own, waiter->spec.width, node)) {
        return false;
    }
    mixed->sure = may_look(bound);
    if (!mixed->sure) {
        return false;
    }
    if (try_out(bound, waiter, node)) {
        return true;
    }
    if (mixed->n_answered < SL_BOUND_REJECTS) {
        mixed->answered[mixed->n_answered++] =
            (struct sl_refusal){.run_us = own, .width = waiter->spec.width, .node = node};
    }
    return false;
}

bool sl_bound_is_mixed(const struct sl_bound *bound)
{
    return bound->mixed.active;
}

size_t sl_bound_urgent(const struct sl_bound *bound, uint64_t refused, uint64_t *ids, size_t max)
{
    const struct sl_mixed *mixed = &bound->mixed;
    const struct sl_bound_waiter *last =
        sl_map_get(&bound->pods, (const char *)&refused, sizeof(refused));
    size_t n = 0;
    size_t urgent = 0; /* up to the last of these */
    for (unsigned r = 0; last != NULL && r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        for (size_t i = rank->first; i < rank->used && n < max; i++) {
            const struct sl_bound_waiter *w = rank->slot[i];
            if (w == last) {
                return urgent;
            }
            const bool higher = w != NULL && w->spec.priority > last->spec.priority;
            if (w == NULL || w->layout != mixed->layout) {
                continue;
            }
            const bool spares = !higher && w->spare_us >= mixed->asked_us;
            if (!spares || w->laid_us <= bound->now) {
                ids[n++] = w->spec.id;
                urgent = spares ? urgent : n;
            }
        }
    }
    return urgent;
}

static int by_key(const void *a, const void *b)
{
    const struct sl_bin *x = a;
    const struct sl_bin *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->units > y->units) - (x->units < y->units);
}

/* What runs and waits virtually moves to the new nodes. */
static int change_nodes(struct sl_bound *bound, const struct sl_bound_node *node, size_t n)
{
    struct sl_mixed *mixed = &bound->mixed;
    struct sl_yard *fifo = &mixed->fifo;
    struct sl_yard *fresh = &mixed->trial;
    if (sl_yard_reserve(fresh, n, fifo->n_leases + 2, fifo->size) != 0 ||
        sl_yard_reserve(fifo, n, fresh->leases_cap, fresh->size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        fresh->bin[i] = (struct sl_bin){.key = node[i].key, .units = node[i].units};
    }
    fresh->n_bins = n;
    if (n > 1) {
        qsort(fresh->bin, n, sizeof(*fresh->bin), by_key);
    }
    sl_yard_clear(fresh, bound->now);
    for (size_t i = 0; i < fifo->n_leases; i++) {
        const struct sl_lease *lease = &fifo->lease[i];
        sl_yard_seat(fresh, lease, fifo->bin[lease->bin].key);
    }
    sl_yard_seated(fresh);
    for (size_t i = fifo->first; i < fifo->used; i++) {
        if (fifo->turn[i].width > 0) {
            sl_yard_push(fresh, &fifo->turn[i]);
        }
    }
    const struct sl_yard swap = *fifo;
    *fifo = *fresh;
    *fresh = swap;
    return 0;
}

int sl_bound_set_nodes(struct sl_bound *bound, const struct sl_bound_node *node, size_t n,
                       int64_t now_us, struct sl_error *err)
{
    int64_t units = 0;
    for (size_t i = 0; i < n; i++) {
        units = sl_sat_add(units, node[i].units);
    }
    if (sl_bound_set_capacity(bound, units, now_us, err) != 0) {
        return -1;
    }
    catch_up(bound);
    if (change_nodes(bound, node, n) != 0 ||
        (bound->mixed.width != 0 && sl_mixed_begin(bound, bound->mixed.width) != 0)) {
        return sl_error_nomem(err);
    }
    bound->state++;
    return 0;
}

void sl_mixed_free(struct sl_mixed *mixed)
{
    sl_yard_free(&mixed->fifo);
    sl_yard_free(&mixed->trial);
}
