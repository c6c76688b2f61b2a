/* The heaviest of what others want. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sliced/score.h"

static void the_heaviest_rows_are_kept_in_order_however_they_come(void **state)
{
    (void)state;
    for (unsigned step = 1; step <= 7; step += 2) { /* odd: each is met once in 64 */
        struct sl_demand demand = {.n = 0};
        for (unsigned i = 0; i < 64; i++) {
            unsigned id = i * step % 64;
            const struct sl_demand_row row = {.key = id, .weight = (int32_t)(id / 2)};
            sl_demand_offer(&demand, &row);
        }
        assert_int_equal(demand.n, SL_DEMAND_MAX);
        for (unsigned i = 0; i < SL_DEMAND_MAX; i++) {
            assert_int_equal(demand.row[i].weight, 31 - i / 2);
            assert_int_equal(demand.row[i].key, 62 - i / 2 * 2 + i % 2);
        }
    }
}

static void the_heaviest_typical_asks_are_kept_in_order_however_they_come(void **state)
{
    (void)state;
    for (unsigned step = 1; step <= 7; step += 2) {
        struct sl_demand demand = {.n = 0};
        for (unsigned i = 0; i < 128; i++) {
            unsigned id = i * step % 128;
            const struct sl_typical typical = {.key = 7,
                                               .count = id % 2,
                                               .cpu_milli = 5,
                                               .weight = (int32_t)(id / 2),
                                               .kind = SL_KIND_WHOLE};
            sl_demand_offer_typical(&demand, &typical);
        }
        assert_int_equal(demand.n_typical, SL_TYPICAL_MAX);
        for (unsigned i = 0; i < SL_TYPICAL_MAX; i++) {
            assert_int_equal(demand.typical[i].weight, 63 - i / 2);
            assert_int_equal(demand.typical[i].count, i % 2);
        }
    }
}

static void what_nobody_wants_and_instances_among_typical_asks_are_left_out(void **state)
{
    struct sl_demand demand = {.n = 0};
    const struct sl_demand_row none = {.key = 1, .weight = 0};
    const struct sl_typical instance = {.key = 1, .count = 1, .weight = 9, .kind = SL_KIND_MIG};
    const struct sl_typical less = {.key = 1, .count = 1, .weight = -1, .kind = SL_KIND_WHOLE};
    (void)state;
    sl_demand_offer(&demand, &none);
    sl_demand_offer_typical(&demand, &instance);
    sl_demand_offer_typical(&demand, &less);
    assert_int_equal(demand.n, 0);
    assert_int_equal(demand.n_typical, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heaviest_rows_are_kept_in_order_however_they_come),
        cmocka_unit_test(the_heaviest_typical_asks_are_kept_in_order_however_they_come),
        cmocka_unit_test(what_nobody_wants_and_instances_among_typical_asks_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
