/* The plan: who goes next, where, and when the others may. One object, fed with what changed; the
 * daemon and the simulator use it alike. Pure: `now` is an argument, equal input gives equal
 * output. For one thread.
 *
 * Words: a pod whose turn has come gets a claim (node and devices) and is released; all others are
 * held. Backfill is EASY (Lifka, ANL/IBM SP scheduling, 1995): for each resource the first pod that
 * cannot start has a reservation at the earliest time at which the ends of the running pods (start
 * plus timeout, which is enforced) make room for it; pods behind it may start now when they end
 * before that time or leave room for it. Where several nodes have room as early, the reservation
 * moves rather than let devices idle. A pod of several resources queues for the first of them, by
 * name.
 *
 * A pod that did not take its claim (lapses) blocks nobody: after its time-out it gets another when
 * there is room at its turn, but no reservation, and of such pods one at a time for each resource
 * with a pause of hold_us behind each that lapses again, until something about it changes. So all
 * of them together keep at most half of the time of one pod's devices from pods that come.
 *
 * In the order bounded the shortest is asked first, and a start that would make another late is put
 * off (SL_HOLD_PROMISE): then the pod that must go next goes, or has the reservation if it does not
 * fit. The first that cannot start has a reservation only if it might start were there room. */
#ifndef SLICED_PLAN_H
#define SLICED_PLAN_H

#include "sliced/bound.h"
#include "sliced/constraint.h"
#include "sliced/order.h"
#include "sliced/score.h"

enum {
    SL_PLAN_RULES_MAX = 32, /* limits, headrooms, overrides of the order: each */
    SL_PLAN_NAME_MAX = 64,  /* bytes of a namespace or resource in a rule, with NUL */
    SL_PLAN_TEXT_MAX = 320, /* bytes of a sentence for people, with NUL */
    SL_PLAN_SILENT_HOLDS = 20,
};

/* A pod whose timeout is longer than max_timeout_us is refused for good. */
struct sl_plan_limit {
    char resource[SL_PLAN_NAME_MAX]; /* full name; "" all */
    int64_t max_timeout_us;
};

/* Keeps that many units of a resource for pods that are no longer than max_timeout_us: longer ones
 * start only where at least that many stay free. */
struct sl_plan_headroom {
    char resource[SL_PLAN_NAME_MAX];
    int64_t max_timeout_us;
    int64_t units;
};

/* Other weights of P for the pods of a namespace, or of a PriorityClass' value, or of both; the
 * first that matches counts. The name of the order is one for all. */
struct sl_plan_override {
    char namespace[SL_PLAN_NAME_MAX]; /* "" all */
    bool of_priority;                 /* only pods of that spec.priority */
    int32_t priority;
    struct sl_order_weights weights;
};

struct sl_plan_config {
    struct sl_order_config order;
    struct sl_bound_config bound; /* of the order bounded */
    int64_t default_timeout_us;   /* of pods that state none */
    int64_t hold_us;              /* a claim that is not bound lapses after that; not while
                                     kube-scheduler is silent (sl_planner_heard) */
    int64_t hold_max_us;          /* each lapse of a pod doubles the time until its next claim, from
                                     hold_us up to this */
    bool backfill;
    bool preemption;         /* release, without a claim, a pod that could preempt running ones */
    int32_t autoscaler_pods; /* held pods per resource released without a claim; 0: none */
    uint8_t n_limits;
    uint8_t n_headrooms;
    uint8_t n_overrides;
    struct sl_plan_limit limit[SL_PLAN_RULES_MAX];
    struct sl_plan_headroom headroom[SL_PLAN_RULES_MAX];
    struct sl_plan_override override[SL_PLAN_RULES_MAX];
    struct sl_score_config score; /* chooses the node among those that have room */
};

void sl_plan_defaults(struct sl_plan_config *config);

enum sl_queue_state {
    SL_QUEUE_HELD,     /* waits for its turn */
    SL_QUEUE_CLAIMED,  /* its turn has come: node and devices are set aside */
    SL_QUEUE_RELEASED, /* released without a claim: for preemption or an autoscaler */
    SL_QUEUE_STAGED,   /* waits for the pods or Jobs of sliced.dev/after */
    SL_QUEUE_GATED,    /* others' scheduling gates hold it */
    SL_QUEUE_REFUSED,  /* over a limit, a failed stage, a cycle, a malformed ask: for good; or an
                          ask that no node could ever take, or that is more than headroom leaves,
                          until nodes change */
    SL_QUEUE_STATES,
};
const char *sl_queue_state_name(enum sl_queue_state state); /* "Held", "Claimed", ... */

