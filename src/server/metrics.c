/* Counting. The text form stands in metrics_text.c. */
#include "server/metrics.h"

#include "server/metrics_table.h"

const unsigned sl_metric_codes[SL_METRIC_CODES] = {200, 201, 400, 403, 404, 405, 409,
                                                   413, 415, 500, 501, 503, 599, 0};

/* Upper bounds in nanoseconds. A verb takes tens of microseconds; the scheduler waits 5 s. */
const int64_t sl_metric_bounds[SL_METRIC_BUCKETS] = {
    25000,    50000,    100000,   250000,    500000,    1000000,    2500000,    5000000,
    10000000, 25000000, 50000000, 100000000, 250000000, 1000000000, 2500000000, 5000000000};

const char *sl_class_name(enum sl_class which)
{
    static const char *const names[SL_CLASS_COUNT] = {
        "filter",    "prioritize", "bind",  "preempt", "api",
        "admission", "embedded",   "probe", "metrics", "other"};
    return names[which];
}

const char *sl_outcome_name(enum sl_outcome outcome)
{
    static const char *const names[SL_OUTCOME_COUNT] = {"ok", "refused", "error"};
    return names[outcome];
}

const char *sl_limit_name(enum sl_limit limit)
{
    static const char *const names[SL_LIMIT_COUNT] = {
        "body_bytes", "reply_bytes",  "header_time",    "body_time",
        "reply_time", "connections",  "buffered_bytes", "node_names",
        "decode",     "reservations", "objects",        "metric_resources",
    };
    return names[limit];
}

void sl_metrics_init(struct sl_metrics *metrics, int64_t now_us)
{
    memset(metrics, 0, sizeof(*metrics));
    metrics->started_us = now_us;
}

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    (void)atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void sl_metrics_request(struct sl_metrics *metrics, enum sl_class which, unsigned code)
{
    unsigned i = 0;
    while (i < SL_METRIC_CODES && sl_metric_codes[i] != code) {
        i++;
    }
    if (i == SL_METRIC_CODES) { /* a code that the table lacks */
        i = SL_METRIC_CODES - 2;
    }
    add(&metrics->requests[which][i], 1);
}

void sl_metrics_duration(struct sl_metrics *metrics, enum sl_class verb, enum sl_outcome outcome,
                         int64_t ns)
{
    sl_histogram_observe(&metrics->duration[verb][outcome], ns);
}

void sl_histogram_observe(struct sl_histogram *histogram, int64_t ns)
{
    unsigned i = 0;
    while (i < SL_METRIC_BUCKETS && ns > sl_metric_bounds[i]) {
        i++;
    }
    add(&histogram->bucket[i], 1);
    add(&histogram->sum_ns, ns > 0 ? (uint64_t)ns : 0);
}

void sl_metrics_nodes(struct sl_metrics *metrics, enum sl_class verb, uint64_t n)
{
    add(&metrics->nodes[verb], n);
}

void sl_metrics_bind(struct sl_metrics *metrics, enum sl_bind_code code)
{
    add(&metrics->binds[code], 1);
}

void sl_metrics_limit(struct sl_metrics *metrics, enum sl_limit limit)
{
    add(&metrics->limits[limit], 1);
}

uint64_t sl_metrics_limit_hits(const struct sl_metrics *metrics, const struct sl_store_stats *stats,
                               enum sl_limit limit)
{
    uint64_t hits = atomic_load_explicit(&metrics->limits[limit], memory_order_relaxed);
    if (limit != SL_LIMIT_OBJECTS) {
        return hits;
    }
    /* the store counts full ledgers among its hits; they have a label of their own */
    uint64_t full = sl_metrics_limit_hits(metrics, stats, SL_LIMIT_RESERVATIONS);
    return stats->limit_hits > full ? stats->limit_hits - full : 0;
}
