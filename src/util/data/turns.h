/* Spaces (namespaces, say) that take turns, each with a queue of its own: however many wait in one,
 * the others' turn comes after one of them. The owner keeps the spaces and what waits. */
#ifndef SLICED_UTIL_TURNS_H
#define SLICED_UTIL_TURNS_H

#include "util/data/list.h"

/* A member of a space. Zeroed nothing waits. */
struct sl_turn_space {
    struct sl_link ring;
    struct sl_list waiting;
};

/* Zeroed it is empty. */
struct sl_turns {
    struct sl_list ring; /* the spaces of which something waits; the first has its turn */
};

/* Queues the link behind all of its space. */
static inline void sl_turns_add(struct sl_turns *turns, struct sl_turn_space *space,
                                struct sl_link *link)
{
    if (space->waiting.first == NULL) {
        sl_list_add_last(&turns->ring, &space->ring);
    }
    sl_list_add_last(&space->waiting, link);
}

/* Takes the link, which waits, out; the space keeps its place among the others, if it has more. */
static inline void sl_turns_remove(struct sl_turns *turns, struct sl_turn_space *space,
                                   struct sl_link *link)
{
    sl_list_remove(&space->waiting, link);
    if (space->waiting.first == NULL) {
        sl_list_remove(&turns->ring, &space->ring);
    }
}

/* Takes the link out as its space's turn: the space, if it has more, goes behind all others. */
static inline void sl_turns_take(struct sl_turns *turns, struct sl_turn_space *space,
                                 struct sl_link *link)
{
    sl_turns_remove(turns, space, link);
    if (space->waiting.first != NULL) {
        sl_list_remove(&turns->ring, &space->ring);
        sl_list_add_last(&turns->ring, &space->ring);
    }
}

#endif
