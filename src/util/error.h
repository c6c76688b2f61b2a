/* The error contract of the whole project: on failure a function returns a negative number (or
 * NULL) and has set *err; on success *err is untouched. Never allocates. */
#ifndef SLICED_UTIL_ERROR_H
#define SLICED_UTIL_ERROR_H

#include <stddef.h>

enum sl_error_code {
    SL_ERR_NONE = 0,
    SL_ERR_NOMEM,    /* an allocation failed: the request fails, the daemon goes on */
    SL_ERR_SYNTAX,   /* not JSON, not YAML, not a quantity */
    SL_ERR_TYPE,     /* well-formed, but not the type the field takes */
    SL_ERR_FIELD,    /* a field is missing, unknown, given twice, or its value is not allowed */
    SL_ERR_LIMIT,    /* a configured ceiling: size, depth, count */
    SL_ERR_NOTFOUND, /* the named thing is not there */
    SL_ERR_CONFLICT, /* the state of the thing does not allow it */
    SL_ERR_SYSTEM,   /* the operating system refused; the text has strerror() */
    SL_ERR_INTERNAL, /* a defect of ours */
};

/* A failure with its place. field is a path such as "Pod.spec.containers[0].resources" and may be
 * empty; line and column count from 1 and are 0 where there is no text to point at. */
struct sl_error {
    enum sl_error_code code;
    unsigned line;
    unsigned column;
    char field[192];
    char message[384];
};

/* Both return -1, so that "return sl_error_set(err, ...)" reads well. Text that does not fit is
 * cut. err may be NULL. sl_error_set clears field, line and column. */
int sl_error_set(struct sl_error *err, enum sl_error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets SL_ERR_NOMEM with a fixed text; returns -1. */
int sl_error_nomem(struct sl_error *err);

/* Puts "context: " before the message; returns -1. */
int sl_error_wrap(struct sl_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "NAME:LINE:COLUMN: FIELD: " before the message, as far as known; "-" is called <stdin>.
 * Returns -1. */
int sl_error_locate(struct sl_error *err, const char *name);

/* A word for the code as it appears in JSON errors and metrics: "NoMemory", "Syntax", ... */
const char *sl_error_code_name(enum sl_error_code code);

#endif
