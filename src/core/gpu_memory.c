/* How much GPU memory a unit has, and which units will do for an item that says how much it needs:
 * what others have declared of a shared GPU is not there any more. */
#include "core/choose.h"

int64_t sl_node_unit_mib(const struct sl_node *node, unsigned pool, int device, int instance)
{
    const struct sl_pool *p = &node->pool[pool];
    if (instance >= 0) {
        const struct sl_mig_profile *profile = node->instance[instance].profile;
        if (p->memory_mib > 0 && (profile == NULL || profile == p->profile)) {
            return p->memory_mib;
        }
        return profile == NULL ? 0 : (int64_t)profile->memory_gb * 1024;
    }
    if (device < 0) {
        return p->memory_mib;
    }
    int64_t mib = node->device[device].memory_mib;
    return p->equal_memory && p->replicas > 1 ? mib / p->replicas : mib;
}

static int64_t at_least_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

static int64_t need_of(const struct sl_ask_item *item)
{
    return item->memory_mib > item->least_mib ? item->memory_mib : item->least_mib;
}

/* Will a unit of that memory do? What nobody knows does not, where the pod sets a minimum. */
static bool suffices(const struct sl_ask_item *item, int64_t unit_mib)
{
    if (unit_mib == 0) {
        return item->least_mib == 0;
    }
    return unit_mib >= need_of(item);
}

/* How many units of a replica's declared share what is left of the memory has. */
static int64_t shares_left(const struct sl_ask_item *item, int64_t all_mib, int64_t declared_mib)
{
    if (item->memory_mib == 0 || all_mib == 0) {
        return INT64_MAX;
    }
    return at_least_zero(all_mib - declared_mib) / item->memory_mib;
}

int64_t sl_memory_of_instance(const struct sl_node *node, unsigned instance)
{
    return sl_node_unit_mib(node, node->instance[instance].pool, node->instance[instance].device,
                            (int)instance);
}

int64_t sl_memory_on_instance(const struct sl_scratch *scratch, unsigned pool,
                              const struct sl_ask_item *item, unsigned i)
{
    int64_t mib = sl_memory_of_instance(scratch->view->node, i);
    if (!suffices(item, mib)) {
        return 0;
    }
    bool shared = scratch->view->node->pool[pool].kind == SL_KIND_REPLICA;
    return shared ? shares_left(item, mib, scratch->instance_mib[i]) : INT64_MAX;
}

int64_t sl_memory_on_device(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item, unsigned i)
{
    const struct sl_node *node = scratch->view->node;
    if (!suffices(item, sl_node_unit_mib(node, pool, (int)i, -1))) {
        return 0;
    }
    bool shared = node->pool[pool].kind == SL_KIND_REPLICA;
    return shared ? shares_left(item, node->device[i].memory_mib, scratch->device[i].declared_mib)
                  : INT64_MAX;
}

int64_t sl_memory_by_counts(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    if (!suffices(item, p->memory_mib)) {
        return 0;
    }
    bool shared = p->kind == SL_KIND_REPLICA;
    return shared ? shares_left(item, p->total_mib, scratch->pool_mib[pool]) : INT64_MAX;
}

bool sl_memory_next_size(const struct sl_node *node, unsigned pool, const struct sl_ask_item *item,
                         int64_t *size)
{
    bool on_instances = sl_pool_on_instances(node, pool);
    unsigned n = on_instances ? node->n_instances : node->n_devices;
    int64_t best = INT64_MAX;
    for (unsigned i = 0; i < n; i++) {
        if (on_instances && node->instance[i].pool != pool) {
            continue;
        }
        int64_t mib = on_instances ? sl_memory_of_instance(node, i)
                                   : sl_node_unit_mib(node, pool, (int)i, -1);
        best = mib > *size && mib < best && suffices(item, mib) ? mib : best;
    }
    *size = best;
    return best < INT64_MAX;
}

bool sl_scratch_has_memory(const struct sl_scratch *scratch, unsigned pool,
                           const struct sl_ask_item *item, const struct sl_assignment_part *part)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    if (!sl_item_has_memory(item)) {
        return true;
    }
    int64_t allowed = 0;
    if (!p->on_devices) {
        allowed = sl_memory_by_counts(scratch, pool, item);
    } else if (part->instance >= 0) {
        allowed = sl_memory_on_instance(scratch, pool, item, (unsigned)part->instance);
    } else if (part->device >= 0) {
        allowed = sl_memory_on_device(scratch, pool, item, (unsigned)part->device);
    }
    return part->amount <= allowed;
}

int32_t sl_memory_share_needed(const struct sl_view *view, const struct sl_ask *ask)
{
    struct sl_assignment given;
    int64_t needed = 0;
    int64_t all = 0;
    bool says = false;
    for (unsigned i = 0; i < ask->n; i++) {
        says = says || ask->item[i].least_mib > 0;
    }
    if (!says || !sl_choose(view, ask, &given, NULL)) {
        return -1;
    }
    for (unsigned i = 0; i < given.n; i++) {
        const struct sl_assignment_part *part = &given.part[i];
        const struct sl_ask_item *item = &ask->item[part->item];
        int pool = sl_view_pool(view, item->key);
        int64_t mib = sl_node_unit_mib(view->node, (unsigned)pool, part->device, part->instance);
        int64_t most = INT64_MAX / 200 / SL_ASSIGNMENT_MAX / (part->amount > 0 ? part->amount : 1);
        if (item->least_mib > 0 && mib < most) {
            needed += item->least_mib * part->amount;
            all += mib * part->amount;
        }
    }
    return all > 0 ? (int32_t)((200 * needed + all) / (2 * all)) : -1;
}
