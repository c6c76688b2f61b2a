/* Deals units out evenly to places. */
#ifndef SLICED_CORE_DEAL_H
#define SLICED_CORE_DEAL_H

#include <stdbool.h>
#include <stdint.h>

/* A device or an instance that replicas may go to. */
struct sl_place {
    int16_t device;
    int16_t instance;
    bool picked; /* got a unit in the last round */
    int64_t used;
    int64_t free;
    int64_t taken; /* units dealt to it */
};

/* Deals out count units in rounds of one for each place that is not full. When the last round has
 * too few for all, the least used places get them. */
void sl_deal(struct sl_place *place, unsigned n, int64_t count);

#endif
