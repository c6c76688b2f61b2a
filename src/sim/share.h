/* How much of a node's GPUs is in use, and how much of what is idle is of no use, in millionths of
 * a GPU. A MIG instance is its memory slices' share of its GPU; a replica or a unit of memory is
 * its share of what its GPU offers of them. */
#ifndef SLICED_SIM_SHARE_H
#define SLICED_SIM_SHARE_H

#include "sim/workload.h"
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

/* What a node is at most. Of a partitioned GPU only what is cut into instances counts. */
int64_t sl_share_capacity(const struct sl_node *node);
int64_t sl_share_busy(const struct sl_view *view);

/* Idle GPU share that asks cannot use, weighted by how common they are (fragmentation gradient
 * descent, Weng et al., ATC'23): sum over asks m of popularity(m) * F(m), where F(m) is all that is
 * idle when m does not fit the node, else the idle share of those GPUs on which it does not fit. */
int64_t sl_share_fragmented(const struct sl_view *view, const struct sl_share_asks *asks);

#endif
