/* MIG: placements against an exhaustive search that keeps a list of instances and never looks at
 * masks. */
#include <stdlib.h>

#include "unit/test.h"
#include <stdio.h>
#include <string.h>

#include "sliced/mig.h"

static uint64_t g_random = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    g_random ^= g_random << 13;
    g_random ^= g_random >> 7;
    g_random ^= g_random << 17;
    return (unsigned)((g_random >> 11) % n);
}

static const struct sl_mig_model *model_of(const char *product, int64_t mib)
{
    return sl_mig_model_find(sl_str_of(product), mib);
}

struct device {
    const struct sl_mig_model *model;
    struct sl_mig_placement item[SL_MIG_SLICES_MAX + 1]; /* one more to try */
    unsigned n;
};

static const struct sl_mig_profile *profile_at(const struct device *d, unsigned i)
{
    return &d->model->profiles[d->item[i].profile];
}

/* The rules one by one, on the instances as they stand. */
static bool legal(const struct device *d)
{
    unsigned compute = 0;
    for (unsigned i = 0; i < d->n; i++) {
        const struct sl_mig_profile *a = profile_at(d, i);
        unsigned start = d->item[i].start;
        unsigned same = 0;
        compute += a->compute;
        if (start > 15 || (a->starts >> start & 1) == 0) {
            return false;
        }
        for (unsigned k = 0; k < d->n; k++) {
            const struct sl_mig_profile *b = profile_at(d, k);
            same += a == b;
            if (k == i) {
                continue;
            }
            if (start < d->item[k].start + b->memory && d->item[k].start < start + a->memory) {
                return false;
            }
            if (a->media_exclusive && b->media_exclusive) {
                return false;
            }
            if ((a->attributes & SL_MIG_ME_ALL) != 0 && (b->attributes & SL_MIG_NO_ME) == 0) {
                return false;
            }
        }
        if (same > a->max_count) {
            return false;
        }
    }
    return compute <= d->model->compute_slices;
}

static bool legal_with(const struct device *d, struct sl_mig_placement p)
{
    struct device more = *d;
    more.item[more.n++] = p;
    return legal(&more);
}

static struct sl_mig_layout layout_of(const struct device *d)
{
    struct sl_mig_layout layout = {0};
    for (unsigned i = 0; i < d->n; i++) {
        sl_mig_place(d->model, &layout, d->item[i]);
    }
    return layout;
}

static unsigned brute_room(struct device *d, unsigned profile, unsigned from)
{
    unsigned best = 0;
    for (unsigned s = from; s < d->model->memory_slices; s++) {
        struct sl_mig_placement p = {(uint8_t)profile, (uint8_t)s};
        if (legal_with(d, p)) {
            d->item[d->n++] = p;
            unsigned n = 1 + brute_room(d, profile, s + 1);
            d->n--;
            best = n > best ? n : best;
        }
    }
    return best;
}

static bool brute_pack(struct device *d, uint8_t counts[SL_MIG_PROFILES_MAX], unsigned from)
{
    unsigned i = 0;
    while (i < d->model->n_profiles && counts[i] == 0) {
        i++;
        from = 0;
    }
    if (i == d->model->n_profiles) {
        return true;
    }
    bool found = false;
    counts[i]--;
    for (unsigned s = from; s < d->model->memory_slices && !found; s++) {
        struct sl_mig_placement p = {(uint8_t)i, (uint8_t)s};
        if (legal_with(d, p)) {
            d->item[d->n++] = p;
            found = brute_pack(d, counts, counts[i] > 0 ? s + 1 : 0);
            d->n--;
        }
    }
    counts[i]++;
    return found;
}

/* Calls visit for every legal set of instances once (starts go up), of the profiles in the mask. */
static void each_layout(struct device *d, unsigned profiles, unsigned from,
                        void (*visit)(struct device *d, void *context), void *context)
{
    visit(d, context);
    for (unsigned s = from; s < d->model->memory_slices; s++) {
        for (unsigned i = 0; i < d->model->n_profiles; i++) {
            struct sl_mig_placement p = {(uint8_t)i, (uint8_t)s};
            if ((profiles >> i & 1) != 0 && legal_with(d, p)) {
                d->item[d->n++] = p;
                each_layout(d, profiles, s + 1, visit, context);
                d->n--;
            }
        }
    }
}

