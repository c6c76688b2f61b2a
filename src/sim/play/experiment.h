/* Many runs: every policy on every seed's jobs, on several threads. */
#ifndef SLICED_SIM_EXPERIMENT_H
#define SLICED_SIM_EXPERIMENT_H

#include "sim/input/generate.h"
#include "sim/play/crew.h"
#include "sim/play/partition.h"
#include "sim/play/policy.h"
#include "sim/play/stats.h"

/* Where jobs come from. */
struct sl_source {
    const struct sl_generator *generator;     /* or NULL, then trace */
    const char *trace;                        /* "FORMAT:FILE"; read once; or NULL, then queue */
    const struct sl_workload *queue;          /* of a live cluster */
    const struct sl_distribution *runtime;    /* replaces the source's; or NULL */
    const struct sl_estimate_error *estimate; /* replaces the source's; or NULL */
};

/* True when two seeds can differ. */
bool sl_source_random(const struct sl_source *source);

struct sl_result {
    size_t policy; /* index */
    uint64_t seed;
    size_t jobs;        /* jobs that ran */
    size_t never;       /* jobs that did not */
    size_t first_never; /* its number; SIZE_MAX: none */
    size_t never_by[SL_HOLD_REASONS];
    char *never_text; /* the sentence for the first of them; NULL: none */
    size_t killed;
    uint64_t backfills;
    uint64_t cuts;              /* cut plans carried out */
    char *cut;                  /* the best static cut; NULL unless it was looked for */
    struct sl_summary response; /* seconds; so are wait, makespan and finish */
    struct sl_summary wait;
    struct sl_summary slowdown; /* response over the time it ran */
    double finish;              /* mean end, counted from the beginning */
    double makespan;            /* from the beginning, the first submission, to the last end */
    double utilisation;         /* GPU share in use over makespan */
    double allocation;          /* the same while jobs waited; utilisation when none ever did */
    double fragmentation;       /* idle GPU share of no use for the usual job, over makespan */
    double fairness;            /* Jain's index over the namespaces' mean slowdowns; over the jobs'
                                   where there is one namespace */
};

/* The run of a policy. */
struct sl_detail {
    struct sl_workload workload; /* of the first seed */
    struct sl_sim_run run;       /* of the first seed */
    struct sl_buf commands;      /* of the first seed, a line each: policy, seconds, command */
};

struct sl_experiment {
    const struct sl_source *source;
    const struct sl_fleet *fleet;
    const struct sl_policies *policies;
    const struct sl_sim_live *live;             /* NULL: all begins with the first job */
    const struct sl_partitioning *partitioning; /* NULL: GPUs stay as they are */
    uint64_t seed;
    uint32_t seeds;
    struct sl_crew crew;
    bool keep;     /* the details */
    bool commands; /* of them, those too */
    bool audit;    /* as struct sl_sim_input */
    /* made by sl_experiment_run */
    struct sl_result *result; /* by seed, then policy */
    struct sl_detail *detail; /* by policy; NULL unless kept */
    size_t n;
    size_t passed_over;      /* records of the trace */
    struct sl_workload base; /* of a trace, with the first seed; empty of a generator */
};

/* The caller fills in what sl_experiment_run does not make; free with sl_experiment_free, after a
 * failure too. */
int sl_experiment_run(struct sl_experiment *experiment, struct sl_error *err);
void sl_experiment_free(struct sl_experiment *experiment);

static inline const struct sl_result *sl_experiment_at(const struct sl_experiment *experiment,
                                                       size_t seed, size_t policy)
{
    return &experiment->result[seed * experiment->policies->n + policy];
}

/* The numbers of one run. -1: out of memory. */
int sl_result_of(const struct sl_workload *workload, const struct sl_sim_run *run,
                 struct sl_result *out, struct sl_error *err);

#endif
