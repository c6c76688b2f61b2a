/* Learns from pods that have ended how much of their declared GPU memory (sliced.dev/gpu-memory)
 * the pods of a workload come to use: a workload that grows late has shown it in a former life. The
 * lives of a workload on a node are the values of a key in a struct sl_past. A node's exporter may
 * lie: what it alone shows counts on that node, and elsewhere can only make more be expected. */
#ifndef SLICED_PEAKS_H
#define SLICED_PEAKS_H

#include "util/data/past.h"

/* Tells nodes apart, by their names. */
uint32_t sl_peaks_node(const char *name);
/* Returns the key under which lives of the workload that ended on the node are kept. */
uint64_t sl_peaks_key(uint32_t node, uint32_t workload);

/* Notes that a pod of the workload has ended. Its highest use lay between low and high, in permille
 * of its declared memory (0 to 1000; more counts as 1000); both are the same when it is known. */
void sl_peaks_learn(struct sl_past *peaks, uint32_t node, uint32_t workload, int32_t low_permille,
                    int32_t high_permille);

/* Notes what a pod that lives on has come to use, at most, since it started. Of all such pods the
 * highest counts. */
void sl_peaks_glimpse(struct sl_past *peaks, uint32_t node, uint32_t workload, int32_t permille);

/* Forgets it for all nodes, as that one has seen that it holds no longer. */
void sl_peaks_forget(struct sl_past *peaks, uint32_t node, uint32_t workload);

struct sl_peak_expected {
    int32_t permille; /* of the ask, the most that a pod uses; 1000: all of it, or not known */
    unsigned lives;   /* that ended and show it, up to SL_PAST_VALUES */
};

/* For the node, by its own lives and those of the last SL_PAST_VALUES nodes that had some; of other
 * nodes the one with most lives counts as none, and only its peak counts. Returns the highest of
 * the nodes' peaks. Each is the least peak that explains all of the last lives there: none surely
 * used more, and at least one is known to have used no more. A margin comes on top: the difference
 * between these lives and a fiftieth, at most margin_permille of the peak, and all of that after
 * one life. Lives that may have used more show nothing; when no other is left, pods that live on
 * tell, and count as no life; without any, all of the ask is expected. */
struct sl_peak_expected sl_peaks_expected(const struct sl_past *peaks, uint32_t node,
                                          uint32_t workload, int32_t margin_permille);

#endif
