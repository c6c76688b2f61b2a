/* The last values of many keys, in a table that never grows. */
#include "unit/test.h"
#include "util/data/past.h"

static int64_t sum_of(const struct sl_past *past, uint64_t key, unsigned *n)
{
    const int32_t *value = sl_past_values(past, key, n);
    int64_t sum = 0;
    for (unsigned i = 0; i < *n; i++) {
        sum += value[i];
    }
    return sum;
}

TEST_THAT(the_last_values_of_a_key_are_kept)
{
    struct sl_past *past = sl_past_new(64);
    unsigned n = 9;
    int32_t last = 0;
    assert_null(sl_past_values(past, 7, &n));
    assert_int_equal(n, 0);
    assert_null(sl_past_values(NULL, 7, &n));
    for (int32_t i = 1; i <= SL_PAST_VALUES + 2; i++) {
        sl_past_add(past, 7, i);
        last += i > 2 ? i : 0;
    }
    assert_int_equal(sum_of(past, 7, &n), last);
    assert_int_equal(n, SL_PAST_VALUES);
    sl_past_forget(past, 9);
    sl_past_forget(past, 7);
    assert_null(sl_past_values(past, 7, &n));
    sl_past_add(past, 8, -5);
    assert_int_equal(sum_of(past, 8, &n), -5);
    assert_int_equal(n, 1);
    sl_past_free(past);
}

TEST_THAT(the_key_least_lately_added_to_goes_first)
{
    struct sl_past *past = sl_past_new(1);
    unsigned n = 0;
    for (uint64_t key = 0; key < 8; key++) {
        sl_past_add(past, key << 32, 1);
    }
    sl_past_add(past, 0, 1);
    sl_past_add(past, UINT64_MAX, 1);
    assert_int_equal(sum_of(past, 0, &n), 2);
    assert_int_equal(sum_of(past, UINT64_C(1) << 32, &n), 0);
    assert_int_equal(sum_of(past, UINT64_C(2) << 32, &n), 1);
    assert_int_equal(sum_of(past, UINT64_MAX, &n), 1);
    sl_past_free(past);
}
