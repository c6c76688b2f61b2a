/* Private to the cluster library: what the store is made of. All of it is guarded by store->lock,
 * the published snapshot and its garbage by store->door. The lock is taken before the door.
 *
 * What can fail and what cannot: tables and lists are intrusive, so once an entry exists, putting
 * it anywhere or taking it away needs no memory. A change is therefore made first, then views and
 * snapshot are built from it (sl_store_settle), and when that lacks memory the change is either
 * taken back (put, reserve) or kept with its homes marked stale (all that gives capacity back):
 * the old snapshot stays out, and the next call settles. Bind never reads a stale view. */
#ifndef SLICED_CLUSTER_INTERNAL_H
#define SLICED_CLUSTER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster/store.h"
#include "util/map.h"

#define SL_CONTAINER(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

/* ---- table.c: intrusive chained hash table; adding never fails ---- */

struct sl_chain {
    struct sl_chain *next;
    uint32_t hash;
};

struct sl_table {
    struct sl_chain **bucket;
    size_t mask;
    size_t len;
};

int sl_table_init(struct sl_table *table);
void sl_table_free(struct sl_table *table);
/* Grows when it can; without memory chains only get longer. */
void sl_table_add(struct sl_table *table, struct sl_chain *link, uint32_t hash);
void sl_table_remove(struct sl_table *table, struct sl_chain *link);
/* First of the links that share a bucket with hash; compare link->hash, then the key. */
struct sl_chain *sl_table_at(const struct sl_table *table, uint32_t hash);
/* Takes any link out (to free what the table holds); NULL when it is empty. */
struct sl_chain *sl_table_pop(struct sl_table *table, size_t *bucket);

/* ---- demand.c: what is waited for and was bound lately, by resource ---- */

enum { SL_WANTS_RECENT = SL_DEMAND_RECENT };

/* A resource, or a resource with the size of the ask. */
struct sl_want {
    struct sl_chain by_key;
    uint64_t key;
    int64_t count;     /* units in one pod; 0: of any size */
    int64_t cpu_milli; /* that the pod requests beside; 0 for any size */
    uint64_t rank;     /* sl_rank_hash of the resource */
    enum sl_kind kind;
    struct sl_mig_shape shape;
    uint32_t at;   /* in its heap */
    uint32_t pins; /* pods that the store holds and binds in the ring that name it */
    int32_t waiting;
    int32_t recent;
};

/* The heaviest first, so that the few that count are found however many there are. */
struct sl_want_heap {
    struct sl_want **want;
    size_t n;
    size_t cap;
};

enum sl_want_size { SL_WANT_ANY, SL_WANT_SIZED, SL_WANT_SIZES };

struct sl_wants {
    struct sl_table table;
    struct sl_want_heap heap[SL_WANT_SIZES];
    uint64_t looks; /* at wants, for the top */
    struct {
        uint8_t n;
        struct sl_want *want[2 * SL_ASK_ITEMS_MAX]; /* of each item both */
    } recent[SL_WANTS_RECENT];
    unsigned next; /* slot of the oldest bind, overwritten next */
    bool dirty;    /* top is not up to date */
    struct sl_demand top;
};

int sl_wants_init(struct sl_wants *wants);
void sl_wants_free(struct sl_wants *wants);
/* Makes sure of a row for each resource of the pod: while it is pinned, waiting and record cannot
 * fail. -1: out of memory, nothing changed. Pinning rows that are there needs no memory. */
int sl_wants_pin(struct sl_wants *wants, const struct sl_pod *pod);
void sl_wants_unpin(struct sl_wants *wants, const struct sl_pod *pod);
void sl_wants_waiting(struct sl_wants *wants, const struct sl_pod *pod, int32_t by);
void sl_wants_record(struct sl_wants *wants, const struct sl_pod *pod);
const struct sl_demand *sl_wants_top(struct sl_wants *wants);

/* ---- index.c: node names to places ---- */

/* One block: names in order, and a hash table over them. Shared by all snapshots between two
 * changes of the set of nodes. */
