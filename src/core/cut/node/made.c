/* A node whose cut is under way: what it will give that no pod has. */
#include "core/cut/node/slices.h"
#include "core/place/choose.h"

static void count_made(struct sl_cut_node *node, const struct sl_cut *cut,
                       struct sl_cut_device *device)
{
    for (unsigned i = 0; device->model != NULL && i < cut->n; i++) {
        device->free[cut->instance[i].profile]++;
    }
    for (unsigned k = 0; k < cut->n_sizes; k++) {
        int unit = sl_cut_size_add(&node->sizes, cut->slices[k].gb);
        if (unit >= 0) {
            device->free[unit] = (uint8_t)sl_least(cut->slices[k].n, SL_CUT_SLICES_MAX);
            node->slices += device->free[unit] * cut->slices[k].gb;
            device->gb = (uint16_t)sl_least(node->slices, UINT16_MAX); /* at most */
        }
    }
}

/* Takes off what pods have, which stays. On which GPU that is only the agent tells, and its report
 * lags: it counts as if it were on these. */
static void take_off_used(struct sl_cut_node *node)
{
    const struct sl_view *view = node->view;
    for (unsigned p = 0; p < view->n_pools; p++) {
        int64_t used = view->pool_used[p];
        for (unsigned d = 0; used > 0 && d < node->n; d++) {
            struct sl_cut_device *device = &node->device[d];
            int unit = sl_cut_unit_of_pool(device, &view->node->pool[p]);
            if (unit >= 0) {
                int64_t n = sl_least(used, device->free[unit]);
                device->free[unit] = (uint8_t)(device->free[unit] - n);
                used -= n;
            }
        }
    }
}

static void read_device(struct sl_cut_node *node, const struct sl_cut *cut,
                        struct sl_cut_device *device)
{
    const struct sl_node *from = node->view->node;
    *device = (struct sl_cut_device){.model = from->model,
                                     .sizes = cut->n_sizes > 0 ? &node->sizes : NULL,
                                     .index = cut->device,
                                     .is_whole = cut->whole,
                                     .made = true};
    for (unsigned d = 0; d < from->n_devices; d++) {
        bool same = from->device[d].index == (int)cut->device;
        device->model = same ? from->device[d].model : device->model;
    }
    device->may_change = device->model != NULL || device->sizes != NULL;
    count_made(node, cut, device);
}

bool sl_cut_node_read_made(struct sl_cut_node *node, struct sl_cut_device *device,
                           const struct sl_view *view, const struct sl_cut *cut, size_t n)
{
    *node = (struct sl_cut_node){.view = view, .device = device, .n = (uint16_t)n};
    node->shares = n > 0 && cut[0].n_sizes > 0;
    for (size_t d = 0; d < n; d++) {
        read_device(node, &cut[d], &device[d]);
    }
    node->sizes.n_own = node->sizes.n;
    if (view->node->partition.actuator != SL_ACTUATOR_MIG_MANAGER) { /* it cuts unused GPUs only */
        take_off_used(node);
        return !sl_cut_use_is_hidden(view);
    }
    node->single = view->node->partition.single;
    return !node->single || device[0].model != NULL;
}
