/* The queue's time. Pods carry the API server's times, so it follows the wall clock; but NTP, an
 * operator or a sleeping machine may move that by hours, and no nomination may expire for that. */
#include "daemon/queue/clock.h"

#include <time.h>

#include "daemon/queue/worker.h"
#include "util/log.h"
#include "util/time.h"

enum { SLOW = 8 /* a small difference is made up for over so many times its length */ };

static const int64_t put_us = 2 * SL_SECOND_US; /* beyond this the clock was set */

static int64_t passed_us(const struct sl_queue_worker *worker, int64_t monotonic_ns)
{
    int64_t passed_ns = monotonic_ns - worker->at_ns;
    return worker->at_ns > 0 && passed_ns > 0 ? passed_ns / SL_US_NS : 0;
}

int64_t sl_queue_now(const struct sl_queue_worker *worker, int64_t monotonic_ns)
{
    return worker->now_us + passed_us(worker, monotonic_ns);
}

/* With plan held. */
static void clock_put(struct sl_queue_worker *worker, int64_t by_us, int64_t now_us)
{
    size_t at = 0;
    (void)atomic_fetch_add(&worker->rounds, 1);
    sl_log(SL_LOG_WARN, "the clock was set: the deadlines of the queue move by as much", "#seconds",
           SL_LOG_NUMBER(by_us / SL_SECOND_US), (char *)NULL);
    for (struct sl_queue_entry *entry = sl_map_next(&worker->entries, &at); entry != NULL;
         entry = sl_map_next(&worker->entries, &at)) {
        sl_times_move(entry, by_us);
        sl_times_move(&entry->notice, by_us);
    }
    sl_times_move(worker, by_us);
    worker->estimated_us = 0;
    if (worker->engine != NULL) {
        sl_queue_lock_engine(worker);
        sl_engine_rebase(worker->engine, by_us, now_us);
        sl_queue_unlock_engine(worker);
    }
}

int64_t sl_queue_follow_clock(struct sl_queue_worker *worker, int64_t real_us, int64_t monotonic_ns)
{
    (void)pthread_mutex_lock(&worker->plan);
    int64_t now_us = sl_queue_now(worker, monotonic_ns);
    int64_t off_us = real_us - now_us;
    int64_t most_us = passed_us(worker, monotonic_ns) / SLOW;
    if (worker->at_ns == 0) {
        now_us = real_us;
    } else if (off_us > put_us || off_us < -put_us) {
        clock_put(worker, off_us, real_us);
        now_us = real_us;
    } else {
        off_us = off_us > most_us ? most_us : off_us;
        now_us += off_us < -most_us ? -most_us : off_us;
    }
    worker->now_us = now_us;
    worker->at_ns = monotonic_ns;
    (void)pthread_mutex_unlock(&worker->plan);
    return now_us;
}

int64_t sl_queue_cpu_us(void)
{
    struct timespec time = {.tv_sec = 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * SL_SECOND_US + time.tv_nsec / SL_US_NS;
}
