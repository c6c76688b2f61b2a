/* Where a walk is, and failures that say so. */
#include "codec/stream/walker.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/show.h"

static void path_append(char *out, size_t size, size_t *len, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void path_append(char *out, size_t size, size_t *len, const char *format, ...)
{
    if (*len + 1 >= size) {
        return;
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + *len, size - *len, format, args);
    va_end(args);
    if (n > 0) {
        *len += (size_t)n;
        if (*len >= size) {
            *len = size - 1;
        }
    }
}

void sl_walk_path(const struct sl_walker *walker, char *out, size_t size)
{
    size_t len = 0;
    if (size == 0) {
        return;
    }
    out[0] = '\0';
    for (unsigned i = 0; i < walker->depth; i++) {
        const struct sl_walk_frame *frame = &walker->frame[i];
        if (frame->field != NULL && frame->field->name_len > 0) {
            path_append(out, size, &len, "%s%s", len > 0 ? "." : "", frame->field->name);
        }
        if (frame->keyed) {
            path_append(out, size, &len, "[%s]", frame->key);
        } else if (frame->field != NULL && (frame->field->kind == SL_FIELD_OBJECTS ||
                                            frame->field->kind == SL_FIELD_TEXTS)) {
            path_append(out, size, &len, "[%zu]", frame->count);
        }
    }
    if (walker->depth > 0) {
        const struct sl_field *pending = walker->frame[walker->depth - 1].pending;
        if (pending != NULL) {
            path_append(out, size, &len, "%s%s", len > 0 ? "." : "", pending->name);
        }
    }
}

void sl_walk_place(const struct sl_walker *walker, const struct sl_event *event,
                   struct sl_error *err)
{
    if (err == NULL) {
        return;
    }
    if (err->field[0] == '\0') {
        char path[sizeof(err->field)];
        sl_walk_path(walker, path, sizeof(path));
        (void)sl_show(sl_str_of(path), err->field, sizeof(err->field)); /* it names users' keys */
    }
    if (err->line == 0 && event != NULL) {
        err->line = event->line;
        err->column = event->column;
    }
}

static bool is_vital(const struct sl_walker *walker)
{
    bool vital = false;
    for (unsigned i = 0; i < walker->depth && !vital; i++) {
        const struct sl_field *field = walker->frame[i].field;
        vital = field != NULL && field->vital == SL_VITAL_DEEP;
    }
    const struct sl_field *pending =
        walker->depth == 0 ? NULL : walker->frame[walker->depth - 1].pending;
    return vital || (pending != NULL && pending->vital != SL_VITAL_NOT);
}

int sl_walk_fail(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err,
                 enum sl_error_code code, const char *format, ...)
{
    bool defer =
        walker->defer && (code == SL_ERR_TYPE || code == SL_ERR_FIELD || code == SL_ERR_LIMIT);
    struct sl_error *into = defer ? &walker->deferred : err;
    walker->vital = walker->vital ||
                    (defer && (code != SL_ERR_LIMIT || walker->arena->full) && is_vital(walker));
    if ((!defer || into->code == SL_ERR_NONE) && into != NULL) {
        char text[sizeof(into->message)];
        va_list args;
        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        (void)sl_error_set(into, code, "%s", text);
        sl_walk_place(walker, event, into);
    }
    return defer ? SL_EVENT_SKIP : SL_EVENT_FAIL;
}

int sl_walk_missing(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err,
                    const char *path)
{
    bool kept = walker->deferred.code != SL_ERR_NONE;
    int result = sl_walk_fail(walker, event, err, SL_ERR_FIELD, "is missing");
    struct sl_error *into = walker->defer ? &walker->deferred : err;
    if (into != NULL && !(walker->defer && kept)) {
        size_t len = strlen(into->field);
        path_append(into->field, sizeof(into->field), &len, "%s%s", len > 0 ? "." : "", path);
    }
    return result;
}

int sl_walk_nomem(struct sl_walker *walker, const struct sl_event *event, struct sl_error *err)
{
    if (walker->arena->full) {
        return sl_walk_fail(walker, event, err, SL_ERR_LIMIT,
                            "more than %zu bytes of it would have to be kept", walker->arena->max);
    }
    return sl_error_nomem(err);
}
