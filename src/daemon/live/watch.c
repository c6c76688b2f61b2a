/* The watch of a real cluster: whether what it shows is enough to decide on. */
#include "daemon/live/watch.h"

#include "daemon/live/leadership.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

static const int64_t backoff_us = 200 * SL_MS_US;
static const int64_t backoff_max_us = 10 * SL_SECOND_US;
/* the first list waits that long for the first word on the lease, so that one list is enough */
static const int64_t lease_first_ns = 2 * SL_SECOND_NS;
static const int64_t jobs_rest_ns = SL_MINUTE_NS; /* without a pod that waits for a Job */

/* ---- the state of the watch ---- */

static void reflector_stats_add(struct sl_reflector_stats *sum,
                                const struct sl_reflector_stats *more)
{
    sum->synced = more->synced;
    sum->lists += more->lists;
    sum->listed += more->listed;
    sum->watches += more->watches;
    sum->events += more->events;
    sum->bookmarks += more->bookmarks;
    sum->skipped += more->skipped;
    sum->expired += more->expired;
    sum->failures += more->failures;
    if (more->last_event_us > sum->last_event_us) {
        sum->last_event_us = more->last_event_us;
    }
}

static void sync_stats_add(struct sl_sync_stats *sum, const struct sl_sync_stats *more)
{
    reflector_stats_add(&sum->nodes, &more->nodes);
    reflector_stats_add(&sum->pods, &more->pods);
    sum->swept_nodes += more->swept_nodes;
    sum->swept_pods += more->swept_pods;
}

const char *sl_cluster_sync_stats(struct sl_cluster *cluster, struct sl_sync_stats *out)
{
    const char *missing = "waiting for the lease to be looked at";
    (void)pthread_mutex_lock(&cluster->lock);
    *out = cluster->past;
    if (cluster->sync != NULL) {
        struct sl_sync_stats now;
        sl_sync_stats(cluster->sync, &now);
        missing = sl_sync_missing(cluster->sync);
        sync_stats_add(out, &now);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return missing;
}

/* sure: the watch has to show all decisions of former leaderships. */
static const char *missing_watch(struct sl_cluster *cluster, bool sure)
{
    const char *missing = NULL;
    (void)pthread_mutex_lock(&cluster->lock);
    if (cluster->sync == NULL ||
        (sure && cluster->leadership != atomic_load(&cluster->leaderships))) {
        missing = "it has just begun to lead and looks at the cluster anew";
    } else {
        missing = sl_sync_missing(cluster->sync);
    }
    if (missing == NULL && cluster->unhealthy != NULL) {
        missing = sl_unhealthy_missing(cluster->unhealthy);
    }
    if (missing == NULL && cluster->namespaces != NULL) {
        missing = sl_namespaces_missing(cluster->namespaces);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return missing;
}

const char *sl_cluster_missing(void *cluster)
{
    const char *missing = sl_cluster_missing_leader(cluster);
    return missing != NULL ? missing : missing_watch(cluster, true);
}

const char *sl_cluster_unsynced(void *cluster)
{
    return missing_watch(cluster, false);
}

struct sl_reflector_times sl_cluster_watch_times(const struct sl_cluster *cluster)
{
    const struct sl_config *config = &cluster->config;
    return (struct sl_reflector_times){.page = (unsigned)config->kubernetes.list_page,
                                       .page_us = config->kubernetes.request_timeout_us,
                                       .watch_us = config->kubernetes.watch_timeout_us,
                                       .silence_us = config->kubernetes.watch_silence_us,
                                       .backoff_us = backoff_us,
                                       .backoff_max_us = backoff_max_us};
}

/* ---- what the watch tells ---- */

static void snapshot_published(void *context, int64_t delay_us)
{
    struct sl_cluster *cluster = context;
    sl_histogram_observe(&cluster->delay, delay_us * 1000);
}

/* An earlier leader may have been killed between the binding and the deadline. */
static void listed_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    sl_kube_set_deadline(cluster->binder, pod, atomic_load(&cluster->leaderships));
    sl_unqueued_seen(&cluster->unqueued, pod, sl_cluster_leadership(cluster));
}

static void changed_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    sl_kube_retry_deadline(cluster->binder, pod, atomic_load(&cluster->leaderships));
    sl_unqueued_seen(&cluster->unqueued, pod, sl_cluster_leadership(cluster));
}

static void seen_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    if (cluster->stages != NULL) {
        sl_stage_tracker_pod(cluster->stages, pod);
    }
}

static void deleted_pod(void *context, struct sl_str namespace, struct sl_str name)
{
    struct sl_cluster *cluster = context;
    sl_fetcher_deleted(cluster->fetcher, namespace, name);
    if (cluster->stages != NULL) {
        sl_stage_tracker_pod_gone(cluster->stages, namespace, name);
    }
}

