/* slicesim run. */
#include "sim/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/input/trace.h"
#include "sim/output/report.h"
#include "sim/play/experiment.h"
#include "sliced/timeout.h"
#include "util/clock.h"
#include "util/timestamp.h"

enum { FILE_MAX_BYTES = 1 << 30 };

struct command {
    const struct sl_sim_options *options;
    struct sl_generator generator;
    struct sl_distribution runtime;
    struct sl_estimate_error estimate;
    struct sl_source source;
    struct sl_fleet fleet;
    struct sl_policies policies;
    struct sl_partitioning partitioning;
    struct sl_workload queue; /* of --live */
    struct sl_sim_live live;
};

static int needs_one(int given, const char *what, const char *names, struct sl_error *err)
{
    if (given == 1) {
        return 0;
    }
    return sl_error_set(err, SL_ERR_FIELD, given == 0 ? "%s: give one of %s" : "%s: only one of %s",
                        what, names);
}

/* Jobs, nodes, run times and timeouts are those of the cluster. */
static int check_live(const struct sl_sim_options *options, struct sl_error *err)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {
        {"--trace", options->trace != NULL},       {"--generate", options->generate != NULL},
        {"--cluster", options->n_cluster > 0},     {"--nodes", options->nodes != NULL},
        {"--gpus", options->gpus != NULL},         {"--runtime", options->runtime != NULL},
        {"--estimate", options->estimate != NULL}, {"--seeds", options->seeds > 0},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (others[i].given) {
            return sl_error_set(err, SL_ERR_FIELD, "%s: not with --live, which has it all",
                                others[i].name);
        }
    }
    return 0;
}

static int read_source(struct command *command, struct sl_error *err)
{
    const struct sl_sim_options *options = command->options;
    struct sl_source *source = &command->source;
    if (options->live != NULL) {
        source->queue = &command->queue;
        return check_live(options, err);
    }
    if (options->at != NULL || options->horizon != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "%s: only with --live",
                            options->at != NULL ? "--at" : "--for");
    }
    if (needs_one((options->trace != NULL) + (options->generate != NULL), "which jobs",
                  "--trace FORMAT:FILE, --generate SPEC, --live FILE", err) < 0) {
        return -1;
    }
    if (options->generate != NULL) {
        source->generator = &command->generator;
        if (sl_generator_parse(sl_str_of(options->generate), &command->generator, err) < 0) {
            return sl_error_wrap(err, "--generate");
        }
    }
    source->trace = options->trace;
    if (options->runtime != NULL) {
        source->runtime = &command->runtime;
        if (sl_distribution_parse(sl_str_of(options->runtime), &command->runtime, err) < 0) {
            return sl_error_wrap(err, "--runtime");
        }
    }
    if (options->estimate != NULL) {
        source->estimate = &command->estimate;
        if (sl_estimate_parse(sl_str_of(options->estimate), &command->estimate, err) < 0) {
            return sl_error_wrap(err, "--estimate");
        }
    }
    return 0;
}

/* With the nodes: that they may be cut is known by then. */
static int read_live(struct command *command, struct sl_error *err)
{
    const struct sl_sim_options *options = command->options;
    int64_t now_us = sl_clock_real_us();
    int64_t span_s = 0;
    if (options->at != NULL && !sl_time_parse(sl_str_of(options->at), &now_us)) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "--at \"%s\": expected a time such as 2026-11-21T12:00:00Z",
                            options->at);
    }
    if (options->horizon != NULL && !sl_timeout_parse(sl_str_of(options->horizon), &span_s)) {
        return sl_error_set(err, SL_ERR_FIELD, "--for \"%s\": expected a duration such as 7d",
                            options->horizon);
    }
    if (sl_live_read(options->live, now_us, &command->fleet, &command->queue,
                     &command->live.begin_us, err) < 0) {
        return sl_error_wrap(err, "--live");
    }
    command->live.until_us =
        span_s > 0 ? command->live.begin_us + span_s * SL_SECOND_US : INT64_MAX;
    return 0;
}

