/* Leader election: one call or one timer at a time, all on the client's thread. The rules are those
 * of client-go's tools/leaderelection (leaderelection.go: tryAcquireOrRenew, renew, release). */
#include "kube/lease/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kube/client/pacing.h"
#include "kube/lease/record.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { PATH_MAX_BYTES = 1024, IDENTITY_MAX = 200, LEADERSHIP_MAX = 303, BODY_MAX = 1 << 20 };

static const int64_t bare_us = SL_MINUTE_US; /* after a refusal with the annotation */

enum step { IDLE, READ, CREATE, UPDATE, RELEASE, RELEASE_READ };

struct sl_lease {
    struct sl_lease_options options;
    char namespace[256];
    char name[256];
    char identity[IDENTITY_MAX + 1];
    _Atomic int64_t held_until_us; /* monotonic */
    _Atomic bool kept;             /* is not given up at the end */
    atomic_uint refs;              /* owner, timers and the call under way */
    /* only the client's thread looks at what follows */
    enum step step;
    int64_t started_us; /* of the call under way, monotonic */
    json_t *seen;       /* the object as last seen; NULL: not seen, or not there */
    int64_t changed_us; /* when it was first seen in this state, monotonic */
    int64_t silent_us;  /* until when no failure is told, monotonic */
    int64_t bare_us;    /* until when nothing is annotated, monotonic */
    bool noted;         /* the write under way carries the annotation */
    bool leader;        /* as told */
    bool watched;       /* watch_deadline is scheduled */
    bool reread;        /* this attempt was refused once for being out of date */
    bool unsure;        /* a write may have been carried out though no answer came */
    bool stopping;
    uint64_t jitter;
    /* guarded by lock */
    pthread_mutex_t lock;
    pthread_cond_t ended_cond;
    int64_t holder_until_us; /* when its time has run out, monotonic */
    char holder[IDENTITY_MAX + 1];
    char leadership[LEADERSHIP_MAX];
    uint64_t call; /* under way */
    bool ended;
    /* held while changed() is called */
    pthread_mutex_t tell_lock;
    bool silent;
};

static void lease_unref(struct sl_lease *lease)
{
    if (atomic_fetch_sub(&lease->refs, 1) > 1) {
        return;
    }
    json_decref(lease->seen);
    (void)pthread_cond_destroy(&lease->ended_cond);
    (void)pthread_mutex_destroy(&lease->lock);
    (void)pthread_mutex_destroy(&lease->tell_lock);
    free(lease);
}

static bool lease_schedule(struct sl_lease *lease, int64_t delay_us, void (*fn)(void *context))
{
    (void)atomic_fetch_add(&lease->refs, 1);
    if (sl_client_after(lease->options.client, delay_us, fn, lease) < 0) {
        (void)atomic_fetch_sub(&lease->refs, 1); /* not the last: the caller has one */
        return false;
    }
    return true;
}

/* ---- leading ---- */

bool sl_lease_held(struct sl_lease *lease)
{
    return sl_clock_monotonic_us() < atomic_load(&lease->held_until_us);
}

static void lease_tell(struct sl_lease *lease, bool leader)
{
    if (lease->leader == leader) {
        return;
    }
    lease->leader = leader;
    (void)pthread_mutex_lock(&lease->tell_lock);
    if (!lease->silent && lease->options.changed != NULL) {
        lease->options.changed(lease->options.context, leader);
    }
    (void)pthread_mutex_unlock(&lease->tell_lock);
}

static void lease_lose(struct sl_lease *lease)
{
    atomic_store(&lease->held_until_us, 0);
    lease_tell(lease, false);
}

/* Tells of the end by time alone, even while a call hangs. */
static void watch_deadline(void *context)
{
    struct sl_lease *lease = context;
    int64_t left_us = atomic_load(&lease->held_until_us) - sl_clock_monotonic_us();
    lease->watched = lease->leader && left_us > 0 && lease_schedule(lease, left_us, watch_deadline);
    if (!lease->watched) {
        lease_lose(lease);
    }
    lease_unref(lease);
}

/* Holds the lease from when the call began: the server may have written it at once. */
static void lease_win(struct sl_lease *lease)
{
    int64_t until_us = lease->started_us + lease->options.renew_deadline_us;
    int64_t left_us = until_us - sl_clock_monotonic_us();
    if (left_us <= 0) {
        return; /* the answer came too late to lead by it */
    }
    atomic_store(&lease->held_until_us, until_us);
    lease->watched = lease->watched || lease_schedule(lease, left_us, watch_deadline);
    if (lease->watched) {
        lease_tell(lease, true);
    } else {
        lease_lose(lease); /* nobody would tell of its end */
    }
}

/* ---- what was seen ---- */

static bool is_ours(const struct sl_lease *lease)
{
    return strcmp(sl_lease_record_holder(lease->seen), lease->identity) == 0;
}

