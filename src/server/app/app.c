/* Life of the application. */
#include "server/app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/http/listeners.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { DRAIN_POLL_NS = 2 * SL_MS_NS };

/* ---- configuration ---- */

void sl_app_note_reload(struct sl_app *app, bool ok, const char *text)
{
    (void)atomic_fetch_add(ok ? &app->metrics.reloads_ok : &app->metrics.reloads_failed, 1);
    sl_log(ok ? SL_LOG_INFO : SL_LOG_ERROR,
           ok ? "configuration reloaded" : "configuration kept: the new one is wrong", "result",
           text, (char *)NULL);
    /* last: who is told of it finds it counted and in the log */
    (void)pthread_mutex_lock(&app->lock);
    app->note.at_us = sl_clock_real_us();
    app->note.ok = ok;
    (void)snprintf(app->note.text, sizeof(app->note.text), "%s", text);
    (void)pthread_mutex_unlock(&app->lock);
}

void sl_app_last_reload(struct sl_app *app, struct sl_reload_note *out)
{
    (void)pthread_mutex_lock(&app->lock);
    *out = app->note;
    (void)pthread_mutex_unlock(&app->lock);
}

/* ---- certificate ---- */

static void note_certificate(struct sl_app *app, const char *what)
{
    int64_t end = sl_tls_not_after(app->http.tls);
    bool over = end * SL_SECOND_US <= sl_clock_real_us();
    char text[32] = "";
    struct tm tm;
    time_t at = (time_t)end;
    atomic_store(&app->metrics.tls_not_after, end);
    if (gmtime_r(&at, &tm) != NULL) {
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
    sl_log(over ? SL_LOG_WARN : SL_LOG_INFO, over ? "certificate has expired" : what, "notAfter",
           text, (char *)NULL);
}

void sl_app_refresh_tls(struct sl_app *app, bool loud)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (app->http.tls == NULL) {
        return;
    }
    int rc = sl_tls_refresh(app->http.tls, &err);
    if (rc < 0) {
        (void)atomic_fetch_add(&app->metrics.tls_reloads_failed, 1);
        if (loud || strcmp(err.message, app->tls_err.message) != 0) {
            sl_log(SL_LOG_ERROR, "certificate kept: the new one is wrong", "reason", err.message,
                   (char *)NULL);
        }
    } else if (rc > 0) {
        (void)atomic_fetch_add(&app->metrics.tls_reloads_ok, 1);
        note_certificate(app, "certificate replaced");
    } else if (loud) {
        note_certificate(app, "certificate unchanged");
    }
    app->tls_err = err;
}

/* ---- what requests are decided by ---- */

static const char *app_missing(const struct sl_app *app, const char *(*hook)(void *context))
{
    if (!atomic_load(&app->synced)) {
        return "it does not know the whole cluster yet";
    }
    return hook == NULL ? NULL : hook(app->hooks.context);
}

const char *sl_app_missing(const struct sl_app *app)
{
    return app_missing(app, app->hooks.missing);
}

const char *sl_app_unsynced(const struct sl_app *app)
{
    return app_missing(app, app->hooks.unsynced);
}

uint64_t sl_app_leadership(const struct sl_app *app)
{
    return app->hooks.leadership == NULL ? 0 : app->hooks.leadership(app->hooks.context);
}

const struct sl_snapshot *sl_app_snapshot(struct sl_request *request)
{
    if (request->snapshot == NULL) {
        request->snapshot = sl_store_acquire(request->app->store);
    }
    return request->snapshot;
}

void sl_app_release(struct sl_request *request)
{
    sl_store_release(request->app->store, request->snapshot);
    request->snapshot = NULL;
}

/* ---- life ---- */

static void init_http(struct sl_app *app, const struct sl_app_options *options)
{
    app->http.service = options->service;
    app->http.app = app;
    app->http.metrics = &app->metrics;
    app->http.live = &app->live;
    app->http.tls = options->tls;
    app->http.proxy = options->proxy;
    app->http.embedded = options->embedded;
    sl_listeners_init(&app->http);
}

