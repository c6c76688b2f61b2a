/* How much of a node's GPUs is in use. */
#include "sim/play/share.h"

/* ---- asks ---- */

struct count {
    uint32_t ask; /* index in the workload, of the first of that resource and count */
    uint64_t jobs;
};

static bool asks_alike(const struct sl_job_ask *a, const struct sl_job_ask *b)
{
    return a->count == b->count && strcmp(a->resource, b->resource) == 0;
}

/* Keeps the commonest asks first; a new ask takes the last place if it is commoner. */
static void count_ask(const struct sl_workload *workload, uint32_t ask, struct count *list,
                      uint32_t *n)
{
    struct count fresh = {ask, workload->ask[ask].jobs};
    uint32_t at = 0;
    while (at < *n && !asks_alike(&workload->ask[list[at].ask], &workload->ask[ask])) {
        at++;
    }
    if (at < *n) {
        fresh = (struct count){list[at].ask, list[at].jobs + fresh.jobs};
    } else if (*n < SL_SHARE_ASKS_MAX) {
        (*n)++;
    } else if (list[--at].jobs >= fresh.jobs) {
        return;
    }
    while (at > 0 && list[at - 1].jobs < fresh.jobs) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = fresh;
}

void sl_share_asks_of(const struct sl_workload *workload, struct sl_share_asks *out)
{
    struct count list[SL_SHARE_ASKS_MAX] = {{0}};
    uint64_t sum = 0;
    memset(out, 0, sizeof(*out));
    for (uint32_t i = 0; i < workload->n_asks; i++) {
        count_ask(workload, i, list, &out->n);
    }
    for (uint32_t i = 0; i < out->n; i++) {
        sum += list[i].jobs;
    }
    for (uint32_t i = 0; i < out->n; i++) {
        const struct sl_job_ask *ask = &workload->ask[list[i].ask];
        struct sl_resource resource;
        (void)sl_resource_parse(sl_str_of(ask->resource), &resource);
        out->ask[i].n = 1;
        out->ask[i].item[0] = (struct sl_ask_item){
            .resource = ask->resource,
            .key = resource.key,
            .count = ask->count,
            .each = ask->count < UINT8_MAX ? (uint8_t)ask->count : UINT8_MAX,
            .kind = resource.kind,
            .shape = resource.shape,
        };
        out->popularity[i] = (int64_t)(sum > 0 ? list[i].jobs * SL_SHARE_ONE / sum : 0);
    }
}

/* ---- devices ---- */

static int64_t part_of_one(int64_t part, int64_t whole)
{
    if (whole <= 0 || part <= 0) {
        return 0;
    }
    return part >= whole ? SL_SHARE_ONE : part * SL_SHARE_ONE / whole;
}

static int64_t instance_share(const struct sl_node *node, unsigned i)
{
    const struct sl_instance *instance = &node->instance[i];
    const struct sl_mig_model *model = node->device[instance->device].model;
    if (instance->profile != NULL && model != NULL) {
        return part_of_one(instance->profile->memory, model->memory_slices);
    }
    const struct sl_pool *pool = &node->pool[instance->pool];
    if (instance->slices > 0 && node->device[instance->device].memory_mib > 0) {
        return part_of_one(instance->slices * pool->memory_mib,
                           node->device[instance->device].memory_mib);
    }
    int64_t beside = 0;
    for (unsigned k = 0; k < node->n_instances; k++) {
        beside += node->instance[k].device == instance->device ? 1 : 0;
    }
    return part_of_one(1, beside);
}

static int64_t instance_busy(const struct sl_view *view, unsigned i)
{
    int64_t used = part_of_one(view->instance_used[i], sl_node_instance_units(view->node, i));
    return instance_share(view->node, i) * used / SL_SHARE_ONE;
}

/* Replicas that a GPU offers: those of the pool of replicas that is on devices. */
static int64_t replicas_of(const struct sl_node *node)
{
    int64_t most = 0;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        if (sl_kinds[pool->kind].replica && pool->on_devices && pool->replicas > most) {
            most = pool->replicas;
        }
    }
    return most;
}

static int64_t device_capacity(const struct sl_node *node, unsigned d)
{
    int64_t share = 0;
    if (!node->device[d].mig) {
        return SL_SHARE_ONE;
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        share += node->instance[i].device == d ? instance_share(node, i) : 0;
    }
    return share < SL_SHARE_ONE ? share : SL_SHARE_ONE;
}

