/* Reports of nos about the GPUs that it cuts, its slices of memory, and the nodes that are cut. */
#include "node_rig.h"

#define MPS A100 "nos.nebuly.com/gpu-partitioning=mps "

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, what_nos_reports_is_free_and_used_together)
{
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

TEST_ON(struct node_rig *rig, nos_reports_that_allocatable_denies_are_counts)
{
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-1g.6gb=3");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=4");
    check(rig, "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 3 off\n0 mig\n"
               "! nvidia.com/mig-1g.6gb: 3 allocatable, instances known for it: 4\n");
    rig->node.annotations = facts_pairs(&rig->facts, "nos.nebuly.com/status-gpu-0-1g.6gb-free=99");
    describe(rig);
    assert_string_equal(rig->made->problem, "nos reports too many instances on one GPU");
}

TEST_ON(struct node_rig *rig, slices_reported_free_or_used_are_those_of_their_gpu)
{
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

TEST_ON(struct node_rig *rig, slice_has_the_memory_of_its_name_and_goes_one_to_a_request)
{
    given(rig, "", "nvidia.com/gpu-10gb=6");
    check(rig, "unknown\nnvidia.com/gpu-10gb replica 6 off\n");
    const struct sl_pool *pool = &rig->made->pool[0];
    assert_int_equal(pool->memory_mib, 10240);
    assert_true(pool->slices && pool->equal_memory && pool->one_each);
}

TEST_ON(struct node_rig *rig, slices_are_counted_where_nobody_says_which_gpu_has_them)
{
    given(rig, A100 "nvidia.com/gpu.count=1", "nvidia.com/gpu-10gb=4 nvidia.com/gpu=1");
    check(rig, "unknown\nnvidia.com/gpu whole 1 off\nnvidia.com/gpu-10gb replica 4 off\n");
    assert_int_equal(rig->made->pool[1].total_mib, 0); /* each has its own, so no sum binds them */
}

TEST_ON(struct node_rig *rig, dynamic_partitioning_is_said_by_labels_or_an_annotation)
{
    given(rig, "sliced.dev/partitioning=dynamic", "");
    assert_true(make(rig)->dynamic_mig);
    given(rig, "sliced.dev/partitioning=static nos.nebuly.com/gpu-partitioning=mps", "");
    assert_false(make(rig)->dynamic_mig);
    rig->node.annotations = facts_pairs(&rig->facts, "sliced.dev/partitioning=dynamic");
    assert_true(make(rig)->dynamic_mig);
}

TEST_ON(struct node_rig *rig, a_dynamic_node_shows_the_gpus_that_wait_to_be_cut)
{
    given(rig, A30 "nvidia.com/gpu.count=2 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/gpu=0");
    check(rig, "inferred\n0 mig\n1 mig\n");
    assert_non_null(rig->made->model);
    given(rig, A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0");
    check(rig, "unknown\n");
}

static const struct node_row rows[] = {
    REPORTED(gpus_that_nos_has_not_cut_yet_are_not_whole_when_none_is_allocatable,
             A30 "nvidia.com/gpu.count=2", "nvidia.com/gpu=0 nvidia.com/mig-1g.6gb=1",
             "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
             "nos.nebuly.com/status-gpu-0-2g.12gb-free=0",
             "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n0 mig 1g.6gb@0\n1 mig\n"),
    /* In the second case GPU 0 is not cut yet. */
    REPORTED(nos_reports_in_any_order_and_of_gpus_without_instances, A30, "nvidia.com/mig-1g.6gb=2",
             "nos.nebuly.com/status-gpu-1-1g.6gb-free=2 "
             "nos.nebuly.com/status-gpu-0-1g.6gb-free=0",
             "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig\n"
             "1 mig 1g.6gb@0 1g.6gb@1\n"),
    REPORTED(nos_reports_in_any_order_and_of_gpus_without_instances, A30, "nvidia.com/mig-1g.6gb=2",
             "nos.nebuly.com/status-gpu-1-1g.6gb-free=2",
             "annotated\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n0 mig\n"
             "1 mig 1g.6gb@0 1g.6gb@1\n"),
    REPORTED(nos_reports_in_any_order_and_of_gpus_without_instances, A30 "nvidia.com/gpu.count=3",
             "nvidia.com/gpu=1 nvidia.com/mig-1g.6gb=2",
             "nos.nebuly.com/status-gpu-1-1g.6gb-free=2 "
             "nos.nebuly.com/status-gpu-0-1g.6gb-free=0",
             "annotated\nnvidia.com/gpu whole 1 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 2 on\n"
             "0 mig\n1 mig 1g.6gb@0 1g.6gb@1\n2 whole\n"),
    REPORTED(slices_that_allocatable_denies_are_counts, MPS,
             "nvidia.com/gpu-10gb=3 nvidia.com/gpu-5gb=1",
             "nos.nebuly.com/status-gpu-0-10gb-free=4 "
             "nos.nebuly.com/status-gpu-0-5gb-free=1 "
             "nos.nebuly.com/status-gpu-0-2gb-free=1 "
             "nos.nebuly.com/status-gpu-0-1g.5gb-free=1 "
             "nos.nebuly.com/status-gpu-0-010gb-free=7",
             "annotated\nnvidia.com/gpu-10gb replica 3 off\nnvidia.com/gpu-5gb replica 1 on\n"
             "0 mig 1x5gb\n"
             "! nvidia.com/gpu-10gb: 3 allocatable, instances known for it: 4; "
             "instances: 1 described that are not allocatable\n"),
    REPORTED(absurd_numbers_of_slices_are_not_believed, MPS, "nvidia.com/gpu-1gb=4",
             "nos.nebuly.com/status-gpu-0-1gb-free=9223372036854775807",
             "unknown\nnvidia.com/gpu-1gb replica 4 off\n"
             "! nos reports too many instances on one GPU\n"),
    REPORTED(absurd_numbers_of_slices_are_not_believed, MPS, "nvidia.com/gpu-1gb=4",
             "nos.nebuly.com/status-gpu-0-1gb-free=1 nos.nebuly.com/status-gpu-0-2gb-free=1 "
             "nos.nebuly.com/status-gpu-0-3gb-free=1 nos.nebuly.com/status-gpu-0-4gb-free=1 "
             "nos.nebuly.com/status-gpu-0-5gb-free=1 nos.nebuly.com/status-gpu-0-6gb-free=1 "
             "nos.nebuly.com/status-gpu-0-7gb-free=1 nos.nebuly.com/status-gpu-0-8gb-free=1 "
             "nos.nebuly.com/status-gpu-0-9gb-free=1",
             "unknown\nnvidia.com/gpu-1gb replica 4 off\n"
             "! nos reports too many instances on one GPU\n"),
    DEVICES(an_annotation_may_list_slices_one_by_one, "", "nvidia.com/gpu-10gb=2",
            "annotated\nnvidia.com/gpu-10gb replica 2 on\n0 mig 2x10gb\n", "10gb@0 10gb@1"),
    DEVICES(slices_are_no_instances_of_strategy_single, "nvidia.com/mig.strategy=single",
            "nvidia.com/gpu=2",
            "annotated\nnvidia.com/gpu mig 2 off\n0 mig\n"
            "! nvidia.com/gpu: 2 allocatable, instances known for it: 0; "
            "instances: 1 described that are not allocatable\n",
            "5gb 5gb"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
