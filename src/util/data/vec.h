/* An array that grows: the owner keeps the pointer, the count and the capacity as members. */
#ifndef SLICED_UTIL_VEC_H
#define SLICED_UTIL_VEC_H

#include <stddef.h>

/* Makes room for n items of size bytes in all; items is the address of the pointer to the first,
 * which is NULL while *cap is 0. At least doubles, so that n appends cost O(n). Returns 0, or -1
 * when out of memory: nothing has changed then.
 *
 *     sl_vec_reserve(&jobs->job, &jobs->cap, jobs->n + 1, sizeof(*jobs->job)) */
int sl_vec_reserve(void *items, size_t *cap, size_t n, size_t size);

#endif
