/* One stream of events for JSON and YAML; every decoder is written once, on it. */
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
    const char *fault; /* KEY, STRING, NUMBER of forgiving limits: why its text cannot be had (it is
                        * empty then); else NULL */
    unsigned line;     /* from 1 */
    unsigned column;   /* from 1, in bytes */
};

enum {
    SL_EVENT_FAIL = -1, /* stop: the receiver has set the error; the event's place is put into it
                         * when it has none */
    SL_EVENT_GO = 0,
    SL_EVENT_SKIP = 1, /* after KEY, OBJECT or ARRAY: check what follows but do not report it; the
                        * END of a skipped OBJECT or ARRAY is not reported either */
    SL_EVENT_RUNS = 2, /* after ARRAY: go on, and strings of it may come several in one STRINGS
                        * event: such as stand in the text one behind the other as ASCII without
                        * escapes, with nothing but `","` between two of them */
};

/* The receiver of events. Its answer counts as SL_EVENT_SKIP or SL_EVENT_RUNS only where that may
 * be given. */
typedef int (*sl_event_fn)(void *context, const struct sl_event *event, struct sl_error *err);

struct sl_text_limits {
    size_t max_bytes;   /* of the whole text */
    size_t max_string;  /* of one key, string or number that is reported */
    unsigned max_depth; /* of objects and arrays within each other; 0: a single scalar */
    /* JSON that carries what others wrote, from an encoder that can be trusted with its grammar
     * (the API server's, kube-scheduler's). No part of it ends the whole: a key, string or number
     * that is too long or no text is reported with its fault, and of what is skipped only the end
     * is looked for, however deep it is and whatever its strings hold. */
    bool forgiving;
};

#endif