struct sl_node_index {
    atomic_uint refs;
    uint32_t n;
    uint32_t mask;
    const struct sl_index_name *name;
    struct sl_index_slot *slot;
    const char *text;
};

struct sl_home;
struct sl_node_index *sl_index_new(struct sl_home *const *order, size_t n);
struct sl_node_index *sl_index_ref(struct sl_node_index *index);
void sl_index_unref(struct sl_node_index *index);

/* ---- snapshot.c: views, pictures, publishing ---- */

/* A view with the link that its retirement needs, so that retiring never allocates. */
struct sl_box {
    struct sl_view *view;
    struct sl_box *next;
};

struct sl_boxes {
    struct sl_box *first;
    struct sl_box *last;
};

/* A snapshot with what the store keeps about it. Pictures that are out form a list by generation.
 * gone: the views whose last picture this is. When a picture goes, its gone views pass to the next
 * older one that is still out (which may show them too), or are freed when there is none. */
struct sl_picture {
    struct sl_snapshot snapshot;
    struct sl_node_index *index;
    size_t holders;
    struct sl_picture *older;
    struct sl_picture *newer;
    struct sl_boxes gone;
    const struct sl_view *view[];
};

/* ---- store ---- */

/* A pod with its place. state is all that can differ between two moments; everything else that the
 * store keeps (tables, lists, counts, demand, ledger order) follows from it: see sl_entry_apply. */
struct sl_state {
    struct sl_pod *pod;                 /* as the API server or a commit said; NULL: not there */
    struct sl_reservation *reservation; /* or claim; NULL: none */
    struct sl_home *home;               /* where it holds devices, NULL: nowhere */
};

/* A pod with a claim is in two lists: it holds devices, and it waits. */
enum sl_place { SL_PLACE_HOME, SL_PLACE_WAITING, SL_PLACES };

/* A namespace of which pods are kept. */
struct sl_space {
    size_t n;
    size_t len;
    char name[];
};

struct sl_entry {
    struct sl_chain by_name;
    struct sl_chain by_uid;
    struct {
        struct sl_entry *prev;
        struct sl_entry *next;
    } link[SL_PLACES];      /* in home->pods, in store->waiting */
    uint64_t seen;          /* store->sweep when the pod was last put */
    uint64_t bound;         /* store->sweep when it was last known to have a node */
    struct sl_space *space; /* counts it */
    bool ahead;             /* read ahead of the watch, which has not told of it yet */
    struct sl_state state;
};

struct sl_list {
    struct sl_entry *first;
    struct sl_entry *last;
};

/* The pod as it will stand is made with the reservation, and the pod as it was stays in the entry:
 * neither commit nor rollback then depends on memory. A claim is a reservation without an end whose
 * pod goes on waiting. */
struct sl_reservation {
    struct sl_reservation *prev; /* in the ledger, by expiry; a claim: in store->claims */
    struct sl_reservation *next;
    struct sl_entry *entry;
    struct sl_pod *bound;
    int64_t expires_us;
    bool outdated; /* the pod was put anew since bound was made */
    bool claim;
};

/* A node name: of a node, of pods bound there, or of both. */
struct sl_home {
    struct sl_chain by_name; /* by sl_hash of the name, which the index takes over */
    struct sl_node *node;    /* NULL: not known (yet) */
    struct sl_box *box;      /* the view; NULL: none built yet */
    struct sl_list pods;     /* those that hold devices */
    size_t n_pods;
    int64_t others_cpu_milli; /* of pods that ask for nothing of ours: see others.c */
    int64_t others_memory_kib;
    uint32_t n_others;
    struct sl_home *touched_prev; /* changed since the last publish */
    struct sl_home *touched_next;
    uint32_t place; /* in the current picture, while !store->order_changed */
    uint32_t name_len;
    bool touched;
    bool stale;    /* box does not show node and pods as they are */
    uint64_t seen; /* store->sweep when the node was last put */
    char name[];
};

