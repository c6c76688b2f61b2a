/* Sums that would leave 64 bits stop at the end that they would pass. */
#include "unit/test.h"
#include "util/data/sat.h"

TEST_THAT(results_that_fit_are_exact)
{
    assert_int_equal(sl_sat_add(INT64_MAX, INT64_MIN), -1);
    assert_int_equal(sl_sat_mul(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(sl_sat_mul(-3000000000, 3000000000), INT64_C(-9000000000000000000));
}

TEST_THAT(results_that_do_not_fit_stop_at_their_end)
{
    assert_int_equal(sl_sat_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(sl_sat_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(sl_sat_mul(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(sl_sat_mul(INT64_MAX, -2), INT64_MIN);
    assert_int_equal(sl_sat_mul(-4000000000, -4000000000), INT64_MAX);
}
