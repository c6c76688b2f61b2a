/* Namespaces that take turns, found by their name. */
#include "kube/write/event_turns.h"

#include <stdlib.h>

#include "util/data/share.h"

struct space {
    struct sl_turn_space turn;
    size_t n;
    size_t name_len;
    char name[];
};

bool sl_event_turns_have_room(const struct sl_event_turns *turns, struct sl_str space, size_t max)
{
    const struct space *found = sl_map_get(&turns->spaces, space.s, space.len);
    return sl_share_allows(found == NULL ? 0 : found->n, turns->n, max);
}

/* NULL: out of memory. */
static struct space *space_add(struct sl_event_turns *turns, struct sl_str name)
{
    struct space *space = SL_MAP_ADD(&turns->spaces, struct space, name, name);
    if (space != NULL) {
        space->name_len = name.len;
    }
    return space;
}

bool sl_event_turns_push(struct sl_event_turns *turns, struct sl_str name, struct sl_link *link)
{
    struct space *space = sl_map_get(&turns->spaces, name.s, name.len);
    space = space == NULL ? space_add(turns, name) : space;
    if (space == NULL) {
        return false;
    }
    sl_turns_add(&turns->turns, &space->turn, link);
    space->n++;
    turns->n++;
    return true;
}

struct sl_link *sl_event_turns_pop(struct sl_event_turns *turns)
{
    struct sl_link *first = turns->turns.ring.first;
    if (first == NULL) {
        return NULL;
    }
    struct space *space =
        SL_CONTAINER(SL_CONTAINER(first, struct sl_turn_space, ring), struct space, turn);
    struct sl_link *link = space->turn.waiting.first;
    sl_turns_take(&turns->turns, &space->turn, link);
    space->n--;
    turns->n--;
    if (space->n == 0) {
        (void)sl_map_remove(&turns->spaces, space->name, space->name_len);
        free(space);
    }
    return link;
}

void sl_event_turns_free(struct sl_event_turns *turns)
{
    size_t at = 0;
    struct space *space = sl_map_next(&turns->spaces, &at);
    while (space != NULL) {
        free(space);
        space = sl_map_next(&turns->spaces, &at);
    }
    sl_map_free(&turns->spaces);
    *turns = (struct sl_event_turns){.n = 0};
}
