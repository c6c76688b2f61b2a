/* Park et al., Table III: 2, 4, 6 and 8 training processes on two A30, one after another (batch),
 * one on each GPU (GPU parallel), and on eight instances 1g.6gb (MIG parallel). */
#include "evidence/experiments.h"
#include "sim/play/experiment.h"
#include "util/time.h"

enum { WAYS = 3, STEPS = 4 };

static const int processes[STEPS] = {2, 4, 6, 8};

static const struct way {
    const char *name;
    const char *gpus;
    const char *resource;
    int at_once;        /* how many run at the same time */
    int seconds[STEPS]; /* in the paper: until the last process has ended */
} ways[WAYS] = {
    {"batch", "1", "nvidia.com/gpu", 1, {34 * 60 + 58, 64 * 60 + 42, 87 * 60 + 4, 122 * 60 + 28}},
    {"GPU parallel",
     "1x2:A30",
     "nvidia.com/gpu",
     2,
     {17 * 60 + 43, 36 * 60 + 4, 52 * 60 + 51, 69 * 60 + 13}},
    {"MIG parallel",
     "1x2:A30:1g.6gb*4",
     "nvidia.com/mig-1g.6gb",
     8,
     {21 * 60 + 9, 21 * 60 + 46, 21 * 60 + 55, 24 * 60 + 27}},
};

/* How long one process took: the published total over the rounds it took, the mean of the four. */
static double service_s(const struct way *way)
{
    double sum = 0;
    for (int i = 0; i < STEPS; i++) {
        int rounds = (processes[i] + way->at_once - 1) / way->at_once;
        sum += (double)way->seconds[i] / rounds;
    }
    return sum / STEPS;
}

static int way_run(const struct way *way, int n, const struct sl_fleet *fleet, double *makespan,
                   struct sl_error *err)
{
    struct sl_policy policy;
    struct sl_workload workload;
    struct sl_sim_run run = {.n = 0};
    struct sl_result result = {.jobs = 0};
    sl_workload_init(&workload);
    int rc = sl_policy_parse(SL_STR("fifo"), &policy, err);
    for (int i = 0; i < n && rc == 0; i++) {
        const struct sl_trace_job facts = {
            .resource = sl_str_of(way->resource),
            .count = 1,
            .run_us = (int64_t)(service_s(way) + 0.5) * SL_SECOND_US,
        };
        rc = sl_workload_add(&workload, &facts, err);
    }
    if (rc == 0) {
        rc = sl_workload_finish(&workload, err);
    }
    if (rc == 0) {
        const struct sl_sim_input input = {
            .workload = &workload, .fleet = fleet, .engine = &policy.engine};
        rc = sl_sim_run(&input, &run, err);
    }
    if (rc == 0) {
        rc = sl_result_of(&workload, &run, &result, err);
        *makespan = result.makespan;
    }
    sl_sim_run_free(&run);
    sl_workload_free(&workload);
    return rc;
}

static int simulate_way(const struct way *way, double makespan[STEPS], struct sl_error *err)
{
    struct sl_fleet fleet;
    sl_fleet_init(&fleet);
    int rc = sl_fleet_gpus(&fleet, way->gpus, err) < 0 ? -1 : sl_fleet_finish(&fleet, err);
    for (int i = 0; i < STEPS && rc == 0; i++) {
        rc = way_run(way, processes[i], &fleet, &makespan[i], err);
    }
    sl_fleet_free(&fleet);
    return rc;
}

enum { WAY, PROCESSES, PAPER_TIME, HERE_TIME, PAPER, HERE, RATIO };
static const struct sl_column columns[] = {
    [WAY] = SL_COLUMN("", "way", 0, 0),
    [PROCESSES] = SL_COLUMN("processes", "processes", 0, 0),
    [PAPER_TIME] = SL_COLUMN("paper", NULL, 0, 0),
    [HERE_TIME] = SL_COLUMN("here", NULL, 0, 0),
    [PAPER] = SL_COLUMN(NULL, "paper", 0, 0),
    [HERE] = SL_COLUMN(NULL, "here", 0, 6),
    [RATIO] = SL_COLUMN("here/paper", NULL, 2, 0),
};

static void put_time(struct sl_rows *rows, unsigned column, double seconds)
{
    int s = (int)(seconds + 0.5);
    sl_rows_text(rows, column, "%d:%02d", s / 60, s % 60);
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    (void)options;
    double makespan[WAYS][STEPS] = {{0}};
    sl_buf_puts(&rows->about, "MIG against sharing (Park et al., Table III): processes on two A30, "
                              "minutes until the last has ended;\none process takes what the "
                              "paper's totals come to a round\n\n");
    for (size_t w = 0; w < WAYS; w++) {
        if (simulate_way(&ways[w], makespan[w], err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < STEPS; i++) {
            sl_rows_add(rows, SL_ROW_EVERYWHERE);
            sl_rows_text(rows, WAY, "%s", ways[w].name);
            sl_rows_number(rows, PROCESSES, processes[i]);
            put_time(rows, PAPER_TIME, ways[w].seconds[i]);
            put_time(rows, HERE_TIME, makespan[w][i]);
            sl_rows_number(rows, PAPER, ways[w].seconds[i]);
            sl_rows_number(rows, HERE, makespan[w][i]);
            sl_rows_number(rows, RATIO, makespan[w][i] / ways[w].seconds[i]);
        }
    }
    sl_buf_printf(&rows->closing,
                  "\n8 processes, MIG parallel against batch: %.1fx in the paper, %.1fx here; "
                  "against GPU\nparallel: %.1fx and %.1fx\n",
                  (double)ways[0].seconds[3] / ways[2].seconds[3], makespan[0][3] / makespan[2][3],
                  (double)ways[1].seconds[3] / ways[2].seconds[3], makespan[1][3] / makespan[2][3]);
    return 0;
}

const struct sl_reproduction sl_mig = {
    .name = "mig",
    .summary = "Park et al., Table III: batch, GPU parallel and MIG parallel on two A30",
    .seeds = 1,
    SL_COLUMNS(columns),
    .run = play,
};
