/* One binding at a time is a small machine: post, read, wait, until it is known what is true. Each
 * step begins where the last one ends, on the client's thread; only the first is the caller's. */
#include "kube/binder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/write.h"
#include "kube/clock.h"
#include "kube/gpushare.h"
#include "kube/pod_call.h"
#include "kube/pod_deadline.h"

enum { BODY_BYTES_MAX = 64 << 10, OPEN_ENDS = 256 };

static const int64_t open_end_us = 120000000;

/* A pod whose binding ended unknown: a POST for it may be on its way still. */
struct open_end {
    uint64_t uid_hash;
    int64_t at_us;
};

struct sl_kube_binder {
    struct sl_kube_binder_options options;
    atomic_uint_least64_t ends[SL_BIND_ENDS];
    atomic_uint_least64_t posts;
    atomic_uint_least64_t reads;
    struct sl_pod_deadlines deadlines;
    _Atomic int64_t assumed_ns; /* the last time stamp that gpushare's plugin was given */
    atomic_uint in_flight;
    pthread_mutex_t lock;
    struct open_end open_end[OPEN_ENDS]; /* the oldest is overwritten */
    unsigned next_open_end;
};

/* A pod's name, and what is to be done about it. */
struct op {
    struct sl_kube_binder *binder;
    struct sl_binding binding; /* its text stands in text */
    sl_bind_done done;
    void *call;
    struct sl_pod_calls calls;
    bool maybe;  /* a POST may have been carried out, or may yet */
    bool late;   /* too long ago for any POST: it is only read */
    bool unread; /* only the pod can tell what the last answer meant */
    struct sl_error err;
    struct sl_gpushare_marks gpushare; /* the same in every repetition of the POST */
    char text[];
};

static void post(void *context);
static void read_pod(void *context);

/* ---- text ---- */

static struct op *op_new(struct sl_kube_binder *binder, const struct sl_binding *binding)
{
    struct sl_str assignment = sl_str_of(binding->assignment);
    size_t size = binding->namespace.len + binding->name.len + binding->uid.len +
                  binding->node.len + assignment.len + 5;
    struct op *op = calloc(1, sizeof(*op) + size);
    if (op == NULL) {
        return NULL;
    }
    const struct sl_kube_binder_options *options = &binder->options;
    int64_t now_us = sl_kube_monotonic_us();
    char *at = op->text;
    op->binder = binder;
    op->binding.namespace = sl_pod_put_text(&at, binding->namespace);
    op->binding.name = sl_pod_put_text(&at, binding->name);
    op->binding.uid = sl_pod_put_text(&at, binding->uid);
    op->binding.node = sl_pod_put_text(&at, binding->node);
    op->binding.assignment = sl_pod_put_text(&at, assignment).s;
    op->binding.term = binding->term;
    op->binding.claimed = binding->claimed;
    op->calls = (struct sl_pod_calls){
        .client = options->client,
        .namespace = op->binding.namespace,
        .name = op->binding.name,
        .priority = SL_CALL_BIND,
        .try_us = options->try_us,
        .backoff_us = options->backoff_us,
        .backoff_max_us = options->backoff_max_us,
        .deadline_us = now_us + options->timeout_us,
        .jitter = (uint64_t)now_us ^ (uint64_t)(uintptr_t)op,
    };
    return op;
}

static void write_member(struct sl_writer *w, const char *key, struct sl_str value)
{
    sl_write_key(w, key);
    sl_write_str(w, value);
}

static void write_number(struct sl_writer *w, const char *key, int64_t number)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)number);
    write_member(w, key, (struct sl_str){text, (size_t)n});
}

/* The plugin sets ASSIGNED to "true" itself; nobody here writes any of these again. */
static void write_gpushare(struct sl_writer *w, const struct sl_gpushare_marks *marks)
{
    if (marks->index[0] == '\0') {
        return;
    }
    write_member(w, "ALIYUN_COM_GPU_MEM_IDX", sl_str_of(marks->index));
    write_number(w, "ALIYUN_COM_GPU_MEM_DEV", marks->device_units);
    write_number(w, "ALIYUN_COM_GPU_MEM_POD", marks->pod_units);
    write_member(w, "ALIYUN_COM_GPU_MEM_ASSIGNED", SL_STR("false"));
    write_number(w, "ALIYUN_COM_GPU_MEM_ASSUME_TIME", marks->assume_ns);
}

