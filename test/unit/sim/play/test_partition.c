/* Runs whose GPUs are cut: as said, in the best static way, and by what waits. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/play/partition.h"
#include "sim/play/policy.h"
#include "unit/test.h"

#define S   SL_SECOND_US
#define ONE "nvidia.com/mig-1g.5gb"
#define TWO "nvidia.com/mig-2g.10gb"
#define ALL "nvidia.com/mig-7g.40gb"

static struct sl_error error;

struct scene {
    struct sl_workload jobs;
    struct sl_fleet fleet;
    struct sl_policy policy;
    struct sl_partitioning how;
    struct sl_sim_run run;
    char cut[SL_FIXED_TEXT_MAX];
    int (*rule)(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                struct sl_error *err); /* in place of sliced's, or NULL */
    int64_t asked_us;
    size_t n_asked;
};

static int scene_setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    sl_workload_init(&scene->jobs);
    sl_fleet_init(&scene->fleet);
    *state = scene;
    return 0;
}

static int scene_teardown(void **state)
{
    struct scene *scene = *state;
    sl_sim_run_free(&scene->run);
    sl_workload_free(&scene->jobs);
    sl_fleet_free(&scene->fleet);
    free(scene);
    return 0;
}

/* A job submitted at that second, which runs for as many. */
static void job(struct scene *scene, const char *resource, int64_t submit_s, int64_t run_s)
{
    const struct sl_trace_job facts = {.resource = sl_str_of(resource),
                                       .count = 1,
                                       .submit_us = submit_s * S,
                                       .run_us = run_s * S};
    assert_int_equal(sl_workload_add(&scene->jobs, &facts, &error), 0);
}

static void play(struct scene *scene, const char *gpus, const char *how)
{
    assert_int_equal(sl_workload_finish(&scene->jobs, &error), 0);
    assert_int_equal(sl_partitioning_parse(how, &scene->how, &error), 0);
    scene->how.cutting.rule = scene->rule;
    scene->how.cutting.state = scene;
    scene->fleet.actuator = sl_partitioning_rule(&scene->how);
    assert_int_equal(sl_fleet_gpus(&scene->fleet, gpus, &error), 0);
    assert_int_equal(sl_partitioning_apply(&scene->how, &scene->fleet, &error), 0);
    assert_int_equal(sl_fleet_finish(&scene->fleet, &error), 0);
    assert_int_equal(sl_policy_parse(SL_STR("fifo"), &scene->policy, &error), 0);
    const struct sl_sim_input input = {.workload = &scene->jobs,
                                       .fleet = &scene->fleet,
                                       .engine = &scene->policy.engine,
                                       .keep_places = true};
    if (sl_partitioned_run(&scene->how, &input, &scene->run, scene->cut, &error) < 0) {
        fail_msg("%s", error.message);
    }
}

static void assert_start(const struct scene *scene, size_t i, int64_t s)
{
    assert_int_not_equal(scene->run.job[i].outcome, SL_SIM_NEVER);
    assert_int_equal(scene->run.job[i].start_us, s * S);
}

TEST_FIXTURE(scene_setup, scene_teardown)

TEST_ON(struct scene *scene, a_static_cut_is_on_every_gpu)
{
    job(scene, ONE, 0, 10);
    job(scene, TWO, 0, 10);
    job(scene, ALL, 0, 10);
    play(scene, "2x2:A100-SXM4-40GB", "static:1g.5gb*3+2g.10gb*2");
    assert_int_equal(scene->fleet.node[1]->n_instances, 10);
    assert_start(scene, 0, 0);
    assert_start(scene, 1, 0);
    assert_int_equal(scene->run.job[2].outcome, SL_SIM_NEVER);
    assert_int_equal(scene->run.cuts, 0);
}

