/* slicesim reproduce repartition: a day of changing demand on 100 A100, on whole GPUs, on the best
 * static cut, and with cuts by what waits: by nos' rule and by sliced's, with either agent. */
#include <stdlib.h>

#include "sim/experiments/day.h"
#include "sim/experiments/nos_rule.h"
#include "sim/experiments/reproduce.h"
#include "sim/output/report.h"
#include "sim/play/experiment.h"
#include "sim/play/partition.h"

enum way { WHOLE, STATIC, NOS_RULE, NOS_AGENT, MIG_MANAGER, WAYS };

static const struct row {
    const char *name;
    const char *gpus;
    const char *partitioning;
    bool nos_rule; /* in place of sliced's */
} rows[WAYS] = {
    [WHOLE] = {"whole GPUs", "25x4:A100-SXM4-40GB", "none", false},
    [STATIC] = {"best static cut", "25x4:A100-SXM4-40GB", "best-static", false},
    [NOS_RULE] = {"nos' rule, nos' agent", "25x4:A100-SXM4-40GB:7g.40gb",
                  "dynamic,actuator=nos,nodes=25", true},
    [NOS_AGENT] = {"sliced, nos' agent", "25x4:A100-SXM4-40GB:7g.40gb",
                   "dynamic,actuator=nos,nodes=25", false},
    [MIG_MANAGER] = {"sliced, mig-manager", "25x4:A100-SXM4-40GB:7g.40gb",
                     "dynamic,actuator=mig-manager,nodes=25", false},
};

struct outcome {
    double response; /* mean, s */
    double longest;  /* wait, s */
    double work;     /* GPU-hours done within the day */
    double never;    /* pods never started */
    double cuts;
    char cut[SL_FIXED_TEXT_MAX]; /* best static: which */
};

struct days {
    struct sl_policy policy;
    struct sl_partitioning how[WAYS];
    struct sl_fleet fleet[WAYS];
    uint64_t seed;
    uint32_t seeds;
    struct outcome *outcome; /* by seed, then way */
    double *values;          /* seeds of them */
};

/* ---- one day ---- */

/* GPUs' share of what a job asks for in slices, whichever way it runs. */
static double job_share(const struct sl_workload *day, size_t job)
{
    const char *resource = day->ask[day->job[job].ask].resource;
    for (int p = 0; p < SL_DAY_PROFILES; p++) {
        if (strstr(resource, sl_day_kinds[p].profile) != NULL) {
            return sl_day_kinds[p].slices / 7.0;
        }
    }
    return 1;
}

