/* Learns from ended pods how long pods run compared with their timeouts. */
#ifndef SLICED_CORE_FORECAST_LEARN_H
#define SLICED_CORE_FORECAST_LEARN_H

#include "util/time.h"

enum { SL_LEARN_CLASSES = 104, SL_LEARN_SHIFT = 30 };

/* Timeouts of about one size. The sums are over recently ended pods. */
struct sl_learn_class {
    int64_t stated_us;
    int64_t unused_us;
    int64_t share; /* published part of the timeout that pods leave unused, in 2^-30 */
    uint32_t n;
};

/* Zeroed: nothing is learned, and pods are expected to run for their timeouts. */
struct sl_learn {
    struct sl_learn_class by_size[SL_LEARN_CLASSES]; /* two classes an octave */
    struct sl_learn_class all;
    int64_t error_us; /* sum over recently ended pods: estimate against run time */
    int64_t run_us;
    uint32_t n;
    uint32_t version; /* changes when an estimate does */
};

/* Returns how much longer an overdue pod is expected to run: for as long as it is overdue, at least
 * a second, because reports of ends are late. */
static inline int64_t sl_learn_overdue(int64_t late_us)
{
    return late_us > SL_SECOND_US ? late_us : SL_SECOND_US;
}

/* Returns how long a pod with that timeout is expected to run, in microseconds, at least 1. */
int64_t sl_learn_estimate(const struct sl_learn *learn, int64_t timeout_us);
/* Returns how much longer a pod that has run for elapsed_us is expected to run. */
int64_t sl_learn_rest(const struct sl_learn *learn, int64_t timeout_us, int64_t elapsed_us);
void sl_learn_ended(struct sl_learn *learn, int64_t timeout_us, int64_t run_us);
/* The mean error of estimates, and that error in thousandths of the mean run time. */
int64_t sl_learn_error_us(const struct sl_learn *learn);
int64_t sl_learn_error_permille(const struct sl_learn *learn);

#endif
