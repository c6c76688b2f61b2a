/* Since when pods were seen to have started on nodes of nos' agents: by this process' own clock, as
 * a kubelet's is another one. After a restart all are new. */
#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/data/hash.h"
#include "util/data/vec.h"

static int by_pod(const void *a, const void *b)
{
    uint64_t left = ((const struct sl_cut_seen *)a)->pod;
    uint64_t right = ((const struct sl_cut_seen *)b)->pod;
    return (left > right) - (left < right);
}

/* Returns how many pods of the view have started; out has room for all. */
static size_t see_node(const struct sl_engine *engine, const struct sl_view *view, int64_t now_us,
                       struct sl_cut_seen *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        if (pod->n_items > 0 && pod->started_us > 0) {
            uint64_t hash = sl_hash(pod->uid, strlen(pod->uid));
            const struct sl_cut_seen *old = sl_cut_seen_find(engine->seen, engine->n_seen, hash);
            out[n++] = (struct sl_cut_seen){hash, old == NULL ? now_us : old->since_us};
        }
    }
    return n;
}

void sl_cuts_see(struct sl_engine *engine, int64_t now_us)
{
    struct sl_cut_seen *seen = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (size_t i = 0; i < engine->n_views; i++) {
        const struct sl_view *view = engine->view[i];
        enum sl_actuator actuator = view->node->partition.actuator;
        if (view->n_residents == 0 ||
            (actuator != SL_ACTUATOR_NOS_MIG && actuator != SL_ACTUATOR_NOS_MPS)) {
            continue;
        }
        if (sl_vec_reserve(&seen, &cap, n + view->n_residents, sizeof(*seen)) < 0) {
            free(seen); /* those that came meanwhile stay unseen until there is memory */
            return;
        }
        n += see_node(engine, view, now_us, &seen[n]);
    }
    if (n > 0) {
        qsort(seen, n, sizeof(*seen), by_pod);
    }
    free(engine->seen);
    engine->seen = seen;
    engine->n_seen = n;
}
