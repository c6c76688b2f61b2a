/* The partitioner's parts. Private to this room. */
#ifndef SLICED_DAEMON_CUT_INTERNAL_H
#define SLICED_DAEMON_CUT_INTERNAL_H

#include <pthread.h>

#include "daemon/cut/partitioner.h"

/* A write under way, or one that has ended and is not told yet. */
struct sl_cut_call {
    struct sl_partitioner *partitioner;
    struct sl_cut_call *next;
    uint64_t number;
    enum sl_cut_write_end end;
    char text[sizeof(((struct sl_error *)NULL)->message)];
    char node[];
};

struct sl_cut_counts {
    uint64_t ends[SL_CUT_OUTCOMES]; /* runs */
    uint64_t begun;
    uint64_t resumed;
    uint64_t refused; /* by the store */
    uint64_t plans;
    uint64_t plan_us;
    uint64_t gpus[SL_PHASES];   /* now */
    uint64_t bars[SL_CUT_BARS]; /* nodes, as the metrics are read */
    uint64_t idle_slices;       /* now: memory slices of free instances that no pod waits for */
};

struct sl_partitioner {
    struct sl_partitioner_options options;
    struct sl_histogram seconds;

    pthread_mutex_t status;   /* guards the engine's cuts against readers, and counts */
    struct sl_engine *engine; /* of the leadership; NULL: this replica does not lead */
    uint64_t leadership;
    struct sl_cut_counts counts;

    pthread_mutex_t mail;
    struct sl_cut_call *ended;
};

/* ---- report.c ---- */

/* With status held. */
void sl_cut_count_gpus(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                       int64_t now_us);

#endif
