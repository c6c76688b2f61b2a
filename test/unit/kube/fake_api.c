/* The fake API server on libmicrohttpd. */
#include "fake_api.h"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "util/buf.h"
#include "util/clock.h"

enum { REQUESTS_MAX = 20000, ANSWERS_MAX = 64, BODY_MAX = 4 << 20, WAIT_S = 60 };

struct exchange {
    struct fake_request request;
    struct sl_buf body;
};

struct fake_api {
    struct MHD_Daemon *daemon;
    char url[64];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_answer answer[ANSWERS_MAX];
    bool used_up[ANSWERS_MAX];
    unsigned n_answers;
    struct fake_request *request[REQUESTS_MAX];
    unsigned n_requests;
    unsigned n_connections;
    unsigned released; /* goes up with each release */
    bool stopping;
};

/* A reply on its way. */
struct body {
    struct fake_api *api;
    struct fake_answer answer;
    unsigned released;
};

static char *copy(const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    char *out = text == NULL ? NULL : malloc(len + 1);
    if (out != NULL) {
        memcpy(out, text, len + 1);
    }
    return out;
}

static void wait_for_release(struct fake_api *api, unsigned released)
{
    (void)pthread_mutex_lock(&api->lock);
    while (api->released == released && !api->stopping) {
        (void)pthread_cond_wait(&api->changed, &api->lock);
    }
    (void)pthread_mutex_unlock(&api->lock);
}

/* ---- replies ---- */

static void free_body(void *context)
{
    struct body *body = context;
    if (body->answer.free_body) {
        free((void *)body->answer.body);
    }
    free(body);
}

