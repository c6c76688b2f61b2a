/* Where an instance is put, against a search over all devices and starts with counts of its own. */
#include "unit/core/rig.h"

enum { DEVICES = 3 };

/* The most instances of a profile that still fit, found by trying every set of starts. */
static unsigned most(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     unsigned profile, unsigned from)
{
    unsigned best = 0;
    for (unsigned start = from; start < model->memory_slices; start++) {
        struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
        if (sl_mig_can_place(model, layout, at)) {
            struct sl_mig_layout next = *layout;
            sl_mig_place(model, &next, at);
            unsigned n = 1 + most(model, &next, profile, start + 1);
            best = n > best ? n : best;
        }
    }
    return best;
}

static int64_t worth(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                     const int64_t *weight)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < model->n_profiles; i++) {
        sum += weight[i] * model->profiles[i].memory * most(model, layout, i, 0);
    }
    return sum;
}

/* Some instances at random. */
static void fill(const struct sl_mig_model *model, struct sl_mig_layout *layout, uint64_t *seed)
{
    *layout = (struct sl_mig_layout){0};
    for (unsigned i = 0; i < 6; i++) {
        *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        struct sl_mig_placement at = {(uint8_t)((*seed >> 33) % model->n_profiles),
                                      (uint8_t)((*seed >> 45) % model->memory_slices)};
        if ((*seed >> 60) % 2 == 0 && sl_mig_can_place(model, layout, at)) {
            sl_mig_place(model, layout, at);
        }
    }
}

static void check(const struct sl_mig_model *model, const struct sl_mig_layout *layout,
                  unsigned profile, const int64_t *weight, unsigned *placed)
{
    int64_t least = INT64_MAX;
    for (unsigned d = 0; d < DEVICES; d++) {
        int64_t before = worth(model, &layout[d], weight);
        for (unsigned start = 0; start < model->memory_slices; start++) {
            struct sl_mig_placement at = {(uint8_t)profile, (uint8_t)start};
            if (sl_mig_can_place(model, &layout[d], at)) {
                struct sl_mig_layout after = layout[d];
                sl_mig_place(model, &after, at);
                int64_t cost = before - worth(model, &after, weight);
                assert_true(sl_mig_cost(model, &layout[d], at, weight) == cost);
                least = cost < least ? cost : least;
            }
        }
    }
    struct sl_mig_placement out;
    int device = sl_mig_best_device(model, layout, DEVICES, profile, weight, &out);
    if (least == INT64_MAX) {
        assert_int_equal(device, -1);
        return;
    }
    assert_in_range(device, 0, DEVICES - 1);
    assert_int_equal(out.profile, profile);
    assert_true(sl_mig_can_place(model, &layout[device], out));
    assert_true(sl_mig_cost(model, &layout[device], out, weight) == least);
    (*placed)++;
}

TEST_THAT(placement_costs_others_least_of_all_there_are)
{
    static const char *const models[] = {"A30-24GB", "A100-40GB / A800-40GB"};
    uint64_t seed = 5;
    unsigned placed = 0;
    for (size_t m = 0; m < 2; m++) {
        const struct sl_mig_model *model = rig_model(models[m]);
        for (unsigned round = 0; round < 150; round++) {
            struct sl_mig_layout layout[DEVICES];
            int64_t weight[SL_MIG_PROFILES_MAX] = {0};
            for (unsigned d = 0; d < DEVICES; d++) {
                fill(model, &layout[d], &seed);
            }
            for (unsigned i = 0; i < model->n_profiles; i++) {
                weight[i] = (int64_t)(seed >> (8 + i) & 7);
            }
            check(model, layout, round % model->n_profiles, weight, &placed);
        }
    }
    assert_in_range(placed, 100, 299);
}

static unsigned index_of(const struct sl_mig_model *model, const char *name)
{
    return (unsigned)(rig_profile(model, name) - model->profiles);
}

TEST_THAT(small_instance_leaves_the_slots_of_large_ones)
{
    const struct sl_mig_model *model = rig_model("A100-40GB / A800-40GB");
    struct sl_mig_layout empty = {0};
    struct sl_mig_placement out;
    int64_t cost = 0;
    int64_t weight[SL_MIG_PROFILES_MAX] = {0};
    unsigned one = index_of(model, "1g.5gb");
    weight[index_of(model, "4g.20gb")] = 1; /* starts at 0 only */
    assert_true(sl_mig_best_start(model, &empty, one, weight, &out, &cost));
    assert_int_equal(out.start, 6); /* the highest of those that cost nothing */
    assert_int_equal(cost, 0);
    weight[index_of(model, "7g.40gb")] = 1;
    assert_true(sl_mig_best_start(model, &empty, one, weight, &out, &cost));
    assert_int_equal(cost, 8);
}

TEST_THAT(no_start_is_found_where_there_is_no_room_or_no_profile)
{
    const struct sl_mig_model *model = rig_model("A30-24GB");
    struct sl_mig_layout layout = {0};
    struct sl_mig_placement out;
    int64_t cost = 0;
    int64_t weight[SL_MIG_PROFILES_MAX] = {0};
    unsigned all = index_of(model, "4g.24gb");
    assert_false(sl_mig_best_start(model, &layout, model->n_profiles, weight, &out, &cost));
    assert_true(sl_mig_best_start(model, &layout, all, weight, &out, &cost));
    sl_mig_place(model, &layout, out);
    assert_false(sl_mig_best_start(model, &layout, all, weight, &out, &cost));
}

TEST_THAT(of_equal_cost_the_fuller_device_is_taken)
{
    const struct sl_mig_model *model = rig_model("A100-40GB / A800-40GB");
    struct sl_mig_layout layout[2] = {{0}, {0}};
    struct sl_mig_placement out;
    int64_t weight[SL_MIG_PROFILES_MAX] = {0};
    unsigned one = index_of(model, "1g.5gb");
    sl_mig_place(model, &layout[1], (struct sl_mig_placement){(uint8_t)one, 0});
    assert_int_equal(sl_mig_best_device(model, layout, 2, one, weight, &out), 1);
    assert_int_equal(sl_mig_best_device(model, layout, 0, one, weight, &out), -1);
    layout[0] = layout[1];
    layout[1] = (struct sl_mig_layout){0};
    assert_int_equal(sl_mig_best_device(model, layout, 2, one, weight, &out), 0);
    layout[1] = layout[0]; /* and the first of equals */
    assert_int_equal(sl_mig_best_device(model, layout, 2, one, weight, &out), 0);
}
