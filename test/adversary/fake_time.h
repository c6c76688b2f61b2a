/* The clocks of a daemon that is tested: they stand still until they are put forward. A step of the
 * real clock is none of the monotonic one. Any thread. */
#ifndef SLICED_ADVERSARY_FAKE_TIME_H
#define SLICED_ADVERSARY_FAKE_TIME_H

#include <stdint.h>

void fake_time_begin(void);
/* Unix time of everybody else: sl_clock_real_us() is what the daemon takes it for. */
int64_t fake_time_world_us(void);
void fake_time_pass(int64_t us); /* for both clocks */
void fake_time_step(int64_t us); /* of the real clock alone, also backwards */

#endif
