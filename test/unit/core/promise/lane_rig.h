/* One resource of so many units, under the defaults of the order bounded. */
#ifndef SLICED_TEST_LANE_RIG_H
#define SLICED_TEST_LANE_RIG_H

#include "sliced/promise.h"
#include "unit/test.h"

static const int64_t s = 1000000;

static inline struct sl_promise *lane(int64_t units)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    struct sl_promise *promise = sl_promise_new(&config);
    assert_non_null(promise);
    assert_int_equal(sl_promise_set_capacity(promise, units, 0, NULL), 0);
    return promise;
}

#endif
