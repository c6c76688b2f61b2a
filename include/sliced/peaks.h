/* How much of its declared GPU memory (sliced.dev/gpu-memory) a workload's pods have come to use,
 * learned from those that have ended: a pod that grows late has shown it in a former life. A table
 * of fixed size; the workload least lately learned goes first. */
#ifndef SLICED_PEAKS_H
#define SLICED_PEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SL_PEAKS_LIVES = 16, /* that are remembered of a workload, the last ones */
    SL_PEAKS_LEAST = 2,  /* lives before anything is expected of a workload */
};

struct sl_peaks;

/* n: workloads that it remembers, at least 8. NULL when out of memory. */
struct sl_peaks *sl_peaks_new(size_t n);
void sl_peaks_free(struct sl_peaks *peaks); /* NULL is allowed */

/* Notes that a pod of the workload has ended. Its highest use lay between low and high, in permille
 * of its declared memory; the same, where it is known. */
void sl_peaks_learn(struct sl_peaks *peaks, uint32_t workload, int32_t low_permille,
                    int32_t high_permille);

/* Forgets the workload: what was learned of it holds no longer. */
void sl_peaks_forget(struct sl_peaks *peaks, uint32_t workload);

struct sl_peak_expected {
    int32_t permille; /* of its ask, that a pod uses at most; 1000: not known, or all of it */
    unsigned lives;   /* that show it, up to SL_PEAKS_LIVES */
};

/* The least peak that explains all of the last lives: none surely used more, and of one at least it
 * is known that it used no more. On top of it comes what these lives differ by and a fiftieth,
 * margin_permille of it at most. Lives that may have used more show nothing; when fewer than
 * SL_PEAKS_LEAST are left, all of the ask is expected. */
struct sl_peak_expected sl_peaks_expected(const struct sl_peaks *peaks, uint32_t workload,
                                          int32_t margin_permille);

#endif
