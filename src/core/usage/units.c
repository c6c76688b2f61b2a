/* Which GPUs and instances a node can have, whatever an exporter tells of it. */
#include "sliced/usage.h"

unsigned sl_usage_gpus(const struct sl_node *node)
{
    int64_t n = node->partition.n_gpus;
    n = node->n_devices > n ? node->n_devices : n;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        n = sl_kinds[pool->kind].whole && pool->capacity > n ? pool->capacity : n;
    }
    return n > 0 && n < SL_NODE_DEVICES_MAX ? (unsigned)n : SL_NODE_DEVICES_MAX;
}

/* NULL: no such GPU is listed. */
static const struct sl_device *device_of(const struct sl_node *node, int64_t gpu, const char *uuid)
{
    const struct sl_device *found = NULL;
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device *device = &node->device[i];
        bool both = device->uuid != NULL && uuid[0] != '\0';
        bool same = both ? strcmp(device->uuid, uuid) == 0 : device->index == gpu;
        found = same ? device : found;
    }
    return found;
}

unsigned sl_usage_instances(const struct sl_node *node, int64_t gpu, const char *uuid)
{
    const struct sl_device *device = device_of(node, gpu, uuid);
    const struct sl_mig_model *model = device == NULL ? node->model : device->model;
    unsigned most = model == NULL ? SL_MIG_INSTANCES_MAX - 1 : 1;
    for (unsigned i = 0; model != NULL && i < model->n_profiles; i++) {
        most = model->profiles[i].max_count > most ? model->profiles[i].max_count : most;
    }
    return most;
}

bool sl_usage_expects(const struct sl_node *node, int64_t gpu, const char *uuid, int64_t instance,
                      const char *profile)
{
    const struct sl_device *device = device_of(node, gpu, uuid);
    const struct sl_mig_model *model = device == NULL ? node->model : device->model;
    bool offered = instance < 0;
    for (unsigned i = 0; i < node->n_pools && model != NULL && !offered; i++) {
        const struct sl_mig_profile *pool = node->pool[i].profile;
        offered = pool != NULL && pool == sl_mig_profile_find(model, sl_str_of(profile));
    }
    return offered && (device != NULL || (node->n_devices == 0 && gpu < sl_usage_gpus(node)));
}

bool sl_usage_has_instances(const struct sl_node *node)
{
    bool has = node->model != NULL; /* it may be cut by and by */
    for (unsigned i = 0; i < node->n_pools; i++) {
        has = has || sl_kinds[node->pool[i].kind].instance || node->pool[i].profile != NULL;
    }
    return has;
}
