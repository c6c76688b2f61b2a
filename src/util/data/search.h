/* Binary search in a sorted array. */
#ifndef SLICED_UTIL_SEARCH_H
#define SLICED_UTIL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* The place of the first of n items that is not before the key; n when all are before it. There the
 * key stands, or would be inserted. is_before must hold for a first part of the array and for
 * nothing behind it; what the comparison needs besides travels in the key. base may be NULL when n
 * is 0. */
static inline size_t sl_lower_bound(const void *base, size_t n, size_t size, const void *key,
                                    bool (*is_before)(const void *item, const void *key))
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before((const char *)base + middle * size, key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
