/* GPUs that jobs share by a rule, second by second. */
#ifndef SLICED_EVIDENCE_SHARING_STAGE_H
#define SLICED_EVIDENCE_SHARING_STAGE_H

#include "evidence/sharing/jobs.h"

enum sl_sharing_scheme {
    SL_SCHEME_ASKS,
    SL_SCHEME_CBP,
    SL_SCHEME_CBP_PP,
    SL_SCHEME_PEAKS,
    SL_SCHEME_ORACLE, /* knows what each job will use */
    SL_SCHEMES,
};

/* What a play comes to. */
enum {
    SL_SHARING_PENDING, /* seconds from submission until a GPU is given, mean and p99 */
    SL_SHARING_PENDING_P99,
    SL_SHARING_MEMORY, /* used, of all GPUs, mean over the makespan */
    SL_SHARING_BUSY,
    SL_SHARING_SLOWDOWN_P99, /* from a GPU given to the end, restarts included, over the time alone
                              */
    SL_SHARING_MAKESPAN,     /* seconds */
    SL_SHARING_ENERGY,       /* kJ, of all GPUs, until the last job has ended */
    SL_SHARING_PUSHED, /* containers out of memory though all that are there keep to their asks */
    SL_SHARING_BEYOND, /* because some use more than they asked for */
    SL_SHARING_FIGURES,
};

/* Plays all jobs to their end. */
int sl_sharing_play(const struct sl_sharing_load *load, enum sl_sharing_scheme scheme,
                    double figure[SL_SHARING_FIGURES], struct sl_error *err);

#endif
