/* Pods of 1 to 16 GPUs on nodes of 16: what bounded gives on Philly's jobs for some values of c,
 * beside FIFO, the shortest first, and a longest wait that no order can undercut. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/experiments.h"
#include "sim/input/trace.h"
#include "sim/play/loop.h"
#include "sim/play/policy.h"

enum { NODE = 16, POLICIES = 6, SPANS = 2, LOADS = 3, PATH = 512 };
enum { FIFO, SJF };
static const char *const policies[POLICIES] = {"fifo",    "sjf",           "bounded:c=1",
                                               "bounded", "bounded:c=1.3", "bounded:c=2"};
static const double loads[LOADS] = {0.9, 1.0, 1.1};
static const struct span {
    const char *name;
    double from_s;
    double to_s;
} spans[SPANS] = {{"days 5 to 15", 5 * 86400.0, 15 * 86400.0},
                  {"days 10 to 20", 10 * 86400.0, 20 * 86400.0}};

struct game {
    struct sl_workload jobs;
    int64_t nodes;
    double mean_s[POLICIES];
    double longest_s[POLICIES];
    double fifo_s[POLICIES]; /* W of the run; 0: the order has none */
    double least_s;
};

static double seconds(int64_t us)
{
    return (double)us / SL_SECOND_US;
}

static double work_of(const struct sl_workload *jobs, size_t i)
{
    return (double)jobs->ask[jobs->job[i].ask].count * seconds(jobs->job[i].run_us);
}

/* ---- a bound that knows the future ---- */

enum { STEP_S = 4 * 3600, POINTS = 96, HALVINGS = 14 };

static double overlap(double start, double end, double from, double to)
{
    double first = start > from ? start : from;
    double last = end < to ? end : to;
    return last > first ? last - first : 0;
}

/* When no job waits longer than wait, each starts between its submission and so much later, and
 * does at least the lesser of its parts of [from, to) under these two starts there. Does it fit? */
static bool fits(const struct game *game, double wait, double from, double to)
{
    double left = (double)(game->nodes * NODE) * (to - from);
    for (size_t i = 0; i < game->jobs.n && left >= 0; i++) {
        const struct sl_job *job = &game->jobs.job[i];
        double submit = seconds(job->submit_us);
        double run = seconds(job->run_us);
        double early = overlap(submit, submit + run, from, to);
        double late = overlap(submit + wait, submit + wait + run, from, to);
        left -= (early < late ? early : late) * (double)game->jobs.ask[job->ask].count;
    }
    return left >= 0;
}

/* A longest wait that no order undercuts, where pods need not even stand on one node. */
static double least_wait(const struct game *game)
{
    double least = 0;
    for (int from = 0; from < POINTS; from++) {
        for (int to = from + 1; to <= POINTS; to++) {
            double low = least;
            double high = (double)POINTS * STEP_S;
            bool more = !fits(game, low, from * (double)STEP_S, to * (double)STEP_S);
            for (int i = 0; i < HALVINGS && more; i++) {
                double wait = (low + high) / 2;
                bool fit = fits(game, wait, from * (double)STEP_S, to * (double)STEP_S);
                low = fit ? low : wait;
                high = fit ? wait : high;
            }
            least = low;
        }
    }
    return least;
}

/* ---- the orders ---- */

static int policy_play(struct game *game, size_t which, struct sl_error *err)
{
    char text[32];
    struct sl_fleet fleet;
    struct sl_policy how;
    struct sl_sim_run run;
    sl_fleet_init(&fleet);
    (void)snprintf(text, sizeof(text), "%lldx%d", (long long)game->nodes, NODE);
    int rc = sl_policy_parse(sl_str_of(policies[which]), &how, err);
    rc = rc < 0 ? rc : sl_fleet_gpus(&fleet, text, err);
    rc = rc < 0 ? rc : sl_fleet_finish(&fleet, err);
    if (rc == 0) {
        const struct sl_sim_input input = {
            .workload = &game->jobs, .fleet = &fleet, .engine = &how.engine};
        rc = sl_sim_run(&input, &run, err);
        for (size_t i = 0; i < run.n && rc == 0; i++) {
            double submit = seconds(game->jobs.job[i].submit_us);
            double wait = seconds(run.job[i].start_us) - submit;
            game->mean_s[which] += (seconds(run.job[i].end_us) - submit) / (double)run.n;
            game->longest_s[which] = wait > game->longest_s[which] ? wait : game->longest_s[which];
        }
        game->fifo_s[which] = rc == 0 ? seconds(run.fifo_wait_us) : 0;
        sl_sim_run_free(&run);
    }
    sl_fleet_free(&fleet);
    return rc;
}

static int task_play(void *context, size_t index, struct sl_error *err)
{
    struct game *game = (struct game *)context + index / (POLICIES + 1);
    size_t which = index % (POLICIES + 1);
    if (which < POLICIES) {
        return policy_play(game, which, err);
    }
    game->least_s = least_wait(game);
    return 0;
}

/* ---- the jobs ---- */

