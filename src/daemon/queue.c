/* The queue's life: its thread, when it plans, and what the server sees of it. */
#include "daemon/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/queue_internal.h"
#include "server/process.h"
#include "util/log.h"

enum { SLACK_LETTERS = 4096, REST = 4 /* times as long as a round took */ };

static const int64_t ns_per_us = 1000;
static const int64_t ns_per_s = 1000000000;
/* between two rounds: what comes in meanwhile is planned for, and released, together */
static const int64_t rest_min_ns = 10000000;
static const int64_t rest_max_ns = 50000000;
/* between two looks at the term, of which nobody tells when the cluster is known */
static const int64_t look_idle_us = 200000;
static const int64_t look_busy_us = 1000000;

/* ---- the thread ---- */

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / ns_per_s), .tv_nsec = (long)(ns % ns_per_s)};
}

static bool has_mail(const struct sl_queuer *queuer)
{
    return queuer->posted != queuer->planned;
}

/* Until there is something to do, or it is until_ns (monotonic); not before rest_ns. False: the end
 * has come. */
static bool wait_for_work(struct sl_queuer *queuer, int64_t rest_ns, int64_t until_ns)
{
    const struct timespec rest = timespec_of(rest_ns);
    const struct timespec until = timespec_of(until_ns);
    int code = 0;
    (void)pthread_mutex_lock(&queuer->mail);
    while (!queuer->stop && code != ETIMEDOUT && sl_clock_monotonic_ns() < rest_ns) {
        code = pthread_cond_timedwait(&queuer->woken, &queuer->mail, &rest);
    }
    code = 0;
    while (!queuer->stop && code != ETIMEDOUT && !has_mail(queuer)) {
        code = pthread_cond_timedwait(&queuer->woken, &queuer->mail, &until);
    }
    bool go_on = !queuer->stop;
    (void)pthread_mutex_unlock(&queuer->mail);
    return go_on;
}

static void *run(void *context)
{
    struct sl_queuer *queuer = context;
    int64_t rest_ns = 0;
    int64_t until_ns = 0;
    while (wait_for_work(queuer, rest_ns, until_ns)) {
        int64_t begin_ns = sl_clock_monotonic_ns();
        int64_t now_us = sl_queue_follow_clock(queuer, sl_clock_real_us(), begin_ns);
        int64_t again_us = sl_queue_round(queuer, now_us);
        int64_t end_ns = sl_clock_monotonic_ns();
        int64_t rest = (end_ns - begin_ns) * REST;
        int64_t left_us = again_us > now_us ? again_us - now_us : 0;
        int64_t look_us = queuer->term == 0 ? look_idle_us : look_busy_us;
        left_us = left_us > look_us ? look_us : left_us;
        rest = rest < rest_min_ns ? rest_min_ns : rest;
        rest_ns = end_ns + (rest > rest_max_ns ? rest_max_ns : rest);
        until_ns = end_ns + left_us * ns_per_us;
    }
    return NULL;
}

void sl_queuer_wake(struct sl_queuer *queuer)
{
    if (queuer != NULL) {
        sl_queue_published(queuer);
    }
}

/* ---- life ---- */

static void init_locks(struct sl_queuer *queuer)
{
    pthread_condattr_t attr;
    (void)pthread_mutex_init(&queuer->listing, NULL);
    (void)pthread_mutex_init(&queuer->plan, NULL);
    (void)pthread_mutex_init(&queuer->status, NULL);
    (void)pthread_mutex_init(&queuer->mail, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&queuer->woken, &attr);
    (void)pthread_cond_init(&queuer->settled, &attr);
    (void)pthread_condattr_destroy(&attr);
}

