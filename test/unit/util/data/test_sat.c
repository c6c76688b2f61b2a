/* Sums that would leave 64 bits stop at the end that they would pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/data/sat.h"

static void results_that_fit_are_exact(void **state)
{
    (void)state;
    assert_int_equal(sl_sat_add(INT64_MAX, INT64_MIN), -1);
    assert_int_equal(sl_sat_mul(INT64_MIN, 1), INT64_MIN);
    assert_int_equal(sl_sat_mul(-3000000000, 3000000000), INT64_C(-9000000000000000000));
}

static void results_that_do_not_fit_stop_at_their_end(void **state)
{
    (void)state;
    assert_int_equal(sl_sat_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(sl_sat_add(INT64_MIN, -1), INT64_MIN);
    assert_int_equal(sl_sat_mul(INT64_MIN, -1), INT64_MAX);
    assert_int_equal(sl_sat_mul(INT64_MAX, -2), INT64_MIN);
    assert_int_equal(sl_sat_mul(-4000000000, -4000000000), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_that_fit_are_exact),
        cmocka_unit_test(results_that_do_not_fit_stop_at_their_end),
    };
    return cmocka_run_group_tests_name("util/sat", tests, NULL, NULL);
}
