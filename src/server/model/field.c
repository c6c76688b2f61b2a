/* From a table of fields and a row's record: members, cells and columns. */
#include "server/model/field.h"

#include <stdio.h>

#include "sliced/order.h"
#include "sliced/plan.h"
#include "util/show.h"
#include "util/time.h"
#include "util/timestamp.h"

void sl_api_time(struct sl_writer *w, int64_t us)
{
    char text[32];
    if (us == 0) {
        sl_write_null(w);
        return;
    }
    sl_time_format(us, text);
    sl_write_text(w, text);
}

/* ---- values ---- */

static const void *pointer_at(const char *place)
{
    const void *pointer = NULL;
    memcpy(&pointer, place, sizeof(pointer));
    return pointer;
}

/* Where the value stands; NULL: nowhere. */
static const char *place_of(const struct sl_field *field, const void *record)
{
    const char *base = record;
    if (field->behind) {
        base = pointer_at(base + field->via);
    }
    return base == NULL ? NULL : base + field->at;
}

static int64_t number_of(const struct sl_field *field, const void *record)
{
    const void *place = place_of(field, record);
    switch (place == NULL ? SL_C_NONE : field->c) {
    case SL_C_BOOL:
        return *(const bool *)place;
    case SL_C_I16:
        return *(const int16_t *)place;
    case SL_C_U16:
        return *(const uint16_t *)place;
    case SL_C_I32:
        return *(const int32_t *)place;
    case SL_C_U32:
        return *(const uint32_t *)place;
    case SL_C_I64:
        return *(const int64_t *)place;
    case SL_C_U64:
        return (int64_t) * (const uint64_t *)place;
    case SL_C_NONE:
    case SL_C_CHARS:
    case SL_C_STRING:
    case SL_C_POINTER:
        break;
    }
    return 0;
}

/* NULL: there is none. */
static const char *text_of(const struct sl_field *field, const void *record, char *out)
{
    if (field->text != NULL) {
        return field->text(record, out);
    }
    const char *place = place_of(field, record);
    return place == NULL || field->c == SL_C_CHARS ? place : pointer_at(place);
}

/* A value, or that there is none. */
struct value {
    bool known;
    int64_t number;
    const char *text;
    const void *object; /* what the fields of an object are read from */
};

static struct value number_value(const struct sl_field *field, const void *record)
{
    int64_t number = number_of(field, record);
    bool known = true;
    switch (field->form) {
    case SL_AS_KNOWN:
    case SL_AS_LEFT:
    case SL_AS_SPAN:
    case SL_AS_PERMILLE:
    case SL_AS_SHARE:
    case SL_AS_JOULES:
        known = number >= 0;
        break;
    case SL_AS_POSITIVE:
        known = number > 0;
        break;
    default:
        break;
    }
    return (struct value){.known = known, .number = number};
}

static struct value value_of(const struct sl_field *field, const void *record, char *out)
{
    struct value value = {.known = true, .object = record};
    switch (field->form) {
    case SL_AS_TEXT:
        value.text = text_of(field, record, out);
        value.known = value.text != NULL;
        return value;
    case SL_AS_OBJECT:
    case SL_AS_MEMBERS:
        if (field->c == SL_C_POINTER) {
            value.object = pointer_at(place_of(field, record));
        }
        value.known =
            value.object != NULL && (field->c != SL_C_BOOL || number_of(field, record) != 0);
        return value;
    case SL_AS_LIST:
        return value;
    case SL_AS_AMOUNT:
        value.object = place_of(field, record);
        return value;
    default:
        return number_value(field, record);
    }
}

/* ---- members ---- */

static void write_list(struct sl_writer *w, const struct sl_field *field, unsigned seen,
                       const void *record) // NOLINT(misc-no-recursion): as deep as the tables
{
    _Alignas(max_align_t) char child[SL_FIELD_CHILD_MAX];
    unsigned at = 0;
    sl_write_array(w);
    while (w->buf->failed == SL_BUF_OK && field->next(record, &at, child)) {
        sl_fields_item(w, field->sub, seen, child);
    }
    sl_write_array_end(w);
}

static void write_amount(struct sl_writer *w, const struct sl_order_amount *amount)
{
    sl_write_double(w, (double)amount->whole + (double)amount->millionths / SL_ORDER_ONE);
}

