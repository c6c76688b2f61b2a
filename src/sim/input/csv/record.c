/* Reads records by a table of their fields. */
#include "sim/input/csv/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sliced/timeout.h"
#include "util/time.h"

/* ---- values ---- */

static int duration_read(const struct sl_csv *csv, int column, int64_t *out, struct sl_error *err)
{
    struct sl_str text = csv->field[column];
    int64_t seconds = 0;
    bool has_unit = text.len > 0 && text.s[text.len - 1] > '9';
    if (!has_unit) {
        return sl_csv_time(csv, column, SL_SECOND_US, out, err);
    }
    if (!sl_timeout_parse(text, &seconds)) {
        return sl_csv_wrong(csv, column, "seconds, or a duration such as 1h30m", err);
    }
    *out = seconds * SL_SECOND_US;
    return 0;
}

static int moment_read(const struct sl_csv *csv, int column, int64_t *out, struct sl_error *err)
{
    struct sl_str text = csv->field[column];
    if (text.len < 19 || text.s[4] != '-') {
        return sl_csv_time(csv, column, SL_SECOND_US, out, err);
    }
    return sl_csv_parse_date(text, out)
               ? 0
               : sl_csv_wrong(csv, column, "seconds, or a time such as 2026-11-21 12:38:09", err);
}

static int number_read(const struct sl_field *field, const struct sl_csv *csv, int column,
                       int64_t *out, struct sl_error *err)
{
    switch (field->kind) {
    case SL_FIELD_SECONDS:
        return sl_csv_time(csv, column, SL_SECOND_US, out, err);
    case SL_FIELD_MS:
        return sl_csv_time(csv, column, SL_MS_US, out, err);
    case SL_FIELD_THOUSANDTHS:
        if (sl_csv_time(csv, column, 1000, out, err) < 0) {
            return -1;
        }
        return *out <= field->max ? 0 : sl_csv_wrong(csv, column, "a smaller number", err);
    case SL_FIELD_DURATION:
        return duration_read(csv, column, out, err);
    case SL_FIELD_MOMENT:
        return moment_read(csv, column, out, err);
    case SL_FIELD_TEXT:
    case SL_FIELD_INTEGER:
        break;
    }
    return sl_csv_i64(csv, column, field->min, field->max, out, err);
}

static int field_read(const struct sl_field *field, const struct sl_csv *csv, int column,
                      void *record, struct sl_error *err)
{
    char *member = (char *)record + field->at;
    int64_t number = 0;
    if (field->need != SL_FIELD_VALUE && !sl_csv_has(csv, column)) {
        return 0;
    }
    if (field->kind == SL_FIELD_TEXT) {
        memcpy(member, &csv->field[column], sizeof(csv->field[column]));
        return 0;
    }
    if (number_read(field, csv, column, &number, err) < 0) {
        return -1;
    }
    memcpy(member, &number, sizeof(number));
    return 0;
}

/* ---- records ---- */

/* An optional column in another spelling counts as absent. */
static int columns_find(const struct sl_records *records, const struct sl_csv *csv, int *column,
                        struct sl_error *err)
{
    for (size_t i = 0; i < records->n; i++) {
        column[i] = sl_csv_column(csv, records->field[i].column);
        if (column[i] < 0 && records->field[i].need != SL_FIELD_OPTIONAL) {
            return sl_csv_need(csv, records->field[i].column, err);
        }
        for (size_t k = 0; column[i] >= 0 && k < i; k++) {
            if (column[k] >= 0 && records->field[k].at == records->field[i].at) {
                char expected[80];
                (void)snprintf(expected, sizeof(expected), "\"%s\" or \"%s\", not both",
                               records->field[k].column, records->field[i].column);
                return sl_csv_wrong(csv, column[i], expected, err);
            }
        }
    }
    return 0;
}

static int record_take(const struct sl_records *records, const struct sl_csv *csv,
                       const int *column, struct sl_error *err)
{
    for (size_t i = 0; i < records->n; i++) {
        if (field_read(&records->field[i], csv, column[i], records->record, err) < 0) {
            return -1;
        }
    }
    if (records->take(records->context, records->record, csv, err) < 0) {
        if (err != NULL && err->line == 0) {
            err->line = csv->line;
            err->column = 1;
        }
        return -1;
    }
    return 0;
}

int sl_records_take(const struct sl_records *records, struct sl_csv *csv, struct sl_error *err)
{
    int column[SL_FIELDS_MAX] = {0};
    if (columns_find(records, csv, column, err) < 0) {
        return -1;
    }
    void *fresh = malloc(records->size);
    if (fresh == NULL) {
        return sl_error_nomem(err);
    }
    memcpy(fresh, records->record, records->size);
    int rc = sl_csv_next(csv, err);
    while (rc == 1) {
        memcpy(records->record, fresh, records->size);
        rc = record_take(records, csv, column, err) < 0 ? -1 : sl_csv_next(csv, err);
    }
    free(fresh);
    return rc;
}

int sl_records_read(const struct sl_records *records, const char *path, struct sl_error *err)
{
    struct sl_csv csv;
    int rc = sl_csv_open(&csv, path, NULL, err);
    rc = rc == 0 ? sl_records_take(records, &csv, err) : rc;
    sl_csv_close(&csv);
    return rc < 0 ? sl_error_locate(err, path) : 0;
}

bool sl_records_know(const struct sl_records *records, struct sl_str column)
{
    for (size_t i = 0; i < records->n; i++) {
        if (sl_str_eq(column, sl_str_of(records->field[i].column))) {
            return true;
        }
    }
    return false;
}

int sl_record_wrong(const struct sl_csv *csv, const char *column, const char *expected,
                    struct sl_error *err)
{
    return sl_csv_wrong(csv, sl_csv_column(csv, column), expected, err);
}
