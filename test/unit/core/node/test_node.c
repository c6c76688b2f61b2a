/* Nodes: pools, and devices where labels and allocatable leave one possibility. */
#include "node_rig.h"

#include "core/request/count.h"

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

static void a_node_without_gpus_is_a_node(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "kubernetes.io/arch=amd64", "cpu=8 memory=32Gi pods=110");
    check(rig, "unknown\n");
    assert_false(sl_node_has_gpus(rig->made));
    assert_int_equal(sl_node_pool(rig->made, 42), -1);
    assert_null(rig->made->product);
    assert_null(rig->made->model);
    assert_false(rig->made->dynamic_mig);
}

static void the_first_internal_address_is_kept(void **state)
{
    struct node_rig *rig = *state;
    struct sl_address_facts second = {SL_STR("InternalIP"), SL_STR("fd00::7"), NULL};
    struct sl_address_facts first = {SL_STR("InternalIP"), SL_STR("10.0.0.7"), &second};
    struct sl_address_facts odd = {SL_STR("InternalIP"), SL_STR("10.0.0.1/@evil"), &first};
    struct sl_address_facts outer = {SL_STR("ExternalIP"), SL_STR("192.0.2.1"), &odd};
    rig->node.addresses = &outer;
    given(rig, "", "cpu=8");
    assert_string_equal(make(rig)->address, "10.0.0.7");
    first.type = SL_STR("Hostname");
    assert_string_equal(make(rig)->address, "fd00::7");
    second.address = SL_STR("");
    assert_null(make(rig)->address);
}

static void whole_gpus_are_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=1", "nvidia.com/gpu=2 cpu=8");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\n0 whole\n1 whole\n");
    assert_true(sl_node_has_gpus(rig->made));
    assert_string_equal(rig->made->product, "Tesla-T4");
    assert_string_equal(rig->made->device[1].product, "Tesla-T4");
    assert_int_equal(rig->made->device[1].memory_mib, 15360);
    assert_null(rig->made->device[1].uuid);
    assert_null(rig->made->model);
}

static void whole_gpus_need_no_labels(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=3");
    check(rig, "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n");
}

static void allocatable_is_believed_over_the_count_label(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=4", "nvidia.com/gpu=3");
    check(rig, "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n"
               "! nvidia.com/gpu.count: 4, but allocatable makes 3\n");
}

static void even_a_single_gpu_may_be_one_less_than_there_are(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=1", "nvidia.com/gpu=2");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\n0 whole\n1 whole\n"
               "! nvidia.com/gpu.count: 1, but allocatable makes 2\n");
}

static void more_gpus_than_can_be_told_apart_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=65");
    check(rig, "unknown\nnvidia.com/gpu whole 65 off\n! GPUs: 65 are too many to be told apart\n");
}

static void a_model_is_found_by_its_product(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30", "nvidia.com/gpu=1");
    const struct sl_node *node = make(rig);
    assert_non_null(node->model);
    assert_string_equal(node->model->name, "A30-24GB");
    assert_ptr_equal(node->device[0].model, node->model);
    assert_int_equal(node->device[0].memory_mib, 24576);
}

static void replicas_multiply_devices(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=Tesla-T4-SHARED nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=4 nvidia.com/gpu.sharing-strategy=time-slicing",
          "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n");
    assert_string_equal(rig->made->product, "Tesla-T4");
}

static void renamed_replicas_are_replicas(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=mps",
          "nvidia.com/gpu=0 nvidia.com/gpu.shared=8");
    check(rig, "inferred\nnvidia.com/gpu.shared replica 8x4 on\n0 whole\n1 whole\n");
}

static void replicas_are_told_from_the_count_when_not_labelled(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=2", "nvidia.com/gpu.shared=10");
    check(rig, "inferred\nnvidia.com/gpu.shared replica 10x5 on\n0 whole\n1 whole\n");
}

static void a_failed_gpu_takes_its_replicas_along(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4", "nvidia.com/gpu=8");
    check(rig, "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n"
               "! nvidia.com/gpu.count: 4, but allocatable makes 2\n");
}

