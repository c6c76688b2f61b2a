/* Tells what a pool's units are: devices or instances, and their GPU memory. */
#include "core/node/pool.h"

bool sl_pool_on_instances(const struct sl_node *node, unsigned pool)
{
    const struct sl_pool *p = &node->pool[pool];
    if (sl_kinds[p->kind].instance || p->profile != NULL || p->slices) {
        return true;
    }
    for (unsigned i = 0; sl_kinds[p->kind].replica && i < node->n_instances; i++) {
        if (node->instance[i].pool == pool) {
            return true;
        }
    }
    return false;
}

bool sl_pool_is_remade(const struct sl_node *node, unsigned pool)
{
    return node->dynamic_mig && node->model != NULL && node->pool[pool].on_devices &&
           !node->pool[pool].slices;
}

int32_t sl_node_instance_units(const struct sl_node *node, unsigned instance)
{
    const struct sl_instance *own = &node->instance[instance];
    const struct sl_pool *pool = &node->pool[own->pool];
    if (own->slices > 0) {
        return own->slices;
    }
    return sl_kinds[pool->kind].replica ? pool->replicas : 1;
}

int64_t sl_node_unit_mib(const struct sl_node *node, unsigned pool, int device, int instance)
{
    const struct sl_pool *p = &node->pool[pool];
    if (instance >= 0) {
        const struct sl_mig_profile *profile = node->instance[instance].profile;
        if (p->memory_mib > 0 && (profile == NULL || profile == p->profile)) {
            return p->memory_mib;
        }
        return profile == NULL ? 0 : sl_mig_profile_mib(profile);
    }
    if (device < 0) {
        return p->memory_mib;
    }
    int64_t mib = node->device[device].memory_mib;
    return p->equal_memory ? mib / p->replicas : mib;
}

int64_t sl_memory_of_instance(const struct sl_node *node, unsigned instance)
{
    return sl_node_unit_mib(node, node->instance[instance].pool, node->instance[instance].device,
                            (int)instance);
}
