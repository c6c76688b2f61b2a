/* When planned cuts begin. */
#include "sliced/cut.h"
#include "unit/core/rig.h"

static const int64_t window_us = 5000;

static struct sl_cut_batch batch;
static int64_t due_us;

/* Asks at that time, with a plan that serves so many pods. */
static bool is_due(int64_t now_us, size_t n_pods)
{
    const struct sl_cut_plan plan = {.n_cuts = 1, .n_pods = n_pods};
    const struct sl_cut_output output = {.plan = &plan, .n_plans = n_pods > 0 ? 1 : 0};
    return sl_cut_batch_is_due(&batch, &output, window_us, now_us, &due_us);
}

static int setup(void **state)
{
    (void)state;
    batch = (struct sl_cut_batch){0};
    return 0;
}

TEST_FIXTURE(setup, NULL)

TEST_THAT(cuts_begin_when_no_more_pods_come_for_a_fifth_of_the_window)
{
    assert_false(is_due(10000, 1));
    assert_int_equal(due_us, 11000);
    assert_false(is_due(10999, 1));
    assert_true(is_due(11000, 1));
}

TEST_THAT(each_further_pod_is_waited_for_until_the_window_ends)
{
    for (size_t i = 0; i < 6; i++) {
        assert_false(is_due(10000 + 900 * (int64_t)i, 1 + i));
    }
    assert_int_equal(due_us, 15000);
    assert_true(is_due(15000, 7));
}

TEST_THAT(a_plan_that_serves_no_more_pods_than_an_earlier_one_is_no_growth)
{
    assert_false(is_due(10000, 3));
    assert_false(is_due(10500, 2));
    assert_false(is_due(10900, 3));
    assert_true(is_due(11000, 3));
}

TEST_THAT(without_cuts_nothing_is_due_and_the_next_ones_wait_anew)
{
    assert_false(is_due(10000, 1));
    assert_false(is_due(10500, 0));
    assert_int_equal(due_us, INT64_MAX);
    assert_false(is_due(12000, 1));
    assert_int_equal(due_us, 13000);
    assert_true(is_due(13000, 1));
    assert_false(is_due(13001, 1));
    assert_int_equal(due_us, 14001);
}

TEST_THAT(pods_that_wait_for_a_cut_under_way_do_not_count)
{
    const struct sl_cut_plan plan = {.n_cuts = 0, .n_pods = 2};
    const struct sl_cut_output output = {.plan = &plan, .n_plans = 1};
    assert_false(sl_cut_batch_is_due(&batch, &output, window_us, 10000, &due_us));
    assert_int_equal(due_us, INT64_MAX);
}
