/* Bounded shortest job first: a shorter pod may overtake as long as every other waiting pod can
 * still start by its latest start. What it promises and why is in the comment at the end.
 *
 * One struct sl_bound is one lane: the pods that ask for one resource, and its units. It is told
 * what happens (arrive, start, end, withdraw, set_capacity) and answers who may go. It does not
 * know nodes: whether the pod fits somewhere is the caller's to find out. Pure and deterministic;
 * not thread safe. Times are microseconds since the epoch; `now` never goes back (an earlier one is
 * taken for the last). */
#ifndef SLICED_BOUND_H
#define SLICED_BOUND_H

#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_bound;

enum {
    SL_BOUND_C_MIN = 1000,     /* 1.0: FIFO's longest wait */
    SL_BOUND_C_MAX = 100000,   /* 100 */
    SL_BOUND_C_DEFAULT = 1150, /* 1.15 */
    SL_BOUND_PODS_DEFAULT = 131072,
};

/* 203 days: the sum over all pods of a lane fits in 64 bits. */
#define SL_BOUND_TIMEOUT_MAX_US (INT64_C(1) << 44)

struct sl_bound_config {
    int32_t c_permille; /* SL_BOUND_C_MIN..SL_BOUND_C_MAX: how much longer than FIFO's longest */
    uint32_t pods_max;  /* pods known at a time, waiting and running; the virtual FIFO remembers
                           four times as many at most */
};

void sl_bound_defaults(struct sl_bound_config *config);

struct sl_bound_pod {
    /* The caller's number, of no other pod of the lane. Of two pods of one priority and submission
     * the smaller id is first: the leading 64 bits of the UID make that the same after a restart.
     */
    uint64_t id;
    int64_t width;      /* units asked, > 0 */
    int64_t submit_us;  /* since when it could start: created, or its gate or stage open */
    int64_t timeout_us; /* the longest it can run, > 0 (0 and less are taken for 1 s, and more than
                           SL_BOUND_TIMEOUT_MAX_US for that) */
    int32_t priority;
};

/* NULL when out of memory. No capacity yet. */
struct sl_bound *sl_bound_new(const struct sl_bound_config *config);
void sl_bound_free(struct sl_bound *bound); /* NULL is allowed */

/* Units of the lane, in use or not; 0 or more. -1 when out of memory (nothing changed). */
int sl_bound_set_capacity(struct sl_bound *bound, int64_t units, int64_t now_us,
                          struct sl_error *err);

/* A node's units; where a pod cannot have units of two of its devices, each device's. */
struct sl_bound_node {
    uint64_t key; /* the same for all devices of a node */
    int64_t units;
};

/* The lane's nodes, and with them its capacity. Told, wide pods are reckoned with where free units
 * lie apart. -1 when out of memory. */
int sl_bound_set_nodes(struct sl_bound *bound, const struct sl_bound_node *node, size_t n,
                       int64_t now_us, struct sl_error *err);

/* A pod waits. -1: out of memory, pods_max reached, a width of 0, or the id is known. */
int sl_bound_arrive(struct sl_bound *bound, const struct sl_bound_pod *pod, int64_t now_us,
                    struct sl_error *err);

/* A pod that this object never saw waiting runs since started_us: after a restart of the daemon, or
 * started by others. Its wait counts as seen: see sl_bound_observe(). -1 as sl_bound_arrive(). */
int sl_bound_adopt(struct sl_bound *bound, const struct sl_bound_pod *pod, int64_t started_us,
                   int64_t now_us, struct sl_error *err);

/* A waiting pod was given its units (a claim counts). -1: no such pod waits. */
int sl_bound_start(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err);
/* The node that a running pod is on. Unknown ids are no harm. */
void sl_bound_place(struct sl_bound *bound, uint64_t id, uint64_t node);
/* It did not come for them: it waits again, as if never started. -1: no such pod runs. */
int sl_bound_unstart(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err);
/* A running pod ended; its units are free. The id may be used again. -1: no such pod runs. */
int sl_bound_end(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err);
/* A waiting pod is gone, or set aside because something else holds it (arrive again when that
 * changes). -1: no such pod waits. */
int sl_bound_withdraw(struct sl_bound *bound, uint64_t id, int64_t now_us, struct sl_error *err);

/* May this waiting pod go now, before all others that wait? True when, with it started, every other
 * waiting pod of its priority still starts by its latest start and none of higher priority starts
 * later than without it (laid out in the order of due()); who is late already is not made later.
 * The first in that order is always admitted. False when no such pod waits. */
bool sl_bound_admits(struct sl_bound *bound, uint64_t id, int64_t now_us);
/* In a lane that is mixed (below): would it, on that node, make another late? False where that has
 * not been worked out. */
bool sl_bound_delays(struct sl_bound *bound, uint64_t id, uint64_t node, int64_t now_us);

/* The pod that must go next when no other is admitted: the first by priority, then submission, then
 * id. Where it does not fit yet, its units are to be left free for it. False when nobody waits. */
bool sl_bound_due(const struct sl_bound *bound, uint64_t *id);

/* Does the lane know its nodes, and has it seen several widths? */
bool sl_bound_is_mixed(const struct sl_bound *bound);

/* In such a lane, after a refusal: those ahead of the refused one, in order, that have less to
 * spare than it would take. They are to be tried first; the first of them that does not fit has the
 * reservation; then the refused one may go where it does not delay that. Writes max ids at most;
 * returns how many. */
