/* Mixed lanes: pods of several widths, or of one that does not divide the nodes, so that it matters
 * where units are free. The virtual FIFO and the layouts are played on the nodes. */
#ifndef SLICED_CORE_PROMISE_MIXED_H
#define SLICED_CORE_PROMISE_MIXED_H

#include "core/forecast/backfill.h"
#include "core/promise/rank.h"
#include "sliced/promise.h"

enum { SL_MIXED_REFUSALS = 8, SL_MIXED_STARTED = 1024 };

/* A refusal of a pod on a node (0: any). It refuses pods at least as long and wide too. */
struct sl_mixed_refusal {
    int64_t run_us;
    int64_t width;
    uint64_t node;
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
    /* The last layout. */
    uint64_t layout;                   /* its number */
    uint64_t state;                    /* the lane's state then */
    int64_t wait_us[SL_PROMISE_RANKS]; /* the allowances then */
    int64_t lag_us;
    int64_t last_laid_us; /* the start of one more pod, as wide as any, in the layout */
    int64_t last_fifo_us; /* and in the virtual FIFO */
    int64_t last_us;      /* by how much that pod may start later than laid out */
    int64_t least_us;     /* the least of that over all pods */
    sl_work put_in;       /* work of pods that have since started ahead of their laid start */
    int64_t asked_us;     /* the time that pods ahead had to spare for the last refused pod */
    /* A trial. */
    const struct sl_promise_member *tried;
    bool kept;
    bool sure;    /* the last answer was played ahead, not given for lack of steps */
    bool divided; /* pods of that width fill every node */
    bool active;  /* the lane is mixed */
    /* The last answer. */
    uint64_t answered_state;
    struct sl_mixed_refusal answered[SL_MIXED_REFUSALS]; /* refusals in that state */
    size_t n_answered;
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
void sl_mixed_started(struct sl_promise *promise, const struct sl_promise_member *member);
void sl_mixed_over(struct sl_promise *promise, const struct sl_promise_member *member,
                   int64_t run_us, bool withdrawn);
bool sl_mixed_admits(struct sl_promise *promise, const struct sl_promise_member *member,
                     uint64_t node);
/* As sl_promise_spares. */
bool sl_mixed_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n);
void sl_mixed_look_ahead(struct sl_promise *promise); /* brings W up to date */
void sl_mixed_free(struct sl_mixed *mixed);

#endif
