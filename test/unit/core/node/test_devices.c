/* Nodes: devices and instances from annotations (sliced.dev/devices, nos), and how memory is shared
 * out over devices. */
#include "node_rig.h"

static void the_annotation_says_what_is_where(void **state)
{
    struct node_rig *rig = *state;
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

static void starts_not_said_are_found_around_those_that_are(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.5gb=1 nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=1");
    device(rig, 0, "2g.10gb 1g.5gb@1 3g.20gb");
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
               "nvidia.com/mig-2g.10gb mig 2g.10gb 1 on\nnvidia.com/mig-3g.20gb mig 3g.20gb 1 on\n"
               "0 mig 1g.5gb@1 2g.10gb@2 3g.20gb@4\n");
}

static void instances_that_cannot_stand_there_are_a_problem_and_have_no_start(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@1");
    check(rig, "annotated\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
               "0 mig 2g.12gb@-1 2g.12gb@0\n! GPU 0 cannot hold the instances described on it\n");
}

static void an_annotation_that_allocatable_denies_makes_that_pool_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=3 nvidia.com/mig-2g.12gb=1");
    device(rig, 0, "1g.6gb 1g.6gb 2g.12gb");
    device(rig, 1, NULL);
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n"
               "nvidia.com/mig-2g.12gb mig 2g.12gb 1 on\n0 mig 2g.12gb@0\n1 whole\n"
               "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 2\n");
}

static void annotated_instances_that_are_not_allocatable_are_left_out(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-1g.6gb=2 nvidia.com/mig-2g.12gb=0");
    device(rig, 0, "1g.6gb@0 1g.6gb@1 2g.12gb@2");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig 1g.6gb@0 1g.6gb@1\n"
               "! instances: 1 described that are not allocatable\n");
}

