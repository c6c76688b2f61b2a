/* Jobs that wait for others, in the simulation: against what their ends say. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "sim/play/loop.h"
#include "sim/play/policy.h"

enum { JOBS = 60, BEFORE_MAX = 3 };

static struct sl_error error;

struct scene {
    struct sl_workload jobs;
    struct sl_fleet fleet;
    struct sl_sim_run run;
    uint64_t seed;
};

static unsigned roll(struct scene *scene, unsigned n)
{
    scene->seed = scene->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((scene->seed >> 33) % n);
}

static void add(struct scene *scene, unsigned number, unsigned submit_s, unsigned run_s,
                unsigned timeout_s, const char *after)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "Job_%u", number);
    const struct sl_trace_job job = {.name = sl_str_of(name),
                                     .resource = SL_STR("nvidia.com/gpu"),
                                     .after = sl_str_of(after),
                                     .count = 1,
                                     .submit_us = submit_s * INT64_C(1000000),
                                     .run_us = run_s * INT64_C(1000000),
                                     .timeout_us = timeout_s * INT64_C(1000000)};
    if (sl_workload_add(&scene->jobs, &job, &error) < 0) {
        fail_msg("%s", error.message);
    }
}

static void init(struct scene *scene, uint64_t seed)
{
    memset(scene, 0, sizeof(*scene));
    scene->seed = seed * 7919 + 1;
    sl_workload_init(&scene->jobs);
    sl_fleet_init(&scene->fleet);
}

static void simulate(struct scene *scene, const char *gpus, const char *name)
{
    struct sl_policy policy;
    if (sl_workload_finish(&scene->jobs, &error) < 0 ||
        sl_fleet_gpus(&scene->fleet, gpus, &error) < 0 ||
        sl_fleet_finish(&scene->fleet, &error) < 0 ||
        sl_policy_parse(sl_str_of(name), &policy, &error) < 0) {
        fail_msg("%s", error.message);
    }
    const struct sl_sim_input input = {
        .workload = &scene->jobs, .fleet = &scene->fleet, .engine = &policy.engine};
    if (sl_sim_run(&input, &scene->run, &error) < 0) {
        fail_msg("%s", error.message);
    }
}

static void tear_down(struct scene *scene)
{
    sl_sim_run_free(&scene->run);
    sl_workload_free(&scene->jobs);
    sl_fleet_free(&scene->fleet);
}

/* Each waits for some of lower number, submitted in any order; some are killed. */
static void make_story(struct scene *scene)
{
    for (unsigned i = 0; i < JOBS; i++) {
        char after[64] = "";
        size_t len = 0;
        unsigned n = i == 0 ? 0 : roll(scene, BEFORE_MAX + 1);
        for (unsigned k = 0; k < n; k++) {
            len += (size_t)snprintf(after + len, sizeof(after) - len, "%sJob_%u", k > 0 ? "|" : "",
                                    roll(scene, i));
        }
        unsigned run_s = 1 + roll(scene, 100);
        unsigned timeout_s = roll(scene, 40) == 0 && run_s > 1 ? run_s - 1 : run_s + 5;
        add(scene, i, roll(scene, 600), run_s, timeout_s, after);
    }
}

/* When the last job before it ended; false: one did not succeed. */
static bool opened_us(const struct scene *scene, size_t job, int64_t *out)
{
    const struct sl_job_after *after = scene->jobs.job[job].after;
    *out = scene->jobs.job[job].submit_us;
    for (uint32_t i = 0; after != NULL && i < after->n; i++) {
        const struct sl_sim_job *before = &scene->run.job[after->job[i]];
        if (before->outcome != SL_SIM_DONE) {
            return false;
        }
        *out = before->end_us > *out ? before->end_us : *out;
    }
    return true;
}

static void check(const char *gpus, bool at_once)
{
    static const char *const policies[] = {"fifo", "sjf", "p", "hrrn", "bounded"};
    size_t never = 0;
    size_t later = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct scene scene;
        init(&scene, seed);
        make_story(&scene);
        simulate(&scene, gpus, policies[seed % 5]);
        for (size_t i = 0; i < JOBS; i++) {
            int64_t open_us = 0;
            const struct sl_sim_job *job = &scene.run.job[i];
            bool opened = opened_us(&scene, i, &open_us);
            assert_int_equal(job->outcome != SL_SIM_NEVER, opened);
            never += !opened;
            later += opened && open_us > scene.jobs.job[i].submit_us;
            assert_true(!opened || (at_once ? job->start_us == open_us : job->start_us >= open_us));
        }
        tear_down(&scene);
    }
    assert_true(never > 20 && later > 100);
}

TEST_THAT(a_job_starts_when_those_before_it_have_succeeded)
{
    check("64", true);
}

TEST_THAT(with_few_gpus_it_starts_no_sooner)
{
    check("2", false);
}

TEST_THAT(jobs_that_wait_for_each_other_never_start)
{
    struct scene scene;
    init(&scene, 1);
    add(&scene, 0, 0, 5, 5, "Job_2");
    add(&scene, 1, 1, 5, 5, "Job_0");
    add(&scene, 2, 2, 5, 5, "Job_1");
    add(&scene, 3, 3, 5, 5, "Job_3");
    add(&scene, 4, 4, 5, 5, "");
    simulate(&scene, "1", "bounded");
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(scene.run.job[i].outcome, SL_SIM_NEVER);
    }
    assert_int_equal(scene.run.job[4].start_us, 4000000);
    tear_down(&scene);
}

/* The time in which jobs wait for others is not demand: allocation does not count it. */
TEST_THAT(who_waits_for_others_wants_no_gpu_yet)
{
    struct scene scene;
    init(&scene, 1);
    add(&scene, 0, 0, 50, 50, "");
    add(&scene, 1, 0, 5, 5, "Job_0");
    add(&scene, 2, 20, 10, 10, "Job_1");
    simulate(&scene, "1", "fifo");
    assert_int_equal(scene.run.started, 3);
    assert_true(scene.run.waiting_s <= 0);
    tear_down(&scene);
}
