/* How the GPUs of a fleet are cut during a run: as they are, alike from the start, in the best of
 * many static ways, or by what waits. */
#ifndef SLICED_SIM_PARTITION_H
#define SLICED_SIM_PARTITION_H

#include "sim/play/loop.h"

enum { SL_FIXED_TEXT_MAX = 256 };

enum sl_partitioning_kind {
    SL_PARTITIONING_NONE,        /* the fleet stays as it is */
    SL_PARTITIONING_STATIC,      /* every GPU has the cut */
    SL_PARTITIONING_BEST_STATIC, /* the best static one, in hindsight */
    SL_PARTITIONING_DYNAMIC,     /* by what waits */
};

struct sl_partitioning {
    enum sl_partitioning_kind kind;
    struct sl_str cut;             /* STATIC: as in --gpus; borrowed */
    struct sl_sim_cutting cutting; /* DYNAMIC */
};

/* "none", "static:1g.5gb*7", "best-static",
 * "dynamic[,seconds=N][,actuator=mig-manager|nos][,nodes=N][,drain=true|false]". */
int sl_partitioning_parse(const char *text, struct sl_partitioning *out, struct sl_error *err);

/* The rule by which a fleet's nodes are cut by an actuator; for sl_fleet.actuator. */
struct sl_actuator_rule sl_partitioning_rule(const struct sl_partitioning *how);

/* Cuts all GPUs of a fleet that is not finished, when it is STATIC. */
int sl_partitioning_apply(const struct sl_partitioning *how, struct sl_fleet *fleet,
                          struct sl_error *err);

/* As sl_sim_run. cut: which static cut was best, where that was looked for; else empty. */
int sl_partitioned_run(const struct sl_partitioning *how, const struct sl_sim_input *input,
                       struct sl_sim_run *run, char cut[SL_FIXED_TEXT_MAX], struct sl_error *err);

/* Runs the workload on the fleet under many static cuts, and keeps the best run: that in which the
 * fewest jobs never start, and among those the one of the shortest mean response. Tries mixes, in
 * which each profile that jobs ask for has GPUs of its own: as many as the jobs' total, peak or
 * root demand for it says; and from the best of them on, one sixteenth of the GPUs after another
 * where it does more good. Tries also the cuts into those profiles that leave no room, the same on
 * all GPUs, if no job then waits for ever. cut says which is best. */
int sl_fixed_run(const struct sl_sim_input *input, struct sl_sim_run *run,
                 char cut[SL_FIXED_TEXT_MAX], struct sl_error *err);

#endif
