/* One stream of events for JSON and YAML, so that each decoder is written once. */
#ifndef SLICED_CODEC_EVENT_H
#define SLICED_CODEC_EVENT_H

#include "util/error.h"
#include "util/str.h"

enum sl_event_type {
    SL_EVENT_OBJECT, /* { */
    SL_EVENT_OBJECT_END,
    SL_EVENT_ARRAY, /* [ */
    SL_EVENT_ARRAY_END,
    SL_EVENT_KEY,
    SL_EVENT_STRING,
    SL_EVENT_NUMBER, /* text as it stands */
    SL_EVENT_BOOL,
    SL_EVENT_NULL,
    SL_EVENT_DOCUMENT_END, /* after each YAML document, and at the end of JSON text */
    SL_EVENT_STRINGS,      /* see SL_EVENT_RUNS */
};

struct sl_event {
    enum sl_event_type type;
    bool boolean;
    union {                 /* valid during the call */
        struct sl_str text; /* KEY, STRING (unescaped, valid UTF-8), NUMBER */
        struct {
            const struct sl_str *item;
            size_t n;
        } run; /* STRINGS */
    };
    /* With forgiving limits: why a KEY, STRING or NUMBER has no text (it is empty then); else NULL.
     */
    const char *fault;
    unsigned line;   /* from 1 */
    unsigned column; /* from 1, in bytes */
};

enum {
    /* Stop: the receiver has set the error. The event's place is put into it when it has none. */
    SL_EVENT_FAIL = -1,
    SL_EVENT_GO = 0,
    /* After KEY, OBJECT or ARRAY: check the value but do not report it, nor the END of a skipped
     * OBJECT or ARRAY. */
    SL_EVENT_SKIP = 1,
    /* After ARRAY: go on; strings of it may come together in one STRINGS event, where they stand in
     * the text one behind the other as ASCII without escapes, with nothing but `","` between two.
     */
    SL_EVENT_RUNS = 2,
};

/* The receiver of events. Its answer counts as SL_EVENT_SKIP or SL_EVENT_RUNS only where that may
 * be given. */
typedef int (*sl_event_fn)(void *context, const struct sl_event *event, struct sl_error *err);

struct sl_text_limits {
    size_t max_bytes;   /* of the whole text */
    size_t max_string;  /* of one key, string or number that is reported */
    unsigned max_depth; /* of objects and arrays within each other; 0: a single scalar */
    /* For JSON that carries texts of users, from an encoder whose grammar can be trusted (the
     * API server's, kube-scheduler's). No part of it ends the whole: a key, string or number
     * that is too long or no text is reported with its fault, and skipped values may have any
     * depth and any strings, since only their end is looked for. */
    bool forgiving;
};

#endif
