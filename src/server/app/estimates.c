/* One thread makes estimates, so that no thread of the server waits for one. */
#include "server/app/estimates.h"

#include <time.h>

#include "util/clock.h"
#include "util/data/hash.h"
#include "util/data/sat.h"
#include "util/time.h"

enum { REST = 9 /* rest follows an estimate: they have a tenth of a processor, */ };

static const int64_t rest_least_ns = 50 * SL_MS_NS;   /* and are no more than twenty a second */
static const int64_t rest_most_ns = 2 * SL_SECOND_NS; /* also where others' queues make one cost
                                                         more than 0.2 s: then they have more */
static const int64_t wait_most_ns = 30 * SL_SECOND_NS;

/* ---- who asks ---- */

uint64_t sl_estimate_who(struct sl_str user)
{
    const struct sl_str account = SL_STR("system:serviceaccount:");
    size_t len = user.len;
    if (sl_str_starts(user, account)) {
        const char *end = memchr(user.s + account.len, ':', user.len - account.len);
        len = end == NULL ? user.len : (size_t)(end - user.s);
    }
    return len == 0 ? 0 : sl_hash(user.s, len);
}

/* ---- the line, with the lock held ---- */

static struct sl_estimate_request *estimate_of(struct sl_link *link)
{
    return link == NULL ? NULL : SL_CONTAINER(link, struct sl_estimate_request, link);
}

static struct sl_estimate_request *first_of(const struct sl_estimates *estimates)
{
    return estimate_of(estimates->waiting.first);
}

static bool is_waiting(const struct sl_estimates *estimates, uint64_t who)
{
    struct sl_link *link = estimates->waiting.first;
    while (link != NULL && estimate_of(link)->who != who) {
        link = link->next;
    }
    return link != NULL;
}

static void line_leave(struct sl_estimates *estimates, struct sl_estimate_request *estimate)
{
    sl_list_remove(&estimates->waiting, &estimate->link);
    estimates->n--;
}

static void line_refuse(struct sl_estimates *estimates, enum sl_error_code code, const char *why)
{
    struct sl_estimate_request *first = first_of(estimates);
    line_leave(estimates, first);
    first->result = sl_error_set(&first->err, code, "%s", why);
    MHD_resume_connection(first->request->connection);
}

/* ---- the thread ---- */

/* Waits until then, or until something has changed; no longer than the first may wait. */
static void turn_await(struct sl_estimates *estimates, int64_t until_ns)
{
    const struct sl_estimate_request *first = first_of(estimates);
    if (first == NULL) {
        (void)pthread_cond_wait(&estimates->changed, &estimates->lock);
        return;
    }
    until_ns = until_ns < first->until_ns ? until_ns : first->until_ns;
    const struct timespec at = {.tv_sec = (time_t)(until_ns / SL_SECOND_NS),
                                .tv_nsec = (long)(until_ns % SL_SECOND_NS)};
    (void)pthread_cond_timedwait(&estimates->changed, &estimates->lock, &at);
}

/* Answers the first, without the lock meanwhile. Returns when the next may have its turn. */
static int64_t turn_take(struct sl_estimates *estimates)
{
    const struct sl_queue_reader *queue = estimates->queue;
    struct sl_estimate_request *first = first_of(estimates);
    line_leave(estimates, first);
    (void)pthread_mutex_unlock(&estimates->lock);
    first->result = queue->what_if(queue->context, first->pod, &first->what_if, &first->err);
    int64_t end_ns = sl_clock_monotonic_ns();
    int64_t rest_ns = sl_sat_mul(first->what_if.spent_us, REST * SL_US_NS);
    rest_ns = rest_ns < estimates->rest_most_ns ? rest_ns : estimates->rest_most_ns;
    (void)pthread_mutex_lock(&estimates->lock);
    MHD_resume_connection(first->request->connection);
    return end_ns + (rest_ns > estimates->rest_ns ? rest_ns : estimates->rest_ns);
}

