/* One try of a call: the libcurl handle, its callbacks, and what its end means. */
#include "kube/client_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static const int64_t us_per_s = 1000000;
static const int64_t retry_base_us = 100000;
static const int64_t retry_max_us = 10000000;

/* ---- callbacks of libcurl ---- */

static size_t on_data(char *data, size_t size, size_t n, void *context)
{
    struct sl_call *call = context;
    size_t len = size * n;
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->options.data != NULL && status == 200) {
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
        /* the API server sends seconds; a date is not worth a wait of unknown length */
        if (sl_str_to_i64(value, &seconds) && seconds >= 0 && seconds <= 3600) {
            call->retry_after_us = seconds * us_per_s;
        }
    }
    return len;
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
    return (struct curl_blob){
        .data = (void *)(uintptr_t)data.s, .len = data.len, .flags = CURL_BLOB_COPY};
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
    if (access->ca_data.len > 0) {
        struct curl_blob blob = blob_of(access->ca_data);
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
    } else if (access->ca_file != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, access->ca_file);
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

static void set_request(const struct sl_client *client, struct sl_call *call)
{
    const struct sl_call_options *options = &call->options;
    CURL *easy = call->easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, call->url);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
    if (options->body.len > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)options->body.len);
    }
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                           (long)(client->options.connect_timeout_us / 1000));
    if (options->timeout_us > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(options->timeout_us / 1000));
    }
    if (options->silence_us > 0) {
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME,
                               (long)((options->silence_us + us_per_s - 1) / us_per_s));
    }
}

static void set_callbacks(struct sl_call *call)
{
    CURL *easy = call->easy;
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* a call that finds the first connection being made waits to share it */
    (void)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
}

static bool set_headers(struct sl_call *call, const struct sl_credentials *credentials)
{
    const char *type = call->content_type == NULL ? "application/json" : call->content_type;
    return add_header(call, "Accept", "application/json") &&
           (call->options.body.len == 0 || add_header(call, "Content-Type", type)) &&
           (credentials->authorization == NULL ||
            add_header(call, "Authorization", credentials->authorization));
}

int sl_transfer_start(struct sl_client *client, struct sl_call *call, struct sl_error *err)
{
    struct sl_credentials credentials = {.authorization = NULL};
    bool refused = call->fresh_credentials;
    call->curl_error[0] = '\0';
    call->data_failed = false;
    call->retry_after_us = 0;
    call->collected.len = 0;
    call->collected.failed = SL_BUF_OK;
    if (sl_auth_get(client->auth, sl_kube_real_us(), refused, &credentials, err) < 0) {
        return -1;
    }
    call->easy = curl_easy_init();
    if (call->easy == NULL || !set_headers(call, &credentials)) {
        sl_transfer_end(client, call);
        return sl_error_nomem(err);
    }
    set_callbacks(call);
    set_request(client, call);
    set_tls(call->easy, client->options.access, &credentials);
    if (client->options.access->proxy_url != NULL) {
        (void)curl_easy_setopt(call->easy, CURLOPT_PROXY, client->options.access->proxy_url);
    }
    call->tries++;
    CURLMcode code = curl_multi_add_handle(client->multi, call->easy);
    if (code != CURLM_OK) {
        sl_transfer_end(client, call);
        return sl_error_set(err, SL_ERR_INTERNAL, "libcurl: %s", curl_multi_strerror(code));
    }
    return 0;
}

void sl_transfer_end(struct sl_client *client, struct sl_call *call)
{
    if (call->easy != NULL) {
        (void)curl_multi_remove_handle(client->multi, call->easy);
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    curl_slist_free_all(call->headers);
    call->headers = NULL;
}

/* ---- the end ---- */

/* The API server says what is wrong in a Status object. */
static void read_status(struct sl_reply *reply)
{
    json_t *root = json_loadb(reply->body.s, reply->body.len, 0, NULL);
    const char *message = json_string_value(json_object_get(root, "message"));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    enum sl_error_code code = reply->status == 404   ? SL_ERR_NOTFOUND
                              : reply->status == 409 ? SL_ERR_CONFLICT
                                                     : SL_ERR_SYSTEM;
    if (message != NULL && message[0] != '\0') {
        (void)sl_error_set(&reply->err, code, "%s", message);
    } else {
        (void)sl_error_set(&reply->err, code, "the API server answered %d", reply->status);
    }
    (void)snprintf(reply->reason, sizeof(reply->reason), "%s", reason == NULL ? "" : reason);
    json_decref(root);
}

/* Failures of libcurl before which no byte of the request was sent. */
static bool never_sent(CURLcode result)
{
    return result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY ||
           result == CURLE_COULDNT_CONNECT || result == CURLE_SSL_CONNECT_ERROR ||
           result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
           result == CURLE_SSL_CERTPROBLEM || result == CURLE_URL_MALFORMAT;
}

void sl_transfer_reply(const struct sl_call *call, CURLcode result, struct sl_reply *reply)
{
    long status = 0;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    *reply = (struct sl_reply){.status = result == CURLE_OK ? (int)status : 0,
                               .body = {call->collected.data, call->collected.len},
                               .retry_after_us = call->retry_after_us};
    if (call->data_failed) {
        reply->maybe_done = true;
        reply->err = call->data_err;
    } else if (result != CURLE_OK) {
        const char *text =
            call->curl_error[0] != '\0' ? call->curl_error : curl_easy_strerror(result);
        long sent = 0;
        (void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &sent);
        reply->maybe_done = !never_sent(result) && sent > 0;
        (void)sl_error_set(&reply->err, SL_ERR_SYSTEM, "%s", text);
    } else if (status >= 400) {
        read_status(reply);
    }
}

bool sl_transfer_again(struct sl_client *client, struct sl_call *call, const struct sl_reply *reply,
                       int64_t now_us, int64_t *at_us)
{
    int64_t delay =
        sl_backoff_us(call->tries, retry_base_us, retry_max_us, sl_jitter(&client->jitter));
    if (reply->status == 401 && !call->fresh_credentials) {
        call->fresh_credentials = true; /* once, with credentials read anew */
        *at_us = now_us;
        return true;
    }
    if (call->tries >= call->options.max_tries || call->data_failed) {
        return false;
    }
    /* 429 was not carried out; all else may have been, unless nothing was sent */
    bool refused = reply->status == 429 || (reply->status == 0 && !reply->maybe_done);
    bool passing = reply->status == 0 || reply->status == 500 || reply->status == 502 ||
                   reply->status == 503 || reply->status == 504;
    if (!refused && !(passing && call->options.repeatable)) {
        return false;
    }
    *at_us = now_us + (reply->retry_after_us > delay ? reply->retry_after_us : delay);
    return true;
}
