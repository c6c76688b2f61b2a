/* A clock that a test can put forward: what waits for a time has then waited for it, on a machine
 * of any speed. It takes the place of src/util/clock.c, so one file of a program may include
 * it. */
#ifndef SLICED_TEST_FAKE_CLOCK_H
#define SLICED_TEST_FAKE_CLOCK_H

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "unit/kube/calls.h"
#include "util/clock.h"

static _Atomic int64_t fake_clock_ahead_us;

static inline int64_t fake_clock_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + atomic_load(&fake_clock_ahead_us);
}

int64_t sl_clock_monotonic_us(void)
{
    return fake_clock_us(CLOCK_MONOTONIC);
}

int64_t sl_clock_monotonic_ns(void)
{
    return fake_clock_us(CLOCK_MONOTONIC) * 1000;
}

int64_t sl_clock_real_us(void)
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

/* A look at a client: whether it rests, which is to have no call on its way or waiting for one. */
struct fake_clock_look {
    struct sl_client *client;
    int64_t us; /* pass if it does */
    bool rests;
    struct pending looked;
};

/* On the client's thread, so that no call begins between the look and the step of the clock. */
static inline void fake_clock_look(void *context)
{
    const struct sl_reply reply = {.status = 0};
    struct fake_clock_look *look = context;
    struct sl_client_stats stats;
    sl_client_stats(look->client, &stats);
    look->rests = stats.in_flight + stats.queued == 0;
    (void)atomic_fetch_add(&fake_clock_ahead_us, look->rests ? look->us : 0);
    pending_done(&look->looked, &reply);
}

/* Puts the clock forward when the client rests; fails the test after a minute. */
static inline void fake_clock_await_rest(struct sl_client *client, int64_t us)
{
    const time_t until = time(NULL) + 60;
    struct fake_clock_look look = {.client = client, .us = us, .looked = PENDING_INIT};
    for (unsigned n = 1; !look.rests; n++) {
        assert_true(time(NULL) <= until);
        assert_int_equal(sl_client_after(client, 0, fake_clock_look, &look), 0);
        pending_wait(&look.looked, n);
    }
}

/* Lets time pass between calls: waits until the client rests, puts the clock forward once, and
 * returns when the client has done what became due and rests again. However slow the machine is, no
 * call runs out of time by it. A client that watches never rests. */
static inline void fake_clock_pass(struct sl_client *client, int64_t us)
{
    fake_clock_await_rest(client, us);
    fake_clock_await_rest(client, 0);
}

#endif
