/* Waiting pods and what they have in common: classes, asks, namespaces. */
#ifndef SLICED_CORE_PLAN_STATE_POD_H
#define SLICED_CORE_PLAN_STATE_POD_H

#include "core/order/order.h"
#include "core/plan/state/calls.h"
#include "util/data/list.h"
#include "util/data/times.h"

enum {
    SL_PLAN_REFUSALS_MAX = 8, /* in a row: after that, a namespace's pods try one at a time */
};

struct sl_plan_account_pod;
struct sl_plan_lane;
struct sl_plan_node;

enum { SL_PLAN_ASK_OWN = 2 }; /* words of an ask's key before those of its items */

/* Identical requests. */
struct sl_plan_ask {
    uint32_t refs;               /* classes */
    uint32_t members;            /* pods */
    int32_t wanted;              /* pods that an autoscaler may see, while release.c counts */
    uint32_t taker;              /* index of a node that could take it, if taken */
    bool taken;                  /* a node could take it, or there are no nodes */
    bool never;                  /* no node could ever take it, or by_dra */
    bool by_dra;                 /* DeviceClasses offer what no node does */
    bool moving;                 /* to a lane of its own: a node offers it now */
    uint64_t never_seq;          /* seq.kinds when never was judged; 0: not yet */
    struct sl_plan_class *early; /* list, while estimated starts are worked out */
    struct sl_link all;
    struct sl_pod *pod;                          /* the ask borrows its names */
    struct sl_plan_lane *lane[SL_ASK_ITEMS_MAX]; /* by item */
    /* Its key in the map: memory, workload, then each item's key, count and GPUs. */
    uint64_t key[SL_PLAN_ASK_OWN + 3 * SL_ASK_ITEMS_MAX];
    struct sl_ask ask;
};

static inline struct sl_plan_ask *sl_plan_ask_at(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_plan_ask, all);
}

static inline struct sl_plan_ask *sl_plan_ask_next(const struct sl_plan_ask *ask)
{
    return sl_plan_ask_at(ask->all.next);
}

/* Pods that differ only in order and timeout, for every decision. */
struct sl_plan_class {
    uint32_t refs;
    uint32_t key_words;
    uint32_t weight; /* cost of its constraints, in looks at nodes */
    struct sl_plan_ask *ask;
    struct sl_pod *pod; /* the class borrows its constraints */
    const struct sl_constraints *constraints;
    uint64_t failed_seq; /* no node whose seq is at most this can take it */
    enum sl_hold_reason failed_reason;
    uint64_t window_epoch; /* seq.kept while only pods that end by window_us may find a node, */
    int64_t window_us;
    int32_t window_priority;           /* or pods of a priority above this */
    enum sl_hold_reason window_reason; /* of the others */
    uint64_t timeless_seq;             /* seq.nodes + 1 when no reserved start could be found */
    uint64_t sites;                    /* that admit it, by decide/sites.c, */
    uint64_t sites_kinds;              /* as of that seq.kinds, */
    uint8_t n_sites;                   /* of so many */
    struct sl_plan_class *early_next;  /* of the ask's list */
    struct sl_plan_space *early_of;    /* pays for it: the namespace of the first pod in its lane */
    uint64_t early;                    /* planner->early when the time was worked out */
    int64_t early_us; /* no admitted node has the units before; 0: not known; INT64_MAX: none ever
                         has by ends */
    uint64_t key[];   /* digest of the constraints, then as the ask's */
};

/* A namespace with waiting pods. */
struct sl_plan_space {
    size_t refs;
    uint64_t search;            /* number of the budget that spent counts for */
    size_t spent;               /* checks */
    uint32_t refusals;          /* refused releases in a row, at most SL_PLAN_REFUSALS_MAX */
    struct sl_tenant *tenant;   /* NULL: there are no tenants */
    struct sl_plan_limit limit; /* of its tenant; max_timeout_us 0: none */
    char name[];
};

/* The cut that is under way for a pod. */
struct sl_plan_cut {
    SL_TIMES(int64_t start_us;);
    const char *text;
    char node[]; /* then the text */
};

