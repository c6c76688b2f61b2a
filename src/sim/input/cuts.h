/* Cuts of a GPU by counts: how many instances of each profile it has. */
#ifndef SLICED_SIM_CUTS_H
#define SLICED_SIM_CUTS_H

#include "sliced/mig.h"
#include "util/error.h"

enum { SL_CUT_TEXT_MAX = 128, SL_CUTS_MAX = 256 };

struct sl_counts {
    uint8_t of[SL_MIG_PROFILES_MAX]; /* by profile of the model; all 0: the GPU is given whole */
};

/* Finds a model by its name in the table or by a product name; NULL when there is none. */
const struct sl_mig_model *sl_model_named(struct sl_str name);

/* "1g.6gb*2+2g.12gb": instances that fit on one GPU together. */
int sl_counts_parse(struct sl_str text, const struct sl_mig_model *model, struct sl_counts *out,
                    struct sl_error *err);
/* The same text again, the largest instances first; "whole". Returns its length. */
size_t sl_counts_print(const struct sl_counts *counts, const struct sl_mig_model *model, char *out,
                       size_t size);
unsigned sl_counts_instances(const struct sl_counts *counts);

/* All cuts into profiles of the set (bit i: the i-th of the model) that leave no room for one more
 * of them, those with the largest instances first. Returns how many, at most max. */
size_t sl_counts_maximal(const struct sl_mig_model *model, unsigned profiles, struct sl_counts *out,
                         size_t max);

#endif
