/* reproduce repartition: days of changing demand on whole GPUs, on the best static cut,
 * and with cuts by what waits: by nos' rule and by sliced's, with either agent. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/days/day.h"
#include "evidence/days/nos_rule.h"
#include "evidence/experiments.h"
#include "evidence/shape/study.h"
#include "sim/play/experiment.h"
#include "sim/play/partition.h"

enum way { WHOLE, STATIC, NOS_RULE, NOS_AGENT, MIG_MANAGER, BOUND, WAYS };

static const struct row {
    const char *name;
    const char *partitioning;
    bool nos_rule; /* in place of sliced's */
} ways[WAYS] = {
    [WHOLE] = {"whole GPUs", "none", false},
    [STATIC] = {"best static cut", "best-static", false},
    [NOS_RULE] = {"nos' rule, nos' agent", "dynamic,actuator=nos", true},
    [NOS_AGENT] = {"sliced, nos' agent", "dynamic,actuator=nos", false},
    [MIG_MANAGER] = {"sliced, mig-manager", "dynamic,actuator=mig-manager", false},
    [BOUND] = {"no way is shorter", "none", false},
};

/* Seconds, GPU-hours done within the day, pods, plans. */
enum { RESPONSE, WAIT, LONGEST, WORK, NEVER, CUTS, FIGURES };

struct days {
    const struct sl_day *first; /* of those played */
    size_t n;
    struct sl_policy policy;
    struct sl_partitioning how[SL_DAYS][WAYS];
    struct sl_fleet fleet[SL_DAYS][WAYS];
    uint64_t seed;
    char cut[SL_DAYS][SL_FIXED_TEXT_MAX]; /* the best static one, under the first seed */
};

/* ---- one day ---- */

/* GPUs' share of what a job asks for in slices, whichever way it runs. */
static double job_share(const struct sl_workload *day, size_t job)
{
    return sl_day_kind_of(day->ask[day->job[job].ask].resource)->slices / 7.0;
}

static double work_done(int64_t end_us, const struct sl_workload *day, const struct sl_sim_run *run)
{
    double hours = 0;
    for (size_t i = 0; i < run->n; i++) {
        const struct sl_sim_job *job = &run->job[i];
        int64_t until_us = job->end_us < end_us ? job->end_us : end_us;
        if (job->outcome != SL_SIM_NEVER && until_us > job->start_us) {
            hours +=
                (double)(until_us - job->start_us) / (3600.0 * SL_SECOND_US) * job_share(day, i);
        }
    }
    return hours;
}

static int take_figures(int64_t end_us, const struct sl_workload *day,
                        const struct sl_workload *jobs, const struct sl_sim_run *run,
                        double figure[FIGURES], struct sl_error *err)
{
    struct sl_result result = {.jobs = 0};
    if (sl_result_of(jobs, run, &result, err) < 0) {
        return -1;
    }
    figure[RESPONSE] = result.response.mean;
    figure[WAIT] = result.wait.mean;
    figure[LONGEST] = result.wait.max;
    figure[NEVER] = (double)result.never;
    figure[CUTS] = (double)run->cuts;
    figure[WORK] = work_done(end_us, day, run);
    return 0;
}

static int day_run(const struct days *days, size_t which, enum way way,
                   const struct sl_workload *jobs, struct sl_sim_run *run,
                   char cut[SL_FIXED_TEXT_MAX], struct sl_error *err)
{
    struct sl_partitioning how = days->how[which][way];
    const struct sl_sim_input input = {
        .workload = jobs,
        .fleet = &days->fleet[which][way],
        .engine = &days->policy.engine,
        .part = sl_crew_part,
    };
    struct sl_nos_rule *rule = NULL;
    if (ways[way].nos_rule) {
        rule = sl_nos_rule_new(err);
        if (rule == NULL) {
            return -1;
        }
        how.cutting.rule = sl_nos_rule_plan;
        how.cutting.window_us = days->policy.engine.cutting.batch_us;
        how.cutting.state = rule;
    }
    int rc = sl_partitioned_run(&how, &input, run, cut, err);
    sl_nos_rule_free(rule);
    return rc;
}

