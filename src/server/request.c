/* From the HTTP library's calls to handlers and back. */
#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/connection.h"
#include "server/process.h"
#include "server/routes.h"
#include "server/status.h"
#include "server/workspace.h"

enum {
    SWALLOW_AT_ONCE =
        1 << 20, /* a wrong request with a longer body is answered before it is read */
    STATUS_MAX = 8192,
};

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

/* The reply, or what came of the body, is dropped; a Status says why. */
static void give_up(struct sl_request *request, unsigned code)
{
    request->failed = false;
    (void)sl_request_fail(request, code);
    sl_buf_free(&request->reply);
    sl_buf_init(&request->reply, STATUS_MAX);
}

/* All together hold more than they may: this one lets go of what it has, and may come again. */
static void shed(struct sl_request *request)
{
    struct sl_connection *connection = sl_connection_of(request->connection);
    sl_metrics_limit(&request->app->metrics, SL_LIMIT_BUFFERED);
    (void)sl_error_set(&request->err, SL_ERR_NOMEM,
                       "requests in flight hold more than %lld bytes (server.maxBufferedBytes)",
                       (long long)request->live->config.server.max_buffered_bytes);
    give_up(request, 503);
    sl_workspace_free(request->workspace);
    sl_workspace_init(request->workspace);
    (void)sl_connection_weigh(connection);
}

/* A reply beyond its maximum becomes an error that says so. */
static void check_reply(struct sl_request *request)
{
    size_t max = (size_t)request->live->config.server.max_reply_bytes;
    bool full = request->reply.failed == SL_BUF_FULL;
    if (full && request->reply.max >= max) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_REPLY);
        (void)sl_error_set(&request->err, SL_ERR_LIMIT,
                           "the reply would be longer than %zu bytes (server.maxReplyBytes)", max);
        give_up(request, 500);
        write_status(request);
    } else if (!sl_connection_weigh(sl_connection_of(request->connection)) || full) {
        shed(request);
        write_status(request);
    }
}

/* The reply stays the request's until it is sent: it counts for as long. */
static struct MHD_Response *make_response(struct sl_request *request)
{
    check_reply(request);
    if (request->reply.failed != SL_BUF_OK || request->reply.len == 0) {
        sl_buf_free(&request->reply);
        return last_resort(request);
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->reply.len, request->reply.data, MHD_RESPMEM_PERSISTENT);
    return response == NULL ? last_resort(request) : response;
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
    if (rc == MHD_YES && request->code == 503) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    }
    if (rc == MHD_YES) {
        sl_connection_wait(sl_connection_of(request->connection), SL_LIMIT_REPLY_TIME,
                           SL_SLOW_FACTOR);
        rc = MHD_queue_response(request->connection, request->code, response);
    }
    MHD_destroy_response(response);
    request->answered = rc == MHD_YES;
    return rc;
}

/* ---- the request ---- */

/* Is the rest of a request that has failed worth waiting for? A short rest is: the connection can
 * then be used again. */
static bool answer_at_once(const struct sl_request *request)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    return request->code == 413 || request->close ||
           (text != NULL && sl_str_to_i64(sl_str_of(text), &length) && length > SWALLOW_AT_ONCE);
}

static struct sl_request *begin(struct sl_listener *listener, struct MHD_Connection *http,
                                const char *url, const char *method)
{
    struct sl_connection *connection = sl_connection_of(http);
    struct sl_app *app = listener->app;
    if (connection == NULL) {
        return NULL; /* there was no memory for it */
    }
    sl_connection_wait(connection, SL_LIMIT_TIME, SL_SLOW_FACTOR);
    struct sl_request *request = &connection->request;
    *request = (struct sl_request){
        .app = app,
        .audiences = listener->audiences,
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
    if (sl_request_check(connection, matched) == 0 && request->route->begin != NULL &&
        request->route->begin(request) < 0) {
        (void)sl_request_fail_err(request);
    }
    return request;
}

/* False when the connection is to be closed without an answer: the client was told to stop by
 * every means that HTTP has and still sends. */
static bool take(struct sl_request *request, const char *data, size_t len)
{
    uint64_t max = (uint64_t)sl_request_max_body(request);
    request->received += len;
    if (request->received > max) {
        if (!request->failed) {
            sl_metrics_limit(&request->app->metrics, SL_LIMIT_BODY);
            (void)sl_error_set(&request->err, SL_ERR_LIMIT, "the body has more than %lld bytes%s",
                               (long long)max,
                               max == (uint64_t)request->live->config.server.max_body_bytes
                                   ? " (server.maxBodyBytes)"
                                   : "");
            (void)sl_request_fail(request, 413);
        }
        return request->received <= 2 * max;
    }
    if (request->failed || request->route->feed == NULL) {
        return true;
    }
    if (request->route->feed(request, data, len) < 0) {
        (void)sl_request_fail_err(request);
    } else if (!sl_connection_weigh(sl_connection_of(request->connection))) {
        shed(request);
    }
    return true;
}

/* The whole body is here: nobody is waited for now. A reply may have what is left of the memory. */
static void go_on(struct sl_request *request)
{
    void (*next)(struct sl_request * request) =
        request->wake != NULL ? request->wake : request->route->finish;
    size_t room = sl_connection_room(request);
    sl_deadline_clear(&sl_connection_of(request->connection)->deadline);
    request->reply.max = room < request->reply.max ? room : request->reply.max;
    request->wake = NULL;
    next(request);
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
    struct sl_app *app = ((struct sl_listener *)context)->app;
    struct sl_request *request = *request_context;
    *request_context = NULL;
    if (request == NULL || !request->begun) {
        return;
    }
    if (!request->counted) {
        sl_metrics_request(&app->metrics, request->class, 0);
    }
    struct sl_connection *own = sl_connection_of(request->connection);
    release_snapshot(request);
    sl_connection_rest(own);
    sl_live_release(request->live);
    sl_connection_wait(own, SL_LIMIT_HEADER_TIME, SL_WAIT_FACTOR);
    request->begun = false;
    (void)atomic_fetch_sub(&app->metrics.in_flight, 1);
}
