/* Bounded shortest job first: what happens in a lane, and who may go. */
#include "bound_internal.h"

#include <stdlib.h>

#include "sliced/ask.h"

enum { FORGET_ARRIVED = 256, US_PER_S = 1000000 };

/* Times are taken for no later, nor earlier below 0: no sum of waits then overflows. */
#define TIME_MAX_US (INT64_C(1) << 53)

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int sl_bound_compare(const struct sl_bound_pod *a, const struct sl_bound_pod *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    const int order = compare_i64(a->submit_us, b->submit_us);
    return order != 0 ? order : (a->id > b->id) - (a->id < b->id);
}

void sl_bound_defaults(struct sl_bound_config *config)
{
    *config = (struct sl_bound_config){.c_permille = SL_BOUND_C_DEFAULT,
                                       .pods_max = SL_BOUND_PODS_DEFAULT};
}

struct sl_bound *sl_bound_new(const struct sl_bound_config *config)
{
    struct sl_bound *bound = calloc(1, sizeof(*bound));
    if (bound == NULL) {
        return NULL;
    }
    bound->config = *config;
    bound->now = INT64_MIN;
    bound->due_us = INT64_MAX;
    bound->steps_at = INT64_MIN;
    bound->state = 1;
    bound->widest = 1;
    bound->fifo.settled_last_us = INT64_MIN;
    bound->fifo.last_us = INT64_MIN;
    return bound;
}

void sl_bound_free(struct sl_bound *bound)
{
    if (bound == NULL) {
        return;
    }
    size_t at = 0;
    for (void *pod = sl_map_next(&bound->pods, &at); pod != NULL;
         pod = sl_map_next(&bound->pods, &at)) {
        free(pod);
    }
    sl_map_free(&bound->pods);
    for (unsigned i = 0; i < SL_BOUND_RANKS; i++) {
        sl_rank_free(&bound->rank[i]);
    }
    sl_fifo_free(&bound->fifo);
    sl_mixed_free(&bound->mixed);
    free(bound->running);
    free(bound->units.group);
    free(bound->base.group);
    free(bound->scratch.group);
    free(bound);
}

static void set_now(struct sl_bound *bound, int64_t now_us)
{
    if (now_us > bound->now) {
        bound->now = now_us;
        bound->state++;
    }
}

static struct sl_bound_waiter *find(const struct sl_bound *bound, uint64_t id)
{
    return sl_map_get(&bound->pods, (const char *)&id, sizeof(id));
}

static struct sl_bound_waiter *find_as(const struct sl_bound *bound, uint64_t id, bool running,
                                       struct sl_error *err)
{
    struct sl_bound_waiter *waiter = find(bound, id);
    if (waiter == NULL || waiter->running != running) {
        (void)sl_error_set(err, SL_ERR_NOTFOUND, "no pod %llx %s", (unsigned long long)id,
                           running ? "runs" : "waits");
        return NULL;
    }
    return waiter;
}

