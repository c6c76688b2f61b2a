/* How many pods may be released and not bound yet. The window follows what it brings: it is made
 * half as large again as long as clearly more pods a second are bound by that, and smaller as long
 * as that costs nothing; what waits inside kube-scheduler beyond need would only wait there. */
#ifndef SLICED_PACE_H
#define SLICED_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum { SL_PACE_FIRST = 16, SL_PACE_MIN = 12 };

enum sl_pace_try { SL_PACE_UP, SL_PACE_REST, SL_PACE_DOWN };

struct sl_pace {
    unsigned max;
    unsigned window;
    unsigned before;       /* the window that is gone back to when a try does not pay */
    unsigned n;            /* pods bound in this round */
    unsigned rounds;       /* of rest, so far */
    bool full;             /* in all of this round */
    bool settling;         /* this round is the first with another window: it says nothing */
    bool down;             /* which way the next try goes */
    enum sl_pace_try what; /* tried now */
    int64_t begin_us;      /* of this round; 0: none has begun */
    int64_t rate;          /* pods in 1,000 s, before the try */
    int64_t rtt_us;        /* smoothed time from claim to bound; 0: none was seen */
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
