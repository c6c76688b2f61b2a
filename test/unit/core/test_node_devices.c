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
               "! MIG instances: 1 described that are not allocatable\n");
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
}

static void an_annotation_needs_no_known_model(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/mig-1g.99gb.me=1 nvidia.com/mig-2g.99gb=1");
    device(rig, 0, "2g.99gb@4 1g.99gb+me");
    check(rig, "annotated\nnvidia.com/mig-1g.99gb.me mig 1 on\nnvidia.com/mig-2g.99gb mig 1 on\n"
               "0 mig ?@-1 ?@4\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plugin_that_counts_all_gpus_alike_hides_no_size),
        TEST(a_failed_gpu_that_is_not_counted_leaves_the_others_their_size),
        TEST(the_annotation_says_what_is_where),
        TEST(starts_not_said_are_found_around_those_that_are),
        TEST(instances_that_cannot_stand_there_are_a_problem_and_have_no_start),
        TEST(an_annotation_that_allocatable_denies_makes_that_pool_counts),
        TEST(annotated_instances_that_are_not_allocatable_are_left_out),
        TEST(unhealthy_devices_may_be_missing_from_allocatable_or_not),
        TEST(one_node_may_have_several_models),
        TEST(an_annotation_needs_no_known_model),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
