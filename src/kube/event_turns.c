/* A ring of namespaces, each with a queue. */
#include "kube/event_turns.h"

#include <stdlib.h>

#include "util/share.h"

struct sl_event_space {
    struct sl_event_space *prev, *next;
    struct sl_event_turn *first, **tail;
    size_t n;
    size_t name_len;
    char name[];
};

bool sl_event_turns_have_room(const struct sl_event_turns *turns, struct sl_str space, size_t max)
{
    const struct sl_event_space *found = sl_map_get(&turns->spaces, space.s, space.len);
    return sl_share_allows(found == NULL ? 0 : found->n, turns->n, max);
}

/* Behind all others. NULL: out of memory. */
static struct sl_event_space *join(struct sl_event_turns *turns, struct sl_str name)
{
    struct sl_event_space *space = calloc(1, sizeof(*space) + name.len + 1);
    if (space == NULL) {
        return NULL;
    }
    memcpy(space->name, name.s, name.len);
    space->name_len = name.len;
    space->tail = &space->first;
    if (sl_map_put(&turns->spaces, space->name, name.len, space, NULL) < 0) {
        free(space);
        return NULL;
    }
    space->prev = turns->last == NULL ? space : turns->last;
    space->next = turns->last == NULL ? space : turns->last->next;
    space->prev->next = space;
    space->next->prev = space;
    turns->last = space;
    return space;
}

static void leave(struct sl_event_turns *turns, struct sl_event_space *space)
{
    bool alone = space->next == space;
    space->prev->next = space->next;
    space->next->prev = space->prev;
    turns->last = turns->last == space ? space->prev : turns->last;
    turns->last = alone ? NULL : turns->last;
    (void)sl_map_remove(&turns->spaces, space->name, space->name_len);
    free(space);
}

bool sl_event_turns_push(struct sl_event_turns *turns, struct sl_str name,
                         struct sl_event_turn *turn)
{
    struct sl_event_space *space = sl_map_get(&turns->spaces, name.s, name.len);
    space = space == NULL ? join(turns, name) : space;
    if (space == NULL) {
        return false;
    }
    turn->next = NULL;
    *space->tail = turn;
    space->tail = &turn->next;
    space->n++;
    turns->n++;
    return true;
}

void *sl_event_turns_pop(struct sl_event_turns *turns)
{
    struct sl_event_space *space = turns->last == NULL ? NULL : turns->last->next;
    if (space == NULL) {
        return NULL;
    }
    struct sl_event_turn *turn = space->first;
    space->first = turn->next;
    space->tail = space->first == NULL ? &space->first : space->tail;
    space->n--;
    turns->n--;
    turns->last = space;
    if (space->n == 0) {
        leave(turns, space);
    }
    return turn->owner;
}

void sl_event_turns_free(struct sl_event_turns *turns)
{
    while (turns->last != NULL) {
        leave(turns, turns->last);
    }
    sl_map_free(&turns->spaces);
    turns->n = 0;
}
