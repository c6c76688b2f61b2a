/* Users who ask through the API server: for estimates, and to watch. Whatever some of them ask, and
 * whatever it costs, another one is answered as if it were alone. */
#ifndef SLICED_ADVERSARY_ASKS_H
#define SLICED_ADVERSARY_ASKS_H

#include "adversary/rig.h"

void asks_estimates(struct rig *rig);
void asks_watches(struct rig *rig);

#endif
