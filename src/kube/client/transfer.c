/* One try of a call: makes its libcurl handle, receives its answer, and tells what its end means.
 */
#include "kube/client/internal.h"
#include "util/clock.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "util/time.h"

enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_INTERVAL_S = 5, RETRY_AFTER_MAX_S = 3600 };

static const int64_t retry_base_us = 100 * SL_MS_US;
static const int64_t retry_max_us = 10 * SL_SECOND_US;
static const int64_t retry_after_max_us = SL_MINUTE_US;

/* ---- callbacks of libcurl ---- */

static size_t on_data(char *data, size_t size, size_t n, void *context)
{
    struct sl_call *call = context;
    size_t len = size * n;
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->heard_us = sl_clock_monotonic_us();
    if (call->options.data != NULL && status == 200) {
        call->told = true;
        if (call->options.data(call->options.context, data, len, &call->data_err) < 0) {
            call->data_failed = true;
            return 0;
        }
        return len;
    }
    sl_buf_append(&call->collected, data, len);
    if (call->collected.failed != SL_BUF_OK) {
        bool full = call->collected.failed == SL_BUF_FULL;
        call->data_failed = true;
        (void)sl_error_set(&call->data_err, full ? SL_ERR_LIMIT : SL_ERR_NOMEM,
                           full ? "the answer is longer than %zu bytes" : "out of memory (%zu)",
                           call->collected.max);
        return 0;
    }
    return len;
}

static size_t on_header(char *data, size_t size, size_t n, void *context)
{
    static const char name[] = "retry-after:";
    struct sl_call *call = context;
    size_t len = size * n;
    call->heard_us = sl_clock_monotonic_us();
    if (len > sizeof(name) - 1 && strncasecmp(data, name, sizeof(name) - 1) == 0) {
        struct sl_str value = {data + sizeof(name) - 1, len - (sizeof(name) - 1)};
        int64_t seconds = 0;
        while (value.len > 0 && (value.s[0] == ' ' || value.s[0] == '\t')) {
            value.s++;
            value.len--;
        }
        while (value.len > 0 && (unsigned char)value.s[value.len - 1] <= ' ') {
            value.len--;
        }
        /* the API server sends seconds; a date would be a wait of unknown length */
        if (sl_str_to_i64(value, &seconds) && seconds >= 0) {
            call->retry_after_us =
                (seconds > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : seconds) * SL_SECOND_US;
        }
    }
    return len;
}

/* Hands the body out by a callback that cannot be rewound unless the call may be repeated: libcurl
 * by itself sends a request anew, even a POST, when a connection that was used before ends without
 * an answer. */
static size_t on_read(char *out, size_t size, size_t n, void *context)
{
    struct sl_call *call = context;
    size_t left = call->options.body.len - call->body_at;
    size_t len = size * n < left ? size * n : left;
    if (len > 0) {
        memcpy(out, call->body + call->body_at, len);
        call->body_at += len;
    }
    return len;
}

static int on_seek(void *context, curl_off_t offset, int origin)
{
    struct sl_call *call = context;
    if (!call->options.repeatable || origin != SEEK_SET || offset < 0 ||
        (uint64_t)offset > call->options.body.len) {
        return CURL_SEEKFUNC_FAIL;
    }
    call->body_at = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- the handle ---- */

static bool add_header(struct sl_call *call, const char *name, const char *value)
{
    size_t len = strlen(name) + strlen(value) + 3;
    char *line = malloc(len);
    if (line == NULL) {
        return false;
    }
    (void)snprintf(line, len, "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(call->headers, line);
    free(line);
    if (more == NULL) {
        return false;
    }
    call->headers = more;
    return true;
}

static struct curl_blob blob_of(struct sl_str data)
{
    /* libcurl takes void *, and copies */
    return (struct curl_blob){.data = (void *)data.s, .len = data.len, .flags = CURL_BLOB_COPY};
}

static void set_tls(CURL *easy, const struct sl_kube_access *access,
                    const struct sl_credentials *credentials)
{
    struct sl_str cert = credentials->cert.len > 0 ? credentials->cert : access->cert_data;
    struct sl_str key = credentials->key.len > 0 ? credentials->key : access->key_data;
    if (access->insecure) {
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (access->ca_data.len > 0 || access->ca_file != NULL) {
        /* the cluster's CA replaces the system's */
        (void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (access->ca_data.len > 0) {
        struct curl_blob blob = blob_of(access->ca_data);
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    } else if (access->ca_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, access->ca_file);
#if LIBCURL_VERSION_NUM >= 0x075700 /* which keeps a file's CA for a day: it is rotated in place   \
                                     */
        (void)curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
    }
    if (cert.len > 0) {
        struct curl_blob blob = blob_of(cert);
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT_BLOB, &blob);
    } else if (access->cert_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLCERT, access->cert_file);
    }
    if (key.len > 0) {
        struct curl_blob blob = blob_of(key);
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY_BLOB, &blob);
    } else if (access->key_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_SSLKEY, access->key_file);
    }
}

