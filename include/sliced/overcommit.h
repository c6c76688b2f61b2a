/* Tells people when the pods on a node hold more than it has. No decision reads this. */
#ifndef SLICED_OVERCOMMIT_H
#define SLICED_OVERCOMMIT_H

#include "sliced/view.h"

/* True when pods hold units of a pool beyond its capacity or without a place, shares of memory
 * beyond their GPU's (unless that is shared by measured use), or units of a resource which the node
 * does not offer. */
bool sl_view_overcommitted(const struct sl_view *view);

/* Writes the excess as "5 in use of 2 nvidia.com/mig-1g.6gb", joined by "; "; empty when the node
 * is not over-committed. Cut to size bytes, with the NUL. */
void sl_overcommit_text(const struct sl_view *view, char *out, size_t size);

#endif
