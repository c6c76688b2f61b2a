/* A mean wait below which no way of placing a short day's jobs comes. */
#include "evidence/days/day.h"
#include "unit/test.h"
#include "util/time.h"

static double bound_of(unsigned n, const char *resource, int gpus)
{
    struct sl_workload jobs;
    struct sl_error error;
    double wait = -1;
    sl_workload_init(&jobs);
    for (unsigned i = 0; i < n; i++) {
        const struct sl_trace_job facts = {
            .resource = sl_str_of(resource), .count = 1, .run_us = 100 * SL_SECOND_US};
        assert_int_equal(sl_workload_add(&jobs, &facts, &error), 0);
    }
    assert_int_equal(sl_workload_finish(&jobs, &error), 0);
    assert_int_equal(sl_day_bound(gpus, &jobs, &wait, &error), 0);
    sl_workload_free(&jobs);
    return wait;
}

TEST_THAT(nobody_need_wait_where_all_have_room)
{
    assert_true(bound_of(2, "nvidia.com/mig-7g.40gb", 2) == 0);
    assert_true(bound_of(8, "nvidia.com/mig-1g.5gb", 1) == 0);
}

/* One of two has to wait for the other: for 100 s, 50 s in the mean. */
TEST_THAT(jobs_that_cannot_run_together_wait_for_one_another)
{
    double one = bound_of(2, "nvidia.com/mig-7g.40gb", 1);
    double half = bound_of(4, "nvidia.com/mig-3g.20gb", 1);
    assert_true(one > 40 && one <= 50);
    assert_true(half > 40 && half <= 50);
}
