/* An experiment as a table, CSV or JSON. */
#ifndef SLICED_SIM_REPORT_H
#define SLICED_SIM_REPORT_H

#include "sim/output/output.h"
#include "sim/play/experiment.h"
#include "util/buf.h"

/* Prints figures for one seed; for several, medians and, in parentheses, p5-p95. */
void sl_report_table(const struct sl_experiment *experiment, struct sl_buf *out);
void sl_report_csv(const struct sl_experiment *experiment, struct sl_buf *out);
/* {"runs": [...]}: seconds and fractions. */
void sl_report_json(const struct sl_experiment *experiment, struct sl_buf *out);

/* Writes when and where each job of the first seed's runs started; those runs must be kept. */
void sl_report_decisions(const struct sl_experiment *experiment, struct sl_buf *out);
/* The engine's commands in those runs, as text. */
void sl_report_commands(const struct sl_experiment *experiment, struct sl_buf *out);

/* A field of CSV, quoted where it has to be. */
void sl_report_csv_field(struct sl_buf *out, const char *text);
/* Text as the inside of a JSON string. */
void sl_report_json_text(struct sl_buf *out, const char *text);

/* p5, median, p95 of n values, which it sorts. */
struct sl_band {
    double p5;
    double median;
    double p95;
};
struct sl_band sl_band_of(double *values, size_t n);

#endif