static void an_unsure_gpu_has_what_is_allocatable_beside_the_others(void **state)
{
    struct node_rig *rig = *state;
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
static void an_unsure_gpu_takes_nothing_from_others_and_nothing_that_cannot_be(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-3g.20gb=1 nvidia.com/mig-9g.90gb=2");
    device(rig, 0, "")->unsure = true;
    device(rig, 1, "3g.20gb 3g.20gb");
    check(rig, "annotated\nnvidia.com/mig-3g.20gb mig 3g.20gb 1 off\n"
               "nvidia.com/mig-9g.90gb mig 2 off\n0 mig\n1 mig\n"
               "! nvidia.com/mig-3g.20gb: 1 allocatable, instances known for it: 2; "
               "nvidia.com/mig-9g.90gb: 2 allocatable, instances known for it: 0\n");
}

/* Three on two GPUs may be two and one, or one and two: which is guessed. Nine fit on none. */
static void unsure_gpus_have_nothing_where_that_can_be_several_things(void **state)
{
    struct node_rig *rig = *state;
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

static void unhealthy_devices_may_be_missing_from_allocatable_or_not(void **state)
{
    struct node_rig *rig = *state;
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

static void one_node_may_have_several_models(void **state)
{
    struct node_rig *rig = *state;
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

static void
a_pool_has_the_profile_of_its_instances_though_the_label_names_another_model(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.10gb=2");
    device(rig, 0, "1g.10gb@0 1g.10gb@1")->product = SL_STR("NVIDIA-H100-80GB-HBM3");
    describe(rig);
    assert_int_equal(rig->made->pool[0].profile->memory, 1);
}

static void an_annotation_needs_no_known_model(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/mig-1g.99gb.me=1 nvidia.com/mig-2g.99gb=1");
    device(rig, 0, "2g.99gb@4 1g.99gb+me");
    check(rig, "annotated\nnvidia.com/mig-1g.99gb.me mig 1 on\nnvidia.com/mig-2g.99gb mig 1 on\n"
               "0 mig ?@-1 ?@4\n");
}

/* Where the others lie beside it nobody can tell. */
static void beside_an_instance_of_an_unknown_profile_no_start_is_guessed(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100, "nvidia.com/mig-1g.5gb=1 nvidia.com/mig-2g.99gb=1");
    device(rig, 0, "2g.99gb 1g.5gb");
    check(rig, "annotated\nnvidia.com/mig-1g.5gb mig 1g.5gb 1 on\n"
               "nvidia.com/mig-2g.99gb mig 1 on\n0 mig ?@-1 1g.5gb@-1\n");
}

static void a_gb_that_the_driver_rounds_otherwise_is_the_same_profile(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB nvidia.com/gpu.memory=81920",
          "nvidia.com/mig-3g.39gb=2");
    device(rig, 0, "3g.40gb@0 3g.40gb@4");
    check(rig, "annotated\nnvidia.com/mig-3g.39gb mig 3g.40gb 2 on\n0 mig 3g.40gb@0 3g.40gb@4\n");
}

static void an_annotated_single_node_ties_nvidia_gpu_to_instances(void **state)
{
    struct node_rig *rig = *state;
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

static void annotated_replicas_spread_evenly_or_not_at_all(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    given(rig, T4 "nvidia.com/gpu.replicas=4", "nvidia.com/gpu=8");
    check(rig, "annotated\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n");
    given(rig, T4 "nvidia.com/gpu.replicas=4", "nvidia.com/gpu=6");
    check(rig, "annotated\nnvidia.com/gpu replica 6 off\n0 whole\n1 whole\n"
               "! nvidia.com/gpu: 6 allocatable, GPUs known for it: 2\n");
    given(rig, "", "nvidia.com/gpu.shared=6");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 6x3 on\n0 whole\n1 whole\n");
    given(rig, "", "nvidia.com/gpu.shared=7");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 7 off\n0 whole\n1 whole\n"
               "! nvidia.com/gpu.shared: 7 allocatable, GPUs known for it: 2\n");
    rig->node.devices->unhealthy = true;
    given(rig, "nvidia.com/gpu.replicas=7", "nvidia.com/gpu.shared=7");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 7x7 on\n0 whole sick\n1 whole\n");
}

static void an_unusable_annotation_is_told_and_inference_goes_on(void **state)
{
    struct node_rig *rig = *state;
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

static void what_nos_reports_is_free_and_used_together(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4 nvidia.com/mig-2g.12gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-1-1g.6gb-used=2 "
                                                     "nos.nebuly.com/status-gpu-0-1g.6gb-used=1 "
                                                     "nos.nebuly.com/spec-gpu-0-1g.6gb=4 "
                                                     "nos.nebuly.com/status-partitioning-plan=7 "
                                                     "nos.nebuly.com/status-gpu-0-10gb-free=3 "
                                                     "nos.nebuly.com/status-gpu-x-1g.6gb-free=3 "
                                                     "nos.nebuly.com/status-gpu--free=3 "
                                                     "nos.nebuly.com/status-gpu-free=3 "
                                                     "nos.nebuly.com/status-gpu-0-2g.12gb-used=1");
    describe(rig);
    assert_string_equal(sl_layout_name(rig->made->layout), "annotated");
    assert_true(rig->made->dynamic_mig);
    assert_null(rig->made->problem);
    assert_int_equal(rig->made->n_devices, 3);
    assert_int_equal(rig->made->n_instances, 5);
    assert_true(rig->made->device[0].mig && rig->made->device[1].mig);
    assert_false(rig->made->device[2].mig);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(rig->made->instance[i].start >= 0);
        assert_int_equal(rig->made->instance[i].device, i < 3 ? 0 : 1);
    }
}

static void gpus_that_nos_has_not_cut_yet_are_not_whole_when_none_is_allocatable(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-2g.12gb-free=0");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n0 mig 1g.6gb@0\n1 mig\n");
}

static void nos_reports_that_allocatable_denies_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=4");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n0 mig\n"
               "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 4\n");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=99");
    describe(rig);
    assert_string_equal(rig->made->problem, "nos reports too many instances on one GPU");
}

