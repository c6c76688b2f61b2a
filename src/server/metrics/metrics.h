/* The server's counters. Atomics only: counting takes no lock. Labels have fixed sets of values,
 * so the number of series is bounded. */
#ifndef SLICED_SERVER_METRICS_H
#define SLICED_SERVER_METRICS_H

#include "cluster/binding.h"
#include "cluster/store.h"
#include "server/metrics/metric.h"

/* The purpose of a request: the label "verb". The extender's verbs come first. */
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

/* Ceilings that can bite: LIMIT(enumerator, value of the label "limit"). */
#define SL_LIMITS(LIMIT)                                                                           \
    LIMIT(BODY, body_bytes)         /* server.maxBodyBytes */                                      \
    LIMIT(REPLY, reply_bytes)       /* server.maxReplyBytes */                                     \
    LIMIT(HEADER_TIME, header_time) /* headers that took too long to arrive */                     \
    LIMIT(TIME, body_time)          /* a body that took too long to arrive */                      \
    LIMIT(REPLY_TIME, reply_time)   /* a reply that took its client too long to read */            \
    LIMIT(CONNECTIONS, connections) /* server.maxConnections, and the other listeners' maxima */   \
    LIMIT(BUFFERED, buffered_bytes) /* server.maxBufferedBytes */                                  \
    LIMIT(NAMES, node_names)        /* extender.maxNodeNames */                                    \
    LIMIT(DECODE, decode)           /* nesting and length of strings */                            \
    LIMIT(RESERVATIONS, reservations)                                                              \
    LIMIT(OBJECTS, objects)         /* cluster.maxNodes and cluster.maxPods */                     \
    LIMIT(SERIES, metric_resources) /* resources in sliced_pool_capacity_units */                  \
    LIMIT(ESTIMATES, estimates)     /* waiting questions, of one user and of all */                \
    LIMIT(TENANTS, tenants)         /* tenants and resources of which figures are told */

enum sl_limit {
#define LIMIT(limit, name) SL_LIMIT_##limit,
    SL_LIMITS(LIMIT)
#undef LIMIT
        SL_LIMIT_COUNT,
};

enum {
    SL_METRIC_CODES = 17,
    SL_METRIC_CODE_OTHER = 599, /* stands for all that are not counted one by one */
    SL_METRIC_RESOURCES_MAX = 64,
    SL_BIND_CODES = SL_BIND_NOMEM + 1,
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
    _Atomic int64_t tls_not_after;    /* Unix seconds; 0: plain HTTP */
    _Atomic int64_t client_not_after; /* of the last caller of a verb, likewise; 0: none */
    _Atomic int64_t connections;      /* open now */
    _Atomic int64_t buffered;         /* bytes that requests hold: server.maxBufferedBytes */
    _Atomic int64_t in_flight;        /* requests whose headers are in and whose reply is not out */
    struct sl_histogram duration[SL_CLASS_VERBS][SL_OUTCOME_COUNT];
    int64_t started_us; /* Unix microseconds; set once */
};

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

/* How often a limit was met; for SL_LIMIT_OBJECTS the store counts. */
uint64_t sl_metrics_limit_hits(const struct sl_metrics *metrics, const struct sl_store_stats *stats,
                               enum sl_limit limit);

/* Appends them as Prometheus' text. snapshot and stats are of the same moment. */
void sl_metrics_write(struct sl_metrics *metrics, const struct sl_snapshot *snapshot,
                      const struct sl_store_stats *stats, struct sl_buf *out);
/* Their tables; the last one has no rows. */
extern const struct sl_metric_table sl_server_metrics[];

/* HTTP codes that are counted one by one; 0 stands for no answer at all. */
extern const unsigned sl_metric_codes[SL_METRIC_CODES];

#endif
