/* Decides whether an ask fits on a node, and on which devices. One function decides both, so that
 * filter and bind cannot disagree. */
#ifndef SLICED_FIT_H
#define SLICED_FIT_H

#include "sliced/reason.h"
#include "sliced/view.h"

/* True when all items of the ask fit on the node at once. *verdict (may be NULL) tells the reason,
 * SL_REASON_FITS included. An ask of one item costs a few comparisons; others search on a scratch
 * copy. */
bool sl_fit(const struct sl_view *view, const struct sl_ask *ask, struct sl_verdict *verdict);

/* As sl_fit(), and chooses the devices, for all items or none; finds a choice whenever there is
 * one. Whole GPUs: the lowest indexes with nothing in use. Instances: the device with the fewest
 * free instances of that pool, then the lowest start. Replicas: different devices (or instances),
 * the least used first, as NVIDIA's device plugin, which nobody tells where to put them. Memory:
 * the smallest sufficient free share of one GPU, but of a GPU whose pods keep it busy last (struct
 * sl_measured); beside whole GPUs in the same ask, preferably of a GPU in use. Devices that are
 * unhealthy, partitioned or given whole are left out. Each unit of an item that states its GPU
 * memory has that much, the smallest such units first; memory that replicas' pods have declared is
 * not given again. assignment may be NULL.
 */
bool sl_choose(const struct sl_view *view, const struct sl_ask *ask,
               struct sl_assignment *assignment, struct sl_verdict *verdict);

/* As sl_choose() on changed counters, which also book the places when the ask fits. */
bool sl_choose_on(struct sl_scratch *scratch, const struct sl_ask *ask,
                  struct sl_assignment *assignment, struct sl_verdict *verdict);

/* True when the ask fits on these counters, which it leaves unchanged. */
bool sl_would_fit(struct sl_scratch *scratch, const struct sl_ask *ask, struct sl_verdict *verdict);

/* The assignment as the annotation sliced.dev/assignment carries it: items joined by ';', each
 * "<resource>=<part>,<part>" with part "<device index>[/<start slice>][*<amount>]", or "?*<amount>"
 * when only the kubelet knows the devices. An instance of unknown start is "<device index>/#<number
 * of instances before it on the device>". Returns the length, 0 when out is too small
 * (SL_ASSIGNMENT_TEXT_MAX always suffices for indexes below 1000). */
size_t sl_assignment_format(const struct sl_node *node, const struct sl_ask *ask,
                            const struct sl_assignment *assignment, char *out, size_t size);

/* Reads an assignment back against a node. False when it names a resource or place that the ask or
 * node lacks, names a place twice, says "?" though the node knows its devices, or does not add up
 * to the ask. When the node knows only counts, the devices named are ignored. */
bool sl_assignment_parse(const struct sl_node *node, const struct sl_ask *ask, struct sl_str text,
                         struct sl_assignment *out);

#endif
