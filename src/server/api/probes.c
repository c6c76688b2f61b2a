/* Probes, version, metrics and the index. */
#include "codec/write.h"
#include "server/api/handlers.h"
#include "server/app/app.h"
#include "server/metrics/version.h"

#include <stdio.h>

static const char plain_text[] = "text/plain; charset=utf-8";

void sl_probe_live(struct sl_request *request)
{
    request->content_type = plain_text;
    sl_buf_puts(&request->reply, "ok\n");
}

static void probe_answer(struct sl_request *request, const char *missing)
{
    if (atomic_load(&request->http->draining)) {
        missing = "it is shutting down";
    }
    if (missing == NULL) {
        sl_probe_live(request);
        return;
    }
    (void)sl_error_set(&request->err, SL_ERR_SYSTEM, "not ready: %s", missing);
    (void)sl_request_fail(request, 503);
}

void sl_probe_ready(struct sl_request *request)
{
    probe_answer(request, sl_app_missing(request->app));
}

void sl_probe_synced(struct sl_request *request)
{
    probe_answer(request, sl_app_unsynced(request->app));
}

void sl_probe_version(struct sl_request *request)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "name", "sliced");
    sl_write_member_text(&w, "version", SL_VERSION);
    sl_write_member_text(&w, "compiler", SL_COMPILER);
    sl_write_member_text(&w, "libmicrohttpd", MHD_get_version());
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_probe_metrics(struct sl_request *request)
{
    struct sl_store_stats stats;
    sl_store_stats(request->app->store, &stats);
    request->content_type = "text/plain; version=0.0.4; charset=utf-8";
    sl_metrics_write(request->metrics, sl_app_snapshot(request), &stats, &request->reply);
    if (request->app->hooks.metrics != NULL) {
        request->app->hooks.metrics(request->app->hooks.context, &request->reply);
    }
    if (request->app->usage.metrics != NULL) {
        request->app->usage.metrics(request->app->usage.context, &request->reply);
    }
    if (request->app->queue.metrics != NULL) {
        request->app->queue.metrics(request->app->queue.context, &request->app->usage,
                                    &request->reply);
    }
}

void sl_probe_index(struct sl_request *request)
{
    const struct sl_route_scope scope = sl_request_scope(request);
    request->content_type = plain_text;
    sl_buf_printf(&request->reply, "sliced %s\n\n", SL_VERSION);
    sl_route_list(&request->http->service->routes, &scope, &request->reply);
}
