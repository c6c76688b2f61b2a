/* The server's metrics. */
#include <inttypes.h>
#include <stdio.h>

#include "server/metrics/metrics.h"
#include "server/metrics/process.h"
#include "server/metrics/version.h"
#include "sliced/overcommit.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "rows of counts read either");

/* ---- written samples ---- */

/* A resource over all nodes. */
struct pool_sum {
    const struct sl_pool *pool; /* the first one seen, for its name */
    int64_t capacity;
    int64_t used;
    int64_t set_aside;
    int64_t free;
};

/* Their source. */
struct moment {
    struct sl_metrics *metrics;
    const struct sl_snapshot *snapshot;
    const struct sl_store_stats *stats;
    struct pool_sum pool[SL_METRIC_RESOURCES_MAX];
    size_t n_pools;
};

static uint64_t counter_load(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_build(const void *source, const char *name, struct sl_buf *out)
{
    (void)source;
    sl_buf_printf(out, "%s{version=\"%s\",compiler=\"", name, SL_VERSION);
    sl_metric_label(out, SL_STR(SL_COMPILER));
    sl_buf_puts(out, "\"} 1\n");
}

static void write_code(struct sl_buf *out, unsigned code)
{
    if (code == 0) {
        sl_buf_puts(out, "none");
    } else if (code == SL_METRIC_CODE_OTHER) {
        sl_buf_puts(out, "other");
    } else {
        sl_buf_i64(out, code);
    }
}

static void write_requests(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (unsigned c = 0; c < SL_CLASS_COUNT; c++) {
        for (unsigned i = 0; i < SL_METRIC_CODES; i++) {
            uint64_t n = counter_load(&moment->metrics->requests[c][i]);
            if (n == 0 && (c >= SL_CLASS_VERBS || i != 0)) {
                continue; /* the verbs' 200 is always there, so that rates begin at 0 */
            }
            sl_buf_printf(out, "%s{verb=\"%s\",code=\"", name, sl_class_name((enum sl_class)c));
            write_code(out, sl_metric_codes[i]);
            sl_buf_printf(out, "\"} %" PRIu64 "\n", n);
        }
    }
}

static void write_durations(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (unsigned i = 0; i < SL_CLASS_VERBS * SL_OUTCOME_COUNT; i++) {
        unsigned verb = i / SL_OUTCOME_COUNT;
        unsigned outcome = i % SL_OUTCOME_COUNT;
        char labels[64];
        (void)snprintf(labels, sizeof(labels), "verb=\"%s\",outcome=\"%s\"",
                       sl_class_name((enum sl_class)verb),
                       sl_outcome_name((enum sl_outcome)outcome));
        sl_histogram_write(&moment->metrics->duration[verb][outcome], name, labels, out);
    }
}

static void write_nodes(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (unsigned verb = 0; verb < SL_CLASS_VERBS; verb++) {
        if (verb != SL_CLASS_BIND) {
            sl_metric_sample(out, name, "verb", sl_class_name((enum sl_class)verb),
                             counter_load(&moment->metrics->nodes[verb]));
        }
    }
}

static void write_binds(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (unsigned i = 0; i < SL_BIND_CODES; i++) {
        sl_metric_sample(out, name, "code", sl_bind_code_name((enum sl_bind_code)i),
                         counter_load(&moment->metrics->binds[i]));
    }
}

static void write_limits(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (unsigned i = 0; i < SL_LIMIT_COUNT; i++) {
        sl_metric_sample(out, name, "limit", sl_limit_name((enum sl_limit)i),
                         sl_metrics_limit_hits(moment->metrics, moment->stats, (enum sl_limit)i));
    }
}

static void write_overcommitted(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_snapshot *snapshot = ((const struct moment *)source)->snapshot;
    size_t n = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        n += sl_view_overcommitted(snapshot->view[i]) ? 1 : 0;
    }
    sl_buf_printf(out, "%s %zu\n", name, n);
}

