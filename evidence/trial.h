/* An experiment on generated jobs and so many GPUs, from three texts: what reproductions are made
 * of. */
#ifndef SLICED_EVIDENCE_TRIAL_H
#define SLICED_EVIDENCE_TRIAL_H

#include "evidence/reproduce.h"
#include "sim/play/experiment.h"

struct sl_trial {
    struct sl_generator generator;
    struct sl_source source;
    struct sl_fleet fleet;
    struct sl_policies policies;
    struct sl_experiment experiment;
};

/* generate, gpus and policies as the options of slicesim run. NULL with *err set. Free with
 * sl_trial_free. */
struct sl_trial *sl_trial_run(const char *generate, const char *gpus, const char *policies,
                              const struct sl_reproduce_options *options, const char *doing,
                              struct sl_error *err);
void sl_trial_free(struct sl_trial *trial); /* NULL is allowed */

/* Over seeds, a figure of one policy divided by the same figure of another in the same seed; values
 * has room for a double per seed. */
void sl_trial_ratios(const struct sl_trial *trial, double (*figure)(const struct sl_result *result),
                     size_t policy, size_t base, double *values);
void sl_trial_values(const struct sl_trial *trial, double (*figure)(const struct sl_result *result),
                     size_t policy, double *values);

double sl_mean_wait(const struct sl_result *result);
double sl_longest_wait(const struct sl_result *result);
double sl_mean_response(const struct sl_result *result);

#endif
