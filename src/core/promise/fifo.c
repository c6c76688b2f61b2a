/* W is the longest wait that the virtual FIFO shows. A pod's run time is an estimate until the pod
 * has really ended. So the schedule is replayed when enough has changed, from behind the part that
 * no news can change. */
#include "core/promise/fifo.h"

#include <stdlib.h>

#include "core/promise/lane.h"
#include "util/data/heap.h"
#include "util/data/vec.h"

#define NO_ENTRY UINT32_MAX

/* The part of the past that a replay settles for good. */
enum thrift {
    KEEP,   /* entries that no news can change */
    SPARE,  /* also pods that began under FIFO and still run: estimates count as run times */
    STARVE, /* also pods that have really ended and that FIFO has yet to begin */
};

enum { NEWS_SHARE = 64, SPARE_FROM = 1024 };

static int64_t run_of(const struct sl_promise *promise, const struct sl_fifo_entry *entry)
{
    if (entry->run_us >= 0) {
        return entry->run_us;
    }
    const int64_t estimate_us = sl_learn_estimate(&promise->learn, entry->pod.timeout_us);
    const struct sl_promise_member *w = entry->member;
    if (w == NULL || !w->running || promise->now_us - w->started_us < estimate_us) {
        return estimate_us;
    }
    return promise->now_us - w->started_us;
}

/* Returns an entry's wait. The part before the lane knew the pod may be stretched by c, and is
 * divided by it. */
static int64_t wait_of(const struct sl_promise *promise, const struct sl_fifo_entry *entry,
                       int64_t start_us)
{
    const int64_t before_us =
        entry->arrived_us > entry->pod.submit_us ? entry->arrived_us - entry->pod.submit_us : 0;
    const int64_t after_us = start_us > entry->arrived_us ? start_us - entry->arrived_us : 0;
    return after_us + sl_promise_unstretch(promise, before_us);
}

/* Units free before the last start are interchangeable: merges them. */
static void merge_free(struct sl_supply *units, int64_t last_us)
{
    int64_t count = 0;
    while (units->n > 0 && units->group[0].at_us <= last_us) {
        const int64_t some = units->group[0].units;
        sl_supply_drop(units, some);
        count += some;
    }
    if (count > 0) {
        sl_supply_add(units, last_us, count);
    }
}

static int64_t begin_entry(const struct sl_promise *promise, struct sl_supply *units, int64_t *last,
                           const struct sl_fifo_entry *entry)
{
    const int64_t width =
        entry->pod.width < promise->capacity ? entry->pod.width : promise->capacity;
    if (width <= 0) {
        return entry->arrived_us;
    }
    if (entry->adopted) {
        sl_supply_drop(units, width);
        sl_supply_add(units, entry->arrived_us + entry->used_us, width);
        return entry->arrived_us;
    }
    const int64_t from = entry->arrived_us > *last ? entry->arrived_us : *last;
    *last = sl_supply_take(units, width, from);
    sl_supply_add(units, *last + entry->used_us, width);
    return *last;
}

static void show_wait(int64_t *longest_us, int64_t wait_us)
{
    *longest_us = wait_us > *longest_us ? wait_us : *longest_us;
}

static bool goes(const struct sl_promise *promise, const struct sl_fifo_entry *entry)
{
    return !entry->withdrawn && (entry->adopted || sl_promise_fits_lane(promise, entry->pod.width));
}

static bool is_before(const void *a, const void *b, const void *context)
{
    const struct sl_fifo *fifo = context;
    const uint32_t *x = a;
    const uint32_t *y = b;
    const struct sl_fifo_entry *first = &fifo->entry[*x];
    const struct sl_fifo_entry *second = &fifo->entry[*y];
    if (first->adopted != second->adopted) {
        return first->adopted;
    }
    return sl_lane_compare(&first->pod, &second->pod) < 0;
}

static struct sl_heap_rule queue_rule(const struct sl_fifo *fifo)
{
    return (struct sl_heap_rule){sizeof(*fifo->queue), is_before, NULL, fifo};
}

static void push_entry(struct sl_fifo *fifo, size_t *n, uint32_t index)
{
    const struct sl_heap_rule rule = queue_rule(fifo);
    fifo->queue[(*n)++] = index;
    sl_heap_fix(&rule, fifo->queue, *n, *n - 1);
}