TEST_ON(struct scene *scene, a_gpu_is_cut_for_the_pods_that_wait)
{
    for (int i = 0; i < 5; i++) {
        job(scene, ONE, 0, 100);
    }
    play(scene, "1x1:A100-SXM4-40GB:7g.40gb", "dynamic,seconds=30,window=5");
    for (size_t i = 0; i < 5; i++) {
        assert_start(scene, i, 31); /* a fifth of the window, as no more come; then the cut */
    }
    assert_int_equal(scene->run.cuts, 1);
}

TEST_ON(struct scene *scene, a_batch_waits_from_when_the_last_pod_came)
{
    job(scene, ONE, 0, 100);
    job(scene, ONE, 2, 100);
    play(scene, "1x1:A100-SXM4-40GB:7g.40gb", "dynamic,seconds=30,window=25");
    assert_start(scene, 0, 37); /* a fifth of the window after the second pod; then the cut */
    assert_start(scene, 1, 37);
    assert_int_equal(scene->run.cuts, 1);
}

static int rule_note(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                     struct sl_error *err)
{
    struct scene *scene = state;
    (void)output;
    (void)err;
    scene->asked_us = input->now_us - SL_SIM_EPOCH_US;
    scene->n_asked++;
    return 0;
}

TEST_ON(struct scene *scene, a_rule_for_comparison_is_asked_a_window_after_the_first_change)
{
    job(scene, ONE, 0, 100);
    job(scene, ONE, 2, 100);
    scene->rule = rule_note;
    play(scene, "1x1:A100-SXM4-40GB:7g.40gb", "dynamic,window=25");
    assert_int_equal(scene->n_asked, 1);
    assert_int_equal(scene->asked_us, 25 * S);
}

TEST_ON(struct scene *scene, small_instances_come_together_again)
{
    job(scene, ONE, 0, 100);
    job(scene, ALL, 50, 100);
    play(scene, "1x1:A100-SXM4-40GB:1g.5gb*7", "dynamic,seconds=30,window=5");
    assert_start(scene, 0, 0);
    assert_start(scene, 1, 131); /* not before the running one has ended */
}

TEST_ON(struct scene *scene, nos_agent_keeps_what_is_in_use)
{
    job(scene, ONE, 0, 1000);
    job(scene, "nvidia.com/mig-3g.20gb", 50, 100);
    play(scene, "1x1:A100-SXM4-40GB:1g.5gb*7", "dynamic,actuator=nos,seconds=10,window=5");
    assert_start(scene, 1, 61);
    assert_int_equal(scene->run.job[0].end_us, 1000 * S);
}

TEST_ON(struct scene *scene, the_mig_manager_waits_for_the_pods_of_a_gpu)
{
    job(scene, ONE, 0, 1000);
    job(scene, "nvidia.com/mig-3g.20gb", 50, 100);
    play(scene, "1x1:A100-SXM4-40GB:1g.5gb*7", "dynamic,seconds=10,window=5");
    assert_start(scene, 1, 1011);
}

TEST_ON(struct scene *scene, gpus_of_a_node_that_is_cut_give_nothing)
{
    job(scene, ONE, 0, 100);
    job(scene, ALL, 10, 100);
    play(scene, "1x2:A100-SXM4-40GB:7g.40gb", "dynamic,seconds=30,window=5");
    assert_start(scene, 0, 31);
    assert_start(scene, 1, 31); /* the other GPU was free, but its node was being cut */
}

TEST_ON(struct scene *scene, no_more_nodes_are_cut_at_once_than_may_be)
{
    for (int i = 0; i < 14; i++) {
        job(scene, ONE, 0, 100);
    }
    play(scene, "2x1:A100-SXM4-40GB:7g.40gb", "dynamic,seconds=30,window=5,nodes=1");
    assert_int_equal(scene->run.cuts, 2);
    size_t first = 0;
    for (size_t i = 0; i < 14; i++) {
        first += scene->run.job[i].start_us == 31 * S ? 1 : 0;
        assert_true(scene->run.job[i].start_us == 31 * S || scene->run.job[i].start_us >= 62 * S);
    }
    assert_int_equal(first, 7);
}

