/* Each step, or its failure to begin, leads to the next one or to the end. A function that hands
 * the change on does not look at it again: it may be over and freed. */
#include "kube/write/change.h"

#include <stdlib.h>

#include "kube/client/object_call.h"
#include "kube/client/pacing.h"
#include "util/clock.h"

enum { BODY_BYTES_MAX = 4 << 20 /* a ConfigMap of 1 MiB, escaped */, UID_SHOWN = 64 };

static void change_write(void *context);
static void change_read(void *context);

void sl_changes_init(struct sl_changes *changes, const struct sl_change_options *options)
{
    *changes = (struct sl_changes){.options = *options, .timeout_us = options->timeout_us};
}

bool sl_changes_lead(const struct sl_changes *changes, uint64_t leadership)
{
    const struct sl_change_options *options = &changes->options;
    return options->leads == NULL || options->leads(options->context, leadership);
}

static void change_end(struct sl_change *change, enum sl_change_turn end)
{
    struct sl_changes *changes = change->changes;
    (void)atomic_fetch_add(&changes->ends[end], 1);
    if (change->kind->ending != NULL) {
        change->kind->ending(change, end);
    }
    (void)atomic_fetch_sub(&changes->in_flight, 1);
    change->kind->ended(change, end); /* whoever is told finds it counted out */
    free(change);
}

enum sl_change_turn sl_change_give_up(const struct sl_change *change)
{
    return change->maybe || change->unread ? SL_CHANGE_UNKNOWN : SL_CHANGE_FAILED;
}

static void change_wait(struct sl_change *change, int64_t retry_after_us,
                        void (*step)(void *context))
{
    const struct sl_change_options *options = &change->changes->options;
    (void)atomic_fetch_add(&change->changes->repeats, 1);
    change->tries++;
    int64_t delay_us = sl_backoff_us(change->tries, options->backoff_us, options->backoff_max_us,
                                     sl_jitter(&change->jitter));
    delay_us = delay_us < retry_after_us ? retry_after_us : delay_us;
    if (sl_clock_monotonic_us() + delay_us >= change->deadline_us ||
        sl_client_after(options->client, delay_us, step, change) < 0) {
        change_end(change, sl_change_give_up(change));
    }
}

static void change_go_on(struct sl_change *change, enum sl_change_turn turn, int64_t retry_after_us)
{
    if (turn == SL_CHANGE_WRITE) {
        change_write(change);
    } else if (turn == SL_CHANGE_READ) {
        change_read(change);
    } else if (turn == SL_CHANGE_WRITE_LATER) {
        change_wait(change, retry_after_us, change_write);
    } else if (turn == SL_CHANGE_READ_LATER) {
        change_wait(change, retry_after_us, change_read);
    } else {
        change_end(change, turn);
    }
}

/* Starts a call that is tried once, within try_us and before the deadline: the leadership is asked
 * for before each repetition. Frees the body. */
static int change_call(struct sl_change *change, struct sl_call_options *call, const char *end,
                       struct sl_buf *body)
{
    const struct sl_change_options *options = &change->changes->options;
    int64_t now_us = sl_clock_monotonic_us();
    int64_t left_us = change->deadline_us - now_us;
    struct sl_error err = {.code = SL_ERR_NONE};
    left_us = left_us < options->try_us ? left_us : options->try_us;
    call->priority = change->kind->priority;
    call->max_tries = 1;
    call->within_us = left_us < 1 ? 1 : left_us; /* no time is left: it ends at once */
    call->context = change;
    change->try_end_us = now_us + left_us;
    const struct sl_object_ref object = {change->kind->object, change->namespace,
                                         end == NULL ? (struct sl_str){NULL, 0} : change->name};
    if (sl_object_call(options->client, &object, end == NULL ? "" : end, body, call, &err) == 0) {
        return 0;
    }
    if (change->err.code == SL_ERR_NONE) {
        change->err = err;
    }
    return -1;
}

/* Prefers the server's words to the news that a later try had no time. */
static void change_note_error(struct sl_change *change, int status, const struct sl_error *err)
{
    bool late = status == 0 && sl_clock_monotonic_us() >= change->try_end_us;
    if (!late) {
        change->err = *err;
    } else if (change->err.code == SL_ERR_NONE) {
        (void)sl_error_set(&change->err, SL_ERR_SYSTEM, "the API server did not answer in time");
    }
}

/* ---- writing ---- */

static void on_written(void *context, const struct sl_reply *reply)
{
    struct sl_change *change = context;
    if (reply->status != 200 && reply->status != 201) {
        change_note_error(change, reply->status, &reply->err);
    }
    change_go_on(change, change->kind->answered(change, reply), reply->retry_after_us);
}

