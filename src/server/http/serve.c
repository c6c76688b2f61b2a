/* The life of a request, from call to call of the HTTP library. */
#include "server/http/serve.h"

#include "codec/status.h"
#include "server/http/connection.h"
#include "util/clock.h"

enum {
    SWALLOW_AT_ONCE =
        1 << 20, /* a failed request with a longer body is answered before it is read */
    STATUS_MAX = 8192,
    STREAM_BLOCK = 16 << 10,
};

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

/* Drops the reply, or what came of the body; a Status will say why. */
static void give_up(struct sl_request *request, unsigned code)
{
    request->failed = false;
    (void)sl_request_fail(request, code);
    sl_buf_free(&request->reply);
    sl_buf_init(&request->reply, STATUS_MAX);
}

/* All requests together hold more than they may: this one lets go of what it has, and may come
 * again. */
static void shed_request(struct sl_request *request)
{
    sl_metrics_limit(request->metrics, SL_LIMIT_BUFFERED);
    (void)sl_error_set(&request->err, SL_ERR_NOMEM,
                       "requests in flight hold more than %lld bytes (server.maxBufferedBytes)",
                       (long long)request->live->config.server.max_buffered_bytes);
    give_up(request, 503);
    sl_connection_shed(sl_connection_of(request->connection));
}

/* Turns a reply beyond its maximum into an error that says so. */
static void check_reply(struct sl_request *request)
{
    size_t max = (size_t)request->live->config.server.max_reply_bytes;
    bool full = request->reply.failed == SL_BUF_FULL;
    if (full && request->reply.max >= max) {
        sl_metrics_limit(request->metrics, SL_LIMIT_REPLY);
        (void)sl_error_set(&request->err, SL_ERR_LIMIT,
                           "the reply would be longer than %zu bytes (server.maxReplyBytes)", max);
        give_up(request, 500);
        write_status(request);
    } else if (!sl_connection_weigh(sl_connection_of(request->connection)) || full) {
        shed_request(request);
        write_status(request);
    }
}

/* The reply's memory stays the request's, and counts as such, until it is sent. */
static struct MHD_Response *make_response(struct sl_request *request)
{
    check_reply(request);
    bool empty = request->reply.len == 0 && request->code != 304;
    if (request->reply.failed != SL_BUF_OK || empty) {
        sl_buf_free(&request->reply);
        return last_resort(request);
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->reply.len, request->reply.data, MHD_RESPMEM_PERSISTENT);
    return response == NULL ? last_resort(request) : response;
}

static ssize_t read_stream(void *context, uint64_t at, char *out, size_t max)
{
    struct sl_request *request = context;
    struct sl_buf *reply = &request->reply;
    (void)at;
    if (request->sent == reply->len) {
        reply->len = 0;
        request->sent = 0;
        if (request->more(request) < 0 || reply->failed != SL_BUF_OK ||
            !sl_connection_weigh(sl_connection_of(request->connection))) {
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
    }
    size_t left = reply->len - request->sent;
    size_t n = left < max ? left : max;
    if (n > 0) {
        memcpy(out, reply->data + request->sent, n);
    }
    request->sent += n;
    return (ssize_t)n;
}

static void release_request(struct sl_request *request)
{
    request->http->service->release(request);
}

/* Called before the reply leaves, so that its reader finds it counted. */
static void count_request(struct sl_request *request)
{
    sl_metrics_request(request->metrics, request->class, request->code);
    if (request->class < SL_CLASS_VERBS) {
        sl_metrics_duration(request->metrics, request->class, request->outcome,
                            sl_clock_monotonic_ns() - request->started_ns);
    }
    request->counted = true;
}

/* The page may load what this daemon serves, run no text as a program, and stand in no other page.
 */
static enum MHD_Result add_page_headers(struct MHD_Response *response)
{
    static const struct {
        const char *name;
        const char *value;
    } headers[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; "
         "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cache-Control", "no-cache"},
    };
    enum MHD_Result rc = MHD_YES;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]) && rc == MHD_YES; i++) {
        rc = MHD_add_response_header(response, headers[i].name, headers[i].value);
    }
    return rc;
}

static enum MHD_Result respond(struct sl_request *request)
{
    if (request->failed) {
        write_status(request);
    }
    bool streams = request->more != NULL && !request->failed;
    struct MHD_Response *response =
        streams ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream,
                                                    request, NULL)
                : make_response(request);
    release_request(request); /* the client may be slow in reading */
    if (response == NULL) {
        return MHD_NO;
    }
    count_request(request);
    enum MHD_Result rc =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, request->content_type);
    if (rc == MHD_YES && request->code == 405 && request->allow != NULL) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, request->allow);
    }
    if (rc == MHD_YES &&
        (request->close || request->chunked || atomic_load(&request->http->draining))) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    }
    if (rc == MHD_YES && request->page) {
        rc = add_page_headers(response);
    }
    if (rc == MHD_YES && (request->code == 503 || request->code == 429)) {
        rc = MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    }
    if (rc == MHD_YES) {
        if (!streams) { /* the library ends one whose peer reads nothing for a while */
            sl_connection_wait(sl_connection_of(request->connection), SL_LIMIT_REPLY_TIME,
                               SL_SLOW_FACTOR);
        }
        rc = MHD_queue_response(request->connection, request->code, response);
    }
    MHD_destroy_response(response);
    request->answered = rc == MHD_YES;
    return rc;
}

