/* Writes Event objects (events.k8s.io/v1) as client-go's tools/events makes them. */
#include "kube/write/event_write.h"

#include <stdio.h>

#include "codec/write.h"
#include "kube/client/microtime.h"
#include "util/show.h"

static void write_time(struct sl_writer *w, const char *key, int64_t us)
{
    char text[40];
    sl_kube_microtime(us, text);
    sl_write_member_text(w, key, text);
}

static void write_series(struct sl_writer *w, const struct sl_event_text *event)
{
    sl_write_member_object(w, "series");
    sl_write_member_i64(w, "count", event->count < INT32_MAX ? (int64_t)event->count : INT32_MAX);
    write_time(w, "lastObservedTime", event->last_us);
    sl_write_object_end(w);
}

void sl_event_write(const struct sl_event_text *event, struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    sl_write_member_text(&w, "apiVersion", "events.k8s.io/v1");
    sl_write_member_text(&w, "kind", "Event");
    sl_write_member_object(&w, "metadata");
    sl_write_member_text(&w, "name", event->name);
    sl_write_member_text(&w, "namespace", event->namespace);
    sl_write_object_end(&w);
    write_time(&w, "eventTime", event->at_us);
    sl_write_member_text(&w, "reportingController", event->controller);
    sl_write_member_text(&w, "reportingInstance", event->instance);
    sl_write_member_text(&w, "action", event->action);
    sl_write_member_text(&w, "reason", event->reason);
    sl_write_member_object(&w, "regarding");
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "kind", event->kind);
    if (strcmp(event->kind, "Node") != 0) { /* which has no namespace, though its Event does */
        sl_write_member_text(&w, "namespace", event->namespace);
    }
    sl_write_member_text(&w, "name", event->object);
    sl_write_member_text(&w, "uid", event->uid);
    sl_write_object_end(&w);
    sl_write_member_text(&w, "note", event->note);
    sl_write_member_text(&w, "type", event->warning ? "Warning" : "Normal");
    if (event->count >= 2) {
        write_series(&w, event);
    }
    sl_write_object_end(&w);
}

void sl_event_write_series(const struct sl_event_text *event, struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    write_series(&w, event);
    sl_write_object_end(&w);
}

size_t sl_event_cut(const char *text, size_t max, char *out)
{
    char shown[SL_SHOWN_MAX];
    struct sl_str rest = sl_str_of(text);
    size_t len = 0;
    size_t fits = 0; /* with dots behind it */
    while (rest.len > 0) {
        size_t n = sl_show_next(&rest, shown);
        if (len + n > max) {
            memcpy(out + fits, "...", 4);
            return fits + 3;
        }
        memcpy(out + len, shown, n);
        len += n;
        fits = len <= max - 3 ? len : fits;
    }
    out[len] = '\0';
    return len;
}

void sl_event_name(struct sl_str object, uint64_t number, char out[SL_EVENT_NAME_MAX + 1])
{
    enum { NUMBER_MAX = 17 }; /* with its dot */
    size_t len =
        object.len < SL_EVENT_NAME_MAX - NUMBER_MAX ? object.len : SL_EVENT_NAME_MAX - NUMBER_MAX;
    while (len > 0 && (object.s[len - 1] == '.' || object.s[len - 1] == '-')) {
        len--; /* a part of a name ends in a letter or a digit */
    }
    (void)snprintf(out, SL_EVENT_NAME_MAX + 1, "%.*s.%llx", (int)len, object.s,
                   (unsigned long long)number);
}
