/* The planner's configuration in tests and benchmarks that say nothing else. The program's own
 * defaults are those of src/config/keys.c. */
#ifndef SLICED_TEST_PLAN_DEFAULTS_H
#define SLICED_TEST_PLAN_DEFAULTS_H

#include "sliced/plan.h"
#include "util/time.h"

static const struct sl_order_config order_defaults = {
    .kind = SL_ORDER_BOUNDED,
    .weights = {.alpha = SL_ORDER_ALPHA_MAX, .beta = SL_ORDER_ONE, .gamma = SL_ORDER_ONE},
};

static inline void plan_defaults(struct sl_plan_config *config)
{
    *config = (struct sl_plan_config){
        .order = order_defaults,
        .default_timeout_us = SL_DAY_US,
        .hold_us = SL_MINUTE_US,
        .hold_max_us = SL_HOUR_US,
        .backfill = true,
        .preemption = true,
        .score.weight = {[SL_TERM_AVAILABILITY] = 3, [SL_TERM_PACKING] = 1},
    };
    sl_promise_defaults(&config->promise);
}

#endif