struct census {
    unsigned profiles; /* mask */
    unsigned states;
    unsigned maximal;
    unsigned multisets;
    uint8_t seen[512][SL_MIG_PROFILES_MAX];
};

static void count_layout(struct device *d, void *context)
{
    struct census *census = context;
    struct sl_mig_layout layout = layout_of(d);
    census->states++;
    for (unsigned i = 0; i < d->model->n_profiles; i++) {
        if ((census->profiles >> i & 1) != 0 && sl_mig_room(d->model, &layout, i) > 0) {
            return;
        }
    }
    census->maximal++;
    for (unsigned k = 0; k < census->multisets; k++) {
        if (memcmp(census->seen[k], layout.count, sizeof(layout.count)) == 0) {
            return;
        }
    }
    memcpy(census->seen[census->multisets++], layout.count, sizeof(layout.count));
}

static void check_census(const char *product, const char *const *names, unsigned states,
                         unsigned maximal, unsigned multisets)
{
    static struct census census;
    memset(&census, 0, sizeof(census));
    struct device d = {.model = model_of(product, 0)};
    for (; *names != NULL; names++) {
        const struct sl_mig_profile *p = sl_mig_profile_find(d.model, sl_str_of(*names));
        assert_non_null(p);
        census.profiles |= 1u << (p - d.model->profiles);
    }
    each_layout(&d, census.profiles, 0, count_layout, &census);
    assert_int_equal(census.states, states);
    assert_int_equal(census.maximal, maximal);
    assert_int_equal(census.multisets, multisets);
}

TEST_THAT(the_number_of_layouts_is_the_known_one)
{
    static const char *const base[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", NULL};
    static const char *const more[] = {"1g.5gb",  "1g.10gb", "2g.10gb", "3g.20gb",
                                       "4g.20gb", "7g.40gb", NULL};
    static const char *const h200[] = {"1g.18gb", "2g.35gb",  "3g.71gb",
                                       "4g.71gb", "7g.141gb", NULL};
    check_census("NVIDIA-A100-SXM4-40GB", base, 298, 19, 14);
    check_census("NVIDIA-A100-SXM4-40GB", more, 723, 78, 38);
    check_census("NVIDIA-H200", h200, 298, 19, 14);
}

static void check_layout(struct device *d, void *context)
{
    unsigned *layouts = context;
    struct sl_mig_layout layout = layout_of(d);
    (*layouts)++;
    for (unsigned i = 0; i < d->model->n_profiles; i++) {
        unsigned want = brute_room(d, i, 0);
        unsigned got = sl_mig_room(d->model, &layout, i);
        if (got != want) {
            fail_msg("%s: room for %u %s, not %u", d->model->name, got, d->model->profiles[i].name,
                     want);
        }
        for (unsigned s = 0; s <= SL_MIG_SLICES_MAX; s++) {
            struct sl_mig_placement p = {(uint8_t)i, (uint8_t)s};
            bool may = s < d->model->memory_slices && legal_with(d, p);
            assert_int_equal(sl_mig_can_place(d->model, &layout, p), may);
            if (may) {
                struct sl_mig_layout changed = layout;
                sl_mig_place(d->model, &changed, p);
                assert_int_equal(changed.count[i], layout.count[i] + 1);
                sl_mig_remove(d->model, &changed, p);
                assert_memory_equal(&changed, &layout, sizeof(layout));
            }
        }
    }
}

TEST_THAT(room_is_exact_on_every_layout_of_every_model)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        struct device d = {.model = sl_mig_model_at(m)};
        unsigned layouts = 0;
        each_layout(&d, ~0u, 0, check_layout, &layouts);
        assert_true(layouts > 10);
        struct sl_mig_layout empty = {0};
        assert_int_equal(sl_mig_room(d.model, &empty, d.model->n_profiles), 0);
        assert_false(
            sl_mig_can_place(d.model, &empty, (struct sl_mig_placement){d.model->n_profiles, 0}));
    }
}

/* Boards that nobody builds: on them the rules that real placements imply (compute slices, maximum
 * counts) and starts closer than a placement is long bind too. */
