/* Reports the state of the connection to a real cluster, in /api/v1/state and as metrics. */
#include "daemon/live/report.h"

#include "daemon/live/leadership.h"
#include "daemon/live/watch.h"
#include "server/api/api.h"

/* ---- state ---- */

static void write_leader(struct sl_writer *w, struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX] = "";
    if (cluster->lease != NULL) {
        sl_lease_holder(cluster->lease, holder, sizeof(holder));
    }
    sl_write_member_object(w, "leader");
    sl_write_member_bool(w, "election", cluster->lease != NULL);
    sl_write_member_bool(w, "leads", sl_cluster_leads(cluster));
    sl_write_member_text(w, "identity", cluster->identity);
    sl_write_member_text(w, "holder", holder[0] == '\0' ? NULL : holder);
    sl_write_member_i64(w, "leaderships", (int64_t)atomic_load(&cluster->leaderships));
    sl_write_object_end(w);
}

static void write_reflector(struct sl_writer *w, const char *key,
                            const struct sl_reflector_stats *stats)
{
    sl_write_member_object(w, key);
    sl_write_member_bool(w, "synced", stats->synced);
    sl_write_member_i64(w, "lists", (int64_t)stats->lists);
    sl_write_member_i64(w, "listed", (int64_t)stats->listed);
    sl_write_member_i64(w, "watches", (int64_t)stats->watches);
    sl_write_member_i64(w, "events", (int64_t)stats->events);
    sl_write_member_i64(w, "bookmarks", (int64_t)stats->bookmarks);
    sl_write_member_i64(w, "skipped", (int64_t)stats->skipped);
    sl_write_member_i64(w, "expired", (int64_t)stats->expired);
    sl_write_member_i64(w, "failures", (int64_t)stats->failures);
    sl_write_key(w, "lastNewsAt");
    sl_api_time(w, stats->last_event_us);
    sl_write_object_end(w);
}

static void write_watch(struct sl_writer *w, struct sl_cluster *cluster)
{
    struct sl_sync_stats stats;
    const char *missing = sl_cluster_sync_stats(cluster, &stats);
    sl_write_member_object(w, "watch");
    sl_write_member_bool(w, "synced", missing == NULL);
    sl_write_member_text(w, "missing", missing);
    write_reflector(w, "nodes", &stats.nodes);
    write_reflector(w, "pods", &stats.pods);
    sl_write_member_i64(w, "sweptNodes", (int64_t)stats.swept_nodes);
    sl_write_member_i64(w, "sweptPods", (int64_t)stats.swept_pods);
    sl_write_object_end(w);
}

static void write_client(struct sl_writer *w, struct sl_cluster *cluster)
{
    struct sl_client_stats stats;
    sl_client_stats(cluster->client, &stats);
    sl_write_member_object(w, "apiServer");
    sl_write_member_text(w, "url", cluster->options.access->server);
    sl_write_member_text(w, "access", cluster->options.from);
    sl_write_member_i64(w, "requests", (int64_t)stats.calls);
    sl_write_member_i64(w, "retries", (int64_t)stats.retries);
    sl_write_member_i64(w, "throttled", (int64_t)stats.throttled);
    sl_write_member_i64(w, "refused", (int64_t)stats.refused);
    sl_write_member_i64(w, "failures", (int64_t)stats.failures);
    sl_write_member_i64(w, "inFlight", (int64_t)stats.in_flight);
    sl_write_member_i64(w, "queued", (int64_t)stats.queued);
    sl_write_object_end(w);
}

static void write_events(struct sl_writer *w, struct sl_cluster *cluster)
{
    struct sl_events_stats stats;
    sl_write_key(w, "events");
    if (cluster->events == NULL) {
        sl_write_null(w);
        return;
    }
    sl_events_stats(cluster->events, &stats);
    sl_write_object(w);
    sl_write_member_i64(w, "sent", (int64_t)stats.sent);
    sl_write_member_i64(w, "aggregated", (int64_t)stats.aggregated);
    sl_write_member_i64(w, "dropped", (int64_t)stats.dropped);
    sl_write_member_i64(w, "failed", (int64_t)stats.failed);
    sl_write_object_end(w);
}

