/* The token bucket and the backoff: arithmetic on given times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kube/client/pacing.h"

#define S INT64_C(1000000)

static void a_full_bucket_gives_its_burst_and_then_its_rate(void **state)
{
    struct sl_bucket bucket;
    (void)state;
    sl_bucket_init(&bucket, 10, 3, 5 * S);
    for (int i = 0; i < 3; i++) {
        assert_true(sl_bucket_take(&bucket, 5 * S));
    }
    assert_false(sl_bucket_take(&bucket, 5 * S));
    assert_false(sl_bucket_take(&bucket, 5 * S + S / 10 - 1000));
    assert_true(sl_bucket_take(&bucket, 5 * S + S / 10));
    assert_false(sl_bucket_take(&bucket, 5 * S + S / 10));
}

static void no_more_than_the_burst_is_saved_up(void **state)
{
    struct sl_bucket bucket;
    int taken = 0;
    (void)state;
    sl_bucket_init(&bucket, 100, 5, 0);
    while (sl_bucket_take(&bucket, 3600 * S)) {
        taken++;
    }
    assert_int_equal(taken, 5);
}

static void after_the_wait_there_is_a_token(void **state)
{
    static const double rates[] = {0.5, 1, 3, 7.7, 50, 999, 100000};
    (void)state;
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

static void no_rate_is_no_limit(void **state)
{
    struct sl_bucket bucket;
    (void)state;
    sl_bucket_init(&bucket, 0, 1, 0);
    for (int i = 0; i < 1000; i++) {
        assert_true(sl_bucket_take(&bucket, 0));
    }
    assert_int_equal(sl_bucket_wait_us(&bucket, 0), 0);
}

static void a_clock_that_stands_still_or_goes_back_gives_nothing(void **state)
{
    struct sl_bucket bucket;
    (void)state;
    sl_bucket_init(&bucket, 10, 1, 10 * S);
    assert_true(sl_bucket_take(&bucket, 10 * S));
    assert_false(sl_bucket_take(&bucket, 10 * S));
    assert_false(sl_bucket_take(&bucket, 9 * S));
}

static void backoff_doubles_from_base_to_max_within_half_and_all(void **state)
{
    uint64_t random = 1;
    int64_t whole = 100;
    (void)state;
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
static void jitter_is_splitmix64(void **state)
{
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    uint64_t seed = 1234567;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(sl_jitter(&seed) == expected[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_bucket_gives_its_burst_and_then_its_rate),
        cmocka_unit_test(no_more_than_the_burst_is_saved_up),
        cmocka_unit_test(after_the_wait_there_is_a_token),
        cmocka_unit_test(no_rate_is_no_limit),
        cmocka_unit_test(a_clock_that_stands_still_or_goes_back_gives_nothing),
        cmocka_unit_test(backoff_doubles_from_base_to_max_within_half_and_all),
        cmocka_unit_test(jitter_is_splitmix64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
