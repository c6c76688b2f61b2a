/* The layout of the instances in use on a device, and what a placement takes from others. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

TEST_FIXTURE(NULL, rig_free_all)

#define TWO "nvidia.com/mig-2g.12gb"
#define ONE "nvidia.com/mig-1g.6gb"

/* An A30 beside another, with two pools. */
static struct rig *two_a30(void)
{
    const struct sl_mig_model *model = rig_model("A30-24GB");
    struct rig *rig = rig_new();
    rig->node.model = model;
    rig->node.dynamic_mig = true;
    rig_pool(rig, ONE, SL_KIND_MIG, 8);
    rig_pool(rig, TWO, SL_KIND_MIG, 4);
    rig->pool[0].profile = rig_profile(model, "1g.6gb");
    rig->pool[1].profile = rig_profile(model, "2g.12gb");
    for (unsigned d = 0; d < 2; d++) {
        rig->device[rig_device(rig, 0)].model = model;
    }
    return rig;
}

static unsigned index_of(const struct rig *rig, unsigned pool)
{
    return (unsigned)sl_model_index(rig->node.model, rig->pool[pool].profile);
}

TEST_THAT(layout_has_what_is_in_use_on_that_device)
{
    struct rig *rig = two_a30();
    struct sl_mig_layout layout;
    rig_instance(rig, 0, 0, 0); /* free */
    rig_instance(rig, 0, 1, 0);
    rig_instance(rig, 0, 2, 1);
    rig_instance(rig, 1, 3, 0); /* elsewhere */
    const int32_t used[] = {0, 1, 3, 1};
    assert_true(sl_layout_in_use(&rig->node, used, 0, &layout));
    assert_int_equal(layout.memory, 0xe);
    assert_int_equal(layout.count[index_of(rig, 0)], 1);
    assert_int_equal(layout.count[index_of(rig, 1)], 1);
    assert_true(sl_layout_in_use(&rig->node, used, 1, &layout));
    assert_int_equal(layout.memory, 0x8);
}

TEST_THAT(instance_of_unknown_start_is_where_it_fits)
{
    struct rig *rig = two_a30();
    struct sl_mig_layout layout;
    int32_t used[] = {1, 1, 0};
    rig_instance(rig, 0, 0, 1);
    rig_instance(rig, 0, -1, 1);
    rig_instance(rig, 0, -1, 1);
    assert_true(sl_layout_in_use(&rig->node, used, 0, &layout));
    assert_int_equal(layout.memory, 0xf);
    assert_int_equal(layout.count[index_of(rig, 1)], 2);
    used[2] = 1; /* one more than there is room for */
    assert_false(sl_layout_in_use(&rig->node, used, 0, &layout));
}

TEST_THAT(instance_of_unknown_start_gives_way_to_known_ones)
{
    struct rig *rig = two_a30();
    struct sl_mig_layout layout;
    const int32_t used[] = {1, 1};
    rig_instance(rig, 0, 0, 0);
    rig_instance(rig, 0, -1, 1);
    assert_true(sl_layout_in_use(&rig->node, used, 0, &layout));
    assert_int_equal(layout.memory, 0xd);
}

TEST_THAT(layout_of_what_no_model_has_is_not_known)
{
    struct rig *rig = two_a30();
    struct sl_mig_layout layout;
    int32_t used[] = {1};
    rig_instance(rig, 0, 0, 0);
    rig->device[1].model = NULL;
    assert_true(sl_layout_in_use(&rig->node, used, 0, &layout));
    assert_false(sl_layout_in_use(&rig->node, used, 1, &layout));
    rig->instance[0].profile = rig_profile(rig_model("A100-40GB / A800-40GB"), "1g.5gb");
    assert_false(sl_layout_in_use(&rig->node, used, 0, &layout));
    used[0] = 0;
    assert_true(sl_layout_in_use(&rig->node, used, 0, &layout));
}

TEST_THAT(lost_is_what_fitted_before_and_no_more)
{
    struct rig *rig = two_a30();
    const int32_t before[] = {0, 0};
    const int32_t after[] = {1, 0};
    unsigned one = index_of(rig, 0);
    unsigned two = index_of(rig, 1);
    uint8_t lost[SL_MIG_PROFILES_MAX] = {0};
    rig_instance(rig, 0, 0, 0);
    rig_instance(rig, 0, 2, 1);
    sl_lost_room(&rig->node, before, after, 0, ~0U, lost);
    assert_int_equal(lost[one], 1);
    assert_int_equal(lost[two], 1);
    sl_lost_room(&rig->node, before, after, 0, 1U << two, lost); /* adds what is wanted */
    assert_int_equal(lost[one], 1);
    assert_int_equal(lost[two], 2);
    sl_lost_room(&rig->node, after, before, 0, ~0U, lost); /* gains nothing */
    assert_int_equal(lost[two], 2);
    lost[two] = UINT8_MAX;
    sl_lost_room(&rig->node, before, after, 0, ~0U, lost);
    assert_int_equal(lost[two], UINT8_MAX);
    rig->instance[0].profile = rig_profile(rig_model("A100-40GB / A800-40GB"), "1g.5gb");
    memset(lost, 0, sizeof(lost));
    sl_lost_room(&rig->node, before, after, 0, ~0U, lost); /* not known */
    assert_int_equal(lost[one], 0);
}

/* All GPUs of a node of strategy single are cut alike, where nothing of it is in use. */
TEST_THAT(single_node_may_be_cut_into_instances_that_are_large_enough)
{
    struct rig *rig = rig_new();
    struct sl_ask ask = rig_ask("nvidia.com/gpu", 2);
    rig->node.model = rig_model("A30-24GB");
    rig_pool(rig, "nvidia.com/gpu", SL_KIND_MIG, 8);
    rig->pool[0].profile = rig_profile(rig->node.model, "1g.6gb");
    for (unsigned d = 0; d < 2; d++) {
        rig->device[rig_device(rig, 0)].model = rig->node.model;
        for (int8_t start = 0; start < 4; start++) {
            rig_instance(rig, d, start, 0);
        }
    }
    ask.item[0].least_mib = 10000;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
    rig->node.partition =
        (struct sl_partition){.actuator = SL_ACTUATOR_MIG_MANAGER, .single = true};
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_PARTITIONED);
    ask.item[0].count = 4; /* 2g.12gb, two on each */
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_PARTITIONED);
    ask.item[0].count = 5;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
    ask.item[0].least_mib = 20000;
    ask.item[0].count = 2;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_PARTITIONED);
    ask.item[0].least_mib = 30000;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
}