static void invent(struct sl_mig_model *model, struct sl_mig_profile profiles[SL_MIG_PROFILES_MAX])
{
    static const uint8_t attributes[] = {0, 0, SL_MIG_ME, SL_MIG_ME_ALL, SL_MIG_NO_ME, SL_MIG_GFX};
    memset(model, 0, sizeof(*model));
    model->name = "invented";
    model->compute_slices = (uint8_t)(1 + random_below(8));
    model->memory_slices = (uint8_t)(2 + random_below(SL_MIG_SLICES_MAX - 1));
    model->n_profiles = (uint8_t)(1 + random_below(5));
    model->profiles = profiles;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        uint8_t size = (uint8_t)(1 + random_below(model->memory_slices > 4 ? 4 : 2));
        unsigned possible = (1u << (model->memory_slices - size + 1)) - 1;
        profiles[i] = (struct sl_mig_profile){
            .name = "invented",
            .compute = (uint8_t)(1 + random_below(3)),
            .memory = size,
            .max_count = (uint8_t)(1 + random_below(6)),
            .attributes = attributes[random_below(6)],
            .starts = (uint16_t)(possible & (random_below(2) == 0 ? ~0u : random_below(4096))),
            .media_exclusive = random_below(4) == 0,
        };
    }
}

static void random_layout(struct device *d)
{
    unsigned tries = random_below(12);
    for (unsigned i = 0; i < tries; i++) {
        struct sl_mig_placement p = {(uint8_t)random_below(d->model->n_profiles),
                                     (uint8_t)random_below(d->model->memory_slices)};
        if (legal_with(d, p)) {
            d->item[d->n++] = p;
        }
    }
}

/* Half of them a few instances of anything, half what another legal device holds: those fit more
 * often than chance. */
static void random_counts(const struct sl_mig_model *model, uint8_t counts[SL_MIG_PROFILES_MAX])
{
    memset(counts, 0, SL_MIG_PROFILES_MAX);
    if (random_below(2) == 0) {
        for (unsigned k = random_below(6); k > 0; k--) {
            counts[random_below(model->n_profiles)]++;
        }
        return;
    }
    struct device d = {.model = model};
    random_layout(&d);
    for (unsigned i = 0; i < d.n; i++) {
        if (random_below(3) > 0) {
            counts[d.item[i].profile]++;
        }
    }
}

static void check_packed(struct device *d, const uint8_t counts[SL_MIG_PROFILES_MAX],
                         const struct sl_mig_placement *out)
{
    uint8_t left[SL_MIG_PROFILES_MAX];
    unsigned before = d->n;
    memcpy(left, counts, sizeof(left));
    for (unsigned i = 0, total = 0; i < d->model->n_profiles; i++) {
        total += counts[i];
        d->n = before + total;
    }
    for (unsigned i = before; i < d->n; i++) {
        d->item[i] = out[i - before];
        assert_true(d->item[i].profile < d->model->n_profiles);
        assert_true(left[d->item[i].profile]-- > 0);
    }
    assert_true(legal(d));
}

static bool check_pack(const struct sl_mig_model *model)
{
    struct device d = {.model = model};
    uint8_t counts[SL_MIG_PROFILES_MAX];
    struct sl_mig_placement out[SL_MIG_SLICES_MAX];
    memset(out, 0xff, sizeof(out));
    random_layout(&d);
    random_counts(d.model, counts);
    struct sl_mig_layout layout = layout_of(&d);
    bool want = brute_pack(&d, counts, 0);
    assert_int_equal(sl_mig_pack(d.model, &layout, counts, NULL), want);
    assert_int_equal(sl_mig_pack(d.model, &layout, counts, out), want);
    if (want) {
        check_packed(&d, counts, out);
    } else {
        assert_int_equal(out[0].profile, 0xff);
    }
    return want;
}

TEST_THAT(pack_agrees_with_exhaustive_search)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        unsigned packed = 0;
        for (unsigned round = 0; round < 3000; round++) {
            packed += check_pack(sl_mig_model_at(m));
        }
        assert_in_range(packed, 400, 2900);
    }
}

