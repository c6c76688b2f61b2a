/* The plan: which pod goes next, where, and when the others may. The caller feeds one planner with
 * changes; the daemon and the simulator use it alike. Pure: `now` is an argument, equal input gives
 * equal output. For one thread.
 *
 * Words: a pod whose turn has come gets a nomination (node and devices) and is released; all others
 * are held. Backfill is EASY (Lifka, ANL/IBM SP scheduling, 1995): for each resource the first pod
 * that does not fit has a reserved start at the earliest time at which running pods' ends (start
 * plus timeout, which is enforced) free room for it; pods behind it may start now when they end
 * before that time or leave room for it. When several nodes have room equally early, the reserved
 * start moves between them rather than let devices idle. A pod of several resources queues for the
 * first of them, by name.
 *
 * A pod whose nomination expired, because it was not taken in time, blocks no other. After a
 * time-out it gets another nomination when there is room at its turn, but never a reserved start.
 * Until something about them changes, such pods try one at a time for each resource, and a pause of
 * hold_us follows each that expires again. So together they take at most half of the time of one
 * pod's devices from other pods.
 *
 * A drained node's free units are kept, until a certain time, from pods that would end later, so
 * that they come together for a larger profile. A drain holds no pod ahead of the one for which it
 * is made, and under the order bounded no resource of which some waiting pod would then start after
 * its latest start.
 *
 * The order bounded asks the shortest pod first, and puts off a start that would make another pod
 * late (SL_HOLD_PROMISE): then the pod that is due goes, or gets the reserved start if it does not
 * fit. The first pod that cannot start gets a reserved start only if room is all that it lacks.
 * Where pods of several widths make it matter on which nodes units are free, the first 64 pods in
 * line each have a reserved start in the promise besides. One whose time has come goes before the
 * planner's; one that cannot start then is taken out of the promise until a node has more room. */
#ifndef SLICED_PLAN_H
#define SLICED_PLAN_H

#include "sliced/constraint.h"
#include "sliced/cut.h"
#include "sliced/order.h"
#include "sliced/promise.h"
#include "sliced/score.h"
#include "sliced/tenant.h"

enum {
    SL_PLAN_RULES_MAX = 32, /* of limits, of headrooms and of overrides of the order */
    SL_PLAN_NAME_MAX = 64,  /* bytes of a namespace or resource in a rule, with NUL */
    SL_PLAN_TEXT_MAX = 320, /* bytes of a sentence for people, with NUL */
    SL_PLAN_SILENT_HOLDS = 20,
};

/* A pod whose timeout is longer than max_timeout_us is refused for good. */
struct sl_plan_limit {
    char resource[SL_PLAN_NAME_MAX]; /* full name; "" all */
    int64_t max_timeout_us;
};

/* Keeps units of a resource for pods of at most max_timeout_us: a longer pod starts only if at
 * least that many stay free. */
struct sl_plan_headroom {
    char resource[SL_PLAN_NAME_MAX];
    int64_t max_timeout_us;
    int64_t units;
};

/* Other weights of P for the pods of a namespace, of a PriorityClass' value, or of both; the first
 * match counts. All pods share one order. */
struct sl_plan_override {
    char namespace[SL_PLAN_NAME_MAX]; /* "" all */
    bool of_priority;                 /* only pods of that spec.priority */
    int32_t priority;
    struct sl_order_weights weights;
};

struct sl_plan_config {
    struct sl_order_config order;
    struct sl_promise_config promise; /* of the order bounded */
    int64_t default_timeout_us;       /* for pods that state none */
    int64_t hold_us;     /* a nomination expires when its pod is not bound after this; not while
                            kube-scheduler is silent (sl_planner_heard) */
    int64_t hold_max_us; /* each expiry of a pod doubles the time until its next nomination, from
                            hold_us up to this */
    bool backfill;
    bool learn_runtime; /* estimates beside those by timeouts: see usual_us of a row */
    bool preemption;    /* release, without a nomination, a pod that could preempt running ones */
    int32_t autoscaler_pods; /* held pods per resource released without a nomination; 0: none */
    uint8_t n_limits;
    uint8_t n_headrooms;
    uint8_t n_overrides;
    struct sl_plan_limit limit[SL_PLAN_RULES_MAX];
    struct sl_plan_headroom headroom[SL_PLAN_RULES_MAX];
    struct sl_plan_override override[SL_PLAN_RULES_MAX];
    struct sl_score_config score;     /* chooses the node among those that have room */
    const struct sl_tenants *tenants; /* copied; NULL: all pods share one queue */
};

