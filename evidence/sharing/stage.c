/* One node, judged and filled by core every second. The kubelet and the GPU are modelled here:
 * docs/simulator.md says how. */
#include "evidence/sharing/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/play/stats.h"
#include "sliced/fit.h"
#include "sliced/harvest.h"
#include "sliced/usage.h"

enum {
    GPUS_MAX = 8,
    REPLICAS = 16, /* of a GPU: never what is lacking */
    WINDOW = 60,   /* telemetry.window */
    WORKLOADS = 1024,
    STARTING_S = 5, /* from a GPU given until the container runs */
    BACK_OFF_S = 10,
    BACK_OFF_MAX_S = 300,
    LAST_S = 10000000, /* no run takes that long */
    TEXT = 64,
};

#define RESOURCE "nvidia.com/gpu"

static const int64_t second_us = 1000000;
static const int64_t epoch_s = 1600000000;
/* Of an H100: without a context, with one, and more with each part of the time that it is busy. */
static const double watts_empty = 73;
static const double watts_context = 123;
static const double watts_busy = 16;
static const double neighbour_costs = 0.05; /* of its speed, each that runs beside a job */

/* A job on its way. */
struct run {
    const struct sl_sharing_job *job;
    struct sl_pod *pod; /* reference */
    int gpu;            /* -1: it waits */
    int64_t given_s;
    int64_t asleep_s; /* its container runs from then on */
    int64_t end_s;    /* -1: not yet */
    double done_s;    /* of the time alone */
    int32_t has_mib;
    unsigned restarts;
};

struct gpu {
    struct sl_sample sample[WINDOW];
    struct sl_series series;
    struct sl_usage_unit usage;
    int64_t used_mib;
    double busy;
    double watts;
    double speed;
};

struct stage {
    const struct sl_sharing_load *load;
    enum sl_sharing_scheme scheme;
    struct sl_node *node;
    struct sl_view *view;
    struct sl_past *peaks; /* lives by workload */
    struct gpu gpu[GPUS_MAX];
    struct sl_measured measured[GPUS_MAX];
    struct run *run;
    struct sl_pod **pods; /* those that run, for the view */
    uint32_t first;       /* those before it have ended */
    uint32_t come;        /* those before it have been submitted */
    uint32_t left;        /* not ended */
    bool ended;           /* some job has, since the view was made; true at first */
    struct run *held;     /* has a GPU held for it; NULL: none */
    int held_gpu;
    int32_t refused_mib; /* the least for which the view has no room, as tried so far */
    int64_t now_s;
    int64_t pass_s;              /* when the pass began */
    double memory, busy, joules; /* summed over the seconds */
    unsigned pushed, beyond;
};

/* ---- objects of Kubernetes ---- */

static struct sl_node *node_of(const struct sl_sharing_load *load, struct sl_error *err)
{
    char gpus[TEXT];
    char units[TEXT];
    char memory[TEXT];
    char replicas[TEXT];
    (void)snprintf(gpus, sizeof(gpus), "%u", load->gpus);
    (void)snprintf(units, sizeof(units), "%u", load->gpus * REPLICAS);
    (void)snprintf(memory, sizeof(memory), "%d", load->gpu_mib);
    (void)snprintf(replicas, sizeof(replicas), "%d", REPLICAS);
    struct sl_pair label[] = {
        {SL_STR("nvidia.com/gpu.product"), sl_str_of(load->product), NULL},
        {SL_STR("nvidia.com/gpu.count"), sl_str_of(gpus), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), sl_str_of(memory), &label[1]},
        {SL_STR("nvidia.com/gpu.replicas"), sl_str_of(replicas), &label[2]},
        {SL_STR("nvidia.com/gpu.sharing-strategy"), SL_STR("time-slicing"), &label[3]},
    };
    struct sl_pair offers = {SL_STR(RESOURCE), sl_str_of(units), NULL};
    struct sl_node_facts facts = {.name = SL_STR("node"),
                                  .uid = SL_STR("node"),
                                  .labels = &label[4],
                                  .allocatable = &offers,
                                  .capacity = &offers};
    return sl_node_new(&facts, err);
}

/* The memory that the job declares; under the oracle, the most that it will use. */
static int32_t declared_by(const struct stage *stage, const struct sl_sharing_job *job)
{
    return stage->scheme == SL_SCHEME_ORACLE ? job->ahead[0] : job->ask_mib;
}

