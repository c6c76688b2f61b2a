/* Tells which pods must end first, at most, for a pod whose node drains. */
#include "core/cut/node/node.h"

/* Only the kubelet knows on which GPU the units are that the pod holds. */
static bool holds(const struct sl_pod *pod, const struct sl_cut_drain *drain)
{
    bool found = false;
    for (uint32_t item = 0; item < pod->n_items; item++) {
        for (size_t k = 0; k < drain->n_keys; k++) {
            found = found || pod->items[item].key == drain->key[k];
        }
    }
    return found;
}

void sl_cut_wait_find(const struct sl_view *view, const struct sl_pod *pod,
                      const struct sl_cut_drain *drain, int64_t now_us, struct sl_cut_wait *out)
{
    *out = (struct sl_cut_wait){.n_own = 0};
    for (uint32_t r = 0; r < view->n_residents; r++) {
        const struct sl_pod *each = view->resident[r].pod;
        if (sl_cut_end_of(each, now_us) > drain->until_us || !holds(each, drain)) {
            continue;
        }
        bool own = strcmp(each->namespace, pod->namespace) == 0;
        if (own && out->n_own < SL_CUT_WAIT_NAMES) {
            out->own[out->n_own] = each;
        }
        out->n_own += own;
        out->n_others += !own;
    }
}