static void write_number(struct sl_writer *w, enum sl_field_form form, int64_t number)
{
    switch (form) {
    case SL_AS_SECONDS:
    case SL_AS_AGE:
    case SL_AS_SPAN:
        sl_write_i64(w, number / SL_SECOND_US);
        break;
    case SL_AS_LEFT:
        sl_write_i64(w, number == 0 ? 0 : (number - 1) / SL_SECOND_US + 1);
        break;
    case SL_AS_TIME:
        sl_api_time(w, number);
        break;
    case SL_AS_SECOND:
        sl_api_time(w, number / SL_SECOND_US * SL_SECOND_US);
        break;
    case SL_AS_FLAG:
        sl_write_bool(w, number != 0);
        break;
    default:
        sl_write_i64(w, number);
        break;
    }
}

void sl_fields_item(struct sl_writer *w, const struct sl_field *fields, unsigned seen,
                    const void *record) // NOLINT(misc-no-recursion)
{
    sl_write_object(w);
    sl_fields_write(w, fields, seen, record);
    sl_write_object_end(w);
}

static void write_value(struct sl_writer *w, const struct sl_field *field, unsigned seen,
                        const struct value *value) // NOLINT(misc-no-recursion)
{
    switch (field->form) {
    case SL_AS_TEXT:
        sl_write_text(w, value->text);
        break;
    case SL_AS_OBJECT:
        sl_fields_item(w, field->sub, seen, value->object);
        break;
    case SL_AS_LIST:
        write_list(w, field, seen, value->object);
        break;
    case SL_AS_AMOUNT:
        write_amount(w, value->object);
        break;
    default:
        write_number(w, field->form, value->number);
        break;
    }
}

void sl_fields_write(struct sl_writer *w, const struct sl_field *fields, unsigned seen,
                     const void *record) // NOLINT(misc-no-recursion)
{
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        char text[SL_FIELD_TEXT_MAX];
        if ((field->seen & seen) == 0) {
            continue;
        }
        struct value value = value_of(field, record, text);
        /* to operators an array that is empty is no text */
        value.known = value.known &&
                      (field->c != SL_C_CHARS || seen == SL_SEEN_BY_USERS || value.text[0] != '\0');
        if (field->form == SL_AS_MEMBERS) {
            if (value.known) {
                sl_fields_write(w, field->sub, seen, value.object);
            }
        } else if (value.known) {
            sl_write_key(w, field->name);
            write_value(w, field, seen, &value);
        } else if (!field->absent) {
            sl_write_key(w, field->name);
            sl_write_null(w);
        }
    }
}

/* ---- cells ---- */

enum { SHORT_TEXT = 32 };

/* "45s", "12m", "3h20m", "5d" */
static void age_text(int64_t us, char *out)
{
    long long s = us <= 0 ? 0 : us / SL_SECOND_US;
    if (s < 2 * SL_MINUTE_S) {
        (void)snprintf(out, SHORT_TEXT, "%llds", s);
    } else if (s < 3 * SL_HOUR_S) {
        (void)snprintf(out, SHORT_TEXT, "%lldm", s / SL_MINUTE_S);
    } else if (s < 2 * SL_DAY_S) {
        (void)snprintf(out, SHORT_TEXT, "%lldh%lldm", s / SL_HOUR_S, s % SL_HOUR_S / SL_MINUTE_S);
    } else {
        (void)snprintf(out, SHORT_TEXT, "%lldd", s / SL_DAY_S);
    }
}

/* "45s", "12m", "5h"; nothing below a second */
static void span_text(int64_t us, char *out)
{
    long long s = us / SL_SECOND_US;
    bool minutes = s >= 120;
    bool hours = s >= 7200;
    if (s > 0) {
        (void)snprintf(out, SHORT_TEXT, "%lld%s",
                       hours     ? s / 3600
                       : minutes ? s / 60
                                 : s,
                       hours     ? "h"
                       : minutes ? "m"
                                 : "s");
    }
}

static bool is_plain(enum sl_field_form form)
{
    return form == SL_AS_NUMBER || form == SL_AS_KNOWN || form == SL_AS_POSITIVE ||
           form == SL_AS_JOULES;
}

/* Writes what is no plain number. */
static void number_text(enum sl_field_form form, int64_t number, char *out)
{
    switch (form) {
    case SL_AS_AGE:
        age_text(number, out);
        break;
    case SL_AS_SPAN:
        span_text(number, out);
        break;
    case SL_AS_PERMILLE:
        (void)snprintf(out, SHORT_TEXT, "%lld%%", (long long)(number + 5) / 10);
        break;
    case SL_AS_SHARE:
        (void)snprintf(out, SHORT_TEXT, "%lld.%02lld", (long long)number / 1000,
                       (long long)number % 1000 / 10);
        break;
    case SL_AS_FLAG:
        (void)snprintf(out, SHORT_TEXT, "%s", number != 0 ? "yes" : "no");
        break;
    default: /* SECONDS and LEFT */
        (void)sl_queue_duration_text(number, out, SHORT_TEXT);
        break;
    }
}

