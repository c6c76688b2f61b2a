/* Instances that nobody describes: where labels and allocatable leave one possibility. */
#include "node_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, single_with_full_gpus_has_one_layout)
{
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=8 "
          "nvidia.com/gpu.memory=5952 nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu mig 1g.6gb 8 on\n"
               "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
               "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n");
    assert_string_equal(rig->made->product, "NVIDIA-A30");
    assert_int_equal(rig->made->device[0].memory_mib, 24576);
}

/* The name tells 120 GB, which are the CPU's. */
TEST_ON(struct node_rig *rig, single_is_of_the_board_that_has_the_profile)
{
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-GH200-120GB-MIG-3g.48gb nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.memory=47616 nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=2");
    check(rig, "inferred\nnvidia.com/gpu mig 3g.48gb 2 on\n0 mig 3g.48gb@0 3g.48gb@4\n");
    assert_int_equal(rig->made->model->memory_gib, 96);
}

/* Its GPU has no memory of its own: that of a unit is not known. */
TEST_ON(struct node_rig *rig, instances_of_thor_are_known_and_their_memory_is_not)
{
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-Thor nvidia.com/gpu.count=1 nvidia.com/gpu.memory=125772 "
          "nvidia.com/mig.strategy=mixed nvidia.com/mig-2g.0gb.gfx.count=1",
          "nvidia.com/gpu=0 nvidia.com/mig-2g.0gb.gfx=1 nvidia.com/mig-1g.0gb.me=1");
    const struct sl_node *node = make(rig);
    assert_string_equal(node->model->name, "Thor");
    assert_null(node->problem);
    for (unsigned i = 0; i < node->n_pools; i++) {
        assert_int_equal(node->pool[i].kind, SL_KIND_MIG);
        assert_non_null(node->pool[i].profile);
        assert_int_equal(node->pool[i].memory_mib, 0);
    }
    assert_int_equal(node->n_pools, 2);
}

TEST_ON(struct node_rig *rig, mixed_profiles_that_fill_each_gpu_alike_have_one_layout)
{
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-1g.5gb=8 nvidia.com/mig-2g.10gb=24");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    assert_int_equal(node->n_devices, 8);
    assert_int_equal(node->n_instances, 32);
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-3g.20gb=8 nvidia.com/mig-4g.20gb=8");
    assert_int_equal(make(rig)->n_instances, 16);
}

/* The starts of all instances of one device are legal together. */
static void check_placements(const struct sl_node *node)
{
    struct sl_mig_layout layout = {0};
    for (unsigned i = 0; i < node->n_instances; i++) {
        const struct sl_instance *instance = &node->instance[i];
        assert_true(instance->start >= 0);
        assert_true(i == 0 || node->instance[i - 1].start < instance->start);
        struct sl_mig_placement placement = {(uint8_t)(instance->profile - node->model->profiles),
                                             (uint8_t)instance->start};
        assert_true(sl_mig_can_place(node->model, &layout, placement));
        sl_mig_place(node->model, &layout, placement);
    }
}

TEST_ON(struct node_rig *rig, mixed_on_one_gpu_has_one_layout_with_legal_placements)
{
    given(rig, A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=0",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=2 nvidia.com/mig-2g.10gb=1 "
          "nvidia.com/mig-3g.20gb=1");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    assert_null(node->problem);
    assert_int_equal(node->n_devices, 1);
    assert_int_equal(node->n_instances, 4);
    check_placements(node);
}

TEST_ON(struct node_rig *rig, whole_and_partitioned_gpus_are_too_many_together)
{
    given(rig, A30 "nvidia.com/gpu.count=70", "nvidia.com/gpu=40 nvidia.com/mig-4g.24gb=30");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, 40);
    assert_true(node->pool[0].on_devices);
    assert_false(node->pool[1].on_devices);
}

TEST_ON(struct node_rig *rig, media_profiles_keep_their_names)
{
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3 nvidia.com/mig-1g.6gb.me=1");
    describe(rig);
    assert_int_equal(rig->made->n_instances, 4);
    assert_string_equal(rig->made->pool[1].profile->name, "1g.6gb+me");
    assert_int_equal(rig->made->layout, SL_LAYOUT_INFERRED);
}

TEST_ON(struct node_rig *rig, as_many_gpus_are_partitioned_as_a_node_may_have)
{
    for (int n = SL_NODE_DEVICES_MAX - 1; n <= SL_NODE_DEVICES_MAX + 1; n++) {
        char labels[256];
        char allocatable[64];
        bool told = n <= SL_NODE_DEVICES_MAX;
        (void)snprintf(labels, sizeof(labels), A100 "nvidia.com/gpu.count=%d", n);
        (void)snprintf(allocatable, sizeof(allocatable), "nvidia.com/mig-7g.40gb=%d", n);
        given(rig, labels, allocatable);
        assert_int_equal(make(rig)->n_devices, told ? n : 0);
        assert_int_equal(rig->made->pool[0].on_devices, told);
    }
    given(rig, A100 "nvidia.com/gpu.count=64", "nvidia.com/gpu=1 nvidia.com/mig-7g.40gb=63");
    assert_int_equal(make(rig)->n_devices, 64);
    assert_int_equal(rig->made->n_instances, 63);
}