static void write_pods(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_snapshot *snapshot = ((const struct moment *)source)->snapshot;
    size_t counted = snapshot->n_waiting + snapshot->n_bound;
    sl_metric_sample(out, name, "state", "waiting", snapshot->n_waiting);
    sl_metric_sample(out, name, "state", "bound", snapshot->n_bound);
    sl_metric_sample(out, name, "state", "other",
                     snapshot->n_pods > counted ? snapshot->n_pods - counted : 0);
}

/* Adds the pools of one view. False when a resource was left out: there are too many. */
static bool add_pools(const struct sl_view *view, struct moment *moment)
{
    struct pool_sum *sums = moment->pool;
    size_t *n = &moment->n_pools;
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
        int64_t set_aside = sl_view_set_aside_units(view, p);
        sums[i].used += view->pool_used[p] - set_aside;
        sums[i].set_aside += set_aside;
        sums[i].free += sl_view_free_units(view, p);
    }
    return complete;
}

static void sum_pools(struct moment *moment)
{
    bool complete = true;
    for (size_t i = 0; i < moment->snapshot->n_nodes; i++) {
        complete = add_pools(moment->snapshot->view[i], moment) && complete;
    }
    if (!complete) {
        sl_metrics_limit(moment->metrics, SL_LIMIT_SERIES);
    }
}

static void write_resource(struct sl_buf *out, const char *name, const struct pool_sum *sum)
{
    sl_buf_printf(out, "%s{resource=\"", name);
    sl_metric_label(out, sl_str_of(sum->pool->resource));
    sl_buf_putc(out, '"');
}

static void write_pool(const struct pool_sum *sum, const char *name, struct sl_buf *out)
{
    const struct {
        const char *state;
        int64_t units;
    } rows[] = {{"used", sum->used}, {"set_aside", sum->set_aside}, {"free", sum->free}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_resource(out, name, sum);
        sl_buf_printf(out, ",state=\"%s\"} %" PRId64 "\n", rows[i].state, rows[i].units);
    }
}

static void write_pools(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (size_t i = 0; i < moment->n_pools; i++) {
        write_pool(&moment->pool[i], name, out);
    }
}

static void write_capacities(const void *source, const char *name, struct sl_buf *out)
{
    const struct moment *moment = source;
    for (size_t i = 0; i < moment->n_pools; i++) {
        write_resource(out, name, &moment->pool[i]);
        sl_buf_printf(out, "} %" PRId64 "\n", moment->pool[i].capacity);
    }
}

/* ---- tables ---- */

static const struct sl_metric written_rows[] = {
    {"sliced_build_info", SL_METRIC_GAUGE, "The build that runs; its value is always 1.",
     "version, compiler", .write = write_build},
    {"sliced_http_requests_total", SL_METRIC_COUNTER,
     "HTTP requests by what they were for and by status; code none: the client went away.",
     "verb, code", .write = write_requests},
    {"sliced_verb_duration_seconds", SL_METRIC_HISTOGRAM,
     "Time from a request's headers to its reply, by extender verb and outcome (refused: a "
     "decision; error: the call was wrong or could not be served).",
     "verb, outcome", .write = write_durations},
    {"sliced_verb_nodes_total", SL_METRIC_COUNTER, "Candidate nodes looked at, by extender verb.",
     "verb", .write = write_nodes},
    {"sliced_bind_calls_total", SL_METRIC_COUNTER,
     "Bind calls by the ledger's answer (Reserved, Already, NoRoom, ...).", "code",
     .write = write_binds},
    {"sliced_limit_hits_total", SL_METRIC_COUNTER, "Times that a configured ceiling was met.",
     "limit", .write = write_limits},
    {"sliced_cluster_nodes_overcommitted", SL_METRIC_GAUGE,
     "Nodes whose pods hold more GPU units than the node has, or can hold; /api/v1/nodes says "
     "of what.",
     NULL, .write = write_overcommitted},
    {"sliced_cluster_pods", SL_METRIC_GAUGE, "Pods known, by state.", "state", .write = write_pods},
    {"sliced_pool_capacity_units", SL_METRIC_GAUGE, "Units of each GPU resource over all nodes.",
     "resource", .write = write_capacities},
    {"sliced_pool_units", SL_METRIC_GAUGE,
     "Units of each GPU resource by state: used by pods on nodes, set aside for pods that still "
     "wait (set_aside), and free. Fewer than the capacity where devices are out of order.",
     "resource, state", .write = write_pools},
};

