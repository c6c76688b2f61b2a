/* The queue on a real cluster: when this replica may plan, and how it releases pods. */
#include "daemon/live/queue.h"

#include "daemon/live/events.h"
#include "daemon/live/leadership.h"
#include "daemon/live/watch.h"
#include "util/log.h"
#include "util/time.h"

static const int64_t release_backoff_us = 100 * SL_MS_US;
static const int64_t release_backoff_max_us = 2 * SL_SECOND_US;
static const int64_t release_max_us = 15 * SL_SECOND_US;

/* This replica plans only on a snapshot that shows all decisions of the leader before. */
static uint64_t leadership_to_plan(void *context)
{
    struct sl_cluster *cluster = context;
    uint64_t leadership = sl_cluster_leadership(cluster);
    return leadership != 0 && sl_cluster_missing(cluster) == NULL ? leadership : 0;
}

static bool still_leads(void *context, uint64_t leadership)
{
    return sl_cluster_leadership(context) == leadership;
}

static void wake_queue(void *context)
{
    struct sl_cluster *cluster = context;
    sl_queue_worker_wake(cluster->worker);
}

/* A release ends before its nomination expires. */
static int64_t release_timeout_us(const struct sl_config *config)
{
    int64_t half_us = config->queue.hold_s * SL_SECOND_US / 2;
    return half_us < release_max_us ? half_us : release_max_us;
}

static int make_partitioner(struct sl_cluster *cluster, const struct sl_change_options *change,
                            struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_kube_cutter_options cutter = {
        .change = *change,
        .store = cluster->options.store,
        .mig_namespace = config->partitioning.config_namespace,
        .mig_config_map = config->partitioning.config_map,
        .mps_namespace = config->partitioning.mps_namespace,
        .mps_config_map = config->partitioning.mps_config_map,
    };
    struct sl_partitioner_options options = {
        .store = cluster->options.store,
        .write = sl_kube_cut,
        .tell = config->events.enabled ? sl_cluster_tell : NULL,
        .wake = wake_queue,
        .context = cluster,
    };
    if (!config->partitioning.enabled) {
        return 0;
    }
    cluster->cutter = sl_kube_cutter_new(&cutter, err);
    options.cutter = cluster->cutter;
    cluster->partitioner = cluster->cutter == NULL ? NULL : sl_partitioner_new(&options, err);
    return cluster->partitioner == NULL ? -1 : 0;
}

int sl_cluster_make_queue(struct sl_cluster *cluster, int64_t try_us, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_change_options releaser = {
        .client = cluster->client,
        .leads = still_leads,
        .context = cluster,
        .timeout_us = release_timeout_us(config),
        .try_us = try_us,
        .backoff_us = release_backoff_us,
        .backoff_max_us = release_backoff_max_us,
    };
    const struct sl_stage_tracker_options stages = {
        .client = cluster->client,
        .timeout_us = config->kubernetes.request_timeout_us,
        .wake = wake_queue,
        .context = cluster,
    };
    const struct sl_namespaces_options namespaces = {
        .client = cluster->client,
        .times = sl_cluster_watch_times(cluster),
        .wake = wake_queue,
        .context = cluster,
    };
    struct sl_queue_worker_options worker = {
        .store = cluster->options.store,
        .config = config,
        .leadership = leadership_to_plan,
        .release = sl_release,
        .withdraw = sl_release_withdraw,
        .show = sl_release_show,
        .tell = config->events.enabled ? sl_cluster_tell : NULL,
        .keep = config->election.enabled ? sl_cluster_keep_record : NULL,
        .find = sl_cluster_find_record,
        .context = cluster,
    };
    if (!config->queue.enabled) {
        return 0;
    }
    cluster->releaser = sl_releaser_new(&releaser, err);
    if (cluster->releaser == NULL) {
        return -1;
    }
    cluster->unqueued.releaser = cluster->releaser;
    worker.releaser = cluster->releaser;
    cluster->stages = sl_stage_tracker_new(&stages, err);
    if (cluster->stages == NULL) {
        return -1;
    }
    worker.stages = cluster->stages;
    cluster->namespaces = sl_namespaces_new(&namespaces, err);
    if (cluster->namespaces == NULL) {
        return -1;
    }
    worker.namespaces = cluster->namespaces;
    if (make_partitioner(cluster, &releaser, err) < 0) {
        return -1;
    }
    worker.partitioner = cluster->partitioner;
    cluster->worker = sl_queue_worker_new(&worker, err);
    return cluster->worker == NULL ? -1 : 0;
}

struct sl_queue_reader sl_cluster_queue_reader(struct sl_cluster *cluster)
{
    return cluster->worker == NULL ? (struct sl_queue_reader){.context = NULL}
                                   : sl_queue_worker_reader(cluster->worker);
}

struct sl_partition_reader sl_cluster_partition_reader(struct sl_cluster *cluster)
{
    return sl_partitioner_reader(cluster->partitioner);
}

void sl_cluster_configure(struct sl_cluster *cluster, const struct sl_config *config)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (cluster->worker != NULL) {
        sl_queue_worker_configure(cluster->worker, config);
        sl_releaser_set_timeout(cluster->releaser, release_timeout_us(config));
        if (sl_namespaces_follow(cluster->namespaces, config->tenants.label, &err) < 0) {
            sl_log(SL_LOG_ERROR, "the watch of Namespaces cannot begin", "reason", err.message,
                   (char *)NULL);
        }
    }
}
