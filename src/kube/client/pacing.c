/* Token bucket and backoff. */
#include "kube/client/pacing.h"

#include "util/time.h"

static const double second_us = (double)SL_SECOND_US;

void sl_bucket_init(struct sl_bucket *bucket, double qps, unsigned burst, int64_t now_us)
{
    bucket->qps = qps;
    bucket->burst = burst < 1 ? 1 : (double)burst;
    bucket->tokens = bucket->burst;
    bucket->at_us = now_us;
}

static double tokens_at(const struct sl_bucket *bucket, int64_t now_us)
{
    double elapsed = now_us > bucket->at_us ? (double)(now_us - bucket->at_us) / second_us : 0;
    double tokens = bucket->tokens + elapsed * bucket->qps;
    return tokens > bucket->burst ? bucket->burst : tokens;
}

bool sl_bucket_take(struct sl_bucket *bucket, int64_t now_us)
{
    if (bucket->qps <= 0) {
        return true;
    }
    double tokens = tokens_at(bucket, now_us);
    if (tokens < 1) {
        return false;
    }
    bucket->tokens = tokens - 1;
    bucket->at_us = now_us;
    return true;
}

int64_t sl_bucket_wait_us(const struct sl_bucket *bucket, int64_t now_us)
{
    if (bucket->qps <= 0) {
        return 0;
    }
    double missing = 1 - tokens_at(bucket, now_us);
    return missing <= 0 ? 0 : (int64_t)(missing / bucket->qps * second_us) + 1;
}

int64_t sl_backoff_us(unsigned tries, int64_t base_us, int64_t max_us, uint64_t random)
{
    int64_t delay = base_us;
    for (unsigned i = 1; i < tries && delay < max_us; i++) {
        delay *= 2;
    }
    if (delay > max_us) {
        delay = max_us;
    }
    int64_t half = delay / 2;
    return half + (int64_t)(random % (uint64_t)(delay - half + 1));
}

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014) */
uint64_t sl_jitter(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}