void sl_cluster_state(void *context, struct sl_writer *w)
{
    struct sl_cluster *cluster = context;
    write_leader(w, cluster);
    write_watch(w, cluster);
    write_client(w, cluster);
    write_events(w, cluster);
}

/* ---- metrics ---- */

/* The source of the rows. */
struct moment {
    bool leads;
    bool synced;
    struct sl_sync_stats sync;
    struct sl_client_stats client;
    struct sl_kube_binder_stats binder;
    struct sl_fetcher_stats fetches;
    struct sl_releaser_stats releaser;
};

#define AT(kind, member) SL_METRIC_AT(kind, struct moment, member)
#define COUNT(member)    AT(SL_METRIC_U64, member)
#define BOTH(name, help, member)                                                                   \
    {name, SL_METRIC_COUNTER, help, "resource=\"nodes\"", COUNT(sync.nodes.member)},               \
    {                                                                                              \
        .labels = "resource=\"pods\"", COUNT(sync.pods.member)                                     \
    }
static const struct sl_metric rows[] = {
    {"sliced_leader", SL_METRIC_GAUGE,
     "1 while this replica leads, or needs no lease. The sum over replicas should be 1; 0 for "
     "longer than the lease's duration is an alarm.",
     NULL, AT(SL_METRIC_BOOL, leads)},
    {"sliced_synced", SL_METRIC_GAUGE, "1 while the whole cluster is known.", NULL,
     AT(SL_METRIC_BOOL, synced)},
    BOTH("sliced_reflector_lists_total", "Lists begun.", lists),
    BOTH("sliced_reflector_listed_total", "Lists that were read to their end.", listed),
    BOTH("sliced_reflector_watches_total", "Watches begun.", watches),
    BOTH("sliced_reflector_events_total", "Events of watches.", events),
    BOTH("sliced_reflector_bookmarks_total", "Bookmarks of watches.", bookmarks),
    BOTH("sliced_reflector_skipped_total", "Objects that could not be read or kept.", skipped),
    BOTH("sliced_reflector_expired_total",
         "Versions that the API server did not have any more (410), so that all was listed anew.",
         expired),
    BOTH("sliced_reflector_failures_total", "Lists and watches that broke.", failures),
    {"sliced_reflector_last_news_timestamp_seconds", SL_METRIC_GAUGE,
     "Unix time of the last event, bookmark or complete list; 0: there was none. More than two "
     "minutes ago is an alarm.",
     "resource=\"nodes\"", AT(SL_METRIC_MS_OF_US, sync.nodes.last_event_us)},
    {.labels = "resource=\"pods\"", AT(SL_METRIC_MS_OF_US, sync.pods.last_event_us)},
    {"sliced_reflector_swept_total", SL_METRIC_COUNTER,
     "Objects that were forgotten because a list did not name them.", "resource=\"nodes\"",
     COUNT(sync.swept_nodes)},
    {.labels = "resource=\"pods\"", COUNT(sync.swept_pods)},
    {"sliced_kube_requests_total", SL_METRIC_COUNTER, "Calls to the API server, watches included.",
     NULL, COUNT(client.calls)},
    {"sliced_kube_request_failures_total", SL_METRIC_COUNTER,
     "Calls to the API server without an answer, or answered with 400 and above.", NULL,
     COUNT(client.failures)},
    {"sliced_kube_requests_refused_total", SL_METRIC_COUNTER,
     "Calls to the API server that were not made because too many were queued.", NULL,
     COUNT(client.refused)},
    {"sliced_kube_retries_total", SL_METRIC_COUNTER, "Tries after the first.", NULL,
     COUNT(client.retries)},
    {"sliced_kube_throttled_total", SL_METRIC_COUNTER, "Calls that had to wait for kubernetes.qps.",
     NULL, COUNT(client.throttled)},
    {"sliced_kube_requests_in_flight", SL_METRIC_GAUGE, "Calls under way, watches included.", NULL,
     AT(SL_METRIC_UNSIGNED, client.in_flight)},
    {"sliced_kube_requests_queued", SL_METRIC_GAUGE, "Calls that wait for their turn.", NULL,
     AT(SL_METRIC_UNSIGNED, client.queued)},
    {"sliced_binder_calls_total", SL_METRIC_COUNTER,
     "Calls that bindings cost: Bindings posted, pods read to find out what became of one, pods "
     "read "
     "because the watch had not told of them yet.",
     "kind=\"post\"", COUNT(binder.posts)},
    {.labels = "kind=\"read\"", COUNT(binder.reads)},
    {.labels = "kind=\"fetch\"", COUNT(fetches.begun)},
    {"sliced_deadlines_total", SL_METRIC_COUNTER,
     "activeDeadlineSeconds set from sliced.dev/timeout after binding, shortened "
     "(telemetry.idleDeadline), or given up.",
     "outcome=\"set\"", COUNT(binder.deadlines)},
    {.labels = "outcome=\"shortened\"", COUNT(binder.deadlines_shortened)},
    {.labels = "outcome=\"failed\"", COUNT(binder.deadline_failures)},
    {"sliced_queue_conditions_total", SL_METRIC_COUNTER,
     "Conditions sliced.dev/Queued written on pods, or given up (and tried again later). Those "
     "that "
     "a nomination ends are in its own patch.",
     "outcome=\"written\"", COUNT(releaser.shown)},
    {.labels = "outcome=\"failed\"", COUNT(releaser.shown_failed)},
};
#undef BOTH
#undef COUNT
#undef AT

