/* The clocks of a daemon that is tested: they stand still until they are put forward, or, with
 * threads, run and may be put forward. The two are independent: a step of the real clock is none of
 * the monotonic one. */
#ifndef SLICED_ADVERSARY_FAKE_TIME_H
#define SLICED_ADVERSARY_FAKE_TIME_H

#include <stdbool.h>
#include <stdint.h>

void fake_time_begin(bool runs);
void fake_time_pass(int64_t us); /* for both clocks; with threads the real one alone */
void fake_time_step(int64_t us); /* of the real clock alone, also backwards */

#endif
