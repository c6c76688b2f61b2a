/* The daemon and the simulator give the same commands for cuts, drains, stages and a reload: the
 * same jobs on the same node, and the simulator's agent, played to both. */
#include "partitioner_rig.h"
#include "sim/input/become.h"
#include "sim/play/partition.h"
#include "sim/play/policy.h"
#include "util/buf.h"

#define GPUS "1x1:A100-SXM4-80GB:"

enum { JOBS_MAX = 16, PATIENCE = 40000 /* seconds */, RELOAD_S = 2500 };

struct job {
    const char *name; /* its number, as the simulator's stages have it */
    const char *resource;
    const char *after; /* NULL: none */
    int64_t submit_s;
    int64_t run_s;   /* its timeout, too */
    int64_t start_s; /* in the daemon; 0: it has not started */
    bool there;
    bool ended;
    char node[NAME_BYTES];
    char assignment[256];
};

struct play {
    struct rig rig; /* first */
    struct sl_stage_tracker *stages;
    struct job job[JOBS_MAX];
    size_t n;
    struct sl_fleet fleet;
    struct sl_partitioning how;
    struct sl_node *node; /* as it is now */
    char order[SL_CUT_NAME_MAX];
    int64_t done_us; /* when the agent ends; 0: it has nothing to do */
    struct sl_cut_run run;
    unsigned n_seen; /* writes */
    int64_t begin_us;
    struct sl_buf daemon;
    struct sl_buf simulator;
};

static struct sl_error error;

/* ---- the simulator ---- */

static void note_simulated(void *context, int64_t now_us, const char *line)
{
    struct play *play = context;
    (void)now_us;
    sl_buf_printf(&play->simulator, "%s\n", line);
}

static void simulate(struct play *play)
{
    struct sl_workload jobs;
    struct sl_policy policy;
    struct sl_sim_run run;
    char cut[SL_FIXED_TEXT_MAX];
    sl_workload_init(&jobs);
    for (size_t i = 0; i < play->n; i++) {
        const struct sl_trace_job facts = {.name = sl_str_of(play->job[i].name),
                                           .resource = sl_str_of(play->job[i].resource),
                                           .after = sl_str_of(play->job[i].after),
                                           .count = 1,
                                           .submit_us = play->job[i].submit_s * SECOND,
                                           .run_us = play->job[i].run_s * SECOND};
        assert_int_equal(sl_workload_add(&jobs, &facts, &error), 0);
    }
    assert_int_equal(sl_workload_finish(&jobs, &error), 0);
    assert_int_equal(sl_policy_parse(SL_STR("fifo"), &policy, &error), 0);
    const struct sl_sim_input input = {.workload = &jobs,
                                       .fleet = &play->fleet,
                                       .engine = &policy.engine,
                                       .record = note_simulated,
                                       .recorder = play,
                                       .audit = true};
    assert_int_equal(sl_partitioned_run(&play->how, &input, &run, cut, &error), 0);
    sl_sim_run_free(&run);
    sl_workload_free(&jobs);
}

/* ---- the daemon ---- */

static void node_become(struct play *play, const struct sl_become *become)
{
    struct sl_node *fresh = sl_node_become(play->node, become, &error);
    assert_non_null(fresh);
    sl_node_unref(play->node);
    play->node = fresh;
    assert_int_equal(sl_store_put_node(play->rig.queue.store, sl_node_ref(fresh), NULL), 0);
}

static void note_commanded(void *context, int64_t now_us, const char *line)
{
    struct play *play = context;
    char name[NAME_BYTES];
    char node[NAME_BYTES];
    char assignment[256];
    (void)now_us;
    sl_buf_printf(&play->daemon, "%s\n", line);
    if (sscanf(line, "nominate default/%63s %63s %255s", name, node, assignment) == 3) {
        for (size_t i = 0; i < play->n; i++) {
            if (strcmp(play->job[i].name, name) == 0) {
                memcpy(play->job[i].node, node, sizeof(node));
                memcpy(play->job[i].assignment, assignment, sizeof(assignment));
            }
        }
    }
}

