/* An experiment as a table, CSV or JSON. */
#ifndef SLICED_SIM_REPORT_H
#define SLICED_SIM_REPORT_H

#include "sim/output/output.h"
#include "sim/play/experiment.h"
#include "util/buf.h"

/* One figure of a result. */
struct sl_figure {
    const char *name;  /* in CSV: response_mean */
    const char *title; /* in the table: "response mean" */
    const char *unit;  /* "s", "" */
    double (*of)(const struct sl_result *result);
    int decimals;
};

/* NULL behind the last. */
const struct sl_figure *sl_figure_at(size_t i);

/* Prints figures for one seed; for several, medians and, in parentheses, p5-p95. */
void sl_report_table(const struct sl_experiment *experiment, struct sl_buf *out);
void sl_report_csv(const struct sl_experiment *experiment, struct sl_buf *out);
/* {"runs": [...]}: seconds and fractions. */
void sl_report_json(const struct sl_experiment *experiment, struct sl_buf *out);

/* Writes when and where each job of the first seed's runs started; those runs must be kept. */
void sl_report_decisions(const struct sl_experiment *experiment, struct sl_buf *out);
/* The engine's commands in those runs, as text. */
void sl_report_commands(const struct sl_experiment *experiment, struct sl_buf *out);

/* Text as the inside of a JSON string. */
void sl_report_json_text(struct sl_buf *out, const char *text);

/* p5, median, p95 of n values, which it sorts. */
struct sl_band {
    double p5;
    double median;
    double p95;
};
struct sl_band sl_band_of(double *values, size_t n);

/* Columns of text, each as wide as its widest cell: a table is written cell by cell. */
enum { SL_COLUMNS_MAX = 66, SL_CELL_MAX = 64 };
struct sl_columns {
    size_t n_columns;
    size_t n_rows;
    size_t cap_rows;
    char (*cell)[SL_CELL_MAX]; /* by row, then column */
    bool failed;
};
void sl_columns_init(struct sl_columns *columns, size_t n_columns);
void sl_columns_row(struct sl_columns *columns); /* begins a row of empty cells */
void sl_columns_put(struct sl_columns *columns, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints and frees. The first column is flush left, the others flush right. */
void sl_columns_print(struct sl_columns *columns, struct sl_buf *out);

#endif
