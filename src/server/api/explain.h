/* A waiting pod against every node, by the functions of filter and prioritize; keeps all that they
 * say. */
#ifndef SLICED_SERVER_EXPLAIN_H
#define SLICED_SERVER_EXPLAIN_H

#include "cluster/store.h"
#include "sliced/reason.h"

struct sl_explain_row {
    uint32_t place; /* in the snapshot */
    bool fits;
    uint8_t wire; /* 0..10 */
    struct sl_verdict verdict;
    struct sl_score score;
};

struct sl_explain {
    const struct sl_snapshot *snapshot;
    const struct sl_pod *pod;
    struct sl_ask ask;
    size_t n; /* = nodes of the snapshot */
    size_t n_fit;
    size_t count[SL_REASON_COUNT]; /* nodes by reason */
    struct sl_explain_row *row; /* the best first; then nodes that may fit later, nodes that never
                                 * will, last nodes that do not offer the resource */
};

enum { SL_EXPLAIN_TEXT_MAX = 512 };

/* Judges all nodes. -1 with *err set when out of memory. snapshot and pod are borrowed. */
int sl_explain_init(struct sl_explain *explain, const struct sl_snapshot *snapshot,
                    const struct sl_pod *pod, const struct sl_score_config *config,
                    struct sl_error *err);
void sl_explain_free(struct sl_explain *explain);

/* Writes one sentence for the pod's owner: why the pod waits, or where it is. */
void sl_explain_why(const struct sl_explain *explain, char *out, size_t size);

#endif