/* The agent answers at once, and takes up the order that it hears of. */
static void agent_act(struct play *play)
{
    struct rig *rig = &play->rig;
    if (play->n_seen < rig->n_written) {
        const struct written *written = &rig->written[play->n_seen++];
        const struct sl_cut_run run = written->run;
        answer(rig, SL_CUT_WRITTEN);
        if (written->step == SL_CUT_FINISH) {
            node_become(play, &(struct sl_become){.order = play->order, .done = true});
            return;
        }
        memcpy(play->order, run.name, sizeof(play->order));
        play->run = run;
        play->done_us = rig->queue.now_us + play->how.cutting.seconds_us;
        node_become(play, &(struct sl_become){.order = play->order, .under_way = play->order});
    } else if (play->done_us > 0 && play->done_us <= rig->queue.now_us) {
        play->done_us = 0;
        node_become(play, &(struct sl_become){.cut = play->run.cut,
                                              .n = play->run.n_cuts,
                                              .order = play->order,
                                              .done = true,
                                              .under_way = play->order});
    }
}

static void pod_put(struct play *play, const struct job *job)
{
    const struct queue_rig *queue = &play->rig.queue;
    const struct rig_pod spec = {.name = job->name,
                                 .resource = job->resource,
                                 .after = job->after,
                                 .gated = job->start_s == 0,
                                 .deadline_s = job->run_s,
                                 .started_us = job->start_s == 0 ? 0 : queue->now_us};
    struct sl_pod *pod = rig_pod_new(queue, &spec);
    pod->created_us = play->begin_us + job->submit_s * SECOND;
    if (job->start_s > 0) {
        struct sl_pod *bound = sl_pod_bound_to(pod, job->node, job->assignment, SL_POD_RUNNING);
        assert_non_null(bound);
        bound->started_us = queue->now_us;
        sl_pod_unref(pod);
        pod = bound;
    }
    assert_int_equal(sl_store_put_pod(queue->store, pod, NULL), 0);
}

/* kube-scheduler and the kubelet take what is nominated at once. */
static void pods_act(struct play *play, int64_t now_s)
{
    for (size_t i = 0; i < play->n; i++) {
        struct job *job = &play->job[i];
        if (job->start_s > 0 && now_s >= job->start_s + job->run_s && !job->ended) {
            job->ended = true;
            rig_delete(&play->rig.queue, job->name);
        } else if (job->there && job->start_s == 0 && job->node[0] != '\0') {
            job->start_s = now_s;
            pod_put(play, job);
        } else if (!job->there && now_s >= job->submit_s) {
            job->there = true;
            pod_put(play, job);
        }
    }
}

static void releases_answer(struct queue_rig *queue)
{
    for (unsigned i = 0; i < queue->n_released; i++) {
        if (queue->released[i].call != NULL) {
            rig_answer(queue, i, SL_RELEASE_RELEASED);
        }
    }
}

/* In the daemon alone: nothing may come of it. */
static void reload(struct play *play)
{
    struct queue_rig *queue = &play->rig.queue;
    queue->config.queue.hold_s += 30;
    sl_queue_worker_configure(queue->worker, &queue->config);
    (void)rig_round(queue);
    sl_engine_record(queue->worker->engine, note_commanded, play);
}

static bool all_ended(const struct play *play)
{
    bool all = true;
    for (size_t i = 0; i < play->n; i++) {
        all = all && play->job[i].ended;
    }
    return all;
}

static void serve(struct play *play)
{
    struct rig *rig = &play->rig;
    play->node = sl_node_ref(play->fleet.node[0]);
    assert_int_equal(sl_store_put_node(rig->queue.store, sl_node_ref(play->node), NULL), 0);
    (void)rig_round(&rig->queue);
    sl_engine_record(rig->queue.worker->engine, note_commanded, play);
    play->begin_us = rig->queue.now_us;
    for (int64_t s = 0; s < PATIENCE && !all_ended(play); s++) {
        pods_act(play, s);
        agent_act(play);
        if (s == RELOAD_S) {
            reload(play);
        }
        (void)rig_later(&rig->queue, SECOND);
        sl_engine_audit(rig->queue.worker->engine);
        releases_answer(&rig->queue);
    }
    assert_true(all_ended(play));
    sl_engine_record(rig->queue.worker->engine, NULL, NULL);
    sl_node_unref(play->node);
}

