/* Tracks predecessors: reports pods and Jobs to the engine's stages, and reads those for which a
 * pod begins to wait. Any thread, except as said. */
#ifndef SLICED_DAEMON_STAGES_TRACKER_H
#define SLICED_DAEMON_STAGES_TRACKER_H

#include "cluster/store.h"
#include "kube/client/client.h"
#include "server/metrics/metric.h"
#include "sliced/engine.h"

struct sl_stage_tracker;

struct sl_stage_tracker_options {
    struct sl_client *client; /* NULL: an embedded cluster */
    struct sl_store *store;   /* of an embedded cluster; else NULL */
    int64_t timeout_us;       /* of a reading */
    /* Says that there is something to collect. Must not call the tracker. */
    void (*wake)(void *context);
    void *context;
};

struct sl_stage_tracker *sl_stage_tracker_new(const struct sl_stage_tracker_options *options,
                                              struct sl_error *err);
/* The client was freed before, which ends all readings. NULL is allowed. */
void sl_stage_tracker_free(struct sl_stage_tracker *tracker);

/* ---- for the queue, on its thread ---- */

/* For sl_engine_new. All calls of the engine that may change them need the lock, which keeps
 * watches out. */
struct sl_stages *sl_stage_tracker_stages(struct sl_stage_tracker *tracker);
void sl_stage_tracker_lock(struct sl_stage_tracker *tracker); /* NULL is allowed, as in the next */
void sl_stage_tracker_unlock(struct sl_stage_tracker *tracker);
/* As sl_engine_collect; then begins the readings that stages want. */
void sl_stage_tracker_collect(struct sl_stage_tracker *tracker, struct sl_engine *engine,
                              int64_t now_us);
/* The last one has no rows. */
extern const struct sl_metric_table sl_stage_tracker_metrics[];
void sl_stage_tracker_write_metrics(struct sl_stage_tracker *tracker, struct sl_buf *out);

/* ---- for watches ---- */

void sl_stage_tracker_pod(struct sl_stage_tracker *tracker, const struct sl_pod *pod);
void sl_stage_tracker_pod_gone(struct sl_stage_tracker *tracker, struct sl_str namespace,
                               struct sl_str name);
/* As struct sl_jobs_options has them; context is the tracker. */
void sl_stage_tracker_job(void *context, const struct sl_job_facts *job);
void sl_stage_tracker_job_gone(void *context, struct sl_str namespace, struct sl_str name);
/* Notes that a list was read: objects that it did not name are gone. */
void sl_stage_tracker_listed(struct sl_stage_tracker *tracker, bool jobs);
/* Whether some pod waits for a Job. */
bool sl_stage_tracker_wants_jobs(struct sl_stage_tracker *tracker);

#endif
