/* What a kubelet says of its pods: when they started, in whole seconds of its own clock. */
#ifndef SLICED_ADVERSARY_KUBELET_H
#define SLICED_ADVERSARY_KUBELET_H

#include "adversary/world.h"

/* With the world's lock. thing: a pod; phase: "Running", or how it ended. ahead_us: of its clock.
 */
void kubelet_tell(const struct thing *thing, const char *phase, int64_t ahead_us);

#endif
