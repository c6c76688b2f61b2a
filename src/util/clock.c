/* The clocks. Nothing else is in this file: a test that defines all three functions replaces it. */
#include "util/clock.h"

#include <time.h>

static int64_t clock_ns(clockid_t id)
{
    struct timespec now = {0, 0};
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t sl_clock_real_us(void)
{
    return clock_ns(CLOCK_REALTIME) / 1000;
}

int64_t sl_clock_monotonic_us(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1000;
}

int64_t sl_clock_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}
