/* A clock that a test can put forward: what waits for a time has then waited for it, on a machine
 * of any speed. It takes the place of src/kube/clock.c, so one file of a program may include it. */
#ifndef SLICED_TEST_FAKE_CLOCK_H
#define SLICED_TEST_FAKE_CLOCK_H

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "kube/client.h"
#include "kube/clock.h"

static _Atomic int64_t fake_clock_ahead_us;

static inline int64_t fake_clock_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + atomic_load(&fake_clock_ahead_us);
}

int64_t sl_kube_monotonic_us(void)
{
    return fake_clock_us(CLOCK_MONOTONIC);
}

int64_t sl_kube_real_us(void)
{
    return fake_clock_us(CLOCK_REALTIME);
}

static inline void fake_clock_noticed(void *context)
{
    (void)context;
}

/* Puts it forward and has the client look at it; NULL: that client looks when it next does. */
static inline void fake_clock_advance(struct sl_client *client, int64_t us)
{
    (void)atomic_fetch_add(&fake_clock_ahead_us, us);
    if (client != NULL && sl_client_after(client, 0, fake_clock_noticed, NULL) < 0) {
        abort();
    }
}

#endif
