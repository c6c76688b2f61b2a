/* reproduce repartition: days of changing demand on whole GPUs, on the best static cut,
 * and with cuts by what waits: by nos' rule and by sliced's, with either agent. */
#include <stdio.h>
#include <stdlib.h>

#include "evidence/days/day.h"
#include "evidence/days/nos_rule.h"
#include "evidence/reproduce.h"
#include "sim/output/report.h"
#include "sim/play/experiment.h"
#include "sim/play/partition.h"

enum way { WHOLE, STATIC, NOS_RULE, NOS_AGENT, MIG_MANAGER, BOUND, WAYS };

static const struct row {
    const char *name;
    const char *partitioning;
    bool nos_rule; /* in place of sliced's */
} rows[WAYS] = {
    [WHOLE] = {"whole GPUs", "none", false},
    [STATIC] = {"best static cut", "best-static", false},
    [NOS_RULE] = {"nos' rule, nos' agent", "dynamic,actuator=nos", true},
    [NOS_AGENT] = {"sliced, nos' agent", "dynamic,actuator=nos", false},
    [MIG_MANAGER] = {"sliced, mig-manager", "dynamic,actuator=mig-manager", false},
    [BOUND] = {"no way is shorter", "none", false},
};

struct outcome {
    double response; /* mean, s */
    double wait;     /* mean, s */
    double longest;  /* wait, s */
    double work;     /* GPU-hours done within the day */
    double never;    /* pods never started */
    double cuts;
    char cut[SL_FIXED_TEXT_MAX]; /* best static: which */
};

