/* Waiting pods of one priority, and the tree over them. */
#include "core/promise/rank.h"

#include <stdlib.h>
#include <string.h>

#include "core/promise/lane.h"

static const sl_work never = (sl_work)1 << 120; /* the slack of an empty rank */

static struct sl_promise_rank_node join_nodes(struct sl_promise_rank_node a,
                                              struct sl_promise_rank_node b)
{
    const sl_work behind = b.slack - a.work;
    return (struct sl_promise_rank_node){a.work + b.work, a.slack < behind ? a.slack : behind,
                                         a.units + b.units};
}

static struct sl_promise_rank_node leaf_for(const struct sl_promise *promise,
                                            const struct sl_promise_member *member)
{
    if (member == NULL || !sl_promise_fits_lane(promise, member->pod.width)) {
        return (struct sl_promise_rank_node){0, never, 0};
    }
    return (struct sl_promise_rank_node){
        (sl_work)member->pod.width * sl_promise_estimate(promise, member),
        (sl_work)promise->divisor * member->pod.submit_us, member->pod.width};
}

static void set_leaf(const struct sl_promise *promise, struct sl_promise_rank *rank, size_t slot)
{
    size_t i = rank->size + slot;
    rank->tree[i] = leaf_for(promise, rank->slot[slot]);
    for (i /= 2; i > 0; i /= 2) {
        rank->tree[i] = join_nodes(rank->tree[2 * i], rank->tree[2 * i + 1]);
    }
}

static void fill_tree(const struct sl_promise *promise, struct sl_promise_rank *rank)
{
    for (size_t i = 0; i < rank->size; i++) {
        rank->tree[rank->size + i] = leaf_for(promise, i < rank->used ? rank->slot[i] : NULL);
    }
    for (size_t i = rank->size; i-- > 1;) {
        rank->tree[i] = join_nodes(rank->tree[2 * i], rank->tree[2 * i + 1]);
    }
}

/* Moves the pods together over empty slots. */
static void squeeze_slots(struct sl_promise_rank *rank)
{
    size_t n = 0;
    for (size_t i = 0; i < rank->used; i++) {
        if (rank->slot[i] != NULL) {
            rank->slot[n] = rank->slot[i];
            rank->slot[n]->place = (uint32_t)n;
            n++;
        }
    }
    rank->first = 0;
    rank->used = n;
}

static int grow_slots(struct sl_promise_rank *rank)
{
    const size_t size = rank->size == 0 ? 16 : rank->size * 2;
    struct sl_promise_member **slot =
        realloc(rank->slot, size * sizeof(struct sl_promise_member *));
    if (slot == NULL) {
        return -1;
    }
    rank->slot = slot;
    struct sl_promise_rank_node *tree = realloc(rank->tree, 2 * size * sizeof(*tree));
    if (tree == NULL) {
        return -1;
    }
    rank->tree = tree;
    rank->size = size;
    return 0;
}

/* Returns the last waiting pod; NULL: none. */
static const struct sl_promise_member *last_waiting(const struct sl_promise_rank *rank)
{
    for (size_t i = rank->used; i-- > 0;) {
        if (rank->slot[i] != NULL) {
            return rank->slot[i];
        }
    }
    return NULL;
}

static void place_in_order(struct sl_promise_rank *rank, struct sl_promise_member *member)
{
    squeeze_slots(rank);
    size_t i = rank->used++;
    while (i > 0 && sl_lane_compare(&member->pod, &rank->slot[i - 1]->pod) < 0) {
        rank->slot[i] = rank->slot[i - 1];
        rank->slot[i]->place = (uint32_t)i;
        i--;
    }
    rank->slot[i] = member;
    member->place = (uint32_t)i;
}