/* When its time has run out by our clock. */
static int64_t lease_end_us(const struct sl_lease *lease)
{
    return lease->changed_us +
           sl_lease_record_duration_us(lease->seen, lease->options.lease_duration_us);
}

/* Takes the object over; NULL: nothing is known. */
static void lease_see(struct sl_lease *lease, json_t *object)
{
    if (lease->seen == NULL || object == NULL || !sl_lease_record_same(lease->seen, object)) {
        lease->changed_us = sl_clock_monotonic_us();
    }
    json_decref(lease->seen);
    lease->seen = object;
    (void)pthread_mutex_lock(&lease->lock);
    (void)snprintf(lease->holder, sizeof(lease->holder), "%s", sl_lease_record_holder(object));
    lease->holder_until_us = lease_end_us(lease);
    sl_lease_record_leadership(object, lease->leadership, sizeof(lease->leadership));
    (void)pthread_mutex_unlock(&lease->lock);
}

static bool lease_see_reply(struct sl_lease *lease, const struct sl_reply *reply)
{
    json_t *object =
        json_loadb(reply->body.len == 0 ? "" : reply->body.s, reply->body.len, 0, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return false;
    }
    lease_see(lease, object);
    return true;
}

/* True while another holds the lease, renewed within its duration by our clock. */
static bool is_taken(const struct sl_lease *lease)
{
    return sl_lease_record_holder(lease->seen)[0] != '\0' && !is_ours(lease) &&
           sl_clock_monotonic_us() < lease_end_us(lease);
}

/* ---- the annotation ---- */

/* Only who leads has something to say: until then stands what the leader before has left. */
static struct sl_str note_to_write(const struct sl_lease *lease, struct sl_buf *said)
{
    const struct sl_lease_options *options = &lease->options;
    if (options->note_key == NULL || sl_clock_monotonic_us() < lease->bare_us) {
        return SL_STR("");
    }
    bool says = lease->leader && options->note(options->context, said);
    return says && said->failed == SL_BUF_OK ? (struct sl_str){said->data, said->len}
                                             : sl_lease_record_note(lease->seen, options->note_key);
}

/* Told of the Lease as it was before this replica took it. */
static void note_find(const struct sl_lease *lease)
{
    if (!lease->leader && lease->options.note_key != NULL) {
        struct sl_str note = sl_lease_record_note(lease->seen, lease->options.note_key);
        lease->options.note_found(lease->options.context,
                                  note.len > SL_LEASE_NOTE_MAX ? SL_STR("") : note);
    }
}

/* A policy or a webhook may have refused the annotation alone. */
static bool note_is_refused(const struct sl_lease *lease, int status)
{
    return lease->noted && (status == 400 || status == 403 || status == 413 || status == 422);
}

/* ---- calls ---- */

static void on_reply(void *context, const struct sl_reply *reply);
static void try_again(void *context);

static bool lease_ask(struct sl_lease *lease, enum step step)
{
    static const char *const method[] = {[READ] = "GET",
                                         [CREATE] = "POST",
                                         [UPDATE] = "PUT",
                                         [RELEASE] = "PUT",
                                         [RELEASE_READ] = "GET"};
    char path[PATH_MAX_BYTES];
    struct sl_buf body;
    struct sl_buf note;
    uint64_t id = 0;
    bool release = step == RELEASE;
    struct sl_lease_bid bid = {
        .namespace = lease->namespace,
        .name = lease->name,
        .identity = release ? "" : lease->identity,
        .duration_s =
            release ? 1 : (lease->options.lease_duration_us + SL_SECOND_US - 1) / SL_SECOND_US,
        .now_us = sl_clock_real_us(),
        .note_key = lease->options.note_key,
    };
    sl_buf_init(&body, BODY_MAX);
    sl_buf_init(&note, SL_LEASE_NOTE_MAX);
    (void)snprintf(path, sizeof(path), "/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
                   lease->namespace, step == CREATE ? "" : "/", step == CREATE ? "" : lease->name);
    int failed = 0;
    if (step != READ && step != RELEASE_READ) {
        bid.note = note_to_write(lease, &note);
        lease->noted = bid.note.len > 0;
        failed = sl_lease_record_write(step == CREATE ? NULL : lease->seen, &bid, &body);
    }
    const struct sl_call_options call = {
        .method = method[step],
        .path = path,
        .body = {body.data, body.len},
        .priority = SL_CALL_LEASE,
        .timeout_us = lease->options.renew_deadline_us / 2,
        .done = on_reply,
        .context = lease,
    };
    lease->started_us = sl_clock_monotonic_us();
    lease->step = step;
    (void)atomic_fetch_add(&lease->refs, 1);
    failed = failed < 0 || sl_client_call(lease->options.client, &call, &id, NULL) < 0;
    if (failed) {
        lease->step = IDLE;
        (void)atomic_fetch_sub(&lease->refs, 1); /* not the last: the caller has one */
    }
    (void)pthread_mutex_lock(&lease->lock);
    lease->call = id;
    (void)pthread_mutex_unlock(&lease->lock);
    sl_buf_free(&body);
    sl_buf_free(&note);
    return !failed;
}