static void replicas_of_nobody_knows_what_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu.shared=8");
    check(rig, "unknown\nnvidia.com/gpu.shared replica 8 off\n");
    given(rig, "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=5", "nvidia.com/gpu=8");
    check(rig, "unknown\nnvidia.com/gpu replica 8 off\n"
               "! nvidia.com/gpu: 8 allocatable, not what count and replicas in the labels make\n");
}

static void a_replicas_label_that_allocatable_denies_is_not_believed(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=4", "nvidia.com/gpu=6");
    check(rig, "inferred\nnvidia.com/gpu replica 6x2 on\n0 whole\n1 whole\n2 whole\n"
               "! nvidia.com/gpu: 6 allocatable, not what the replicas in the labels make\n");
}

/* Feature discovery says replicas=1 until it has read that the plugin shares. */
static void a_replicas_label_that_lags_makes_no_more_gpus_than_the_count(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=1", "nvidia.com/gpu.shared=50");
    check(rig, "inferred\nnvidia.com/gpu.shared replica 50x50 on\n0 whole\n");
    given(rig,
          "nvidia.com/gpu.product=Tesla-T4-SHARED nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4",
          "nvidia.com/gpu=20");
    check(rig, "inferred\nnvidia.com/gpu replica 20x10 on\n0 whole\n1 whole\n"
               "! nvidia.com/gpu: 20 allocatable, not what the replicas in the labels make\n");
    given(rig,
          A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=2 "
              "nvidia.com/mig-2g.12gb.replicas=1",
          "nvidia.com/mig-2g.12gb.shared=10");
    check(rig, "inferred\nnvidia.com/mig-2g.12gb.shared replica 2g.12gb 10x5 on\n"
               "0 mig 2g.12gb@0 2g.12gb@2\n");
}

static void replicas_that_no_number_of_gpus_explains_name_none(void **state)
{
    struct node_rig *rig = *state;
    const char *labels[] = {
        T4 "nvidia.com/gpu.replicas=1", /* how many GPUs is not said */
        T4 "nvidia.com/gpu.replicas=0",
        T4 "nvidia.com/gpu.count=-1 nvidia.com/gpu.replicas=many",
        T4 "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=10", /* five GPUs, or four */
        T4 "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=100",
        T4 "nvidia.com/gpu.count=2147483647 nvidia.com/gpu.replicas=1",
    };
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        given(rig, labels[i], "nvidia.com/gpu.shared=50");
        const struct sl_node *node = make(rig);
        assert_int_equal(node->n_devices, 0);
        assert_int_equal(node->pool[0].kind, SL_KIND_REPLICA);
        assert_int_equal(node->pool[0].capacity, 50);
        assert_false(node->pool[0].on_devices);
        assert_true(node->pool[0].total_mib >=
                    15360); /* declared shares have a bound all the same */
    }
}

static void an_annotation_beats_a_replicas_label_that_lags(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=1", "nvidia.com/gpu.shared=20");
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    check(rig, "annotated\nnvidia.com/gpu.shared replica 20x10 on\n0 whole\n1 whole\n");
}

static void of_more_gpus_than_the_label_counts_the_rest_is_unknown(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/gpu=3");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, 3);
    assert_int_equal(node->device[0].memory_mib, 24576);
    assert_string_equal(node->device[0].product, "NVIDIA-A30");
    for (unsigned d = 1; d < 3; d++) {
        assert_int_equal(node->device[d].memory_mib, 0);
        assert_null(node->device[d].product);
        assert_null(node->device[d].model);
    }
    assert_null(node->model); /* they need not be of one */
    assert_int_equal(node->pool[0].memory_mib, 0);
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=3");
    node = make(rig);
    assert_int_equal(node->device[2].memory_mib, 24576);
    assert_int_equal(node->pool[0].memory_mib, 24576);
}

/* An A30 that is cut beside a board of which the labels say nothing. */
static void whole_gpus_beside_those_that_the_labels_name_are_unknown(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, 1);
    assert_int_equal(node->device[0].memory_mib, 0);
    assert_null(node->device[0].product);
    assert_null(node->device[0].model);
    assert_int_equal(node->pool[0].memory_mib, 0);
    const int mig = sl_node_pool(node, sl_hash("nvidia.com/mig-1g.6gb", 21));
    assert_int_equal(node->pool[mig].memory_mib, 5952);
}

