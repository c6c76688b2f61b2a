/* How much of its declared GPU memory (sliced.dev/gpu-memory) a workload's pods have come to use,
 * learned from those that have ended: a pod that grows late has shown it in a former life. A table
 * of fixed size; the workload least lately learned goes first. */
#ifndef SLICED_PEAKS_H
#define SLICED_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SL_PEAKS_LIVES = 8, /* that are remembered of a workload, the last ones */
    SL_PEAKS_LEAST = 3, /* lives before anything is expected of a workload */
};

struct sl_peaks;

/* n: workloads that it remembers, at least 8. NULL when out of memory. */
struct sl_peaks *sl_peaks_new(size_t n);
void sl_peaks_free(struct sl_peaks *peaks); /* NULL is allowed */

/* Notes that a pod of the workload has ended, and the most that it used of its declared memory. */
void sl_peaks_learn(struct sl_peaks *peaks, uint32_t workload, int32_t permille);

/* Returns how much of its declared memory a pod of the workload is expected to use at most: the
 * highest of the last lives plus margin_permille of that, 1000 at most. 1000 for a workload with
 * fewer than SL_PEAKS_LEAST lives. */
int32_t sl_peaks_expected(const struct sl_peaks *peaks, uint32_t workload, int32_t margin_permille);
/* Returns how many lives are remembered, 0 to SL_PEAKS_LIVES. */
unsigned sl_peaks_lives(const struct sl_peaks *peaks, uint32_t workload);

#endif
