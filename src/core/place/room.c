/* Tells what pools can still give on a scratch copy's counters, and whether a part has room there.
 */
#include "core/place/choose.h"

#include "core/node/pool.h"

/* Sums over the places of a pool: instances, or devices. */
static struct sl_room room_of_places(const struct sl_scratch *scratch, unsigned pool,
                                     struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_kind_place *places = sl_pool_places(&node->pool[pool]);
    struct sl_room room = {0};
    if (!sl_pool_on_instances(node, pool)) {
        for (unsigned i = 0; i < node->n_devices; i++) {
            room.free += places->free(scratch, pool, i, wanted);
        }
        room.largest = room.free;
        return room;
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            room.free += sl_room_of_instance(scratch, pool, i, wanted);
        }
    }
    /* Each exclusive instance takes a part of the assignment, and on so large a node each replica
     * may. */
    bool bounded =
        sl_kinds[node->pool[pool].kind].instance || node->n_instances > SL_ASSIGNMENT_MAX;
    room.largest = bounded ? sl_least(room.free, SL_ASSIGNMENT_MAX) : room.free;
    return room;
}

struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool,
                               const struct sl_ask_item *item, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    bool picky = item != NULL && sl_item_has_memory(item) && !sl_kinds[p->kind].memory;
    const struct sl_wanted wanted = {picky ? item : NULL, SL_ANY_SIZE, any_health};
    int64_t left = sl_at_least_zero(p->capacity - scratch->pool_used[pool]);
    struct sl_room room = {left, left};
    if (!p->on_devices) {
        room.free = picky ? sl_least(left, sl_memory_by_counts(scratch, pool, item)) : left;
        room.largest = room.free;
    } else if (sl_pool_places(p)->room != NULL) {
        room = sl_pool_places(p)->room(scratch, pool, item, any_health);
    } else {
        room = room_of_places(scratch, pool, wanted);
    }
    room.free = sl_least(room.free, left);
    room.largest = sl_least(room.largest, left);
    room.largest = item != NULL && sl_pool_refuses(p, item) ? 0 : room.largest;
    return room;
}

bool sl_scratch_can_hold(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_assignment_part *part)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    if (!p->on_devices) {
        return true;
    }
    if (part->device < 0) {
        return false;
    }
    unsigned i = (unsigned)part->device;
    const struct sl_wanted anything = {NULL, SL_ANY_SIZE, true};
    if (part->instance >= 0) {
        return part->amount <=
               sl_room_of_instance(scratch, pool, (unsigned)part->instance, anything);
    }
    const struct sl_kind_place *places = sl_pool_places(p);
    if (places->holds != NULL) {
        return places->holds(scratch, i);
    }
    return places->free != NULL && part->amount <= places->free(scratch, pool, i, anything);
}

bool sl_scratch_can_give(const struct sl_scratch *scratch, unsigned pool,
                         const struct sl_ask_item *item, const struct sl_assignment_part *part)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    if (scratch->pool_used[pool] >= p->capacity ||
        part->amount > p->capacity - scratch->pool_used[pool] ||
        !sl_scratch_can_hold(scratch, pool, part) ||
        !sl_scratch_has_memory(scratch, pool, item, part)) {
        return false;
    }
    if (!p->on_devices) {
        return true;
    }
    const struct sl_device *device = &node->device[part->device];
    const struct sl_device_use *use = &scratch->device[part->device];
    return device->healthy &&
           (!sl_kinds[p->kind].memory || part->amount <= device->memory_units - use->memory_units);
}

bool sl_scratch_take_exactly(struct sl_scratch *scratch, const struct sl_ask *ask,
                             const struct sl_assignment *assignment)
{
    struct sl_assignment done = {0};
    if (assignment->n > 0 && scratch->view->withheld) {
        return false;
    }
    for (; done.n < assignment->n; done.n++) {
        const struct sl_assignment_part *part = &assignment->part[done.n];
        const struct sl_ask_item *item = &ask->item[part->item];
        int pool = sl_view_pool(scratch->view, item->key);
        if (pool < 0 || !sl_scratch_can_give(scratch, (unsigned)pool, item, part)) {
            sl_scratch_undo(scratch, ask->item, &done, 0);
            return false;
        }
        sl_scratch_take(scratch, (unsigned)pool, item, part, 1);
        done.part[done.n] = *part;
    }
    return true;
}
