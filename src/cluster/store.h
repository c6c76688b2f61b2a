/* The mutable state: nodes, pods, the ledger of reservations, and the published snapshot. One lock
 * guards all of it; nobody holds it during I/O. */
#ifndef SLICED_CLUSTER_STORE_H
#define SLICED_CLUSTER_STORE_H

#include "sliced/score.h"
#include "util/error.h"

struct sl_store;

struct sl_store_limits {
    size_t max_nodes;
    size_t max_pods;
    size_t max_reservations;
    int64_t reservation_us; /* a reservation that is neither committed nor seen bound lapses */
};

struct sl_store *sl_store_new(const struct sl_store_limits *limits, struct sl_error *err);
void sl_store_free(struct sl_store *store); /* no snapshot may be out */
void sl_store_set_limits(struct sl_store *store, const struct sl_store_limits *limits);

/* Of two pods that ask for equal shares of memory on different GPUs of a node the second is
 * reserved only when gpushare's device plugin has taken the first, or that runs. Off at first. */
void sl_store_set_one_equal_share(struct sl_store *store, bool on);

/* Changes. Each takes its argument over (stolen), also on failure; a put that fails has changed
 * nothing. Between begin and end no snapshot is published: for lists. Without them each change
 * publishes one. Nested calls are not allowed; begin and end are of one thread, others may still
 * read, and bind: their reservations count at once and show at the end. end fails only for lack of
 * memory (SL_ERR_NOMEM): the changes stand, and the next call that changes anything publishes them.
 *
 * Of pods that ask for nothing of ours only CPU and memory count, on nodes that have GPUs, may
 * have, or are not known yet; of those on nodes that are not known at most max_pods are kept. A pod
 * put again replaces itself, moves to the node it now shows, and settles its reservation: seen
 * bound on the reserved node it is committed, bound elsewhere or ended the reservation is dropped.
 * A pod known as bound is not unbound by news that shows it alive without a node (older than the
 * binding: a node is set once), except by a list that was begun after its node was known: then the
 * cluster was set back to an older state. What was given to a bound pod stays: its ask and its
 * assignment, and its timeout while no deadline is enforced, whatever is edited on it later. A pod
 * of the same name with another UID was made anew and takes the place of the old one; a UID that a
 * pod of another name has is SL_ERR_CONFLICT. Pods bound to a node that is not known count when it
 * comes. Above a maximum: SL_ERR_LIMIT, except for a pod that holds devices. Deletes of what is not
 * known: SL_ERR_NOTFOUND; they never fail for lack of memory.
 */
void sl_store_begin(struct sl_store *store);
int sl_store_end(struct sl_store *store, struct sl_error *err);
int sl_store_put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err);
/* The node of that name, new reference; NULL when it is not known. */
struct sl_node *sl_store_node(struct sl_store *store, struct sl_str name);
int sl_store_delete_node(struct sl_store *store, struct sl_str name, struct sl_error *err);
int sl_store_put_pod(struct sl_store *store, struct sl_pod *pod, struct sl_error *err);
/* The same of a pod that was read ahead of the watch: until that tells of it, a pod of its name
 * that is no younger does not take its place. */
int sl_store_put_pod_ahead(struct sl_store *store, struct sl_pod *pod, struct sl_error *err);
/* uid: of the pod that is gone; empty: whichever has the name. */
int sl_store_delete_pod(struct sl_store *store, struct sl_str ns, struct sl_str name,
                        struct sl_str uid, struct sl_error *err);

/* A list that is the whole truth: what is put between begin and end is there, all else of that kind
 * is deleted at the end, reservations of such pods with it. What was put, but not taken because of
 * an error, counts as there when it was known before; keep says so of what could not even be put. A
 * reservation whose pod is listed as not bound stays. The two kinds may be swept at the same time;
 * a sweep that is begun anew, or never ended, deletes nothing. end returns how many were deleted.
 */
