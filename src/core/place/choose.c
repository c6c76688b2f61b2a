/* Chooses an ask's devices, by taking units out of a scratch copy of a view, item by item. Filter
 * and bind share this code, so that they cannot disagree. */
#include "core/place/choose.h"

int64_t sl_scratch_place(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                         uint8_t number, int64_t count, struct sl_place_how how,
                         struct sl_assignment *assignment)
{
    const struct sl_target target = {scratch, pool, number, item, how, assignment};
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    bool picky = item != NULL && sl_item_has_memory(item) && !how.any_memory &&
                 (!p->on_devices || !sl_kinds[p->kind].memory);
    struct sl_wanted wanted = {picky ? item : NULL, SL_ANY_SIZE, how.any_health};
    if (!p->on_devices) {
        int64_t allowed = picky ? sl_memory_by_counts(scratch, pool, item) : INT64_MAX;
        int64_t put = sl_least(count, allowed);
        return put > 0 && sl_target_add(&target, -1, -1, put) ? put : 0;
    }
    if (!picky) {
        return sl_pool_places(p)->place(&target, wanted, count);
    }
    int64_t put = 0;
    while (put < count && sl_memory_next_size(node, pool, item, &wanted.size)) {
        put += sl_pool_places(p)->place(&target, wanted, count - put);
    }
    return put;
}

/* Whole GPUs, replicas and shares of memory compete for the same devices. A share of memory goes
 * first, to a device in use if one suffices, so that it costs a whole GPU only when it must. Then
 * it does not matter which untouched devices go whole: replicas find as many units in the rest. */
enum { TURNS = 3 };

static unsigned turn(enum sl_kind kind)
{
    unsigned rank = sl_kinds[kind].rank;
    return rank < TURNS ? rank : TURNS - 1;
}

/* Places all units of one item, or none. */
static bool place_item(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *items,
                       unsigned i, struct sl_place_how how, struct sl_assignment *assignment)
{
    int64_t count = items[i].count;
    int64_t used = scratch->pool_used[pool];
    int64_t capacity = scratch->view->node->pool[pool].capacity;
    if (used >= capacity || count > capacity - used ||
        sl_pool_refuses(&scratch->view->node->pool[pool], &items[i])) {
        return false;
    }
    unsigned first = assignment->n;
    if (sl_scratch_place(scratch, pool, &items[i], (uint8_t)i, count, how, assignment) < count) {
        sl_scratch_undo(scratch, items, assignment, first);
        return false;
    }
    return true;
}

bool sl_scratch_choose(struct sl_scratch *scratch, const struct sl_ask_item *item, unsigned n,
                       bool any_health, struct sl_assignment *assignment, unsigned *failed)
{
    const struct sl_pool *pools = scratch->view->node->pool;
    unsigned pool[SL_ASK_ITEMS_MAX];
    struct sl_place_how how = {.any_health = any_health};
    for (unsigned i = 0; i < n; i++) {
        pool[i] = (unsigned)sl_view_pool(scratch->view, item[i].key);
        how.spare_untouched |= sl_kinds[pools[pool[i]].kind].whole;
    }
    assignment->n = 0;
    for (unsigned round = 0; round < TURNS; round++) {
        for (unsigned i = 0; i < n; i++) {
            if (turn(pools[pool[i]].kind) == round &&
                !place_item(scratch, pool[i], item, i, how, assignment)) {
                *failed = i;
                return false;
            }
        }
    }
    return true;
}
