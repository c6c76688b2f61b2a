/* The question to Prometheus, and what its answer's figures mean. */
#ifndef SLICED_TELEMETRY_QUESTION_H
#define SLICED_TELEMETRY_QUESTION_H

#include "config/config.h"
#include "telemetry/prometheus/answer.h"

/* Appends "/api/v1/query?query=...": the raw samples of the configured metrics in the last range_s
 * seconds. */
void sl_question_put(struct sl_buf *out, const struct sl_config *config, int64_t range_s);

/* Tells by its name what a metric measures. False: nobody asked for that metric. */
enum sl_figure_scale {
    SL_SCALE_MIB,
    SL_SCALE_BYTES,
    SL_SCALE_PERCENT,
    SL_SCALE_RATIO,
    SL_SCALE_WATTS
};
struct sl_figure_kind {
    enum sl_figure_of figure;
    enum sl_figure_scale scale;
};
bool sl_question_kind(const struct sl_config *config, const char *name, struct sl_figure_kind *out);

/* The value in the units of a series; -1: out of range. */
int64_t sl_question_value(struct sl_figure_kind kind, double value);

/* The names of labels that a key of the configuration lists; they point into it. */
void sl_question_labels(const char *list, struct sl_str out[SL_ANSWER_LABELS]);

#endif
