/* The last notice that was written on a waiting pod about its place, and when to write it anew:
 * ten thousand pods move up with every start, and each writing costs the API server. */
#ifndef SLICED_NOTICE_H
#define SLICED_NOTICE_H

#include "sliced/plan.h"
#include "util/data/times.h"

struct sl_notice {
    SL_TIMES(int64_t at_us;    /* when it was written; 0: nothing is known to stand there */
             int64_t start_us; /* estimated start; 0: none was told */
    );
    size_t position;           /* in the whole queue, from 1 */
    uint32_t ahead;            /* pods ahead that want the same */
    enum sl_queue_state state; /* SL_QUEUE_STATES: it could not be written */
    enum sl_hold_reason reason;
};

struct sl_notice sl_notice_of(const struct sl_queue_row *row, size_t position, int64_t now_us);

enum sl_notice_due {
    SL_NOTICE_GOOD,    /* what was written will do */
    SL_NOTICE_MOVED,   /* place or start are others by a quarter */
    SL_NOTICE_CHANGED, /* another state or reason, it has become the first of its resource or is it
                        * no longer, or nothing was written */
};

/* Compares what was written with how the pod stands now, which is now->at_us. A change is news ten
 * seconds after the last writing, as some reasons change with each plan; the end of the wait is at
 * once. A move is news after a minute: of a place, or of the number ahead, by a quarter of what was
 * told; of a start, by a minute and a quarter of the time that was left. So a pod which moves up
 * from place 10,000 to 1 is written of some 30 times. */
enum sl_notice_due sl_notice_due(const struct sl_notice *written, const struct sl_notice *now);

/* Does the pod wait for its turn in that state? */
bool sl_notice_waits(enum sl_queue_state state);

#endif
