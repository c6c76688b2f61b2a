/* Decides the placements on a node for what the plan's pods need there. */
#ifndef SLICED_CORE_CUT_FINISH_H
#define SLICED_CORE_CUT_FINISH_H

#include "core/cut/node/node.h"

/* Ways to give the slices that no pod needs; a plan that failed is varied by the next. */
enum { SL_CUT_VARIANTS = 4 };

/* Writes the cuts of the devices that change (all of them, where a cut names all), by index, to
 * out, which has room for the node's devices. Returns how many, 0 when nothing changes. */
unsigned sl_cut_node_finish(const struct sl_cut_node *node, unsigned variant, struct sl_cut *out);

#endif
