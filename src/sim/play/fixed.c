/* The best static cut, by trying. */

#include <stdio.h>
#include <stdlib.h>

#include "sim/input/become.h"
#include "sim/play/partition.h"

enum {
    KINDS_MAX = SL_MIG_PROFILES_MAX + 1, /* profiles, and GPUs given whole */
    HOURS_MAX = 24 * 14,
    STEPS = 16,
    TRIES_MAX = 4, /* of mixes, beside those by weight */
};

#define HOUR_US (INT64_C(3600) * SL_SECOND_US)

/* A kind of slice that jobs ask for. */
struct kind {
    struct sl_counts cut; /* into as many of it as can be, and the rest as jobs ask */
    double total;         /* GPU-seconds that jobs ask for */
    double peak;          /* the most of those submitted in one hour */
};

struct trial {
    const struct sl_sim_input *input;
    const struct sl_mig_model *model;
    size_t gpus;
    unsigned asked; /* bit i: jobs ask for the model's profile i */
    bool whole;     /* jobs ask for whole GPUs */
    struct kind kind[KINDS_MAX];
    unsigned n_kinds;
    struct sl_counts *counts; /* of the run under way */
    uint16_t *of;
    struct sl_sim_run *best;
    bool any;
    size_t never; /* of the best */
    double response;
    size_t mix[KINDS_MAX]; /* GPUs by kind, of the best mix */
    double mix_response;
    bool mixed;
    char *text; /* of the best */
    struct sl_error *err;
};

/* ---- what jobs ask for ---- */

/* Index of the profile that the ask is for; n_profiles: whole GPUs; -1: something else. */
static int profile_asked(const struct trial *trial, const struct sl_job_ask *ask)
{
    struct sl_resource resource;
    if (!sl_resource_parse(sl_str_of(ask->resource), &resource)) {
        return -1;
    }
    if (sl_kinds[resource.kind].whole) {
        return trial->model->n_profiles;
    }
    const struct sl_mig_profile *profile =
        sl_kinds[resource.kind].instance ? sl_mig_profile_of(trial->model, resource.shape) : NULL;
    return profile == NULL ? -1 : (int)(profile - trial->model->profiles);
}

/* The cut with the most instances of the profile; among those the one with the largest beside. */
static struct sl_counts cut_for(const struct trial *trial, unsigned profile)
{
    struct sl_counts all[SL_CUTS_MAX];
    struct sl_counts best = {{0}};
    size_t n = sl_counts_maximal(trial->model, trial->asked, all, SL_CUTS_MAX);
    for (size_t i = 0; i < n; i++) {
        best = all[i].of[profile] > best.of[profile] ? all[i] : best;
    }
    return best;
}

static void kinds_find(struct trial *trial)
{
    const struct sl_workload *workload = trial->input->workload;
    for (uint32_t i = 0; i < workload->n_asks; i++) {
        int profile = profile_asked(trial, &workload->ask[i]);
        trial->whole = trial->whole || profile == trial->model->n_profiles;
        if (profile >= 0 && profile < trial->model->n_profiles) {
            trial->asked |= 1U << profile;
        }
    }
    for (unsigned p = 0; p < trial->model->n_profiles; p++) {
        if ((trial->asked >> p & 1U) != 0) {
            trial->kind[trial->n_kinds++].cut = cut_for(trial, p);
        }
    }
    if (trial->whole) {
        trial->kind[trial->n_kinds++].cut = (struct sl_counts){{0}};
    }
}

/* Index in trial->kind of what the profile's jobs go to. */
static unsigned kind_of(const struct trial *trial, int profile)
{
    unsigned below = trial->asked & ((1U << profile) - 1U);
    return (unsigned)__builtin_popcount(below);
}

static int demand_measure(struct trial *trial)
{
    const struct sl_workload *workload = trial->input->workload;
    double(*hour)[KINDS_MAX] = calloc(HOURS_MAX, sizeof(*hour));
    if (hour == NULL) {
        return sl_error_nomem(trial->err);
    }
    for (size_t i = 0; i < workload->n; i++) {
        const struct sl_job *job = &workload->job[i];
        const struct sl_job_ask *ask = &workload->ask[job->ask];
        int profile = profile_asked(trial, ask);
        int64_t at = job->submit_us / HOUR_US;
        if (profile < 0) {
            continue;
        }
        unsigned k = kind_of(trial, profile);
        bool whole = profile == trial->model->n_profiles;
        double each = whole ? 1 : trial->kind[k].cut.of[profile];
        double gpus = (double)job->run_us / (double)SL_SECOND_US * (double)ask->count / each;
        trial->kind[k].total += gpus;
        hour[at < HOURS_MAX ? at : HOURS_MAX - 1][k] += gpus;
    }
    for (unsigned k = 0; k < trial->n_kinds; k++) {
        for (unsigned h = 0; h < HOURS_MAX; h++) {
            trial->kind[k].peak =
                hour[h][k] > trial->kind[k].peak ? hour[h][k] : trial->kind[k].peak;
        }
    }
    free(hour);
    return 0;
}

