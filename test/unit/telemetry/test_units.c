/* The units of which something was measured: found again, bounded, and forgotten. */
#include <stdio.h>
#include <stdlib.h>

#include "telemetry/units.h"
#include "unit/test.h"

enum { WINDOW = 4, SILENT = 90 };

static struct sl_units units_of(size_t max)
{
    return (struct sl_units){.max = max, .window = WINDOW};
}

static struct sl_unit *unit_of(struct sl_units *units, const char *node, int64_t gpu,
                               int64_t instance)
{
    static struct sl_pool pools[2];
    const struct sl_node known = {.name = node, .n_pools = 0, .pool = pools};
    const struct sl_unit_claim claim = {
        .node = &known, .gpu = gpu, .instance = instance, .uuid = "", .profile = ""};
    struct sl_unit *unit = sl_units_find(sl_units_node(units, sl_str_of(node)), gpu, instance);
    return unit == NULL ? sl_units_add(units, &claim) : unit;
}

/* A sample of a unit of that node, told at that time; false: it has no place. */
static bool tell(struct sl_units *units, const struct sl_node *node, int64_t at_us, int64_t gpu,
                 int64_t instance, const char *profile)
{
    const struct sl_unit_claim claim = {.node = node,
                                        .gpu = gpu,
                                        .instance = instance,
                                        .uuid = "",
                                        .profile = profile,
                                        .silent_us = at_us - SILENT};
    const struct sl_unit_node *home = sl_units_node(units, sl_str_of(node->name));
    struct sl_unit *unit = sl_units_find(home, gpu, instance);
    unit = unit == NULL ? sl_units_add(units, &claim) : unit;
    if (unit != NULL) {
        (void)snprintf(unit->profile, sizeof(unit->profile), "%s", profile);
        (void)sl_series_put(&unit->series, at_us, SL_FIGURE_USED, 1);
    }
    return unit != NULL;
}

static void put_sample(struct sl_unit *unit, int64_t at_us)
{
    assert_true(sl_series_put(&unit->series, at_us, SL_FIGURE_USED, 1));
}

TEST_THAT(a_unit_is_found_again)
{
    struct sl_units units = units_of(10);
    struct sl_unit *gpu = unit_of(&units, "n1", 0, -1);
    struct sl_unit *instance = unit_of(&units, "n1", 0, 3);
    struct sl_unit *other = unit_of(&units, "n2", 0, -1);
    assert_non_null(gpu);
    assert_true(gpu != instance && gpu != other && instance != other);
    assert_ptr_equal(unit_of(&units, "n1", 0, -1), gpu);
    assert_ptr_equal(unit_of(&units, "n1", 0, 3), instance);
    assert_int_equal(units.n, 3);
    assert_int_equal(gpu->series.cap, WINDOW);
    assert_int_equal(gpu->measured.room_mib, -1);
    assert_null(sl_units_node(&units, SL_STR("n3")));
    sl_units_free(&units);
    assert_int_equal(units.n, 0);
}

TEST_THAT(numbers_out_of_range_make_no_unit)
{
    static const int64_t wrong[][2] = {
        {-1, -1},   {-2, -1},       {SL_NODE_DEVICES_MAX, -1}, {INT64_MAX, -1}, {0, -2},
        {0, 32768}, {0, INT64_MAX}, {INT64_MIN, INT64_MIN}};
    struct sl_units units = units_of(10);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_null(unit_of(&units, "n1", wrong[i][0], wrong[i][1]));
    }
    assert_int_equal(units.n, 0);
    assert_int_equal(units.over, 0);
    assert_null(sl_units_node(&units, SL_STR("n1")));
    sl_units_free(&units);
}

TEST_THAT(no_more_than_the_ceiling_are_kept)
{
    struct sl_units units = units_of(2);
    assert_non_null(unit_of(&units, "n1", 0, -1));
    assert_non_null(unit_of(&units, "n2", 0, -1));
    size_t bytes = sl_units_bytes(&units);
    assert_null(unit_of(&units, "n3", 0, -1));
    assert_null(unit_of(&units, "n1", 1, -1));
    assert_non_null(unit_of(&units, "n1", 0, -1));
    assert_int_equal(units.over, 2);
    assert_int_equal(sl_units_bytes(&units), bytes);
    assert_null(sl_units_node(&units, SL_STR("n3")));
    sl_units_free(&units);
}