static void change_write(void *context)
{
    struct sl_change *change = context;
    struct sl_call_options call = {.method = "PATCH", .done = on_written};
    struct sl_buf body;
    if (!sl_changes_lead(change->changes, change->leadership)) {
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT,
                           "this replica is not the leader any more");
        change_go_on(change,
                     change->maybe && change->kind->reads_on ? SL_CHANGE_READ_LATER
                                                             : sl_change_give_up(change),
                     0);
        return;
    }
    (void)atomic_fetch_add(&change->changes->writes, 1);
    sl_buf_init(&body, BODY_BYTES_MAX);
    const char *end = change->kind->write(change, &call, &body);
    if (change_call(change, &call, end, &body) < 0) {
        change_go_on(
            change,
            change->kind->waits_for_place ? SL_CHANGE_WRITE_LATER : sl_change_give_up(change), 0);
    }
}

/* ---- reading ---- */

struct reading {
    struct sl_change *change;
    enum sl_change_turn turn;
};

static const char *noun_of(const struct sl_change *change)
{
    static const char *const nouns[] = {
        [SL_OBJECT_NODE] = "node", [SL_OBJECT_POD] = "pod", [SL_OBJECT_CONFIG_MAP] = "ConfigMap"};
    return nouns[change->kind->object];
}

static int take_object(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct reading *reading = context;
    struct sl_change *change = reading->change;
    (void)err;
    if (object->kind != change->kind->object) {
        return 0;
    }
    struct sl_str uid = object->pod != NULL ? object->pod->uid : object->node->uid;
    if (change->uid.len == 0 || sl_str_eq(uid, change->uid)) {
        reading->turn = change->kind->judge(change, object);
    } else {
        reading->turn = SL_CHANGE_GONE;
        (void)sl_error_set(&change->err, SL_ERR_CONFLICT, "the %s was made anew, with UID %.*s",
                           noun_of(change), (int)(uid.len < UID_SHOWN ? uid.len : UID_SHOWN),
                           uid.s);
    }
    return 0;
}

static enum sl_change_turn read_object(struct sl_change *change, struct sl_str text,
                                       struct sl_error *err)
{
    struct reading reading = {change, SL_CHANGE_READ_LATER};
    if (sl_manifest_decode(text.s, text.len, &sl_kube_text_limits, take_object, &reading, err) ==
        0) {
        (void)sl_error_set(err, SL_ERR_FIELD, "the API server's answer was no %s", noun_of(change));
    }
    return reading.turn;
}

static enum sl_change_turn object_absent(struct sl_change *change)
{
    (void)sl_error_set(&change->err, SL_ERR_NOTFOUND, "the %s is gone", noun_of(change));
    return SL_CHANGE_GONE;
}

static void on_read(void *context, const struct sl_reply *reply)
{
    struct sl_change *change = context;
    const struct sl_change_kind *kind = change->kind;
    enum sl_change_turn turn = SL_CHANGE_READ_LATER;
    struct sl_error err = reply->err;
    if (reply->status == 404) {
        turn = kind->absent == NULL ? object_absent(change) : kind->absent(change);
    } else if (reply->status == 200) {
        turn = kind->read == NULL ? read_object(change, reply->body, &err)
                                  : kind->read(change, reply->body, &err);
    }
    if (turn == SL_CHANGE_READ_LATER) {
        change_note_error(change, reply->status, &err);
    }
    change_go_on(change, turn, reply->retry_after_us);
}

static void change_read(void *context)
{
    struct sl_change *change = context;
    struct sl_call_options call = {.method = "GET", .repeatable = true, .done = on_read};
    (void)atomic_fetch_add(&change->changes->reads, 1);
    if (change_call(change, &call, "", NULL) < 0) {
        change_go_on(change, SL_CHANGE_READ_LATER, 0);
    }
}

/* ---- the beginning ---- */

void *sl_change_new(size_t size, struct sl_changes *changes, const struct sl_change_kind *kind,
                    struct sl_str *const text[], size_t n, uint64_t leadership)
{
    struct sl_change *change = sl_alloc_with_texts(size, text, n);
    if (change != NULL) {
        *change = (struct sl_change){
            .changes = changes,
            .kind = kind,
            .namespace = *text[0],
            .name = *text[1],
            .uid = *text[2],
            .leadership = leadership,
        };
    }
    return change;
}

void sl_change_begin(struct sl_change *change, enum sl_change_turn first)
{
    struct sl_changes *changes = change->changes;
    int64_t now_us = sl_clock_monotonic_us();
    change->deadline_us = now_us + atomic_load(&changes->timeout_us);
    change->jitter = (uint64_t)now_us ^ (uint64_t)(uintptr_t)change;
    (void)atomic_fetch_add(&changes->in_flight, 1);
    change_go_on(change, first, 0);
}
