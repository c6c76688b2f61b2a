/* What the parts of the plan share. plan.c: pods come and go; plan_run.c: a run; plan_class.c: pods
 * that are alike; plan_rule.c: limits and headroom; plan_queue.c: their order; plan_node.c: the
 * cluster with the claims in it; plan_ends.c: when what runs there ends; plan_claim.c: claims;
 * plan_refuse.c: namespaces whose pods are not let go; plan_silence.c: while kube-scheduler is not
 * there; plan_clock.c: when the clock is put; plan_reserve.c: reservations and backfill;
 * plan_early.c: bounds of estimated starts; plan_pick.c: which node; plan_walk.c: a plan;
 * plan_release.c, plan_preempt.c: pods that do not fit; plan_bound.c: the order bounded;
 * plan_report.c and plan_text.c: what is told of it; plan_offer.c: what nodes offer.
 */
#ifndef SLICED_CORE_PLAN_INTERNAL_H
#define SLICED_CORE_PLAN_INTERNAL_H

#include "core/choose.h"
#include "sliced/plan.h"
#include "util/map.h"

enum {
    SL_PLAN_MEMO = 4096,        /* answers kept of which pods a kind of node admits */
    SL_PLAN_CHECKS = 1 << 20,   /* nodes looked at in one run; the next goes on */
    SL_PLAN_SEARCH = 8,         /* a search costs as much as so many nodes beside these */
    SL_PLAN_MATCHES = 16,       /* expressions and values that cost as much as a node */
    SL_PLAN_RESERVE_TRIES = 16, /* pods of a lane that may turn out to have no time, in one run */
    SL_PLAN_EXACT_MAX = 256,    /* nodes searched device by device for one reservation */
    SL_PLAN_REFUSED_MAX = 12,   /* pods of a lane that the bound refuses in one run */
    SL_PLAN_URGENT_MAX = 64,    /* pods tried before one that the bound refuses, at one time */
    SL_PLAN_BACK_MAX = 8,       /* pods set aside that come back when a node has more room */
    SL_PLAN_EARLY_CHECKS = 1 << 18, /* nodes looked at for estimated starts */
    SL_PLAN_REFUSALS_MAX = 8,       /* in a row: nobody of the namespace is expected to be let go */
    SL_PLAN_PREEMPT_MAX = 8,        /* pods of a lane looked at for preemption in one run */
};

struct sl_plan_pod;
struct sl_plan_node;

/* The time at which the first pod of a lane that cannot start will, and where. */
struct sl_plan_reserve {
    struct sl_plan_pod *pod;   /* NULL: nobody */
    struct sl_plan_node *node; /* NULL: no node, it waits for headroom */
    int64_t at_us;
    uint64_t touch; /* state of the cluster that it was made in */
    bool active;    /* its pod was met in this run: those behind keep to it */
    bool fixed;     /* no other node has it as early, in this run */
    struct sl_assignment assignment;
};

/* Pods that may well not take a claim have one at a time: those that lapsed before, and those of
 * whose namespace nobody is let go. */
enum sl_plan_retries { SL_PLAN_RETRY_LAPSED, SL_PLAN_RETRY_DOUBTED, SL_PLAN_RETRIES };
struct sl_plan_retry {
    struct sl_plan_pod *pod; /* that has the claim; NULL: none */
    int64_t at_us;           /* not before that the next */
    bool waits;              /* somebody waits for that */
};

/* A resource: where there is room for it, and who waits for it. */
struct sl_plan_lane {
    uint64_t key;
    uint64_t rank;             /* sl_rank_hash of its name */
    struct sl_plan_lane *next; /* of all, by rank */
    uint32_t refs;             /* items of asks that name it */
    bool nowhere;              /* of all that no node offers; always the last in the list */
    uint32_t members;          /* pods whose first item it is: the queue has room for them */

    /* For each node what one pod may ask now at most; over them a tree of maxima, root at 1. */
    int64_t *tree;
    int64_t *node_free;     /* units, by node */
    int64_t *node_capacity; /* units, by node */
    uint32_t leaves;        /* a power of two; 0: to be built */
    int64_t free;           /* sums */
    int64_t capacity;