/* ---- one run ---- */

static double response_of(const struct sl_workload *workload, const struct sl_sim_run *run)
{
    double sum = 0;
    for (size_t i = 0; i < run->n; i++) {
        if (run->job[i].outcome != SL_SIM_NEVER) {
            sum += (double)(run->job[i].end_us - workload->job[i].submit_us);
        }
    }
    return run->started > 0 ? sum / (double)run->started / (double)SL_SECOND_US : 0;
}

static int fleet_run(const struct trial *trial, struct sl_sim_run *run)
{
    struct sl_fleet fleet;
    struct sl_sim_input input = *trial->input;
    sl_fleet_init(&fleet);
    input.fleet = &fleet;
    int rc = sl_fleet_copy(trial->input->fleet, &fleet, trial->err);
    if (rc == 0) {
        rc = sl_fleet_cut(&fleet, trial->counts, trial->of, trial->err);
    }
    if (rc == 0) {
        rc = sl_fleet_finish(&fleet, trial->err);
    }
    if (rc == 0) {
        rc = sl_sim_run(&input, run, trial->err);
    }
    sl_fleet_free(&fleet);
    return rc;
}

static bool run_is_better(const struct trial *trial, size_t never, double response)
{
    return !trial->any || never < trial->never ||
           (never == trial->never && response < trial->response);
}

/* Runs with trial->counts and trial->of; keeps the run if it is the best. Returns 1 if it is. */
static int cut_try(struct trial *trial)
{
    struct sl_sim_run run = {.n = 0};
    if (fleet_run(trial, &run) < 0) {
        sl_sim_run_free(&run);
        return -1;
    }
    double response = response_of(trial->input->workload, &run);
    size_t never = run.n - run.started;
    if (!run_is_better(trial, never, response)) {
        sl_sim_run_free(&run);
        return 0;
    }
    if (trial->any) {
        sl_sim_run_free(trial->best);
    }
    *trial->best = run;
    trial->any = true;
    trial->never = never;
    trial->response = response;
    return 1;
}

/* ---- the same cut on all GPUs ---- */

/* Leaves the cuts that have every profile jobs ask for. Returns how many. */
static size_t cuts_serving_all(const struct trial *trial, struct sl_counts *cut, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned has = 0;
        for (unsigned p = 0; p < trial->model->n_profiles; p++) {
            has |= cut[i].of[p] > 0 ? 1U << p : 0;
        }
        if (has == trial->asked && !trial->whole) {
            cut[kept++] = cut[i];
        }
    }
    return kept;
}

static int alike_try(struct trial *trial)
{
    struct sl_counts all[SL_CUTS_MAX];
    size_t n = sl_counts_maximal(trial->model, trial->asked, all, SL_CUTS_MAX);
    if (trial->mixed) {
        n = cuts_serving_all(trial, all, n);
    }
    memset(trial->of, 0, trial->gpus * sizeof(*trial->of));
    for (size_t i = 0; i < n; i++) {
        trial->counts[0] = all[i];
        int better = cut_try(trial);
        if (better < 0) {
            return -1;
        }
        if (better > 0) {
            (void)sl_counts_print(&all[i], trial->model, trial->text, SL_FIXED_TEXT_MAX);
        }
    }
    return 0;
}

/* ---- mixes ---- */

static void mix_print(const struct trial *trial, const size_t mix[KINDS_MAX])
{
    size_t len = 0;
    for (unsigned k = 0; k < trial->n_kinds && len < SL_FIXED_TEXT_MAX; k++) {
        char cut[SL_CUT_TEXT_MAX];
        (void)sl_counts_print(&trial->kind[k].cut, trial->model, cut, sizeof(cut));
        len += (size_t)snprintf(trial->text + len, SL_FIXED_TEXT_MAX - len, "%s%zu of %s",
                                k > 0 ? ", " : "", mix[k], cut);
    }
}