enum sl_sweep { SL_SWEEP_NODES, SL_SWEEP_PODS, SL_SWEEP_KINDS };
void sl_store_sweep_begin(struct sl_store *store, enum sl_sweep kind);
size_t sl_store_sweep_end(struct sl_store *store, enum sl_sweep kind);
void sl_store_sweep_keep_node(struct sl_store *store, struct sl_str name);
void sl_store_sweep_keep_pod(struct sl_store *store, struct sl_str ns, struct sl_str name);

/* The pod of that name, new reference; NULL when there is none. A reserved pod is shown as bound.
 */
struct sl_pod *sl_store_pod(struct sl_store *store, struct sl_str ns, struct sl_str name);

/* ---- snapshot ---- */

/* An immutable picture at one generation. Views are in order of node name. A view that a newer
 * generation replaced is freed when the last snapshot that can see it is released. Picking up and
 * releasing never wait for a change that is being made. */
struct sl_snapshot {
    uint64_t generation;
    size_t n_nodes;
    const struct sl_view *const *view;
    const struct sl_node_index *index;
    struct sl_demand demand;
    size_t n_pods;     /* known to the store */
    size_t n_waiting;  /* of them: neither bound, reserved nor finished, with an ask */
    size_t n_bound;    /* of them: holding devices, reserved ones too */
    size_t n_reserved; /* of those bound: the binding is under way */
    size_t n_claimed;  /* of those waiting: devices are set aside for them */
};

const struct sl_snapshot *sl_store_acquire(struct sl_store *store); /* never NULL */
void sl_store_release(struct sl_store *store, const struct sl_snapshot *snapshot);

#define SL_NODE_NONE UINT32_MAX

/* Place of the node in snapshot->view, or SL_NODE_NONE. hint is where the caller expects it (one
 * after the last found: schedulers list nodes in order; past the end counts as 0) and makes that
 * case one comparison. */
uint32_t sl_snapshot_find(const struct sl_snapshot *snapshot, struct sl_str name, uint32_t hint);

/* The places of names, into place[0..n), up to the first that is unknown; returns how many. */
size_t sl_snapshot_find_run(const struct sl_snapshot *snapshot, const struct sl_str *name, size_t n,
                            uint32_t hint, uint32_t *place);

/* ---- bind ---- */

enum sl_bind_code {
    SL_BIND_RESERVED,    /* new reservation; commit or roll back */
    SL_BIND_ALREADY,     /* the same pod stands on the same node: success, nothing to do */
    SL_BIND_IN_PROGRESS, /* another call holds the reservation for the same pod and node */
    SL_BIND_OTHER_NODE,  /* the pod stands, or is reserved, on another node */
    SL_BIND_UNKNOWN_POD,
    SL_BIND_OTHER_UID, /* a pod of that name, but made anew; or one without a UID */
    SL_BIND_UNKNOWN_NODE,
    SL_BIND_NO_ROOM,  /* verdict says why */
    SL_BIND_FINISHED, /* the pod has ended or is being deleted */
    SL_BIND_FULL,     /* max_reservations are out */
    SL_BIND_HELD,     /* the queue holds the pod; the store itself never says so */
    SL_BIND_NOMEM,
    SL_BIND_NOT_CLAIMED, /* claims only: the devices named are not free, or the pod has a claim */
};

struct sl_bind_result {
    enum sl_bind_code code;
    bool claimed;                            /* RESERVED: the pod had a claim, so it was released */
    struct sl_verdict verdict;               /* NO_ROOM */
    char assignment[SL_ASSIGNMENT_TEXT_MAX]; /* RESERVED, ALREADY: the annotation's text */
    char text[320]; /* a sentence for the scheduler when it is no success */
};

/* "Reserved", "Already", ... */
const char *sl_bind_code_name(enum sl_bind_code code);

/* Chooses devices and reserves them, in one critical section, against the current state. From here
 * on every snapshot shows them in use. now_us: Unix microseconds, for expiry; what has lapsed by
 * then is rolled back first. Anything but RESERVED has changed nothing else. */