static const struct node_row rows[] = {
    MADE(single_is_of_the_board_that_has_the_profile,
         "nvidia.com/gpu.product=NVIDIA-A100-PG509-200-MIG-3g.20gb nvidia.com/gpu.count=4 "
         "nvidia.com/gpu.memory=19968 nvidia.com/mig.strategy=single",
         "nvidia.com/gpu=4",
         "inferred\nnvidia.com/gpu mig 3g.20gb 4 on\n"
         "0 mig 3g.20gb@0 3g.20gb@4\n1 mig 3g.20gb@0 3g.20gb@4\n"),
    MADE(single_of_one_instance_is_a_gpu, "nvidia.com/gpu.product=NVIDIA-A30-MIG-4g.24gb",
         "nvidia.com/gpu=1", "inferred\nnvidia.com/gpu mig 4g.24gb 1 on\n0 mig 4g.24gb@0\n"),
    KNOWN(single_that_is_not_full_is_counts, "NVIDIA-A30", "A30-24GB",
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=6", "nvidia.com/gpu=6",
          "unknown\nnvidia.com/gpu mig 1g.6gb 6 off\n"),
    KNOWN(single_unevenly_partitioned_is_a_problem, "NVIDIA-A100-SXM4-40GB", NULL,
          "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID nvidia.com/gpu.count=0 "
          "nvidia.com/gpu.memory=0",
          "nvidia.com/gpu=0",
          "unknown\n! nvidia.com/gpu.product says MIG-INVALID: strategy single needs all GPUs "
          "partitioned alike\n"),
    MADE(single_with_an_unknown_profile_is_schedulable_by_count,
         "nvidia.com/gpu.product=NVIDIA-Z9-MIG-1g.99gb", "nvidia.com/gpu=4",
         "unknown\nnvidia.com/gpu mig 4 off\n"),
    MADE(mixed_full_gpus_have_one_layout,
         A30 "nvidia.com/gpu.count=2 nvidia.com/mig-1g.6gb.count=8",
         "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=8 nvidia.com/mig-2g.12gb=0",
         "inferred\nnvidia.com/mig-1g.6gb mig 1g.6gb 8 on\n"
         "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
         "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"),
    KNOWN(mixed_that_no_gpu_could_hold_is_counts_and_a_problem, "NVIDIA-A100-SXM4-40GB",
          "A100-40GB / A800-40GB",
          A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=0 nvidia.com/mig-1g.5gb.count=3 "
               "nvidia.com/mig-1g.5gb.memory=4864 nvidia.com/mig-2g.10gb.count=1",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=3 nvidia.com/mig-2g.10gb=1 "
          "nvidia.com/mig-3g.20gb=1",
          "unknown\nnvidia.com/mig-1g.5gb mig 1g.5gb 3 off\n"
          "nvidia.com/mig-2g.10gb mig 2g.10gb 1 off\n"
          "nvidia.com/mig-3g.20gb mig 3g.20gb 1 off\n! nvidia.com/gpu.count: 1, but the MIG "
          "instances allocatable do not fit on so many GPUs\n"),
    MADE(mixed_with_several_ways_is_counts, A30 "nvidia.com/gpu.count=2", "nvidia.com/mig-1g.6gb=6",
         "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 6 off\n"),
    MADE(mixed_with_several_ways_is_counts, A30, "nvidia.com/mig-1g.6gb=4",
         "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n"),
    MADE(one_profile_under_two_names_is_counts,
         A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=1",
         "nvidia.com/mig-2g.12gb=1 nvidia.com/mig-2g.12gb.shared=1",
         "unknown\nnvidia.com/mig-2g.12gb mig 2g.12gb 1 off\n"
         "nvidia.com/mig-2g.12gb.shared replica 2g.12gb 1 off\n"),
    MADE(gpus_that_are_not_partitioned_stay_whole, A30 "nvidia.com/gpu.count=3",
         "nvidia.com/gpu=2 nvidia.com/mig-2g.12gb=2",
         "inferred\nnvidia.com/gpu whole 2 on\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
         "0 whole\n1 whole\n2 mig 2g.12gb@0 2g.12gb@2\n"),
    MADE(whole_gpus_are_known_though_the_partitioned_are_not, A30 "nvidia.com/gpu.count=3",
         "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=5",
         "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 5 off\n"
         "0 whole\n"),
    MADE(instances_without_a_gpu_left_for_them_are_a_problem, A30 "nvidia.com/gpu.count=1",
         "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4",
         "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n"
         "0 whole\n! nvidia.com/gpu.count: 1, which leaves no GPU for the MIG instances "
         "allocatable\n"),
    MADE(unknown_profiles_are_schedulable_by_count, A30 "nvidia.com/gpu.count=1",
         "nvidia.com/mig-9g.99gb=2", "unknown\nnvidia.com/mig-9g.99gb mig 2 off\n"),
    MADE(unknown_profiles_are_schedulable_by_count, "", "nvidia.com/mig-1g.5gb=2",
         "unknown\nnvidia.com/mig-1g.5gb mig 2 off\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