enum sl_hold_reason {
    SL_HOLD_NONE,
    SL_HOLD_NO_ROOM,       /* fits on no node now; first of its resource, or behind others */
    SL_HOLD_BEHIND,        /* there is room now, but starting would delay a pod ahead (backfill) */
    SL_HOLD_PROMISE,       /* there is room now, but another pod's latest start would be missed */
    SL_HOLD_HEADROOM,      /* what is free is kept for short pods */
    SL_HOLD_PACE,          /* as many are released as may be at once */
    SL_HOLD_LAPSED,        /* it did not take its claim; tried again later, one at a time */
    SL_HOLD_CONSTRAINT,    /* room on nodes that its constraints exclude */
    SL_HOLD_NEVER,         /* no node of the cluster could ever take it */
    SL_HOLD_OVER_HEADROOM, /* until nodes or rules change: asks for more than headroom leaves */
    SL_HOLD_STAGE,         /* predecessors have not succeeded yet */
    SL_HOLD_STAGE_FAILED,  /* for good: a predecessor has failed */
    SL_HOLD_STAGE_CYCLE,   /* for good */
    SL_HOLD_LIMIT,         /* for good: its timeout is longer than allowed */
    SL_HOLD_MALFORMED,     /* for good: its request */
    SL_HOLD_GATES,
    SL_HOLD_REASONS,
};
const char *sl_hold_reason_name(enum sl_hold_reason reason); /* "NoRoom", ... */
const char *sl_hold_reason_help(enum sl_hold_reason reason); /* for docs/reasons.md */

/* How sure an estimated start is. */
enum sl_estimate {
    SL_ESTIMATE_NONE,     /* nothing can be said */
    SL_ESTIMATE_NOW,      /* claimed */
    SL_ESTIMATE_RESERVED, /* its reservation: enforced timeouts free the room by then */
    SL_ESTIMATE_LAID_OUT, /* by laying out all pods ahead with their timeouts: seldom later, often
                             earlier, unless others come in ahead */
};
const char *sl_estimate_name(enum sl_estimate estimate); /* "none", "now", "reserved", "estimate" */

/* Headroom that leaves a pod too little even where nothing runs. */
struct sl_queue_over {
    int64_t units; /* that are kept; 0: there is no such headroom */
    int64_t max_timeout_us;
    int64_t capacity;               /* units of the item's resource on all nodes */
    const struct sl_ask_item *item; /* of the row's pod */
};

/* What there is to say of a waiting pod. Pointers lead to the pods, which are counted, and to the
 * three texts node, assignment and why, and nowhere else: whoever keeps a row takes references of
 * those and copies of these. Both are valid until the next call that changes the planner. */
struct sl_queue_row {
    const struct sl_pod *pod;
    enum sl_queue_state state;
    enum sl_hold_reason reason;
    uint32_t ahead;              /* pods ahead of it that wait for its first resource */
    const struct sl_pod *first;  /* the foremost of them; NULL when there is none */
    struct sl_order_parts parts; /* its P and what it is made of */
    int64_t timeout_us;          /* as used: its own or the default */
    int64_t latest_start_us;     /* bounded: what is promised; 0: nothing is */
    struct sl_queue_over over;   /* OVER_HEADROOM */
    enum sl_estimate estimate;
    int64_t start_us;       /* estimated start; 0 with SL_ESTIMATE_NONE */
    const char *node;       /* CLAIMED: where; NO_ROOM with a reservation: where; else NULL */
    const char *assignment; /* CLAIMED */
    const char *why;        /* STAGE, STAGE_FAILED, STAGE_CYCLE: as told; LAPSED when it was denied;
                               NULL: not */
    struct sl_plan_limit limit; /* LIMIT: the strictest that it is over; else max_timeout_us is 0 */
    int64_t since_us;           /* in this state */
    int64_t silent_us;          /* CLAIMED: nothing was heard of kube-scheduler since; 0: it was */
    uint32_t lapses;            /* claims that it did not take */
};

/* The sentence for its owner: "held: 3 pods ahead for nvidia.com/mig-1g.5gb; first is ns/name;
 * estimated start in 4m10s". Returns the length. */
size_t sl_queue_text(const struct sl_queue_row *row, int64_t now_us, char *out, size_t size);

enum sl_plan_action_kind {
    SL_PLAN_CLAIM,   /* set node and assignment aside, nominate, open the gate */
    SL_PLAN_RELEASE, /* open the gate without a nomination (preemption, autoscaler) */
    SL_PLAN_LAPSE,   /* give the claim back: it was not taken in time */
    SL_PLAN_REFUSE,  /* tell the owner: it never starts, row.reason says why */
};

struct sl_plan_action {
    enum sl_plan_action_kind kind;
    const struct sl_pod *pod;
    const char *node;           /* CLAIM, LAPSE */
    const char *assignment;     /* CLAIM, LAPSE: text as in the annotation */
    enum sl_hold_reason reason; /* REFUSE: why. LAPSE: SL_HOLD_LAPSED when it was not taken in
                                   time, SL_HOLD_NO_ROOM when its node has it no more */
    bool backfilled;            /* CLAIM: ahead of a pod that has a reservation */
};

