/* Replicas of devices or of instances, dealt out as NVIDIA's device plugin does. */
#include "core/place/kind/deal.h"
#include "core/place/kind/kind.h"

enum { PLACES_MAX = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX };

static int64_t replica_free(const struct sl_scratch *scratch, unsigned pool, unsigned i,
                            struct sl_wanted wanted)
{
    const struct sl_node *node = scratch->view->node;
    const struct sl_device_use *use = &scratch->device[i];
    if (!sl_device_shareable(&node->device[i], use, wanted.any_health) ||
        !sl_wanted_is_of_size(node, pool, i, wanted)) {
        return 0;
    }
    int64_t free = sl_at_least_zero((int64_t)node->pool[pool].replicas - use->replicas);
    return wanted.item == NULL || free == 0
               ? free
               : sl_least(free, sl_memory_on_device(scratch, pool, wanted.item, i));
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
                                    : replica_free(scratch, pool, i, wanted);
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

static int64_t replica_place(const struct sl_target *target, struct sl_wanted wanted, int64_t count)
{
    struct sl_place place[PLACES_MAX];
    unsigned n = list_places(target->scratch, target->pool, wanted, place);
    sl_deal(place, n, count);
    int64_t put = 0;
    for (unsigned i = 0; i < n; i++) {
        if (place[i].taken == 0) {
            continue;
        }
        if (!sl_target_add(target, place[i].device, place[i].instance, place[i].taken)) {
            break;
        }
        put += place[i].taken;
    }
    return put;
}

const struct sl_kind_place sl_place_replica = {.free = replica_free, .place = replica_place};
