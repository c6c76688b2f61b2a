/* Devices and instances from the annotation sliced.dev/devices. */
#include "node_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, the_annotation_says_what_is_where)
{
    given(rig, A30 "nvidia.com/gpu.count=3",
          "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=3 nvidia.com/mig-2g.12gb=1");
    device(rig, 4, NULL)->uuid = SL_STR("GPU-4");
    device(rig, 2, "1g.6gb@3 2g.12gb@0");
    device(rig, 1, "1g.6gb@2 1g.6gb@0");
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 on\n"
               "nvidia.com/mig-2g.12gb mig 2g.12gb 1 on\n1 mig 1g.6gb@0 1g.6gb@2\n"
               "2 mig 2g.12gb@0 1g.6gb@3\n4 whole\n");
    assert_string_equal(rig->made->device[2].uuid, "GPU-4");
    assert_null(rig->made->device[0].uuid);
}

TEST_ON(struct node_rig *rig, an_unsure_gpu_has_what_is_allocatable_beside_the_others)
{
    given(rig, A100, "nvidia.com/mig-3g.20gb=4 nvidia.com/mig-1g.5gb=2");
    device(rig, 0, "")->unsure = true;
    device(rig, 1, "3g.20gb@0 3g.20gb@4");
    device(rig, 2, "3g.20gb@4 1g.5gb@0");
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 2 on\n"
               "nvidia.com/mig-3g.20gb mig 3g.20gb 4 on\n0 mig 3g.20gb@0 1g.5gb@4\n"
               "1 mig 3g.20gb@0 3g.20gb@4\n2 mig 1g.5gb@0 3g.20gb@4\n");
    assert_true(rig->made->device[0].unsure);
    given(rig, A100, "nvidia.com/mig-3g.20gb=3 nvidia.com/mig-1g.5gb=1");
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
               "nvidia.com/mig-3g.20gb mig 3g.20gb 3 on\n0 mig\n"
               "1 mig 3g.20gb@0 3g.20gb@4\n2 mig 1g.5gb@0 3g.20gb@4\n");
}

/* Whoever writes it: what is annotated beside must be allocatable, and no model has such counts. */
TEST_ON(struct node_rig *rig, an_unsure_gpu_takes_nothing_from_others_and_nothing_that_cannot_be)
{
    given(rig, A100, "nvidia.com/mig-3g.20gb=1 nvidia.com/mig-9g.90gb=2");
    device(rig, 0, "")->unsure = true;
    device(rig, 1, "3g.20gb 3g.20gb");
    check(rig, "annotated\nnvidia.com/mig-3g.20gb mig 3g.20gb 1 off\n"
               "nvidia.com/mig-9g.90gb mig 2 off\n0 mig\n1 mig\n"
               "! nvidia.com/mig-3g.20gb: 1 allocatable, instances known for it: 2; "
               "nvidia.com/mig-9g.90gb: 2 allocatable, instances known for it: 0\n");
}

/* Three on two GPUs may be two and one, or one and two: which is guessed. Nine fit on none. */
TEST_ON(struct node_rig *rig, unsure_gpus_have_nothing_where_that_can_be_several_things)
{
    given(rig, A100, "nvidia.com/mig-1g.5gb=3");
    device(rig, 0, "")->unsure = true;
    device(rig, 1, "")->unsure = true;
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 3 off\n0 mig\n1 mig\n"
               "! nvidia.com/mig-1g.5gb: 3 allocatable, instances known for it: 0\n");
    given(rig, A100, "nvidia.com/mig-3g.20gb=5");
    check(rig, "annotated\nnvidia.com/mig-3g.20gb mig 3g.20gb 5 off\n0 mig\n1 mig\n"
               "! nvidia.com/mig-3g.20gb: 5 allocatable, instances known for it: 0\n");
    given(rig, A100, "nvidia.com/mig-3g.20gb=3");
    check(rig, "annotated\nnvidia.com/mig-3g.20gb mig 3g.20gb 3 on\n0 mig 3g.20gb@0 3g.20gb@4\n"
               "1 mig 3g.20gb@0\n");
}

TEST_ON(struct node_rig *rig, unhealthy_devices_may_be_missing_from_allocatable_or_not)
{
    given(rig, A30, "nvidia.com/gpu=1 nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@2");
    device(rig, 1, NULL);
    device(rig, 2, NULL)->unhealthy = true;
    const char *rest = "nvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n0 mig 2g.12gb@0 2g.12gb@2\n"
                       "1 whole\n2 whole sick\n";
    char expected[256];
    (void)snprintf(expected, sizeof(expected), "annotated\nnvidia.com/gpu whole 1 on\n%s", rest);
    check(rig, expected);
    given(rig, A30, "nvidia.com/gpu=2 nvidia.com/mig-2g.12gb=2");
    (void)snprintf(expected, sizeof(expected), "annotated\nnvidia.com/gpu whole 2 on\n%s", rest);
    check(rig, expected);
}

