/* The daemon's parts put together as src/daemon/daemon.c does it. */
#include "adversary/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adversary/account.h"
#include "adversary/checks.h"
#include "adversary/fake_time.h"
#include "adversary/gauges.h"
#include "adversary/hooks.h"
#include "adversary/usage.h"
#include "adversary/world.h"
#include "daemon/queue/clock.h"
#include "daemon/queue/entry.h"
#include "daemon/queue/plan.h"
#include "daemon/queue/worker.h"
#include "util/clock.h"

enum {
    SETTLE_STEPS = 2000,
    SETTLE_NAPS = 100000,
    MIN_ROUNDS = 4,
    QUIET_ROUNDS = 2,
    QUIET_NAPS = 60
};

static const int64_t post_max_us = 60000000;
static const int64_t nap_us = 250000;
static const int64_t short_nap_us = 5000;

const char *const play_names[PLAYS] = {
    [PLAY_ALL] = "all", [PLAY_CUTS] = "cuts", [PLAY_USAGE] = "usage"};
static enum play played;

void rig_play(enum play play)
{
    played = play;
}

enum play rig_plays(void)
{
    return played;
}

/* ---- configuration ---- */

static void write_cuts(struct rig *rig)
{
    static const char *const timeouts[] = {"1m", "2m", "15m"};
    static const char *const backoffs[] = {"10s", "1m"};
    static const char *const most[] = {"1m", "1h"};
    struct rng *rng = &rig->rng;
    size_t len = strlen(rig->yaml);
    (void)snprintf(rig->yaml + len, sizeof(rig->yaml) - len,
                   "partitioning: {enabled: true, timeout: %s, backoff: %s, maxBackoff: %s, "
                   "batchWindow: %us, maxNodes: %u, drain: %s}\n",
                   rng_pick(rng, timeouts), rng_pick(rng, backoffs), rng_pick(rng, most),
                   rng_below(rng, 2) * 5, 1 + rng_below(rng, 3),
                   rng_chance(rng, 80) ? "true" : "false");
}

/* Needs the queue, and an order that knows tenants. */
static void write_tenants(struct rig *rig)
{
    static const char *const labels[] = {"", "team", "team", "owner"};
    static const char *const shares[] = {
        "", "{tenant: a, weight: 2}, {tenant: b, weight: 0, maxRunning: 3}",
        "{tenant: a, users: true, maxWaiting: 5}, {tenant: others, weight: 0.5, maxTimeout: 2h}"};
    static const char *const spaces[] = {"", "", "{namespace: \"team-*\", tenant: a}"};
    static const char *const units[] = {
        "", "", "guarantees: [{tenant: a, resource: nvidia.com/gpu, units: 2}], ",
        "guarantees: [{tenant: a, resource: nvidia.com/gpu, model: Tesla-T4, units: 2}], ",
        "caps: [{tenant: a, resource: nvidia.com/gpu, units: 1}], "};
    struct rng *rng = &rig->rng;
    const char *share = rng_pick(rng, shares);
    size_t len = strlen(rig->yaml);
    (void)snprintf(rig->yaml + len, sizeof(rig->yaml) - len,
                   "tenants: {namespaceLabel: \"%s\", shares: [%s], namespaces: [%s], %s"
                   "borrowMaxTimeout: %s, reclaim: %s, minRuntime: 0s}\n",
                   rng_pick(rng, labels), share, rng_pick(rng, spaces),
                   share[0] == '\0' ? "" : rng_pick(rng, units), rng_chance(rng, 70) ? "0s" : "30m",
                   strstr(rig->yaml, "preemption: false") == NULL ? "false" : "true");
}

