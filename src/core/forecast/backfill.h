/* FIFO with EASY backfill (Lifka, 1995), played on nodes: the first pod that fits nowhere has a
 * reserved start where it fits first; pods behind it start where they do not delay it. */
#ifndef SLICED_CORE_FORECAST_BACKFILL_H
#define SLICED_CORE_FORECAST_BACKFILL_H

#include "core/forecast/bins.h"
#include "core/forecast/waits.h"

/* A running pod. */
struct sl_run {
    int64_t start_us;
    int64_t end_us;
    int64_t width;
    uint64_t serial;
    uint32_t bin;
};

/* Zeroed: no nodes and no pods. */
struct sl_backfill {
    struct sl_bins bins;
    struct sl_waits waits;
    struct sl_run *run; /* by end, from first_run on */
    size_t first_run;
    size_t n_runs; /* the end of the runs in use */
    size_t runs_cap;
    int64_t now_us;
    bool stirred;  /* some waiting pod may fit now */
    bool stopped;  /* the watch ended the play */
    bool reserved; /* the next members hold the first waiting pod's reserved start */
    uint32_t reserved_bin;
    int64_t reserved_us;
    int64_t reserved_spare; /* units left then beside the pod's own */
    uint64_t mark;          /* number of the last search */
};

struct sl_backfill_watch {
    /* Called when a pod starts. Returns false to end the play. */
    bool (*started)(void *context, const struct sl_wait *wait, int64_t at_us);
    void *context;
};

void sl_backfill_free(struct sl_backfill *model);
/* Makes room for that many; -1 when out of memory. */
int sl_backfill_reserve(struct sl_backfill *model, size_t bins, size_t runs, size_t waits);
/* Removes all running and waiting pods, and frees all units. */
void sl_backfill_clear(struct sl_backfill *model, int64_t now_us);
/* The copy must have reserved room. */
void sl_backfill_copy(struct sl_backfill *to, const struct sl_backfill *from);
/* Returns the number of running pods. */
static inline size_t sl_backfill_runs(const struct sl_backfill *model)
{
    return model->n_runs - model->first_run;
}
/* Puts a running pod on the node with that key; for an unknown node, where there is room. False: no
 * bin has room. */
bool sl_backfill_start(struct sl_backfill *model, const struct sl_run *run, uint64_t key);
/* For many running pods: put each, then sort once, before any other call. */
void sl_backfill_put(struct sl_backfill *model, const struct sl_run *run, uint64_t key);
void sl_backfill_sort(struct sl_backfill *model);
/* Queues the pod, if a node can ever take it. The caller has reserved room. */
void sl_backfill_push(struct sl_backfill *model, const struct sl_wait *wait);
/* Sets how long the pod runs, once that is known. */
void sl_backfill_set_run(struct sl_backfill *model, const struct sl_wait *wait, int64_t run_us);
/* Removes the pod, running or waiting. */
void sl_backfill_withdraw(struct sl_backfill *model, const struct sl_wait *wait);
/* Plays up to that time, without the events at it. */
void sl_backfill_play(struct sl_backfill *model, int64_t until_us,
                      const struct sl_backfill_watch *watch);

#endif
