/* One table of listeners: what each is for, and the bounds of those that do not serve the
 * scheduler. */
#include "server/http/listeners.h"

#include <stddef.h>
#include <string.h>

#include "server/http/connection.h"
#include "server/http/serve.h"
#include "util/log.h"
#include "util/time.h"

/* A listener takes a few connections beyond its maximum, so that the next one is heard while
 * another ends; when all are being answered, the rest wait in the kernel. */
enum { SLACK_PER_THREAD = 8 };

#define ADDRESS(field) offsetof(struct sl_config, server.field)

/* A zero stands for what server.threads, maxConnections, connectionMemory and requestTimeout say.
 * Connections are cheap: a newcomer is heard if it speaks before that many others have come. */
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
    /* one thread that does nothing else, so that a probe waits for nobody */
    [SL_LISTENER_PROBES] = {"probes", "server.probeListen", ADDRESS(probe_listen), SL_FOR_KUBELET,
                            .threads = 1, .max_connections = 128, .timeout_s = 2,
                            .memory = 4 << 10},
    [SL_LISTENER_METRICS] = {"metrics", "server.metricsListen", ADDRESS(metrics_listen),
                             SL_FOR_MONITORING, .threads = 1, .max_connections = 64,
                             .timeout_s = 10, .memory = 4 << 10},
    [SL_LISTENER_API] = {"api", "server.apiListen", ADDRESS(api_listen),
                         SL_FOR_OPERATOR | SL_FOR_MONITORING | SL_FOR_KUBELET, .threads = 2,
                         .max_connections = 32, .memory = 16 << 10},
    /* a watch holds a connection; API servers share few for all other requests */
    [SL_LISTENER_VISIBILITY] = {"visibility", "server.visibilityListen", ADDRESS(visibility_listen),
                                SL_FOR_FORWARDED, .tls = true, .threads = 2, .max_connections = 256,
                                .memory = 32 << 10},
};

static const char api_default[] = "127.0.0.1:8888";

/* Where the row is to listen; "": nowhere. */
static const char *row_address(const struct row *row, const struct sl_config *config)
{
    const char *listen = (const char *)config + row->address;
    bool hidden = !sl_config_is_loopback(config->server.listen);
    return listen[0] == '\0' && row == &rows[SL_LISTENER_API] && hidden ? api_default : listen;
}

void sl_listeners_init(struct sl_http *http)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        http->listener[i].http = http;
        sl_deadlines_init(&http->listener[i].deadlines);
    }
}

void sl_listeners_free(struct sl_http *http)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_deadlines_free(&http->listener[i].deadlines);
    }
}

int sl_listeners_check(const struct sl_config *config, struct sl_error *err)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        const char *listen = row_address(&rows[i], config);
        if (listen[0] != '\0' && sl_server_check_listen(listen, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static unsigned whole_seconds(int64_t us)
{
    return (unsigned)((us + SL_SECOND_US - 1) / SL_SECOND_US);
}

static bool row_has_tls(const struct row *row, const struct sl_config *config)
{
    return row->tls || (row == &rows[SL_LISTENER_METRICS] && config->server.metrics_tls);
}

static int start_listener(struct sl_http *http, const struct row *row,
                          const struct sl_config *config, struct sl_error *err)
{
    struct sl_listener *listener = &http->listener[row - rows];
    const char *listen = row_address(row, config);
    bool all = row == &rows[SL_LISTENER_MAIN] && sl_config_is_loopback(listen);
    const struct sl_server_calls calls = {.handle = sl_serve_request,
                                          .completed = sl_serve_completed,
                                          .connection = sl_connection_notify,
                                          .context = listener};
    struct sl_server_options options = {
        .listen = listen,
        .threads = row->threads > 0 ? row->threads : (unsigned)config->server.threads,
        .connection_memory =
            row->memory > 0 ? row->memory : (size_t)config->server.connection_memory,
        .idle_timeout_s =
            row->timeout_s > 0 ? row->timeout_s : whole_seconds(config->server.request_timeout_us),
        .tls = row_has_tls(row, config) ? http->tls : NULL,
    };
    listener->name = row->name;
    listener->audiences = all ? SL_FOR_ALL : row->audiences;
    listener->tls = options.tls;
    listener->max_connections =
        row->max_connections > 0 ? row->max_connections : (size_t)config->server.max_connections;
    listener->patience_ns = options.idle_timeout_s * SL_SECOND_NS;
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

int sl_listeners_start(struct sl_http *http, const struct sl_config *config, struct sl_error *err)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (row_address(&rows[i], config)[0] != '\0' &&
            start_listener(http, &rows[i], config, err) < 0) {
            return -1;
        }
    }
    return 0;
}

void sl_listeners_end_slow(struct sl_http *http, int64_t now_ns)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_deadlines_enforce(&http->listener[i].deadlines, now_ns, http->metrics);
    }
}

void sl_listeners_quiesce(struct sl_http *http)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (http->listener[i].server != NULL && i != SL_LISTENER_PROBES) {
            sl_server_quiesce(http->listener[i].server);
        }
    }
}

void sl_listeners_stop(struct sl_http *http)
{
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        sl_server_stop(http->listener[i].server);
        http->listener[i].server = NULL;
    }
}
