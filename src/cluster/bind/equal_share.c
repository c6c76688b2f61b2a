/* gpushare's device plugin tells pods apart by how much they ask for. While two pods with equal
 * asks wait for it on one node, either may get the GPU that was chosen for the other. The store's
 * sums are then wrong once one of them ends. */
#include "cluster/bind/equal_share.h"

#include <string.h>

#include "cluster/state/state.h"

static const char *const resource = "aliyun.com/gpu-mem";

static int find_item(const struct sl_ask_item *item, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(item[i].resource, resource) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* The GPUs of an item, as a set of bits. */
static uint64_t devices_of(const struct sl_assignment_part *part, unsigned n, int item)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < n; i++) {
        set |= part[i].item == item && part[i].device >= 0 ? UINT64_C(1) << part[i].device : 0;
    }
    return set;
}

/* The plugin does not see a nomination. */
static bool is_nomination(const struct sl_store *store, const struct sl_pod *pod)
{
    struct sl_link *at = store->nominations.first;
    while (at != NULL && SL_CONTAINER(at, struct sl_reservation, link)->bound != pod) {
        at = at->next;
    }
    return at != NULL;
}

const struct sl_pod *sl_equal_share(const struct sl_store *store, const struct sl_view *view,
                                    const struct sl_ask *ask,
                                    const struct sl_assignment *assignment)
{
    int item = find_item(ask->item, ask->n);
    uint64_t devices = devices_of(assignment->part, assignment->n, item);
    for (unsigned i = 0; item >= 0 && devices != 0 && i < view->n_residents; i++) {
        const struct sl_resident *resident = &view->resident[i];
        const struct sl_pod *pod = resident->pod;
        int other = find_item(pod->items, pod->n_items);
        bool waits = pod->phase == SL_POD_PENDING && !pod->plugin_took;
        if (waits && other >= 0 && !is_nomination(store, pod) &&
            pod->items[other].count == ask->item[item].count &&
            devices_of(view->part + resident->first_part, resident->n_parts, other) != devices) {
            return pod;
        }
    }
    return NULL;
}