#define OWN(kind, member) SL_METRIC_AT(kind, struct sl_metrics, member)
static const struct sl_metric own_rows[] = {
    {"sliced_bindings_total", SL_METRIC_COUNTER,
     "Bindings that were made for a reservation, by what came of them.", "outcome=\"bound\"",
     OWN(SL_METRIC_ATOMIC, bind_ends[SL_BIND_END_BOUND])},
    {.labels = "outcome=\"failed\"", OWN(SL_METRIC_ATOMIC, bind_ends[SL_BIND_END_FAILED])},
    {.labels = "outcome=\"unknown\"", OWN(SL_METRIC_ATOMIC, bind_ends[SL_BIND_END_UNKNOWN])},
    {"sliced_config_reloads_total", SL_METRIC_COUNTER, "Configuration reloads (SIGHUP).",
     "outcome=\"ok\"", OWN(SL_METRIC_ATOMIC, reloads_ok)},
    {.labels = "outcome=\"failed\"", OWN(SL_METRIC_ATOMIC, reloads_failed)},
    {"sliced_http_connections", SL_METRIC_GAUGE, "Open HTTP connections.", NULL,
     OWN(SL_METRIC_LEVEL, connections)},
    {"sliced_http_buffered_bytes", SL_METRIC_GAUGE,
     "Bytes of bodies and replies that requests hold now (server.maxBufferedBytes).", NULL,
     OWN(SL_METRIC_LEVEL, buffered)},
    {"sliced_http_requests_in_flight", SL_METRIC_GAUGE,
     "Requests that are being read or answered, this one included.", NULL,
     OWN(SL_METRIC_LEVEL, in_flight)},
    {"process_start_time_seconds", SL_METRIC_GAUGE,
     "Start time of the process since Unix epoch in seconds.", NULL,
     OWN(SL_METRIC_MS_OF_US, started_us)},
};

static const struct sl_metric tls_rows[] = {
    {"sliced_tls_reloads_total", SL_METRIC_COUNTER,
     "Changed certificate files, by what came of them; absent with plain HTTP.", "outcome=\"ok\"",
     OWN(SL_METRIC_ATOMIC, tls_reloads_ok)},
    {.labels = "outcome=\"failed\"", OWN(SL_METRIC_ATOMIC, tls_reloads_failed)},
    {"sliced_tls_certificate_not_after_timestamp_seconds", SL_METRIC_GAUGE,
     "Unix time at which the HTTPS certificate ends; absent with plain HTTP.", NULL,
     OWN(SL_METRIC_LEVEL, tls_not_after)},
};

static const struct sl_metric client_rows[] = {
    {"sliced_tls_client_certificate_not_after_timestamp_seconds", SL_METRIC_GAUGE,
     "Unix time at which the certificate ends with which a verb was called last; absent before the "
     "first call.",
     NULL, OWN(SL_METRIC_LEVEL, client_not_after)},
};
#undef OWN

#define LEDGER(member) SL_METRIC_AT(SL_METRIC_U64, struct sl_store_stats, member)
static const struct sl_metric ledger_rows[] = {
    {"sliced_ledger_events_total", SL_METRIC_COUNTER,
     "Events of reservations; expired should stay 0.", "event=\"bind\"", LEDGER(binds)},
    {.labels = "event=\"conflict\"", LEDGER(conflicts)},
    {.labels = "event=\"expired\"", LEDGER(expiries)},
    {.labels = "event=\"rollback\"", LEDGER(rollbacks)},
};
#undef LEDGER

