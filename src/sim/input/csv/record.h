/* Records of CSV files: a table says which column goes into which member, and how it is read. */
#ifndef SLICED_SIM_RECORD_H
#define SLICED_SIM_RECORD_H

#include "sim/input/csv/csv.h"

enum sl_field_kind {
    SL_FIELD_TEXT,     /* a struct sl_str, valid until the csv is closed */
    SL_FIELD_INTEGER,  /* an int64_t in min..max */
    SL_FIELD_SECONDS,  /* an int64_t in microseconds, as of sl_csv_time(); so are the others */
    SL_FIELD_MS,       /* written in milliseconds */
    SL_FIELD_DURATION, /* seconds, or with units as in 1h30m */
    SL_FIELD_MOMENT,   /* seconds, or "2026-11-21 12:38:09", or RFC 3339 (UTC if it has no zone) */
    SL_FIELD_THOUSANDTHS, /* of a number such as 0.5; max is of thousandths, too */
};

enum sl_field_need {
    SL_FIELD_VALUE,    /* the column is needed, and a value in each record */
    SL_FIELD_COLUMN,   /* the column is needed; an empty field leaves the member as it is */
    SL_FIELD_OPTIONAL, /* so does a column that is not there */
};

/* A file may have a column for one of two fields with the same member. */
struct sl_field {
    const char *column;
    enum sl_field_kind kind;
    enum sl_field_need need;
    size_t at; /* of the member in the record */
    int64_t min, max;
};

enum { SL_FIELDS_MAX = 16 };

/* How records are taken. */
struct sl_records {
    const struct sl_field *field;
    size_t n; /* SL_FIELDS_MAX at most */
    /* Judges and keeps one record; a wrong field is told with sl_record_wrong(). */
    int (*take)(void *context, void *record, const struct sl_csv *csv, struct sl_error *err);
    void *record; /* the caller's; what it holds at first is what each begins with */
    size_t size;
    void *context;
};

#define SL_RECORDS(fields, taker, into, with)                                                      \
    {                                                                                              \
        .field = (fields), .n = sizeof(fields) / sizeof((fields)[0]), .take = (taker),             \
        .record = &(into), .size = sizeof(into), .context = (with)                                 \
    }

/* Reads all records that are left. -1 with *err set, at the line of the record. */
int sl_records_take(const struct sl_records *records, struct sl_csv *csv, struct sl_error *err);
/* Opens the file, takes its records, closes it. Errors begin with "file:line:column: field: ". */
int sl_records_read(const struct sl_records *records, const char *path, struct sl_error *err);

/* Is there a field for the column of that name? */
bool sl_records_know(const struct sl_records *records, struct sl_str column);

/* Sets *err to an error at the field of that column. Returns -1. */
int sl_record_wrong(const struct sl_csv *csv, const char *column, const char *expected,
                    struct sl_error *err);

#endif
