/* CBP and PP on windows that are worked out by hand. */
#include "../rig.h"

#include <math.h>

#include "sliced/harvest.h"

static void fill(int32_t *window, size_t n, int32_t value)
{
    for (size_t i = 0; i < n; i++) {
        window[i] = value;
    }
}

TEST_THAT(fewer_than_twenty_samples_decide_nothing)
{
    int32_t used[SL_HARVEST_SAMPLES_MIN - 1] = {0};
    struct sl_cbp cbp = {.room_mib = 7};
    struct sl_pp pp = {.room_mib = 7};
    assert_false(sl_cbp_of(used, SL_HARVEST_SAMPLES_MIN - 1, 1000, &cbp));
    assert_false(sl_pp_of(used, SL_HARVEST_SAMPLES_MIN - 1, 1000, &pp));
    assert_int_equal(cbp.room_mib, 7);
    assert_int_equal(pp.room_mib, 7);
}

TEST_THAT(cbp_gives_steady_memory_up_to_the_80th_percentile_of_its_use)
{
    int32_t used[20];
    struct sl_cbp cbp;
    fill(used, 16, 400);
    fill(used + 16, 4, 500);
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_int_equal(cbp.used80_mib, 500); /* sorted[16] */
    assert_int_equal(cbp.room_mib, 500);
    assert_true(fabs(cbp.variation - 40.0 / 580.0) < 1e-12); /* population: 16 * 20^2 + 4 * 80^2 */
    used[16] = 400;
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_int_equal(cbp.room_mib, 600);
}

TEST_THAT(cbp_gives_nothing_of_memory_that_varies_by_half_its_mean)
{
    int32_t used[20];
    struct sl_cbp cbp;
    fill(used, 10, 250); /* free 750 and 250: deviation 250 of a mean of 500 */
    fill(used + 10, 10, 750);
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_true(fabs(cbp.variation - 0.5) < 1e-12);
    assert_int_equal(cbp.room_mib, -1);
    fill(used, 10, 251);
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_int_equal(cbp.room_mib, 250);
}

TEST_THAT(cbp_gives_nothing_where_all_is_used)
{
    int32_t used[20];
    struct sl_cbp cbp;
    fill(used, 20, 1000);
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_true(isinf(cbp.variation));
    assert_int_equal(cbp.room_mib, -1);
    fill(used, 20, 1100); /* more than there is, as far as is known */
    assert_true(sl_cbp_of(used, 20, 1000, &cbp));
    assert_int_equal(cbp.room_mib, -1);
}

TEST_THAT(pp_follows_a_straight_line)
{
    int32_t used[64];
    struct sl_pp pp;
    for (int i = 0; i < 64; i++) {
        used[i] = 1000 - 10 * i; /* free grows by 10 a sample: by 100 in a lag */
    }
    assert_true(sl_pp_of(used, 64, 2000, &pp));
    assert_true(fabs(pp.slope - 1) < 1e-9);
    assert_true(fabs(pp.offset - 100) < 1e-6);
    assert_true(pp.correlation > 0.35);
    assert_int_equal(pp.room_mib, 2000 - used[63] + 100);
}

TEST_THAT(pp_promises_neither_more_than_all_nor_less_than_nothing)
{
    int32_t used[64];
    struct sl_pp pp;
    for (int i = 0; i < 64; i++) {
        used[i] = 630 - 10 * i;
    }
    assert_true(sl_pp_of(used, 64, 640, &pp));
    assert_int_equal(pp.room_mib, 640);
    for (int i = 0; i < 64; i++) {
        used[i] = 10 * i;
    }
    assert_true(sl_pp_of(used, 64, 640, &pp));
    assert_int_equal(pp.room_mib, 0);
}

TEST_THAT(pp_gives_nothing_without_correlation)
{
    int32_t used[40];
    struct sl_pp pp;
    fill(used, 40, 300);
    assert_true(sl_pp_of(used, 40, 1000, &pp)); /* flat: nothing to learn from */
    assert_int_equal(pp.room_mib, -1);
    assert_true(pp.correlation == 0);
    for (int i = 0; i < 40; i++) {
        used[i] = i / 10 % 2 == 0 ? 100 : 900; /* the opposite, each time */
    }
    assert_true(sl_pp_of(used, 40, 1000, &pp));
    assert_true(pp.correlation < 0);
    assert_int_equal(pp.room_mib, -1);
}

TEST_THAT(pp_keeps_off_a_flat_past_that_has_moved_only_lately)
{
    int32_t used[20];
    struct sl_pp pp;
    fill(used, 10, 300);
    fill(used + 10, 10, 600);
    assert_true(sl_pp_of(used, 20, 1000, &pp)); /* what it would fit to never changed */
    assert_int_equal(pp.room_mib, -1);
}

TEST_THAT(a_window_longer_than_the_stack_keeps_is_sorted_too)
{
    int32_t used[1000];
    struct sl_cbp cbp;
    for (int i = 0; i < 1000; i++) {
        used[i] = 999 - i;
    }
    assert_true(sl_cbp_of(used, 1000, 10000, &cbp));
    assert_int_equal(cbp.used80_mib, 800);
    assert_int_equal(cbp.room_mib, 9200);
}
