/* Counting. */
#include "server/metrics/metrics.h"

const unsigned sl_metric_codes[SL_METRIC_CODES] = {
    200, 201, 400, 403, 404, 405, 406, 409, 410, 413, 415, 429, 500, 501, 503, SL_METRIC_CODE_OTHER,
    0};

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
#define LIMIT(limit, name) [SL_LIMIT_##limit] = #name,
        SL_LIMITS(LIMIT)
#undef LIMIT
    };
    return names[limit];
}

void sl_metrics_init(struct sl_metrics *metrics, int64_t now_us)
{
    memset(metrics, 0, sizeof(*metrics));
    for (unsigned i = 0; i < SL_CLASS_VERBS * SL_OUTCOME_COUNT; i++) {
        metrics->duration[i / SL_OUTCOME_COUNT][i % SL_OUTCOME_COUNT].scale = &sl_histogram_calls;
    }
    metrics->started_us = now_us;
}

static void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
    (void)atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void sl_metrics_request(struct sl_metrics *metrics, enum sl_class which, unsigned code)
{
    unsigned i = 0;
    while (i < SL_METRIC_CODES && sl_metric_codes[i] != code) {
        i++;
    }
    if (i == SL_METRIC_CODES) {
        i = SL_METRIC_CODES - 2; /* SL_METRIC_CODE_OTHER */
    }
    counter_add(&metrics->requests[which][i], 1);
}

void sl_metrics_duration(struct sl_metrics *metrics, enum sl_class verb, enum sl_outcome outcome,
                         int64_t ns)
{
    sl_histogram_observe(&metrics->duration[verb][outcome], ns);
}

void sl_metrics_nodes(struct sl_metrics *metrics, enum sl_class verb, uint64_t n)
{
    counter_add(&metrics->nodes[verb], n);
}

void sl_metrics_bind(struct sl_metrics *metrics, enum sl_bind_code code)
{
    counter_add(&metrics->binds[code], 1);
}

void sl_metrics_limit(struct sl_metrics *metrics, enum sl_limit limit)
{
    counter_add(&metrics->limits[limit], 1);
}

uint64_t sl_metrics_limit_hits(const struct sl_metrics *metrics, const struct sl_store_stats *stats,
                               enum sl_limit limit)
{
    uint64_t hits = atomic_load_explicit(&metrics->limits[limit], memory_order_relaxed);
    if (limit != SL_LIMIT_OBJECTS) {
        return hits;
    }
    /* the store counts full ledgers too, which have a label of their own */
    uint64_t full = sl_metrics_limit_hits(metrics, stats, SL_LIMIT_RESERVATIONS);
    return stats->limit_hits > full ? stats->limit_hits - full : 0;
}
