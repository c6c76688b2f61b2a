/* Bounded shortest job first. A shorter pod may overtake as long as every other waiting pod can
 * still start by its latest start. The comment at the end tells how a lane decides that, with the
 * proof and the measurements.
 *
 * One struct sl_promise is one lane: one resource, its units, and the pods that ask for it. The
 * caller reports what happens (arrive, start, end, withdraw, set_capacity, set_nodes) and asks
 * which pod may go; the caller itself checks whether that pod fits on a node. Pure and
 * deterministic; not thread safe. Times are microseconds since the epoch. Time never goes back: a
 * `now` before the last one counts as the last one. */
#ifndef SLICED_PROMISE_H
#define SLICED_PROMISE_H

#include "sliced/promise_pod.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_promise;

enum {
    SL_PROMISE_C_MIN = 1000,     /* 1.0: no pod waits longer than the longest under FIFO */
    SL_PROMISE_C_MAX = 100000,   /* 100 */
    SL_PROMISE_C_DEFAULT = 1150, /* 1.15 */
    SL_PROMISE_PODS_DEFAULT = 131072,
};

enum { SL_PROMISE_SITES = 64 };

/* 203 days: the sum over all pods of a lane fits in 64 bits. */
#define SL_PROMISE_TIMEOUT_MAX_US (INT64_C(1) << 44)

struct sl_promise_config {
    int32_t c_permille; /* c in thousandths, SL_PROMISE_C_MIN..SL_PROMISE_C_MAX: a pod may wait c
                           times FIFO's longest wait */
    uint32_t pods_max;  /* pods known at a time, waiting and running. The virtual FIFO remembers up
                           to four times as many. */
};

void sl_promise_defaults(struct sl_promise_config *config);

/* Returns a lane without units, NULL when out of memory. */
struct sl_promise *sl_promise_new(const struct sl_promise_config *config);
void sl_promise_free(struct sl_promise *promise); /* NULL is allowed */

/* ---- what happens ---- */

/* Sets the lane's units, in use or not; 0 or more. -1: out of memory, nothing changed. */
int sl_promise_set_capacity(struct sl_promise *promise, int64_t units, int64_t now_us,
                            struct sl_error *err);

/* A node's units. When no pod can have units of two devices, each device has its own entry. */
struct sl_promise_node {
    uint64_t key; /* the same for all devices of a node */
    int64_t units;
    uint8_t site; /* below SL_PROMISE_SITES: nodes of one site admit the same pods */
};

/* Has a mixed lane ask which sites admit a waiting pod: bit i stands for site i. Until then all
 * do. */
void sl_promise_ask_sites(struct sl_promise *promise, uint64_t (*sites)(void *context, uint64_t id),
                          void *context);

/* Sets the lane's nodes; the sum of their units becomes its capacity. Without nodes the lane only
 * counts units. -1: out of memory. */
int sl_promise_set_nodes(struct sl_promise *promise, const struct sl_promise_node *node, size_t n,
                         int64_t now_us, struct sl_error *err);

/* Tells that nodes are chosen so that free units stay together for pods of several, as the score's
 * default weights for whole GPUs do; else the fullest node is chosen. Forecasts choose alike. */
void sl_promise_keep_sets(struct sl_promise *promise, bool keep);

/* Adds a waiting pod. -1: out of memory, pods_max reached, a width of 0, or a known id. */
int sl_promise_arrive(struct sl_promise *promise, const struct sl_promise_pod *pod, int64_t now_us,
                      struct sl_error *err);

/* Adds a pod running since started_us that never waited in this lane: others started it, or the
 * daemon before a restart. Observes its wait as sl_promise_observe(). -1 as for arrive. */
int sl_promise_adopt(struct sl_promise *promise, const struct sl_promise_pod *pod,
                     int64_t started_us, int64_t now_us, struct sl_error *err);

/* Gives a waiting pod its units; a nomination counts as a start. -1: no such pod waits. */
int sl_promise_start(struct sl_promise *promise, uint64_t id, int64_t now_us, struct sl_error *err);
/* Tells the node of a running pod. Does nothing when no such pod runs. */
void sl_promise_place(struct sl_promise *promise, uint64_t id, uint64_t node);
/* Undoes the start of a pod which did not use its units: it waits again, as if it had never
 * started. -1: no such pod runs. */
int sl_promise_unstart(struct sl_promise *promise, uint64_t id, int64_t now_us,
                       struct sl_error *err);
