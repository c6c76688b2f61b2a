/* Counts the wants of waiting and recently bound pods by resource. */
#include "sliced/demand.h"

#include <stdlib.h>

#include "sliced/constraint.h"
#include "util/data/heap.h"
#include "util/data/vec.h"

void sl_wants_free(struct sl_wants *wants)
{
    size_t at = 0;
    for (void *want = sl_map_next(&wants->map, &at); want != NULL;
         want = sl_map_next(&wants->map, &at)) {
        free(want);
    }
    sl_map_free(&wants->map);
    for (unsigned i = 0; i < SL_WANT_SIZES; i++) {
        free(wants->heap[i].want);
    }
}

/* ---- the heaviest ---- */

static bool want_is_before(const struct sl_want *a, const struct sl_want *b)
{
    if (a->weight != b->weight) {
        return a->weight > b->weight;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank;
    }
    return a->key.count != b->key.count ? a->key.count < b->key.count
                                        : a->key.cpu_milli < b->key.cpu_milli;
}

static bool heap_is_before(const void *a, const void *b, const void *context)
{
    struct sl_want *const *x = a;
    struct sl_want *const *y = b;
    (void)context;
    return want_is_before(*x, *y);
}

static void heap_moved(const void *item, size_t at)
{
    struct sl_want *const *want = item;
    (*want)->at = (uint32_t)at;
}

static const struct sl_heap_rule by_weight = {
    .size = sizeof(struct sl_want *), .is_before = heap_is_before, .moved = heap_moved};

/* Is the want in a heap? Instances of a size count by their resource only. */
static bool has_heap(const struct sl_want *want)
{
    return want->key.count == 0 || !sl_kinds[want->kind].instance;
}

static struct sl_want_heap *heap_of(struct sl_wants *wants, const struct sl_want *want)
{
    return &wants->heap[want->key.count == 0 ? SL_WANT_ANY : SL_WANT_SIZED];
}

static int heap_add(struct sl_want_heap *heap, struct sl_want *want)
{
    if (sl_vec_reserve(&heap->want, &heap->cap, heap->n + 1, sizeof(struct sl_want *)) < 0) {
        return -1;
    }
    heap->want[heap->n] = want;
    heap->n++;
    sl_heap_fix(&by_weight, heap->want, heap->n, heap->n - 1);
    return 0;
}

/* Frees an empty heap's memory, so that an undone pin leaves nothing behind. */
static void heap_remove(struct sl_want_heap *heap, const struct sl_want *want)
{
    size_t at = want->at;
    heap->n--;
    heap->want[at] = heap->want[heap->n];
    sl_heap_fix(&by_weight, heap->want, heap->n, at);
    if (heap->n == 0) {
        free(heap->want);
        *heap = (struct sl_want_heap){.n = 0};
    }
}

static void want_reweigh(struct sl_wants *wants, struct sl_want *want, int32_t by)
{
    struct sl_want_heap *heap = heap_of(wants, want);
    want->weight += by;
    wants->dirty = true;
    if (has_heap(want)) {
        sl_heap_fix(&by_weight, heap->want, heap->n, want->at);
    }
}

/* ---- the wants of a pod ---- */

static uint32_t wants_of(const struct sl_pod *pod)
{
    return 2 * pod->n_items;
}

/* Returns the i-th want of a pod: for each item first the resource, then the resource with its
 * size. The first item carries the CPU. */
static struct sl_want_key key_of(const struct sl_pod *pod, uint32_t i)
{
    const struct sl_ask_item *item = &pod->items[i / 2];
    struct sl_want_key key = {.resource = item->key};
    if (i % 2 == 1) {
        bool first = i == 1 && pod->constraints != NULL;
        key.count = item->count;
        key.cpu_milli = first ? pod->constraints->cpu_milli : 0;
    }
    return key;
}

/* Returns NULL when there is none. */
static struct sl_want *want_find(const struct sl_wants *wants, const struct sl_pod *pod, uint32_t i)
{
    const struct sl_want_key key = key_of(pod, i);
    return sl_map_get(&wants->map, (const char *)&key, sizeof(key));
}

/* Removes and frees a want that is in no heap. */
static void want_free(struct sl_wants *wants, struct sl_want *want)
{
    (void)sl_map_remove(&wants->map, (const char *)&want->key, sizeof(want->key));
    free(want);
    if (wants->map.len == 0) {
        sl_map_free(&wants->map);
    }
}

