/* Takes the place of src/kube/clock.c and of src/server/process.c. */
#include "adversary/fake_time.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "kube/clock.h"
#include "server/process.h"

static const int64_t start_us = INT64_C(1790000000000000); /* September 2026 */

static bool time_runs;
static _Atomic int64_t passed_us; /* since the beginning */
static _Atomic int64_t ahead_us;  /* of the real clock */

static int64_t running_us(void)
{
    struct timespec now = {0, 0};
    if (time_runs) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void fake_time_begin(bool runs)
{
    time_runs = runs;
    atomic_store(&passed_us, 0);
    atomic_store(&ahead_us, 0);
}

void fake_time_pass(int64_t us)
{
    (void)atomic_fetch_add(time_runs ? &ahead_us : &passed_us, us);
}

void fake_time_step(int64_t us)
{
    (void)atomic_fetch_add(&ahead_us, us);
}

int64_t sl_kube_monotonic_us(void)
{
    return running_us() + (time_runs ? 0 : INT64_C(1000000000)) + atomic_load(&passed_us);
}

int64_t sl_kube_real_us(void)
{
    return start_us + sl_kube_monotonic_us() + atomic_load(&ahead_us);
}

int64_t sl_clock_real_us(void)
{
    return sl_kube_real_us();
}

int64_t sl_clock_monotonic_ns(void)
{
    return sl_kube_monotonic_us() * 1000;
}

void sl_process_read(struct sl_process *out)
{
    memset(out, 0, sizeof(*out));
}