int sl_promise_rank_insert(struct sl_promise *promise, struct sl_promise_member *member)
{
    struct sl_promise_rank *rank = &promise->rank[member->rank];
    bool moved = false;
    if (rank->used == rank->size) {
        if (rank->n * 2 >= rank->size && grow_slots(rank) != 0) {
            return -1;
        }
        squeeze_slots(rank);
        moved = true;
    }
    const struct sl_promise_member *last = last_waiting(rank);
    if (last == NULL || sl_lane_compare(&last->pod, &member->pod) < 0) {
        member->place = (uint32_t)rank->used;
        rank->slot[rank->used++] = member;
    } else {
        place_in_order(rank, member);
        moved = true;
    }
    rank->n++;
    if (moved) {
        fill_tree(promise, rank);
    } else {
        set_leaf(promise, rank, member->place);
    }
    return 0;
}

void sl_promise_rank_remove(struct sl_promise *promise, struct sl_promise_member *member)
{
    struct sl_promise_rank *rank = &promise->rank[member->rank];
    rank->slot[member->place] = NULL;
    rank->n--;
    set_leaf(promise, rank, member->place);
    while (rank->used > 0 && rank->slot[rank->used - 1] == NULL) {
        rank->used--;
    }
    while (rank->first < rank->used && rank->slot[rank->first] == NULL) {
        rank->first++;
    }
    rank->first = rank->first < rank->used ? rank->first : rank->used;
}

sl_work sl_promise_rank_slack(const struct sl_promise_rank *rank,
                              const struct sl_promise_member *without, sl_work ahead)
{
    struct sl_promise_rank_node before = {0, never, 0};
    struct sl_promise_rank_node behind = {0, never, 0};
    for (size_t i = rank->size + without->place; i > 1; i /= 2) {
        if (i % 2 == 1) {
            before = join_nodes(rank->tree[i - 1], before);
        } else {
            behind = join_nodes(behind, rank->tree[i + 1]);
        }
    }
    return join_nodes(before, behind).slack - ahead;
}

int64_t sl_promise_rank_units_to(const struct sl_promise_rank *rank,
                                 const struct sl_promise_member *member)
{
    size_t i = rank->size + member->place;
    int64_t units = rank->tree[i].units;
    for (; i > 1; i /= 2) {
        units += i % 2 == 1 ? rank->tree[i - 1].units : 0;
    }
    return units;
}

void sl_promise_rank_refresh(struct sl_promise *promise)
{
    if (!promise->tree_stale && promise->tree_version == promise->learn.version) {
        return;
    }
    promise->tree_stale = false;
    promise->tree_version = promise->learn.version;
    promise->longest_estimate_us = 0;
    promise->widest = 1;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        const struct sl_promise_rank *rank = &promise->rank[r];
        for (size_t i = rank->first; i < rank->used; i++) {
            const struct sl_promise_member *w = rank->slot[i];
            if (w == NULL || !sl_promise_fits_lane(promise, w->pod.width)) {
                continue;
            }
            const int64_t estimate_us = sl_promise_estimate(promise, w);
            promise->widest = w->pod.width > promise->widest ? w->pod.width : promise->widest;
            promise->longest_estimate_us = estimate_us > promise->longest_estimate_us
                                               ? estimate_us
                                               : promise->longest_estimate_us;
        }
    }
    promise->divisor = promise->capacity - promise->widest + 1;
    for (unsigned r = 0; r < promise->n_ranks; r++) {
        if (promise->rank[r].size > 0) {
            fill_tree(promise, &promise->rank[r]);
        }
    }
}

uint8_t sl_promise_rank_of(struct sl_promise *promise, int32_t priority)
{
    unsigned at = 0;
    while (at < promise->n_ranks && promise->rank[promise->order[at]].priority > priority) {
        at++;
    }
    if (at < promise->n_ranks && promise->rank[promise->order[at]].priority == priority) {
        return promise->order[at];
    }
    if (promise->n_ranks == SL_PROMISE_RANKS) {
        return promise->order[at < SL_PROMISE_RANKS ? at : SL_PROMISE_RANKS - 1];
    }
    const uint8_t index = promise->n_ranks++;
    memmove(&promise->order[at + 1], &promise->order[at], index - at);
    promise->order[at] = index;
    promise->rank[index].priority = priority;
    return index;
}

void sl_promise_rank_free(struct sl_promise_rank *rank)
{
    free(rank->slot);
    free(rank->tree);
}
