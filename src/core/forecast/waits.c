/* Slots in order, and a tree of the least widths and run times over them. */
#include "core/forecast/waits.h"

#include <stdlib.h>

#include "core/forecast/lane_order.h"
#include "util/data/search.h"

void sl_waits_free(struct sl_waits *waits)
{
    free(waits->wait);
    free(waits->least);
}

static struct sl_waits_least least_at(const struct sl_waits *waits, size_t slot)
{
    const struct sl_wait *wait = &waits->wait[slot];
    return slot < waits->used && wait->pod.width > 0
               ? (struct sl_waits_least){wait->pod.width, wait->run_us}
               : (struct sl_waits_least){INT64_MAX, INT64_MAX};
}

static void join_children(struct sl_waits *waits, size_t i)
{
    const struct sl_waits_least left = waits->least[2 * i];
    const struct sl_waits_least right = waits->least[2 * i + 1];
    waits->least[i].width = left.width < right.width ? left.width : right.width;
    waits->least[i].run_us = left.run_us < right.run_us ? left.run_us : right.run_us;
}

static void set_leaf(struct sl_waits *waits, size_t slot)
{
    size_t i = waits->size + slot;
    waits->least[i] = least_at(waits, slot);
    for (i /= 2; i > 0; i /= 2) {
        join_children(waits, i);
    }
}

static void fill_tree(struct sl_waits *waits)
{
    for (size_t i = 0; i < waits->size; i++) {
        waits->least[waits->size + i] = least_at(waits, i);
    }
    for (size_t i = waits->size; i-- > 1;) {
        join_children(waits, i);
    }
}

int sl_waits_reserve(struct sl_waits *waits, size_t n)
{
    size_t size = waits->size == 0 ? 16 : waits->size;
    while (size < n) {
        size *= 2;
    }
    if (size == waits->size) {
        return 0;
    }
    struct sl_wait *wait = realloc(waits->wait, size * sizeof(*wait));
    if (wait == NULL) {
        return -1;
    }
    waits->wait = wait;
    struct sl_waits_least *tree = realloc(waits->least, 2 * size * sizeof(*tree));
    if (tree == NULL) {
        return -1;
    }
    waits->least = tree;
    waits->size = size;
    fill_tree(waits);
    return 0;
}

void sl_waits_clear(struct sl_waits *waits)
{
    waits->first = 0;
    waits->used = 0;
    fill_tree(waits);
}

/* Copies the pods that still wait; to and from may be the same. */
static void take_waiting(struct sl_waits *to, const struct sl_waits *from)
{
    const size_t used = from->used;
    size_t n = 0;
    for (size_t i = from->first; i < used; i++) {
        if (from->wait[i].pod.width > 0) {
            to->wait[n++] = from->wait[i];
        }
    }
    to->first = 0;
    to->used = n;
}

void sl_waits_copy(struct sl_waits *to, const struct sl_waits *from)
{
    take_waiting(to, from);
    fill_tree(to);
}

bool sl_waits_push(struct sl_waits *waits, const struct sl_wait *wait)
{
    const bool is_full = waits->used == waits->size;
    if (is_full) {
        sl_waits_copy(waits, waits);
    }
    size_t slot = waits->used;
    if (slot == waits->first || sl_lane_compare(&wait->pod, &waits->wait[slot - 1].pod) >= 0) {
        waits->wait[waits->used++] = *wait;
        set_leaf(waits, slot);
        return is_full;
    }
    take_waiting(waits, waits);
    slot = waits->used++;
    for (; slot > 0 && sl_lane_compare(&wait->pod, &waits->wait[slot - 1].pod) < 0; slot--) {
        waits->wait[slot] = waits->wait[slot - 1];
    }
    waits->wait[slot] = *wait;
    fill_tree(waits);
    return true;
}

void sl_waits_remove(struct sl_waits *waits, size_t slot)
{
    waits->wait[slot].pod.width = 0;
    set_leaf(waits, slot);
    while (waits->first < waits->used && waits->wait[waits->first].pod.width == 0) {
        waits->first++;
    }
}

static bool wait_is_before(const void *item, const void *key)
{
    const struct sl_wait *wait = item;
    const struct sl_wait *other = key;
    return sl_lane_compare(&wait->pod, &other->pod) < 0;
}

/* Searches by order: slots of removed pods keep their place in it. */
size_t sl_waits_find(const struct sl_waits *waits, const struct sl_wait *wait)
{
    if (sl_waits_is_empty(waits)) {
        return waits->size;
    }
    const size_t slot =
        waits->first + sl_lower_bound(&waits->wait[waits->first], waits->used - waits->first,
                                      sizeof(*wait), wait, wait_is_before);
    const bool waiting = slot < waits->used && waits->wait[slot].serial == wait->serial &&
                         waits->wait[slot].pod.width > 0;
    return waiting ? slot : waits->size;
}

void sl_waits_set_run(struct sl_waits *waits, size_t slot, int64_t run_us)
{
    waits->wait[slot].run_us = run_us;
    set_leaf(waits, slot);
}

static bool has_room(const struct sl_waits_least *least, const struct sl_waits_room *room)
{
    return least->width <= room->units ||
           (least->width <= room->brief_units && least->run_us <= room->run_us);
}

size_t sl_waits_next(const struct sl_waits *waits, size_t from, const struct sl_waits_room *room)
{
    size_t i = waits->size + from;
    if (from >= waits->used) {
        return waits->size;
    }
    while (i < waits->size || !has_room(&waits->least[i], room)) {
        if (has_room(&waits->least[i], room)) {
            i *= 2;
            continue;
        }
        while (i % 2 == 1) { /* go up until there is a right sibling */
            if (i == 1) {
                return waits->size;
            }
            i /= 2;
        }
        i++;
    }
    return i - waits->size;
}
