/* The virtual FIFO and the layouts of a mixed lane. */
#include "core/promise/mixed.h"

#include "core/promise/lane.h"

enum {
    CREDIT = 64, /* steps of looking ahead that each event pays for */
    CREDIT_MAX = 1 << 15,
};

static struct sl_wait wait_of(const struct sl_promise *promise, struct sl_promise_member *member)
{
    return (struct sl_wait){
        .pod = member->pod,
        .run_us = sl_promise_estimate(promise, member),
        .serial = member->serial,
        .owner = member,
        .rank = member->rank,
    };
}

static void set_mix(const struct sl_promise *promise, struct sl_backfill *model)
{
    if (promise->mixed.keeps_sets) {
        sl_bins_set_mix(&model->bins, promise->mixed.pods);
    }
}

/* Sets the model up with the pods that really run and wait. */
static void set_up(struct sl_promise *promise, struct sl_backfill *trial)
{
    sl_backfill_clear(trial, promise->now_us);
    set_mix(promise, trial);
    promise->due_us = INT64_MAX;
    for (size_t i = 0; i < promise->n_running; i++) {
        const struct sl_promise_member *member = promise->running[i];
        const struct sl_run run = {.start_us = member->started_us,
                                   .end_us = promise->now_us + sl_promise_rest(promise, member),
                                   .width = member->pod.width,
                                   .serial = member->serial};
        sl_backfill_put(trial, &run, member->node);
    }
    sl_backfill_sort(trial);
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[promise->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            if (rank->slot[i] != NULL) {
                const struct sl_wait wait = wait_of(promise, rank->slot[i]);
                sl_backfill_push(trial, &wait);
            }
        }
    }
}

/* Adds one more pod at the end, which stands for pods to come: as wide as any, and so long that it
 * fits in no gap. */
static void push_last(const struct sl_promise *promise, struct sl_backfill *trial)
{
    const int64_t widest = promise->mixed.widest;
    const struct sl_wait last = {
        .pod = {.id = UINT64_MAX,
                .width = widest < trial->bins.largest ? widest : trial->bins.largest,
                .submit_us = INT64_MAX,
                .priority = INT32_MIN},
        .run_us = SL_PROMISE_TIMEOUT_MAX_US};
    sl_backfill_push(trial, &last);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

int sl_mixed_reserve(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    if (!mixed->active) {
        return 0;
    }
    const struct sl_waits *line = &mixed->fifo.waits;
    const size_t waiting = line->used - line->first;
    /* Running pods may wait again, when a nomination expires. */
    const size_t waits = most(waiting, promise->n_waiting + promise->n_running) + 4;
    const size_t runs =
        most(sl_backfill_runs(&mixed->fifo) + waiting, promise->n_running + promise->n_waiting) + 4;
    if (sl_backfill_reserve(&mixed->fifo, mixed->fifo.bins.n, runs, waits) != 0) {
        return -1;
    }
    return sl_backfill_reserve(&mixed->trial, mixed->fifo.bins.n, runs, most(waits, line->size));
}

/* Looks at every node: to be called when the nodes or the width are others than before. */
static void divide_nodes(struct sl_mixed *mixed)
{
    mixed->divided = sl_bins_are_divided_by(&mixed->fifo.bins, mixed->width);
}

int sl_mixed_begin(struct sl_promise *promise, int64_t width)
{
    struct sl_mixed *mixed = &promise->mixed;
    mixed->widest = width > mixed->widest ? width : mixed->widest;
    if (width != mixed->width) {
        mixed->width = mixed->width == 0 ? width : -1;
        divide_nodes(mixed);
    }
    if (mixed->active || mixed->fifo.bins.n == 0 || mixed->divided) {
        return 0;
    }
    mixed->active = true;
    if (sl_mixed_reserve(promise) != 0) {
        mixed->active = false;
        return -1;
    }
    set_up(promise, &mixed->fifo);
    return 0;
}

/* ---- the virtual FIFO ---- */

static void show_wait(int64_t *longest_us, int64_t wait_us)
{
    *longest_us = wait_us > *longest_us ? wait_us : *longest_us;
}

/* Counts a pod of that width among those by which nodes are chosen. */
static void count_width(struct sl_mixed *mixed, int64_t width, int by)
{
    if (width <= SL_BINS_LEVELS) {
        mixed->pods[width] += (uint32_t)by;
    }
}

static void count_started(struct sl_mixed *mixed, int64_t width)
{
    uint8_t *slot = &mixed->started[mixed->n_started % SL_MIXED_STARTED];
    if (mixed->n_started++ >= SL_MIXED_STARTED) {
        count_width(mixed, *slot, -1);
    }
    *slot = (uint8_t)(width <= SL_BINS_LEVELS ? width : SL_BINS_LEVELS + 1);
}

void sl_mixed_pass(struct sl_promise *promise, int64_t width)
{
    count_width(&promise->mixed, width, 1);
    count_started(&promise->mixed, width);
}

static bool note_settled(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct sl_promise *promise = context;
    struct sl_promise_rank *rank = &promise->rank[wait->rank];
    count_started(&promise->mixed, wait->pod.width);
    show_wait(&rank->settled_us, at_us - wait->pod.submit_us);
    show_wait(&rank->longest_us, at_us - wait->pod.submit_us);
    return true;
}

static bool note_foreseen(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct sl_promise *promise = context;
    if (wait->serial == 0) {
        promise->mixed.last_fifo_us = at_us;
    } else {
        show_wait(&promise->rank[wait->rank].longest_us, at_us - wait->pod.submit_us);
    }
    return true;
}

static void catch_up(struct sl_promise *promise)
{
    const struct sl_backfill_watch watch = {note_settled, promise};
    set_mix(promise, &promise->mixed.fifo);
    sl_backfill_play(&promise->mixed.fifo, promise->now_us, &watch);
    promise->mixed.credit += promise->mixed.credit < CREDIT_MAX ? CREDIT : 0;
}

void sl_mixed_arrive(struct sl_promise *promise, struct sl_promise_member *member, bool adopted)
{
    const struct sl_wait wait = wait_of(promise, member);
    catch_up(promise);
    if (adopted) {
        const struct sl_run run = {.start_us = member->started_us,
                                   .end_us = member->started_us + wait.run_us,
                                   .width = member->pod.width,
                                   .serial = member->serial};
        sl_mixed_pass(promise, member->pod.width);
        (void)sl_backfill_start(&promise->mixed.fifo, &run, member->node);
    } else {
        count_width(&promise->mixed, member->pod.width,
                    member->pod.width <= promise->mixed.fifo.bins.largest ? 1 : 0);
        sl_backfill_push(&promise->mixed.fifo, &wait);
    }
}

void sl_mixed_over(struct sl_promise *promise, const struct sl_promise_member *member,
                   int64_t run_us, bool withdrawn)
{
    if (!promise->mixed.active) {
        return;
    }
    const struct sl_wait wait = {.pod = member->pod, .serial = member->serial};
    promise->mixed.grown = true;
    catch_up(promise);
    if (withdrawn) {
        const struct sl_waits *line = &promise->mixed.fifo.waits;
        count_width(&promise->mixed, wait.pod.width,
                    sl_waits_find(line, &wait) < line->size ? -1 : 0);
        sl_backfill_withdraw(&promise->mixed.fifo, &wait);
    } else if (run_us != sl_promise_estimate(promise, member)) {
        sl_backfill_set_run(&promise->mixed.fifo, &wait, run_us);
    }
}

void sl_mixed_look_ahead(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_backfill_watch watch = {note_foreseen, promise};
    mixed->looked = promise->state;
    mixed->looks++;
    catch_up(promise);
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        promise->rank[r].longest_us = promise->rank[r].settled_us;
    }
    sl_backfill_copy(&mixed->trial, &mixed->fifo);
    push_last(promise, &mixed->trial);
    sl_backfill_play(&mixed->trial, INT64_MAX, &watch);
}

