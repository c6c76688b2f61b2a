/* One release at a time is a small machine: nominate, open, and when an answer leaves it open, read
 * or wait and go on. Each step begins where the last one ends, on the client's thread; only the
 * first is the caller's. */
#include "kube/releaser.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/object.h"
#include "kube/clock.h"
#include "kube/pod_call.h"

enum { BODY_BYTES_MAX = 64 << 10, REFUSALS_MAX = 3 };

static const char merge_patch[] = "application/merge-patch+json";
static const char strategic_patch[] = "application/strategic-merge-patch+json";
static const char json_patch[] = "application/json-patch+json";

struct sl_releaser {
    struct sl_releaser_options options;
    atomic_int_least64_t timeout_us;
    atomic_uint_least64_t ends[SL_RELEASE_ENDS];
    atomic_uint_least64_t patches;
    atomic_uint_least64_t reads;
    atomic_uint_least64_t repeats;
    atomic_uint_least64_t withdrawn;
    atomic_uint in_flight;
};

struct op {
    struct sl_releaser *releaser;
    struct sl_release release; /* its text stands in text */
    sl_release_done done;
    void *call;
    struct sl_pod_calls calls;
    unsigned refusals; /* answers that said the pod does not allow it */
    bool maybe;        /* the gate's patch may have been carried out, or may yet */
    char at[32];       /* the annotation's time: the same with each try */
    struct sl_error err;
    char text[];
};

static void nominate(void *context);
static void open_gate(void *context);
static void read_pod(void *context);

/* ---- ends ---- */

static void finish(struct op *op, enum sl_release_end end)
{
    struct sl_releaser *releaser = op->releaser;
    (void)atomic_fetch_add(&releaser->ends[end], 1);
    (void)atomic_fetch_sub(&releaser->in_flight, 1);
    op->done(op->call, end, end == SL_RELEASE_RELEASED ? NULL : &op->err);
    free(op);
}

/* No time, or no client, or no leadership is left. */
static void give_up(struct op *op)
{
    finish(op, op->maybe ? SL_RELEASE_UNKNOWN : SL_RELEASE_FAILED);
}

static void later(struct op *op, void (*step)(void *context), int64_t retry_after_us)
{
    (void)atomic_fetch_add(&op->releaser->repeats, 1);
    if (sl_pod_calls_later(&op->calls, retry_after_us, step, op) < 0) {
        give_up(op);
    }
}

/* ---- calls ---- */

static bool leads(const struct op *op)
{
    const struct sl_releaser_options *options = &op->releaser->options;
    return (options->term == NULL ? 1 : options->term(options->context)) == op->release.term;
}

/* Begins the metadata with what refuses a pod made anew, and leaves it open. */
static void write_begin(struct sl_writer *w, const struct op *op)
{
    sl_write_object(w);
    sl_write_key(w, "metadata");
    sl_write_object(w);
    sl_write_key(w, "uid");
    sl_write_str(w, op->release.uid);
}

static void patch(struct op *op, const char *end, const char *type, struct sl_buf *body,
                  sl_call_done done, void (*again)(void *context))
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_call_options call = {.method = "PATCH",
                                   .content_type = type,
                                   .metadata_only = true,
                                   .repeatable = true,
                                   .done = done,
                                   .context = op};
    if (!leads(op)) {
        sl_buf_free(body);
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "this replica is not the leader any more");
        give_up(op);
        return;
    }
    (void)atomic_fetch_add(&op->releaser->patches, 1);
    if (sl_pod_calls_start(&op->calls, &call, end, body, &err) < 0) {
        op->err = err;
        later(op, again, 0);
    }
}

/* RBAC's words ("User \"x\" cannot patch resource \"pods\""): that is about this daemon, and every
 * pod. What admission refuses may have any status of these: webhooks answer 400 if they say none.
 */
static bool is_about_the_pod(const struct sl_reply *reply)
{
    bool ours = reply->status == 403 && strstr(reply->err.message, " cannot patch resource ");
    return reply->status >= 400 && reply->status < 500 && reply->status != 401 && !ours;
}

/* What to do after an answer that is no success. */
static void refused(struct op *op, const struct sl_reply *reply, void (*again)(void *context))
{
    int status = reply->status;
    op->err = reply->err;
    if (status == 404) {
        (void)sl_error_set(&op->err, SL_ERR_NOTFOUND, "the pod is gone");
        finish(op, SL_RELEASE_GONE);
    } else if (status == 0 || status == 408 || status == 429 || status >= 500) {
        later(op, again, reply->retry_after_us);
    } else if ((status == 409 || status == 422) && ++op->refusals < REFUSALS_MAX) {
        read_pod(op);
    } else if (is_about_the_pod(reply) && !op->maybe) {
        finish(op, SL_RELEASE_REFUSED);
    } else {
        give_up(op);
    }
}