static void write_binding(struct sl_buf *body, const struct op *op)
{
    const struct sl_binding *binding = &op->binding;
    sl_buf_init(body, BODY_BYTES_MAX);
    struct sl_writer w = {.buf = body};
    sl_write_object(&w);
    write_member(&w, "apiVersion", SL_STR("v1"));
    write_member(&w, "kind", SL_STR("Binding"));
    sl_write_key(&w, "metadata");
    sl_write_object(&w);
    write_member(&w, "name", binding->name);
    write_member(&w, "namespace", binding->namespace);
    write_member(&w, "uid", binding->uid);
    sl_write_key(&w, "annotations");
    sl_write_object(&w);
    write_member(&w, "sliced.dev/assignment", sl_str_of(binding->assignment));
    write_gpushare(&w, &op->gpushare);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_write_key(&w, "target");
    sl_write_object(&w);
    write_member(&w, "apiVersion", SL_STR("v1"));
    write_member(&w, "kind", SL_STR("Node"));
    write_member(&w, "name", binding->node);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
}

/* ---- the deadline ---- */

static bool may_bind(const struct sl_kube_binder *binder, uint64_t term)
{
    const struct sl_kube_binder_options *options = &binder->options;
    return options->may_bind == NULL || options->may_bind(options->context, term);
}

/* After the bind: takes the operation over. */
static void follow_up(struct op *op)
{
    struct sl_kube_binder *binder = op->binder;
    const struct sl_binding *binding = &op->binding;
    struct sl_pod *pod = sl_store_pod(binder->options.store, binding->namespace, binding->name);
    if (pod != NULL && sl_str_eq(sl_str_of(pod->uid), binding->uid) &&
        sl_pod_deadline_wanted(pod)) {
        if (binding->claimed) { /* our watch may be behind the patch that released it */
            sl_pod_deadline_look(&binder->deadlines, pod);
        } else {
            sl_pod_deadline_set(&binder->deadlines, pod);
        }
    }
    sl_pod_unref(pod);
    free(op);
}

static bool lacks_deadline(const struct sl_pod *pod)
{
    return sl_pod_deadline_wanted(pod) && sl_pod_holds(pod) && pod->assignment != NULL;
}

void sl_kube_set_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod, uint64_t term)
{
    if (lacks_deadline(pod) && may_bind(binder, term)) {
        sl_pod_deadline_set(&binder->deadlines, pod);
    }
}

void sl_kube_retry_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod, uint64_t term)
{
    if (lacks_deadline(pod) && may_bind(binder, term) &&
        sl_pod_deadline_missed(&binder->deadlines, pod)) {
        sl_pod_deadline_set(&binder->deadlines, pod);
    }
}

/* ---- ends ---- */

static void note_open_end(struct sl_kube_binder *binder, struct sl_str uid)
{
    (void)pthread_mutex_lock(&binder->lock);
    binder->open_end[binder->next_open_end % OPEN_ENDS] =
        (struct open_end){sl_hash(uid.s, uid.len), sl_kube_monotonic_us()};
    binder->next_open_end++;
    (void)pthread_mutex_unlock(&binder->lock);
}

bool sl_kube_binder_is_quiet(struct sl_kube_binder *binder)
{
    int64_t since_us = sl_kube_monotonic_us() - open_end_us;
    bool quiet = atomic_load(&binder->in_flight) == 0;
    (void)pthread_mutex_lock(&binder->lock);
    for (size_t i = 0; i < OPEN_ENDS && quiet; i++) {
        quiet = binder->open_end[i].at_us == 0 || binder->open_end[i].at_us < since_us;
    }
    (void)pthread_mutex_unlock(&binder->lock);
    return quiet;
}

static bool has_open_end(struct sl_kube_binder *binder, struct sl_str uid)
{
    uint64_t hash = sl_hash(uid.s, uid.len);
    int64_t since_us = sl_kube_monotonic_us() - open_end_us;
    bool found = false;
    (void)pthread_mutex_lock(&binder->lock);
    for (size_t i = 0; i < OPEN_ENDS && !found; i++) {
        const struct open_end *end = &binder->open_end[i];
        found = end->at_us > 0 && end->at_us >= since_us && end->uid_hash == hash;
    }
    (void)pthread_mutex_unlock(&binder->lock);
    return found;
}

