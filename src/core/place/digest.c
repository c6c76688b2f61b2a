/* Digests all that scores read of a view, so that equal nodes are scored once. It leaves out names
 * and addresses, and so is the same in every run. */
#include "core/place/choose.h"

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9fb21c651e98df25);
    return h ^ (h >> 32);
}

static uint64_t mix_profile(uint64_t h, const struct sl_mig_profile *profile)
{
    return profile == NULL
               ? mix(h, 0)
               : mix(h, (uint64_t)profile->compute << 40 | (uint64_t)profile->memory << 32 |
                            (uint64_t)profile->attributes << 24 | profile->memory_gb);
}

static uint64_t mix_model(uint64_t h, const struct sl_mig_model *model)
{
    return mix(h, model == NULL ? 0 : sl_hash(model->name, strlen(model->name)));
}

static uint64_t mix_pools(uint64_t h, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        h = mix(h, pool->key);
        h = mix(h, (uint64_t)pool->capacity);
        h = mix(h, (uint64_t)pool->kind << 40 | (uint64_t)pool->on_devices << 32 |
                       (uint32_t)pool->replicas);
        h = mix_profile(h, pool->profile);
        h = mix(h, (uint64_t)view->pool_used[i]);
        h = mix(h, (uint64_t)pool->memory_mib << 3 | (uint64_t)pool->spans << 2 |
                       (uint64_t)pool->one_each << 1 | pool->equal_memory);
        h = mix(h, (uint64_t)pool->total_mib);
        h = mix(h, (uint64_t)view->pool_mib[i]);
    }
    return h;
}

static uint64_t mix_measured(uint64_t h, const struct sl_measured *measured)
{
    h = mix(h, (uint64_t)(uint32_t)measured->room_mib << 32 | (uint32_t)measured->over_mib);
    for (unsigned i = 0; i < SL_MEASURED_KNOWN && measured->known[i].workload != 0; i++) {
        const struct sl_measured_peak *peak = &measured->known[i];
        h = mix(h, (uint64_t)peak->workload << 32 | (uint32_t)peak->permille << 16 | peak->lives);
    }
    return mix(h, (uint64_t)(uint32_t)measured->reserve_mib << 32 | sl_measured_repels(measured));
}

static uint64_t mix_devices(uint64_t h, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    const struct sl_mig_model *model = node->model;
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device *device = &node->device[i];
        const struct sl_device_use *use = &view->device[i];
        bool other = device->model != model;
        model = device->model;
        h = other ? mix_model(h, model) : h;
        h = mix(h, (uint64_t)other << 3 | (uint64_t)device->healthy << 2 |
                       (uint64_t)device->mig << 1 | use->whole);
        h = mix(h, (uint64_t)device->memory_units);
        h = mix(h, (uint64_t)use->memory_units);
        h = mix(h, (uint64_t)device->memory_mib);
        h = mix(h, (uint64_t)use->declared_mib);
        h = mix(h, (uint64_t)(uint32_t)use->replicas << 32 | (uint32_t)use->instances);
        h = view->measured == NULL ? h : mix_measured(h, &view->measured[i]);
    }
    return h;
}

static uint64_t mix_instances(uint64_t h, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        h = mix_profile(h, instance->profile);
        h = mix(h, (uint64_t)instance->device << 48 | (uint64_t)(uint8_t)instance->start << 40 |
                       (uint64_t)instance->pool << 32 | (uint32_t)view->instance_used[i]);
        h = mix(h, (uint64_t)view->instance_mib[i]);
        h = mix(h, instance->slices);
    }
    return h;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t n)
{
    return n == 0 ? h : mix(h, sl_rank_hash(bytes, n)); /* a mistake aims at no collision */
}

uint64_t sl_view_seal(const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    uint64_t h = sl_view_digest(view);
    h = mix_bytes(h, view, sizeof(*view) + view->n_pools * sizeof(view->room[0]));
    h = mix_bytes(h, node, offsetof(struct sl_node, refs));
    h = mix_bytes(h, view->measured,
                  view->measured == NULL ? 0 : node->n_devices * sizeof(*view->measured));
    h = mix_bytes(h, view->part, view->n_parts * sizeof(*view->part));
    h = mix_bytes(h, view->gap, view->idle.steps == 0 ? 0 : node->n_devices);
    for (uint32_t i = 0; i < view->n_residents; i++) {
        h = mix_bytes(h, &view->resident[i], sizeof(view->resident[i]));
        h = mix_bytes(h, view->resident[i].pod, offsetof(struct sl_pod, refs));
    }
    return h == 0 ? 1 : h; /* 0 stands for none */
}

uint64_t sl_view_digest(const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    uint64_t h = mix(1, (uint64_t)node->dynamic_mig << 48 | (uint64_t)node->n_devices << 32 |
                            (uint64_t)node->n_instances << 16 | node->n_pools);
    h = mix_model(h, node->model);
    h = mix_pools(h, view);
    h = mix_devices(h, view);
    h = mix_instances(h, view);
    h = view->withheld ? mix(h, 1) : h;
    return h == 0 ? 1 : h; /* 0 stands for none */
}