/* The job's pod; bound, if assignment is not empty. */
static struct sl_pod *pod_of(const struct stage *stage, const struct run *run,
                             const char *assignment, struct sl_error *err)
{
    char uid[TEXT];
    char image[TEXT];
    char memory[TEXT];
    bool bound = assignment[0] != '\0';
    (void)snprintf(uid, sizeof(uid), "job-%u", (unsigned)(run - stage->run));
    (void)snprintf(image, sizeof(image), "image-%u", run->job->image);
    (void)snprintf(memory, sizeof(memory), "%dMi", declared_by(stage, run->job));
    struct sl_pair declared = {SL_STR("sliced.dev/gpu-memory"), sl_str_of(memory), NULL};
    struct sl_pair assigned = {SL_STR("sliced.dev/assignment"), sl_str_of(assignment), &declared};
    struct sl_pair limit = {SL_STR(RESOURCE), SL_STR("1"), NULL};
    struct sl_container_facts container = {
        .name = SL_STR("main"), .image = sl_str_of(image), .limits = &limit};
    struct sl_pod_facts facts = {.namespace = SL_STR("sharing"),
                                 .name = sl_str_of(uid),
                                 .uid = sl_str_of(uid),
                                 .created_us = (epoch_s + run->job->submit_s) * second_us,
                                 .annotations = bound ? &assigned : &declared,
                                 .containers = &container};
    if (bound) {
        facts.node_name = SL_STR("node");
        facts.phase = SL_STR("Running");
        facts.started_us = (epoch_s + stage->now_s + 1) * second_us;
    }
    return sl_pod_new(&facts, err);
}

/* The view as it is now; without a GPU that is held for the first in line, if one is given. */
static int view_renew(struct stage *stage, int without, struct sl_error *err)
{
    int16_t index = (int16_t)without;
    struct sl_host_use beside = {.measured = stage->measured, .n_measured = stage->load->gpus};
    size_t n = 0;
    for (uint32_t i = stage->first; i < stage->come; i++) {
        if (stage->run[i].gpu >= 0 && stage->run[i].end_s < 0) {
            stage->pods[n++] = stage->run[i].pod;
        }
    }
    struct sl_node *node = sl_node_marked(stage->node, &index, without >= 0);
    struct sl_view *view = node == NULL ? NULL : sl_view_new_beside(node, stage->pods, n, &beside);
    if (node != NULL) {
        sl_node_unref(node);
    }
    if (view == NULL) {
        return sl_error_nomem(err);
    }
    sl_view_free(stage->view);
    stage->view = view;
    stage->refused_mib = INT32_MAX;
    return 0;
}

/* ---- what happens on the GPUs ---- */

static bool is_running(const struct stage *stage, const struct run *run)
{
    return run->gpu >= 0 && run->end_s < 0 && run->asleep_s <= stage->now_s;
}

static double watts_of(const struct sl_sharing_load *load, unsigned n, double busy)
{
    if (load->watts_with[0] > 0) {
        return load->watts_with[n < SL_SHARING_TOGETHER ? n : SL_SHARING_TOGETHER - 1];
    }
    return n == 0 ? watts_empty : watts_context + watts_busy * busy;
}

/* Time-slicing: GPUs serve what keeps them busy in turns, and each neighbour costs a little more.
 */
static void speeds_settle(struct stage *stage)
{
    unsigned n[GPUS_MAX] = {0};
    double busy[GPUS_MAX] = {0};
    for (uint32_t i = stage->first; i < stage->come; i++) {
        const struct run *run = &stage->run[i];
        if (is_running(stage, run)) {
            n[run->gpu]++;
            busy[run->gpu] += run->job->busy;
        }
    }
    for (unsigned g = 0; g < stage->load->gpus; g++) {
        const double *measured = stage->load->busy_with;
        double shared = n[g] > 1 ? 1 + neighbour_costs * (n[g] - 1) : 1;
        stage->gpu[g].speed = 1 / ((busy[g] > 1 ? busy[g] : 1) * shared);
        if (measured[1] > 0) {
            busy[g] = measured[n[g] < SL_SHARING_TOGETHER ? n[g] : SL_SHARING_TOGETHER - 1];
        }
        stage->gpu[g].busy = busy[g] < 1 ? busy[g] : 1;
        stage->gpu[g].watts = watts_of(stage->load, n[g], stage->gpu[g].busy);
    }
}

static void run_take(struct stage *stage, struct run *run, int32_t mib)
{
    stage->gpu[run->gpu].used_mib += mib - run->has_mib;
    run->has_mib = mib;
}