/* ---- the nomination ---- */

static void on_nominated(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    if (reply->status == 200) {
        op->release.nominated = true;
        op->calls.tries = 0;
        open_gate(op);
    } else {
        refused(op, reply, nominate);
    }
}

static void nominate(void *context)
{
    struct op *op = context;
    struct sl_buf body;
    if (op->release.nominated || op->release.node.len == 0) {
        open_gate(op);
        return;
    }
    sl_buf_init(&body, BODY_BYTES_MAX);
    struct sl_writer w = {.buf = &body};
    write_begin(&w, op);
    sl_write_object_end(&w);
    sl_write_key(&w, "status");
    sl_write_object(&w);
    sl_write_key(&w, "nominatedNodeName");
    sl_write_str(&w, op->release.node);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    patch(op, "/status", merge_patch, &body, on_nominated, nominate);
}

/* ---- the gate ---- */

static void on_opened(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    if (reply->status == 200) {
        finish(op, SL_RELEASE_RELEASED);
        return;
    }
    op->maybe = op->maybe || reply->maybe_done || reply->status >= 500;
    refused(op, reply, open_gate);
}

void sl_release_write_gate(struct sl_writer *w)
{
    sl_write_key(w, "schedulingGates");
    sl_write_array(w);
    sl_write_object(w);
    sl_write_key(w, "$patch");
    sl_write_text(w, "delete");
    sl_write_key(w, "name");
    sl_write_text(w, SL_QUEUE_GATE);
    sl_write_object_end(w);
    sl_write_array_end(w);
}

static void write_spec(struct sl_writer *w, const struct sl_release *release)
{
    sl_write_key(w, "spec");
    sl_write_object(w);
    if (release->gated) {
        sl_release_write_gate(w);
    }
    if (release->deadline_s > 0) {
        sl_write_key(w, "activeDeadlineSeconds");
        sl_write_i64(w, release->deadline_s);
    }
    sl_write_object_end(w);
}

static void open_gate(void *context)
{
    struct op *op = context;
    const struct sl_release *release = &op->release;
    struct sl_buf body;
    if (op->at[0] == '\0') {
        sl_time_format(sl_kube_real_us(), op->at);
    }
    sl_buf_init(&body, BODY_BYTES_MAX);
    struct sl_writer w = {.buf = &body};
    write_begin(&w, op);
    sl_write_key(&w, "annotations");
    sl_write_object(&w);
    sl_write_key(&w, SL_RELEASED_ANNOTATION);
    sl_write_text(&w, op->at);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    if (release->gated || release->deadline_s > 0) {
        write_spec(&w, release);
    }
    sl_write_object_end(&w);
    patch(op, "", strategic_patch, &body, on_opened, open_gate);
}

/* ---- reading ---- */

/* What is read of it. */
struct reading {
    struct op *op;
    bool over; /* it ends as end */
    enum sl_release_end end;
};

static bool is_over(const struct sl_pod_facts *pod)
{
    return pod->deleting || sl_str_eq(pod->phase, SL_STR("Succeeded")) ||
           sl_str_eq(pod->phase, SL_STR("Failed"));
}

static void judge(void *context, const struct sl_pod_facts *pod)
{
    struct reading *reading = context;
    struct op *op = reading->op;
    bool gated = sl_pair_find(pod->gates, SL_STR(SL_QUEUE_GATE)) != NULL;
    reading->over = true;
    if (is_over(pod)) {
        reading->end = SL_RELEASE_GONE;
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "the pod has ended or is being deleted");
    } else if (pod->node_name.len > 0 || (op->release.gated && !gated)) {
        reading->end = SL_RELEASE_RELEASED;
    } else {
        reading->over = false;
        op->release.gated = gated;
        bool shorter = pod->deadline_s > 0 && pod->deadline_s <= op->release.deadline_s;
        op->release.deadline_s = shorter ? 0 : op->release.deadline_s;
    }
}

static void on_read(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    struct reading reading = {.op = op, .over = false};
    switch (sl_pod_read(reply, op->release.uid, judge, &reading, &op->err)) {
    case SL_POD_UNREAD:
        later(op, read_pod, reply->retry_after_us);
        return;
    case SL_POD_GONE:
        finish(op, SL_RELEASE_GONE);
        return;
    case SL_POD_READ:
        break;
    }
    if (reading.over) {
        finish(op, reading.end);
    } else {
        later(op, nominate, 0);
    }
}

static void read_pod(void *context)
{
    struct op *op = context;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_call_options call = {
        .method = "GET", .repeatable = true, .done = on_read, .context = op};
    (void)atomic_fetch_add(&op->releaser->reads, 1);
    if (sl_pod_calls_start(&op->calls, &call, "", NULL, &err) < 0) {
        op->err = err;
        later(op, read_pod, 0);
    }
}

