/* How far what a node tells of its GPUs can be relied on. */
#include "core/cut/node/node.h"
#include "util/data/hash.h"

const struct sl_cut_seen *sl_cut_seen_find(const struct sl_cut_seen *seen, size_t n, uint64_t pod)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (seen[mid].pod < pod) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < n && seen[low].pod == pod ? &seen[low] : NULL;
}

static bool is_reported(const struct sl_cut_limits *limits, const struct sl_pod *pod)
{
    const struct sl_cut_seen *seen =
        sl_cut_seen_find(limits->seen, limits->n_seen, sl_hash(pod->uid, strlen(pod->uid)));
    return seen != NULL && seen->since_us <= limits->reported_us;
}

static bool has_newcomer(const struct sl_cut_node *node, unsigned pool)
{
    const struct sl_view *view = node->view;
    bool found = false;
    for (uint32_t r = 0; node->limits.reported_us > 0 && r < view->n_residents && !found; r++) {
        const struct sl_pod *pod = view->resident[r].pod;
        bool holds = false;
        for (uint32_t i = 0; i < pod->n_items; i++) {
            holds = holds || sl_view_pool(view, pod->items[i].key) == (int)pool;
        }
        found = holds && !is_reported(&node->limits, pod);
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
