/* The queue's life: its thread, when it plans, and the server's access to it. */
#include "daemon/queue/queue.h"

#include <stdlib.h>
#include <time.h>

#include "daemon/queue/clock.h"
#include "daemon/queue/entry.h"
#include "daemon/queue/mail.h"
#include "daemon/queue/plan.h"
#include "daemon/queue/readers.h"
#include "daemon/queue/report.h"
#include "daemon/queue/worker.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/time.h"

enum { SLACK_LETTERS = 4096, REST = 4 /* times as long as a round took */ };

/* between two rounds: mail of that time is planned for, and released, together */
static const int64_t rest_min_ns = 10 * SL_MS_NS;
static const int64_t rest_max_ns = 50 * SL_MS_NS;
/* between two looks at the leadership: nothing signals that the cluster is known */
static const int64_t look_idle_us = 200 * SL_MS_US;
static const int64_t look_busy_us = SL_SECOND_US;

/* ---- the thread ---- */

static void *worker_run(void *context)
{
    struct sl_queue_worker *worker = context;
    int64_t rest_ns = 0;
    int64_t until_ns = 0;
    while (sl_queue_wait_for_mail(worker, rest_ns, until_ns)) {
        int64_t begin_ns = sl_clock_monotonic_ns();
        int64_t now_us = sl_queue_follow_clock(worker, sl_clock_real_us(), begin_ns);
        int64_t again_us = sl_queue_round(worker, now_us);
        int64_t end_ns = sl_clock_monotonic_ns();
        int64_t rest = (end_ns - begin_ns) * REST;
        int64_t left_us = again_us > now_us ? again_us - now_us : 0;
        int64_t look_us = worker->leadership == 0 ? look_idle_us : look_busy_us;
        left_us = left_us > look_us ? look_us : left_us;
        rest = rest < rest_min_ns ? rest_min_ns : rest;
        rest_ns = end_ns + (rest > rest_max_ns ? rest_max_ns : rest);
        until_ns = end_ns + left_us * SL_US_NS;
    }
    return NULL;
}

void sl_queue_worker_wake(struct sl_queue_worker *worker)
{
    if (worker != NULL) {
        sl_queue_published(worker);
    }
}

/* ---- life ---- */

static void init_locks(struct sl_queue_worker *worker)
{
    pthread_condattr_t attr;
    sl_queue_times_init(&worker->times, &worker->config);
    (void)pthread_mutex_init(&worker->listing, NULL);
    (void)pthread_mutex_init(&worker->plan, NULL);
    (void)pthread_mutex_init(&worker->status, NULL);
    (void)pthread_mutex_init(&worker->mail, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&worker->woken, &attr);
    (void)pthread_cond_init(&worker->settled, &attr);
    (void)pthread_condattr_destroy(&attr);
}

struct sl_queue_worker *sl_queue_worker_new(const struct sl_queue_worker_options *options,
                                            struct sl_error *err)
{
    struct sl_queue_worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    worker->options = *options;
    worker->config = *options->config;
    worker->options.config = NULL;
    worker->max_letters = (size_t)worker->config.cluster.max_pods + SLACK_LETTERS;
    worker->posted = 1; /* there is a first look */
    init_locks(worker);
    return worker;
}

int sl_queue_worker_start(struct sl_queue_worker *worker, struct sl_error *err)
{
    sl_store_set_published(worker->options.store, sl_queue_published, worker);
    int code = pthread_create(&worker->thread, NULL, worker_run, worker);
    if (code != 0) {
        return sl_error_set(err, SL_ERR_SYSTEM, "no thread for the queue: %s", strerror(code));
    }
    worker->started = true;
    return 0;
}

