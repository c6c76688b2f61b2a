/* Waiting pods of one priority in order, with a tree that answers the quick check. */
#include "bound_internal.h"

#include <stdlib.h>

static const sl_work never = (sl_work)1 << 120; /* slack of nobody */

static struct sl_rank_node join(struct sl_rank_node a, struct sl_rank_node b)
{
    const sl_work behind = b.slack - a.work;
    return (struct sl_rank_node){a.work + b.work, a.slack < behind ? a.slack : behind,
                                 a.units + b.units};
}

static struct sl_rank_node leaf_of(const struct sl_bound *bound,
                                   const struct sl_bound_waiter *waiter)
{
    if (waiter == NULL || !sl_bound_fits_lane(bound, waiter->spec.width)) {
        return (struct sl_rank_node){0, never, 0};
    }
    const int64_t estimate = sl_learn_estimate(&bound->learn, waiter->spec.timeout_us);
    return (struct sl_rank_node){(sl_work)waiter->spec.width * estimate,
                                 (sl_work)bound->divisor * waiter->spec.submit_us,
                                 waiter->spec.width};
}

static void set_leaf(const struct sl_bound *bound, struct sl_rank *rank, size_t slot)
{
    size_t i = rank->size + slot;
    rank->tree[i] = leaf_of(bound, rank->slot[slot]);
    for (i /= 2; i > 0; i /= 2) {
        rank->tree[i] = join(rank->tree[2 * i], rank->tree[2 * i + 1]);
    }
}

static void fill(const struct sl_bound *bound, struct sl_rank *rank)
{
    for (size_t i = 0; i < rank->size; i++) {
        rank->tree[rank->size + i] = leaf_of(bound, i < rank->used ? rank->slot[i] : NULL);
    }
    for (size_t i = rank->size; i-- > 1;) {
        rank->tree[i] = join(rank->tree[2 * i], rank->tree[2 * i + 1]);
    }
}

/* Closes the gaps. */
static void squeeze(struct sl_rank *rank)
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

static int grow(struct sl_rank *rank)
{
    const size_t size = rank->size == 0 ? 16 : rank->size * 2;
    struct sl_bound_waiter **slot = realloc(rank->slot, size * sizeof(struct sl_bound_waiter *));
    if (slot == NULL) {
        return -1;
    }
    rank->slot = slot;
    struct sl_rank_node *tree = realloc(rank->tree, 2 * size * sizeof(*tree));
    if (tree == NULL) {
        return -1;
    }
    rank->tree = tree;
    rank->size = size;
    return 0;
}

/* The last pod that waits, NULL when none does. */
static const struct sl_bound_waiter *last_of(const struct sl_rank *rank)
{
    for (size_t i = rank->used; i-- > 0;) {
        if (rank->slot[i] != NULL) {
            return rank->slot[i];
        }
    }
    return NULL;
}

static void place_in_order(struct sl_rank *rank, struct sl_bound_waiter *waiter)
{
    squeeze(rank);
    size_t i = rank->used++;
    while (i > 0 && sl_bound_compare(&waiter->spec, &rank->slot[i - 1]->spec) < 0) {
        rank->slot[i] = rank->slot[i - 1];
        rank->slot[i]->place = (uint32_t)i;
        i--;
    }
    rank->slot[i] = waiter;
    waiter->place = (uint32_t)i;
}

int sl_rank_insert(struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    struct sl_rank *rank = &bound->rank[waiter->rank];
    bool moved = false;
    if (rank->used == rank->size) {
        if (rank->n * 2 >= rank->size && grow(rank) != 0) {
            return -1;
        }
        squeeze(rank);
        moved = true;
    }
    const struct sl_bound_waiter *last = last_of(rank);
    if (last == NULL || sl_bound_compare(&last->spec, &waiter->spec) < 0) {
        waiter->place = (uint32_t)rank->used;
        rank->slot[rank->used++] = waiter;
    } else {
        place_in_order(rank, waiter);
        moved = true;
    }
    rank->n++;
    if (moved) {
        fill(bound, rank);
    } else {
        set_leaf(bound, rank, waiter->place);
    }
    return 0;
}

void sl_rank_remove(struct sl_bound *bound, struct sl_bound_waiter *waiter)
{
    struct sl_rank *rank = &bound->rank[waiter->rank];
    rank->slot[waiter->place] = NULL;
    rank->n--;
    set_leaf(bound, rank, waiter->place);
    while (rank->used > 0 && rank->slot[rank->used - 1] == NULL) {
        rank->used--;
    }
    while (rank->first < rank->used && rank->slot[rank->first] == NULL) {
        rank->first++;
    }
    rank->first = rank->first < rank->used ? rank->first : rank->used;
}

sl_work sl_rank_slack(const struct sl_rank *rank, const struct sl_bound_waiter *without,
                      sl_work ahead)
{
    struct sl_rank_node before = {0, never, 0};
    struct sl_rank_node behind = {0, never, 0};
    for (size_t i = rank->size + without->place; i > 1; i /= 2) {
        if (i % 2 == 1) {
            before = join(rank->tree[i - 1], before);
        } else {
            behind = join(behind, rank->tree[i + 1]);
        }
    }
    return join(before, behind).slack - ahead;
}

int64_t sl_rank_units_to(const struct sl_rank *rank, const struct sl_bound_waiter *waiter)
{
    size_t i = rank->size + waiter->place;
    int64_t units = rank->tree[i].units;
    for (; i > 1; i /= 2) {
        units += i % 2 == 1 ? rank->tree[i - 1].units : 0;
    }
    return units;
}

void sl_rank_refresh(struct sl_bound *bound)
{
    if (!bound->tree_stale && bound->tree_version == bound->learn.version) {
        return;
    }
    bound->tree_stale = false;
    bound->tree_version = bound->learn.version;
    bound->longest_estimate = 0;
    bound->widest = 1;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        const struct sl_rank *rank = &bound->rank[r];
        for (size_t i = rank->first; i < rank->used; i++) {
            const struct sl_bound_waiter *w = rank->slot[i];
            if (w == NULL || !sl_bound_fits_lane(bound, w->spec.width)) {
                continue;
            }
            const int64_t estimate = sl_learn_estimate(&bound->learn, w->spec.timeout_us);
            bound->widest = w->spec.width > bound->widest ? w->spec.width : bound->widest;
            bound->longest_estimate =
                estimate > bound->longest_estimate ? estimate : bound->longest_estimate;
        }
    }
    bound->divisor = bound->capacity - bound->widest + 1;
    for (unsigned r = 0; r < bound->n_ranks; r++) {
        if (bound->rank[r].size > 0) {
            fill(bound, &bound->rank[r]);
        }
    }
}

uint8_t sl_rank_of(struct sl_bound *bound, int32_t priority)
{
    unsigned at = 0;
    while (at < bound->n_ranks && bound->rank[bound->order[at]].priority > priority) {
        at++;
    }
    if (at < bound->n_ranks && bound->rank[bound->order[at]].priority == priority) {
        return bound->order[at];
    }
    if (bound->n_ranks == SL_BOUND_RANKS) {
        return bound->order[at < SL_BOUND_RANKS ? at : SL_BOUND_RANKS - 1];
    }
    const uint8_t index = bound->n_ranks++;
    memmove(&bound->order[at + 1], &bound->order[at], index - at);
    bound->order[at] = index;
    bound->rank[index].priority = priority;
    return index;
}

void sl_rank_free(struct sl_rank *rank)
{
    free(rank->slot);
    free(rank->tree);
}
