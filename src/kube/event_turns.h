/* Events that wait to be sent, namespace by namespace: each in turn has one sent, so that many of
 * one keep no other waiting. No locks, no clock. */
#ifndef SLICED_KUBE_EVENT_TURNS_H
#define SLICED_KUBE_EVENT_TURNS_H

#include "util/map.h"

/* A member of what waits. */
struct sl_event_turn {
    struct sl_event_turn *next;
    void *owner;
};

struct sl_event_space;

/* Zeroed it is empty. */
struct sl_event_turns {
    struct sl_map spaces;        /* those of which something waits */
    struct sl_event_space *last; /* of a ring; the one behind it has its turn */
    size_t n;
};

/* Is there room for one more of the namespace, where max may wait in all? Each has a share. */
bool sl_event_turns_have_room(const struct sl_event_turns *turns, struct sl_str space, size_t max);
/* False: out of memory. */
bool sl_event_turns_push(struct sl_event_turns *turns, struct sl_str space,
                         struct sl_event_turn *turn);
/* The owner of the next; NULL: nothing waits. */
void *sl_event_turns_pop(struct sl_event_turns *turns);
void sl_event_turns_free(struct sl_event_turns *turns);

#endif
