/* The queue's worker: one thread plans, others read. Private to this room.
 *
 * Locks, in the order in which they may be taken: listing, plan, then the store's, then mail;
 * status is taken last and alone. The store calls the feed with its lock held: that only takes
 * mail. */
#ifndef SLICED_DAEMON_QUEUE_WORKER_H
#define SLICED_DAEMON_QUEUE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/queue/mail.h"
#include "daemon/queue/queue.h"
#include "daemon/queue/report.h"
#include "daemon/queue/tell.h"

struct sl_queue_worker {
    struct sl_queue_worker_options options;
    struct sl_config config; /* of the queue's thread */
    pthread_t thread;
    bool started;

    pthread_mutex_t listing;        /* taken before plan; guards what is listed for readers */
    struct sl_queue_shared *listed; /* NULL: nothing */
    uint64_t listed_round;          /* the round that made it */
    uint64_t listed_leadership;
    int64_t listed_us;            /* when it was made, monotonic */
    int64_t listing_us;           /* how much processor time that took */
    _Atomic uint64_t rounds;      /* goes up with every plan */
    _Atomic uint64_t leaderships; /* goes up with every change of the leader */
    _Atomic uint64_t listings;    /* how often all rows were made */
    _Atomic unsigned showing;     /* conditions that are being written */

    struct sl_queue_times times;

    pthread_mutex_t plan;       /* guards the planner and the snapshot that it has borrowed */
    struct sl_engine *engine;   /* NULL: this replica does not lead */
    struct sl_planner *planner; /* the engine's */
    const struct sl_snapshot *snapshot; /* NULL: none */
    int64_t estimated_us;               /* when estimates were worked out last */

    pthread_mutex_t status; /* guards entries' states, counts and what follows */
    struct sl_map entries;  /* by UID; the set changes with plan held as well */
    struct sl_queue_counts counts;
    struct sl_queue_recent recent;
    struct sl_queue_tenant_counts *tenants; /* NULL: there have been none */
    unsigned outstanding;                   /* nominations, after the last plan */
    unsigned window;                        /* likewise */
    uint64_t leadership;                    /* in which this replica plans; 0: none */
    bool heard;                             /* kube-scheduler has asked about any pod */
    size_t n_fronts; /* 0, too, where the queue takes pods of every scheduler */
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];

    pthread_mutex_t mail; /* guards what follows */
    pthread_cond_t woken;
    pthread_cond_t settled;
    struct sl_queue_mail box;
    struct sl_config *fresh; /* NULL: no new one */
    uint64_t posted;         /* messages received */
    uint64_t planned;        /* messages planned for */
    size_t max_letters;
    bool stop;

    /* of the queue's thread alone */
    uint64_t round;
    int64_t now_us;                  /* of this round; guarded by plan, as is the next */
    int64_t at_ns;                   /* now_us on the monotonic clock */
    SL_TIMES(int64_t wake_us;        /* when to plan again though nothing comes in */
             int64_t told_round_us;  /* of the last look at all */
             int64_t keep_us;        /* when the record may be kept again, */
             int64_t check_us;       /* and guarantees be checked */
             int64_t show_logged_us; /* when it was last said that conditions cannot be written */
    );
    uint64_t told_rounds;                /* looks */
    uint64_t told_turn[SL_QUEUE_TURNS];  /* the look in which one of the namespace was told last */
    uint64_t shown_turn[SL_QUEUE_TURNS]; /* likewise: in which a condition was written */
    struct sl_queue_shares stood;        /* conditions, as the last look at all found them */
    int64_t tell_rest_us;                /* until the next one at least, for what it took */
    size_t untold;          /* entries without a first word at that look, and newer ones */
    size_t unshown;         /* entries that had no turn to have their condition written */
    size_t explains_left;   /* looks at nodes by which this round may still explain refusals */
    unsigned refusals_left; /* pods that this plan may still tell at once that they are refused */
    unsigned ignored_left;  /* pods whose ignored words this round may still report */
    bool silent;            /* kube-scheduler is */
    bool unread;            /* all is to be read again */
    bool anew;              /* Namespaces are told to the planner anew */
    bool unfound;           /* the record of the leader before has not been read */
    bool unkept;            /* the last plan is not in the record */
    bool short_of_memory;
    char overgiven[384]; /* what was last said of guarantees beyond what there is; "" nothing */
};

/* With plan held: the engine changes in what watches and readers of cuts see without that lock. */
static inline void sl_queue_lock_engine(struct sl_queue_worker *worker)
{
    sl_partitioner_lock(worker->options.partitioner);
    sl_stage_tracker_lock(worker->options.stages);
}

static inline void sl_queue_unlock_engine(struct sl_queue_worker *worker)
{
    sl_stage_tracker_unlock(worker->options.stages);
    sl_partitioner_unlock(worker->options.partitioner);
}

#endif