/* Ends a running pod: its units become free, and its id may be used again. -1: no such pod runs. */
int sl_promise_end(struct sl_promise *promise, uint64_t id, int64_t now_us, struct sl_error *err);
/* Removes a waiting pod which is gone, or which waits for something other than units. It may arrive
 * again. -1: no such pod waits. */
int sl_promise_withdraw(struct sl_promise *promise, uint64_t id, int64_t now_us,
                        struct sl_error *err);

/* Tells that a pod of that priority waited for wait_us outside of this lane, or before it was made.
 * As the order may have stretched that wait by up to c, W becomes wait_us / c at least. */
void sl_promise_observe(struct sl_promise *promise, int32_t priority, int64_t wait_us);

/* ---- who may go ---- */

/* True when this waiting pod may start now, before all others, because then
 *   - every other waiting pod of its priority still starts by its latest start, or no later than
 *     without it;
 *   - no pod of higher priority starts later than without it.
 * Always admits the pod that is due, but in a mixed lane only where it has room. False when no such
 * pod waits. */
bool sl_promise_admits(struct sl_promise *promise, uint64_t id, int64_t now_us);

/* The same for a start on that node. A mixed lane admits a pod whose reserved start has come on its
 * node. Where it does not matter on which node units are free, as sl_promise_admits(). */
bool sl_promise_admits_on(struct sl_promise *promise, uint64_t id, uint64_t node, int64_t now_us);

/* Counts the steps that the answers of a mixed lane have taken so far: looks at nodes. */
size_t sl_promise_steps(const struct sl_promise *promise);

/* True when the pod should start now: in a mixed lane its reserved start has come, else it is the
 * one that sl_promise_due() finds. False when no such pod waits. */
bool sl_promise_is_due(struct sl_promise *promise, uint64_t id, int64_t now_us);

/* True when the pod's reserved start in a mixed lane has come, on that node. */
bool sl_promise_is_due_on(struct sl_promise *promise, uint64_t id, uint64_t node, int64_t now_us);

/* Free units of a node that nobody is given before until_us. */
struct sl_promise_idle {
    uint64_t node;
    int64_t units;
    int64_t until_us;
};

/* True when every waiting pod still starts by its latest start, or no later than otherwise, though
 * these units idle. False too when that would take too long to work out. */
bool sl_promise_spares(struct sl_promise *promise, const struct sl_promise_idle *idle, size_t n,
                       int64_t now_us);

/* Finds the pod that is due, which goes next when no other is admitted: the first by priority, then
 * submission, then id. Units are kept free for it until it fits; in a mixed lane its reserved start
 * does that. False when no pod waits. */
bool sl_promise_due(const struct sl_promise *promise, uint64_t *id);

/* True when the lane is mixed: its nodes are known, and its pods differ in width or have one width
 * that does not divide all nodes. Then it matters on which nodes units are free. A lane stays
 * mixed. */
bool sl_promise_is_mixed(const struct sl_promise *promise);

/* ---- what is known ---- */

/* Returns the time by which the pod is promised to start, submission + c*W. It moves when W grows.
 * 0 when no such pod waits. */
int64_t sl_promise_latest_start(struct sl_promise *promise, uint64_t id, int64_t now_us);

/* Returns when answers may change without an event, because a running pod reaches its timeout or
 * outlives the time for which it was expected to be overdue. INT64_MAX: never, as of the last
 * answer. */
int64_t sl_promise_due_us(const struct sl_promise *promise);

/* Returns W of a priority, the longest wait that the virtual FIFO has shown for it so far. */
int64_t sl_promise_longest_us(struct sl_promise *promise, int32_t priority, int64_t now_us);

/* Returns the share of their timeouts that pods run, learned from pods that ended: in thousandths,
 * 1000 when timeouts are exact. */
int32_t sl_promise_ratio_permille(const struct sl_promise *promise);

uint32_t sl_promise_waiting(const struct sl_promise *promise); /* pods */
uint32_t sl_promise_running(const struct sl_promise *promise);

