/* The simulation against invariants that are checked from what it says alone, and against queues
 * simulated in a few lines of their own. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "sim/play/experiment.h"

static struct sl_error error;

struct scene {
    struct sl_generator generator;
    struct sl_workload jobs;
    struct sl_fleet fleet;
    struct sl_policy policy;
    struct sl_sim_run run;
};

static void set_up(struct scene *scene, const char *generate, uint64_t seed, const char *gpus,
                   int64_t share_units)
{
    memset(scene, 0, sizeof(*scene));
    sl_fleet_init(&scene->fleet);
    sl_workload_init(&scene->jobs);
    if (sl_generator_parse(sl_str_of(generate), &scene->generator, &error) < 0 ||
        sl_generate(&scene->generator, seed, &scene->jobs, &error) < 0) {
        fail_msg("%s: %s", generate, error.message);
    }
    if (share_units == 0) {
        assert_int_equal(sl_fleet_gpus(&scene->fleet, gpus, &error), 0);
    }
    for (int i = 0; i < 3 && share_units > 0; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "n%d", i);
        const struct sl_fleet_node node = {.name = name, .gpus = 4, .share_units = share_units};
        assert_int_equal(sl_fleet_add(&scene->fleet, &node, &error), 0);
    }
    assert_int_equal(sl_fleet_finish(&scene->fleet, &error), 0);
}

static void simulate(struct scene *scene, const char *policy)
{
    sl_sim_run_free(&scene->run);
    if (sl_policy_parse(sl_str_of(policy), &scene->policy, &error) < 0) {
        fail_msg("%s", error.message);
    }
    const struct sl_sim_input input = {.workload = &scene->jobs,
                                       .fleet = &scene->fleet,
                                       .engine = &scene->policy.engine,
                                       .keep_places = true};
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

/* ---- nobody overuses a device ---- */

struct part {
    char place[64]; /* node, device, and start of an instance */
    int64_t amount;
    int64_t begin_us;
    int64_t end_us;
};

/* Takes a job's place apart: "nvidia.com/gpu=0,3", "aliyun.com/gpu-mem=1*250", "...=0/2". A whole
 * GPU is `whole` units of its device. Returns how many parts there are. */
static size_t parts_of(const struct scene *scene, size_t job, int64_t whole, struct part *out)
{
    const struct sl_sim_job *run = &scene->run.job[job];
    const char *at = strchr(run->place, '=');
    size_t n = 0;
    assert_non_null(at);
    while (*at != '\0') {
        size_t len = strcspn(at + 1, ",");
        struct part *part = &out[n++];
        size_t name = strcspn(at + 1, ",*");
        (void)snprintf(part->place, sizeof(part->place), "%d:%.*s", run->node, (int)name, at + 1);
        part->amount = name < len ? strtoll(at + 1 + name + 1, NULL, 10) : whole;
        part->begin_us = run->start_us;
        part->end_us = run->end_us;
        at += len + 1;
    }
    return n;
}

static void assert_no_overuse(const struct scene *scene, int64_t units)
{
    struct part *part = calloc(scene->run.n * 8 + 8, sizeof(*part));
    size_t n = 0;
    for (size_t i = 0; i < scene->run.n; i++) {
        if (scene->run.job[i].outcome != SL_SIM_NEVER) {
            int64_t count = scene->jobs.ask[scene->jobs.job[i].ask].count;
            size_t more = parts_of(scene, i, units, &part[n]);
            int64_t sum = 0;
            for (size_t k = n; k < n + more; k++) {
                sum += part[k].amount;
            }
            bool whole = strstr(scene->run.job[i].place, "gpu-mem") == NULL;
            assert_int_equal(sum, whole ? count * units : count);
            n += more;
        }
    }
    for (size_t i = 0; i < n; i++) {
        int64_t used = 0; /* at the moment part i begins */
        for (size_t k = 0; k < n; k++) {
            bool beside = part[k].begin_us <= part[i].begin_us && part[k].end_us > part[i].begin_us;
            used += beside && strcmp(part[k].place, part[i].place) == 0 ? part[k].amount : 0;
        }
        assert_true(used <= units);
    }
    free(part);
}

static void assert_times(const struct scene *scene)
{
    bool *order = calloc(scene->run.n, sizeof(*order));
    size_t started = 0;
    size_t killed = 0;
    for (size_t i = 0; i < scene->run.n; i++) {
        const struct sl_job *job = &scene->jobs.job[i];
        const struct sl_sim_job *run = &scene->run.job[i];
        int64_t timeout_us = (int64_t)job->timeout_s * 1000000;
        if (run->outcome == SL_SIM_NEVER) {
            continue;
        }
        assert_true(run->start_us >= job->submit_us);
        assert_int_equal(run->end_us - run->start_us,
                         job->run_us < timeout_us ? job->run_us : timeout_us);
        assert_int_equal(run->outcome, job->run_us > timeout_us ? SL_SIM_KILLED : SL_SIM_DONE);
        assert_false(order[run->order]);
        order[run->order] = true;
        started++;
        killed += run->outcome == SL_SIM_KILLED ? 1 : 0;
    }
    assert_int_equal(started, scene->run.started);
    assert_int_equal(killed, scene->run.killed);
    free(order);
}

