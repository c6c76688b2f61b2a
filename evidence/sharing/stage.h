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

struct sl_sharing_outcome {
    double pending_mean_s; /* from submission until a GPU is given */
    double pending_p99_s;
    double memory; /* used, of all GPUs, mean over the makespan */
    double busy;
    double slowdown_p99; /* from a GPU given to the end, restarts included, over the time alone */
    double makespan_s;
    double energy_kj; /* of all GPUs, until the last job has ended */
    double pushed;    /* containers out of memory though all that are there keep to their asks */
    double beyond;    /* because some use more than they asked for */
};

/* Plays all jobs to their end. */
int sl_sharing_play(const struct sl_sharing_load *load, enum sl_sharing_scheme scheme,
                    struct sl_sharing_outcome *out, struct sl_error *err);

#endif
