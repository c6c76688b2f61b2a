/* What the engine alone tells the planner, and has it do. All others go through sliced/engine.h. */
#ifndef SLICED_CORE_PLAN_CALLS_H
#define SLICED_CORE_PLAN_CALLS_H

#include "sliced/plan.h"

enum sl_plan_action_kind {
    SL_PLAN_NOMINATE, /* set node and assignment aside, nominate, open the gate */
    SL_PLAN_RELEASE,  /* open the gate without a nomination (preemption, autoscaler) */
    SL_PLAN_EXPIRE,   /* withdraw the nomination; reason says why */
    SL_PLAN_REFUSE,   /* tell the owner that the pod never starts; reason says why */
};

struct sl_plan_action {
    enum sl_plan_action_kind kind;
    const struct sl_pod *pod;
    const char *node;           /* NOMINATE, EXPIRE */
    const char *assignment;     /* NOMINATE, EXPIRE: text as in the annotation */
    enum sl_hold_reason reason; /* REFUSE: why. EXPIRE: SL_HOLD_EXPIRED when the pod did not take it
                                   in time, SL_HOLD_NO_ROOM when its node lost the room */
    int64_t due_us;             /* NOMINATE: since when it was due; 0: it was not */
    bool backfilled;            /* NOMINATE: ahead of a pod that has a reserved start */
};

/* Copies the configuration. NULL: out of memory, or a value is out of range (SL_ERR_FIELD). */
struct sl_planner *sl_planner_new(const struct sl_plan_config *config, struct sl_error *err);
void sl_planner_free(struct sl_planner *planner); /* NULL is allowed */
/* -1: a value is out of range; nothing has changed. */
int sl_planner_configure(struct sl_planner *planner, const struct sl_plan_config *config,
                         struct sl_error *err);

/* Adds or updates a waiting pod; the planner takes its own reference. A change ends the pod's
 * time-out after an expiry, once within hold_max_us. A pod without our gate that carries a
 * nomination (pod->nominated) was released before a restart: it is nominated to that node before
 * other pods, when it fits. -1: out of memory, or no UID. */
int sl_planner_put(struct sl_planner *planner, struct sl_pod *pod, int64_t now_us,
                   struct sl_error *err);

/* Removes a pod which waits no more: bound, ended or gone. Ignores unknown UIDs. */
void sl_planner_remove(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* Sets a pod's stage: SL_HOLD_NONE (it may go), STAGE, STAGE_FAILED or STAGE_CYCLE, and why, in
 * words for its owner (copied; may be NULL). A pod with the annotation sliced.dev/after is STAGE
 * until this call says otherwise, and again when the annotation changes. */
void sl_planner_set_stage(struct sl_planner *planner, struct sl_str uid, enum sl_hold_reason stage,
                          const char *why, int64_t now_us);

/* Tells that a node's GPUs are being cut for the pod, which can start at start_us; text says so to
 * its owner. node and text are copied; text NULL: none is, any more. While the pod lacks room its
 * row is SL_HOLD_CUT. */
void sl_planner_set_cut(struct sl_planner *planner, struct sl_str uid, const char *node,
                        const char *text, int64_t start_us);

/* Drains a node for the pod: until until_us (0: no longer) its units of the resources key[0..n) are
 * kept from pods behind that pod which would end later than that; n 0: of those of the node's
 * earlier drain, which this one replaces. Once the pod has been patient (sl_cut_is_patient), also
 * from pods that came after it and are ahead or due, but of no higher priority. The drain also ends
 * with the pod's wait. Ignores unknown nodes and pods, and keys beyond SL_NODE_POOLS_MAX. */
void sl_planner_drain(struct sl_planner *planner, struct sl_str node, struct sl_str uid,
                      int64_t until_us, const uint64_t *key, size_t n);

/* Says to the owner of the pod for which the node drains what has to end first, until the drain
 * ends. text is copied. Ignores nodes that do not drain. */
void sl_planner_set_drain_text(struct sl_planner *planner, const char *node, const char *text);

/* Sets the cluster: views in order of node name, borrowed until the next call has returned or the
 * planner is freed. An unchanged pointer costs one comparison. A nominated pod may already be a
 * resident of its view; the UID tells, and it counts once. -1: out of memory; the planner then has
 * no cluster, and plans nothing until a call succeeds. */
int sl_planner_cluster(struct sl_planner *planner, const struct sl_view *const *view, size_t n,
                       int64_t now_us, struct sl_error *err);

/* Plans, and calls act for each action, with at most max_nominations nominations. A nomination
 * stands until its pod is removed, it is reported as failed, or it expires. demand may be NULL. -1:
 * out of memory; the actions reported so far stand, and the next call goes on. */
int sl_planner_run(struct sl_planner *planner, const struct sl_demand *demand,
                   size_t max_nominations, int64_t now_us,
                   void (*act)(void *context, const struct sl_plan_action *action), void *context,
                   struct sl_error *err);

/* Withdraws a nomination that could not be carried out, because the node has changed or refused the
 * pod. The pod may get another at once, but on that node only after the node changes. When the
 * second fails too, the pod waits as after an expiry. */
void sl_planner_failed(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* Tells that the API server refused to release the pod, on any node. Its nomination, or its release
 * without one, expires at once, without a call of act. After several refusals in a row the pods of
 * its namespace try one at a time, as after an expiry, until sl_planner_released reports one of
 * them. */
void sl_planner_denied(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* Tells that the API server released the pod. */
void sl_planner_released(struct sl_planner *planner, struct sl_str uid, int64_t now_us);

/* Tells that the clock was put by by_us and shows now_us. Holds, time-outs and silence end as much
 * later, no pod loses its turn, and no wait grows. In all other calls time never goes back: an
 * earlier now_us counts as the latest. O(all pods). */
void sl_planner_rebase(struct sl_planner *planner, int64_t by_us, int64_t now_us);

/* Returns when to run again although nothing changes; INT64_MAX: never. */
int64_t sl_planner_wake(const struct sl_planner *planner);

/* Checks that all parts of the planner agree (util/check.h). O(pods + lanes (nodes +
 * asks)): for tests. */
void sl_planner_audit(const struct sl_planner *planner);

/* Returns when the pod was nominated; 0: it has no nomination. */
int64_t sl_planner_nominated_at(const struct sl_planner *planner, struct sl_str uid);
/* Does a pod of another namespace wait? */
bool sl_planner_waits_beside(const struct sl_planner *planner, const char *namespace);

#endif
