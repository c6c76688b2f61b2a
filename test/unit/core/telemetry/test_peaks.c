/* What workloads have come to use: how many lives, how many workloads. */
#include "../rig.h"

#include "sliced/peaks.h"

static void three_lives_are_needed_and_the_highest_of_eight_counts(void **state)
{
    struct sl_peaks *peaks = sl_peaks_new(64);
    (void)state;
    assert_int_equal(sl_peaks_expected(peaks, 5, 0), 1000);
    sl_peaks_learn(peaks, 5, 700);
    sl_peaks_learn(peaks, 5, 100);
    assert_int_equal(sl_peaks_lives(peaks, 5), 2);
    assert_int_equal(sl_peaks_expected(peaks, 5, 0), 1000);
    sl_peaks_learn(peaks, 5, 100);
    assert_int_equal(sl_peaks_expected(peaks, 5, 0), 701);
    assert_int_equal(sl_peaks_expected(peaks, 5, 200), 841);
    assert_int_equal(sl_peaks_expected(peaks, 5, 900), 1000);
    for (int i = 0; i < SL_PEAKS_LIVES - 3; i++) {
        sl_peaks_learn(peaks, 5, 100);
        assert_int_equal(sl_peaks_expected(peaks, 5, 0), 701);
    }
    sl_peaks_learn(peaks, 5, -3); /* the first is forgotten */
    assert_int_equal(sl_peaks_lives(peaks, 5), SL_PEAKS_LIVES);
    assert_int_equal(sl_peaks_expected(peaks, 5, 0), 101);
    sl_peaks_learn(peaks, 5, 5000);
    assert_int_equal(sl_peaks_expected(peaks, 5, 0), 1000);
    sl_peaks_free(peaks);
}

static void the_least_lately_learned_goes_first(void **state)
{
    struct sl_peaks *peaks = sl_peaks_new(8);
    (void)state;
    for (uint32_t workload = 0; workload < 8; workload++) {
        for (int i = 0; i < 3; i++) {
            sl_peaks_learn(peaks, workload, 100);
        }
    }
    sl_peaks_learn(peaks, 0, 100);
    sl_peaks_learn(peaks, 99, 100);
    assert_int_equal(sl_peaks_lives(peaks, 0), 4);
    assert_int_equal(sl_peaks_lives(peaks, 1), 0);
    assert_int_equal(sl_peaks_lives(peaks, 2), 3);
    assert_int_equal(sl_peaks_lives(peaks, 99), 1);
    sl_peaks_free(peaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_lives_are_needed_and_the_highest_of_eight_counts),
        cmocka_unit_test(the_least_lately_learned_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
