/* Slices of memory have no place on the device, so only their sum counts. What the agent reports in
 * use stays in every cut. */
#include "core/cut/node/slices.h"

#include "core/place/choose.h"

/* ---- sizes ---- */

static int size_find(const struct sl_cut_sizes *sizes, int32_t gb)
{
    for (unsigned i = 0; i < sizes->n; i++) {
        if (sizes->gb[i] == gb) {
            return (int)i;
        }
    }
    return -1;
}

int sl_cut_size_add(struct sl_cut_sizes *sizes, int32_t gb)
{
    int at = size_find(sizes, gb);
    if (at < 0 && gb > 0 && sizes->n < SL_MIG_PROFILES_MAX) {
        at = sizes->n;
        sizes->gb[at] = (uint16_t)gb;
        sizes->n++;
    }
    return at;
}

int32_t sl_cut_slice_of(const struct sl_ask_item *item)
{
    int32_t gb = sl_kinds[item->kind].replica ? sl_item_slice_gb(item) : 0;
    return item->each <= 1 && sl_item_mib(item) <= (int64_t)gb * 1024 ? gb : 0;
}

int sl_cut_slice_unit(struct sl_cut_node *node, const struct sl_ask_item *item)
{
    return sl_cut_size_add(&node->sizes, sl_cut_slice_of(item));
}

/* ---- a node ---- */

static int32_t gb_of_pool(const struct sl_node *node, unsigned pool)
{
    return node->pool[pool].slices ? (int32_t)(node->pool[pool].memory_mib / 1024) : 0;
}

/* Returns how many slices of one size stay on their device. */
static unsigned slices_kept(const struct sl_cut_node *node, const struct sl_instance *instance)
{
    bool all = instance->in_use > instance->slices || sl_cut_report_lags(node, instance->pool);
    return all ? instance->slices : instance->in_use;
}

/* Reads the slices of one size on a device; false: the device may not change. */
static bool slices_read(struct sl_cut_node *node, struct sl_cut_device *device,
                        const struct sl_instance *instance, unsigned kept)
{
    int unit = sl_cut_size_add(&node->sizes, gb_of_pool(node->view->node, instance->pool));
    if (unit < 0 || instance->slices > SL_CUT_SLICES_MAX) {
        return false;
    }
    device->kept[unit] = (uint8_t)kept;
    device->free[unit] = (uint8_t)(instance->slices - kept);
    return true;
}

/* Only the kubelet knows which GPU a pod that asked for a whole one has. */
static bool whole_in_use(const struct sl_view *view)
{
    for (unsigned p = 0; p < view->n_pools; p++) {
        if (sl_kinds[view->node->pool[p].kind].whole && view->pool_used[p] > 0) {
            return true;
        }
    }
    return false;
}

static void device_read(struct sl_cut_node *node, unsigned d, bool whole_used, const uint8_t *kept)
{
    const struct sl_node *from = node->view->node;
    struct sl_cut_device *device = &node->device[d];
    int64_t gb = sl_slice_room_gb(from->device[d].memory_mib);
    *device = (struct sl_cut_device){.index = (uint16_t)from->device[d].index,
                                     .is_whole = !from->device[d].mig,
                                     .sizes = &node->sizes,
                                     .gb = (uint16_t)sl_least(gb, UINT16_MAX)};
    device->may_change = from->device[d].healthy && gb > 0 && !(device->is_whole && whole_used);
    for (unsigned i = 0; i < from->n_instances && device->may_change; i++) {
        const struct sl_instance *instance = &from->instance[i];
        device->may_change = instance->device != d ||
                             slices_read(node, device, instance,
                                         kept != NULL ? kept[i] : slices_kept(node, instance));
    }
    if (!device->may_change) {
        memset(device->free, 0, sizeof(device->free));
    }
}