/* ---- the request ---- */

/* Should a request that has failed be answered before its body is read? A short rest is worth
 * waiting for: the connection can then be used again. */
static bool answer_at_once(const struct sl_request *request)
{
    const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                   MHD_HTTP_HEADER_CONTENT_LENGTH);
    int64_t length = 0;
    return request->code == 413 || request->close ||
           (text != NULL && sl_str_to_i64(sl_str_of(text), &length) && length > SWALLOW_AT_ONCE);
}

/* Sets route, class and param. -1 after sl_request_fail: 404, or 405 with request->allow. */
static int find_route(struct sl_request *request, const char *method)
{
    const struct sl_route_scope scope = sl_request_scope(request);
    const struct sl_route *route =
        sl_route_find(&request->http->service->routes, &scope, request->path, request->param);
    if (route == NULL) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                           "there is nothing at \"%.*s\"; GET / lists what there is",
                           (int)(request->path.len > 200 ? 200 : request->path.len),
                           request->path.s);
        return sl_request_fail(request, 404);
    }
    request->class = route->class;
    if (!sl_route_takes(route, method)) {
        request->allow = sl_route_allow(route);
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "%.16s is not served here, only %s", method,
                           request->allow);
        return sl_request_fail(request, 405);
    }
    request->route = route;
    return 0;
}

static struct sl_request *begin_request(const struct sl_listener *listener,
                                        struct MHD_Connection *connection, const char *url,
                                        const char *method, const char *version)
{
    struct sl_connection *own = sl_connection_of(connection);
    struct sl_http *http = listener->http;
    if (own == NULL) {
        return NULL; /* there was no memory for it */
    }
    sl_connection_wait(own, SL_LIMIT_TIME, SL_SLOW_FACTOR);
    struct sl_request *request = &own->request;
    *request = (struct sl_request){
        .app = http->app,
        .http = http,
        .metrics = http->metrics,
        .live = sl_live_acquire(http->live),
        .audiences = listener->audiences,
        .connection = connection,
        .workspace = own->workspace,
        .class = SL_CLASS_OTHER,
        .path = sl_str_of(url),
        .started_ns = sl_clock_monotonic_ns(),
        .begun = true,
        .code = 200,
        .content_type = "application/json",
    };
    (void)atomic_fetch_add(&http->metrics->in_flight, 1);
    sl_buf_init(&request->reply, (size_t)request->live->config.server.max_reply_bytes);
    bool matched = find_route(request, method) == 0;
    if (sl_request_check(own, method, version, matched) == 0 && request->route->begin != NULL &&
        request->route->begin(request) < 0) {
        (void)sl_request_fail_err(request);
    }
    return request;
}

/* False when the connection is to be closed without an answer: the client was told to stop by every
 * means that HTTP has, and still sends. */
static bool take_piece(struct sl_request *request, const char *data, size_t len)
{
    uint64_t max = (uint64_t)sl_request_max_body(request);
    request->received += len;
    if (request->received > max) {
        if (!request->failed) {
            sl_metrics_limit(request->metrics, SL_LIMIT_BODY);
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
        shed_request(request);
    }
    return true;
}

/* The whole body is here. The reply may have what is left of the memory, beside what it has. */
static void finish_request(struct sl_request *request)
{
    void (*next)(struct sl_request * request) =
        request->wake != NULL ? request->wake : request->route->finish;
    size_t room = sl_connection_room(request) + request->reply.cap;
    sl_deadline_clear(&sl_connection_of(request->connection)->deadline);
    request->reply.max = room < request->reply.max ? room : request->reply.max;
    request->wake = NULL;
    next(request);
}

enum MHD_Result sl_serve_request(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload_data,
                                 size_t *upload_data_size, void **request_context)
{
    struct sl_request *request = *request_context;
    if (request == NULL) {
        request = begin_request(context, connection, url, method, version);
        *request_context = request;
        if (request == NULL) {
            return MHD_NO;
        }
        return request->failed && answer_at_once(request) ? respond(request) : MHD_YES;
    }
    if (*upload_data_size > 0) {
        bool stays = take_piece(request, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return stays ? MHD_YES : MHD_NO;
    }
    if (request->answered) {
        return MHD_YES;
    }
    if (!request->failed) {
        finish_request(request);
        if (request->wake != NULL) {
            return MHD_YES; /* suspended; this is called again when it goes on */
        }
    }
    return respond(request);
}

void sl_serve_completed(void *context, struct MHD_Connection *connection, void **request_context,
                        enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)connection;
    (void)how;
    struct sl_request *request = *request_context;
    *request_context = NULL;
    if (request == NULL || !request->begun) {
        return;
    }
    if (!request->counted) {
        sl_metrics_request(request->metrics, request->class, 0);
    }
    struct sl_connection *own = sl_connection_of(request->connection);
    if (request->ended != NULL) {
        request->ended(request);
    }
    release_request(request);
    sl_connection_rest(own);
    sl_live_release(request->live);
    sl_connection_wait(own, SL_LIMIT_HEADER_TIME, SL_WAIT_FACTOR);
    request->begun = false;
    (void)atomic_fetch_sub(&request->metrics->in_flight, 1);
}
