/* The virtual FIFO and the layouts of a mixed lane. */
#include "core/promise/mixed.h"

#include "core/promise/allowance.h"
#include "core/promise/lane.h"

enum {
    CREDIT = 64,      /* steps of looking ahead that each event pays for */
    CREDIT_MIN = 256, /* a look ahead of at most so many steps is free */
    CREDIT_MAX = 1 << 15,
    SPARED_MAX = 512, /* idle units that can be played */
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

/* Sets the trial up with the pods that really run and wait. */
static void set_trial(struct sl_promise *promise, struct sl_backfill *trial,
                      const struct sl_promise_member *without)
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
            if (rank->slot[i] != NULL && rank->slot[i] != without) {
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
    set_trial(promise, &mixed->fifo, NULL);
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
        fresh->bins.bin[i] = (struct sl_bin){.key = node[i].key, .units = node[i].units};
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

/* ---- layouts ---- */

static bool note_laid(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct sl_promise *promise = context;
    struct sl_promise_member *member = wait->owner;
    if (wait->serial == 0) {
        promise->mixed.last_laid_us = at_us;
    } else {
        member->laid_us = at_us;
        member->layout = promise->mixed.layout;
    }
    return true;
}

/* Works out by how much each pod of the rank may start later than in the layout. Returns the least
 * of these and of least_us, which holds for the ranks above. */
static int64_t note_spare(struct sl_promise *promise, uint8_t index, int64_t least_us)
{
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_promise_rank *rank = &promise->rank[index];
    struct sl_allowance allowance;
    sl_promise_allowance(promise, index, &allowance);
    mixed->wait_us[index] = allowance.wait_us;
    mixed->lag_us = allowance.lag_us < mixed->lag_us ? allowance.lag_us : mixed->lag_us;
    for (size_t i = rank->first; i < rank->used; i++) {
        struct sl_promise_member *member = rank->slot[i];
        if (member != NULL && member->layout == mixed->layout) {
            member->before_us = least_us;
            member->spare_us = member->pod.submit_us + allowance.wait_us - member->laid_us;
            least_us = member->spare_us < least_us ? member->spare_us : least_us;
        }
    }
    return rank->n > 0 && least_us > 0 ? 0 : least_us; /* lower ranks delay no pod of this one */
}

static void lay_out(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_backfill_watch watch = {note_laid, promise};
    mixed->layout++;
    mixed->state = promise->state;
    mixed->put_in = 0;
    set_trial(promise, &mixed->trial, NULL);
    push_last(promise, &mixed->trial);
    sl_backfill_play(&mixed->trial, INT64_MAX, &watch);
    int64_t least_us = INT64_MAX;
    mixed->lag_us = INT64_MAX;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        least_us = note_spare(promise, promise->order[r], least_us);
    }
    mixed->last_us = mixed->last_fifo_us + mixed->lag_us - mixed->last_laid_us;
    mixed->least_us = mixed->last_us < least_us ? mixed->last_us : least_us;
}

static int64_t spare_before(const struct sl_promise *promise,
                            const struct sl_promise_member *member)
{
    const struct sl_mixed *mixed = &promise->mixed;
    if (member->layout != mixed->layout) {
        return mixed->least_us;
    }
    return member->before_us < mixed->last_us ? member->before_us : mixed->last_us;
}

void sl_mixed_started(struct sl_promise *promise, const struct sl_promise_member *member)
{
    struct sl_mixed *mixed = &promise->mixed;
    if (mixed->active && (member->layout != mixed->layout || member->laid_us > promise->now_us)) {
        mixed->put_in += (sl_work)member->pod.width * sl_promise_estimate(promise, member);
    }
}

/* ---- trials ---- */

static bool judge_start(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct sl_promise *promise = context;
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_promise_member *member = wait->owner;
    if (wait->serial == 0) {
        mixed->kept = mixed->kept && (at_us <= mixed->last_laid_us ||
                                      at_us <= mixed->last_fifo_us + mixed->lag_us);
        return mixed->kept;
    }
    const bool higher = member->pod.priority > mixed->tried->pod.priority;
    const bool lower = member->pod.priority < mixed->tried->pod.priority;
    const int64_t latest_us = member->pod.submit_us + mixed->wait_us[member->rank];
    const int64_t base_us = member->layout == mixed->layout ? member->laid_us : latest_us;
    const bool late = !lower && at_us > base_us && (higher || at_us > latest_us);
    mixed->kept = mixed->kept && !late;
    return mixed->kept;
}

/* True when all pods start in time if this one starts now. */
static bool try_out(struct sl_promise *promise, const struct sl_promise_member *member,
                    uint64_t node)
{
    struct sl_mixed *mixed = &promise->mixed;
    const struct sl_backfill_watch watch = {judge_start, promise};
    const struct sl_run run = {.start_us = promise->now_us,
                               .end_us = promise->now_us + sl_promise_estimate(promise, member),
                               .width = member->pod.width,
                               .serial = member->serial};
    set_trial(promise, &mixed->trial, member);
    push_last(promise, &mixed->trial);
    mixed->tried = member;
    mixed->kept = sl_backfill_start(&mixed->trial, &run, node);
    if (mixed->kept) {
        sl_backfill_play(&mixed->trial, INT64_MAX, &watch);
    }
    return mixed->kept;
}

/* Pays for one look ahead; false when the credit does not suffice. */
static bool may_look(struct sl_promise *promise)
{
    struct sl_mixed *mixed = &promise->mixed;
    const size_t cost = promise->n_waiting + promise->n_running;
    if (cost > mixed->credit && cost > CREDIT_MIN) {
        return false;
    }
    mixed->credit = mixed->credit > cost ? mixed->credit - cost : 0;
    return true;
}

static bool was_refused(struct sl_mixed *mixed, uint64_t state,
                        const struct sl_mixed_refusal *asked)
{
    if (mixed->answered_state != state) {
        mixed->answered_state = state;
        mixed->n_answered = 0;
    }
    for (size_t i = 0; i < mixed->n_answered; i++) {
        const struct sl_mixed_refusal *refusal = &mixed->answered[i];
        if (asked->run_us >= refusal->run_us && asked->width >= refusal->width &&
            asked->node == refusal->node) {
            return true;
        }
    }
    return false;
}

bool sl_mixed_admits(struct sl_promise *promise, const struct sl_promise_member *member,
                     uint64_t node)
{
    struct sl_mixed *mixed = &promise->mixed;
    const int64_t own_us = sl_promise_estimate(promise, member);
    const int64_t capacity = promise->capacity > 0 ? promise->capacity : 1;
    mixed->asked_us = own_us + (int64_t)(mixed->put_in / capacity);
    mixed->sure = true;
    if (mixed->layout > 0 && mixed->asked_us <= spare_before(promise, member)) {
        return true;
    }
    if (mixed->state != promise->state) {
        mixed->sure = may_look(promise);
        if (!mixed->sure) {
            return false;
        }
        sl_mixed_look_ahead(promise);
        lay_out(promise);
        mixed->asked_us = own_us;
        if (own_us <= spare_before(promise, member)) {
            return true;
        }
    }
    const struct sl_mixed_refusal asked = {own_us, member->pod.width, node};
    if (was_refused(mixed, promise->state, &asked)) {
        return false;
    }
    mixed->sure = may_look(promise);
    if (!mixed->sure) {
        return false;
    }
    if (try_out(promise, member, node)) {
        return true;
    }
    if (mixed->n_answered < SL_MIXED_REFUSALS) {
        mixed->answered[mixed->n_answered++] = asked;
    }
    return false;
}

static bool judge_spared(void *context, const struct sl_wait *wait, int64_t at_us)
{
    struct sl_mixed *mixed = &((struct sl_promise *)context)->mixed;
    const struct sl_promise_member *member = wait->owner;
    mixed->kept = at_us <= member->pod.submit_us + mixed->wait_us[member->rank] ||
                  (member->layout == mixed->layout && at_us <= member->laid_us);
    return mixed->kept;
}

bool sl_mixed_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n)
{
    struct sl_mixed *mixed = &promise->mixed;
    struct sl_backfill *trial = &mixed->trial;
    const struct sl_backfill_watch watch = {judge_spared, promise};
    size_t runs = promise->n_running + promise->n_waiting + 4;
    for (size_t i = 0; i < n; i++) {
        runs += idle[i].units > SPARED_MAX ? SPARED_MAX + 1 : (size_t)idle[i].units;
    }
    if (runs > promise->n_running + promise->n_waiting + 4 + SPARED_MAX || !may_look(promise)) {
        return false;
    }
    if (mixed->state != promise->state) {
        sl_mixed_look_ahead(promise);
        lay_out(promise);
    }
    if (sl_backfill_reserve(trial, mixed->fifo.bins.n, runs, runs) != 0) {
        return false;
    }
    set_trial(promise, trial, NULL);
    mixed->kept = true;
    for (size_t i = 0; i < n; i++) {
        const struct sl_run run = {
            .start_us = promise->now_us, .end_us = idle[i].until_us, .width = 1};
        for (int64_t unit = 0; unit < idle[i].units && mixed->kept; unit++) {
            mixed->kept = sl_backfill_start(trial, &run, idle[i].node);
        }
    }
    if (mixed->kept) {
        sl_backfill_play(trial, INT64_MAX, &watch);
    }
    return mixed->kept;
}

void sl_mixed_free(struct sl_mixed *mixed)
{
    sl_backfill_free(&mixed->fifo);
    sl_backfill_free(&mixed->trial);
}