static void lease_wait(struct sl_lease *lease)
{
    int64_t period_us = lease->options.retry_period_us;
    int64_t extra_us = (int64_t)(sl_jitter(&lease->jitter) % ((uint64_t)period_us / 5 + 1));
    if (!lease_schedule(lease, period_us + extra_us, try_again)) {
        lease_lose(lease); /* no attempt will follow */
    }
}

static void lease_ask_or_wait(struct sl_lease *lease, enum step step)
{
    if (!lease_ask(lease, step)) {
        lease_wait(lease);
    }
}

/* Begins an attempt: the holder writes at once, the others read first. */
static void try_again(void *context)
{
    struct sl_lease *lease = context;
    if (!lease->stopping && lease->step == IDLE) {
        lease->reread = false;
        lease_ask_or_wait(lease, is_ours(lease) && sl_lease_held(lease) ? UPDATE : READ);
    }
    lease_unref(lease);
}

/* ---- answers ---- */

/* Not at each attempt: a failure lasts. */
static void failure_tell(struct sl_lease *lease, const char *message, const char *reason)
{
    int64_t now_us = sl_clock_monotonic_us();
    if (now_us >= lease->silent_us) {
        lease->silent_us = now_us + lease->options.renew_deadline_us;
        sl_log(SL_LOG_WARN, message, "reason", reason, (char *)NULL);
    }
}

static void on_read(struct sl_lease *lease, const struct sl_reply *reply)
{
    if (reply->status == 404) {
        lease_see(lease, NULL);
        lease_lose(lease); /* whoever deleted it may have let another replica take it */
        lease_ask_or_wait(lease, CREATE);
        return;
    }
    if (reply->status != 200 || !lease_see_reply(lease, reply)) {
        failure_tell(lease, "the lease could not be read",
                     reply->status == 200 ? "the answer is no object" : reply->err.message);
        lease_wait(lease);
        return;
    }
    lease->unsure = false;
    if (!is_ours(lease)) {
        lease_lose(lease);
    }
    if (is_taken(lease)) {
        lease_wait(lease);
    } else {
        lease_ask_or_wait(lease, UPDATE);
    }
}

static void on_write(struct sl_lease *lease, const struct sl_reply *reply)
{
    lease->unsure = reply->status == 0 && reply->maybe_done;
    if (reply->status == 200 || reply->status == 201) {
        note_find(lease);
        if (!lease_see_reply(lease, reply)) {
            lease_see(lease, NULL);
        }
        lease_win(lease);
    } else if ((reply->status == 409 || reply->status == 404) && !lease->reread) {
        lease->reread = true;
        lease_ask_or_wait(lease, READ);
        return;
    } else if (note_is_refused(lease, reply->status)) {
        sl_log(SL_LOG_WARN, "the lease goes without its annotation, with which it was refused",
               "reason", reply->err.message, (char *)NULL);
        lease->bare_us = sl_clock_monotonic_us() + bare_us;
        lease_ask_or_wait(lease, UPDATE);
        return;
    } else if (reply->status != 409 && reply->status != 404) {
        failure_tell(lease, "the lease could not be written", reply->err.message);
    }
    lease_wait(lease);
}

/* ---- the end ---- */

static void lease_finish(struct sl_lease *lease)
{
    (void)pthread_mutex_lock(&lease->lock);
    lease->ended = true;
    (void)pthread_cond_signal(&lease->ended_cond);
    (void)pthread_mutex_unlock(&lease->lock);
}

static void lease_release(struct sl_lease *lease)
{
    enum step step = lease->unsure ? RELEASE_READ : RELEASE;
    if (atomic_load(&lease->kept) || (!lease->unsure && !is_ours(lease)) ||
        !lease_ask(lease, step)) {
        lease_finish(lease);
    }
    lease->unsure = false;
}

static void on_release(struct sl_lease *lease, enum step step, const struct sl_reply *reply)
{
    if (step == RELEASE && reply->status == 409 && !lease->reread) {
        lease->reread = true;
        lease->unsure = true;
        lease_release(lease);
    } else if (step == RELEASE_READ && reply->status == 200 && lease_see_reply(lease, reply)) {
        lease_release(lease);
    } else {
        if (step == RELEASE && reply->status == 200) {
            (void)lease_see_reply(lease, reply);
        }
        lease_finish(lease);
    }
}

