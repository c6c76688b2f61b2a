/* Events that wait to be sent, namespace by namespace: each in turn has one sent, so that many of
 * one keep no other waiting. No locks, no clock. */
#ifndef SLICED_KUBE_EVENT_TURNS_H
#define SLICED_KUBE_EVENT_TURNS_H

#include "util/data/map.h"
#include "util/data/turns.h"

/* Zeroed it is empty. */
struct sl_event_turns {
    struct sl_map spaces; /* the namespaces of which something waits */
    struct sl_turns turns;
    size_t n;
};

/* True when one more of the namespace may wait, where max may wait in all; each has a share. */
bool sl_event_turns_have_room(const struct sl_event_turns *turns, struct sl_str space, size_t max);
/* False: out of memory. */
bool sl_event_turns_push(struct sl_event_turns *turns, struct sl_str space, struct sl_link *link);
/* Takes the next out; NULL: nothing waits. */
struct sl_link *sl_event_turns_pop(struct sl_event_turns *turns);
void sl_event_turns_free(struct sl_event_turns *turns);

#endif