static void annotated_gpus_beyond_the_count_have_what_is_said_of_them(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/gpu=3");
    device(rig, 0, NULL);
    device(rig, 1, NULL)->memory_mib = 15360;
    device(rig, 2, NULL)->product = SL_STR("NVIDIA-A30");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->device[0].memory_mib, 24576);
    assert_int_equal(node->device[1].memory_mib, 15360);
    assert_int_equal(node->device[2].memory_mib, 24576);
    assert_string_equal(node->device[2].product, "NVIDIA-A30");
}

static void whole_gpus_beside_shared_ones_are_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4",
          "nvidia.com/gpu=2 nvidia.com/gpu.shared=8");
    check(rig, "unknown\nnvidia.com/gpu whole 2 off\nnvidia.com/gpu.shared replica 8 off\n");
}

static void single_with_full_gpus_has_one_layout(void **state)
{
    struct node_rig *rig = *state;
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
static void single_is_of_the_board_that_has_the_profile(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-GH200-120GB-MIG-3g.48gb nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.memory=47616 nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=2");
    check(rig, "inferred\nnvidia.com/gpu mig 3g.48gb 2 on\n0 mig 3g.48gb@0 3g.48gb@4\n");
    assert_int_equal(rig->made->model->memory_gib, 96);
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A100-PG509-200-MIG-3g.20gb nvidia.com/gpu.count=4 "
          "nvidia.com/gpu.memory=19968 nvidia.com/mig.strategy=single",
          "nvidia.com/gpu=4");
    check(rig, "inferred\nnvidia.com/gpu mig 3g.20gb 4 on\n"
               "0 mig 3g.20gb@0 3g.20gb@4\n1 mig 3g.20gb@0 3g.20gb@4\n");
}

/* Its GPU has no memory of its own: that of a unit is not known. */
static void instances_of_thor_are_known_and_their_memory_is_not(void **state)
{
    struct node_rig *rig = *state;
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

static void single_that_is_not_full_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=6",
          "nvidia.com/gpu=6");
    check(rig, "unknown\nnvidia.com/gpu mig 1g.6gb 6 off\n");
    assert_non_null(rig->made->model);
}

static void single_with_replicas_shares_instances(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb-SHARED nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=3",
          "nvidia.com/gpu=6");
    check(rig, "inferred\nnvidia.com/gpu replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n");
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=3",
          "nvidia.com/gpu.shared=6");
    check(rig,
          "inferred\nnvidia.com/gpu.shared replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n");
}

static void single_unevenly_partitioned_is_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB-MIG-INVALID nvidia.com/gpu.count=0 "
          "nvidia.com/gpu.memory=0",
          "nvidia.com/gpu=0");
    check(rig, "unknown\n! nvidia.com/gpu.product says MIG-INVALID: strategy single needs all GPUs "
               "partitioned alike\n");
    assert_string_equal(rig->made->product, "NVIDIA-A100-SXM4-40GB");
}

static void single_with_an_unknown_profile_is_schedulable_by_count(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "nvidia.com/gpu.product=NVIDIA-Z9-MIG-1g.99gb", "nvidia.com/gpu=4");
    check(rig, "unknown\nnvidia.com/gpu mig 4 off\n");
}

static void mixed_full_gpus_have_one_layout(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2 nvidia.com/mig-1g.6gb.count=8",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=8 nvidia.com/mig-2g.12gb=0");
    check(rig, "inferred\nnvidia.com/mig-1g.6gb mig 1g.6gb 8 on\n"
               "0 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n"
               "1 mig 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3\n");
}

static void mixed_profiles_that_fill_each_gpu_alike_have_one_layout(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-1g.5gb=8 nvidia.com/mig-2g.10gb=24");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    assert_int_equal(node->n_devices, 8);
    assert_int_equal(node->n_instances, 32);
    given(rig, A100 "nvidia.com/gpu.count=8", "nvidia.com/mig-3g.20gb=8 nvidia.com/mig-4g.20gb=8");
    assert_int_equal(make(rig)->n_instances, 16);
}

