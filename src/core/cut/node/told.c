/* How far what a node tells of its GPUs can be relied on. */
#include "core/cut/node/node.h"

static bool has_newcomer(const struct sl_cut_node *node, unsigned pool)
{
    const struct sl_view *view = node->view;
    bool found = false;
    for (uint32_t r = 0; node->reported_us > 0 && r < view->n_residents && !found; r++) {
        const struct sl_pod *pod = view->resident[r].pod;
        bool old = pod->started_us > 0 && pod->started_us <= node->reported_us;
        for (uint32_t i = 0; !old && i < pod->n_items; i++) {
            found = found || sl_view_pool(view, pod->items[i].key) == (int)pool;
        }
    }
    return found;
}

bool sl_cut_report_lags(const struct sl_cut_node *node, unsigned pool)
{
    const struct sl_view *view = node->view;
    int64_t reported = 0;
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        const struct sl_instance *instance = &view->node->instance[i];
        reported += instance->pool == pool ? instance->in_use : 0;
    }
    return reported < view->pool_used[pool] || has_newcomer(node, pool);
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