TEST_ON(struct node_rig *rig, instances_on_a_failed_gpu_may_be_missing_from_allocatable)
{
    given(rig, A30, "nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@2");
    device(rig, 1, "2g.12gb@0")->unhealthy = true;
    check(rig, "annotated\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n0 mig 2g.12gb@0 2g.12gb@2\n"
               "1 mig sick 2g.12gb@0\n");
}

TEST_ON(struct node_rig *rig, one_node_may_have_several_models)
{
    given(rig, A100, "nvidia.com/mig-1g.10gb=3 nvidia.com/gpu=1");
    struct sl_device_facts *h100 = device(rig, 0, "1g.10gb@0 1g.10gb@1");
    h100->product = SL_STR("NVIDIA-H100-80GB-HBM3");
    h100->memory_mib = 81559;
    device(rig, 1, "1g.10gb@0");
    device(rig, 2, NULL)->product = SL_STR("Tesla-T4");
    describe(rig);
    const struct sl_node *node = rig->made;
    assert_int_equal(node->layout, SL_LAYOUT_ANNOTATED);
    assert_null(node->problem);
    assert_null(node->model);
    assert_ptr_equal(node->device[0].model, sl_mig_model_find(SL_STR("NVIDIA-H100-80GB-HBM3"), 0));
    assert_non_null(node->device[0].model);
    assert_string_equal(node->device[0].product, "NVIDIA-H100-80GB-HBM3");
    assert_int_equal(node->device[0].memory_mib, 81559);
    assert_ptr_equal(node->device[1].model, sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0));
    assert_null(node->device[2].model);
    assert_int_equal(node->device[2].memory_mib, 0);
    assert_int_equal(node->n_instances, 3);
    assert_int_equal(node->instance[0].profile->memory, 1);
    assert_int_equal(node->instance[2].profile->memory, 2);
    assert_true(node->pool[1].on_devices);
    assert_int_equal(node->pool[1].profile->memory, 2); /* of the label's model: some are */
}

TEST_THAT(a_pool_has_the_profile_of_its_instances_though_the_label_names_another_model)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.10gb=2");
    device(rig, 0, "1g.10gb@0 1g.10gb@1")->product = SL_STR("NVIDIA-H100-80GB-HBM3");
    describe(rig);
    assert_int_equal(rig->made->pool[0].profile->memory, 1);
}

TEST_ON(struct node_rig *rig, profile_of_a_pool_is_its_instances_own_whichever_pool_it_is)
{
    given(rig, "", "nvidia.com/gpu=1 nvidia.com/mig-1g.10gb=1");
    device(rig, 0, NULL)->product = SL_STR("NVIDIA-A100-SXM4-80GB");
    device(rig, 1, "1g.10gb@0")->product = SL_STR("NVIDIA-A100-SXM4-40GB"); /* of two slices */
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_instances, 1);
    assert_int_equal(node->instance[0].profile->memory, 2);
    assert_ptr_equal(node->pool[1].profile, node->instance[0].profile);
}

TEST_ON(struct node_rig *rig, product_of_an_annotated_gpu_tells_its_memory)
{
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30", "nvidia.com/gpu=1");
    device(rig, 0, NULL)->product = SL_STR("NVIDIA-A30");
    assert_int_equal(make(rig)->device[0].memory_mib, 24576);
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.memory=24000", "nvidia.com/gpu=1");
    assert_int_equal(make(rig)->device[0].memory_mib, 24000);
}

TEST_ON(struct node_rig *rig, an_annotated_single_node_ties_nvidia_gpu_to_instances)
{
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=3");
    device(rig, 0, "1g.6gb@0 1g.6gb@3");
    device(rig, 1, "1g.6gb@1");
    const char *expected = "annotated\nnvidia.com/gpu mig 1g.6gb 3 on\n0 mig 1g.6gb@0 1g.6gb@3\n"
                           "1 mig 1g.6gb@1\n";
    check(rig, expected);
    given(rig, "nvidia.com/mig.strategy=single", "nvidia.com/gpu=3");
    for (struct sl_device_facts *d = rig->node.devices; d != NULL; d = d->next) {
        d->product = SL_STR("NVIDIA-A30");
    }
    check(rig, expected);
}

TEST_ON(struct node_rig *rig, gpus_are_whole_unless_all_are_partitioned_under_strategy_single)
{
    given(rig, "nvidia.com/mig.strategy=single", "nvidia.com/gpu=1");
    device(rig, 0, NULL);
    device(rig, 1, "1g.6gb@1")->product = SL_STR("NVIDIA-A30");
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\n0 whole\n1 mig\n"
               "! instances: 1 described that are not allocatable\n");
}

