/* The metrics as Prometheus text: one table of metrics, each with the function that writes its
 * samples. https://prometheus.io/docs/instrumenting/exposition_formats/ */
#include <inttypes.h>
#include <stdio.h>

#include "server/metrics_table.h"
#include "server/process.h"
#include "server/version.h"
#include "sliced/overcommit.h"

struct source {
    struct sl_metrics *metrics;
    const struct sl_snapshot *snapshot;
    const struct sl_store_stats *stats;
    struct sl_process process;
    struct sl_buf *out;
};

struct metric {
    const char *name;
    const char *type;
    const char *help;
    void (*write)(const struct source *source, const char *name);
    bool (*shown)(const struct source *source); /* NULL: always */
};

void sl_metrics_label(struct sl_buf *out, struct sl_str value)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.s[i];
        if (c == '\n') {
            sl_buf_puts(out, "\\n");
            continue;
        }
        if (c == '"' || c == '\\') {
            sl_buf_putc(out, '\\');
        }
        sl_buf_putc(out, c);
    }
}

static uint64_t load(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void sample(const struct source *source, const char *name, uint64_t value)
{
    sl_buf_printf(source->out, "%s %" PRIu64 "\n", name, value);
}

static void write_build(const struct source *source, const char *name)
{
    sl_buf_printf(source->out, "%s{version=\"%s\",compiler=\"", name, SL_VERSION);
    sl_metrics_label(source->out, SL_STR(SL_COMPILER));
    sl_buf_puts(source->out, "\"} 1\n");
}

static void write_code(struct sl_buf *out, unsigned code)
{
    if (code == 0) {
        sl_buf_puts(out, "none");
    } else if (code == 599) {
        sl_buf_puts(out, "other");
    } else {
        sl_buf_i64(out, code);
    }
}

static void write_requests(const struct source *source, const char *name)
{
    for (unsigned c = 0; c < SL_CLASS_COUNT; c++) {
        for (unsigned i = 0; i < SL_METRIC_CODES; i++) {
            uint64_t n = load(&source->metrics->requests[c][i]);
            if (n == 0 && (c >= SL_CLASS_VERBS || i != 0)) {
                continue; /* the verbs' 200 is always there, so that rates begin at 0 */
            }
            sl_buf_printf(source->out, "%s{verb=\"%s\",code=\"", name,
                          sl_class_name((enum sl_class)c));
            write_code(source->out, sl_metric_codes[i]);
            sl_buf_printf(source->out, "\"} %" PRIu64 "\n", n);
        }
    }
}

void sl_metrics_family(struct sl_buf *out, const char *name, const char *type, const char *help)
{
    sl_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void sl_metrics_single(struct sl_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value)
{
    sl_metrics_family(out, name, type, help);
    sl_buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

void sl_metrics_buckets(struct sl_buf *out, const char *name, const char *labels,
                        const struct sl_buckets *buckets)
{
    const char *comma = labels[0] == '\0' ? "" : ",";
    const char *open = labels[0] == '\0' ? "" : "{";
    const char *close = labels[0] == '\0' ? "" : "}";
    double unit = (double)buckets->unit;
    uint64_t sum = 0;
    for (unsigned i = 0; i < buckets->n; i++) {
        sum += buckets->bucket[i];
        sl_buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
                      (double)buckets->bounds[i] / unit, sum);
    }
    sum += buckets->bucket[buckets->n];
    sl_buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, sum);
    sl_buf_printf(out, "%s_sum%s%s%s %.*f\n", name, open, labels, close, buckets->decimals,
                  (double)buckets->sum / unit);
    sl_buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, sum);
}

void sl_histogram_write(struct sl_histogram *histogram, const char *name, const char *labels,
                        struct sl_buf *out)
{
    uint64_t bucket[SL_METRIC_BUCKETS + 1];
    for (unsigned i = 0; i <= SL_METRIC_BUCKETS; i++) {
        bucket[i] = load(&histogram->bucket[i]);
    }
    const struct sl_buckets buckets = {
        bucket, sl_metric_bounds, SL_METRIC_BUCKETS, load(&histogram->sum_ns), 1000000000, 9};
    sl_metrics_buckets(out, name, labels, &buckets);
}

