/* Finds pods that wait for each other. A search from a pod follows the pods that it waits for; if
 * it comes back, there is a cycle. */
#include "core/stage/internal.h"

#include "core/request/text.h"

#include <stdlib.h>

enum { LOOKS_MAX = 1 << 17 }; /* for one review; later reviews find the other cycles */

struct search {
    struct sl_stages *stages;
    struct sl_stage_waiter *start;
    struct sl_stage_waiter *last; /* of the queue of waiters to visit, which the start leads */
    struct sl_stage_waiter *end;  /* waits for the start; NULL: none found yet */
    uint64_t looks_end; /* it is given up then: a cycle that is not found is not told of */
};

static void reach(struct search *search, struct sl_stage_waiter *from, struct sl_stage_waiter *to)
{
    if (to->mark == search->stages->mark) {
        return;
    }
    to->mark = search->stages->mark;
    to->from = from;
    to->visit = NULL;
    search->last->visit = to;
    search->last = to;
}

static void look_at(struct search *search, struct sl_stage_waiter *from,
                    struct sl_stage_target *target)
{
    if (target->mark == search->stages->mark) {
        return;
    }
    target->mark = search->stages->mark;
    search->stages->looks++;
    if (sl_stage_names(target, search->start->pod)) {
        search->end = from;
        return;
    }
    if (target->kind == SL_STAGE_POD) {
        struct sl_stage_waiter *to =
            sl_map_get(&search->stages->by_name, target->key, strlen(target->key));
        if (to != NULL) {
            reach(search, from, to);
        }
        return;
    }
    struct sl_stage_named named;
    sl_stage_named_begin(&named, search->stages, target);
    for (struct sl_stage_waiter *to = sl_stage_named_next(&named);
         to != NULL && search->stages->looks < search->looks_end;
         to = sl_stage_named_next(&named)) {
        reach(search, from, to);
    }
}

/* True when there is a cycle: it leads from search->end back to the start by `from`. */
static bool find(struct search *search)
{
    struct sl_stage_waiter *start = search->start;
    search->stages->mark++;
    start->visit = NULL;
    start->from = NULL;
    search->last = start;
    for (struct sl_stage_waiter *at = start; at != NULL && search->end == NULL; at = at->visit) {
        for (uint32_t i = 0;
             i < at->n_links && search->end == NULL && search->stages->looks < search->looks_end;
             i++) {
            look_at(search, at, at->link[i].target);
        }
    }
    return search->end != NULL;
}

static void mark(struct sl_stages *stages, struct sl_stage_waiter *waiter, const char *why)
{
    size_t size = strlen(why) + 1;
    if (waiter->cyclic) {
        return;
    }
    waiter->cyclic = true;
    waiter->own = false;
    free(waiter->why);
    waiter->why = malloc(size);
    if (waiter->why != NULL) {
        memcpy(waiter->why, why, size);
    }
    sl_stage_touch(stages, waiter);
}

/* Writes "annotations sliced.dev/after form a cycle: pod/a after pod/b after pod/a". The chain of
 * `from` begins at the end: each waiter waits for the one before it. */
static void put_cycle(struct search *search, char *out, size_t size)
{
    struct sl_text text;
    const char *between = "annotations sliced.dev/after form a cycle: pod/";
    struct sl_stage_waiter *next = NULL;
    struct sl_stage_waiter *at = search->end;
    /* reverse the chain: the start first, then what it waits for */
    while (at != NULL) {
        struct sl_stage_waiter *before = at->from;
        at->visit = next;
        next = at;
        at = before;
    }
    sl_text_init(&text, out, size);
    for (at = next; at != NULL; at = at->visit) {
        sl_text_puts(&text, between);
        sl_text_puts(&text, at->pod->name);
        between = " after pod/";
    }
    sl_text_puts(&text, between);
    sl_text_puts(&text, search->start->pod->name);
}

static bool is_named(struct sl_stages *stages, const struct sl_stage_waiter *waiter)
{
    struct sl_stage_naming naming;
    sl_stage_naming_begin(&naming, stages, waiter->space, waiter->pod);
    return sl_map_get(&stages->targets, waiter->key, strlen(waiter->key)) != NULL ||
           sl_stage_naming_next(&naming) != NULL;
}

/* True when the waiter is in a cycle; marks all waiters of that cycle. */
static bool mark_cycle(struct sl_stages *stages, struct sl_stage_waiter *waiter, uint64_t end)
{
    struct search search = {.stages = stages, .start = waiter, .looks_end = end};
    char why[SL_STAGE_TEXT_MAX];
    bool told = waiter->cyclic;
    if (waiter->n_links == 0 || !is_named(stages, waiter) || !find(&search)) {
        return false;
    }
    put_cycle(&search, why, sizeof(why));
    for (struct sl_stage_waiter *at = search.end; at != NULL; at = at->from) {
        mark(stages, at, why);
    }
    waiter->own = search.end == waiter && !told;
    return true;
}

void sl_stage_cycle_doubt(struct sl_stages *stages, struct sl_stage_space *space, bool broken)
{
    stages->n_doubted += !space->doubted;
    space->doubted = true;
    space->broken = space->broken || broken;
}

static void forget_cycles(struct sl_stages *stages, struct sl_stage_space *space)
{
    for (struct sl_link *link = space->waiters.first; link != NULL; link = link->next) {
        struct sl_stage_waiter *at = SL_CONTAINER(link, struct sl_stage_waiter, in_space);
        if (at->cyclic && !at->own) {
            at->cyclic = false;
            free(at->why);
            at->why = NULL;
            sl_stage_touch(stages, at);
        }
    }
}

/* False when the looks ran out before all waiters were searched. */
static bool mark_all(struct sl_stages *stages, struct sl_stage_space *space, bool changed,
                     uint64_t end, bool *found)
{
    for (struct sl_link *link = space->waiters.first; link != NULL; link = link->next) {
        struct sl_stage_waiter *at = SL_CONTAINER(link, struct sl_stage_waiter, in_space);
        if (stages->looks >= end) {
            return false;
        }
        if (!at->cyclic && (!changed || sl_list_has(&stages->changed, &at->changed))) {
            *found = mark_cycle(stages, at, end) || *found;
        }
    }
    return true;
}

static void review(struct sl_stages *stages, struct sl_stage_space *space, uint64_t end)
{
    bool found = false;
    if (space->broken) {
        forget_cycles(stages, space);
    }
    space->doubted = false;
    space->broken = false;
    stages->n_doubted--;
    if (mark_all(stages, space, true, end, &found) && found) {
        /* unchanged waiters may be in longer cycles with those found */
        (void)mark_all(stages, space, false, end, &found);
    }
}

void sl_stage_cycle_review(struct sl_stages *stages)
{
    uint64_t end = stages->looks + LOOKS_MAX;
    for (int lap = 0; lap < 2 && stages->n_doubted > 0; lap++) { /* where the last one ended */
        struct sl_stage_space *space = sl_map_next(&stages->spaces, &stages->reviewed);
        for (; space != NULL; space = sl_map_next(&stages->spaces, &stages->reviewed)) {
            if (space->doubted) {
                review(stages, space, end);
            }
            if (stages->looks >= end) {
                return;
            }
        }
        stages->reviewed = 0;
    }
}
