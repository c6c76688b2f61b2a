/* A binding is a change of its pod (change.c). Here stands the write, and what an answer and
 * the pod tell of it. */
#include "kube/write/binder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "codec/write.h"
#include "kube/write/gpushare.h"
#include "kube/write/pod_deadline.h"
#include "util/clock.h"
#include "util/data/hash.h"
#include "util/time.h"

enum { OPEN_ENDS = 256, NODE_SHOWN = 253 };

static const int64_t open_end_us = 2 * SL_MINUTE_US;

/* A pod whose binding ended unknown: a POST for it may still be on its way. */
struct open_end {
    uint64_t uid_hash;
    int64_t at_us;
};

struct sl_kube_binder {
    struct sl_store *store;
    struct sl_changes changes;
    struct sl_pod_deadlines deadlines;
    _Atomic int64_t assumed_ns; /* the last time stamp that gpushare's plugin was given */
    pthread_mutex_t lock;
    struct open_end open_end[OPEN_ENDS]; /* the oldest is overwritten */
    unsigned next_open_end;
};

struct op {
    struct sl_change change; /* first: change.c frees it */
    struct sl_kube_binder *binder;
    struct sl_binding binding; /* its text stands behind */
    sl_bind_done done;
    void *call;
    bool late;                         /* no POST can be on its way any more: it is only read */
    struct sl_gpushare_marks gpushare; /* the same in every repetition of the POST */
};

/* ---- the POST ---- */

static void write_number(struct sl_writer *w, const char *key, int64_t number)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)number);
    sl_write_member_str(w, key, (struct sl_str){text, (size_t)n});
}

/* The plugin sets ASSIGNED to "true" itself; nobody here writes any of these again. */
static void write_gpushare(struct sl_writer *w, const struct sl_gpushare_marks *marks)
{
    if (marks->index[0] == '\0') {
        return;
    }
    sl_write_member_text(w, "ALIYUN_COM_GPU_MEM_IDX", marks->index);
    write_number(w, "ALIYUN_COM_GPU_MEM_DEV", marks->device_units);
    write_number(w, "ALIYUN_COM_GPU_MEM_POD", marks->pod_units);
    sl_write_member_text(w, "ALIYUN_COM_GPU_MEM_ASSIGNED", "false");
    write_number(w, "ALIYUN_COM_GPU_MEM_ASSUME_TIME", marks->assume_ns);
}

static void write_binding(struct sl_buf *body, const struct op *op)
{
    const struct sl_binding *binding = &op->binding;
    struct sl_writer w = {.buf = body};
    sl_write_object(&w);
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "kind", "Binding");
    sl_write_member_object(&w, "metadata");
    sl_write_member_str(&w, "name", binding->name);
    sl_write_member_str(&w, "namespace", binding->namespace);
    sl_write_member_str(&w, "uid", binding->uid);
    sl_write_member_object(&w, "annotations");
    sl_write_member_text(&w, "sliced.dev/assignment", binding->assignment);
    write_gpushare(&w, &op->gpushare);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_write_member_object(&w, "target");
    sl_write_member_text(&w, "apiVersion", "v1");
    sl_write_member_text(&w, "kind", "Node");
    sl_write_member_str(&w, "name", binding->node);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
}

static const char *bind_write(struct sl_change *change, struct sl_call_options *call,
                              struct sl_buf *body)
{
    call->method = "POST";
    write_binding(body, (const struct op *)change);
    return "/binding";
}

static enum sl_change_turn bind_answered(struct sl_change *change, const struct sl_reply *reply)
{
    int status = reply->status;
    if (status == 200 || status == 201) {
        return SL_CHANGE_DONE;
    }
    change->maybe = change->maybe || reply->maybe_done || status >= 500;
    if (status == 429 || (status == 0 && !reply->maybe_done)) {
        return SL_CHANGE_WRITE_LATER; /* this POST was not carried out */
    }
    change->unread = change->maybe || status == 409 || status == 404;
    return change->unread ? SL_CHANGE_READ : SL_CHANGE_FAILED;
}

/* ---- the pod ---- */

static bool pod_stands(const struct sl_pod *pod, struct sl_str node, const char *assignment)
{
    return pod->node != NULL && pod->assignment != NULL && sl_str_eq(sl_str_of(pod->node), node) &&
           strcmp(pod->assignment, assignment) == 0;
}

/* Tells the store at once how the pod stands, without waiting for the watch: a binding that was
 * taken for lost, perhaps another replica's, may have given it other devices than the reservation.
 */
