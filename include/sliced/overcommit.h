/* Do the pods on a node hold more than it has? Nothing here decides; it is for people to see. */
#ifndef SLICED_OVERCOMMIT_H
#define SLICED_OVERCOMMIT_H

#include "sliced/view.h"

/* Units of a pool beyond its capacity or without any place, shares of memory beyond their GPU's, or
 * units of a resource that the node does not offer at all. */
bool sl_view_overcommitted(const struct sl_view *view);

/* The same in words, "5 in use of 2 nvidia.com/mig-1g.6gb", several parted by "; "; empty when it
 * is not. Cut to size. */
void sl_overcommit_text(const struct sl_view *view, char *out, size_t size);

#endif
