/* Learns which workloads suffer from neighbours on a time-sliced GPU, by how busy GPUs are: pods
 * that get in each other's way keep a GPU busy for less than the sum of what each does alone. A
 * workload learns from GPUs that nobody else shares: a tenant teaches about his own pods only. */
#ifndef SLICED_SUFFER_H
#define SLICED_SUFFER_H

#include "sliced/view.h"
#include "util/data/past.h"

enum {
    SL_SUFFER_LEAST = 2,   /* observations alone, and as many together, before anything is known */
    SL_SUFFER_COSTS = 250, /* a workload that costs less does not suffer */
};

/* Zeroed but for past: nothing is known. */
struct sl_suffer {
    struct sl_past *past; /* by workload: how busy alone, what a neighbour costs. Borrowed */
    /* Those seen to suffer, the last one first, one of each namespace: nobody can have all places.
     */
    struct sl_measured_suffer list[SL_MEASURED_SUFFER];
    uint64_t namespace[SL_MEASURED_SUFFER];
};

/* The device's pods, as they are in the view, kept it busy for that part of the time, in permille,
 * measured since the last of them came or went. Call it once for each set of pods. */
void sl_suffer_learn(struct sl_suffer *suffer, const struct sl_view *view, unsigned device,
                     int32_t load);

#endif
