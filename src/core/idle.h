/* What is going to become of a node's idle GPUs: the terms fragmentation and whole of a score. */
#ifndef SLICED_CORE_IDLE_H
#define SLICED_CORE_IDLE_H

#include "sliced/score.h"

/* Sets what the scorer needs for the two terms; the rest of it is there. */
void sl_idle_init(struct sl_scorer *scorer);

/* Sets both terms of an ask that fits. pool: the node's pool of each item. */
void sl_idle_terms(struct sl_scorer *scorer, const struct sl_view *view, const int *pool,
                   struct sl_score *out);

/* Milli CPU that is free on the node; -1 where the node does not say what it has. */
int64_t sl_idle_cpu(const struct sl_view *view);

/* Steps of each device that the ask takes a part of; 0 when it can have none of them. */
int32_t sl_idle_size(const struct sl_idle *idle, const struct sl_typical *ask);

/* The table for devices of that size; made when it is not there yet. units and replicas as in
 * struct sl_idle. */
const struct sl_idle *sl_idle_table(struct sl_scorer *scorer, uint64_t offered, int64_t units,
                                    int32_t replicas);

#endif
