/* Metrics: tables of rows, and the one writer of Prometheus' text
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). Each part that counts has a
 * table; the tables also make docs/metrics.md. */
#ifndef SLICED_SERVER_METRIC_H
#define SLICED_SERVER_METRIC_H

#include <stdatomic.h>
#include <stddef.h>

#include "util/buf.h"

enum sl_metric_type { SL_METRIC_COUNTER, SL_METRIC_GAUGE, SL_METRIC_HISTOGRAM, SL_METRIC_TYPES };

/* How a sample's value stands in the source: a member of that type. */
enum sl_metric_value {
    SL_METRIC_WRITTEN,     /* it does not: the row's function writes the samples */
    SL_METRIC_BOOL,        /* bool */
    SL_METRIC_UNSIGNED,    /* unsigned */
    SL_METRIC_U64,         /* uint64_t, size_t */
    SL_METRIC_ATOMIC,      /* _Atomic uint64_t */
    SL_METRIC_LEVEL,       /* _Atomic int64_t, below 0 shown as 0 */
    SL_METRIC_MS_OF_US,    /* int64_t, microseconds: seconds to the millisecond */
    SL_METRIC_US,          /* int64_t or uint64_t, microseconds: seconds to the microsecond */
    SL_METRIC_DISTRIBUTED, /* struct sl_histogram */
};

/* One sample; several that stand one behind the other may be of one metric. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
struct sl_metric {
    const char *name; /* NULL: of the row before; its type and help hold then */
    enum sl_metric_type type;
    const char *help;   /* one sentence or two */
    const char *labels; /* as outcome="ok"; of written samples the labels' names; NULL: none */
    enum sl_metric_value value;
    size_t offset; /* of the member in the source */
    void (*write)(const void *source, const char *name, struct sl_buf *out);
};

#define SL_METRIC_AT(kind, source, member) .value = (kind), .offset = offsetof(source, member)

struct sl_metric_table {
    const struct sl_metric *row;
    size_t n;
};

#define SL_METRIC_TABLE(rows)                                                                      \
    {                                                                                              \
        (rows), sizeof(rows) / sizeof((rows)[0])                                                   \
    }

/* "counter", ... */
const char *sl_metric_type_name(enum sl_metric_type type);

/* Writes all rows with the values that the source has. */
void sl_metric_write(const struct sl_metric_table *table, const void *source, struct sl_buf *out);

/* ---- for rows that write their samples ---- */

/* Appends a label's value, escaped. */
void sl_metric_label(struct sl_buf *out, struct sl_str value);
/* Writes a sample with one label, whose value needs no escape. */
void sl_metric_sample(struct sl_buf *out, const char *name, const char *label, const char *value,
                      uint64_t n);

/* ---- histograms ---- */

enum { SL_HISTOGRAM_BOUNDS_MAX = 16 };

struct sl_histogram_scale {
    int64_t unit; /* that many in a second */
    int decimals; /* of the sum in seconds */
    unsigned n;
    int64_t bound[SL_HISTOGRAM_BOUNDS_MAX]; /* in units; ascending, each the most of its bucket */
};

/* Any thread may observe, any read. */
struct sl_histogram {
    const struct sl_histogram_scale *scale;
    _Atomic uint64_t bucket[SL_HISTOGRAM_BOUNDS_MAX + 1]; /* not cumulative; the last is +Inf */
    _Atomic uint64_t sum;                                 /* in units */
};

/* Nanoseconds from 25 us to 5 s: a verb takes tens of microseconds, kube-scheduler waits 5 s. */
extern const struct sl_histogram_scale sl_histogram_calls;

/* A value below 0 counts as 0. */
void sl_histogram_observe(struct sl_histogram *histogram, int64_t value);
/* Writes its samples; labels as verb="bind", or "". */
void sl_histogram_write(const struct sl_histogram *histogram, const char *name, const char *labels,
                        struct sl_buf *out);

#endif
