/* The virtual FIFO of a lane that counts units: the same pods, and no pod overtakes. */
#ifndef SLICED_CORE_PROMISE_FIFO_H
#define SLICED_CORE_PROMISE_FIFO_H

#include "core/forecast/supply.h"
#include "core/promise/member.h"

struct sl_promise;

struct sl_fifo_entry {
    struct sl_promise_member *member; /* NULL: ended or withdrawn */
    struct sl_promise_pod pod;
    int64_t arrived_us;
    int64_t run_us;  /* known, or -1 */
    int64_t used_us; /* the run time in the present schedule */
    uint8_t rank;
    bool adopted; /* was running when the lane heard of it: starts at once */
    bool withdrawn;
    bool settled;
};

struct sl_fifo {
    struct sl_fifo_entry *entry; /* in order of arrival */
    size_t n;
    size_t cap;
    uint32_t *queue; /* of a replay: a heap of entries that wait */
    size_t queue_cap;
    size_t known;             /* entries that are over */
    size_t kept;              /* of these, entries that the present schedule could not settle */
    size_t news;              /* changes that the present schedule lacks */
    uint32_t version;         /* version of the estimates in the present schedule */
    size_t spare_at;          /* number of entries at which the past is let go */
    struct sl_supply settled; /* after all settled entries */
    int64_t settled_last_us;  /* the last start there */
    struct sl_supply units;   /* after all entries */
    int64_t last_us;
    struct sl_supply sorted;    /* units, sorted on demand */
    struct sl_promise_pod tail; /* the last pod started in units */
    bool sorted_stale;
};

/* -1 when out of memory. */
int sl_fifo_arrive(struct sl_promise *promise, struct sl_promise_member *member, bool adopted);
void sl_fifo_over(struct sl_promise *promise, struct sl_promise_member *member, int64_t run_us,
                  bool withdrawn);
/* -1 when out of memory. */
int sl_fifo_capacity(struct sl_promise *promise, int64_t before, int64_t after);
/* Replays the schedule when enough has changed. */
void sl_fifo_refresh(struct sl_promise *promise);
/* Returns when units are free after all entries, sorted. */
const struct sl_supply *sl_fifo_sorted(struct sl_fifo *fifo);
void sl_fifo_free(struct sl_fifo *fifo);

#endif