struct sl_queuer *sl_queuer_new(const struct sl_queuer_options *options, struct sl_error *err)
{
    struct sl_queuer *queuer = calloc(1, sizeof(*queuer));
    if (queuer == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    queuer->options = *options;
    queuer->config = *options->config;
    queuer->options.config = NULL;
    queuer->max_letters = (size_t)queuer->config.cluster.max_pods + SLACK_LETTERS;
    queuer->posted = 1; /* there is a first look */
    sl_pace_init(&queuer->pace, (unsigned)queuer->config.queue.max_releases);
    init_locks(queuer);
    return queuer;
}

int sl_queuer_start(struct sl_queuer *queuer, struct sl_error *err)
{
    sl_store_set_published(queuer->options.store, sl_queue_published, queuer);
    int code = pthread_create(&queuer->thread, NULL, run, queuer);
    if (code != 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no thread for the queue: %s", strerror(code));
    }
    queuer->started = true;
    return 0;
}

void sl_queuer_stop(struct sl_queuer *queuer)
{
    sl_store_set_published(queuer->options.store, NULL, NULL);
    sl_store_set_feed(queuer->options.store, NULL, NULL);
    if (!queuer->started) {
        return;
    }
    (void)pthread_mutex_lock(&queuer->mail);
    queuer->stop = true;
    (void)pthread_cond_broadcast(&queuer->woken);
    (void)pthread_cond_broadcast(&queuer->settled);
    (void)pthread_mutex_unlock(&queuer->mail);
    (void)pthread_join(queuer->thread, NULL);
    sl_store_set_feed(queuer->options.store, NULL, NULL); /* the thread may have set it again */
    queuer->started = false;
}

void sl_queuer_free(struct sl_queuer *queuer)
{
    uint64_t posted = 0;
    if (queuer == NULL) {
        return;
    }
    sl_queuer_stop(queuer);
    struct sl_queue_mail mail = sl_queue_take_mail(queuer, &posted);
    sl_queue_free_mail(&mail);
    sl_queue_shared_unref(queuer->listed);
    sl_planner_free(queuer->planner);
    if (queuer->snapshot != NULL) {
        sl_store_release(queuer->options.store, queuer->snapshot);
    }
    sl_queue_forget_all(queuer);
    sl_map_free(&queuer->entries);
    free(queuer->fresh);
    (void)pthread_cond_destroy(&queuer->woken);
    (void)pthread_cond_destroy(&queuer->settled);
    (void)pthread_mutex_destroy(&queuer->listing);
    (void)pthread_mutex_destroy(&queuer->plan);
    (void)pthread_mutex_destroy(&queuer->status);
    (void)pthread_mutex_destroy(&queuer->mail);
    free(queuer);
}

void sl_queuer_configure(struct sl_queuer *queuer, const struct sl_config *config)
{
    struct sl_config *fresh = malloc(sizeof(*fresh));
    if (fresh == NULL) {
        sl_log(SL_LOG_ERROR, "the queue keeps its configuration: out of memory", (char *)NULL);
        return;
    }
    *fresh = *config;
    (void)pthread_mutex_lock(&queuer->mail);
    struct sl_config *old = queuer->fresh;
    queuer->fresh = fresh;
    (void)pthread_mutex_unlock(&queuer->mail);
    free(old);
    sl_queuer_wake(queuer);
}

/* ---- what the server sees ---- */

/* Said while a plan is being made, or before the first. */
static const char *short_text(enum sl_queue_state state, bool known)
{
    static const char *const texts[SL_QUEUE_STATES] = {
        [SL_QUEUE_HELD] = "held: others are ahead of it",
        [SL_QUEUE_CLAIMED] = "its turn has come",
        [SL_QUEUE_RELEASED] = "released to be tried",
        [SL_QUEUE_STAGED] = "held: it waits for others to succeed",
        [SL_QUEUE_GATED] = "held: other scheduling gates are shut",
        [SL_QUEUE_REFUSED] = "refused",
    };
    return known ? texts[state] : "held: the queue has not seen it yet";
}

static void put_short(struct sl_queue_status *out)
{
    const char *text = short_text(out->state, out->known);
    size_t len = strlen(text);
    memcpy(out->text, text, len + 1);
}

static void status(void *context, struct sl_str uid, struct sl_queue_status *out)
{
    struct sl_queuer *queuer = context;
    struct sl_queue_row row;
    *out = (struct sl_queue_status){.state = SL_QUEUE_HELD};
    (void)pthread_mutex_lock(&queuer->status);
    const struct sl_queue_entry *entry = sl_map_get(&queuer->entries, uid.s, uid.len);
    out->known = entry != NULL;
    out->state = entry != NULL ? entry->state : SL_QUEUE_HELD;
    (void)pthread_mutex_unlock(&queuer->status);
    put_short(out);
    if (!out->known || pthread_mutex_trylock(&queuer->plan) != 0) {
        return;
    }
    int64_t now_us = sl_queue_now(queuer, sl_clock_monotonic_ns());
    if (queuer->planner != NULL && sl_planner_row(queuer->planner, uid, now_us, &row) &&
        (row.state == out->state || !sl_queue_may_go(out))) {
        (void)sl_queue_text(&row, now_us, out->text, sizeof(out->text));
        out->state =
            sl_queue_may_go(out) || row.state == SL_QUEUE_CLAIMED || row.state == SL_QUEUE_RELEASED
                ? out->state
                : row.state;
    }
    (void)pthread_mutex_unlock(&queuer->plan);
}

static void heard(void *context, struct sl_str uid)
{
    struct sl_queuer *queuer = context;
    (void)pthread_mutex_lock(&queuer->status);
    struct sl_queue_entry *entry = sl_map_get(&queuer->entries, uid.s, uid.len);
    queuer->heard = true;
    if (entry != NULL) {
        entry->heard = true;
    }
    (void)pthread_mutex_unlock(&queuer->status);
}

bool sl_queue_settle(void *context, int64_t timeout_us)
{
    struct sl_queuer *queuer = context;
    const struct timespec until = timespec_of(sl_clock_monotonic_ns() + timeout_us * ns_per_us);
    int code = 0;
    (void)pthread_mutex_lock(&queuer->mail);
    uint64_t posted = queuer->posted;
    while (queuer->planned < posted && code == 0 && !queuer->stop) {
        code = pthread_cond_timedwait(&queuer->settled, &queuer->mail, &until);
    }
    bool settled = queuer->planned >= posted;
    (void)pthread_mutex_unlock(&queuer->mail);
    return settled;
}

struct sl_queue sl_queuer_queue(struct sl_queuer *queuer)
{
    return (struct sl_queue){.context = queuer,
                             .status = status,
                             .heard = heard,
                             .list = sl_queue_rows,
                             .row = sl_queue_row_of,
                             .stats = sl_queue_stats,
                             .metrics = sl_queue_metrics,
                             .settle = sl_queue_settle};
}