TEST_ON(struct node_rig *rig, gpus_are_instances_whichever_pool_they_are_under_strategy_single)
{
    given(rig, "nvidia.com/mig.strategy=single", "aliyun.com/gpu-mem=9 nvidia.com/gpu=2");
    device(rig, 0, "1g.6gb@0 1g.6gb@1")->product = SL_STR("NVIDIA-A30");
    describe(rig);
    assert_non_null(strstr(rig->text, "nvidia.com/gpu mig 1g.6gb 2 on\n"));
}

TEST_ON(struct node_rig *rig, an_unusable_annotation_is_told_and_inference_goes_on)
{
    given(rig, "", "nvidia.com/gpu=1");
    rig->node.problem = SL_STR("annotation sliced.dev/devices: not JSON");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: not JSON\n");
    rig->node.problem = (struct sl_str){0};
    device(rig, 3, NULL);
    device(rig, 3, NULL);
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: two devices have one index\n");
    rig->node.devices = NULL;
    device(rig, -1, NULL);
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: an index is out of range\n");
    rig->node.devices = NULL;
    device(rig, 0, "1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb 1g.6gb");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\n0 whole\n"
               "! annotation sliced.dev/devices: too many instances on one device\n");
}

TEST_ON(struct node_rig *rig, a_device_with_instances_is_partitioned_whatever_else_is_said)
{
    given(rig, A30, "nvidia.com/mig-1g.6gb=1");
    device(rig, 0, "1g.6gb@2")->mig = false;
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n0 mig 1g.6gb@2\n");
}

static const struct node_row rows[] = {
    DEVICES(starts_not_said_are_found_around_those_that_are, A100,
            "nvidia.com/mig-1g.5gb=1 nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=1",
            "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
            "nvidia.com/mig-2g.10gb mig 2g.10gb 1 on\nnvidia.com/mig-3g.20gb mig 3g.20gb 1 on\n"
            "0 mig 1g.5gb@1 2g.10gb@2 3g.20gb@4\n",
            "2g.10gb 1g.5gb@1 3g.20gb"),
    DEVICES(instances_that_cannot_stand_there_are_a_problem_and_have_no_start, A30,
            "nvidia.com/mig-2g.12gb=2",
            "annotated\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
            "0 mig 2g.12gb@-1 2g.12gb@0\n! GPU 0 cannot hold the instances described on it\n",
            "2g.12gb@0 2g.12gb@1"),
    DEVICES(an_annotation_that_allocatable_denies_makes_that_pool_counts, A30,
            "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=3 nvidia.com/mig-2g.12gb=1",
            "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n"
            "nvidia.com/mig-2g.12gb mig 2g.12gb 1 on\n0 mig 2g.12gb@0\n1 whole\n"
            "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 2\n",
            "1g.6gb 1g.6gb 2g.12gb", "whole"),
    DEVICES(annotated_instances_that_are_not_allocatable_are_left_out, A30,
            "nvidia.com/mig-1g.6gb=2 nvidia.com/mig-2g.12gb=0",
            "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig 1g.6gb@0 1g.6gb@1\n"
            "! instances: 1 described that are not allocatable\n",
            "1g.6gb@0 1g.6gb@1 2g.12gb@2"),
    DEVICES(an_annotation_needs_no_known_model, "",
            "nvidia.com/mig-1g.99gb.me=1 nvidia.com/mig-2g.99gb=1",
            "annotated\nnvidia.com/mig-1g.99gb.me mig 1 on\nnvidia.com/mig-2g.99gb mig 1 on\n"
            "0 mig ?@-1 ?@4\n",
            "2g.99gb@4 1g.99gb+me"),
    /* Where the others lie beside it nobody can tell. */
    DEVICES(beside_an_instance_of_an_unknown_profile_no_start_is_guessed, A100,
            "nvidia.com/mig-1g.5gb=1 nvidia.com/mig-2g.99gb=1",
            "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
            "nvidia.com/mig-2g.99gb mig 1 on\n0 mig ?@-1 1g.5gb@-1\n",
            "2g.99gb 1g.5gb"),
    DEVICES(a_gb_that_the_driver_rounds_otherwise_is_the_same_profile,
            "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB nvidia.com/gpu.memory=81920",
            "nvidia.com/mig-3g.39gb=2",
            "annotated\nnvidia.com/mig-3g.39gb mig 3g.40gb 2 on\n0 mig 3g.40gb@0 3g.40gb@4\n",
            "3g.40gb@0 3g.40gb@4"),
    DEVICES(problems_are_told_one_after_the_other, A30,
            "nvidia.com/gpu=many nvidia.com/mig-1g.6gb=3",
            "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n0 mig\n"
            "! allocatable[nvidia.com/gpu]: \"many\" is not a whole number; "
            "nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 2\n",
            "1g.6gb 1g.6gb"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
