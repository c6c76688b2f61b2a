/* The mutable state: nodes, pods, the ledger of reservations and nominations, and the published
 * snapshot. One lock guards all of it; nobody holds it during I/O. */
#ifndef SLICED_CLUSTER_STORE_H
#define SLICED_CLUSTER_STORE_H

#include "sliced/cut.h"
#include "sliced/score.h"
#include "util/error.h"

struct sl_store;

struct sl_store_limits {
    size_t max_nodes;
    size_t max_pods;
    size_t max_reservations;
    int64_t reservation_us; /* after which a reservation expires, unless it is committed or its pod
                               seen bound */
};

struct sl_store *sl_store_new(const struct sl_store_limits *limits, struct sl_error *err);
void sl_store_free(struct sl_store *store); /* no snapshot may be out; NULL is allowed */

/* While on, a pod which asks for as much GPU memory as another pod on a different GPU of the node
 * waits for its reservation until gpushare's device plugin has taken that pod, or it runs. Off at
 * first. */
void sl_store_set_one_equal_share(struct sl_store *store, bool on);

enum { SL_NOMINEES_MAX = 64 }; /* of a node */

/* While on, sl_store_reserve leaves room for nominees. Off at first; with a queue the planner keeps
 * it. */
void sl_store_heed_nominees(struct sl_store *store, bool on);

struct sl_nominees {
    struct sl_pod **pod; /* references, by node; of each the highest priority first */
    size_t n;
};

/* Lists the pods that wait without a gate, that kube-scheduler has nominated to a node
 * (status.nominatedNodeName, which none but it and administrators write), and that are of no lower
 * priority than pod, itself left out; none while they are not heeded. *out is the caller's:
 * sl_nominees_free. -1: out of memory. */
int sl_store_nominees(struct sl_store *store, const struct sl_pod *pod, struct sl_nominees *out);
/* Those of the node, *n of them, borrowed: the first SL_NOMINEES_MAX, which are those that
 * sl_store_reserve leaves room for. */
struct sl_pod *const *sl_nominees_on(const struct sl_nominees *nominees, const char *node,
                                     size_t *n);
void sl_nominees_free(struct sl_nominees *nominees);

/* ---- changes ----
 *
 * Each steals its argument, also on failure; a put that fails changes nothing. Each change
 * publishes a snapshot, except between begin and end, which are for lists. One thread calls begin
 * and end, not nested. Others may read and bind meanwhile: their reservations count at once and
 * show at the end. end fails only for lack of memory (SL_ERR_NOMEM): the changes stand, and the
 * next call that changes anything publishes them.
 *
 * A pod that is put again replaces itself and moves to the node that it now shows. If it is bound
 * on its reserved node, the put commits the reservation; if it is bound elsewhere or ended, the put
 * drops it. A put of a bound pod alive without a node does not unbind it: a node is set once, so
 * that the news is older than the binding. Only a list that was begun after the node was known
 * unbinds the pod: the cluster was set back to an older state.
 *
 * Later edits do not change a bound pod's ask and assignment, nor its timeout while no deadline is
 * enforced. A pod of the same name with another UID replaces the old one; the UID of a pod of
 * another name is SL_ERR_CONFLICT. Pods bound to an unknown node count when the node comes.
 *
 * A pod that asks for nothing of ours counts with its CPU and memory only, and only on nodes that
 * have GPUs, may have GPUs, or are not known yet; on unknown nodes the store keeps at most max_pods
 * such pods.
 *
 * A put above a maximum is SL_ERR_LIMIT, except for a pod that holds devices. A delete of an
 * unknown object is SL_ERR_NOTFOUND; deletes never fail for lack of memory. */
void sl_store_begin(struct sl_store *store);
int sl_store_end(struct sl_store *store, struct sl_error *err);
int sl_store_put_node(struct sl_store *store, struct sl_node *node, struct sl_error *err);
/* The node of that name, new reference; NULL when it is not known. */
struct sl_node *sl_store_node(struct sl_store *store, struct sl_str name);
int sl_store_delete_node(struct sl_store *store, struct sl_str name, struct sl_error *err);
int sl_store_put_pod(struct sl_store *store, struct sl_pod *pod, struct sl_error *err);
/* Puts a pod that was read ahead of the watch: until the watch tells of it, no pod of its name that
 * is as old or older takes its place. */
int sl_store_put_pod_ahead(struct sl_store *store, struct sl_pod *pod, struct sl_error *err);
/* uid: of the deleted pod; empty: any UID. */
int sl_store_delete_pod(struct sl_store *store, struct sl_str ns, struct sl_str name,
                        struct sl_str uid, struct sl_error *err);