/* ---- both ---- */

/* had: a command that must be among them. */
static void play_both(const struct job *job, size_t n, const char *profile, const char *how,
                      const char *had)
{
    static struct play play;
    char gpus[64];
    memset(&play, 0, sizeof(play));
    begin(&play.rig);
    sl_buf_init(&play.daemon, SIZE_MAX);
    sl_buf_init(&play.simulator, SIZE_MAX);
    sl_fleet_init(&play.fleet);
    memcpy(play.job, job, n * sizeof(*job));
    play.n = n;
    (void)snprintf(gpus, sizeof(gpus), GPUS "%s", profile);
    assert_int_equal(sl_partitioning_parse(how, &play.how, &error), 0);
    play.fleet.actuator = sl_partitioning_rule(&play.how);
    assert_int_equal(sl_fleet_gpus(&play.fleet, gpus, &error), 0);
    assert_int_equal(sl_fleet_finish(&play.fleet, &error), 0);
    play.rig.queue.config.partitioning.drain = play.how.cutting.drain != 0;
    play.rig.queue.config.partitioning.config_delay_us = 0; /* the simulated agent has it at once */
    const struct sl_stage_tracker_options stages = {
        .store = play.rig.queue.store, .wake = wake, .context = &play.rig};
    play.stages = sl_stage_tracker_new(&stages, NULL);
    assert_non_null(play.stages);
    play.rig.queue.worker->options.stages = play.stages;
    sl_queue_worker_configure(play.rig.queue.worker, &play.rig.queue.config);
    simulate(&play);
    serve(&play);
    sl_buf_putc(&play.simulator, '\0');
    sl_buf_putc(&play.daemon, '\0');
    assert_string_equal(play.daemon.data, play.simulator.data);
    assert_non_null(strstr(play.daemon.data, had));
    sl_buf_free(&play.daemon);
    sl_buf_free(&play.simulator);
    sl_fleet_free(&play.fleet);
    play.rig.queue.leadership = 0; /* frees the engine, which borrows the stages */
    (void)rig_round(&play.rig.queue);
    play.rig.queue.worker->options.stages = NULL;
    sl_stage_tracker_free(play.stages);
    end(&play.rig);
}

TEST_THAT(a_cut_has_the_same_commands)
{
    static const struct job jobs[] = {
        {.name = "0", .resource = SMALL, .run_s = 5000},
        {.name = "1", .resource = SMALL, .run_s = 6000},
        {.name = "2", .resource = LARGE, .submit_s = 2000, .run_s = 1000},
    };
    play_both(jobs, sizeof(jobs) / sizeof(jobs[0]), "7g.80gb", "dynamic,seconds=30,window=0",
              "cut node-00000: GPU 0 into 1x 7g.80gb\n");
}

TEST_THAT(a_day_with_a_drain_stages_and_a_reload_has_the_same_commands)
{
    static const struct job jobs[] = {
        {.name = "0", .resource = SMALL, .run_s = 5000},
        {.name = "1", .resource = SMALL, .run_s = 9000},
        {.name = "2", .resource = LARGE, .submit_s = 1000, .run_s = 1000},
        {.name = "3", .resource = SMALL, .submit_s = 2000, .run_s = 9000}, /* is held */
        {.name = "4", .resource = SMALL, .after = "5", .submit_s = 3000, .run_s = 1000},
        {.name = "5", .resource = SMALL, .submit_s = 3500, .run_s = 1000}, /* passes */
    };
    play_both(jobs, sizeof(jobs) / sizeof(jobs[0]), "1g.10gb*7",
              "dynamic,seconds=30,window=0,drain=true", "drain node-00000: for default/2\n");
}