static void pause_for(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

static ssize_t read_body(void *context, uint64_t at, char *out, size_t max)
{
    struct body *body = context;
    const struct fake_answer *answer = &body->answer;
    bool stops = answer->cut || answer->hang;
    size_t end = stops && answer->cut_at < answer->body_len ? answer->cut_at : answer->body_len;
    size_t left = end > at ? end - (size_t)at : 0;
    size_t n = answer->piece > 0 && answer->piece < max ? answer->piece : max;
    n = n < left ? n : left;
    if (n == 0) {
        if (answer->hang) {
            wait_for_release(body->api, body->released);
        }
        return stops ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (answer->pause_ms > 0) {
        pause_for(answer->pause_ms);
    }
    memcpy(out, answer->body + at, n);
    return (ssize_t)n;
}

static enum MHD_Result send_answer(struct fake_api *api, struct MHD_Connection *connection,
                                   const struct fake_answer *answer, unsigned released)
{
    struct body *body = malloc(sizeof(*body));
    if (body == NULL) {
        return MHD_NO;
    }
    *body = (struct body){api, *answer, released};
    if (body->answer.body == NULL) {
        body->answer.body = "{}";
    }
    if (body->answer.body_len == 0) {
        body->answer.body_len = strlen(body->answer.body);
    }
    uint64_t size = answer->piece > 0 ? MHD_SIZE_UNKNOWN : body->answer.body_len;
    struct MHD_Response *response =
        MHD_create_response_from_callback(size, 16384, read_body, body, free_body);
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    if (answer->retry_after != NULL) {
        (void)MHD_add_response_header(response, "Retry-After", answer->retry_after);
    }
    enum MHD_Result result =
        MHD_queue_response(connection, answer->status == 0 ? 200 : answer->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- requests ---- */

static bool begins(const char *text, const char *with)
{
    return with == NULL || strncmp(text, with, strlen(with)) == 0;
}

/* Lock held. */
static struct fake_answer choose(struct fake_api *api, const struct fake_request *request)
{
    for (unsigned i = 0; i < api->n_answers; i++) {
        struct fake_answer *answer = &api->answer[i];
        if (api->used_up[i] || !begins(request->path, answer->path) ||
            (answer->method != NULL && strcmp(answer->method, request->method) != 0)) {
            continue;
        }
        struct fake_answer chosen = *answer;
        if (answer->times > 0) {
            answer->times--;
            api->used_up[i] = answer->times == 0;
        }
        if (chosen.fn != NULL) {
            chosen.fn(chosen.context, request, &chosen);
        }
        return chosen;
    }
    return (struct fake_answer){
        .status = 404,
        .body = "{\"kind\":\"Status\",\"message\":\"the fake has no answer\",\"reason\":\"NotFound"
                "\",\"code\":404}"};
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return copy(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

static enum MHD_Result add_query(void *context, enum MHD_ValueKind kind, const char *key,
                                 const char *value)
{
    struct sl_buf *path = context;
    (void)kind;
    sl_buf_putc(path, memchr(path->data, '?', path->len) == NULL ? '?' : '&');
    sl_buf_puts(path, key);
    if (value != NULL) {
        sl_buf_putc(path, '=');
        sl_buf_puts(path, value);
    }
    return MHD_YES;
}

/* ---- HTTPS ---- */

/* The common name of the client's certificate, NULL when it has none or it does not count. */
static char *peer_of(gnutls_session_t session)
{
    unsigned status = 1;
    unsigned n = 0;
    char name[128];
    size_t size = sizeof(name);
    gnutls_x509_crt_t cert = NULL;
    const gnutls_datum_t *list = gnutls_certificate_get_peers(session, &n);
    if (n == 0 || gnutls_certificate_verify_peers2(session, &status) < 0 || status != 0 ||
        gnutls_x509_crt_init(&cert) < 0) {
        return NULL;
    }
    bool found =
        gnutls_x509_crt_import(cert, &list[0], GNUTLS_X509_FMT_DER) == 0 &&
        gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &size) == 0;
    gnutls_x509_crt_deinit(cert);
    return found ? copy(name) : NULL;
}

static void keep_session(struct MHD_Connection *connection, struct fake_request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    char name[256];
    size_t size = sizeof(name);
    unsigned type = 0;
    if (info == NULL || info->tls_session == NULL) {
        return;
    }
    if (gnutls_server_name_get(info->tls_session, name, &size, &type, 0) == 0) {
        request->server_name = copy(name);
    }
    request->peer = peer_of(info->tls_session);
}

static struct fake_request *keep_request(struct MHD_Connection *connection, const char *url,
                                         const char *method, struct sl_buf *body)
{
    struct fake_request *request = calloc(1, sizeof(*request));
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct sl_buf path;
    size_t len = 0;
    if (request == NULL) {
        return NULL;
    }
    sl_buf_init(&path, 16384);
    sl_buf_puts(&path, url);
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_query, &path);
    sl_buf_putc(&path, '\0');
    sl_buf_putc(body, '\0');
    request->method = copy(method);
    request->path = sl_buf_steal(&path, &len);
    request->authorization = header(connection, "Authorization");
    request->content_type = header(connection, "Content-Type");
    request->host = header(connection, "Host");
    request->body = sl_buf_steal(body, &request->body_len);
    request->body_len--;
    request->connection = *(const unsigned *)info->socket_context;
    request->at_us = sl_clock_monotonic_us();
    keep_session(connection, request);
    return request;
}

static enum MHD_Result answer_request(struct fake_api *api, struct MHD_Connection *connection,
                                      struct fake_request *request)
{
    (void)pthread_mutex_lock(&api->lock);
    if (api->n_requests < REQUESTS_MAX) {
        api->request[api->n_requests++] = request;
    }
    struct fake_answer answer = choose(api, request);
    unsigned released = api->released;
    (void)pthread_cond_broadcast(&api->changed);
    (void)pthread_mutex_unlock(&api->lock);
    if (answer.kind == FAKE_HANG) {
        wait_for_release(api, released);
    }
    return answer.kind == FAKE_REPLY ? send_answer(api, connection, &answer, released) : MHD_NO;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    struct fake_api *api = context;
    struct sl_buf *body = *state;
    (void)version;
    if (body == NULL) {
        body = malloc(sizeof(*body));
        if (body == NULL) {
            return MHD_NO;
        }
        sl_buf_init(body, BODY_MAX);
        *state = body;
        return MHD_YES;
    }
    if (*size > 0) {
        sl_buf_append(body, data, *size);
        *size = 0;
        return MHD_YES;
    }
    struct fake_request *request = keep_request(connection, url, method, body);
    return request == NULL ? MHD_NO : answer_request(api, connection, request);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    struct sl_buf *body = *state;
    (void)context;
    (void)connection;
    (void)code;
    if (body != NULL) {
        sl_buf_free(body);
        free(body);
    }
    *state = NULL;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_ConnectionNotificationCode code)
{
    struct fake_api *api = context;
    (void)connection;
    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
        free(*state);
        *state = NULL;
        return;
    }
    unsigned *number = malloc(sizeof(*number));
    (void)pthread_mutex_lock(&api->lock);
    api->n_connections++;
    if (number != NULL) {
        *number = api->n_connections;
    }
    (void)pthread_mutex_unlock(&api->lock);
    *state = number;
}

/* ---- life ---- */

struct fake_api *fake_api_start(void)
{
    return fake_api_start_tls(NULL);
}

struct fake_api *fake_api_start_tls(const struct fake_tls *tls)
{
    static const unsigned flags =
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL;
    struct fake_api *api = calloc(1, sizeof(*api));
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct MHD_OptionItem options[4] = {{MHD_OPTION_END, 0, NULL}};
    if (tls != NULL) {
        options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)tls->cert};
        options[1] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)tls->key};
        options[2] = tls->client_ca == NULL ? (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL}
                                            : (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0,
                                                                      (void *)tls->client_ca};
        options[3] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    }
    assert_non_null(api);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)pthread_mutex_init(&api->lock, NULL);
    (void)pthread_cond_init(&api->changed, NULL);
    api->daemon = MHD_start_daemon(
        tls == NULL ? flags : flags | MHD_USE_TLS, 0, NULL, NULL, on_request, api, MHD_OPTION_ARRAY,
        options, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED, on_completed, api,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, api, MHD_OPTION_END);
    assert_non_null(api->daemon);
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_BIND_PORT);
    (void)snprintf(api->url, sizeof(api->url), "%s://127.0.0.1:%u", tls == NULL ? "http" : "https",
                   (unsigned)info->port);
    return api;
}