static void finish(struct op *op, enum sl_bind_end end)
{
    struct sl_kube_binder *binder = op->binder;
    bool bound = end == SL_BIND_END_BOUND;
    (void)atomic_fetch_add(&binder->ends[end], 1);
    if (end == SL_BIND_END_UNKNOWN) {
        (void)sl_error_wrap(&op->err, "whether the pod is bound is not known");
        if (!op->late) {
            note_open_end(binder, op->binding.uid);
        }
    }
    op->done(op->call, end, bound ? NULL : &op->err);
    (void)atomic_fetch_sub(&binder->in_flight, 1);
    if (bound) {
        follow_up(op);
    } else {
        free(op);
    }
}

/* No time, or no client, is left. */
static void give_up(struct op *op)
{
    finish(op, op->maybe || op->unread ? SL_BIND_END_UNKNOWN : SL_BIND_END_FAILED);
}

static void later(struct op *op, void (*step)(void *context), int64_t retry_after_us)
{
    if (sl_pod_calls_later(&op->calls, retry_after_us, step, op) < 0) {
        give_up(op);
    }
}

/* What the server said tells more than that a later try had no time. */
static void take_error(struct op *op, int status, const struct sl_error *err)
{
    bool late = status == 0 && sl_kube_monotonic_us() >= op->calls.try_end_us;
    if (!late) {
        op->err = *err;
    } else if (op->err.code == SL_ERR_NONE) {
        (void)sl_error_set(&op->err, SL_ERR_SYSTEM, "the API server did not answer in time");
    }
}

/* ---- the POST ---- */

static void on_posted(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    int status = reply->status;
    if (status == 200 || status == 201) {
        finish(op, SL_BIND_END_BOUND);
        return;
    }
    take_error(op, status, &reply->err);
    op->maybe = op->maybe || reply->maybe_done || status >= 500;
    if (status == 429 || (status == 0 && !reply->maybe_done)) {
        later(op, post, reply->retry_after_us); /* that one was not carried out */
    } else if (op->maybe || status == 409 || status == 404) {
        op->unread = true;
        read_pod(op);
    } else {
        finish(op, SL_BIND_END_FAILED);
    }
}

static void post(void *context)
{
    struct op *op = context;
    struct sl_buf body;
    struct sl_error err = {.code = SL_ERR_NONE};
    if (!may_bind(op->binder, op->binding.term)) {
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "this replica is not the leader any more");
        if (op->maybe) {
            later(op, read_pod, 0);
        } else {
            finish(op, SL_BIND_END_FAILED);
        }
        return;
    }
    write_binding(&body, op);
    struct sl_call_options call = {.method = "POST", .done = on_posted, .context = op};
    (void)atomic_fetch_add(&op->binder->posts, 1);
    if (sl_pod_calls_start(&op->calls, &call, "/binding", &body, &err) < 0) {
        if (op->err.code == SL_ERR_NONE) {
            op->err = err;
        }
        give_up(op);
    }
}

/* ---- the pod ---- */

static bool stands(const struct sl_pod *pod, struct sl_str node, const char *assignment)
{
    return pod->node != NULL && pod->assignment != NULL && sl_str_eq(sl_str_of(pod->node), node) &&
           strcmp(pod->assignment, assignment) == 0;
}

/* The pod may stand otherwise than the reservation says: by a binding that was taken for lost,
 * perhaps another replica's. The ledger must not count on the watch to be in time. */
static void tell_store(const struct op *op, const struct sl_pod_facts *facts)
{
    struct sl_store *store = op->binder->options.store;
    const struct sl_binding *binding = &op->binding;
    struct sl_pod *known = sl_store_pod(store, binding->namespace, binding->name);
    struct sl_pod *pod = NULL;
    /* else the watch has told of it, and perhaps of more */
    if (known != NULL && sl_str_eq(sl_str_of(known->uid), binding->uid) &&
        (known->node == NULL || stands(known, binding->node, binding->assignment))) {
        pod = sl_pod_new(facts, NULL);
    }
    if (pod != NULL && !(known->node != NULL && stands(pod, binding->node, binding->assignment))) {
        (void)sl_store_put_pod(store, sl_pod_ref(pod), NULL);
    }
    sl_pod_unref(pod);
    sl_pod_unref(known);
}

/* What is read of it. Text lives in the decoder. */
struct reading {
    struct op *op;
    enum sl_bind_end end; /* UNKNOWN: it has no node */
};

