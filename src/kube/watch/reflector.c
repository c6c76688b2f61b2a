/* One call or one timer at a time carries a reflector on: each step begins where the last one ends,
 * on the client's thread. */
#include "kube/watch/reflector.h"

#include <pthread.h>
#include <stdlib.h>

#include "kube/client/object_call.h"
#include "kube/client/pacing.h"
#include "kube/client/url.h"
#include "kube/watch/intake.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum {
    CONTINUE_MAX = 64 << 10,
    PATH_MAX_BYTES = 256 << 10,
    RESUMES_MAX = 4,      /* of a watch from the same version without an event; then it lists */
    SILENT_MAX = 2,       /* watches in a row without news; then it lists */
    PAGED_EXPIRED_MAX = 2 /* lists that expired between pages; then one without pages */
};

static const int64_t retry_after_max_us = SL_MINUTE_US;
static const int64_t short_watch_us = SL_SECOND_US;

struct sl_reflector {
    struct sl_reflector_options options; /* its text stands behind */
    pthread_mutex_t gate;                /* held by every step, callbacks included, and by stop */
    unsigned refs; /* the owner's, and that of the call or timer which carries it on */
    bool stopped;
    uint64_t call;
    bool listing;    /* list_begin was told and listed not */
    bool watching;   /* the next call is a watch */
    unsigned tries;  /* failures in a row */
    unsigned silent; /* watches in a row that brought no news */
    unsigned resumes;
    unsigned paged_expired;
    struct sl_buf next; /* continue of the next page */
    int64_t started_us;
    uint64_t jitter;
    struct sl_intake intake;
    struct sl_account account;
};

static void reflector_free(struct sl_reflector *reflector)
{
    sl_intake_free(&reflector->intake);
    sl_buf_free(&reflector->next);
    sl_account_free(&reflector->account);
    (void)pthread_mutex_destroy(&reflector->gate);
    free(reflector);
}

/* Gives a reference up and opens the gate. */
static void leave_for_good(struct sl_reflector *reflector)
{
    reflector->refs--;
    bool last = reflector->refs == 0;
    (void)pthread_mutex_unlock(&reflector->gate);
    if (last) {
        reflector_free(reflector);
    }
}

/* ---- pieces of a body ---- */

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct sl_reflector *reflector = context;
    (void)pthread_mutex_lock(&reflector->gate);
    int result = reflector->stopped
                     ? sl_error_set(err, SL_ERR_CONFLICT, "stopped")
                     : sl_intake_feed(&reflector->intake, reflector->watching, data, len, err);
    (void)pthread_mutex_unlock(&reflector->gate);
    return result;
}

/* ---- paths ---- */

static void put_list_query(struct sl_reflector *reflector, struct sl_buf *path)
{
    if (reflector->paged_expired < PAGED_EXPIRED_MAX) {
        sl_buf_printf(path, "limit=%u", reflector->options.times.page);
    } else {
        sl_buf_puts(path,
                    "resourceVersion="); /* that is the default; something has to follow the '?' */
    }
    if (reflector->next.len > 0) {
        sl_buf_puts(path, "&continue=");
        sl_url_put(path, (struct sl_str){reflector->next.data, reflector->next.len});
    }
}

static void put_watch_query(struct sl_reflector *reflector, struct sl_buf *path)
{
    uint64_t span = (uint64_t)(reflector->options.times.watch_us / SL_SECOND_US);
    uint64_t seconds = span + sl_jitter(&reflector->jitter) % (span + 1);
    sl_buf_puts(path, "watch=true&allowWatchBookmarks=true&resourceVersion=");
    sl_url_put(path, sl_str_of(reflector->intake.version));
    sl_buf_puts(path, "&timeoutSeconds=");
    sl_buf_i64(path, (int64_t)(seconds == 0 ? 1 : seconds));
}

/* ---- steps: each begins the next call, or a timer; the gate is held ---- */

static void on_done(void *context, const struct sl_reply *reply);
static void on_timer(void *context);

