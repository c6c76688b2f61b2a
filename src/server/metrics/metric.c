/* Prometheus' text of a table. */
#include "server/metrics/metric.h"

#include <inttypes.h>
#include <string.h>

#include "util/time.h"

const struct sl_histogram_scale sl_histogram_calls = {
    .unit = SL_SECOND_NS,
    .decimals = 9,
    .n = 16,
    .bound = {25 * SL_US_NS, 50 * SL_US_NS, 100 * SL_US_NS, 250 * SL_US_NS, 500 * SL_US_NS,
              SL_MS_NS, 2500 * SL_US_NS, 5 * SL_MS_NS, 10 * SL_MS_NS, 25 * SL_MS_NS, 50 * SL_MS_NS,
              100 * SL_MS_NS, 250 * SL_MS_NS, SL_SECOND_NS, 2500 * SL_MS_NS, 5 * SL_SECOND_NS}};

const char *sl_metric_type_name(enum sl_metric_type type)
{
    static const char *const names[SL_METRIC_TYPES] = {"counter", "gauge", "histogram"};
    return names[type];
}

void sl_metric_label(struct sl_buf *out, struct sl_str value)
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

void sl_metric_sample(struct sl_buf *out, const char *name, const char *label, const char *value,
                      uint64_t n)
{
    sl_buf_printf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", name, label, value, n);
}

/* ---- histograms ---- */

void sl_histogram_observe(struct sl_histogram *histogram, int64_t value)
{
    const struct sl_histogram_scale *scale = histogram->scale;
    unsigned i = 0;
    while (i < scale->n && value > scale->bound[i]) {
        i++;
    }
    (void)atomic_fetch_add_explicit(&histogram->bucket[i], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&histogram->sum, value > 0 ? (uint64_t)value : 0,
                                    memory_order_relaxed);
}

void sl_histogram_write(const struct sl_histogram *histogram, const char *name, const char *labels,
                        struct sl_buf *out)
{
    const struct sl_histogram_scale *scale = histogram->scale;
    bool labelled = labels[0] != '\0';
    const char *comma = labelled ? "," : "";
    const char *open = labelled ? "{" : "";
    const char *close = labelled ? "}" : "";
    double unit = (double)scale->unit;
    uint64_t count = 0;
    for (unsigned i = 0; i < scale->n; i++) {
        count += atomic_load_explicit(&histogram->bucket[i], memory_order_relaxed);
        sl_buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma,
                      (double)scale->bound[i] / unit, count);
    }
    count += atomic_load_explicit(&histogram->bucket[scale->n], memory_order_relaxed);
    sl_buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, count);
    sl_buf_printf(out, "%s_sum%s%s%s %.*f\n", name, open, labels, close, scale->decimals,
                  (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed) / unit);
    sl_buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, count);
}

/* ---- tables ---- */

static void write_value(const struct sl_metric *row, const char *member, struct sl_buf *out)
{
    const uint64_t *whole = (const uint64_t *)(const void *)member;
    const int64_t *time = (const int64_t *)(const void *)member;
    int64_t level = 0;
    switch (row->value) {
    case SL_METRIC_BOOL:
        sl_buf_putc(out, *(const bool *)member ? '1' : '0');
        return;
    case SL_METRIC_UNSIGNED:
        sl_buf_printf(out, "%u", *(const unsigned *)(const void *)member);
        return;
    case SL_METRIC_U64:
        sl_buf_printf(out, "%" PRIu64, *whole);
        return;
    case SL_METRIC_ATOMIC:
        sl_buf_printf(out, "%" PRIu64,
                      atomic_load_explicit((const _Atomic uint64_t *)(const void *)member,
                                           memory_order_relaxed));
        return;
    case SL_METRIC_LEVEL:
        level = atomic_load_explicit((const _Atomic int64_t *)(const void *)member,
                                     memory_order_relaxed);
        sl_buf_printf(out, "%" PRId64, level > 0 ? level : 0);
        return;
    case SL_METRIC_MS_OF_US:
        sl_buf_printf(out, "%.3f", (double)*time / (double)SL_SECOND_US);
        return;
    case SL_METRIC_US:
        sl_buf_printf(out, "%.6f", (double)*time / (double)SL_SECOND_US);
        return;
    case SL_METRIC_WRITTEN:
    case SL_METRIC_DISTRIBUTED:
        break;
    }
}

static void write_sample(const struct sl_metric *row, const char *name, const void *source,
                         struct sl_buf *out)
{
    const char *member = (const char *)source + row->offset;
    const char *labels = row->labels == NULL ? "" : row->labels;
    if (row->value == SL_METRIC_WRITTEN) {
        row->write(source, name, out);
    } else if (row->value == SL_METRIC_DISTRIBUTED) {
        sl_histogram_write((const struct sl_histogram *)(const void *)member, name, labels, out);
    } else {
        sl_buf_puts(out, name);
        if (labels[0] != '\0') {
            sl_buf_printf(out, "{%s}", labels);
        }
        sl_buf_putc(out, ' ');
        write_value(row, member, out);
        sl_buf_putc(out, '\n');
    }
}

void sl_metric_write(const struct sl_metric_table *table, const void *source, struct sl_buf *out)
{
    const char *name = NULL;
    for (size_t i = 0; i < table->n; i++) {
        const struct sl_metric *row = &table->row[i];
        if (row->name != NULL) {
            name = row->name;
            sl_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, row->help, name,
                          sl_metric_type_name(row->type));
        }
        write_sample(row, name, source, out);
    }
}