size_t sl_bound_urgent(const struct sl_bound *bound, uint64_t refused, uint64_t *ids, size_t max);

/* submit + c*W with the W of now: what the pod is promised at present; a growing W moves it. 0 when
 * no such pod waits. */
int64_t sl_bound_latest_start(struct sl_bound *bound, uint64_t id, int64_t now_us);

/* When answers may change though nothing happens: a running pod is past its timeout by then, or the
 * time is over that one that is past it was given. INT64_MAX: never, as of the last answer. */
int64_t sl_bound_due_us(const struct sl_bound *bound);

/* W of a priority: the longest wait that the virtual FIFO has shown for it so far. */
int64_t sl_bound_longest_us(struct sl_bound *bound, int32_t priority, int64_t now_us);

/* W of a priority starts from wait_us/c at least: a wait seen before this object was there was
 * stretched by up to c itself. */
void sl_bound_observe(struct sl_bound *bound, int32_t priority, int64_t wait_us);

/* How long pods run against what they state, in thousandths: 1000 when timeouts are exact. Learned
 * from those that ended. */
int32_t sl_bound_ratio_permille(const struct sl_bound *bound);

uint32_t sl_bound_waiting(const struct sl_bound *bound); /* pods */
uint32_t sl_bound_running(const struct sl_bound *bound);

/* How it decides. Beside the real lane runs a virtual strict FIFO of the same pods (by priority,
 * then submission; nobody overtakes a pod whose units are not free yet). W, per priority, is the
 * longest wait it shows, for pods that have arrived also of the future. Every waiting pod is to
 * start by its submission + c*W. As c*W is the same for all, the order of latest starts is the
 * order of submission; so a pod may overtake when the strict FIFO layout of the others, behind the
 * running pods and it, keeps everybody's latest start, and when the end of that layout stays close
 * to the virtual FIFO's, for the pods to come. A tree over the waiting pods answers what is clear
 * in O(log n); else the layout is made, O(n log n), for a bounded number of pods at one time. When
 * that is used up the answer is no, and the next in order goes.
 *
 * What is proved, for pods that run as long as they state, in one priority, of any widths: nobody
 * waits longer than (c + 1/2) * W, where W is the longest wait of the same pods under strict FIFO.
 * Sketch: take free times as a sorted vector, one entry a unit. A strict FIFO start is max(last
 * start, arrival, w-th entry), which grows with the vector and moves with it; so a layout of the
 * same pods from a vector no later than another's by more than L starts nobody later by more than
 * L. (1) What overtakes keeps, by the check, every layout start within max(submission + c*W, the
 * start before), and time and early ends move none up: so a pod starts by its latest start or by
 * the start it was laid out for when it came. (2) The check keeps the layout's vector and last
 * start within L <= (c - 1)*W + W/2 of the virtual FIFO's, and arrivals append the same pods to
 * both: so a pod is laid out, when it comes, for at most its virtual start + L, which is submission
 * + W + L. Measured in test/bench/bench_bound.c, c = 1.15: at most c*W in each of 10,000 random
 * workloads. Where W is small against the run times L is only (c - 1)*W, and the bound c*W.
 *
 * A pod that runs though its timeout is over is taken to go on for as long as it is late, 1 s at
 * least.
 *
 * When pods run shorter than they state, layouts and W use what was learned: the usual share of the
 * timeout, by its size. W then gets a discount and every pod some room, both by how far estimates
 * are off; the promise is soft, at most (c + 3)*W as estimated.
 *
 * Several widths on nodes that are known (sl_bound_is_mixed): what is said above of strict FIFO
 * holds there for FIFO with EASY backfill on these nodes (Lifka, 1995): the first that fits nowhere
 * has a reservation where it fits first, those behind start where they do not delay it. Virtually
 * that gives W; a layout of what waits, played the same way, says what everybody has to spare until
 * its latest start, for which 7/8 of what c allows is used. Who runs no longer than all ahead of it
 * can spare goes; else it is tried out in a layout of its own, in which also one more pod, as wide
 * as any, is to start close to where it would in the virtual FIFO. Layouts are made as often as 64
 * steps for each event pay for, in small lanes at each event. Nothing is proved for these: a
 * pod to come may have bad luck that FIFO's would not have, as EASY backfill itself delays all but
 * the first. Measured with slicesim, longest wait against that of FIFO with backfill: Philly's jobs
 * on 64, 96 and 128 GPUs 1.12, 1.12 and 1.13; in the median and the worst of 20 workloads of one
 * and four GPUs on two nodes of four, under overload 1.11 and 1.31 (150 jobs) or 1.12 and 1.15 (200
 * jobs), at load 0.9 1.13 and 1.36; of one to eight GPUs on four nodes of eight 1.21 and 1.86.
 *
 * With several priorities a lower one never delays a higher; the promise holds among equals, as far
 * as higher ones leave room. Past 16 priorities in a lane's life a new one counts as the next
 * lower.
 *
 * How to ask: go through the waiting pods, the highest priority first, then the shortest; start
 * what is admitted and fits; when nobody else may go, start what is due, or leave its units free
 * until it fits. In a mixed lane those of sl_bound_urgent() come first when one is refused. This
 * uses every unit that somebody may use: a pod is refused only when its start would delay another
 * that waits, or the end of the lane. Without nodes it counts units: where free units lie so that a
 * wide pod does not fit on any node, waits are then longer than laid out. */

#endif