/* NULL: out of memory. */
static struct sl_want *want_add(struct sl_wants *wants, const struct sl_pod *pod, uint32_t i)
{
    const struct sl_ask_item *item = &pod->items[i / 2];
    struct sl_want *want = malloc(sizeof(*want));
    if (want == NULL) {
        return NULL;
    }
    *want = (struct sl_want){.key = key_of(pod, i), .kind = item->kind, .shape = item->shape};
    want->rank = sl_rank_hash(item->resource, strlen(item->resource));
    if (sl_map_put(&wants->map, (const char *)&want->key, sizeof(want->key), want, NULL) < 0) {
        free(want);
        return NULL;
    }
    if (has_heap(want) && heap_add(heap_of(wants, want), want) < 0) {
        want_free(wants, want);
        return NULL;
    }
    return want;
}

static void want_unpin(struct sl_wants *wants, struct sl_want *want)
{
    want->pins--;
    if (want->pins > 0) {
        return;
    }
    if (has_heap(want)) {
        heap_remove(heap_of(wants, want), want);
    }
    want_free(wants, want);
}

int sl_wants_pin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < wants_of(pod); i++) {
        struct sl_want *want = want_find(wants, pod, i);
        want = want == NULL ? want_add(wants, pod, i) : want;
        if (want == NULL) {
            while (i > 0) {
                i--;
                want_unpin(wants, want_find(wants, pod, i));
            }
            return -1;
        }
        want->pins++;
    }
    return 0;
}

void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod)
{
    for (uint32_t i = 0; i < wants_of(pod); i++) {
        want_unpin(wants, want_find(wants, pod, i));
    }
}

void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by)
{
    if (pod->malformed != NULL) {
        return; /* no node could ever free units for it */
    }
    for (uint32_t i = 0; i < wants_of(pod); i++) {
        want_reweigh(wants, want_find(wants, pod, i), by);
    }
}

void sl_wants_record(struct sl_wants *wants, const struct sl_pod *pod)
{
    unsigned slot = wants->next;
    for (uint32_t i = 0; i < wants->recent[slot].n; i++) {
        want_reweigh(wants, wants->recent[slot].want[i], -1);
        want_unpin(wants, wants->recent[slot].want[i]);
    }
    wants->recent[slot].n = 0;
    for (uint32_t i = 0; i < wants_of(pod) && i < 2 * SL_ASK_ITEMS_MAX; i++) {
        struct sl_want *want = want_find(wants, pod, i);
        want->pins++;
        want_reweigh(wants, want, 1);
        wants->recent[slot].want[i] = want;
        wants->recent[slot].n++;
    }
    wants->next = (slot + 1) % SL_DEMAND_RECENT;
}

/* ---- the top ---- */

static void top_add(struct sl_demand *top, const struct sl_want *want)
{
    if (want->key.count == 0) {
        top->row[top->n++] = (struct sl_demand_row){want->key.resource, want->kind, want->shape,
                                                    want->weight, want->rank};
    } else {
        top->typical[top->n_typical++] =
            (struct sl_typical){want->key.resource, want->key.count, want->key.cpu_milli,
                                want->weight,       want->kind,      want->rank};
    }
}

/* Takes the heaviest of the few heap positions that may come next. */
static size_t place_take(const struct sl_want_heap *heap, size_t *place, size_t *n)
{
    size_t first = 0;
    for (size_t i = 1; i < *n; i++) {
        first = want_is_before(heap->want[place[i]], heap->want[place[first]]) ? i : first;
    }
    size_t at = place[first];
    *n -= 1;
    place[first] = place[*n];
    return at;
}

/* Adds the heaviest max wants of the heap, at most all with a weight. */
static void top_add_heap(struct sl_wants *wants, const struct sl_want_heap *heap, size_t max)
{
    size_t place[SL_TYPICAL_MAX + SL_DEMAND_MAX + 2];
    size_t n = heap->n > 0 ? 1 : 0;
    place[0] = 0;
    for (size_t i = 0; i < max && n > 0; i++) {
        size_t at = place_take(heap, place, &n);
        const struct sl_want *want = heap->want[at];
        wants->looks++;
        if (want->weight <= 0) {
            return;
        }
        top_add(&wants->top, want);
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
        top_add_heap(wants, &wants->heap[SL_WANT_ANY], SL_DEMAND_MAX);
        top_add_heap(wants, &wants->heap[SL_WANT_SIZED], SL_TYPICAL_MAX);
        wants->dirty = false;
    }
    return &wants->top;
}

int64_t sl_demand_weight(const struct sl_demand *demand, const struct sl_mig_profile *profile)
{
    int64_t sum = 0;
    for (unsigned i = 0; demand != NULL && i < demand->n; i++) {
        const struct sl_demand_row *row = &demand->row[i];
        bool same = sl_kinds[row->kind].instance && row->shape.compute == profile->compute &&
                    row->shape.memory_gb == profile->memory_gb &&
                    row->shape.attributes == profile->attributes;
        sum += same ? row->weight : 0;
    }
    return sum;
}
