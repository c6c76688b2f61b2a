/* From the HTTP library's calls to handlers and back. */
#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "server/process.h"
#include "server/routes.h"
#include "server/status.h"
#include "server/workspace.h"

enum {
    PEER_WHY_MAX = 256,
    SLOW_FACTOR = 4, /* a body, and a reply's reading, may take that many idle timeouts in all */
    WAIT_FACTOR = 2, /* so may the wait for a request and its headers: one for each */
    SWALLOW_AT_ONCE =
        1 << 20, /* a wrong request with a longer body is answered before it is read */
};

/* One request at a time runs on a connection, so both live and die with it. */
struct connection {
    struct sl_request request;
    struct sl_workspace workspace;
    struct sl_tls_peer peer;
    struct sl_deadline deadline; /* none while a body comes in and while it is answered */
};

static struct connection *connection_of(struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/* Of the connection that a request runs on. */
static struct sl_deadline *deadline_of(struct sl_request *request)
{
    return &connection_of(request->connection)->deadline;
}

static void set_deadline(const struct sl_app *app, struct sl_deadline *deadline, enum sl_limit what,
                         int factor)
{
    sl_deadline_set(deadline, what, sl_clock_monotonic_ns() + factor * app->patience_ns);
}

int sl_request_fail(struct sl_request *request, unsigned code)
{
    if (!request->failed) {
        request->failed = true;
        request->code = code;
        request->outcome = SL_OUTCOME_ERROR;
    }
    return -1;
}

int sl_request_fail_err(struct sl_request *request)
{
    return sl_request_fail(request, sl_status_code(request->err.code));
}

const struct sl_snapshot *sl_request_snapshot(struct sl_request *request)
{
    if (request->snapshot == NULL) {
        request->snapshot = sl_store_acquire(request->app->store);
    }
    return request->snapshot;
}

struct sl_str sl_request_query(const struct sl_request *request, const char *name)
{
    return sl_str_of(MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name));
}

/* The request ends because of that parameter of its query. */
static int fail_query(struct sl_request *request, const char *name)
{
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s", name);
    return sl_request_fail(request, 400);
}

struct known {
    struct sl_request *request;
    const char *names;
    bool all;
};

/* Is it one of "a, b, c"? */
static bool is_named(const char *names, struct sl_str name)
{
    struct sl_str rest = sl_str_of(names);
    bool found = false;
    while (rest.s != NULL && !found) {
        struct sl_str each = sl_str_cut(&rest, ',');
        if (each.len > 0 && each.s[0] == ' ') {
            each = (struct sl_str){each.s + 1, each.len - 1};
        }
        found = sl_str_eq(name, each);
    }
    return found && name.len > 0;
}

static enum MHD_Result check_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                       const char *value)
{
    struct known *known = context;
    struct sl_request *request = known->request;
    (void)kind;
    (void)value;
    if (is_named(known->names, sl_str_of(name))) {
        return MHD_YES;
    }
    known->all = false;
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "found an unknown parameter, expected %s%s",
                       strchr(known->names, ',') != NULL ? "one of " : "",
                       known->names[0] != '\0' ? known->names : "none");
    (void)fail_query(request, name);
    return MHD_NO;
}

int sl_request_only(struct sl_request *request, const char *names)
{
    struct known known = {.request = request, .names = names, .all = true};
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, check_parameter,
                                    &known);
    return known.all ? 0 : -1;
}

int sl_request_output(struct sl_request *request, bool *table)
{
    struct sl_str text = sl_request_query(request, "output");
    *table = sl_str_eq(text, SL_STR("table"));
    if (!*table && text.len > 0 && !sl_str_eq(text, SL_STR("json"))) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "found \"%.*s\", expected json or table",
                           (int)(text.len > 32 ? 32 : text.len), text.s);
        return fail_query(request, "output");
    }
    request->content_type = *table ? "text/plain; charset=utf-8" : "application/json";
    return 0;
}

