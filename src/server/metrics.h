/* Counters and histograms of the daemon, and their Prometheus text form. Atomics only: counting
 * takes no lock. Label sets are fixed, so the number of series is too. */
#ifndef SLICED_SERVER_METRICS_H
#define SLICED_SERVER_METRICS_H

#include <stdatomic.h>

#include "cluster/store.h"
#include "server/binds.h"
#include "util/buf.h"

/* What a request was for: the label "verb". The first four are the extender's verbs. */
enum sl_class {
    SL_CLASS_FILTER,
    SL_CLASS_PRIORITIZE,
    SL_CLASS_BIND,
    SL_CLASS_PREEMPT,
    SL_CLASS_VERBS, /* how many of the above there are */
    SL_CLASS_API = SL_CLASS_VERBS,
    SL_CLASS_ADMISSION,
    SL_CLASS_EMBEDDED,
    SL_CLASS_PROBE,
    SL_CLASS_METRICS,
    SL_CLASS_OTHER,
    SL_CLASS_COUNT,
};

enum sl_outcome {
    SL_OUTCOME_OK,
    SL_OUTCOME_REFUSED, /* a decision: no node fits, no room */
    SL_OUTCOME_ERROR,   /* the call itself was wrong or could not be served */
    SL_OUTCOME_COUNT,
};

/* Ceilings that can bite: the label "limit". */
enum sl_limit {
    SL_LIMIT_BODY,        /* server.maxBodyBytes */
    SL_LIMIT_REPLY,       /* server.maxReplyBytes */
    SL_LIMIT_HEADER_TIME, /* headers that took too long to arrive */
    SL_LIMIT_TIME,        /* a body that did */
    SL_LIMIT_REPLY_TIME,  /* a reply that its client took too long to read */
    SL_LIMIT_CONNECTIONS, /* connections that were open, of server.maxConnections and of others */
    SL_LIMIT_BUFFERED,    /* server.maxBufferedBytes */
    SL_LIMIT_NAMES,       /* extender.maxNodeNames */
    SL_LIMIT_DECODE,      /* nesting and length of strings */
    SL_LIMIT_RESERVATIONS,
    SL_LIMIT_OBJECTS, /* cluster.maxNodes and cluster.maxPods */
    SL_LIMIT_SERIES,  /* resources in sliced_pool_units */
    SL_LIMIT_COUNT,
};

enum {
    SL_METRIC_CODES = 14,
    SL_METRIC_BUCKETS = 16,
    SL_METRIC_RESOURCES_MAX = 64,
    SL_BIND_CODES = SL_BIND_NOMEM + 1,
};

struct sl_histogram {
    _Atomic uint64_t bucket[SL_METRIC_BUCKETS + 1]; /* not cumulative; the last is +Inf */
    _Atomic uint64_t sum_ns;
};

struct sl_metrics {
    _Atomic uint64_t requests[SL_CLASS_COUNT][SL_METRIC_CODES];
    _Atomic uint64_t nodes[SL_CLASS_VERBS];
    _Atomic uint64_t binds[SL_BIND_CODES];
    _Atomic uint64_t bind_ends[SL_BIND_ENDS];
    _Atomic uint64_t limits[SL_LIMIT_COUNT];
    _Atomic uint64_t reloads_ok;
    _Atomic uint64_t reloads_failed;
    _Atomic uint64_t tls_reloads_ok;
    _Atomic uint64_t tls_reloads_failed;
    _Atomic int64_t tls_not_after; /* Unix seconds; 0: plain HTTP */
    _Atomic int64_t connections;   /* open now */
    _Atomic int64_t buffered;      /* bytes that requests hold: server.maxBufferedBytes */
    _Atomic int64_t in_flight;     /* requests whose headers are in and whose reply is not out */
    struct sl_histogram duration[SL_CLASS_VERBS][SL_OUTCOME_COUNT];
    int64_t started_us; /* Unix microseconds; set once */
};

void sl_histogram_observe(struct sl_histogram *histogram, int64_t ns);
/* Its samples; labels as "verb=\"bind\"", or empty. */
void sl_histogram_write(struct sl_histogram *histogram, const char *name, const char *labels,
                        struct sl_buf *out);

const char *sl_class_name(enum sl_class which);
const char *sl_outcome_name(enum sl_outcome outcome);
const char *sl_limit_name(enum sl_limit limit);

void sl_metrics_init(struct sl_metrics *metrics, int64_t now_us);
/* code: the HTTP status, 0 when the client went away before it got one. */
void sl_metrics_request(struct sl_metrics *metrics, enum sl_class which, unsigned code);
void sl_metrics_duration(struct sl_metrics *metrics, enum sl_class verb, enum sl_outcome outcome,
                         int64_t ns);
void sl_metrics_nodes(struct sl_metrics *metrics, enum sl_class verb, uint64_t n);
void sl_metrics_bind(struct sl_metrics *metrics, enum sl_bind_code code);
void sl_metrics_limit(struct sl_metrics *metrics, enum sl_limit limit);

/* Times a limit was met so far; the store's own count is added for SL_LIMIT_OBJECTS. */
uint64_t sl_metrics_limit_hits(const struct sl_metrics *metrics, const struct sl_store_stats *stats,
                               enum sl_limit limit);

/* All of it as Prometheus text format 0.0.4. snapshot and stats are of the same moment. */
void sl_metrics_write(struct sl_metrics *metrics, const struct sl_snapshot *snapshot,
                      const struct sl_store_stats *stats, struct sl_buf *out);

/* ---- the text form, for whoever has metrics of its own ---- */

/* What goes before a metric's samples. type: "counter", "gauge", "histogram". */
void sl_metrics_family(struct sl_buf *out, const char *name, const char *type, const char *help);
/* The whole of a metric with one sample. */
void sl_metrics_single(struct sl_buf *out, const char *name, const char *type, const char *help,
                       uint64_t value);

/* Samples in seconds of a histogram whose n bounds, ascending, and sum are in units of which there
 * are that many in a second. bucket: n + 1 counts, not cumulative. labels: as above. */
struct sl_buckets {
    const uint64_t *bucket;
    const int64_t *bounds;
    unsigned n;
    uint64_t sum;
    int64_t unit;
    int decimals; /* of the sum */
};
void sl_metrics_buckets(struct sl_buf *out, const char *name, const char *labels,
                        const struct sl_buckets *buckets);

/* Label values escaped as the format wants it: backslash, quote, newline. */
void sl_metrics_label(struct sl_buf *out, struct sl_str value);

#endif
