/* CSV files with a header. */
#include "sim/input/csv/csv.h"

#include <stdio.h>
#include <string.h>

#include "util/process/file.h"
#include "util/timestamp.h"

enum { SHOWN_MAX = 40, DIGITS_MAX = 18, DECIMALS_MAX = 12 };

int sl_input_read(const char *path, struct sl_buf *out, struct sl_error *err)
{
    return sl_file_load(strcmp(path, "-") == 0 ? NULL : path, out, err);
}

/* ---- records ---- */

static int wrong_at(const struct sl_csv *csv, size_t place, struct sl_error *err, const char *what)
{
    (void)sl_error_set(err, SL_ERR_SYNTAX, "%s", what);
    if (err != NULL) {
        err->line = csv->line;
        err->column = (unsigned)place;
    }
    return -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Is the line empty, a comment, or only commas, as spreadsheets leave them? */
static bool says_nothing(const char *line, size_t len)
{
    size_t i = 0;
    while (i < len && (is_blank(line[i]) || line[i] == ',')) {
        i++;
    }
    return i == len || line[0] == '#';
}

/* Takes the field that begins at *at, unquotes it in place, and leaves *at behind its comma; 1 when
 * another follows, 0 at the end of the line. */
static int take_field(struct sl_csv *csv, char *line, size_t len, size_t *at, struct sl_error *err)
{
    size_t begin = *at;
    size_t i = begin;
    size_t end = 0;
    if (csv->n_fields == SL_CSV_COLUMNS_MAX) {
        return wrong_at(csv, begin + 1, err, "more than 64 columns");
    }
    while (i < len && is_blank(line[i])) {
        i++;
    }
    if (i < len && line[i] == '"') {
        begin = ++i;
        end = begin;
        while (i < len && (line[i] != '"' || (i + 1 < len && line[i + 1] == '"'))) {
            i += line[i] == '"' ? 1 : 0;
            line[end++] = line[i++];
        }
        if (i >= len) {
            return wrong_at(csv, begin, err, "the quote that begins here is not closed");
        }
        do {
            i++;
        } while (i < len && is_blank(line[i]));
        if (i < len && line[i] != ',') {
            return wrong_at(csv, i + 1, err, "expected a comma behind the closing quote");
        }
    } else {
        begin = i;
        while (i < len && line[i] != ',') {
            i++;
        }
        end = i;
        while (begin < end && is_blank(line[end - 1])) {
            end--;
        }
    }
    csv->place[csv->n_fields] = (unsigned)*at + 1;
    csv->field[csv->n_fields++] = (struct sl_str){line + begin, end - begin};
    *at = i + 1;
    return i < len ? 1 : 0;
}

static int line_split(struct sl_csv *csv, char *line, size_t len, struct sl_error *err)
{
    size_t at = 0;
    int more = 1;
    csv->n_fields = 0;
    const char *nul = memchr(line, '\0', len);
    if (nul != NULL) {
        return wrong_at(csv, (size_t)(nul - line) + 1, err, "a NUL byte: is this a text file?");
    }
    while (more == 1) {
        more = take_field(csv, line, len, &at, err);
    }
    return more;
}

/* Reads the next line with content into fields. 1, 0 at the end, -1. */
static int read_record(struct sl_csv *csv, struct sl_error *err)
{
    while (csv->at < csv->text.len) {
        char *line = csv->text.data + csv->at;
        size_t left = csv->text.len - csv->at;
        const char *end = memchr(line, '\n', left);
        size_t len = end == NULL ? left : (size_t)(end - line);
        csv->at += len + (end == NULL ? 0 : 1);
        csv->line++;
        if (len > 0 && line[len - 1] == '\r') {
            len--;
        }
        if (!says_nothing(line, len)) {
            return line_split(csv, line, len, err) < 0 ? -1 : 1;
        }
    }
    return 0;
}

int sl_csv_next(struct sl_csv *csv, struct sl_error *err)
{
    int rc = read_record(csv, err);
    if (rc == 1 && csv->n_fields != csv->n_columns) {
        char what[96];
        (void)snprintf(what, sizeof(what), "%u field%s, the header has %u column%s", csv->n_fields,
                       csv->n_fields == 1 ? "" : "s", csv->n_columns,
                       csv->n_columns == 1 ? "" : "s");
        return wrong_at(csv, 1, err, what);
    }
    return rc;
}

static int read_header(struct sl_csv *csv, struct sl_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as spreadsheets write it */
    if (csv->at == 0 && csv->text.len >= 3 && memcmp(csv->text.data, mark, 3) == 0) {
        csv->at = 3;
    }
    int rc = read_record(csv, err);
    if (rc <= 0) {
        return rc < 0 ? -1 : sl_error_set(err, SL_ERR_SYNTAX, "is empty; expected a header");
    }
    csv->n_columns = csv->n_fields;
    memcpy(csv->column, csv->field, sizeof(csv->column));
    for (unsigned i = 0; i < csv->n_columns; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (csv->column[i].len > 0 && sl_str_eq(csv->column[i], csv->column[k])) {
                return wrong_at(csv, csv->place[i], err, "this column is there twice");
            }
        }
    }
    return 0;
}

