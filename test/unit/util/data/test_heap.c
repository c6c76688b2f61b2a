/* The heap against a sorted array, with items that change and leave while they are in it. */
#include <string.h>

#include "unit/test.h"
#include "util/data/heap.h"

enum { ITEMS = 200, STEPS = 20000 };

struct item {
    int64_t key;
    size_t at; /* its place in the heap; ITEMS: it is not in */
};

static bool item_is_before(const void *a, const void *b, const void *context)
{
    const struct item *const *x = a;
    const struct item *const *y = b;
    const bool *largest_first = context;
    return *largest_first ? (*x)->key > (*y)->key : (*x)->key < (*y)->key;
}

static void item_moved(const void *item, size_t at)
{
    struct item *const *moved = item;
    (*moved)->at = at;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const struct item *first_by_search(const struct item *item, bool largest_first)
{
    const struct item *first = NULL;
    for (size_t i = 0; i < ITEMS; i++) {
        if (item[i].at < ITEMS && (first == NULL || (largest_first ? item[i].key > first->key
                                                                   : item[i].key < first->key))) {
            first = &item[i];
        }
    }
    return first;
}

TEST_THAT(pushes_pops_and_changes_keep_the_first_in_front)
{
    for (int largest_first = 0; largest_first < 2; largest_first++) {
        bool context = largest_first == 1;
        const struct sl_heap_rule rule = {.size = sizeof(struct item *),
                                          .is_before = item_is_before,
                                          .moved = item_moved,
                                          .context = &context};
        struct item item[ITEMS];
        struct item *heap[ITEMS];
        size_t n = 0;
        uint32_t seed = 7;
        for (size_t i = 0; i < ITEMS; i++) {
            item[i] = (struct item){.key = 0, .at = ITEMS};
        }
        for (int step = 0; step < STEPS; step++) {
            struct item *touched = &item[next_random(&seed) % ITEMS];
            if (touched->at < ITEMS && next_random(&seed) % 2 == 0) { /* leaves, wherever it is */
                size_t at = touched->at;
                heap[at] = heap[--n];
                sl_heap_fix(&rule, heap, n, at);
                touched->at = ITEMS;
            } else {
                size_t at = touched->at < ITEMS ? touched->at : n++;
                touched->key = next_random(&seed) % 100;
                heap[at] = touched;
                sl_heap_fix(&rule, heap, n, at);
            }
            const struct item *first = first_by_search(item, context);
            assert_int_equal(n == 0, first == NULL);
            assert_true(n == 0 || heap[0]->key == first->key);
            assert_true(n == 0 || heap[next_random(&seed) % n]->at < n);
        }
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(heap[i]->at, i);
        }
    }
}

static bool number_is_before(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint32_t *)a < *(const uint32_t *)b;
}

TEST_THAT(a_heap_made_of_any_array_gives_it_sorted)
{
    const struct sl_heap_rule rule = {.size = sizeof(uint32_t), .is_before = number_is_before};
    uint32_t seed = 3;
    for (size_t size = 0; size < 40; size++) {
        uint32_t heap[40];
        for (size_t i = 0; i < size; i++) {
            heap[i] = next_random(&seed) % 25;
        }
        sl_heap_make(&rule, heap, size);
        uint32_t last = 0;
        for (size_t n = size; n > 0;) {
            assert_true(heap[0] >= last);
            last = heap[0];
            heap[0] = heap[--n];
            sl_heap_fix(&rule, heap, n, 0);
        }
    }
}
