/* Hosts: nodes by name, with their pods and the view built of both. */
#ifndef SLICED_CLUSTER_STATE_HOST_H
#define SLICED_CLUSTER_STATE_HOST_H

#include "cluster/state/table.h"
#include "cluster/state/view_list.h"

struct sl_store;

/* A node name: of a node, of pods bound there, or of both. */
struct sl_host_entry {
    struct sl_chain by_name;      /* by sl_hash of the name, which the index takes over */
    struct sl_node *node;         /* NULL: not known (yet) */
    struct sl_linked_view *shown; /* the view; NULL: none built yet */
    struct sl_list pods;          /* those that hold devices */
    size_t n_pods;
    int64_t others_cpu_milli; /* of pods that ask for nothing of ours: see others.c */
    int64_t others_memory_kib;
    uint32_t n_others;
    struct sl_link touched; /* in store->touched */
    uint32_t place;         /* in the current snapshot, while !store->order_changed */
    uint32_t name_len;
    struct sl_measured *measured; /* by the node's device; NULL: none */
    uint32_t n_measured;
    bool withheld; /* sl_store_cut_begin; until the cut ends or the node is deleted */
    bool stale;    /* shown does not show node and pods as they are */
    uint64_t seen; /* store->sweep when the node was last put */
    char name[];
};

struct sl_host_entry *sl_host_find(const struct sl_store *store, struct sl_str name);
/* Finds or adds; NULL: out of memory. */
struct sl_host_entry *sl_host_get(struct sl_store *store, struct sl_str name);
/* Marks the host stale: the next publish rebuilds its view. */
void sl_host_touch(struct sl_store *store, struct sl_host_entry *host);
/* Frees the host when neither a node nor a pod uses it. NULL is allowed. */
void sl_host_drop_unused(struct sl_store *store, struct sl_host_entry *host);
/* Makes host->shown show the present; -1: out of memory, the host is still stale. */
int sl_host_refresh(struct sl_store *store, struct sl_host_entry *host);
/* Takes the view of a node that is no longer known out of use. */
void sl_host_retire(struct sl_store *store, struct sl_host_entry *host);

/* store->order, the known nodes by name. add needs room made by reserve; -1: out of memory. */
int sl_order_reserve(struct sl_store *store);
void sl_order_add(struct sl_store *store, struct sl_host_entry *host);
void sl_order_remove(struct sl_store *store, struct sl_host_entry *host);

#endif
