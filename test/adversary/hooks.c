#include "adversary/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "adversary/checks.h"
#include "adversary/fake_client.h"
#include "adversary/fake_time.h"
#include "adversary/random.h"
#include "chaos/wrap.h"
#include "server/net/front_proxy.h"
#include "util/clock.h"

enum { LOG_KEPT = 1 << 16 };

ssize_t __real_write(int fd, const void *data, size_t len);
int __real_clock_gettime(clockid_t id, struct timespec *out);
int __real_sl_queue_worker_start(struct sl_queue_worker *worker, struct sl_error *err);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *until);

ssize_t __wrap_write(int fd, const void *data, size_t len);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);
ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags);
uint64_t __wrap_sl_jitter(uint64_t *state);
bool __wrap_sl_front_proxy_ok(struct sl_front_proxy *proxy, gnutls_session_t session,
                              struct sl_tls_peer *peer, bool *known, char *why, size_t size);
int __wrap_sl_queue_worker_start(struct sl_queue_worker *worker, struct sl_error *err);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *until);

static struct {
    bool threads;
    pthread_t own; /* which plays */
    struct rng rng;
    struct sl_queue_worker *worker;
    char log[LOG_KEPT]; /* a ring */
    uint64_t logged;    /* bytes */
    pthread_mutex_t lock;
} hooks = {.lock = PTHREAD_MUTEX_INITIALIZER};

void hooks_begin(uint64_t seed, bool threads)
{
    hooks.threads = threads;
    hooks.own = pthread_self();
    hooks.rng.state = seed;
    chaos_count(!threads);
}

bool hooks_threads(void)
{
    return hooks.threads;
}

struct sl_queue_worker *hooks_worker(void)
{
    return hooks.worker;
}

/* ---- the log ---- */

ssize_t __wrap_write(int fd, const void *data, size_t len)
{
    if (fd != STDERR_FILENO) {
        return __real_write(fd, data, len);
    }
    const char *text = data;
    (void)pthread_mutex_lock(&hooks.lock);
    for (size_t i = 0; i < len; i++) {
        hooks.log[hooks.logged++ % LOG_KEPT] = text[i];
    }
    (void)pthread_mutex_unlock(&hooks.lock);
    check_lines("a line of the log", text, len);
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] == '\n') {
            check_failed("a line of the log has a line feed: %.*s", (int)len, text);
        }
    }
    return (ssize_t)len;
}

void hooks_print(const char *text)
{
    (void)!__real_write(STDERR_FILENO, text, strlen(text));
}

void hooks_print_log(void)
{
    enum { SHOWN = 4000 };
    char text[SHOWN + 1];
    size_t n = hooks.logged < SHOWN ? (size_t)hooks.logged : SHOWN;
    for (size_t i = 0; i < n; i++) {
        text[i] = hooks.log[(hooks.logged - n + i) % LOG_KEPT];
    }
    text[n] = '\0';
    hooks_print(text);
}

/* ---- chance and time ---- */

ssize_t __wrap_getrandom(void *out, size_t len, unsigned flags)
{
    unsigned char *byte = out;
    (void)flags;
    (void)pthread_mutex_lock(&hooks.lock);
    for (size_t i = 0; i < len; i++) {
        byte[i] = (unsigned char)rng_next(&hooks.rng);
    }
    (void)pthread_mutex_unlock(&hooks.lock);
    return (ssize_t)len;
}

uint64_t __wrap_sl_jitter(uint64_t *state) // NOLINT(readability-non-const-parameter)
{
    uint64_t out = 0;
    (void)state;
    (void)__wrap_getrandom(&out, sizeof(out), 0);
    return out;
}

/* How long something took is nothing that a seed repeats. */
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    if (id == CLOCK_MONOTONIC) {
        *out = (struct timespec){.tv_sec = (time_t)(sl_clock_monotonic_us() / 1000000),
                                 .tv_nsec = (long)(sl_clock_monotonic_us() % 1000000) * 1000};
        return 0;
    }
    if (id == CLOCK_THREAD_CPUTIME_ID && !hooks.threads) {
        *out = (struct timespec){0, 0};
        return 0;
    }
    return __real_clock_gettime(id, out);
}

/* The front proxy forwards requests of the API server only. */
bool __wrap_sl_front_proxy_ok(struct sl_front_proxy *proxy, gnutls_session_t session,
                              struct sl_tls_peer *peer, bool *known, char *why, size_t size)
{
    (void)proxy;
    (void)session;
    (void)peer;
    *known = true;
    why[0] = '\0';
    return size > 0;
}

int __wrap_sl_queue_worker_start(struct sl_queue_worker *worker, struct sl_error *err)
{
    hooks.worker = worker;
    return hooks.threads ? __real_sl_queue_worker_start(worker, err) : 0;
}

/* A millisecond at most, which passes for the daemon as well. */
static int wait_a_little(pthread_cond_t *cond, pthread_mutex_t *lock, const struct timespec *until)
{
    static const int64_t nap_us = 1000;
    struct timespec real;
    (void)__real_clock_gettime(CLOCK_MONOTONIC, &real);
    real.tv_nsec += (long)nap_us * 1000;
    real.tv_sec += real.tv_nsec / 1000000000;
    real.tv_nsec %= 1000000000;
    if (__real_pthread_cond_timedwait(cond, lock, &real) == 0) {
        return 0;
    }
    fake_time_pass(nap_us);
    int64_t until_us = (int64_t)until->tv_sec * 1000000 + until->tv_nsec / 1000;
    return sl_clock_monotonic_us() >= until_us ? ETIMEDOUT : 0;
}

/* The same, but time passes only by what is played. */
static int wait_for_others(pthread_cond_t *cond, pthread_mutex_t *lock,
                           const struct timespec *until)
{
    (void)pthread_mutex_unlock(lock);
    hooks_nap();
    (void)pthread_mutex_lock(lock);
    int64_t until_us = (int64_t)until->tv_sec * 1000000 + until->tv_nsec / 1000;
    (void)cond;
    return sl_clock_monotonic_us() >= until_us ? ETIMEDOUT : 0;
}

void hooks_nap(void)
{
    const struct timespec little = {0, 200000};
    (void)nanosleep(&little, NULL);
}

/* Who waits for the client's thread does its work, unless there is one. */
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                                  const struct timespec *until)
{
    static const struct client_faults none;
    if (hooks.threads) {
        return wait_a_little(cond, lock, until);
    }
    if (!pthread_equal(pthread_self(), hooks.own)) { /* the thread that makes estimates */
        return wait_for_others(cond, lock, until);
    }
    (void)pthread_mutex_unlock(lock);
    bool done = client_latest() != NULL && client_step(client_latest(), &hooks.rng, &none);
    (void)pthread_mutex_lock(lock);
    return done ? 0 : ETIMEDOUT;
}
