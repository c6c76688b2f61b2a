/* The lowest layer: pods, classes, asks, lanes, queues, namespaces, offers, and each pod's state.
 * Knows nodes by their index only. */
#ifndef SLICED_CORE_PLAN_STATE_STATE_H
#define SLICED_CORE_PLAN_STATE_STATE_H

#include "core/plan/state/run.h"
#include "core/tenant/tenant.h"
#include "util/data/sat.h"
#include "util/data/vec.h"
#include "util/time.h"

enum { SL_PLAN_NODE_NAME_MAX = 254 }; /* with NUL */

static inline int64_t sl_plan_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t sl_plan_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Has the order set pods aside, until a node has more room? */
static inline bool sl_plan_any_aside(const struct sl_planner *planner)
{
    return planner->account.n_aside > 0;
}

/* ---- what has changed since it was last looked at ---- */

/* What changes: sets of these. */
enum {
    SL_PLAN_ROOM = 1 << 0,
    SL_PLAN_NODES = 1 << 1,
    SL_PLAN_KINDS = 1 << 2,
    SL_PLAN_KEPT = 1 << 3,
    SL_PLAN_RUN = 1 << 4, /* a run may do something */
};
static inline void sl_plan_touch(struct sl_planner *planner, unsigned what)
{
    struct sl_plan_seq *seq = &planner->seq;
    seq->room += (what & SL_PLAN_ROOM) != 0;
    seq->nodes += (what & SL_PLAN_NODES) != 0;
    seq->kinds += (what & SL_PLAN_KINDS) != 0;
    seq->kept += (what & SL_PLAN_KEPT) != 0;
    seq->run = seq->run || (what & SL_PLAN_RUN) != 0;
}
/* May a run do something? From now on only what changes later counts. */
static inline bool sl_plan_untouch(struct sl_planner *planner)
{
    bool touched = planner->seq.run;
    planner->seq.run = false;
    return touched;
}

/* ---- sort.c ---- */

/* Sorts n pods; scratch has room for as many. Few steps where they are nearly in order. */
void sl_plan_sort(struct sl_plan_pod **pods, struct sl_plan_pod **scratch, size_t n,
                  int (*compare)(const void *context, const struct sl_plan_pod *a,
                                 const struct sl_plan_pod *b),
                  const void *context);

/* ---- pod.c ---- */

void sl_plan_advance(struct sl_planner *planner, int64_t now_us); /* time never goes back */
struct sl_plan_pod *sl_plan_find(const struct sl_planner *planner, struct sl_str uid);
int64_t sl_plan_timeout(const struct sl_planner *planner, const struct sl_pod *pod);
/* opened_us: as struct sl_plan_pod has it. */
struct sl_order_item sl_plan_item_of(const struct sl_planner *planner, const struct sl_pod *pod,
                                     int64_t opened_us);
/* The digit's value; -1: it is none of 0 to 9 and a to f. */
int sl_plan_hex(char c);
/* The leading 64 bits of a UID, or a hash of one that is not hexadecimal. A restart keeps both. */
uint64_t sl_plan_number_of(const char *uid);
void sl_plan_pod_free(struct sl_planner *planner, struct sl_plan_pod *pod);

/* May the pod well not take a nomination? Then no pod waits and nothing idles for it, and such pods
 * of a lane try one at a time. */
static inline bool sl_plan_may_not_come(const struct sl_plan_pod *pod)
{
    return pod->strikes > 0 || pod->space->refusals == SL_PLAN_REFUSALS_MAX;
}

static inline struct sl_plan_lane *sl_plan_lane_of(const struct sl_plan_pod *pod)
{
    return pod->class == NULL ? NULL : pod->class->ask->lane[0];
}

/* The turn for which a pod that may not take a nomination waits. */
static inline struct sl_plan_retry *sl_plan_retry_of(const struct sl_plan_pod *pod)
{
    return &sl_plan_lane_of(pod)
                ->retry[pod->strikes > 0 ? SL_PLAN_RETRY_EXPIRED : SL_PLAN_RETRY_DOUBTED];
}

/* The turn that the pod's nomination uses; NULL: none, as for most pods. */
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

/* ---- usual.c ---- */

/* Remembers how long a pod ran that has just ended. */
void sl_plan_note_run(struct sl_planner *planner, const struct sl_pod *pod);
/* Is that asked for, and has any pod ended? */
bool sl_plan_learns(const struct sl_planner *planner);
/* How long pods of its owner have run, at most its timeout; 0: nothing is usual. */
int64_t sl_plan_usual(const struct sl_planner *planner, const struct sl_pod *pod);

/* ---- offer.c ---- */

/* Records that this node offers its resources. */
void sl_plan_offer_add(struct sl_planner *planner, const struct sl_node *node);
/* Forgets what nodes offered before they changed, of sl_plan_offer_now() alone: all are to be added
 * anew. */
void sl_plan_offer_renew(struct sl_planner *planner);
void sl_plan_offer_reset(struct sl_planner *planner);
/* The most units on one node, out of service or not, of nodes added since the last reset; 0: no
 * node offers it. */
int64_t sl_plan_offer_most(const struct sl_planner *planner, uint64_t key);
/* The most units that one node offers now, or could be cut into. */
int64_t sl_plan_offer_now(const struct sl_planner *planner, uint64_t key);
bool sl_plan_offers(const struct sl_planner *planner, uint64_t key);
/* Does a node offer a new resource, that asks have not met yet? */
bool sl_plan_offers_fresh(const struct sl_planner *planner);
void sl_plan_offers_met(struct sl_planner *planner);

