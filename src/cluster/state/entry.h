/* Pods in the store. sl_entry_apply maintains all that follows from an entry's state, so that the
 * same function makes a change and takes it back. */
#ifndef SLICED_CLUSTER_STATE_ENTRY_H
#define SLICED_CLUSTER_STATE_ENTRY_H

#include "cluster/state/reservation.h"
#include "cluster/state/table.h"
#include "sliced/pod.h"

struct sl_host_entry;
struct sl_store;

/* The state of an entry, from which all else that the store keeps (tables, lists, counts, demand)
 * follows. */
struct sl_state {
    struct sl_pod *pod;                 /* as the API server or a commit said; NULL: not there */
    struct sl_reservation *reservation; /* or nomination; NULL: none */
    struct sl_host_entry *host;         /* where the pod holds devices; NULL: nowhere */
};

/* A namespace with pods in the store. */
struct sl_namespace {
    size_t n; /* pods */
    size_t len;
    char name[];
};

struct sl_entry {
    struct sl_chain by_name;
    struct sl_chain by_uid;
    struct sl_link on_host;         /* in host->pods */
    struct sl_link in_waiting;      /* in store->waiting; a pod with a nomination is in both */
    struct sl_link in_nominees;     /* in store->nominees, if it is one */
    uint64_t seen;                  /* store->sweep when the pod was last put */
    uint64_t bound;                 /* store->sweep when it was last known to have a node */
    struct sl_namespace *namespace; /* counts it */
    bool ahead;                     /* read ahead of the watch, which has not told of it yet */
    struct sl_state state;
};

/* The pod as every view must show it: bound when it is reserved or nominated. */
static inline struct sl_pod *sl_state_pod(const struct sl_state *state)
{
    return state->reservation != NULL ? state->reservation->bound : state->pod;
}

static inline bool sl_state_nominated(const struct sl_state *state)
{
    return state->reservation != NULL && state->reservation->nomination;
}

static inline bool sl_state_reserved(const struct sl_state *state)
{
    return state->reservation != NULL && !state->reservation->nomination;
}

static inline bool sl_pod_has_node(const struct sl_pod *pod)
{
    return pod->node != NULL && pod->node[0] != '\0';
}

static inline bool sl_pod_finished(const struct sl_pod *pod)
{
    return pod->phase == SL_POD_SUCCEEDED || pod->phase == SL_POD_FAILED;
}

struct sl_entry *sl_entry_find(const struct sl_store *store, struct sl_str ns, struct sl_str name);
struct sl_entry *sl_entry_find_uid(const struct sl_store *store, struct sl_str uid);
/* Moves the entry from its state to the next; cannot fail. References stay with the caller. */
void sl_entry_apply(struct sl_store *store, struct sl_entry *entry, const struct sl_state *next);
/* Drops the references of the old state that the next does not hold: pod, reservation, host. */
void sl_state_drop(struct sl_store *store, const struct sl_state *old, const struct sl_state *next);
/* Ends the reservation or nomination: the devices are free, the pod stays as it was. Publishes
 * nothing. */
void sl_entry_give_back(struct sl_store *store, struct sl_entry *entry);

#endif