static void nos_reports_in_any_order_and_of_gpus_without_instances(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-1g.6gb=2");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-1-1g.6gb-free=2 "
                                                     "nos.nebuly.com/status-gpu-0-1g.6gb-free=0");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig\n"
               "1 mig 1g.6gb@0 1g.6gb@1\n");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-1-1g.6gb-free=2");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig\n" /* not cut yet */
               "1 mig 1g.6gb@0 1g.6gb@1\n");
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=2");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-1-1g.6gb-free=2 "
                                                     "nos.nebuly.com/status-gpu-0-1g.6gb-free=0");
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n"
               "0 mig\n1 mig 1g.6gb@0 1g.6gb@1\n2 whole\n");
}

/* ---- nos' slices of memory ---- */

#define MPS A100 "nos.nebuly.com/gpu-partitioning=mps "

static void slices_reported_free_or_used_are_those_of_their_gpu(void **state)
{
    struct node_rig *rig = *state;
    given(rig, MPS "nvidia.com/gpu.count=2", "nvidia.com/gpu-10gb=6 nvidia.com/gpu-20gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-1-10gb-free=4 "
                                                     "nos.nebuly.com/status-gpu-0-10gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-20gb-used=1 "
                                                     "nos.nebuly.com/status-gpu-0-10gb-used=1");
    check(rig, "annotated\nnvidia.com/gpu-10gb replica 6 on\nnvidia.com/gpu-20gb replica 1 on\n"
               "0 mig 2x10gb 1x20gb\n1 mig 4x10gb\n");
    assert_true(rig->made->instance[0].in_use);
    assert_true(rig->made->instance[1].in_use);
    assert_false(rig->made->instance[2].in_use);
}

static void slice_has_the_memory_of_its_name_and_goes_one_to_a_request(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu-10gb=6");
    check(rig, "unknown\nnvidia.com/gpu-10gb replica 6 off\n");
    const struct sl_pool *pool = &rig->made->pool[0];
    assert_int_equal(pool->memory_mib, 10240);
    assert_true(pool->slices && pool->equal_memory && pool->one_each);
}

static void slices_are_counted_where_nobody_says_which_gpu_has_them(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100 "nvidia.com/gpu.count=1", "nvidia.com/gpu-10gb=4 nvidia.com/gpu=1");
    check(rig, "unknown\nnvidia.com/gpu whole 1 off\nnvidia.com/gpu-10gb replica 4 off\n");
    assert_int_equal(rig->made->pool[1].total_mib, 0); /* each has its own, so no sum binds them */
}

static void slices_that_allocatable_denies_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, MPS, "nvidia.com/gpu-10gb=3 nvidia.com/gpu-5gb=1");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-10gb-free=4 "
                                                     "nos.nebuly.com/status-gpu-0-5gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-2gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-1g.5gb-free=1 "
                                                     "nos.nebuly.com/status-gpu-0-010gb-free=7");
    check(rig, "annotated\nnvidia.com/gpu-10gb replica 3 off\nnvidia.com/gpu-5gb replica 1 on\n"
               "0 mig 1x5gb\n"
               "! nvidia.com/gpu-10gb: 3 allocatable, instances known for it: 4; "
               "instances: 1 described that are not allocatable\n");
}

static void absurd_numbers_of_slices_are_not_believed(void **state)
{
    struct node_rig *rig = *state;
    given(rig, MPS, "nvidia.com/gpu-1gb=4");
    rig->node.annotations =
        facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1gb-free=9223372036854775807");
    check(rig, "unknown\nnvidia.com/gpu-1gb replica 4 off\n"
               "! nos reports too many instances on one GPU\n");
    rig->node.annotations =
        facts_pairs(&rig->facts,
                    "nos.nebuly.com/status-gpu-0-1gb-free=1 nos.nebuly.com/status-gpu-0-2gb-free=1 "
                    "nos.nebuly.com/status-gpu-0-3gb-free=1 nos.nebuly.com/status-gpu-0-4gb-free=1 "
                    "nos.nebuly.com/status-gpu-0-5gb-free=1 nos.nebuly.com/status-gpu-0-6gb-free=1 "
                    "nos.nebuly.com/status-gpu-0-7gb-free=1 nos.nebuly.com/status-gpu-0-8gb-free=1 "
                    "nos.nebuly.com/status-gpu-0-9gb-free=1");
    check(rig, "unknown\nnvidia.com/gpu-1gb replica 4 off\n"
               "! nos reports too many instances on one GPU\n");
}