static void mixed_on_one_gpu_has_one_layout_with_legal_placements(void **state)
{
    struct node_rig *rig = *state;
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

static void mixed_that_no_gpu_could_hold_is_counts_and_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig,
          A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=0 nvidia.com/mig-1g.5gb.count=3 "
               "nvidia.com/mig-1g.5gb.memory=4864 nvidia.com/mig-2g.10gb.count=1",
          "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=3 nvidia.com/mig-2g.10gb=1 "
          "nvidia.com/mig-3g.20gb=1");
    check(rig, "unknown\nnvidia.com/mig-1g.5gb mig 1g.5gb 3 off\n"
               "nvidia.com/mig-2g.10gb mig 2g.10gb 1 off\n"
               "nvidia.com/mig-3g.20gb mig 3g.20gb 1 off\n! nvidia.com/gpu.count: 1, but the MIG "
               "instances allocatable do not fit on so many GPUs\n");
    assert_non_null(rig->made->model);
}

static void mixed_with_several_ways_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/mig-1g.6gb=6");
    check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 6 off\n");
    given(rig, A30, "nvidia.com/mig-1g.6gb=4");
    check(rig, "unknown\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n");
}

static void one_profile_under_two_names_is_counts(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=1",
          "nvidia.com/mig-2g.12gb=1 nvidia.com/mig-2g.12gb.shared=1");
    check(rig, "unknown\nnvidia.com/mig-2g.12gb mig 2g.12gb 1 off\n"
               "nvidia.com/mig-2g.12gb.shared replica 2g.12gb 1 off\n");
}

static void whole_and_partitioned_gpus_are_too_many_together(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=70", "nvidia.com/gpu=40 nvidia.com/mig-4g.24gb=30");
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, 40);
    assert_true(node->pool[0].on_devices);
    assert_false(node->pool[1].on_devices);
}

static void twin_is_found_whatever_stands_before_it(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4 "nvidia.com/gpu.replicas=2",
          "aliyun.com/gpu-mem=30 nvidia.com/gpu=1 nvidia.com/gpu.shared=2");
    describe(rig);
    assert_non_null(strstr(rig->text, "nvidia.com/gpu whole 1 off\n"));
    assert_non_null(strstr(rig->text, "nvidia.com/gpu.shared replica 2 off\n"));
}

static void gpus_that_are_not_partitioned_stay_whole(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=2 nvidia.com/mig-2g.12gb=2");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\nnvidia.com/mig-2g.12gb mig 2g.12gb 2 on\n"
               "0 whole\n1 whole\n2 mig 2g.12gb@0 2g.12gb@2\n");
}

static void whole_gpus_are_known_though_the_partitioned_are_not(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=3", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=5");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 5 off\n"
               "0 whole\n");
}

static void instances_without_a_gpu_left_for_them_are_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=4");
    check(rig, "inferred\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 4 off\n"
               "0 whole\n! nvidia.com/gpu.count: 1, which leaves no GPU for the MIG instances "
               "allocatable\n");
}

static void replicas_of_instances_are_counted_by_their_labels(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.replicas=5",
          "nvidia.com/mig-2g.12gb=10");
    check(rig, "inferred\nnvidia.com/mig-2g.12gb replica 2g.12gb 10x5 on\n"
               "0 mig 2g.12gb@0 2g.12gb@2\n");
    given(rig, A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=2",
          "nvidia.com/mig-2g.12gb.shared=4");
    check(rig, "inferred\nnvidia.com/mig-2g.12gb.shared replica 2g.12gb 4x2 on\n"
               "0 mig 2g.12gb@0 2g.12gb@2\n");
}

static void unknown_profiles_are_schedulable_by_count(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-9g.99gb=2");
    check(rig, "unknown\nnvidia.com/mig-9g.99gb mig 2 off\n");
    given(rig, "", "nvidia.com/mig-1g.5gb=2");
    check(rig, "unknown\nnvidia.com/mig-1g.5gb mig 2 off\n");
}