int sl_request_number(struct sl_request *request, const char *name, int64_t fallback, int64_t max,
                      int64_t *out)
{
    struct sl_str text = sl_request_query(request, name);
    *out = fallback;
    if (text.len == 0) {
        return 0;
    }
    if (!sl_str_to_i64(text, out) || *out < 1 || *out > max) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "\"%.*s\" is not a number of 1..%lld",
                           (int)(text.len > 32 ? 32 : text.len), text.s, (long long)max);
        return fail_query(request, name);
    }
    return 0;
}

/* ---- the reply ---- */

/* The reply when there is no memory for a better one. */
static struct MHD_Response *last_resort(struct sl_request *request)
{
    static char text[] = "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
                         "\"reason\":\"ServiceUnavailable\",\"code\":503,"
                         "\"message\":\"out of memory\"}\n";
    request->code = 503;
    request->outcome = SL_OUTCOME_ERROR;
    return MHD_create_response_from_buffer(sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT);
}

static void write_status(struct sl_request *request)
{
    request->content_type = "application/json";
    request->reply.len = 0;
    request->reply.failed = SL_BUF_OK;
    sl_status_write(&request->reply, request->code, &request->err, request->class < SL_CLASS_VERBS);
}

/* A reply beyond its maximum becomes an error that says so. */
static void check_reply(struct sl_request *request)
{
    if (request->reply.failed == SL_BUF_FULL) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_REPLY);
        (void)sl_error_set(&request->err, SL_ERR_LIMIT,
                           "the reply would be longer than %lld bytes (server.maxReplyBytes)",
                           (long long)request->live->config.server.max_reply_bytes);
        request->failed = false;
        (void)sl_request_fail(request, 500);
        sl_buf_free(&request->reply);
        sl_buf_init(&request->reply, 8192); /* a Status is at most a few kB */
        write_status(request);
    }
}

static struct MHD_Response *make_response(struct sl_request *request)
{
    check_reply(request);
    if (request->reply.failed != SL_BUF_OK || request->reply.len == 0) {
        sl_buf_free(&request->reply);
        return last_resort(request);
    }
    size_t len = 0;
    char *data = sl_buf_steal(&request->reply, &len);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(len, data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(data);
        return last_resort(request);
    }
    return response;
}

static void release_snapshot(struct sl_request *request)
{
    if (request->snapshot != NULL) {
        sl_store_release(request->app->store, request->snapshot);
        request->snapshot = NULL;
    }
}

/* Before the reply leaves, so that who has it finds it counted. */
static void count(struct sl_request *request)
{
    struct sl_metrics *metrics = &request->app->metrics;
    sl_metrics_request(metrics, request->class, request->code);
    if (request->class < SL_CLASS_VERBS) {
        sl_metrics_duration(metrics, request->class, request->outcome,
                            sl_clock_monotonic_ns() - request->started_ns);
    }
    request->counted = true;
}

static enum MHD_Result respond(struct sl_request *request)
{
    if (request->failed) {
        write_status(request);
    }
    struct MHD_Response *response = make_response(request);
    release_snapshot(request); /* the client may be slow in reading */
    if (response == NULL) {
        return MHD_NO;
    }
    count(request);
    enum MHD_Result rc =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, request->content_type);
    if (rc == MHD_YES && request->code == 405 && request->allow != NULL) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, request->allow);
    }
    if (rc == MHD_YES && (request->close || atomic_load(&request->app->draining))) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    if (rc == MHD_YES) {
        set_deadline(request->app, deadline_of(request), SL_LIMIT_REPLY_TIME, SLOW_FACTOR);
        rc = MHD_queue_response(request->connection, request->code, response);
    }
    MHD_destroy_response(response);
    request->answered = rc == MHD_YES;
    return rc;
}

/* ---- the request ---- */

