/* What may happen: each kind of move can be left out, to find which of them a failure needs. */
#ifndef SLICED_ADVERSARY_MOVES_H
#define SLICED_ADVERSARY_MOVES_H

#include "adversary/rig.h"

/* Whose thread makes it, where there are threads. */
enum move_role { MOVE_ALONE, MOVE_USER, MOVE_SCHEDULER, MOVE_READER, MOVE_OPERATOR };

struct move {
    const char *name;
    enum move_role role;
    unsigned weight;
    void (*make)(struct rig *rig);
    unsigned plays; /* bit by enum play */
};

extern const struct move moves[];
extern const size_t n_moves;

struct move_counts {
    _Atomic uint64_t pods, nodes, filters, passed, binds, attacks, reloads, relists, leaderships,
        restarts, checks, estimates, watches;
};
extern struct move_counts move_counts;

/* What goes on by itself after each move. */
void moves_after(struct rig *rig);
/* Lets all come to rest, and checks it. */
void moves_settle(struct rig *rig);
/* Ends all that there is, and looks whether memory is given back. */
void moves_end_all(struct rig *rig);
/* The truth once more changes nothing. */
void moves_relist(struct rig *rig);

#endif
