/* Replicas of GPUs and of instances: how many there are of each. */
#include "node_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, replicas_that_no_number_of_gpus_explains_name_none)
{
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

TEST_ON(struct node_rig *rig, annotated_replicas_spread_evenly_or_not_at_all)
{
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
    given(rig, "", "nvidia.com/gpu.shared=6");
    check(rig, "annotated\nnvidia.com/gpu.shared replica 6x3 on\n0 whole sick\n1 whole\n");
}

TEST_ON(struct node_rig *rig, replicas_of_healthy_gpus_are_told_when_all_do_not_divide_them)
{
    given(rig, "", "nvidia.com/gpu.shared=4");
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    device(rig, 2, NULL)->unhealthy = true;
    check(rig, "annotated\nnvidia.com/gpu.shared replica 4x2 on\n0 whole\n1 whole\n2 whole sick\n");
}

TEST_ON(struct node_rig *rig, two_replicas_of_an_instance_are_replicas)
{
    given(rig, A30 "nvidia.com/mig-1g.6gb.replicas=2", "nvidia.com/mig-1g.6gb=8");
    assert_int_equal(make(rig)->pool[0].kind, SL_KIND_REPLICA);
    given(rig, A30 "nvidia.com/mig-1g.6gb.replicas=1", "nvidia.com/mig-1g.6gb=8");
    assert_int_equal(make(rig)->pool[0].kind, SL_KIND_MIG);
}

TEST_ON(struct node_rig *rig, twin_is_found_whatever_stands_before_it)
{
    given(rig, T4 "nvidia.com/gpu.replicas=2",
          "aliyun.com/gpu-mem=30 nvidia.com/gpu=1 nvidia.com/gpu.shared=2");
    describe(rig);
    assert_non_null(strstr(rig->text, "nvidia.com/gpu whole 1 off\n"));
    assert_non_null(strstr(rig->text, "nvidia.com/gpu.shared replica 2 off\n"));
}

static const struct node_row rows[] = {
    KNOWN(replicas_multiply_devices, "Tesla-T4", NULL,
          "nvidia.com/gpu.product=Tesla-T4-SHARED nvidia.com/gpu.count=2 "
          "nvidia.com/gpu.replicas=4 nvidia.com/gpu.sharing-strategy=time-slicing",
          "nvidia.com/gpu=8", "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n"),
    MADE(renamed_replicas_are_replicas,
         T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4 "
            "nvidia.com/gpu.sharing-strategy=mps",
         "nvidia.com/gpu=0 nvidia.com/gpu.shared=8",
         "inferred\nnvidia.com/gpu.shared replica 8x4 on\n0 whole\n1 whole\n"),
    MADE(replicas_are_told_from_the_count_when_not_labelled, "nvidia.com/gpu.count=2",
         "nvidia.com/gpu.shared=10",
         "inferred\nnvidia.com/gpu.shared replica 10x5 on\n0 whole\n1 whole\n"),
    MADE(a_failed_gpu_takes_its_replicas_along, "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4",
         "nvidia.com/gpu=8",
         "inferred\nnvidia.com/gpu replica 8x4 on\n0 whole\n1 whole\n"
         "! nvidia.com/gpu.count: 4, but allocatable makes 2\n"),
    MADE(replicas_of_nobody_knows_what_are_counts, "", "nvidia.com/gpu.shared=8",
         "unknown\nnvidia.com/gpu.shared replica 8 off\n"),
    MADE(replicas_of_nobody_knows_what_are_counts,
         "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=5", "nvidia.com/gpu=8",
         "unknown\nnvidia.com/gpu replica 8 off\n"
         "! nvidia.com/gpu: 8 allocatable, not what count and replicas in the labels make\n"),
    MADE(a_replicas_label_that_allocatable_denies_is_not_believed,
         "nvidia.com/gpu.count=3 nvidia.com/gpu.replicas=4", "nvidia.com/gpu=6",
         "inferred\nnvidia.com/gpu replica 6x2 on\n0 whole\n1 whole\n2 whole\n"
         "! nvidia.com/gpu: 6 allocatable, not what the replicas in the labels make\n"),
    /* Feature discovery says replicas=1 until it has read that the plugin shares. */
    MADE(a_replicas_label_that_lags_makes_no_more_gpus_than_the_count,
         T4 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=1", "nvidia.com/gpu.shared=50",
         "inferred\nnvidia.com/gpu.shared replica 50x50 on\n0 whole\n"),
    MADE(a_replicas_label_that_lags_makes_no_more_gpus_than_the_count,
         "nvidia.com/gpu.product=Tesla-T4-SHARED nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4",
         "nvidia.com/gpu=20",
         "inferred\nnvidia.com/gpu replica 20x10 on\n0 whole\n1 whole\n"
         "! nvidia.com/gpu: 20 allocatable, not what the replicas in the labels make\n"),
    MADE(a_replicas_label_that_lags_makes_no_more_gpus_than_the_count,
         A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=2 "
             "nvidia.com/mig-2g.12gb.replicas=1",
         "nvidia.com/mig-2g.12gb.shared=10",
         "inferred\nnvidia.com/mig-2g.12gb.shared replica 2g.12gb 10x5 on\n"
         "0 mig 2g.12gb@0 2g.12gb@2\n"),
    DEVICES(an_annotation_beats_a_replicas_label_that_lags,
            T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=1", "nvidia.com/gpu.shared=20",
            "annotated\nnvidia.com/gpu.shared replica 20x10 on\n0 whole\n1 whole\n", "whole",
            "whole"),
    MADE(single_with_replicas_shares_instances,
         "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb-SHARED nvidia.com/gpu.count=2 "
         "nvidia.com/gpu.replicas=3",
         "nvidia.com/gpu=6",
         "inferred\nnvidia.com/gpu replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n"),
    MADE(single_with_replicas_shares_instances,
         "nvidia.com/gpu.product=NVIDIA-A30-MIG-2g.12gb nvidia.com/gpu.count=2 "
         "nvidia.com/gpu.replicas=3",
         "nvidia.com/gpu.shared=6",
         "inferred\nnvidia.com/gpu.shared replica 2g.12gb 6x3 on\n0 mig 2g.12gb@0 2g.12gb@2\n"),
    MADE(replicas_of_instances_are_counted_by_their_labels,
         A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.replicas=5",
         "nvidia.com/mig-2g.12gb=10",
         "inferred\nnvidia.com/mig-2g.12gb replica 2g.12gb 10x5 on\n"
         "0 mig 2g.12gb@0 2g.12gb@2\n"),
    MADE(replicas_of_instances_are_counted_by_their_labels,
         A30 "nvidia.com/gpu.count=1 nvidia.com/mig-2g.12gb.count=2",
         "nvidia.com/mig-2g.12gb.shared=4",
         "inferred\nnvidia.com/mig-2g.12gb.shared replica 2g.12gb 4x2 on\n"
         "0 mig 2g.12gb@0 2g.12gb@2\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