/* Would the memory suffice if none took more than it asked for? */
static bool fits_by_asks(const struct stage *stage, const struct run *grows, int32_t wanted_mib)
{
    int64_t sum = 0;
    for (uint32_t i = stage->first; i < stage->come; i++) {
        const struct run *run = &stage->run[i];
        int32_t mib = run == grows ? wanted_mib : run->has_mib;
        bool there = run->gpu == grows->gpu && run->end_s < 0;
        sum += there ? (mib < run->job->ask_mib ? mib : run->job->ask_mib) : 0;
    }
    return sum <= stage->load->gpu_mib;
}

/* Memory is refused to who asks for more of it: its container ends, and the kubelet starts it again
 * from the beginning, later each time. */
static void run_push_out(struct stage *stage, struct run *run, int32_t wanted_mib)
{
    int64_t wait_s = BACK_OFF_S;
    for (unsigned i = 0; i < run->restarts && wait_s < BACK_OFF_MAX_S; i++) {
        wait_s *= 2;
    }
    bool excess = fits_by_asks(stage, run, wanted_mib);
    stage->beyond += excess;
    stage->pushed += !excess;
    run_take(stage, run, 0);
    run->restarts++;
    run->done_s = 0;
    run->asleep_s = stage->now_s + (wait_s < BACK_OFF_MAX_S ? wait_s : BACK_OFF_MAX_S);
}

static void run_end(struct stage *stage, struct run *run)
{
    run_take(stage, run, 0);
    run->end_s = stage->now_s;
    stage->left--;
    stage->ended = true;
}

/* The memory that the job wants at this second; -1: it has ended. */
static int32_t run_advance(struct stage *stage, struct run *run)
{
    run->done_s += stage->gpu[run->gpu].speed;
    uint32_t at = (uint32_t)run->done_s;
    return at < run->job->length ? run->job->use[at] : -1;
}

/* One second: first what ends or shrinks, then what grows, the pod that came first before others.
 */
static void second_pass(struct stage *stage)
{
    speeds_settle(stage);
    for (uint32_t i = stage->first; i < stage->come; i++) {
        struct run *run = &stage->run[i];
        if (!is_running(stage, run)) {
            continue;
        }
        int32_t wanted = run_advance(stage, run);
        if (wanted < 0) {
            run_end(stage, run);
        } else if (wanted < run->has_mib) {
            run_take(stage, run, wanted);
        }
    }
    for (uint32_t i = stage->first; i < stage->come; i++) {
        struct run *run = &stage->run[i];
        if (!is_running(stage, run)) {
            continue;
        }
        int32_t wanted = run->job->use[(uint32_t)run->done_s];
        if (stage->gpu[run->gpu].used_mib - run->has_mib + wanted > stage->load->gpu_mib) {
            run_push_out(stage, run, wanted);
        } else {
            run_take(stage, run, wanted);
        }
    }
    while (stage->first < stage->come && stage->run[stage->first].end_s >= 0) {
        stage->first++;
    }
}

static void second_measure(struct stage *stage)
{
    int64_t at_us = (epoch_s + stage->now_s) * second_us;
    for (unsigned g = 0; g < stage->load->gpus; g++) {
        struct gpu *gpu = &stage->gpu[g];
        (void)sl_series_put(&gpu->series, at_us, SL_FIGURE_USED, gpu->used_mib);
        (void)sl_series_put(&gpu->series, at_us, SL_FIGURE_BUSY, (int64_t)(gpu->busy * 1000));
        stage->memory += (double)gpu->used_mib / stage->load->gpu_mib / stage->load->gpus;
        stage->busy += gpu->busy / stage->load->gpus;
        stage->joules += gpu->watts;
    }
}

/* ---- decisions ---- */

/* The daemon's defaults, but with an exporter's interval of one second. */
static struct sl_usage_rule rule_of(const struct stage *stage)
{
    static const enum sl_sharing sharing[SL_SCHEMES] = {
        [SL_SCHEME_ASKS] = SL_SHARING_ASKS,
        [SL_SCHEME_CBP] = SL_SHARING_CBP,
        [SL_SCHEME_CBP_PP] = SL_SHARING_CBP_PP,
        [SL_SCHEME_PEAKS] = SL_SHARING_PEAKS,
    };
    return (struct sl_usage_rule){.sharing = sharing[stage->scheme],
                                  .now_us = (epoch_s + stage->now_s) * second_us,
                                  .stale_us = 90 * second_us,
                                  .gap_us = 65 * second_us,
                                  .future_us = 5 * second_us,
                                  .horizon_us = 120 * second_us,
                                  .margin_permille = 150,
                                  .least = SL_HARVEST_SAMPLES_MIN};
}

