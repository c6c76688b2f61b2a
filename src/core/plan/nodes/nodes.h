/* The cluster with the nominations in it: nodes, where they have room, when what runs there ends,
 * and the nominations themselves. */
#ifndef SLICED_CORE_PLAN_NODES_NODES_H
#define SLICED_CORE_PLAN_NODES_NODES_H

#include "core/plan/state/state.h"

struct sl_plan_node {
    struct sl_node *node;       /* reference */
    const struct sl_view *base; /* borrowed; NULL: not there */
    struct sl_view *own; /* with the nominations that base does not show; NULL: it shows all */
    const struct sl_view *view; /* own or base; NULL: to be made */
    uint64_t seq;               /* planner->seq.room when it last gained room */
    uint32_t index;
    int32_t least_priority; /* of its residents */
    bool news;              /* it changed since asks were judged */
    bool stale;             /* the view is to be rebuilt */
    bool shrunk;            /* stale by a nomination only: no further pod fits */
    struct sl_plan_node *stale_next;
    struct sl_plan_pod *nominations;
    SL_TIMES(int64_t drain_us;);   /* pods that would end later get nothing before; 0: no drain */
    struct sl_plan_pod *drain_for; /* the pod for which it is drained; it waits */
    uint64_t drain_key[SL_NODE_POOLS_MAX]; /* the resources that are drained */
    size_t n_drain_keys;
    struct sl_plan_end *end; /* residents by end; NULL: to be made */
    int64_t ends_us;         /* until when end is valid */
    uint32_t n_ends;
    size_t end_cap;
};

/* A pod that was nominated and bound, or that others started: remembered until it is gone. */
struct sl_plan_ran {
    SL_TIMES(int64_t nominated_us;);
    uint64_t lane;                       /* key */
    bool seen;                           /* a node has shown it */
    struct sl_plan_account_pod *account; /* the order's; NULL: none */
    struct sl_link all;
    uint32_t uid_len;
    char uid[];
};

static inline struct sl_plan_ran *sl_plan_ran_at(struct sl_link *at)
{
    return at == NULL ? NULL : SL_CONTAINER(at, struct sl_plan_ran, all);
}

static inline struct sl_plan_ran *sl_plan_ran_next(const struct sl_plan_ran *ran)
{
    return sl_plan_ran_at(ran->all.next);
}

static inline size_t sl_plan_nodes(const struct sl_planner *planner)
{
    return planner->fleet.n;
}

/* The i-th by name. */
static inline struct sl_plan_node *sl_plan_node_at(const struct sl_planner *planner, size_t i)
{
    return planner->fleet.node[i];
}

/* Has a node below that point of the lanes' trees gained room since that seq? */
static inline bool sl_plan_has_grown(const struct sl_planner *planner, uint32_t at, uint64_t since)
{
    return planner->fleet.grown[at] > since;
}

/* ---- node.c ---- */

struct sl_plan_node *sl_plan_node_new(const struct sl_view *base);
void sl_plan_node_free(struct sl_plan_node *node);
struct sl_plan_node *sl_plan_node_find(const struct sl_planner *planner, const char *name);
/* Marks the node's view to be rebuilt. */
void sl_plan_node_stale(struct sl_planner *planner, struct sl_plan_node *node, bool shrunk);
/* Notes that the node has gained room. */
void sl_plan_node_grown(struct sl_planner *planner, struct sl_plan_node *node);
void sl_plan_set_grown(struct sl_planner *planner, const struct sl_plan_node *node);
uint32_t sl_plan_leaves_for(size_t n);

/* ---- room.c ---- */

void sl_plan_room_set(struct sl_plan_lane *lane, const struct sl_plan_node *node);
/* False: out of memory. */
bool sl_plan_room_build(const struct sl_planner *planner, struct sl_plan_lane *lane);

/* ---- view.c ---- */

bool sl_plan_shows(const struct sl_view *view, const struct sl_pod *pod);
/* A view of the node with one more nomination. NULL: out of memory. */
struct sl_view *sl_plan_node_with(struct sl_planner *planner, const struct sl_plan_node *node,
                                  struct sl_pod *more);
void sl_plan_node_take(struct sl_planner *planner, struct sl_plan_node *node, struct sl_view *own);

/* ---- ran.c ---- */