static void tell_store(const struct op *op, const struct sl_pod_facts *facts)
{
    struct sl_store *store = op->binder->store;
    const struct sl_binding *binding = &op->binding;
    struct sl_pod *known = sl_store_pod(store, binding->namespace, binding->name);
    struct sl_pod *pod = NULL;
    /* else the watch has told of it already, and perhaps of more */
    if (known != NULL && sl_str_eq(sl_str_of(known->uid), binding->uid) &&
        (known->node == NULL || pod_stands(known, binding->node, binding->assignment))) {
        pod = sl_pod_new(facts, NULL);
    }
    if (pod != NULL &&
        !(known->node != NULL && pod_stands(pod, binding->node, binding->assignment))) {
        (void)sl_store_put_pod(store, sl_pod_ref(pod), NULL);
    }
    sl_pod_unref(pod);
    sl_pod_unref(known);
}

static enum sl_change_turn bind_judge(struct sl_change *change, const struct sl_object *object)
{
    const struct sl_pod_facts *pod = object->pod;
    const struct op *op = (const struct op *)change;
    if (pod->node_name.len > 0) {
        tell_store(op, pod);
    }
    if (sl_str_eq(pod->node_name, op->binding.node)) {
        return SL_CHANGE_DONE;
    }
    if (pod->node_name.len > 0) {
        int len = (int)(pod->node_name.len < NODE_SHOWN ? pod->node_name.len : NODE_SHOWN);
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the pod is bound to node %.*s", len,
                           pod->node_name.s);
    } else if (pod->deleting) {
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the pod is being deleted");
    } else if (op->late) {
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the pod was not bound");
    } else if (change->maybe) {
        change->unread = false;
        return SL_CHANGE_WRITE_LATER; /* safe, since the API server binds that UID only once */
    } /* else the pod is unbound as it was, and the refusal's own words say why */
    return SL_CHANGE_FAILED;
}

/* ---- the deadline ---- */

static void deadline_follow_up(const struct op *op)
{
    struct sl_kube_binder *binder = op->binder;
    const struct sl_binding *binding = &op->binding;
    struct sl_pod *pod = sl_store_pod(binder->store, binding->namespace, binding->name);
    if (pod != NULL && sl_str_eq(sl_str_of(pod->uid), binding->uid) &&
        sl_pod_deadline_wanted(pod)) {
        if (binding->nominated) { /* our watch may be behind the patch that released it */
            sl_pod_deadline_look(&binder->deadlines, pod);
        } else {
            sl_pod_deadline_set(&binder->deadlines, pod);
        }
    }
    sl_pod_unref(pod);
}

static bool pod_lacks_deadline(const struct sl_pod *pod)
{
    return sl_pod_deadline_wanted(pod) && sl_pod_holds(pod) && pod->assignment != NULL;
}

void sl_kube_set_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod,
                          uint64_t leadership)
{
    if (pod_lacks_deadline(pod) && sl_changes_lead(&binder->changes, leadership)) {
        sl_pod_deadline_set(&binder->deadlines, pod);
    }
}

void sl_kube_retry_deadline(struct sl_kube_binder *binder, const struct sl_pod *pod,
                            uint64_t leadership)
{
    if (pod_lacks_deadline(pod) && sl_changes_lead(&binder->changes, leadership) &&
        sl_pod_deadline_missed(&binder->deadlines, pod)) {
        sl_pod_deadline_set(&binder->deadlines, pod);
    }
}

bool sl_kube_end_early(struct sl_kube_binder *binder, const struct sl_pod *pod, int64_t now_us,
                       uint64_t leadership)
{
    int64_t seconds = (now_us - pod->started_us) / SL_SECOND_US;
    bool ends = pod->started_us > 0 && seconds > 0 && seconds < pod->timeout_s &&
                sl_pod_holds(pod) && sl_changes_lead(&binder->changes, leadership);
    if (ends) {
        sl_pod_deadline_shorten(&binder->deadlines, pod, seconds);
    }
    return ends;
}

/* ---- ends ---- */

static void note_open_end(struct sl_kube_binder *binder, struct sl_str uid)
{
    (void)pthread_mutex_lock(&binder->lock);
    binder->open_end[binder->next_open_end % OPEN_ENDS] =
        (struct open_end){sl_hash(uid.s, uid.len), sl_clock_monotonic_us()};
    binder->next_open_end++;
    (void)pthread_mutex_unlock(&binder->lock);
}

bool sl_kube_binder_is_quiet(struct sl_kube_binder *binder)
{
    int64_t since_us = sl_clock_monotonic_us() - open_end_us;
    bool quiet = atomic_load(&binder->changes.in_flight) == 0;
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
    int64_t since_us = sl_clock_monotonic_us() - open_end_us;
    bool found = false;
    (void)pthread_mutex_lock(&binder->lock);
    for (size_t i = 0; i < OPEN_ENDS && !found; i++) {
        const struct open_end *end = &binder->open_end[i];
        found = end->at_us > 0 && end->at_us >= since_us && end->uid_hash == hash;
    }
    (void)pthread_mutex_unlock(&binder->lock);
    return found;
}