int sl_bound_set_capacity(struct sl_bound *bound, int64_t units, int64_t now_us,
                          struct sl_error *err)
{
    set_now(bound, now_us);
    const int64_t wanted = units > 0 ? units : 0;
    if (wanted == bound->capacity) {
        return 0;
    }
    const int64_t before = bound->capacity;
    if (sl_fifo_capacity(bound, before, wanted) != 0) {
        return sl_error_nomem(err);
    }
    bound->capacity = wanted;
    bound->tree_stale = true;
    bound->state++;
    return 0;
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* A pod's record with room everywhere for one more. */
static struct sl_bound_waiter *admit(struct sl_bound *bound, const struct sl_bound_pod *pod,
                                     struct sl_error *err)
{
    if (pod->width <= 0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "pod %llx asks for no unit",
                           (unsigned long long)pod->id);
        return NULL;
    }
    if (find(bound, pod->id) != NULL) {
        (void)sl_error_set(err, SL_ERR_CONFLICT, "pod %llx is known already",
                           (unsigned long long)pod->id);
        return NULL;
    }
    if (bound->n_waiting + bound->n_running >= bound->config.pods_max) {
        (void)sl_error_set(err, SL_ERR_LIMIT, "more than %u pods", bound->config.pods_max);
        return NULL;
    }
    struct sl_bound_waiter *waiter = calloc(1, sizeof(*waiter));
    if (waiter == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    waiter->spec = *pod;
    waiter->spec.width = within(pod->width, 1, SL_UNITS_MAX);
    waiter->spec.submit_us = within(pod->submit_us, -TIME_MAX_US, TIME_MAX_US);
    if (waiter->spec.timeout_us <= 0) {
        waiter->spec.timeout_us = US_PER_S;
    }
    if (waiter->spec.timeout_us > SL_BOUND_TIMEOUT_MAX_US) {
        waiter->spec.timeout_us = SL_BOUND_TIMEOUT_MAX_US;
    }
    waiter->rank = sl_rank_of(bound, pod->priority);
    if (sl_mixed_begin(bound, waiter->spec.width) != 0) {
        (void)sl_error_nomem(err);
        free(waiter);
        return NULL;
    }
    bound->mixed.serial++;
    waiter->serial = bound->mixed.serial;
    return waiter;
}

static int reserve(struct sl_bound *bound)
{
    const size_t n = bound->n_waiting + bound->n_running + 1;
    if (n > bound->running_cap) {
        const size_t cap = bound->running_cap == 0 ? 16 : bound->running_cap * 2;
        struct sl_bound_waiter **running =
            realloc(bound->running, cap * sizeof(struct sl_bound_waiter *));
        if (running == NULL) {
            return -1;
        }
        bound->running = running;
        bound->running_cap = cap;
    }
    return sl_layout_reserve(bound) != 0 ? -1 : sl_mixed_reserve(bound);
}

/* The virtual FIFO is told of it. */
static int line_up_virtually(struct sl_bound *bound, struct sl_bound_waiter *waiter, bool adopted)
{
    if (!bound->mixed.active) {
        return sl_fifo_arrive(bound, waiter, adopted);
    }
    waiter->entry = UINT32_MAX;
    sl_mixed_arrive(bound, waiter, adopted);
    return 0;
}

/* It waits from now on. There is room but for its slot. */
static int line_up(struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    if (sl_rank_insert(bound, waiter) != 0) {
        return -1;
    }
    bound->n_waiting++;
    const int64_t estimate = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
    if (estimate > bound->longest_estimate) {
        bound->longest_estimate = estimate;
    }
    if (waiter->spec.width > bound->widest && sl_bound_fits_lane(bound, waiter->spec.width)) {
        bound->tree_stale = true;
    }
    bound->state++;
    return 0;
}

static void count_arrival(struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    if (bound->arrived_n == FORGET_ARRIVED) {
        bound->arrived_n /= 2;
        bound->arrived_sum /= 2;
    }
    bound->arrived_n++;
    bound->arrived_sum += sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
}

int sl_bound_arrive(struct sl_bound *bound, const struct sl_bound_pod *pod, int64_t now_us,
                    struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = admit(bound, pod, err);
    if (waiter == NULL) {
        return -1;
    }
    void *old = NULL;
    if (reserve(bound) != 0 || sl_map_put(&bound->pods, (const char *)&waiter->spec.id,
                                          sizeof(waiter->spec.id), waiter, &old) != 0) {
        free(waiter);
        return sl_error_nomem(err);
    }
    if (line_up(bound, waiter) != 0) {
        goto unknown;
    }
    if (line_up_virtually(bound, waiter, false) != 0) {
        sl_rank_remove(bound, waiter);
        bound->n_waiting--;
        goto unknown;
    }
    count_arrival(bound, waiter);
    return 0;

unknown:
    (void)sl_map_remove(&bound->pods, (const char *)&waiter->spec.id, sizeof(waiter->spec.id));
    free(waiter);
    return sl_error_nomem(err);
}

static void run(struct sl_bound *bound, struct sl_bound_waiter *waiter, int64_t started_us)
{
    waiter->running = true;
    waiter->started_us = started_us;
    waiter->place = (uint32_t)bound->n_running;
    bound->running[bound->n_running++] = waiter;
    bound->running_units += waiter->spec.width;
}

static void stop(struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    waiter->running = false;
    bound->running[waiter->place] = bound->running[--bound->n_running];
    bound->running[waiter->place]->place = waiter->place;
    bound->running_units -= waiter->spec.width;
}

static void forget(struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    (void)sl_map_remove(&bound->pods, (const char *)&waiter->spec.id, sizeof(waiter->spec.id));
    free(waiter);
    bound->state++;
}

int sl_bound_adopt(struct sl_bound *bound, const struct sl_bound_pod *pod, int64_t started_us,
                   int64_t now_us, struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = admit(bound, pod, err);
    if (waiter == NULL) {
        return -1;
    }
    void *old = NULL;
    waiter->started_us = within(started_us, -TIME_MAX_US, bound->now);
    if (reserve(bound) != 0 || sl_map_put(&bound->pods, (const char *)&waiter->spec.id,
                                          sizeof(waiter->spec.id), waiter, &old) != 0) {
        free(waiter);
        return sl_error_nomem(err);
    }
    if (line_up_virtually(bound, waiter, true) != 0) {
        forget(bound, waiter);
        return sl_error_nomem(err);
    }
    run(bound, waiter, waiter->started_us);
    bound->state++;
    sl_bound_observe(bound, pod->priority, waiter->started_us - waiter->spec.submit_us);
    return 0;
}

int sl_bound_start(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = find_as(bound, id, false, err);
    if (waiter == NULL) {
        return -1;
    }
    const bool current = bound->units_state == bound->state;
    sl_mixed_started(bound, waiter);
    sl_rank_remove(bound, waiter);
    bound->n_waiting--;
    run(bound, waiter, bound->now);
    bound->state++;
    if (current && bound->running_units <= bound->capacity) { /* many may start at one time */
        const int64_t estimate = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
        const int64_t end = bound->now + estimate;
        (void)sl_units_take(&bound->units, waiter->spec.width, bound->now);
        sl_units_add(&bound->units, end, waiter->spec.width);
        bound->running_work += (sl_work)waiter->spec.width * estimate;
        bound->running_end = end > bound->running_end ? end : bound->running_end;
        const int64_t out_us = bound->now + waiter->spec.timeout_us;
        bound->due_us = out_us < bound->due_us ? out_us : bound->due_us;
        bound->units_state = bound->state;
    }
    return 0;
}

void sl_bound_place(struct sl_bound *bound, uint64_t id, uint64_t node)
{
    struct sl_bound_waiter *waiter = find_as(bound, id, true, NULL);
    if (waiter != NULL) {
        waiter->node = node;
    }
}

int sl_bound_unstart(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = find_as(bound, id, true, err);
    if (waiter == NULL) {
        return -1;
    }
    const uint32_t place = waiter->place;
    if (line_up(bound, waiter) != 0) {
        return sl_error_nomem(err);
    }
    const uint32_t slot = waiter->place;
    waiter->place = place;
    stop(bound, waiter);
    waiter->place = slot;
    return 0;
}

int sl_bound_end(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = find_as(bound, id, true, err);
    if (waiter == NULL) {
        return -1;
    }
    const int64_t run_us = bound->now - waiter->started_us;
    stop(bound, waiter);
    sl_mixed_over(bound, waiter, run_us, false);
    sl_fifo_over(bound, waiter, run_us, false);
    sl_learn_ended(&bound->learn, waiter->spec.timeout_us, run_us);
    forget(bound, waiter);
    return 0;
}

int sl_bound_withdraw(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err)
{
    set_now(bound, now_us);
    struct sl_bound_waiter *waiter = find_as(bound, id, false, err);
    if (waiter == NULL) {
        return -1;
    }
    sl_rank_remove(bound, waiter);
    bound->n_waiting--;
    sl_mixed_over(bound, waiter, 0, true);
    sl_fifo_over(bound, waiter, 0, true);
    forget(bound, waiter);
    return 0;
}

static struct sl_bound_waiter *first_waiting(const struct sl_bound *bound)
{
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        for (size_t i = rank->first; i < rank->used; i++) {
            struct sl_bound_waiter *waiter = rank->slot[i];
            if (waiter != NULL && sl_bound_fits_lane(bound, waiter->spec.width)) {
                return waiter;
            }
        }
    }
    return NULL;
}

