/* The decisions of a run: which pod gets which node or a reserved start, and which is released. */
#ifndef SLICED_CORE_PLAN_DECIDE_DECIDE_H
#define SLICED_CORE_PLAN_DECIDE_DECIDE_H

#include "core/plan/tenant/tenants.h"

enum {
    SL_PLAN_SEARCH = 8,           /* cost of a search, in nodes, beside those it looks at */
    SL_PLAN_RESERVE_TRIES = 16,   /* failed reserved starts of a lane in one run */
    SL_PLAN_EXACT_MAX = 256,      /* nodes searched device by device for one reserved start */
    SL_PLAN_REFUSED_MAX = 12,     /* pods of a lane that its order refuses in one run */
    SL_PLAN_JUDGED_MAX = 1 << 16, /* looks at nodes that this may take in a mixed lane, */
    SL_PLAN_JUDGED_RUN = 1 << 18, /* and in all together */
    SL_PLAN_BACK_MAX = 8,         /* pods set aside that come back when a node has more room */
    SL_PLAN_PREEMPT_MAX = 8,      /* pods of a lane looked at for preemption in one run */
};

/* How soon kube-scheduler names a node if it finds victims. */
#define SL_PLAN_NAMING_US (2 * SL_SECOND_US)

/* ---- bounded.c: under another order no pod has a promise, and each may go ---- */

/* sites.c: the number of the node's site, and which sites admit pods of the class. */
uint8_t sl_plan_site_of(struct sl_planner *planner, const struct sl_plan_node *node);
uint64_t sl_plan_sites_of(struct sl_planner *planner, struct sl_plan_class *class);