/* For a certificate whose name is not the server's: the URL carries the name, so that libcurl asks
 * for it and checks it, while the connection and the Host header stay the server's. */
static bool set_server_name(struct sl_call *call, const struct sl_kube_access *access)
{
    char line[1024];
    const char *host = strstr(access->server, "://") + 3;
    size_t host_len = strcspn(host, "/");
    const char *bracket = memchr(host, ']', host_len);
    const char *colon = memchr(bracket == NULL ? host : bracket, ':',
                               host_len - (size_t)(bracket == NULL ? 0 : bracket - host));
    bool tls = strncmp(access->server, "https:", 6) == 0;
    size_t name_len = colon == NULL ? host_len : (size_t)(colon - host);
    const char *port = colon == NULL ? (tls ? ":443" : ":80") : colon;
    int port_len = colon == NULL ? (int)strlen(port) : (int)(host_len - name_len);
    const char *path = call->url + (host - access->server) + host_len;
    size_t size = strlen(access->tls_server_name) + strlen(path) + (size_t)port_len + 9;
    char *url = malloc(size);
    if (url == NULL) {
        return false;
    }
    (void)snprintf(url, size, "%s%s%.*s%s", tls ? "https://" : "http://", access->tls_server_name,
                   port_len, port, path);
    CURLcode code = curl_easy_setopt(call->easy, CURLOPT_URL, url);
    free(url);
    (void)snprintf(line, sizeof(line), "::%.*s%.*s", (int)name_len, host, port_len, port);
    call->connect_to = curl_slist_append(NULL, line);
    (void)snprintf(line, sizeof(line), "%.*s", (int)host_len, host);
    return code == CURLE_OK && call->connect_to != NULL &&
           curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to) == CURLE_OK &&
           add_header(call, "Host", line);
}

static void set_request(const struct sl_client *client, struct sl_call *call)
{
    const struct sl_call_options *options = &call->options;
    CURL *easy = call->easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, call->url);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    if (options->body.len > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)options->body.len);
        (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        (void)curl_easy_setopt(easy, CURLOPT_READDATA, call);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek);
        (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
    } else if (!options->repeatable && strcmp(call->method, "GET") != 0) {
        /* without a body on_read cannot prevent a second sending: only a new connection is surely
         * used once */
        (void)curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    }
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)(client->options.connect_timeout_us / SL_MS_US));
    if (client->options.access->proxy_url != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_PROXY, client->options.access->proxy_url);
    }
}