void sl_store_reserve(struct sl_store *store, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node, int64_t now_us,
                      struct sl_bind_result *result);

/* The binding is done: the pod is bound (phase as given) until the API server says otherwise. True
 * too when the pod was seen bound meanwhile. False when there is no such reservation any more (it
 * lapsed, or the pod is gone). Like rollback and expire it cannot fail for lack of memory: the
 * snapshot may then show the change late, binds never do. */
bool sl_store_commit(struct sl_store *store, struct sl_str uid, enum sl_pod_phase phase);

/* The binding has failed for sure: gives the devices back. False: as above, or it was committed. */
bool sl_store_rollback(struct sl_store *store, struct sl_str uid);

/* Rolls back what has lapsed at now_us; returns how many. */
size_t sl_store_expire(struct sl_store *store, int64_t now_us);

/* While held, nothing lapses: for as long as news of what became of a binding may be late. */
void sl_store_hold_lapses(struct sl_store *store, bool hold);

/* ---- claims: what the plan has set aside for a pod whose turn has come ---- */

/* Sets the devices of that assignment on that node aside for the pod, as a reservation would: from
 * here on every snapshot shows them in use, by the pod as a resident. RESERVED, or a code that says
 * why not and has changed nothing. A claim does not lapse by itself. sl_store_reserve for that node
 * turns the claim into a reservation with the same devices (so the bind gets what the plan chose);
 * for another node the claim is given back when, and only when, the pod finds room there. A pod
 * with a claim still waits. */
void sl_store_claim(struct sl_store *store, struct sl_str uid, struct sl_str node,
                    struct sl_str assignment, struct sl_bind_result *result);

/* Gives the claim back; false when there is none (it is a reservation by now, or never was). */
bool sl_store_unclaim(struct sl_store *store, struct sl_str uid);
size_t sl_store_unclaim_all(struct sl_store *store);

/* The node on which that pod has a claim, into out; false when it has none. */
bool sl_store_claimed_node(struct sl_store *store, struct sl_str uid, char *out, size_t size);

/* ---- the queue's feed ---- */

/* Tells of every pod that waits when it is put (waits is true; also when it only changed), and of
 * its UID when it waits no more: bound, ended, deleted (waits is false). Reservations and claims do
 * not count: such a pod waits until it is bound. Called with the store's lock held: it must be
 * short and must not call the store. Setting it tells of all that wait now. One at a time; NULL
 * ends it. */
typedef void (*sl_store_feed)(void *context, struct sl_pod *pod, bool waits);
void sl_store_set_feed(struct sl_store *store, sl_store_feed feed, void *context);

/* Tells of every pod that is put or bound (there is true), and of one that goes, as it was (there
 * is false); else as the feed. Of pods that ask for nothing of ours nothing is told. */
typedef void (*sl_store_watch)(void *context, struct sl_pod *pod, bool there);
void sl_store_set_watch(struct sl_store *store, sl_store_watch watch, void *context);

/* Called after each publication of a snapshot, on the thread that published, possibly with the
 * store's lock held: it must be short and must not call the store. */
void sl_store_set_published(struct sl_store *store, void (*published)(void *context),
                            void *context);

struct sl_store_stats {
    uint64_t binds;     /* reservations committed, or seen bound where they were */
    uint64_t conflicts; /* refused for NO_ROOM or OTHER_NODE, or seen bound on another node */
    uint64_t lapses;
    uint64_t rollbacks;
    uint64_t limit_hits; /* nodes, pods or reservations refused because of a maximum */
};
void sl_store_stats(struct sl_store *store, struct sl_store_stats *out);

/* Calls visit for each pod that waits, by creation time and UID, at most max of them; returns how
 * many there are in all. The pod is borrowed during the call, which must not call the store. */
size_t sl_store_visit_waiting(struct sl_store *store, size_t max,
                              void (*visit)(void *context, const struct sl_pod *pod),
                              void *context);

#endif
