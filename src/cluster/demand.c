/* What others want: pods that wait, and the binds of late, counted by resource. */
#include <stdlib.h>

#include "cluster/internal.h"
#include "sliced/constraint.h"

enum { HEAP_FIRST = 64 };

int sl_wants_init(struct sl_wants *wants)
{
    for (unsigned i = 0; i < SL_WANT_SIZES; i++) {
        wants->heap[i].want = malloc(HEAP_FIRST * sizeof(struct sl_want *));
        if (wants->heap[i].want == NULL) {
            return -1; /* freed with the store */
        }
        wants->heap[i].cap = HEAP_FIRST;
    }
    return sl_table_init(&wants->table);
}

void sl_wants_free(struct sl_wants *wants)
{
    size_t bucket = 0;
    for (struct sl_chain *link = sl_table_pop(&wants->table, &bucket); link != NULL;
         link = sl_table_pop(&wants->table, &bucket)) {
        free(SL_CONTAINER(link, struct sl_want, by_key));
    }
    sl_table_free(&wants->table);
    for (unsigned i = 0; i < SL_WANT_SIZES; i++) {
        free(wants->heap[i].want);
        wants->heap[i] = (struct sl_want_heap){.n = 0};
    }
}

/* ---- the heaviest ---- */

static struct sl_want_heap *heap_of(struct sl_wants *wants, const struct sl_want *want)
{
    return &wants->heap[want->count == 0 ? SL_WANT_ANY : SL_WANT_SIZED];
}

/* Instances of a size are in the rows of their resource alone. */
static bool is_left_out(const struct sl_want *want)
{
    return want->count > 0 && want->kind == SL_KIND_MIG;
}

/* As sl_demand_offer puts them: the order has to be the same. */
static bool goes_before(const struct sl_want *a, const struct sl_want *b)
{
    int32_t x = a->waiting + a->recent;
    int32_t y = b->waiting + b->recent;
    if (x != y) {
        return x > y;
    }
    if (a->rank != b->rank || a->key != b->key) {
        return a->rank != b->rank ? a->rank < b->rank : a->key < b->key;
    }
    return a->count != b->count ? a->count < b->count : a->cpu_milli < b->cpu_milli;
}

static void set_place(struct sl_want_heap *heap, size_t at, struct sl_want *want)
{
    heap->want[at] = want;
    want->at = (uint32_t)at;
}

/* The want has another weight: to its place. */
static void sift(struct sl_want_heap *heap, struct sl_want *want)
{
    size_t at = want->at;
    while (at > 0 && goes_before(want, heap->want[(at - 1) / 2])) {
        set_place(heap, at, heap->want[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->n) {
            break;
        }
        if (child + 1 < heap->n && goes_before(heap->want[child + 1], heap->want[child])) {
            child++;
        }
        if (!goes_before(heap->want[child], want)) {
            break;
        }
        set_place(heap, at, heap->want[child]);
        at = child;
    }
    set_place(heap, at, want);
}

static bool join(struct sl_want_heap *heap, struct sl_want *want)
{
    if (heap->n == heap->cap) {
        size_t cap = heap->cap * 2;
        struct sl_want **more = realloc(heap->want, cap * sizeof(struct sl_want *));
        if (more == NULL) {
            return false;
        }
        heap->want = more;
        heap->cap = cap;
    }
    set_place(heap, heap->n, want);
    heap->n++;
    sift(heap, want);
    return true;
}

static void leave(struct sl_want_heap *heap, struct sl_want *want)
{
    struct sl_want *last = heap->want[heap->n - 1];
    heap->n--;
    if (last != want) {
        last->at = want->at;
        sift(heap, last);
    }
}

static void reweigh(struct sl_wants *wants, struct sl_want *want, int32_t waiting, int32_t recent)
{
    want->waiting += waiting;
    want->recent += recent;
    if (!is_left_out(want)) {
        sift(heap_of(wants, want), want);
    }
}

/* The i-th want of a pod: of each item first the resource, then the resource with its size. The CPU
 * goes with the first item. */
static struct sl_want want_of(const struct sl_pod *pod, uint32_t i)
{
    const struct sl_ask_item *item = &pod->items[i / 2];
    struct sl_want want = {.key = item->key, .kind = item->kind, .shape = item->shape};
    if (i % 2 == 1) {
        bool first = i == 1 && pod->constraints != NULL;
        want.count = item->count;
        want.cpu_milli = first ? pod->constraints->cpu_milli : 0;
    }
    return want;
}

static uint32_t hash_of(const struct sl_want *want)
{
    const int64_t all[] = {(int64_t)want->key, want->count, want->cpu_milli};
    return (uint32_t)sl_hash((const char *)all, sizeof(all));
}

static struct sl_want *find(const struct sl_wants *wants, const struct sl_want *like)
{
    struct sl_chain *link = sl_table_at(&wants->table, hash_of(like));
    for (; link != NULL; link = link->next) {
        struct sl_want *want = SL_CONTAINER(link, struct sl_want, by_key);
        if (want->key == like->key && want->count == like->count &&
            want->cpu_milli == like->cpu_milli) {
            return want;
        }
    }
    return NULL;
}

static struct sl_want *find_of(const struct sl_wants *wants, const struct sl_pod *pod, uint32_t i)
{
    struct sl_want like = want_of(pod, i);
    return find(wants, &like);
}

static struct sl_want *find_or_add(struct sl_wants *wants, const struct sl_pod *pod, uint32_t i)
{
    struct sl_want like = want_of(pod, i);
    struct sl_want *want = find(wants, &like);
    if (want != NULL) {
        return want;
    }
    want = malloc(sizeof(*want));
    if (want == NULL) {
        return NULL;
    }
    const char *name = pod->items[i / 2].resource;
    *want = like;
    want->rank = sl_rank_hash(name, strlen(name));
    if (!is_left_out(want) && !join(heap_of(wants, want), want)) {
        free(want);
        return NULL;
    }
    sl_table_add(&wants->table, &want->by_key, hash_of(want));
    return want;
}

static void unpin(struct sl_wants *wants, struct sl_want *want)
{
    want->pins--;
    if (want->pins == 0) {
        if (!is_left_out(want)) {
            leave(heap_of(wants, want), want);
        }
        sl_table_remove(&wants->table, &want->by_key);
        free(want);
    }
}

int sl_wants_pin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        struct sl_want *want = find_or_add(wants, pod, i);
        if (want == NULL) {
            while (i > 0) {
                i--;
                unpin(wants, find_of(wants, pod, i));
            }
            return -1;
        }
        want->pins++;
    }
    return 0;
}

