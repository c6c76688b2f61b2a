/* A release is a change of its pod (change.c): the nomination is written first, then the gate. So
 * is the condition sliced.dev/Queued, which the nomination ends in the same patch. */
#include "kube/write/releaser.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/time.h"
#include "util/timestamp.h"

enum { REFUSALS_MAX = 3, NODE_SHOWN = 253 };

static const char strategic[] = "application/strategic-merge-patch+json";
static const char turn_text[] = "its turn has come: node ";

struct sl_releaser {
    struct sl_changes releases;
    struct sl_changes withdrawals;
    struct sl_changes conditions;
};

struct op {
    struct sl_change change;   /* first: change.c frees it; maybe: the gate's patch may have
                                      been carried out */
    struct sl_release release; /* its text stands behind, as that of queued */
    struct sl_queued queued;   /* of a condition alone */
    sl_release_done done;      /* NULL: nobody is told */
    void *call;
    unsigned refusals; /* answers that said the pod does not allow it */
    char at[32];       /* the annotation's time: the same with each try */
};

/* ---- the patches ---- */

/* Begins the metadata with the UID, by which the API server refuses a pod made anew; leaves it
 * open. */
static void write_begin(struct sl_writer *w, const struct op *op)
{
    sl_write_object(w);
    sl_write_member_object(w, "metadata");
    sl_write_member_str(w, "uid", op->release.uid);
}

static void write_time(struct sl_writer *w, const char *key, int64_t us)
{
    char text[32];
    sl_time_format(us / SL_SECOND_US * SL_SECOND_US, text);
    sl_write_member_text(w, key, text);
}

/* Writes the list of conditions of a strategic merge patch: what stands there of this type is
 * changed in the members that are written, and other types are left alone. */
static void write_condition(struct sl_writer *w, const struct sl_queued *queued)
{
    static const char *const words[] = {
        [SL_QUEUED_TRUE] = "True", [SL_QUEUED_FALSE] = "False", [SL_QUEUED_UNKNOWN] = "Unknown"};
    sl_write_member_array(w, "conditions");
    sl_write_object(w);
    sl_write_member_text(w, "type", SL_QUEUED_CONDITION);
    sl_write_member_text(w, "status", words[queued->status]);
    sl_write_member_str(w, "reason", queued->reason);
    sl_write_member_str(w, "message", queued->message);
    write_time(w, "lastProbeTime", sl_clock_real_us());
    if (queued->turned_us > 0) {
        write_time(w, "lastTransitionTime", queued->turned_us);
    }
    sl_write_object_end(w);
    sl_write_array_end(w);
}

static void write_queued_end(struct sl_writer *w, const struct sl_release *release)
{
    char text[sizeof(turn_text) + NODE_SHOWN];
    int len = (int)(release->node.len < NODE_SHOWN ? release->node.len : NODE_SHOWN);
    (void)snprintf(text, sizeof(text), "%s%.*s", turn_text, len, release->node.s);
    const struct sl_queued queued = {
        .status = SL_QUEUED_FALSE,
        .reason = SL_STR("Nominated"),
        .message = sl_str_of(text),
        .turned_us = sl_clock_real_us(),
    };
    write_condition(w, &queued);
}

static void write_nomination(struct sl_writer *w, const struct op *op)
{
    write_begin(w, op);
    sl_write_object_end(w);
    sl_write_member_object(w, "status");
    sl_write_member_str(w, "nominatedNodeName", op->release.node);
    if (op->release.queued) {
        write_queued_end(w, &op->release);
    }
    sl_write_object_end(w);
    sl_write_object_end(w);
}

void sl_release_write_gate(struct sl_writer *w)
{
    sl_write_member_array(w, "schedulingGates");
    sl_write_object(w);
    sl_write_member_text(w, "$patch", "delete");
    sl_write_member_text(w, "name", SL_QUEUE_GATE);
    sl_write_object_end(w);
    sl_write_array_end(w);
}

static void write_spec(struct sl_writer *w, const struct sl_release *release)
{
    sl_write_member_object(w, "spec");
    if (release->gated) {
        sl_release_write_gate(w);
    }
    if (release->deadline_s > 0) {
        sl_write_member_i64(w, "activeDeadlineSeconds", release->deadline_s);
    }
    sl_write_object_end(w);
}

