/* The same pods under FIFO, virtually: W is the longest wait it shows. A pod's run time is known
 * when it has really ended, and an estimate until then; so the schedule is made anew when enough is
 * news, from behind what no news can change. */
#include "bound_internal.h"

#include <stdlib.h>

#define NO_ENTRY UINT32_MAX

/* How much of the past a replay lets go: what no news can change; also pods that began under FIFO
 * and still run, taking their estimates for their run times; also pods that are over in fact and
 * that FIFO has yet to begin. */
enum thrift { KEEP, SPARE, STARVE };

enum { NEWS_SHARE = 64, SPARE_FROM = 1024 };

static struct sl_bound_pod spec_of(const struct sl_entry *entry)
{
    return (struct sl_bound_pod){.id = entry->id,
                                 .width = entry->width,
                                 .submit_us = entry->submit_us,
                                 .timeout_us = entry->timeout_us,
                                 .priority = entry->priority};
}

static int64_t run_of(const struct sl_bound *bound, const struct sl_entry *entry)
{
    if (entry->run_us >= 0) {
        return entry->run_us;
    }
    const int64_t estimate = sl_learn_estimate(&bound->learn, entry->timeout_us);
    const struct sl_bound_waiter *w = entry->waiter;
    if (w == NULL || !w->running || bound->now - w->started_us < estimate) {
        return estimate;
    }
    return bound->now - w->started_us;
}

/* What of a wait passed before arrive() was stretched by up to c itself. */
static int64_t wait_of(const struct sl_bound *bound, const struct sl_entry *entry, int64_t start)
{
    const int64_t before =
        entry->arrived_us > entry->submit_us ? entry->arrived_us - entry->submit_us : 0;
    const int64_t after = start > entry->arrived_us ? start - entry->arrived_us : 0;
    return after + before / bound->config.c_permille * 1000 +
           before % bound->config.c_permille * 1000 / bound->config.c_permille;
}

/* Where pods can start from last on, what was free earlier is one. */
static void merge_free(struct sl_units *units, int64_t last)
{
    int64_t count = 0;
    while (units->n > 0 && units->group[0].at <= last) {
        const int64_t some = units->group[0].units;
        (void)sl_units_take(units, some, last);
        count += some;
    }
    if (count > 0) {
        sl_units_add(units, last, count);
    }
}

static int64_t begin(const struct sl_bound *bound, struct sl_units *units, int64_t *last,
                     const struct sl_entry *entry)
{
    const int64_t width = entry->width < bound->capacity ? entry->width : bound->capacity;
    if (width <= 0) {
        return entry->arrived_us;
    }
    if (entry->adopted) {
        (void)sl_units_take(units, width, 0);
        sl_units_add(units, entry->arrived_us + entry->used_us, width);
        return entry->arrived_us;
    }
    const int64_t from = entry->arrived_us > *last ? entry->arrived_us : *last;
    *last = sl_units_take(units, width, from);
    sl_units_add(units, *last + entry->used_us, width);
    return *last;
}

static void show(int64_t *longest_us, int64_t wait_us)
{
    *longest_us = wait_us > *longest_us ? wait_us : *longest_us;
}

static bool goes(const struct sl_bound *bound, const struct sl_entry *entry)
{
    return !entry->withdrawn && (entry->adopted || sl_bound_fits_lane(bound, entry->width));
}

static bool first_of(const struct sl_fifo *fifo, uint32_t a, uint32_t b)
{
    const struct sl_entry *x = &fifo->entry[a];
    const struct sl_entry *y = &fifo->entry[b];
    if (x->adopted != y->adopted) {
        return x->adopted;
    }
    if (x->priority != y->priority) {
        return x->priority > y->priority;
    }
    return x->submit_us != y->submit_us ? x->submit_us < y->submit_us : x->id < y->id;
}

