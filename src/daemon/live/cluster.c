/* The connection to a real cluster: its life, bindings, and the hooks of the server. */
#include "daemon/live/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/live/events.h"
#include "daemon/live/leadership.h"
#include "daemon/live/queue.h"
#include "daemon/live/report.h"
#include "daemon/live/watch.h"
#include "server/api/embedded.h"
#include "server/metrics/version.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { QUEUED_MAX = 4096, REPLY_MAX = 4 << 20, FETCHES_MAX = 32 };

static const int64_t connect_timeout_us = 5 * SL_SECOND_US;
static const int64_t bind_backoff_us = 100 * SL_MS_US;
static const int64_t release_timeout_us = 3 * SL_SECOND_US;

static uint64_t hook_leadership(void *context)
{
    struct sl_cluster *cluster = context;
    return atomic_load(&cluster->leaderships);
}

void sl_cluster_tick(struct sl_cluster *cluster, const struct sl_score_config *score)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    sl_cluster_look_anew(cluster);
    sl_cluster_follow_jobs(cluster);
    sl_unqueued_tick(&cluster->unqueued, sl_cluster_leadership(cluster));
    if (cluster->waiting != NULL && now_ns - cluster->round_ns >= SL_SECOND_NS &&
        sl_cluster_missing(cluster) == NULL) {
        cluster->round_ns = now_ns;
        (void)sl_waiting_round(cluster->waiting, score, sl_clock_real_us());
    }
}

/* ---- life ---- */

