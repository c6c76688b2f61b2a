/* Text tables. */
#include "util/term/grid.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/show.h"

enum { GAP = 3, FIGURES_GAP = 2, CELL_MAX = 512 };

static void init(struct sl_grid *table, unsigned columns, size_t max_bytes)
{
    memset(table, 0, sizeof(*table));
    sl_buf_init(&table->cells, max_bytes);
    table->columns = columns > SL_GRID_COLUMNS_MAX ? SL_GRID_COLUMNS_MAX : columns;
}

void sl_grid_init_figures(struct sl_grid *table, unsigned columns, size_t max_bytes)
{
    init(table, columns, max_bytes);
    table->figures = true;
}

void sl_grid_init(struct sl_grid *table, unsigned columns, const char *const *head,
                  size_t max_bytes)
{
    init(table, columns, max_bytes);
    for (unsigned i = 0; i < table->columns; i++) {
        sl_grid_text(table, head[i]);
    }
}

void sl_grid_free(struct sl_grid *table)
{
    sl_buf_free(&table->cells);
}

/* Counts the bytes that begin a character: a terminal gives each a column. */
static size_t columns_of(struct sl_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        n += ((unsigned char)text.s[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return n;
}

void sl_grid_str(struct sl_grid *table, struct sl_str text)
{
    if (text.len == 0 && !table->figures) {
        text = SL_STR("-");
    }
    size_t width = 0;
    while (text.len > 0) {
        char shown[SL_SHOWN_MAX];
        size_t n = sl_show_next(&text, shown);
        sl_buf_append(&table->cells, shown, n);
        width += columns_of((struct sl_str){shown, n});
    }
    sl_buf_putc(&table->cells, '\0');
    if (width > table->width[table->at]) {
        table->width[table->at] = width;
    }
    table->at = (table->at + 1) % table->columns;
}

void sl_grid_text(struct sl_grid *table, const char *text)
{
    sl_grid_str(table, sl_str_of(text));
}

void sl_grid_i64(struct sl_grid *table, int64_t value)
{
    sl_grid_printf(table, "%lld", (long long)value);
}

void sl_grid_printf(struct sl_grid *table, const char *format, ...)
{
    char text[CELL_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sl_grid_text(table, text);
}

static void put_blanks(struct sl_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sl_buf_putc(out, ' ');
    }
}

void sl_grid_write(const struct sl_grid *table, struct sl_buf *out)
{
    if (table->cells.failed != SL_BUF_OK) {
        out->failed = table->cells.failed;
        return;
    }
    const char *cell = table->cells.data;
    const char *end = table->cells.data + table->cells.len;
    for (unsigned column = 0; cell < end; column = (column + 1) % table->columns) {
        struct sl_str text = sl_str_of(cell);
        size_t blanks = table->width[column] - columns_of(text);
        bool right = table->figures && column > 0;
        bool last = column + 1 == table->columns;
        put_blanks(out, right ? blanks : 0);
        sl_buf_append(out, text.s, text.len);
        put_blanks(out, right || last ? 0 : blanks);
        put_blanks(out, last ? 0 : table->figures ? FIGURES_GAP : GAP);
        sl_buf_puts(out, last ? "\n" : "");
        cell += text.len + 1;
    }
}

static void put_value(struct sl_buf *out, const char *cell)
{
    bool quoted = strpbrk(cell, ",\"") != NULL;
    sl_buf_puts(out, quoted ? "\"" : "");
    for (; *cell != '\0'; cell++) {
        sl_buf_puts(out, *cell == '"' ? "\"" : "");
        sl_buf_putc(out, *cell);
    }
    sl_buf_puts(out, quoted ? "\"" : "");
}

void sl_grid_csv(const struct sl_grid *table, struct sl_buf *out)
{
    const char *cell = table->cells.data;
    const char *end = table->cells.data + table->cells.len;
    for (unsigned column = 0; cell < end; column = (column + 1) % table->columns) {
        put_value(out, strcmp(cell, "-") == 0 ? "" : cell); /* a spreadsheet's way to say so */
        sl_buf_putc(out, column + 1 == table->columns ? '\n' : ',');
        cell += strlen(cell) + 1;
    }
    out->failed = table->cells.failed != SL_BUF_OK ? table->cells.failed : out->failed;
}

void sl_grid_flush(struct sl_grid *table, struct sl_buf *out)
{
    sl_grid_write(table, out);
    table->cells.len = 0;
}
