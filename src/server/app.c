/* Life of the application; configuration in force. */
#include "server/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/process.h"
#include "server/request.h"

enum { DRAIN_POLL_NS = 2000000 };

static struct sl_live *live_new(const struct sl_config *config, uint64_t serial)
{
    struct sl_live *live = calloc(1, sizeof(*live));
    if (live == NULL) {
        return NULL;
    }
    live->config = *config;
    live->serial = serial;
    atomic_init(&live->refs, 1);
    const char *const verbs[SL_CLASS_VERBS] = {config->extender.filter, config->extender.prioritize,
                                               config->extender.bind, config->extender.preempt};
    for (unsigned i = 0; i < SL_CLASS_VERBS; i++) {
        (void)snprintf(live->verb_path[i], SL_VERB_PATH_MAX, "%s/%s", config->extender.prefix,
                       verbs[i]);
    }
    return live;
}

static void live_unref(struct sl_live *live)
{
    if (live != NULL && atomic_fetch_sub(&live->refs, 1) == 1) {
        free(live);
    }
}

void sl_live_release(const struct sl_live *live)
{
    live_unref((struct sl_live *)live); /* const for readers; the count is not */
}

const struct sl_live *sl_app_live(struct sl_app *app)
{
    (void)pthread_mutex_lock(&app->lock);
    struct sl_live *live = app->live;
    (void)atomic_fetch_add(&live->refs, 1);
    (void)pthread_mutex_unlock(&app->lock);
    return live;
}

int sl_app_configure(struct sl_app *app, const struct sl_config *config, struct sl_error *err)
{
    (void)pthread_mutex_lock(&app->lock);
    struct sl_live *old = app->live;
    struct sl_live *fresh = live_new(config, old->serial + 1);
    app->live = fresh != NULL ? fresh : old;
    (void)pthread_mutex_unlock(&app->lock);
    if (fresh == NULL) {
        return sl_error_nomem(err);
    }
    live_unref(old);
    return 0;
}

void sl_app_note_reload(struct sl_app *app, bool ok, const char *text)
{
    (void)pthread_mutex_lock(&app->lock);
    app->note.at_us = sl_clock_real_us();
    app->note.ok = ok;
    (void)snprintf(app->note.text, sizeof(app->note.text), "%s", text);
    (void)pthread_mutex_unlock(&app->lock);
    (void)atomic_fetch_add(ok ? &app->metrics.reloads_ok : &app->metrics.reloads_failed, 1);
    sl_log(ok ? SL_LOG_INFO : SL_LOG_ERROR,
           ok ? "configuration reloaded" : "configuration kept: the new one is wrong", "result",
           text, (char *)NULL);
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
    int64_t end = sl_tls_not_after(app->tls);
    bool over = end * 1000000 <= sl_clock_real_us();
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
    if (app->tls == NULL) {
        return;
    }
    int rc = sl_tls_refresh(app->tls, &err);
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

struct sl_app *sl_app_new(const struct sl_app_options *options, struct sl_error *err)
{
    struct sl_app *app = calloc(1, sizeof(*app));
    struct sl_live *live = live_new(options->config, 1);
    if (app == NULL || live == NULL) {
        free(app);
        free(live);
        (void)sl_error_nomem(err);
        return NULL;
    }
    app->store = options->store;
    app->binder = options->binder;
    app->hooks = options->hooks;
    app->queue = options->queue;
    sl_binds_init(&app->binds);
    sl_grants_init(&app->grants);
    sl_listeners_init(app->listener);
    app->tls = options->tls;
    app->config_path = options->config_path;
    app->embedded = options->embedded;
    app->live = live;
    sl_metrics_init(&app->metrics, sl_clock_real_us());
    if (app->tls != NULL) {
        note_certificate(app, "certificate loaded");
    }
    (void)pthread_mutex_init(&app->lock, NULL);
    (void)pthread_mutex_init(&app->admit, NULL);
    return app;
}

/* The library must not be stopped while connections are suspended. */
void sl_app_stop(struct sl_app *app)
{
    sl_binds_close(&app->binds);
    sl_listeners_stop(app->listener);
    app->server = NULL;
}

const char *sl_app_missing(const struct sl_app *app)
{
    if (!atomic_load(&app->synced)) {
        return "it does not know the whole cluster yet";
    }
    return app->hooks.missing == NULL ? NULL : app->hooks.missing(app->hooks.context);
}

void sl_app_free(struct sl_app *app)
{
    if (app == NULL) {
        return;
    }
    sl_app_stop(app);
    sl_binds_free(&app->binds);
    sl_grants_free(&app->grants);
    sl_listeners_free(app->listener);
    live_unref(app->live);
    (void)pthread_mutex_destroy(&app->lock);
    (void)pthread_mutex_destroy(&app->admit);
    free(app);
}

int sl_app_serve(struct sl_app *app, struct sl_error *err)
{
    int rc = sl_listeners_start(app, &app->live->config, err);
    app->server = app->listener[SL_LISTENER_MAIN].server;
    return rc;
}

void sl_app_end_slow(struct sl_app *app)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_deadlines_enforce(&app->listener[i].deadlines, sl_clock_monotonic_ns(), &app->metrics);
    }
}

bool sl_app_drain(struct sl_app *app)
{
    const struct sl_live *live = sl_app_live(app);
    int64_t deadline = sl_clock_monotonic_ns() + live->config.server.shutdown_timeout_us * 1000;
    sl_live_release(live);
    atomic_store(&app->draining, true);
    sl_listeners_quiesce(app->listener);
    while (atomic_load(&app->metrics.in_flight) > 0 && sl_clock_monotonic_ns() < deadline) {
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
    (void)sl_error_set(&err, SL_ERR_CONFLICT, "the reservation of %.*s/%.*s has lapsed",
                       (int)binding->namespace.len, binding->namespace.s, (int)binding->name.len,
                       binding->name.s);
    done(call, SL_BIND_END_FAILED, &err);
}