    struct sl_plan_pod **queue; /* those that may go, in order */
    uint32_t n_queue;
    uint32_t queue_cap;
    struct sl_bound *bound;        /* order bounded: NULL before the first pod */
    int64_t bound_units;           /* capacity that it was told of */
    uint64_t bound_seq;            /* nodes_seq then */
    struct sl_plan_pod *preemptor; /* released to preempt */
    int64_t preempting_us;         /* since when */
    int64_t asked_us;              /* since when kube-scheduler may look for victims */
    bool preempt_waits;            /* somebody waits for where that will be */
    struct sl_plan_reserve reserve;
    struct sl_plan_retry retry[SL_PLAN_RETRIES];

    /* of the run */
    struct sl_plan_node *making; /* where kube-scheduler makes room for the preemptor; NULL: no */
    uint32_t at;                 /* in the queue */
    uint32_t tries;
    uint32_t refused;
    bool due_tried;
    bool set_aside;    /* somebody who must go next, and cannot */
    bool kept;         /* the reservation is of one who has nothing to spare */
    int64_t tried_us;  /* those that a pod so long could make late have been tried */
    int64_t least;     /* that anybody of the lane asks for */
    uint64_t rest_run; /* those that this run did not come to wait for rest_reason */
    enum sl_hold_reason rest_reason;
    int64_t headroom_us; /* long pods behind one that waits for headroom end before; 0: none */
};

/* What pods ask for. */
struct sl_plan_ask {
    uint32_t refs;               /* classes */
    uint32_t members;            /* pods */
    int32_t wanted;              /* released for an autoscaler, while that is counted */
    uint32_t taker;              /* a node that could take it, unless never */
    bool never;                  /* no node could ever take it */
    bool moving;                 /* to a lane of its own: a node offers it now */
    uint64_t never_seq;          /* nodes_seq when that was judged; 0: not yet */
    struct sl_plan_class *early; /* list, while estimated starts are worked out */
    struct sl_plan_ask *prev;
    struct sl_plan_ask *next;
    struct sl_pod *pod;                          /* whose names the ask borrows */
    struct sl_plan_lane *lane[SL_ASK_ITEMS_MAX]; /* by item */
    uint64_t key[1 + 3 * SL_ASK_ITEMS_MAX]; /* of the map: memory; of each key, count and GPUs */
    struct sl_ask ask;
};

/* Pods that no decision can tell apart but for order and timeout. */
struct sl_plan_class {
    uint32_t refs;
    uint32_t key_words;
    uint32_t weight; /* of its constraints, in nodes looked at */
    struct sl_plan_ask *ask;
    struct sl_pod *pod; /* whose constraints it borrows */
    const struct sl_constraints *constraints;
    uint64_t failed_seq; /* no node that last grew by then can take it */
    enum sl_hold_reason failed_reason;
    uint64_t window_epoch; /* in this epoch only pods that end by then may still find a node, */
    int64_t window_us;
    int32_t window_priority;          /* of those that matter no more than that */
    uint64_t timeless_seq;            /* sites_seq when no node could ever take it */
    struct sl_plan_class *early_next; /* of the ask's list */
    uint64_t early;                   /* planner->early when the time was worked out */
    int64_t early_us; /* no node has the units before; 0: not known; INT64_MAX: none that admits it
                         by ends */
    uint64_t key[];   /* digest of the constraints, memory, memory, then as the ask's */
};

/* A namespace of which somebody waits. */
struct sl_plan_space {
    size_t refs;
    uint64_t run;      /* that spent is of */
    size_t spent;      /* checks */
    uint32_t refusals; /* releases in a row that the API server refused, so far as they matter */
    char name[];
};