static void listing_pods(void *context, bool listing)
{
    struct sl_cluster *cluster = context;
    sl_fetcher_listing(cluster->fetcher, listing);
    if (!listing && cluster->stages != NULL) {
        sl_stage_tracker_listed(cluster->stages, false);
    }
}

static size_t unhealthy_of(void *context, const struct sl_node *node,
                           int16_t index[SL_NODE_DEVICES_MAX])
{
    const struct sl_cluster *cluster = context;
    return sl_unhealthy_of(cluster->unhealthy, sl_str_of(node->name), index);
}

/* ---- beginning and ending ---- */

void sl_cluster_end_watch(struct sl_cluster *cluster)
{
    struct sl_sync_stats stats;
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_sync *old = cluster->sync;
    cluster->sync = NULL;
    if (old != NULL) {
        sl_sync_stats(old, &stats);
        sync_stats_add(&cluster->past, &stats);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_sync_stop(old);
}

static void begin_sync(struct sl_cluster *cluster)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_sync_options options = {
        .client = cluster->client,
        .store = cluster->options.store,
        .actuator = cluster->actuators,
        .times = sl_cluster_watch_times(cluster),
        .published = snapshot_published,
        .listed_pod = listed_pod,
        .changed_pod = changed_pod,
        .seen_pod = seen_pod,
        .deleted_pod = deleted_pod,
        .listing_pods = listing_pods,
        .unhealthy = cluster->unhealthy == NULL ? NULL : unhealthy_of,
        .context = cluster,
    };
    uint64_t leadership = atomic_load(&cluster->leaderships);
    sl_cluster_name_leadership(cluster, cluster->led_as);
    struct sl_sync *sync = sl_sync_start(&options, &err);
    if (sync == NULL) {
        sl_log(SL_LOG_ERROR, "the watch cannot begin", "reason", err.message, (char *)NULL);
        return;
    }
    (void)pthread_mutex_lock(&cluster->lock);
    cluster->sync = sync;
    cluster->leadership = leadership;
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* A leader needs a list that was begun after it came to lead. */
static bool may_list(struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX] = "";
    if (cluster->lease == NULL || atomic_load(&cluster->elected) ||
        sl_clock_monotonic_ns() - cluster->started_ns > lease_first_ns) {
        return true;
    }
    sl_lease_holder(cluster->lease, holder, sizeof(holder));
    return holder[0] != '\0' && strcmp(holder, cluster->identity) != 0;
}

/* Has no other replica led since this one did? Then its knowledge is still complete. */
static bool led_on(struct sl_cluster *cluster, uint64_t leaderships)
{
    char now[SL_LEADERSHIP_MAX];
    sl_cluster_name_leadership(cluster, now);
    if (now[0] == '\0' || strcmp(now, cluster->led_as) != 0) {
        return false;
    }
    (void)pthread_mutex_lock(&cluster->lock);
    cluster->leadership = leaderships;
    (void)pthread_mutex_unlock(&cluster->lock);
    return true;
}

void sl_cluster_look_anew(struct sl_cluster *cluster)
{
    uint64_t leaderships = atomic_load(&cluster->leaderships);
    bool outdated = cluster->sync != NULL && atomic_load(&cluster->elected) &&
                    cluster->leadership != leaderships;
    if (outdated && led_on(cluster, leaderships)) {
        return;
    }
    if (outdated) {
        sl_log(SL_LOG_INFO, "looking at the cluster anew as the leader", (char *)NULL);
        sl_cluster_end_watch(cluster);
    }
    if (cluster->sync == NULL && (outdated || may_list(cluster))) {
        begin_sync(cluster);
    }
}

/* ---- Jobs ---- */

static void on_jobs_listed(void *context)
{
    sl_stage_tracker_listed(context, true);
}

static void start_jobs(struct sl_cluster *cluster)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_jobs_options options = {
        .client = cluster->client,
        .times = sl_cluster_watch_times(cluster),
        .job = sl_stage_tracker_job,
        .gone = sl_stage_tracker_job_gone,
        .listed = on_jobs_listed,
        .context = cluster->stages,
    };
    cluster->jobs = sl_jobs_start(&options, &err);
    if (cluster->jobs == NULL) {
        sl_log(SL_LOG_WARN, "the watch of jobs cannot begin", "reason", err.message, (char *)NULL);
    }
}

void sl_cluster_follow_jobs(struct sl_cluster *cluster)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    if (cluster->stages != NULL && sl_stage_tracker_wants_jobs(cluster->stages)) {
        cluster->jobs_ns = now_ns;
        if (cluster->jobs == NULL) {
            start_jobs(cluster);
        }
    } else if (cluster->jobs != NULL && now_ns - cluster->jobs_ns > jobs_rest_ns) {
        sl_jobs_stop(cluster->jobs);
        cluster->jobs = NULL;
    }
}
