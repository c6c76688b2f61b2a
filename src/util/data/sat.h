/* Arithmetic that stops at the ends of 64 bits, for sums over what others wrote. */
#ifndef SLICED_UTIL_SAT_H
#define SLICED_UTIL_SAT_H

#include <stdint.h>

static inline int64_t sl_sat_add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t sl_sat_mul(int64_t a, int64_t b)
{
    int64_t product = 0;
    return !__builtin_mul_overflow(a, b, &product) ? product
           : (a < 0) == (b < 0)                    ? INT64_MAX
                                                   : INT64_MIN;
}

#endif
