/* Chooses an ask's devices, by taking units out of a scratch copy of a view, item by item. Filter
 * and bind share this code, so that they cannot disagree. */
#include "core/place/choose.h"

#include "core/node/pool.h"
#include "core/place/deal.h"

enum { PLACES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX };

/* An item of an ask that is being placed. */
struct target {
    struct sl_scratch *scratch;
    unsigned pool;
    uint8_t number;                 /* of the item in the ask */
    const struct sl_ask_item *item; /* the item to book; may be NULL */
    struct sl_assignment *assignment;
};

/* Books a part and appends it to the assignment; false when that is full. */
static bool add_part(const struct target *target, int device, int instance, int64_t amount)
{
    struct sl_assignment *assignment = target->assignment;
    if (assignment->n >= SL_ASSIGNMENT_MAX) {
        return false;
    }
    struct sl_assignment_part *part = &assignment->part[assignment->n];
    *part = (struct sl_assignment_part){target->number, (int16_t)device, (int16_t)instance, amount};
    assignment->n++;
    sl_scratch_take(target->scratch, target->pool, target->item, part, 1);
    return true;
}

static int64_t place_whole(const struct target *target, struct sl_wanted wanted, int64_t count)
{
    const struct sl_node *node = target->scratch->view->node;
    int64_t put = 0;
    for (unsigned i = 0; i < node->n_devices && put < count; i++) {
        if (!sl_room_of_whole(target->scratch, target->pool, i, wanted)) {
            continue;
        }
        if (!add_part(target, (int)i, -1, 1)) {
            break;
        }
        put++;
    }
    return put;
}

/* Returns the device with the fewest free instances of the pool, -1 when none has any. */
static int fewest(const uint16_t *free, unsigned n)
{
    int best = -1;
    for (unsigned i = 0; i < n; i++) {
        if (free[i] > 0 && (best < 0 || free[i] < free[best])) {
            best = (int)i;
        }
    }
    return best;
}

static int64_t place_instances(const struct target *target, struct sl_wanted wanted, int64_t count)
{
    struct sl_scratch *scratch = target->scratch;
    const struct sl_node *node = scratch->view->node;
    uint16_t free[SL_NODE_DEVICES_MAX];
    uint16_t first[SL_NODE_DEVICES_MAX]; /* the lowest free instance, set if free > 0 */
    for (unsigned d = 0; d < node->n_devices; d++) {
        free[d] = 0;
    }
    for (unsigned i = node->n_instances; i-- > 0;) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->pool == target->pool &&
            sl_room_of_instance(scratch, target->pool, i, wanted) > 0) {
            free[instance->device]++;
            first[instance->device] = (uint16_t)i;
        }
    }
    int64_t put = 0;
    while (put < count) {
        int device = fewest(free, node->n_devices);
        if (device < 0) {
            break;
        }
        /* This device keeps the fewest until it has none left. */
        for (unsigned i = first[device]; i < node->n_instances && free[device] > 0 && put < count;
             i++) {
            const struct sl_instance *instance = &node->instance[i];
            if (instance->pool != target->pool || instance->device != device ||
                sl_room_of_instance(scratch, target->pool, i, wanted) == 0) {
                continue;
            }
            if (!add_part(target, device, (int)i, 1)) {
                return put;
            }
            free[device]--;
            put++;
        }
    }
    return put;
}

static unsigned list_places(const struct sl_scratch *scratch, unsigned pool,
                            struct sl_wanted wanted, struct sl_place *out)
{
    const struct sl_node *node = scratch->view->node;
    bool on_instances = sl_pool_on_instances(node, pool);
    unsigned count = on_instances ? node->n_instances : node->n_devices;
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < PLACES_MAX; i++) {
        if (on_instances && node->instance[i].pool != pool) {
            continue;
        }
        int64_t free = on_instances ? sl_room_of_instance(scratch, pool, i, wanted)
                                    : sl_room_of_replicas(scratch, pool, i, wanted);
        if (free == 0) {
            continue;
        }
        out[n] = on_instances ? (struct sl_place){.device = (int16_t)node->instance[i].device,
                                                  .instance = (int16_t)i,
                                                  .used = scratch->instance_used[i]}
                              : (struct sl_place){.device = (int16_t)i,
                                                  .instance = -1,
                                                  .used = scratch->device[i].replicas};
        out[n].free = free;
        n++;
    }
    return n;
}

