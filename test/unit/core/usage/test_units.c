/* Which GPUs and instances a node can have, by its labels, its devices and what it offers. */
#include "rows_rig.h"

#define WHOLE "nvidia.com/gpu"
#define SMALL "nvidia.com/mig-1g.6gb"

static const struct sl_mig_model *a30(void)
{
    return rig_model("A30-24GB");
}

/* GPUs that can be cut, and offer small instances. */
static void with_cut_gpus(struct rig *rig, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        rig->device[rig_device(rig, 0)].model = a30();
    }
    rig->pool[rig_pool(rig, SMALL, SL_KIND_MIG, 4)].profile = rig_profile(a30(), "1g.6gb");
}

TEST_FIXTURE(set_up, tear_down)

TEST_THAT(a_node_has_as_many_gpus_as_anything_says)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    struct sl_node *node = &rig->node;
    assert_int_equal(sl_usage_gpus(node), SL_NODE_DEVICES_MAX); /* nothing does */
    node->partition.n_gpus = 2;
    assert_int_equal(sl_usage_gpus(node), 2);
    unsigned whole = rig_pool(rig, WHOLE, SL_KIND_WHOLE, 3);
    assert_int_equal(sl_usage_gpus(node), 3);
    for (int i = 0; i < 4; i++) {
        (void)rig_device(rig, 0);
    }
    assert_int_equal(sl_usage_gpus(node), 4);
    (void)rig_pool(rig, "nvidia.com/gpu.shared", SL_KIND_REPLICA, 40); /* no GPU each */
    assert_int_equal(sl_usage_gpus(node), 4);
    rig->pool[whole].capacity = SL_NODE_DEVICES_MAX + 1;
    assert_int_equal(sl_usage_gpus(node), SL_NODE_DEVICES_MAX);
    rig->pool[whole].capacity = INT64_MAX;
    assert_int_equal(sl_usage_gpus(node), SL_NODE_DEVICES_MAX);
}

TEST_THAT(a_gpu_has_as_many_instances_as_its_model_allows)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    assert_int_equal(sl_usage_instances(&rig->node, 0, ""), 7); /* nobody knows */
    with_cut_gpus(rig, 2);
    rig->device[1].model = rig_model("A100-40GB / A800-40GB");
    rig->device[1].uuid = "GPU-b";
    assert_int_equal(sl_usage_instances(&rig->node, 0, ""), 4);
    assert_int_equal(sl_usage_instances(&rig->node, 1, ""), 7);
    assert_int_equal(sl_usage_instances(&rig->node, 0, "GPU-b"), 7); /* 0 has no UUID: the last */
    rig->device[0].uuid = "GPU-a";
    assert_int_equal(sl_usage_instances(&rig->node, 1, "GPU-a"), 4); /* the index is another's */
    rig->node.model = a30();
    assert_int_equal(sl_usage_instances(&rig->node, 9, ""), 4); /* of one that is not listed */
}

TEST_THAT(gpus_that_are_listed_are_expected_by_uuid_or_index)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    with_cut_gpus(rig, 2);
    rig->device[1].uuid = "GPU-b";
    rig->node.partition.n_gpus = 8; /* counts only where none is listed */
    assert_true(sl_usage_expects(&rig->node, 0, "", -1, ""));
    assert_true(sl_usage_expects(&rig->node, 1, "", -1, ""));
    assert_true(sl_usage_expects(&rig->node, 7, "GPU-b", -1, ""));
    assert_false(sl_usage_expects(&rig->node, 1, "GPU-z", -1, ""));
    assert_false(sl_usage_expects(&rig->node, 2, "", -1, ""));
}

TEST_THAT(where_none_is_listed_as_many_gpus_are_expected_as_there_can_be)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    rig->node.partition.n_gpus = 2;
    assert_true(sl_usage_expects(&rig->node, 1, "GPU-z", -1, ""));
    assert_false(sl_usage_expects(&rig->node, 2, "GPU-z", -1, ""));
}

TEST_THAT(instances_are_expected_of_profiles_that_the_node_offers)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    with_cut_gpus(rig, 2);
    rig->device[1].model = NULL;
    assert_true(sl_usage_expects(&rig->node, 0, "", 3, "1g.6gb"));
    assert_true(sl_usage_expects(&rig->node, 0, "", -1, "7g.80gb")); /* the GPU itself */
    assert_false(sl_usage_expects(&rig->node, 0, "", 3, "2g.12gb"));
    assert_false(sl_usage_expects(&rig->node, 0, "", 3, ""));
    assert_false(sl_usage_expects(&rig->node, 2, "", 3, "1g.6gb"));
    assert_false(sl_usage_expects(&rig->node, 1, "", 3, "1g.6gb")); /* a GPU of no known model */
}

TEST_THAT(only_gpus_that_are_cut_or_may_be_have_instances)
{
    struct rig *rig = ((struct scene *)*state)->rig;
    unsigned pool = rig_pool(rig, WHOLE, SL_KIND_WHOLE, 2);
    assert_false(sl_usage_has_instances(&rig->node));
    rig->pool[pool].kind = SL_KIND_MIG;
    assert_true(sl_usage_has_instances(&rig->node));
    rig->pool[pool].kind = SL_KIND_REPLICA;
    assert_false(sl_usage_has_instances(&rig->node));
    rig->pool[pool].profile = rig_profile(a30(), "1g.6gb"); /* replicas of an instance */
    assert_true(sl_usage_has_instances(&rig->node));
    rig->pool[pool].profile = NULL;
    rig->node.model = a30();
    assert_true(sl_usage_has_instances(&rig->node));
}