void sl_queue_worker_stop(struct sl_queue_worker *worker)
{
    sl_store_set_published(worker->options.store, NULL, NULL);
    sl_store_set_feed(worker->options.store, NULL, NULL);
    if (!worker->started) {
        return;
    }
    (void)pthread_mutex_lock(&worker->mail);
    worker->stop = true;
    (void)pthread_cond_broadcast(&worker->woken);
    (void)pthread_cond_broadcast(&worker->settled);
    (void)pthread_mutex_unlock(&worker->mail);
    (void)pthread_join(worker->thread, NULL);
    sl_store_set_feed(worker->options.store, NULL, NULL); /* the thread may have set it again */
    worker->started = false;
}

void sl_queue_worker_free(struct sl_queue_worker *worker)
{
    uint64_t posted = 0;
    if (worker == NULL) {
        return;
    }
    sl_queue_worker_stop(worker);
    struct sl_queue_mail mail = sl_queue_take_mail(worker, &posted);
    sl_queue_free_mail(&mail);
    sl_queue_shared_unref(worker->listed);
    if (worker->options.partitioner != NULL) {
        sl_partitioner_end(worker->options.partitioner);
    }
    sl_queue_lock_engine(worker);
    sl_engine_free(worker->engine);
    sl_queue_unlock_engine(worker);
    sl_store_release(worker->options.store, worker->snapshot);
    sl_plan_fronts_free(worker->front, worker->n_fronts);
    sl_queue_forget_all(worker);
    sl_map_free(&worker->entries);
    free(worker->fresh);
    free(worker->tenants);
    (void)pthread_cond_destroy(&worker->woken);
    (void)pthread_cond_destroy(&worker->settled);
    (void)pthread_mutex_destroy(&worker->listing);
    (void)pthread_mutex_destroy(&worker->plan);
    (void)pthread_mutex_destroy(&worker->status);
    (void)pthread_mutex_destroy(&worker->mail);
    free(worker);
}

void sl_queue_worker_configure(struct sl_queue_worker *worker, const struct sl_config *config)
{
    struct sl_config *fresh = malloc(sizeof(*fresh));
    if (fresh == NULL) {
        sl_log(SL_LOG_ERROR, "the queue keeps its configuration: out of memory", (char *)NULL);
        return;
    }
    *fresh = *config;
    (void)pthread_mutex_lock(&worker->mail);
    struct sl_config *old = worker->fresh;
    worker->fresh = fresh;
    (void)pthread_mutex_unlock(&worker->mail);
    free(old);
    sl_queue_worker_wake(worker);
}

/* ---- for the server ---- */

static void note_heard(void *context, struct sl_str uid)
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->status);
    struct sl_queue_entry *entry = sl_map_get(&worker->entries, uid.s, uid.len);
    worker->heard = true;
    if (entry != NULL) {
        entry->heard = true;
    }
    (void)pthread_mutex_unlock(&worker->status);
}

static size_t read_ahead(void *context, const struct sl_pod *pod,
                         struct sl_plan_front out[SL_PLAN_FRONTS_MAX])
{
    struct sl_queue_worker *worker = context;
    (void)pthread_mutex_lock(&worker->status);
    size_t n = sl_plan_fronts_ahead(worker->front, worker->n_fronts, pod, out);
    (void)pthread_mutex_unlock(&worker->status);
    return n;
}

static void hold_plans(void *context, bool begins)
{
    struct sl_queue_worker *worker = context;
    (void)(begins ? pthread_mutex_lock : pthread_mutex_unlock)(&worker->plan);
}

struct sl_queue_reader sl_queue_worker_reader(struct sl_queue_worker *worker)
{
    return (struct sl_queue_reader){.context = worker,
                                    .status = sl_queue_status_of,
                                    .ahead = read_ahead,
                                    .heard = note_heard,
                                    .list = sl_queue_rows,
                                    .row = sl_queue_row_of,
                                    .tenants_of = sl_queue_tenants_of,
                                    .reclaim = sl_queue_reclaim,
                                    .what_if = sl_queue_what_if,
                                    .metrics = sl_queue_write_metrics,
                                    .state = sl_queue_write_state,
                                    .settle = sl_queue_settle,
                                    .hold = hold_plans};
}