enum sl_cut_bar sl_cut_slices_read(struct sl_cut_node *node, const uint8_t *kept)
{
    const struct sl_view *view = node->view;
    const struct sl_node *from = view->node;
    node->shares = true;
    node->single = false;
    if (!sl_cut_devices_are_known(from)) {
        return SL_CUT_BAR_DIFFERS;
    }
    for (unsigned p = 0; p < from->n_pools; p++) {
        if (!from->pool[p].slices && !sl_kinds[from->pool[p].kind].whole) {
            return SL_CUT_BAR_SHARED;
        }
    }
    bool whole_used = whole_in_use(view);
    node->n = from->n_devices;
    for (unsigned d = 0; d < node->n; d++) {
        device_read(node, d, whole_used, kept);
    }
    node->sizes.n_own = node->sizes.n;
    return SL_CUT_BAR_NONE;
}

/* ---- placements ---- */

int32_t sl_cut_slices_left(const struct sl_cut_device *device)
{
    int32_t left = device->gb;
    for (unsigned i = 0; i < device->sizes->n; i++) {
        left -= device->kept[i] * device->sizes->gb[i];
    }
    return left;
}

bool sl_cut_slices_fit(const struct sl_cut_device *device,
                       const uint8_t counts[SL_MIG_PROFILES_MAX])
{
    int32_t left = sl_cut_slices_left(device);
    unsigned clients = 0;
    unsigned kinds = 0;
    for (unsigned i = 0; i < device->sizes->n; i++) {
        unsigned n = (unsigned)counts[i] + device->kept[i];
        left -= counts[i] * device->sizes->gb[i];
        clients += n;
        kinds += n > 0;
    }
    return left >= 0 && clients <= SL_CUT_CLIENTS_MAX && kinds <= SL_MIG_INSTANCES_MAX;
}

bool sl_cut_slices_could(const struct sl_cut_node *node, const struct sl_ask *ask)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < ask->n; i++) {
        int pool = sl_view_pool(node->view, ask->item[i].key);
        int32_t gb = sl_cut_slice_of(&ask->item[i]);
        bool has = pool >= 0 && node->spare[pool] >= ask->item[i].count;
        bool could = has;
        for (unsigned d = 0; d < node->n && !could; d++) {
            could =
                gb > 0 && node->device[d].may_change && sl_cut_slices_left(&node->device[d]) >= gb;
        }
        if (!could) {
            return false;
        }
        sum += has ? 0 : gb * (ask->item[i].count - (pool < 0 ? 0 : node->spare[pool]));
    }
    return ask->n > 0 && sum <= node->slices;
}

/* ---- cuts ---- */

void sl_cut_slices_write(const struct sl_cut_device *device,
                         const uint8_t counts[SL_MIG_PROFILES_MAX], struct sl_cut *out)
{
    for (unsigned i = 0; i < device->sizes->n; i++) {
        unsigned n = (unsigned)counts[i] + device->kept[i];
        unsigned at = out->n_sizes;
        if (n == 0 || at == SL_MIG_INSTANCES_MAX) {
            continue;
        }
        for (; at > 0 && out->slices[at - 1].gb > device->sizes->gb[i]; at--) {
            out->slices[at] = out->slices[at - 1];
        }
        out->slices[at] = (struct sl_cut_slices){device->sizes->gb[i], (uint16_t)n};
        out->n_sizes++;
    }
}

static unsigned slices_of(const struct sl_cut *cut, unsigned gb)
{
    for (unsigned i = 0; i < cut->n_sizes; i++) {
        if (cut->slices[i].gb == gb) {
            return cut->slices[i].n;
        }
    }
    return 0;
}

bool sl_cut_slices_allowed(const struct sl_cut_device *device, const struct sl_cut *cut)
{
    int64_t left = device->gb;
    unsigned clients = 0;
    bool good =
        cut->n == 0 && !cut->whole && cut->n_sizes > 0 && cut->n_sizes <= SL_MIG_INSTANCES_MAX;
    for (unsigned i = 0; good && i < cut->n_sizes; i++) {
        const struct sl_cut_slices *slices = &cut->slices[i];
        good = slices->n > 0 && slices->gb > (i == 0 ? 0 : cut->slices[i - 1].gb);
        left -= (int64_t)slices->n * slices->gb;
        clients += slices->n;
    }
    for (unsigned i = 0; good && i < device->sizes->n; i++) {
        good = slices_of(cut, device->sizes->gb[i]) >= device->kept[i];
    }
    return good && left >= 0 && clients <= SL_CUT_CLIENTS_MAX;
}
