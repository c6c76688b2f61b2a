/* Jobs that share GPUs, with the memory that each uses from second to second: generated, or those
 * of Ferikoglou et al. */
#ifndef SLICED_EVIDENCE_SHARING_JOBS_H
#define SLICED_EVIDENCE_SHARING_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum {
    SL_SHARING_LIFE_MAX = 4096, /* seconds that a job runs alone */
    SL_SHARING_TOGETHER = 8,    /* jobs on a GPU of which the published runs tell */
    SL_SHARING_PUBLISHED = 3,   /* asks that the published runs were made with */
};

struct sl_sharing_job {
    int64_t submit_s;
    int32_t ask_mib;
    uint32_t image;       /* pods of one image are one workload */
    double busy;          /* part of the time in which it keeps a GPU busy, alone */
    uint32_t length;      /* seconds that it runs alone */
    const int32_t *use;   /* MiB, by second of the time alone */
    const int32_t *ahead; /* the most that it uses from that second on */
};

struct sl_sharing_load {
    struct sl_sharing_job *job; /* by submission */
    uint32_t n;
    uint32_t again; /* the first job of a second pass, which begins once all before have ended and
                       alone counts; 0: there is one pass */
    int32_t *mib;   /* the memory of all use and ahead */
    size_t n_mib, cap_mib;
    const char *product;
    unsigned gpus;
    int32_t gpu_mib;
    /* how busy a GPU is with so many jobs; all 0: as busy as the sum of them */
    double busy_with[SL_SHARING_TOGETHER];
    /* watts that a GPU draws with so many; all 0: as an H100 does, see stage.c */
    double watts_with[SL_SHARING_TOGETHER];
};

/* Keeps job->length seconds of use. The job may read them after sl_sharing_life_settle(). */
int sl_sharing_life_add(struct sl_sharing_load *load, const struct sl_sharing_job *job,
                        const int32_t *use, struct sl_error *err);
/* Lets all jobs, in the order in which lives were added, read theirs. */
void sl_sharing_life_settle(struct sl_sharing_load *load);
void sl_sharing_load_free(struct sl_sharing_load *load);

/* The make-up of generated jobs, in parts of 1. */
struct sl_sharing_mix {
    double repeated;  /* of the jobs: of workloads that come again; each other is one of its own */
    double at_first;  /* of what it would use: what a job of the first half does */
    int over_percent; /* of the engines: how much more they ask for than they use */
};
/* The generator of docs/simulator.md. */
int sl_sharing_generate(uint64_t seed, struct sl_sharing_mix mix, struct sl_sharing_load *out,
                        struct sl_error *err);

/* The engines of docs/simulator.md; twice, if mix.repeated is not 0. */
int sl_sharing_rig(uint64_t seed, struct sl_sharing_mix mix, struct sl_sharing_load *out,
                   struct sl_error *err);

/* The outcome of a published run of all jobs under one scheduler. */
struct sl_sharing_run {
    double pending_s; /* mean */
    unsigned restarts;
    double makespan_s; /* as long as something was measured */
    double memory;     /* mean, of the GPU's */
    double busy;
    double energy_kj;
};
struct sl_sharing_published {
    struct sl_sharing_load alone[SL_SHARING_PUBLISHED]; /* the jobs, by ask, each run alone */
    struct sl_sharing_run asks[SL_SHARING_PUBLISHED];   /* their run by asks (Alibaba's) */
    struct sl_sharing_run cbp_pp[SL_SHARING_PUBLISHED]; /* their own scheduler's */
};

/* Reads FOLDER/ferikoglou. NULL with *err set. */
struct sl_sharing_published *sl_sharing_published_read(const char *folder, struct sl_error *err);
void sl_sharing_published_free(struct sl_sharing_published *published); /* NULL is allowed */

/* Their jobs with that ask, the measured lives dealt out anew by each seed. *out borrows. */
int sl_sharing_published_load(const struct sl_sharing_published *published, unsigned ask,
                              uint64_t seed, struct sl_sharing_load *out, struct sl_error *err);

#endif
