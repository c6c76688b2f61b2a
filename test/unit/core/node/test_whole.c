/* Whole GPUs: how many there are, and of which the labels tell what they are. */
#include "node_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, whole_gpus_are_devices)
{
    given(rig, T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=1", "nvidia.com/gpu=2 cpu=8");
    check(rig, "inferred\nnvidia.com/gpu whole 2 on\n0 whole\n1 whole\n");
    assert_true(sl_node_has_gpus(rig->made));
    assert_string_equal(rig->made->product, "Tesla-T4");
    assert_string_equal(rig->made->device[1].product, "Tesla-T4");
    assert_int_equal(rig->made->device[1].memory_mib, 15360);
    assert_null(rig->made->device[1].uuid);
    assert_null(rig->made->model);
}

TEST_ON(struct node_rig *rig, a_model_is_found_by_its_product)
{
    given(rig, "nvidia.com/gpu.product=NVIDIA-A30", "nvidia.com/gpu=1");
    const struct sl_node *node = make(rig);
    assert_non_null(node->model);
    assert_string_equal(node->model->name, "A30-24GB");
    assert_ptr_equal(node->device[0].model, node->model);
    assert_int_equal(node->device[0].memory_mib, 24576);
}

TEST_ON(struct node_rig *rig, of_more_gpus_than_the_label_counts_the_rest_is_unknown)
{
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
TEST_ON(struct node_rig *rig, whole_gpus_beside_those_that_the_labels_name_are_unknown)
{
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

TEST_ON(struct node_rig *rig, annotated_gpus_beyond_the_count_have_what_is_said_of_them)
{
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

static const struct node_row rows[] = {
    MADE(whole_gpus_need_no_labels, "", "nvidia.com/gpu=3",
         "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n"),
    MADE(allocatable_is_believed_over_the_count_label, T4 "nvidia.com/gpu.count=4",
         "nvidia.com/gpu=3",
         "inferred\nnvidia.com/gpu whole 3 on\n0 whole\n1 whole\n2 whole\n"
         "! nvidia.com/gpu.count: 4, but allocatable makes 3\n"),
    MADE(even_a_single_gpu_may_be_one_less_than_there_are, T4 "nvidia.com/gpu.count=1",
         "nvidia.com/gpu=2",
         "inferred\nnvidia.com/gpu whole 2 on\n0 whole\n1 whole\n"
         "! nvidia.com/gpu.count: 1, but allocatable makes 2\n"),
    MADE(more_gpus_than_can_be_told_apart_are_counts, "", "nvidia.com/gpu=65",
         "unknown\nnvidia.com/gpu whole 65 off\n! GPUs: 65 are too many to be told apart\n"),
    MADE(whole_gpus_beside_shared_ones_are_counts,
         T4 "nvidia.com/gpu.count=4 nvidia.com/gpu.replicas=4",
         "nvidia.com/gpu=2 nvidia.com/gpu.shared=8",
         "unknown\nnvidia.com/gpu whole 2 off\nnvidia.com/gpu.shared replica 8 off\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
