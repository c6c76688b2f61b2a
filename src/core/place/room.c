/* Tells what devices, instances and pools can still give on a scratch copy's counters. */
#include "core/place/choose.h"

#include "core/node/pool.h"

static bool usable(const struct sl_device *device, bool any_health)
{
    return device->healthy || any_health;
}

static bool whole_free(const struct sl_device *device, const struct sl_device_use *use,
                       bool any_health)
{
    return usable(device, any_health) && !device->mig && sl_device_untouched(use);
}

/* True when replicas or a share of memory of the device may be given; it may have both. */
static bool shareable(const struct sl_device *device, const struct sl_device_use *use,
                      bool any_health)
{
    return usable(device, any_health) && !device->mig && !use->whole && use->instances == 0;
}

/* True when instances of the device may be given. */
static bool splittable(const struct sl_device *device, const struct sl_device_use *use,
                       bool any_health)
{
    return usable(device, any_health) && !use->whole && use->replicas == 0 &&
           use->memory_units == 0;
}

int64_t sl_room_of_instance(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    unsigned device = node->instance[i].device;
    if (!splittable(&node->device[device], &scratch->device[device], wanted.any_health) ||
        (wanted.size != SL_ANY_SIZE && wanted.size != sl_memory_of_instance(node, i))) {
        return 0;
    }
    int64_t free =
        sl_at_least_zero((int64_t)sl_node_instance_units(node, i) - scratch->instance_used[i]);
    return wanted.item == NULL || free == 0
               ? free
               : sl_least(free, sl_memory_on_instance(scratch, pool, wanted.item, i));
}

static bool is_of_size(const struct sl_node *node, unsigned pool, unsigned device,
                       struct sl_wanted wanted)
{
    return wanted.size == SL_ANY_SIZE ||
           wanted.size == sl_node_unit_mib(node, pool, (int)device, -1);
}

int64_t sl_room_of_replicas(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_device_use *use = &scratch->device[i];
    if (!shareable(&node->device[i], use, wanted.any_health) ||
        !is_of_size(node, pool, i, wanted)) {
        return 0;
    }
    int64_t free = sl_at_least_zero((int64_t)node->pool[pool].replicas - use->replicas);
    return wanted.item == NULL || free == 0
               ? free
               : sl_least(free, sl_memory_on_device(scratch, pool, wanted.item, i));
}

bool sl_room_of_whole(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                      struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    return whole_free(&node->device[i], &scratch->device[i], wanted.any_health) &&
           is_of_size(node, pool, i, wanted) &&
           (wanted.item == NULL || sl_memory_on_device(scratch, pool, wanted.item, i) > 0);
}

int64_t sl_room_of_memory(const struct sl_scratch *scratch, unsigned i, bool any_health)
{
    const struct sl_device *device = &scratch->view->node->device[i];
    const struct sl_device_use *use = &scratch->device[i];
    if (!shareable(device, use, any_health) || use->memory_units >= device->memory_units) {
        return 0;
    }
    return device->memory_units - use->memory_units;
}

static struct sl_room room_on_instances(const struct sl_scratch *scratch, unsigned pool,
                                        struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            room.free += sl_room_of_instance(scratch, pool, i, wanted);
        }
    }
    /* Each exclusive instance takes a part of the assignment, and on so large a node each replica
     * may. */
    bool bounded = node->pool[pool].kind == SL_KIND_MIG || node->n_instances > SL_ASSIGNMENT_MAX;
    room.largest = bounded ? sl_least(room.free, SL_ASSIGNMENT_MAX) : room.free;
    return room;
}

/* Only pools that may span GPUs split a share. */
unsigned sl_memory_parts(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item)
{
    return node->pool[pool].spans && item != NULL && item->gpus > 1 ? item->gpus : 1;
}

/* Without an item, returns the most that any item could get. */
static struct sl_room room_of_memory(const struct sl_scratch *scratch, unsigned pool,
                                     const struct sl_ask_item *item, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    unsigned parts = sl_memory_parts(node, pool, item);
    int64_t share = parts > 1 ? item->count / parts : 0;
    int64_t n = 0;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t free = sl_room_of_memory(scratch, i, any_health);
        n += free >= share;
        room.free = free > INT64_MAX - room.free ? INT64_MAX : room.free + free;
        room.largest = free > room.largest ? free : room.largest;
    }
    if (parts > 1) {
        room.largest = n >= (int64_t)parts ? item->count : n * share;
    } else if (item == NULL && node->pool[pool].spans) {
        room.largest = room.free;
    }
    return room;
}

static struct sl_room room_on_devices(const struct sl_scratch *scratch, unsigned pool,
                                      struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        room.free += p->kind == SL_KIND_REPLICA ? sl_room_of_replicas(scratch, pool, i, wanted)
                                                : sl_room_of_whole(scratch, pool, i, wanted);
    }
    room.largest = room.free;
    return room;
}

struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool,
                               const struct sl_ask_item *item, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    bool picky = item != NULL && sl_item_has_memory(item) && p->kind != SL_KIND_MEMORY;
    const struct sl_wanted wanted = {picky ? item : NULL, SL_ANY_SIZE, any_health};
    int64_t left = sl_at_least_zero(p->capacity - scratch->pool_used[pool]);
    struct sl_room room = {left, left};
    if (!p->on_devices) {
        room.free = picky ? sl_least(left, sl_memory_by_counts(scratch, pool, item)) : left;
        room.largest = room.free;
    } else if (p->kind == SL_KIND_MEMORY) {
        room = room_of_memory(scratch, pool, item, any_health);
    } else if (sl_pool_on_instances(node, pool)) {
        room = room_on_instances(scratch, pool, wanted);
    } else {
        room = room_on_devices(scratch, pool, wanted);
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
    switch (p->kind) {
    case SL_KIND_WHOLE:
        return whole_free(&node->device[i], &scratch->device[i], true);
    case SL_KIND_REPLICA:
        return part->amount <= sl_room_of_replicas(scratch, pool, i, anything);
    case SL_KIND_MEMORY:
        /* gpushare's plugin obeys the annotation, even when that over-commits the device. */
        return shareable(&node->device[i], &scratch->device[i], true);
    case SL_KIND_MIG:
        break;
    }
    return false;
}
