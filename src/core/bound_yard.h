/* A small cluster of nodes and units in which FIFO with EASY backfill is played: as the virtual
 * FIFO of a lane of several widths, and as the layout of what waits. */
#ifndef SLICED_CORE_BOUND_YARD_H
#define SLICED_CORE_BOUND_YARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SL_YARD_LEVELS = 64 };

#define SL_YARD_NONE UINT32_MAX

/* A node, or a device of it where a pod cannot have units of two. */
struct sl_bin {
    uint64_t key; /* of the node */
    int64_t units;
    int64_t free; /* less than 0 where more runs than there is */
    int64_t gain; /* of a search */
    uint64_t mark;
    uint32_t next; /* of the bins of its level */
    uint32_t prev;
};

/* A pod that runs. */
struct sl_lease {
    int64_t start;
    int64_t end;
    int64_t width;
    uint64_t serial;
    uint32_t bin;
};

struct sl_bound_waiter;

/* A pod that waits. */
struct sl_turn {
    struct sl_bound_waiter *waiter; /* in a layout */
    uint64_t serial;
    uint64_t id;
    int64_t width; /* 0: gone */
    int64_t run_us;
    int64_t submit_us;
    int32_t priority;
    uint8_t rank;
};

struct sl_yard {
    struct sl_bin *bin; /* by key */
    size_t n_bins;
    size_t bins_cap;
    uint32_t level[SL_YARD_LEVELS + 1]; /* bins with about so much free; the first */
    int64_t largest;                    /* units of the largest bin */
    uint64_t mark;
    struct sl_lease *lease; /* the last to end first */
    size_t n_leases;
    size_t leases_cap;
    struct sl_turn *turn; /* in order */
    int64_t *narrowest;   /* a tree of the least widths, over size slots; root at 1 */
    size_t first;
    size_t used;
    size_t size; /* a power of two, or 0 */
    int64_t now;
    bool stirred; /* somebody may start now */
    bool stopped;
    bool reserved;
    uint32_t reserved_bin; /* of the first turn; SL_YARD_NONE: it has no time */
    int64_t reserved_at;
    int64_t reserved_spare; /* units beside the first turn's */
};

struct sl_yard_watch {
    bool (*started)(void *context, const struct sl_turn *turn, int64_t at); /* false: enough */
    void *context;
};

void sl_yard_free(struct sl_yard *yard);
/* Room for so many; -1 when out of memory. */
int sl_yard_reserve(struct sl_yard *yard, size_t bins, size_t leases, size_t turns);
/* Nobody runs, nobody waits, all is free. */
void sl_yard_clear(struct sl_yard *yard, int64_t now);
/* There is room in the copy. */
void sl_yard_copy(struct sl_yard *to, const struct sl_yard *from);
/* It runs on that node; where the node is not known, wherever there is room. False: nowhere. */
bool sl_yard_run(struct sl_yard *yard, const struct sl_lease *lease, uint64_t key);
/* Many run: each is seated, then all are put in order, before anything else. */
void sl_yard_seat(struct sl_yard *yard, const struct sl_lease *lease, uint64_t key);
void sl_yard_seated(struct sl_yard *yard);
/* It waits, in its place. There is room. */
void sl_yard_push(struct sl_yard *yard, const struct sl_turn *turn);
/* How long it runs is known now. -1: it has gone from the queue, or never was there. */
void sl_yard_known(struct sl_yard *yard, const struct sl_turn *turn, int64_t run_us);
/* It is not there any more. */
void sl_yard_withdraw(struct sl_yard *yard, const struct sl_turn *turn);
/* Plays until that time, what happens then not included. */
void sl_yard_play(struct sl_yard *yard, int64_t until, const struct sl_yard_watch *watch);

#endif
