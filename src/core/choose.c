/* Which devices an ask gets: units are taken out of a scratch copy of a view, item by item. Filter
 * and bind come here both, so that they cannot disagree. */
#include "core/choose.h"

enum { PLACES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX };

static int64_t at_least_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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

static int64_t instance_free(const struct sl_scratch *scratch, const struct sl_pool *pool,
                             unsigned i, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    unsigned device = node->instance[i].device;
    if (!splittable(&node->device[device], &scratch->device[device], any_health)) {
        return 0;
    }
    int32_t most = pool->kind == SL_KIND_REPLICA ? pool->replicas : 1;
    return at_least_zero((int64_t)most - scratch->instance_used[i]);
}

static int64_t replicas_free(const struct sl_scratch *scratch, const struct sl_pool *pool,
                             unsigned i, bool any_health)
{
    const struct sl_device_use *use = &scratch->device[i];
    if (!shareable(&scratch->view->node->device[i], use, any_health)) {
        return 0;
    }
    return at_least_zero((int64_t)pool->replicas - use->replicas);
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
                                        bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            room.free += instance_free(scratch, &node->pool[pool], i, any_health);
        }
    }
    /* An exclusive instance is a part of its own; so may a replica be on so large a node. */
    bool bounded = node->pool[pool].kind == SL_KIND_MIG || node->n_instances > SL_ASSIGNMENT_MAX;
    room.largest = bounded ? least(room.free, SL_ASSIGNMENT_MAX) : room.free;
    return room;
}

static struct sl_room room_of_memory(const struct sl_scratch *scratch, bool any_health)
{
    struct sl_room room = {0};
    for (unsigned i = 0; i < scratch->view->node->n_devices; i++) {
        int64_t free = memory_free(scratch, i, any_health);
        room.free = free > INT64_MAX - room.free ? INT64_MAX : room.free + free;
        room.largest = free > room.largest ? free : room.largest;
    }
    return room;
}

static struct sl_room room_on_devices(const struct sl_scratch *scratch, unsigned pool,
                                      bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    struct sl_room room = {0};
    for (unsigned i = 0; i < node->n_devices; i++) {
        room.free += p->kind == SL_KIND_REPLICA
                         ? replicas_free(scratch, p, i, any_health)
                         : whole_free(&node->device[i], &scratch->device[i], any_health);
    }
    room.largest = room.free;
    return room;
}

struct sl_room sl_scratch_room(const struct sl_scratch *scratch, unsigned pool, bool any_health)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    int64_t left =
        scratch->pool_used[pool] < p->capacity ? p->capacity - scratch->pool_used[pool] : 0;
    struct sl_room room = {left, left};
    if (!p->on_devices) {
        return room;
    }
    if (p->kind == SL_KIND_MEMORY) {
        room = room_of_memory(scratch, any_health);
    } else if (sl_pool_on_instances(node, pool)) {
        room = room_on_instances(scratch, pool, any_health);
    } else {
        room = room_on_devices(scratch, pool, any_health);
    }
    room.free = least(room.free, left);
    room.largest = least(room.largest, left);
    return room;
}

void sl_scratch_take(struct sl_scratch *scratch, unsigned pool,
                     const struct sl_assignment_part *part, int sign)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    scratch->pool_used[pool] += sign * part->amount;
    if (!p->on_devices || part->device < 0) {
        return;
    }
    struct sl_device_use *use = &scratch->device[part->device];
    if (part->instance >= 0) {
        int32_t *used = &scratch->instance_used[part->instance];
        bool was = *used > 0;
        *used += (int32_t)(sign * part->amount);
        use->instances += (*used > 0) - was;
    } else if (p->kind == SL_KIND_WHOLE) {
        use->whole = sign > 0;
    } else if (p->kind == SL_KIND_REPLICA) {
        use->replicas += (int32_t)(sign * part->amount);
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
    if (part->instance >= 0) {
        return part->amount <= instance_free(scratch, p, (unsigned)part->instance, true);
    }
    switch (p->kind) {
    case SL_KIND_WHOLE:
        return whole_free(&node->device[i], &scratch->device[i], true);
    case SL_KIND_REPLICA:
        return part->amount <= replicas_free(scratch, p, i, true);
    case SL_KIND_MEMORY:
        /* gpushare's annotation is what its plugin obeys: it holds even when over-committed. */
        return shareable(&node->device[i], &scratch->device[i], true);
    case SL_KIND_MIG:
        break;
    }
    return false;
}

