/* gpushare's device plugin tells pods apart by how much they ask for. While two with equal asks
 * wait for it on one node, either may get the GPU that was chosen for the other; the sums are right
 * until one of them ends. */
#include <string.h>

#include "cluster/internal.h"

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

/* What is only set aside for a pod is nothing that the plugin sees. */
static bool is_claim(const struct sl_store *store, const struct sl_pod *pod)
{
    const struct sl_reservation *claim = store->claims;
    while (claim != NULL && claim->bound != pod) {
        claim = claim->next;
    }
    return claim != NULL;
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
        if (waits && other >= 0 && !is_claim(store, pod) &&
            pod->items[other].count == ask->item[item].count &&
            devices_of(view->part + resident->first_part, resident->n_parts, other) != devices) {
            return pod;
        }
    }
    return NULL;
}