static const char *const policies[] = {
    "fifo",
    "sjf",
    "p",
    "hrrn",
    "bounded",
    "bounded:c=1",
    "fifo:backfill=false",
    "sjf:score=packing",
};

TEST_THAT(whole_gpus_are_given_once_and_every_job_runs)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        set_up(
            &scene,
            "tasks=150,gap=exp:20,ask=nvidia.com/gpu:1@3+nvidia.com/gpu:2@1+nvidia.com/gpu:4@0.5,"
            "estimate=factor:0.8:4,priority=0@0.8+10@0.2",
            seed, "3x4", 0);
        for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
            simulate(&scene, policies[p]);
            assert_int_equal(scene.run.started, 150);
            assert_true(scene.run.killed > 0);
            assert_times(&scene);
            assert_no_overuse(&scene, 1);
        }
        tear_down(&scene);
    }
}

TEST_THAT(shares_and_whole_gpus_of_one_device_exclude_each_other)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        set_up(
            &scene,
            "tasks=200,gap=exp:15,ask=nvidia.com/gpu:1+nvidia.com/gpu:2+aliyun.com/gpu-mem:250@2+"
            "aliyun.com/gpu-mem:600+aliyun.com/gpu-mem:330,estimate=factor:1:5",
            seed, NULL, 1000);
        for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
            simulate(&scene, policies[p]);
            assert_int_equal(scene.run.started, 200);
            assert_times(&scene);
            assert_no_overuse(&scene, 1000);
        }
        tear_down(&scene);
    }
}

TEST_THAT(instances_are_given_once)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        set_up(&scene,
               "tasks=200,gap=exp:15,ask=nvidia.com/mig-1g.6gb:1@3+nvidia.com/mig-2g.12gb:1@1+"
               "nvidia.com/mig-1g.6gb:3@0.5",
               seed, "2x2:A30:1g.6gb*2+2g.12gb", 0);
        for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
            simulate(&scene, policies[p]);
            assert_int_equal(scene.run.started, 200);
            assert_times(&scene);
            assert_no_overuse(&scene, 1);
        }
        tear_down(&scene);
    }
}

/* ---- queues in a few lines ---- */

/* Jobs of one GPU each on `servers`: who is first by key, then submission, goes when one is free.
 */
static void queue_by(const struct sl_workload *jobs, size_t servers, bool shortest, int64_t *start)
{
    int64_t free_us[16] = {0};
    bool *gone = calloc(jobs->n, sizeof(*gone));
    for (size_t done = 0; done < jobs->n; done++) {
        size_t server = 0;
        for (size_t s = 1; s < servers; s++) {
            server = free_us[s] < free_us[server] ? s : server;
        }
        int64_t first_us = INT64_MAX; /* submission of the first that is left */
        for (size_t i = 0; i < jobs->n; i++) {
            first_us =
                !gone[i] && jobs->job[i].submit_us < first_us ? jobs->job[i].submit_us : first_us;
        }
        int64_t now_us = free_us[server] > first_us ? free_us[server] : first_us;
        size_t best = jobs->n;
        for (size_t i = 0; i < jobs->n; i++) {
            bool here = !gone[i] && jobs->job[i].submit_us <= now_us;
            if (here && (best == jobs->n ||
                         (shortest && jobs->job[i].timeout_s < jobs->job[best].timeout_s))) {
                best = i;
            }
        }
        gone[best] = true;
        start[best] = now_us;
        free_us[server] = now_us + jobs->job[best].run_us;
    }
    free(gone);
}

static void assert_starts(const char *policy, bool shortest)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t start[120];
        set_up(&scene, "tasks=120,gap=exp:60", seed, "3", 0);
        simulate(&scene, policy);
        queue_by(&scene.jobs, 3, shortest, start);
        for (size_t i = 0; i < 120; i++) {
            assert_int_equal(scene.run.job[i].start_us, start[i]);
        }
        tear_down(&scene);
    }
}

TEST_THAT(fifo_is_a_queue_of_many_servers)
{
    assert_starts("fifo", false);
}

TEST_THAT(sjf_takes_the_shortest_that_is_there)
{
    assert_starts("sjf", true);
}

/* With asks of one unit, no GPU idles while a job waits, whoever goes first. */
static void assert_nothing_idles(const struct scene *scene, size_t gpus)
{
    for (size_t i = 0; i < scene->run.n; i++) {
        int64_t at_us = scene->run.job[i].start_us - 1; /* just before it starts */
        size_t running = 0;
        if (scene->jobs.job[i].submit_us > at_us) {
            continue;
        }
        for (size_t k = 0; k < scene->run.n; k++) {
            const struct sl_sim_job *run = &scene->run.job[k];
            running += run->start_us <= at_us && run->end_us > at_us ? 1 : 0;
        }
        assert_int_equal(running, gpus);
    }
}