/* Makes a record of a running pod. NULL: out of memory. */
struct sl_plan_ran *sl_plan_ran_new(struct sl_planner *planner, const char *uid);
struct sl_plan_ran *sl_plan_ran_first(const struct sl_planner *planner);
struct sl_plan_ran *sl_plan_ran_find(const struct sl_planner *planner, const char *uid);
void sl_plan_ran_forget(struct sl_planner *planner, struct sl_plan_ran *ran);
/* Remembers a nominated pod which no longer waits. */
void sl_plan_ran_keep(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Notes what ended, and what others started, between two views of a node; either may be NULL. */
void sl_plan_ran_diff(struct sl_planner *planner, const struct sl_view *before,
                      const struct sl_view *after);
/* Visits the pods that views show. */
void sl_plan_each_resident(struct sl_planner *planner,
                           void (*visit)(struct sl_planner *planner, const struct sl_pod *pod));
/* Visits what the order keeps of pods, waiting and running. */
void sl_plan_each_account(const struct sl_planner *planner,
                          void (*visit)(void *context, struct sl_plan_account_pod *account),
                          void *context);
/* Frees all of that, as nothing but memory. */
void sl_plan_records_free(struct sl_planner *planner);
/* Forgets bound pods that no node shows. */
void sl_plan_ran_check(struct sl_planner *planner);

/* ---- ends.c ---- */

/* Sorts the node's residents by end. False: out of memory. */
bool sl_plan_node_ends(struct sl_planner *planner, struct sl_plan_node *node);
/* Are the ends still valid now? */
bool sl_plan_node_ends_hold(const struct sl_planner *planner, const struct sl_plan_node *node);
/* Since when a pod runs, or may. */
int64_t sl_plan_start(const struct sl_planner *planner, const struct sl_pod *pod);
/* When the grace of a pod being deleted is over. */
int64_t sl_plan_gone(const struct sl_pod *pod);
/* Lists the residents of the node's view by when they end as is usual, n of them, in
 * planner->scratch.end. False: out of memory. */
bool sl_plan_usual_ends(struct sl_planner *planner, const struct sl_plan_node *node, uint32_t *n);
/* Lists in planner->scratch.supply when units of the lane become free, by timeouts or as is usual.
 * False: out of memory. */
bool sl_plan_supply(struct sl_planner *planner, const struct sl_plan_lane *lane, bool usual);

/* ---- drain.c ---- */

size_t sl_plan_drains_count(const struct sl_planner *planner); /* nodes that drain */

/* Is the resource drained there? */
bool sl_plan_drains(const struct sl_plan_node *node, uint64_t key);
void sl_plan_drain_end(struct sl_planner *planner, struct sl_plan_node *node);
/* Ends the drains whose time is over or whose pod is this one (may be NULL). */
void sl_plan_drain_expire(struct sl_planner *planner, const struct sl_plan_pod *pod);
int64_t sl_plan_drain_wake(const struct sl_planner *planner);

/* ---- soonest.c ---- */

/* Could the node have the units if nothing ran there? */
bool sl_plan_is_enough(const struct sl_view *view, const struct sl_ask *ask);
/* Cheap lower bound on when the node can satisfy the ask, if its units are enough; ignores
 * constraints. INT64_MAX: never by ends. */
int64_t sl_plan_not_before(struct sl_plan_run *run, struct sl_plan_node *node,
                           const struct sl_ask *ask);

/* ---- admit.c ---- */

/* Counts n looks at a node, or what costs as much, against the run's budget and whom it charges. */
void sl_plan_spend(struct sl_plan_run *run, size_t n);
/* Charges what follows to the namespace; NULL: to none. */
void sl_plan_charge(struct sl_plan_run *run, struct sl_plan_space *space);
/* Has the namespace had more of the budget than is left for all? Each may use half of what the
 * others leave, so that there is always some left for one more. */
bool sl_plan_is_spent(const struct sl_plan_run *run, const struct sl_plan_space *space);
/* Do the constraints of the class ever admit the node? */
bool sl_plan_admits(struct sl_plan_run *run, const struct sl_plan_class *class,
                    const struct sl_node *node);

/* ---- nominate.c ---- */

/* False: out of memory, nothing changed. */
bool sl_plan_nominate(struct sl_planner *planner, struct sl_plan_pod *pod,
                      struct sl_plan_node *node, const struct sl_assignment *assignment);
/* Withdraws the nomination; the node's view follows at the next refresh. */
void sl_plan_withdraw(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Begins a time-out, during which the pod gets no nomination; each is longer. */
void sl_plan_time_out(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Is there a node where a nomination of the pod failed, and that has not changed since? */
bool sl_plan_is_barred(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Ends the nomination; SL_HOLD_EXPIRED counts against the pod. */
void sl_plan_nomination_end(struct sl_planner *planner, struct sl_plan_pod *pod,
                            enum sl_hold_reason why);
/* Ends the nomination and reports it. */
void sl_plan_expire(struct sl_plan_run *run, struct sl_plan_pod *pod, enum sl_hold_reason why);

/* ---- silence.c ---- */

/* When the nomination expires, as far as is known now. */
int64_t sl_plan_due(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Since when kube-scheduler is silent though the nominated pod waits for it; INT64_MAX: the pod
 * shows no silence. */
int64_t sl_plan_silent_since(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* How long kube-scheduler must be unheard to count as silent. */
int64_t sl_plan_silence(const struct sl_planner *planner);
/* Did kube-scheduler ask about the pod, without a sign of life after that? */
bool sl_plan_is_doubtful(const struct sl_planner *planner, const struct sl_plan_pod *pod);

/* ---- judge.c ---- */

/* Judges whether any node could ever take the ask; looks only at changed nodes if it was judged
 * before. */
void sl_plan_judge(struct sl_planner *planner, struct sl_plan_ask *ask);
/* Judges all asks and settles their pods if nodes have changed. changed: settles pods in any
 * case. */
void sl_plan_judge_all(struct sl_planner *planner, bool changed);
/* Notes that the node has changed. */
void sl_plan_news(struct sl_planner *planner, struct sl_plan_node *node);
/* Nodes have come or gone: no older judgement counts. */
void sl_plan_news_set(struct sl_planner *planner);

/* ---- refresh.c ---- */

/* Expires the nominations on nodes that have gone. */
void sl_plan_expire_gone(struct sl_plan_run *run);

/* Rebuilds views and trees that are out of date; nominations that no longer hold expire. False: out
 * of memory, to be called again. */
bool sl_plan_refresh(struct sl_plan_run *run);

#endif