void sl_csv_init(struct sl_csv *csv)
{
    memset(csv, 0, sizeof(*csv));
    sl_buf_init(&csv->text, (size_t)SL_CSV_FILE_MAX + 1);
}

int sl_csv_begin(struct sl_csv *csv, const char *header, struct sl_error *err)
{
    size_t len = csv->text.len;
    struct sl_str text = {csv->text.data, len};
    bool bare = header != NULL && !sl_str_starts(text, sl_str_of(header));
    if (bare) {
        sl_buf_puts(&csv->text, header);
        csv->at = len;
    }
    int rc = csv->text.failed != SL_BUF_OK ? sl_error_nomem(err) : read_header(csv, err);
    if (rc == 0 && bare) {
        csv->text.len = len;
        csv->at = 0;
        csv->line = 0;
    }
    return rc;
}

int sl_csv_open(struct sl_csv *csv, const char *path, const char *header, struct sl_error *err)
{
    sl_csv_init(csv);
    return sl_input_read(path, &csv->text, err) < 0 ? -1 : sl_csv_begin(csv, header, err);
}

void sl_csv_close(struct sl_csv *csv)
{
    sl_buf_free(&csv->text);
}

/* ---- columns and values ---- */

int sl_csv_column(const struct sl_csv *csv, const char *name)
{
    for (unsigned i = 0; i < csv->n_columns; i++) {
        if (sl_str_eq(csv->column[i], sl_str_of(name))) {
            return (int)i;
        }
    }
    return -1;
}

static bool has_other_separator(struct sl_str header)
{
    return header.len > 0 && (memchr(header.s, ';', header.len) != NULL ||
                              memchr(header.s, '\t', header.len) != NULL);
}

int sl_csv_need(const struct sl_csv *csv, const char *name, struct sl_error *err)
{
    int column = sl_csv_column(csv, name);
    if (column >= 0) {
        return column;
    }
    struct sl_buf list;
    sl_buf_init(&list, 256);
    for (unsigned i = 0; i < csv->n_columns; i++) {
        sl_buf_printf(&list, "%s%.*s", i > 0 ? ", " : "", (int)csv->column[i].len,
                      csv->column[i].s);
    }
    bool other = csv->n_columns == 1 && has_other_separator(csv->column[0]);
    const char *hint = other ? "; fields are parted by commas" : "";
    (void)sl_error_set(err, SL_ERR_FIELD, "no column \"%s\" in the header, which has %.*s%s", name,
                       (int)list.len, list.data == NULL ? "" : list.data, hint);
    if (err != NULL) {
        err->line = csv->line;
        err->column = 1;
    }
    sl_buf_free(&list);
    return -1;
}

bool sl_csv_has(const struct sl_csv *csv, int column)
{
    return column >= 0 && (unsigned)column < csv->n_fields && csv->field[column].len > 0;
}

int sl_csv_wrong(const struct sl_csv *csv, int column, const char *expected, struct sl_error *err)
{
    struct sl_str text = csv->field[column];
    struct sl_str name = csv->column[column];
    int shown = text.len < SHOWN_MAX ? (int)text.len : SHOWN_MAX;
    (void)sl_error_set(err, SL_ERR_FIELD, "expected %s, found \"%.*s%s\"", expected, shown, text.s,
                       text.len > SHOWN_MAX ? "..." : "");
    if (err != NULL) {
        err->line = csv->line;
        err->column = csv->place[column];
        (void)snprintf(err->field, sizeof(err->field), "%.*s",
                       name.len < SHOWN_MAX ? (int)name.len : SHOWN_MAX, name.s);
    }
    return -1;
}

struct decimal {
    int64_t digits;
    int exponent; /* of ten */
};

