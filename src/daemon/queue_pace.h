/* How many pods may be released and not bound yet: a window that grows while kube-scheduler binds
 * them without delay, as TCP Vegas' does (Brakmo, O'Malley, Peterson: TCP Vegas, 1994). What it
 * aims at is a few pods waiting inside the scheduler: none would leave it idle, many would only
 * wait there. Pure: time is an argument. */
#ifndef SLICED_DAEMON_QUEUE_PACE_H
#define SLICED_DAEMON_QUEUE_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { SL_PACE_FIRST = 16, SL_PACE_MIN = 12 };

struct sl_pace {
    unsigned max;
    uint64_t window;  /* in thousandths of a pod */
    int64_t rtt_us;   /* smoothed time from claim to bound; 0: none was seen */
    int64_t least_us; /* the shortest of this epoch and of the last one */
    int64_t least_last_us;
    int64_t epoch_us; /* when this one began */
    bool fast;        /* doubles with each round, as at the begin */
};

void sl_pace_init(struct sl_pace *pace, unsigned max);
/* Another maximum. */
void sl_pace_set_max(struct sl_pace *pace, unsigned max);

/* A pod was bound that long after its claim; full: the window was in the way of others. */
void sl_pace_bound(struct sl_pace *pace, int64_t rtt_us, bool full, int64_t now_us);
/* A claim was not taken in time. */
void sl_pace_lapse(struct sl_pace *pace);

unsigned sl_pace_window(const struct sl_pace *pace);

/* A claim older than that does not count any more: kube-scheduler has put the pod aside, it waits
 * for something else. */
int64_t sl_pace_patience_us(const struct sl_pace *pace);

#endif
