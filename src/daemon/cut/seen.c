/* Since when pods were seen to have started on nodes of nos' agents: by this process' own clock, as
 * a kubelet's is another one. After a restart all are new. */
#include <stdlib.h>

#include "daemon/cut/internal.h"
#include "util/data/hash.h"
#include "util/data/vec.h"

struct seeing {
    struct sl_cut_seen *seen;
    size_t n;
    size_t cap;
    bool failed; /* out of memory */
};

static int by_pod(const void *a, const void *b)
{
    uint64_t left = ((const struct sl_cut_seen *)a)->pod;
    uint64_t right = ((const struct sl_cut_seen *)b)->pod;
    return (left > right) - (left < right);
}

static void see_node(const struct sl_partitioner *partitioner, const struct sl_view *view,
                     int64_t now_us, struct seeing *seeing)
{
    if (sl_vec_reserve(&seeing->seen, &seeing->cap, seeing->n + view->n_residents,
                       sizeof(*seeing->seen)) < 0) {
        seeing->failed = true;
        return;
    }
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        if (pod->n_items > 0 && pod->started_us > 0) {
            uint64_t hash = sl_hash(pod->uid, strlen(pod->uid));
            const struct sl_cut_seen *old =
                sl_cut_seen_find(partitioner->seen, partitioner->n_seen, hash);
            seeing->seen[seeing->n++] =
                (struct sl_cut_seen){hash, old == NULL ? now_us : old->since_us};
        }
    }
}

void sl_cut_see(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                int64_t now_us)
{
    struct seeing seeing = {.n = 0};
    for (size_t i = 0; i < snapshot->n_nodes && !seeing.failed; i++) {
        enum sl_actuator actuator = snapshot->view[i]->node->partition.actuator;
        if (actuator == SL_ACTUATOR_NOS_MIG || actuator == SL_ACTUATOR_NOS_MPS) {
            see_node(partitioner, snapshot->view[i], now_us, &seeing);
        }
    }
    if (seeing.failed) { /* those that came meanwhile stay unseen until there is memory */
        free(seeing.seen);
        return;
    }
    if (seeing.n > 0) {
        qsort(seeing.seen, seeing.n, sizeof(*seeing.seen), by_pod);
    }
    (void)pthread_mutex_lock(&partitioner->status);
    struct sl_cut_seen *old = partitioner->seen;
    partitioner->seen = seeing.seen;
    partitioner->n_seen = seeing.n;
    (void)pthread_mutex_unlock(&partitioner->status);
    free(old);
}
