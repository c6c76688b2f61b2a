/* A resource with its queue: where there is room for it, and which pods wait for it. */
#ifndef SLICED_CORE_PLAN_STATE_LANE_H
#define SLICED_CORE_PLAN_STATE_LANE_H

#include "core/plan/state/pod.h"

/* The time by which running pods' timeouts free room for the lane's first pod that does not fit,
 * and where. */
struct sl_plan_reserve {
    struct sl_plan_pod *pod;   /* NULL: none has it */
    struct sl_plan_node *node; /* NULL: no node has room by ends */
    int64_t at_us;
    uint64_t touch; /* planner->seq.nodes when it was made */
    bool active;    /* this run met its pod: pods behind must respect it */
    bool fixed;     /* no other node has room as early, in this run */
    bool later;     /* a run's end must come; else another reserved start keeps the room */
    struct sl_assignment assignment;
};

/* Pods that may well not take a nomination get one at a time: pods that expired before, and pods of
 * namespaces whose releases the API server refuses. */
enum sl_plan_retries { SL_PLAN_RETRY_EXPIRED, SL_PLAN_RETRY_DOUBTED, SL_PLAN_RETRIES };
struct sl_plan_retry {
    struct sl_plan_pod *pod;  /* the one with the nomination; NULL: none */
    SL_TIMES(int64_t at_us;); /* earliest time of the next nomination */
    bool waits;               /* some pod waits for at_us */
};

/* How the lane stands in the run; between runs, how the last one left it. */
struct sl_plan_lane_run {
    struct sl_plan_node *making; /* node of the preemptor's victims; NULL: none yet */
    uint32_t at;                 /* in the queue */
    uint32_t tries;              /* reserved starts */
    uint32_t refused;            /* pods, by the order */
    size_t judged;               /* looks at nodes that this took, in a mixed lane */
    bool due_tried;
    bool drained;           /* the next two are known: a node with room for the lane is drained */
    bool spared;            /* all its pods start in time in spite of that */
    uint64_t drained_touch; /* planner->seq.nodes when spared was worked out */
    bool set_aside;         /* a pod that must go next, but cannot, was set aside */
    int64_t headroom_us;    /* when a waiting pod gets its headroom: long pods behind it must end
                               before; 0: none */
};

struct sl_plan_lane {
    uint64_t key;
    uint64_t rank;             /* sl_rank_hash of its name */
    struct sl_plan_lane *next; /* of all lanes, by rank */
    uint32_t refs;             /* items of asks that name it */
    bool nowhere;              /* serves all resources that no node offers; always the last lane */
    uint32_t members;          /* pods whose first item it is: the queue has room for them */

    /* For each node the most that one pod may ask for now; over them a tree of maxima, root at 1.
     */
    int64_t *tree;
    int64_t *node_free;     /* units, by node */
    int64_t *node_capacity; /* units, by node */
    uint32_t leaves;        /* a power of two; 0: to be built */
    int64_t free;           /* sums */
    int64_t capacity;
    int64_t least; /* units of the lane's smallest ask */

    struct sl_plan_pod **queue; /* pods that may start, in order */
    uint32_t n_queue;
    size_t queue_cap;
    struct sl_plan_account_lane *account; /* the order's; NULL: none */
    struct sl_plan_pod *preemptor;        /* released to preempt */
    SL_TIMES(int64_t preempting_us;       /* since when */
             int64_t asked_us;            /* since when kube-scheduler may look for victims */
             int64_t ripe_us; /* when a run has had minRuntime, for which a pod waits; 0: none */
    );
    bool preempt_waits; /* some pod waits until kube-scheduler names the node */
    struct sl_plan_reserve reserve;
    struct sl_plan_retry retry[SL_PLAN_RETRIES];

    struct sl_plan_lane_run run;
    uint64_t rest_run; /* number of the last run that left the lane's other pods for rest_reason */
    enum sl_hold_reason rest_reason;
    uint32_t visited; /* pods of the queue, while rows are told */
};

#endif
