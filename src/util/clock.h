/* The clocks of the daemon, in one place so that a test can put its own there. */
#ifndef SLICED_UTIL_CLOCK_H
#define SLICED_UTIL_CLOCK_H

#include <stdint.h>

int64_t sl_clock_real_us(void); /* Unix microseconds */
int64_t sl_clock_monotonic_us(void);
int64_t sl_clock_monotonic_ns(void); /* for durations that are measured */

#endif