/* The value as a cell shows it: a plain number, or a text, which is empty where there is none. */
static struct value cell_of(const struct sl_field *field, const void *record, char *out)
{
    out[0] = '\0';
    struct value value = value_of(field, record, out);
    if (!value.known) {
        value.text = "";
    } else if (field->form != SL_AS_TEXT && !is_plain(field->form)) {
        number_text(field->form, value.number, out);
        value.text = out;
    }
    return value;
}

const char *sl_field_cell_type(const struct sl_field *field)
{
    return is_plain(field->form) ? "integer" : "string";
}

static void shown_cell(struct sl_writer *w, const struct sl_field *field, const void *record)
{
    char text[SL_FIELD_TEXT_MAX];
    char shown[SL_FIELD_TEXT_MAX];
    struct value value = cell_of(field, record, text);
    if (!is_plain(field->form)) {
        (void)sl_show(sl_str_of(value.text), shown, sizeof(shown));
        sl_write_text(w, shown);
    } else if (value.known) {
        sl_write_i64(w, value.number);
    } else {
        sl_write_null(w);
    }
}

unsigned sl_fields_columns(const struct sl_field *fields,
                           const struct sl_field *out[SL_GRID_COLUMNS_MAX])
{
    unsigned n = 0;
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        if (field->shown.place > 0) {
            out[field->shown.place - 1] = field;
            n++;
        }
    }
    return n;
}

void sl_fields_shown(struct sl_writer *w, const struct sl_field *fields, const void *record)
{
    const struct sl_field *column[SL_GRID_COLUMNS_MAX];
    unsigned n = sl_fields_columns(fields, column);
    for (unsigned i = 0; i < n; i++) {
        shown_cell(w, column[i], record);
    }
}

/* The field in that place of a table of text; NULL: none is. */
static const struct sl_field *column_at(const struct sl_field *fields, unsigned place)
{
    const struct sl_field *field = fields;
    while (field != NULL && field->form != SL_AS_END && field->column.place != place) {
        field++;
    }
    return field == NULL || field->form == SL_AS_END ? NULL : field;
}

void sl_fields_grid(struct sl_grid *grid, const struct sl_field *fields,
                    const struct sl_field *further, size_t max_bytes)
{
    const char *head[SL_GRID_COLUMNS_MAX];
    unsigned n = 0;
    for (; n < SL_GRID_COLUMNS_MAX; n++) {
        const struct sl_field *own = column_at(fields, n + 1);
        const struct sl_field *field = own != NULL ? own : column_at(further, n + 1);
        if (field == NULL) {
            break;
        }
        head[n] = field->column.head;
    }
    sl_grid_init(grid, n, head, max_bytes);
}

static void grid_cell(struct sl_grid *grid, const struct sl_field *field, const void *record)
{
    char text[SL_FIELD_TEXT_MAX];
    struct value value = {.text = ""};
    if (record != NULL) {
        value = cell_of(field, record, text);
    }
    if (value.text != NULL) {
        sl_grid_text(grid, value.text);
    } else {
        sl_grid_i64(grid, field->form == SL_AS_JOULES ? value.number / 1000 : value.number);
    }
}

void sl_fields_cells(struct sl_grid *grid, const struct sl_field *fields, const void *record,
                     const struct sl_field *further, const void *further_record)
{
    for (unsigned place = 1; place <= grid->columns; place++) {
        const struct sl_field *own = column_at(fields, place);
        if (own != NULL) {
            grid_cell(grid, own, record);
        } else {
            grid_cell(grid, column_at(further, place), further_record);
        }
    }
}

void sl_fields_rows(struct sl_grid *grid, const struct sl_field *fields,
                    const struct sl_field *list, const void *record)
{
    _Alignas(max_align_t) char child[SL_FIELD_CHILD_MAX];
    unsigned at = 0;
    bool more = list->next(record, &at, child);
    if (!more && fields != NULL) {
        sl_fields_cells(grid, fields, record, list->sub, NULL);
    }
    for (; more; more = list->next(record, &at, child)) {
        sl_fields_cells(grid, fields, record, list->sub, child);
    }
}

const char *sl_fields_text(const struct sl_field *fields, struct sl_str name, const void *record,
                           char out[SL_FIELD_TEXT_MAX])
{
    for (const struct sl_field *field = fields; field->form != SL_AS_END; field++) {
        if ((field->seen & SL_SEEN_BY_USERS) != 0 && field->form == SL_AS_TEXT &&
            sl_str_eq(name, sl_str_of(field->name))) {
            return text_of(field, record, out);
        }
    }
    return NULL;
}
