/* The queue as the server sees it: who waits, whose turn has come, and why not. What it answers is
 * copied out; nothing of the planner escapes its lock. */
#ifndef SLICED_SERVER_QUEUE_H
#define SLICED_SERVER_QUEUE_H

#include "codec/write.h"
#include "sliced/plan.h"
#include "util/arena.h"
#include "util/buf.h"

/* Of one pod, for filter. */
struct sl_queue_status {
    enum sl_queue_state state;
    bool known;                  /* false: not seen by the queue yet; state is HELD */
    char text[SL_PLAN_TEXT_MAX]; /* the sentence for its owner, never empty */
};

/* Filter may pass it: it has a claim, or was released without one. */
bool sl_queue_may_go(const struct sl_queue_status *status);

struct sl_queue_shared;

/* Rows copied out: pods are references of their own, text stands in the arena. */
struct sl_queue_list {
    struct sl_queue_row *row; /* in the order in which they are to go */
    size_t n;
    size_t total;   /* how many there are; n of them are here */
    int64_t now_us; /* Unix: as of; for sl_queue_text */
    struct sl_arena text;
    struct sl_queue_shared *of; /* whose rows these are; NULL: its own */
};

/* A list that many read, which nobody changes. Counted references; new: with room for max rows,
 * NULL when out of memory. */
struct sl_queue_shared {
    _Atomic unsigned refs;
    struct sl_queue_list list;
};
struct sl_queue_shared *sl_queue_shared_new(size_t max, struct sl_error *err);
void sl_queue_shared_unref(struct sl_queue_shared *shared); /* NULL is allowed */
/* The first max rows of it. */
void sl_queue_list_share(struct sl_queue_shared *shared, size_t max, struct sl_queue_list *out);

/* What to append to, for who answers list and row. total and now_us are set by the caller. max:
 * rows that there is room for. -1: out of memory. */
int sl_queue_list_init(struct sl_queue_list *list, size_t max, struct sl_error *err);
int sl_queue_list_add(struct sl_queue_list *list, const struct sl_queue_row *row,
                      struct sl_error *err);
/* Every list that was filled, also one whose filling failed. */
void sl_queue_list_free(struct sl_queue_list *list);

/* Counted since the start, and as it stands now. */
struct sl_queue_stats {
    struct sl_plan_stats plan;
    bool plans;           /* this replica plans now (it leads, and knows the cluster) */
    uint64_t runs;        /* of the planner */
    uint64_t run_us;      /* spent in them */
    uint64_t rereads;     /* changes that could not be kept: all was read again */
    uint64_t bound;       /* pods bound while they had a claim */
    uint64_t wrong;       /* of them: on another node than was nominated */
    uint64_t refused;     /* claims that the store could not make true */
    uint64_t released;    /* gates opened, or pods without one woken */
    uint64_t gone;        /* pods that were gone before that */
    uint64_t denied;      /* releases that the API server refused, for what the pod is */
    uint64_t failed;      /* releases that it did not answer, or not now */
    uint64_t unknown;     /* releases of which nobody could say what became */
    uint64_t withdrawn;   /* nominations taken back after a lapse */
    unsigned outstanding; /* claims that are not bound yet */
    unsigned window;      /* how many may be */
    int64_t bind_us;      /* smoothed time from claim to bound; 0: none was seen */
    int64_t silent_us;    /* for so long kube-scheduler has been silent though pods wait for it */
};

/* All functions may be called from any thread, and none waits for a plan or for I/O except as said.
 * A struct of NULLs: there is no queue, every pod may go. */
struct sl_queue {
    void *context;
    /* Takes a mutex for a few instructions: for filter. The sentence is shorter while a plan is
     * being made. */
    void (*status)(void *context, struct sl_str uid, struct sl_queue_status *out);
    /* kube-scheduler has asked about that pod, by whatever verb: it is there. As cheap. */
    void (*heard)(void *context, struct sl_str uid);
    /* The first max rows, estimates not older than a second. Who asks at the same time is told
     * the same; where the queue is so long that its rows take a while to make, so is who asks a
     * little later. May wait for a plan that is being made (milliseconds). -1: out of memory, or
     * SL_ERR_CONFLICT: this replica makes no plan now. The caller frees the list, in any case. */
    int (*list)(void *context, size_t max, struct sl_queue_list *out, struct sl_error *err);
    /* The same for one pod: n is 0 when it does not wait. */
    int (*row)(void *context, struct sl_str uid, struct sl_queue_list *out, struct sl_error *err);
    void (*stats)(void *context, struct sl_queue_stats *out);
    /* The queue's metrics, all of them, ready to be appended to the page. */
    void (*metrics)(void *context, struct sl_buf *out);
    /* Waits until everything the store had told before this call is planned for; at most
     * timeout_us. False: it is not. For an embedded cluster, where one request follows another. */
    bool (*settle)(void *context, int64_t timeout_us);
};

#endif
