/* Says when a call may go: the client-side rate limit, and the delay before a repetition.
 * Arithmetic on given times; no clock is read here. */
#ifndef SLICED_KUBE_PACING_H
#define SLICED_KUBE_PACING_H

#include <stdbool.h>
#include <stdint.h>

/* A token bucket, as client-go's flow control: qps tokens a second, burst of them saved up. */
struct sl_bucket {
    double qps; /* 0: no limit */
    double burst;
    double tokens;
    int64_t at_us; /* tokens are as of this time (monotonic) */
};

void sl_bucket_init(struct sl_bucket *bucket, double qps, unsigned burst, int64_t now_us);

/* Takes a token if there is one. */
bool sl_bucket_take(struct sl_bucket *bucket, int64_t now_us);

/* How long until there is a token; 0 when there is one. */
int64_t sl_bucket_wait_us(const struct sl_bucket *bucket, int64_t now_us);

/* The delay after that many tries (at least 1): base doubled for each further try, at most max;
 * then between half and all of it, by the random number (any 64 bits). */
int64_t sl_backoff_us(unsigned tries, int64_t base_us, int64_t max_us, uint64_t random);

/* Random bits for jitter, not for secrets: one state a user, seeded with anything. */
uint64_t sl_jitter(uint64_t *state);

#endif
