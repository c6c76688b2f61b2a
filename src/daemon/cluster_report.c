/* What the cluster's side says of itself: in /api/v1/state and as metrics. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/cluster_internal.h"
#include "server/api.h"
#include "server/metrics.h"

/* ---- sums ---- */

static void add(struct sl_reflector_stats *sum, const struct sl_reflector_stats *more)
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

void sl_cluster_add_stats(struct sl_sync_stats *sum, const struct sl_sync_stats *more)
{
    add(&sum->nodes, &more->nodes);
    add(&sum->pods, &more->pods);
    sum->swept_nodes += more->swept_nodes;
    sum->swept_pods += more->swept_pods;
}

/* The counters of a watch, in state and metrics. */
static const struct counter {
    const char *key;
    const char *metric;
    const char *help;
    size_t offset;
} counters[] = {
    {"lists", "sliced_reflector_lists_total", "Lists begun.",
     offsetof(struct sl_reflector_stats, lists)},
    {"listed", "sliced_reflector_listed_total", "Lists that were read to their end.",
     offsetof(struct sl_reflector_stats, listed)},
    {"watches", "sliced_reflector_watches_total", "Watches begun.",
     offsetof(struct sl_reflector_stats, watches)},
    {"events", "sliced_reflector_events_total", "Events of watches.",
     offsetof(struct sl_reflector_stats, events)},
    {"bookmarks", "sliced_reflector_bookmarks_total", "Bookmarks of watches.",
     offsetof(struct sl_reflector_stats, bookmarks)},
    {"skipped", "sliced_reflector_skipped_total", "Objects that could not be read or kept.",
     offsetof(struct sl_reflector_stats, skipped)},
    {"expired", "sliced_reflector_expired_total",
     "Versions that the API server did not have any more (410), so that all was listed anew.",
     offsetof(struct sl_reflector_stats, expired)},
    {"failures", "sliced_reflector_failures_total", "Lists and watches that broke.",
     offsetof(struct sl_reflector_stats, failures)},
};

enum { COUNTERS = sizeof(counters) / sizeof(counters[0]) };

static uint64_t value_of(const struct sl_reflector_stats *stats, const struct counter *counter)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)stats + counter->offset, sizeof(value));
    return value;
}

/* ---- state ---- */

static void write_u64(struct sl_writer *w, const char *key, uint64_t value)
{
    sl_write_key(w, key);
    sl_write_i64(w, (int64_t)value);
}

static void write_leader(struct sl_writer *w, struct sl_cluster *cluster)
{
    char holder[SL_IDENTITY_MAX] = "";
    if (cluster->lease != NULL) {
        sl_lease_holder(cluster->lease, holder, sizeof(holder));
    }
    sl_write_key(w, "leader");
    sl_write_object(w);
    sl_write_key(w, "election");
    sl_write_bool(w, cluster->lease != NULL);
    sl_write_key(w, "leads");
    sl_write_bool(w, sl_cluster_leads(cluster));
    sl_write_key(w, "identity");
    sl_write_text(w, cluster->identity);
    sl_write_key(w, "holder");
    sl_write_text(w, holder[0] == '\0' ? NULL : holder);
    write_u64(w, "terms", atomic_load(&cluster->terms));
    sl_write_object_end(w);
}

static void write_reflector(struct sl_writer *w, const char *key,
                            const struct sl_reflector_stats *stats)
{
    sl_write_key(w, key);
    sl_write_object(w);
    sl_write_key(w, "synced");
    sl_write_bool(w, stats->synced);
    for (size_t i = 0; i < COUNTERS; i++) {
        write_u64(w, counters[i].key, value_of(stats, &counters[i]));
    }
    sl_write_key(w, "lastNewsAt");
    sl_api_time(w, stats->last_event_us);
    sl_write_object_end(w);
}

static void write_watch(struct sl_writer *w, struct sl_cluster *cluster)
{
    struct sl_sync_stats stats;
    const char *missing = sl_cluster_sync_stats(cluster, &stats);
    sl_write_key(w, "watch");
    sl_write_object(w);
    sl_write_key(w, "synced");
    sl_write_bool(w, missing == NULL);
    sl_write_key(w, "missing");
    sl_write_text(w, missing);
    write_reflector(w, "nodes", &stats.nodes);
    write_reflector(w, "pods", &stats.pods);
    write_u64(w, "sweptNodes", stats.swept_nodes);
    write_u64(w, "sweptPods", stats.swept_pods);
    sl_write_object_end(w);
}