static uint32_t pop_entry(struct sl_fifo *fifo, size_t *n)
{
    const struct sl_heap_rule rule = queue_rule(fifo);
    const uint32_t first = fifo->queue[0];
    fifo->queue[0] = fifo->queue[--*n];
    sl_heap_fix(&rule, fifo->queue, *n, 0);
    return first;
}

/* Starts one entry in the new schedule, and settles it if all entries before it are settled. */
static void start_entry(struct sl_promise *promise, uint32_t index, enum thrift thrift,
                        bool *settling)
{
    struct sl_fifo *fifo = &promise->fifo;
    struct sl_fifo_entry *entry = &fifo->entry[index];
    struct sl_promise_rank *rank = &promise->rank[entry->rank];
    entry->used_us = run_of(promise, entry);
    const int64_t start = begin_entry(promise, &fifo->units, &fifo->last_us, entry);
    const int64_t wait = wait_of(promise, entry, start);
    const bool over = entry->member == NULL;
    const bool began = start <= promise->now_us;
    show_wait(&rank->longest_us, wait);
    fifo->tail = entry->pod;
    if (thrift == STARVE) {
        *settling = over || began;
    } else {
        *settling = *settling && began && (over || thrift == SPARE);
    }
    if (*settling) {
        (void)begin_entry(promise, &fifo->settled, &fifo->settled_last_us, entry);
        show_wait(&rank->settled_us, wait);
        entry->settled = true;
    }
}

static void drop_settled(struct sl_fifo *fifo)
{
    size_t n = 0;
    fifo->known = 0;
    for (size_t i = 0; i < fifo->n; i++) {
        struct sl_fifo_entry *entry = &fifo->entry[i];
        const bool gone = entry->settled || entry->withdrawn;
        if (entry->member != NULL) {
            entry->member->entry = gone ? NO_ENTRY : (uint32_t)n;
        }
        if (!gone) {
            fifo->known += entry->member == NULL ? 1 : 0;
            fifo->entry[n++] = *entry;
        }
    }
    fifo->n = n;
    fifo->kept = fifo->known;
}

static void replay_entries(struct sl_promise *promise, enum thrift thrift)
{
    struct sl_fifo *fifo = &promise->fifo;
    size_t waiting = 0;
    size_t next = 0;
    bool settling = true;
    merge_free(&fifo->settled, fifo->settled_last_us);
    sl_supply_copy(&fifo->units, &fifo->settled);
    fifo->last_us = fifo->settled_last_us;
    for (unsigned i = 0; i < promise->n_ranks; i++) {
        promise->rank[i].longest_us = promise->rank[i].settled_us;
    }
    while (next < fifo->n || waiting > 0) {
        int64_t until = fifo->last_us; /* pods compete which have arrived when units come free */
        if (fifo->units.n > 0 && fifo->units.group[0].at_us > until) {
            until = fifo->units.group[0].at_us;
        }
        while (next < fifo->n && (waiting == 0 || fifo->entry[next].arrived_us <= until)) {
            if (goes(promise, &fifo->entry[next])) {
                const int64_t arrived = fifo->entry[next].arrived_us;
                until = arrived > until ? arrived : until;
                push_entry(fifo, &waiting, (uint32_t)next);
            }
            next++;
        }
        if (waiting > 0) {
            start_entry(promise, pop_entry(fifo, &waiting), thrift, &settling);
        }
    }
    drop_settled(fifo);
    fifo->news = 0;
    fifo->version = promise->learn.version;
    fifo->sorted_stale = true;
}

static int reserve_entries(struct sl_fifo *fifo, size_t n)
{
    const size_t groups = n + fifo->units.n + fifo->settled.n + 4;
    if (sl_supply_reserve(&fifo->units, groups) != 0 ||
        sl_supply_reserve(&fifo->settled, groups) != 0 ||
        sl_supply_reserve(&fifo->sorted, groups) != 0) {
        return -1;
    }
    if (sl_vec_reserve(&fifo->entry, &fifo->cap, n, sizeof(*fifo->entry)) != 0) {
        return -1;
    }
    return sl_vec_reserve(&fifo->queue, &fifo->queue_cap, n, sizeof(*fifo->queue));
}