static void media_profiles_keep_their_names(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3 nvidia.com/mig-1g.6gb.me=1");
    describe(rig);
    assert_int_equal(rig->made->n_instances, 4);
    assert_string_equal(rig->made->pool[1].profile->name, "1g.6gb+me");
    assert_int_equal(rig->made->layout, SL_LAYOUT_INFERRED);
}

static void as_many_gpus_are_partitioned_as_a_node_may_have(void **state)
{
    struct node_rig *rig = *state;
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

static void an_allocatable_that_is_no_count_is_a_problem(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=1500m aliyun.com/gpu-mem=-3 nvidia.com/mig-1g.6gb=many");
    check(rig, "unknown\n! allocatable[nvidia.com/gpu]: \"1500m\" is not a whole number; "
               "allocatable[aliyun.com/gpu-mem]: \"-3\" is not a whole number; "
               "allocatable[nvidia.com/mig-1g.6gb]: \"many\" is not a whole number\n");
}

static void a_long_problem_is_cut(void **state)
{
    struct node_rig *rig = *state;
    char problem[600];
    memset(problem, 'x', sizeof(problem));
    rig->node.problem = (struct sl_str){problem, sizeof(problem)};
    assert_int_equal(strlen(make(rig)->problem), SL_NODE_PROBLEM_MAX - 1);
}

static void check_refused(struct node_rig *rig, enum sl_error_code code)
{
    struct sl_error err = {0};
    assert_null(sl_node_new(&rig->node, &err));
    assert_int_equal(err.code, code);
    assert_true(strlen(err.message) > 10);
    assert_null(sl_node_new(&rig->node, NULL));
}

static void a_node_without_a_usable_name_is_an_error(void **state)
{
    struct node_rig *rig = *state;
    char text[254];
    memset(text, 'n', sizeof(text));
    rig->node.name = (struct sl_str){0};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){text, sizeof(text)};
    check_refused(rig, SL_ERR_FIELD);
    rig->node.name = (struct sl_str){"a\0b", 3};
    check_refused(rig, SL_ERR_FIELD);
}

static void the_most_of_everything_is_kept_and_one_more_is_an_error(void **state)
{
    struct node_rig *rig = *state;
    char text[64];
    rig->node.labels = facts_pairs(&rig->facts, A100);
    for (int i = 0; i < SL_NODE_DEVICES_MAX; i++) {
        device(rig, i, "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb");
    }
    facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/mig-1g.5gb", "448");
    for (int i = 1; i < SL_NODE_POOLS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "nvidia.com/mig-x%d", i);
        facts_pair(&rig->facts, &rig->node.allocatable, text, "1");
    }
    const struct sl_node *node = make(rig);
    assert_int_equal(node->n_devices, SL_NODE_DEVICES_MAX);
    assert_int_equal(node->n_pools, SL_NODE_POOLS_MAX);
    assert_int_equal(node->n_instances, 7 * SL_NODE_DEVICES_MAX);
    facts_pair(&rig->facts, &rig->node.allocatable, "nvidia.com/mig-y", "1");
    check_refused(rig, SL_ERR_LIMIT);
    rig->node.allocatable = NULL;
    device(rig, SL_NODE_DEVICES_MAX, NULL);
    check_refused(rig, SL_ERR_LIMIT);
}

static void a_node_lives_in_memory_of_its_own_and_counts_references(void **state)
{
    struct node_rig *rig = *state;
    given(rig, T4, "nvidia.com/gpu=1");
    struct sl_device_facts *d = device(rig, 0, NULL);
    d->uuid = facts_text(&rig->facts, "GPU-1", 5);
    d->product = facts_text(&rig->facts, "Tesla-T4", 8);
    rig->node.problem = facts_text(&rig->facts, "odd", 3);
    rig->node.name = facts_text(&rig->facts, "n", 1);
    (void)make(rig);
    facts_free(&rig->facts);
    assert_ptr_equal(sl_node_ref(rig->made), rig->made);
    sl_node_unref(rig->made);
    assert_string_equal(rig->made->name, "n");
    assert_string_equal(rig->made->product, "Tesla-T4");
    assert_string_equal(rig->made->device[0].uuid, "GPU-1");
    assert_string_equal(rig->made->device[0].product, "Tesla-T4");
    assert_string_equal(rig->made->pool[0].resource, "nvidia.com/gpu");
    assert_string_equal(rig->made->problem, "odd");
    sl_node_unref(NULL);
}

