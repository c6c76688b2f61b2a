/* Measures how much of each GPU of a node is idle, in a few bytes. */
#include "core/place/choose.h"

#include "core/node/pool.h"

enum { STEPS = 100 }; /* of a device with too many units to count each */

int32_t sl_idle_steps(int64_t units, int32_t replicas)
{
    int64_t grain = units > 0 ? units : replicas;
    return grain > 1 && grain <= SL_IDLE_STEPS ? (int32_t)grain : STEPS;
}

/* floor(left * steps / units) */
static int32_t share(int64_t left, int64_t units, int32_t steps)
{
    while (left > INT64_MAX / SL_IDLE_STEPS) {
        left >>= 1;
        units >>= 1;
    }
    return units > 0 ? (int32_t)(left * steps / units) : 0;
}

int32_t sl_idle_gap(const struct sl_device *device, const struct sl_device_use *use, int64_t units,
                    int32_t replicas)
{
    int32_t steps = sl_idle_steps(units, replicas);
    int32_t gap = steps;
    if (!device->healthy || device->mig || use->whole || use->instances > 0) {
        return 0;
    }
    if (use->memory_units > 0) {
        gap = units > use->memory_units ? share(units - use->memory_units, units, steps) : 0;
    }
    if (use->replicas > 0) {
        int32_t left = replicas > use->replicas ? replicas - use->replicas : 0;
        int32_t by_replicas = replicas > 0 ? share(left, replicas, steps) : 0;
        gap = by_replicas < gap ? by_replicas : gap;
    }
    return gap;
}

/* False when some units are not tied to devices. */
static bool read_pools(const struct sl_node *node, struct sl_view_idle *idle, bool *memory)
{
    bool tied = true;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        if (sl_pool_on_instances(node, i)) {
            continue;
        }
        idle->pools |= UINT32_C(1) << i;
        idle->whole = sl_kinds[pool->kind].whole ? (int16_t)i : idle->whole;
        idle->replicas = sl_kinds[pool->kind].replica ? pool->replicas : idle->replicas;
        *memory = *memory || sl_kinds[pool->kind].memory;
        tied = tied && pool->on_devices;
    }
    return tied;
}

void sl_view_measure_idle(struct sl_view *view)
{
    const struct sl_node *node = view->node;
    struct sl_view_idle *idle = &view->idle;
    bool memory = false;
    *idle = (struct sl_view_idle){.cpu_milli = node->host.cpu_milli > 0 ? node->host.cpu_milli : -1,
                                  .whole = -1,
                                  .n_devices = node->n_devices};
    if (!read_pools(node, idle, &memory) || node->n_devices == 0) {
        return;
    }
    idle->units = memory ? node->device[0].memory_units : 0;
    for (unsigned i = 1; memory && i < node->n_devices; i++) {
        if (node->device[i].memory_units != idle->units) {
            return;
        }
    }
    idle->steps = sl_idle_steps(idle->units, idle->replicas);
    for (unsigned i = 0; i < node->n_devices; i++) {
        view->gap[i] =
            (uint8_t)sl_idle_gap(&node->device[i], &view->device[i], idle->units, idle->replicas);
    }
}
