/* The window: how many pods may be released and not bound yet. It grows by half as long as that
 * binds clearly more pods a second, and shrinks as long as that costs nothing, because released
 * pods beyond need only wait inside kube-scheduler. */
#ifndef SLICED_PACE_H
#define SLICED_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/data/times.h"

enum { SL_PACE_FIRST = 16, SL_PACE_MIN = 12 };

enum sl_pace_try { SL_PACE_UP, SL_PACE_REST, SL_PACE_DOWN };

struct sl_pace {
    unsigned max;
    unsigned window;
    unsigned before;             /* the window to return to when a try does not pay */
    unsigned n;                  /* pods bound in this round */
    unsigned rounds;             /* without a try, so far */
    bool full;                   /* the window was full during all of this round */
    bool settling;               /* the first round with another window, which is not judged */
    bool down;                   /* the next try makes the window smaller */
    enum sl_pace_try what;       /* tried now */
    SL_TIMES(int64_t begin_us;); /* start of this round; 0: none has begun */
    int64_t rate;                /* pods bound in 1,000 s, before the try */
    int64_t rtt_us;              /* smoothed time from nomination to bound; 0: none seen */
};

/* max: the largest window, in pods. */
void sl_pace_init(struct sl_pace *pace, unsigned max);
/* Changes the maximum; a larger window shrinks to it. */
void sl_pace_set_max(struct sl_pace *pace, unsigned max);

/* Tells that a pod was bound rtt_us after its nomination. full: the window made others wait. */
void sl_pace_bound(struct sl_pace *pace, int64_t rtt_us, bool full, int64_t now_us);
/* Tells that a nomination expired. */
void sl_pace_expiry(struct sl_pace *pace);

unsigned sl_pace_window(const struct sl_pace *pace); /* pods */

/* Returns the age beyond which a nomination does not fill the window: kube-scheduler has put the
 * pod aside, and it waits for something else. */
int64_t sl_pace_patience_us(const struct sl_pace *pace);

#endif