static double work_done(const struct sl_workload *day, const struct sl_sim_run *run)
{
    const int64_t end_us = SL_DAY_LENGTH_S * SL_SECOND_US;
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

static int outcome_of(const struct sl_workload *day, const struct sl_workload *jobs,
                      const struct sl_sim_run *run, struct outcome *out, struct sl_error *err)
{
    struct sl_result result = {.jobs = 0};
    if (sl_result_of(jobs, run, &result, NULL, err) < 0) {
        return -1;
    }
    out->response = result.response.mean;
    out->longest = result.wait.max;
    out->never = (double)result.never;
    out->cuts = (double)run->cuts;
    out->work = work_done(day, run);
    return 0;
}

static int day_run(const struct days *days, enum way way, const struct sl_workload *jobs,
                   struct sl_sim_run *run, char cut[SL_FIXED_TEXT_MAX], struct sl_error *err)
{
    struct sl_partitioning how = days->how[way];
    const struct sl_sim_input input = {
        .workload = jobs,
        .fleet = &days->fleet[way],
        .plan = &days->policy.plan,
        .part = sl_crew_part,
    };
    struct sl_nos_rule *rule = NULL;
    if (rows[way].nos_rule) {
        rule = sl_nos_rule_new(err);
        if (rule == NULL) {
            return -1;
        }
        how.cutting.rule = sl_nos_rule_plan;
        how.cutting.state = rule;
    }
    int rc = sl_partitioned_run(&how, &input, run, cut, err);
    sl_nos_rule_free(rule);
    return rc;
}

static int task_run(void *context, size_t index, struct sl_error *err)
{
    struct days *days = context;
    enum way way = (enum way)(index % WAYS);
    uint64_t seed = days->seed + index / WAYS;
    struct outcome *out = &days->outcome[index];
    struct sl_workload day;
    struct sl_workload jobs; /* the same, as asked for on whole GPUs */
    struct sl_sim_run run = {.n = 0};
    sl_workload_init(&day);
    sl_workload_init(&jobs);
    int rc = sl_day_generate(seed, false, &day, err);
    if (rc == 0) {
        rc = sl_day_generate(seed, way == WHOLE, &jobs, err);
    }
    if (rc == 0) {
        rc = day_run(days, way, &jobs, &run, out->cut, err);
    }
    if (rc == 0) {
        rc = outcome_of(&day, &jobs, &run, out, err);
    }
    sl_sim_run_free(&run);
    sl_workload_free(&jobs);
    sl_workload_free(&day);
    return rc;
}

/* ---- the report ---- */

static double response_of(const struct outcome *outcome)
{
    return outcome->response;
}

static double longest_of(const struct outcome *outcome)
{
    return outcome->longest;
}

static double work_of(const struct outcome *outcome)
{
    return outcome->work;
}

static double never_of(const struct outcome *outcome)
{
    return outcome->never;
}

static double cuts_of(const struct outcome *outcome)
{
    return outcome->cuts;
}

static const struct figure {
    const char *title;
    const char *name;
    double (*of)(const struct outcome *outcome);
    enum way against; /* shown over that way's in the same seed; WAYS: as it is */
    int decimals;
} figures[] = {
    {"mean response, s", "response_s", response_of, WAYS, 0},
    {"of best static", "response_of_static", response_of, STATIC, 3},
    {"longest wait, s", "longest_wait_s", longest_of, WAYS, 0},
    {"work, GPU-h", "work_gpu_h", work_of, WAYS, 0},
    {"of nos' rule", "work_of_nos_rule", work_of, NOS_RULE, 3},
    {"never started", "never_started", never_of, WAYS, 0},
    {"cuts", "cuts", cuts_of, WAYS, 0},
};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static struct sl_band band_of(const struct days *days, const struct figure *figure, enum way way)
{
    for (uint32_t i = 0; i < days->seeds; i++) {
        const struct outcome *outcome = &days->outcome[(size_t)i * WAYS];
        double base = figure->against == WAYS ? 1 : figure->of(&outcome[figure->against]);
        days->values[i] = figure->of(&outcome[way]) / (base > 0 ? base : 1);
    }
    return sl_band_of(days->values, days->seeds);
}

static void write_table(const struct days *days, struct sl_buf *out)
{
    struct sl_columns columns;
    sl_buf_printf(out,
                  "A day on %d A100 40GB, %d nodes of 4: small slices in the morning, large ones "
                  "in the evening, %d bursts;\ncuts take 10 s by nos' agent, 60 s by the "
                  "mig-manager\n\n",
                  SL_DAY_GPUS, SL_DAY_GPUS / 4, SL_DAY_BURSTS);
    sl_columns_init(&columns, FIGURES + 1);
    sl_columns_row(&columns);
    for (size_t f = 0; f < FIGURES; f++) {
        sl_columns_put(&columns, f + 1, "%s", figures[f].title);
    }
    for (enum way way = 0; way < WAYS; way++) {
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", rows[way].name);
        for (size_t f = 0; f < FIGURES; f++) {
            struct sl_band band = band_of(days, &figures[f], way);
            int decimals = figures[f].decimals;
            if (band.p95 > band.p5) {
                sl_columns_put(&columns, f + 1, "%.*f (%.*f-%.*f)", decimals, band.median, decimals,
                               band.p5, decimals, band.p95);
            } else {
                sl_columns_put(&columns, f + 1, "%.*f", decimals, band.median);
            }
        }
    }
    sl_columns_print(&columns, out);
    sl_buf_printf(out,
                  "\n%u seeds: medians, p5-p95 in parentheses. Best static, of the first seed: "
                  "GPUs %s\n",
                  days->seeds, days->outcome[STATIC].cut);
}

static void write_rows(const struct days *days, bool json, struct sl_buf *out)
{
    sl_buf_puts(out, json ? "{\"experiment\": \"repartition\", \"rows\": [\n" : "way");
    for (size_t f = 0; f < FIGURES && !json; f++) {
        sl_buf_printf(out, ",%s", figures[f].name);
    }
    sl_buf_puts(out, json ? "" : "\n");
    for (enum way way = 0; way < WAYS; way++) {
        sl_buf_printf(out, json ? "  {\"way\": \"%s\"" : "%s", rows[way].name);
        for (size_t f = 0; f < FIGURES; f++) {
            double median = band_of(days, &figures[f], way).median;
            if (json) {
                sl_buf_printf(out, ", \"%s\": %.6f", figures[f].name, median);
            } else {
                sl_buf_printf(out, ",%.6f", median);
            }
        }
        sl_buf_puts(out, !json ? "\n" : way + 1 < WAYS ? "},\n" : "}\n");
    }
    sl_buf_puts(out, json ? "]}\n" : "");
}

/* ---- all of it ---- */

static int days_prepare(struct days *days, struct sl_error *err)
{
    for (enum way way = 0; way < WAYS; way++) {
        struct sl_fleet *fleet = &days->fleet[way];
        sl_fleet_init(fleet);
        if (sl_partitioning_parse(rows[way].partitioning, &days->how[way], err) < 0) {
            return -1;
        }
        fleet->actuator = sl_partitioning_rule(&days->how[way]);
        if (sl_fleet_gpus(fleet, rows[way].gpus, err) < 0 ||
            sl_partitioning_apply(&days->how[way], fleet, err) < 0 ||
            sl_fleet_finish(fleet, err) < 0) {
            return -1;
        }
    }
    return sl_policy_parse(SL_STR("bounded"), &days->policy, err);
}

int sl_reproduce_repartition(const struct sl_reproduce_options *options, struct sl_buf *out,
                             struct sl_error *err)
{
    struct sl_crew crew = {options->threads, options->progress, "days"};
    struct days *days = calloc(1, sizeof(*days));
    if (days == NULL) {
        return sl_error_nomem(err);
    }
    days->seed = options->seed;
    days->seeds = options->seeds;
    days->outcome = calloc((size_t)WAYS * days->seeds, sizeof(*days->outcome));
    days->values = calloc(days->seeds, sizeof(*days->values));
    int rc = days->outcome == NULL || days->values == NULL ? sl_error_nomem(err)
                                                           : days_prepare(days, err);
    if (rc == 0) {
        rc = sl_crew_run(&crew, (size_t)WAYS * days->seeds, task_run, days, err);
    }
    if (rc == 0 && options->output == SL_OUTPUT_TABLE) {
        write_table(days, out);
    } else if (rc == 0) {
        write_rows(days, options->output == SL_OUTPUT_JSON, out);
    }
    for (enum way way = 0; way < WAYS; way++) {
        sl_fleet_free(&days->fleet[way]);
    }
    free(days->outcome);
    free(days->values);
    free(days);
    return rc;
}
