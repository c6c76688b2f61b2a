/* The queue on a real cluster: who may plan when, and how a pod gets to kube-scheduler. */
#include "daemon/cluster_internal.h"

#include "server/process.h"
#include "util/log.h"

static const int64_t release_backoff_us = 100000;
static const int64_t release_backoff_max_us = 2000000;
static const int64_t release_max_us = 15000000;
static const int64_t jobs_rest_ns = 60000000000; /* without anybody who waits for a Job */

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

/* ---- stages ---- */

static void wake_queue(void *context)
{
    struct sl_cluster *cluster = context;
    sl_queuer_wake(cluster->queuer);
}

static void on_job(void *context, const struct sl_job_facts *job)
{
    struct sl_cluster *cluster = context;
    sl_stager_job(cluster->stages, job);
}

static void on_job_gone(void *context, struct sl_str namespace, struct sl_str name)
{
    struct sl_cluster *cluster = context;
    sl_stager_job_gone(cluster->stages, namespace, name);
}

static void on_jobs_listed(void *context)
{
    struct sl_cluster *cluster = context;
    sl_stager_listed(cluster->stages, true);
}

static void start_jobs(struct sl_cluster *cluster)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_jobs_options options = {
        .client = cluster->client,
        .times = sl_cluster_watch_times(cluster),
        .job = on_job,
        .gone = on_job_gone,
        .listed = on_jobs_listed,
        .context = cluster,
    };
    cluster->jobs = sl_jobs_start(&options, &err);
    if (cluster->jobs == NULL) {
        sl_log(SL_LOG_WARN, "the watch of jobs cannot begin", "reason", err.message, (char *)NULL);
    }
}

void sl_cluster_follow_jobs(struct sl_cluster *cluster)
{
    int64_t now_ns = sl_clock_monotonic_ns();
    if (cluster->stages != NULL && sl_stager_wants_jobs(cluster->stages)) {
        cluster->jobs_ns = now_ns;
        if (cluster->jobs == NULL) {
            start_jobs(cluster);
        }
    } else if (cluster->jobs != NULL && now_ns - cluster->jobs_ns > jobs_rest_ns) {
        sl_jobs_stop(cluster->jobs);
        cluster->jobs = NULL;
    }
}

/* ---- making it ---- */

/* A release has ended before its claim lapses. */
static int64_t release_timeout_us(const struct sl_config *config)
{
    int64_t half_us = config->queue.hold_s * 1000000 / 2;
    return half_us < release_max_us ? half_us : release_max_us;
}

int sl_cluster_make_queue(struct sl_cluster *cluster, int64_t try_us, struct sl_error *err)
{
    const struct sl_config *config = &cluster->config;
    const struct sl_releaser_options releaser = {
        .client = cluster->client,
        .term = leading_term,
        .context = cluster,
        .timeout_us = release_timeout_us(config),
        .try_us = try_us,
        .backoff_us = release_backoff_us,
        .backoff_max_us = release_backoff_max_us,
    };
    const struct sl_stager_options stages = {
        .client = cluster->client,
        .max = (size_t)config->queue.max_predecessors,
        .timeout_us = config->kubernetes.request_timeout_us,
        .wake = wake_queue,
        .context = cluster,
    };
    struct sl_queuer_options queuer = {
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
    cluster->stages = sl_stager_new(&stages, err);
    if (cluster->stages == NULL) {
        return -1;
    }
    queuer.stages = cluster->stages;
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
        sl_releaser_set_timeout(cluster->releaser, release_timeout_us(config));
        sl_stager_set_max(cluster->stages, (size_t)config->queue.max_predecessors);
    }
}
