/* Ends the condition sliced.dev/Queued on pods that were bound without it: while nobody led, or
 * when the last word on their place came late. What fails is tried again, ever more rarely. */
#ifndef SLICED_DAEMON_LIVE_UNQUEUED_H
#define SLICED_DAEMON_LIVE_UNQUEUED_H

#include <pthread.h>

#include "cluster/store.h"
#include "kube/write/releaser.h"

enum { SL_UNQUEUED = 256 };

struct sl_unqueued;

/* A pod whose condition is being ended, or could not be. */
struct sl_unqueued_pod {
    struct sl_unqueued *of;
    struct sl_pod *pod; /* NULL: the place is free */
    int64_t rest_us;    /* the last one; 0: none yet */
    int64_t due_us;     /* monotonic: not before that */
    bool under_way;
};

struct sl_unqueued {
    struct sl_releaser *releaser; /* set by the owner; NULL: no condition is kept */
    struct sl_store *store;
    pthread_mutex_t lock; /* guards what follows */
    int64_t logged_us;    /* when a failure was last logged */
    unsigned next;        /* place whose failure is forgotten where none is free */
    struct sl_unqueued_pod place[SL_UNQUEUED]; /* beyond that failures are forgotten in turn */
};

void sl_unqueued_init(struct sl_unqueued *unqueued, struct sl_store *store);
/* The releaser's calls have ended. */
void sl_unqueued_free(struct sl_unqueued *unqueued);

/* The watch tells of the pod: ends the condition, unless that is under way or rests after a
 * failure. leadership as of a release. Any thread. */
void sl_unqueued_seen(struct sl_unqueued *unqueued, const struct sl_pod *pod, uint64_t leadership);

/* Tries again what is due; now and then. */
void sl_unqueued_tick(struct sl_unqueued *unqueued, uint64_t leadership);

#endif