struct sl_plan_pod {
    struct sl_pod *pod; /* reference */
    struct sl_plan_space *space;
    struct sl_plan_class *class; /* NULL: malformed */
    char *why;                   /* of stage; NULL: nothing was said */
    struct sl_order_item item;
    uint64_t bound_id;
    enum sl_queue_state state;
    enum sl_hold_reason reason;
    enum sl_hold_reason stage;
    enum sl_hold_reason told; /* refusal that the owner was told of */
    uint64_t run;             /* that reason is of */
    int64_t since_us;
    int64_t ready_us;    /* since when it may start: others' gates and stages are passed */
    int64_t retry_us;    /* after a lapse; 0: at once */
    int64_t pardoned_us; /* when a change of it last ended that; 0: never */
    int64_t start_us;    /* estimated; 0: not */
    uint32_t lapses;
    uint32_t arriving; /* its place in planner->arriving, from 1; 0: not there */
    uint32_t strikes;  /* lapses since something about it changed */
    bool elsewhere;    /* others bound it; it is about to be removed */
    bool queued;
    bool released;   /* without a claim */
    bool broken;     /* what it asks for changed while it had a claim */
    bool arrived;    /* known to the lane's bound as waiting */
    bool started;    /* known to the lane's bound as running */
    bool aside;      /* taken out of it: something else than units holds it */
    bool nominated;  /* to be tried on the node that it names, first of all */
    bool preemptive; /* released to preempt once */
    bool denied;     /* its last lapse was the API server's refusal */
    bool excused;    /* one lapse was not held against it */

    struct sl_pod *claim; /* a copy that stands where its claim is; NULL: none */
    struct sl_plan_node *node;
    struct sl_plan_pod *node_next; /* claims of the node */
    int64_t claimed_us;
    int64_t held_us;  /* since when the claim is held: claimed, or the end of a silence */
    bool shown;       /* the cluster shows the claim */
    int64_t heard_us; /* when kube-scheduler last asked about it since; 0: it has not */

    struct sl_node *bad_node; /* reference: not there, unless it grows; only the name counts */
    uint64_t bad_seq;

    struct sl_plan_list *list; /* that it is in: claims, lapsed or refused */
    struct sl_plan_pod *prev;
    struct sl_plan_pod *next;
};

struct sl_plan_list {
    struct sl_plan_pod *first;
    struct sl_plan_pod *last;
    size_t n;
};

struct sl_plan_end {
    int64_t at_us;
    uint32_t resident;
};

struct sl_plan_node {
    struct sl_node *node;       /* reference */
    const struct sl_view *base; /* borrowed; NULL: not there */
    struct sl_view *own;        /* with the claims that base does not show; NULL: it shows all */
    const struct sl_view *view; /* own or base; NULL: to be made */
    uint64_t seq;               /* when it last had more room */
    uint32_t index;
    int32_t least_priority; /* of its residents */
    bool news;              /* it is another one than asks were judged by */
    bool stale;             /* the view is to be made anew */
    bool shrunk;            /* only by a claim: nobody fits that did not */
    struct sl_plan_node *stale_next;
    struct sl_plan_pod *claims;
    struct sl_plan_end *end; /* residents by end; NULL: to be made */
    int64_t ends_us;         /* that they hold until; later they are to be made anew */
    uint32_t n_ends;
    uint32_t end_cap;
};

/* A pod that was claimed and bound, or that others started: remembered until it is gone. */
struct sl_plan_ran {
    int64_t claimed_us;
    uint64_t bound_id;
    uint64_t lane; /* key */
    bool seen;     /* a node has shown it */
    bool counted;  /* known to the lane's bound as running */
    struct sl_plan_ran *prev;
    struct sl_plan_ran *next;
    struct sl_node *node; /* reference */
    uint32_t uid_len;
    char uid[];
};

struct sl_plan_memo {
    uint64_t pod;  /* digest of constraints */
    uint64_t site; /* digest of the node */
    uint32_t answer;
    bool known;
};

/* A resource that nodes offer, and what one has of it at most. */
struct sl_plan_offer {
    uint64_t key;
    int64_t most;
};

struct sl_plan_bid {
    int64_t at_us;
    uint32_t node;
};

/* Units that become free. */
struct sl_plan_freed {
    int64_t at_us;
    int64_t units;
};

struct sl_planner {
    struct sl_plan_config config;
    int64_t now_us;       /* latest */
    int64_t order_now_us; /* that queues are ordered for */
    int64_t heard_us;     /* when kube-scheduler was heard of last; 0: nobody tells */
    struct sl_map pods;   /* uid -> struct sl_plan_pod */
    struct sl_map classes;
    struct sl_map asks;
    struct sl_map rans; /* uid -> struct sl_plan_ran */
    struct sl_map ids;  /* bound id -> struct sl_plan_pod or ran: taken */
    struct sl_plan_ran *ran;
    struct sl_plan_ask *ask; /* all of them */
    struct sl_plan_lane *lane;
    struct sl_plan_lane *nowhere; /* the last of them */
    size_t n_lanes;
    struct sl_map spaces; /* namespaces */

