/* Nodes with other instances on their GPUs, as they are after a cut. */
#ifndef SLICED_SIM_BECOME_H
#define SLICED_SIM_BECOME_H

#include "sim/input/cuts.h"
#include "sim/input/fleet.h"
#include "sliced/cut.h"

/* True when all that the node's GPUs give is whole GPUs of known models and exclusive instances of
 * the mixed strategy. Other nodes are never cut here. */
bool sl_node_can_be_cut(const struct sl_node *node);

/* What becomes of a node; zeroed: nothing. */
struct sl_become {
    const struct sl_cut *cut; /* of these devices; the others have what they had */
    size_t n;
    const char *order;     /* that its agent was given; NULL: the last one stands, as it ended */
    bool done;             /* the agent says that it has carried out the order */
    const char *under_way; /* its annotation sliced.dev/cut; NULL: none */
};

/* The node as it is then: a new reference. It is one that can be cut. NULL with *err set. */
struct sl_node *sl_node_become(const struct sl_node *node, const struct sl_become *become,
                               struct sl_error *err);

/* The cut of device d (an index in node->device) with those counts. False when the device's model
 * cannot have it. */
bool sl_cut_of_counts(const struct sl_node *node, unsigned d, const struct sl_counts *counts,
                      struct sl_cut *out);

/* How many GPUs can be cut; *model is theirs, NULL when they are of several. */
size_t sl_fleet_cuttable(const struct sl_fleet *fleet, const struct sl_mig_model **model);

/* Cuts the k-th GPU that can be cut, in the order of nodes, into counts[of[k]]; all into counts[0]
 * where of is NULL. Not once the fleet is finished. -1 when a GPU cannot have its cut. */
int sl_fleet_cut(struct sl_fleet *fleet, const struct sl_counts *counts, const uint16_t *of,
                 struct sl_error *err);

#endif