static void write_opening(struct sl_writer *w, struct op *op)
{
    const struct sl_release *release = &op->release;
    if (op->at[0] == '\0') {
        sl_time_format(sl_clock_real_us(), op->at);
    }
    write_begin(w, op);
    sl_write_member_object(w, "annotations");
    sl_write_member_text(w, SL_RELEASED_ANNOTATION, op->at);
    sl_write_object_end(w);
    sl_write_object_end(w);
    if (release->gated || release->deadline_s > 0) {
        write_spec(w, release);
    }
    sl_write_object_end(w);
}

static bool lacks_nomination(const struct op *op)
{
    return !op->release.nominated && op->release.node.len > 0;
}

static const char *release_write(struct sl_change *change, struct sl_call_options *call,
                                 struct sl_buf *body)
{
    struct op *op = (struct op *)change;
    struct sl_writer w = {.buf = body};
    call->form = SL_FORM_METADATA;
    call->repeatable = true;
    if (lacks_nomination(op)) {
        call->content_type = op->release.queued ? strategic : "application/merge-patch+json";
        write_nomination(&w, op);
        return "/status";
    }
    call->content_type = strategic;
    write_opening(&w, op);
    return "";
}

/* ---- answers ---- */

/* False for RBAC's words ("User \"x\" cannot patch resource \"pods\""), which are about this daemon
 * and every pod. Admission may refuse with any status of these: webhooks answer 400 if they say
 * none. */
static bool is_about_the_pod(const struct sl_reply *reply)
{
    bool ours = reply->status == 403 && strstr(reply->err.message, " cannot patch resource ");
    return reply->status >= 400 && reply->status < 500 && reply->status != 401 && !ours;
}

static enum sl_change_turn release_refused(struct op *op, const struct sl_reply *reply)
{
    struct sl_change *change = &op->change;
    int status = reply->status;
    if (status == 404) {
        (void)sl_error_set(&change->err, SL_ERR_NOTFOUND, "the pod is gone");
        return SL_CHANGE_GONE;
    }
    if (status == 0 || status == 408 || status == 429 || status >= 500) {
        return SL_CHANGE_WRITE_LATER;
    }
    if ((status == 409 || status == 422) && ++op->refusals < REFUSALS_MAX) {
        return SL_CHANGE_READ;
    }
    return is_about_the_pod(reply) && !change->maybe ? SL_CHANGE_REFUSED
                                                     : sl_change_give_up(change);
}

static enum sl_change_turn release_answered(struct sl_change *change, const struct sl_reply *reply)
{
    struct op *op = (struct op *)change;
    bool nomination = lacks_nomination(op);
    if (reply->status != 200) {
        change->maybe =
            change->maybe || (!nomination && (reply->maybe_done || reply->status >= 500));
        return release_refused(op, reply);
    }
    op->release.nominated = true;
    change->tries = 0;
    return nomination ? SL_CHANGE_WRITE : SL_CHANGE_DONE;
}

static bool is_over(const struct sl_pod_facts *pod)
{
    return pod->deleting || sl_str_eq(pod->phase, SL_STR("Succeeded")) ||
           sl_str_eq(pod->phase, SL_STR("Failed"));
}

static enum sl_change_turn release_judge(struct sl_change *change, const struct sl_object *object)
{
    const struct sl_pod_facts *pod = object->pod;
    struct sl_release *release = &((struct op *)change)->release;
    bool gated = sl_pair_find(pod->gates, SL_STR(SL_QUEUE_GATE)) != NULL;
    if (is_over(pod)) {
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the pod has ended or is being deleted");
        return SL_CHANGE_GONE;
    }
    if (pod->node_name.len > 0 || (release->gated && !gated)) {
        return SL_CHANGE_DONE;
    }
    bool shorter = pod->deadline_s > 0 && pod->deadline_s <= release->deadline_s;
    release->gated = gated;
    release->deadline_s = shorter ? 0 : release->deadline_s;
    return SL_CHANGE_WRITE_LATER;
}

