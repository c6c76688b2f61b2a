/* Tables of the server. */
#include "cli/table.h"

enum { CELLS_BYTES_MAX = 256 << 20, HEAD_MAX = 64 };

void sl_cli_table_init(struct sl_cli_table *table, bool wide, bool namespaces)
{
    *table = (struct sl_cli_table){.wide = wide, .namespaces = namespaces};
}

void sl_cli_table_free(struct sl_cli_table *table)
{
    if (table->begun) {
        sl_grid_free(&table->grid);
    }
}

struct sl_str sl_cli_cell(const struct sl_value *cell)
{
    if (cell != NULL && cell->kind == SL_VALUE_BOOL) {
        return cell->boolean ? SL_STR("true") : SL_STR("false");
    }
    return cell == NULL ? (struct sl_str){NULL, 0} : cell->text;
}

/* "START-IN" of "Start-In". */
static void upper_text(struct sl_str name, char out[HEAD_MAX])
{
    size_t n = name.len < HEAD_MAX - 1 ? name.len : HEAD_MAX - 1;
    for (size_t i = 0; i < n; i++) {
        char c = name.s[i];
        out[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    out[n] = '\0';
}

static int table_begin(struct sl_cli_table *table, const struct sl_value *columns,
                       struct sl_error *err)
{
    char heads[SL_GRID_COLUMNS_MAX][HEAD_MAX] = {"NAMESPACE"};
    const char *head[SL_GRID_COLUMNS_MAX];
    unsigned n_shown = table->namespaces ? 1 : 0;
    for (const struct sl_value *each = columns->first; each != NULL; each = each->next) {
        if (n_shown == SL_GRID_COLUMNS_MAX || table->n_columns == SL_GRID_COLUMNS_MAX) {
            return sl_error_set(err, SL_ERR_LIMIT, "the server's table has more than %d columns",
                                (int)SL_GRID_COLUMNS_MAX);
        }
        bool shown = table->wide || sl_value_i64(each, "priority", 0) == 0;
        table->shown[table->n_columns++] = shown;
        if (shown) {
            upper_text(sl_value_text(each, "name"), heads[n_shown++]);
        }
    }
    for (unsigned i = 0; i < n_shown; i++) {
        head[i] = heads[i];
    }
    if (table->n_columns == 0) {
        return sl_error_set(err, SL_ERR_TYPE, "the server's table has no columns");
    }
    sl_grid_init(&table->grid, n_shown, head, CELLS_BYTES_MAX);
    table->begun = true;
    return 0;
}

static void add_row(struct sl_cli_table *table, const struct sl_value *row)
{
    const struct sl_value *cell = sl_value_at(row, "cells");
    cell = cell == NULL ? NULL : cell->first;
    if (cell == NULL) {
        return; /* a bookmark's */
    }
    if (table->namespaces) {
        sl_grid_str(&table->grid, sl_value_text(row, "object.metadata.namespace"));
    }
    for (unsigned i = 0; i < table->n_columns; i++) {
        if (table->shown[i]) {
            sl_grid_str(&table->grid, sl_cli_cell(cell));
        }
        cell = cell == NULL ? NULL : cell->next;
    }
}

static bool is_array(const struct sl_value *value)
{
    return value != NULL && value->kind == SL_VALUE_ARRAY;
}

int sl_cli_table_add(struct sl_cli_table *table, const struct sl_value *value, struct sl_error *err)
{
    const struct sl_value *columns = sl_value_at(value, "columnDefinitions");
    const struct sl_value *rows = sl_value_at(value, "rows");
    if (!sl_str_eq(sl_value_text(value, "kind"), SL_STR("Table")) || !is_array(rows) ||
        (!table->begun && !is_array(columns))) {
        return sl_error_set(err, SL_ERR_TYPE, "the server's answer is no table");
    }
    if (!table->begun && table_begin(table, columns, err) < 0) {
        return -1;
    }
    for (const struct sl_value *row = rows->first; row != NULL; row = row->next) {
        add_row(table, row);
    }
    return 0;
}

void sl_cli_table_write(struct sl_cli_table *table, struct sl_buf *out)
{
    if (table->begun) {
        sl_grid_flush(&table->grid, out);
    }
}
