/* Stages at work: keeps core's stages told of pods and Jobs, reads what somebody begins to wait
 * for, and lets the queue collect what changed. Any thread, except as said. */
#ifndef SLICED_DAEMON_STAGES_H
#define SLICED_DAEMON_STAGES_H

#include "cluster/store.h"
#include "kube/client.h"
#include "sliced/stage.h"
#include "util/buf.h"

struct sl_stager;

struct sl_stager_options {
    struct sl_client *client; /* NULL: an embedded cluster */
    struct sl_store *store;   /* of an embedded cluster; else NULL */
    size_t max;               /* as in sl_stages_new */
    int64_t timeout_us;       /* of a reading */
    /* There is something to collect. Must not call the stager. */
    void (*wake)(void *context);
    void *context;
};

struct sl_stager *sl_stager_new(const struct sl_stager_options *options, struct sl_error *err);
/* The client was freed before, which ends all readings. NULL is allowed. */
void sl_stager_free(struct sl_stager *stager);
void sl_stager_set_max(struct sl_stager *stager, size_t max);

/* ---- for the queue, on its thread ---- */

int sl_stager_put(struct sl_stager *stager, struct sl_pod *pod, struct sl_error *err);
void sl_stager_remove(struct sl_stager *stager, struct sl_str uid);
void sl_stager_clear(struct sl_stager *stager);
/* As sl_stages_collect; then begins to read what is to be read. */
void sl_stager_collect(struct sl_stager *stager,
                       void (*visit)(void *context, struct sl_str uid, enum sl_hold_reason stage,
                                     const char *why),
                       void *context);
void sl_stager_metrics(struct sl_stager *stager, struct sl_buf *out);

/* ---- for watches ---- */

void sl_stager_pod(struct sl_stager *stager, const struct sl_pod *pod);
void sl_stager_pod_gone(struct sl_stager *stager, struct sl_str namespace, struct sl_str name);
void sl_stager_job(struct sl_stager *stager, const struct sl_job_facts *job);
void sl_stager_job_gone(struct sl_stager *stager, struct sl_str namespace, struct sl_str name);
/* A list was read: what it did not name is gone. */
void sl_stager_listed(struct sl_stager *stager, bool jobs);
/* Does somebody wait for a Job? */
bool sl_stager_wants_jobs(struct sl_stager *stager);

#endif
