/* One table of listeners: what each is for, and the bounds of those that do not serve the
 * scheduler. */
#include "server/http/listeners.h"

#include <stddef.h>
#include <string.h>

#include "server/http/connection.h"
#include "server/http/serve.h"
#include "util/log.h"
#include "util/process/files.h"
#include "util/time.h"

/* A listener takes a few connections beyond its maximum, so that the next one is heard while
 * another ends; when all are being answered, the rest wait in the kernel. */
enum { SLACK_PER_THREAD = 8 };

enum {
    /* files that no client's connection may take, beside those of calls to the API server: the log,
     * threads' wake-ups, exporters (80), watches, copies of the process */
    OWN_FILES = 160,
    LEAST_CONNECTIONS = 4,
};

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

static unsigned row_threads(const struct row *row, const struct sl_config *config)
{
    return row->threads > 0 ? row->threads : (unsigned)config->server.threads;
}

static unsigned row_connections(const struct row *row, const struct sl_config *config)
{
    return row->max_connections > 0 ? row->max_connections
                                    : (unsigned)config->server.max_connections;
}

/* A part of the connections that are configured. */
struct part {
    int64_t of;
    int64_t all;
};

/* Which part the listeners take, so that calls to the API server always find a file: however many
 * clients come, pods are bound. */
static struct part connections_part(const struct sl_config *config)
{
    int64_t max = sl_files_max();
    int64_t own = OWN_FILES + config->kubernetes.max_in_flight;
    int64_t left = max - own > max / 2 ? max - own : max / 2; /* where there is little, half */
    int64_t all = 0;
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (row_address(&rows[i], config)[0] != '\0') {
            unsigned threads = sl_server_threads(row_threads(&rows[i], config));
            all += row_connections(&rows[i], config) + (int64_t)threads * SLACK_PER_THREAD;
        }
    }
    if (left >= all) {
        return (struct part){all, all};
    }
    sl_log(SL_LOG_WARN,
           "the limit of open files is too low for the connections configured: fewer are taken",
           "#limit", SL_LOG_NUMBER(max), "#needed", SL_LOG_NUMBER(all + own), "#connections",
           SL_LOG_NUMBER(left), (char *)NULL);
    return (struct part){left, all};
}

/* At least a few. */
static unsigned part_of(unsigned n, struct part part)
{
    int64_t some = n * part.of / part.all;
    return some >= LEAST_CONNECTIONS || some >= n ? (unsigned)some : LEAST_CONNECTIONS;
}

static int start_listener(struct sl_http *http, const struct row *row, struct part part,
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
        .threads = row_threads(row, config),
        .connection_memory =
            row->memory > 0 ? row->memory : (size_t)config->server.connection_memory,
        .idle_timeout_s =
            row->timeout_s > 0 ? row->timeout_s : whole_seconds(config->server.request_timeout_us),
        .tls = row_has_tls(row, config) ? http->tls : NULL,
    };
    listener->name = row->name;
    listener->audiences = all ? SL_FOR_ALL : row->audiences;
    listener->tls = options.tls;
    listener->max_connections = part_of(row_connections(row, config), part);
    listener->patience_ns = options.idle_timeout_s * SL_SECOND_NS;
    options.max_connections = (unsigned)listener->max_connections;
    options.slack = (unsigned)((SLACK_PER_THREAD * part.of + part.all - 1) / part.all);
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
    struct part part = connections_part(config);
    for (unsigned i = 0; i < SL_LISTENERS; i++) {
        if (row_address(&rows[i], config)[0] != '\0' &&
            start_listener(http, &rows[i], part, config, err) < 0) {
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
