/* The connection to a real cluster: leader election, the watch, bindings, events, the queue, and
 * the server's hooks. */
#ifndef SLICED_DAEMON_LIVE_CLUSTER_H
#define SLICED_DAEMON_LIVE_CLUSTER_H

#include "kube/access/kubeconfig.h"
#include "server/app/app.h"
#include "telemetry/telemetry.h"

struct sl_cluster;

struct sl_cluster_options {
    const struct sl_config *config; /* copied */
    const struct sl_kube_access *access;
    const char *from; /* where the access was found; both must outlive the cluster */
    const char *pod;  /* the own one's name, which the leader labels; NULL: none is labelled */
    struct sl_store *store;
    struct sl_front_proxy *proxy; /* kept as the cluster says; NULL: not wanted. Outlives it */
    /* Asks for a call of sl_cluster_tick soon. Called on any thread. */
    void (*wake)(void *context);
    void *context;
};

/* Makes the connection; sends nothing to the API server yet. NULL: *err says why. */
struct sl_cluster *sl_cluster_new(const struct sl_cluster_options *options, struct sl_error *err);

/* The binder for the server. */
struct sl_binder sl_cluster_binder(struct sl_cluster *cluster);
struct sl_hooks sl_cluster_hooks(struct sl_cluster *cluster);
/* All members NULL: no queue is configured. */
struct sl_queue_reader sl_cluster_queue_reader(struct sl_cluster *cluster);
/* Its owner frees telemetry before the cluster. */
struct sl_pod_watch sl_cluster_pod_watch(struct sl_cluster *cluster);
struct sl_partition_reader sl_cluster_partition_reader(struct sl_cluster *cluster);

/* Starts the lease, then the watch. */
int sl_cluster_start(struct sl_cluster *cluster, struct sl_error *err);

/* Periodic work of the main thread: lists the cluster anew once this replica leads, and tells
 * owners why their pods wait. score: as configured now. */
void sl_cluster_tick(struct sl_cluster *cluster, const struct sl_score_config *score);

/* Takes over the settings of a new configuration that can change at run time. */
void sl_cluster_configure(struct sl_cluster *cluster, const struct sl_config *config);

/* Ends all calls and gives the lease up. Bindings under way end as unknown. No hook may be called
 * any more. */
void sl_cluster_stop(struct sl_cluster *cluster);
void sl_cluster_free(struct sl_cluster *cluster); /* stops; NULL is allowed */

#endif