/* Two A30, cut into 1g.6gb. */
static struct sl_node *cut_node(void)
{
    static struct sl_device device[2];
    static struct sl_pool pool[1];
    static struct sl_node node;
    const struct sl_mig_model *model = sl_mig_model_find(SL_STR("NVIDIA-A30"), 0);
    node = (struct sl_node){
        .name = "n1", .n_devices = 2, .device = device, .n_pools = 1, .pool = pool};
    node.model = model;
    for (int16_t i = 0; i < 2; i++) {
        device[i] = (struct sl_device){.index = i, .mig = true, .model = model};
    }
    pool[0] = (struct sl_pool){.kind = SL_KIND_MIG,
                               .profile = sl_mig_profile_find(model, SL_STR("1g.6gb")),
                               .capacity = 8};
    return &node;
}

TEST_THAT(a_node_has_no_more_gpus_and_instances_than_it_can_have)
{
    struct sl_units units = units_of(1000);
    const struct sl_node *node = cut_node();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(tell(&units, node, 1000, 0, i, "1g.6gb"), i < 4); /* of an A30 */
        assert_int_equal(tell(&units, node, 1000, i, -1, ""), i < 2);
    }
    assert_int_equal(units.n, 6);
    assert_int_equal(units.over, 34);
    sl_units_free(&units);
}

TEST_THAT(what_the_node_is_known_to_have_takes_the_place_of_what_was_invented)
{
    struct sl_units units = units_of(1000);
    const struct sl_node *node = cut_node();
    assert_true(tell(&units, node, 1000, 40, -1, ""));
    assert_true(tell(&units, node, 1000, 41, 3, "1g.6gb"));
    for (int i = 0; i < 4; i++) {
        assert_true(tell(&units, node, 1000, 41, 20 + i, "1g.6gb") == (i < 3));
    }
    for (int i = 0; i < 2; i++) {
        assert_true(tell(&units, node, 1001, i, -1, ""));
    }
    assert_int_equal(units.n, 2);
    for (int i = 0; i < 4; i++) {
        assert_true(tell(&units, node, 1002, 1, 20 + i, "7g.80gb"));
    }
    assert_false(tell(&units, node, 1002, 1, 30, "7g.80gb"));
    for (int i = 0; i < 4; i++) {
        assert_true(tell(&units, node, 1003, 1, 3 + i, "1g.6gb"));
    }
    assert_false(tell(&units, node, 1003, 1, 9, "1g.6gb"));
    assert_non_null(sl_units_find(sl_units_node(&units, SL_STR("n1")), 1, -1));
    sl_units_free(&units);
}

TEST_THAT(a_silent_unit_loses_its_place_to_one_that_is_told_of)
{
    struct sl_units units = units_of(1000);
    const struct sl_node *node = cut_node();
    for (int i = 0; i < 4; i++) {
        assert_true(tell(&units, node, 1000 + i, 0, i, "1g.6gb"));
    }
    assert_false(tell(&units, node, 1000 + SILENT, 0, 7, "1g.6gb"));
    assert_true(tell(&units, node, 1000 + SILENT + 1, 0, 7, "1g.6gb"));
    assert_null(sl_units_find(sl_units_node(&units, SL_STR("n1")), 0, 0));
    assert_non_null(sl_units_find(sl_units_node(&units, SL_STR("n1")), 0, 1));
    sl_units_free(&units);
}

/* The node's labels say nothing. */
TEST_THAT(gpus_of_an_unknown_node_are_found_beside_invented_instances)
{
    struct sl_units units = units_of(1000);
    const struct sl_node node = {.name = "n1"};
    for (int i = 0; i < 1000; i++) {
        (void)tell(&units, &node, 1000, i % SL_NODE_DEVICES_MAX, i, "1g.5gb");
    }
    assert_int_equal(units.n, SL_UNITS_OF_NODE_MAX);
    for (int i = 0; i < 8; i++) {
        assert_true(tell(&units, &node, 1001, i, -1, ""));
    }
    assert_int_equal(units.n, SL_UNITS_OF_NODE_MAX);
    sl_units_free(&units);
}

TEST_THAT(one_node_takes_not_all_places)
{
    struct sl_units units = units_of(1000);
    for (int i = 0; i < 1000; i++) {
        (void)unit_of(&units, "lies", i % SL_NODE_DEVICES_MAX, i);
    }
    assert_int_equal(units.n, SL_UNITS_OF_NODE_MAX);
    assert_int_equal(units.over, 1000 - SL_UNITS_OF_NODE_MAX);
    assert_non_null(unit_of(&units, "honest", 0, -1));
    sl_units_free(&units);
}