extern const struct sl_plan_order sl_plan_bounded;
/* NULL: no pod of the lane has been promised anything. */
struct sl_promise *sl_plan_bounded_promise(const struct sl_plan_lane *lane);
/* May the pod start, as far as that does not depend on the node? */
bool sl_plan_bounded_admits(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* May it start on that node? */
bool sl_plan_bounded_admits_on(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                               const struct sl_plan_node *node);
/* Has the order refused so much in this run that only pods which are due are asked about? */
bool sl_plan_bounded_is_settled(const struct sl_plan_run *run, const struct sl_plan_lane *lane);
/* Has the start come that the order has reserved for the pod on a node? */
bool sl_plan_bounded_is_due(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* May a pod that does not fit have the lane's reserved start? What may not start may not. */
bool sl_plan_bounded_may_reserve(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* The pod of the lane that must go next after refusals; NULL: none. */
struct sl_plan_pod *sl_plan_bounded_due(const struct sl_planner *planner,
                                        const struct sl_plan_lane *lane);
/* The pod that must go next lacks something other than units: no pod waits for it until some node
 * has more room. */
void sl_plan_bounded_set_aside(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Do all pods of the lane start in time though drained nodes' free units idle? */
bool sl_plan_bounded_spares(const struct sl_planner *planner, const struct sl_plan_lane *lane);

/* Checks that records, counts and promises agree (util/check.h). */
void sl_plan_bounded_audit(const struct sl_planner *planner);

/* ---- restart.c ---- */

/* planner->tenancy is as configured already. */
void sl_plan_set_config(struct sl_planner *planner, const struct sl_plan_config *config);
/* Settles every pod and every account by that configuration. relabelled: it is the same, but
 * namespaces have other tenants. */
int sl_plan_restart(struct sl_planner *planner, const struct sl_plan_config *config,
                    bool relabelled, struct sl_error *err);

/* ---- drained.c ---- */

/* When the pod may start on the node at the earliest, from at_us on, in spite of a drain. */
int64_t sl_plan_drained(struct sl_planner *planner, const struct sl_plan_node *node,
                        const struct sl_plan_pod *pod, int64_t at_us);

/* ---- headroom.c ---- */

/* Must the pod leave headroom? */
bool sl_plan_needs_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Are the pod's units free, and beside them those that it must leave to shorter pods? */
bool sl_plan_headroom(const struct sl_planner *planner, const struct sl_plan_pod *pod);
/* By when the ends of running pods free the pod's units and its headroom. INT64_MAX: never. */
int64_t sl_plan_headroom_time(struct sl_plan_run *run, const struct sl_plan_lane *lane,
                              const struct sl_plan_pod *pod);

/* ---- fits.c ---- */

static inline bool sl_plan_reserve_is_on(const struct sl_plan_reserve *reserve,
                                         const struct sl_plan_node *node)
{
    return reserve->active && reserve->node == node;
}

/* Does the pod fit on devices beside what others have reserved on the node? scratch is without the
 * first gone residents of node->end. */
bool sl_plan_fits_beside(const struct sl_planner *planner, const struct sl_scratch *scratch,
                         uint32_t gone, const struct sl_plan_node *node,
                         const struct sl_plan_pod *pod, struct sl_assignment *out);
/* When the pod fits on the node at the earliest; INT64_MAX: not even once all residents have
 * ended. */
int64_t sl_plan_earliest_on(struct sl_planner *planner, struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, struct sl_assignment *out);
/* Does the node have the CPU, memory and place that the reserved start's pod needs at its time,
 * beside another pod (may be NULL) that runs until then? */
bool sl_plan_host_then(const struct sl_plan_node *node, const struct sl_plan_reserve *reserve,
                       const struct sl_plan_pod *pod);
/* Chooses the devices that the reserved start's pod gets at its time, beside the assignment of
 * another pod (may be NULL). False: there is no room on devices then; sl_plan_host_then() judges
 * the rest.
 */
bool sl_plan_choose_then(const struct sl_plan_node *node, const struct sl_plan_reserve *reserve,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment,
                         struct sl_assignment *out);
/* Does a start of pod on the node leave room for other, once pods being deleted are gone? */
bool sl_plan_leaves_room(const struct sl_plan_node *node, const struct sl_plan_pod *other,
                         const struct sl_plan_pod *pod, const struct sl_assignment *assignment);

/* ---- making.c ---- */

/* The node on which kube-scheduler makes room for the preemptor, as the pod's status names it;
 * NULL: it names none yet. */
struct sl_plan_node *sl_plan_making_node(const struct sl_planner *planner,
                                         const struct sl_plan_pod *pod);
/* The run begins: notes in each lane where room is being made for the lane's preemptor. */
void sl_plan_preempt_begin(struct sl_plan_run *run);
/* Has the pod to wait because the lane's preemptor goes first and its node is not named yet? */
bool sl_plan_preempt_holds(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                           const struct sl_plan_pod *pod);
/* Is room being made on the node for another pod, of no lower priority? */
bool sl_plan_preempt_holds_node(const struct sl_plan_run *run, const struct sl_plan_node *node,
                                const struct sl_plan_pod *pod);
/* If the pod had that assignment on the node, would such another pod still have its room? */
bool sl_plan_preempt_allows(const struct sl_planner *planner, const struct sl_plan_node *node,
                            const struct sl_plan_pod *pod, const struct sl_assignment *assignment);

/* ---- reserve.c ---- */

/* Reserves for a pod that cannot start. False: no time is known. */
bool sl_plan_reserve(struct sl_plan_run *run, struct sl_plan_lane *lane, struct sl_plan_pod *pod);
/* Moves a reserved start from the node to another which has room as early. */
bool sl_plan_reserve_move(struct sl_plan_run *run, struct sl_plan_node *node);
/* May the pod start on the node now without delaying a reserved start there? Writes its devices to
 * out; else *at_us is the latest time among the reserved starts that it would delay. */
bool sl_plan_reserve_allows(struct sl_plan_run *run, const struct sl_plan_pod *pod,
                            struct sl_plan_node *node, struct sl_assignment *out, int64_t *at_us);
/* Adjusts to a start on the node: reserved starts there keep their time and may change devices.
 * True when the start was ahead of a pod which has a reserved start on any node. */
bool sl_plan_reserve_adjust(struct sl_planner *planner, struct sl_plan_node *node);

/* ---- pick.c ---- */

struct sl_plan_pick {
    struct sl_plan_node *node; /* NULL: none */
    enum sl_hold_reason reason;
    struct sl_assignment assignment;
};

/* Must sl_plan_pick look at nodes? */
bool sl_plan_must_search(struct sl_planner *planner, const struct sl_plan_pod *pod);
/* Finds the best node where the pod may start now. only: the one node to look at; NULL: all. */
void sl_plan_pick(struct sl_plan_run *run, struct sl_plan_pod *pod, struct sl_plan_node *only,
                  struct sl_plan_pick *out);

/* ---- act.c ---- */

void sl_plan_set_reason(struct sl_planner *planner, struct sl_plan_pod *pod,
                        enum sl_hold_reason reason);
/* False: out of memory. */
bool sl_plan_act_nominate(struct sl_plan_run *run, struct sl_plan_pod *pod,
                          const struct sl_plan_pick *pick);
/* Releases a pod without a nomination. */
void sl_plan_release_pod(struct sl_plan_run *run, struct sl_plan_pod *pod);

/* ---- preempt.c: the pod that was released to preempt, until it has a nomination ---- */

/* Releases the lane's first pod that could preempt, and may, if there is one. */
void sl_plan_preempt(struct sl_plan_run *run, struct sl_plan_lane *lane);
/* The pod already names the node, from a preemption before this planner was there: resumes that
 * preemption if the pod could still preempt there. */
void sl_plan_preempt_resume(struct sl_plan_run *run, struct sl_plan_pod *pod,
                            const struct sl_plan_node *node);
/* The pod is about to change into next: notes when its gate opens, or its node is named. */
void sl_plan_preempt_note(struct sl_planner *planner, struct sl_plan_pod *pod,
                          const struct sl_pod *next);
/* Gives the lane's preemptor up when its time is over; stops waiting for its node to be named when
 * that takes too long. */
void sl_plan_preempt_expire(struct sl_planner *planner, struct sl_plan_lane *lane);
int64_t sl_plan_preempt_wake(const struct sl_planner *planner, const struct sl_plan_lane *lane);

/* ---- named.c ---- */

/* Must the pod wait for its turn among pods that may not take a nomination? */
bool sl_plan_is_to_pause(const struct sl_planner *planner, const struct sl_plan_pod *pod);
void sl_plan_nominate_named(struct sl_plan_run *run);
void sl_plan_nominate_made_room(struct sl_plan_run *run);

/* ---- walk.c, release.c ---- */

void sl_plan_walk(struct sl_plan_run *run);
void sl_plan_release(struct sl_plan_run *run);

#endif
