/* Leadership, the watch and bindings together: who may decide when, on which picture. */
#include "daemon/cluster_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/embedded.h"
#include "server/process.h"
#include "server/version.h"
#include "util/log.h"

enum {
    QUEUED_MAX = 4096,
    REPLY_MAX = 4 << 20,
    EVENTS_QUEUED = 1024,
    EVENTS_REMEMBERED = 4096,
    TOLD_PER_ROUND = 50,
    FETCHES_MAX = 32,
};

static const int64_t ns_per_s = 1000000000;
static const int64_t connect_timeout_us = 5000000;
static const int64_t backoff_us = 200000;
static const int64_t backoff_max_us = 10000000;
static const int64_t grace_us = 2000000;
/* how long the watch waits for the lease to be looked at, so that one list is enough */
static const int64_t lease_first_ns = 2000000000;
static const int64_t release_timeout_us = 3000000;

static const char controller[] = "sliced.dev/scheduler";

/* ---- leadership ---- */

bool sl_cluster_leads(struct sl_cluster *cluster)
{
    return !atomic_load(&cluster->stopping) &&
           (cluster->lease == NULL ||
            (atomic_load(&cluster->elected) && sl_lease_held(cluster->lease)));
}

static void leader_changed(void *context, bool leader)
{
    struct sl_cluster *cluster = context;
    if (leader) {
        (void)atomic_fetch_add(&cluster->terms, 1);
    }
    atomic_store(&cluster->elected, leader);
    sl_log(SL_LOG_INFO, leader ? "this replica leads" : "this replica does not lead any more",
           "identity", cluster->identity, (char *)NULL);
    sl_queuer_wake(cluster->queuer);
    cluster->options.wake(cluster->options.context);
}

static const char *missing_leadership(struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX];
    if (sl_cluster_leads(cluster)) {
        return NULL;
    }
    sl_lease_holder(cluster->lease, holder, sizeof(holder));
    if (holder[0] == '\0' || strcmp(holder, cluster->identity) == 0) {
        return "no replica leads, it tries to take the lease";
    }
    return "another replica leads";
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
        sl_cluster_add_stats(out, &now);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return missing;
}

const char *sl_cluster_missing(struct sl_cluster *cluster)
{
    const char *missing = missing_leadership(cluster);
    if (missing != NULL) {
        return missing;
    }
    (void)pthread_mutex_lock(&cluster->lock);
    if (cluster->sync == NULL || cluster->term != atomic_load(&cluster->terms)) {
        missing = "it has just begun to lead and looks at the cluster anew";
    } else {
        missing = sl_sync_missing(cluster->sync);
    }
    if (missing == NULL && cluster->unhealthy != NULL) {
        missing = sl_unhealthy_missing(cluster->unhealthy);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return missing;
}

static const char *hook_missing(void *context)
{
    return sl_cluster_missing(context);
}

static void hook_leader(void *context, char *out, size_t size)
{
    struct sl_cluster *cluster = context;
    out[0] = '\0';
    if (cluster->lease != NULL && !sl_cluster_leads(cluster)) {
        sl_lease_holder(cluster->lease, out, size);
    }
    if (strcmp(out, cluster->identity) == 0) {
        out[0] = '\0'; /* it has just lost it */
    }
}

static uint64_t hook_term(void *context)
{
    struct sl_cluster *cluster = context;
    return atomic_load(&cluster->terms);
}

/* ---- the watch ---- */

static void published(void *context, int64_t delay_us)
{
    struct sl_cluster *cluster = context;
    sl_histogram_observe(&cluster->delay, delay_us * 1000);
}

/* A leader before this one may have been killed between the binding and the deadline. */
static void listed_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    sl_kube_set_deadline(cluster->binder, pod, atomic_load(&cluster->terms));
}

static void changed_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    sl_kube_retry_deadline(cluster->binder, pod, atomic_load(&cluster->terms));
}

static void seen_pod(void *context, const struct sl_pod *pod)
{
    struct sl_cluster *cluster = context;
    if (cluster->stages != NULL) {
        sl_stager_pod(cluster->stages, pod);
    }
}

static void deleted_pod(void *context, struct sl_str namespace, struct sl_str name)
{
    struct sl_cluster *cluster = context;
    sl_fetcher_deleted(cluster->fetcher, namespace, name);
    if (cluster->stages != NULL) {
        sl_stager_pod_gone(cluster->stages, namespace, name);
    }
}

