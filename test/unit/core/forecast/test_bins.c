/* Nodes as bins of units, against looking at every one of them. */
#include <stdlib.h>

#include "core/forecast/bins.h"
#include "unit/test.h"

enum { BINS = 24 };

static unsigned draw(uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

static void fill(struct sl_bins *bins, const int64_t *units, size_t n)
{
    assert_int_equal(sl_bins_reserve(bins, n), 0);
    bins->n = n;
    for (size_t i = 0; i < n; i++) {
        bins->bin[i] =
            (struct sl_bin){.key = 10 + (n - i) / 3, .units = units[i]}; /* three a node */
    }
    sl_bins_name(bins);
    sl_bins_clear(bins);
}

/* Where levels are one unit wide, the fullest bin that has so much free. */
static void check_choice(const struct sl_bins *bins, int64_t width, uint32_t but)
{
    int64_t best = INT64_MAX;
    for (uint32_t i = 0; i < bins->n; i++) {
        int64_t free = bins->bin[i].free;
        best = i != but && free >= width && free < best ? free : best;
    }
    uint32_t found = sl_bins_choose(bins, width, but);
    assert_int_equal(found == SL_BIN_NONE, best == INT64_MAX);
    if (found != SL_BIN_NONE) {
        assert_int_not_equal(found, but);
        assert_true(bins->bin[found].free >= width);
        assert_true(bins->largest > SL_BINS_LEVELS || bins->bin[found].free == best);
        for (uint32_t i = 0; i < found && bins->largest <= SL_BINS_LEVELS; i++) {
            assert_true(i == but || bins->bin[i].free != best); /* the first of equals */
        }
    }
}

static void check_most(const struct sl_bins *bins, uint32_t but)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < bins->n; i++) {
        most = i != but && bins->bin[i].free > most ? bins->bin[i].free : most;
    }
    if (bins->largest <= SL_BINS_LEVELS) {
        assert_int_equal(sl_bins_most_free(bins, but), most);
    } else {
        assert_true(sl_bins_most_free(bins, but) >= most ||
                    most < bins->largest / SL_BINS_LEVELS + 1);
    }
}

static void check_node(const struct sl_bins *bins, uint64_t key, int64_t width)
{
    const struct sl_bin *best = NULL;
    for (uint32_t i = 0; i < bins->n; i++) {
        const struct sl_bin *bin = &bins->bin[i];
        bool fits = bin->free >= width;
        if (bin->key != key) {
            continue;
        }
        if (best == NULL || (fits && (best->free < width || bin->free < best->free)) ||
            (!fits && best->free < width && bin->free > best->free)) {
            best = bin;
        }
    }
    uint32_t found = sl_bins_of_node(bins, key, width);
    if (best == NULL) {
        assert_int_equal(found, sl_bins_choose(bins, width, SL_BIN_NONE));
    } else {
        assert_int_equal(bins->bin[found].key, key);
        assert_int_equal(bins->bin[found].free, best->free);
    }
}

static void play(int64_t largest, uint64_t seed)
{
    struct sl_bins bins = {0};
    int64_t units[BINS];
    size_t n = 1 + draw(&seed, BINS);
    for (size_t i = 0; i < n; i++) {
        units[i] = 1 + (int64_t)draw(&seed, (unsigned)largest);
    }
    fill(&bins, units, n);
    for (unsigned step = 0; step < 200; step++) {
        uint32_t i = draw(&seed, (unsigned)n);
        int64_t free = (int64_t)draw(&seed, (unsigned)bins.bin[i].units + 1);
        free -= draw(&seed, 9) == 0 ? 1 : 0;
        sl_bins_set_free(&bins, i, free);
        assert_int_equal(bins.bin[i].free, free);
        uint32_t but = draw(&seed, 2) == 0 ? SL_BIN_NONE : draw(&seed, (unsigned)n);
        check_choice(&bins, 1 + (int64_t)draw(&seed, (unsigned)bins.largest), but);
        check_most(&bins, but);
        check_node(&bins, 9 + draw(&seed, (unsigned)n / 3 + 3),
                   1 + (int64_t)draw(&seed, (unsigned)bins.largest));
    }
    sl_bins_free(&bins);
}

TEST_THAT(bins_are_found_as_by_looking_at_all)
{
    static const int64_t largest[] = {1, 8, SL_BINS_LEVELS, SL_BINS_LEVELS + 1, 1000};
    for (size_t i = 0; i < sizeof(largest) / sizeof(largest[0]); i++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            play(largest[i], seed);
        }
    }
}

TEST_THAT(a_copy_finds_what_the_first_does)
{
    const int64_t units[] = {8, 4, 4, 8};
    struct sl_bins bins = {0};
    struct sl_bins copy = {0};
    fill(&bins, units, 4);
    sl_bins_set_free(&bins, 1, 1);
    assert_int_equal(sl_bins_reserve(&copy, 4), 0);
    sl_bins_copy(&copy, &bins);
    assert_int_equal(copy.n, 4);
    assert_int_equal(copy.largest, 8);
    for (int64_t width = 1; width <= 9; width++) {
        assert_int_equal(sl_bins_choose(&copy, width, SL_BIN_NONE),
                         sl_bins_choose(&bins, width, SL_BIN_NONE));
    }
    sl_bins_free(&bins);
    sl_bins_free(&copy);
}

TEST_THAT(a_mix_keeps_units_together_for_wide_pods)
{
    const int64_t units[] = {8, 8};
    const uint32_t pods[SL_BINS_LEVELS + 1] = {[1] = 50, [4] = 50};
    struct sl_bins bins = {0};
    fill(&bins, units, 2);
    sl_bins_set_free(&bins, 0, 4);
    sl_bins_set_free(&bins, 1, 5);
    assert_int_equal(sl_bins_choose(&bins, 1, SL_BIN_NONE), 0); /* the fullest */
    sl_bins_set_mix(&bins, pods);
    assert_int_equal(sl_bins_choose(&bins, 1, SL_BIN_NONE), 1); /* the fifth unit is odd */
    assert_int_equal(sl_bins_choose(&bins, 4, SL_BIN_NONE), 0);
    assert_int_equal(sl_bins_choose(&bins, 1, 1), 0);
    sl_bins_free(&bins);
}

TEST_THAT(widths_divide_bins_when_no_unit_is_left_over)
{
    const int64_t units[] = {8, 4};
    struct sl_bins bins = {0};
    fill(&bins, units, 2);
    assert_true(sl_bins_are_divided_by(&bins, 1));
    assert_true(sl_bins_are_divided_by(&bins, 4));
    assert_false(sl_bins_are_divided_by(&bins, 8));
    assert_false(sl_bins_are_divided_by(&bins, 3));
    assert_false(sl_bins_are_divided_by(&bins, 0));
    sl_bins_free(&bins);
}
