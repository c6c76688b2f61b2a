/* Pods that kube-scheduler has nominated to nodes, where there is no queue: the move that nominates
 * them, and whoever else writes their status, and whose room filter and bind leave. */
#ifndef SLICED_ADVERSARY_NOMINEES_H
#define SLICED_ADVERSARY_NOMINEES_H

#include "adversary/rig.h"

/* A pod is nominated to a node, or its nomination is taken back. */
void nominees_move(struct rig *rig);
/* At rest: some pods ask for nodes to which others are nominated. */
void nominees_check(struct rig *rig);

extern _Atomic uint64_t
    nominees_judged; /* nodes where room was left for others, or was not there */

#endif
