/* Units by the time at which they come free. */
#include "core/forecast/supply.h"
#include "unit/test.h"

static struct sl_supply supply_of_three(void)
{
    struct sl_supply supply = {.n = 0};
    assert_int_equal(sl_supply_reserve(&supply, 8), 0);
    sl_supply_add(&supply, 30, 4);
    sl_supply_add(&supply, 10, 1);
    sl_supply_add(&supply, 20, 2);
    return supply;
}

TEST_THAT(units_that_come_free_first_are_taken_first)
{
    struct sl_supply supply = supply_of_three();
    assert_int_equal(sl_supply_take(&supply, 2, 0), 20);
    assert_int_equal(sl_supply_units(&supply), 5);
    assert_int_equal(sl_supply_take(&supply, 1, 0), 20);
    assert_int_equal(sl_supply_take(&supply, 1, 0), 30);
    sl_supply_free(&supply);
}

TEST_THAT(nothing_is_taken_before_it_is_asked_for)
{
    struct sl_supply supply = supply_of_three();
    assert_int_equal(sl_supply_take(&supply, 1, 15), 15);
    assert_int_equal(sl_supply_take(&supply, 6, 15), 30);
    assert_int_equal(sl_supply_units(&supply), 0);
    sl_supply_free(&supply);
}

TEST_THAT(a_sorted_supply_can_still_be_taken_from)
{
    struct sl_supply supply = supply_of_three();
    sl_supply_sort(&supply);
    assert_int_equal(supply.group[0].at_us, 10);
    assert_int_equal(supply.group[1].at_us, 20);
    assert_int_equal(supply.group[2].at_us, 30);
    assert_int_equal(sl_supply_take(&supply, 3, 0), 20);
    sl_supply_free(&supply);
}