static void set_connection(struct sl_client *client, struct sl_call *call)
{
    bool tls = strncmp(call->url, "https:", 6) == 0;
    CURL *easy = call->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* a name is never another path */
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* a call waits for a connection that is being made, to share it. Not without TLS, where libcurl
     * learns late that it cannot be shared: calls would wait behind a watch for as long as it lasts
     */
    (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, tls ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
    sl_sockets_use(client, easy);
}

static void set_callbacks(struct sl_call *call)
{
    CURL *easy = call->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
}

static bool set_headers(struct sl_call *call, const struct sl_credentials *credentials)
{
    const char *type = call->content_type == NULL ? "application/json" : call->content_type;
    static const char *const accepted[] = {
        [SL_FORM_OBJECT] = "application/json",
        [SL_FORM_METADATA] =
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        [SL_FORM_TABLE] = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
    };
    bool body = call->options.body.len > 0;
    return add_header(call, "Accept", accepted[call->options.form]) &&
           (!body || (add_header(call, "Content-Type", type) && add_header(call, "Expect", ""))) &&
           (credentials->authorization == NULL ||
            add_header(call, "Authorization", credentials->authorization));
}

int sl_transfer_start(struct sl_client *client, struct sl_call *call,
                      const struct sl_credentials *credentials, struct sl_error *err)
{
    const struct sl_kube_access *access = client->options.access;
    call->curl_error[0] = '\0';
    call->data_failed = false;
    call->expired = false;
    call->retry_after_us = 0;
    call->body_at = 0;
    call->collected.len = 0;
    call->collected.failed = SL_BUF_OK;
    call->credentials = credentials->serial;
    call->started_us = sl_clock_monotonic_us();
    call->heard_us = call->started_us;
    call->easy = curl_easy_init();
    if (call->easy == NULL || !set_headers(call, credentials)) {
        return sl_error_nomem(err);
    }
    set_callbacks(call);
    set_connection(client, call);
    set_request(client, call);
    set_tls(call->easy, access, credentials);
    if (access->tls_server_name != NULL && !set_server_name(call, access)) {
        return sl_error_nomem(err);
    }
    (void)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    call->tries++;
    CURLMcode code = curl_multi_add_handle(client->multi, call->easy);
    return code == CURLM_OK
               ? 0
               : sl_error_set(err, SL_ERR_INTERNAL, "libcurl: %s", curl_multi_strerror(code));
}

void sl_transfer_end(struct sl_client *client, struct sl_call *call)
{
    if (call->easy != NULL) {
        (void)curl_multi_remove_handle(client->multi, call->easy);
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->connect_to);
    call->headers = NULL;
    call->connect_to = NULL;
}

/* The connection's local port, 0 when there is none yet. libcurl tells the port of reused
 * connections too, but not their socket (CURLINFO_ACTIVESOCKET). */
static long port_of(const struct sl_call *call)
{
    long port = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_LOCAL_PORT, &port);
    return port;
}

/* Two ports may share a place; a dead connection is then given up later, by another call. */
void sl_transfer_note_heard(struct sl_client *client, const struct sl_call *call)
{
    int64_t *heard_us = &client->heard_us[port_of(call) % SL_HEARD_MAX];
    if (call->heard_us > call->started_us && call->heard_us > *heard_us) {
        *heard_us = call->heard_us;
    }
}

void sl_transfer_give_up(struct sl_client *client, const struct sl_call *call)
{
    long port = port_of(call);
    bool alive = port == 0 || call->heard_us > call->started_us ||
                 client->heard_us[port % SL_HEARD_MAX] > call->started_us;
    for (struct sl_link *at = client->active.first; at != NULL && !alive; at = at->next) {
        const struct sl_call *other = sl_call_of(at);
        alive = other->heard_us > call->started_us && other->heard_us > other->started_us &&
                port_of(other) == port;
    }
    if (!alive) {
        sl_sockets_shut_down(client, port);
    }
}

int64_t sl_transfer_deadline(const struct sl_call *call)
{
    int64_t whole =
        call->options.timeout_us == 0 ? INT64_MAX : call->started_us + call->options.timeout_us;
    int64_t silent =
        call->options.silence_us == 0 ? INT64_MAX : call->heard_us + call->options.silence_us;
    int64_t deadline = whole < silent ? whole : silent;
    return deadline < call->ends_us ? deadline : call->ends_us;
}

bool sl_transfer_sent(const struct sl_call *call)
{
    long sent = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent);
    return sent > 0;
}

/* ---- the end ---- */

/* Takes message and reason from the Status object of the API server, or the error of a Prometheus.
 */