static int move_to_nodes(struct sl_mixed *mixed, const struct sl_promise_node *node, size_t n,
                         int64_t now_us)
{
    struct sl_backfill *fifo = &mixed->fifo;
    struct sl_backfill *fresh = &mixed->trial;
    if (sl_backfill_reserve(fresh, n, sl_backfill_runs(fifo) + 2, fifo->waits.size) != 0 ||
        sl_backfill_reserve(fifo, n, fresh->runs_cap, fresh->waits.size) != 0) {
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        fresh->bins.bin[i] =
            (struct sl_bin){.key = node[i].key, .units = node[i].units, .site = node[i].site};
    }
    fresh->bins.n = n;
    sl_bins_name(&fresh->bins);
    sl_backfill_clear(fresh, now_us);
    for (size_t i = fifo->n_runs; i > fifo->first_run; i--) { /* the last to end chooses first */
        const struct sl_run *run = &fifo->run[i - 1];
        sl_backfill_put(fresh, run, fifo->bins.bin[run->bin].key);
    }
    sl_backfill_sort(fresh);
    for (size_t i = fifo->waits.first; i < fifo->waits.used; i++) {
        const int64_t width = fifo->waits.wait[i].pod.width;
        if (width > 0) {
            count_width(mixed, width, width > fresh->bins.largest ? -1 : 0);
            sl_backfill_push(fresh, &fifo->waits.wait[i]);
        }
    }
    const struct sl_backfill swap = *fifo;
    *fifo = *fresh;
    *fresh = swap;
    sl_bins_copy(&fresh->bins, &fifo->bins);
    divide_nodes(mixed);
    mixed->grown = true;
    mixed->layout += 2; /* reserved starts name bins of before */
    return 0;
}

int sl_mixed_set_nodes(struct sl_promise *promise, const struct sl_promise_node *node, size_t n)
{
    struct sl_mixed *mixed = &promise->mixed;
    catch_up(promise);
    if (move_to_nodes(mixed, node, n, promise->now_us) != 0) {
        return -1;
    }
    return mixed->width != 0 ? sl_mixed_begin(promise, mixed->width) : 0;
}

void sl_mixed_free(struct sl_mixed *mixed)
{
    sl_backfill_free(&mixed->fifo);
    sl_backfill_free(&mixed->trial);
    sl_calendar_free(&mixed->calendar);
}
