/* A pod as a lane of the order bounded and its forecasts know it. */
#ifndef SLICED_PROMISE_POD_H
#define SLICED_PROMISE_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_promise_pod {
    /* The caller's number, unique in the lane. Pods of equal priority and submission go by it; the
     * leading 64 bits of the UID give the same order after a restart. */
    uint64_t id;
    int64_t width;      /* units asked, > 0 */
    int64_t submit_us;  /* when it became able to start: created, or its gate or stage opened */
    int64_t timeout_us; /* the longest that it can run. 0 and less count as 1 s, values above
                           SL_PROMISE_TIMEOUT_MAX_US as that. */
    int32_t priority;
};

#endif
