/* Event objects as JSON (events.k8s.io/v1), made as client-go's tools/events makes them. */
#include "kube/event_write.h"

#include <stdio.h>

#include "codec/write.h"
#include "kube/microtime.h"
#include "util/show.h"

static void member(struct sl_writer *w, const char *key, const char *value)
{
    sl_write_key(w, key);
    sl_write_text(w, value);
}

static void time_member(struct sl_writer *w, const char *key, int64_t us)
{
    char text[40];
    sl_kube_microtime(us, text);
    member(w, key, text);
}

static void series(struct sl_writer *w, const struct sl_event_text *event)
{
    sl_write_key(w, "series");
    sl_write_object(w);
    sl_write_key(w, "count");
    sl_write_i64(w, event->count < INT32_MAX ? (int64_t)event->count : INT32_MAX);
    time_member(w, "lastObservedTime", event->last_us);
    sl_write_object_end(w);
}

void sl_event_write(const struct sl_event_text *event, struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    member(&w, "apiVersion", "events.k8s.io/v1");
    member(&w, "kind", "Event");
    sl_write_key(&w, "metadata");
    sl_write_object(&w);
    member(&w, "name", event->name);
    member(&w, "namespace", event->namespace);
    sl_write_object_end(&w);
    time_member(&w, "eventTime", event->at_us);
    member(&w, "reportingController", event->controller);
    member(&w, "reportingInstance", event->instance);
    member(&w, "action", event->action);
    member(&w, "reason", event->reason);
    sl_write_key(&w, "regarding");
    sl_write_object(&w);
    member(&w, "apiVersion", "v1");
    member(&w, "kind", "Pod");
    member(&w, "namespace", event->namespace);
    member(&w, "name", event->pod);
    member(&w, "uid", event->uid);
    sl_write_object_end(&w);
    member(&w, "note", event->note);
    member(&w, "type", event->warning ? "Warning" : "Normal");
    if (event->count >= 2) {
        series(&w, event);
    }
    sl_write_object_end(&w);
}

void sl_event_write_series(const struct sl_event_text *event, struct sl_buf *out)
{
    struct sl_writer w = {.buf = out};
    sl_write_object(&w);
    series(&w, event);
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

void sl_event_name(struct sl_str pod, uint64_t number, char out[SL_EVENT_NAME_MAX + 1])
{
    enum { NUMBER_MAX = 17 }; /* with its dot */
    size_t len =
        pod.len < SL_EVENT_NAME_MAX - NUMBER_MAX ? pod.len : SL_EVENT_NAME_MAX - NUMBER_MAX;
    while (len > 0 && (pod.s[len - 1] == '.' || pod.s[len - 1] == '-')) {
        len--; /* a part of a name ends in a letter or a digit */
    }
    (void)snprintf(out, SL_EVENT_NAME_MAX + 1, "%.*s.%llx", (int)len, pod.s,
                   (unsigned long long)number);
}
