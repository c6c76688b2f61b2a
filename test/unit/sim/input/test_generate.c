/* The generator: golden jobs worked out by another program, distributions, specifications. */
#include <stdlib.h>

#include "unit/test.h"

#include <string.h>

#include "sim/input/generate.h"

static struct sl_error error;

static void parse(const char *text, struct sl_generator *out)
{
    if (sl_generator_parse(sl_str_of(text), out, &error) < 0) {
        fail_msg("%s: %s", text, error.message);
    }
}

static void make(const char *text, uint64_t seed, struct sl_workload *out)
{
    struct sl_generator generator;
    parse(text, &generator);
    sl_workload_init(out);
    if (sl_generate(&generator, seed, out, &error) < 0) {
        fail_msg("%s: %s", text, error.message);
    }
}

TEST_FIXTURE_OF(struct sl_workload, NULL, sl_workload_free)

TEST_ON(struct sl_workload *jobs, a_seed_gives_the_same_jobs_on_every_machine)
{
    static const struct {
        int64_t submit_us;
        int64_t run_s;
    } golden[] = {{0, 56},        {5262018, 30},   {8130878, 19},
                  {35492051, 21}, {90902701, 643}, {168377317, 29}};
    make("", 1, jobs);
    assert_int_equal(jobs->n, 20);
    for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
        assert_int_equal(jobs->job[i].submit_us, golden[i].submit_us);
        assert_int_equal(jobs->job[i].run_us, golden[i].run_s * 1000000);
        assert_int_equal(jobs->job[i].timeout_s, golden[i].run_s);
        assert_string_equal(jobs->ask[jobs->job[i].ask].resource, "nvidia.com/gpu");
    }
}

TEST_ON(struct sl_workload *b, arrivals_stay_when_something_else_changes)
{
    struct sl_workload a;
    make("tasks=50", 9, &a);
    make("tasks=50,runtime=constant:5,estimate=factor:1:5,priority=0@0.5+7@0.5", 9, b);
    for (size_t i = 0; i < 50; i++) {
        assert_int_equal(a.job[i].submit_us, b->job[i].submit_us);
        assert_int_equal(b->job[i].run_us, 5000000);
    }
    sl_workload_free(&a);
}

TEST_ON(struct sl_workload *jobs, overstated_timeouts_lie_in_their_range)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;
    make("tasks=2000,runtime=constant:1000,estimate=factor:1:5", 4, jobs);
    for (size_t i = 0; i < jobs->n; i++) {
        least = jobs->job[i].timeout_s < least ? jobs->job[i].timeout_s : least;
        most = jobs->job[i].timeout_s > most ? jobs->job[i].timeout_s : most;
    }
    assert_in_range(least, 1000, 1010);
    assert_in_range(most, 4990, 5000);
}

TEST_ON(struct sl_workload *jobs, mixes_are_drawn_by_their_shares)
{
    size_t fours = 0;
    size_t slices = 0;
    size_t others = 0;
    make("tasks=20000,ask=nvidia.com/gpu:4@1+nvidia.com/mig-1g.5gb@3,namespace=a@0.9+b@0.1", 2,
         jobs);
    for (size_t i = 0; i < jobs->n; i++) {
        const struct sl_job_ask *ask = &jobs->ask[jobs->job[i].ask];
        fours += ask->count == 4 && strcmp(ask->resource, "nvidia.com/gpu") == 0 ? 1 : 0;
        slices += ask->count == 1 && strcmp(ask->resource, "nvidia.com/mig-1g.5gb") == 0 ? 1 : 0;
        others += strcmp(jobs->job[i].namespace, "b") == 0 ? 1 : 0;
    }
    assert_int_equal(fours + slices, jobs->n);
    assert_in_range(fours, 4700, 5300);
    assert_in_range(others, 1800, 2200);
    assert_int_equal(jobs->n_asks, 2);
}

static double mean_of(const char *text)
{
    struct sl_distribution distribution;
    struct sl_rng rng;
    double sum = 0;
    enum { N = 200000 };
    assert_int_equal(sl_distribution_parse(sl_str_of(text), &distribution, &error), 0);
    sl_rng_seed(&rng, 5, 0);
    for (int i = 0; i < N; i++) {
        sum += (double)sl_distribution_draw(&distribution, &rng) / 1e6;
    }
    return sum / N;
}

TEST_ALONE(distributions_have_the_mean_that_books_give)
{
    static const struct {
        const char *text;
        double mean;
    } cases[] = {
        {"constant:2.5", 2.5},       {"uniform:2:6", 4}, {"exp:25", 25},
        {"loguniform:1:3", 214.976}, /* 990 / ln 100 */
        {"lognormal:1:0.5", 3.0802}, /* e^(1 + 0.125) */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double mean = mean_of(cases[i].text);
        if (mean < cases[i].mean * 0.99 || mean > cases[i].mean * 1.01) {
            fail_msg("%s has mean %f", cases[i].text, mean);
        }
    }
}

TEST_ALONE(wrong_specifications_say_what_is_expected)
{
    static const char *const cases[][2] = {
        {"task=3", "\"task\" is no key; there are tasks, gap, runtime"},
        {"tasks=0", "tasks: \"0\": expected an integer in 1.."},
        {"tasks=3,tasks=4", "tasks: given twice"},
        {"gap=poisson:3", "gap: \"poisson:3\" is no distribution; there are constant:X"},
        {"gap=exp", "gap: \"exp\": expected exp:MEAN"},
        {"gap=exp:-1", "expected exp:MEAN"},
        {"gap=exp:1:2", "expected exp:MEAN"},
        {"runtime=uniform:5:2", "expected uniform:LOW:HIGH"},
        {"runtime=lognormal:1:-1", "expected lognormal:MU:SIGMA"},
        {"estimate=often", "estimate: \"often\": expected exact or factor:LOW:HIGH"},
        {"estimate=factor:2:1", "expected exact or factor:LOW:HIGH"},
        {"ask=cpu:1", "ask: \"cpu\" is no resource that sliced schedules"},
        {"ask=nvidia.com/gpu:0", "expected a count"},
        {"ask=nvidia.com/gpu:1@0", "expected WHAT or WHAT@SHARE"},
        {"ask=+", "expected WHAT or WHAT@SHARE"},
        {"priority=high", "priority: \"high\": expected an integer"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_generator generator;
        assert_int_equal(sl_generator_parse(sl_str_of(cases[i][0]), &generator, &error), -1);
        if (strstr(error.message, cases[i][1]) == NULL) {
            fail_msg("%s: %s", cases[i][0], error.message);
        }
    }
}