    struct sl_plan_list claims; /* by time */
    struct sl_plan_list lapsed;
    struct sl_plan_list refused; /* to be told */
    size_t n_nominated;

    struct sl_plan_node **node; /* by name */
    const struct sl_view **base;
    size_t n_nodes;
    struct sl_plan_node *stale; /* list */
    struct sl_plan_node *gone;  /* list through stale_next: have claims, are not there */
    uint64_t *grown;            /* tree of maxima of the nodes' seq, as the lanes' trees */
    uint32_t grown_leaves;
    struct sl_plan_offer *offer; /* by key */
    size_t n_offers;
    size_t offer_cap;
    bool offers_all; /* for lack of memory */
    bool moves;      /* a resource is offered that was not before */
    uint32_t *news;  /* nodes */
    size_t n_news;
    size_t news_cap;
    uint64_t set_seq; /* nodes_seq when the set of nodes was told last */
    uint64_t judged;  /* how often an ask and a node were looked at together */
    uint64_t looked;  /* how often a pod and a node were, and for a pod's sake a point of a tree */

    uint64_t seq;         /* goes up when a node has more room */
    uint64_t touch;       /* goes up when anything of a node changes */
    uint64_t nodes_seq;   /* goes up when what nodes are changes */
    uint64_t settled_seq; /* nodes_seq that all pods were judged by */
    uint64_t epoch;       /* goes up with each run and each reservation that moves */
    uint64_t run;
    bool other_asks; /* than the last run met */
    bool ready;      /* a cluster is known */
    bool all_news;
    bool dirty;  /* a run may do something */
    bool paused; /* the last run stopped for its pace */
    bool hurry;  /* it stopped for its budget */
    bool away;   /* kube-scheduler, as of the last run: pods show it */

    /* of the run */
    const struct sl_demand *demand;
    size_t checks;
    struct sl_plan_space *spender; /* whose search it is; NULL: none */
    size_t room;                   /* claims that may still be made */
    size_t n_open;                 /* lanes in which somebody waits */
    size_t n_reserves;             /* active */
    size_t n_making;               /* lanes with a node where room is made */
    struct sl_scorer scorer;
    const struct sl_plan_ask *scored; /* that the scorer is for */
    uint64_t early;                   /* how often estimated starts were worked out */
    void (*act)(void *context, const struct sl_plan_action *action);
    void *context;
    bool lacking; /* memory */

    struct sl_plan_lane **heap;
    size_t heap_cap;
    struct sl_plan_bid *bid;
    size_t bid_cap;
    struct sl_plan_freed *freed;
    size_t freed_cap;
    struct sl_pod **pod_list;
    size_t pod_cap;
    struct sl_plan_pod **arriving; /* their lane's bound is to be told of them; room for all pods */
    size_t n_arriving;
    size_t n_aside;     /* pods set aside */
    uint64_t aside_seq; /* seq when they last came back */
    size_t arriving_cap;
    struct sl_plan_pod **sort;
    size_t sort_cap;

    size_t count[SL_QUEUE_STATES];
    uint64_t n_claims;
    uint64_t n_lapses;
    uint64_t n_failed;
    uint64_t n_backfills;
    uint64_t n_releases;
    uint64_t n_refusals;
    struct sl_plan_memo memo[SL_PLAN_MEMO];
};

/* ---- plan.c ---- */