static void read_status(struct sl_reply *reply)
{
    json_t *root = json_loadb(reply->body.s, reply->body.len, 0, NULL);
    const char *told = json_string_value(json_object_get(root, "message"));
    const char *message = told != NULL ? told : json_string_value(json_object_get(root, "error"));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    enum sl_error_code code = reply->status == 404   ? SL_ERR_NOTFOUND
                              : reply->status == 409 ? SL_ERR_CONFLICT
                                                     : SL_ERR_SYSTEM;
    if (message != NULL && message[0] != '\0') {
        (void)sl_error_set(&reply->err, code, "%s", message);
    } else {
        (void)sl_error_set(&reply->err, code, "the server answered %d", reply->status);
    }
    (void)snprintf(reply->reason, sizeof(reply->reason), "%s", reason == NULL ? "" : reason);
    json_decref(root);
}

/* True for failures before which libcurl sent no byte of the request. */
static bool never_sent(CURLcode result)
{
    return result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY ||
           result == CURLE_COULDNT_CONNECT || result == CURLE_SSL_CONNECT_ERROR ||
           result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
           result == CURLE_SSL_CERTPROBLEM || result == CURLE_URL_MALFORMAT;
}

static void say_expired(const struct sl_call *call, struct sl_error *err)
{
    int64_t now_us = sl_clock_monotonic_us();
    bool last = call->ends_us <= now_us;
    bool whole = last || (call->options.timeout_us > 0 &&
                          call->started_us + call->options.timeout_us <= now_us);
    int64_t us = last    ? call->options.within_us
                 : whole ? call->options.timeout_us
                         : call->options.silence_us;
    (void)sl_error_set(err, SL_ERR_SYSTEM,
                       whole ? "no complete answer within %lld ms" : "nothing heard for %lld ms",
                       (long long)(us / SL_MS_US));
}

void sl_transfer_reply(struct sl_call *call, CURLcode result, struct sl_reply *reply)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    *reply = (struct sl_reply){.status = result == CURLE_OK ? (int)status : 0,
                               .body = {call->collected.data, call->collected.len},
                               .retry_after_us = call->retry_after_us};
    if (result != CURLE_OK) {
        const char *text =
            call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(result);
        reply->body = (struct sl_str){NULL, 0};
        call->maybe_done = call->maybe_done || (!never_sent(result) && sl_transfer_sent(call));
        if (call->data_failed) {
            reply->err = call->data_err;
        } else if (call->expired) {
            say_expired(call, &reply->err);
        } else {
            (void)sl_error_set(&reply->err, SL_ERR_SYSTEM, "%s", text);
        }
    } else if (status < 200 || status >= 300) {
        read_status(reply);
    }
    reply->maybe_done = call->maybe_done;
}

/* The server has not carried out a call that it answered 429; any other it may have, unless nothing
 * was sent. */
static bool is_repeatable(const struct sl_call *call, const struct sl_reply *reply)
{
    bool passing = reply->status == 0 || reply->status == 500 || reply->status == 502 ||
                   reply->status == 503 || reply->status == 504;
    return reply->status == 429 || (reply->status == 0 && !reply->maybe_done) ||
           (passing && call->options.repeatable);
}

bool sl_transfer_again(struct sl_client *client, struct sl_call *call, const struct sl_reply *reply,
                       int64_t now_us, int64_t *at_us)
{
    int64_t delay =
        sl_backoff_us(call->tries, retry_base_us, retry_max_us, sl_jitter(&client->jitter));
    if (reply->status == 401) {
        sl_auth_refused(client->auth, call->credentials);
        bool again = !call->unauthorized;
        call->unauthorized = true;
        call->tries -= again; /* the try with old credentials does not count */
        *at_us = now_us;
        return again;
    }
    if (call->tries >= call->options.max_tries || call->data_failed || call->told ||
        reply->retry_after_us > retry_after_max_us || !is_repeatable(call, reply)) {
        return false;
    }
    *at_us = now_us + (reply->retry_after_us > delay ? reply->retry_after_us : delay);
    return true;
}
