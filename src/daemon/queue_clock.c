/* The queue's time. Pods carry the API server's times, so it is that of the day; but NTP, an
 * operator or a machine that was asleep may put that clock by hours, and no turn lapses for that.
 */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/queue_internal.h"
#include "util/log.h"

enum { SLOW = 8 /* a small difference is made up for within so many times itself */ };

static const int64_t ns_per_us = 1000;
static const int64_t put_us = 2000000; /* further off it was put */

static int64_t passed_us(const struct sl_queuer *queuer, int64_t monotonic_ns)
{
    int64_t passed_ns = monotonic_ns - queuer->at_ns;
    return queuer->at_ns > 0 && passed_ns > 0 ? passed_ns / ns_per_us : 0;
}

int64_t sl_queue_now(const struct sl_queuer *queuer, int64_t monotonic_ns)
{
    return queuer->now_us + passed_us(queuer, monotonic_ns);
}

static void move(int64_t *at_us, int64_t by_us)
{
    *at_us += *at_us != 0 ? by_us : 0; /* 0: never, or not set */
}

/* With plan held. */
static void put(struct sl_queuer *queuer, int64_t by_us, int64_t now_us)
{
    size_t at = 0;
    char text[24];
    (void)atomic_fetch_add(&queuer->rounds, 1);
    (void)snprintf(text, sizeof(text), "%" PRId64, by_us / 1000000);
    sl_log(SL_LOG_WARN, "the clock was put: what runs out in the queue does so as much later",
           "seconds", text, (char *)NULL);
    for (struct sl_queue_entry *entry = sl_map_next(&queuer->entries, &at); entry != NULL;
         entry = sl_map_next(&queuer->entries, &at)) {
        move(&entry->claimed_us, by_us);
        move(&entry->told_us, by_us);
        move(&entry->ignored_us, by_us);
        move(&entry->told_start_us, by_us);
    }
    move(&queuer->wake_us, by_us);
    move(&queuer->denied_us, by_us);
    move(&queuer->paused_until_us, by_us);
    move(&queuer->told_round_us, by_us);
    queuer->estimated_us = 0;
    (void)pthread_mutex_lock(&queuer->status);
    move(&queuer->pace.begin_us, by_us);
    (void)pthread_mutex_unlock(&queuer->status);
    if (queuer->planner != NULL) {
        sl_planner_rebase(queuer->planner, by_us, now_us);
    }
}

int64_t sl_queue_follow_clock(struct sl_queuer *queuer, int64_t real_us, int64_t monotonic_ns)
{
    (void)pthread_mutex_lock(&queuer->plan);
    int64_t now_us = sl_queue_now(queuer, monotonic_ns);
    int64_t off_us = real_us - now_us;
    int64_t most_us = passed_us(queuer, monotonic_ns) / SLOW;
    if (queuer->at_ns == 0) {
        now_us = real_us;
    } else if (off_us > put_us || off_us < -put_us) {
        put(queuer, off_us, real_us);
        now_us = real_us;
    } else {
        off_us = off_us > most_us ? most_us : off_us;
        now_us += off_us < -most_us ? -most_us : off_us;
    }
    queuer->now_us = now_us;
    queuer->at_ns = monotonic_ns;
    (void)pthread_mutex_unlock(&queuer->plan);
    return now_us;
}