static void write_histogram(const struct source *source, const char *name, unsigned verb,
                            unsigned outcome)
{
    char labels[64];
    (void)snprintf(labels, sizeof(labels), "verb=\"%s\",outcome=\"%s\"",
                   sl_class_name((enum sl_class)verb), sl_outcome_name((enum sl_outcome)outcome));
    sl_histogram_write(&source->metrics->duration[verb][outcome], name, labels, source->out);
}

static void write_durations(const struct source *source, const char *name)
{
    for (unsigned verb = 0; verb < SL_CLASS_VERBS; verb++) {
        for (unsigned outcome = 0; outcome < SL_OUTCOME_COUNT; outcome++) {
            write_histogram(source, name, verb, outcome);
        }
    }
}

static void write_nodes(const struct source *source, const char *name)
{
    for (unsigned verb = 0; verb < SL_CLASS_VERBS; verb++) {
        if (verb != SL_CLASS_BIND) {
            sl_buf_printf(source->out, "%s{verb=\"%s\"} %" PRIu64 "\n", name,
                          sl_class_name((enum sl_class)verb), load(&source->metrics->nodes[verb]));
        }
    }
}

static void write_binds(const struct source *source, const char *name)
{
    for (unsigned i = 0; i < SL_BIND_CODES; i++) {
        sl_buf_printf(source->out, "%s{code=\"%s\"} %" PRIu64 "\n", name,
                      sl_bind_code_name((enum sl_bind_code)i), load(&source->metrics->binds[i]));
    }
}

static void write_bind_ends(const struct source *source, const char *name)
{
    static const char *const ends[SL_BIND_ENDS] = {[SL_BIND_END_BOUND] = "bound",
                                                   [SL_BIND_END_FAILED] = "failed",
                                                   [SL_BIND_END_UNKNOWN] = "unknown"};
    for (unsigned i = 0; i < SL_BIND_ENDS; i++) {
        sl_buf_printf(source->out, "%s{outcome=\"%s\"} %" PRIu64 "\n", name, ends[i],
                      load(&source->metrics->bind_ends[i]));
    }
}

static void write_limits(const struct source *source, const char *name)
{
    for (unsigned i = 0; i < SL_LIMIT_COUNT; i++) {
        uint64_t n = sl_metrics_limit_hits(source->metrics, source->stats, (enum sl_limit)i);
        sl_buf_printf(source->out, "%s{limit=\"%s\"} %" PRIu64 "\n", name,
                      sl_limit_name((enum sl_limit)i), n);
    }
}

static void write_ledger(const struct source *source, const char *name)
{
    const struct {
        const char *event;
        uint64_t n;
    } rows[] = {{"bind", source->stats->binds},
                {"conflict", source->stats->conflicts},
                {"lapse", source->stats->lapses},
                {"rollback", source->stats->rollbacks}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        sl_buf_printf(source->out, "%s{event=\"%s\"} %" PRIu64 "\n", name, rows[i].event,
                      rows[i].n);
    }
}

static void write_reloads(const struct source *source, const char *name)
{
    sl_buf_printf(source->out, "%s{result=\"ok\"} %" PRIu64 "\n", name,
                  load(&source->metrics->reloads_ok));
    sl_buf_printf(source->out, "%s{result=\"failed\"} %" PRIu64 "\n", name,
                  load(&source->metrics->reloads_failed));
}

static void write_tls_reloads(const struct source *source, const char *name)
{
    sl_buf_printf(source->out, "%s{result=\"ok\"} %" PRIu64 "\n", name,
                  load(&source->metrics->tls_reloads_ok));
    sl_buf_printf(source->out, "%s{result=\"failed\"} %" PRIu64 "\n", name,
                  load(&source->metrics->tls_reloads_failed));
}

static bool has_tls(const struct source *source)
{
    return atomic_load_explicit(&source->metrics->tls_not_after, memory_order_relaxed) != 0;
}

static void write_tls_end(const struct source *source, const char *name)
{
    int64_t end = atomic_load_explicit(&source->metrics->tls_not_after, memory_order_relaxed);
    sl_buf_printf(source->out, "%s %" PRId64 "\n", name, end);
}