struct days {
    const struct sl_day *first; /* of those played */
    size_t n;
    struct sl_policy policy;
    struct sl_partitioning how[SL_DAYS][WAYS];
    struct sl_fleet fleet[SL_DAYS][WAYS];
    uint64_t seed;
    uint32_t seeds;
    struct outcome *outcome; /* by day, then seed, then way */
    double *values;          /* seeds of them */
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

static int outcome_of(int64_t end_us, const struct sl_workload *day, const struct sl_workload *jobs,
                      const struct sl_sim_run *run, struct outcome *out, struct sl_error *err)
{
    struct sl_result result = {.jobs = 0};
    if (sl_result_of(jobs, run, &result, NULL, err) < 0) {
        return -1;
    }
    out->response = result.response.mean;
    out->wait = result.wait.mean;
    out->longest = result.wait.max;
    out->never = (double)result.never;
    out->cuts = (double)run->cuts;
    out->work = work_done(end_us, day, run);
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
    if (rows[way].nos_rule) {
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

static int task_run(void *context, size_t index, struct sl_error *err)
{
    struct days *days = context;
    enum way way = (enum way)(index % WAYS);
    uint64_t seed = days->seed + index / WAYS % days->seeds;
    size_t which = index / WAYS / days->seeds;
    const struct sl_day *kind = &days->first[which];
    struct outcome *out = &days->outcome[index];
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
        rc = sl_day_is_short(kind) ? sl_day_bound(kind->nodes * kind->gpus, &day, &out->wait, err)
                                   : 0;
    } else if (rc == 0) {
        rc = day_run(days, which, way, &jobs, &run, out->cut, err);
        rc = rc < 0 ? rc : outcome_of(kind->length_s * SL_SECOND_US, &day, &jobs, &run, out, err);
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

static double wait_of(const struct outcome *outcome)
{
    return outcome->wait;
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
    bool unit; /* small on short days: shown with a decimal more */
} figures[] = {
    {"mean response, s", "response_s", response_of, WAYS, 0, true},
    {"of best static", "response_of_static", response_of, STATIC, 3, false},
    {"mean wait, s", "wait_s", wait_of, WAYS, 0, true},
    {"longest wait, s", "longest_wait_s", longest_of, WAYS, 0, false},
    {"work, GPU-h", "work_gpu_h", work_of, WAYS, 0, true},
    {"of nos' rule", "work_of_nos_rule", work_of, NOS_RULE, 3, false},
    {"never started", "never_started", never_of, WAYS, 0, false},
    {"cuts", "cuts", cuts_of, WAYS, 0, false},
};
enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

static struct sl_band band_of(const struct days *days, size_t which, const struct figure *figure,
                              enum way way)
{
    for (uint32_t i = 0; i < days->seeds; i++) {
        const struct outcome *outcome = &days->outcome[(which * days->seeds + i) * WAYS];
        double base = figure->against == WAYS ? 1 : figure->of(&outcome[figure->against]);
        days->values[i] = figure->of(&outcome[way]) / (base > 0 ? base : 1);
    }
    return sl_band_of(days->values, days->seeds);
}

/* The bound tells nothing but the wait, and only that of short days. */
static bool is_known(const struct sl_day *day, const struct figure *figure, enum way way)
{
    return way != BOUND || (sl_day_is_short(day) && figure->of == wait_of);
}

static void put_figure(const struct days *days, size_t which, size_t f, enum way way,
                       struct sl_columns *columns)
{
    struct sl_band band = band_of(days, which, &figures[f], way);
    bool fine = sl_day_is_short(&days->first[which]) && figures[f].unit;
    int decimals = figures[f].decimals + fine;
    if (!is_known(&days->first[which], &figures[f], way)) {
        sl_columns_put(columns, f + 1, "-");
    } else if (band.p95 > band.p5) {
        sl_columns_put(columns, f + 1, "%.*f (%.*f-%.*f)", decimals, band.median, decimals, band.p5,
                       decimals, band.p95);
    } else {
        sl_columns_put(columns, f + 1, "%.*f", decimals, band.median);
    }
}

static void write_table(const struct days *days, size_t which, struct sl_buf *out)
{
    const struct sl_day *day = &days->first[which];
    const size_t first = which * days->seeds * WAYS;
    struct sl_columns columns;
    sl_buf_printf(out, "%s%s; %d A100 40GB, %d nodes of %d;\ncuts take %s\n\n",
                  which > 0 ? "\n" : "", day->title, day->nodes * day->gpus, day->nodes, day->gpus,
                  sl_day_is_short(day) ? "8 s" : "10 s by nos' agent, 60 s by the mig-manager");
    sl_columns_init(&columns, FIGURES + 1);
    sl_columns_row(&columns);
    for (size_t f = 0; f < FIGURES; f++) {
        sl_columns_put(&columns, f + 1, "%s", figures[f].title);
    }
    for (enum way way = 0; way < (sl_day_is_short(day) ? WAYS : BOUND); way++) {
        sl_columns_row(&columns);
        sl_columns_put(&columns, 0, "%s", rows[way].name);
        for (size_t f = 0; f < FIGURES; f++) {
            put_figure(days, which, f, way, &columns);
        }
    }
    sl_columns_print(&columns, out);
    sl_buf_printf(out,
                  "\n%u seeds: medians, p5-p95 in parentheses. Best static, of the first seed: "
                  "GPUs %s\n",
                  days->seeds, days->outcome[first + STATIC].cut);
}

static void write_rows(const struct days *days, size_t which, bool json, struct sl_buf *out)
{
    const char *title = days->first[which].title;
    for (enum way way = 0; way < WAYS; way++) {
        sl_buf_printf(out, json ? "  {\"day\": \"%s\", \"way\": \"%s\"" : "\"%s\",\"%s\"", title,
                      rows[way].name);
        for (size_t f = 0; f < FIGURES; f++) {
            double median = band_of(days, which, &figures[f], way).median;
            bool known = is_known(&days->first[which], &figures[f], way);
            sl_buf_puts(out, json ? ", " : ",");
            if (json) {
                sl_buf_printf(out, "\"%s\": ", figures[f].name);
            }
            if (known) {
                sl_buf_printf(out, "%.6f", median);
            } else {
                sl_buf_puts(out, json ? "null" : "");
            }
        }
        sl_buf_puts(out, !json ? "\n" : way + 1 < WAYS || which + 1 < days->n ? "},\n" : "}\n");
    }
}

static void write_report(const struct days *days, enum sl_output output, struct sl_buf *out)
{
    bool json = output == SL_OUTPUT_JSON;
    if (output != SL_OUTPUT_TABLE) {
        sl_buf_puts(out, json ? "{\"experiment\": \"repartition\", \"rows\": [\n" : "day,way");
        for (size_t f = 0; f < FIGURES && !json; f++) {
            sl_buf_printf(out, ",%s", figures[f].name);
        }
        sl_buf_puts(out, json ? "" : "\n");
    }
    for (size_t which = 0; which < days->n; which++) {
        if (output == SL_OUTPUT_TABLE) {
            write_table(days, which, out);
        } else {
            write_rows(days, which, json, out);
        }
    }
    sl_buf_puts(out, json ? "]}\n" : "");
}

/* ---- all of it ---- */

static int fleet_prepare(struct days *days, size_t which, enum way way, struct sl_error *err)
{
    const struct sl_day *day = &days->first[which];
    struct sl_fleet *fleet = &days->fleet[which][way];
    struct sl_partitioning *how = &days->how[which][way];
    char gpus[64];
    if (sl_partitioning_parse(rows[way].partitioning, how, err) < 0) {
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
    days->outcome = calloc(days->n * WAYS * days->seeds, sizeof(*days->outcome));
    days->values = calloc(days->seeds, sizeof(*days->values));
    if (days->outcome == NULL || days->values == NULL) {
        return sl_error_nomem(err);
    }
    for (size_t i = 0; i < days->n * WAYS; i++) {
        if (fleet_prepare(days, i / WAYS, (enum way)(i % WAYS), err) < 0) {
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
    for (size_t i = 0; i < (size_t)SL_DAYS * WAYS; i++) {
        sl_fleet_init(&days->fleet[i / WAYS][i % WAYS]);
    }
    int rc = days_prepare(days, options->days, err);
    if (rc == 0) {
        rc = sl_crew_run(&crew, days->n * WAYS * days->seeds, task_run, days, err);
    }
    if (rc == 0) {
        write_report(days, options->output, out);
    }
    for (size_t i = 0; i < (size_t)SL_DAYS * WAYS; i++) {
        sl_fleet_free(&days->fleet[i / WAYS][i % WAYS]);
    }
    free(days->outcome);
    free(days->values);
    free(days);
    return rc;
}