/* "12", "0.5", "1e3", "2.5E-4". Digits beyond the 18th are cut. */
static bool parse_decimal(struct sl_str text, struct decimal *out)
{
    size_t i = 0;
    bool point = false;
    bool any = false;
    int kept = 0;
    *out = (struct decimal){0, 0};
    for (; i < text.len && ((text.s[i] >= '0' && text.s[i] <= '9') || text.s[i] == '.'); i++) {
        if (text.s[i] == '.') {
            if (point) {
                return false;
            }
            point = true;
            continue;
        }
        any = true;
        if (kept < DIGITS_MAX) {
            out->digits = out->digits * 10 + (text.s[i] - '0');
            kept += out->digits > 0 ? 1 : 0;
            out->exponent -= point ? 1 : 0;
        } else {
            out->exponent += point ? 0 : 1;
        }
    }
    if (any && i < text.len && (text.s[i] == 'e' || text.s[i] == 'E')) {
        int64_t shift = 0;
        size_t sign = i + 1 < text.len && text.s[i + 1] == '+' ? 2 : 1;
        struct sl_str rest = {text.s + i + sign, text.len - i - sign};
        if (!sl_str_to_i64(rest, &shift) || shift < -400 || shift > 400) {
            return false;
        }
        out->exponent += (int)shift;
        i = text.len;
    }
    return any && i == text.len;
}

/* "12", and numbers that passed through floating point: "12.0", "1.2e1". */
static bool parse_integer(struct sl_str text, int64_t *out)
{
    struct decimal number;
    bool negative = text.len > 0 && text.s[0] == '-';
    struct sl_str digits = {text.s + negative, text.len - negative};
    if (sl_str_to_i64(text, out)) {
        return true;
    }
    if (!parse_decimal(digits, &number)) {
        return false;
    }
    for (; number.exponent < 0 && number.digits % 10 == 0 && number.digits > 0; number.exponent++) {
        number.digits /= 10;
    }
    for (; number.exponent > 0 && number.digits < SL_CSV_TIME_MAX / 10 && number.digits > 0;
         number.exponent--) {
        number.digits *= 10;
    }
    *out = negative ? -number.digits : number.digits;
    return number.exponent == 0 || number.digits == 0;
}

int sl_csv_i64(const struct sl_csv *csv, int column, int64_t min, int64_t max, int64_t *out,
               struct sl_error *err)
{
    int64_t value = 0;
    if (!parse_integer(csv->field[column], &value) || value < min || value > max) {
        char expected[96];
        (void)snprintf(expected, sizeof(expected), "an integer in %lld..%lld", (long long)min,
                       (long long)max);
        return sl_csv_wrong(csv, column, expected, err);
    }
    *out = value;
    return 0;
}

bool sl_csv_parse_time(struct sl_str text, int64_t unit, int64_t *out)
{
    struct decimal number;
    if (!parse_decimal(text, &number)) {
        return false;
    }
    for (; number.exponent > 0 && number.digits > 0; number.exponent--) {
        if (number.digits > SL_CSV_TIME_MAX / 10) {
            return false;
        }
        number.digits *= 10;
    }
    for (; number.exponent < -DECIMALS_MAX; number.exponent++) {
        number.digits /= 10;
    }
    int64_t one = 1;
    for (; number.exponent < 0; number.exponent++) {
        one *= 10;
    }
    /* whole and fraction apart: their product with unit would pass 64 bits */
    int64_t whole = number.digits / one;
    if (whole > SL_CSV_TIME_MAX / unit) {
        return false;
    }
    int64_t value = whole * unit + number.digits % one * unit / one;
    if (value > SL_CSV_TIME_MAX) {
        return false;
    }
    *out = value;
    return true;
}

bool sl_csv_parse_date(struct sl_str text, int64_t *out)
{
    char stamp[48];
    if (text.len < 19 || text.len + 2 > sizeof(stamp)) {
        return false;
    }
    bool zoned = strchr("zZ", text.s[text.len - 1]) != NULL ||
                 memchr(text.s + 10, '+', text.len - 10) != NULL ||
                 memchr(text.s + 10, '-', text.len - 10) != NULL;
    (void)snprintf(stamp, sizeof(stamp), "%.*s%s", (int)text.len, text.s, zoned ? "" : "Z");
    stamp[10] = stamp[10] == ' ' ? 'T' : stamp[10];
    return sl_time_parse(sl_str_of(stamp), out) && *out >= 0;
}

int sl_csv_time(const struct sl_csv *csv, int column, int64_t unit, int64_t *out,
                struct sl_error *err)
{
    if (!sl_csv_parse_time(csv->field[column], unit, out)) {
        char expected[96];
        (void)snprintf(expected, sizeof(expected), "a number in 0..%lld, such as 12 or 0.5",
                       (long long)(SL_CSV_TIME_MAX / unit));
        return sl_csv_wrong(csv, column, expected, err);
    }
    return 0;
}
