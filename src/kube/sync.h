/* Keeps the store like the API server: all nodes, all pods. Pods have no field selector: what a pod
 * asks for decides, and the store passes over those that ask for nothing of ours. After a restart
 * the ledger is what the annotations of bound pods say. */
#ifndef SLICED_KUBE_SYNC_H
#define SLICED_KUBE_SYNC_H

#include "cluster/store.h"
#include "kube/reflector.h"

struct sl_sync;

struct sl_sync_options {
    struct sl_client *client;
    struct sl_store *store;
    struct sl_reflector_times times;
    /* An event of a watch has changed the store: the snapshot that shows it was published delay_us
     * after the event came in. On the client's thread. NULL: nobody counts. */
    void (*published)(void *context, int64_t delay_us);
    /* A list named this pod, which is of ours: for what a forerunner may have left undone. On the
     * client's thread, the pod is borrowed. NULL: nobody asks. */
    void (*listed_pod)(void *context, const struct sl_pod *pod);
    /* A watch told of this pod (its end aside), which is of ours; as listed_pod. */
    void (*changed_pod)(void *context, const struct sl_pod *pod);
    /* A list or watch told of this pod, of ours or not; as listed_pod. */
    void (*seen_pod)(void *context, const struct sl_pod *pod);
    /* The watch told of that pod's end; a list of pods begins or is over. For sl_fetcher, on the
     * client's thread (a list that is cut off: sl_sync_stop's). NULL: nobody asks. */
    void (*deleted_pod)(void *context, struct sl_str namespace, struct sl_str name);
    void (*listing_pods)(void *context, bool listing);
    /* Which devices of a node that is about to be put are unhealthy beside those that it says are:
     * up to SL_NODE_DEVICES_MAX indexes. On the client's thread. NULL: nobody else knows. */
    size_t (*unhealthy)(void *context, const struct sl_node *node,
                        int16_t index[SL_NODE_DEVICES_MAX]);
    void *context;
};

struct sl_sync *sl_sync_start(const struct sl_sync_options *options, struct sl_error *err);
/* The store is left alone from here on. As sl_reflector_stop. NULL is allowed. */
void sl_sync_stop(struct sl_sync *sync);

/* What is missing before the store is the whole cluster, and since when ("waiting for the list of
 * pods since 2026-11-22T10:00:00Z: ..."); NULL when nothing is. It is not the cluster any more
 * either when there was no news for a few times the watch's silence: no event, bookmark or list.
 * The text is the calling thread's, until it asks again. Any thread. */
const char *sl_sync_missing(struct sl_sync *sync);

struct sl_sync_stats {
    struct sl_reflector_stats nodes;
    struct sl_reflector_stats pods;
    uint64_t swept_nodes; /* deleted because a list did not name them */
    uint64_t swept_pods;
};
void sl_sync_stats(struct sl_sync *sync, struct sl_sync_stats *out);

#endif
