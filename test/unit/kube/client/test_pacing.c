/* The token bucket and the backoff: arithmetic on given times. */
#include "kube/client/pacing.h"
#include "unit/test.h"

#define S INT64_C(1000000)

TEST_THAT(a_full_bucket_gives_its_burst_and_then_its_rate)
{
    struct sl_bucket bucket;
    sl_bucket_init(&bucket, 10, 3, 5 * S);
    for (int i = 0; i < 3; i++) {
        assert_true(sl_bucket_take(&bucket, 5 * S));
    }
    assert_false(sl_bucket_take(&bucket, 5 * S));
    assert_false(sl_bucket_take(&bucket, 5 * S + S / 10 - 1000));
    assert_true(sl_bucket_take(&bucket, 5 * S + S / 10));
    assert_false(sl_bucket_take(&bucket, 5 * S + S / 10));
}

TEST_THAT(no_more_than_the_burst_is_saved_up)
{
    struct sl_bucket bucket;
    int taken = 0;
    sl_bucket_init(&bucket, 100, 5, 0);
    while (sl_bucket_take(&bucket, 3600 * S)) {
        taken++;
    }
    assert_int_equal(taken, 5);
}

TEST_THAT(after_the_wait_there_is_a_token)
{
    static const double rates[] = {0.5, 1, 3, 7.7, 50, 999, 100000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct sl_bucket bucket;
        int64_t now_us = 12345;
        sl_bucket_init(&bucket, rates[i], 1, now_us);
        for (int n = 0; n < 1000; n++) {
            int64_t wait_us = sl_bucket_wait_us(&bucket, now_us);
            assert_true(wait_us <= (int64_t)(1e6 / rates[i]) + 2);
            now_us += wait_us;
            assert_int_equal(sl_bucket_wait_us(&bucket, now_us), 0);
            assert_true(sl_bucket_take(&bucket, now_us));
        }
        /* the first is free; rounding up to whole microseconds costs one a token at most */
        assert_true((double)(now_us - 12345) >= 999 * 1e6 / rates[i] - 1);
        assert_true((double)(now_us - 12345) <= 999 * (1e6 / rates[i] + 2));
    }
}

TEST_THAT(no_rate_is_no_limit)
{
    struct sl_bucket bucket;
    sl_bucket_init(&bucket, 0, 1, 0);
    for (int i = 0; i < 1000; i++) {
        assert_true(sl_bucket_take(&bucket, 0));
    }
    assert_int_equal(sl_bucket_wait_us(&bucket, 0), 0);
}

TEST_THAT(a_clock_that_stands_still_or_goes_back_gives_nothing)
{
    struct sl_bucket bucket;
    sl_bucket_init(&bucket, 10, 1, 10 * S);
    assert_true(sl_bucket_take(&bucket, 10 * S));
    assert_false(sl_bucket_take(&bucket, 10 * S));
    assert_false(sl_bucket_take(&bucket, 9 * S));
}

TEST_THAT(backoff_doubles_from_base_to_max_within_half_and_all)
{
    uint64_t random = 1;
    int64_t whole = 100;
    for (unsigned tries = 1; tries <= 70; tries++) {
        for (int i = 0; i < 50; i++) {
            int64_t delay = sl_backoff_us(tries, 100, 10000, sl_jitter(&random));
            assert_true(delay >= whole / 2 && delay <= whole);
        }
        assert_int_equal(sl_backoff_us(tries, 100, 10000, 0), whole / 2);
        whole = whole * 2 > 10000 ? 10000 : whole * 2;
    }
    assert_int_equal(sl_backoff_us(1, 0, 0, 7), 0);
}

/* The first outputs for seed 1234567, as the authors' splitmix64.c prints them. */
TEST_THAT(jitter_is_splitmix64)
{
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    uint64_t seed = 1234567;
    for (size_t i = 0; i < 3; i++) {
        assert_true(sl_jitter(&seed) == expected[i]);
    }
}
