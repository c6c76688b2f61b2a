/* FIFO with EASY backfill on nodes of units: the first that does not fit has a reservation on the
 * node that has room for it first; those behind start where they do not delay it. */
#include "core/bound_yard.h"

#include <stdlib.h>
#include <string.h>

enum {
    MISSES_MAX = 16, /* pods that turn out not to fit, in one search */
    BESIDE_MAX = 32, /* pods looked at for the reserved node, in one search */
};

void sl_yard_free(struct sl_yard *yard)
{
    free(yard->bin);
    free(yard->lease);
    free(yard->turn);
    free(yard->narrowest);
}

static int grow(void *array, size_t *cap, size_t n, size_t size)
{
    if (n <= *cap) {
        return 0;
    }
    size_t wanted = *cap < 16 ? 16 : *cap * 2;
    wanted = wanted < n ? n : wanted;
    void *old = NULL;
    memcpy(&old, array, sizeof old);
    void *fresh = realloc(old, wanted * size);
    if (fresh == NULL) {
        return -1;
    }
    memcpy(array, &fresh, sizeof fresh);
    *cap = wanted;
    return 0;
}

/* ---- bins by what they have free ---- */

static size_t level_of(const struct sl_yard *yard, int64_t free)
{
    if (free <= 0) {
        return 0;
    }
    free = free < yard->largest ? free : yard->largest; /* no bin has more */
    if (yard->largest <= SL_YARD_LEVELS) {
        return (size_t)free;
    }
    const int64_t step = yard->largest / SL_YARD_LEVELS + 1;
    return (size_t)(free / step);
}

static void link_bin(struct sl_yard *yard, uint32_t index)
{
    struct sl_bin *bin = &yard->bin[index];
    uint32_t *head = &yard->level[level_of(yard, bin->free)];
    bin->prev = SL_YARD_NONE;
    bin->next = *head;
    if (*head != SL_YARD_NONE) {
        yard->bin[*head].prev = index;
    }
    *head = index;
}

static void set_free(struct sl_yard *yard, uint32_t index, int64_t free)
{
    struct sl_bin *bin = &yard->bin[index];
    if (level_of(yard, bin->free) == level_of(yard, free)) {
        bin->free = free;
        return;
    }
    if (bin->prev != SL_YARD_NONE) {
        yard->bin[bin->prev].next = bin->next;
    } else {
        yard->level[level_of(yard, bin->free)] = bin->next;
    }
    if (bin->next != SL_YARD_NONE) {
        yard->bin[bin->next].prev = bin->prev;
    }
    bin->free = free;
    link_bin(yard, index);
}

static void link_all(struct sl_yard *yard)
{
    for (size_t i = 0; i <= SL_YARD_LEVELS; i++) {
        yard->level[i] = SL_YARD_NONE;
    }
    for (size_t i = yard->n_bins; i > 0; i--) {
        link_bin(yard, (uint32_t)(i - 1));
    }
}

/* The fullest bin that has room. */
static uint32_t choose(const struct sl_yard *yard, int64_t width, uint32_t but)
{
    for (size_t level = level_of(yard, width); level <= SL_YARD_LEVELS; level++) {
        for (uint32_t i = yard->level[level]; i != SL_YARD_NONE; i = yard->bin[i].next) {
            if (i != but && yard->bin[i].free >= width) {
                return i;
            }
        }
    }
    return SL_YARD_NONE;
}

/* No bin has more free; nearly so much where levels are wide. */
static int64_t most_free(const struct sl_yard *yard, uint32_t but)
{
    for (size_t level = SL_YARD_LEVELS; level > 0; level--) {
        const uint32_t i = yard->level[level];
        if (i != SL_YARD_NONE && (i != but || yard->bin[i].next != SL_YARD_NONE)) {
            return yard->largest <= SL_YARD_LEVELS ? (int64_t)level : yard->largest;
        }
    }
    return 0;
}

static bool is_less(const struct sl_bin *bin, uint64_t key)
{
    return bin->key < key;
}