TEST_ON(struct scene *scene, the_best_static_cut_has_what_jobs_ask_for)
{
    for (int i = 0; i < 21; i++) {
        job(scene, ONE, 0, 100);
    }
    job(scene, ALL, 0, 100);
    play(scene, "1x4:A100-SXM4-40GB", "best-static");
    assert_string_equal(scene->cut, "3 of 1g.5gb*7, 1 of 7g.40gb*1");
    for (size_t i = 0; i < 22; i++) {
        assert_start(scene, i, 0);
    }
}

TEST_ON(struct scene *scene, the_best_static_cut_may_be_alike_on_all_gpus)
{
    for (int i = 0; i < 2; i++) {
        job(scene, "nvidia.com/mig-4g.20gb", 0, 100);
        job(scene, "nvidia.com/mig-3g.20gb", 0, 100);
    }
    play(scene, "1x2:A100-SXM4-40GB", "best-static");
    for (size_t i = 0; i < 4; i++) {
        assert_start(scene, i, 0);
    }
    assert_string_equal(scene->cut, "4g.20gb*1+3g.20gb*1");
}

TEST_ON(struct scene *scene, whole_gpus_are_a_cut_too)
{
    job(scene, "nvidia.com/gpu", 0, 100);
    job(scene, TWO, 0, 100);
    play(scene, "1x2:A100-SXM4-40GB", "best-static");
    assert_start(scene, 0, 0);
    assert_start(scene, 1, 0);
    assert_string_equal(scene->cut, "1 of 2g.10gb*3, 1 of whole");
}

TEST_ON(struct scene *scene, what_cannot_be_is_told)
{
    static const char *const cases[][3] = {
        {"1x1:A100-SXM4-40GB", "sometimes", "expected none, static:CUT, best-static or dynamic"},
        {"1x1:A100-SXM4-40GB", "static:", "expected none, static:CUT"},
        {"1x1:A100-SXM4-40GB", "dynamic,seconds=-1", "\"seconds=-1\": expected seconds=N"},
        {"1x1:A100-SXM4-40GB", "dynamic,nodes=0", "\"nodes=0\": expected"},
        {"1x1:A100-SXM4-40GB", "dynamic,actuator=hand", "actuator=mig-manager|nos"},
        {"1x1:A100-SXM4-40GB", "static:1g.6gb", "has no MIG profile \"1g.6gb\""},
        {"8", "static:1g.5gb*7", "no node has GPUs of a known model that can be cut"},
        {"8", "dynamic", "no node has GPUs of a known model that can be cut"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sl_fleet_free(&scene->fleet);
        assert_int_equal(sl_fleet_gpus(&scene->fleet, cases[i][0], &error), 0);
        assert_true(sl_partitioning_parse(cases[i][1], &scene->how, &error) < 0 ||
                    sl_partitioning_apply(&scene->how, &scene->fleet, &error) < 0);
        if (strstr(error.message, cases[i][2]) == NULL) {
            fail_msg("%s: %s", cases[i][1], error.message);
        }
    }
}

TEST_THAT(a_cut_takes_as_long_as_the_actuator_usually_takes)
{
    struct sl_partitioning how;
    assert_int_equal(sl_partitioning_parse("dynamic", &how, &error), 0);
    assert_int_equal(how.cutting.seconds_us, 60 * S);
    assert_int_equal(sl_partitioning_parse("dynamic,actuator=nos", &how, &error), 0);
    assert_int_equal(how.cutting.seconds_us, 10 * S);
    assert_int_equal(sl_partitioning_parse("dynamic,seconds=7,actuator=nos", &how, &error), 0);
    assert_int_equal(how.cutting.seconds_us, 7 * S);
    assert_int_equal(how.cutting.max_nodes, -1); /* as configured */
    assert_int_equal(how.cutting.drain, -1);
}