/* The measurements of a node's first n devices; n 0: none any longer. Borrowed. */
struct sl_node_measured {
    struct sl_str node;
    const struct sl_measured *device;
    size_t n;
};
/* Gives nodes what was measured of them, for views and binds from now on. Unknown nodes, and those
 * that show just that, are passed over. SL_ERR_NOMEM: some nodes may show what they showed before.
 */
int sl_store_put_measured(struct sl_store *store, const struct sl_node_measured *nodes, size_t n,
                          struct sl_error *err);

/* A sweep takes in a complete list: end deletes all objects of that kind that were not put since
 * begin, with reservations of such pods, and returns how many. A put that failed keeps what was
 * known before; keep does so for an object that could not even be put. A reservation stays while
 * its pod is listed as not bound. The two kinds may be swept at the same time; a sweep that is
 * begun anew, or never ended, deletes nothing. */
enum sl_sweep { SL_SWEEP_NODES, SL_SWEEP_PODS, SL_SWEEP_KINDS };
void sl_store_sweep_begin(struct sl_store *store, enum sl_sweep kind);
size_t sl_store_sweep_end(struct sl_store *store, enum sl_sweep kind);
void sl_store_sweep_keep_node(struct sl_store *store, struct sl_str name);
void sl_store_sweep_keep_pod(struct sl_store *store, struct sl_str ns, struct sl_str name);

/* The pod of that name, new reference; NULL when there is none. A reserved pod is shown as bound.
 */
struct sl_pod *sl_store_pod(struct sl_store *store, struct sl_str ns, struct sl_str name);

/* ---- snapshot ---- */

/* An immutable view of the cluster at one generation. Views of nodes are in order of name; one that
 * a newer generation replaced is freed when the last snapshot that shows it is released. Acquire
 * and release never wait for a change that is being made. */
struct sl_snapshot {
    uint64_t generation;
    uint64_t nodes_generation; /* in which a node came or went last */
    size_t n_nodes;
    const struct sl_view *const *view;
    const struct sl_node_index *index;
    struct sl_demand demand;
    struct sl_dra dra;
    size_t n_pods;      /* known to the store */
    size_t n_waiting;   /* of them: neither bound, reserved nor finished, with an ask */
    size_t n_bound;     /* of them: holding devices, reserved ones too */
    size_t n_reserved;  /* of those bound: the binding is under way */
    size_t n_nominated; /* of those waiting: devices are set aside for them */
};

/* Says what DeviceClasses offer. Without memory a later publish shows it. */
void sl_store_set_dra(struct sl_store *store, const struct sl_dra *dra);

const struct sl_snapshot *sl_store_acquire(struct sl_store *store);                /* never NULL */
void sl_store_release(struct sl_store *store, const struct sl_snapshot *snapshot); /* or NULL */

#define SL_NODE_NONE UINT32_MAX

/* The place of the node in snapshot->view, or SL_NODE_NONE. hint is where the caller expects it and
 * makes that case one comparison: one after the last found, as schedulers list nodes in order. Past
 * the end it counts as 0. */
uint32_t sl_snapshot_find(const struct sl_snapshot *snapshot, struct sl_str name, uint32_t hint);

/* Writes the places of names into place[0..n), up to the first unknown one; returns how many. */
size_t sl_snapshot_find_run(const struct sl_snapshot *snapshot, const struct sl_str *name, size_t n,
                            uint32_t hint, uint32_t *place);

/* ---- bind ---- */

enum sl_bind_code {
    SL_BIND_RESERVED,    /* new reservation; commit or roll back */
    SL_BIND_ALREADY,     /* the same pod stands on the same node: success, nothing to do */
    SL_BIND_IN_PROGRESS, /* another call holds the reservation for the same pod and node */
    SL_BIND_OTHER_NODE,  /* the pod stands, or is reserved, on another node */
    SL_BIND_UNKNOWN_POD,
    SL_BIND_OTHER_UID, /* the pod of that name was made anew, or has no UID */
    SL_BIND_UNKNOWN_NODE,
    SL_BIND_NO_ROOM,  /* verdict says why */
    SL_BIND_FINISHED, /* the pod has ended or is being deleted */
    SL_BIND_FULL,     /* max_reservations are out */
    SL_BIND_HELD,     /* the queue holds the pod; the store itself never says so */
    SL_BIND_NOMEM,
    SL_BIND_NOT_NOMINATED, /* nominate only: the devices are not free, or the pod is nominated */
};

struct sl_bind_result {
    enum sl_bind_code code;
    bool nominated; /* RESERVED: the pod had a nomination, so the queue has released it */
    struct sl_verdict verdict;               /* NO_ROOM */
    char assignment[SL_ASSIGNMENT_TEXT_MAX]; /* RESERVED, ALREADY: the annotation's text */
    char text[320]; /* a sentence for the scheduler, unless it is a success */
};

/* "Reserved", "Already", ... */
const char *sl_bind_code_name(enum sl_bind_code code);