TEST_THAT(a_gpu_is_found_by_uuid_where_both_say_one_else_by_index)
{
    struct sl_units units = units_of(10);
    struct sl_unit *first = unit_of(&units, "n1", 0, -1);
    struct sl_unit *second = unit_of(&units, "n1", 1, -1);
    struct sl_unit *instance = unit_of(&units, "n1", 1, 2);
    const struct sl_unit_node *home = sl_units_node(&units, SL_STR("n1"));
    (void)snprintf(first->uuid, sizeof(first->uuid), "GPU-a");
    (void)snprintf(instance->uuid, sizeof(instance->uuid), "GPU-b");
    assert_ptr_equal(sl_units_of_gpu(home, 1, "GPU-a"), first);
    assert_ptr_equal(sl_units_of_gpu(home, 0, NULL), first);
    assert_ptr_equal(sl_units_of_gpu(home, 1, "GPU-b"), second); /* it says none: by index */
    assert_null(sl_units_of_gpu(home, 0, "GPU-z"));              /* another GPU now */
    assert_null(sl_units_of_gpu(home, 7, NULL));
    assert_null(sl_units_of_gpu(NULL, 0, NULL));
    sl_units_free(&units);
}

static struct sl_usage_names names_of(struct sl_unit *unit)
{
    const struct sl_usage_rule rule = {.gap_us = 100};
    struct sl_unit_node home = {.first = unit};
    struct sl_usage_row row;
    assert_int_equal(sl_units_rows(&home, &rule, &row, 1), 1);
    return row.names;
}

TEST_THAT(every_pod_that_a_unit_names_is_kept_until_it_is_long_unnamed)
{
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, 1000);
    (void)sl_unit_name(unit, 7, 900, 100); /* series come one after the other */
    (void)sl_unit_name(unit, 7, 1000, 100);
    (void)sl_unit_name(unit, 8, 900, 100);
    (void)sl_unit_name(unit, 9, 899, 100);
    (void)sl_unit_name(unit, 0, 1000, 100); /* nobody */
    struct sl_usage_names names = names_of(unit);
    assert_int_equal(names.n, 2);
    assert_int_equal(names.pod[0], 7);
    assert_int_equal(names.pod[1], 8);
    assert_false(names.crowded);
    put_sample(unit, 1001);
    assert_int_equal(names_of(unit).n, 1);
    sl_units_free(&units);
}

TEST_THAT(names_take_no_more_than_their_places)
{
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, 1000);
    for (uint64_t pod = 1; pod <= SL_USAGE_NAMES_MAX; pod++) {
        (void)sl_unit_name(unit, pod, 1000, 100);
        assert_false(names_of(unit).crowded);
    }
    (void)sl_unit_name(unit, 500, 800, 100); /* long ago */
    assert_false(names_of(unit).crowded);
    (void)sl_unit_name(unit, 501, 1000, 100);
    assert_int_equal(names_of(unit).n, SL_USAGE_NAMES_MAX);
    assert_true(names_of(unit).crowded);
    put_sample(unit, 1101);
    (void)sl_unit_name(unit, 502, 1101, 100); /* takes an old one's place */
    assert_int_equal(names_of(unit).n, 1);
    assert_int_equal(names_of(unit).pod[0], 502);
    assert_false(names_of(unit).crowded);
    sl_units_free(&units);
}

TEST_THAT(what_a_pod_uses_is_kept_as_long_as_its_name)
{
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, 1000);
    assert_non_null(sl_unit_name(unit, 7, 1000, 100));
    assert_int_equal(names_of(unit).used_mib[0], -1);
    assert_true(sl_unit_own(unit, 7, 950, 3000, 100));
    assert_true(sl_unit_own(unit, 7, 950, 2000, 100)); /* told twice: the most */
    assert_true(sl_unit_own(unit, 7, 940, 9000, 100)); /* older */
    assert_int_equal(names_of(unit).used_mib[0], 3000);
    assert_false(sl_unit_own(unit, 0, 960, 100, 100)); /* nobody's */
    assert_false(sl_unit_own(unit, 7, 960, -1, 100));  /* out of range */
    assert_int_equal(names_of(unit).used_mib[0], 3000);
    put_sample(unit, 1051);
    assert_int_equal(names_of(unit).n, 1);
    assert_int_equal(names_of(unit).used_mib[0], -1);
    sl_units_free(&units);
}