struct sl_store {
    pthread_mutex_t lock;
    struct sl_store_limits limits;
    struct sl_map spaces;
    struct sl_table pods_by_name;
    struct sl_table pods_by_uid; /* of pods that have one */
    struct sl_table homes;
    struct sl_table others;
    struct sl_home **order; /* known nodes by name */
    size_t n_order;
    size_t cap_order;
    bool order_changed; /* since the last publish */
    bool batch;
    bool dirty; /* something differs from the current picture */
    bool waiting_sorted;
    bool lapses_held;
    bool one_equal_share;
    struct sl_list waiting;
    struct sl_reservation *oldest; /* ledger, by expiry */
    struct sl_reservation *newest;
    struct sl_reservation *claims; /* in no order */
    struct sl_home *touched;
    struct sl_boxes retired; /* replaced since the last publish */
    struct sl_pod **gather;  /* scratch for building a view */
    size_t cap_gather;
    uint64_t generation;
    uint64_t sweep;                      /* goes up with every sweep that begins */
    uint64_t sweep_from[SL_SWEEP_KINDS]; /* what was seen before is gone; 0: no sweep is open */
    size_t n_waiting;
    size_t n_bound;
    size_t n_reserved;
    size_t n_claimed;
    struct sl_store_stats stats;
    struct sl_wants wants;
    sl_store_feed feed; /* NULL: nobody listens */
    void *feed_context;
    sl_store_watch watch; /* NULL: nobody listens */
    void *watch_context;
    void (*published)(void *context); /* NULL: nobody listens */
    void *published_context;

    pthread_mutex_t door; /* held for a few instructions only */
    struct sl_picture *current;
};

/* entry.c */
struct sl_entry *sl_entry_find(const struct sl_store *store, struct sl_str ns, struct sl_str name);
struct sl_entry *sl_entry_find_uid(const struct sl_store *store, struct sl_str uid);
/* The pod as every view must show it: bound when it is reserved or claimed. */
struct sl_pod *sl_state_pod(const struct sl_state *state);
static inline bool sl_state_claimed(const struct sl_state *state)
{
    return state->reservation != NULL && state->reservation->claim;
}
static inline bool sl_state_reserved(const struct sl_state *state)
{
    return state->reservation != NULL && !state->reservation->claim;
}
/* Moves the entry from its state to the next; cannot fail. References stay with the caller. */
void sl_entry_apply(struct sl_store *store, struct sl_entry *entry, const struct sl_state *next);
/* Gives up what a state that is left held and the next does not: pod, reservation, home. */
void sl_state_drop(struct sl_store *store, const struct sl_state *old, const struct sl_state *next);
/* Puts the waiting list in order of creation time and UID. */
void sl_waiting_sort(struct sl_store *store);

/* home.c */
struct sl_home *sl_home_find(const struct sl_store *store, struct sl_str name);
struct sl_home *sl_home_get(struct sl_store *store, struct sl_str name); /* NULL: no memory */
void sl_home_touch(struct sl_store *store, struct sl_home *home);
void sl_home_untouch(struct sl_store *store, struct sl_home *home);
/* Frees the home when neither a node nor a pod uses it. NULL is allowed. */
void sl_home_sweep(struct sl_store *store, struct sl_home *home);
/* Makes home->box show the present; -1: out of memory, home is still stale. */
int sl_home_refresh(struct sl_store *store, struct sl_home *home);
/* Takes the view of a node that is no longer known out of use. */
void sl_home_retire(struct sl_store *store, struct sl_home *home);
/* Places of the node in store->order. add needs room made by reserve. */
int sl_order_reserve(struct sl_store *store);
void sl_order_add(struct sl_store *store, struct sl_home *home);
void sl_order_remove(struct sl_store *store, struct sl_home *home);

/* store.c: the node is no longer known; publishes. */
void sl_home_forget(struct sl_store *store, struct sl_home *home);

/* pods.c: the entry is gone, with its share of what its namespace has. */
void sl_entry_free(struct sl_store *store, struct sl_entry *entry);
/* pods.c: the pod is no longer known; publishes, frees the entry. */
void sl_entry_remove(struct sl_store *store, struct sl_entry *entry);

