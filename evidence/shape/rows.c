/* Rows of cells, and their three forms. */
#include "evidence/shape/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/data/vec.h"
#include "util/term/grid.h"

enum { TEXT_MAX = 128, TEXTS_MAX_BYTES = 1 << 16 };

enum kind { NOTHING, TEXT, NUMBER, BAND, FLAG };

struct sl_cell {
    enum kind kind;
    bool flag;
    struct sl_band band; /* a number is its median */
    char text[TEXT_MAX];
};

struct sl_row {
    enum sl_row_in in;
    size_t
        heading; /* bytes of all headings before the row; more than the row before has: its own */
};

void sl_rows_init(struct sl_rows *rows, const struct sl_column *column, size_t n_columns)
{
    *rows = (struct sl_rows){.column = column, .n_columns = n_columns};
    sl_buf_init(&rows->about, TEXTS_MAX_BYTES);
    sl_buf_init(&rows->heading, TEXTS_MAX_BYTES);
    sl_buf_init(&rows->closing, TEXTS_MAX_BYTES);
}

void sl_rows_free(struct sl_rows *rows)
{
    free(rows->cell);
    free(rows->row);
    sl_buf_free(&rows->about);
    sl_buf_free(&rows->heading);
    sl_buf_free(&rows->closing);
}

/* ---- filling ---- */

void sl_rows_add(struct sl_rows *rows, enum sl_row_in in)
{
    size_t n = rows->n * rows->n_columns;
    if (sl_vec_reserve(&rows->row, &rows->cap_rows, rows->n + 1, sizeof(*rows->row)) < 0 ||
        sl_vec_reserve(&rows->cell, &rows->cap_cells, n + rows->n_columns, sizeof(*rows->cell)) <
            0) {
        rows->failed = true;
        return;
    }
    memset(&rows->cell[n], 0, rows->n_columns * sizeof(*rows->cell));
    rows->row[rows->n++] = (struct sl_row){in, rows->heading.len};
}

/* Of the last row; NULL: there is none, since memory was lacking. */
static struct sl_cell *cell_at(struct sl_rows *rows, unsigned column, enum kind kind)
{
    if (rows->failed) {
        return NULL;
    }
    struct sl_cell *cell = &rows->cell[(rows->n - 1) * rows->n_columns + column];
    cell->kind = kind;
    return cell;
}

void sl_rows_text(struct sl_rows *rows, unsigned column, const char *format, ...)
{
    va_list arguments;
    struct sl_cell *cell = cell_at(rows, column, TEXT);
    if (cell != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(cell->text, sizeof(cell->text), format, arguments);
        va_end(arguments);
    }
}

void sl_rows_number(struct sl_rows *rows, unsigned column, double value)
{
    struct sl_cell *cell = cell_at(rows, column, NUMBER);
    if (cell != NULL) {
        cell->band.median = value;
    }
}

void sl_rows_band(struct sl_rows *rows, unsigned column, struct sl_band band)
{
    struct sl_cell *cell = cell_at(rows, column, BAND);
    if (cell != NULL) {
        cell->band = band;
    }
}

void sl_rows_flag(struct sl_rows *rows, unsigned column, bool flag)
{
    struct sl_cell *cell = cell_at(rows, column, FLAG);
    if (cell != NULL) {
        cell->flag = flag;
    }
}

/* ---- tables ---- */

static void put_cell(struct sl_grid *grid, const struct sl_cell *cell, int decimals)
{
    const struct sl_band *band = &cell->band;
    if (cell->kind == TEXT) {
        sl_grid_text(grid, cell->text);
    } else if (cell->kind == FLAG) {
        sl_grid_text(grid, cell->flag ? "yes" : "no");
    } else if (cell->kind == BAND && band->p95 > band->p5) {
        sl_grid_printf(grid, "%.*f (%.*f-%.*f)", decimals, band->median, decimals, band->p5,
                       decimals, band->p95);
    } else if (cell->kind == NOTHING) {
        sl_grid_text(grid, "-");
    } else {
        sl_grid_printf(grid, "%.*f", decimals, band->median);
    }
}

/* One line of a table: its titles, where cell is NULL. */
static void put_line(const struct sl_rows *rows, const struct sl_cell *cell, struct sl_grid *grid)
{
    for (size_t c = 0; c < rows->n_columns; c++) {
        const struct sl_column *column = &rows->column[c];
        if (column->title != NULL && cell == NULL) {
            sl_grid_text(grid, column->title);
        } else if (column->title != NULL) {
            put_cell(grid, &cell[c], column->decimals);
        }
    }
}

