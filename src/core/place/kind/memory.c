/* Memory of GPUs (gpushare): a pod's share is on one GPU, or in equal parts on several. */
#include "core/place/kind/kind.h"

static int64_t memory_free(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                           struct sl_wanted wanted)
{
    const struct sl_device *device = &scratch->view->node->device[i];
    const struct sl_device_use *use = &scratch->device[i];
    (void)pool;
    return sl_device_shareable(device, use, wanted.any_health)
               ? sl_at_least_zero(device->memory_units - use->memory_units)
               : 0;
}

/* gpushare's plugin obeys the annotation, even when that over-commits the device. */
static bool memory_holds(const struct sl_scratch *scratch, unsigned i)
{
    return sl_device_shareable(&scratch->view->node->device[i], &scratch->device[i], true);
}

/* Only pools that may span GPUs split a share. */
static unsigned parts_of(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item)
{
    return node->pool[pool].spans && item != NULL && item->gpus > 1 ? item->gpus : 1;
}

/* Without an item, returns the most that any item could get. */
static struct sl_room memory_room(const struct sl_scratch *scratch, unsigned pool,
                                  const struct sl_ask_item *item, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_wanted wanted = {.any_health = any_health};
    unsigned parts = parts_of(node, pool, item);
    int64_t share = parts > 1 ? item->count / parts : 0;
    int64_t n = 0;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t free = memory_free(scratch, pool, i, wanted);
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

/* True when the assignment has a part of the item on the device. */
static bool has_part_on(const struct sl_target *target, unsigned device)
{
    for (unsigned i = 0; i < target->assignment->n; i++) {
        const struct sl_assignment_part *part = &target->assignment->part[i];
        if (part->item == target->number && part->device == (int)device) {
            return true;
        }
    }
    return false;
}

/* The price of a device for a share of memory; the first member that differs decides. */
struct price {
    bool fresh; /* it could be given whole to the same pod */
    bool busy;  /* its pods leave it little of the GPU's time */
    int64_t free;
};

static bool is_cheaper(const struct price *a, const struct price *b)
{
    if (a->fresh != b->fresh) {
        return b->fresh;
    }
    return a->busy != b->busy ? b->busy : a->free < b->free;
}

/* Places one part of that many units; false when no device has room for it. */
static bool place_share(const struct sl_target *target, struct sl_wanted wanted, int64_t units)
{
    const struct sl_scratch *scratch = target->scratch;
    const struct sl_node *node = scratch->view->node;
    const struct sl_measured *measured = scratch->view->measured;
    int best = -1;
    struct price least = {.free = 0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        struct price price = {.free = memory_free(scratch, target->pool, i, wanted)};
        if (price.free < units || has_part_on(target, i)) {
            continue;
        }
        price.fresh = target->how.spare_untouched && sl_device_untouched(&scratch->device[i]);
        price.busy = measured != NULL && sl_measured_repels(&measured[i]);
        if (best < 0 || is_cheaper(&price, &least)) {
            best = (int)i;
            least = price;
        }
    }
    return best >= 0 && sl_target_add(target, best, -1, units);
}

static int64_t spread(const struct sl_target *target, struct sl_wanted wanted, int64_t count)
{
    const struct sl_node *node = target->scratch->view->node;
    int64_t put = 0;
    while (put < count) {
        int best = -1;
        int64_t most = 0;
        for (unsigned i = 0; i < node->n_devices; i++) {
            int64_t free = memory_free(target->scratch, target->pool, i, wanted);
            if (free > most && !has_part_on(target, i)) {
                best = (int)i;
                most = free;
            }
        }
        if (best < 0 || !sl_target_add(target, best, -1, sl_least(most, count - put))) {
            break;
        }
        put += sl_least(most, count - put);
    }
    return put;
}

static int64_t memory_place(const struct sl_target *target, struct sl_wanted wanted, int64_t count)
{
    if (target->how.any_part) {
        return spread(target, wanted, count);
    }
    unsigned parts = parts_of(target->scratch->view->node, target->pool, target->item);
    int64_t share = parts > 1 ? target->item->count / parts : count;
    int64_t put = 0;
    while (share > 0 && count - put >= share && place_share(target, wanted, share)) {
        put += share;
    }
    return put;
}

const struct sl_kind_place sl_place_memory = {
    .free = memory_free, .room = memory_room, .holds = memory_holds, .place = memory_place};