/* snapshot.c */
void sl_boxes_add(struct sl_boxes *boxes, struct sl_box *box);
void sl_boxes_free(struct sl_boxes *boxes);
/* Brings views up to date and publishes, unless a batch is open or nothing has changed. -1: out of
 * memory; the old snapshot stays out and a later call does it. */
int sl_store_settle(struct sl_store *store);
void sl_picture_free(struct sl_picture *picture);

/* ledger.c */
size_t sl_ledger_lapse(struct sl_store *store, int64_t now_us);
void sl_ledger_add(struct sl_store *store, struct sl_reservation *reservation);
void sl_ledger_remove(struct sl_store *store, struct sl_reservation *reservation);
/* The devices are free again; the pod stays as it was. Publishes nothing. */
void sl_entry_give_back(struct sl_store *store, struct sl_entry *entry);

/* reserve.c: what is asked for, and the words of a refusal. */
struct sl_bind {
    struct sl_str ns;
    struct sl_str name;
    struct sl_str uid;
    struct sl_str node;
    int64_t now_us;
};

/* "pod NS/NAME " and what is the matter with it; "node NAME" and why. */
void sl_refuse_pod(struct sl_bind_result *result, enum sl_bind_code code,
                   const struct sl_bind *bind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sl_refuse_node(struct sl_bind_result *result, enum sl_bind_code code,
                    const struct sl_bind *bind, const char *why);
void sl_refuse_memory(struct sl_bind_result *result);
/* The pod is bound or reserved: success, or a refusal that changes nothing. */
void sl_refuse_standing(const struct sl_entry *entry, const struct sl_bind *bind,
                        struct sl_bind_result *result);
/* The known node that is asked for, its view up to date; NULL: the result says why not. */
/* A pod on the node that gpushare's device plugin could take for this one: it waits for its GPU,
 * asks for as much, and was given another GPU. NULL: there is none (equal_share.c). */
const struct sl_pod *sl_equal_share(const struct sl_store *store, const struct sl_view *view,
                                    const struct sl_ask *ask,
                                    const struct sl_assignment *assignment);

struct sl_home *sl_bind_home(struct sl_store *store, const struct sl_bind *bind,
                             struct sl_bind_result *result);
/* Makes result->assignment on that node part of the pod's state and publishes. False: out of
 * memory, which the result says; nothing is changed. */
bool sl_bind_take(struct sl_store *store, struct sl_entry *entry, struct sl_home *home, bool claim,
                  int64_t now_us, struct sl_bind_result *result);

/* claims.c */
void sl_claims_add(struct sl_store *store, struct sl_reservation *claim);
void sl_claims_remove(struct sl_store *store, struct sl_reservation *claim);
/* Gives back what is claimed there; publishes nothing. */
void sl_claims_leave(struct sl_store *store, struct sl_home *home);

/* others.c: pods that ask for nothing of ours. put: -1 with *err when out of memory, nothing is
 * changed then. These publish nothing. */
struct sl_other_use {
    uint32_t cpu_milli;
    uint32_t memory_kib;
};
int sl_others_put(struct sl_store *store, const struct sl_pod *pod, struct sl_error *err);
bool sl_others_drop(struct sl_store *store, struct sl_str ns, struct sl_str name);
void sl_others_keep(struct sl_store *store, struct sl_str ns, struct sl_str name);
void sl_others_sweep(struct sl_store *store, uint64_t from);
void sl_others_free(struct sl_store *store);

/* feed.c: tells what has changed for the queue; call it once the change stands. */
void sl_feed_tell(struct sl_store *store, struct sl_pod *old, struct sl_pod *next);

static inline bool sl_pod_has_node(const struct sl_pod *pod)
{
    return pod->node != NULL && pod->node[0] != '\0';
}

static inline bool sl_pod_finished(const struct sl_pod *pod)
{
    return pod->phase == SL_POD_SUCCEEDED || pod->phase == SL_POD_FAILED;
}

#endif
