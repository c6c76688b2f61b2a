/* Which devices an ask gets: units are taken out of a scratch copy of a view, item by item. Filter
 * and bind come here both, so that they cannot disagree. */
#include "core/choose.h"

#include "core/deal.h"

enum {
    PLACES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX,
    DECLARED_UNITS_MAX = 2048, /* counted of one part, so that no sum over residents overflows */
    ANY_SIZE = -1,
};

static int64_t at_least_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- places ---- */

/* What is looked for; item NULL: anything. */
struct wanted {
    const struct sl_ask_item *item; /* says how much GPU memory it needs; else NULL */
    int64_t size;                   /* of the units looked at, in MiB, or ANY_SIZE */
    bool any_health;
};

static bool usable(const struct sl_device *device, bool any_health)
{
    return device->healthy || any_health;
}

static bool untouched(const struct sl_device_use *use)
{
    return !use->whole && use->replicas == 0 && use->memory_units == 0 && use->instances == 0;
}

static bool whole_free(const struct sl_device *device, const struct sl_device_use *use,
                       bool any_health)
{
    return usable(device, any_health) && !device->mig && untouched(use);
}

/* May replicas or a share of memory of the device be given? Both at once are allowed. */
static bool shareable(const struct sl_device *device, const struct sl_device_use *use,
                      bool any_health)
{
    return usable(device, any_health) && !device->mig && !use->whole && use->instances == 0;
}

/* May instances of the device be given? */
static bool splittable(const struct sl_device *device, const struct sl_device_use *use,
                       bool any_health)
{
    return usable(device, any_health) && !use->whole && use->replicas == 0 &&
           use->memory_units == 0;
}

static int64_t instance_free(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                             struct wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    unsigned device = node->instance[i].device;
    if (!splittable(&node->device[device], &scratch->device[device], wanted.any_health) ||
        (wanted.size != ANY_SIZE && wanted.size != sl_memory_of_instance(node, i))) {
        return 0;
    }
    int32_t most = node->pool[pool].kind == SL_KIND_REPLICA ? node->pool[pool].replicas : 1;
    int64_t free = at_least_zero((int64_t)most - scratch->instance_used[i]);
    return wanted.item == NULL || free == 0
               ? free
               : least(free, sl_memory_on_instance(scratch, pool, wanted.item, i));
}

static bool is_of_size(const struct sl_node *node, unsigned pool, unsigned device,
                       struct wanted wanted)
{
    return wanted.size == ANY_SIZE || wanted.size == sl_node_unit_mib(node, pool, (int)device, -1);
}

static int64_t replicas_free(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                             struct wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_device_use *use = &scratch->device[i];
    if (!shareable(&node->device[i], use, wanted.any_health) ||
        !is_of_size(node, pool, i, wanted)) {
        return 0;
    }
    int64_t free = at_least_zero((int64_t)node->pool[pool].replicas - use->replicas);
    return wanted.item == NULL || free == 0
               ? free
               : least(free, sl_memory_on_device(scratch, pool, wanted.item, i));
}

static bool whole_open(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                       struct wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    return whole_free(&node->device[i], &scratch->device[i], wanted.any_health) &&
           is_of_size(node, pool, i, wanted) &&
           (wanted.item == NULL || sl_memory_on_device(scratch, pool, wanted.item, i) > 0);
}

static int64_t memory_free(const struct sl_scratch *scratch, unsigned i, bool any_health)
{
    const struct sl_device *device = &scratch->view->node->device[i];
    const struct sl_device_use *use = &scratch->device[i];
    if (!shareable(device, use, any_health) || use->memory_units >= device->memory_units) {
        return 0;
    }
    return device->memory_units - use->memory_units;
}

bool sl_pool_on_instances(const struct sl_node *node, unsigned pool)
{
    const struct sl_pool *p = &node->pool[pool];
    if (p->kind == SL_KIND_MIG || p->profile != NULL) {
        return true;
    }
    for (unsigned i = 0; p->kind == SL_KIND_REPLICA && i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            return true;
        }
    }
    return false;
}

static struct sl_room room_on_instances(const struct sl_scratch *scratch, unsigned pool,
                                        struct wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            room.free += instance_free(scratch, pool, i, wanted);
        }
    }
    /* An exclusive instance is a part of its own; so may a replica be on so large a node. */
    bool bounded = node->pool[pool].kind == SL_KIND_MIG || node->n_instances > SL_ASSIGNMENT_MAX;
    room.largest = bounded ? least(room.free, SL_ASSIGNMENT_MAX) : room.free;
    return room;
}

/* Of how many GPUs of the node parts of that share are wanted. */
static unsigned parts_of(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item)
{
    return node->pool[pool].spans && item != NULL && item->gpus > 1 ? item->gpus : 1;
}