static void tell_listed(struct sl_reflector *reflector, bool ok)
{
    if (reflector->listing) {
        reflector->listing = false;
        reflector->options.calls.listed(reflector->options.calls.context, ok);
    }
}

static void prepare_list(struct sl_reflector *reflector)
{
    sl_watch_reset(reflector->intake.list);
    if (!reflector->listing) {
        reflector->listing = true;
        reflector->next.len = 0;
        sl_account_count(&reflector->account, &reflector->account.stats.lists);
        if (reflector->options.calls.list_begin != NULL) {
            reflector->options.calls.list_begin(reflector->options.calls.context);
        }
    }
}

static void prepare_watch(struct sl_reflector *reflector)
{
    sl_intake_begin_watch(&reflector->intake);
    sl_account_count(&reflector->account, &reflector->account.stats.watches);
}

static int begin_call(struct sl_reflector *reflector, struct sl_error *err)
{
    const struct sl_reflector_options *options = &reflector->options;
    struct sl_buf path;
    if (reflector->watching) {
        prepare_watch(reflector);
    } else {
        prepare_list(reflector);
    }
    sl_buf_init(&path, PATH_MAX_BYTES);
    sl_buf_printf(&path, "%s?", options->path);
    if (reflector->watching) {
        put_watch_query(reflector, &path);
    } else {
        put_list_query(reflector, &path);
    }
    if (options->query[0] != '\0') {
        sl_buf_printf(&path, "&%s", options->query);
    }
    sl_buf_putc(&path, '\0');
    const struct sl_call_options call = {
        .method = "GET",
        .path = path.data,
        .priority = reflector->watching ? SL_CALL_STREAM : SL_CALL_NORMAL,
        .max_tries = 1,
        .timeout_us = reflector->watching ? 0 : options->times.page_us,
        .silence_us = reflector->watching ? options->times.silence_us : 0,
        .data = on_data,
        .done = on_done,
        .context = reflector,
    };
    int result = path.failed == SL_BUF_OK
                     ? sl_client_call(options->client, &call, &reflector->call, err)
                     : sl_error_nomem(err);
    sl_buf_free(&path);
    reflector->started_us = sl_clock_monotonic_us();
    return result;
}

/* False when the client is being stopped: nothing carries the reflector on any more. */
static bool go_on_later(struct sl_reflector *reflector, int64_t retry_after_us)
{
    const struct sl_reflector_options *options = &reflector->options;
    int64_t delay_us = sl_backoff_us(reflector->tries, options->times.backoff_us,
                                     options->times.backoff_max_us, sl_jitter(&reflector->jitter));
    /* the server may ask for an hour, which is too long to know nothing of the cluster */
    retry_after_us = retry_after_us < retry_after_max_us ? retry_after_us : retry_after_max_us;
    delay_us = delay_us < retry_after_us ? retry_after_us : delay_us;
    return sl_client_after(options->client, delay_us, on_timer, reflector) == 0;
}

static void note_failure(struct sl_reflector *reflector, const struct sl_error *err)
{
    reflector->tries++;
    sl_account_failed(&reflector->account, err);
    sl_log(SL_LOG_WARN, reflector->watching ? "watch failed" : "list failed", "reflector",
           reflector->options.name, "problem", err->message, (char *)NULL);
}

static bool go_on(struct sl_reflector *reflector)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    if (begin_call(reflector, &err) == 0) {
        return true;
    }
    if (err.code == SL_ERR_CONFLICT) {
        return false;
    }
    note_failure(reflector, &err);
    return go_on_later(reflector, 0);
}

/* Tries the call at once when there is no memory for the timer, since else nothing would carry the
 * reflector on. */
static bool back_off(struct sl_reflector *reflector, int64_t retry_after_us)
{
    return go_on_later(reflector, retry_after_us) || go_on(reflector);
}