static void check_texts(const struct sl_node *a, const struct sl_node *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->product, b->product);
    assert_string_equal(a->problem, b->problem);
    assert_string_equal(a->device[0].uuid, b->device[0].uuid);
    assert_string_equal(a->device[1].uuid, b->device[1].uuid);
    assert_string_equal(a->device[1].product, b->device[1].product);
    assert_int_equal(a->n_labels, b->n_labels);
    for (unsigned i = 0; i < a->n_labels; i++) {
        assert_string_equal(a->label[i].key, b->label[i].key);
        assert_string_equal(a->label[i].value, b->label[i].value);
    }
    assert_int_equal(a->n_taints, 1);
    assert_string_equal(a->taint[0].key, b->taint[0].key);
    assert_string_equal(a->taint[0].value, b->taint[0].value);
    for (unsigned i = 0; i < a->n_pools; i++) {
        assert_string_equal(a->pool[i].resource, b->pool[i].resource);
        assert_ptr_equal(a->pool[i].profile, b->pool[i].profile);
    }
}

static void marks_are_made_on_a_copy_that_stands_alone(void **state)
{
    struct node_rig *rig = *state;
    struct sl_taint_facts taint = {.key = SL_STR("gpu"), .effect = SL_STR("NoSchedule")};
    static const int16_t first[] = {0, 7};
    given(rig, A30 "zone=a", "nvidia.com/gpu=3 nvidia.com/mig-9g.9gb=1");
    rig->node.taints = &taint;
    device(rig, 0, "")->uuid = SL_STR("GPU-0");
    device(rig, 1, "")->uuid = SL_STR("GPU-1");
    device(rig, 2, "")->unhealthy = true;
    (void)make(rig);
    struct sl_node *marked = sl_node_marked(rig->made, first, 2);
    struct sl_node *again = sl_node_marked(marked, first, 2);
    struct sl_node *free_again = sl_node_marked(marked, NULL, 0);

    assert_ptr_not_equal(marked, rig->made);
    assert_ptr_equal(again, marked);
    check_texts(marked, rig->made);
    sl_node_unref(again);
    sl_node_unref(marked);
    check_texts(free_again, rig->made);
    assert_false(free_again->device[2].healthy);
    assert_true(free_again->device[0].healthy);
    sl_node_unref(free_again);
    marked = sl_node_marked(rig->made, first, 2);
    sl_node_unref(rig->made);
    rig->made = marked;
    assert_string_equal(marked->name, "gpu-1");
    assert_false(marked->device[0].healthy);
    assert_true(marked->device[1].healthy);
}

static void an_allocatable_beyond_all_counts_is_cut_and_one_below_zero_is_none(void **state)
{
    struct node_rig *rig = *state;
    given(rig, "", "nvidia.com/gpu=-99999999999999999999 aliyun.com/gpu-mem=99999999999999999999");
    describe(rig);
    assert_int_equal(rig->made->n_pools, 1);
    assert_int_equal(rig->made->pool[0].capacity, SL_UNITS_MAX);
    assert_non_null(strstr(rig->made->problem,
                           "[nvidia.com/gpu]: \"-99999999999999999999\" is not a whole number"));
    assert_non_null(strstr(rig->made->problem, "is too large, taken for "));
    given(rig, "", "memory=8E pods=-1");
    assert_true(make(rig)->host.memory_bytes == SL_HOST_MAX - 1);
    assert_int_equal(rig->made->host.pods, -1);
}

static void layouts_have_names(void **state)
{
    (void)state;
    assert_string_equal(sl_layout_name(SL_LAYOUT_UNKNOWN), "unknown");
    assert_string_equal(sl_layout_name(SL_LAYOUT_ANNOTATED), "annotated");
    assert_string_equal(sl_layout_name((enum sl_layout)(SL_LAYOUT_ANNOTATED + 1)), "unknown");
}

