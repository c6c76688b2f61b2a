/* The queue on a real cluster: who may plan when, and how a pod gets to kube-scheduler. */
#include "daemon/cluster_internal.h"

static const int64_t release_backoff_us = 100000;
static const int64_t release_backoff_max_us = 2000000;
static const int64_t release_max_us = 15000000;

/* Terms count from 0; the queue takes that for none. */
static uint64_t leading_term(void *context)
{
    struct sl_cluster *cluster = context;
    bool leads = sl_cluster_leads(cluster); /* first: a term that begins in between is then seen */
    uint64_t term = atomic_load(&cluster->terms) + 1;
    return leads ? term : 0;
}

/* Only on a picture that shows all that the leader before has done. */
static uint64_t planning_term(void *context)
{
    struct sl_cluster *cluster = context;
    uint64_t term = leading_term(cluster);
    return term != 0 && sl_cluster_missing(cluster) == NULL ? term : 0;
}

static void release_pod(void *context, const struct sl_release *release, sl_release_done done,
                        void *call)
{
    struct sl_cluster *cluster = context;
    sl_release(cluster->releaser, release, done, call);
}

static void withdraw_pod(void *context, const struct sl_release *release)
{
    struct sl_cluster *cluster = context;
    sl_release_withdraw(cluster->releaser, release);
}

int sl_cluster_make_queue(struct sl_cluster *cluster, int64_t try_us, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    int64_t half_us = config->queue.hold_s * 1000000 / 2; /* it has ended before its claim lapses */
    const struct sl_releaser_options releaser = {
        .client = cluster->client,
        .term = leading_term,
        .context = cluster,
        .timeout_us = half_us < release_max_us ? half_us : release_max_us,
        .try_us = try_us,
        .backoff_us = release_backoff_us,
        .backoff_max_us = release_backoff_max_us,
    };
    const struct sl_queuer_options queuer = {
        .store = cluster->options.store,
        .config = config,
        .term = planning_term,
        .release = release_pod,
        .withdraw = withdraw_pod,
        .tell = config->events.enabled ? sl_cluster_tell : NULL,
        .context = cluster,
    };
    if (!config->queue.enabled) {
        return 0;
    }
    cluster->releaser = sl_releaser_new(&releaser, err);
    if (cluster->releaser == NULL) {
        return -1;
    }
    cluster->queuer = sl_queuer_new(&queuer, err);
    return cluster->queuer == NULL ? -1 : 0;
}

struct sl_queue sl_cluster_queue(struct sl_cluster *cluster)
{
    return cluster->queuer == NULL ? (struct sl_queue){.context = NULL}
                                   : sl_queuer_queue(cluster->queuer);
}

void sl_cluster_configure(struct sl_cluster *cluster, const struct sl_config *config)
{
    if (cluster->queuer != NULL) {
        sl_queuer_configure(cluster->queuer, config);
    }
}
