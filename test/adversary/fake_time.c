/* Takes the place of src/util/clock.c and of src/server/metrics/process.c. */
#include "adversary/fake_time.h"

#include <stdatomic.h>
#include <string.h>

#include "server/metrics/process.h"
#include "util/clock.h"

static const int64_t start_us = INT64_C(1790000000000000); /* September 2026 */

static _Atomic int64_t passed_us; /* since the beginning */
static _Atomic int64_t ahead_us;  /* of the real clock */

void fake_time_begin(void)
{
    atomic_store(&passed_us, 0);
    atomic_store(&ahead_us, 0);
}

void fake_time_pass(int64_t us)
{
    (void)atomic_fetch_add(&passed_us, us);
}

void fake_time_step(int64_t us)
{
    (void)atomic_fetch_add(&ahead_us, us);
}

int64_t sl_clock_monotonic_us(void)
{
    return INT64_C(1000000000) + atomic_load(&passed_us);
}

int64_t fake_time_world_us(void)
{
    return start_us + sl_clock_monotonic_us();
}

int64_t sl_clock_real_us(void)
{
    return fake_time_world_us() + atomic_load(&ahead_us);
}

int64_t sl_clock_monotonic_ns(void)
{
    return sl_clock_monotonic_us() * 1000;
}

void sl_process_read(struct sl_process *out)
{
    memset(out, 0, sizeof(*out));
}