/* A declared length beyond the maximum is refused before the first byte is read. */
static int check_length(struct sl_request *request)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    int64_t max = request->live->config.server.max_body_bytes;
    if (text == NULL || !sl_str_to_i64(sl_str_of(text), &length) || length <= max) {
        return 0;
    }
    sl_metrics_limit(&request->app->metrics, SL_LIMIT_BODY);
    (void)sl_error_set(&request->err, SL_ERR_LIMIT,
                       "the body has %lld bytes, at most %lld are taken (server.maxBodyBytes)",
                       (long long)length, (long long)max);
    return sl_request_fail(request, 413);
}

/* Nothing is unpacked here: that would need bounds of its own, and the scheduler packs nothing. */
static int check_encoding(struct sl_request *request)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (text == NULL || text[0] == '\0' || strcasecmp(text, "identity") == 0) {
        return 0;
    }
    (void)sl_error_set(&request->err, SL_ERR_FIELD,
                       "found \"%.32s\", expected identity: a body is taken only as it is", text);
    (void)snprintf(request->err.field, sizeof(request->err.field), "%s",
                   MHD_HTTP_HEADER_CONTENT_ENCODING);
    return sl_request_fail(request, 415);
}

/* Is the rest of a request that has failed worth waiting for? A short rest is: the connection can
 * then be used again. */
static bool answer_at_once(const struct sl_request *request)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    return request->code == 413 ||
           (text != NULL && sl_str_to_i64(sl_str_of(text), &length) && length > SWALLOW_AT_ONCE);
}

/* For everybody: probes, and the webhook, to which API servers come without a certificate; what it
 * answers follows from the question alone. */
static bool is_public(enum sl_class class)
{
    return class == SL_CLASS_PROBE || class == SL_CLASS_ADMISSION;
}

/* HTTPS with client certificates: the rest is for those that have one. */
static int check_peer(struct sl_request *request, struct sl_tls_peer *peer)
{
    struct sl_tls *tls = request->app->tls;
    char why[PEER_WHY_MAX] = "no TLS session";
    if (tls == NULL || is_public(request->class)) {
        return 0;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL && sl_tls_peer_ok(tls, info->tls_session, peer, why, sizeof(why))) {
        return 0;
    }
    request->failed = false; /* who may not ask learns nothing of what is wrong */
    request->allow = NULL;
    (void)sl_error_set(&request->err, SL_ERR_FIELD, "%s", why);
    return sl_request_fail(request, 403);
}

static struct sl_request *begin(struct sl_app *app, struct MHD_Connection *http, const char *url,
                                const char *method)
{
    struct connection *connection = connection_of(http);
    if (connection == NULL) {
        return NULL; /* there was no memory for it */
    }
    sl_deadline_clear(&connection->deadline);
    struct sl_request *request = &connection->request;
    *request = (struct sl_request){
        .app = app,
        .live = sl_app_live(app),
        .connection = http,
        .workspace = &connection->workspace,
        .class = SL_CLASS_OTHER,
        .path = sl_str_of(url),
        .started_ns = sl_clock_monotonic_ns(),
        .begun = true,
        .code = 200,
        .content_type = "application/json",
    };
    (void)atomic_fetch_add(&app->metrics.in_flight, 1);
    sl_buf_init(&request->reply, (size_t)request->live->config.server.max_reply_bytes);
    bool matched = sl_routes_match(request, method) == 0;
    if (check_peer(request, &connection->peer) == 0 && matched && check_length(request) == 0 &&
        (request->route->feed == NULL || check_encoding(request) == 0) &&
        request->route->begin != NULL && request->route->begin(request) < 0) {
        (void)sl_request_fail_err(request);
    }
    return request;
}

/* False when the connection is to be closed without an answer: the client was told to stop by
 * every means that HTTP has and still sends. */