static void *estimates_run(void *context)
{
    struct sl_estimates *estimates = context;
    int64_t next_ns = 0;
    (void)pthread_mutex_lock(&estimates->lock);
    while (!estimates->closed) {
        const struct sl_estimate_request *first = first_of(estimates);
        int64_t now_ns = sl_clock_monotonic_ns();
        if (first != NULL && now_ns >= next_ns) {
            next_ns = turn_take(estimates);
        } else if (first != NULL && now_ns >= first->until_ns) {
            line_refuse(estimates, SL_ERR_LIMIT,
                        "as many estimates as may be: others asked before, ask again");
        } else {
            turn_await(estimates, next_ns);
        }
    }
    (void)pthread_mutex_unlock(&estimates->lock);
    return NULL;
}

/* ---- a question ---- */

/* With the lock held. */
static int line_check(const struct sl_estimates *estimates, uint64_t who, struct sl_error *err)
{
    if (estimates->closed) {
        return sl_error_set(err, SL_ERR_SYSTEM, "sliced is shutting down");
    }
    if (is_waiting(estimates, who)) {
        return sl_error_set(
            err, SL_ERR_LIMIT,
            who == 0 ? "as many estimates as may be: another question at this port "
                       "waits for its turn"
                     : "as many estimates as may be: another of yours waits for its turn");
    }
    return estimates->n < SL_ESTIMATES_WAITING
               ? 0
               : sl_error_set(err, SL_ERR_LIMIT,
                              "as many estimates as may be: %u others wait, ask again",
                              estimates->n);
}

/* With the lock held. */
static int thread_start(struct sl_estimates *estimates, struct sl_error *err)
{
    if (!estimates->started) {
        estimates->started =
            pthread_create(&estimates->thread, NULL, estimates_run, estimates) == 0;
    }
    return estimates->started
               ? 0
               : sl_error_set(err, SL_ERR_SYSTEM, "there is no thread for estimates");
}

int sl_estimates_ask(struct sl_estimates *estimates, struct sl_estimate_request *estimate,
                     void (*wake)(struct sl_request *request), struct sl_error *err)
{
    int result = -1;
    (void)pthread_mutex_lock(&estimates->lock);
    if (line_check(estimates, estimate->who, err) == 0 && thread_start(estimates, err) == 0) {
        estimate->link = (struct sl_link){.prev = NULL};
        estimate->until_ns = sl_clock_monotonic_ns() + estimates->wait_ns;
        sl_list_add_last(&estimates->waiting, &estimate->link);
        estimates->n++;
        estimate->request->wake = wake;
        MHD_suspend_connection(estimate->request->connection);
        (void)pthread_cond_signal(&estimates->changed);
        result = 0;
    }
    (void)pthread_mutex_unlock(&estimates->lock);
    return result;
}

/* ---- life ---- */

void sl_estimates_init(struct sl_estimates *estimates, const struct sl_queue_reader *queue)
{
    pthread_condattr_t attributes;
    *estimates = (struct sl_estimates){.queue = queue,
                                       .wait_ns = wait_most_ns,
                                       .rest_ns = rest_least_ns,
                                       .rest_most_ns = rest_most_ns};
    (void)pthread_mutex_init(&estimates->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&estimates->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void sl_estimates_close(struct sl_estimates *estimates)
{
    (void)pthread_mutex_lock(&estimates->lock);
    estimates->closed = true;
    while (estimates->waiting.first != NULL) {
        line_refuse(estimates, SL_ERR_SYSTEM, "sliced is shutting down");
    }
    (void)pthread_cond_signal(&estimates->changed);
    (void)pthread_mutex_unlock(&estimates->lock);
}

void sl_estimates_stop(struct sl_estimates *estimates)
{
    sl_estimates_close(estimates);
    if (estimates->started) {
        (void)pthread_join(estimates->thread, NULL);
        estimates->started = false;
    }
}

void sl_estimates_free(struct sl_estimates *estimates)
{
    (void)pthread_cond_destroy(&estimates->changed);
    (void)pthread_mutex_destroy(&estimates->lock);
}
