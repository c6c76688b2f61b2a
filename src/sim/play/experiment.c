/* Many runs. */
#include "sim/play/experiment.h"

#include <stdlib.h>

#include "sim/input/trace.h"
#include "util/time.h"

enum { RESULTS_MAX = 20000000, COMMANDS_MAX = 1 << 30 };

/* ---- the numbers of one run ---- */

/* Mean slowdown of each namespace, or of each job where there is one namespace. Returns how many.
 */
static size_t by_owner(const struct sl_workload *workload, const struct sl_sim_run *run,
                       const double *slowdown, double *out)
{
    const char *owner[256];
    size_t jobs[256] = {0};
    size_t owners = 0;
    for (size_t i = 0, k = 0; i < run->n; i++) {
        size_t at = 0;
        if (run->job[i].outcome == SL_SIM_NEVER) {
            continue;
        }
        while (at < owners && owner[at] != workload->job[i].namespace) {
            at++;
        }
        if (at == owners && owners < 256) {
            owner[owners] = workload->job[i].namespace;
            out[owners++] = 0;
        }
        at = at < 256 ? at : 255; /* the last ones share a place */
        out[at] += slowdown[k++];
        jobs[at]++;
    }
    for (size_t i = 0; i < owners; i++) {
        out[i] /= (double)jobs[i];
    }
    return owners;
}

static double fairness_of(const struct sl_workload *workload, const struct sl_sim_run *run,
                          const double *slowdown, double *spare)
{
    size_t owners = by_owner(workload, run, slowdown, spare);
    return owners > 1 ? sl_jain(spare, owners) : sl_jain(slowdown, run->started);
}