/* ---- taking a nomination back ---- */

static void on_withdrawn(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    if (reply->status == 200) {
        (void)atomic_fetch_add(&op->releaser->withdrawn, 1);
    }
    free(op); /* 422: it is another node's, or none, or another pod's */
}

static void write_test(struct sl_writer *w, const char *path, struct sl_str value)
{
    sl_write_object(w);
    sl_write_key(w, "op");
    sl_write_text(w, "test");
    sl_write_key(w, "path");
    sl_write_text(w, path);
    sl_write_key(w, "value");
    sl_write_str(w, value);
    sl_write_object_end(w);
}

static void write_withdrawal(struct sl_buf *body, const struct op *op)
{
    static const char path[] = "/status/nominatedNodeName";
    sl_buf_init(body, BODY_BYTES_MAX);
    struct sl_writer w = {.buf = body};
    sl_write_array(&w);
    write_test(&w, "/metadata/uid", op->release.uid);
    write_test(&w, path, op->release.node);
    sl_write_object(&w);
    sl_write_key(&w, "op");
    sl_write_text(&w, "remove");
    sl_write_key(&w, "path");
    sl_write_text(&w, path);
    sl_write_object_end(&w);
    sl_write_array_end(&w);
}

/* ---- interface ---- */

struct sl_releaser *sl_releaser_new(const struct sl_releaser_options *options, struct sl_error *err)
{
    struct sl_releaser *releaser = calloc(1, sizeof(*releaser));
    if (releaser == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    releaser->options = *options;
    atomic_init(&releaser->timeout_us, options->timeout_us);
    return releaser;
}

void sl_releaser_set_timeout(struct sl_releaser *releaser, int64_t timeout_us)
{
    atomic_store(&releaser->timeout_us, timeout_us);
}

void sl_releaser_free(struct sl_releaser *releaser)
{
    free(releaser);
}

static struct op *op_new(struct sl_releaser *releaser, const struct sl_release *release)
{
    size_t size =
        release->namespace.len + release->name.len + release->uid.len + release->node.len + 4;
    struct op *op = calloc(1, sizeof(*op) + size);
    if (op == NULL) {
        return NULL;
    }
    const struct sl_releaser_options *options = &releaser->options;
    int64_t now_us = sl_kube_monotonic_us();
    char *at = op->text;
    op->releaser = releaser;
    op->release = *release;
    op->release.namespace = sl_pod_put_text(&at, release->namespace);
    op->release.name = sl_pod_put_text(&at, release->name);
    op->release.uid = sl_pod_put_text(&at, release->uid);
    op->release.node = sl_pod_put_text(&at, release->node);
    op->calls = (struct sl_pod_calls){
        .client = options->client,
        .namespace = op->release.namespace,
        .name = op->release.name,
        .priority = SL_CALL_NORMAL,
        .try_us = options->try_us,
        .backoff_us = options->backoff_us,
        .backoff_max_us = options->backoff_max_us,
        .deadline_us = now_us + atomic_load(&releaser->timeout_us),
        .jitter = (uint64_t)now_us ^ (uint64_t)(uintptr_t)op,
    };
    return op;
}

void sl_release(struct sl_releaser *releaser, const struct sl_release *release,
                sl_release_done done, void *call)
{
    struct op *op = op_new(releaser, release);
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&releaser->ends[SL_RELEASE_FAILED], 1);
        done(call, SL_RELEASE_FAILED, &err);
        return;
    }
    op->done = done;
    op->call = call;
    (void)atomic_fetch_add(&releaser->in_flight, 1);
    nominate(op);
}

void sl_release_withdraw(struct sl_releaser *releaser, const struct sl_release *release)
{
    struct op *op = op_new(releaser, release);
    struct sl_buf body;
    struct sl_call_options call = {.method = "PATCH",
                                   .content_type = json_patch,
                                   .repeatable = true,
                                   .done = on_withdrawn,
                                   .context = op};
    if (op == NULL) {
        return;
    }
    if (!leads(op)) {
        free(op);
        return;
    }
    write_withdrawal(&body, op);
    (void)atomic_fetch_add(&releaser->patches, 1);
    if (sl_pod_calls_start(&op->calls, &call, "/status", &body, NULL) < 0) {
        free(op);
    }
}

void sl_releaser_stats(struct sl_releaser *releaser, struct sl_releaser_stats *out)
{
    out->in_flight = atomic_load(&releaser->in_flight);
    for (size_t i = 0; i < SL_RELEASE_ENDS; i++) {
        out->ends[i] = atomic_load(&releaser->ends[i]);
    }
    out->patches = atomic_load(&releaser->patches);
    out->reads = atomic_load(&releaser->reads);
    out->repeats = atomic_load(&releaser->repeats);
    out->withdrawn = atomic_load(&releaser->withdrawn);
}
