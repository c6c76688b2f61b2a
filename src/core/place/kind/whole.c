/* Whole GPUs: a unit is a device of which nothing else is in use. */
#include "core/place/kind/kind.h"

static int64_t whole_free(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                          struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_device *device = &node->device[i];
    return sl_device_usable(device, wanted.any_health) && !device->mig &&
           sl_device_untouched(&scratch->device[i]) &&
           sl_wanted_is_of_size(node, pool, i, wanted) &&
           (wanted.item == NULL || sl_memory_on_device(scratch, pool, wanted.item, i) > 0);
}

static int64_t whole_place(const struct sl_target *target, struct sl_wanted wanted, int64_t count)
{
    const struct sl_node *node = target->scratch->view->node;
    int64_t put = 0;
    for (unsigned i = 0; i < node->n_devices && put < count; i++) {
        if (whole_free(target->scratch, target->pool, i, wanted) == 0) {
            continue;
        }
        if (!sl_target_add(target, (int)i, -1, 1)) {
            break;
        }
        put++;
    }
    return put;
}

const struct sl_kind_place sl_place_whole = {.free = whole_free, .place = whole_place};