TEST_THAT(room_and_pack_are_exact_on_invented_models_too)
{
    for (unsigned round = 0; round < 20000; round++) {
        struct sl_mig_profile profiles[SL_MIG_PROFILES_MAX];
        struct sl_mig_model model;
        unsigned layouts = 0;
        invent(&model, profiles);
        struct device d = {.model = &model};
        (void)check_pack(&model);
        random_layout(&d);
        check_layout(&d, &layouts);
    }
}

TEST_THAT(pack_refuses_counts_beyond_the_model)
{
    const struct sl_mig_model *model = model_of("NVIDIA-A30", 0);
    struct sl_mig_layout empty = {0};
    uint8_t counts[SL_MIG_PROFILES_MAX] = {0};
    assert_true(sl_mig_pack(model, &empty, counts, NULL));
    counts[SL_MIG_PROFILES_MAX - 1] = 1; /* a profile that the A30 does not have */
    assert_false(sl_mig_pack(model, &empty, counts, NULL));
    memset(counts, 255, sizeof(counts));
    assert_false(sl_mig_pack(model, &empty, counts, NULL));
}

/* No driver makes such: what is in use may be told wrong. */
TEST_THAT(a_gpu_with_more_than_it_can_hold_has_no_room)
{
    const struct sl_mig_model *model = model_of("NVIDIA-H100-80GB-HBM3", 0);
    const unsigned small =
        (unsigned)(sl_mig_profile_find(model, SL_STR("1g.10gb")) - model->profiles);
    const unsigned wide =
        (unsigned)(sl_mig_profile_find(model, SL_STR("1g.20gb")) - model->profiles);
    const unsigned half =
        (unsigned)(sl_mig_profile_find(model, SL_STR("4g.40gb")) - model->profiles);
    struct sl_mig_layout layout = {0};
    layout.count[wide] = (uint8_t)(model->profiles[wide].max_count + 1);
    assert_int_equal(sl_mig_room(model, &layout, wide), 0);
    layout = (struct sl_mig_layout){0};
    layout.count[half] = 2; /* eight of seven compute slices */
    assert_int_equal(sl_mig_room(model, &layout, small), 0);
}

TEST_THAT(the_order_that_the_driver_refuses_is_packed)
{
    /* Two 1g, one 2g and one 3g: left to itself the driver starts with 1g at 0 and 1 and is stuck.
     */
    const struct sl_mig_model *model = model_of("NVIDIA-A100-SXM4-40GB", 0);
    struct sl_mig_layout empty = {0};
    struct sl_mig_placement out[SL_MIG_SLICES_MAX];
    uint8_t counts[SL_MIG_PROFILES_MAX] = {[0] = 2, [3] = 1, [4] = 1};
    assert_true(sl_mig_pack(model, &empty, counts, out));
    assert_string_equal(model->profiles[out[0].profile].name, "3g.20gb");
    assert_string_equal(model->profiles[out[1].profile].name, "2g.10gb");
    assert_string_equal(model->profiles[out[3].profile].name, "1g.5gb");
}

TEST_THAT(media_engines_are_given_once)
{
    const struct sl_mig_model *a30 = model_of("NVIDIA-A30", 0);
    struct sl_mig_layout layout = {0};
    sl_mig_place(a30, &layout, (struct sl_mig_placement){1, 0}); /* 1g.6gb+me */
    assert_int_equal(sl_mig_room(a30, &layout, 0), 3);
    assert_int_equal(sl_mig_room(a30, &layout, 1), 0);
    assert_int_equal(sl_mig_room(a30, &layout, 2), 1);
    assert_int_equal(sl_mig_room(a30, &layout, 3), 0); /* 2g.12gb+me */

    const struct sl_mig_model *rtx = model_of("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 0);
    memset(&layout, 0, sizeof(layout));
    sl_mig_place(rtx, &layout, (struct sl_mig_placement){3, 0}); /* 1g.24gb+me.all */
    for (unsigned i = 0; i < rtx->n_profiles; i++) {
        bool bare = (rtx->profiles[i].attributes & SL_MIG_NO_ME) != 0;
        assert_int_equal(sl_mig_room(rtx, &layout, i), bare ? 3u / rtx->profiles[i].compute : 0);
    }
}