/* The room beside all that the GPU's jobs will ever use from now on. */
static void oracle_judge(const struct stage *stage, unsigned g, struct sl_measured *out)
{
    int64_t taken = 0;
    for (uint32_t i = stage->first; i < stage->come; i++) {
        const struct run *run = &stage->run[i];
        if (run->gpu == (int)g && run->end_s < 0) {
            taken += run->job->ahead[(uint32_t)run->done_s];
        }
    }
    *out = sl_measured_none;
    out->pods = sl_view_pods_of(stage->view, g);
    out->room_mib = taken < stage->load->gpu_mib ? (int32_t)(stage->load->gpu_mib - taken) : 0;
    out->by_use = true;
    out->by = SL_SHARING_PEAKS;
    out->state = SL_SERIES_GOOD;
}

static int second_judge(struct stage *stage, struct sl_error *err)
{
    struct sl_usage_rule rule = rule_of(stage);
    int32_t used[WINDOW];
    if (stage->ended && view_renew(stage, -1, err) < 0) {
        return -1;
    }
    stage->ended = false;
    for (unsigned g = 0; g < stage->load->gpus; g++) {
        struct gpu *gpu = &stage->gpu[g];
        if (stage->scheme == SL_SCHEME_ORACLE) {
            oracle_judge(stage, g, &stage->measured[g]);
        } else {
            sl_usage_judge(stage->view, g, &gpu->series, &rule, &gpu->usage, stage->peaks, used,
                           &stage->measured[g]);
        }
    }
    return 0;
}

/* Gives the job a GPU of the view, if one has room. */
static int run_place(struct stage *stage, struct run *run, int without, struct sl_error *err)
{
    char text[SL_ASSIGNMENT_TEXT_MAX];
    struct sl_assignment assignment;
    struct sl_ask ask;
    /* By peaks, what is known of a job counts too. */
    if (stage->scheme != SL_SCHEME_PEAKS && declared_by(stage, run->job) >= stage->refused_mib) {
        return 0;
    }
    sl_pod_ask(run->pod, &ask);
    if (!sl_choose(stage->view, &ask, &assignment, NULL)) {
        stage->refused_mib = declared_by(stage, run->job);
        return 0;
    }
    (void)sl_assignment_format(stage->node, &ask, &assignment, text, sizeof(text));
    struct sl_pod *bound = pod_of(stage, run, text, err);
    if (bound == NULL) {
        return -1;
    }
    sl_pod_unref(run->pod);
    run->pod = bound;
    run->gpu = assignment.part[0].device;
    run->given_s = stage->now_s;
    run->asleep_s = stage->now_s + STARTING_S;
    return view_renew(stage, without, err);
}

/* The GPU on which the least is asked for: it will be free first, roughly. */
static int gpu_to_hold(const struct stage *stage)
{
    const struct sl_device_use *use = stage->view->device;
    int best = 0;
    for (unsigned g = 1; g < stage->load->gpus; g++) {
        best = use[g].declared_mib < use[best].declared_mib ? (int)g : best;
    }
    return best;
}

static int second_submit(struct stage *stage, struct sl_error *err)
{
    const struct sl_sharing_load *load = stage->load;
    if (load->again > 0 && stage->pass_s == 0 && stage->first == load->again) {
        stage->pass_s = stage->now_s;
        stage->memory = 0;
        stage->busy = 0;
        stage->joules = 0;
    }
    uint32_t come = stage->pass_s == 0 && load->again > 0 ? load->again : load->n;
    for (; stage->come < come && load->job[stage->come].submit_s + stage->pass_s <= stage->now_s;
         stage->come++) {
        struct run *run = &stage->run[stage->come];
        *run = (struct run){.job = &load->job[stage->come], .gpu = -1, .end_s = -1};
        run->pod = pod_of(stage, run, "", err);
        if (run->pod == NULL) {
            return -1;
        }
    }
    return 0;
}

static bool stage_has_waiting(const struct stage *stage)
{
    for (uint32_t i = stage->first; i < stage->come; i++) {
        if (stage->run[i].gpu < 0) {
            return true;
        }
    }
    return false;
}

/* Jobs go in the order of submission. The first one that fits nowhere has a GPU held for it, so
 * that it does not wait for ever; the others may go where there is room now. */