static void write_config(struct rig *rig)
{
    static const char *const orders[] = {"fifo", "sjf", "p", "hrrn", "bounded", "bounded"};
    static const char *const gates[] = {"none", "none", "webhook", "policy"};
    static const char *const schedulers[] = {"", "", "default-scheduler"};
    static const char *const limits[] = {
        "", "", "{maxTimeout: 1h}",
        "{maxTimeout: 48h}, {resource: aliyun.com/gpu-mem, maxTimeout: 5m}"};
    static const char *const headrooms[] = {
        "", "", "{resource: nvidia.com/gpu, maxTimeout: 30m, devices: 2}",
        "{resource: aliyun.com/gpu-mem, maxTimeout: 1h, devices: 1000000}"};
    static const char *const overrides[] = {
        "", "", "{namespace: team-a, alpha: 3}, {priority: 100, beta: 0.5, gamma: 0}"};
    struct rng *rng = &rig->rng;
    bool plain = played != PLAY_ALL; /* nothing but room holds a pod */
    (void)snprintf(
        rig->yaml, sizeof(rig->yaml),
        "apiVersion: sliced.dev/v1alpha1\nkind: SlicedConfiguration\n"
        "server: {listen: \"127.0.0.1:0\"}\n"
        "kubernetes: {listPage: %u, qps: 0}\n"
        "gpushare: {oneEqualShare: %s}\n"
        "events: {perSecond: 200, burst: 200}\n"
        "log: {level: %s, format: %s}\n"
        "queue: {enabled: %s, order: %s, gate: %s, schedulerName: \"%s\", backfill: %s, "
        "preemption: %s, maxReleases: %u, maxPredecessors: %u, defaultTimeout: %s, "
        "holdSeconds: %u, limits: [%s], headroom: [%s], overrides: [%s]}\n",
        rng_chance(rng, 50) ? 500 : 1 + rng_below(rng, 20), rng_chance(rng, 30) ? "true" : "false",
        rng_chance(rng, 30) ? "debug" : "info", rng_chance(rng, 50) ? "json" : "text",
        rng_chance(rng, 85) || plain ? "true" : "false", rng_pick(rng, orders),
        rng_pick(rng, gates), rng_pick(rng, schedulers), rng_chance(rng, 80) ? "true" : "false",
        rng_chance(rng, 80) ? "true" : "false", rng_chance(rng, 70) ? 256 : 1 + rng_below(rng, 4),
        rng_chance(rng, 80) ? 20000 : 1 + rng_below(rng, 8), rng_chance(rng, 50) ? "1h" : "168h",
        rng_chance(rng, 70) ? 30 : 1 + rng_below(rng, 5), plain ? "" : rng_pick(rng, limits),
        plain ? "" : rng_pick(rng, headrooms), rng_pick(rng, overrides));
    if (!plain && rng_chance(rng, 40) && strstr(rig->yaml, "queue: {enabled: true") != NULL &&
        strstr(rig->yaml, "order: hrrn") == NULL) {
        write_tenants(rig);
    }
    if (played == PLAY_CUTS) {
        write_cuts(rig);
    }
    if (played == PLAY_USAGE && rig->telemetry == NULL) { /* else it takes a restart */
        size_t len = strlen(rig->yaml);
        usage_configure(rng, rig->yaml + len, sizeof(rig->yaml) - len);
    }
}

static void read_config(const struct rig *rig, struct sl_config *out)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_config_defaults(out);
    if (sl_config_parse("adversary", rig->yaml, strlen(rig->yaml), out, NULL, &err) < 0) {
        check_failed("the configuration is wrong: %s: %s\n%s", err.field, err.message, rig->yaml);
    }
}

void rig_reload(struct rig *rig)
{
    struct sl_config fresh;
    struct sl_error err = {.code = SL_ERR_NONE};
    char kept[SL_RELOAD_TEXT_MAX];
    write_config(rig);
    read_config(rig, &fresh);
    (void)sl_config_keep(&rig->config, &fresh, kept, sizeof(kept));
    if (sl_live_replace(&rig->app->live, &fresh, &err) < 0) {
        check_failed("a reload failed: %s", err.message);
    }
    sl_store_set_one_equal_share(rig->store, fresh.gpushare.one_equal_share);
    sl_cluster_configure(rig->cluster, &fresh);
    sl_log_configure(fresh.log.level, fresh.log.json);
    sl_app_note_reload(rig->app, true, "in force");
}

/* ---- life ---- */

static void start_telemetry(struct rig *rig)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_pod_watch watch = sl_cluster_pod_watch(rig->cluster);
    rig->telemetry = sl_telemetry_new(&rig->config, rig->store, &err);
    if (rig->telemetry == NULL) {
        check_failed("telemetry does not start: %s", err.message);
    }
    sl_telemetry_watch_pods(rig->telemetry, &watch);
    (void)sl_telemetry_start(rig->telemetry, &err);
}

static void wake(void *context)
{
    (void)context;
}

