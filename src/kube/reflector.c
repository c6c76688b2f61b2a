/* One call or one timer at a time carries it on: the next step is begun where the last one ends, on
 * the client's thread. */
#include "kube/reflector.h"

#include "kube/clock.h"
#include "kube/pacing.h"
#include "kube/url.h"
#include "util/log.h"
#include "util/show.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    VERSION_MAX = 256,
    CONTINUE_MAX = 64 << 10,
    PATH_MAX_BYTES = 256 << 10,
    RESUMES_MAX = 4,      /* of a watch from the same version without an event; then it lists */
    SILENT_MAX = 2,       /* watches in a row without news; then it lists */
    PAGED_EXPIRED_MAX = 2 /* lists that expired between pages; then one without pages */
};

static const int64_t us_per_s = 1000000;
static const int64_t retry_after_max_us = 60000000;
static const int64_t short_watch_us = 1000000;
static const int64_t skip_log_us = 10000000;

struct sl_reflector {
    struct sl_reflector_options options; /* text: our copies */
    char *text[3];
    pthread_mutex_t gate; /* held by every step, callbacks included, and by stop */
    unsigned refs;        /* the owner's, and that of the call or timer which carries it on */
    bool stopped;
    uint64_t call;
    struct sl_watch *list;
    struct sl_watch *stream;
    bool listing;    /* list_begin was told and listed not */
    bool watching;   /* the next call is a watch */
    bool expired;    /* an ERROR event said so */
    bool refused;    /* there was an ERROR event */
    bool lost;       /* a part of the watch could not be read: a list has to tell */
    bool progress;   /* the watch brought an event or a bookmark */
    unsigned tries;  /* failures in a row */
    unsigned silent; /* watches in a row that brought no news */
    unsigned resumes;
    unsigned paged_expired;
    char version[VERSION_MAX];
    struct sl_buf next; /* continue of the next page */
    int64_t started_us;
    int64_t received_us;
    int64_t news_us; /* of this watch: its beginning, or its last event or bookmark */
    int64_t skip_logged_us;
    uint64_t jitter;
    pthread_mutex_t stats_lock;
    struct sl_reflector_stats stats;
};

enum count {
    COUNT_LISTS,
    COUNT_LISTED,
    COUNT_WATCHES,
    COUNT_EVENTS,
    COUNT_BOOKMARKS,
    COUNT_SKIPPED,
    COUNT_EXPIRED,
    COUNT_FAILURES
};

/* Counts, and keeps synced and the time of the last news with it. */
static void count(struct sl_reflector *reflector, enum count what)
{
    struct sl_reflector_stats *stats = &reflector->stats;
    uint64_t *const counters[] = {
        [COUNT_LISTS] = &stats->lists,         [COUNT_LISTED] = &stats->listed,
        [COUNT_WATCHES] = &stats->watches,     [COUNT_EVENTS] = &stats->events,
        [COUNT_BOOKMARKS] = &stats->bookmarks, [COUNT_SKIPPED] = &stats->skipped,
        [COUNT_EXPIRED] = &stats->expired,     [COUNT_FAILURES] = &stats->failures,
    };
    (void)pthread_mutex_lock(&reflector->stats_lock);
    (*counters[what])++;
    if (what == COUNT_EXPIRED && stats->synced) {
        stats->synced = false;
        stats->lost_us = sl_kube_real_us();
    }
    stats->synced = stats->synced || what == COUNT_LISTED;
    if (what == COUNT_LISTED || what == COUNT_EVENTS || what == COUNT_BOOKMARKS) {
        stats->last_event_us = sl_kube_real_us();
        stats->news_us = sl_kube_monotonic_us();
        stats->trouble[0] = '\0';
    }
    (void)pthread_mutex_unlock(&reflector->stats_lock);
}

