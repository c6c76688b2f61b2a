/* MIG instances: a unit is an instance in no use, of a device that is not given otherwise. */
#include "core/place/kind/kind.h"

/* True when instances of the device may be given. */
static bool splittable(const struct sl_device *device, const struct sl_device_use *use,
                       bool any_health)
{
    return sl_device_usable(device, any_health) && !use->whole && use->replicas == 0 &&
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

static int64_t mig_place(const struct sl_target *target, struct sl_wanted wanted, int64_t count)
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
            if (!sl_target_add(target, device, (int)i, 1)) {
                return put;
            }
            free[device]--;
            put++;
        }
    }
    return put;
}

const struct sl_kind_place sl_place_mig = {.place = mig_place};