static double ratio_of(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void result_integrals(const struct sl_sim_run *run, struct sl_result *out)
{
    out->makespan = (double)(run->end_us - run->begin_us) / (double)SL_SECOND_US;
    out->utilisation = ratio_of(run->busy, run->capacity * out->makespan);
    out->fragmentation = ratio_of(run->fragmented, run->capacity * out->makespan);
    out->allocation = run->waiting_s > 0
                          ? ratio_of(run->busy_waiting, run->capacity * run->waiting_s)
                          : out->utilisation;
}

int sl_result_of(const struct sl_workload *workload, const struct sl_sim_run *run,
                 struct sl_result *out, struct sl_error *err)
{
    size_t room = run->n + 256;
    double *value = malloc(4 * room * sizeof(*value));
    if (value == NULL) {
        return sl_error_nomem(err);
    }
    double *response = value;
    double *waited = value + room;
    double *slowdown = value + 2 * room;
    size_t n = 0;
    out->first_never = SIZE_MAX;
    for (size_t i = 0; i < run->n; i++) {
        const struct sl_sim_job *job = &run->job[i];
        if (job->outcome == SL_SIM_NEVER) {
            out->first_never = out->first_never == SIZE_MAX ? i : out->first_never;
            out->never_by[job->why]++;
            continue;
        }
        int64_t submit_us = workload->job[i].submit_us;
        response[n] = (double)(job->end_us - submit_us) / (double)SL_SECOND_US;
        waited[n] = (double)(job->start_us - submit_us) / (double)SL_SECOND_US;
        slowdown[n] = (double)(job->end_us - submit_us) / (double)(job->end_us - job->start_us);
        out->finish += (double)(job->end_us - run->begin_us) / (double)SL_SECOND_US;
        n++;
    }
    out->jobs = n;
    out->never = run->n - n;
    out->killed = run->killed;
    out->backfills = run->backfills;
    out->cuts = run->cuts;
    out->finish = n > 0 ? out->finish / (double)n : 0;
    out->fairness = fairness_of(workload, run, slowdown, value + 3 * room);
    sl_summary_of(response, n, &out->response);
    sl_summary_of(waited, n, &out->wait);
    sl_summary_of(slowdown, n, &out->slowdown);
    result_integrals(run, out);
    free(value);
    out->never_text = run->never_text == NULL ? NULL : strdup(run->never_text);
    return run->never_text != NULL && out->never_text == NULL ? sl_error_nomem(err) : 0;
}

/* ---- jobs ---- */

bool sl_source_random(const struct sl_source *source)
{
    return source->generator != NULL || source->runtime != NULL ||
           (source->trace != NULL && sl_trace_random(source->trace)) ||
           (source->estimate != NULL && sl_estimate_random(source->estimate));
}

struct labour {
    struct sl_experiment *experiment;
    int64_t gpus_per_pod;    /* as in struct sl_trace_how */
    bool random;             /* else one seed stands for all */
    struct sl_buf text;      /* of a trace that is random */
    struct sl_workload base; /* of a trace, with the first seed */
};

static int make_jobs(const struct labour *labour, uint64_t seed, struct sl_workload *out,
                     struct sl_error *err)
{
    const struct sl_source *source = labour->experiment->source;
    int rc = 0;
    sl_workload_init(out);
    if (source->generator != NULL) {
        rc = sl_generate(source->generator, seed, out, err);
    } else if (source->trace != NULL && sl_trace_random(source->trace)) {
        rc = sl_trace_read(source->trace,
                           &(struct sl_trace_how){.text = &labour->text,
                                                  .seed = seed,
                                                  .gpus_per_pod = labour->gpus_per_pod},
                           out, err);
    } else {
        rc = sl_workload_copy(&labour->base, out, err);
    }
    if (rc == 0 && source->runtime != NULL) {
        sl_redraw_run_times(out, source->runtime, seed);
    }
    if (rc == 0 && source->estimate != NULL) {
        sl_redraw_timeouts(out, source->estimate, seed);
    }
    return rc;
}

/* ---- runs ---- */

struct recording {
    struct sl_detail *detail;
    const char *policy;
};

static int input_run(const struct sl_partitioning *how, const struct sl_sim_input *input,
                     struct sl_sim_run *run, struct sl_result *result, struct sl_error *err)
{
    char cut[SL_FIXED_TEXT_MAX];
    if (how == NULL) {
        return sl_sim_run(input, run, err);
    }
    if (sl_partitioned_run(how, input, run, cut, err) < 0) {
        return -1;
    }
    result->cut = cut[0] != '\0' ? strdup(cut) : NULL;
    return cut[0] != '\0' && result->cut == NULL ? sl_error_nomem(err) : 0;
}

static void note_command(void *context, int64_t now_us, const char *line)
{
    const struct recording *recording = context;
    int64_t us = now_us - SL_SIM_EPOCH_US;
    sl_buf_printf(&recording->detail->commands, "%s\t%lld.%06lld\t%s\n", recording->policy,
                  (long long)(us / SL_SECOND_US), (long long)(us % SL_SECOND_US), line);
}

static int one_run(void *context, size_t index, struct sl_error *err)
{
    struct labour *labour = context;
    struct sl_experiment *experiment = labour->experiment;
    size_t policy = index % experiment->policies->n;
    uint64_t seed = experiment->seed + index / experiment->policies->n;
    bool first = seed == experiment->seed && experiment->keep;
    struct sl_workload workload;
    struct sl_sim_run run = {.n = 0};
    struct sl_result *result = &experiment->result[index];
    struct recording recording = {.policy = experiment->policies->policy[policy].name};
    *result = (struct sl_result){.policy = policy, .seed = seed};
    if (first) {
        recording.detail = &experiment->detail[policy];
        sl_buf_init(&recording.detail->commands, COMMANDS_MAX);
    }
    if (!labour->random && seed != experiment->seed) {
        return 0;
    }
    int rc = make_jobs(labour, seed, &workload, err);
    if (rc == 0) {
        const struct sl_sim_input input = {
            .workload = &workload,
            .fleet = experiment->fleet,
            .engine = &experiment->policies->policy[policy].engine,
            .live = experiment->live,
            .keep_places = first,
            .audit = experiment->audit,
            .part = sl_crew_part,
            .record = first && experiment->commands ? note_command : NULL,
            .recorder = &recording,
        };
        rc = input_run(experiment->partitioning, &input, &run, result, err);
    }
    if (rc == 0) {
        rc = sl_result_of(&workload, &run, result, err);
    }
    if (rc == 0 && first) {
        experiment->detail[policy].workload = workload;
        experiment->detail[policy].run = run;
        return 0;
    }
    sl_sim_run_free(&run);
    sl_workload_free(&workload);
    return rc;
}

/* Copies the results of the first seed, which every seed would have given. */
static void copy_first(const struct labour *labour)
{
    struct sl_experiment *experiment = labour->experiment;
    size_t n = experiment->policies->n;
    for (size_t i = n; i < experiment->n; i++) {
        uint64_t seed = experiment->result[i].seed;
        experiment->result[i] = experiment->result[i % n];
        experiment->result[i].seed = seed;
        experiment->result[i].cut = NULL; /* the first has the texts */
        experiment->result[i].never_text = NULL;
    }
}

static int make_room(struct labour *labour, struct sl_error *err)
{
    struct sl_experiment *experiment = labour->experiment;
    experiment->n = (size_t)experiment->seeds * experiment->policies->n;
    if (experiment->n > RESULTS_MAX) {
        return sl_error_set(err, SL_ERR_LIMIT, "more than %d runs", RESULTS_MAX);
    }
    experiment->result = calloc(experiment->n, sizeof(*experiment->result));
    if (experiment->keep) {
        experiment->detail = calloc(experiment->policies->n, sizeof(*experiment->detail));
    }
    bool lacking = experiment->keep && experiment->detail == NULL;
    return experiment->result == NULL || lacking ? sl_error_nomem(err) : 0;
}

static int read_trace(struct labour *labour, struct sl_error *err)
{
    struct sl_experiment *experiment = labour->experiment;
    const char *trace = experiment->source->trace;
    bool random = sl_trace_random(trace);
    int64_t widest = sl_fleet_widest(experiment->fleet, SL_STR("nvidia.com/gpu"));
    labour->gpus_per_pod = widest < SL_TRACE_GPUS_PER_POD ? widest : SL_TRACE_GPUS_PER_POD;
    if (random && sl_trace_load(trace, &labour->text, err) < 0) {
        return -1;
    }
    const struct sl_trace_how how = {.text = random ? &labour->text : NULL,
                                     .seed = experiment->seed,
                                     .gpus_per_pod = labour->gpus_per_pod};
    int rc = sl_trace_read(trace, &how, &labour->base, err);
    experiment->passed_over = labour->base.passed_over;
    return rc;
}

int sl_experiment_run(struct sl_experiment *experiment, struct sl_error *err)
{
    struct labour labour = {.experiment = experiment};
    const struct sl_source *source = experiment->source;
    labour.random = sl_source_random(source);
    sl_workload_init(&labour.base);
    sl_buf_init(&labour.text, 0);
    int rc = make_room(&labour, err);
    if (rc == 0 && source->trace != NULL) {
        rc = read_trace(&labour, err);
    } else if (rc == 0 && source->queue != NULL) {
        rc = sl_workload_copy(source->queue, &labour.base, err);
    }
    if (rc == 0) {
        rc = sl_crew_run(&experiment->crew, experiment->n, one_run, &labour, err);
    }
    if (rc == 0 && !labour.random) {
        copy_first(&labour);
    }
    /* details borrow the trace's text */
    experiment->base = labour.base;
    sl_buf_free(&labour.text);
    return rc;
}

void sl_experiment_free(struct sl_experiment *experiment)
{
    for (size_t i = 0; experiment->detail != NULL && i < experiment->policies->n; i++) {
        sl_sim_run_free(&experiment->detail[i].run);
        sl_workload_free(&experiment->detail[i].workload);
        sl_buf_free(&experiment->detail[i].commands);
    }
    for (size_t i = 0; experiment->result != NULL && i < experiment->n; i++) {
        free(experiment->result[i].cut);
        free(experiment->result[i].never_text);
    }
    free(experiment->detail);
    free(experiment->result);
    sl_workload_free(&experiment->base);
    experiment->detail = NULL;
    experiment->result = NULL;
}
