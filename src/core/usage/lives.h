/* How much of a GPU's memory each of its pods has come to use, though only the sum is measured. */
#ifndef SLICED_CORE_LIVES_H
#define SLICED_CORE_LIVES_H

#include "sliced/usage.h"

/* The facts of a resident that lives.c reads. */
struct sl_lives_pod {
    uint64_t pod;
    uint32_t workload;
    int64_t ask_mib;    /* -1: it does not say */
    int64_t started_us; /* 0: not started */
};

/* Brings the unit's lives to these pods, in any order. */
void sl_lives_meet(struct sl_usage_unit *unit, const struct sl_lives_pod *pods, unsigned n);

/* The GPU uses last_mib now, and between `since` (of one sample and more) from the last change of
 * pods, or the last measurement, on. Pods that have gone teach what they used. */
void sl_lives_measure(struct sl_usage_unit *unit, int64_t now_us, const struct sl_extent *since,
                      int32_t last_mib, struct sl_past *peaks);

#endif