static int64_t device_busy(const struct sl_view *view, unsigned d)
{
    const struct sl_node *node = view->node;
    const struct sl_device_use *use = &view->device[d];
    if (use->whole) {
        return SL_SHARE_ONE;
    }
    int64_t busy = part_of_one(use->replicas, replicas_of(node));
    int64_t memory = part_of_one(use->memory_units, node->device[d].memory_units);
    busy = memory > busy ? memory : busy;
    for (unsigned i = 0; i < node->n_instances && node->device[d].mig; i++) {
        busy += node->instance[i].device == d ? instance_busy(view, i) : 0;
    }
    return busy;
}

/* ---- pools with known counts only ---- */

static int64_t unit_share(const struct sl_node *node, const struct sl_pool *pool)
{
    if (sl_kinds[pool->kind].memory) {
        return part_of_one(1, pool->capacity);
    }
    if (pool->profile != NULL && node->model != NULL) {
        return part_of_one(pool->profile->memory, node->model->memory_slices) /
               (pool->replicas > 0 ? pool->replicas : 1);
    }
    if (pool->slices && node->model != NULL) {
        return part_of_one(pool->memory_mib, (int64_t)node->model->memory_gib * 1024);
    }
    return SL_SHARE_ONE / (pool->replicas > 0 ? pool->replicas : 1);
}

/* Units of the pools that are tied to no device, as GPU share. */
static int64_t units_counted(const struct sl_node *node, const struct sl_view *used)
{
    int64_t share = 0;
    for (unsigned i = 0; i < node->n_pools; i++) {
        const struct sl_pool *pool = &node->pool[i];
        if (!pool->on_devices) {
            int64_t units = used == NULL ? pool->capacity : used->pool_used[i];
            share += units * unit_share(node, pool);
        }
    }
    return share;
}

int64_t sl_share_capacity(const struct sl_node *node)
{
    int64_t share = units_counted(node, NULL);
    for (unsigned d = 0; d < node->n_devices; d++) {
        share += device_capacity(node, d);
    }
    return share;
}

int64_t sl_share_busy(const struct sl_view *view)
{
    int64_t share = units_counted(view->node, view);
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        share += device_busy(view, d);
    }
    return share;
}

/* ---- fragmentation ---- */

static int64_t free_instances(const struct sl_view *view, unsigned d, unsigned pool)
{
    int64_t share = 0;
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        const struct sl_instance *instance = &view->node->instance[i];
        if (instance->device == d && instance->pool == pool) {
            share += instance_share(view->node, i) - instance_busy(view, i);
        }
    }
    return share;
}

/* The idle part of a device that the ask could use, given that it fits the node. */
static int64_t units_usable(const struct sl_view *view, unsigned d, unsigned pool,
                            const struct sl_ask_item *item, int64_t idle)
{
    const struct sl_device *device = &view->node->device[d];
    const struct sl_pool *row = &view->node->pool[pool];
    if (!row->on_devices) {
        return idle;
    }
    if (device->mig) {
        return free_instances(view, d, pool);
    }
    bool enough = sl_kinds[row->kind].whole ? idle == SL_SHARE_ONE
                  : sl_kinds[row->kind].memory
                      ? device->memory_units - view->device[d].memory_units >= item->count
                      : true;
    return enough ? idle : 0;
}

static int64_t units_useless(const struct sl_view *view, const struct sl_ask *ask, int64_t idle_all)
{
    int pool = sl_view_pool(view, ask->item[0].key);
    int64_t lost = 0;
    if (pool < 0 || !sl_fit(view, ask, NULL)) {
        return idle_all;
    }
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        int64_t idle = device_capacity(view->node, d) - device_busy(view, d);
        lost += idle > 0 ? idle - units_usable(view, d, (unsigned)pool, &ask->item[0], idle) : 0;
    }
    return lost;
}

int64_t sl_share_fragmented(const struct sl_view *view, const struct sl_share_asks *asks)
{
    int64_t idle = sl_share_capacity(view->node) - sl_share_busy(view);
    int64_t lost = 0;
    for (uint32_t i = 0; i < asks->n && idle > 0; i++) {
        lost += units_useless(view, &asks->ask[i], idle) * asks->popularity[i] / SL_SHARE_ONE;
    }
    return lost;
}