static bool take(struct sl_request *request, const char *data, size_t len)
{
    const struct sl_config *config = &request->live->config;
    uint64_t max = (uint64_t)config->server.max_body_bytes;
    int64_t limit_ns = config->server.request_timeout_us * 1000 * SLOW_FACTOR;
    request->received += len;
    if (sl_clock_monotonic_ns() - request->started_ns > limit_ns) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_TIME);
        return false;
    }
    if (request->received > max) {
        if (!request->failed) {
            sl_metrics_limit(&request->app->metrics, SL_LIMIT_BODY);
            (void)sl_error_set(&request->err, SL_ERR_LIMIT,
                               "the body has more than %lld bytes (server.maxBodyBytes)",
                               (long long)max);
            (void)sl_request_fail(request, 413);
        }
        return request->received <= 2 * max;
    }
    if (!request->failed && request->route->feed != NULL &&
        request->route->feed(request, data, len) < 0) {
        (void)sl_request_fail_err(request);
    }
    return true;
}

enum MHD_Result sl_request_handle(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request_context)
{
    (void)version;
    struct sl_request *request = *request_context;
    if (request == NULL) {
        request = begin(context, connection, url, method);
        *request_context = request;
        if (request == NULL) {
            return MHD_NO;
        }
        return request->failed && answer_at_once(request) ? respond(request) : MHD_YES;
    }
    if (*upload_data_size > 0) {
        bool go_on = take(request, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (request->answered) {
        return MHD_YES;
    }
    if (!request->failed) {
        void (*go_on)(struct sl_request * request) =
            request->wake != NULL ? request->wake : request->route->finish;
        request->wake = NULL;
        go_on(request);
        if (request->wake != NULL) {
            return MHD_YES; /* suspended; this is called again when it goes on */
        }
    }
    return respond(request);
}

void sl_request_completed(void *context, struct MHD_Connection *connection, void **request_context,
                          enum MHD_RequestTerminationCode how)
{
    (void)connection;
    (void)how;
    struct sl_app *app = context;
    struct sl_request *request = *request_context;
    *request_context = NULL;
    if (request == NULL || !request->begun) {
        return;
    }
    if (!request->counted) {
        sl_metrics_request(&app->metrics, request->class, 0);
    }
    release_snapshot(request);
    sl_live_release(request->live);
    sl_buf_free(&request->reply);
    sl_workspace_reset(request->workspace);
    set_deadline(app, deadline_of(request), SL_LIMIT_HEADER_TIME, WAIT_FACTOR);
    request->begun = false;
    (void)atomic_fetch_sub(&app->metrics.in_flight, 1);
}

static void prepare_tls(struct sl_app *app, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info != NULL) {
        sl_tls_prepare(app->tls, info->tls_session);
    }
}

/* NULL when out of memory: its requests are then refused. */
static struct connection *open_connection(struct sl_app *app, struct MHD_Connection *http)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct connection *fresh = info == NULL ? NULL : calloc(1, sizeof(*fresh));
    if (fresh != NULL) {
        sl_workspace_init(&fresh->workspace);
        set_deadline(app, &fresh->deadline, SL_LIMIT_HEADER_TIME, WAIT_FACTOR);
        sl_deadlines_add(&app->deadlines, &fresh->deadline, info->connect_fd);
    }
    return fresh;
}

/* The library closes the socket only after this. */
static void close_connection(struct sl_app *app, struct connection *old)
{
    if (old != NULL) {
        sl_deadlines_remove(&app->deadlines, &old->deadline);
        sl_workspace_free(&old->workspace);
        free(old);
    }
}

void sl_request_connection(void *context, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode what)
{
    struct sl_app *app = context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        if (app->tls != NULL) {
            prepare_tls(app, connection);
        }
        *socket_context = open_connection(app, connection);
        int64_t open = atomic_fetch_add(&app->metrics.connections, 1) + 1;
        const struct sl_live *live = sl_app_live(app);
        if (open >= live->config.server.max_connections) {
            sl_metrics_limit(&app->metrics, SL_LIMIT_CONNECTIONS);
        }
        sl_live_release(live);
    } else {
        (void)atomic_fetch_sub(&app->metrics.connections, 1);
        close_connection(app, *socket_context);
        *socket_context = NULL;
    }
}
