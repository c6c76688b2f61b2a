/* Finds the GPU memory of a pool's unit, from labels or its profile's name, and how replicas share
 * it. NVIDIA's plugin, and nos' for slices, gives each MPS client its part of the memory; under
 * time-slicing all replicas see all memory.
 *
 * failRequestsGreaterThanOne of NVIDIA's plugin has three states: not said, it counts as true for
 * MPS and as false for time-slicing (NVIDIA/k8s-device-plugin, pull request 1762; before that MPS
 * refused several whatever was said). nos' plugin always refuses several slices. */
#include "core/node/draft.h"

static int64_t gpu_mib(const struct sl_draft *draft)
{
    if (draft->labels.memory_mib > 0 || draft->model == NULL) {
        return draft->labels.memory_mib;
    }
    return (int64_t)draft->model->memory_gib * 1024;
}

static int64_t thing_mib(const struct sl_draft *draft, const struct sl_draft_pool *pool)
{
    if (!pool->on_instances) {
        return gpu_mib(draft);
    }
    if (pool->label_mib > 0 || pool->pool.profile == NULL) {
        return pool->label_mib;
    }
    return sl_mig_profile_mib(pool->pool.profile);
}

void sl_draft_memory(struct sl_draft *draft)
{
    for (unsigned i = 0; i < draft->n_pools; i++) {
        struct sl_draft_pool *pool = &draft->pool[i];
        struct sl_pool *p = &pool->pool;
        bool replica = p->kind == SL_KIND_REPLICA;
        if (p->kind == SL_KIND_MEMORY) {
            p->spans = draft->labels.spans;
            continue;
        }
        p->memory_mib = thing_mib(draft, pool);
        p->equal_memory = replica && (draft->labels.mps || p->slices);
        p->one_each = replica && (p->slices || draft->labels.one_each > 0 ||
                                  (p->equal_memory && draft->labels.one_each == 0));
        if (!replica || p->on_devices) {
            continue;
        }
        if (__builtin_mul_overflow(p->memory_mib, pool->label_count, &p->total_mib)) {
            p->total_mib = 0;
        }
        if (p->equal_memory && pool->label_replicas > 1) {
            p->memory_mib /= pool->label_replicas;
        }
    }
}
