/* Allocations of our objects, failed on purpose and counted (linked with -Wl,--wrap). Of one
 * thread, unless counting is off. */
#ifndef SLICED_TEST_CHAOS_WRAP_H
#define SLICED_TEST_CHAOS_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th allocation (from 1) of this thread fails; all after it too when forever. */
void chaos_arm(size_t n, bool forever);

/* Back to normal. True when an allocation was failed since chaos_arm. */
bool chaos_disarm(void);

/* Blocks that are out now. */
size_t chaos_live(void);
size_t chaos_live_bytes(void);

/* Whether allocations are counted: they are at first. */
void chaos_count(bool on);

#endif