bool sl_bound_due(const struct sl_bound *bound, uint64_t *id)
{
    const struct sl_bound_waiter *first = first_waiting(bound);
    if (first == NULL) {
        return false;
    }
    *id = first->spec.id;
    return true;
}

/* All before it and it have room now: it overtakes nobody. */
static bool starts_now(const struct sl_bound *bound, const struct sl_bound_waiter *waiter)
{
    int64_t units = bound->running_units;
    for (unsigned r = 0; bound->order[r] != waiter->rank; r++) {
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        units += rank->size > 0 ? rank->tree[1].units : 0;
    }
    return units + sl_rank_units_to(&bound->rank[waiter->rank], waiter) <= bound->capacity;
}

static bool admits(struct sl_bound *bound, uint64_t id, uint64_t node, int64_t now_us)
{
    set_now(bound, now_us);
    const struct sl_bound_waiter *waiter = find_as(bound, id, false, NULL);
    if (waiter == NULL || !sl_bound_fits_lane(bound, waiter->spec.width)) {
        return false;
    }
    if (bound->mixed.active) {
        return waiter == first_waiting(bound) || sl_mixed_admits(bound, waiter, node);
    }
    sl_fifo_refresh(bound);
    sl_rank_refresh(bound);
    return waiter == first_waiting(bound) || starts_now(bound, waiter) ||
           sl_layout_admits(bound, waiter);
}

