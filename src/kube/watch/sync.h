/* Keeps the store like the API server: all nodes, all pods. No field selector could tell which pods
 * ask for GPUs, so all come, and the store passes over the others. After a restart the annotations
 * of bound pods make the ledger. */
#ifndef SLICED_KUBE_SYNC_H
#define SLICED_KUBE_SYNC_H

#include "cluster/store.h"
#include "kube/watch/reflector.h"

struct sl_sync;

struct sl_sync_options {
    struct sl_client *client;
    struct sl_store *store;
    struct sl_reflector_times times;
    struct sl_actuator_rule actuator; /* whose GPUs sliced may have cut */
    /* An event of a watch has changed the store: the snapshot that shows it was published delay_us
     * after the event came in. On the client's thread. NULL: nobody counts. */
    void (*published)(void *context, int64_t delay_us);
    /* A list named this pod, which asks for GPUs: a daemon before this one may have left something
     * undone. On the client's thread, the pod is borrowed. NULL: nobody asks. */
    void (*listed_pod)(void *context, const struct sl_pod *pod);
    /* A watch told of this pod (not of its end), which asks for GPUs; else as listed_pod. */
    void (*changed_pod)(void *context, const struct sl_pod *pod);
    /* A list or watch told of this pod, whatever it asks for; else as listed_pod. */
    void (*seen_pod)(void *context, const struct sl_pod *pod);
    /* The watch told of that pod's end; a list of pods begins or is over. For sl_fetcher, on the
     * client's thread (a list that is cut off: sl_sync_stop's). NULL: nobody asks. */
    void (*deleted_pod)(void *context, struct sl_str namespace, struct sl_str name);
    void (*listing_pods)(void *context, bool listing);
    /* Adds to the devices that a node, about to be put, calls unhealthy itself: up to
     * SL_NODE_DEVICES_MAX indexes. On the client's thread. NULL: nobody else knows. */
    size_t (*unhealthy)(void *context, const struct sl_node *node,
                        int16_t index[SL_NODE_DEVICES_MAX]);
    void *context;
};

struct sl_sync *sl_sync_start(const struct sl_sync_options *options, struct sl_error *err);
/* The store is left alone from here on. As sl_reflector_stop. NULL is allowed. */
void sl_sync_stop(struct sl_sync *sync);

/* Says what is missing before the store is the whole cluster, and since when ("waiting for the list
 * of pods since 2026-11-22T10:00:00Z: ..."); NULL: nothing. Without news (event, bookmark or list)
 * for a few times the watch's silence the store does not count as the cluster either. The text is
 * the calling thread's, until it asks again. Any thread. */
const char *sl_sync_missing(struct sl_sync *sync);

struct sl_sync_stats {
    struct sl_reflector_stats nodes;
    struct sl_reflector_stats pods;
    uint64_t swept_nodes; /* deleted because a list did not name them */
    uint64_t swept_pods;
};
void sl_sync_stats(struct sl_sync *sync, struct sl_sync_stats *out);

#endif