static const struct sl_metric delay_rows[] = {
    {"sliced_watch_delay_seconds", SL_METRIC_HISTOGRAM,
     "Time from an event of a watch to the snapshot that shows it.", NULL,
     SL_METRIC_AT(SL_METRIC_DISTRIBUTED, struct sl_cluster, delay)},
};

#define EVENTS(member) SL_METRIC_AT(SL_METRIC_U64, struct sl_events_stats, member)
static const struct sl_metric event_rows[] = {
    {"sliced_events_total", SL_METRIC_COUNTER,
     "Events on pods: sent, counted into an earlier one, dropped for the rate or the queue, "
     "failed.",
     "outcome=\"sent\"", EVENTS(sent)},
    {.labels = "outcome=\"aggregated\"", EVENTS(aggregated)},
    {.labels = "outcome=\"dropped\"", EVENTS(dropped)},
    {.labels = "outcome=\"failed\"", EVENTS(failed)},
};
#undef EVENTS

const struct sl_metric_table sl_cluster_metrics[] = {
    SL_METRIC_TABLE(rows), SL_METRIC_TABLE(delay_rows), SL_METRIC_TABLE(event_rows), {NULL, 0}};

void sl_cluster_write_metrics(void *context, struct sl_buf *out)
{
    struct sl_cluster *cluster = context;
    struct moment moment = {.leads = sl_cluster_leads(cluster)};
    moment.synced = sl_cluster_sync_stats(cluster, &moment.sync) == NULL;
    sl_client_stats(cluster->client, &moment.client);
    sl_kube_binder_stats(cluster->binder, &moment.binder);
    sl_fetcher_stats(cluster->fetcher, &moment.fetches);
    if (cluster->releaser != NULL) {
        sl_releaser_stats(cluster->releaser, &moment.releaser);
    }
    sl_metric_write(&sl_cluster_metrics[0], &moment, out);
    sl_metric_write(&sl_cluster_metrics[1], cluster, out);
    if (cluster->events != NULL) {
        struct sl_events_stats events;
        sl_events_stats(cluster->events, &events);
        sl_metric_write(&sl_cluster_metrics[2], &events, out);
    }
}
