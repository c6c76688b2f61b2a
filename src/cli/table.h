/* Tables of the server, as kubectl prints them. */
#ifndef SLICED_CLI_TABLE_H
#define SLICED_CLI_TABLE_H

#include "codec/tree/value.h"
#include "util/term/grid.h"

/* The columns of a Table of the API server that are shown. */
struct sl_cli_table {
    struct sl_grid grid;
    bool begun;      /* it has its columns */
    bool namespaces; /* the first column is the row's namespace */
    bool wide;       /* with columns of a priority beyond 0 */
    unsigned n_columns;
    bool shown[SL_GRID_COLUMNS_MAX]; /* by the server's column */
};

/* An empty table. */
void sl_cli_table_init(struct sl_cli_table *table, bool wide, bool namespaces);
void sl_cli_table_free(struct sl_cli_table *table);

/* Adds the rows of a Table, whose columns count when it is the first. Cells that are missing are
 * empty, surplus ones left out. -1 with *err when the value is no Table, or has more columns than a
 * grid. */
int sl_cli_table_add(struct sl_cli_table *table, const struct sl_value *value,
                     struct sl_error *err);

/* Appends the rows that were added since the last time, the first time below a head. */
void sl_cli_table_write(struct sl_cli_table *table, struct sl_buf *out);

/* The cell's text: empty for null. */
struct sl_str sl_cli_cell(const struct sl_value *cell);

#endif
