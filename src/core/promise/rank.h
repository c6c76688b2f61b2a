/* Waiting pods of one priority, in order of submission, with a tree that answers in O(log n)
 * whether one more pod in front makes any of them late. */
#ifndef SLICED_CORE_PROMISE_RANK_H
#define SLICED_CORE_PROMISE_RANK_H

#include "core/forecast/supply.h"
#include "core/promise/member.h"

enum { SL_PROMISE_RANKS = 16 };

struct sl_promise;

/* Node i has the children 2i and 2i + 1; slot s is leaf size + s. */
struct sl_promise_rank_node {
    sl_work work;  /* sum */
    sl_work slack; /* the least of (divisor * submission - work ahead within the node) */
    int64_t units; /* sum */
};

struct sl_promise_rank {
    struct sl_promise_member **slot; /* NULL: removed */
    struct sl_promise_rank_node *tree;
    size_t first;       /* all slots before it are empty */
    size_t used;        /* all slots from here on are empty */
    size_t size;        /* a power of two, or 0 */
    size_t n;           /* waiting pods */
    int64_t longest_us; /* W */
    int64_t settled_us; /* the part of W that no later event can change */
    int32_t priority;
};

/* Returns the index of the priority's rank, making it when absent. */
uint8_t sl_promise_rank_of(struct sl_promise *promise, int32_t priority);
/* -1 when out of memory. */
int sl_promise_rank_insert(struct sl_promise *promise, struct sl_promise_member *member);
void sl_promise_rank_remove(struct sl_promise *promise, struct sl_promise_member *member);
/* Brings all trees up to date with estimates and capacity. */
void sl_promise_rank_refresh(struct sl_promise *promise);
void sl_promise_rank_free(struct sl_promise_rank *rank);
/* Returns the least of (divisor * submission - work ahead) over the rank without that member, with
 * `ahead` more work in front of all; a value above any other when no other pod waits. */
sl_work sl_promise_rank_slack(const struct sl_promise_rank *rank,
                              const struct sl_promise_member *without, sl_work ahead);
/* Returns the units of the members up to and including that one. */
int64_t sl_promise_rank_units_to(const struct sl_promise_rank *rank,
                                 const struct sl_promise_member *member);

#endif
