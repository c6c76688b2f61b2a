/* How much of its declared GPU memory (sliced.dev/gpu-memory) a workload's pods have come to use,
 * learned from those that have ended: a pod that grows late has shown it in a former life. The
 * lives of a workload are the values of a key in a struct sl_past. */
#ifndef SLICED_PEAKS_H
#define SLICED_PEAKS_H

#include "util/data/past.h"

enum { SL_PEAKS_LEAST = 2 /* lives before anything is expected of a workload */ };

/* Notes that a pod of the workload has ended. Its highest use lay between low and high, in permille
 * of its declared memory; the same, where it is known. */
void sl_peaks_learn(struct sl_past *peaks, uint32_t workload, int32_t low_permille,
                    int32_t high_permille);

struct sl_peak_expected {
    int32_t permille; /* of its ask, that a pod uses at most; 1000: not known, or all of it */
    unsigned lives;   /* that show it, up to SL_PAST_VALUES */
};

/* The least peak that explains all of the last lives: none surely used more, and of one at least it
 * is known that it used no more. On top of it comes what these lives differ by and a fiftieth,
 * margin_permille of it at most. Lives that may have used more show nothing; when fewer than
 * SL_PEAKS_LEAST are left, all of the ask is expected. */
struct sl_peak_expected sl_peaks_expected(const struct sl_past *peaks, uint32_t workload,
                                          int32_t margin_permille);

#endif
