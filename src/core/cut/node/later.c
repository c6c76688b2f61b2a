/* Reads a node as it will be once pods have ended. */
#include "core/cut/node/node.h"
#include "core/cut/node/slices.h"
#include "core/place/choose.h"
#include "util/data/sat.h"

int64_t sl_cut_end_of(const struct sl_pod *pod, int64_t now_us)
{
    if (!pod->has_deadline || pod->timeout_s <= 0) {
        return INT64_MAX;
    }
    int64_t start = pod->started_us > 0 ? pod->started_us : now_us;
    int64_t end = sl_sat_add(start, sl_sat_mul(pod->timeout_s, 1000000));
    if (end <= now_us - SL_CUT_DRAIN_GRACE_US) {
        return INT64_MAX; /* it takes its time to end */
    }
    return end > now_us ? end : now_us;
}

/* Says what is still in use once the pods that end by then have ended. */
struct later {
    bool pool[SL_NODE_POOLS_MAX];
    /* units of the instance that are held by pods which run on, and by those that have ended */
    uint16_t held[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
    uint16_t ended[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
    bool any;
};

/* False when pods hold what the node does not show. */
static bool look_at_residents(const struct sl_view *view, int64_t until_us, int64_t now_us,
                              struct later *later)
{
    for (uint32_t r = 0; r < view->n_residents; r++) {
        const struct sl_resident *resident = &view->resident[r];
        bool stays = sl_cut_end_of(resident->pod, now_us) > until_us;
        for (uint32_t i = 0; i < resident->pod->n_items; i++) {
            int pool = sl_view_pool(view, resident->pod->items[i].key);
            if (pool < 0) {
                return false;
            }
            later->pool[pool] = later->pool[pool] || stays;
        }
        for (unsigned i = 0; i < resident->n_parts; i++) {
            const struct sl_assignment_part *part = &view->part[resident->first_part + i];
            if (part->instance >= 0) {
                uint16_t *units = stays ? later->held : later->ended;
                units[part->instance] += (uint16_t)sl_least(part->amount, SL_CUT_SLICES_MAX);
            }
        }
        later->any = later->any || stays;
    }
    return true;
}

/* The mig-manager destroys all instances of a device: all of it is free then, or none. */
static bool device_is_free(const struct sl_view *view, const struct later *later, unsigned device)
{
    const struct sl_node *node = view->node;
    for (unsigned p = 0; !node->device[device].mig && p < node->n_pools; p++) {
        const struct sl_kind_row *kind = &sl_kinds[node->pool[p].kind];
        if (!kind->instance && node->pool[p].profile == NULL && (later->pool[p] || !kind->cut)) {
            return false;
        }
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        if (instance->device == device &&
            (later->pool[instance->pool] || !sl_kinds[node->pool[instance->pool].kind].instance)) {
            return false;
        }
    }
    return true;
}

/* nos' agent keeps the instances in use then, and those that it calls in use though no pod that is
 * known holds them. Adds them to the device; false: they do not fit. */
static bool device_keeps(const struct sl_view *view, const struct later *later, unsigned d,
                         struct sl_cut_device *device)
{
    const struct sl_node *node = view->node;
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        bool goes = later->held[i] == 0 && (!instance->in_use || later->ended[i] > 0);
        if (instance->device != d || goes) {
            continue;
        }
        int index = sl_model_index(device->model, instance->profile);
        struct sl_mig_placement at = {(uint8_t)index, (uint8_t)instance->start};
        if (index < 0 || instance->start < 0 ||
            !sl_mig_can_place(device->model, &device->layout, at)) {
            return false;
        }
        sl_mig_place(device->model, &device->layout, at);
    }
    return true;
}

/* The same of slices, of which the instance has many. */
static bool slices_read_later(struct sl_cut_node *node, const struct later *later)
{
    const struct sl_node *from = node->view->node;
    uint8_t kept[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX] = {0};
    for (unsigned i = 0; i < from->n_instances; i++) {
        int64_t stay = (int64_t)from->instance[i].in_use - later->ended[i];
        stay = stay > later->held[i] ? stay : later->held[i];
        kept[i] = (uint8_t)sl_least(sl_least(stay, from->instance[i].slices), SL_CUT_SLICES_MAX);
    }
    return sl_cut_slices_read(node, kept) == SL_CUT_BAR_NONE;
}

bool sl_cut_node_read_later(struct sl_cut_node *node, struct sl_cut_device *device,
                            struct sl_cut_table *table, const struct sl_view *view, bool mig_mode,
                            int64_t until_us, int64_t now_us)
{
    const struct sl_node *from = view->node;
    bool nos = from->partition.actuator == SL_ACTUATOR_NOS_MIG;
    struct later later = {.any = false};
    *node = (struct sl_cut_node){.view = view, .device = device, .n = from->n_devices};
    node->single = from->partition.single;
    node->mig_mode = mig_mode && !nos;
    node->plain = nos;
    if (view->withheld || from->n_devices == 0 ||
        !look_at_residents(view, until_us, now_us, &later)) {
        return false;
    }
    if (from->partition.actuator == SL_ACTUATOR_NOS_MPS) {
        bool read = slices_read_later(node, &later);
        for (unsigned d = 0; d < node->n; d++) {
            device[d].packed = &table->packed;
        }
        sl_cut_node_sum(node);
        return read;
    }
    bool together = node->single || from->layout != SL_LAYOUT_ANNOTATED;
    for (unsigned d = 0; d < node->n; d++) {
        const struct sl_device *was = &from->device[d];
        device[d] = (struct sl_cut_device){.model = was->model,
                                           .packed = &table->packed,
                                           .index = (uint16_t)was->index,
                                           .is_whole = !was->mig,
                                           .may_be_whole = !was->mig || node->mig_mode};
        device[d].may_change =
            was->healthy && was->model != NULL && (was->mig || node->mig_mode) &&
            !(together && later.any) &&
            (nos ? device_keeps(view, &later, d, &device[d]) : device_is_free(view, &later, d));
        if (node->single && !device[d].may_change) {
            return false;
        }
    }
    sl_cut_node_sum(node);
    return true;
}