/* Makes room for n items of that size; false when out of memory. */
bool sl_plan_grow(void *array, size_t *cap, size_t n, size_t size);
/* Brings state, lists and queue of a pod in line with what is known of it. Never fails. */
void sl_plan_settle(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_set_state(struct sl_planner *planner, struct sl_plan_pod *pod,
                       enum sl_queue_state state, enum sl_hold_reason reason);
void sl_plan_list_add(struct sl_plan_list *list, struct sl_plan_pod *pod);
void sl_plan_list_remove(struct sl_plan_pod *pod);
int64_t sl_plan_add(int64_t a, int64_t b);                        /* saturates */
void sl_plan_advance(struct sl_planner *planner, int64_t now_us); /* time never goes back */
struct sl_plan_pod *sl_plan_find(const struct sl_planner *planner, struct sl_str uid);
void sl_plan_tell(struct sl_planner *planner, const struct sl_plan_action *action);

/* ---- plan_rule.c ---- */

/* The strictest limit that the pod is over; NULL: none. */
const struct sl_plan_limit *sl_plan_limit_of(const struct sl_planner *planner,
                                             const struct sl_plan_pod *pod);

/* Headroom that the pod could not leave were all units free; no units: none, as far as is known.
 */
struct sl_queue_over sl_plan_over_headroom(const struct sl_planner *planner,
                                           const struct sl_plan_pod *pod);

/* ---- plan_offer.c ---- */

/* What that node offers is offered. */
void sl_plan_offer_add(struct sl_planner *planner, const struct sl_node *node);
void sl_plan_offer_reset(struct sl_planner *planner);
bool sl_plan_offers(const struct sl_planner *planner, uint64_t key);
/* Could a node ever take it? Looks at those alone that are news, where it was judged before. */
void sl_plan_judge(struct sl_planner *planner, struct sl_plan_ask *ask);
/* All asks, when nodes are others than before. changed: there is more to judge pods by. */
void sl_plan_judge_all(struct sl_planner *planner, bool changed);
/* The node is another one now. */
void sl_plan_news(struct sl_planner *planner, struct sl_plan_node *node);
void sl_plan_news_end(struct sl_planner *planner);
/* Lanes for what nodes offer of late. False: out of memory, to be called again. */
bool sl_plan_relane(struct sl_planner *planner);

/* ---- plan_class.c ---- */

/* Gives the ask the lanes of what is offered; its pods are in no queue. False: out of memory,
 * nothing changed. */
bool sl_plan_ask_move(struct sl_planner *planner, struct sl_plan_ask *ask);
struct sl_plan_lane *sl_plan_nowhere_new(void);
/* A reference; NULL: out of memory. */
struct sl_plan_space *sl_plan_space_get(struct sl_planner *planner, const char *name);
void sl_plan_space_unref(struct sl_planner *planner, struct sl_plan_space *space);

/* The class of a pod, made when there is none; a reference. NULL: out of memory. */
struct sl_plan_class *sl_plan_class_get(struct sl_planner *planner, struct sl_pod *pod);
void sl_plan_class_unref(struct sl_planner *planner, struct sl_plan_class *class);
bool sl_plan_class_is_of(const struct sl_plan_class *class, const struct sl_pod *pod);
struct sl_plan_lane *sl_plan_lane_find(const struct sl_planner *planner, uint64_t key);
/* Frees what nobody needs any more. */
void sl_plan_lane_tidy(struct sl_planner *planner);

/* ---- plan_queue.c ---- */

int sl_plan_compare(const struct sl_planner *planner, const struct sl_plan_pod *a,
                    const struct sl_plan_pod *b);
/* Where the pod stands in the queue, or would. */
uint32_t sl_plan_queue_place(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                             const struct sl_plan_pod *pod);
bool sl_plan_queue_reserve(struct sl_plan_lane *lane, size_t n);
void sl_plan_queue_add(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_queue_remove(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Sorts n pods; scratch has room for as many. Few steps where they are nearly in order. */
void sl_plan_sort(struct sl_plan_pod **pods, struct sl_plan_pod **scratch, size_t n,
                  int (*compare)(const void *context, const struct sl_plan_pod *a,
                                 const struct sl_plan_pod *b),
                  const void *context);
/* Orders all queues for the time, where the order changes with it. False: out of memory. */
bool sl_plan_queue_order(struct sl_planner *planner, int64_t now_us);

static inline struct sl_plan_lane *sl_plan_lane_of(const struct sl_plan_pod *pod)
{
    return pod->class == NULL ? NULL : pod->class->ask->lane[0];
}

/* ---- plan_node.c ---- */

void sl_plan_node_free(struct sl_plan_node *node);
void sl_plan_node_stale(struct sl_planner *planner, struct sl_plan_node *node, bool shrunk);
bool sl_plan_shows(const struct sl_view *view, const struct sl_pod *pod);
/* Makes all views and trees that are to be made; claims that no longer hold are given back. False:
 * out of memory, to be called again. */
bool sl_plan_refresh(struct sl_planner *planner);
/* A view of the node with that claim more. NULL: out of memory. */
struct sl_view *sl_plan_node_with(struct sl_planner *planner, const struct sl_plan_node *node,
                                  struct sl_pod *more);
void sl_plan_node_take(struct sl_planner *planner, struct sl_plan_node *node, struct sl_view *own);
struct sl_plan_node *sl_plan_node_find(const struct sl_planner *planner, const char *name);
/* The node has more room, as of seq. */
void sl_plan_node_grown(struct sl_planner *planner, struct sl_plan_node *node);

/* ---- plan_ends.c ---- */

/* Residents by end. False: out of memory. */
bool sl_plan_node_ends(struct sl_planner *planner, struct sl_plan_node *node);
/* Are they known as of now? */
bool sl_plan_node_ends_hold(const struct sl_planner *planner, const struct sl_plan_node *node);
/* Since when a pod runs, or may. */
int64_t sl_plan_start(const struct sl_planner *planner, const struct sl_pod *pod);
int64_t sl_plan_timeout(const struct sl_planner *planner, const struct sl_pod *pod);
/* When the grace of a pod that is being deleted is over. */
int64_t sl_plan_gone(const struct sl_pod *pod);
/* When it ends that has run since then. Never before now: of who is late nothing is known but that,
 * so it is taken to go on for as long as it is late, or, where its timeout is only the default, as
 * it has run. Who is being deleted ends by the end of its grace. */
int64_t sl_plan_end(const struct sl_planner *planner, const struct sl_pod *pod, int64_t start_us);

/* ---- plan_claim.c ---- */

/* False: out of memory, nothing changed. */
bool sl_plan_claim(struct sl_planner *planner, struct sl_plan_pod *pod, struct sl_plan_node *node,
                   const struct sl_assignment *assignment);
/* Takes the claim away; the node's view follows at the next refresh. */
void sl_plan_unclaim(struct sl_planner *planner, struct sl_plan_pod *pod);
/* No claim for a while: longer each time. */
void sl_plan_time_out(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Is there a node where a claim of the pod failed, and that has not changed since? */
bool sl_plan_is_barred(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Gives it back and tells so. */
void sl_plan_lapse(struct sl_planner *planner, struct sl_plan_pod *pod, enum sl_hold_reason why);
/* Those that were not taken in time; claims on nodes that are gone; time-outs that are over. */
void sl_plan_expire(struct sl_planner *planner);
/* Remembers a claimed pod that waits no more. */
void sl_plan_ran_keep(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_ran_forget(struct sl_planner *planner, struct sl_plan_ran *ran);
/* A record of a pod that runs. NULL: out of memory. */
struct sl_plan_ran *sl_plan_ran_new(struct sl_planner *planner, const char *uid);
struct sl_plan_ran *sl_plan_ran_find(const struct sl_planner *planner, const char *uid);

/* ---- plan_refuse.c ---- */

/* The API server refused to let a pod of that namespace go. */
void sl_plan_note_refusal(struct sl_planner *planner, struct sl_plan_space *space);

/* May it well not take a claim? Then nobody waits for it, nothing idles for it, and of all such
 * pods one of a lane tries at a time. */
static inline bool sl_plan_may_not_come(const struct sl_plan_pod *pod)
{
    return pod->strikes > 0 || pod->space->refusals == SL_PLAN_REFUSALS_MAX;
}

/* Then this is its turn's. */
static inline struct sl_plan_retry *sl_plan_retry_of(const struct sl_plan_pod *pod)
{
    return &sl_plan_lane_of(pod)
                ->retry[pod->strikes > 0 ? SL_PLAN_RETRY_LAPSED : SL_PLAN_RETRY_DOUBTED];
}

/* The turn in which the pod has its claim; NULL: it has it as others have. */
static inline struct sl_plan_retry *sl_plan_retrying(struct sl_plan_lane *lane,
                                                     const struct sl_plan_pod *pod)
{
    for (int i = 0; lane != NULL && i < SL_PLAN_RETRIES; i++) {
        if (lane->retry[i].pod == pod) {
            return &lane->retry[i];
        }
    }
    return NULL;
}

/* ---- plan_silence.c ---- */

/* When the claim lapses, as far as is known now. */
int64_t sl_plan_due(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Since when kube-scheduler is silent though the claimed pod waits for it; INT64_MAX: that cannot
 * be said of it. */
int64_t sl_plan_silent_since(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* How long kube-scheduler must be unheard to count as silent. */
int64_t sl_plan_silence(const struct sl_planner *planner);
/* It asked about the pod, and whether it went on after that nobody knows. */
bool sl_plan_is_doubtful(const struct sl_planner *planner, const struct sl_plan_pod *pod);

/* ---- plan_pick.c ---- */

struct sl_plan_pick {
    struct sl_plan_node *node; /* NULL: none */
    enum sl_hold_reason reason;
    bool backfilled;
    struct sl_assignment assignment;
};

/* Has its namespace had its share of the run's checks? A namespace may have half of what others
 * leave: they are never so many that there is nothing left for one more. */
bool sl_plan_is_spent(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Does the answer to sl_plan_pick take a look at nodes? */
bool sl_plan_must_search(struct sl_planner *planner, const struct sl_plan_pod *pod);

/* Is there a node where the pod may start now, and which is best? only: look at no other node. */
void sl_plan_pick(struct sl_planner *planner, struct sl_plan_pod *pod, struct sl_plan_node *only,
                  struct sl_plan_pick *out);
/* May pods of the class ever run there, as far as constraints tell? */
bool sl_plan_admits(struct sl_planner *planner, const struct sl_plan_class *class,
                    const struct sl_node *node);
/* Is headroom kept from the pod? */
bool sl_plan_needs_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Units of room that the pod has to leave for shorter ones are there beside it? */
bool sl_plan_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod);

/* ---- plan_reserve.c ---- */

/* Reserves for a pod that cannot start. False: there is no time that can be told. */
bool sl_plan_reserve(struct sl_planner *planner, struct sl_plan_lane *lane,
                     struct sl_plan_pod *pod);
void sl_plan_reserve_end(struct sl_planner *planner, struct sl_plan_lane *lane);
/* May the pod start on the node now without delaying a reservation there? The devices are in out.
 * Else *at_us is when the earliest of those that it would delay begins. */
bool sl_plan_reserve_allows(struct sl_planner *planner, const struct sl_plan_pod *pod,
                            struct sl_plan_node *node, struct sl_assignment *out, int64_t *at_us);
/* A pod has started on the node: reservations there keep their time and may change devices. True
 * when it started ahead of a pod that has one anywhere. */
bool sl_plan_reserve_adjust(struct sl_planner *planner, struct sl_plan_node *node);
/* When the pod has started there, is there room for the other once those that are being deleted are
 * gone? */
bool sl_plan_leaves_room(const struct sl_plan_node *node, const struct sl_plan_pod *other,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment);
/* Moves a reservation on that node to another as early. */
bool sl_plan_reserve_move(struct sl_planner *planner, struct sl_plan_node *node);

/* When as many units are free as the pod needs beside the headroom, at the latest. INT64_MAX: not
 * by ends. */
int64_t sl_plan_headroom_time(struct sl_planner *planner, const struct sl_plan_lane *lane,
                              const struct sl_plan_pod *pod);

/* Could the node have the units if nothing ran there? */
bool sl_plan_is_enough(const struct sl_view *view, const struct sl_ask *ask);
/* Not before that can the node, by its view, have what is asked, if it is enough: costs little, and
 * knows of no constraint. INT64_MAX: never by ends. */
int64_t sl_plan_not_before(struct sl_planner *planner, struct sl_plan_node *node,
                           const struct sl_ask *ask);

/* ---- plan_early.c ---- */

/* Sets early_us of all classes that wait. False: out of memory. */
bool sl_plan_early(struct sl_planner *planner);

/* ---- plan_report.c ---- */

/* Why it waits, as far as the last run tells. */
enum sl_hold_reason sl_plan_reason(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* The ends of what holds units of the lane into planner->freed, by time when sorted. Returns how
 * many; -1: out of memory. */
ptrdiff_t sl_plan_freed_list(struct sl_planner *planner, const struct sl_plan_lane *lane);

/* ---- plan_bound.c ---- */

void sl_plan_bound_arrive(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Tells the bounds of those that arrived since, in order of submission whoever was put first. */
void sl_plan_bound_tell(struct sl_planner *planner);
void sl_plan_bound_leave(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_bound_start(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_bound_unstart(struct sl_planner *planner, struct sl_plan_pod *pod);
/* It is the pod that must go next and cannot, for other reasons than units: others need not wait
 * for it until some node has more room. */
void sl_plan_bound_set_aside(struct sl_planner *planner, struct sl_plan_pod *pod);
bool sl_plan_bound_admits(struct sl_planner *planner, const struct sl_plan_pod *pod);
/* The pod of the lane that must go next; NULL when there is none. */
struct sl_plan_pod *sl_plan_bound_due(const struct sl_planner *planner, struct sl_plan_lane *lane);
/* When those that it refused in the last run may be admitted though nothing happens. */
int64_t sl_plan_bound_wake(const struct sl_plan_lane *lane);
bool sl_plan_bound_delays(struct sl_planner *planner, const struct sl_plan_pod *pod,
                          const struct sl_plan_node *node);
bool sl_plan_bound_is_mixed(const struct sl_plan_lane *lane);
/* Pods of the lane to be tried before that one, which is not admitted: SL_PLAN_URGENT_MAX at most.
 */
size_t sl_plan_bound_urgent(const struct sl_planner *planner, const struct sl_plan_pod *pod,
                            struct sl_plan_pod **out);
int64_t sl_plan_bound_latest(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Capacities of all lanes, and what was started by others. */
void sl_plan_bound_capacity(struct sl_planner *planner);
/* What ended, and what others started, between two views of a node; either may be NULL. */
void sl_plan_bound_diff(struct sl_planner *planner, const struct sl_view *before,
                        const struct sl_view *after);
/* A pod that others started. */
void sl_plan_bound_adopt(struct sl_planner *planner, const struct sl_pod *pod);
/* Forgets what was bound and never came to run. */
void sl_plan_ran_check(struct sl_planner *planner);
void sl_plan_bound_reset(struct sl_planner *planner);

/* ---- plan_walk.c, plan_release.c ---- */

void sl_plan_walk(struct sl_planner *planner);
void sl_plan_release(struct sl_planner *planner);

/* ---- plan_preempt.c: who was released to preempt, until it has a claim ---- */

/* Is there a pod of the lane that could, and may? It is released. */
void sl_plan_preempt(struct sl_planner *planner, struct sl_plan_lane *lane);
/* Victims are going on that node already, by what the pod says: go on with it. */
void sl_plan_preempt_resume(struct sl_planner *planner, struct sl_plan_pod *pod,
                            const struct sl_plan_node *node);
/* The run begins: where is room being made, and for whom? */
void sl_plan_preempt_begin(struct sl_planner *planner);
/* The pod is about to change into that one. */
void sl_plan_preempt_note(struct sl_planner *planner, struct sl_plan_pod *pod,
                          const struct sl_pod *next);
void sl_plan_preempt_end(struct sl_planner *planner, struct sl_plan_lane *lane);
/* Is there nothing more to be expected, or to wait for? */
void sl_plan_preempt_expire(struct sl_planner *planner, struct sl_plan_lane *lane);
int64_t sl_plan_preempt_wake(const struct sl_planner *planner, const struct sl_plan_lane *lane);
/* Has the pod to wait until it is known where room will be made? */
bool sl_plan_preempt_holds(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                           const struct sl_plan_pod *pod);
/* Is room being made there, and not for that pod, nor for one that matters less? */
bool sl_plan_preempt_keeps(const struct sl_planner *planner, const struct sl_plan_node *node,
                           const struct sl_plan_pod *pod);
/* Would it, with that assignment, leave what is being made? */
bool sl_plan_preempt_allows(const struct sl_planner *planner, const struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, const struct sl_assignment *assignment);
/* Releases a pod without a claim. */
void sl_plan_release_pod(struct sl_planner *planner, struct sl_plan_pod *pod);

#endif
