/* Metrics of the queue, and how it stands, for /api/v1/state. */
#ifndef SLICED_DAEMON_QUEUE_REPORT_H
#define SLICED_DAEMON_QUEUE_REPORT_H

#include "codec/write.h"
#include "config/config.h"
#include "kube/write/releaser.h"
#include "server/app/usage_reader.h"
#include "server/metrics/metric.h"
#include "sliced/plan.h"

struct sl_queue_worker;

/* Counted since the start. */
struct sl_queue_counts {
    uint64_t runs;                  /* of the planner */
    uint64_t run_us;                /* spent in them */
    uint64_t rereads;               /* full readings, after changes that could not be kept */
    uint64_t bound;                 /* pods bound where they had a nomination */
    uint64_t elsewhere;             /* pods bound on another node than was nominated */
    uint64_t gone;                  /* pods that ended or were deleted with a nomination */
    uint64_t withdrawn;             /* nominations ended for a change of the node or the pod */
    uint64_t refused;               /* nominations that the store could not make true */
    uint64_t cuts;                  /* records of tenants that were longer than they may be */
    uint64_t ends[SL_RELEASE_ENDS]; /* releases, by how they ended */
};

enum { SL_QUEUE_RECENT = 128 };

/* How long the last plans took. */
struct sl_queue_recent {
    int64_t us[SL_QUEUE_RECENT];
    unsigned n;    /* of them known */
    unsigned next; /* is written next */
};
void sl_queue_recent_add(struct sl_queue_recent *recent, int64_t us);

/* Names that queue.namespaceClasses has had since the start, and "other". */
enum { SL_QUEUE_CLASSES_MAX = 1 + 2 * SL_CONFIG_CLASSES_MAX };

/* Distributions, in microseconds. The queue's thread sets and observes them, any thread reads: a
 * class that is there stays where it is. */
struct sl_queue_times {
    struct sl_histogram bind;  /* from nomination to bound */
    struct sl_histogram error; /* from the estimated start to the nomination */
    struct {
        char name[SL_CONFIG_CLASS_MAX];
        struct sl_histogram wait; /* from submission to bound */
    } class[SL_QUEUE_CLASSES_MAX];
    _Atomic unsigned n_classes; /* the first is that of the namespaces without a class */
};
/* *times is all zero. */
void sl_queue_times_init(struct sl_queue_times *times, const struct sl_config *config);
/* Adds the classes of the configuration; one for which there is no room left counts as "other". */
void sl_queue_times_configure(struct sl_queue_times *times, const struct sl_config *config);
void sl_queue_times_wait(struct sl_queue_times *times, const struct sl_config *config,
                         const char *namespace, int64_t us);

/* Nominations of tenants since the start. Beyond SL_TENANTS_MAX the last entry counts for all. */
struct sl_queue_tenant_counts {
    struct sl_queue_tenant_count {
        char tenant[SL_TENANT_NAME_MAX];
        uint64_t early; /* before its pod was due */
        uint64_t late;
    } row[SL_TENANTS_MAX];
    size_t n;
};
/* A pod of the namespace is nominated; due_us as in the command. With plan held. */
void sl_queue_tenant_nominated(struct sl_queue_worker *worker, const char *namespace,
                               int64_t due_us);

/* The counts, and how it stands now. */
struct sl_queue_stats {
    struct sl_plan_stats plan;
    struct sl_queue_counts counts;
    struct sl_queue_recent recent;
    bool plans;           /* this replica plans now (it leads, and knows the cluster) */
    unsigned outstanding; /* nominations that are not bound yet */
    unsigned window;      /* how many there may be */
    int64_t silent_us;    /* for so long kube-scheduler has been silent though pods wait for it */
};

void sl_queue_stats(struct sl_queue_worker *worker, struct sl_queue_stats *out);

/* The last one has no rows. */
extern const struct sl_metric_table sl_queue_metrics[];
/* As struct sl_queue_reader has it; context is the worker. */
void sl_queue_write_metrics(void *context, const struct sl_usage_reader *usage, struct sl_buf *out);
void sl_queue_write_state(void *context, struct sl_writer *w);

#endif