bool sl_bound_admits(struct sl_bound *bound, uint64_t id, int64_t now_us)
{
    return admits(bound, id, 0, now_us);
}

bool sl_bound_delays(struct sl_bound *bound, uint64_t id, uint64_t node, int64_t now_us)
{
    return !admits(bound, id, node, now_us) && bound->mixed.sure;
}

static void refresh_longest(struct sl_bound *bound)
{
    if (!bound->mixed.active) {
        sl_fifo_refresh(bound);
    } else if (bound->mixed.looked != bound->state) {
        sl_mixed_look_ahead(bound);
    }
}

int64_t sl_bound_latest_start(struct sl_bound *bound, uint64_t id, int64_t now_us)
{
    set_now(bound, now_us);
    const struct sl_bound_waiter *waiter = find_as(bound, id, false, NULL);
    if (waiter == NULL) {
        return 0;
    }
    struct sl_allowance allowance;
    refresh_longest(bound);
    sl_bound_allowance(bound, waiter->rank, &allowance);
    return waiter->spec.submit_us + allowance.wait_us;
}

int64_t sl_bound_due_us(const struct sl_bound *bound)
{
    return bound->due_us;
}

int64_t sl_bound_longest_us(struct sl_bound *bound, int32_t priority, int64_t now_us)
{
    set_now(bound, now_us);
    refresh_longest(bound);
    for (unsigned r = 0; r < bound->n_ranks; r++) { /* nothing new for a priority never seen */
        const struct sl_rank *rank = &bound->rank[bound->order[r]];
        if (rank->priority == priority ||
            (rank->priority < priority && bound->n_ranks == SL_BOUND_RANKS)) {
            return rank->longest_us;
        }
    }
    return 0;
}

void sl_bound_observe(struct sl_bound *bound, int32_t priority, int64_t wait_us)
{
    struct sl_rank *rank = &bound->rank[sl_rank_of(bound, priority)];
    const int64_t c = bound->config.c_permille;
    const int64_t wait = wait_us / c * 1000 + wait_us % c * 1000 / c;
    rank->settled_us = wait > rank->settled_us ? wait : rank->settled_us;
    rank->longest_us = wait > rank->longest_us ? wait : rank->longest_us;
}

int32_t sl_bound_ratio_permille(const struct sl_bound *bound)
{
    const int64_t unused = (bound->learn.all.share * 1000) >> SL_LEARN_SHIFT;
    return (int32_t)(1000 - unused);
}

uint32_t sl_bound_waiting(const struct sl_bound *bound)
{
    return (uint32_t)bound->n_waiting;
}

uint32_t sl_bound_running(const struct sl_bound *bound)
{
    return (uint32_t)bound->n_running;
}
