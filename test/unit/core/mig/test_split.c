/* Instances over devices: none, one or several ways, against trying every device for every
 * instance. */
#include "unit/core/request/facts_rig.h"

#include "core/mig/split.h"

enum { DEVICES = 3, ITEMS = 8 };

struct brute {
    const struct sl_mig_model *model;
    unsigned n_devices;
    unsigned n_items;
    unsigned item[ITEMS]; /* profile */
    uint8_t counts[DEVICES][SL_MIG_PROFILES_MAX];
    unsigned n_found;
    uint8_t found[64][DEVICES][SL_MIG_PROFILES_MAX]; /* sorted devices */
};

static int by_counts(const void *a, const void *b)
{
    return memcmp(a, b, SL_MIG_PROFILES_MAX);
}

static void note(struct brute *brute)
{
    static const struct sl_mig_layout empty = {0};
    uint8_t sorted[DEVICES][SL_MIG_PROFILES_MAX];
    for (unsigned d = 0; d < brute->n_devices; d++) {
        if (!sl_mig_pack(brute->model, &empty, brute->counts[d], NULL)) {
            return;
        }
    }
    memcpy(sorted, brute->counts, sizeof(sorted));
    qsort(sorted, brute->n_devices, sizeof(sorted[0]), by_counts);
    for (unsigned i = 0; i < brute->n_found; i++) {
        if (memcmp(brute->found[i], sorted, sizeof(sorted)) == 0) {
            return;
        }
    }
    if (brute->n_found < 64) {
        memcpy(brute->found[brute->n_found++], sorted, sizeof(sorted));
    }
}

static void try_item(struct brute *brute, unsigned i)
{
    if (i == brute->n_items) {
        note(brute);
        return;
    }
    for (unsigned d = 0; d < brute->n_devices; d++) {
        brute->counts[d][brute->item[i]]++;
        try_item(brute, i + 1);
        brute->counts[d][brute->item[i]]--;
    }
}

static const struct sl_mig_model *model(const char *product)
{
    const struct sl_mig_model *found = sl_mig_model_find(sl_str_of(product), 0);
    assert_non_null(found);
    return found;
}

static unsigned draw(uint32_t *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % below;
}

static void check_against_brute_force(const struct sl_mig_model *m, uint32_t *seed)
{
    struct brute brute = {.model = m, .n_devices = 1 + draw(seed, DEVICES)};
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    brute.n_items = draw(seed, ITEMS + 1);
    for (unsigned i = 0; i < brute.n_items; i++) {
        brute.item[i] = draw(seed, m->n_profiles);
        counts[brute.item[i]]++;
    }
    try_item(&brute, 0);
    enum sl_split got = sl_split_find(m, counts, brute.n_devices, split);
    enum sl_split expected = brute.n_found == 0   ? SL_SPLIT_NONE
                             : brute.n_found == 1 ? SL_SPLIT_ONE
                                                  : SL_SPLIT_MANY;
    assert_int_equal(got, expected);
    if (got == SL_SPLIT_ONE) {
        qsort(split, brute.n_devices, sizeof(split[0]), by_counts);
        assert_memory_equal(split, brute.found[0], brute.n_devices * sizeof(split[0]));
    }
}

TEST_THAT(random_sets_split_as_by_brute_force)
{
    uint32_t seed = 11;
    const struct sl_mig_model *models[] = {model("NVIDIA-A30"), model("NVIDIA-A100-SXM4-40GB")};
    for (unsigned round = 0; round < 400; round++) {
        check_against_brute_force(models[round % 2], &seed);
    }
}

static unsigned profile_of(const struct sl_mig_model *m, const char *name)
{
    const struct sl_mig_profile *profile = sl_mig_profile_find(m, sl_str_of(name));
    assert_non_null(profile);
    return (unsigned)(profile - m->profiles);
}

TEST_THAT(full_devices_split_one_way_however_many)
{
    const struct sl_mig_model *m = model("NVIDIA-A100-SXM4-40GB");
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    unsigned small = profile_of(m, "1g.5gb");
    counts[small] = (int64_t)7 * SL_NODE_DEVICES_MAX;
    assert_int_equal(sl_split_find(m, counts, SL_NODE_DEVICES_MAX, split), SL_SPLIT_ONE);
    assert_int_equal(split[SL_NODE_DEVICES_MAX - 1][small], 7);
    counts[small]++;
    assert_int_equal(sl_split_find(m, counts, SL_NODE_DEVICES_MAX, split), SL_SPLIT_NONE);
    counts[small] = INT64_C(1) << 60;
    assert_int_equal(sl_split_find(m, counts, SL_NODE_DEVICES_MAX, split), SL_SPLIT_NONE);
}

TEST_THAT(no_instances_split_one_way)
{
    const struct sl_mig_model *m = model("NVIDIA-A30");
    uint8_t split[SL_NODE_DEVICES_MAX][SL_MIG_PROFILES_MAX];
    int64_t counts[SL_MIG_PROFILES_MAX] = {0};
    assert_int_equal(sl_split_find(m, counts, 3, split), SL_SPLIT_ONE);
    counts[0] = 1;
    assert_int_equal(sl_split_find(m, counts, 0, split), SL_SPLIT_NONE);
}
