/* The queue at work: a thread takes changes from the store, asks the planner which pods may start,
 * sets their devices aside and releases them to kube-scheduler. It does no input or output and
 * waits only for locks. */
#ifndef SLICED_DAEMON_QUEUE_H
#define SLICED_DAEMON_QUEUE_H

#include "cluster/store.h"
#include "config/config.h"
#include "daemon/cut/partitioner.h"
#include "daemon/stages/tracker.h"
#include "kube/lease/lease.h"
#include "kube/tenants/namespaces.h"
#include "kube/write/events.h"
#include "kube/write/releaser.h"
#include "server/app/queue_reader.h"

struct sl_queue_worker;

struct sl_queue_worker_options {
    struct sl_store *store;
    const struct sl_config *config;     /* copied */
    struct sl_stage_tracker *stages;    /* NULL: pods with sliced.dev/after never start */
    struct sl_partitioner *partitioner; /* NULL: the GPUs stay as they are cut */
    struct sl_namespaces *namespaces;   /* NULL: no label of a Namespace tells its tenant */
    /* The leadership in which plans may be made now, as this replica leads and knows the cluster;
     * 0: none. Called on any thread. NULL: always 1. */
    uint64_t (*leadership)(void *context);
    /* As sl_release and sl_release_withdraw; both NULL: nominations alone (an embedded cluster). */
    void (*release)(void *releaser, const struct sl_release *release, sl_release_done done,
                    void *call);
    void (*withdraw)(void *releaser, const struct sl_release *release);
    /* As sl_release_show. NULL: no pod shows that it is queued. */
    void (*show)(void *releaser, const struct sl_queued *queued, sl_release_done done, void *call);
    void *releaser;
    /* Tells a pod's owner; must not wait. False: it was not taken. NULL: nobody is told. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    /* Keeps what the next leader is to know of the tenants' shares; empty: nothing. It is of that
     * leadership, and at most SL_LEASE_NOTE_MAX bytes. Called on the queue's thread, and must not
     * wait. NULL: nobody keeps it, nor finds it. */
    void (*keep)(void *context, uint64_t leadership, struct sl_str text);
    /* Appends what the leader before has kept. */
    void (*find)(void *context, struct sl_buf *out);
    void *context;
};

struct sl_queue_worker *sl_queue_worker_new(const struct sl_queue_worker_options *options,
                                            struct sl_error *err);
/* Begins to plan. -1: the system has no thread. */
int sl_queue_worker_start(struct sl_queue_worker *worker, struct sl_error *err);
/* Ends the thread: it plans and releases nothing from then on; nominations stay as they are. */
void sl_queue_worker_stop(struct sl_queue_worker *worker);
/* Stops and frees the worker; all releases must have ended. NULL is allowed. */
void sl_queue_worker_free(struct sl_queue_worker *worker);

/* Has the worker look whether the leadership has changed. Any thread; NULL is allowed. */
void sl_queue_worker_wake(struct sl_queue_worker *worker);
/* Takes over a configuration from the next plan on. Any thread. */
void sl_queue_worker_configure(struct sl_queue_worker *worker, const struct sl_config *config);

/* For the server; valid until the worker is freed. */
struct sl_queue_reader sl_queue_worker_reader(struct sl_queue_worker *worker);

#endif
