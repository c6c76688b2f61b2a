/* The table behind sliced/mig.h; only mig.c and name.c read it. */
#ifndef SLICED_CORE_MIG_TABLE_H
#define SLICED_CORE_MIG_TABLE_H

#include "sliced/mig.h"

enum { SL_MIG_MODELS = 16, SL_MIG_FAMILIES = 17 };

/* A chip's name and the models built with it (bit i: sl_mig_models[i]). */
struct sl_mig_family {
    const char *word;
    uint32_t models;
};

extern const struct sl_mig_model sl_mig_models[SL_MIG_MODELS];
extern const struct sl_mig_family sl_mig_families[SL_MIG_FAMILIES];

#endif
