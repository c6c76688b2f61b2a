/* Tracks predecessors: reports pods and Jobs to core's stages, reads those for which a pod begins
 * to wait, and lets the queue collect changes. Any thread, except as said. */
#ifndef SLICED_DAEMON_STAGES_TRACKER_H
#define SLICED_DAEMON_STAGES_TRACKER_H

#include "cluster/store.h"
#include "kube/client/client.h"
#include "server/metrics/metric.h"
#include "sliced/stage.h"

struct sl_stage_tracker;

struct sl_stage_tracker_options {
    struct sl_client *client; /* NULL: an embedded cluster */
    struct sl_store *store;   /* of an embedded cluster; else NULL */
    size_t max;               /* as in sl_stages_new */
    int64_t timeout_us;       /* of a reading */
    /* Says that there is something to collect. Must not call the tracker. */
    void (*wake)(void *context);
    void *context;
};

struct sl_stage_tracker *sl_stage_tracker_new(const struct sl_stage_tracker_options *options,
                                              struct sl_error *err);
/* The client was freed before, which ends all readings. NULL is allowed. */
void sl_stage_tracker_free(struct sl_stage_tracker *tracker);
void sl_stage_tracker_set_max(struct sl_stage_tracker *tracker, size_t max);

/* ---- for the queue, on its thread ---- */

int sl_stage_tracker_put(struct sl_stage_tracker *tracker, struct sl_pod *pod,
                         struct sl_error *err);
void sl_stage_tracker_remove(struct sl_stage_tracker *tracker, struct sl_str uid);
void sl_stage_tracker_clear(struct sl_stage_tracker *tracker);
/* As sl_stages_collect; then begins the readings that stages want. */
void sl_stage_tracker_collect(struct sl_stage_tracker *tracker,
                              void (*visit)(void *context, struct sl_str uid,
                                            enum sl_hold_reason stage, const char *why),
                              void *context);
/* The last one has no rows. */
extern const struct sl_metric_table sl_stage_tracker_metrics[];
void sl_stage_tracker_write_metrics(struct sl_stage_tracker *tracker, struct sl_buf *out);

/* ---- for watches ---- */

void sl_stage_tracker_pod(struct sl_stage_tracker *tracker, const struct sl_pod *pod);
void sl_stage_tracker_pod_gone(struct sl_stage_tracker *tracker, struct sl_str namespace,
                               struct sl_str name);
void sl_stage_tracker_job(struct sl_stage_tracker *tracker, const struct sl_job_facts *job);
void sl_stage_tracker_job_gone(struct sl_stage_tracker *tracker, struct sl_str namespace,
                               struct sl_str name);
/* Notes that a list was read: objects that it did not name are gone. */
void sl_stage_tracker_listed(struct sl_stage_tracker *tracker, bool jobs);
/* Whether some pod waits for a Job. */
bool sl_stage_tracker_wants_jobs(struct sl_stage_tracker *tracker);

#endif