void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        unpin(wants, find_of(wants, pod, i));
    }
}

void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by)
{
    if (pod->malformed != NULL) {
        return; /* it waits for nothing that any node could free */
    }
    for (uint32_t i = 0; i < 2 * pod->n_items; i++) {
        reweigh(wants, find_of(wants, pod, i), by, 0);
    }
    wants->dirty = true;
}

void sl_wants_record(struct sl_wants *wants, const struct sl_pod *pod)
{
    unsigned slot = wants->next;
    for (uint8_t i = 0; i < wants->recent[slot].n; i++) {
        reweigh(wants, wants->recent[slot].want[i], 0, -1);
        unpin(wants, wants->recent[slot].want[i]);
    }
    wants->recent[slot].n = 0;
    for (uint32_t i = 0; i < 2 * pod->n_items && i < 2 * SL_ASK_ITEMS_MAX; i++) {
        struct sl_want *want = find_of(wants, pod, i);
        want->pins++;
        reweigh(wants, want, 0, 1);
        wants->recent[slot].want[i] = want;
        wants->recent[slot].n++;
    }
    wants->next = (slot + 1) % SL_WANTS_RECENT;
    wants->dirty = true;
}

static void offer_want(struct sl_demand *top, const struct sl_want *want)
{
    int32_t weight = want->waiting + want->recent;
    if (want->count == 0) {
        const struct sl_demand_row row = {want->key, want->kind, want->shape, weight, want->rank};
        sl_demand_offer(top, &row);
    } else {
        const struct sl_typical typical = {want->key, want->count, want->cpu_milli,
                                           weight,    want->kind,  want->rank};
        sl_demand_offer_typical(top, &typical);
    }
}

/* Takes the heaviest of the heap places that may come next; they are few. */
static size_t take_first(const struct sl_want_heap *heap, size_t *place, size_t *n)
{
    size_t first = 0;
    for (size_t i = 1; i < *n; i++) {
        first = goes_before(heap->want[place[i]], heap->want[place[first]]) ? i : first;
    }
    size_t at = place[first];
    *n -= 1;
    place[first] = place[*n];
    return at;
}

/* The first max of the heap, or all that have a weight. */
static void offer_first(struct sl_wants *wants, const struct sl_want_heap *heap, size_t max)
{
    size_t place[SL_TYPICAL_MAX + SL_DEMAND_MAX + 2];
    size_t n = heap->n > 0 ? 1 : 0;
    place[0] = 0;
    for (size_t i = 0; i < max && n > 0; i++) {
        size_t at = take_first(heap, place, &n);
        const struct sl_want *want = heap->want[at];
        wants->looks++;
        if (want->waiting + want->recent <= 0) {
            return;
        }
        offer_want(&wants->top, want);
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->n; child++) {
            place[n] = child;
            n++;
        }
    }
}

const struct sl_demand *sl_wants_top(struct sl_wants *wants)
{
    if (wants->dirty) {
        wants->top = (struct sl_demand){0};
        offer_first(wants, &wants->heap[SL_WANT_ANY], SL_DEMAND_MAX);
        offer_first(wants, &wants->heap[SL_WANT_SIZED], SL_TYPICAL_MAX);
        wants->dirty = false;
    }
    return &wants->top;
}