static int game_make(struct game *game, const struct sl_workload *all, const struct span *span,
                     double load, struct sl_error *err)
{
    double work = 0;
    int rc = 0;
    for (size_t i = 0; i < all->n && rc == 0; i++) {
        double submit = seconds(all->job[i].submit_us);
        struct sl_trace_job facts = {.resource = SL_STR("nvidia.com/gpu"),
                                     .count = all->ask[all->job[i].ask].count,
                                     .submit_us = all->job[i].submit_us,
                                     .run_us = all->job[i].run_us};
        bool in = submit >= span->from_s && submit < span->to_s;
        rc = in ? sl_workload_add(&game->jobs, &facts, err) : 0;
        work += in ? work_of(all, i) : 0;
    }
    game->nodes = (int64_t)(work / (span->to_s - span->from_s) / load / NODE);
    game->nodes = game->nodes > 0 ? game->nodes : 1;
    if (rc == 0 && work == 0) {
        return sl_error_set(err, SL_ERR_FIELD, "philly/vc.csv has no job in %s", span->name);
    }
    return rc < 0 ? rc : sl_workload_finish(&game->jobs, err);
}

enum { SPAN, LOAD, ORDER, MEAN, OF_SJF, LONGEST, OF_FIFO, W, OF_W };
static const struct sl_column columns[] = {
    [SPAN] = SL_COLUMN(NULL, "span", 0, 0),
    [LOAD] = SL_COLUMN(NULL, "load", 1, 1),
    [ORDER] = SL_COLUMN("", "order", 0, 0),
    [MEAN] = SL_COLUMN("mean, h", "meanResponse", 2, 6),
    [OF_SJF] = SL_COLUMN("/ sjf's", "ofSjf", 3, 6),
    [LONGEST] = SL_COLUMN("longest wait, h", "longestWait", 1, 6),
    [OF_FIFO] = SL_COLUMN("/ fifo's", "longestOfFifo", 3, 6),
    [W] = SL_COLUMN("W, h", "virtualFifo", 1, 6),
    [OF_W] = SL_COLUMN("/ W", "longestOfVirtualFifo", 3, 6),
};

enum { HOUR_S = 3600 };

static void game_put(const struct game *game, size_t index, struct sl_rows *rows)
{
    const struct span *span = &spans[index / LOADS];
    sl_buf_printf(&rows->heading, "%s, load %.1f: %lld nodes\n", span->name, loads[index % LOADS],
                  (long long)game->nodes);
    for (size_t p = 0; p <= POLICIES; p++) {
        double longest = p < POLICIES ? game->longest_s[p] : game->least_s;
        sl_rows_add(rows, SL_ROW_EVERYWHERE);
        sl_rows_text(rows, SPAN, "%s", span->name);
        sl_rows_number(rows, LOAD, loads[index % LOADS]);
        sl_rows_text(rows, ORDER, "%s", p < POLICIES ? policies[p] : "no order waits less");
        if (p < POLICIES) {
            sl_rows_number(rows, MEAN, game->mean_s[p] / HOUR_S);
            sl_rows_number(rows, OF_SJF, game->mean_s[p] / game->mean_s[SJF]);
        }
        sl_rows_number(rows, LONGEST, longest / HOUR_S);
        if (game->longest_s[FIFO] > 0) {
            sl_rows_number(rows, OF_FIFO, longest / game->longest_s[FIFO]);
        }
        if (p < POLICIES && game->fifo_s[p] > 0) {
            sl_rows_number(rows, W, game->fifo_s[p] / HOUR_S);
            sl_rows_number(rows, OF_W, longest / game->fifo_s[p]);
        }
    }
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    char path[PATH];
    struct game game[SPANS * LOADS] = {0};
    struct sl_workload all;
    const struct sl_trace_how how = {.gpus_per_pod = NODE};
    const struct sl_crew crew = {options->threads, options->progress, "pods of 1 to 16 GPUs"};
    (void)snprintf(path, sizeof(path), "vc:%s/philly/vc.csv", options->data);
    sl_workload_init(&all);
    int rc = sl_trace_read(path, &how, &all, err);
    for (size_t i = 0; i < (size_t)SPANS * LOADS; i++) {
        sl_workload_init(&game[i].jobs);
        rc = rc < 0 ? rc : game_make(&game[i], &all, &spans[i / LOADS], loads[i % LOADS], err);
    }
    rc = rc < 0 ? rc
                : sl_crew_run(&crew, (size_t)SPANS * LOADS * (POLICIES + 1), task_play, game, err);
    for (size_t i = 0; i < (size_t)SPANS * LOADS; i++) {
        if (rc == 0) {
            game_put(&game[i], i, rows);
        }
        sl_workload_free(&game[i].jobs);
    }
    sl_workload_free(&all);
    sl_buf_puts(&rows->about, "Philly's pods of 1 to 16 GPUs on nodes of 16, times known\n\n");
    sl_buf_puts(&rows->closing, "\nno order waits less: by the work that must be done in spans of "
                                "time, wherever free units are.\nW: the longest wait of the FIFO "
                                "that bounded plays beside the queue.\nbounded is c=1.15\n");
    return rc;
}

const struct sl_reproduction sl_widths = {
    .name = "widths",
    .summary = "pods of 1 to 16 GPUs of Philly: longest wait, beside one that no order undercuts",
    .data = "philly/vc.csv",
    .seeds = 1,
    SL_COLUMNS(columns),
    .run = play,
};
