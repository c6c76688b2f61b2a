/* The clocks. Nothing else is in this file: a test that defines both functions replaces it. */
#include "kube/clock.h"

#include <time.h>

static int64_t clock_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t sl_kube_monotonic_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

int64_t sl_kube_real_us(void)
{
    return clock_us(CLOCK_REALTIME);
}