static void judge(void *context, const struct sl_pod_facts *pod)
{
    struct reading *reading = context;
    struct op *op = reading->op;
    reading->end = SL_BIND_END_FAILED;
    if (pod->node_name.len > 0) {
        tell_store(op, pod);
    }
    if (sl_str_eq(pod->node_name, op->binding.node)) {
        reading->end = SL_BIND_END_BOUND;
    } else if (pod->node_name.len > 0) {
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "the pod is bound to node %.*s",
                           (int)(pod->node_name.len < 253 ? pod->node_name.len : 253),
                           pod->node_name.s);
    } else if (pod->deleting) {
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "the pod is being deleted");
    } else if (op->late) {
        (void)sl_error_set(&op->err, SL_ERR_CONFLICT, "the pod was not bound");
    } else if (op->maybe) {
        reading->end = SL_BIND_END_UNKNOWN;
    } /* else: unbound as it was, the refusal's own words say why */
}

static void on_read(void *context, const struct sl_reply *reply)
{
    struct op *op = context;
    struct reading reading = {.op = op, .end = SL_BIND_END_UNKNOWN};
    struct sl_error err = {.code = SL_ERR_NONE};
    switch (sl_pod_read(reply, op->binding.uid, judge, &reading, &err)) {
    case SL_POD_UNREAD:
        take_error(op, reply->status, &err);
        later(op, read_pod, reply->retry_after_us);
        return;
    case SL_POD_GONE:
        op->err = err;
        finish(op, SL_BIND_END_FAILED);
        return;
    case SL_POD_READ:
        break;
    }
    if (reading.end == SL_BIND_END_UNKNOWN) {
        op->unread = false;
        later(op, post, 0); /* the UID makes it safe: once is all it can happen */
    } else {
        finish(op, reading.end);
    }
}

static void read_pod(void *context)
{
    struct op *op = context;
    struct sl_call_options call = {
        .method = "GET", .repeatable = true, .done = on_read, .context = op};
    (void)atomic_fetch_add(&op->binder->reads, 1);
    if (sl_pod_calls_start(&op->calls, &call, "", NULL, NULL) < 0) {
        later(op, read_pod, 0);
    }
}

/* ---- interface ---- */

struct sl_kube_binder *sl_kube_binder_new(const struct sl_kube_binder_options *options,
                                          struct sl_error *err)
{
    struct sl_kube_binder *binder = calloc(1, sizeof(*binder));
    if (binder == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    binder->options = *options;
    (void)pthread_mutex_init(&binder->lock, NULL);
    sl_pod_deadlines_init(&binder->deadlines, options->client, options->try_us);
    return binder;
}

void sl_kube_binder_free(struct sl_kube_binder *binder)
{
    if (binder != NULL) {
        sl_pod_deadlines_free(&binder->deadlines);
        (void)pthread_mutex_destroy(&binder->lock);
        free(binder);
    }
}

static void begin(struct op *op, sl_bind_done done, void *call)
{
    struct sl_kube_binder *binder = op->binder;
    op->done = done;
    op->call = call;
    (void)atomic_fetch_add(&binder->in_flight, 1);
}

void sl_kube_bind(void *context, const struct sl_binding *binding, sl_bind_done done, void *call)
{
    struct sl_kube_binder *binder = context;
    struct op *op = op_new(binder, binding);
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&binder->ends[SL_BIND_END_FAILED], 1);
        done(call, SL_BIND_END_FAILED, &err);
        return;
    }
    op->maybe = has_open_end(binder, binding->uid);
    sl_gpushare_marks_of(binder->options.store, binding, &binder->assumed_ns, sl_kube_real_us(),
                         &op->gpushare);
    begin(op, done, call);
    post(op);
}

void sl_kube_resolve(void *context, const struct sl_binding *binding, sl_bind_done done, void *call)
{
    struct sl_kube_binder *binder = context;
    struct op *op = op_new(binder, binding);
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&binder->ends[SL_BIND_END_UNKNOWN], 1);
        done(call, SL_BIND_END_UNKNOWN, &err);
        return;
    }
    op->late = true;
    op->unread = true;
    begin(op, done, call);
    read_pod(op);
}

void sl_kube_binder_stats(struct sl_kube_binder *binder, struct sl_kube_binder_stats *out)
{
    out->in_flight = atomic_load(&binder->in_flight); /* first: what has ended is in ends */
    for (size_t i = 0; i < SL_BIND_ENDS; i++) {
        out->ends[i] = atomic_load(&binder->ends[i]);
    }
    out->posts = atomic_load(&binder->posts);
    out->reads = atomic_load(&binder->reads);
    out->deadlines = atomic_load(&binder->deadlines.set);
    out->deadline_failures = atomic_load(&binder->deadlines.failures);
}
