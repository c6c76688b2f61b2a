/* The same world with threads: users, schedulers, readers and operators at the same time, the
 * client's and the queue's own. What is given is judged at rest alone. */
#ifndef SLICED_ADVERSARY_THREADS_H
#define SLICED_ADVERSARY_THREADS_H

#include "adversary/rig.h"

/* Users make that many moves, the others in proportion; ends when all have made theirs and every
 * request is answered. seed: of all their moves. */
void threads_play(struct rig *rig, uint64_t seed, unsigned long steps, const bool *without);

#endif
