/* Does an ask fit on a node, and on which devices. One function decides both, so that filter and
 * bind cannot disagree. */
#ifndef SLICED_FIT_H
#define SLICED_FIT_H

#include "sliced/reason.h"
#include "sliced/view.h"

/* True when every item of the ask fits at once. verdict (may be NULL) says why, or that it does.
 * An ask of one countable item costs a few comparisons; others search on a scratch copy. */
bool sl_fit(const struct sl_view *view, const struct sl_ask *ask, struct sl_verdict *verdict);

/* The same, and the devices chosen. Whole GPUs: lowest free indexes. Instances: the device with the
 * fewest free instances of that pool, then the lowest start. Replicas: the least used device or
 * instance (as the device plugin prefers), different ones first. Memory: the smallest sufficient
 * free share of one GPU. All items or none. */
bool sl_choose(const struct sl_view *view, const struct sl_ask *ask,
               struct sl_assignment *assignment, struct sl_verdict *verdict);

/* As sl_choose on counters that were changed by hand; changes them further when it fits. */
bool sl_choose_on(struct sl_scratch *scratch, const struct sl_ask *ask,
                  struct sl_assignment *assignment, struct sl_verdict *verdict);

/* The assignment as the annotation sliced.dev/assignment carries it: items joined by ';', each
 * "<resource>=<part>,<part>" with part "<device index>[/<start slice or instance>][*<amount>]", or
 * "?*<amount>" where only the kubelet knows. Returns the length, 0 when it does not fit. */
size_t sl_assignment_format(const struct sl_node *node, const struct sl_ask *ask,
                            const struct sl_assignment *assignment, char *out, size_t size);

/* Reads it back against a node; false when it names what the node or the ask does not have, or
 * does not add up to the ask. */
bool sl_assignment_parse(const struct sl_node *node, const struct sl_ask *ask, struct sl_str text,
                         struct sl_assignment *out);

#endif
