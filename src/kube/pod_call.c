/* Calls about one pod. */
#include "kube/pod_call.h"

#include <string.h>

#include "codec/object.h"
#include "kube/clock.h"
#include "kube/pacing.h"
#include "kube/url.h"

enum { PATH_BYTES_MAX = 4096, UID_SHOWN = 64 };

const struct sl_text_limits sl_kube_text_limits = {
    .max_bytes = SIZE_MAX, .max_string = 1 << 20, .max_depth = 64, .forgiving = true};

void sl_pod_path(struct sl_buf *path, struct sl_str ns, struct sl_str name, const char *end)
{
    sl_buf_init(path, PATH_BYTES_MAX);
    sl_buf_puts(path, "/api/v1/namespaces/");
    sl_url_put(path, ns);
    sl_buf_puts(path, "/pods/");
    sl_url_put(path, name);
    sl_buf_puts(path, end);
    sl_buf_putc(path, '\0');
}

struct sl_str sl_pod_put_text(char **at, struct sl_str text)
{
    struct sl_str copy = {*at, text.len};
    if (text.len > 0) {
        memcpy(*at, text.s, text.len);
    }
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

/* ---- one after the other ---- */

int sl_pod_calls_start(struct sl_pod_calls *calls, struct sl_call_options *call, const char *end,
                       struct sl_buf *body, struct sl_error *err)
{
    int64_t now_us = sl_kube_monotonic_us();
    int64_t left_us = calls->deadline_us - now_us;
    struct sl_buf path;
    int result = -1;
    sl_pod_path(&path, calls->namespace, calls->name, end);
    call->path = path.data;
    call->body = body == NULL ? (struct sl_str){0} : (struct sl_str){body->data, body->len};
    call->priority = calls->priority;
    call->max_tries = 1;
    if (path.failed != SL_BUF_OK || (body != NULL && body->failed != SL_BUF_OK)) {
        (void)sl_error_nomem(err);
    } else if (left_us <= 0) {
        (void)sl_error_set(err, SL_ERR_LIMIT, "no time was left");
    } else {
        call->within_us = left_us < calls->try_us ? left_us : calls->try_us;
        calls->try_end_us = now_us + call->within_us;
        result = sl_client_call(calls->client, call, NULL, err);
    }
    sl_buf_free(&path);
    if (body != NULL) {
        sl_buf_free(body);
    }
    return result;
}

int sl_pod_calls_later(struct sl_pod_calls *calls, int64_t retry_after_us,
                       void (*step)(void *context), void *context)
{
    calls->tries++;
    int64_t delay_us = sl_backoff_us(calls->tries, calls->backoff_us, calls->backoff_max_us,
                                     sl_jitter(&calls->jitter));
    delay_us = delay_us < retry_after_us ? retry_after_us : delay_us;
    if (sl_kube_monotonic_us() + delay_us >= calls->deadline_us) {
        return -1;
    }
    return sl_client_after(calls->client, delay_us, step, context);
}

/* ---- reading ---- */

struct reading {
    struct sl_str uid;
    void (*judge)(void *context, const struct sl_pod_facts *pod);
    void *context;
    struct sl_error *err;
    enum sl_pod_reading result;
};

static int take_pod(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct reading *reading = context;
    const struct sl_pod_facts *pod = object->pod;
    (void)err;
    if (pod == NULL) {
        return 0;
    }
    if (sl_str_eq(pod->uid, reading->uid)) {
        reading->result = SL_POD_READ;
        reading->judge(reading->context, pod);
    } else {
        reading->result = SL_POD_GONE;
        (void)sl_error_set(reading->err, SL_ERR_CONFLICT, "the pod was made anew, with UID %.*s",
                           (int)(pod->uid.len < UID_SHOWN ? pod->uid.len : UID_SHOWN), pod->uid.s);
    }
    return 0;
}

enum sl_pod_reading sl_pod_read(const struct sl_reply *reply, struct sl_str uid,
                                void (*judge)(void *context, const struct sl_pod_facts *pod),
                                void *context, struct sl_error *err)
{
    struct reading reading = {uid, judge, context, err, SL_POD_UNREAD};
    struct sl_error why = reply->err;
    if (reply->status == 404) {
        (void)sl_error_set(err, SL_ERR_NOTFOUND, "the pod is gone");
        return SL_POD_GONE;
    }
    if (reply->status == 200 &&
        sl_manifest_decode(reply->body.s, reply->body.len, &sl_kube_text_limits, take_pod, &reading,
                           &why) == 0) {
        (void)sl_error_set(&why, SL_ERR_FIELD, "the API server's answer was no pod");
    }
    if (reading.result == SL_POD_UNREAD) {
        *err = why;
    }
    return reading.result;
}