/* Chooses devices and reserves them, in one critical section, against the current state. From then
 * on every snapshot shows them in use. Reservations that have expired at now_us (Unix microseconds)
 * are rolled back first; any result but RESERVED has changed nothing else. */
void sl_store_reserve(struct sl_store *store, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node, int64_t now_us,
                      struct sl_bind_result *result);

/* Ends the reservation of a pod whose binding is done: the pod is bound, in that phase, until the
 * API server says otherwise. True too when the pod was seen bound meanwhile; false when there is no
 * such reservation any more, as it expired or the pod is gone. Like rollback and expire it cannot
 * fail for lack of memory: the snapshot may then show the change late, binds never do. */
bool sl_store_commit(struct sl_store *store, struct sl_str uid, enum sl_pod_phase phase);

/* Frees the devices of a pod whose binding has surely failed. False: there is no such reservation
 * any more, or it was committed. */
bool sl_store_rollback(struct sl_store *store, struct sl_str uid);

/* Rolls back reservations that have expired at now_us; returns how many. */
size_t sl_store_expire(struct sl_store *store, int64_t now_us);

/* While held, nothing expires: news of what became of a binding may be late. */
void sl_store_hold_expiry(struct sl_store *store, bool hold);

/* ---- nominations: devices that the plan has set aside for a pod whose turn has come ---- */

/* Sets the devices of that assignment on that node aside for the pod: from then on every snapshot
 * shows them in use, by the pod as a resident. RESERVED, or a code that says why not; nothing has
 * changed then. The pod still waits, and its nomination does not expire by itself.
 * sl_store_reserve for that node turns the nomination into a reservation with the same devices; for
 * another node it gives the nomination back if the pod finds room there. */
void sl_store_nominate(struct sl_store *store, struct sl_str uid, struct sl_str node,
                       struct sl_str assignment, struct sl_bind_result *result);

/* Gives the nomination back; false when there is none, as when it is a reservation by now. */
bool sl_store_withdraw(struct sl_store *store, struct sl_str uid);
/* Gives all nominations back; returns how many. */
size_t sl_store_withdraw_all(struct sl_store *store);

/* Writes the node of the pod's nomination; false when it has none. */
bool sl_store_nominated_node(struct sl_store *store, struct sl_str uid, char *out, size_t size);

/* ---- cuts: nodes that are withheld while their GPUs are cut ---- */

/* Withholds the node if these cuts may be made on it as it is now: sl_cut_allowed() holds, no
 * reservation or nomination stands there, each pod with units there has started, and the node shows
 * the resources of all of them. From then on every view of the node is withheld, also when the node
 * is put anew, until the cut ends or the node is deleted. (A node with the annotation
 * sliced.dev/cut is withheld without this call.) False: nothing changed, and reason has a sentence.
 */
bool sl_store_cut_begin(struct sl_store *store, struct sl_str node, const struct sl_cut *cut,
                        size_t n, struct sl_cut_limits limits, char *reason, size_t size);
/* Withholds the node without a look at it: a cut is under way there that another process began. The
 * annotation withholds it no longer than it stands there. Cannot fail for lack of memory. */
void sl_store_cut_hold(struct sl_store *store, struct sl_str node);
/* False: no such cut has begun, or it has ended. Cannot fail for lack of memory. */
bool sl_store_cut_end(struct sl_store *store, struct sl_str node);
/* Ends all cuts; returns how many. */
size_t sl_store_cut_end_all(struct sl_store *store);

/* ---- the queue's feed ---- */

/* Is told of every waiting pod that is put, also when it only changed (waits is true), and of one
 * that waits no more: bound, ended or deleted (waits is false). A pod with a reservation or
 * nomination waits until it is bound. Called with the store's lock held: it must be short and must
 * not call the store. Setting it tells of all that wait now. One at a time; NULL ends it. */
typedef void (*sl_store_feed)(void *context, struct sl_pod *pod, bool waits);
void sl_store_set_feed(struct sl_store *store, sl_store_feed feed, void *context);

/* Is told of every pod that is put or bound (there is true), and of one that goes, as it was (there
 * is false); else as the feed. Pods that ask for nothing of ours are left out. */
typedef void (*sl_store_watch)(void *context, struct sl_pod *pod, bool there);
void sl_store_set_watch(struct sl_store *store, sl_store_watch watch, void *context);

/* Called after each publication of a snapshot, on the thread that published, possibly with the
 * store's lock held: it must be short and must not call the store. */
void sl_store_set_published(struct sl_store *store, void (*published)(void *context),
                            void *context);

struct sl_store_stats {
    uint64_t binds;     /* reservations committed, or seen bound where they were */
    uint64_t conflicts; /* refused for NO_ROOM or OTHER_NODE, or seen bound on another node */
    uint64_t expiries;
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