static int load_fleet(struct command *command, struct sl_error *err)
{
    const struct sl_sim_options *options = command->options;
    int given = (options->n_cluster > 0) + (options->nodes != NULL) + (options->gpus != NULL);
    if (needs_one(given, "which nodes", "--cluster FILE, --nodes FORMAT:FILE, --gpus N", err) < 0) {
        return -1;
    }
    if (options->n_cluster > 0) {
        return sl_fleet_manifests(&command->fleet, options->cluster, options->n_cluster, err);
    }
    if (options->nodes != NULL) {
        return sl_fleet_list(&command->fleet, options->nodes, err) < 0
                   ? sl_error_wrap(err, "--nodes")
                   : 0;
    }
    return sl_fleet_gpus(&command->fleet, options->gpus, err) < 0 ? sl_error_wrap(err, "--gpus")
                                                                  : 0;
}

static int read_fleet(struct command *command, struct sl_error *err)
{
    command->fleet.actuator = sl_partitioning_rule(&command->partitioning);
    int rc = command->options->live != NULL ? read_live(command, err) : load_fleet(command, err);
    if (rc == 0 && sl_partitioning_apply(&command->partitioning, &command->fleet, err) < 0) {
        rc = sl_error_wrap(err, "--partitioning");
    }
    return rc < 0 ? -1 : sl_fleet_finish(&command->fleet, err);
}

static int read_partitioning(struct command *command, struct sl_error *err)
{
    const char *text = command->options->partitioning;
    return text != NULL && sl_partitioning_parse(text, &command->partitioning, err) < 0
               ? sl_error_wrap(err, "--partitioning")
               : 0;
}

static int read_policies(struct command *command, struct sl_error *err)
{
    if (command->options->policy == NULL) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "which policies: --policy fifo,sjf,p,hrrn,bounded or some of them");
    }
    return sl_policies_parse(command->options->policy, &command->policies, err) < 0
               ? sl_error_wrap(err, "--policy")
               : 0;
}

static int64_t units_of(const void *context, const char *resource, const char *model)
{
    const struct command *command = context;
    return sl_fleet_units(&command->fleet, resource, model);
}

static int check_tenants(const struct command *command, struct sl_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < command->policies.n && rc == 0; i++) {
        const struct sl_policy *policy = &command->policies.policy[i];
        rc =
            policy->tenants == NULL ? 0 : sl_tenants_check(policy->tenants, units_of, command, err);
        rc = rc < 0 ? sl_error_wrap(err, "--policy %s", policy->name) : 0;
    }
    return rc;
}

/* Notes how many jobs never ran and why, by the names of docs/reasons.md, and the first of them. */
static void note_never(const struct sl_experiment *experiment)
{
    const struct sl_result *worst = &experiment->result[0];
    for (size_t i = 1; i < experiment->n; i++) {
        worst = experiment->result[i].never > worst->never ? &experiment->result[i] : worst;
    }
    if (worst->never == 0) {
        return;
    }
    (void)fprintf(stderr,
                  "slicesim: %s%zu of %zu jobs never started:", experiment->n > 1 ? "up to " : "",
                  worst->never, worst->never + worst->jobs);
    for (unsigned i = 0; i < SL_HOLD_REASONS; i++) {
        if (worst->never_by[i] > 0) {
            (void)fprintf(stderr, " %zu %s", worst->never_by[i],
                          sl_hold_reason_name((enum sl_hold_reason)i));
        }
    }
    if (worst->first_never < experiment->base.n) {
        const struct sl_job *job = &experiment->base.job[worst->first_never];
        const struct sl_job_ask *ask = &experiment->base.ask[job->ask];
        (void)fprintf(stderr, "; the first is %s/%s, which asks for %lld of %s", job->namespace,
                      job->name, (long long)ask->count, ask->resource);
    }
    if (worst->never_text != NULL) {
        (void)fprintf(stderr, ": %s", worst->never_text);
    }
    (void)fputc('\n', stderr);
}