static void an_annotation_may_list_slices_one_by_one(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu-10gb=2");
    device(rig, 0, "10gb@0 10gb@1");
    check(rig, "annotated\nnvidia.com/gpu-10gb replica 2 on\n0 mig 2x10gb\n");
}

static void slices_are_no_instances_of_strategy_single(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/mig.strategy=single", "nvidia.com/gpu=2");
    device(rig, 0, "5gb 5gb");
    check(rig, "annotated\nnvidia.com/gpu mig 2 off\n0 mig\n"
               "! nvidia.com/gpu: 2 allocatable, instances known for it: 0; "
               "instances: 1 described that are not allocatable\n");
}

static void gpus_are_whole_unless_all_are_partitioned_under_strategy_single(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/mig.strategy=single", "nvidia.com/gpu=1");
    device(rig, 0, NULL);
    device(rig, 1, "1g.6gb@1")->product = SL_STR("NVIDIA-A30");
    check(rig, "annotated\nnvidia.com/gpu whole 1 on\n0 whole\n1 mig\n"
               "! instances: 1 described that are not allocatable\n");
}

static void gpus_are_instances_whichever_pool_they_are_under_strategy_single(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/mig.strategy=single", "aliyun.com/gpu-mem=9 nvidia.com/gpu=2");
    device(rig, 0, "1g.6gb@0 1g.6gb@1")->product = SL_STR("NVIDIA-A30");
    describe(rig);
    assert_non_null(strstr(rig->text, "nvidia.com/gpu mig 1g.6gb 2 on\n"));
}

static void profile_of_a_pool_is_its_instances_own_whichever_pool_it_is(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=1 nvidia.com/mig-1g.10gb=1");
    device(rig, 0, NULL)->product = SL_STR("NVIDIA-A100-SXM4-80GB");
    device(rig, 1, "1g.10gb@0")->product = SL_STR("NVIDIA-A100-SXM4-40GB"); /* of two slices */
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_instances, 1);
    assert_int_equal(node->instance[0].profile->memory, 2);
    assert_ptr_equal(node->pool[1].profile, node->instance[0].profile);
}

static void instances_on_a_failed_gpu_may_be_missing_from_allocatable(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-2g.12gb=2");
    device(rig, 0, "2g.12gb@0 2g.12gb@2");
    device(rig, 1, "2g.12gb@0")->unhealthy = true;
    check(rig, "annotated\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n0 mig 2g.12gb@0 2g.12gb@2\n"
               "1 mig sick 2g.12gb@0\n");
}

static void replicas_of_healthy_gpus_are_told_when_all_do_not_divide_them(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu.shared=4");
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    device(rig, 2, NULL)->unhealthy = true;
    check(rig, "annotated\nnvidia.com/gpu.shared replica 4x2 on\n0 whole\n1 whole\n2 whole sick\n");
}

static void product_of_an_annotated_gpu_tells_its_memory(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30", "nvidia.com/gpu=1");
    device(rig, 0, NULL)->product = SL_STR("NVIDIA-A30");
    assert_int_equal(make(rig)->device[0].memory_mib, 24576);
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.memory=24000", "nvidia.com/gpu=1");
    assert_int_equal(make(rig)->device[0].memory_mib, 24000);
}

