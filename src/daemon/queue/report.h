/* Metrics of the queue. */
#ifndef SLICED_DAEMON_QUEUE_REPORT_H
#define SLICED_DAEMON_QUEUE_REPORT_H

#include "kube/write/releaser.h"
#include "server/metrics/metric.h"
#include "sliced/plan.h"

struct sl_queue_worker;

/* Counted since the start. */
struct sl_queue_counts {
    uint64_t runs;                  /* of the planner */
    uint64_t run_us;                /* spent in them */
    uint64_t rereads;               /* full readings, after changes that could not be kept */
    uint64_t bound;                 /* pods bound while they had a nomination */
    uint64_t wrong;                 /* of them: on another node than was nominated */
    uint64_t refused;               /* nominations that the store could not make true */
    uint64_t ends[SL_RELEASE_ENDS]; /* releases, by how they ended */
};

/* Distributions, in microseconds. */
struct sl_queue_times {
    struct sl_histogram wait;  /* from submission to bound */
    struct sl_histogram error; /* from the estimated start to the nomination */
};
void sl_queue_times_init(struct sl_queue_times *times);

/* The counts, and how it stands now. */
struct sl_queue_stats {
    struct sl_plan_stats plan;
    struct sl_queue_counts counts;
    bool plans;           /* this replica plans now (it leads, and knows the cluster) */
    unsigned outstanding; /* nominations that are not bound yet */
    unsigned window;      /* how many there may be */
    int64_t bind_us;      /* smoothed time from nomination to bound; 0: none was seen */
    int64_t silent_us;    /* for so long kube-scheduler has been silent though pods wait for it */
};

void sl_queue_stats(struct sl_queue_worker *worker, struct sl_queue_stats *out);

/* The last one has no rows. */
extern const struct sl_metric_table sl_queue_metrics[];
/* As struct sl_queue_reader has it; context is the worker. */
void sl_queue_write_metrics(void *context, struct sl_buf *out);

#endif