static void push(struct sl_fifo *fifo, size_t *n, uint32_t index)
{
    size_t i = (*n)++;
    while (i > 0 && first_of(fifo, index, fifo->queue[(i - 1) / 2])) {
        fifo->queue[i] = fifo->queue[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    fifo->queue[i] = index;
}

static uint32_t pop(struct sl_fifo *fifo, size_t *n)
{
    const uint32_t first = fifo->queue[0];
    const uint32_t index = fifo->queue[--*n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= *n) {
            break;
        }
        if (child + 1 < *n && first_of(fifo, fifo->queue[child + 1], fifo->queue[child])) {
            child++;
        }
        if (first_of(fifo, index, fifo->queue[child])) {
            break;
        }
        fifo->queue[i] = fifo->queue[child];
        i = child;
    }
    fifo->queue[i] = index;
    return first;
}

/* Starts one entry in the new schedule, and for good while all before it were for good. */
static void start_entry(struct sl_bound *bound, uint32_t index, enum thrift thrift, bool *settling)
{
    struct sl_fifo *fifo = &bound->fifo;
    struct sl_entry *entry = &fifo->entry[index];
    struct sl_rank *rank = &bound->rank[entry->rank];
    entry->used_us = run_of(bound, entry);
    const int64_t start = begin(bound, &fifo->units, &fifo->last_us, entry);
    const int64_t wait = wait_of(bound, entry, start);
    const bool over = entry->waiter == NULL;
    const bool began = start <= bound->now;
    show(&rank->longest_us, wait);
    fifo->tail = spec_of(entry);
    if (thrift == STARVE) {
        *settling = over || began;
    } else {
        *settling = *settling && began && (over || thrift == SPARE);
    }
    if (*settling) {
        (void)begin(bound, &fifo->settled, &fifo->settled_last_us, entry);
        show(&rank->settled_us, wait);
        entry->settled = true;
    }
}

static void drop_settled(struct sl_fifo *fifo)
{
    size_t n = 0;
    fifo->known = 0;
    for (size_t i = 0; i < fifo->n; i++) {
        struct sl_entry *entry = &fifo->entry[i];
        const bool gone = entry->settled || entry->withdrawn;
        if (entry->waiter != NULL) {
            entry->waiter->entry = gone ? NO_ENTRY : (uint32_t)n;
        }
        if (!gone) {
            fifo->known += entry->waiter == NULL ? 1 : 0;
            fifo->entry[n++] = *entry;
        }
    }
    fifo->n = n;
    fifo->kept = fifo->known;
}

static void replay(struct sl_bound *bound, enum thrift thrift)
{
    struct sl_fifo *fifo = &bound->fifo;
    size_t waiting = 0;
    size_t next = 0;
    bool settling = true;
    merge_free(&fifo->settled, fifo->settled_last_us);
    sl_units_copy(&fifo->units, &fifo->settled);
    fifo->last_us = fifo->settled_last_us;
    for (unsigned i = 0; i < bound->n_ranks; i++) {
        bound->rank[i].longest_us = bound->rank[i].settled_us;
    }
    while (next < fifo->n || waiting > 0) {
        /* Who has come until something is free takes part. */
        int64_t until = fifo->last_us;
        if (fifo->units.n > 0 && fifo->units.group[0].at > until) {
            until = fifo->units.group[0].at;
        }
        while (next < fifo->n && (waiting == 0 || fifo->entry[next].arrived_us <= until)) {
            if (goes(bound, &fifo->entry[next])) {
                const int64_t arrived = fifo->entry[next].arrived_us;
                until = arrived > until ? arrived : until;
                push(fifo, &waiting, (uint32_t)next);
            }
            next++;
        }
        if (waiting > 0) {
            start_entry(bound, pop(fifo, &waiting), thrift, &settling);
        }
    }
    drop_settled(fifo);
    fifo->news = 0;
    fifo->version = bound->learn.version;
    fifo->sorted_stale = true;
}

static int reserve(struct sl_fifo *fifo, size_t n)
{
    const size_t groups = n + fifo->units.n + fifo->settled.n + 4;
    if (sl_units_reserve(&fifo->units, groups) != 0 ||
        sl_units_reserve(&fifo->settled, groups) != 0 ||
        sl_units_reserve(&fifo->sorted, groups) != 0) {
        return -1;
    }
    if (n <= fifo->cap) {
        return 0;
    }
    const size_t cap = fifo->cap == 0 ? 32 : fifo->cap * 2;
    struct sl_entry *entry = realloc(fifo->entry, cap * sizeof(*entry));
    if (entry == NULL) {
        return -1;
    }
    fifo->entry = entry;
    uint32_t *queue = realloc(fifo->queue, cap * sizeof(*queue));
    if (queue == NULL) {
        return -1;
    }
    fifo->queue = queue;
    fifo->cap = cap;
    return 0;
}

/* A pod that runs for weeks would keep all that came after it. */
static void bound_memory(struct sl_bound *bound)
{
    struct sl_fifo *fifo = &bound->fifo;
    const size_t alive = bound->n_waiting + bound->n_running;
    if (fifo->n < SPARE_FROM || fifo->n < fifo->spare_at) {
        return;
    }
    replay(bound, fifo->n < (size_t)4 * bound->config.pods_max ? SPARE : STARVE);
    fifo->spare_at = 2 * (fifo->n > alive ? fifo->n : alive);
}

int sl_fifo_arrive(struct sl_bound *bound, struct sl_bound_waiter *waiter, bool adopted)
{
    struct sl_fifo *fifo = &bound->fifo;
    bound_memory(bound);
    merge_free(&fifo->units, fifo->last_us < bound->now ? fifo->last_us : bound->now);
    if (reserve(fifo, fifo->n + 1) != 0) {
        return -1;
    }
    struct sl_entry *entry = &fifo->entry[fifo->n];
    *entry = (struct sl_entry){.waiter = waiter,
                               .submit_us = waiter->spec.submit_us,
                               .arrived_us = adopted ? waiter->started_us : bound->now,
                               .timeout_us = waiter->spec.timeout_us,
                               .run_us = -1,
                               .width = waiter->spec.width,
                               .id = waiter->spec.id,
                               .priority = waiter->spec.priority,
                               .rank = waiter->rank,
                               .adopted = adopted};
    entry->used_us = run_of(bound, entry);
    waiter->entry = (uint32_t)fifo->n++;
    if (!goes(bound, entry)) {
        return 0;
    }
    if (fifo->last_us > bound->now && sl_bound_compare(&waiter->spec, &fifo->tail) < 0) {
        fifo->news = fifo->n; /* it goes in before others */
        return 0;
    }
    const int64_t start = begin(bound, &fifo->units, &fifo->last_us, entry);
    show(&bound->rank[waiter->rank].longest_us, wait_of(bound, entry, start));
    fifo->tail = adopted ? fifo->tail : waiter->spec;
    fifo->sorted_stale = true;
    return 0;
}

void sl_fifo_over(struct sl_bound *bound, struct sl_bound_waiter *waiter, int64_t run_us,
                  bool withdrawn)
{
    struct sl_fifo *fifo = &bound->fifo;
    if (waiter->entry == NO_ENTRY) {
        return;
    }
    struct sl_entry *entry = &fifo->entry[waiter->entry];
    entry->waiter = NULL;
    entry->run_us = run_us;
    entry->withdrawn = withdrawn;
    fifo->known++;
    fifo->news += withdrawn || run_us != entry->used_us ? 1 : 0;
}

int sl_fifo_capacity(struct sl_bound *bound, int64_t before, int64_t after)
{
    struct sl_fifo *fifo = &bound->fifo;
    if (reserve(fifo, fifo->n) != 0) {
        return -1;
    }
    if (after > before) {
        sl_units_add(&fifo->units, bound->now, after - before);
        sl_units_add(&fifo->settled, bound->now, after - before);
    } else {
        (void)sl_units_take(&fifo->units, before - after, 0);
        (void)sl_units_take(&fifo->settled, before - after, 0);
    }
    fifo->news = fifo->n;
    fifo->sorted_stale = true;
    return 0;
}

void sl_fifo_refresh(struct sl_bound *bound)
{
    struct sl_fifo *fifo = &bound->fifo;
    const size_t news = fifo->news + (fifo->version != bound->learn.version ? 1 : 0);
    const size_t known = fifo->known - fifo->kept;
    if ((news > 0 && news * NEWS_SHARE >= fifo->n) || known > fifo->n / 2 + NEWS_SHARE) {
        replay(bound, KEEP);
    }
}

void sl_fifo_free(struct sl_fifo *fifo)
{
    free(fifo->entry);
    free(fifo->queue);
    free(fifo->units.group);
    free(fifo->settled.group);
    free(fifo->sorted.group);
}
