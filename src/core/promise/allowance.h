/* How late a pod may start. */
#ifndef SLICED_CORE_PROMISE_ALLOWANCE_H
#define SLICED_CORE_PROMISE_ALLOWANCE_H

#include <stdint.h>

struct sl_promise;

struct sl_allowance {
    int64_t wait_us; /* a pod must start by its submission + this */
    int64_t lag_us;  /* the lane's end may lie behind the virtual FIFO's by this much */
    int64_t slip_us; /* a pod that is already late may become later by this much */
};

void sl_promise_allowance(const struct sl_promise *promise, uint8_t rank, struct sl_allowance *out);

#endif