/* ---- lane.c ---- */

struct sl_plan_lane *sl_plan_nowhere_new(void);
struct sl_plan_lane *sl_plan_lane_find(const struct sl_planner *planner, uint64_t key);
/* Returns a new reference to the lane, which it makes if need be; NULL: out of memory. */
struct sl_plan_lane *sl_plan_lane_get(struct sl_planner *planner, const struct sl_ask_item *item);
/* Frees lanes that no pod needs any more. */
void sl_plan_lane_tidy(struct sl_planner *planner);
void sl_plan_reserve_end(struct sl_planner *planner, struct sl_plan_lane *lane);
/* Gives up on the lane's preemptor: others may have what was kept for it. */
void sl_plan_preempt_end(struct sl_planner *planner, struct sl_plan_lane *lane);
/* Are the units of each resource of the ask free on some node, perhaps different ones? */
bool sl_plan_has_room(const struct sl_plan_ask *ask);
/* Why the pod waits, by the last run. */
enum sl_hold_reason sl_plan_reason(const struct sl_planner *planner, const struct sl_plan_pod *pod);

/* ---- class.c ---- */

struct sl_plan_ask *sl_plan_ask_first(const struct sl_planner *planner);
/* Are the asks not those of the last call? */
bool sl_plan_asks_changed(struct sl_planner *planner);
/* Returns a new reference to the pod's class, which it makes if need be. NULL: out of memory. */
struct sl_plan_class *sl_plan_class_get(struct sl_planner *planner, struct sl_pod *pod);
void sl_plan_class_unref(struct sl_planner *planner, struct sl_plan_class *class);
bool sl_plan_class_is_of(const struct sl_plan_class *class, const struct sl_pod *pod);
/* Moves the ask to the lanes of offered resources; its pods must be in no queue. False: out of
 * memory, nothing changed. */
bool sl_plan_ask_move(struct sl_planner *planner, struct sl_plan_ask *ask);

/* ---- space.c ---- */

/* A reference; NULL: out of memory. */
struct sl_plan_space *sl_plan_space_get(struct sl_planner *planner, const char *name);
/* Finds the tenants of all namespaces anew; no pod is in a queue or capped. */
void sl_plan_spaces_renew(struct sl_planner *planner);
/* Has the tenant (may be NULL) as many pods in queues as it may have? */
static inline bool sl_plan_is_full(const struct sl_tenant *tenant)
{
    return tenant != NULL && tenant->share->max_waiting > 0 &&
           tenant->waiting >= (size_t)tenant->share->max_waiting;
}
void sl_plan_space_unref(struct sl_planner *planner, struct sl_plan_space *space);
/* The API server refused to release a pod of the namespace. */
void sl_plan_note_refusal(struct sl_planner *planner, struct sl_plan_space *space);
/* It released one. */
void sl_plan_note_release(struct sl_planner *planner, struct sl_plan_space *space);

/* ---- queue.c ---- */

int sl_plan_compare(const struct sl_planner *planner, const struct sl_plan_pod *a,
                    const struct sl_plan_pod *b);
/* Where the pod stands in the queue, or would. */
uint32_t sl_plan_queue_place(const struct sl_planner *planner, const struct sl_plan_lane *lane,
                             const struct sl_plan_pod *pod);
void sl_plan_queue_add(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_queue_remove(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Sorts all queues for now_us if the order depends on time. False: out of memory. */
bool sl_plan_queue_order(struct sl_planner *planner, int64_t now_us);

/* ---- rule.c ---- */

/* The strictest limit that the pod is over; NULL: none. */
const struct sl_plan_limit *sl_plan_limit_of(const struct sl_planner *planner,
                                             const struct sl_plan_pod *pod);
/* Headroom that the pod could not leave even if all units were free; units 0: none is known. */
struct sl_queue_over sl_plan_over_headroom(const struct sl_planner *planner,
                                           const struct sl_plan_pod *pod);

/* ---- settle.c ---- */

/* Brings the pod's state, list, queue and account in line with all that is known of it: to be
 * called when any of that has changed. Never fails. */
void sl_plan_settle(struct sl_planner *planner, struct sl_plan_pod *pod);
void sl_plan_settle_all(struct sl_planner *planner);
/* Their tenants, who change, count the pods that caps hold. */
void sl_plan_count_capped(struct sl_planner *planner, bool counts);
/* The first of the pods that are nominated (by time), rest or are refused; NULL: none. */
struct sl_plan_pod *sl_plan_pod_first(const struct sl_planner *planner, enum sl_plan_stand stand);
/* Queues pods that their tenants' caps held, as far as there are fewer others now. */
void sl_plan_uncap(struct sl_planner *planner);
/* Takes the pod out of its lane, and out of the order's account. */
void sl_plan_depart(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Takes the pod out of the list that it is in, to be settled anew. */
void sl_plan_take_out(struct sl_planner *planner, struct sl_plan_pod *pod);
/* Takes the pods of moving asks, or all, out of the lane's queue; all are to be settled. */
void sl_plan_empty(struct sl_planner *planner, struct sl_plan_lane *lane, bool all);
/* A run has told that the pod is refused. */
void sl_plan_told(struct sl_planner *planner, struct sl_plan_pod *pod);

/* ---- relane.c ---- */

/* Moves pods to lanes of newly offered resources. False: out of memory, to be called again. */
bool sl_plan_relane(struct sl_planner *planner);

#endif