struct sl_planner;

struct sl_planner *sl_planner_new(const struct sl_plan_config *config, struct sl_error *err);
void sl_planner_free(struct sl_planner *planner); /* NULL is allowed */
int sl_planner_configure(struct sl_planner *planner, const struct sl_plan_config *config,
                         struct sl_error *err);

/* A pod that waits is there, or has changed. Takes a reference of its own. What changed about a pod
 * ends its time-out after a lapse, once within hold_max_us. A pod without our gate that carries a
 * nomination (pod->nominated) was released before a restart: it gets its claim there first, when it
 * fits. */
int sl_planner_put(struct sl_planner *planner, struct sl_pod *pod, int64_t now_us,
                   struct sl_error *err);

/* It waits no more: bound, ended or gone. Unknown UIDs are no harm. */
void sl_planner_remove(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* What stages say of it, SL_HOLD_NONE (it may go), STAGE, STAGE_FAILED or STAGE_CYCLE, and why, in
 * words for its owner (copied; NULL: nothing to say). A pod with the annotation sliced.dev/after is
 * STAGE until this says otherwise, and again when the annotation changes. Forgotten with the pod.
 */
void sl_planner_set_stage(struct sl_planner *planner, struct sl_str uid, enum sl_hold_reason stage,
                          const char *why, int64_t now_us);

/* The cluster as it is now: views in order of node name, borrowed until the next call has returned
 * (or the planner is freed). Those that are the same pointers as before cost a comparison. A claim
 * may or may not show as a resident already; by UID it is counted once. -1: out of memory; there is
 * then no cluster, and nothing is planned, until a call succeeds. */
int sl_planner_cluster(struct sl_planner *planner, const struct sl_view *const *view, size_t n,
                       int64_t now_us, struct sl_error *err);

/* Plans: appends what has to be done by calling act, at most max_claims claims. Claims stand from
 * here on, until the pod is removed, or they are told as failed, or lapse. demand may be NULL. -1:
 * out of memory; what was told stands, the next call goes on. */
int sl_planner_run(struct sl_planner *planner, const struct sl_demand *demand, size_t max_claims,
                   int64_t now_us, void (*act)(void *context, const struct sl_plan_action *action),
                   void *context, struct sl_error *err);

/* The claim could not be made true (the node has changed, the pod was refused there): it is given
 * back; the pod may have another at once, but not on that node unless the node changes. When that
 * one fails too it waits as after a lapse. */
void sl_planner_failed(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* The API server lets that pod not go, whatever the node: what it has, a claim or a release without
 * one, lapses at once. act is not called for it. After some in a row the pods of its namespace try
 * one at a time, as after a lapse, until sl_planner_released is told of one of them. */
void sl_planner_denied(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* The API server has let that pod go. */
void sl_planner_released(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* kube-scheduler was heard of: it has asked about that pod, or about any other (uid may be empty).
 * Once this was called a claim does not lapse while kube-scheduler is silent, which is: nothing was
 * heard of it for half of hold_us though the pod's gate is open, and it has neither asked about the
 * pod nor said on it that it cannot place it. The hold begins anew with the next word. Not so for a
 * pod that has lapsed before, nor for longer than SL_PLAN_SILENT_HOLDS times hold_us. */
void sl_planner_heard(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* The clock was put, by by_us, and it is now now_us: what runs out (holds, time-outs, silence) runs
 * out as much later, no turn is lost and nobody's wait grows. Elsewhere time never goes back: an
 * earlier now_us counts as the latest. O(all). */
void sl_planner_rebase(struct sl_planner *planner, int64_t by_us, int64_t now_us);

/* Since when it is silent though pods wait for it; 0: it is not. */
int64_t sl_planner_silent(const struct sl_planner *planner, int64_t now_us);

/* When to run again though nothing changes; INT64_MAX: no need. */
int64_t sl_planner_wake(const struct sl_planner *planner);

/* Works the estimated starts out for all waiting pods. O(pods log devices). */
int sl_planner_estimate(struct sl_planner *planner, int64_t now_us, struct sl_error *err);

/* The row of one pod; false when it is not known. */
bool sl_planner_row(const struct sl_planner *planner, struct sl_str uid, int64_t now_us,
                    struct sl_queue_row *out);

/* All, in the order in which they are to go; ahead counts from that. Returns how many there are;
 * visits the first max. */
size_t sl_planner_visit(struct sl_planner *planner, int64_t now_us, size_t max,
                        void (*visit)(void *context, const struct sl_queue_row *row),
                        void *context);

struct sl_plan_stats {
    uint64_t claims, lapses, failed, backfills, releases, refusals;
    size_t waiting[SL_QUEUE_STATES];
    int64_t oldest_us; /* submission of the oldest that is not refused; 0: none */
};
void sl_planner_stats(const struct sl_planner *planner, struct sl_plan_stats *out);

#endif
