/* Waiting pods and what they have in common: classes, asks, namespaces. */
#ifndef SLICED_CORE_PLAN_STATE_POD_H
#define SLICED_CORE_PLAN_STATE_POD_H

#include "core/order/order.h"
#include "core/plan/state/calls.h"
#include "util/data/list.h"

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
    int32_t window_priority;          /* or pods of a priority above this */
    uint64_t timeless_seq;            /* seq.nodes + 1 when no reservation could be found */
    struct sl_plan_class *early_next; /* of the ask's list */
    struct sl_plan_space *early_of;   /* pays for it: the namespace of the first pod in its lane */
    uint64_t early;                   /* planner->early when the time was worked out */
    int64_t early_us; /* no admitted node has the units before; 0: not known; INT64_MAX: none ever
                         has by ends */
    uint64_t key[];   /* digest of the constraints, then as the ask's */
};

/* A namespace with waiting pods. */
struct sl_plan_space {
    size_t refs;
    uint64_t search;   /* number of the budget that spent counts for */
    size_t spent;      /* checks */
    uint32_t refusals; /* refused releases in a row, at most SL_PLAN_REFUSALS_MAX */
    char name[];
};

/* The cut that is under way for a pod. */
struct sl_plan_cut {
    int64_t start_us;
    const char *text;
    char node[]; /* then the text */
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
    enum sl_queue_state state;
    enum sl_hold_reason reason;
    enum sl_hold_reason stage;
    enum sl_hold_reason told; /* last refusal that a run gave out; SL_HOLD_NONE: none */
    uint64_t run;             /* number of the run that reason is of */
    int64_t since_us;
    int64_t ready_us;       /* since when neither others' gates nor a stage keep it from starting */
    int64_t opened_us;      /* when what its owner held it back by went: others' gates, or a wrong
                               request; 0: nothing did. Its wait begins then, in every order */
    int64_t retry_us;       /* no nomination before; set by an expiry; 0: no pause */
    int64_t pardoned_us;    /* when a change of the pod last ended such a pause; 0: never */
    int64_t start_us;       /* estimated start; 0: there is no estimate */
    int64_t usual_start_us; /* the same if pods run as long as is usual */
    uint32_t expiries;
    uint32_t strikes; /* expiries since something about it changed */
    bool elsewhere;   /* bound without a nomination; it is about to be removed */
    bool queued;      /* in its lane's queue */
    bool released;    /* without a nomination */
    bool broken;      /* what it asks for changed while it had a nomination */
    bool named;       /* names a node itself, on which the next run tries it before all others */
    bool preemptive;  /* was released to preempt; it is not a second time */
    bool denied;      /* its last expiry was the API server's refusal */
    bool excused;     /* one expiry was not held against it */

    struct sl_pod *nomination;     /* a copy that stands where its nomination is; NULL: none */
    struct sl_plan_node *node;     /* of the nomination */
    struct sl_plan_pod *node_next; /* next nomination on that node */
    int64_t nominated_us;
    int64_t held_us;  /* since when the nomination is held: nominated, or the end of a silence */
    bool shown;       /* the cluster shows the nomination */
    int64_t heard_us; /* when kube-scheduler last asked about the pod; 0: not since nominated */

    /* The node on which the pod's last nomination failed: barred to the pod until the seq of the
     * node of that name passes bad_seq. A reference; NULL: none. */
    struct sl_node *bad_node;
    uint64_t bad_seq;

    struct sl_list *list; /* the list it is in: nominations, expired or refused; NULL: none */
    struct sl_link listed;
};

static inline struct sl_plan_pod *sl_plan_listed(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_plan_pod, listed);
}

#endif
