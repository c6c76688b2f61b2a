/* A day of changing demand on A100 40GB: small slices in the morning, large ones in the evening,
 * and bursts of one kind. */
#ifndef SLICED_SIM_DAY_H
#define SLICED_SIM_DAY_H

#include "sim/input/workload.h"

enum { SL_DAY_GPUS = 100, SL_DAY_PROFILES = 5, SL_DAY_LENGTH_S = 24 * 3600 };

/* A kind of job. */
struct sl_day_kind {
    const char *profile; /* "1g.5gb" */
    int slices;          /* of the seven of a GPU, for which its work counts */
    double morning;      /* share of the work asked for until 8:00 */
    double evening;      /* the same from 18:00 on; in between it changes evenly */
    double median_s;     /* run time: log-normal, sigma 0.8 */
};
extern const struct sl_day_kind sl_day_kinds[SL_DAY_PROFILES];

/* The work asked for, as a share of what the GPUs can do, without bursts; and the bursts, each of
 * jobs of one kind which together fill SL_DAY_BURST_GPUS GPUs and are submitted within ten minutes.
 */
#define SL_DAY_LOAD 0.95
enum { SL_DAY_BURSTS = 8, SL_DAY_BURST_GPUS = 30, SL_DAY_BURST_S = 600 };

/* Fills an initialised, empty workload. whole: every job asks for a whole GPU instead. */
int sl_day_generate(uint64_t seed, bool whole, struct sl_workload *out, struct sl_error *err);

#endif