static int mix_try(struct trial *trial, const size_t mix[KINDS_MAX])
{
    size_t at = 0;
    for (unsigned k = 0; k < trial->n_kinds; k++) {
        trial->counts[k] = trial->kind[k].cut;
        for (size_t i = 0; i < mix[k] && at < trial->gpus; i++) {
            trial->of[at++] = (uint16_t)k;
        }
    }
    int better = cut_try(trial);
    if (better > 0) {
        memcpy(trial->mix, mix, sizeof(trial->mix));
        trial->mixed = true;
        mix_print(trial, mix);
    }
    return better;
}

/* GPUs by weight; each kind has at least one, as far as there are enough. */
static void mix_by_weight(const struct trial *trial, const double *weight, size_t mix[KINDS_MAX])
{
    double sum = 0;
    size_t given = 0;
    for (unsigned k = 0; k < trial->n_kinds; k++) {
        sum += weight[k];
    }
    for (unsigned k = 0; k < trial->n_kinds; k++) {
        mix[k] = sum > 0 ? (size_t)((double)trial->gpus * weight[k] / sum) : 0;
        mix[k] = mix[k] > 0 ? mix[k] : 1;
        given += mix[k];
    }
    while (given != trial->gpus) {
        unsigned most = 0;
        for (unsigned k = 0; k < trial->n_kinds; k++) {
            most = mix[k] > mix[most] ? k : most;
        }
        mix[most] += given < trial->gpus ? 1 : (size_t)-1;
        given += given < trial->gpus ? 1 : (size_t)-1;
    }
}

/* Moves a step of the GPUs from one kind to another as long as that is better. */
static int mix_climb(struct trial *trial, int tries)
{
    size_t step = trial->gpus / STEPS > 0 ? trial->gpus / STEPS : 1;
    unsigned pairs = trial->n_kinds * trial->n_kinds;
    unsigned since = 0; /* pairs tried since the last that was better */
    for (unsigned pair = 0; since < pairs && tries > 0; pair = (pair + 1) % pairs, since++) {
        size_t mix[KINDS_MAX];
        unsigned from = pair / trial->n_kinds;
        unsigned to = pair % trial->n_kinds;
        memcpy(mix, trial->mix, sizeof(mix));
        if (from == to || mix[from] <= step) {
            continue;
        }
        mix[from] -= step;
        mix[to] += step;
        tries--;
        int better = mix_try(trial, mix);
        if (better < 0) {
            return -1;
        }
        since = better > 0 ? 0 : since;
    }
    return 0;
}

static int mixes_try(struct trial *trial)
{
    double weight[3][KINDS_MAX] = {{0}};
    for (unsigned k = 0; k < trial->n_kinds; k++) {
        weight[0][k] = trial->kind[k].total;
        weight[1][k] = trial->kind[k].peak;
        weight[2][k] = __builtin_sqrt(trial->kind[k].total); /* correctly rounded everywhere */
    }
    for (unsigned w = 0; w < 3; w++) {
        size_t mix[KINDS_MAX] = {0};
        mix_by_weight(trial, weight[w], mix);
        if (mix_try(trial, mix) < 0) {
            return -1;
        }
    }
    return trial->mixed ? mix_climb(trial, TRIES_MAX) : 0;
}

/* ---- all of them ---- */

static int cuts_try(struct trial *trial)
{
    kinds_find(trial);
    if (trial->n_kinds == 0) {
        return sl_error_set(trial->err, SL_ERR_FIELD, "no job asks for GPUs or for instances of %s",
                            trial->model->name);
    }
    if (demand_measure(trial) < 0) {
        return -1;
    }
    if (trial->n_kinds > 1 && trial->gpus >= trial->n_kinds && mixes_try(trial) < 0) {
        return -1;
    }
    return trial->asked != 0 ? alike_try(trial) : 0;
}

int sl_fixed_run(const struct sl_sim_input *input, struct sl_sim_run *run,
                 char cut[SL_FIXED_TEXT_MAX], struct sl_error *err)
{
    struct trial trial = {.input = input, .best = run, .text = cut, .err = err};
    int rc = -1;
    memset(run, 0, sizeof(*run));
    cut[0] = '\0';
    trial.gpus = sl_fleet_cuttable(input->fleet, &trial.model);
    if (trial.model == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "the GPUs are not of one model that can be cut");
    }
    trial.of = calloc(trial.gpus, sizeof(*trial.of));
    trial.counts = calloc(KINDS_MAX, sizeof(*trial.counts));
    if (trial.of == NULL || trial.counts == NULL) {
        rc = sl_error_nomem(err);
    } else {
        rc = cuts_try(&trial);
    }
    free(trial.of);
    free(trial.counts);
    return rc;
}