/* For no item in particular it is as much as any could get. */
static struct sl_room room_of_memory(const struct sl_scratch *scratch, unsigned pool,
                                     const struct sl_ask_item *item, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    unsigned parts = parts_of(node, pool, item);
    int64_t share = parts > 1 ? item->count / parts : 0;
    int64_t n = 0;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t free = memory_free(scratch, i, any_health);
        n += parts > 1 && free >= share;
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
                                      struct wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        room.free += p->kind == SL_KIND_REPLICA ? replicas_free(scratch, pool, i, wanted)
                                                : whole_open(scratch, pool, i, wanted);
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
    const struct wanted wanted = {picky ? item : NULL, ANY_SIZE, any_health};
    int64_t left =
        scratch->pool_used[pool] < p->capacity ? p->capacity - scratch->pool_used[pool] : 0;
    struct sl_room room = {left, left};
    if (!p->on_devices) {
        room.free = picky ? least(left, sl_memory_by_counts(scratch, pool, item)) : left;
        room.largest = room.free;
    } else if (p->kind == SL_KIND_MEMORY) {
        room = room_of_memory(scratch, pool, item, any_health);
    } else if (sl_pool_on_instances(node, pool)) {
        room = room_on_instances(scratch, pool, wanted);
    } else {
        room = room_on_devices(scratch, pool, wanted);
    }
    room.free = least(room.free, left);
    room.largest = least(room.largest, left);
    room.largest = p->one_each ? least(room.largest, 1) : room.largest;
    return room;
}

void sl_scratch_take(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                     const struct sl_assignment_part *part, int sign)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    int64_t declared = 0;
    if (p->kind == SL_KIND_REPLICA && item != NULL) {
        declared = sign * least(part->amount, DECLARED_UNITS_MAX) * item->memory_mib;
    }
    scratch->pool_used[pool] += sign * part->amount;
    if (!p->on_devices || part->device < 0) {
        scratch->pool_mib[pool] += declared;
        return;
    }
    struct sl_device_use *use = &scratch->device[part->device];
    if (part->instance >= 0) {
        int32_t *used = &scratch->instance_used[part->instance];
        bool was = *used > 0;
        *used += (int32_t)(sign * part->amount);
        use->instances += (*used > 0) - was;
        scratch->instance_mib[part->instance] += declared;
    } else if (p->kind == SL_KIND_WHOLE) {
        use->whole = sign > 0;
    } else if (p->kind == SL_KIND_REPLICA) {
        use->replicas += (int32_t)(sign * part->amount);
        use->declared_mib += declared;
    } else {
        use->memory_units += sign * part->amount;
    }
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
    const struct wanted anything = {NULL, ANY_SIZE, true};
    if (part->instance >= 0) {
        return part->amount <= instance_free(scratch, pool, (unsigned)part->instance, anything);
    }
    switch (p->kind) {
    case SL_KIND_WHOLE:
        return whole_free(&node->device[i], &scratch->device[i], true);
    case SL_KIND_REPLICA:
        return part->amount <= replicas_free(scratch, pool, i, anything);
    case SL_KIND_MEMORY:
        /* gpushare's annotation is what its plugin obeys: it holds even when over-committed. */
        return shareable(&node->device[i], &scratch->device[i], true);
    case SL_KIND_MIG:
        break;
    }
    return false;
}

/* Where parts go: an item of an ask that is being placed. */
struct target {
    struct sl_scratch *scratch;
    unsigned pool;
    uint8_t number;                 /* of the item in the ask */
    const struct sl_ask_item *item; /* what is booked; may be NULL */
    struct sl_assignment *assignment;
};

/* Books a part and appends it; false when the assignment is full. */
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

static int64_t place_whole(const struct target *target, struct wanted wanted, int64_t count)
{
    const struct sl_node *node = target->scratch->view->node;
    int64_t put = 0;
    for (unsigned i = 0; i < node->n_devices && put < count; i++) {
        if (!whole_open(target->scratch, target->pool, i, wanted)) {
            continue;
        }
        if (!add_part(target, (int)i, -1, 1)) {
            break;
        }
        put++;
    }
    return put;
}

/* The device with the fewest free instances of the pool, -1 when none has any. */
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

