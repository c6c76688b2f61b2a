/* Dealing units out to places, so that each has about as many of them. */
#ifndef SLICED_CORE_DEAL_H
#define SLICED_CORE_DEAL_H

#include <stdbool.h>
#include <stdint.h>

/* A device or an instance that replicas may go to. */
struct sl_place {
    int16_t device;
    int16_t instance;
    bool picked; /* in the last round */
    int64_t used;
    int64_t free;
    int64_t taken; /* what it is given */
};

/* Deals out count units in rounds of one for each place that is not full; those of the last round,
 * which are too few for all, go to the least used. */
void sl_deal(struct sl_place *place, unsigned n, int64_t count);

#endif