/* The bin of a node for so many units; any where the node is not known. */
static uint32_t bin_for(const struct sl_yard *yard, uint64_t key, int64_t width)
{
    size_t low = 0;
    size_t high = yard->n_bins;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_less(&yard->bin[middle], key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t best = SL_YARD_NONE;
    for (size_t i = low; i < yard->n_bins && yard->bin[i].key == key; i++) {
        const int64_t free = yard->bin[i].free;
        const int64_t least = best == SL_YARD_NONE ? 0 : yard->bin[best].free;
        const bool fits = free >= width;
        if (best == SL_YARD_NONE || (fits && (least < width || free < least)) ||
            (!fits && least < width && free > least)) {
            best = (uint32_t)i;
        }
    }
    if (best == SL_YARD_NONE) {
        best = choose(yard, width, SL_YARD_NONE);
    }
    return best;
}

/* ---- who runs ---- */

static void add_lease(struct sl_yard *yard, const struct sl_lease *lease)
{
    size_t low = 0;
    size_t high = yard->n_leases;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (yard->lease[middle].end >= lease->end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    memmove(&yard->lease[low + 1], &yard->lease[low], (yard->n_leases - low) * sizeof(*lease));
    yard->lease[low] = *lease;
    yard->n_leases++;
}

static void remove_lease(struct sl_yard *yard, size_t at)
{
    yard->n_leases--;
    memmove(&yard->lease[at], &yard->lease[at + 1], (yard->n_leases - at) * sizeof(*yard->lease));
}

static int by_end(const void *a, const void *b)
{
    const struct sl_lease *x = a;
    const struct sl_lease *y = b;
    if (x->end != y->end) {
        return x->end > y->end ? -1 : 1;
    }
    return (x->serial > y->serial) - (x->serial < y->serial);
}

void sl_yard_seat(struct sl_yard *yard, const struct sl_lease *lease, uint64_t key)
{
    struct sl_lease placed = *lease;
    placed.bin = bin_for(yard, key, lease->width);
    if (placed.bin != SL_YARD_NONE) {
        set_free(yard, placed.bin, yard->bin[placed.bin].free - placed.width);
        yard->lease[yard->n_leases++] = placed;
    }
}

void sl_yard_seated(struct sl_yard *yard)
{
    if (yard->n_leases > 1) {
        qsort(yard->lease, yard->n_leases, sizeof(*yard->lease), by_end);
    }
}

bool sl_yard_run(struct sl_yard *yard, const struct sl_lease *lease, uint64_t key)
{
    struct sl_lease placed = *lease;
    placed.bin = bin_for(yard, key, lease->width);
    if (placed.bin != SL_YARD_NONE) {
        set_free(yard, placed.bin, yard->bin[placed.bin].free - placed.width);
        add_lease(yard, &placed);
        yard->reserved = false;
    }
    return placed.bin != SL_YARD_NONE;
}

static void end_leases(struct sl_yard *yard)
{
    while (yard->n_leases > 0 && yard->lease[yard->n_leases - 1].end <= yard->now) {
        const struct sl_lease *lease = &yard->lease[--yard->n_leases];
        set_free(yard, lease->bin, yard->bin[lease->bin].free + lease->width);
        yard->stirred = true;
    }
}

/* ---- who waits ---- */

static int64_t width_at(const struct sl_yard *yard, size_t slot)
{
    return slot < yard->used && yard->turn[slot].width > 0 ? yard->turn[slot].width : INT64_MAX;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_leaf(struct sl_yard *yard, size_t slot)
{
    size_t i = yard->size + slot;
    yard->narrowest[i] = width_at(yard, slot);
    for (i /= 2; i > 0; i /= 2) {
        yard->narrowest[i] = least(yard->narrowest[2 * i], yard->narrowest[2 * i + 1]);
    }
}

static void fill(struct sl_yard *yard)
{
    for (size_t i = 0; i < yard->size; i++) {
        yard->narrowest[yard->size + i] = width_at(yard, i);
    }
    for (size_t i = yard->size; i-- > 1;) {
        yard->narrowest[i] = least(yard->narrowest[2 * i], yard->narrowest[2 * i + 1]);
    }
}

/* The first slot from there on with no more units than that; size: none. */
static size_t next_within(const struct sl_yard *yard, size_t from, int64_t units)
{
    if (from >= yard->used || units <= 0) {
        return yard->size;
    }
    size_t i = yard->size + from;
    while (yard->narrowest[i] > units) {
        while (i % 2 == 1) { /* up, until there is something to the right */
            if (i == 1) {
                return yard->size;
            }
            i /= 2;
        }
        i++;
    }
    while (i < yard->size) {
        i = yard->narrowest[2 * i] <= units ? 2 * i : 2 * i + 1;
    }
    return i - yard->size;
}

static void squeeze(struct sl_yard *yard)
{
    size_t n = 0;
    for (size_t i = yard->first; i < yard->used; i++) {
        if (yard->turn[i].width > 0) {
            yard->turn[n++] = yard->turn[i];
        }
    }
    yard->first = 0;
    yard->used = n;
    fill(yard);
}

static int compare(const struct sl_turn *a, const struct sl_turn *b)
{
    if (a->priority != b->priority) {
        return a->priority > b->priority ? -1 : 1;
    }
    if (a->submit_us != b->submit_us) {
        return a->submit_us < b->submit_us ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

void sl_yard_push(struct sl_yard *yard, const struct sl_turn *turn)
{
    if (turn->width > yard->largest) {
        return; /* no node takes it */
    }
    yard->stirred = true;
    if (yard->used == yard->size) {
        squeeze(yard);
        yard->reserved = false;
    }
    size_t slot = yard->used++;
    if (slot > yard->first && compare(turn, &yard->turn[slot - 1]) < 0) {
        yard->used--;
        squeeze(yard);
        for (slot = yard->used++; slot > 0 && compare(turn, &yard->turn[slot - 1]) < 0; slot--) {
            yard->turn[slot] = yard->turn[slot - 1];
        }
        yard->turn[slot] = *turn;
        yard->reserved = false;
        fill(yard);
        return;
    }
    yard->turn[slot] = *turn;
    set_leaf(yard, slot);
}

static void take_out(struct sl_yard *yard, size_t slot)
{
    yard->turn[slot].width = 0;
    set_leaf(yard, slot);
    if (slot == yard->first) {
        yard->reserved = false;
    }
    while (yard->first < yard->used && yard->turn[yard->first].width == 0) {
        yard->first++;
    }
}

/* Slots that are gone keep their keys, so that a search finds its way. */
static struct sl_turn *find_turn(struct sl_yard *yard, const struct sl_turn *turn)
{
    size_t low = yard->first;
    size_t high = yard->used;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare(&yard->turn[middle], turn) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct sl_turn *found = low < yard->used ? &yard->turn[low] : NULL;
    return found != NULL && found->serial == turn->serial && found->width > 0 ? found : NULL;
}

static void set_end(struct sl_yard *yard, const struct sl_turn *turn, int64_t run_us)
{
    for (size_t i = 0; i < yard->n_leases; i++) {
        struct sl_lease lease = yard->lease[i];
        if (lease.serial == turn->serial) {
            const int64_t end = run_us < 0 ? yard->now : lease.start + run_us;
            if (end != lease.end) {
                remove_lease(yard, i);
                lease.end = end > yard->now ? end : yard->now;
                add_lease(yard, &lease);
                yard->reserved = false;
            }
            return;
        }
    }
}

void sl_yard_known(struct sl_yard *yard, const struct sl_turn *turn, int64_t run_us)
{
    struct sl_turn *waiting = find_turn(yard, turn);
    if (waiting != NULL) {
        waiting->run_us = run_us;
    } else {
        set_end(yard, turn, run_us);
    }
}

void sl_yard_withdraw(struct sl_yard *yard, const struct sl_turn *turn)
{
    struct sl_turn *waiting = find_turn(yard, turn);
    if (waiting != NULL) {
        take_out(yard, (size_t)(waiting - yard->turn));
        yard->stirred = true;
    } else {
        set_end(yard, turn, -1);
    }
}

/* ---- life ---- */

int sl_yard_reserve(struct sl_yard *yard, size_t bins, size_t leases, size_t turns)
{
    if (grow(&yard->bin, &yard->bins_cap, bins, sizeof(*yard->bin)) != 0 ||
        grow(&yard->lease, &yard->leases_cap, leases, sizeof(*yard->lease)) != 0) {
        return -1;
    }
    size_t size = yard->size == 0 ? 16 : yard->size;
    while (size < turns) {
        size *= 2;
    }
    if (size == yard->size) {
        return 0;
    }
    struct sl_turn *turn = realloc(yard->turn, size * sizeof(*turn));
    if (turn == NULL) {
        return -1;
    }
    yard->turn = turn;
    int64_t *tree = realloc(yard->narrowest, 2 * size * sizeof(*tree));
    if (tree == NULL) {
        return -1;
    }
    yard->narrowest = tree;
    yard->size = size;
    fill(yard);
    return 0;
}

void sl_yard_clear(struct sl_yard *yard, int64_t now)
{
    yard->n_leases = 0;
    yard->first = 0;
    yard->used = 0;
    yard->largest = 0;
    for (size_t i = 0; i < yard->n_bins; i++) {
        yard->bin[i].free = yard->bin[i].units;
        yard->largest = yard->bin[i].units > yard->largest ? yard->bin[i].units : yard->largest;
    }
    link_all(yard);
    fill(yard);
    yard->now = now;
    yard->stirred = true;
    yard->reserved = false;
}

void sl_yard_copy(struct sl_yard *to, const struct sl_yard *from)
{
    memcpy(to->bin, from->bin, from->n_bins * sizeof(*from->bin));
    memcpy(to->level, from->level, sizeof(from->level));
    memcpy(to->lease, from->lease, from->n_leases * sizeof(*from->lease));
    to->n_bins = from->n_bins;
    to->largest = from->largest;
    to->n_leases = from->n_leases;
    to->first = 0;
    to->used = 0;
    for (size_t i = from->first; i < from->used; i++) {
        if (from->turn[i].width > 0) {
            to->turn[to->used++] = from->turn[i];
        }
    }
    fill(to);
    to->now = from->now;
    to->stirred = true;
    to->reserved = false;
}

/* ---- time ---- */

static void start(struct sl_yard *yard, size_t slot, uint32_t bin,
                  const struct sl_yard_watch *watch)
{
    const struct sl_turn *turn = &yard->turn[slot];
    const struct sl_lease lease = {.start = yard->now,
                                   .end = yard->now + turn->run_us,
                                   .width = turn->width,
                                   .serial = turn->serial,
                                   .bin = bin};
    yard->stopped = !watch->started(watch->context, turn, yard->now) || yard->stopped;
    set_free(yard, bin, yard->bin[bin].free - turn->width);
    add_lease(yard, &lease);
    take_out(yard, slot);
}

/* Which bin has room for so many units first. */
static void reserve(struct sl_yard *yard, int64_t width)
{
    yard->reserved = true;
    yard->reserved_bin = SL_YARD_NONE;
    yard->mark++;
    for (size_t i = yard->n_leases; i > 0; i--) {
        const struct sl_lease *lease = &yard->lease[i - 1];
        struct sl_bin *bin = &yard->bin[lease->bin];
        bin->gain = bin->mark == yard->mark ? bin->gain + lease->width : lease->width;
        bin->mark = yard->mark;
        if (bin->free + bin->gain >= width) {
            yard->reserved_bin = lease->bin;
            yard->reserved_at = lease->end;
            yard->reserved_spare = bin->free + bin->gain - width;
            return;
        }
    }
}

/* On nodes that are not reserved. */
static void backfill(struct sl_yard *yard, const struct sl_yard_watch *watch)
{
    size_t slot = yard->first + 1;
    for (unsigned misses = 0; misses < MISSES_MAX; slot++) {
        slot = next_within(yard, slot, most_free(yard, yard->reserved_bin));
        if (slot >= yard->size) {
            return;
        }
        const uint32_t bin = choose(yard, yard->turn[slot].width, yard->reserved_bin);
        if (bin == SL_YARD_NONE) {
            misses++;
        } else {
            start(yard, slot, bin, watch);
        }
    }
}

static void backfill_beside(struct sl_yard *yard, const struct sl_yard_watch *watch)
{
    const uint32_t bin = yard->reserved_bin;
    size_t slot = yard->first + 1;
    for (unsigned looked = 0; looked < BESIDE_MAX; looked++, slot++) {
        slot = next_within(yard, slot, yard->bin[bin].free);
        if (slot >= yard->size) {
            return;
        }
        const struct sl_turn *turn = &yard->turn[slot];
        const int64_t width = turn->width;
        const bool ends = yard->now + turn->run_us <= yard->reserved_at;
        if (ends || width <= yard->reserved_spare) {
            yard->reserved_spare -= ends ? 0 : width;
            start(yard, slot, bin, watch);
        }
    }
}

static void start_all(struct sl_yard *yard, const struct sl_yard_watch *watch)
{
    yard->stirred = false;
    while (yard->first < yard->used && !yard->stopped) {
        const int64_t width = yard->turn[yard->first].width;
        const uint32_t bin = choose(yard, width, SL_YARD_NONE);
        if (bin == SL_YARD_NONE) {
            break;
        }
        start(yard, yard->first, bin, watch);
    }
    if (yard->first >= yard->used || yard->stopped) {
        return;
    }
    if (!yard->reserved) {
        reserve(yard, yard->turn[yard->first].width);
    }
    backfill(yard, watch);
    if (yard->reserved_bin != SL_YARD_NONE) {
        backfill_beside(yard, watch);
    }
}

void sl_yard_play(struct sl_yard *yard, int64_t until, const struct sl_yard_watch *watch)
{
    yard->stopped = false;
    while (!yard->stopped) {
        int64_t at = yard->n_leases > 0 ? yard->lease[yard->n_leases - 1].end : INT64_MAX;
        if (yard->stirred || at < yard->now) {
            at = yard->now;
        }
        if (at >= until) {
            break;
        }
        yard->now = at;
        end_leases(yard);
        start_all(yard, watch);
    }
    yard->now = until > yard->now && until != INT64_MAX ? until : yard->now;
}