static bool list_again(struct sl_reflector *reflector)
{
    tell_listed(reflector, false);
    reflector->watching = false;
    reflector->resumes = 0;
    sl_account_count(&reflector->account, &reflector->account.stats.expired);
    sl_account_lost(&reflector->account);
    sl_log(SL_LOG_INFO, "version expired, listing anew", "reflector", reflector->options.name,
           (char *)NULL);
    /* the first time at once */
    reflector->tries++;
    return reflector->tries > 1 ? back_off(reflector, 0) : go_on(reflector);
}

/* ---- the end of a page ---- */

static bool page_failed(struct sl_reflector *reflector, const struct sl_reply *reply,
                        const struct sl_error *err)
{
    if (sl_intake_is_expired(reply->status, sl_str_of(reply->reason))) {
        reflector->paged_expired += reflector->next.len > 0;
        return list_again(reflector);
    }
    note_failure(reflector, err);
    tell_listed(reflector, false);
    return back_off(reflector, reply->retry_after_us);
}

static bool page_done(struct sl_reflector *reflector, const struct sl_reply *reply)
{
    struct sl_list_meta meta;
    struct sl_error err = reply->err;
    if (reply->status != 200 || sl_watch_finish(reflector->intake.list, &meta, &err) < 0) {
        return page_failed(reflector, reply, &err);
    }
    if (meta.resource_version.len >= SL_VERSION_MAX) {
        (void)sl_error_set(&err, SL_ERR_LIMIT, "a resourceVersion of %zu bytes",
                           meta.resource_version.len);
        return page_failed(reflector, reply, &err);
    }
    reflector->next.len = 0;
    sl_buf_append(&reflector->next, meta.next.s, meta.next.len);
    if (reflector->next.failed != SL_BUF_OK) {
        reflector->next.failed = SL_BUF_OK;
        (void)sl_error_nomem(&err);
        return page_failed(reflector, reply, &err);
    }
    if (meta.next.len > 0) {
        return go_on(reflector);
    }
    memcpy(reflector->intake.version, meta.resource_version.s, meta.resource_version.len);
    reflector->intake.version[meta.resource_version.len] = '\0';
    reflector->watching = true;
    reflector->paged_expired = 0;
    tell_listed(reflector, true);
    /* synced only now: the receiver has it all */
    sl_account_news(&reflector->account, &reflector->account.stats.listed);
    return go_on(reflector);
}

/* ---- the end of a watch ---- */

/* True when this version cannot be watched from: 410 and its like. */
static bool must_list(const struct sl_reflector *reflector, const struct sl_reply *reply)
{
    return reflector->intake.expired || reply->status == 400 || reply->status == 404 ||
           sl_intake_is_expired(reply->status, sl_str_of(reply->reason));
}

/* True when the watch failed for its request or its content: from the same version it will fail the
 * same way. A server that is busy or not there says nothing of the version. */
static bool is_lasting(const struct sl_reflector *reflector, const struct sl_reply *reply,
                       const struct sl_error *err)
{
    bool of_content = err->code == SL_ERR_SYNTAX || err->code == SL_ERR_TYPE ||
                      err->code == SL_ERR_FIELD || err->code == SL_ERR_LIMIT;
    bool of_request = reply->status > 0 && reply->status < 500 && reply->status != 429;
    return reflector->intake.refused || of_content || of_request;
}

