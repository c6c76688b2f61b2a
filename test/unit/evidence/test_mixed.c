/* The order bounded where pods ask for several widths, on nodes: against FIFO with EASY backfill
 * and the order p on the same jobs. All workloads are the same in every run. */
#include "evidence/shape/study.h"
#include "unit/test.h"

enum { SEEDS = 20, FIFO = 0, P = 1, BOUNDED = 2, POLICIES = 3 };

static const char policies[] = "fifo,p,bounded";

static struct sl_study study;

static void play(const char *jobs, const char *gpus)
{
    struct sl_error err;
    const struct sl_reproduce_options options = {.seed = 1, .seeds = SEEDS, .threads = 1};
    assert_int_equal(sl_study_init(&study, POLICIES, POLICIES, SL_TRIAL_FIGURES, &options, &err),
                     0);
    assert_int_equal(sl_study_try(&study, 0, jobs, gpus, policies, &options, "", &err), 0);
}

/* Of the order bounded, over that of the other. */
static double median(unsigned figure, int of)
{
    return sl_study_band(&study, BOUNDED, figure, of).median;
}

static double most(unsigned figure, int of)
{
    return sl_study_sorted(&study, BOUNDED, figure, of)[SEEDS - 1];
}

TEST_THAT(under_overload_nobody_waits_much_longer_than_fifos_longest)
{
    play("tasks=150,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:4@0.3", "2x4");
    assert_true(median(SL_TRIAL_LONGEST, FIFO) <= 1.15);
    assert_true(most(SL_TRIAL_LONGEST, FIFO) <= 1.35);
    assert_true(median(SL_TRIAL_RESPONSE, P) < 0.8);
    assert_true(median(SL_TRIAL_RESPONSE, FIFO) < 0.8);
    sl_study_free(&study);
}

TEST_THAT(at_high_load_it_is_better_than_fifo_and_p_on_the_mean)
{
    play("tasks=200,gap=exp:60,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:4@0.3", "2x4");
    assert_true(median(SL_TRIAL_RESPONSE, P) <= 1);
    assert_true(median(SL_TRIAL_RESPONSE, FIFO) <= 1);
    assert_true(median(SL_TRIAL_LONGEST, FIFO) <= 1.2);
    assert_true(most(SL_TRIAL_LONGEST, FIFO) <= 2);
    sl_study_free(&study);
}

TEST_THAT(wide_pods_are_not_starved_where_free_units_lie_apart)
{
    play("tasks=300,gap=exp:8,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:2@0.2+nvidia.com/gpu:8@0.1",
         "8x8");
    assert_true(median(SL_TRIAL_RESPONSE, FIFO) <= 1);
    assert_true(median(SL_TRIAL_LONGEST, FIFO) <= 1.3);
    sl_study_free(&study);
}