static void write_cluster_nodes(const struct source *source, const char *name)
{
    sample(source, name, source->snapshot->n_nodes);
}

static void write_overcommitted(const struct source *source, const char *name)
{
    uint64_t n = 0;
    for (size_t i = 0; i < source->snapshot->n_nodes; i++) {
        n += sl_view_overcommitted(source->snapshot->view[i]) ? 1 : 0;
    }
    sample(source, name, n);
}

static void write_cluster_pods(const struct source *source, const char *name)
{
    const struct sl_snapshot *s = source->snapshot;
    size_t counted = s->n_waiting + s->n_bound;
    size_t rest = s->n_pods > counted ? s->n_pods - counted : 0;
    sl_buf_printf(source->out, "%s{state=\"waiting\"} %zu\n", name, s->n_waiting);
    sl_buf_printf(source->out, "%s{state=\"bound\"} %zu\n", name, s->n_bound);
    sl_buf_printf(source->out, "%s{state=\"other\"} %zu\n", name, rest);
}

struct pool_sum {
    const struct sl_pool *pool; /* the first one seen: for its name */
    int64_t capacity;
    int64_t used;
    int64_t free;
};

/* Adds the pools of one view; those of resources beyond the ceiling are left out. */
static bool add_pools(const struct sl_view *view, struct pool_sum *sums, size_t *n)
{
    bool complete = true;
    for (unsigned p = 0; p < view->node->n_pools; p++) {
        const struct sl_pool *pool = &view->node->pool[p];
        size_t i = 0;
        while (i < *n && sums[i].pool->key != pool->key) {
            i++;
        }
        if (i == SL_METRIC_RESOURCES_MAX) {
            complete = false;
            continue;
        }
        if (i == *n) {
            sums[(*n)++] = (struct pool_sum){.pool = pool};
        }
        sums[i].capacity += pool->capacity;
        sums[i].used += view->pool_used[p];
        sums[i].free += sl_view_free_units(view, p);
    }
    return complete;
}

static void write_pools(const struct source *source, const char *name)
{
    struct pool_sum sums[SL_METRIC_RESOURCES_MAX];
    size_t n = 0;
    bool complete = true;
    for (size_t i = 0; i < source->snapshot->n_nodes; i++) {
        complete = add_pools(source->snapshot->view[i], sums, &n) && complete;
    }
    if (!complete) {
        sl_metrics_limit(source->metrics, SL_LIMIT_SERIES);
    }
    for (size_t i = 0; i < n; i++) {
        const struct {
            const char *state;
            int64_t units;
        } rows[] = {{"capacity", sums[i].capacity}, {"used", sums[i].used}, {"free", sums[i].free}};
        for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
            sl_buf_printf(source->out, "%s{resource=\"", name);
            sl_metrics_label(source->out, sl_str_of(sums[i].pool->resource));
            sl_buf_printf(source->out, "\",state=\"%s\"} %" PRId64 "\n", rows[r].state,
                          rows[r].units);
        }
    }
}

static void write_reservations(const struct source *source, const char *name)
{
    sample(source, name, source->snapshot->n_reserved);
}

static void write_generation(const struct source *source, const char *name)
{
    sample(source, name, source->snapshot->generation);
}

static void write_connections(const struct source *source, const char *name)
{
    int64_t n = atomic_load_explicit(&source->metrics->connections, memory_order_relaxed);
    sample(source, name, n > 0 ? (uint64_t)n : 0);
}

static void write_buffered(const struct source *source, const char *name)
{
    int64_t bytes = atomic_load_explicit(&source->metrics->buffered, memory_order_relaxed);
    sample(source, name, bytes > 0 ? (uint64_t)bytes : 0);
}

static void write_in_flight(const struct source *source, const char *name)
{
    int64_t n = atomic_load_explicit(&source->metrics->in_flight, memory_order_relaxed);
    sample(source, name, n > 0 ? (uint64_t)n : 0);
}

static void write_resident(const struct source *source, const char *name)
{
    sample(source, name, source->process.resident_bytes);
}

static void write_virtual(const struct source *source, const char *name)
{
    sample(source, name, source->process.virtual_bytes);
}

