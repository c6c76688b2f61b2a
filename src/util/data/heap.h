/* A binary heap in an array: no item goes before the one at 0. The owner keeps array and count.
 *
 *     heap[n++] = item;     sl_heap_fix(&rule, heap, n, n - 1);     pushes
 *     heap[0] = heap[--n];  sl_heap_fix(&rule, heap, n, 0);         pops what stood at 0
 *
 * Items that are equal leave in an order that depends on the calls alone. */
#ifndef SLICED_UTIL_HEAP_H
#define SLICED_UTIL_HEAP_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SL_HEAP_ITEM_MAX = 64 };

struct sl_heap_rule {
    size_t size; /* bytes of an item, at most SL_HEAP_ITEM_MAX */
    bool (*is_before)(const void *a, const void *b, const void *context);
    void (*moved)(const void *item, size_t at); /* tells an item its place; may be NULL */
    const void *context;                        /* of is_before */
};

static inline void sl_heap_set(const struct sl_heap_rule *rule, char *base, size_t at,
                               const void *item)
{
    memcpy(base + at * rule->size, item, rule->size);
    if (rule->moved != NULL) {
        rule->moved(item, at);
    }
}

/* Sinks the item at that place below those that go before it. */
static inline void sl_heap_sink(const struct sl_heap_rule *rule, void *items, size_t n, size_t at)
{
    const size_t size = rule->size;
    char *base = items;
    alignas(max_align_t) char item[SL_HEAP_ITEM_MAX];
    memcpy(item, base + at * size, size);
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        const char *next = base + child * size;
        if (child + 1 < n && rule->is_before(next + size, next, rule->context)) {
            next += size;
            child++;
        }
        if (!rule->is_before(next, item, rule->context)) {
            break;
        }
        sl_heap_set(rule, base, at, next);
        at = child;
    }
    sl_heap_set(rule, base, at, item);
}

/* Puts the item at that place, which is new or has changed, where it belongs. Does nothing where
 * at is n, as after the last item was popped. O(log n). */
static inline void sl_heap_fix(const struct sl_heap_rule *rule, void *items, size_t n, size_t at)
{
    const size_t size = rule->size;
    char *base = items;
    alignas(max_align_t) char item[SL_HEAP_ITEM_MAX];
    if (at >= n) {
        return;
    }
    memcpy(item, base + at * size, size);
    while (at > 0 && rule->is_before(item, base + (at - 1) / 2 * size, rule->context)) {
        sl_heap_set(rule, base, at, base + (at - 1) / 2 * size);
        at = (at - 1) / 2;
    }
    sl_heap_set(rule, base, at, item);
    sl_heap_sink(rule, items, n, at);
}

/* Makes a heap of n items in any order. O(n). */
static inline void sl_heap_make(const struct sl_heap_rule *rule, void *items, size_t n)
{
    for (size_t i = n / 2; i > 0; i--) {
        sl_heap_sink(rule, items, n, i - 1);
    }
}

#endif
