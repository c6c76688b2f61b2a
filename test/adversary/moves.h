/* What may happen: each kind of move can be left out, to find which of them a failure needs. */
#ifndef SLICED_ADVERSARY_MOVES_H
#define SLICED_ADVERSARY_MOVES_H

#include "adversary/rig.h"

struct move {
    const char *name;
    unsigned weight;
    void (*make)(struct rig *rig);
};

extern const struct move moves[];
extern const size_t n_moves;

struct move_counts {
    uint64_t pods, nodes, filters, passed, binds, attacks, reloads, relists, terms, checks;
};
extern struct move_counts move_counts;

/* Ends all that there is, and looks whether memory is given back. */
void moves_end_all(struct rig *rig);
/* The truth once more changes nothing. */
void moves_relist(struct rig *rig);

#endif
