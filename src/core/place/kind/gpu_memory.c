/* Finds the units that have the GPU memory which an item needs. Memory that other pods declared on
 * a shared GPU is taken. */
#include "core/place/kind/kind.h"

/* True when a unit of that memory suffices. Unknown memory suffices for no stated minimum. */
static bool suffices(const struct sl_ask_item *item, int64_t unit_mib)
{
    if (unit_mib == 0) {
        return item->least_mib == 0;
    }
    return unit_mib >= sl_item_mib(item);
}

/* Returns how many declared shares of the item fit in the memory left. */
static int64_t shares_left(const struct sl_ask_item *item, int64_t all_mib, int64_t declared_mib)
{
    if (item->memory_mib == 0 || all_mib == 0) {
        return INT64_MAX;
    }
    return sl_at_least_zero(all_mib - declared_mib) / item->memory_mib;
}

int64_t sl_memory_on_instance(const struct sl_scratch *scratch, unsigned pool,
                              const struct sl_ask_item *item, unsigned i)
{
    int64_t mib = sl_memory_of_instance(scratch->view->node, i);
    if (!suffices(item, mib)) {
        return 0;
    }
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    bool shared = sl_kinds[p->kind].replica && !p->slices;
    return shared ? shares_left(item, mib, scratch->instance_mib[i]) : INT64_MAX;
}

/* The known peak of the item's workload; of an unknown one, all that the item asks for. */
static struct sl_measured_peak measured_peak(const struct sl_measured *measured,
                                             const struct sl_ask_item *item)
{
    for (unsigned i = 0; item->workload != 0 && i < SL_MEASURED_KNOWN; i++) {
        if (measured->known[i].workload == item->workload) {
            return measured->known[i];
        }
    }
    return (struct sl_measured_peak){.permille = 1000};
}

/* Has the device room for one share by what its pods use, whatever they asked for? One, since the
 * next is measured first. The next life is higher than all n before it with a chance of 1 in n + 1:
 * for one pod, on the device or this one, that part of what it could use beyond stays free. One of
 * which nothing is known counts with its ask, and brings with it what it will not use of that. */
static bool measured_room(const struct sl_view *view, unsigned device,
                          const struct sl_ask_item *item)
{
    if (view->measured == NULL || item->memory_mib > view->most_mib) {
        return false;
    }
    const struct sl_measured *measured = &view->measured[device];
    struct sl_measured_peak peak = measured_peak(measured, item);
    int64_t expected_mib = (int64_t)item->memory_mib * peak.permille / 1000;
    int64_t outlier_mib = (item->memory_mib - expected_mib) / (peak.lives + 1);
    int64_t kept_mib = outlier_mib > measured->reserve_mib ? outlier_mib : measured->reserve_mib;
    kept_mib = peak.permille < 1000 || peak.lives > 0 ? kept_mib : 0;
    return item->memory_mib > 0 && expected_mib <= measured->room_mib - kept_mib;
}

int64_t sl_memory_on_device(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item, unsigned i)
{
    const struct sl_node *node = scratch->view->node;
    if (!suffices(item, sl_node_unit_mib(node, pool, (int)i, -1))) {
        return 0;
    }
    if (!sl_kinds[node->pool[pool].kind].replica) {
        return INT64_MAX;
    }
    int64_t declared_mib = scratch->device[i].declared_mib;
    int64_t all_mib = node->device[i].memory_mib;
    int64_t before_mib = scratch->view->device[i].declared_mib;
    if (scratch->returning && all_mib > 0 && before_mib > all_mib) {
        all_mib = before_mib;
    }
    int64_t shares = shares_left(item, all_mib, declared_mib);
    bool more = shares == 0 && declared_mib == before_mib && measured_room(scratch->view, i, item);
    return shares + more;
}

int64_t sl_memory_by_counts(const struct sl_scratch *scratch, unsigned pool,
                            const struct sl_ask_item *item)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    if (!suffices(item, p->memory_mib)) {
        return 0;
    }
    bool shared = sl_kinds[p->kind].replica;
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