/* Where a waiting pod stands. settle.c alone changes it, and has the changes that are allowed. */
enum sl_plan_stand {
    SL_STAND_OUT,       /* in no queue and no list: new, between two lanes, or about to go */
    SL_STAND_HELD,      /* in its lane's queue */
    SL_STAND_RELEASED,  /* the same, without its gate */
    SL_STAND_RESTING,   /* in the list expired, until retry_us */
    SL_STAND_CAPPED,    /* in the list capped: its tenant has too many pods in queues */
    SL_STAND_NOMINATED, /* in the list nominations, and in its node's */
    SL_STAND_STAGED,
    SL_STAND_GATED,
    SL_STAND_BY_DRA,  /* held, yet in no queue: DeviceClasses offer what it asks for */
    SL_STAND_REFUSED, /* in the list refused, until a run has told so */
    SL_STAND_TOLD,    /* refused */
    SL_STANDS,
};

struct sl_plan_nomination {
    struct sl_pod *pod; /* a copy that stands where the nomination is; a reference */
    struct sl_plan_node *node;
    struct sl_plan_pod *next; /* nominated to the same node */
    SL_TIMES(
        int64_t since_us;
        int64_t held_us;  /* since when it is held: since_us, or the end of a silence */
        int64_t heard_us; /* when kube-scheduler last asked about the pod; 0: not since since_us */
    );
    bool shown;  /* the cluster shows it */
    bool broken; /* what the pod asks for has changed */
};

struct sl_plan_pod {
    struct sl_pod *pod; /* reference */
    struct sl_plan_space *space;
    struct sl_plan_class *class; /* NULL: malformed */
    char *why;                   /* text of the stage's reason; NULL: none */
    struct sl_plan_cut *cut;     /* NULL: none */
    char *drain_text;            /* while a node drains for it; NULL: nothing is said */
    struct sl_order_item item;
    struct sl_plan_account_pod *account; /* the order's; NULL: none */
    enum sl_plan_stand stand;
    enum sl_queue_state state; /* that rows show: by its stand, of OUT by the one before */
    enum sl_hold_reason reason;
    enum sl_hold_reason stage;
    uint64_t run; /* number of the run that reason is of */
    SL_TIMES(
        int64_t since_us;
        int64_t ready_us;  /* since when neither others' gates nor a stage keep it from starting */
        int64_t opened_us; /* when what its owner held it back by went: others' gates, or a wrong
                              request; 0: nothing did. Its wait begins then, in every order */
        int64_t retry_us;  /* no nomination before; set by an expiry; 0: no pause */
        int64_t pardoned_us; /* when a change of the pod last ended such a pause; 0: never */
    );
    int64_t start_us;       /* estimated start; 0: there is no estimate */
    int64_t usual_start_us; /* the same if pods run as long as is usual */
    uint32_t expiries;
    uint32_t strikes; /* expiries since something about it changed */
    bool resident;    /* its node shows it: its binding is under way, or done */
    bool released;    /* without a nomination */
    bool named;       /* names a node itself, on which the next run tries it before all others */
    bool preemptive;  /* was released to preempt; it is not a second time */
    bool denied;      /* its last expiry was the API server's refusal */
    bool excused;     /* one expiry was not held against it */

    struct sl_plan_nomination *nomination; /* NULL: none */

    /* The node on which the pod's last nomination failed: barred to the pod until the seq of the
     * node of that name passes bad_seq. A reference; NULL: none. */
    struct sl_node *bad_node;
    uint64_t bad_seq;

    struct sl_link listed; /* in the list that its stand names */
};

static inline bool sl_plan_is_queued(const struct sl_plan_pod *pod)
{
    return pod->stand == SL_STAND_HELD || pod->stand == SL_STAND_RELEASED;
}

static inline struct sl_plan_pod *sl_plan_listed(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_plan_pod, listed);
}

/* The next pod that stands likewise. */
static inline struct sl_plan_pod *sl_plan_pod_next(const struct sl_plan_pod *pod)
{
    return sl_plan_listed(pod->listed.next);
}

#endif