/* Pods may tell what they like of others: that puts nobody on the GPU, and nobody off it. */
TEST_THAT(what_is_told_of_pods_names_nobody)
{
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, 1000);
    for (uint64_t pod = 1; pod <= SL_USAGE_NAMES_MAX + 1; pod++) {
        assert_int_equal(sl_unit_own(unit, pod, 1000, 5, 100), pod <= SL_USAGE_NAMES_MAX);
    }
    struct sl_usage_names names = names_of(unit);
    assert_int_equal(names.n, SL_USAGE_NAMES_MAX);
    assert_false(names.crowded);
    for (unsigned i = 0; i < names.n; i++) {
        assert_true(names.unnamed[i]);
    }
    for (uint64_t pod = 101; pod <= 100 + SL_USAGE_NAMES_MAX; pod++) {
        assert_non_null(sl_unit_name(unit, pod, 1000, 100));
    }
    names = names_of(unit);
    assert_false(names.crowded);
    assert_false(names.unnamed[0]);
    sl_units_free(&units);
}

TEST_THAT(units_without_young_samples_are_forgotten)
{
    struct sl_units units = units_of(10);
    put_sample(unit_of(&units, "n1", 0, -1), 100);
    put_sample(unit_of(&units, "n1", 1, -1), 200);
    put_sample(unit_of(&units, "n2", 0, -1), 100);
    (void)unit_of(&units, "n3", 0, -1);
    sl_units_node(&units, SL_STR("n2"))->given = true;
    sl_units_forget(&units, 200);
    assert_int_equal(units.n, 1);
    assert_non_null(sl_units_node(&units, SL_STR("n1")));
    assert_null(sl_units_node(&units, SL_STR("n3")));
    /* the store still shows what was measured: it stays until it is told */
    assert_non_null(sl_units_node(&units, SL_STR("n2")));
    assert_null(sl_units_node(&units, SL_STR("n2"))->first);
    sl_units_node(&units, SL_STR("n2"))->given = false;
    sl_units_forget(&units, 200);
    assert_null(sl_units_node(&units, SL_STR("n2")));
    sl_units_free(&units);
}

/* More use than was asked for stays known for as long as the node is there. */
TEST_THAT(a_unit_of_which_more_is_used_than_asked_is_kept)
{
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, 100);
    unit->measured.over_mib = 8000;
    units.round = 1;
    sl_units_node(&units, SL_STR("n1"))->round = 1;
    sl_units_forget(&units, 200);
    assert_int_equal(units.n, 1);
    units.round = 2;
    sl_units_forget(&units, 200);
    assert_int_equal(units.n, 0);
    sl_units_free(&units);
}

/* The clock was ten minutes ahead, and is set right: nothing may be blind until it is as late. */
TEST_THAT(after_a_clock_that_was_ahead_all_begins_anew)
{
    enum { NOW = 1000, FUTURE = 5, AHEAD = 600 };
    struct sl_units units = units_of(10);
    struct sl_unit *unit = unit_of(&units, "n1", 0, -1);
    put_sample(unit, NOW - 1);
    for (int at = NOW; at < NOW + WINDOW - 1; at++) {
        put_sample(unit, at + AHEAD);
    }
    sl_spell_take(&unit->spell, NOW + AHEAD, false, 100);
    assert_true(sl_energy_take(&unit->energy, NOW + AHEAD, 1000, 100));
    unit->energy.mj = 7;
    (void)sl_unit_name(unit, 7, NOW + AHEAD, 100);
    assert_true(sl_unit_own(unit, 7, NOW + AHEAD, 50, 100));
    unit->crowded_us = NOW + AHEAD;

    sl_units_restart(&units, NOW, FUTURE);
    assert_int_equal(unit->series.n, 1);
    put_sample(unit, NOW + 1);
    assert_int_equal(sl_series_at(&unit->series, 1)->at_us, NOW + 1);
    sl_spell_take(&unit->spell, NOW + 1, false, 100);
    assert_int_equal(unit->spell.last_us, NOW + 1);
    assert_true(sl_energy_take(&unit->energy, NOW + 1, 1000, 100));
    assert_int_equal(unit->energy.mj, 7); /* what was drawn stays, and no power fills the step */
    struct sl_usage_names names = names_of(unit);
    assert_int_equal(names.pod[0], 7);
    assert_true(sl_unit_own(unit, 7, NOW + 1, 60, 100));
    assert_int_equal(names_of(unit).used_mib[0], 60);
    put_sample(unit, NOW + 200);
    assert_int_equal(names_of(unit).n, 0);
    assert_false(names_of(unit).crowded);
    sl_units_free(&units);
}