void rig_begin(struct rig *rig, uint64_t seed, bool threads)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    memset(rig, 0, sizeof(*rig));
    rig->rng.state = seed;
    rig->threads = threads;
    rig->access = (struct sl_kube_access){.server = "https://adversary", .namespace = "default"};
    write_config(rig);
    read_config(rig, &rig->config);
    const struct sl_store_limits limits = {.max_nodes = (size_t)rig->config.cluster.max_nodes,
                                           .max_pods = (size_t)rig->config.cluster.max_pods,
                                           .max_reservations =
                                               (size_t)rig->config.cluster.max_reservations,
                                           .reservation_us = rig->config.cluster.reservation_us};
    sl_log_configure(rig->config.log.level, rig->config.log.json);
    rig->store = sl_store_new(&limits, &err);
    const struct sl_cluster_options options = {.config = &rig->config,
                                               .access = &rig->access,
                                               .from = "adversary",
                                               .store = rig->store,
                                               .wake = wake};
    rig->cluster = sl_cluster_new(&options, &err);
    if (sl_config_measures(&rig->config)) {
        start_telemetry(rig);
    }
    const struct sl_app_options app = {.config = &rig->config,
                                       .service = &sl_service,
                                       .store = rig->store,
                                       .binder = sl_cluster_binder(rig->cluster),
                                       .hooks = sl_cluster_hooks(rig->cluster),
                                       .queue = sl_cluster_queue_reader(rig->cluster),
                                       .partitions = sl_cluster_partition_reader(rig->cluster),
                                       .usage = rig->telemetry == NULL
                                                    ? (struct sl_usage_reader){.context = NULL}
                                                    : sl_telemetry_reader(rig->telemetry)};
    sl_store_set_one_equal_share(rig->store, rig->config.gpushare.one_equal_share);
    sl_store_heed_nominees(rig->store, !rig->config.queue.enabled);
    if (sl_cluster_start(rig->cluster, &err) < 0) {
        check_failed("the cluster does not start: %s", err.message);
    }
    rig->worker = rig->config.queue.enabled ? hooks_worker() : NULL;
    rig->app = sl_app_new(&app, &err);
    atomic_store(&rig->app->synced, true);
    struct sl_listener *listener = &rig->app->http.listener[SL_LISTENER_MAIN];
    listener->name = "adversary";
    listener->audiences = SL_FOR_ALL;
    listener->max_connections = (size_t)rig->config.server.max_connections;
    listener->patience_ns = rig->config.server.request_timeout_us * 1000;
    struct sl_listener *forwarded = &rig->app->http.listener[SL_LISTENER_VISIBILITY];
    forwarded->name = "forwarded";
    forwarded->audiences = SL_FOR_FORWARDED;
    forwarded->max_connections = listener->max_connections;
    forwarded->patience_ns = listener->patience_ns;
    rig->app->http.proxy = &rig->proxy;
}

static void go_on_calls(struct rig *rig)
{
    for (size_t i = 0; i < RIG_CALLS; i++) {
        struct http_reply reply;
        if (rig->call[i] != NULL && http_go_on(rig->call[i], &reply)) {
            rig->call[i] = NULL;
            http_reply_free(&reply);
        }
    }
}

static bool has_calls(const struct rig *rig)
{
    bool any = false;
    for (size_t i = 0; i < RIG_CALLS; i++) {
        any = any || rig->call[i] != NULL;
    }
    return any;
}

void rig_end(struct rig *rig)
{
    sl_binds_close(&rig->app->binds);
    go_on_calls(rig);
    if (has_calls(rig)) {
        check_failed("a request is not answered at the daemon's end");
    }
    sl_app_stop(rig->app);
    sl_telemetry_free(rig->telemetry);
    rig->telemetry = NULL;
    sl_cluster_free(rig->cluster);
    sl_app_free(rig->app);
    sl_store_free(rig->store);
}

void rig_restart(struct rig *rig)
{
    const struct client_faults faults = rig->faults;
    const uint64_t seed = rng_next(&rig->rng);
    rig_end(rig);
    world_lock();
    world_forget_told();
    account_forget();
    gauges_forget();
    world_unlock();
    rig_begin(rig, seed, rig->threads);
    rig->faults = faults;
}

bool rig_leads(struct rig *rig)
{
    struct sl_hooks hooks = sl_cluster_hooks(rig->cluster);
    return hooks.missing(hooks.context) == NULL;
}

/* ---- work ---- */

void rig_tick(struct rig *rig)
{
    const struct sl_live *live = sl_live_acquire(&rig->app->live);
    int64_t age_us = live->config.cluster.reservation_us;
    sl_app_end_slow(rig->app);
    (void)sl_store_expire(rig->store, sl_clock_real_us());
    sl_cluster_tick(rig->cluster, &live->config.plan.score);
    sl_binds_resolve(&rig->app->binds, sl_clock_monotonic_ns() / 1000,
                     age_us < post_max_us ? post_max_us : age_us);
    sl_live_release(live);
}

const char *rig_nominated(void *context, const char *uid)
{
    static _Thread_local char node[512];
    const struct rig *rig = context;
    return sl_store_nominated_node(rig->store, sl_str_of(uid), node, sizeof(node)) ? node : "";
}

