/* The queue at work: hears from the store what changes, has the planner say who may go, sets the
 * devices aside and lets kube-scheduler have the pod. One thread of its own plans; it does no
 * input or output and is blocked by nothing but the store's lock. */
#ifndef SLICED_DAEMON_QUEUE_H
#define SLICED_DAEMON_QUEUE_H

#include "cluster/store.h"
#include "config/config.h"
#include "daemon/stages.h"
#include "kube/events.h"
#include "kube/releaser.h"
#include "server/queue.h"

struct sl_queuer;

struct sl_queuer_options {
    struct sl_store *store;
    const struct sl_config *config; /* copied */
    struct sl_stager *stages;       /* NULL: pods with sliced.dev/after never start */
    /* The term in which plans may be made now: this replica leads and knows the cluster. 0: none.
     * Any thread. NULL: always 1. */
    uint64_t (*term)(void *context);
    /* As sl_release and sl_release_withdraw; both NULL: claims alone (an embedded cluster). */
    void (*release)(void *context, const struct sl_release *release, sl_release_done done,
                    void *call);
    void (*withdraw)(void *context, const struct sl_release *release);
    /* Tells a pod's owner; must not wait. False: it was not taken. NULL: nobody is told. */
    bool (*tell)(void *context, const struct sl_event_note *note);
    void *context;
};

struct sl_queuer *sl_queuer_new(const struct sl_queuer_options *options, struct sl_error *err);
/* Begins to plan. */
int sl_queuer_start(struct sl_queuer *queuer, struct sl_error *err);
/* Ends the thread: nothing is planned or released from here on; claims stay as they are. */
void sl_queuer_stop(struct sl_queuer *queuer);
/* Stops. All that was released has ended. NULL is allowed. */
void sl_queuer_free(struct sl_queuer *queuer);

/* The term may have changed. Any thread; NULL is allowed. */
void sl_queuer_wake(struct sl_queuer *queuer);
/* A new configuration, from the next plan on. Any thread. */
void sl_queuer_configure(struct sl_queuer *queuer, const struct sl_config *config);

/* For the server; valid until the queuer is freed. */
struct sl_queue sl_queuer_queue(struct sl_queuer *queuer);

#endif
