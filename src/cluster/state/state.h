/* The parts of the store. store->lock guards all of it but the published snapshot and its garbage,
 * which store->publish_lock guards; that one is taken after store->lock.
 *
 * Tables and lists are intrusive: once an entry exists, moving it needs no memory. A change is
 * therefore made first, then views and snapshot are built from it (sl_store_settle). When that
 * lacks memory, the change is either taken back (put, reserve) or kept with its hosts marked stale
 * (any change that frees capacity): the old snapshot stays published, and the next call settles.
 * Bind never reads a stale view. */
#ifndef SLICED_CLUSTER_STATE_STATE_H
#define SLICED_CLUSTER_STATE_STATE_H

#include <pthread.h>

#include "cluster/state/entry.h"
#include "cluster/state/host.h"
#include "cluster/store.h"
#include "sliced/demand.h"
#include "util/data/map.h"

struct sl_shared_snapshot;

struct sl_store {
    pthread_mutex_t lock;
    struct sl_store_limits limits;
    struct sl_map namespaces;
    struct sl_table pods_by_name;
    struct sl_table pods_by_uid; /* of pods that have one */
    struct sl_table hosts;
    struct sl_table others;
    struct sl_host_entry **order; /* known nodes by name */
    size_t n_order;
    size_t cap_order;
    bool order_changed; /* since the last publish */
    bool batch;
    bool dirty; /* something differs from the current snapshot */
    bool expiry_held;
    bool one_equal_share;
    bool heeds_nominees;
    bool waiting_sorted;
    struct sl_list waiting;
    struct sl_list nominees;     /* that wait, and that kube-scheduler has nominated to a node */
    struct sl_list reservations; /* the first to expire first */
    struct sl_list nominations;
    struct sl_list touched;      /* hosts that have changed since the last publish */
    struct sl_view_list retired; /* replaced since the last publish */
    struct sl_pod **gather;      /* scratch for building a view */
    size_t cap_gather;
    uint64_t generation;
    uint64_t sweep;                      /* goes up with every sweep that begins */
    uint64_t sweep_from[SL_SWEEP_KINDS]; /* what was seen before is gone; 0: no sweep is open */
    size_t n_waiting;
    size_t n_bound;
    size_t n_reserved;
    size_t n_nominated;
    struct sl_store_stats stats;
    struct sl_wants wants;
    struct sl_dra dra;  /* what DeviceClasses offer */
    sl_store_feed feed; /* NULL: nobody listens */
    void *feed_context;
    sl_store_watch watch; /* NULL: nobody listens */
    void *watch_context;
    void (*published)(void *context); /* NULL: nobody listens */
    void *published_context;

    pthread_mutex_t publish_lock; /* held for a few instructions only */
    struct sl_shared_snapshot *current;
};

#endif
