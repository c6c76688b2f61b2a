/* CSV files with a header (RFC 4180, but no line ends inside quotes), read as a whole; every error
 * names line, column and field. */
#ifndef SLICED_SIM_CSV_H
#define SLICED_SIM_CSV_H

#include "util/buf.h"
#include "util/error.h"

enum { SL_CSV_COLUMNS_MAX = 64, SL_CSV_FILE_MAX = 512 << 20 };

struct sl_csv {
    struct sl_buf text;
    size_t at;     /* where the next line begins */
    unsigned line; /* of the record last read, from 1 */
    unsigned n_columns;
    unsigned n_fields;
    struct sl_str column[SL_CSV_COLUMNS_MAX]; /* names, from the header */
    struct sl_str field[SL_CSV_COLUMNS_MAX]; /* of the record last read; valid until sl_csv_close */
    unsigned place[SL_CSV_COLUMNS_MAX];      /* where in the line a field begins, from 1 */
};

/* An empty csv, of which the caller fills the text. All that were init or opened are closed. */
void sl_csv_init(struct sl_csv *csv);
/* Reads the header of the text. If header is given, a line with its end, it stands for one that the
 * text lacks. */
int sl_csv_begin(struct sl_csv *csv, const char *header, struct sl_error *err);
/* The three with a file ("-": standard input). */
int sl_csv_open(struct sl_csv *csv, const char *path, const char *header, struct sl_error *err);
void sl_csv_close(struct sl_csv *csv);

/* Index of a column, -1 when there is none of that name. */
int sl_csv_column(const struct sl_csv *csv, const char *name);
/* The same; -1 with *err set, which lists the known columns. */
int sl_csv_need(const struct sl_csv *csv, const char *name, struct sl_error *err);

/* The next record; empty lines and those that begin with # are passed over. 1, 0 at the end, -1. */
int sl_csv_next(struct sl_csv *csv, struct sl_error *err);

/* True when there is such a column (>= 0) and its field is not empty. */
bool sl_csv_has(const struct sl_csv *csv, int column);
/* An integer in min..max, also written as a floating point number, as in "2.0". */
int sl_csv_i64(const struct sl_csv *csv, int column, int64_t min, int64_t max, int64_t *out,
               struct sl_error *err);
/* A number that is not negative ("12", "0.5", "1e3"), times unit and rounded down: with unit
 * 1000000 seconds become microseconds. At most SL_CSV_TIME_MAX. */
#define SL_CSV_TIME_MAX (INT64_C(1) << 53)
int sl_csv_time(const struct sl_csv *csv, int column, int64_t unit, int64_t *out,
                struct sl_error *err);
/* Sets *err to an error at that field: what was found and what was expected. Returns -1. */
int sl_csv_wrong(const struct sl_csv *csv, int column, const char *expected, struct sl_error *err);

/* The number that sl_csv_time reads, of any text. */
bool sl_csv_parse_time(struct sl_str text, int64_t unit, int64_t *out);
/* "2026-11-21 12:38:09" or RFC 3339 (UTC if it has no zone) as Unix microseconds, from 1970. */
bool sl_csv_parse_date(struct sl_str text, int64_t *out);

/* As sl_file_load(); "-": standard input. */
int sl_input_read(const char *path, struct sl_buf *out, struct sl_error *err);

#endif
