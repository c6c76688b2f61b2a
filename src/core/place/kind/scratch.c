/* Books and frees units in a scratch copy of a view's counters. */
#include "core/place/kind/kind.h"

/* Units of one part that declare GPU memory at most, so that sums over residents do not overflow.
 */
enum { DECLARED_UNITS_MAX = 2048 };

void sl_scratch_clear(struct sl_scratch *scratch, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    scratch->view = view;
    scratch->returning = false;
    memset(scratch->pool_used, 0, node->n_pools * sizeof(scratch->pool_used[0]));
    memset(scratch->pool_mib, 0, node->n_pools * sizeof(scratch->pool_mib[0]));
    memset(scratch->device, 0, node->n_devices * sizeof(scratch->device[0]));
    memset(scratch->instance_used, 0, node->n_instances * sizeof(scratch->instance_used[0]));
    memset(scratch->instance_mib, 0, node->n_instances * sizeof(scratch->instance_mib[0]));
}

void sl_scratch_init(struct sl_scratch *scratch, const struct sl_view *view)
{
    const struct sl_node *node = view->node;
    scratch->view = view;
    scratch->returning = false;
    memcpy(scratch->pool_used, view->pool_used, node->n_pools * sizeof(scratch->pool_used[0]));
    memcpy(scratch->pool_mib, view->pool_mib, node->n_pools * sizeof(scratch->pool_mib[0]));
    memcpy(scratch->device, view->device, node->n_devices * sizeof(scratch->device[0]));
    memcpy(scratch->instance_used, view->instance_used,
           node->n_instances * sizeof(scratch->instance_used[0]));
    memcpy(scratch->instance_mib, view->instance_mib,
           node->n_instances * sizeof(scratch->instance_mib[0]));
}

void sl_scratch_count_over(struct sl_scratch *scratch, unsigned device, int64_t over_mib, int sign)
{
    const struct sl_device *d = &scratch->view->node->device[device];
    scratch->device[device].declared_mib += sign * over_mib;
    if (d->memory_units > 0 && d->memory_mib > 0) {
        scratch->device[device].memory_units +=
            sign * ((over_mib * d->memory_units + d->memory_mib - 1) / d->memory_mib);
    }
}

void sl_scratch_take(struct sl_scratch *scratch, unsigned pool, const struct sl_ask_item *item,
                     const struct sl_assignment_part *part, int sign)
{
    const struct sl_pool *p = &scratch->view->node->pool[pool];
    int64_t declared = 0;
    if (sl_kinds[p->kind].replica && item != NULL) {
        declared = sign * sl_least(part->amount, DECLARED_UNITS_MAX) * item->memory_mib;
    }
    scratch->pool_used[pool] += sign * part->amount;
    if (!p->on_devices || part->device < 0) {
        scratch->pool_mib[pool] += declared;
        return;
    }
    struct sl_device_use *use = &scratch->device[part->device];
    if (part->instance >= 0) {
        int32_t *used = &scratch->instance_used[part->instance];
        bool was = *used > 0;
        *used += (int32_t)(sign * part->amount);
        use->instances += (*used > 0) - was;
        scratch->instance_mib[part->instance] += declared;
    } else if (sl_kinds[p->kind].whole) {
        use->whole = sign > 0;
    } else if (sl_kinds[p->kind].replica) {
        use->replicas += (int32_t)(sign * part->amount);
        use->declared_mib += declared;
    } else {
        use->memory_units += sign * part->amount;
    }
}

bool sl_target_add(const struct sl_target *target, int device, int instance, int64_t amount)
{
    struct sl_assignment *assignment = target->assignment;
    if (assignment->n >= SL_ASSIGNMENT_MAX) {
        return false;
    }
    struct sl_assignment_part *part = &assignment->part[assignment->n];
    *part = (struct sl_assignment_part){target->number, (int16_t)device, (int16_t)instance, amount};
    assignment->n++;
    sl_scratch_take(target->scratch, target->pool, target->item, part, 1);
    return true;
}

void sl_scratch_undo(struct sl_scratch *scratch, const struct sl_ask_item *item,
                     struct sl_assignment *assignment, unsigned first)
{
    while (assignment->n > first) {
        assignment->n--;
        const struct sl_assignment_part *part = &assignment->part[assignment->n];
        int pool = sl_view_pool(scratch->view, item[part->item].key);
        if (pool >= 0) {
            sl_scratch_take(scratch, (unsigned)pool, &item[part->item], part, -1);
        }
    }
}

static void device_raise(struct sl_device_use *use, const struct sl_device_use *other)
{
    use->whole = use->whole || other->whole;
    use->replicas = other->replicas > use->replicas ? other->replicas : use->replicas;
    use->memory_units = sl_most(use->memory_units, other->memory_units);
    use->declared_mib = sl_most(use->declared_mib, other->declared_mib);
}

void sl_scratch_raise(struct sl_scratch *scratch, const struct sl_scratch *other)
{
    const struct sl_node *node = scratch->view->node;
    for (unsigned p = 0; p < node->n_pools; p++) {
        scratch->pool_used[p] = sl_most(scratch->pool_used[p], other->pool_used[p]);
        scratch->pool_mib[p] = sl_most(scratch->pool_mib[p], other->pool_mib[p]);
    }
    for (unsigned d = 0; d < node->n_devices; d++) {
        device_raise(&scratch->device[d], &other->device[d]);
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        int32_t *used = &scratch->instance_used[i];
        scratch->device[node->instance[i].device].instances +=
            *used == 0 && other->instance_used[i] > 0;
        *used = other->instance_used[i] > *used ? other->instance_used[i] : *used;
        scratch->instance_mib[i] = sl_most(scratch->instance_mib[i], other->instance_mib[i]);
    }
}

/* Reading a pod cuts its counts too; this keeps sums from overflow for pods made otherwise. */
int64_t sl_scratch_units(const struct sl_ask_item *item)
{
    return item->count < SL_UNITS_MAX ? item->count : SL_UNITS_MAX;
}

/* Books a resident's parts, and all its units in the pools, as some units may have no part. */
static void resident_book(struct sl_scratch *scratch, const struct sl_resident *resident,
                          const struct sl_assignment_part *part, int sign)
{
    const struct sl_pod *pod = resident->pod;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        const struct sl_ask_item *item = &pod->items[part[i].item];
        int pool = sl_view_pool(scratch->view, item->key);
        sl_scratch_take(scratch, (unsigned)pool, item, &part[i], sign);
        scratch->pool_used[pool] -= sign * part[i].amount;
    }
    for (unsigned i = 0; i < pod->n_items; i++) {
        int pool = sl_view_pool(scratch->view, pod->items[i].key);
        if (pool >= 0) {
            scratch->pool_used[pool] += sign * sl_scratch_units(&pod->items[i]);
        }
    }
}

void sl_scratch_remove(struct sl_scratch *scratch, unsigned resident)
{
    const struct sl_resident *r = &scratch->view->resident[resident];
    resident_book(scratch, r, scratch->view->part + r->first_part, -1);
}

void sl_scratch_restore(struct sl_scratch *scratch, unsigned resident)
{
    const struct sl_resident *r = &scratch->view->resident[resident];
    resident_book(scratch, r, scratch->view->part + r->first_part, 1);
}
