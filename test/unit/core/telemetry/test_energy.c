/* The energy of a GPU: what was not seen counts as nothing. */
#include "../rig.h"

#include "sliced/energy.h"

static const int64_t second_us = 1000000, gap_us = 10000000, watt_mw = 1000, kj_mj = 1000000;

static const int64_t start_us = 1700000000000000;

static bool take(struct sl_energy *energy, int64_t second, int64_t mw)
{
    return sl_energy_take(energy, start_us + second * second_us, mw, gap_us);
}

TEST_THAT(energy_is_power_by_the_time_between_samples)
{
    struct sl_energy energy = {0};
    assert_true(take(&energy, 0, 100 * watt_mw));
    assert_int_equal(energy.mj, 0);
    assert_true(take(&energy, 10, 100 * watt_mw));
    assert_int_equal(energy.mj, 1 * kj_mj);
    assert_true(take(&energy, 20, 300 * watt_mw));
    assert_int_equal(energy.mj, 3 * kj_mj);
}

TEST_THAT(a_gap_adds_nothing)
{
    struct sl_energy energy = {0};
    assert_true(take(&energy, 0, 100 * watt_mw));
    assert_true(take(&energy, 11, 100 * watt_mw));
    assert_int_equal(energy.mj, 0);
    assert_true(take(&energy, 12, 100 * watt_mw));
    assert_int_equal(energy.mj, 100 * watt_mw);
}

TEST_THAT(what_is_told_twice_or_late_counts_once)
{
    struct sl_energy energy = {0};
    assert_true(take(&energy, 0, 100 * watt_mw));
    assert_true(take(&energy, 4, 100 * watt_mw));
    assert_false(take(&energy, 4, 500 * watt_mw));
    assert_false(take(&energy, 2, 500 * watt_mw));
    assert_true(take(&energy, 6, 100 * watt_mw));
    assert_int_equal(energy.mj, 600 * watt_mw);
}

TEST_THAT(power_out_of_range_is_none)
{
    struct sl_energy energy = {0};
    assert_false(take(&energy, 0, -1));
    assert_false(take(&energy, 0, SL_ENERGY_MW_MAX + 1));
    assert_false(take(&energy, 0, INT64_MAX));
    assert_int_equal(energy.last_us, 0);
    assert_true(take(&energy, 0, SL_ENERGY_MW_MAX));
    energy.mj = INT64_MAX - 1;
    assert_true(take(&energy, 10, SL_ENERGY_MW_MAX));
    assert_int_equal(energy.mj, INT64_MAX);
}

TEST_THAT(a_day_of_the_most_power_is_no_overflow)
{
    static const int64_t day_us = INT64_C(86400) * second_us;
    struct sl_energy energy = {0};
    assert_true(sl_energy_take(&energy, start_us, SL_ENERGY_MW_MAX, day_us));
    assert_true(sl_energy_take(&energy, start_us + day_us, SL_ENERGY_MW_MAX, day_us));
    assert_int_equal(energy.mj, INT64_C(86400) * SL_ENERGY_MW_MAX);
}

static int watts(const struct sl_energy *energy, int64_t second)
{
    return sl_energy_watts(energy, start_us + second * second_us, 30 * second_us, 5 * second_us);
}

TEST_THAT(power_is_told_while_it_is_fresh)
{
    struct sl_energy energy = {0};
    assert_int_equal(watts(&energy, 0), -1);
    assert_true(take(&energy, 0, 73500));
    assert_int_equal(watts(&energy, 0), 74);
    assert_int_equal(watts(&energy, 29), 74);
    assert_int_equal(watts(&energy, 30), -1);
    assert_int_equal(watts(&energy, -5), 74);
    assert_int_equal(watts(&energy, -6), -1);
}
