/* A waiting pod against every node, by the functions of filter and prioritize; keeps all that they
 * say. Nodes that the pod's constraints exclude do not count. */
#ifndef SLICED_SERVER_EXPLAIN_H
#define SLICED_SERVER_EXPLAIN_H

#include "cluster/store.h"
#include "server/app/partition_reader.h"
#include "server/model/field.h"
#include "sliced/reason.h"

struct sl_explain_row {
    uint32_t place; /* in the snapshot */
    bool fits;
    bool own;     /* the pod's nomination is there */
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
    const struct sl_partition_reader *cuts; /* NULL: of cuts nothing is told */
    int64_t now_us;                         /* with cuts */
    size_t count[SL_REASON_COUNT];          /* nodes by reason */
    struct {
        size_t n;                           /* nodes that only a cut could make fit */
        const struct sl_explain_row *first; /* of them */
    } barred[SL_CUT_BARS];                  /* by what bars the cut; with cuts */
    struct sl_view *without;    /* the node of the pod's nomination, as if that were not there: it
                                   says nothing against the pod itself. NULL: it has none */
    struct sl_explain_row *row; /* that of its nomination, the best, then nodes that may fit later,
                                 * nodes that never will, last nodes without the resource */
};

enum {
    SL_EXPLAIN_TEXT_MAX = 512,
    SL_EXPLAINS_MAX = 1 << 17, /* of sl_explain_cost: what one round says of its own accord */
};

/* Returns the cost of judging all nodes for the pod, in looks at a node. */
size_t sl_explain_cost(const struct sl_snapshot *snapshot, const struct sl_pod *pod);

/* Judges all nodes. -1 with *err set when out of memory. snapshot and pod are borrowed. */
int sl_explain_init(struct sl_explain *explain, const struct sl_snapshot *snapshot,
                    const struct sl_pod *pod, const struct sl_score_config *config,
                    struct sl_error *err);
void sl_explain_free(struct sl_explain *explain);
/* Asks why nodes are not cut for it, too. */
void sl_explain_cuts(struct sl_explain *explain, const struct sl_partition_reader *cuts,
                     int64_t now_us);

/* The node of the row as the pod finds it. */
const struct sl_view *sl_explain_view(const struct sl_explain *explain,
                                      const struct sl_explain_row *row);

/* What is set aside for the pod, and where; NULL: nothing is. */
const struct sl_resident *sl_explain_nomination(const struct sl_explain *explain,
                                                const struct sl_view **view);

/* Writes one sentence for the pod's owner: why the pod waits, or where it is. */
void sl_explain_why(const struct sl_explain *explain, char *out, size_t size);

/* Writes into out[0..size) why the row's node, which only a cut could make fit, is not cut now:
 * "node-7 is not cut now: ..."; empty: nothing is known to bar it. */
void sl_explain_bar(const struct sl_explain *explain, const struct sl_explain_row *row, char *out,
                    size_t size);

/* How many nodes there are, how many of them the pod excludes, how many it fits on, and of each
 * reason how many have it and what the one that comes nearest says; and why nodes which only a cut
 * could make fit are not cut. Names no other pod. */
extern const struct sl_field sl_model_explain[];

#endif
