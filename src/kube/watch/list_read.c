/* One call, decoded as it streams in. */
#include "kube/watch/list_read.h"

#include <stdlib.h>

#include "kube/client/object_call.h"

struct reading {
    struct sl_list_read options;
    struct sl_watch *decoder;
};

static void free_reading(struct reading *reading)
{
    sl_watch_free(reading->decoder);
    free(reading);
}

static int on_item(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    const struct reading *reading = context;
    (void)err;
    if (item->object != NULL) {
        reading->options.object(reading->options.context, item->object);
    }
    return 0;
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct reading *reading = context;
    return sl_watch_feed(reading->decoder, data, len, err);
}

static void on_done(void *context, const struct sl_reply *reply)
{
    struct reading *reading = context;
    struct sl_error err = reply->err;
    bool ok = reply->status == 200 && sl_watch_finish(reading->decoder, NULL, &err) == 0;
    reading->options.done(reading->options.context, ok, &err);
    free_reading(reading);
}

int sl_list_read(const struct sl_list_read *options, struct sl_error *err)
{
    struct reading *reading = calloc(1, sizeof(*reading));
    if (reading == NULL) {
        return sl_error_nomem(err);
    }
    reading->options = *options;
    reading->decoder =
        sl_watch_new(SL_WATCH_LIST, options->kind, &sl_kube_text_limits, on_item, reading);
    if (reading->decoder == NULL) {
        free_reading(reading);
        return sl_error_nomem(err);
    }
    struct sl_call_options call = {
        .method = "GET",
        .path = options->path,
        .priority = SL_CALL_STREAM,
        .max_tries = 1,
        .within_us = options->timeout_us,
        .data = on_data,
        .done = on_done,
        .context = reading,
    };
    if (sl_client_call(options->client, &call, NULL, err) < 0) {
        free_reading(reading);
        return -1;
    }
    return 0;
}