static bool watch_done(struct sl_reflector *reflector, const struct sl_reply *reply)
{
    struct sl_error err = reply->err;
    bool whole = reply->status == 200 && sl_watch_finish(reflector->intake.stream, NULL, &err) == 0;
    int64_t lasted_us = sl_clock_monotonic_us() - reflector->started_us;
    if (reflector->intake.progress || lasted_us >= reflector->options.times.backoff_max_us) {
        reflector->tries = 0;
    }
    if (reflector->intake.progress) {
        reflector->resumes = 0;
    }
    if (must_list(reflector, reply)) {
        return list_again(reflector);
    }
    bool silent = !reflector->intake.progress && lasted_us >= reflector->options.times.silence_us;
    reflector->silent = silent ? reflector->silent + 1 : 0;
    if (whole && reflector->intake.lost) {
        whole = false;
        reflector->resumes = RESUMES_MAX;
        (void)sl_error_set(&err, SL_ERR_SYNTAX, "a part of the watch could not be read");
    }
    if (whole && (reflector->intake.progress || lasted_us >= short_watch_us)) {
        return go_on(reflector); /* its time was over */
    }
    if (whole) {
        (void)sl_error_set(&err, SL_ERR_SYSTEM, "the watch ended at once");
    }
    note_failure(reflector, &err);
    reflector->resumes += is_lasting(reflector, reply, &err);
    if (reflector->resumes >= RESUMES_MAX || reflector->silent >= SILENT_MAX) {
        reflector->resumes = 0;
        reflector->silent = 0;
        reflector->watching = false;
    }
    return back_off(reflector, reply->retry_after_us);
}

/* ---- entries ---- */

/* After a step: opens the gate, and lets go when nothing carries the reflector on any more. */
static void end_step(struct sl_reflector *reflector, bool alive)
{
    if (alive) {
        (void)pthread_mutex_unlock(&reflector->gate);
        return;
    }
    sl_account_lost(&reflector->account);
    sl_log(SL_LOG_INFO, "reflector ended", "reflector", reflector->options.name, (char *)NULL);
    leave_for_good(reflector);
}

static void on_done(void *context, const struct sl_reply *reply)
{
    struct sl_reflector *reflector = context;
    (void)pthread_mutex_lock(&reflector->gate);
    reflector->call = 0;
    bool alive = !reflector->stopped &&
                 (reflector->watching ? watch_done(reflector, reply) : page_done(reflector, reply));
    end_step(reflector, alive);
}

static void on_timer(void *context)
{
    struct sl_reflector *reflector = context;
    (void)pthread_mutex_lock(&reflector->gate);
    end_step(reflector, !reflector->stopped && go_on(reflector));
}

/* ---- life ---- */

struct sl_reflector *sl_reflector_start(const struct sl_reflector_options *options,
                                        struct sl_error *err)
{
    struct sl_str name = sl_str_of(options->name);
    struct sl_str path = sl_str_of(options->path);
    struct sl_str query = sl_str_of(options->query == NULL ? "" : options->query);
    struct sl_str *const text[] = {&name, &path, &query};
    struct sl_reflector *reflector = sl_alloc_with_texts(sizeof(*reflector), text, 3);
    if (reflector == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    reflector->options = *options;
    reflector->options.name = name.s;
    reflector->options.path = path.s;
    reflector->options.query = query.s;
    reflector->refs = 2;
    sl_account_init(&reflector->account);
    reflector->jitter = (uint64_t)sl_clock_real_us() ^ (uint64_t)(uintptr_t)reflector;
    sl_buf_init(&reflector->next, CONTINUE_MAX);
    (void)pthread_mutex_init(&reflector->gate, NULL);
    if (!sl_intake_init(&reflector->intake, &reflector->options, &reflector->account)) {
        (void)sl_error_nomem(err);
        reflector_free(reflector);
        return NULL;
    }
    if (sl_client_after(options->client, 0, on_timer, reflector) < 0) {
        (void)sl_error_set(err, SL_ERR_CONFLICT, "%s: the client takes no calls", options->name);
        reflector_free(reflector);
        return NULL;
    }
    return reflector;
}

void sl_reflector_stop(struct sl_reflector *reflector)
{
    if (reflector == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&reflector->gate);
    struct sl_client *client = reflector->options.client;
    uint64_t call = reflector->call;
    bool carried = reflector->refs > 1;
    reflector->stopped = true;
    leave_for_good(reflector);
    if (carried) {
        sl_client_cancel(client, call);
    }
}

void sl_reflector_stats(struct sl_reflector *reflector, struct sl_reflector_stats *out)
{
    sl_account_read(&reflector->account, out);
}
