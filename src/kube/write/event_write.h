/* The JSON of an Event and of the patch of its series. Private to events.c. */
#ifndef SLICED_KUBE_EVENT_WRITE_H
#define SLICED_KUBE_EVENT_WRITE_H

#include "util/buf.h"

enum { SL_EVENT_NOTE_MAX = 1024, SL_EVENT_WORD_MAX = 128, SL_EVENT_NAME_MAX = 253 };

struct sl_event_text {
    const char *name; /* of the Event */
    const char *namespace;
    const char *kind; /* of the object that it is about: "Pod", "Node" */
    const char *object;
    const char *uid;
    const char *reason;
    const char *action;
    const char *note;
    const char *controller;
    const char *instance;
    bool warning;
    uint64_t count;  /* how often it was seen: a series from 2 on */
    int64_t at_us;   /* first seen, Unix */
    int64_t last_us; /* last seen, Unix */
};

void sl_event_write(const struct sl_event_text *event, struct sl_buf *out);
void sl_event_write_series(const struct sl_event_text *event, struct sl_buf *out);

/* Copies at most max bytes of text. A longer one is cut between UTF-8 characters and ends in "...".
 */
size_t sl_event_cut(const char *text, size_t max, char *out);

/* Makes "<object>.<hex>": unique by the number, and never longer than an object's name may be. */
void sl_event_name(struct sl_str object, uint64_t number, char out[SL_EVENT_NAME_MAX + 1]);

#endif