struct sl_app *sl_app_new(const struct sl_app_options *options, struct sl_error *err)
{
    struct sl_app *app = calloc(1, sizeof(*app));
    if (app == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    if (sl_live_init(&app->live, options->config, err) < 0) {
        free(app);
        return NULL;
    }
    app->store = options->store;
    app->hooks = options->hooks;
    app->queue = options->queue;
    app->partitions = options->partitions;
    app->usage = options->usage;
    app->config_path = options->config_path;
    const struct sl_binds_options binds = {
        .store = options->store,
        .binder = options->binder,
        .metrics = &app->metrics,
        .bound = options->hooks.bound,
        .context = options->hooks.context,
        .phase = options->embedded ? SL_POD_RUNNING : SL_POD_PENDING,
    };
    sl_binds_init(&app->binds, &binds);
    sl_grants_init(&app->grants);
    sl_estimates_init(&app->estimates, &app->queue);
    sl_metrics_init(&app->metrics, sl_clock_real_us());
    init_http(app, options);
    if (options->tls != NULL) {
        note_certificate(app, "certificate loaded");
    }
    (void)pthread_mutex_init(&app->lock, NULL);
    (void)pthread_mutex_init(&app->admit, NULL);
    if (options->service != NULL && options->service->visibility_new != NULL) {
        app->visibility = options->service->visibility_new(app);
        if (app->visibility == NULL) {
            (void)sl_error_nomem(err);
            sl_app_free(app);
            return NULL;
        }
    }
    return app;
}

static void close_visibility(struct sl_app *app)
{
    if (app->visibility != NULL) {
        app->http.service->visibility_close(app->visibility);
    }
}

/* The library must not be stopped while connections are suspended. */
void sl_app_stop(struct sl_app *app)
{
    sl_binds_close(&app->binds);
    sl_estimates_stop(&app->estimates);
    close_visibility(app);
    sl_listeners_stop(&app->http);
    app->server = NULL;
}

void sl_app_free(struct sl_app *app)
{
    if (app == NULL) {
        return;
    }
    sl_app_stop(app);
    if (app->visibility != NULL) {
        app->http.service->visibility_free(app->visibility);
    }
    sl_binds_free(&app->binds);
    sl_grants_free(&app->grants);
    sl_estimates_free(&app->estimates);
    sl_listeners_free(&app->http);
    sl_live_free(&app->live);
    (void)pthread_mutex_destroy(&app->lock);
    (void)pthread_mutex_destroy(&app->admit);
    free(app);
}

int sl_app_serve(struct sl_app *app, struct sl_error *err)
{
    const struct sl_live *live = sl_live_acquire(&app->live);
    int rc = sl_listeners_start(&app->http, &live->config, err);
    sl_live_release(live);
    app->server = app->http.listener[SL_LISTENER_MAIN].server;
    return rc;
}

void sl_app_end_slow(struct sl_app *app)
{
    sl_listeners_end_slow(&app->http, sl_clock_monotonic_ns());
    if (app->visibility != NULL) {
        app->http.service->visibility_tick(app->visibility);
    }
}

bool sl_app_drain(struct sl_app *app)
{
    const struct sl_live *live = sl_live_acquire(&app->live);
    int64_t deadline_ns =
        sl_clock_monotonic_ns() + live->config.server.shutdown_timeout_us * SL_US_NS;
    sl_live_release(live);
    atomic_store(&app->http.draining, true);
    sl_listeners_quiesce(&app->http);
    sl_estimates_close(&app->estimates);
    close_visibility(app);
    while (atomic_load(&app->metrics.in_flight) > 0 && sl_clock_monotonic_ns() < deadline_ns) {
        const struct timespec pause = {0, DRAIN_POLL_NS};
        (void)nanosleep(&pause, NULL);
    }
    return atomic_load(&app->metrics.in_flight) == 0;
}

void sl_binder_embedded(void *context, const struct sl_binding *binding, sl_bind_done done,
                        void *call)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_store_commit(context, binding->uid, SL_POD_RUNNING)) {
        done(call, SL_BIND_END_BOUND, NULL);
        return;
    }
    (void)sl_error_set(&err, SL_ERR_CONFLICT, "the reservation of %.*s/%.*s has expired",
                       (int)binding->namespace.len, binding->namespace.s, (int)binding->name.len,
                       binding->name.s);
    done(call, SL_BIND_END_FAILED, &err);
}