static const enum sl_bind_end bind_ends[SL_CHANGE_ENDS] = {
    [SL_CHANGE_DONE] = SL_BIND_END_BOUND,      [SL_CHANGE_GONE] = SL_BIND_END_FAILED,
    [SL_CHANGE_REFUSED] = SL_BIND_END_FAILED,  [SL_CHANGE_FAILED] = SL_BIND_END_FAILED,
    [SL_CHANGE_UNKNOWN] = SL_BIND_END_UNKNOWN,
};

static void bind_ending(struct sl_change *change, enum sl_change_turn end)
{
    struct op *op = (struct op *)change;
    if (end == SL_CHANGE_UNKNOWN) {
        (void)sl_error_wrap(&change->err, "whether the pod is bound is not known");
        if (!op->late) {
            note_open_end(op->binder, op->binding.uid);
        }
    }
}

static void bind_ended(struct sl_change *change, enum sl_change_turn end)
{
    struct op *op = (struct op *)change;
    op->done(op->call, bind_ends[end], end == SL_CHANGE_DONE ? NULL : &change->err);
    if (end == SL_CHANGE_DONE) {
        deadline_follow_up(op);
    }
}

static const struct sl_change_kind bind_kind = {
    .priority = SL_CALL_BIND,
    .object = SL_OBJECT_POD,
    .reads_on = true,
    .write = bind_write,
    .answered = bind_answered,
    .judge = bind_judge,
    .ending = bind_ending,
    .ended = bind_ended,
};

/* ---- interface ---- */

struct sl_kube_binder *sl_kube_binder_new(const struct sl_change_options *options,
                                          struct sl_store *store, struct sl_error *err)
{
    struct sl_kube_binder *binder = calloc(1, sizeof(*binder));
    if (binder == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    binder->store = store;
    sl_changes_init(&binder->changes, options);
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

/* NULL: out of memory; then done was called with that end. */
static struct op *op_new(struct sl_kube_binder *binder, const struct sl_binding *binding,
                         sl_bind_done done, void *call, enum sl_change_turn otherwise)
{
    struct sl_binding copy = *binding;
    struct sl_str assignment = sl_str_of(binding->assignment);
    struct sl_str *const text[] = {&copy.namespace, &copy.name, &copy.uid, &copy.node, &assignment};
    struct op *op =
        sl_change_new(sizeof(*op), &binder->changes, &bind_kind, text, 5, copy.leadership);
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&binder->changes.ends[otherwise], 1);
        done(call, bind_ends[otherwise], &err);
        return NULL;
    }
    copy.assignment = assignment.s;
    op->binder = binder;
    op->binding = copy;
    op->done = done;
    op->call = call;
    return op;
}

void sl_kube_bind(void *context, const struct sl_binding *binding, sl_bind_done done, void *call)
{
    struct sl_kube_binder *binder = context;
    struct op *op = op_new(binder, binding, done, call, SL_CHANGE_FAILED);
    if (op != NULL) {
        op->change.maybe = has_open_end(binder, binding->uid);
        sl_gpushare_marks_of(binder->store, binding, &binder->assumed_ns, sl_clock_real_us(),
                             &op->gpushare);
        sl_change_begin(&op->change, SL_CHANGE_WRITE);
    }
}

void sl_kube_resolve(void *context, const struct sl_binding *binding, sl_bind_done done, void *call)
{
    struct op *op = op_new(context, binding, done, call, SL_CHANGE_UNKNOWN);
    if (op != NULL) {
        op->late = true;
        op->change.unread = true;
        sl_change_begin(&op->change, SL_CHANGE_READ);
    }
}

void sl_kube_binder_stats(struct sl_kube_binder *binder, struct sl_kube_binder_stats *out)
{
    struct sl_changes *changes = &binder->changes;
    *out = (struct sl_kube_binder_stats){
        .in_flight = atomic_load(&changes->in_flight)}; /* first: what has ended is in ends */
    for (size_t i = 0; i < SL_CHANGE_ENDS; i++) {
        out->ends[bind_ends[i]] += atomic_load(&changes->ends[i]);
    }
    out->posts = atomic_load(&changes->writes);
    out->reads = atomic_load(&changes->reads);
    out->deadlines = atomic_load(&binder->deadlines.set);
    out->deadlines_shortened = atomic_load(&binder->deadlines.shortened);
    out->deadline_failures = atomic_load(&binder->deadlines.failures);
}