static int way_play(void *context, size_t index, uint64_t seed, double *figure,
                    struct sl_error *err)
{
    struct days *days = context;
    enum way way = (enum way)(index % WAYS);
    size_t which = index / WAYS;
    const struct sl_day *kind = &days->first[which];
    char cut[SL_FIXED_TEXT_MAX] = "";
    struct sl_workload day;
    struct sl_workload jobs; /* the same, as asked for on whole GPUs */
    struct sl_sim_run run = {.n = 0};
    sl_workload_init(&day);
    sl_workload_init(&jobs);
    int rc = sl_day_generate(kind, seed, false, &day, err);
    if (rc == 0) {
        rc = sl_day_generate(kind, seed, way == WHOLE, &jobs, err);
    }
    if (rc == 0 && way == BOUND) {
        rc = sl_day_is_short(kind)
                 ? sl_day_bound(kind->nodes * kind->gpus, &day, &figure[WAIT], err)
                 : 0;
    } else if (rc == 0) {
        rc = day_run(days, which, way, &jobs, &run, cut, err);
        rc = rc < 0 ? rc
                    : take_figures(kind->length_s * SL_SECOND_US, &day, &jobs, &run, figure, err);
    }
    if (way == STATIC && seed == days->seed) {
        memcpy(days->cut[which], cut, sizeof(cut)); /* no other task writes it */
    }
    sl_sim_run_free(&run);
    sl_workload_free(&jobs);
    sl_workload_free(&day);
    return rc;
}

/* ---- the report ---- */

enum { DAY, WAY, MEAN_WAIT = 4 };
static const struct sl_column columns[] = {
    [DAY] = SL_COLUMN(NULL, "day", 0, 0),
    [WAY] = SL_COLUMN("", "way", 0, 0),
    {"mean response, s", "response_s", 1, 6, SL_HOW_BAND, RESPONSE, SL_OF_NONE},
    {"of best static", "response_of_static", 3, 6, SL_HOW_BAND, RESPONSE, STATIC},
    [MEAN_WAIT] = {"mean wait, s", "wait_s", 1, 6, SL_HOW_BAND, WAIT, SL_OF_NONE},
    {"longest wait, s", "longest_wait_s", 0, 6, SL_HOW_BAND, LONGEST, SL_OF_NONE},
    {"work, GPU-h", "work_gpu_h", 1, 6, SL_HOW_BAND, WORK, SL_OF_NONE},
    {"of nos' rule", "work_of_nos_rule", 3, 6, SL_HOW_BAND, WORK, NOS_RULE},
    {"never started", "never_started", 0, 6, SL_HOW_BAND, NEVER, SL_OF_NONE},
    {"cuts", "cuts", 0, 6, SL_HOW_BAND, CUTS, SL_OF_NONE},
};

/* The bound tells nothing but the wait, and only that of short days. */
static void row_fill(struct sl_study *study, const struct sl_day *day, size_t which, enum way way,
                     struct sl_rows *rows)
{
    bool is_short = sl_day_is_short(day);
    sl_rows_add(rows, way == BOUND && !is_short ? SL_ROW_IN_DATA : SL_ROW_EVERYWHERE);
    sl_rows_text(rows, DAY, "%s", day->title);
    sl_rows_text(rows, WAY, "%s", ways[way].name);
    if (way != BOUND) {
        sl_study_fill(study, which * WAYS + way, rows);
    } else if (is_short) {
        sl_study_put(study, which * WAYS + way, MEAN_WAIT, rows);
    }
}