static int second_place(struct stage *stage, struct sl_error *err)
{
    struct run *held = stage->held;
    if (!stage_has_waiting(stage)) {
        return 0;
    }
    if (view_renew(stage, -1, err) < 0) {
        return -1;
    }
    if (held != NULL && run_place(stage, held, -1, err) < 0) {
        return -1;
    }
    stage->held = held != NULL && held->gpu < 0 ? held : NULL;
    if (stage->held != NULL && view_renew(stage, stage->held_gpu, err) < 0) {
        return -1;
    }
    for (uint32_t i = stage->first; i < stage->come; i++) {
        struct run *run = &stage->run[i];
        int without = stage->held != NULL ? stage->held_gpu : -1;
        if (run->gpu >= 0 || run == stage->held) {
            continue;
        }
        if (run_place(stage, run, without, err) < 0) {
            return -1;
        }
        if (run->gpu < 0 && stage->held == NULL) {
            stage->held = run;
            stage->held_gpu = gpu_to_hold(stage);
            if (view_renew(stage, stage->held_gpu, err) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* ---- the whole ---- */

static int stage_figures(const struct stage *stage, double figure[SL_SHARING_FIGURES],
                         struct sl_error *err)
{
    struct sl_summary pending;
    struct sl_summary slowdown;
    uint32_t from = stage->load->again;
    uint32_t n = stage->load->n - from;
    double span_s = (double)(stage->now_s - stage->pass_s);
    double *values = malloc(2 * (size_t)n * sizeof(*values));
    if (values == NULL) {
        return sl_error_nomem(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct run *run = &stage->run[from + i];
        values[i] = (double)(run->given_s - stage->pass_s - run->job->submit_s);
        values[n + i] = (double)(run->end_s - run->given_s) / (run->job->length + STARTING_S);
    }
    sl_summary_of(values, n, &pending);
    sl_summary_of(values + n, n, &slowdown);
    free(values);
    figure[SL_SHARING_PENDING] = pending.mean;
    figure[SL_SHARING_PENDING_P99] = pending.p99;
    figure[SL_SHARING_MEMORY] = stage->memory / span_s;
    figure[SL_SHARING_BUSY] = stage->busy / span_s;
    figure[SL_SHARING_SLOWDOWN_P99] = slowdown.p99;
    figure[SL_SHARING_MAKESPAN] = span_s;
    figure[SL_SHARING_ENERGY] = stage->joules / 1000;
    figure[SL_SHARING_PUSHED] = stage->pushed;
    figure[SL_SHARING_BEYOND] = stage->beyond;
    return 0;
}

static int stage_run(struct stage *stage, struct sl_error *err)
{
    stage->left = stage->load->n;
    stage->ended = true;
    while (stage->left > 0) {
        if (stage->now_s == LAST_S) {
            return sl_error_set(err, SL_ERR_LIMIT, "some job never ends");
        }
        stage->now_s++;
        second_pass(stage);
        second_measure(stage);
        if (second_submit(stage, err) < 0 || second_judge(stage, err) < 0 ||
            second_place(stage, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int sl_sharing_play(const struct sl_sharing_load *load, enum sl_sharing_scheme scheme,
                    double figure[SL_SHARING_FIGURES], struct sl_error *err)
{
    struct stage *stage = calloc(1, sizeof(*stage));
    int rc = -1;
    if (stage == NULL) {
        return sl_error_nomem(err);
    }
    stage->load = load;
    stage->scheme = scheme;
    stage->run = calloc(load->n, sizeof(*stage->run));
    stage->pods = calloc(load->n, sizeof(struct sl_pod *));
    stage->peaks = sl_past_new(WORKLOADS);
    for (unsigned g = 0; g < GPUS_MAX; g++) {
        stage->gpu[g].series = (struct sl_series){.sample = stage->gpu[g].sample, .cap = WINDOW};
    }
    if (stage->run == NULL || stage->pods == NULL || stage->peaks == NULL) {
        (void)sl_error_nomem(err);
        goto done;
    }
    stage->node = node_of(load, err);
    if (stage->node == NULL || stage_run(stage, err) < 0) {
        goto done;
    }
    rc = stage_figures(stage, figure, err);
done:
    for (uint32_t i = 0; stage->run != NULL && i < stage->come; i++) {
        sl_pod_unref(stage->run[i].pod);
    }
    sl_view_free(stage->view);
    if (stage->node != NULL) {
        sl_node_unref(stage->node);
    }
    sl_past_free(stage->peaks);
    free(stage->run);
    free(stage->pods);
    free(stage);
    return rc;
}