/* Prints the table that begins with that row, and returns the row behind it. */
static size_t print_table(const struct sl_rows *rows, size_t first, struct sl_buf *out)
{
    size_t before = first == 0 ? 0 : rows->row[first - 1].heading;
    size_t heading = rows->row[first].heading;
    struct sl_grid grid;
    unsigned titles = 0;
    size_t r = first;
    for (size_t c = 0; c < rows->n_columns; c++) {
        titles += rows->column[c].title != NULL;
    }
    if (heading > before) {
        sl_buf_puts(out, first == 0 ? "" : "\n");
        sl_buf_append(out, rows->heading.data + before, heading - before);
    }
    sl_grid_init_figures(&grid, titles, TEXTS_MAX_BYTES);
    put_line(rows, NULL, &grid);
    for (; r < rows->n && rows->row[r].heading == heading; r++) {
        if (rows->row[r].in != SL_ROW_IN_DATA) {
            put_line(rows, &rows->cell[r * rows->n_columns], &grid);
        }
    }
    sl_grid_write(&grid, out);
    sl_grid_free(&grid);
    return r;
}

static void print_tables(const struct sl_rows *rows, struct sl_buf *out)
{
    sl_buf_append(out, rows->about.data, rows->about.len);
    for (size_t r = 0; r < rows->n;) {
        r = print_table(rows, r, out);
    }
    sl_buf_append(out, rows->closing.data, rows->closing.len);
}

/* ---- CSV and JSON ---- */

static const char *const spread[] = {"p5", "median", "p95"};

static void write_header(const struct sl_rows *rows, struct sl_buf *out)
{
    const char *between = "";
    for (size_t c = 0; c < rows->n_columns; c++) {
        const struct sl_column *column = &rows->column[c];
        for (int i = 0; column->name != NULL && i < (column->how == SL_HOW_SPREAD ? 3 : 1); i++) {
            sl_buf_printf(out, "%s%s%s%s", between, column->name,
                          column->how == SL_HOW_SPREAD ? "_" : "",
                          column->how == SL_HOW_SPREAD ? spread[i] : "");
            between = ",";
        }
    }
    sl_buf_putc(out, '\n');
}

static void write_spread(const struct sl_cell *cell, int digits, bool json, struct sl_buf *out)
{
    const double value[] = {cell->band.p5, cell->band.median, cell->band.p95};
    for (int i = 0; i < 3; i++) {
        sl_buf_puts(out, i == 0 ? (json ? "{" : "") : (json ? ", " : ","));
        if (json) {
            sl_buf_printf(out, "\"%s\": ", spread[i]);
        }
        sl_buf_printf(out, "%.*f", digits, value[i]);
    }
    sl_buf_puts(out, json ? "}" : "");
}

static void write_text(const char *text, bool json, struct sl_buf *out)
{
    if (!json) {
        sl_report_csv_field(out, text);
        return;
    }
    sl_buf_putc(out, '"');
    sl_report_json_text(out, text);
    sl_buf_putc(out, '"');
}

static void write_cell(const struct sl_cell *cell, const struct sl_column *column, bool json,
                       struct sl_buf *out)
{
    if (cell->kind == TEXT) {
        write_text(cell->text, json, out);
    } else if (cell->kind == FLAG) {
        sl_buf_puts(out, cell->flag ? "true" : "false");
    } else if (cell->kind == NOTHING) {
        sl_buf_puts(out, json ? "null" : column->how == SL_HOW_SPREAD ? ",," : "");
    } else if (column->how == SL_HOW_SPREAD) {
        write_spread(cell, column->digits, json, out);
    } else {
        sl_buf_printf(out, "%.*f", column->digits, cell->band.median);
    }
}

static void write_row(const struct sl_rows *rows, const struct sl_cell *cell, bool json,
                      struct sl_buf *out)
{
    const char *between = json ? "  {" : "";
    for (size_t c = 0; c < rows->n_columns; c++) {
        if (rows->column[c].name == NULL) {
            continue;
        }
        sl_buf_puts(out, between);
        if (json) {
            sl_buf_printf(out, "\"%s\": ", rows->column[c].name);
        }
        write_cell(&cell[c], &rows->column[c], json, out);
        between = json ? ", " : ",";
    }
    sl_buf_puts(out, json ? "}" : "\n");
}

static void write_rows(const struct sl_rows *rows, bool json, struct sl_buf *out)
{
    const char *between = "";
    for (size_t r = 0; r < rows->n; r++) {
        if (rows->row[r].in != SL_ROW_IN_TABLE) {
            sl_buf_puts(out, json ? between : "");
            write_row(rows, &rows->cell[r * rows->n_columns], json, out);
            between = ",\n";
        }
    }
}

int sl_rows_print(const struct sl_rows *rows, enum sl_output form, const char *experiment,
                  uint32_t seeds, struct sl_buf *out, struct sl_error *err)
{
    if (rows->failed || rows->about.failed != SL_BUF_OK || rows->heading.failed != SL_BUF_OK ||
        rows->closing.failed != SL_BUF_OK) {
        return sl_error_nomem(err);
    }
    if (form == SL_OUTPUT_JSON) {
        sl_buf_printf(out, "{\"experiment\": \"%s\", \"seeds\": %u, \"rows\": [\n", experiment,
                      seeds);
        write_rows(rows, true, out);
        sl_buf_puts(out, "\n]}\n");
    } else if (form == SL_OUTPUT_CSV) {
        write_header(rows, out);
        write_rows(rows, false, out);
    } else {
        print_tables(rows, out);
    }
    return 0;
}