static void fill(struct sl_study *study, const struct days *days, struct sl_rows *rows)
{
    for (size_t which = 0; which < days->n; which++) {
        const struct sl_day *day = &days->first[which];
        sl_buf_printf(&rows->heading,
                      "%s; %d A100 40GB, %d nodes of %d;\ncuts take %s; best static cut of the "
                      "first seed: GPUs %s\n\n",
                      day->title, day->nodes * day->gpus, day->nodes, day->gpus,
                      sl_day_is_short(day) ? "8 s" : "10 s by nos' agent, 60 s by the mig-manager",
                      days->cut[which]);
        for (enum way way = 0; way < WAYS; way++) {
            row_fill(study, day, which, way, rows);
        }
    }
    sl_buf_printf(&rows->closing, "\n%u seeds: medians, p5-p95 in parentheses\n", study->seeds);
}

/* ---- all of it ---- */

static int fleet_prepare(struct days *days, size_t which, enum way way, struct sl_error *err)
{
    const struct sl_day *day = &days->first[which];
    struct sl_fleet *fleet = &days->fleet[which][way];
    struct sl_partitioning *how = &days->how[which][way];
    char gpus[64];
    if (sl_partitioning_parse(ways[way].partitioning, how, err) < 0) {
        return -1;
    }
    how->cutting.max_nodes = day->max_nodes;
    how->cutting.seconds_us = day->cut_s > 0 ? day->cut_s * SL_SECOND_US : how->cutting.seconds_us;
    fleet->actuator = sl_partitioning_rule(how);
    (void)snprintf(gpus, sizeof(gpus), "%dx%d:A100-SXM4-40GB%s", day->nodes, day->gpus,
                   how->kind == SL_PARTITIONING_DYNAMIC ? ":7g.40gb" : "");
    return sl_fleet_gpus(fleet, gpus, err) < 0 || sl_partitioning_apply(how, fleet, err) < 0
               ? -1
               : sl_fleet_finish(fleet, err);
}

static int days_prepare(struct days *days, const char *which, struct sl_error *err)
{
    bool all = which == NULL;
    if (!all && strcmp(which, "long") != 0 && strcmp(which, "short") != 0) {
        return sl_error_set(err, SL_ERR_FIELD, "--days: expected long or short, found \"%.80s\"",
                            which);
    }
    days->first = &sl_days[!all && which[0] == 's' ? SL_DAYS_LONG : 0];
    days->n = all ? SL_DAYS : which[0] == 's' ? SL_DAYS - SL_DAYS_LONG : SL_DAYS_LONG;
    for (size_t i = 0; i < days->n * WAYS; i++) {
        if (fleet_prepare(days, i / WAYS, (enum way)(i % WAYS), err) < 0) {
            return -1;
        }
    }
    return sl_policy_parse(SL_STR("bounded"), &days->policy, err);
}

static int play(const struct sl_reproduce_options *options, struct sl_rows *rows,
                struct sl_error *err)
{
    struct sl_study study = {.value = NULL};
    struct days *days = calloc(1, sizeof(*days));
    if (days == NULL) {
        return sl_error_nomem(err);
    }
    days->seed = options->seed;
    for (size_t i = 0; i < (size_t)SL_DAYS * WAYS; i++) {
        sl_fleet_init(&days->fleet[i / WAYS][i % WAYS]);
    }
    int rc = days_prepare(days, options->days, err);
    rc = rc < 0 ? rc : sl_study_init(&study, days->n * WAYS, WAYS, FIGURES, options, err);
    rc = rc < 0 ? rc : sl_study_play(&study, options, "days", way_play, days, err);
    if (rc == 0) {
        fill(&study, days, rows);
    }
    for (size_t i = 0; i < (size_t)SL_DAYS * WAYS; i++) {
        sl_fleet_free(&days->fleet[i / WAYS][i % WAYS]);
    }
    sl_study_free(&study);
    free(days);
    return rc;
}

const struct sl_reproduction sl_repartition = {
    .name = "repartition",
    .summary = "a day of changing demand on 100 A100: static cuts, nos' rule, cuts by demand",
    .seeds = 20,
    SL_COLUMNS(columns),
    .run = play,
};
