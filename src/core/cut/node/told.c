/* How far what a node tells of its GPUs can be relied on. */
#include "core/cut/node/node.h"

bool sl_cut_report_lags(const struct sl_view *view, unsigned pool)
{
    int64_t reported = 0;
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        const struct sl_instance *instance = &view->node->instance[i];
        reported += instance->pool == pool ? instance->in_use : 0;
    }
    return reported < view->pool_used[pool];
}

bool sl_cut_devices_are_known(const struct sl_node *node)
{
    bool known = node->n_devices > 0;
    for (unsigned p = 0; p < node->n_pools; p++) {
        known = known && node->pool[p].on_devices;
    }
    return known && (node->layout == SL_LAYOUT_ANNOTATED || node->partition.n_gpus == 0 ||
                     node->partition.n_gpus == node->n_devices);
}
