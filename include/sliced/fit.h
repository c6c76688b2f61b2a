/* Does an ask fit on a node, and on which devices. One function decides both, so that filter and
 * bind cannot disagree. */
#ifndef SLICED_FIT_H
#define SLICED_FIT_H

#include "sliced/reason.h"
#include "sliced/view.h"

/* True when every item of the ask fits at once. verdict (may be NULL) says why, or that it does. An
 * ask of one item costs a few comparisons; others search on a scratch copy. */
bool sl_fit(const struct sl_view *view, const struct sl_ask *ask, struct sl_verdict *verdict);

/* The same, and the devices chosen: all items or none, and a choice is found whenever there is one.
 * Whole GPUs: lowest free indexes, nothing in use on them. Instances: the device with the fewest
 * free instances of that pool, then the lowest start. Replicas: different devices (or instances)
 * first, of those the least used. Memory: the smallest sufficient free share of one GPU; in an ask
 * that also wants whole GPUs one that others use already, where such a one suffices. Devices that
 * are unhealthy, partitioned or given whole are passed over. Of an item that says how much GPU
 * memory it needs each unit has that much, of the units that have it the smallest go first; what
 * replicas' pods have declared of a GPU is not given again. assignment may be NULL. */
bool sl_choose(const struct sl_view *view, const struct sl_ask *ask,
               struct sl_assignment *assignment, struct sl_verdict *verdict);

/* As sl_choose on counters that were changed by hand; changes them further when it fits. */
bool sl_choose_on(struct sl_scratch *scratch, const struct sl_ask *ask,
                  struct sl_assignment *assignment, struct sl_verdict *verdict);

/* The assignment as the annotation sliced.dev/assignment carries it: items joined by ';', each
 * "<resource>=<part>,<part>" with part "<device index>[/<start slice>][*<amount>]", or
 * "?*<amount>" where only the kubelet knows. An instance whose start is not known is
 * "<device index>/#<how many instances of the device stand before it>". Returns the length, 0 when
 * it does not fit (SL_ASSIGNMENT_TEXT_MAX always does for indexes below 1000). */
size_t sl_assignment_format(const struct sl_node *node, const struct sl_ask *ask,
                            const struct sl_assignment *assignment, char *out, size_t size);

/* Reads it back against a node; false when it names what the node or the ask does not have, names a
 * place twice, says "?" where the node knows its devices, or does not add up to the ask. Where the
 * node knows only counts the devices named are forgotten. */
bool sl_assignment_parse(const struct sl_node *node, const struct sl_ask *ask, struct sl_str text,
                         struct sl_assignment *out);

#endif