static void listing_pods(void *context, bool listing)
{
    struct sl_cluster *cluster = context;
    sl_fetcher_listing(cluster->fetcher, listing);
    if (!listing && cluster->stages != NULL) {
        sl_stager_listed(cluster->stages, false);
    }
}

static size_t unhealthy_of(void *context, const struct sl_node *node,
                           int16_t index[SL_NODE_DEVICES_MAX])
{
    const struct sl_cluster *cluster = context;
    return sl_unhealthy_of(cluster->unhealthy, sl_str_of(node->name), index);
}

/* Takes the watch away and keeps what it had counted. */
static void end_sync(struct sl_cluster *cluster)
{
    struct sl_sync_stats stats;
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_sync *old = cluster->sync;
    cluster->sync = NULL;
    if (old != NULL) {
        sl_sync_stats(old, &stats);
        sl_cluster_add_stats(&cluster->past, &stats);
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_sync_stop(old);
}

/* The term that is led now; empty when none is. */
static void lead_as(struct sl_cluster *cluster, char out[SL_TERM_MAX])
{
    out[0] = '\0';
    if (cluster->lease != NULL && atomic_load(&cluster->elected)) {
        sl_lease_term(cluster->lease, out, SL_TERM_MAX);
    }
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

static void begin_sync(struct sl_cluster *cluster)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_sync_options options = {
        .client = cluster->client,
        .store = cluster->options.store,
        .times = sl_cluster_watch_times(cluster),
        .published = published,
        .listed_pod = listed_pod,
        .changed_pod = changed_pod,
        .seen_pod = seen_pod,
        .deleted_pod = deleted_pod,
        .listing_pods = listing_pods,
        .unhealthy = cluster->unhealthy == NULL ? NULL : unhealthy_of,
        .context = cluster,
    };
    uint64_t term = atomic_load(&cluster->terms);
    lead_as(cluster, cluster->led_as);
    struct sl_sync *sync = sl_sync_start(&options, &err);
    if (sync == NULL) {
        sl_log(SL_LOG_ERROR, "the watch cannot begin", "reason", err.message, (char *)NULL);
        return;
    }
    (void)pthread_mutex_lock(&cluster->lock);
    cluster->sync = sync;
    cluster->term = term;
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* The first list is worth waiting for the first word on the lease: who leads needs a list that was
 * begun after that. */
static bool may_begin(struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX] = "";
    if (cluster->lease == NULL || atomic_load(&cluster->elected) ||
        sl_clock_monotonic_ns() - cluster->started_ns > lease_first_ns) {
        return true;
    }
    sl_lease_holder(cluster->lease, holder, sizeof(holder));
    return holder[0] != '\0' && strcmp(holder, cluster->identity) != 0;
}

/* Nobody else has led since this replica did: what it knows is still all there is. */
static bool led_on(struct sl_cluster *cluster, uint64_t terms)
{
    char now[SL_TERM_MAX];
    lead_as(cluster, now);
    if (now[0] == '\0' || strcmp(now, cluster->led_as) != 0) {
        return false;
    }
    (void)pthread_mutex_lock(&cluster->lock);
    cluster->term = terms;
    (void)pthread_mutex_unlock(&cluster->lock);
    return true;
}

/* A new leader's picture must show all that the one before it has done, and a watch may lag: only a
 * list that begins now is sure to have it. */
static void look_anew(struct sl_cluster *cluster)
{
    uint64_t terms = atomic_load(&cluster->terms);
    bool outdated =
        cluster->sync != NULL && atomic_load(&cluster->elected) && cluster->term != terms;
    if (outdated && led_on(cluster, terms)) {
        return;
    }
    if (outdated) {
        sl_log(SL_LOG_INFO, "looking at the cluster anew as the leader", (char *)NULL);
        end_sync(cluster);
    }
    if (cluster->sync == NULL && (outdated || may_begin(cluster))) {
        begin_sync(cluster);
    }
}

/* ---- events ---- */

/* Bindings may end after the events have. */
bool sl_cluster_tell(void *context, const struct sl_event_note *note)
{
    struct sl_cluster *cluster = context;
    (void)pthread_mutex_lock(&cluster->lock);
    bool taken = cluster->events == NULL || sl_events_tell(cluster->events, note);
    (void)pthread_mutex_unlock(&cluster->lock);
    return taken;
}

static void hook_bound(void *context, const struct sl_binding *binding)
{
    char text[SL_ASSIGNMENT_TEXT_MAX + 300];
    (void)snprintf(text, sizeof(text), "bound to node %.*s: %s", (int)binding->node.len,
                   binding->node.s, binding->assignment);
    const struct sl_event_note note = {
        .namespace = binding->namespace,
        .name = binding->name,
        .uid = binding->uid,
        .reason = "Bound",
        .action = "Binding",
        .note = text,
    };
    (void)sl_cluster_tell(context, &note);
}

void sl_cluster_tick(struct sl_cluster *cluster, const struct sl_score_config *score)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    look_anew(cluster);
    sl_cluster_follow_jobs(cluster);
    if (cluster->waiting != NULL && now_ns - cluster->round_ns >= ns_per_s &&
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

static int make_events(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_events_options events = {
        .client = cluster->client,
        .controller = controller,
        .instance = cluster->identity,
        .per_second = (double)config->events.per_second,
        .burst = (unsigned)config->events.burst,
        .repeat_us = config->events.repeat_us,
        .max_queued = EVENTS_QUEUED,
        .max_remembered = EVENTS_REMEMBERED,
    };
    const struct sl_waiting_options waiting = {
        .store = cluster->options.store,
        .tell = sl_cluster_tell,
        .context = cluster,
        .grace_us = grace_us,
        .repeat_us = config->events.repeat_us,
        .max_told = config->events.per_second < TOLD_PER_ROUND ? (unsigned)config->events.per_second
                                                               : TOLD_PER_ROUND,
    };
    if (!config->events.enabled) {
        return 0;
    }
    cluster->events = sl_events_new(&events, err);
    if (cluster->events == NULL) {
        return -1;
    }
    if (config->queue.enabled) {
        return 0; /* the queue tells why a pod waits */
    }
    cluster->waiting = sl_waiting_new(&waiting, err);
    return cluster->waiting == NULL ? -1 : 0;
}

/* The lead first: a term that begins in between is then seen. */
static bool may_bind(void *context, uint64_t term)
{
    struct sl_cluster *cluster = context;
    return sl_cluster_leads(cluster) && atomic_load(&cluster->terms) == term;
}

static int make_binder(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    int64_t whole_us = config->kubernetes.bind_timeout_us;
    int64_t try_us = whole_us / 2;
    /* a POST that was allowed at the last moment of leading must be over before another may lead */
    int64_t rest_us = config->election.lease_duration_us - config->election.renew_deadline_us;
    if (config->election.enabled && rest_us < try_us) {
        try_us = rest_us;
    }
    const struct sl_kube_binder_options options = {
        .client = cluster->client,
        .store = cluster->options.store,
        .may_bind = may_bind,
        .context = cluster,
        .timeout_us = whole_us,
        .try_us = try_us,
        .backoff_us = backoff_us / 2,
        .backoff_max_us = whole_us / 2,
    };
    const struct sl_fetcher_options fetcher = {
        .client = cluster->client,
        .store = cluster->options.store,
        .timeout_us = whole_us / 8, /* the binding comes after it, both within httpTimeout */
        .max = FETCHES_MAX,
    };
    cluster->binder = sl_kube_binder_new(&options, err);
    cluster->fetcher = sl_fetcher_new(&fetcher, err);
    if (cluster->binder == NULL || cluster->fetcher == NULL) {
        return -1;
    }
    return sl_cluster_make_queue(cluster, try_us, err);
}

static void bind_pod(void *context, const struct sl_binding *binding, sl_bind_done done, void *call)
{
    struct sl_cluster *cluster = context;
    sl_kube_bind(cluster->binder, binding, done, call);
}

static void resolve_pod(void *context, const struct sl_binding *binding, sl_bind_done done,
                        void *call)
{
    struct sl_cluster *cluster = context;
    sl_kube_resolve(cluster->binder, binding, done, call);
}

static void fetch_pod(void *context, const struct sl_binding *pod, sl_fetch_done done, void *call)
{
    struct sl_cluster *cluster = context;
    sl_fetch_pod(cluster->fetcher, pod->namespace, pod->name, pod->uid, done, call);
}

struct sl_binder sl_cluster_binder(struct sl_cluster *cluster)
{
    return (struct sl_binder){
        .context = cluster, .bind = bind_pod, .resolve = resolve_pod, .fetch = fetch_pod};
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
    (void)pthread_mutex_init(&cluster->lock, NULL);
    /* no clock knows what became of a binding: whoever made the reservation ends it */
    sl_store_hold_lapses(cluster->options.store, true);
    if (make_identity(cluster, err) < 0 || make_client(cluster, err) < 0 ||
        make_events(cluster, err) < 0 || make_binder(cluster, err) < 0) {
        sl_cluster_free(cluster);
        return NULL;
    }
    return cluster;
}

static const char *lease_namespace(const struct sl_cluster *cluster)
{
    const char *own = cluster->options.access->namespace;
    if (cluster->config.election.namespace[0] != '\0') {
        return cluster->config.election.namespace;
    }
    return own != NULL && own[0] != '\0' ? own : "default";
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

int sl_cluster_start(struct sl_cluster *cluster, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_lease_options options = {
        .client = cluster->client,
        .namespace = lease_namespace(cluster),
        .name = config->election.name,
        .identity = cluster->identity,
        .lease_duration_us = config->election.lease_duration_us,
        .renew_deadline_us = config->election.renew_deadline_us,
        .retry_period_us = config->election.retry_period_us,
        .changed = leader_changed,
        .context = cluster,
    };
    cluster->started_ns = sl_clock_monotonic_ns();
    if (start_unhealthy(cluster, err) < 0) {
        return -1;
    }
    if (config->election.enabled) {
        cluster->lease = sl_lease_start(&options, err);
        if (cluster->lease == NULL) {
            return -1;
        }
    }
    look_anew(cluster);
    return cluster->queuer == NULL ? 0 : sl_queuer_start(cluster->queuer, err);
}

void sl_cluster_stop(struct sl_cluster *cluster)
{
    atomic_store(&cluster->stopping, true);
    if (cluster->queuer != NULL) {
        sl_queuer_stop(cluster->queuer);
    }
    end_sync(cluster);
    sl_jobs_stop(cluster->jobs);
    cluster->jobs = NULL;
    /* the next leader must not begin while a binding of ours may yet be carried out */
    if (cluster->lease != NULL && !sl_kube_binder_is_quiet(cluster->binder)) {
        sl_log(SL_LOG_WARN, "the lease is left to run out: a binding may be under way still",
               (char *)NULL);
        sl_lease_keep(cluster->lease);
    }
    sl_lease_stop(cluster->lease, release_timeout_us);
    cluster->lease = NULL;
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_unhealthy *unhealthy = cluster->unhealthy;
    cluster->unhealthy = NULL;
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_unhealthy_stop(unhealthy);
    (void)pthread_mutex_lock(&cluster->lock);
    struct sl_events *events = cluster->events;
    cluster->events = NULL;
    (void)pthread_mutex_unlock(&cluster->lock);
    sl_events_free(events);
    sl_client_free(cluster->client);
    cluster->client = NULL;
    sl_queuer_free(cluster->queuer);
    cluster->queuer = NULL;
    sl_stager_free(cluster->stages);
    cluster->stages = NULL;
    sl_releaser_free(cluster->releaser);
    cluster->releaser = NULL;
    sl_kube_binder_free(cluster->binder);
    cluster->binder = NULL;
    sl_fetcher_free(cluster->fetcher);
    cluster->fetcher = NULL;
}

void sl_cluster_free(struct sl_cluster *cluster)
{
    if (cluster == NULL) {
        return;
    }
    sl_cluster_stop(cluster);
    sl_waiting_free(cluster->waiting);
    (void)pthread_mutex_destroy(&cluster->lock);
    free(cluster);
}

struct sl_hooks sl_cluster_hooks(struct sl_cluster *cluster)
{
    return (struct sl_hooks){.context = cluster,
                             .missing = hook_missing,
                             .leader = hook_leader,
                             .term = hook_term,
                             .bound = hook_bound,
                             .state = sl_cluster_state,
                             .metrics = sl_cluster_metrics};
}
