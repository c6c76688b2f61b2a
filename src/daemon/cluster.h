/* The daemon's side towards a real cluster: access, leader election, the watch, bindings, events,
 * and what the server is told of them. */
#ifndef SLICED_DAEMON_CLUSTER_H
#define SLICED_DAEMON_CLUSTER_H

#include <signal.h>

#include "daemon/access.h"
#include "server/app.h"

struct sl_cluster;

struct sl_cluster_options {
    const struct sl_config *config; /* copied */
    const struct sl_kube_access *access;
    const char *from; /* where the access was found; both must outlive the cluster */
    struct sl_store *store;
    /* Something has to be done soon: sl_cluster_tick should be called. From any thread. */
    void (*wake)(void *context);
    void *context;
};

/* Nothing is asked of the API server yet. NULL with *err set. */
struct sl_cluster *sl_cluster_new(const struct sl_cluster_options *options, struct sl_error *err);

/* What the application needs of it. */
struct sl_binder sl_cluster_binder(struct sl_cluster *cluster);
struct sl_hooks sl_cluster_hooks(struct sl_cluster *cluster);
struct sl_queue sl_cluster_queue(struct sl_cluster *cluster); /* NULLs: none is configured */

/* Begins: the lease, then the watch. */
int sl_cluster_start(struct sl_cluster *cluster, struct sl_error *err);

/* What the main thread does from time to time: a fresh look at the cluster after leadership came,
 * a word to the owners of waiting pods. score: as configured now. */
void sl_cluster_tick(struct sl_cluster *cluster, const struct sl_score_config *score);

/* A new configuration, as far as it can be taken over while it runs. */
void sl_cluster_configure(struct sl_cluster *cluster, const struct sl_config *config);

/* Ends all calls and gives the lease up. Bindings under way are told as unknown. No hook may be
 * called any more. */
void sl_cluster_stop(struct sl_cluster *cluster);
void sl_cluster_free(struct sl_cluster *cluster); /* stops; NULL is allowed */

#endif