/* HOW TO ASK. Go through the waiting pods, the highest priority first, then the shortest. Start
 * each one that is admitted and fits. When no other may go, start the one that is due, or keep
 * units free until it fits. In a mixed lane start each pod on a node that has room and admits it
 * (sl_promise_admits_on()), and tell that node (sl_promise_place()); withdraw a pod that is due
 * (sl_promise_is_due()) and may not use its node for another reason. Asked so, a lane idles only
 * where a start would delay another pod that waits, or the end of the lane.
 *
 * HOW IT DECIDES. Beside the real lane runs a virtual strict FIFO of the same pods: by priority,
 * then submission; no pod overtakes one whose units are not free yet. W, for each priority, is the
 * longest wait that this FIFO has shown, including the waits that it foresees for pods that have
 * arrived. Every pod is to start by submission + c*W. As c*W is the same for all, latest starts
 * come in the order of submission. So one layout decides whether a pod may overtake: the running
 * pods, that pod, then all others as strict FIFO. The layout must keep every latest start, and must
 * end close to the virtual FIFO's end, for the sake of pods to come. A tree over the waiting pods
 * answers the clear cases in O(log n). A layout costs O(n log n). The number of pods laid out at
 * one time is bounded; beyond it the answer is no, and the pod that is due goes.
 *
 * PROVED for a lane that is not mixed, with pods of one priority and any widths which run as long
 * as they state: no pod waits longer than (c + 1/2) * W, where W is the longest wait of the same
 * pods under strict FIFO.
 *
 *     Take the free times as a sorted vector, one entry for each unit. A strict FIFO start is
 *     max(last start, arrival, w-th entry). It grows with the vector, and shifts as the vector
 *     shifts. So two layouts of the same pods whose vectors differ by at most L differ by at most L
 *     in every start.
 *     (1) The check keeps each laid-out start within max(submission + c*W, the start before), and
 *     neither time nor early ends make one later. So a pod starts by its latest start or by the
 *     start that it was laid out for when it came.
 *     (2) The check keeps vector and last start of the layout within L <= (c - 1)*W + W/2 of the
 *     virtual FIFO's, and an arrival appends the same pod to both. So when a pod comes, it is laid
 *     out for at most its virtual start + L, which is at most submission + W + L.
 *
 * MEASURED for c = 1.15 (test/bench/bench_bounded.c): at most c*W in each of 10,000 random
 * workloads. Where W is small against the run times, L is only (c - 1)*W, and c*W is proved.
 *
 * OVERDUE PODS are expected to run on for as long as they are overdue, 1 s at least.
 *
 * TIMEOUTS THAT OVERSTATE. Layouts and W then use the share of the timeout that pods of about that
 * timeout usually run. W is discounted and every pod gets some room, both by the error of the
 * estimates. The promise is soft then: at most (c + 3)*W as estimated.
 *
 * A MIXED LANE is played on its nodes instead. Its virtual FIFO lets pods backfill by EASY (Lifka,
 * 1995): the first pod that fits nowhere has a reserved start where it fits first, and those behind
 * it start where they do not delay it. Latest starts use 7/8 of what c allows beyond W. The first
 * 64 waiting pods in line each have a reserved start, a node and a time, in a calendar of free
 * units (conservative backfill: Mu'alem and Feitelson, 2001). After each event a layout keeps every
 * reserved start that still fits, gives pods that come the earliest start that disturbs nobody, and
 * moves pods up where room appeared. A pod may start on a node now
 *   - if each pod whose reserved start gives way gets another, no later than the one before or than
 *     its latest start; a pod of lower priority may get a later one, one of higher may not; and
 *   - if a pod as wide as any that came last could still start when it could without, or close to
 *     when it could in the virtual FIFO.
 * If giving way one by one does not do, all reserved starts of that priority and below are laid out
 * anew behind the pod. Credit pays for that, and for bringing W up to date: each event adds 64
 * steps, and 256 steps at a time need none. Without credit W is older, and the answer is no.
 *
 * PROVED for a mixed lane, with pods of one priority which come in the order of submission and run
 * as long as they state, on nodes that stay and can give any pod the units that the calendar shows:
 * no pod starts both after its latest start, as the greatest W so far sets it, and after the start
 * that was reserved for it first.
 *
 *     Running pods end when the calendar says. A pod that comes is last in line, so a layout gives
 *     it only room that no reserved start uses, and each reserved start before it still fits.
 *     Moving up changes a start only to an earlier one. Giving way changes it to an earlier one, or
 *     to one that is not after the latest start. So from the first reserved start on, the pod's
 *     start is at most the greater of the two, and it may start when that time comes.
 *
 * How late the first reserved start of a pod to come can be is not proved: the second condition
 * only keeps room for one such pod. test/unit/core/promise/test_reserved.c checks the proof on 60
 * random games of 300 pods. Against a FIFO that breaks ties between nodes otherwise, c may fail:
 * FIFO with EASY backfill is chaotic, and W follows the virtual one. evidence/README.md measures.
 *
 * PRIORITIES. A lower one never delays a higher one. The promise holds among equals, as far as the
 * higher ones leave room. A lane tells 16 priorities apart; further ones count as the next lower.
 */

#endif