static void dynamic_partitioning_is_said_by_labels_or_an_annotation(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "sliced.dev/partitioning=dynamic", "");
    assert_true(make(rig)->dynamic_mig);
    given(rig, "sliced.dev/partitioning=static nos.nebuly.com/gpu-partitioning=mps", "");
    assert_false(make(rig)->dynamic_mig);
    rig->node.annotations = facts_pairs(&rig->facts, "sliced.dev/partitioning=dynamic");
    assert_true(make(rig)->dynamic_mig);
}

static void a_dynamic_node_shows_the_gpus_that_wait_to_be_cut(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/gpu=0");
    check(rig, "inferred\n0 mig\n1 mig\n");
    assert_non_null(rig->made->model);
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0");
    check(rig, "unknown\n");
}

static void gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=31 aliyun.com/gpu-count=2");
    check(rig, "inferred\naliyun.com/gpu-mem memory 31 on\n0 whole 15\n1 whole 15\n");
    given(rig, "nvidia.com/gpu.count=3", "aliyun.com/gpu-mem=45");
    check(rig, "inferred\naliyun.com/gpu-mem memory 45 on\n0 whole 15\n1 whole 15\n2 whole 15\n");
}

static void gpushares_count_may_stand_in_capacity(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=32");
    rig->node.capacity = facts_pairs(&rig->facts, "aliyun.com/gpu-count=4 aliyun.com/gpu-mem=32");
    check(rig, "inferred\naliyun.com/gpu-mem memory 32 on\n0 whole 8\n1 whole 8\n2 whole 8\n"
               "3 whole 8\n");
}

static void memory_of_an_unknown_number_of_gpus_is_taken_for_one(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=24");
    check(rig, "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n! nothing says how many "
               "GPUs share aliyun.com/gpu-mem: taken for one\n");
}

static void one_gpu_by_the_label_is_enough_for_its_memory(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=1", "aliyun.com/gpu-mem=24");
    check(rig, "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n");
    given(rig, "", "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1");
    check(rig, "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n");
}

static void memory_of_one_gpu_is_not_on_two(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    given(rig, "", "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1");
    check(rig, "annotated\naliyun.com/gpu-mem memory 24 off\n0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 24 allocatable on 1, GPUs known for it: 2\n");
    given(rig, "", "aliyun.com/gpu-mem=1"); /* less than a unit each */
    check(rig, "annotated\naliyun.com/gpu-mem memory 1 off\n0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 1 allocatable, GPUs known for it: 2\n");
    given(rig, "", "aliyun.com/gpu-mem=2"); /* one each is enough */
    check(rig, "annotated\naliyun.com/gpu-mem memory 2 on\n0 whole 1\n1 whole 1\n");
}

static void memory_follows_the_sizes_of_the_gpus(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL)->memory_mib = 15109;
    device(rig, 1, NULL)->memory_mib = 24258;
    given(rig, "", "aliyun.com/gpu-mem=37 aliyun.com/gpu-count=2"); /* GiB, counted down */
    check(rig, "annotated\naliyun.com/gpu-mem memory 37 on\n0 whole 14\n1 whole 23\n");
    given(rig, "", "aliyun.com/gpu-mem=39367"); /* MiB */
    check(rig, "annotated\naliyun.com/gpu-mem memory 39367 on\n0 whole 15109\n1 whole 24258\n");
    given(rig, "", "aliyun.com/gpu-mem=100"); /* something else: in proportion */
    check(rig, "annotated\naliyun.com/gpu-mem memory 100 on\n0 whole 38\n1 whole 61\n");
    given(rig, "", "aliyun.com/gpu-mem=9223372036854775807"); /* cut */
    check(rig, "annotated\naliyun.com/gpu-mem memory 2147483647 on\n"
               "0 whole 824201245\n1 whole 1323282401\n"
               "! allocatable[aliyun.com/gpu-mem]: \"9223372036854775807\" is too large, taken for "
               "2147483647\n");
}