/* Books a part and appends it; false when the assignment is full. */
static bool add_part(struct sl_scratch *scratch, unsigned pool, struct sl_assignment_part part,
                     struct sl_assignment *assignment)
{
    if (assignment->n >= SL_ASSIGNMENT_MAX) {
        return false;
    }
    assignment->part[assignment->n] = part;
    assignment->n++;
    sl_scratch_take(scratch, pool, &part, 1);
    return true;
}

static int64_t place_whole(struct sl_scratch *scratch, unsigned pool, uint8_t item, int64_t count,
                           bool any_health, struct sl_assignment *assignment)
{
    const struct sl_node *node = scratch->view->node;
    int64_t put = 0;
    for (unsigned i = 0; i < node->n_devices && put < count; i++) {
        if (!whole_free(&node->device[i], &scratch->device[i], any_health)) {
            continue;
        }
        struct sl_assignment_part part = {item, (int16_t)i, -1, 1};
        if (!add_part(scratch, pool, part, assignment)) {
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

static int64_t place_instances(struct sl_scratch *scratch, unsigned pool, uint8_t item,
                               int64_t count, bool any_health, struct sl_assignment *assignment)
{
    const struct sl_node *node = scratch->view->node;
    bool open[SL_NODE_DEVICES_MAX];
    uint16_t free[SL_NODE_DEVICES_MAX];
    uint16_t first[SL_NODE_DEVICES_MAX]; /* lowest free instance, where there is one */
    for (unsigned d = 0; d < node->n_devices; d++) {
        open[d] = splittable(&node->device[d], &scratch->device[d], any_health);
        free[d] = 0;
    }
    for (unsigned i = node->n_instances; i-- > 0;) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->pool == pool && scratch->instance_used[i] == 0 && open[instance->device]) {
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
            if (instance->pool != pool || instance->device != device ||
                scratch->instance_used[i] != 0) {
                continue;
            }
            struct sl_assignment_part part = {item, (int16_t)device, (int16_t)i, 1};
            if (!add_part(scratch, pool, part, assignment)) {
                return put;
            }
            free[device]--;
            put++;
        }
    }
    return put;
}

/* A device or an instance that replicas may go to. */
struct place {
    int16_t device;
    int16_t instance;
    bool picked; /* in the last round */
    int64_t used;
    int64_t free;
    int64_t taken;
};

static unsigned list_places(const struct sl_scratch *scratch, unsigned pool, bool any_health,
                            struct place *out)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_pool *p = &node->pool[pool];
    bool on_instances = sl_pool_on_instances(node, pool);
    unsigned count = on_instances ? node->n_instances : node->n_devices;
    unsigned n = 0;
    for (unsigned i = 0; i < count && n < PLACES_MAX; i++) {
        if (on_instances && node->instance[i].pool != pool) {
            continue;
        }
        int64_t free = on_instances ? instance_free(scratch, p, i, any_health)
                                    : replicas_free(scratch, p, i, any_health);
        if (free == 0) {
            continue;
        }
        out[n] = on_instances ? (struct place){.device = (int16_t)node->instance[i].device,
                                               .instance = (int16_t)i,
                                               .used = scratch->instance_used[i]}
                              : (struct place){.device = (int16_t)i,
                                               .instance = -1,
                                               .used = scratch->device[i].replicas};
        out[n].free = free;
        n++;
    }
    return n;
}

/* One unit each to the least used places that have not had one in this round. */
static void last_round(struct place *place, unsigned n, int64_t left)
{
    for (; left > 0; left--) {
        struct place *best = NULL;
        for (unsigned i = 0; i < n; i++) {
            if (!place[i].picked && place[i].taken < place[i].free &&
                (best == NULL || place[i].used < best->used)) {
                best = &place[i];
            }
        }
        if (best == NULL) {
            return;
        }
        best->picked = true;
        best->taken++;
    }
}