/* Bounds the entries kept, as a pod which runs for weeks would otherwise keep all later ones. */
static void bound_memory(struct sl_promise *promise)
{
    struct sl_fifo *fifo = &promise->fifo;
    const size_t alive = promise->n_waiting + promise->n_running;
    if (fifo->n < SPARE_FROM || fifo->n < fifo->spare_at) {
        return;
    }
    replay_entries(promise, fifo->n < (size_t)4 * promise->config.pods_max ? SPARE : STARVE);
    fifo->spare_at = 2 * (fifo->n > alive ? fifo->n : alive);
}

int sl_fifo_arrive(struct sl_promise *promise, struct sl_promise_member *member, bool adopted)
{
    struct sl_fifo *fifo = &promise->fifo;
    bound_memory(promise);
    merge_free(&fifo->units, fifo->last_us < promise->now_us ? fifo->last_us : promise->now_us);
    if (reserve_entries(fifo, fifo->n + 1) != 0) {
        return -1;
    }
    struct sl_fifo_entry *entry = &fifo->entry[fifo->n];
    *entry = (struct sl_fifo_entry){.member = member,
                                    .pod = member->pod,
                                    .arrived_us = adopted ? member->started_us : promise->now_us,
                                    .run_us = -1,
                                    .rank = member->rank,
                                    .adopted = adopted};
    entry->used_us = run_of(promise, entry);
    member->entry = (uint32_t)fifo->n++;
    if (!goes(promise, entry)) {
        return 0;
    }
    if (fifo->last_us > promise->now_us && sl_lane_compare(&member->pod, &fifo->tail) < 0) {
        fifo->news = fifo->n; /* it goes before scheduled pods */
        return 0;
    }
    const int64_t start = begin_entry(promise, &fifo->units, &fifo->last_us, entry);
    show_wait(&promise->rank[member->rank].longest_us, wait_of(promise, entry, start));
    fifo->tail = adopted ? fifo->tail : member->pod;
    fifo->sorted_stale = true;
    return 0;
}

void sl_fifo_over(struct sl_promise *promise, struct sl_promise_member *member, int64_t run_us,
                  bool withdrawn)
{
    struct sl_fifo *fifo = &promise->fifo;
    if (member->entry == NO_ENTRY) {
        return;
    }
    struct sl_fifo_entry *entry = &fifo->entry[member->entry];
    entry->member = NULL;
    entry->run_us = run_us;
    entry->withdrawn = withdrawn;
    fifo->known++;
    fifo->news += withdrawn || run_us != entry->used_us ? 1 : 0;
}

int sl_fifo_capacity(struct sl_promise *promise, int64_t before, int64_t after)
{
    struct sl_fifo *fifo = &promise->fifo;
    if (reserve_entries(fifo, fifo->n) != 0) {
        return -1;
    }
    if (after > before) {
        sl_supply_add(&fifo->units, promise->now_us, after - before);
        sl_supply_add(&fifo->settled, promise->now_us, after - before);
    } else {
        sl_supply_drop(&fifo->units, before - after);
        sl_supply_drop(&fifo->settled, before - after);
    }
    fifo->news = fifo->n;
    return 0;
}

void sl_fifo_refresh(struct sl_promise *promise)
{
    struct sl_fifo *fifo = &promise->fifo;
    const size_t news = fifo->news + (fifo->version != promise->learn.version ? 1 : 0);
    const size_t known = fifo->known - fifo->kept;
    if ((news > 0 && news * NEWS_SHARE >= fifo->n) || known > fifo->n / 2 + NEWS_SHARE) {
        replay_entries(promise, KEEP);
    }
}

const struct sl_supply *sl_fifo_sorted(struct sl_fifo *fifo)
{
    if (fifo->sorted_stale) {
        sl_supply_copy(&fifo->sorted, &fifo->units);
        sl_supply_sort(&fifo->sorted);
        fifo->sorted_stale = false;
    }
    return &fifo->sorted;
}

void sl_fifo_free(struct sl_fifo *fifo)
{
    free(fifo->entry);
    free(fifo->queue);
    sl_supply_free(&fifo->units);
    sl_supply_free(&fifo->settled);
    sl_supply_free(&fifo->sorted);
}