static void gpushare_takes_the_first_gpus_gib_for_all(void **state)
{
    struct node_rig *rig = *state;
    device(rig, 0, NULL)->memory_mib = 15345; /* all but 15 MiB of the fifteenth GiB */
    device(rig, 1, NULL)->memory_mib = 24258;
    given(rig, "", "aliyun.com/gpu-mem=28 aliyun.com/gpu-count=2");
    check(rig, "annotated\naliyun.com/gpu-mem memory 28 on\n0 whole 14\n1 whole 23\n");
    rig->node.devices->unhealthy = true; /* and counted, though it failed */
    describe(rig);
    assert_non_null(strstr(rig->text, " whole sick 14\n1 whole 23\n"));
    rig->node.devices->memory_mib = rig->node.devices->next->memory_mib = 16383;
    given(rig, "", "aliyun.com/gpu-mem=30"); /* a MiB less than sixteen */
    describe(rig);
    assert_non_null(strstr(rig->text, "0 whole sick 15\n1 whole 15\n"));
}

static void whole_gpus_and_memory_are_the_same_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=2",
          "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=2");
    check(rig, "inferred\naliyun.com/gpu-mem memory 30 on\nnvidia.com/gpu whole 2 on\n"
               "0 whole 15\n1 whole 15\n");
    given(rig, T4, "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=3");
    check(rig, "inferred\naliyun.com/gpu-mem memory 30 off\nnvidia.com/gpu whole 2 on\n"
               "0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 30 allocatable on 3, GPUs known for it: 2\n");
}

static void memory_is_not_on_partitioned_gpus(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1 nvidia.com/mig-1g.6gb=1");
    device(rig, 0, "1g.6gb@0");
    device(rig, 1, NULL);
    check(rig, "annotated\naliyun.com/gpu-mem memory 24 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n"
               "0 mig 1g.6gb@0\n1 whole 24\n");
}

static void less_memory_than_gpus_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=1 aliyun.com/gpu-count=2");
    check(rig, "unknown\naliyun.com/gpu-mem memory 1 off\n"
               "! aliyun.com/gpu-mem: 1 allocatable on 2, GPUs known for it: 2\n");
}

/* gpushare's plugin takes the first GPU's memory for that of all. */
static void a_plugin_that_counts_all_gpus_alike_hides_no_size(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=64 aliyun.com/gpu-count=2");
    device(rig, 0, NULL)->memory_mib = 32768;
    device(rig, 1, NULL)->memory_mib = 15360;
    check(rig, "annotated\naliyun.com/gpu-mem memory 64 on\n0 whole 32\n1 whole 15\n");
    given(rig, "", "aliyun.com/gpu-mem=65536 aliyun.com/gpu-count=2");
    check(rig, "annotated\naliyun.com/gpu-mem memory 65536 on\n0 whole 32768\n1 whole 15360\n");
    given(rig, "", "aliyun.com/gpu-mem=30 aliyun.com/gpu-count=2"); /* the small one first */
    check(rig, "annotated\naliyun.com/gpu-mem memory 30 on\n0 whole 32\n1 whole 15\n");
}

static void a_failed_gpu_that_is_not_counted_leaves_the_others_their_size(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "aliyun.com/gpu-mem=47 aliyun.com/gpu-count=2");
    device(rig, 0, NULL)->memory_mib = 32768;
    device(rig, 1, NULL)->memory_mib = 15360;
    struct sl_device_facts *failed = device(rig, 2, NULL);
    failed->memory_mib = 15360;
    failed->unhealthy = true;
    check(rig, "annotated\naliyun.com/gpu-mem memory 47 on\n0 whole 32\n1 whole 15\n"
               "2 whole sick 15\n");
}

static void a_device_with_instances_is_partitioned_whatever_else_is_said(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/mig-1g.6gb=1");
    device(rig, 0, "1g.6gb@2")->mig = false;
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n0 mig 1g.6gb@2\n");
}