TEST_THAT(no_gpu_idles_while_a_job_waits_for_one)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        set_up(&scene, "tasks=150,gap=exp:40,estimate=factor:1:5,priority=0@0.9+5@0.1", seed, "5",
               0);
        for (size_t p = 0; p < sizeof(policies) / sizeof(policies[0]); p++) {
            simulate(&scene, policies[p]);
            assert_nothing_idles(&scene, 5);
        }
        tear_down(&scene);
    }
}

TEST_THAT(nobody_waits_longer_than_c_times_fifos_longest)
{
    struct scene scene;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        int64_t longest_us[2] = {0, 0};
        static const char *const pair[] = {"fifo", "bounded"};
        set_up(&scene, "tasks=150,gap=exp:60", seed, "4", 0);
        for (size_t p = 0; p < 2; p++) {
            simulate(&scene, pair[p]);
            for (size_t i = 0; i < scene.run.n; i++) {
                int64_t wait_us = scene.run.job[i].start_us - scene.jobs.job[i].submit_us;
                longest_us[p] = wait_us > longest_us[p] ? wait_us : longest_us[p];
            }
        }
        assert_true(longest_us[1] * 1000 <= longest_us[0] * SL_PROMISE_C_DEFAULT);
        tear_down(&scene);
    }
}

/* ---- results ---- */

TEST_THAT(integrals_agree_with_the_jobs_that_ran)
{
    struct scene scene;
    struct sl_result result = {.jobs = 0};
    double busy = 0;
    set_up(&scene, "tasks=100,ask=nvidia.com/gpu:1+nvidia.com/gpu:2", 3, "4", 0);
    simulate(&scene, "sjf");
    for (size_t i = 0; i < scene.run.n; i++) {
        const struct sl_sim_job *run = &scene.run.job[i];
        busy += (double)(run->end_us - run->start_us) / 1e6 *
                (double)scene.jobs.ask[scene.jobs.job[i].ask].count;
    }
    assert_int_equal(sl_result_of(&scene.jobs, &scene.run, &result, &error), 0);
    double utilisation = busy / (4 * result.makespan);
    assert_true(result.utilisation > utilisation - 1e-9 && result.utilisation < utilisation + 1e-9);
    assert_true(result.allocation >= result.utilisation);
    assert_true(result.response.mean > result.wait.mean);
    assert_true(result.slowdown.mean >= 1 && result.fairness > 0 && result.fairness <= 1);
    tear_down(&scene);
}

TEST_THAT(what_fits_nowhere_never_starts_and_blocks_nobody)
{
    struct scene scene;
    set_up(&scene, "tasks=60,ask=nvidia.com/gpu:1@5+nvidia.com/gpu:5@1", 2, "2x4", 0);
    simulate(&scene, "fifo");
    for (size_t i = 0; i < scene.run.n; i++) {
        bool wide = scene.jobs.ask[scene.jobs.job[i].ask].count == 5;
        assert_int_equal(scene.run.job[i].outcome == SL_SIM_NEVER, wide);
    }
    assert_times(&scene);
    tear_down(&scene);
}

TEST_THAT(what_never_starts_is_nobodys_waiting)
{
    struct scene scene;
    set_up(&scene,
           "tasks=40,runtime=constant:10,gap=constant:60,ask=nvidia.com/gpu:1+"
           "nvidia.com/gpu:5",
           2, "2x4", 0);
    simulate(&scene, "sjf");
    assert_true(scene.run.started > 0 && scene.run.started < 40);
    assert_true(scene.run.waiting_s <= 0);
    tear_down(&scene);
}

static void run_all(struct sl_experiment *experiment, unsigned threads)
{
    experiment->crew = (struct sl_crew){.threads = threads, .doing = "testing"};
    if (sl_experiment_run(experiment, &error) < 0) {
        fail_msg("%s", error.message);
    }
}

TEST_THAT(results_do_not_depend_on_the_number_of_threads)
{
    struct scene scene;
    struct sl_policies list;
    set_up(&scene, "tasks=60,estimate=factor:1:3", 1, "2x2", 0);
    assert_int_equal(sl_policies_parse("fifo,sjf,p,hrrn,bounded", &list, &error), 0);
    const struct sl_source source = {.generator = &scene.generator};
    struct sl_experiment one = {
        .source = &source, .fleet = &scene.fleet, .policies = &list, .seed = 5, .seeds = 12};
    struct sl_experiment many = one;
    run_all(&one, 1);
    run_all(&many, 7);
    assert_int_equal(one.n, 60);
    for (size_t i = 0; i < one.n; i++) {
        assert_memory_equal(&one.result[i].response, &many.result[i].response,
                            sizeof(one.result[i].response));
        assert_memory_equal(&one.result[i].slowdown, &many.result[i].slowdown,
                            sizeof(one.result[i].slowdown));
        assert_int_equal(one.result[i].seed, many.result[i].seed);
        assert_memory_equal(&one.result[i].fragmentation, &many.result[i].fragmentation,
                            sizeof(one.result[i].fragmentation));
    }
    sl_experiment_free(&one);
    sl_experiment_free(&many);
    tear_down(&scene);
}