static int make_identity(struct sl_cluster *cluster, struct sl_error *err)
{
    char host[SL_IDENTITY_MAX - SL_UID_TEXT - 1] = "sliced";
    char uid[SL_UID_TEXT];
    if (sl_uid_new(uid, err) < 0) {
        return -1;
    }
    (void)gethostname(host, sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    (void)snprintf(cluster->identity, sizeof(cluster->identity), "%s_%s", host, uid);
    return 0;
}

static int make_client(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_client_options options = {
        .access = cluster->options.access,
        .user_agent = "sliced/" SL_VERSION,
        .qps = (double)config->kubernetes.qps,
        .burst = (unsigned)config->kubernetes.burst,
        .max_in_flight = (unsigned)config->kubernetes.max_in_flight,
        .max_queued = QUEUED_MAX,
        .connect_timeout_us = connect_timeout_us,
        .max_reply = REPLY_MAX,
    };
    cluster->client = sl_client_new(&options, err);
    return cluster->client == NULL ? -1 : 0;
}

/* Asks for the lead first, so that a leadership which begins in between is seen. */
static bool may_bind(void *context, uint64_t leadership)
{
    struct sl_cluster *cluster = context;
    return sl_cluster_leads(cluster) && atomic_load(&cluster->leaderships) == leadership;
}

static int make_binder(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    int64_t whole_us = config->kubernetes.bind_timeout_us;
    int64_t try_us = whole_us / 2;
    /* a POST allowed at the last moment of a leadership must end before another replica may lead */
    int64_t rest_us = config->election.lease_duration_us - config->election.renew_deadline_us;
    if (config->election.enabled && rest_us < try_us) {
        try_us = rest_us;
    }
    const struct sl_change_options options = {
        .client = cluster->client,
        .leads = may_bind,
        .context = cluster,
        .timeout_us = whole_us,
        .try_us = try_us,
        .backoff_us = bind_backoff_us,
        .backoff_max_us = whole_us / 2,
    };
    const struct sl_fetcher_options fetcher = {
        .client = cluster->client,
        .store = cluster->options.store,
        .timeout_us = whole_us / 8, /* the binding comes after it, both within httpTimeout */
        .max = FETCHES_MAX,
    };
    cluster->binder = sl_kube_binder_new(&options, cluster->options.store, err);
    cluster->fetcher = sl_fetcher_new(&fetcher, err);
    if (cluster->binder == NULL || cluster->fetcher == NULL) {
        return -1;
    }
    return sl_cluster_make_queue(cluster, try_us, err);
}

static void fetch_pod(void *context, const struct sl_binding *pod, sl_fetch_done done, void *call)
{
    sl_fetch_pod(context, pod->namespace, pod->name, pod->uid, done, call);
}

struct sl_binder sl_cluster_binder(struct sl_cluster *cluster)
{
    return (struct sl_binder){.context = cluster->binder,
                              .bind = sl_kube_bind,
                              .resolve = sl_kube_resolve,
                              .fetch = fetch_pod,
                              .fetcher = cluster->fetcher};
}

struct sl_cluster *sl_cluster_new(const struct sl_cluster_options *options, struct sl_error *err)
{
    struct sl_cluster *cluster = calloc(1, sizeof(*cluster));
    if (cluster == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    cluster->options = *options;
    cluster->config = *options->config;
    cluster->actuators = sl_config_actuators(&cluster->config, &cluster->selector);
    cluster->delay.scale = &sl_histogram_calls;
    (void)pthread_mutex_init(&cluster->lock, NULL);
    sl_buf_init(&cluster->found, SL_LEASE_NOTE_MAX);
    sl_buf_init(&cluster->kept, SL_LEASE_NOTE_MAX);
    sl_unqueued_init(&cluster->unqueued, cluster->options.store);
    /* the end of a binding is not known by time: the maker of the reservation ends it */
    sl_store_hold_expiry(cluster->options.store, true);
    if (make_identity(cluster, err) < 0 || make_client(cluster, err) < 0 ||
        sl_cluster_make_events(cluster, err) < 0 || make_binder(cluster, err) < 0) {
        sl_cluster_free(cluster);
        return NULL;
    }
    return cluster;
}

static int start_unhealthy(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_unhealthy_options options = {
        .client = cluster->client,
        .store = cluster->options.store,
        .namespace = config->gpushare.namespace,
        .times = sl_cluster_watch_times(cluster),
    };
    if (!config->gpushare.unhealthy_gpus) {
        return 0;
    }
    cluster->unhealthy = sl_unhealthy_start(&options, err);
    return cluster->unhealthy == NULL ? -1 : 0;
}

/* Complains once of the same trouble. */
static void take_front_proxy(void *context, const struct sl_front_proxy_said *said,
                             const struct sl_error *err)
{
    struct sl_cluster *cluster = context;
    struct sl_error own = {.code = SL_ERR_NONE};
    bool good = said != NULL && sl_front_proxy_set(cluster->options.proxy, said->authorities,
                                                   said->name, said->n, &own) == 0;
    const char *why = good ? "" : said != NULL ? own.message : err->message;
    if (!good && strcmp(why, cluster->front_told) != 0) {
        sl_log(SL_LOG_WARN, "whom to believe as the API server's front proxy cannot be read",
               "reason", why, (char *)NULL);
    }
    (void)snprintf(cluster->front_told, sizeof(cluster->front_told), "%s", why);
}

static int start_front_proxy(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_front_proxy_options options = {.client = cluster->client,
                                                   .every_us = SL_MINUTE_US,
                                                   .told = take_front_proxy,
                                                   .context = cluster};
    if (cluster->options.proxy == NULL) {
        return 0;
    }
    cluster->front = sl_front_proxy_start(&options, err);
    return cluster->front == NULL ? -1 : 0;
}

static int start_classes(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_dra_classes_options options = {
        .client = cluster->client, .store = cluster->options.store, .every_us = SL_MINUTE_US};
    cluster->classes = sl_dra_classes_start(&options, err);
    return cluster->classes == NULL ? -1 : 0;
}

int sl_cluster_start(struct sl_cluster *cluster, struct sl_error *err)
{
    cluster->started_ns = sl_clock_monotonic_ns();
    if (cluster->namespaces != NULL &&
        sl_namespaces_follow(cluster->namespaces, cluster->config.tenants.label, err) < 0) {
        return -1;
    }
    if (start_unhealthy(cluster, err) < 0 || start_front_proxy(cluster, err) < 0 ||
        start_classes(cluster, err) < 0 || sl_cluster_start_lease(cluster, err) < 0) {
        return -1;
    }
    sl_cluster_look_anew(cluster);
    return cluster->worker == NULL ? 0 : sl_queue_worker_start(cluster->worker, err);
}

void sl_cluster_stop(struct sl_cluster *cluster)
{
    if (atomic_exchange(&cluster->stopping, true)) {
        return;
    }
    if (cluster->worker != NULL) {
        sl_queue_worker_stop(cluster->worker);
    }
    sl_cluster_end_watch(cluster);
    sl_jobs_stop(cluster->jobs);
    cluster->jobs = NULL;
    /* the next leadership must not begin while a binding of ours may still take effect */
    if (cluster->lease != NULL && !sl_kube_binder_is_quiet(cluster->binder)) {
        sl_log(SL_LOG_WARN, "the lease is left to expire: a binding may still be under way",
               (char *)NULL);
        sl_lease_keep(cluster->lease);
    }
    sl_lease_stop(cluster->lease, release_timeout_us);
    cluster->lease = NULL;
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_unhealthy *unhealthy = cluster->unhealthy;
    cluster->unhealthy = NULL;
    struct sl_namespaces *namespaces = cluster->namespaces;
    cluster->namespaces = NULL;
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_unhealthy_stop(unhealthy);
    sl_namespaces_free(namespaces);
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_events *events = cluster->events;
    cluster->events = NULL;
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_events_free(events);
    sl_client_free(cluster->client);
    sl_front_proxy_stop(cluster->front);
    sl_dra_classes_stop(cluster->classes);
    sl_leader_label_free(cluster->label);
    sl_queue_worker_free(cluster->worker);
    sl_partitioner_free(cluster->partitioner);
    sl_kube_cutter_free(cluster->cutter);
    sl_stage_tracker_free(cluster->stages);
    sl_releaser_free(cluster->releaser);
    sl_kube_binder_free(cluster->binder);
    sl_fetcher_free(cluster->fetcher);
}

void sl_cluster_free(struct sl_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    sl_cluster_stop(cluster);
    sl_waiting_free(cluster->waiting);
    sl_idlers_free(cluster->idlers);
    sl_unqueued_free(&cluster->unqueued);
    sl_buf_free(&cluster->found);
    sl_buf_free(&cluster->kept);
    (void)pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

struct sl_hooks sl_cluster_hooks(struct sl_cluster *cluster)
{
    return (struct sl_hooks){.context = cluster,
                             .missing = sl_cluster_missing,
                             .unsynced = sl_cluster_unsynced,
                             .leader = sl_cluster_leader,
                             .leadership = hook_leadership,
                             .bound = sl_cluster_tell_bound,
                             .state = sl_cluster_state,
                             .metrics = sl_cluster_write_metrics};
}
