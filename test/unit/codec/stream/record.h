/* For the codec's tests: writes events down as lines, so that streams can be compared as text. */
#ifndef SLICED_TEST_RECORD_H
#define SLICED_TEST_RECORD_H

#include "codec/stream/event.h"
#include "util/buf.h"

#include <stdio.h>

/* Keys choose what is skipped: after a key that begins with "skip" its value is; after one that
 * begins with "pass" the object or array is, once it has been reported. */
struct record {
    struct sl_buf lines;
    bool places; /* write line and column down too */
    bool runs;   /* take SL_EVENT_STRINGS, written down as the strings one by one */
    bool pass;
    size_t fail_after; /* events; 0: never */
    size_t events;
};

static inline void record_init(struct record *record, bool places)
{
    *record = (struct record){.places = places};
    sl_buf_init(&record->lines, (size_t)1 << 26);
}

static inline void record_free(struct record *record)
{
    sl_buf_free(&record->lines);
}

static inline void record_string(struct record *record, struct sl_str text, unsigned line,
                                 unsigned column)
{
    if (record->places) {
        sl_buf_printf(&record->lines, "%u:%u ", line, column);
    }
    sl_buf_puts(&record->lines, "string ");
    sl_buf_append(&record->lines, text.s, text.len);
    sl_buf_putc(&record->lines, '\n');
}

static inline int record_event(void *context, const struct sl_event *event, struct sl_error *err)
{
    static const char *const names[] = {"{",      "}",      "[",    "]",    "key",
                                        "string", "number", "bool", "null", "end"};
    struct record *record = context;
    struct sl_buf *lines = &record->lines;
    record->events++;
    if (record->events == record->fail_after) {
        return sl_error_set(err, SL_ERR_FIELD, "refused by the receiver");
    }
    for (size_t i = 0; event->type == SL_EVENT_STRINGS && i < event->run.n; i++) {
        size_t behind_first = (size_t)(event->run.item[i].s - event->run.item[0].s);
        record_string(record, event->run.item[i], event->line,
                      event->column + (unsigned)behind_first);
    }
    if (event->type == SL_EVENT_STRINGS) {
        return SL_EVENT_GO;
    }
    if (record->places) {
        sl_buf_printf(lines, "%u:%u ", event->line, event->column);
    }
    sl_buf_puts(lines, names[event->type]);
    if (event->type == SL_EVENT_BOOL) {
        sl_buf_puts(lines, event->boolean ? " true" : " false");
    }
    if (event->type == SL_EVENT_KEY || event->type == SL_EVENT_STRING ||
        event->type == SL_EVENT_NUMBER) {
        sl_buf_putc(lines, ' ');
        sl_buf_append(lines, event->text.s, event->text.len);
    }
    sl_buf_putc(lines, '\n');
    bool pass = record->pass;
    record->pass = event->type == SL_EVENT_KEY && sl_str_starts(event->text, SL_STR("pass"));
    if (event->type == SL_EVENT_KEY && sl_str_starts(event->text, SL_STR("skip"))) {
        return SL_EVENT_SKIP;
    }
    return pass           ? SL_EVENT_SKIP /* ignored after a scalar, as runs are */
           : record->runs ? SL_EVENT_RUNS
                          : SL_EVENT_GO;
}

/* The lines so far, NUL-terminated. */
static inline const char *record_text(struct record *record)
{
    sl_buf_putc(&record->lines, '\0');
    record->lines.len--;
    return record->lines.data;
}

#endif
