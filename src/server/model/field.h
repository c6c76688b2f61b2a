/* What replies show of a row, said once: a table of fields for each kind of row. The members of
 * JSON, the columns of tables and the descriptions for kubectl explain are written from it. */
#ifndef SLICED_SERVER_FIELD_H
#define SLICED_SERVER_FIELD_H

#include <stddef.h>

#include "codec/write.h"
#include "util/term/grid.h"

/* Who sees a member. Operators read the debug API, which shows all namespaces; users read
 * visibility.sliced.dev, which shows nothing of other namespaces' pods. */
enum {
    SL_SEEN_IN_LISTS = 1 << 0, /* by operators who list */
    SL_SEEN_ALONE = 1 << 1,    /* by operators who ask for one thing */
    SL_SEEN_BY_USERS = 1 << 2,
    SL_SEEN_BY_OPERATORS = SL_SEEN_IN_LISTS | SL_SEEN_ALONE,
    SL_SEEN_BY_ALL = SL_SEEN_BY_OPERATORS | SL_SEEN_BY_USERS,
};

/* How a member is written, and its cell where that differs. */
enum sl_field_form {
    SL_AS_END,      /* the last row of a table says so, and nothing else */
    SL_AS_TEXT,     /* NULL is null */
    SL_AS_NUMBER,   /* any */
    SL_AS_KNOWN,    /* below 0: not known, null */
    SL_AS_POSITIVE, /* 0: not known either */
    SL_AS_SECONDS,  /* of microseconds, cut off; the cell: "4m10s" */
    SL_AS_LEFT,     /* likewise, rounded up; below 0: not known */
    SL_AS_AGE,      /* as SECONDS; the cell as kubectl prints ages: "45s", "3h20m" */
    SL_AS_SPAN,     /* of microseconds, below 0: not known; the cell: "45s", "12m", "5h" */
    SL_AS_PERMILLE, /* below 0: not known; the cell: "37%" */
    SL_AS_SHARE,    /* in thousandths, below 0: not known; the cell: "1.25" */
    SL_AS_JOULES,   /* below 0: not known; operators' cell has kilojoules */
    SL_AS_AMOUNT,   /* a struct sl_order_amount */
    SL_AS_TIME,     /* microseconds since 1970; 0: null */
    SL_AS_SECOND,   /* the same, in whole seconds */
    SL_AS_FLAG,     /* the cell: "yes", "no" */
    SL_AS_OBJECT,   /* of the fields sub. The value says whether there is one, and a pointer which
                     */
    SL_AS_MEMBERS,  /* the same without an object of its own: the fields stand in its place */
    SL_AS_LIST,     /* of objects of the fields sub */
};

/* The type of the value as it stands in C. */
enum sl_field_c {
    SL_C_NONE,
    SL_C_CHARS, /* an array of them */
    SL_C_STRING,
    SL_C_BOOL,
    SL_C_I16,
    SL_C_U16,
    SL_C_I32,
    SL_C_U32,
    SL_C_I64,
    SL_C_U64,
    SL_C_POINTER,
};

enum { SL_FIELD_TEXT_MAX = 1024, SL_FIELD_CHILD_MAX = 1024 };

struct sl_column {
    unsigned place; /* from 1, in its table; 0: there is no such column */
    const char *head;
    bool wide; /* with -o wide alone */
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members in the order of a row
struct sl_field {
    const char *name; /* of the member; NULL: it is a column alone */
    unsigned seen;    /* who sees the member */
    enum sl_field_form form;
    const char *help; /* a sentence or more; of what users see alone */
    /* The value: a member of the row's record, or of what a pointer of the record leads to (which
     * may be NULL: then there is no value). */
    enum sl_field_c c;
    uint16_t at;
    uint16_t via;
    bool behind; /* via counts */
    bool absent; /* where there is no value, there is no member */
    /* TEXT: makes the text, in out or elsewhere, instead. */
    const char *(*text)(const void *record, char out[SL_FIELD_TEXT_MAX]);
    const struct sl_field *sub;
    /* LIST: fills in the record of the next object, and steps on *at, which begins as 0. false:
     * there are no more. */
    bool (*next)(const void *record, unsigned *at, void *child);
    struct sl_column column; /* of the debug API's tables of text */
    struct sl_column shown;  /* of users' tables */
};

#define SL_C_OF(value)                                                                             \
    _Generic((value), char *: SL_C_CHARS, const char *: SL_C_STRING, bool: SL_C_BOOL,              \
             int16_t: SL_C_I16, uint16_t: SL_C_U16, int32_t: SL_C_I32, uint32_t: SL_C_U32,         \
             int64_t: SL_C_I64, uint64_t: SL_C_U64, default: SL_C_POINTER)
/* The value is that member of the record; */
#define SL_AT(type, member) .c = SL_C_OF(((type *)NULL)->member), .at = offsetof(type, member)
/* of what the record's pointer leads to. */
#define SL_BEHIND(type, pointer, target, member)                                                   \
    SL_AT(target, member), .via = offsetof(type, pointer), .behind = true
#define SL_FIELDS_END                                                                              \
    {                                                                                              \
        .form = SL_AS_END                                                                          \
    }

/* Writes the members of an open object. record: of the type that the table is about; a child that
 * a list fills in has SL_FIELD_CHILD_MAX bytes at most. seen: one of the bits. */
void sl_fields_write(struct sl_writer *w, const struct sl_field *fields, unsigned seen,
                     const void *record);

/* The same as an object of its own. */
void sl_fields_item(struct sl_writer *w, const struct sl_field *fields, unsigned seen,
                    const void *record);

/* Writes the cells of a row of users' table, behind its name. */
void sl_fields_shown(struct sl_writer *w, const struct sl_field *fields, const void *record);

/* The columns of users' tables: fills out by place; returns how many there are. */
unsigned sl_fields_columns(const struct sl_field *fields,
                           const struct sl_field *out[SL_GRID_COLUMNS_MAX]);
/* "integer" or "string" */
const char *sl_field_cell_type(const struct sl_field *field);

/* A table of text whose columns are those of the fields, and of further ones (or NULL): begin it,
 * and write and free the grid. */
void sl_fields_grid(struct sl_grid *grid, const struct sl_field *fields,
                    const struct sl_field *further, size_t max_bytes);
/* Fills a row; a record that is NULL leaves its cells empty. */
void sl_fields_cells(struct sl_grid *grid, const struct sl_field *fields, const void *record,
                     const struct sl_field *further, const void *further_record);

/* Fills a row for each object of a list, or one without; fields are the record's. */
void sl_fields_rows(struct sl_grid *grid, const struct sl_field *fields,
                    const struct sl_field *list, const void *record);

/* The text of the field that users see by that name, NULL when there is none: for field selectors.
 * out may hold it. */
const char *sl_fields_text(const struct sl_field *fields, struct sl_str name, const void *record,
                           char out[SL_FIELD_TEXT_MAX]);

/* Writes a time as RFC 3339 text, null when it is 0. */
void sl_api_time(struct sl_writer *w, int64_t us);

#endif