static void free_request(struct fake_request *request)
{
    const char *const text[] = {request->method,       request->path, request->authorization,
                                request->content_type, request->host, request->server_name,
                                request->peer,         request->body};
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        free((void *)text[i]);
    }
    free(request);
}

void fake_api_stop(struct fake_api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    api->stopping = true;
    (void)pthread_cond_broadcast(&api->changed);
    (void)pthread_mutex_unlock(&api->lock);
    MHD_stop_daemon(api->daemon);
    for (unsigned i = 0; i < api->n_requests; i++) {
        free_request(api->request[i]);
    }
    (void)pthread_cond_destroy(&api->changed);
    (void)pthread_mutex_destroy(&api->lock);
    free(api);
}

const char *fake_api_url(const struct fake_api *api)
{
    return api->url;
}

struct sl_kube_access fake_api_access(const struct fake_api *api)
{
    return (struct sl_kube_access){.server = api->url};
}

void fake_api_add(struct fake_api *api, struct fake_answer answer)
{
    (void)pthread_mutex_lock(&api->lock);
    assert_true(api->n_answers < ANSWERS_MAX);
    api->used_up[api->n_answers] = false;
    api->answer[api->n_answers++] = answer;
    (void)pthread_mutex_unlock(&api->lock);
}

void fake_api_clear(struct fake_api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    api->n_answers = 0;
    (void)pthread_mutex_unlock(&api->lock);
}

void fake_api_release(struct fake_api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    api->released++;
    (void)pthread_cond_broadcast(&api->changed);
    (void)pthread_mutex_unlock(&api->lock);
}

unsigned fake_api_requests(struct fake_api *api)
{
    return fake_api_count(api, NULL, NULL);
}

unsigned fake_api_connections(struct fake_api *api)
{
    (void)pthread_mutex_lock(&api->lock);
    unsigned n = api->n_connections;
    (void)pthread_mutex_unlock(&api->lock);
    return n;
}

const struct fake_request *fake_api_request(struct fake_api *api, unsigned at)
{
    (void)pthread_mutex_lock(&api->lock);
    const struct fake_request *request = at < api->n_requests ? api->request[at] : NULL;
    (void)pthread_mutex_unlock(&api->lock);
    assert_non_null(request);
    return request;
}

unsigned fake_api_count(struct fake_api *api, const char *method, const char *path)
{
    unsigned n = 0;
    (void)pthread_mutex_lock(&api->lock);
    for (unsigned i = 0; i < api->n_requests; i++) {
        const struct fake_request *request = api->request[i];
        n +=
            begins(request->path, path) && (method == NULL || strcmp(request->method, method) == 0);
    }
    (void)pthread_mutex_unlock(&api->lock);
    return n;
}

void fake_api_wait(struct fake_api *api, unsigned n)
{
    struct timespec until;
    int code = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    (void)pthread_mutex_lock(&api->lock);
    while (api->n_requests < n && code == 0) {
        code = pthread_cond_timedwait(&api->changed, &api->lock, &until);
    }
    (void)pthread_mutex_unlock(&api->lock);
    assert_int_equal(code, 0);
}