static void two_replicas_of_an_instance_are_replicas(void **state)
{
    struct node_rig *rig = *state;
    given(rig, A30 "nvidia.com/mig-1g.6gb.replicas=2", "nvidia.com/mig-1g.6gb=8");
    assert_int_equal(make(rig)->pool[0].kind, SL_KIND_REPLICA);
    given(rig, A30 "nvidia.com/mig-1g.6gb.replicas=1", "nvidia.com/mig-1g.6gb=8");
    assert_int_equal(make(rig)->pool[0].kind, SL_KIND_MIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_without_gpus_is_a_node),
        TEST(the_first_internal_address_is_kept),
        TEST(whole_gpus_are_devices),
        TEST(whole_gpus_need_no_labels),
        TEST(allocatable_is_believed_over_the_count_label),
        TEST(more_gpus_than_can_be_told_apart_are_counts),
        TEST(a_model_is_found_by_its_product),
        TEST(replicas_multiply_devices),
        TEST(renamed_replicas_are_replicas),
        TEST(replicas_are_told_from_the_count_when_not_labelled),
        TEST(a_failed_gpu_takes_its_replicas_along),
        TEST(replicas_of_nobody_knows_what_are_counts),
        TEST(a_replicas_label_that_allocatable_denies_is_not_believed),
        TEST(a_replicas_label_that_lags_makes_no_more_gpus_than_the_count),
        TEST(replicas_that_no_number_of_gpus_explains_name_none),
        TEST(an_annotation_beats_a_replicas_label_that_lags),
        TEST(of_more_gpus_than_the_label_counts_the_rest_is_unknown),
        TEST(whole_gpus_beside_those_that_the_labels_name_are_unknown),
        TEST(annotated_gpus_beyond_the_count_have_what_is_said_of_them),
        TEST(whole_gpus_beside_shared_ones_are_counts),
        TEST(single_with_full_gpus_has_one_layout),
        TEST(single_is_of_the_board_that_has_the_profile),
        TEST(instances_of_thor_are_known_and_their_memory_is_not),
        TEST(single_that_is_not_full_is_counts),
        TEST(single_with_replicas_shares_instances),
        TEST(single_unevenly_partitioned_is_a_problem),
        TEST(single_with_an_unknown_profile_is_schedulable_by_count),
        TEST(mixed_full_gpus_have_one_layout),
        TEST(mixed_profiles_that_fill_each_gpu_alike_have_one_layout),
        TEST(mixed_on_one_gpu_has_one_layout_with_legal_placements),
        TEST(mixed_that_no_gpu_could_hold_is_counts_and_a_problem),
        TEST(mixed_with_several_ways_is_counts),
        TEST(even_a_single_gpu_may_be_one_less_than_there_are),
        TEST(one_profile_under_two_names_is_counts),
        TEST(whole_and_partitioned_gpus_are_too_many_together),
        TEST(twin_is_found_whatever_stands_before_it),
        TEST(gpus_that_are_not_partitioned_stay_whole),
        TEST(whole_gpus_are_known_though_the_partitioned_are_not),
        TEST(instances_without_a_gpu_left_for_them_are_a_problem),
        TEST(replicas_of_instances_are_counted_by_their_labels),
        TEST(unknown_profiles_are_schedulable_by_count),
        TEST(media_profiles_keep_their_names),
        TEST(an_allocatable_that_is_no_count_is_a_problem),
        TEST(a_long_problem_is_cut),
        TEST(a_node_without_a_usable_name_is_an_error),
        TEST(the_most_of_everything_is_kept_and_one_more_is_an_error),
        TEST(marks_are_made_on_a_copy_that_stands_alone),
        TEST(a_node_lives_in_memory_of_its_own_and_counts_references),
        TEST(an_allocatable_beyond_all_counts_is_cut_and_one_below_zero_is_none),
        TEST(layouts_have_names),
        TEST(two_replicas_of_an_instance_are_replicas),
        TEST(as_many_gpus_are_partitioned_as_a_node_may_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