static void begin_release(void *context)
{
    struct sl_lease *lease = context;
    lease->stopping = true;
    lease->reread = false;
    lease_lose(lease); /* before another can have it */
    if (lease->step == IDLE) {
        lease_release(lease);
    } else {
        sl_client_cancel(lease->options.client, lease->call); /* its end goes on with the release */
    }
    lease_unref(lease);
}

static void on_reply(void *context, const struct sl_reply *reply)
{
    struct sl_lease *lease = context;
    enum step step = lease->step;
    lease->step = IDLE;
    if (step == RELEASE || step == RELEASE_READ) {
        on_release(lease, step, reply);
    } else if (lease->stopping) {
        lease->unsure = lease->unsure || step != READ;
        lease_release(lease);
    } else if (step == READ) {
        on_read(lease, reply);
    } else {
        on_write(lease, reply);
    }
    lease_unref(lease);
}

/* ---- life ---- */

static int check_options(const struct sl_lease_options *options, struct sl_error *err)
{
    if (options->retry_period_us <= 0 ||
        options->retry_period_us + options->retry_period_us / 5 >= options->renew_deadline_us ||
        options->renew_deadline_us >= options->lease_duration_us) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "leader election: the lease duration must be longer than the renew "
                            "deadline, and that longer than 1.2 retry periods");
    }
    if (options->identity[0] == '\0' || strlen(options->identity) > IDENTITY_MAX ||
        strlen(options->namespace) > 253 || strlen(options->name) > 253) {
        return sl_error_set(err, SL_ERR_FIELD,
                            "leader election: the identity is empty, or a name is too long");
    }
    return 0;
}

static int init_sync(struct sl_lease *lease)
{
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&lease->lock, NULL);
    (void)pthread_mutex_init(&lease->tell_lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int code = pthread_cond_init(&lease->ended_cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return code;
}

struct sl_lease *sl_lease_start(const struct sl_lease_options *options, struct sl_error *err)
{
    if (check_options(options, err) < 0) {
        return NULL;
    }
    struct sl_lease *lease = calloc(1, sizeof(*lease));
    if (lease == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    lease->options = *options;
    (void)snprintf(lease->namespace, sizeof(lease->namespace), "%s", options->namespace);
    (void)snprintf(lease->name, sizeof(lease->name), "%s", options->name);
    (void)snprintf(lease->identity, sizeof(lease->identity), "%s", options->identity);
    lease->jitter =
        sl_hash(lease->identity, strlen(lease->identity)) ^ (uint64_t)sl_clock_real_us();
    atomic_init(&lease->refs, 1);
    (void)init_sync(lease);
    if (!lease_schedule(lease, 0, try_again)) {
        lease_unref(lease);
        (void)sl_error_set(err, SL_ERR_SYSTEM, "leader election: the client takes no timer");
        return NULL;
    }
    return lease;
}

void sl_lease_holder(struct sl_lease *lease, char *out, size_t size)
{
    (void)pthread_mutex_lock(&lease->lock);
    bool past = sl_clock_monotonic_us() >= lease->holder_until_us;
    (void)snprintf(out, size, "%s", past ? "" : lease->holder);
    (void)pthread_mutex_unlock(&lease->lock);
}

void sl_lease_leadership(struct sl_lease *lease, char *out, size_t size)
{
    (void)pthread_mutex_lock(&lease->lock);
    (void)snprintf(out, size, "%s", lease->leadership);
    (void)pthread_mutex_unlock(&lease->lock);
}

static void wait_for_end(struct sl_lease *lease, int64_t timeout_us)
{
    struct timespec until;
    int code = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nsec = until.tv_nsec + timeout_us % SL_SECOND_US * SL_US_NS;
    until.tv_sec += (time_t)(timeout_us / SL_SECOND_US + nsec / SL_SECOND_NS);
    until.tv_nsec = (long)(nsec % SL_SECOND_NS);
    (void)pthread_mutex_lock(&lease->lock);
    while (!lease->ended && code == 0) {
        code = pthread_cond_timedwait(&lease->ended_cond, &lease->lock, &until);
    }
    uint64_t call = lease->call;
    (void)pthread_mutex_unlock(&lease->lock);
    if (code != 0) {
        sl_client_cancel(lease->options.client, call);
    }
}

void sl_lease_keep(struct sl_lease *lease)
{
    atomic_store(&lease->kept, true);
}

void sl_lease_stop(struct sl_lease *lease, int64_t timeout_us)
{
    if (lease == NULL) {
        return;
    }
    if (lease_schedule(lease, 0, begin_release)) {
        wait_for_end(lease, timeout_us);
    }
    atomic_store(&lease->held_until_us, 0);
    (void)pthread_mutex_lock(&lease->tell_lock);
    lease->silent = true;
    (void)pthread_mutex_unlock(&lease->tell_lock);
    lease_unref(lease);
}
