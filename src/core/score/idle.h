/* The expected future of a node's idle GPUs: the terms fragmentation and whole of a score. */
#ifndef SLICED_CORE_IDLE_H
#define SLICED_CORE_IDLE_H

#include "sliced/score.h"

/* Prepares the scorer for the two terms. The rest of the scorer must be set. */
void sl_idle_init(struct sl_scorer *scorer);

/* Sets both terms for an ask that fits. pool: the index in node->pool of each item. */
void sl_idle_terms(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                   struct sl_score *out);

/* Returns the node's free CPU in thousandths; -1 when the node does not state its CPU. */
int64_t sl_idle_cpu(const struct sl_view *view);

/* Returns the steps that the ask takes of each of its devices; 0: these cannot serve it. */
int32_t sl_idle_size(const struct sl_idle *idle, const struct sl_typical *ask);

/* Returns the table for devices of that size, making it when absent. units and replicas as in
 * struct sl_idle. */
const struct sl_idle *sl_idle_table(struct sl_scorer *scorer, uint64_t offered, int64_t units,
                                    int32_t replicas);

#endif
