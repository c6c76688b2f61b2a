/* The order of a lane's pods: by priority, submission and id. */
#ifndef SLICED_CORE_FORECAST_LANE_ORDER_H
#define SLICED_CORE_FORECAST_LANE_ORDER_H

#include "sliced/promise_pod.h"

/* Returns below 0 when a goes first. */
static inline int sl_lane_compare(const struct sl_promise_pod *a, const struct sl_promise_pod *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->submit_us != b->submit_us) {
        return a->submit_us < b->submit_us ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

#endif