static void write_client(struct sl_writer *w, struct sl_cluster *cluster)
{
    struct sl_client_stats stats;
    sl_client_stats(cluster->client, &stats);
    sl_write_key(w, "apiServer");
    sl_write_object(w);
    sl_write_key(w, "url");
    sl_write_text(w, cluster->options.access->server);
    sl_write_key(w, "access");
    sl_write_text(w, cluster->options.from);
    write_u64(w, "requests", stats.calls);
    write_u64(w, "retries", stats.retries);
    write_u64(w, "throttled", stats.throttled);
    write_u64(w, "refused", stats.refused);
    write_u64(w, "failures", stats.failures);
    write_u64(w, "inFlight", stats.in_flight);
    write_u64(w, "queued", stats.queued);
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
    write_u64(w, "sent", stats.sent);
    write_u64(w, "aggregated", stats.aggregated);
    write_u64(w, "dropped", stats.dropped);
    write_u64(w, "failed", stats.failed);
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

static void write_delay(struct sl_buf *out, struct sl_cluster *cluster)
{
    sl_metrics_family(out, "sliced_watch_delay_seconds", "histogram",
                      "Time from an event of a watch to the snapshot that shows it.");
    sl_histogram_write(&cluster->delay, "sliced_watch_delay_seconds", "", out);
}

static void write_reflectors(struct sl_buf *out, const struct sl_sync_stats *stats)
{
    for (size_t i = 0; i < COUNTERS; i++) {
        sl_metrics_family(out, counters[i].metric, "counter", counters[i].help);
        sl_buf_printf(out, "%s{resource=\"nodes\"} %" PRIu64 "\n", counters[i].metric,
                      value_of(&stats->nodes, &counters[i]));
        sl_buf_printf(out, "%s{resource=\"pods\"} %" PRIu64 "\n", counters[i].metric,
                      value_of(&stats->pods, &counters[i]));
    }
    sl_metrics_family(out, "sliced_reflector_last_news_timestamp_seconds", "gauge",
                      "Unix time of the last event, bookmark or complete list; 0: there was none.");
    sl_buf_printf(out,
                  "sliced_reflector_last_news_timestamp_seconds{resource=\"nodes\"} %.3f\n"
                  "sliced_reflector_last_news_timestamp_seconds{resource=\"pods\"} %.3f\n",
                  (double)stats->nodes.last_event_us / 1e6,
                  (double)stats->pods.last_event_us / 1e6);
    sl_metrics_family(out, "sliced_reflector_swept_total", "counter",
                      "Objects that were forgotten because a list did not name them.");
    sl_buf_printf(out,
                  "sliced_reflector_swept_total{resource=\"nodes\"} %" PRIu64 "\n"
                  "sliced_reflector_swept_total{resource=\"pods\"} %" PRIu64 "\n",
                  stats->swept_nodes, stats->swept_pods);
}

static void write_calls(struct sl_buf *out, struct sl_cluster *cluster)
{
    struct sl_client_stats stats;
    sl_client_stats(cluster->client, &stats);
    sl_metrics_family(
        out, "sliced_kube_requests_total", "counter",
        "Calls to the API server: taken, of these failed (no answer, or 400 and above), and "
        "refused because too many were queued.");
    sl_buf_printf(out,
                  "sliced_kube_requests_total{what=\"taken\"} %" PRIu64 "\n"
                  "sliced_kube_requests_total{what=\"failed\"} %" PRIu64 "\n"
                  "sliced_kube_requests_total{what=\"refused\"} %" PRIu64 "\n",
                  stats.calls, stats.failures, stats.refused);
    sl_metrics_single(out, "sliced_kube_retries_total", "counter", "Tries after the first.",
                      stats.retries);
    sl_metrics_single(out, "sliced_kube_throttled_total", "counter",
                      "Calls that had to wait for kubernetes.qps.", stats.throttled);
    sl_metrics_single(out, "sliced_kube_requests_in_flight", "gauge",
                      "Calls under way, watches included.", stats.in_flight);
    sl_metrics_single(out, "sliced_kube_requests_queued", "gauge",
                      "Calls that wait for their turn.", stats.queued);
}

static void write_binder(struct sl_buf *out, struct sl_cluster *cluster)
{
    struct sl_kube_binder_stats stats;
    struct sl_fetcher_stats fetches;
    sl_kube_binder_stats(cluster->binder, &stats);
    sl_fetcher_stats(cluster->fetcher, &fetches);
    sl_metrics_family(
        out, "sliced_binder_calls_total", "counter",
        "What bindings cost: Bindings posted, pods read to find out what became of one, pods "
        "read because the watch had not told of them yet.");
    sl_buf_printf(out,
                  "sliced_binder_calls_total{what=\"post\"} %" PRIu64 "\n"
                  "sliced_binder_calls_total{what=\"read\"} %" PRIu64 "\n"
                  "sliced_binder_calls_total{what=\"fetch\"} %" PRIu64 "\n",
                  stats.posts, stats.reads, fetches.begun);
    sl_metrics_family(
        out, "sliced_deadlines_total", "counter",
        "activeDeadlineSeconds set from sliced.dev/timeout after binding, or given up.");
    sl_buf_printf(out,
                  "sliced_deadlines_total{outcome=\"set\"} %" PRIu64 "\n"
                  "sliced_deadlines_total{outcome=\"failed\"} %" PRIu64 "\n",
                  stats.deadlines, stats.deadline_failures);
}

static void write_told(struct sl_buf *out, struct sl_cluster *cluster)
{
    struct sl_events_stats stats;
    if (cluster->events == NULL) {
        return;
    }
    sl_events_stats(cluster->events, &stats);
    sl_metrics_family(
        out, "sliced_events_total", "counter",
        "Events on pods: sent, counted into an earlier one, dropped for the rate or the queue, "
        "failed.");
    sl_buf_printf(out,
                  "sliced_events_total{outcome=\"sent\"} %" PRIu64 "\n"
                  "sliced_events_total{outcome=\"aggregated\"} %" PRIu64 "\n"
                  "sliced_events_total{outcome=\"dropped\"} %" PRIu64 "\n"
                  "sliced_events_total{outcome=\"failed\"} %" PRIu64 "\n",
                  stats.sent, stats.aggregated, stats.dropped, stats.failed);
}

void sl_cluster_metrics(void *context, struct sl_buf *out)
{
    struct sl_cluster *cluster = context;
    struct sl_sync_stats stats;
    const char *missing = sl_cluster_sync_stats(cluster, &stats);
    sl_metrics_single(out, "sliced_leader", "gauge",
                      "1 while this replica leads, or needs no lease.",
                      sl_cluster_leads(cluster) ? 1 : 0);
    sl_metrics_single(out, "sliced_synced", "gauge", "1 while the whole cluster is known.",
                      missing == NULL ? 1 : 0);
    write_delay(out, cluster);
    write_reflectors(out, &stats);
    write_calls(out, cluster);
    write_binder(out, cluster);
    write_told(out, cluster);
}