static int64_t place_replicas(const struct target *target, struct sl_wanted wanted, int64_t count)
{
    struct sl_place place[PLACES_MAX];
    unsigned n = list_places(target->scratch, target->pool, wanted, place);
    sl_deal(place, n, count);
    int64_t put = 0;
    for (unsigned i = 0; i < n; i++) {
        if (place[i].taken == 0) {
            continue;
        }
        if (!add_part(target, place[i].device, place[i].instance, place[i].taken)) {
            break;
        }
        put += place[i].taken;
    }
    return put;
}

/* True when the assignment has a part of the item on the device. */
static bool has_part_on(const struct target *target, unsigned device)
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
static bool place_share(const struct target *target, struct sl_place_how how, int64_t units)
{
    const struct sl_scratch *scratch = target->scratch;
    const struct sl_node *node = scratch->view->node;
    const struct sl_measured *measured = scratch->view->measured;
    int best = -1;
    struct price least = {.free = 0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        struct price price = {.free = sl_room_of_memory(scratch, i, how.any_health)};
        if (price.free < units || has_part_on(target, i)) {
            continue;
        }
        price.fresh = how.spare_untouched && sl_device_untouched(&scratch->device[i]);
        price.busy = measured != NULL && sl_measured_repels(&measured[i]);
        if (best < 0 || is_cheaper(&price, &least)) {
            best = (int)i;
            least = price;
        }
    }
    return best >= 0 && add_part(target, best, -1, units);
}

static int64_t spread_memory(const struct target *target, struct sl_place_how how, int64_t count)
{
    const struct sl_node *node = target->scratch->view->node;
    int64_t put = 0;
    while (put < count) {
        int best = -1;
        int64_t most = 0;
        for (unsigned i = 0; i < node->n_devices; i++) {
            int64_t free = sl_room_of_memory(target->scratch, i, how.any_health);
            if (free > most && !has_part_on(target, i)) {
                best = (int)i;
                most = free;
            }
        }
        if (best < 0 || !add_part(target, best, -1, sl_least(most, count - put))) {
            break;
        }
        put += sl_least(most, count - put);
    }
    return put;
}

static int64_t place_memory(const struct target *target, struct sl_place_how how, int64_t count)
{
    if (how.any_part) {
        return spread_memory(target, how, count);
    }
    unsigned parts = sl_memory_parts(target->scratch->view->node, target->pool, target->item);
    int64_t share = parts > 1 ? target->item->count / parts : count;
    int64_t put = 0;
    while (share > 0 && count - put >= share && place_share(target, how, share)) {
        put += share;
    }
    return put;
}

static int64_t place_units(const struct target *target, struct sl_wanted wanted, int64_t count)
{
    switch (target->scratch->view->node->pool[target->pool].kind) {
    case SL_KIND_WHOLE:
        return place_whole(target, wanted, count);
    case SL_KIND_MIG:
        return place_instances(target, wanted, count);
    case SL_KIND_REPLICA:
        return place_replicas(target, wanted, count);
    case SL_KIND_MEMORY:
        break;
    }
    return 0;
}

int64_t sl_scratch_place(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                         uint8_t number, int64_t count, struct sl_place_how how,
                         struct sl_assignment *assignment)
{
    const struct target target = {scratch, pool, number, item, assignment};
    const struct sl_node *node = scratch->view->node;
    bool picky = item != NULL && sl_item_has_memory(item) && !how.any_memory;
    struct sl_wanted wanted = {picky ? item : NULL, SL_ANY_SIZE, how.any_health};
    if (!node->pool[pool].on_devices) {
        int64_t allowed = picky ? sl_memory_by_counts(scratch, pool, item) : INT64_MAX;
        int64_t put = sl_least(count, allowed);
        return put > 0 && add_part(&target, -1, -1, put) ? put : 0;
    }
    if (node->pool[pool].kind == SL_KIND_MEMORY) {
        return place_memory(&target, how, count);
    }
    if (!picky) {
        return place_units(&target, wanted, count);
    }
    int64_t put = 0;
    while (put < count && sl_memory_next_size(node, pool, item, &wanted.size)) {
        put += place_units(&target, wanted, count - put);
    }
    return put;
}

/* Whole GPUs, replicas and shares of memory compete for the same devices. A share of memory goes
 * first, to a device in use if one suffices, so that it costs a whole GPU only when it must. Then
 * it does not matter which untouched devices go whole: replicas find as many units in the rest. */
enum { TURNS = 3 };

static unsigned turn(enum sl_kind kind)
{
    static const uint8_t turns[] = {
        [SL_KIND_MEMORY] = 0, [SL_KIND_WHOLE] = 1, [SL_KIND_MIG] = 2, [SL_KIND_REPLICA] = 2};
    return turns[kind];
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
        how.spare_untouched |= pools[pool[i]].kind == SL_KIND_WHOLE;
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