_Static_assert((int)SL_RELEASE_RELEASED == (int)SL_CHANGE_DONE &&
                   (int)SL_RELEASE_GONE == (int)SL_CHANGE_GONE &&
                   (int)SL_RELEASE_REFUSED == (int)SL_CHANGE_REFUSED &&
                   (int)SL_RELEASE_FAILED == (int)SL_CHANGE_FAILED &&
                   (int)SL_RELEASE_UNKNOWN == (int)SL_CHANGE_UNKNOWN,
               "a release ends as its change does");

static void release_ended(struct sl_change *change, enum sl_change_turn end)
{
    const struct op *op = (const struct op *)change;
    if (op->done != NULL) {
        op->done(op->call, (enum sl_release_end)end, end == SL_CHANGE_DONE ? NULL : &change->err);
    }
}

static const struct sl_change_kind release_kind = {
    .priority = SL_CALL_NORMAL,
    .object = SL_OBJECT_POD,
    .waits_for_place = true,
    .write = release_write,
    .answered = release_answered,
    .judge = release_judge,
    .ended = release_ended,
};

/* ---- taking a nomination back ---- */

static void write_test(struct sl_writer *w, const char *path, struct sl_str value)
{
    sl_write_object(w);
    sl_write_member_text(w, "op", "test");
    sl_write_member_text(w, "path", path);
    sl_write_member_str(w, "value", value);
    sl_write_object_end(w);
}

static const char *withdrawal_write(struct sl_change *change, struct sl_call_options *call,
                                    struct sl_buf *body)
{
    static const char path[] = "/status/nominatedNodeName";
    const struct sl_release *release = &((const struct op *)change)->release;
    struct sl_writer w = {.buf = body};
    call->content_type = "application/json-patch+json";
    call->repeatable = true;
    sl_write_array(&w);
    write_test(&w, "/metadata/uid", release->uid);
    write_test(&w, path, release->node);
    sl_write_object(&w);
    sl_write_member_text(&w, "op", "remove");
    sl_write_member_text(&w, "path", path);
    sl_write_object_end(&w);
    sl_write_array_end(&w);
    return "/status";
}

/* 422 says that the nomination is another node's, or gone, or another pod's. */
static enum sl_change_turn withdrawal_answered(struct sl_change *change,
                                               const struct sl_reply *reply)
{
    (void)change;
    return reply->status == 200 ? SL_CHANGE_DONE : SL_CHANGE_FAILED;
}

static const struct sl_change_kind withdrawal_kind = {
    .priority = SL_CALL_NORMAL,
    .object = SL_OBJECT_POD,
    .write = withdrawal_write,
    .answered = withdrawal_answered,
    .ended = release_ended,
};

/* ---- the condition ---- */

void sl_release_write_condition(struct sl_writer *w, const struct sl_queued *queued)
{
    sl_write_object(w);
    sl_write_member_object(w, "metadata");
    sl_write_member_str(w, "uid", queued->uid);
    sl_write_object_end(w);
    sl_write_member_object(w, "status");
    write_condition(w, queued);
    sl_write_object_end(w);
    sl_write_object_end(w);
}

static const char *showing_write(struct sl_change *change, struct sl_call_options *call,
                                 struct sl_buf *body)
{
    const struct sl_queued *queued = &((const struct op *)change)->queued;
    struct sl_writer w = {.buf = body};
    call->form = SL_FORM_METADATA;
    call->repeatable = true;
    call->content_type = strategic;
    sl_release_write_condition(&w, queued);
    return "/status";
}

static enum sl_change_turn showing_answered(struct sl_change *change, const struct sl_reply *reply)
{
    struct op *op = (struct op *)change;
    int status = reply->status;
    if (status == 200 || status == 404) {
        return status == 200 ? SL_CHANGE_DONE : SL_CHANGE_GONE;
    }
    if (status == 0 || status == 408 || status == 429 || status >= 500) {
        /* a place is written anew before long; repeating it would load a server that is slow */
        return op->queued.status == SL_QUEUED_FALSE ? SL_CHANGE_WRITE_LATER : SL_CHANGE_FAILED;
    }
    if (status == 409 || status == 422) { /* changed by others just now, or made anew */
        return ++op->refusals < REFUSALS_MAX ? SL_CHANGE_WRITE_LATER : SL_CHANGE_GONE;
    }
    return SL_CHANGE_FAILED;
}

