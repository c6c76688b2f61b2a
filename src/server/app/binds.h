/* Bindings under way: a reservation that somebody is making true, the requests that wait for it,
 * and what the ledger is told when the end is known. Requests wait suspended, without a thread. */
#ifndef SLICED_SERVER_BINDS_H
#define SLICED_SERVER_BINDS_H

#include <pthread.h>

#include "cluster/binding.h"
#include "cluster/store.h"
#include "codec/extender.h"
#include "server/http/request.h"

/* How a reserved pod gets bound: by the store alone on an embedded cluster, by the API server on a
 * real one. Called without any lock, from any thread. done is called exactly once, from any thread,
 * perhaps before bind returns; the binding's text is valid until then. */
struct sl_binder {
    void *context;
    void (*bind)(void *context, const struct sl_binding *binding, sl_bind_done done, void *call);
    /* Has the store know the pod (namespace, name and UID), if it is there: the watch may not have
     * told of it yet. done as in bind. NULL: the store knows all pods. */
    void (*fetch)(void *fetcher, const struct sl_binding *pod, sl_fetch_done done, void *call);
    void *fetcher;
    /* Looks what became of a binding, and does nothing else; done as in bind. NULL: bind leaves
     * nothing unknown. */
    void (*resolve)(void *context, const struct sl_binding *binding, sl_bind_done done, void *call);
};

struct sl_binds_options {
    struct sl_store *store;
    struct sl_binder binder;
    struct sl_metrics *metrics;
    void (*bound)(void *context, const struct sl_binding *binding); /* NULL: nobody is told */
    void *context;                                                  /* of bound */
    enum sl_pod_phase phase; /* that a pod has once it is bound */
};

struct sl_bind_call;
struct sl_bind_fetch;

/* All of one application. */
struct sl_binds {
    struct sl_binds_options options;
    pthread_mutex_t lock; /* guards the lists, the requests that wait, and the ledger with them */
    struct sl_bind_call *first;
    struct sl_bind_fetch *fetches; /* pods that are looked for */
    _Atomic unsigned n;
    bool closed; /* nobody may wait any more */
};

/* A request for a binding. */
struct sl_bind_request {
    struct sl_request *request;
    const struct sl_binding_args *args;
    uint64_t leadership;          /* in which it is decided */
    struct sl_bind_result result; /* its text is empty on success */
    struct sl_bind_request *next; /* that waits for the same binding */
    bool answered;                /* by a binding's end, not by the ledger alone */
    bool fetched;                 /* the pod was looked for */
};

void sl_binds_init(struct sl_binds *binds, const struct sl_binds_options *options);
/* The binder has told the end of all that it was given. */
void sl_binds_free(struct sl_binds *binds);

/* Reserves, and has the reservation made true when it is new, or when its outcome was not known
 * before. A request that has to wait is suspended and goes on with wake; else bind->result is final
 * when this returns. */
void sl_binds_reserve(struct sl_binds *binds, struct sl_bind_request *bind,
                      void (*wake)(struct sl_request *request));

/* After a refusal because the pod is not known: has it looked for, once for each request. True: the
 * request is suspended and goes on with wake. False: that changes nothing, the refusal stands. */
bool sl_binds_fetch(struct sl_binds *binds, struct sl_bind_request *bind,
                    void (*wake)(struct sl_request *request));

/* The node to which the pod is being bound, or may have been; false when there is none. */
bool sl_binds_node(struct sl_binds *binds, struct sl_str uid, char *out, size_t size);

/* Answers all requests that wait; from now on none does. The bindings themselves go on. */
void sl_binds_close(struct sl_binds *binds);

/* Has bindings looked at that have been unknown for longer than age_us (now_us is monotonic): their
 * reservations end by what is found, not by time. */
void sl_binds_resolve(struct sl_binds *binds, int64_t now_us, int64_t age_us);

#endif
