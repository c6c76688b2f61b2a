/* How much of a node's GPUs is in use, and how much of the idle part is of no use, in millionths of
 * a GPU. A MIG instance counts with its share of the GPU's memory slices; a replica or a unit of
 * memory with its share of those that its GPU offers. */
#ifndef SLICED_SIM_SHARE_H
#define SLICED_SIM_SHARE_H

#include "sim/input/workload.h"
#include "sliced/fit.h"

enum { SL_SHARE_ONE = 1000000, SL_SHARE_ASKS_MAX = 32 };

/* The commonest asks of a workload with their shares (millionths, together 1), by which
 * fragmentation is measured. */
struct sl_share_asks {
    uint32_t n;
    struct sl_ask ask[SL_SHARE_ASKS_MAX];
    int64_t popularity[SL_SHARE_ASKS_MAX];
};
void sl_share_asks_of(const struct sl_workload *workload, struct sl_share_asks *out);

/* The capacity of a node. A partitioned GPU counts with its instances only. */
int64_t sl_share_capacity(const struct sl_node *node);
int64_t sl_share_busy(const struct sl_view *view);

/* Idle GPU share that asks cannot use, weighted by how common they are (fragmentation gradient
 * descent, Weng et al., ATC'23): sum over asks m of popularity(m) * F(m), where F(m) is the whole
 * idle share if m does not fit the node, else that of the GPUs on which it does not fit. */
int64_t sl_share_fragmented(const struct sl_view *view, const struct sl_share_asks *asks);

#endif
