/* How late a pod may start, from W and from how far estimates are off. */
#include "core/promise/allowance.h"

#include "core/promise/lane.h"

/* Found by simulation (test/bench/bench_bounded.c): the smallest room with which, on random
 * workloads, no pod waited longer than c*W with exact timeouts, and the mean and longest wait
 * stayed below those of the order p with wrong ones. */
enum {
    /* While W is small against the run times, the next pods to arrive could be late though no start
     * delays them. So c grows, and is full once W is RAMP_HALVES halves of the mean estimate. Until
     * CLOSE_HALVES halves the lane's end stays close to the virtual FIFO's; from then on it may lie
     * W/2 further behind. */
    RAMP_HALVES = 6,
    CLOSE_HALVES = 2,
    LAG_SHARE = 2,

    /* The layout of a mixed lane predicts less, so only this part of what c allows is used. */
    MIXED_EIGHTHS = 7,

    /* With guessed run times W is a guess too: it is discounted by 0.9 of the relative error, 0.35
     * at most, and every pod gets 26 times the mean error more, 3W at most. */
    DISCOUNT_PERMILLE = 900,
    DISCOUNT_MAX_PERMILLE = 350,
    ERRORS = 26,
    ERRORS_MAX_LONGEST = 3,
    SLIP_PERMILLE = 400, /* of the mean error */
};

static int64_t permille(int64_t us, int64_t factor)
{
    return us / 1000 * factor + us % 1000 * factor / 1000;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void sl_promise_allowance(const struct sl_promise *promise, uint8_t rank, struct sl_allowance *out)
{
    const int64_t longest_us = promise->rank[rank].longest_us;
    const int64_t mean_us =
        promise->arrived_n == 0 ? 0 : promise->arrived_sum_us / promise->arrived_n;
    const int64_t beyond_one = promise->config.c_permille - 1000;
    const bool mixed = promise->mixed.active;
    int64_t beyond_us = permille(longest_us, mixed ? beyond_one * MIXED_EIGHTHS / 8 : beyond_one);
    const int64_t full_us = mean_us / 2 * RAMP_HALVES;
    if (longest_us < full_us) {
        beyond_us = permille(beyond_us, longest_us / (full_us / 1000 + 1));
    }
    const bool close = mixed || longest_us <= mean_us / 2 * CLOSE_HALVES;
    const int64_t discount = least(DISCOUNT_MAX_PERMILLE, sl_learn_error_permille(&promise->learn) *
                                                              DISCOUNT_PERMILLE / 1000);
    const int64_t error_us = sl_learn_error_us(&promise->learn);
    const int64_t unsure_us = least(error_us * ERRORS, longest_us * ERRORS_MAX_LONGEST);
    out->wait_us = permille(longest_us + beyond_us, 1000 - discount) + unsure_us;
    out->lag_us = beyond_us + unsure_us + (close ? 0 : longest_us / LAG_SHARE);
    out->slip_us = permille(error_us, SLIP_PERMILLE);
}
