/* Statistics against values worked out by hand. */
#include <stdlib.h>

#include "unit/test.h"

#include <math.h>
#include <stdbool.h>

#include "sim/play/stats.h"

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

TEST_THAT(percentiles_lie_between_the_nearest_values)
{
    static const double values[] = {10, 20, 30, 40};
    assert_true(near(sl_percentile(values, 4, 0), 10));
    assert_true(near(sl_percentile(values, 4, 50), 25));
    assert_true(near(sl_percentile(values, 4, 95), 38.5));
    assert_true(near(sl_percentile(values, 4, 100), 40));
    assert_true(near(sl_percentile(values, 1, 99), 10));
    assert_true(near(sl_percentile(values, 0, 50), 0));
}

TEST_THAT(a_summary_does_not_depend_on_the_order)
{
    double values[] = {4, 1, 3, 2, 5};
    struct sl_summary summary;
    sl_summary_of(values, 5, &summary);
    assert_true(near(summary.mean, 3));
    assert_true(near(summary.p50, 3));
    assert_true(near(summary.p95, 4.8));
    assert_true(near(summary.p99, 4.96));
    assert_true(near(summary.max, 5));
    sl_summary_of(values, 0, &summary);
    assert_true(near(summary.max, 0) && near(summary.mean, 0));
}

TEST_THAT(fairness_is_one_when_all_are_alike_and_falls_to_one_in_n)
{
    static const double alike[] = {3, 3, 3, 3};
    static const double one[] = {1, 0, 0, 0};
    static const double mixed[] = {1, 2, 3};
    assert_true(near(sl_jain(alike, 4), 1));
    assert_true(near(sl_jain(one, 4), 0.25));
    assert_true(near(sl_jain(mixed, 3), 36.0 / 42));
    assert_true(near(sl_jain(mixed, 0), 1));
}