void rig_round(struct rig *rig)
{
    if (rig->worker != NULL && !rig->threads) {
        (void)sl_queue_round(rig->worker, sl_queue_follow_clock(rig->worker, sl_clock_real_us(),
                                                                sl_clock_monotonic_ns()));
        if (rig->worker->engine != NULL) {
            sl_engine_audit(rig->worker->engine);
        }
        world_lock();
        account_nominations(rig_nominated, rig);
        world_unlock();
    }
}

void rig_measure(struct rig *rig)
{
    enum { STEPS = 100 };
    for (unsigned i = 0; i < STEPS && rig->telemetry != NULL &&
                         client_step(client_measuring(), &rig->rng, &rig->faults);
         i++) {
    }
}

void rig_carry_on(struct rig *rig, unsigned n)
{
    for (unsigned i = 0;
         i < n && !rig->threads && client_step(client_latest(), &rig->rng, &rig->faults); i++) {
        go_on_calls(rig);
    }
    go_on_calls(rig);
}

void rig_end_calls(struct rig *rig)
{
    while (has_calls(rig)) {
        hooks_nap();
        fake_time_pass(nap_us);
        go_on_calls(rig);
    }
}

/* There is something that the queue's thread is to look at, or it has no plan yet. */
static bool has_mail(const struct rig *rig)
{
    if (rig->worker == NULL) {
        return false;
    }
    (void)pthread_mutex_lock(&rig->worker->status);
    bool plans = rig->worker->leadership != 0;
    (void)pthread_mutex_unlock(&rig->worker->status);
    (void)pthread_mutex_lock(&rig->worker->mail);
    bool mail = rig->worker->posted != rig->worker->planned;
    (void)pthread_mutex_unlock(&rig->worker->mail);
    return mail || !plans;
}

/* Other threads do the work: time passes little by little until they have none. */
static void rest(struct rig *rig, bool quiet)
{
    if (rig->threads) {
        hooks_nap();
    }
    /* news are put together for a moment before they count */
    fake_time_pass(rig->threads ? short_nap_us : quiet ? 0 : nap_us);
}

bool rig_settle(struct rig *rig)
{
    const struct client_faults faults = rig->faults;
    unsigned quiet = 0;
    const unsigned steps = rig->threads ? SETTLE_NAPS : SETTLE_STEPS;
    const unsigned rounds = rig->threads ? QUIET_NAPS : QUIET_ROUNDS;
    rig->faults = (struct client_faults){0};
    client_set_faults(client_latest(), &rig->faults);
    for (unsigned i = 0; i < steps && quiet < rounds; i++) {
        rig_carry_on(rig, 1000);
        rig_round(rig);
        bool busy =
            !client_is_idle(client_latest()) || has_calls(rig) || has_mail(rig) || !rig_leads(rig);
        quiet = busy || i < MIN_ROUNDS ? 0 : quiet + 1;
        rest(rig, quiet > 0); /* in time nominations expire: there is no rest */
        if (i % (rig->threads ? 400 : 4) == 3 && quiet == 0) {
            rig_tick(rig);
        }
    }
    rig->faults = faults;
    client_set_faults(client_latest(), &rig->faults);
    if (quiet < rounds) {
        check_failed("the daemon does not come to rest: %s, %s, %s, leads %d",
                     client_is_idle(client_latest()) ? "client idle" : "client busy",
                     has_calls(rig) ? "calls" : "no calls", has_mail(rig) ? "mail" : "no mail",
                     rig_leads(rig));
    }
    return true;
}

/* ---- requests ---- */

struct http_reply rig_ask(struct rig *rig, const char *method, const char *path, const char *body)
{
    struct http_reply reply = {.status = 0};
    struct http_call *call = NULL;
    if (!http_begin(rig->app, &rig->rng, method, path, body, &reply, &call)) {
        check_failed("%s %s was suspended", method, path);
    }
    return reply;
}

void rig_bind(struct rig *rig, const char *body)
{
    struct http_reply reply = {.status = 0};
    struct http_call *call = NULL;
    size_t i = 0;
    while (i < RIG_CALLS && rig->call[i] != NULL) {
        i++;
    }
    if (i == RIG_CALLS) {
        return;
    }
    if (http_begin(rig->app, &rig->rng, "POST", "/scheduler/bind", body, &reply, &call)) {
        if (reply.status != 200 && (reply.status < 400 || reply.status >= 500)) {
            check_failed("bind is answered %u: %s", reply.status, reply.text);
        }
        http_reply_free(&reply);
    }
    rig->call[i] = call;
}
