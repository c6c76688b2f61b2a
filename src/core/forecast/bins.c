/* Keeps bins in lists by their free units. */
#include "core/forecast/bins.h"

#include <stdlib.h>
#include <string.h>

#include "util/data/search.h"
#include "util/data/vec.h"

void sl_bins_free(struct sl_bins *bins)
{
    free(bins->bin);
}

int sl_bins_reserve(struct sl_bins *bins, size_t n)
{
    return sl_vec_reserve(&bins->bin, &bins->cap, n, sizeof(*bins->bin));
}

static size_t level_for(const struct sl_bins *bins, int64_t units)
{
    if (units <= 0) {
        return 0;
    }
    units = units < bins->largest ? units : bins->largest; /* no bin has more */
    if (bins->largest <= SL_BINS_LEVELS) {
        return (size_t)units;
    }
    const int64_t step = bins->largest / SL_BINS_LEVELS + 1;
    return (size_t)(units / step);
}

static void link_bin(struct sl_bins *bins, uint32_t index)
{
    struct sl_bin *bin = &bins->bin[index];
    uint32_t *head = &bins->level[level_for(bins, bin->free)];
    bin->prev = SL_BIN_NONE;
    bin->next = *head;
    if (*head != SL_BIN_NONE) {
        bins->bin[*head].prev = index;
    }
    *head = index;
}

void sl_bins_set_free(struct sl_bins *bins, uint32_t index, int64_t units)
{
    struct sl_bin *bin = &bins->bin[index];
    if (level_for(bins, bin->free) == level_for(bins, units)) {
        bin->free = units;
        return;
    }
    if (bin->prev != SL_BIN_NONE) {
        bins->bin[bin->prev].next = bin->next;
    } else {
        bins->level[level_for(bins, bin->free)] = bin->next;
    }
    if (bin->next != SL_BIN_NONE) {
        bins->bin[bin->next].prev = bin->prev;
    }
    bin->free = units;
    link_bin(bins, index);
}

void sl_bins_clear(struct sl_bins *bins)
{
    bins->largest = 0;
    for (size_t i = 0; i < bins->n; i++) {
        struct sl_bin *bin = &bins->bin[i];
        bin->free = bin->units;
        bin->mark = 0;
        bins->largest = bin->units > bins->largest ? bin->units : bins->largest;
    }
    for (size_t i = 0; i <= SL_BINS_LEVELS; i++) {
        bins->level[i] = SL_BIN_NONE;
    }
    for (size_t i = bins->n; i > 0; i--) {
        link_bin(bins, (uint32_t)(i - 1));
    }
}

void sl_bins_copy(struct sl_bins *to, const struct sl_bins *from)
{
    if (from->n > 0) {
        memcpy(to->bin, from->bin, from->n * sizeof(*from->bin));
    }
    memcpy(to->level, from->level, sizeof(from->level));
    to->n = from->n;
    to->largest = from->largest;
}

int sl_bins_compare(const void *a, const void *b)
{
    const struct sl_bin *x = a;
    const struct sl_bin *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->units > y->units) - (x->units < y->units);
}

bool sl_bins_are_divided_by(const struct sl_bins *bins, int64_t width)
{
    for (size_t i = 0; i < bins->n && width > 0; i++) {
        if (bins->bin[i].units % width != 0) {
            return false;
        }
    }
    return width > 0;
}

uint32_t sl_bins_choose(const struct sl_bins *bins, int64_t width, uint32_t but)
{
    for (size_t level = level_for(bins, width); level <= SL_BINS_LEVELS; level++) {
        for (uint32_t i = bins->level[level]; i != SL_BIN_NONE; i = bins->bin[i].next) {
            if (i != but && bins->bin[i].free >= width) {
                return i;
            }
        }
    }
    return SL_BIN_NONE;
}

int64_t sl_bins_most_free(const struct sl_bins *bins, uint32_t but)
{
    for (size_t level = SL_BINS_LEVELS; level > 0; level--) {
        const uint32_t i = bins->level[level];
        if (i != SL_BIN_NONE && (i != but || bins->bin[i].next != SL_BIN_NONE)) {
            return bins->largest <= SL_BINS_LEVELS ? (int64_t)level : bins->largest;
        }
    }
    return 0;
}

static bool bin_is_before(const void *item, const void *key)
{
    const struct sl_bin *bin = item;
    const uint64_t *wanted = key;
    return bin->key < *wanted;
}

/* Prefers the tightest bin that has room, else the one with the most free units. */
static bool suits_better(int64_t units, int64_t than, int64_t width)
{
    return units >= width ? than < width || units < than : than < width && units > than;
}

uint32_t sl_bins_of_node(const struct sl_bins *bins, uint64_t key, int64_t width)
{
    uint32_t best = SL_BIN_NONE;
    for (size_t i = sl_lower_bound(bins->bin, bins->n, sizeof(*bins->bin), &key, bin_is_before);
         i < bins->n && bins->bin[i].key == key; i++) {
        if (best == SL_BIN_NONE || suits_better(bins->bin[i].free, bins->bin[best].free, width)) {
            best = (uint32_t)i;
        }
    }
    return best != SL_BIN_NONE ? best : sl_bins_choose(bins, width, SL_BIN_NONE);
}
