/* The share of a common bound that one of many (a namespace, an address) may take: up to three
 * times what it leaves for the others. One alone gets three quarters, the next three quarters of
 * the rest; so a newcomer always finds room, whatever the others do. */
#ifndef SLICED_UTIL_SHARE_H
#define SLICED_UTIL_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* May one with own of all those taken take one more? all includes own. */
static inline bool sl_share_allows(size_t own, size_t all, size_t max)
{
    return all < max && own / 3 < max - all;
}

#endif
