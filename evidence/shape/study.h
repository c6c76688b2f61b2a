/* Figures of several cases over several seeds. */
#ifndef SLICED_EVIDENCE_STUDY_H
#define SLICED_EVIDENCE_STUDY_H

#include "evidence/shape/experiment.h"

struct sl_study {
    size_t cases;
    size_t figures;
    size_t group; /* cases that are compared with each other: 0.. of the first, then the next */
    uint64_t seed;
    uint32_t seeds;
    double *value; /* by case, seed, figure */
    double *sorted;
};

/* Makes room. -1: no memory. Free with sl_study_free, after a failure too. */
int sl_study_init(struct sl_study *study, size_t cases, size_t group, size_t figures,
                  const struct sl_reproduce_options *options, struct sl_error *err);
void sl_study_free(struct sl_study *study);

static inline double *sl_study_at(const struct sl_study *study, size_t which, size_t seed)
{
    return &study->value[(which * study->seeds + seed) * study->figures];
}

/* Plays one case under one seed, and fills its figures, which are 0. From several threads. */
typedef int sl_study_fn(void *context, size_t which, uint64_t seed, double *figure,
                        struct sl_error *err);
/* Plays all cases under all seeds; doing is for the progress line. */
int sl_study_play(struct sl_study *study, const struct sl_reproduce_options *options,
                  const char *doing, sl_study_fn *play, void *context, struct sl_error *err);

/* Plays generated jobs on so many GPUs (as the options of slicesim run) under the policies, which
 * become the cases from first on. */
enum { SL_TRIAL_WAIT, SL_TRIAL_LONGEST, SL_TRIAL_RESPONSE, SL_TRIAL_FIGURES };
int sl_study_try(struct sl_study *study, size_t first, const char *generate, const char *gpus,
                 const char *policies, const struct sl_reproduce_options *options,
                 const char *doing, struct sl_error *err);

/* The figure of a case in each seed, over that of another of its group unless `of` is SL_OF_NONE;
 * sorted. Valid until the next call. */
const double *sl_study_sorted(struct sl_study *study, size_t which, unsigned figure, int of);
double sl_study_mean(const struct sl_study *study, size_t which, unsigned figure);
struct sl_band sl_study_band(struct sl_study *study, size_t which, unsigned figure, int of);

/* Fills the column of the last row, or all columns that say how, with the figures of the case. */
void sl_study_put(struct sl_study *study, size_t which, unsigned column, struct sl_rows *rows);
void sl_study_fill(struct sl_study *study, size_t which, struct sl_rows *rows);

#endif
