/* What an experiment tells: rows of cells. One table of columns prints them as tables of text, as
 * CSV and as JSON. */
#ifndef SLICED_EVIDENCE_ROWS_H
#define SLICED_EVIDENCE_ROWS_H

#include "sim/output/report.h"
#include "util/buf.h"
#include "util/error.h"

/* How a figure of many seeds becomes a cell. */
enum sl_how {
    SL_HOW_NOT, /* the experiment fills the column itself */
    SL_HOW_MEAN,
    SL_HOW_DEVIATION,
    SL_HOW_MEDIAN,
    SL_HOW_BAND,   /* the median, in tables with p5 and p95 */
    SL_HOW_SPREAD, /* all three, in CSV and JSON too */
    SL_HOW_MOST,
};

enum { SL_OF_NONE = -1 };

struct sl_column {
    const char *title; /* in tables; NULL: not there */
    const char *name;  /* in CSV and JSON; NULL: not there */
    int decimals;      /* in tables */
    int digits;        /* in CSV and JSON */
    enum sl_how how;
    unsigned figure; /* of a study */
    int of; /* over the same figure of that case of the group, seed by seed; or SL_OF_NONE */
};

/* A column that the experiment fills itself. */
#define SL_COLUMN(in_tables, in_data, decimals_of_it, digits_of_it)                                \
    {                                                                                              \
        in_tables, in_data, decimals_of_it, digits_of_it, SL_HOW_NOT, 0, SL_OF_NONE                \
    }

/* Where a row is printed. */
enum sl_row_in { SL_ROW_EVERYWHERE, SL_ROW_IN_TABLE, SL_ROW_IN_DATA };

struct sl_cell;
struct sl_rows {
    const struct sl_column *column;
    size_t n_columns;
    struct sl_cell *cell; /* by row, then column */
    struct sl_row *row;
    size_t n, cap_cells, cap_rows;
    struct sl_buf about;   /* said before all tables */
    struct sl_buf heading; /* of the table that the next row begins; empty: it goes on */
    struct sl_buf closing; /* said after all tables */
    bool failed;           /* there was no memory; all else is void then */
};

void sl_rows_init(struct sl_rows *rows, const struct sl_column *column, size_t n_columns);
void sl_rows_free(struct sl_rows *rows);

/* A row of empty cells, of which those below fill the last. A text is cut at 127 bytes. */
void sl_rows_add(struct sl_rows *rows, enum sl_row_in in);
void sl_rows_text(struct sl_rows *rows, unsigned column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sl_rows_number(struct sl_rows *rows, unsigned column, double value);
void sl_rows_band(struct sl_rows *rows, unsigned column, struct sl_band band);
void sl_rows_flag(struct sl_rows *rows, unsigned column, bool flag);

/* Appends the rows in that form. -1: no memory. */
int sl_rows_print(const struct sl_rows *rows, enum sl_output form, const char *experiment,
                  uint32_t seeds, struct sl_buf *out, struct sl_error *err);

#endif