/* Deals out count units in rounds of one for each place that is not full: many rounds at a time, so
 * that the work does not grow with the count. */
static void deal(struct place *place, unsigned n, int64_t count)
{
    int64_t left = count;
    while (left > 0) {
        int64_t open = 0;
        int64_t rounds = INT64_MAX;
        for (unsigned i = 0; i < n; i++) {
            if (place[i].taken < place[i].free) {
                open++;
                rounds = least(rounds, place[i].free - place[i].taken);
            }
        }
        if (open == 0) {
            return;
        }
        rounds = least(rounds, left / open);
        if (rounds == 0) {
            last_round(place, n, left);
            return;
        }
        for (unsigned i = 0; i < n; i++) {
            place[i].taken += place[i].taken < place[i].free ? rounds : 0;
        }
        left -= rounds * open;
    }
}

static int64_t place_replicas(struct sl_scratch *scratch, unsigned pool, uint8_t item,
                              int64_t count, bool any_health, struct sl_assignment *assignment)
{
    struct place place[PLACES_MAX];
    unsigned n = list_places(scratch, pool, any_health, place);
    deal(place, n, count);
    int64_t put = 0;
    for (unsigned i = 0; i < n; i++) {
        if (place[i].taken == 0) {
            continue;
        }
        struct sl_assignment_part part = {item, place[i].device, place[i].instance, place[i].taken};
        if (!add_part(scratch, pool, part, assignment)) {
            break;
        }
        put += place[i].taken;
    }
    return put;
}

static int64_t place_memory(struct sl_scratch *scratch, unsigned pool, uint8_t item, int64_t count,
                            struct sl_place_how how, struct sl_assignment *assignment)
{
    const struct sl_node *node = scratch->view->node;
    int best = -1;
    bool best_untouched = false;
    int64_t best_free = 0;
    for (unsigned i = 0; i < node->n_devices; i++) {
        int64_t free = memory_free(scratch, i, how.any_health);
        if (free < count) {
            continue;
        }
        bool fresh = how.spare_untouched && untouched(&scratch->device[i]);
        if (best < 0 || fresh < best_untouched || (fresh == best_untouched && free < best_free)) {
            best = (int)i;
            best_untouched = fresh;
            best_free = free;
        }
    }
    if (best < 0) {
        return 0;
    }
    struct sl_assignment_part part = {item, (int16_t)best, -1, count};
    return add_part(scratch, pool, part, assignment) ? count : 0;
}

int64_t sl_scratch_place(struct sl_scratch *scratch, unsigned pool, uint8_t item, int64_t count,
                         struct sl_place_how how, struct sl_assignment *assignment)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    if (!p->on_devices) {
        struct sl_assignment_part part = {item, -1, -1, count};
        return add_part(scratch, pool, part, assignment) ? count : 0;
    }
    switch (p->kind) {
    case SL_KIND_WHOLE:
        return place_whole(scratch, pool, item, count, how.any_health, assignment);
    case SL_KIND_MIG:
        return place_instances(scratch, pool, item, count, how.any_health, assignment);
    case SL_KIND_REPLICA:
        return place_replicas(scratch, pool, item, count, how.any_health, assignment);
    case SL_KIND_MEMORY:
        return place_memory(scratch, pool, item, count, how, assignment);
    }
    return 0;
}

void sl_scratch_undo(struct sl_scratch *scratch, const struct sl_ask_item *item,
                     struct sl_assignment *assignment, unsigned first)
{
    while (assignment->n > first) {
        assignment->n--;
        const struct sl_assignment_part *part = &assignment->part[assignment->n];
        int pool = sl_view_pool(scratch->view, item[part->item].key);
        if (pool >= 0) {
            sl_scratch_take(scratch, (unsigned)pool, part, -1);
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
    if (used >= capacity || count > capacity - used) {
        return false;
    }
    unsigned first = assignment->n;
    if (sl_scratch_place(scratch, pool, (uint8_t)i, count, how, assignment) < count) {
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
