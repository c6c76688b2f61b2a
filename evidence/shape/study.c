/* Plays cases over seeds, and makes cells of their figures. */
#include "evidence/shape/study.h"

#include <math.h>
#include <stdlib.h>

#include "sim/play/experiment.h"

int sl_study_init(struct sl_study *study, size_t cases, size_t group, size_t figures,
                  const struct sl_reproduce_options *options, struct sl_error *err)
{
    *study = (struct sl_study){.cases = cases,
                               .figures = figures,
                               .group = group,
                               .seed = options->seed,
                               .seeds = options->seeds};
    study->value = calloc(cases * study->seeds * figures, sizeof(*study->value));
    study->sorted = calloc(study->seeds, sizeof(*study->sorted));
    return study->value == NULL || study->sorted == NULL ? sl_error_nomem(err) : 0;
}

void sl_study_free(struct sl_study *study)
{
    free(study->value);
    free(study->sorted);
}

/* ---- playing ---- */

struct playing {
    struct sl_study *study;
    sl_study_fn *play;
    void *context;
};

static int task_play(void *context, size_t index, struct sl_error *err)
{
    const struct playing *playing = context;
    struct sl_study *study = playing->study;
    size_t which = index / study->seeds;
    size_t seed = index % study->seeds;
    return playing->play(playing->context, which, study->seed + seed,
                         sl_study_at(study, which, seed), err);
}

int sl_study_play(struct sl_study *study, const struct sl_reproduce_options *options,
                  const char *doing, sl_study_fn *play, void *context, struct sl_error *err)
{
    const struct sl_crew crew = {options->threads, options->progress, doing};
    struct playing playing = {study, play, context};
    return sl_crew_run(&crew, study->cases * study->seeds, task_play, &playing, err);
}

static void take_results(struct sl_study *study, size_t first,
                         const struct sl_experiment *experiment)
{
    for (size_t p = 0; p < experiment->policies->n; p++) {
        for (size_t s = 0; s < study->seeds; s++) {
            const struct sl_result *result = sl_experiment_at(experiment, s, p);
            double *figure = sl_study_at(study, first + p, s);
            figure[SL_TRIAL_WAIT] = result->wait.mean;
            figure[SL_TRIAL_LONGEST] = result->wait.max;
            figure[SL_TRIAL_RESPONSE] = result->response.mean;
        }
    }
}

int sl_study_try(struct sl_study *study, size_t first, const char *generate, const char *gpus,
                 const char *policies, const struct sl_reproduce_options *options,
                 const char *doing, struct sl_error *err)
{
    struct sl_generator generator;
    struct sl_fleet fleet;
    struct sl_policies list = {.n = 0};
    const struct sl_source source = {.generator = &generator};
    struct sl_experiment experiment = {
        .source = &source,
        .fleet = &fleet,
        .policies = &list,
        .seed = study->seed,
        .seeds = study->seeds,
        .crew = {.threads = options->threads, .progress = options->progress, .doing = doing},
    };
    sl_fleet_init(&fleet);
    int rc = sl_generator_parse(sl_str_of(generate), &generator, err);
    rc = rc < 0 ? rc : sl_fleet_gpus(&fleet, gpus, err);
    rc = rc < 0 ? rc : sl_fleet_finish(&fleet, err);
    rc = rc < 0 ? rc : sl_policies_parse(policies, &list, err);
    if (rc == 0) {
        rc = sl_experiment_run(&experiment, err);
        if (rc == 0) {
            take_results(study, first, &experiment);
        }
        sl_experiment_free(&experiment);
    }
    sl_fleet_free(&fleet);
    return rc;
}

/* ---- figures ---- */

const double *sl_study_sorted(struct sl_study *study, size_t which, unsigned figure, int of)
{
    for (size_t s = 0; s < study->seeds; s++) {
        double part = sl_study_at(study, which, s)[figure];
        if (of != SL_OF_NONE) {
            size_t base = which - which % study->group + (size_t)of;
            double whole = sl_study_at(study, base, s)[figure];
            /* nothing of both, as when no job waited: no more than that */
            part = whole > 0 ? part / whole : (part > 0 ? part : 1);
        }
        study->sorted[s] = part;
    }
    sl_sort(study->sorted, study->seeds);
    return study->sorted;
}

struct sl_band sl_study_band(struct sl_study *study, size_t which, unsigned figure, int of)
{
    (void)sl_study_sorted(study, which, figure, of);
    return sl_band_of(study->sorted, study->seeds);
}

double sl_study_mean(const struct sl_study *study, size_t which, unsigned figure)
{
    double mean = 0;
    for (size_t s = 0; s < study->seeds; s++) {
        mean += sl_study_at(study, which, s)[figure] / (double)study->seeds;
    }
    return mean;
}

static double deviation_of(const struct sl_study *study, size_t which, unsigned figure)
{
    double mean = sl_study_mean(study, which, figure);
    double sum = 0;
    for (size_t s = 0; s < study->seeds; s++) {
        double off = sl_study_at(study, which, s)[figure] - mean;
        sum += off * off / (double)study->seeds;
    }
    return sqrt(sum);
}

void sl_study_put(struct sl_study *study, size_t which, unsigned column, struct sl_rows *rows)
{
    const struct sl_column *is = &rows->column[column];
    switch (is->how) {
    case SL_HOW_NOT:
        break;
    case SL_HOW_MEAN:
        sl_rows_number(rows, column, sl_study_mean(study, which, is->figure));
        break;
    case SL_HOW_DEVIATION:
        sl_rows_number(rows, column, deviation_of(study, which, is->figure));
        break;
    case SL_HOW_MEDIAN:
        sl_rows_number(rows, column, sl_study_band(study, which, is->figure, is->of).median);
        break;
    case SL_HOW_BAND:
    case SL_HOW_SPREAD:
        sl_rows_band(rows, column, sl_study_band(study, which, is->figure, is->of));
        break;
    case SL_HOW_MOST:
        sl_rows_number(rows, column,
                       sl_study_sorted(study, which, is->figure, is->of)[study->seeds - 1]);
        break;
    }
}

void sl_study_fill(struct sl_study *study, size_t which, struct sl_rows *rows)
{
    for (unsigned c = 0; c < rows->n_columns; c++) {
        sl_study_put(study, which, c, rows);
    }
}
