/* Points in time by this process' own clock, which move when that is set: what has begun then takes
 * as long as before. */
#ifndef SLICED_UTIL_TIMES_H
#define SLICED_UTIL_TIMES_H

#include <stddef.h>

#include "util/data/sat.h"

/* Members of a struct, int64_t each; once in a struct. They are listed nowhere else: who moves one
 * moves all. 0: not set; INT64_MAX: never. */
#define SL_TIMES(...)                                                                              \
    union {                                                                                        \
        struct {                                                                                   \
            __VA_ARGS__                                                                            \
        };                                                                                         \
        int64_t moving_us[sizeof(struct {__VA_ARGS__}) / sizeof(int64_t)];                         \
    }

/* Moves the SL_TIMES of that struct. */
#define sl_times_move(thing, by_us)                                                                \
    sl_times_move_n((thing)->moving_us, sizeof((thing)->moving_us) / sizeof(int64_t), (by_us))

static inline void sl_times_move_n(int64_t *times, size_t n, int64_t by_us)
{
    for (size_t i = 0; i < n; i++) {
        times[i] = times[i] == 0 || times[i] == INT64_MAX ? times[i] : sl_sat_add(times[i], by_us);
    }
}

#endif