static const struct sl_change_kind showing_kind = {
    .priority = SL_CALL_LOW,
    .object = SL_OBJECT_POD,
    .waits_for_place = true,
    .write = showing_write,
    .answered = showing_answered,
    .ended = release_ended,
};

/* ---- interface ---- */

struct sl_releaser *sl_releaser_new(const struct sl_change_options *options, struct sl_error *err)
{
    struct sl_releaser *releaser = calloc(1, sizeof(*releaser));
    if (releaser == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    sl_changes_init(&releaser->releases, options);
    sl_changes_init(&releaser->withdrawals, options);
    sl_changes_init(&releaser->conditions, options);
    return releaser;
}

void sl_releaser_set_timeout(struct sl_releaser *releaser, int64_t timeout_us)
{
    atomic_store(&releaser->releases.timeout_us, timeout_us);
    atomic_store(&releaser->withdrawals.timeout_us, timeout_us);
    atomic_store(&releaser->conditions.timeout_us, timeout_us);
}

void sl_releaser_free(struct sl_releaser *releaser)
{
    free(releaser);
}

static struct op *release_new(struct sl_changes *changes, const struct sl_change_kind *kind,
                              const struct sl_release *release)
{
    struct sl_release copy = *release;
    struct sl_str *const text[] = {&copy.namespace, &copy.name, &copy.uid, &copy.node};
    struct op *op = sl_change_new(sizeof(*op), changes, kind, text, 4, copy.leadership);
    if (op != NULL) {
        op->release = copy;
    }
    return op;
}

/* op is NULL when out of memory. */
static void op_begin(struct op *op, struct sl_changes *changes, sl_release_done done, void *call)
{
    if (op == NULL) {
        struct sl_error err;
        (void)sl_error_nomem(&err);
        (void)atomic_fetch_add(&changes->ends[SL_CHANGE_FAILED], 1);
        if (done != NULL) {
            done(call, SL_RELEASE_FAILED, &err);
        }
        return;
    }
    op->done = done;
    op->call = call;
    sl_change_begin(&op->change, SL_CHANGE_WRITE);
}

void sl_release(void *releaser, const struct sl_release *release, sl_release_done done, void *call)
{
    struct sl_changes *changes = &((struct sl_releaser *)releaser)->releases;
    op_begin(release_new(changes, &release_kind, release), changes, done, call);
}

void sl_release_withdraw(void *releaser, const struct sl_release *release)
{
    struct sl_changes *changes = &((struct sl_releaser *)releaser)->withdrawals;
    op_begin(release_new(changes, &withdrawal_kind, release), changes, NULL, NULL);
}

void sl_release_show(void *releaser, const struct sl_queued *queued, sl_release_done done,
                     void *call)
{
    struct sl_changes *changes = &((struct sl_releaser *)releaser)->conditions;
    struct sl_queued copy = *queued;
    struct sl_str *const text[] = {&copy.namespace, &copy.name, &copy.uid, &copy.reason,
                                   &copy.message};
    struct op *op = sl_change_new(sizeof(*op), changes, &showing_kind, text, 5, copy.leadership);
    if (op != NULL) {
        op->queued = copy;
    }
    op_begin(op, changes, done, call);
}

void sl_releaser_stats(struct sl_releaser *releaser, struct sl_releaser_stats *out)
{
    out->repeats = atomic_load(&releaser->releases.repeats);
    out->withdrawn = atomic_load(&releaser->withdrawals.ends[SL_CHANGE_DONE]);
    out->shown = atomic_load(&releaser->conditions.ends[SL_CHANGE_DONE]);
    out->shown_failed = atomic_load(&releaser->conditions.ends[SL_CHANGE_FAILED]) +
                        atomic_load(&releaser->conditions.ends[SL_CHANGE_UNKNOWN]);
}
