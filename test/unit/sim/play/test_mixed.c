/* The order bounded where pods ask for several widths, on nodes: against FIFO with EASY backfill
 * and the order p on the same jobs. All workloads are the same in every run. */
#include "sim/experiments/trial.h"
#include "sim/output/report.h"
#include "unit/test.h"

enum { SEEDS = 20, FIFO = 0, P = 1, BOUNDED = 2 };

static const char policies[] = "fifo,p,bounded";

static struct sl_trial *play(const char *jobs, const char *gpus)
{
    struct sl_error err;
    const struct sl_reproduce_options options = {.seed = 1, .seeds = SEEDS, .threads = 1};
    struct sl_trial *trial = sl_trial_run(jobs, gpus, policies, &options, "", &err);
    assert_non_null(trial);
    return trial;
}

static double median(const struct sl_trial *trial, double (*figure)(const struct sl_result *result),
                     size_t base, double values[SEEDS])
{
    sl_trial_ratios(trial, figure, BOUNDED, base, values);
    return sl_band_of(values, SEEDS).median; /* sorts them */
}

TEST_THAT(under_overload_nobody_waits_much_longer_than_fifos_longest)
{
    double values[SEEDS];
    struct sl_trial *trial = play("tasks=150,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:4@0.3", "2x4");
    assert_true(median(trial, sl_longest_wait, FIFO, values) <= 1.15);
    assert_true(values[SEEDS - 1] <= 1.35);
    assert_true(median(trial, sl_mean_response, P, values) < 0.8);
    assert_true(median(trial, sl_mean_response, FIFO, values) < 0.8);
    sl_trial_free(trial);
}

TEST_THAT(at_high_load_it_is_better_than_fifo_and_p_on_the_mean)
{
    double values[SEEDS];
    struct sl_trial *trial =
        play("tasks=200,gap=exp:60,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:4@0.3", "2x4");
    assert_true(median(trial, sl_mean_response, P, values) <= 1);
    assert_true(median(trial, sl_mean_response, FIFO, values) <= 1);
    assert_true(median(trial, sl_longest_wait, FIFO, values) <= 1.2);
    assert_true(values[SEEDS - 1] <= 2);
    sl_trial_free(trial);
}

TEST_THAT(wide_pods_are_not_starved_where_free_units_lie_apart)
{
    double values[SEEDS];
    struct sl_trial *trial = play(
        "tasks=300,gap=exp:8,ask=nvidia.com/gpu:1@0.7+nvidia.com/gpu:2@0.2+nvidia.com/gpu:8@0.1",
        "8x8");
    assert_true(median(trial, sl_mean_response, FIFO, values) <= 1);
    assert_true(median(trial, sl_longest_wait, FIFO, values) <= 1.3);
    sl_trial_free(trial);
}