static int64_t place_instances(const struct target *target, struct wanted wanted, int64_t count)
{
    struct sl_scratch *scratch = target->scratch;
    const struct sl_node *node = scratch->view->node;
    uint16_t free[SL_NODE_DEVICES_MAX];
    uint16_t first[SL_NODE_DEVICES_MAX]; /* lowest free instance, where there is one */
    for (unsigned d = 0; d < node->n_devices; d++) {
        free[d] = 0;
    }
    for (unsigned i = node->n_instances; i-- > 0;) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->pool == target->pool && instance_free(scratch, target->pool, i, wanted) > 0) {
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
        /* The device stays the one with the fewest until it has none. */
        for (unsigned i = first[device]; i < node->n_instances && free[device] > 0 && put < count;
             i++) {
            const struct sl_instance *instance = &node->instance[i];
            if (instance->pool != target->pool || instance->device != device ||
                instance_free(scratch, target->pool, i, wanted) == 0) {
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

static unsigned list_places(const struct sl_scratch *scratch, unsigned pool, struct wanted wanted,
                            struct sl_place *out)
{
    const struct sl_node *node = scratch->view->node;
    bool on_instances = sl_pool_on_instances(node, pool);
    unsigned count = on_instances ? node->n_instances : node->n_devices;
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < PLACES_MAX; i++) {
        if (on_instances && node->instance[i].pool != pool) {
            continue;
        }
        int64_t free = on_instances ? instance_free(scratch, pool, i, wanted)
                                    : replicas_free(scratch, pool, i, wanted);
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

static int64_t place_replicas(const struct target *target, struct wanted wanted, int64_t count)
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

/* Does the assignment name the device for that item already? */
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

/* One part of so many units; false when no device has it. */
static bool place_share(const struct target *target, struct sl_place_how how, int64_t units)
{
    const struct sl_scratch *scratch = target->scratch;
    const struct sl_node *node = scratch->view->node;
    int best = -1;
    bool best_untouched = false;
    int64_t best_free = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t free = memory_free(scratch, i, how.any_health);
        if (free < units || has_part_on(target, i)) {
            continue;
        }
        bool fresh = how.spare_untouched && untouched(&scratch->device[i]);
        if (best < 0 || fresh < best_untouched || (fresh == best_untouched && free < best_free)) {
            best = (int)i;
            best_untouched = fresh;
            best_free = free;
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
            int64_t free = memory_free(target->scratch, i, how.any_health);
            if (free > most && !has_part_on(target, i)) {
                best = (int)i;
                most = free;
            }
        }
        if (best < 0 || !add_part(target, best, -1, least(most, count - put))) {
            break;
        }
        put += least(most, count - put);
    }
    return put;
}

static int64_t place_memory(const struct target *target, struct sl_place_how how, int64_t count)
{
    if (how.any_part) {
        return spread_memory(target, how, count);
    }
    unsigned parts = parts_of(target->scratch->view->node, target->pool, target->item);
    int64_t share = parts > 1 ? target->item->count / parts : count;
    int64_t put = 0;
    while (share > 0 && count - put >= share && place_share(target, how, share)) {
        put += share;
    }
    return put;
}

static int64_t place_units(const struct target *target, struct wanted wanted, int64_t count)
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
    struct wanted wanted = {picky ? item : NULL, ANY_SIZE, how.any_health};
    if (!node->pool[pool].on_devices) {
        int64_t allowed = picky ? sl_memory_by_counts(scratch, pool, item) : INT64_MAX;
        int64_t put = least(count, allowed);
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

void sl_scratch_undo(struct sl_scratch *scratch, const struct sl_ask_item *item,
                     struct sl_assignment *assignment, unsigned first)
{
    while (assignment->n > first) {
        assignment->n--;
        const struct sl_assignment_part *part = &assignment->part[assignment->n];
        int pool = sl_view_pool(scratch->view, item[part->item].key);
        if (pool >= 0) {
            sl_scratch_take(scratch, (unsigned)pool, &item[part->item], part, -1);
        }
    }
}

/* Only whole GPUs and the shares of devices compete for the same things. A share of memory goes
 * first, to a device in use if one suffices, and so costs a whole GPU only when it must; which of
 * the untouched devices go whole then makes no difference to replicas, that find as many in the
 * rest. */
enum { TURNS = 3 };

static unsigned turn(enum sl_kind kind)
{
    static const uint8_t turns[] = {
        [SL_KIND_MEMORY] = 0, [SL_KIND_WHOLE] = 1, [SL_KIND_MIG] = 2, [SL_KIND_REPLICA] = 2};
    return turns[kind];
}

/* All the units of one item, or none. */
static bool place_item(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *items,
                       unsigned i, struct sl_place_how how, struct sl_assignment *assignment)
{
    int64_t count = items[i].count;
    int64_t used = scratch->pool_used[pool];
    int64_t capacity = scratch->view->node->pool[pool].capacity;
    if (used >= capacity || count > capacity - used ||
        (count > 1 && scratch->view->node->pool[pool].one_each)) {
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
