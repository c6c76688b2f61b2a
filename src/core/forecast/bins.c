/* Keeps bins in sets by their free units. */
#include "core/forecast/bins.h"

#include <stdlib.h>
#include <string.h>

#include "util/data/search.h"
#include "util/data/vec.h"

enum { WORD = 64 };

void sl_bins_free(struct sl_bins *bins)
{
    free(bins->bin);
    free(bins->named);
    free(bins->bits);
}

int sl_bins_reserve(struct sl_bins *bins, size_t n)
{
    const size_t bits = (n + WORD - 1) / WORD * (SL_BINS_LEVELS + 1);
    if (sl_vec_reserve(&bins->bin, &bins->cap, n, sizeof(*bins->bin)) != 0 ||
        sl_vec_reserve(&bins->named, &bins->named_cap, n, sizeof(*bins->named)) != 0) {
        return -1;
    }
    return sl_vec_reserve(&bins->bits, &bins->bits_cap, bits, sizeof(*bins->bits));
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

static void toggle(struct sl_bins *bins, size_t level, uint32_t index, bool in)
{
    bins->bits[level * bins->words + index / WORD] ^= UINT64_C(1) << index % WORD;
    bins->count[level] = in ? bins->count[level] + 1 : bins->count[level] - 1;
}

void sl_bins_set_free(struct sl_bins *bins, uint32_t index, int64_t units)
{
    struct sl_bin *bin = &bins->bin[index];
    const size_t from = level_for(bins, bin->free);
    const size_t to = level_for(bins, units);
    bin->free = units;
    if (from != to) {
        toggle(bins, from, index, false);
        toggle(bins, to, index, true);
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct sl_bin_name *x = a;
    const struct sl_bin_name *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->bin > y->bin) - (x->bin < y->bin);
}

void sl_bins_name(struct sl_bins *bins)
{
    for (size_t i = 0; i < bins->n; i++) {
        bins->named[i] = (struct sl_bin_name){bins->bin[i].key, (uint32_t)i};
    }
    if (bins->n > 1) {
        qsort(bins->named, bins->n, sizeof(*bins->named), compare_names);
    }
}

void sl_bins_clear(struct sl_bins *bins)
{
    bins->largest = 0;
    bins->words = (bins->n + WORD - 1) / WORD;
    memset(bins->count, 0, sizeof(bins->count));
    for (size_t i = 0; i < bins->n; i++) {
        struct sl_bin *bin = &bins->bin[i];
        bin->free = bin->units;
        bin->mark = 0;
        bins->largest = bin->units > bins->largest ? bin->units : bins->largest;
    }
    if (bins->n > 0) {
        memset(bins->bits, 0, bins->words * (SL_BINS_LEVELS + 1) * sizeof(*bins->bits));
    }
    for (size_t i = 0; i < bins->n; i++) {
        toggle(bins, level_for(bins, bins->bin[i].free), (uint32_t)i, true);
    }
}

void sl_bins_copy(struct sl_bins *to, const struct sl_bins *from)
{
    if (from->n > 0) {
        memcpy(to->bin, from->bin, from->n * sizeof(*from->bin));
        memcpy(to->named, from->named, from->n * sizeof(*from->named));
        memcpy(to->bits, from->bits, from->words * (SL_BINS_LEVELS + 1) * sizeof(*from->bits));
    }
    memcpy(to->count, from->count, sizeof(from->count));
    to->n = from->n;
    to->words = from->words;
    to->largest = from->largest;
    to->keeps_sets = from->keeps_sets;
    memcpy(to->odd, from->odd, sizeof(from->odd));
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

/* Returns the first bin of the level, except `but`, with room for the width. */
static uint32_t first_of_level(const struct sl_bins *bins, size_t level, int64_t width,
                               uint32_t but)
{
    const uint64_t *bits = &bins->bits[level * bins->words];
    for (size_t word = 0; bins->count[level] > 0 && word < bins->words; word++) {
        for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
            const uint32_t i = (uint32_t)(word * WORD) + (uint32_t)__builtin_ctzll(left);
            if (i != but && bins->bin[i].free >= width) {
                return i;
            }
        }
    }
    return SL_BIN_NONE;
}

void sl_bins_set_mix(struct sl_bins *bins, const uint32_t *pods)
{
    int64_t all = 0;
    int64_t units = 0;
    for (int64_t n = 1; n <= SL_BINS_LEVELS; n++) {
        all += pods[n];
    }
    for (int64_t n = 1; n <= SL_BINS_LEVELS && all > 0; n++) {
        units += (pods[n] * (INT64_C(1) << 16) / all) * n;
    }
    bins->keeps_sets = units > 0 && bins->largest <= SL_BINS_LEVELS;
    memset(bins->odd, 0, sizeof(bins->odd));
    for (int64_t n = 2; n <= SL_BINS_LEVELS && bins->keeps_sets; n++) {
        const int64_t share = ((pods[n] * (INT64_C(1) << 16) / all * n) << 16) / units;
        for (int64_t free = 1; pods[n] > 0 && free <= bins->largest; free++) {
            bins->odd[free] += free % n * share;
        }
    }
}

/* How well a bin with so much free suits the width, as the score's default weights for whole GPUs
 * have it: 10 of 140 for packing, 30 for keeping sets together, 100 for what is the same here. */
static int64_t total_of(const struct sl_bins *bins, int64_t free, int64_t width)
{
    const int64_t most = bins->largest > 0 ? bins->largest : 1;
    const int64_t packing = (most - free + width) * 100 / most;
    const int64_t before = bins->odd[free] * 250 >> 8;
    const int64_t gain = before - (bins->odd[free - width] * 250 >> 8);
    const int64_t scale = (gain < 0 ? -gain : gain) + 25600 * (width > 0 ? width : 1);
    const int64_t whole = (200 * (scale + gain) / scale + 2) / 4;
    return (2 * (10 * packing + 30 * whole + INT64_C(5000)) + 140) / 280;
}

uint32_t sl_bins_choose(const struct sl_bins *bins, int64_t width, uint32_t but)
{
    const size_t top = level_for(bins, bins->largest);
    uint32_t best = SL_BIN_NONE;
    int64_t most = -1;
    for (size_t level = level_for(bins, width); level <= top; level++) {
        const uint32_t found = first_of_level(bins, level, width, but);
        if (found == SL_BIN_NONE) {
            continue;
        }
        if (!bins->keeps_sets) {
            return found;
        }
        const int64_t total = total_of(bins, (int64_t)level, width);
        if (total > most || (total == most && found < best)) {
            most = total;
            best = found;
        }
    }
    return best;
}

int64_t sl_bins_most_free(const struct sl_bins *bins, uint32_t but)
{
    const size_t its = but == SL_BIN_NONE ? 0 : level_for(bins, bins->bin[but].free);
    for (size_t level = level_for(bins, bins->largest); level > 0; level--) {
        if (bins->count[level] > (but != SL_BIN_NONE && level == its ? 1 : 0)) {
            return bins->largest <= SL_BINS_LEVELS ? (int64_t)level : bins->largest;
        }
    }
    return 0;
}

static bool name_is_before(const void *item, const void *key)
{
    const struct sl_bin_name *name = item;
    const uint64_t *wanted = key;
    return name->key < *wanted;
}

bool sl_bins_suits(int64_t free, int64_t than, int64_t width)
{
    return free >= width ? than < width || free < than : than < width && free > than;
}

size_t sl_bins_find(const struct sl_bins *bins, uint64_t key)
{
    return sl_lower_bound(bins->named, bins->n, sizeof(*bins->named), &key, name_is_before);
}

uint32_t sl_bins_of_node(const struct sl_bins *bins, uint64_t key, int64_t width)
{
    uint32_t best = SL_BIN_NONE;
    for (size_t i = sl_bins_find(bins, key); i < bins->n && bins->named[i].key == key; i++) {
        const uint32_t bin = bins->named[i].bin;
        if (best == SL_BIN_NONE ||
            sl_bins_suits(bins->bin[bin].free, bins->bin[best].free, width)) {
            best = bin;
        }
    }
    return best != SL_BIN_NONE ? best : sl_bins_choose(bins, width, SL_BIN_NONE);
}
