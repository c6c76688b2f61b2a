/* Mixed lanes: pods of several widths, or of one that does not divide the nodes, so that it matters
 * where units are free. The virtual FIFO and the layouts are played on the nodes. */
#ifndef SLICED_CORE_PROMISE_MIXED_H
#define SLICED_CORE_PROMISE_MIXED_H

#include "core/forecast/backfill.h"
#include "core/forecast/calendar.h"
#include "core/promise/rank.h"
#include "sliced/promise.h"

enum {
    SL_MIXED_STARTED = 1024,
    SL_MIXED_RESERVED = 64, /* waiting pods, the first in line, with a reserved start */
};

/* A reserved start that gives way to another start. */
struct sl_mixed_moved {
    uint32_t line; /* the pod's place among the first */
    uint32_t bin;  /* its reserved start before */
    int64_t at_us;
};

/* Zeroed: the lane is not mixed yet. */
struct sl_mixed {
    int64_t width;                     /* of all pods so far; 0: no pod came, -1: several widths */
    int64_t widest;                    /* of all pods so far */
    struct sl_backfill fifo;           /* the virtual FIFO, played up to now */
    struct sl_backfill trial;          /* for looking ahead */
    bool keeps_sets;                   /* see sl_promise_keep_sets */
    uint32_t pods[SL_BINS_LEVELS + 1]; /* by width: those that wait in it and the last to start */
    uint8_t started[SL_MIXED_STARTED]; /* widths of the last to start, a ring */
    size_t n_started;
    uint64_t serial; /* number of the last pod */
    size_t credit;   /* steps that looking ahead may take */
    uint64_t looked; /* the lane's state for which the ranks' longest_us hold */
    uint64_t looks;  /* how often the virtual FIFO was played ahead */
    bool divided;    /* pods of that width fill every node */
    bool active;     /* the lane is mixed */
    /* Reserved starts. */
    uint64_t (*sites)(void *context, uint64_t id); /* NULL: all sites admit every pod */
    void *sites_context;
    size_t steps;                /* of judging, up to now */
    struct sl_calendar calendar; /* what runs, and the reserved starts of the first in line */
    uint64_t layout;             /* its number; 0: there is none */
    uint64_t state;              /* the lane's state for which it holds */
    struct sl_promise_member *first[SL_MIXED_RESERVED]; /* in line */
    size_t n_first;
    bool grown;                         /* since the layout some pods may start earlier */
    struct sl_promise_member *unplaced; /* and not placed yet; NULL: none */
    uint64_t allowed;                   /* the lane's state for which the allowances hold */
    int64_t wait_us[SL_PROMISE_RANKS];  /* the allowances */
    int64_t lag_us;
    int64_t clear_us;     /* from when on a pod as wide as any could run for ever */
    int64_t last_fifo_us; /* the same in the virtual FIFO */
    struct sl_mixed_moved moved[SL_MIXED_RESERVED]; /* by line */
    size_t n_moved;
};

/* Notes a pod's width, and makes the lane mixed if that requires it. -1 when out of memory. */
int sl_mixed_begin(struct sl_promise *promise, int64_t width);
/* Sets the lane's nodes, and moves the virtual FIFO's pods to them. -1 when out of memory. */
int sl_mixed_set_nodes(struct sl_promise *promise, const struct sl_promise_node *node, size_t n);
/* Makes room for one more pod. -1 when out of memory. */
int sl_mixed_reserve(struct sl_promise *promise);
/* Counts a pod of a lane that is not mixed yet. */
void sl_mixed_pass(struct sl_promise *promise, int64_t width);
/* Tells of a pod which arrives, or turns up running (adopted). The caller has reserved room. */
void sl_mixed_arrive(struct sl_promise *promise, struct sl_promise_member *member, bool adopted);
void sl_mixed_over(struct sl_promise *promise, const struct sl_promise_member *member,
                   int64_t run_us, bool withdrawn);
void sl_mixed_look_ahead(struct sl_promise *promise); /* brings W up to date */
void sl_mixed_free(struct sl_mixed *mixed);

#endif