#define CLUSTER(member) SL_METRIC_AT(SL_METRIC_U64, struct sl_snapshot, member)
static const struct sl_metric cluster_rows[] = {
    {"sliced_cluster_nodes", SL_METRIC_GAUGE, "Nodes known.", NULL, CLUSTER(n_nodes)},
    {"sliced_reservations", SL_METRIC_GAUGE,
     "Reservations that are neither committed nor expired: binds not yet seen to their end.", NULL,
     CLUSTER(n_reserved)},
    {"sliced_snapshot_generation", SL_METRIC_GAUGE, "Generation of the published snapshot.", NULL,
     CLUSTER(generation)},
};
#undef CLUSTER

#define PROCESS(kind, member) SL_METRIC_AT(kind, struct sl_process, member)
static const struct sl_metric process_rows[] = {
    {"sliced_checks_failed_total", SL_METRIC_COUNTER,
     "Checks by which the program watches itself that failed; each is a defect of sliced.", NULL,
     PROCESS(SL_METRIC_U64, failed_checks)},
    {"sliced_log_lines_lost_total", SL_METRIC_COUNTER,
     "Lines of the log that could not be written.", NULL, PROCESS(SL_METRIC_U64, lost_lines)},
    {"sliced_log_lines_left_out_total", SL_METRIC_COUNTER,
     "Lines of the log about pods of a namespace beyond its share of a minute.", NULL,
     PROCESS(SL_METRIC_U64, lines_left_out)},
    {"process_resident_memory_bytes", SL_METRIC_GAUGE, "Resident memory size in bytes.", NULL,
     PROCESS(SL_METRIC_U64, resident_bytes)},
    {"process_virtual_memory_bytes", SL_METRIC_GAUGE, "Virtual memory size in bytes.", NULL,
     PROCESS(SL_METRIC_U64, virtual_bytes)},
    {"process_open_fds", SL_METRIC_GAUGE, "Number of open file descriptors.", NULL,
     PROCESS(SL_METRIC_U64, open_files)},
    {"process_max_fds", SL_METRIC_GAUGE, "Maximum number of open file descriptors.", NULL,
     PROCESS(SL_METRIC_U64, max_files)},
    {"process_cpu_seconds_total", SL_METRIC_COUNTER,
     "Total user and system CPU time spent in seconds.", NULL, PROCESS(SL_METRIC_US, cpu_us)},
};
#undef PROCESS

enum { WRITTEN, OWN, TLS, CLIENT, LEDGER, CLUSTER, PROCESS };

const struct sl_metric_table sl_server_metrics[] = {
    [WRITTEN] = SL_METRIC_TABLE(written_rows), [OWN] = SL_METRIC_TABLE(own_rows),
    [TLS] = SL_METRIC_TABLE(tls_rows),         [CLIENT] = SL_METRIC_TABLE(client_rows),
    [LEDGER] = SL_METRIC_TABLE(ledger_rows),   [CLUSTER] = SL_METRIC_TABLE(cluster_rows),
    [PROCESS] = SL_METRIC_TABLE(process_rows), {NULL, 0},
};

void sl_metrics_write(struct sl_metrics *metrics, const struct sl_snapshot *snapshot,
                      const struct sl_store_stats *stats, struct sl_buf *out)
{
    struct moment moment = {.metrics = metrics, .snapshot = snapshot, .stats = stats};
    struct sl_process process;
    sum_pools(&moment);
    sl_process_read(&process);
    sl_metric_write(&sl_server_metrics[WRITTEN], &moment, out);
    sl_metric_write(&sl_server_metrics[OWN], metrics, out);
    if (atomic_load_explicit(&metrics->tls_not_after, memory_order_relaxed) != 0) {
        sl_metric_write(&sl_server_metrics[TLS], metrics, out);
    }
    if (atomic_load_explicit(&metrics->client_not_after, memory_order_relaxed) != 0) {
        sl_metric_write(&sl_server_metrics[CLIENT], metrics, out);
    }
    sl_metric_write(&sl_server_metrics[LEDGER], stats, out);
    sl_metric_write(&sl_server_metrics[CLUSTER], snapshot, out);
    sl_metric_write(&sl_server_metrics[PROCESS], &process, out);
}
