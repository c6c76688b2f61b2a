/* Waiting pods in the lane's order, with a tree that finds the next pod narrow enough. */
#ifndef SLICED_CORE_FORECAST_WAITS_H
#define SLICED_CORE_FORECAST_WAITS_H

#include "sliced/promise_pod.h"

struct sl_wait {
    struct sl_promise_pod pod; /* its width is 0 once it is gone */
    int64_t run_us;
    uint64_t serial; /* tells pods apart; 0: not a real pod */
    void *owner;     /* the caller's */
    uint8_t rank;    /* the caller's */
};

/* The least of each, maybe of two pods. */
struct sl_waits_least {
    int64_t width;
    int64_t run_us;
};

/* Zeroed: no pod waits. */
struct sl_waits {
    struct sl_wait *wait;
    struct sl_waits_least *least; /* below each node of the tree; root at 1, leaves at size */
    size_t first;                 /* all slots before it are removed */
    size_t used;
    size_t size; /* a power of two, or 0 */
};

void sl_waits_free(struct sl_waits *waits);
/* Makes room for n pods; -1 when out of memory. */
int sl_waits_reserve(struct sl_waits *waits, size_t n);
void sl_waits_clear(struct sl_waits *waits);
/* Copies without removed pods. The copy must have reserved room. */
void sl_waits_copy(struct sl_waits *to, const struct sl_waits *from);
/* Adds a pod; the caller has reserved room. True: slots of other pods have changed. */
bool sl_waits_push(struct sl_waits *waits, const struct sl_wait *wait);
void sl_waits_remove(struct sl_waits *waits, size_t slot);
void sl_waits_set_run(struct sl_waits *waits, size_t slot, int64_t run_us);
/* Returns the slot of the pod of equal order and serial; waits->size: it does not wait. */
size_t sl_waits_find(const struct sl_waits *waits, const struct sl_wait *wait);
/* Room for a pod: `units`, or `brief_units` if it runs no longer than run_us. */
struct sl_waits_room {
    int64_t units;
    int64_t brief_units;
    int64_t run_us;
};
/* Returns the first slot from `from` on whose pod has room; waits->size: none. */
size_t sl_waits_next(const struct sl_waits *waits, size_t from, const struct sl_waits_room *room);

static inline bool sl_waits_is_empty(const struct sl_waits *waits)
{
    return waits->first >= waits->used;
}

#endif