static void problems_are_told_one_after_the_other(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30, "nvidia.com/gpu=many nvidia.com/mig-1g.6gb=3");
    device(rig, 0, "1g.6gb 1g.6gb");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n0 mig\n"
               "! allocatable[nvidia.com/gpu]: \"many\" is not a whole number; "
               "nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plugin_that_counts_all_gpus_alike_hides_no_size),
        TEST(a_failed_gpu_that_is_not_counted_leaves_the_others_their_size),
        TEST(nos_reports_in_any_order_and_of_gpus_without_instances),
        TEST(slices_reported_free_or_used_are_those_of_their_gpu),
        TEST(slice_has_the_memory_of_its_name_and_goes_one_to_a_request),
        TEST(slices_are_counted_where_nobody_says_which_gpu_has_them),
        TEST(slices_that_allocatable_denies_are_counts),
        TEST(absurd_numbers_of_slices_are_not_believed),
        TEST(an_annotation_may_list_slices_one_by_one),
        TEST(slices_are_no_instances_of_strategy_single),
        TEST(gpus_are_whole_unless_all_are_partitioned_under_strategy_single),
        TEST(gpus_are_instances_whichever_pool_they_are_under_strategy_single),
        TEST(profile_of_a_pool_is_its_instances_own_whichever_pool_it_is),
        TEST(instances_on_a_failed_gpu_may_be_missing_from_allocatable),
        TEST(replicas_of_healthy_gpus_are_told_when_all_do_not_divide_them),
        TEST(product_of_an_annotated_gpu_tells_its_memory),
        TEST(one_gpu_by_the_label_is_enough_for_its_memory),
        TEST(memory_of_one_gpu_is_not_on_two),
        TEST(the_annotation_says_what_is_where),
        TEST(starts_not_said_are_found_around_those_that_are),
        TEST(instances_that_cannot_stand_there_are_a_problem_and_have_no_start),
        TEST(an_annotation_that_allocatable_denies_makes_that_pool_counts),
        TEST(annotated_instances_that_are_not_allocatable_are_left_out),
        TEST(an_unsure_gpu_has_what_is_allocatable_beside_the_others),
        TEST(an_unsure_gpu_takes_nothing_from_others_and_nothing_that_cannot_be),
        TEST(unsure_gpus_have_nothing_where_that_can_be_several_things),
        TEST(unhealthy_devices_may_be_missing_from_allocatable_or_not),
        TEST(one_node_may_have_several_models),
        TEST(a_pool_has_the_profile_of_its_instances_though_the_label_names_another_model),
        TEST(an_annotation_needs_no_known_model),
        TEST(beside_an_instance_of_an_unknown_profile_no_start_is_guessed),
        TEST(a_gb_that_the_driver_rounds_otherwise_is_the_same_profile),
        TEST(an_annotated_single_node_ties_nvidia_gpu_to_instances),
        TEST(annotated_replicas_spread_evenly_or_not_at_all),
        TEST(an_unusable_annotation_is_told_and_inference_goes_on),
        TEST(what_nos_reports_is_free_and_used_together),
        TEST(gpus_that_nos_has_not_cut_yet_are_not_whole_when_none_is_allocatable),
        TEST(nos_reports_that_allocatable_denies_are_counts),
        TEST(dynamic_partitioning_is_said_by_labels_or_an_annotation),
        TEST(a_dynamic_node_shows_the_gpus_that_wait_to_be_cut),
        TEST(gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys),
        TEST(gpushares_count_may_stand_in_capacity),
        TEST(memory_of_an_unknown_number_of_gpus_is_taken_for_one),
        TEST(memory_follows_the_sizes_of_the_gpus),
        TEST(whole_gpus_and_memory_are_the_same_devices),
        TEST(memory_is_not_on_partitioned_gpus),
        TEST(less_memory_than_gpus_is_counts),
        TEST(a_device_with_instances_is_partitioned_whatever_else_is_said),
        TEST(problems_are_told_one_after_the_other),
        TEST(gpushare_takes_the_first_gpus_gib_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
