/* Takes units for pods of the plan on a node. */
#ifndef SLICED_CORE_CUT_PLACE_H
#define SLICED_CORE_CUT_PLACE_H

#include "core/cut/node/node.h"

/* Keeps what pods of the plan need of a node, so that the planner can go back to it. */
struct sl_cut_saved {
    uint8_t need[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    bool whole[SL_NODE_DEVICES_MAX];
    int32_t spare[SL_NODE_POOLS_MAX];
    uint8_t n_sizes;
    int64_t units;
    int64_t mib;
    bool board;
};
void sl_cut_node_save(const struct sl_cut_node *node, struct sl_cut_saved *saved);
void sl_cut_node_restore(struct sl_cut_node *node, const struct sl_cut_saved *saved);

/* Could the node, while no pod of the plan needs anything of it, give each item of the ask alone? A
 * few comparisons; sl_cut_node_take() fails where it says no. */
bool sl_cut_node_could(const struct sl_cut_node *node, const struct sl_ask *ask);

/* Takes the ask's units of the node: free ones that no cut changes, free ones of a device that
 * keeps its cut, then new ones. thorough: puts all units of the node anew where that fails. False:
 * nothing changed. */
bool sl_cut_node_take(struct sl_cut_node *node, const struct sl_ask *ask, bool thorough);

/* Strategy single: the unit into which all devices are cut for what pods need: SL_CUT_WHOLE or a
 * profile; the smallest that suffices, so that it is the most units; -1: none suffices. */
int sl_cut_single_unit(const struct sl_cut_node *node);

#endif
