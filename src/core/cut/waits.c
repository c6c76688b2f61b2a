/* Tells for what a pod waits whose node drains: which GPUs are to be cut, and which pods at most
 * must end first. */
#include <stdlib.h>

#include "core/cut/node/place.h"
#include "core/cut/node/shape.h"
#include "core/cut/planner.h"

struct later {
    struct sl_cut_node node;
    struct sl_cut_device device[SL_NODE_DEVICES_MAX];
    struct sl_cut_table table;
};

/* Marks the GPUs that will be cut for the pod; false: that cannot be told. */
static bool find_cut(struct later *later, const struct sl_view *view, const struct sl_pod *pod,
                     const struct sl_cut_wait *wait, bool cut[SL_NODE_DEVICES_MAX])
{
    struct sl_ask ask;
    bool found = false;
    if (later == NULL || !sl_cut_ask(pod, &ask) ||
        !sl_cut_node_read_later(&later->node, later->device, &later->table, view, wait->mig_mode,
                                wait->until_us, wait->now_us) ||
        !sl_cut_node_take(&later->node, &ask, true)) {
        return false;
    }
    for (unsigned d = 0; d < later->node.n; d++) {
        cut[d] = later->node.single || sl_cut_device_changes(&later->device[d]);
        found = found || cut[d];
    }
    return found;
}

/* Does the pod hold units of a resource that one of the GPUs has, or that is on no known GPU? Only
 * the kubelet knows on which GPU they are. */
static bool holds(const struct sl_view *view, const struct sl_pod *pod,
                  const bool cut[SL_NODE_DEVICES_MAX])
{
    const struct sl_node *node = view->node;
    bool found = false;
    for (uint32_t item = 0; item < pod->n_items && !found; item++) {
        int pool = sl_view_pool(view, pod->items[item].key);
        found = pool >= 0 && node->pool[pool].kind != SL_KIND_MIG && !node->pool[pool].slices;
        for (unsigned i = 0; i < node->n_instances && !found; i++) {
            found = (int)node->instance[i].pool == pool && cut[node->instance[i].device];
        }
    }
    return found;
}

void sl_cut_wait_find(const struct sl_view *view, const struct sl_pod *pod,
                      struct sl_cut_wait *wait)
{
    bool cut[SL_NODE_DEVICES_MAX] = {false};
    struct later *later = calloc(1, sizeof(*later));
    bool known = find_cut(later, view, pod, wait, cut);
    free(later);
    wait->device = -1;
    wait->n_devices = 0;
    wait->n_own = 0;
    wait->n_others = 0;
    for (unsigned d = 0; d < view->node->n_devices; d++) {
        cut[d] = cut[d] || !known;
        wait->device =
            known && cut[d] && wait->device < 0 ? view->node->device[d].index : wait->device;
        wait->n_devices += cut[d];
    }
    for (uint32_t r = 0; r < view->n_residents; r++) {
        const struct sl_pod *each = view->resident[r].pod;
        if (sl_cut_end_of(each, wait->now_us) > wait->until_us || !holds(view, each, cut)) {
            continue;
        }
        bool own = strcmp(each->namespace, pod->namespace) == 0;
        if (own && wait->n_own < SL_CUT_WAIT_NAMES) {
            wait->own[wait->n_own] = each;
        }
        wait->n_own += own;
        wait->n_others += !own;
    }
}