static void reflector_free(struct sl_reflector *reflector)
{
    sl_watch_free(reflector->list);
    sl_watch_free(reflector->stream);
    sl_buf_free(&reflector->next);
    for (size_t i = 0; i < sizeof(reflector->text) / sizeof(reflector->text[0]); i++) {
        free(reflector->text[i]);
    }
    (void)pthread_mutex_destroy(&reflector->stats_lock);
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

/* ---- objects ---- */

static void skip(struct sl_reflector *reflector, const struct sl_watch_item *item,
                 const struct sl_error *why)
{
    int64_t now_us = sl_kube_monotonic_us();
    bool soon = now_us - reflector->skip_logged_us < skip_log_us;
    char object[400];
    count(reflector, COUNT_SKIPPED);
    (void)snprintf(object, sizeof(object), "%.*s/%.*s", (int)item->namespace.len,
                   item->namespace.len == 0 ? "" : item->namespace.s, (int)item->name.len,
                   item->name.len == 0 ? "" : item->name.s);
    sl_log(soon ? SL_LOG_DEBUG : SL_LOG_WARN, "object skipped", "reflector",
           reflector->options.name, "object", object, "field", why->field, "problem", why->message,
           (char *)NULL);
    reflector->skip_logged_us = soon ? reflector->skip_logged_us : now_us;
    reflector->options.calls.skipped(reflector->options.calls.context, item, why);
}

static int take_object(struct sl_reflector *reflector, const struct sl_watch_item *item,
                       struct sl_error *err)
{
    const struct sl_reflector_calls *calls = &reflector->options.calls;
    struct sl_error why = {.code = SL_ERR_NONE};
    if (item->problem != NULL) {
        skip(reflector, item, item->problem);
    } else if (calls->object(calls->context, item, reflector->received_us, &why) < 0) {
        if (why.code == SL_ERR_NOMEM) {
            *err = why;
            return -1;
        }
        skip(reflector, item, &why);
    }
    return 0;
}

static int on_list_item(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    return take_object(context, item, err);
}

static bool is_expired(int code, const char *reason, size_t len)
{
    struct sl_str text = {reason, len};
    return code == 410 || sl_str_eq(text, SL_STR("Expired")) || sl_str_eq(text, SL_STR("Gone"));
}

static int on_error_event(struct sl_reflector *reflector, const struct sl_watch_status *status,
                          struct sl_error *err)
{
    reflector->refused = true;
    reflector->expired = is_expired(status->code, status->reason.s, status->reason.len);
    return sl_error_set(err, SL_ERR_SYSTEM, "the watch ended with an error: %d %.*s",
                        (int)status->code,
                        status->message.len < 200 ? (int)status->message.len : 200,
                        status->message.len == 0 ? "" : status->message.s);
}

static int on_watch_item(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct sl_reflector *reflector = context;
    if (item->event == SL_WATCH_ERROR && item->problem == NULL) {
        return on_error_event(reflector, item->status, err);
    }
    if (item->problem != NULL) { /* no news: nothing says that a server which knows sent it */
        reflector->lost = reflector->lost || item->lost;
        return take_object(reflector, item, err);
    }
    if (item->event == SL_WATCH_BOOKMARK) {
        count(reflector, COUNT_BOOKMARKS);
    } else {
        count(reflector, COUNT_EVENTS);
        if (take_object(reflector, item, err) < 0) {
            return -1;
        }
    }
    reflector->progress = true;
    reflector->news_us = reflector->received_us;
    if (item->resource_version.len > 0 && item->resource_version.len < VERSION_MAX) {
        memcpy(reflector->version, item->resource_version.s, item->resource_version.len);
        reflector->version[item->resource_version.len] = '\0';
    }
    return 0;
}

static int on_data(void *context, const char *data, size_t len, struct sl_error *err)
{
    struct sl_reflector *reflector = context;
    int result = -1;
    (void)pthread_mutex_lock(&reflector->gate);
    if (reflector->stopped) {
        (void)sl_error_set(err, SL_ERR_CONFLICT, "stopped");
    } else {
        struct sl_watch *decoder = reflector->watching ? reflector->stream : reflector->list;
        reflector->received_us = sl_kube_monotonic_us();
        result = sl_watch_feed(decoder, data, len, err);
    }
    if (result == 0 && reflector->watching &&
        reflector->received_us - reflector->news_us >= reflector->options.times.silence_us) {
        result = sl_error_set(err, SL_ERR_SYSTEM, "neither event nor bookmark for %lld ms",
                              (long long)(reflector->options.times.silence_us / 1000));
    }
    (void)pthread_mutex_unlock(&reflector->gate);
    return result;
}

/* ---- paths ---- */

static void put_list_query(struct sl_reflector *reflector, struct sl_buf *path)
{
    if (reflector->paged_expired < PAGED_EXPIRED_MAX) {
        sl_buf_printf(path, "limit=%u", reflector->options.times.page);
    } else {
        sl_buf_puts(path, "resourceVersion="); /* the default: something has to follow the '?' */
    }
    if (reflector->next.len > 0) {
        sl_buf_puts(path, "&continue=");
        sl_url_put(path, (struct sl_str){reflector->next.data, reflector->next.len});
    }
}

static void put_watch_query(struct sl_reflector *reflector, struct sl_buf *path)
{
    uint64_t span = (uint64_t)(reflector->options.times.watch_us / us_per_s);
    uint64_t seconds = span + sl_jitter(&reflector->jitter) % (span + 1);
    sl_buf_puts(path, "watch=true&allowWatchBookmarks=true&resourceVersion=");
    sl_url_put(path, sl_str_of(reflector->version));
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
    sl_watch_reset(reflector->list);
    if (!reflector->listing) {
        reflector->listing = true;
        reflector->next.len = 0;
        count(reflector, COUNT_LISTS);
        reflector->options.calls.list_begin(reflector->options.calls.context);
    }
}

static void prepare_watch(struct sl_reflector *reflector)
{
    sl_watch_reset(reflector->stream);
    reflector->expired = false;
    reflector->refused = false;
    reflector->lost = false;
    reflector->progress = false;
    reflector->news_us = sl_kube_monotonic_us();
    count(reflector, COUNT_WATCHES);
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
    if (options->query != NULL) {
        sl_buf_printf(&path, "&%s", options->query);
    }
    sl_buf_putc(&path, '\0');
    const struct sl_call_options call = {
        .method = "GET",
        .path = path.data,
        .priority = SL_CALL_NORMAL,
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
    reflector->started_us = sl_kube_monotonic_us();
    return result;
}

/* False when nothing carries it on any more: the client is being stopped. */
static bool go_on_later(struct sl_reflector *reflector, int64_t retry_after_us)
{
    const struct sl_reflector_options *options = &reflector->options;
    int64_t delay_us = sl_backoff_us(reflector->tries, options->times.backoff_us,
                                     options->times.backoff_max_us, sl_jitter(&reflector->jitter));
    /* nothing is known of the cluster meanwhile: an hour, which a server may ask for, is too long
     */
    retry_after_us = retry_after_us < retry_after_max_us ? retry_after_us : retry_after_max_us;
    delay_us = delay_us < retry_after_us ? retry_after_us : delay_us;
    return sl_client_after(options->client, delay_us, on_timer, reflector) == 0;
}

static void note_failure(struct sl_reflector *reflector, const struct sl_error *err)
{
    reflector->tries++;
    count(reflector, COUNT_FAILURES);
    (void)pthread_mutex_lock(&reflector->stats_lock);
    (void)sl_show(sl_str_of(err->message), reflector->stats.trouble,
                  sizeof(reflector->stats.trouble));
    (void)pthread_mutex_unlock(&reflector->stats_lock);
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

/* Memory for the timer may be short: then the call is tried at once, else all would be over. */
static bool back_off(struct sl_reflector *reflector, int64_t retry_after_us)
{
    return go_on_later(reflector, retry_after_us) || go_on(reflector);
}

static bool list_again(struct sl_reflector *reflector)
{
    tell_listed(reflector, false);
    reflector->watching = false;
    reflector->resumes = 0;
    count(reflector, COUNT_EXPIRED);
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
    if (is_expired(reply->status, reply->reason, strlen(reply->reason))) {
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
    if (reply->status != 200 || sl_watch_finish(reflector->list, &meta, &err) < 0) {
        return page_failed(reflector, reply, &err);
    }
    if (meta.resource_version.len >= VERSION_MAX) {
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
    memcpy(reflector->version, meta.resource_version.s, meta.resource_version.len);
    reflector->version[meta.resource_version.len] = '\0';
    reflector->watching = true;
    reflector->paged_expired = 0;
    tell_listed(reflector, true);
    count(reflector, COUNT_LISTED); /* synced only when the receiver has it all */
    return go_on(reflector);
}

/* ---- the end of a watch ---- */

/* 410, and what says that this version cannot be watched from. */
static bool must_list(const struct sl_reflector *reflector, const struct sl_reply *reply)
{
    return reflector->expired || reply->status == 400 || reply->status == 404 ||
           is_expired(reply->status, reply->reason, strlen(reply->reason));
}

/* The watch failed for what it was asked or what it brought: from the same version it will fail the
 * same way. A server that is busy or not there says nothing of the version. */
static bool is_lasting(const struct sl_reflector *reflector, const struct sl_reply *reply,
                       const struct sl_error *err)
{
    bool of_content = err->code == SL_ERR_SYNTAX || err->code == SL_ERR_TYPE ||
                      err->code == SL_ERR_FIELD || err->code == SL_ERR_LIMIT;
    bool of_request = reply->status > 0 && reply->status < 500 && reply->status != 429;
    return reflector->refused || of_content || of_request;
}

static bool watch_done(struct sl_reflector *reflector, const struct sl_reply *reply)
{
    struct sl_error err = reply->err;
    bool whole = reply->status == 200 && sl_watch_finish(reflector->stream, NULL, &err) == 0;
    int64_t lasted_us = sl_kube_monotonic_us() - reflector->started_us;
    if (reflector->progress || lasted_us >= reflector->options.times.backoff_max_us) {
        reflector->tries = 0;
    }
    if (reflector->progress) {
        reflector->resumes = 0;
    }
    if (must_list(reflector, reply)) {
        return list_again(reflector);
    }
    bool silent = !reflector->progress && lasted_us >= reflector->options.times.silence_us;
    reflector->silent = silent ? reflector->silent + 1 : 0;
    if (whole && reflector->lost) {
        whole = false;
        reflector->resumes = RESUMES_MAX;
        (void)sl_error_set(&err, SL_ERR_SYNTAX, "a part of the watch could not be read");
    }
    if (whole && (reflector->progress || lasted_us >= short_watch_us)) {
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
    (void)pthread_mutex_lock(&reflector->stats_lock);
    reflector->stats.lost_us =
        reflector->stats.synced ? sl_kube_real_us() : reflector->stats.lost_us;
    reflector->stats.synced = false;
    (void)pthread_mutex_unlock(&reflector->stats_lock);
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

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

/* False when out of memory. */
static bool copy_texts(struct sl_reflector *reflector)
{
    const char **const field[] = {&reflector->options.name, &reflector->options.path,
                                  &reflector->options.query};
    for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
        if (*field[i] != NULL) {
            reflector->text[i] = copy_text(*field[i]);
            *field[i] = reflector->text[i];
            if (reflector->text[i] == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool make_decoders(struct sl_reflector *reflector)
{
    const struct sl_reflector_options *options = &reflector->options;
    struct sl_text_limits page = options->limits;
    page.max_bytes = SIZE_MAX; /* a page is bounded by its time, what is kept of it by object */
    reflector->list = sl_watch_new(SL_WATCH_LIST, options->kind, &page, on_list_item, reflector);
    reflector->stream =
        sl_watch_new(SL_WATCH_STREAM, options->kind, &options->limits, on_watch_item, reflector);
    return reflector->list != NULL && reflector->stream != NULL;
}

struct sl_reflector *sl_reflector_start(const struct sl_reflector_options *options,
                                        struct sl_error *err)
{
    struct sl_reflector *reflector = calloc(1, sizeof(*reflector));
    if (reflector == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    reflector->options = *options;
    reflector->refs = 2;
    reflector->skip_logged_us = -skip_log_us;
    reflector->stats.lost_us = sl_kube_real_us();
    reflector->jitter = (uint64_t)sl_kube_real_us() ^ (uint64_t)(uintptr_t)reflector;
    sl_buf_init(&reflector->next, CONTINUE_MAX);
    (void)pthread_mutex_init(&reflector->gate, NULL);
    (void)pthread_mutex_init(&reflector->stats_lock, NULL);
    if (!copy_texts(reflector) || !make_decoders(reflector)) {
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
    (void)pthread_mutex_lock(&reflector->stats_lock);
    *out = reflector->stats;
    (void)pthread_mutex_unlock(&reflector->stats_lock);
}
