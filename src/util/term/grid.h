/* Text tables: each column as wide as its widest cell. Either as kubectl prints them, three blanks
 * between two, or of figures: two blanks, and all columns but the first flush right. */
#ifndef SLICED_UTIL_TERM_GRID_H
#define SLICED_UTIL_TERM_GRID_H

#include "util/buf.h"

enum { SL_GRID_COLUMNS_MAX = 66 };

struct sl_grid {
    struct sl_buf cells; /* NUL-terminated cells, row by row */
    unsigned columns;
    unsigned at;  /* column of the next cell */
    bool figures; /* made by sl_grid_init_figures() */
    size_t width[SL_GRID_COLUMNS_MAX];
};

/* head: one name a column. */
void sl_grid_init(struct sl_grid *table, unsigned columns, const char *const *head,
                  size_t max_bytes);
/* Of figures; its head, if it has one, is the first row. An empty cell stays empty. */
void sl_grid_init_figures(struct sl_grid *table, unsigned columns, size_t max_bytes);
void sl_grid_free(struct sl_grid *table);

/* Each fills the next cell, row by row. An empty one shows as "-", what a terminal would obey as
 * escapes (show.h). */
void sl_grid_str(struct sl_grid *table, struct sl_str text);
void sl_grid_text(struct sl_grid *table, const char *text); /* NULL: empty */
void sl_grid_i64(struct sl_grid *table, int64_t value);
void sl_grid_printf(struct sl_grid *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends the table to out; trouble in filling it becomes trouble of out. */
void sl_grid_write(const struct sl_grid *table, struct sl_buf *out);

/* The same as comma-separated values (RFC 4180, but for lone line feeds); an empty one is empty. */
void sl_grid_csv(const struct sl_grid *table, struct sl_buf *out);

/* The same, and forgets the cells but not the widths: rows that come later stand below these. */
void sl_grid_flush(struct sl_grid *table, struct sl_buf *out);

#endif
