/* How long pods run against their timeouts, against the same sums in floating point. */
#include "core/forecast/learn.h"
#include "unit/test.h"

#define SECONDS(n) ((int64_t)(n)*SL_SECOND_US)

static void assert_near(int64_t is, double wanted, double by)
{
    double off = (double)is - wanted;
    if (off > by || off < -by) {
        fail_msg("%lld is not near %f", (long long)is, wanted);
    }
}

TEST_THAT(who_knows_nothing_expects_the_timeout)
{
    static const struct sl_learn learn = {.n = 0};
    assert_int_equal(sl_learn_estimate(&learn, SECONDS(60)), SECONDS(60));
    assert_int_equal(sl_learn_estimate(&learn, 1), 1);
    assert_int_equal(sl_learn_estimate(&learn, 0), 1);
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), 0), SECONDS(60));
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), SECONDS(45)), SECONDS(15));
    assert_int_equal(sl_learn_error_us(&learn), 0);
    assert_int_equal(sl_learn_error_permille(&learn), 0);
}

TEST_THAT(who_is_overdue_is_expected_to_stay_as_long_as_it_is_that)
{
    static const struct sl_learn learn = {.n = 0};
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), SECONDS(60)), 0);
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), SECONDS(60) + 1), SECONDS(1));
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), SECONDS(61)), SECONDS(1));
    assert_int_equal(sl_learn_rest(&learn, SECONDS(60), SECONDS(65)), SECONDS(5));
}

/* All pods leave three quarters of their timeouts. */
static void usual_pods(struct sl_learn *learn, unsigned n, int64_t timeout_us)
{
    for (unsigned i = 0; i < n; i++) {
        sl_learn_ended(learn, timeout_us, timeout_us / 4);
    }
}

TEST_THAT(estimates_come_near_what_pods_use)
{
    static struct sl_learn learn;
    usual_pods(&learn, 1, SECONDS(100));
    /* One pod of 100 s against the weight of two such, and in its class of the least of it, 67 s.
     */
    assert_int_equal(learn.version > 0, 1);
    double all = 75.0 / 300;
    assert_near(sl_learn_estimate(&learn, SECONDS(10)), 1e7 * (1 - all), 1e5);
    double own = (75 + 67.1 * all) / (100 + 67.1);
    assert_near(sl_learn_estimate(&learn, SECONDS(100)), 1e8 * (1 - own), 1e5);
    usual_pods(&learn, 400, SECONDS(100));
    assert_near(sl_learn_estimate(&learn, SECONDS(100)), 25e6, 3e6);
    assert_near(sl_learn_estimate(&learn, SECONDS(10)), 25e5, 4e5);
    /* Past the estimate half of the usual share of what is left. */
    assert_near(sl_learn_rest(&learn, SECONDS(100), SECONDS(10)), 15e6, 3e6);
    assert_near(sl_learn_rest(&learn, SECONDS(100), SECONDS(60)), 5e6, 1e6);
}

TEST_THAT(sizes_that_differ_are_told_apart)
{
    static struct sl_learn learn;
    for (unsigned i = 0; i < 500; i++) {
        sl_learn_ended(&learn, SECONDS(100), SECONDS(20));
        sl_learn_ended(&learn, SECONDS(10000), SECONDS(10000));
    }
    assert_near(sl_learn_estimate(&learn, SECONDS(100)), 20e6, 5e6);
    assert_near(sl_learn_estimate(&learn, SECONDS(10000)), 10000e6, 800e6);
}

TEST_THAT(what_was_long_ago_is_forgotten)
{
    static struct sl_learn learn;
    for (unsigned i = 0; i < 1000; i++) {
        sl_learn_ended(&learn, SECONDS(100), SECONDS(100));
    }
    assert_near(sl_learn_estimate(&learn, SECONDS(100)), 100e6, 1e6);
    usual_pods(&learn, 200, SECONDS(100));
    assert_near(sl_learn_estimate(&learn, SECONDS(100)), 25e6, 8e6);
    assert_true(learn.n <= 256);
    assert_true(learn.all.n <= 256);
}

TEST_THAT(estimates_are_as_good_as_they_were)
{
    static struct sl_learn learn;
    sl_learn_ended(&learn, SECONDS(100), SECONDS(25));
    assert_int_equal(sl_learn_error_us(&learn), SECONDS(75)); /* 100 were expected */
    assert_int_equal(sl_learn_error_permille(&learn), 3000);
    int64_t estimate_us = sl_learn_estimate(&learn, SECONDS(100));
    sl_learn_ended(&learn, SECONDS(100), SECONDS(200)); /* no longer than the timeout */
    assert_int_equal(sl_learn_error_us(&learn), (SECONDS(175) - estimate_us) / 2);
    assert_int_equal(sl_learn_error_permille(&learn),
                     (SECONDS(175) - estimate_us) * 1000 / SECONDS(125));
    for (unsigned i = 0; i < 300; i++) {
        sl_learn_ended(&learn, SECONDS(100), 0);
    }
    assert_true(sl_learn_error_permille(&learn) > 1000);
}
