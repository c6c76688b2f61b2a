/* An experiment from three texts. */
#include "evidence/trial.h"

#include <stdlib.h>

static int trial_run(struct sl_trial *trial, const char *generate, const char *gpus,
                     const char *policies, const struct sl_reproduce_options *options,
                     const char *doing, struct sl_error *err)
{
    sl_fleet_init(&trial->fleet);
    trial->source.generator = &trial->generator;
    if (sl_generator_parse(sl_str_of(generate), &trial->generator, err) < 0 ||
        sl_fleet_gpus(&trial->fleet, gpus, err) < 0 || sl_fleet_finish(&trial->fleet, err) < 0 ||
        sl_policies_parse(policies, &trial->policies, err) < 0) {
        return -1;
    }
    trial->experiment = (struct sl_experiment){
        .source = &trial->source,
        .fleet = &trial->fleet,
        .policies = &trial->policies,
        .seed = options->seed,
        .seeds = options->seeds,
        .crew = {.threads = options->threads, .progress = options->progress, .doing = doing},
        .keep = options->output == SL_OUTPUT_SVG,
    };
    return sl_experiment_run(&trial->experiment, err);
}

struct sl_trial *sl_trial_run(const char *generate, const char *gpus, const char *policies,
                              const struct sl_reproduce_options *options, const char *doing,
                              struct sl_error *err)
{
    struct sl_trial *trial = calloc(1, sizeof(*trial));
    if (trial == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    if (trial_run(trial, generate, gpus, policies, options, doing, err) < 0) {
        sl_trial_free(trial);
        return NULL;
    }
    return trial;
}

void sl_trial_free(struct sl_trial *trial)
{
    if (trial == NULL) {
        return;
    }
    if (trial->experiment.policies != NULL) {
        sl_experiment_free(&trial->experiment);
    }
    sl_fleet_free(&trial->fleet);
    free(trial);
}

void sl_trial_values(const struct sl_trial *trial, double (*figure)(const struct sl_result *result),
                     size_t policy, double *values)
{
    for (size_t s = 0; s < trial->experiment.seeds; s++) {
        values[s] = figure(sl_experiment_at(&trial->experiment, s, policy));
    }
}

void sl_trial_ratios(const struct sl_trial *trial, double (*figure)(const struct sl_result *result),
                     size_t policy, size_t base, double *values)
{
    for (size_t s = 0; s < trial->experiment.seeds; s++) {
        double whole = figure(sl_experiment_at(&trial->experiment, s, base));
        double part = figure(sl_experiment_at(&trial->experiment, s, policy));
        /* no job waited under either: no wait is longer */
        values[s] = whole > 0 ? part / whole : (part > 0 ? part : 1);
    }
}

double sl_mean_wait(const struct sl_result *result)
{
    return result->wait.mean;
}

double sl_longest_wait(const struct sl_result *result)
{
    return result->wait.max;
}

double sl_mean_response(const struct sl_result *result)
{
    return result->response.mean;
}