static void write_files(const struct source *source, const char *name)
{
    sample(source, name, source->process.open_files);
}

static void write_cpu(const struct source *source, const char *name)
{
    sl_buf_printf(source->out, "%s %.6f\n", name, (double)source->process.cpu_us / 1e6);
}

static void write_start(const struct source *source, const char *name)
{
    sl_buf_printf(source->out, "%s %.3f\n", name, (double)source->metrics->started_us / 1e6);
}

static const struct metric metrics_table[] = {
    {"sliced_build_info", "gauge", "The build that runs; its value is always 1.", write_build,
     NULL},
    {"sliced_http_requests_total", "counter",
     "HTTP requests by what they were for and by status; code none: the client went away.",
     write_requests, NULL},
    {"sliced_verb_duration_seconds", "histogram",
     "Time from a request's headers to its reply, by extender verb and outcome.", write_durations,
     NULL},
    {"sliced_verb_nodes_total", "counter", "Candidate nodes looked at, by extender verb.",
     write_nodes, NULL},
    {"sliced_bind_total", "counter", "Bind calls by the ledger's answer.", write_binds, NULL},
    {"sliced_bindings_total", "counter",
     "Bindings that were made for a reservation, by what came of them.", write_bind_ends, NULL},
    {"sliced_ledger_events_total", "counter", "What happened to reservations.", write_ledger, NULL},
    {"sliced_limit_hits_total", "counter", "Times that a configured ceiling was met.", write_limits,
     NULL},
    {"sliced_config_reloads_total", "counter", "Configuration reloads (SIGHUP).", write_reloads,
     NULL},
    {"sliced_tls_reloads_total", "counter", "Changed certificate files, by what came of them.",
     write_tls_reloads, has_tls},
    {"sliced_tls_certificate_not_after_seconds", "gauge",
     "Unix time at which the HTTPS certificate ends; absent with plain HTTP.", write_tls_end,
     has_tls},
    {"sliced_cluster_nodes", "gauge", "Nodes known.", write_cluster_nodes, NULL},
    {"sliced_cluster_nodes_overcommitted", "gauge",
     "Nodes whose pods hold more GPU units than the node has or has places for.",
     write_overcommitted, NULL},
    {"sliced_cluster_pods", "gauge", "Pods known, by state.", write_cluster_pods, NULL},
    {"sliced_pool_units", "gauge", "Units of each GPU resource over all nodes.", write_pools, NULL},
    {"sliced_reservations", "gauge", "Reservations that are neither committed nor lapsed.",
     write_reservations, NULL},
    {"sliced_snapshot_generation", "gauge", "Generation of the published snapshot.",
     write_generation, NULL},
    {"sliced_http_connections", "gauge", "Open HTTP connections.", write_connections, NULL},
    {"sliced_http_buffered_bytes", "gauge",
     "What requests hold of bodies and replies (server.maxBufferedBytes).", write_buffered, NULL},
    {"sliced_http_requests_in_flight", "gauge",
     "Requests that are being read or answered, this one included.", write_in_flight, NULL},
    {"process_resident_memory_bytes", "gauge", "Resident memory size in bytes.", write_resident,
     NULL},
    {"process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.", write_virtual, NULL},
    {"process_open_fds", "gauge", "Number of open file descriptors.", write_files, NULL},
    {"process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.",
     write_cpu, NULL},
    {"process_start_time_seconds", "gauge",
     "Start time of the process since Unix epoch in seconds.", write_start, NULL},
};

void sl_metrics_write(struct sl_metrics *metrics, const struct sl_snapshot *snapshot,
                      const struct sl_store_stats *stats, struct sl_buf *out)
{
    struct source source = {.metrics = metrics, .snapshot = snapshot, .stats = stats, .out = out};
    sl_process_read(&source.process);
    for (size_t i = 0; i < sizeof(metrics_table) / sizeof(metrics_table[0]); i++) {
        const struct metric *metric = &metrics_table[i];
        if (metric->shown != NULL && !metric->shown(&source)) {
            continue;
        }
        sl_metrics_family(out, metric->name, metric->type, metric->help);
        metric->write(&source, metric->name);
    }
}