enum sl_queue_state {
    SL_QUEUE_HELD,      /* waits for its turn */
    SL_QUEUE_NOMINATED, /* its turn has come: node and devices are set aside */
    SL_QUEUE_RELEASED,  /* released without a nomination: for preemption or an autoscaler */
    SL_QUEUE_STAGED,    /* waits for the pods or Jobs of sliced.dev/after */
    SL_QUEUE_GATED,     /* others' scheduling gates hold it */
    SL_QUEUE_REFUSED,   /* for good: over a limit, a failed stage, a cycle, a malformed ask; until
                           nodes change: more than any node could take or headroom leaves */
    SL_QUEUE_STATES,
};
const char *sl_queue_state_name(enum sl_queue_state state); /* "Held", "Nominated", ... */

enum sl_hold_reason {
    SL_HOLD_NONE,
    SL_HOLD_NO_ROOM,       /* fits on no node now; first of its resource, or behind others */
    SL_HOLD_BEHIND,        /* there is room now, but starting would delay a pod ahead (backfill) */
    SL_HOLD_PROMISE,       /* there is room now, but another pod's latest start would be missed */
    SL_HOLD_HEADROOM,      /* the free units are kept for short pods */
    SL_HOLD_CAP,           /* its tenant has as much as it may have */
    SL_HOLD_BORROW,        /* its tenant's long runs hold as much as its share */
    SL_HOLD_PACE,          /* as many pods are released as the window allows */
    SL_HOLD_EXPIRED,       /* it did not take its nomination; such pods try again one at a time */
    SL_HOLD_CONSTRAINT,    /* only nodes that its constraints exclude have room */
    SL_HOLD_CUT,           /* fits on no node now; a node's GPUs are being cut for it */
    SL_HOLD_DEVICE_CLASS,  /* no device plugin offers it, a DeviceClass does: not for sliced */
    SL_HOLD_NEVER,         /* no node of the cluster, even empty, could take it */
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
/* Returns the remedy that the pod's owner has, as half a sentence; NULL: none. */
const char *sl_hold_reason_remedy(enum sl_hold_reason reason);

/* How sure an estimated start is. */
enum sl_estimate {
    SL_ESTIMATE_NONE,     /* nothing can be said */
    SL_ESTIMATE_NOW,      /* nominated */
    SL_ESTIMATE_RESERVED, /* its reserved start: enforced timeouts free the room by then */
    SL_ESTIMATE_LAID_OUT, /* from a layout of all pods ahead with their timeouts: seldom later,
                             often earlier, unless pods arrive ahead */
};
const char *sl_estimate_name(enum sl_estimate estimate); /* "none", "now", "reserved", "estimate" */

/* A headroom that leaves a pod too little even on an empty cluster. */
struct sl_queue_over {
    int64_t units; /* kept by the headroom; 0: there is no such headroom */
    int64_t max_timeout_us;
    int64_t capacity;               /* units of the item's resource on all nodes */
    const struct sl_ask_item *item; /* of the row's pod */
};

/* Everything known about a waiting pod. Its pointers are valid until the next call that changes the
 * planner. A caller which keeps a row takes references of pod and first, and copies node,
 * assignment and why. */
struct sl_queue_row {
    const struct sl_pod *pod;
    enum sl_queue_state state;
    enum sl_hold_reason reason;
    uint32_t ahead;              /* pods ahead that wait for its first resource */
    const struct sl_pod *first;  /* the foremost of them; NULL when there is none */
    struct sl_order_parts parts; /* its P and the parts of it */
    int64_t timeout_us;          /* as used: its own or the default */
    int64_t latest_start_us;     /* bounded: the promised latest start; 0: none */
    const char *tenant;          /* NULL: there are none */
    int64_t own_start_us; /* its start on its tenant's own share, by which it is due; where that is
                             to come, if all pods there run as long as their timeouts; 0: unknown */
    struct sl_queue_over over; /* OVER_HEADROOM */
    enum sl_estimate estimate;
    int64_t start_us; /* estimated start; 0 with SL_ESTIMATE_NONE */
    /* With learn_runtime, else 0: how long pods of the same owner have run, the median of the last
     * ones, at most the timeout; 0: too few have ended. And when this one would start if all pods
     * ran as long as is usual; 0: not known, or not before start_us. Nothing is decided by them. */
    int64_t usual_us;
    int64_t usual_start_us;
    const char *node;       /* NOMINATED: where; NO_ROOM and CUT: where its estimated start is; else
                               NULL */
    const char *cut_node;   /* CUT: which is cut; else NULL */
    bool overdue;           /* CUT: that takes longer than expected, so that nobody knows its end */
    const char *assignment; /* NOMINATED */
    const char *why; /* STAGE, STAGE_FAILED, STAGE_CYCLE: text of sl_planner_set_stage; CUT: of
                        sl_planner_set_cut; NO_ROOM, CONSTRAINT: of sl_planner_set_drain_text;
                        EXPIRED: set after a denial; else NULL */
    struct sl_plan_limit limit; /* LIMIT: the strictest limit exceeded; else max_timeout_us is 0 */
    int64_t since_us;           /* in this state */
    int64_t ready_us;           /* since when neither others' gates nor a stage keep it waiting */
    int64_t silent_us;          /* NOMINATED: since when kube-scheduler is silent; 0: it is not */
    uint32_t expiries;          /* nominations of it that expired */
};

/* Fills *out for a pod for which GPUs may be cut: it lacks room, none are being cut for it, and it
 * has taken every nomination that it had, so that pods which nobody binds do not have a GPU cut
 * again and again. Fills it, too, for a pod that has room and waits for kube-scheduler (has_room).
 * False: it is no such pod. An estimate that is due counts for none: it counts units, and these may
 * be too small. */
bool sl_queue_wants_cut(const struct sl_queue_row *row, int64_t now_us, struct sl_cut_pod *out);

/* Writes the sentence for the pod's owner: "held: 3 pods ahead for nvidia.com/mig-1g.5gb; first is
 * ns/name; estimated start in 4m10s". It names the first pod ahead only where that is of the same
 * namespace. Returns the length. */
size_t sl_queue_text(const struct sl_queue_row *row, int64_t now_us, char *out, size_t size);

/* Writes a duration as the sentence does, so that a start is one number everywhere: "4m10s",
 * "2h5m", "3d4h", rounded up to the last unit shown. Returns the length. */
size_t sl_queue_duration_text(int64_t us, char *out, size_t size);

struct sl_planner;

/* How a tenant stands with a resource. */
struct sl_tenant_row {
    const char *tenant;
    const char *resource;
    const char *model;   /* "": of all models; else of the pods that select this one alone */
    int64_t share;       /* its part of the units, in millionths of one */
    int64_t guaranteed;  /* of them, units */
    int64_t cap;         /* the most units that its pods may hold; 0: no cap */
    int64_t held;        /* units, by pods that are nominated or run */
    int64_t borrowed;    /* beyond its share, and what it leaves of it to those who borrow: */
    int64_t lent;        /* millionths of a unit */
    int64_t waiting;     /* units that its waiting pods ask for */
    size_t pods_waiting; /* pods, of which so many */
    size_t pods_due;     /* are due: they would have started by now on its share */
    size_t pods_running; /* pods that hold units */
    size_t pods_overdue; /* are due, though no run of another tenant began before they were */
    int64_t due_us;      /* since when the longest due one is that; 0: none is */
    int64_t late_us;     /* for how long */
    int64_t bound_us;    /* when the last of others' runs that are borrowed has ended; 0: none is */
};

/* -1: more is guaranteed to tenants than the nodes have (sl_tenants_check). 0 without tenants, too.
 */
int sl_planner_tenants_check(const struct sl_planner *planner, struct sl_error *err);

/* Visits the tenants with pods, ended ones that still count on their shares too, by resource, then
 * tenant, in no order that means anything. Rows of models that are guaranteed follow that of all,
 * of which they are a part. */
void sl_planner_tenants(const struct sl_planner *planner,
                        void (*visit)(void *context, const struct sl_tenant_row *row),
                        void *context);

/* Visits the runs on the node that end for a pod which is tried without a nomination though
 * preemption is off, and returns how many: borrowed ones if it is due (tenants.reclaim), else none.
 * -1: no such pod: it ends whom kube-scheduler names. */
int64_t sl_planner_reclaim(const struct sl_planner *planner, struct sl_str uid, const char *node,
                           void (*visit)(void *context, const struct sl_pod *pod), void *context);

/* Returns the tenant whose the namespace is; NULL: there are none, or the namespace has had no pod.
 * Valid until the next call that changes the planner. */
const char *sl_planner_tenant_of(const struct sl_planner *planner, const char *namespace);

/* Says what DeviceClasses offer. */
void sl_planner_set_dra(struct sl_planner *planner, const struct sl_dra *dra);

/* Tells the tenant that the label tenants->label of the Namespace names; "": it has no such label,
 * or is gone. -1: out of memory. */
int sl_planner_namespace(struct sl_planner *planner, struct sl_str namespace, struct sl_str tenant,
                         int64_t now_us, struct sl_error *err);

/* Returns what a restart would lose of the tenants' shares, as text of at most max bytes, which the
 * caller frees; NULL: there are no tenants, or no memory. */
char *sl_planner_tenants_save(const struct sl_planner *planner, size_t max, size_t *len);
/* Takes such a text, of a planner before, for pods that are told from now on: before the first of
 * them. What it cannot read it passes over; lost lines cost some pods their turn, no more. -1: out
 * of memory. */
int sl_planner_tenants_load(struct sl_planner *planner, struct sl_str text, int64_t now_us,
                            struct sl_error *err);

/* Tells that kube-scheduler asked about this pod, or about any pod (uid may be empty). After the
 * first call, nominations do not expire while kube-scheduler is silent. It is silent when this was
 * not called for half of hold_us though the pod's gate is open, and it has neither asked about the
 * pod nor marked it as unschedulable. The hold begins anew with the next call. Silence spares no
 * pod which expired before, and none for longer than SL_PLAN_SILENT_HOLDS times hold_us. */
void sl_planner_heard(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* Returns since when kube-scheduler is silent though pods wait for it; 0: it is not. */
int64_t sl_planner_silent(const struct sl_planner *planner, int64_t now_us);

/* Visits the nominations, the oldest first, with the time of each. */
void sl_planner_nominated(const struct sl_planner *planner,
                          void (*visit)(void *context, const struct sl_pod *pod,
                                        int64_t nominated_us),
                          void *context);

/* Estimates the starts of all waiting pods, which rows then show. -1: out of memory. O(pods log
 * devices). */
int sl_planner_estimate(struct sl_planner *planner, int64_t now_us, struct sl_error *err);

/* Fills the row of one pod; false when the planner does not know it. */
bool sl_planner_row(const struct sl_planner *planner, struct sl_str uid, int64_t now_us,
                    struct sl_queue_row *out);

/* Visits the first max rows in the order in which the pods are to go; row.ahead follows that order.
 * Returns the number of all rows. */
size_t sl_planner_visit(struct sl_planner *planner, int64_t now_us, size_t max,
                        void (*visit)(void *context, const struct sl_queue_row *row),
                        void *context);

/* The foremost of the pods that wait for units and are alike but for their order: of the highest
 * priority, the earliest submission. */
struct sl_plan_front {
    struct sl_pod *pod; /* reference */
    int64_t submit_us;
    int32_t priority;
};
enum { SL_PLAN_FRONTS_MAX = 64 };
/* Lists those for whom units can come free, as the last run left them, and returns how many: of a
 * resource the foremost eight, and no more than there is room for. Caller: sl_plan_fronts_free. */
size_t sl_planner_fronts(const struct sl_planner *planner,
                         struct sl_plan_front out[SL_PLAN_FRONTS_MAX]);
/* Lists those of the n behind whom a pod must go that the queue does not plan, and returns how
 * many. A pod of unknown age came last. Caller: sl_plan_fronts_free. */
size_t sl_plan_fronts_ahead(const struct sl_plan_front *front, size_t n, const struct sl_pod *pod,
                            struct sl_plan_front out[SL_PLAN_FRONTS_MAX]);
/* The item of the pod for which the front waits, too; NULL: none. */
const struct sl_ask_item *sl_plan_front_item(const struct sl_plan_front *front,
                                             const struct sl_pod *pod);
/* Can one of the n start on the node now, or once the pods there have ended that state a timeout or
 * are being deleted? */
bool sl_plan_fronts_use(const struct sl_plan_front *front, size_t n, const struct sl_view *view);
/* Drops the references. */
void sl_plan_fronts_free(struct sl_plan_front *front, size_t n);

/* The place and the start that a pod would have if it came now. */
struct sl_plan_what_if {
    struct sl_queue_row row; /* the pod's */
    size_t position;         /* among all rows, from 1 */
    size_t delayed;          /* waiting pods whose estimated start becomes later, or unknown */
};

/* Plans with the pod, which must not be known, as sl_planner_run would after sl_planner_put.
 * Nothing undoes that: the planner is to be a copy that nobody uses for anything else afterwards (a
 * copy of the process has one). -1 with SL_ERR_FIELD: the pod cannot wait; else out of memory. */
int sl_planner_what_if(struct sl_planner *planner, struct sl_pod *pod,
                       const struct sl_demand *demand, size_t max_nominations, int64_t now_us,
                       struct sl_plan_what_if *out, struct sl_error *err);

struct sl_plan_stats {
    uint64_t nominations, expiries, failed, backfills, releases, refusals;
    uint64_t timeouts, ended; /* runs that took their whole timeout; all that have ended */
    size_t waiting[SL_QUEUE_STATES];
    int64_t oldest_us; /* submission of the oldest pod that is not refused; 0: none */
};
void sl_planner_stats(const struct sl_planner *planner, struct sl_plan_stats *out);
/* Returns the longest wait W of a priority in the virtual FIFO of any resource (sliced/promise.h);
 * 0: none, or the order promises nothing. */
int64_t sl_planner_fifo_wait(const struct sl_planner *planner, int32_t priority);

#endif
