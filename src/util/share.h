/* What one of many (a namespace, an address) may have of a bound that is for all: up to three times
 * what is left for the others. Whoever is alone has three quarters, the next as much of the rest:
 * there is room for the first ones of one more, whatever the others do. */
#ifndef SLICED_UTIL_SHARE_H
#define SLICED_UTIL_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* May it have one more? own: that it has; all: that all have, its own with them. */
static inline bool sl_share_allows(size_t own, size_t all, size_t max)
{
    return all < max && own / 3 < max - all;
}

#endif
