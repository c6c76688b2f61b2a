/* One table of listeners; what each is for, and the bounds of those that are not for the scheduler.
 */
#include "server/listeners.h"

#include <stddef.h>
#include <string.h>

#include "config/config.h"
#include "server/app.h"
#include "server/request.h"

/* Beyond its maximum a listener takes a few more, so that the one which comes is heard while
 * another one ends; when all are being answered, the rest wait in the kernel. */
enum { SLACK_PER_THREAD = 8 };

#define ADDRESS(field) offsetof(struct sl_config, server.field)

/* Zeros: as server.threads, maxConnections, connectionMemory and requestTimeout say. Connections
 * are cheap, and who has just come is heard if he speaks before that many others have come. */
static const struct row {
    const char *name;
    const char *key;
    size_t address; /* in struct sl_config */
    unsigned audiences;
    bool tls;
    unsigned threads;
    unsigned max_connections;
    unsigned timeout_s;
    size_t memory;
} rows[SL_LISTENERS] = {
    [SL_LISTENER_MAIN] = {"verbs", "server.listen", ADDRESS(listen), SL_FOR_SCHEDULER, .tls = true},
    [SL_LISTENER_WEBHOOK] = {"webhook", "server.webhookListen", ADDRESS(webhook_listen),
                             SL_FOR_API_SERVER, .tls = true, .threads = 2, .max_connections = 256,
                             .timeout_s = 10, .memory = 32 << 10},
    /* one thread that does nothing else: a probe waits for nobody */
    [SL_LISTENER_PROBES] = {"probes", "server.probeListen", ADDRESS(probe_listen), SL_FOR_KUBELET,
                            .threads = 1, .max_connections = 128, .timeout_s = 2,
                            .memory = 4 << 10},
    [SL_LISTENER_METRICS] = {"metrics", "server.metricsListen", ADDRESS(metrics_listen),
                             SL_FOR_MONITORING, .threads = 1, .max_connections = 64,
                             .timeout_s = 10, .memory = 4 << 10},
    [SL_LISTENER_API] = {"api", "server.apiListen", ADDRESS(api_listen),
                         SL_FOR_OPERATOR | SL_FOR_MONITORING | SL_FOR_KUBELET, .threads = 2,
                         .max_connections = 32, .memory = 16 << 10},
};

static const char api_default[] = "127.0.0.1:8888";

/* Where the row is to listen; "": nowhere. */
static const char *address_of(const struct row *row, const struct sl_config *config)
{
    const char *listen = (const char *)config + row->address;
    bool hidden = !sl_config_is_loopback(config->server.listen);
    return listen[0] == '\0' && row == &rows[SL_LISTENER_API] && hidden ? api_default : listen;
}

void sl_listeners_init(struct sl_listener listeners[SL_LISTENERS])
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_deadlines_init(&listeners[i].deadlines);
    }
}

void sl_listeners_free(struct sl_listener listeners[SL_LISTENERS])
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_deadlines_free(&listeners[i].deadlines);
    }
}

int sl_listeners_check(const struct sl_config *config, struct sl_error *err)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        const char *listen = address_of(&rows[i], config);
        if (listen[0] != '\0' && sl_server_check_listen(listen, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static unsigned whole_seconds(int64_t us)
{
    return (unsigned)((us + 999999) / 1000000);
}

static int start(struct sl_app *app, const struct row *row, const struct sl_config *config,
                 struct sl_error *err)
{
    struct sl_listener *listener = &app->listener[row - rows];
    const char *listen = address_of(row, config);
    bool all = row == &rows[SL_LISTENER_MAIN] && sl_config_is_loopback(listen);
    const struct sl_server_calls calls = {.handle = sl_request_handle,
                                          .completed = sl_request_completed,
                                          .connection = sl_request_connection,
                                          .context = listener};
    struct sl_server_options options = {
        .listen = listen,
        .threads = row->threads > 0 ? row->threads : (unsigned)config->server.threads,
        .connection_memory =
            row->memory > 0 ? row->memory : (size_t)config->server.connection_memory,
        .idle_timeout_s =
            row->timeout_s > 0 ? row->timeout_s : whole_seconds(config->server.request_timeout_us),
        .tls = row->tls ? app->tls : NULL,
    };
    listener->name = row->name;
    listener->app = app;
    listener->audiences = all ? SL_FOR_ALL : row->audiences;
    listener->tls = options.tls;
    listener->max_connections =
        row->max_connections > 0 ? row->max_connections : (size_t)config->server.max_connections;
    listener->patience_ns = (int64_t)options.idle_timeout_s * 1000000000;
    options.max_connections = (unsigned)listener->max_connections;
    options.slack = SLACK_PER_THREAD;
    listener->server = sl_server_start(&options, &calls, err);
    if (listener->server == NULL) {
        return row == &rows[SL_LISTENER_MAIN] ? -1 : sl_error_wrap(err, "%s", row->key);
    }
    sl_log(SL_LOG_INFO, "listening", "for", all ? "all" : row->name, "address",
           sl_server_address(listener->server), (char *)NULL);
    return 0;
}

int sl_listeners_start(struct sl_app *app, const struct sl_config *config, struct sl_error *err)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (address_of(&rows[i], config)[0] != '\0' && start(app, &rows[i], config, err) < 0) {
            return -1;
        }
    }
    return 0;
}

void sl_listeners_quiesce(struct sl_listener listeners[SL_LISTENERS])
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (listeners[i].server != NULL && i != SL_LISTENER_PROBES) {
            sl_server_quiesce(listeners[i].server);
        }
    }
}

void sl_listeners_stop(struct sl_listener listeners[SL_LISTENERS])
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_server_stop(listeners[i].server);
        listeners[i].server = NULL;
    }
}