static void note_progress(const struct command *command, const struct sl_experiment *experiment)
{
    if (command->options->quiet) {
        return;
    }
    if (experiment->passed_over > 0) {
        (void)fprintf(stderr,
                      "slicesim: %zu records passed over: they ask for no GPU, did not run or "
                      "are of no known job\n",
                      experiment->passed_over);
    }
    if (experiment->base.unread != NULL) {
        (void)fprintf(stderr, "slicesim: columns of the trace that nobody reads: %s\n",
                      experiment->base.unread);
    }
    if (command->fleet.waiting > 0) {
        (void)fprintf(stderr, "slicesim: %zu waiting pods of the manifests passed over\n",
                      command->fleet.waiting);
    }
    if (experiment->seeds > 1 && !sl_source_random(&command->source)) {
        (void)fputs("slicesim: this trace is the same for every seed; --estimate factor:LOW:HIGH "
                    "or --runtime DISTRIBUTION draw something from it\n",
                    stderr);
    }
    note_never(experiment);
}

/* Writes what the report makes of the experiment, unless path is NULL. */
static int write_file(const char *option, const char *path, const struct sl_experiment *experiment,
                      void (*report)(const struct sl_experiment *experiment, struct sl_buf *out),
                      struct sl_error *err)
{
    struct sl_buf text;
    if (path == NULL) {
        return 0;
    }
    sl_buf_init(&text, FILE_MAX_BYTES);
    report(experiment, &text);
    int rc = text.failed != SL_BUF_OK ? sl_error_nomem(err) : 0;
    FILE *file = rc < 0 ? NULL : fopen(path, "we");
    bool written = file != NULL && fwrite(text.data, 1, text.len, file) == text.len;
    written = file != NULL && fclose(file) == 0 && written;
    if (rc == 0 && !written) {
        rc = sl_error_set(err, SL_ERR_SYSTEM, "%s %s: %s", option, path,
                          strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    sl_buf_free(&text);
    return rc;
}

static int command_run(struct command *command, struct sl_buf *out, struct sl_error *err)
{
    static void (*const report[])(const struct sl_experiment *experiment, struct sl_buf *out) = {
        [SL_OUTPUT_TABLE] = sl_report_table,
        [SL_OUTPUT_CSV] = sl_report_csv,
        [SL_OUTPUT_JSON] = sl_report_json,
    };
    const struct sl_sim_options *options = command->options;
    struct sl_experiment experiment = {
        .source = &command->source,
        .fleet = &command->fleet,
        .policies = &command->policies,
        .live = options->live != NULL ? &command->live : NULL,
        .partitioning = options->partitioning != NULL ? &command->partitioning : NULL,
        .seed = options->seed,
        .seeds = options->seeds > 0 ? (uint32_t)options->seeds : 1,
        .crew = {.threads = (unsigned)options->threads,
                 .progress = !options->quiet,
                 .doing = "simulating"},
        .keep = options->decisions != NULL || options->commands != NULL,
        .commands = options->commands != NULL,
        .audit = options->audit,
    };
    int rc = sl_experiment_run(&experiment, err);
    if (rc == 0) {
        note_progress(command, &experiment);
        report[options->output](&experiment, out);
    }
    if (rc == 0) {
        rc = write_file("--decisions", options->decisions, &experiment, sl_report_decisions, err);
    }
    if (rc == 0) {
        rc = write_file("--commands", options->commands, &experiment, sl_report_commands, err);
    }
    sl_experiment_free(&experiment);
    return rc;
}

int sl_sim_command_run(const struct sl_sim_options *options, struct sl_buf *out,
                       struct sl_error *err)
{
    struct command *command = calloc(1, sizeof(*command));
    if (command == NULL) {
        return sl_error_nomem(err);
    }
    command->options = options;
    sl_fleet_init(&command->fleet);
    sl_workload_init(&command->queue);
    int rc = -1;
    if (read_source(command, err) == 0 && read_policies(command, err) == 0 &&
        read_partitioning(command, err) == 0 && read_fleet(command, err) == 0 &&
        check_tenants(command, err) == 0) {
        rc = command_run(command, out, err);
    }
    sl_policies_free(&command->policies);
    sl_fleet_free(&command->fleet);
    sl_workload_free(&command->queue);
    free(command);
    return rc;
}
