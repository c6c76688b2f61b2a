/* Command lines: each program, or command of one, has one table of options, which also makes its
 * help. "--name VALUE" and "--name=VALUE" are the same. */
#ifndef SLICED_UTIL_TERM_OPTION_H
#define SLICED_UTIL_TERM_OPTION_H

#include "util/buf.h"
#include "util/error.h"

enum sl_option_kind {
    SL_OPTION_FLAG,   /* a bool */
    SL_OPTION_TEXT,   /* a const char *; the last one given counts */
    SL_OPTION_ONCE,   /* the same; giving two is an error */
    SL_OPTION_NUMBER, /* a uint64_t */
    SL_OPTION_OTHER,  /* the caller takes the value itself */
};

struct sl_option {
    const char *name;  /* "--listen" */
    const char *value; /* what the help calls it; NULL: it takes none */
    const char *help;
    size_t at; /* of the member in the caller's struct */
    uint64_t min;
    uint64_t max; /* of a number, INT64_MAX at most */
    enum sl_option_kind kind;
    unsigned commands; /* bits: those that have it; 0: all */
    char letter;       /* 'o': -o is the same, and so are -oVALUE and -o=VALUE; letters of flags may
                    stand in one word before it, -Ao VALUE; 0: none */
};

struct sl_option_table {
    const struct sl_option *option;
    size_t n;
    const char *command; /* "sliced release" */
    unsigned which;      /* its bit */
};

/* Takes the option at argv[*at], which begins with '-', into the member of out, and its value as
 * given into *value; *at moves on when the value is the next argument. Returns NULL with *err set
 * for an unknown name (the error suggests the nearest) and for a value that is missing, needless or
 * wrong. */
const struct sl_option *sl_option_take(const struct sl_option_table *table, int argc,
                                       char *const *argv, int *at, void *out, const char **value,
                                       struct sl_error *err);

/* Writes a line for each option: its name and letter, and from that
 * column on what it does. */
void sl_option_help(const struct sl_option_table *table, int column, struct sl_buf *out);

#endif
