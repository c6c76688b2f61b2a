/* Nodes that clouds label, without GPU feature discovery and beside it. */
#include "node_rig.h"

#include "core/node/pool.h"

#define GKE "cloud.google.com/gke-"
#define AWS "karpenter.k8s.aws/instance-gpu-"

/* GKE labels T4s, those that are shared, and halved A100s so; all but the last end where the name
 * of a label begins. */
#define T4_OF_GKE GKE "accelerator=nvidia-tesla-t4 " GKE
#define TIMES     T4_OF_GKE "gpu-sharing-strategy=time-sharing " GKE
#define MPS       T4_OF_GKE "gpu-sharing-strategy=mps " GKE
#define HALVES    GKE "accelerator=nvidia-tesla-a100 " GKE "gpu-partition-size=3g.20gb "

static const struct sl_pool *only(struct node_rig *rig, enum sl_kind kind)
{
    assert_int_equal(make(rig)->n_pools, 1);
    assert_int_equal(rig->made->pool[0].kind, kind);
    return &rig->made->pool[0];
}

/* NULL: it has none that can be cut. */
static void check_model(const struct sl_node *node, const char *name)
{
    assert_true((node->model == NULL) == (name == NULL));
    assert_true(name == NULL || strcmp(node->model->name, name) == 0);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, gke_names_boards_whose_memory_is_known)
{
    static const struct {
        const char *name;
        int64_t mib;
        const char *model;
    } rows[] = {
        {"nvidia-tesla-t4", 15360, NULL},
        {"nvidia-l4", 22731, NULL},
        {"nvidia-tesla-v100", 16160, NULL},
        {"nvidia-tesla-p100", 16276, NULL},
        {"nvidia-tesla-a100", 40960, "A100-40GB / A800-40GB"},
        {"nvidia-a100-80gb", 81920, "A100-80GB / A800-80GB"},
        {"nvidia-h100-80gb", 81920, "H100-80GB / H800-80GB"},
        {"nvidia-h100-mega-80gb", 81920, "H100-80GB / H800-80GB"},
        {"nvidia-h200-141gb", 144384, "H200-141GB / H200-NVL"},
        {"nvidia-b200", 184320, "B200-180GB"},
        {"nvidia-rtx-pro-6000", 97250, "RTX-PRO-6000-Blackwell-96GB"},
        {"nvidia-tesla-x9000", 0, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char labels[160];
        (void)snprintf(labels, sizeof(labels), GKE "accelerator=%s " GKE "accelerator-count=2",
                       rows[i].name);
        given(rig, labels, "nvidia.com/gpu=2");
        const struct sl_pool *pool = only(rig, SL_KIND_WHOLE);
        const struct sl_node *node = rig->made;
        assert_int_equal(pool->memory_mib, rows[i].mib);
        assert_int_equal(node->n_devices, 2);
        assert_int_equal(node->device[1].memory_mib, rows[i].mib);
        check_model(node, rows[i].model);
        assert_non_null(node->product);
        assert_null(node->problem);
    }
}

TEST_ON(struct node_rig *rig, gke_shares_by_labels_of_its_own)
{
    static const struct {
        const char *labels;
        const char *allocatable;
        enum sl_kind kind;
        bool one_each;
        bool equal_memory;
        int64_t unit_mib;
    } rows[] = {
        {TIMES "max-shared-clients-per-gpu=3", "nvidia.com/gpu=6", SL_KIND_REPLICA, true, false,
         15360},
        {MPS "max-shared-clients-per-gpu=3 " GKE "accelerator-count=2", "nvidia.com/gpu=6",
         SL_KIND_REPLICA, true, true, 5120},
        /* of its only GPU a container may have several clients' parts */
        {MPS "max-shared-clients-per-gpu=3 " GKE "accelerator-count=1", "nvidia.com/gpu=3",
         SL_KIND_REPLICA, false, true, 5120},
        {T4_OF_GKE "max-shared-clients-per-gpu=1", "nvidia.com/gpu=1", SL_KIND_WHOLE, false, false,
         15360},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given(rig, rows[i].labels, rows[i].allocatable);
        const struct sl_pool *pool = only(rig, rows[i].kind);
        assert_int_equal(pool->one_each, rows[i].one_each);
        assert_int_equal(pool->equal_memory, rows[i].equal_memory);
        assert_int_equal(sl_node_unit_mib(rig->made, 0, 0, -1), rows[i].unit_mib);
    }
}

TEST_ON(struct node_rig *rig, an_instance_that_gke_cuts_has_the_memory_of_its_profile)
{
    given(rig, HALVES GKE "accelerator-count=2", "nvidia.com/gpu=4");
    (void)make(rig);
    assert_int_equal(sl_memory_of_instance(rig->made, 0), 19968);
}

TEST_THAT(a_partition_size_that_is_no_profile_leaves_gpus_whole_and_is_a_problem)
{
    struct node_rig *rig = *state;
    given(rig, GKE "accelerator=nvidia-tesla-a100 " GKE "gpu-partition-size=all",
          "nvidia.com/gpu=1");
    (void)only(rig, SL_KIND_WHOLE);
    assert_non_null(strstr(rig->made->problem, "\"all\" is no MIG profile"));
}

TEST_ON(struct node_rig *rig, feature_discovery_wins_over_the_cloud)
{
    given(rig,
          A30 "nvidia.com/gpu.count=1 " GKE "accelerator=nvidia-tesla-t4 " GKE
              "accelerator-count=8 " AWS "name=t4 " AWS "memory=16384",
          "nvidia.com/gpu=2");
    (void)only(rig, SL_KIND_WHOLE);
    assert_string_equal(rig->made->product, "NVIDIA-A30");
    assert_int_equal(rig->made->device[0].memory_mib, 24576);
    assert_int_equal(rig->made->device[1].memory_mib, 0);
    given(rig,
          T4 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=4 "
             "nvidia.com/gpu.sharing-strategy=time-slicing " GKE "max-shared-clients-per-gpu=2 " GKE
             "gpu-sharing-strategy=mps",
          "nvidia.com/gpu=4");
    assert_int_equal(only(rig, SL_KIND_REPLICA)->replicas, 4);
    assert_false(rig->made->pool[0].equal_memory);
    /* it knows nothing of what GKE shares and cuts */
    given(rig,
          A100 "nvidia.com/gpu.count=1 nvidia.com/gpu.replicas=1 " GKE "gpu-partition-size=1g.5gb",
          "nvidia.com/gpu=7");
    assert_int_equal(only(rig, SL_KIND_MIG)->memory_mib, 4864);
    assert_int_equal(rig->made->n_devices, 1);
}

TEST_ON(struct node_rig *rig, aws_and_azure_name_gpus_too)
{
    static const struct {
        const char *labels;
        const char *allocatable;
        int64_t mib;
        const char *model;
    } rows[] = {
        {AWS "name=a100 " AWS "manufacturer=nvidia " AWS "count=8 " AWS "memory=81920",
         "nvidia.com/gpu=8", 81920, "A100-80GB / A800-80GB"},
        {AWS "name=t4 " AWS "manufacturer=nvidia " AWS "count=1 " AWS "memory=16384",
         "nvidia.com/gpu=1", 15360, NULL},
        {"eks.amazonaws.com/instance-gpu-name=l40s eks.amazonaws.com/instance-gpu-memory=45776 "
         "eks.amazonaws.com/instance-gpu-manufacturer=nvidia",
         "nvidia.com/gpu=1", 45776, NULL},
        {"k8s.amazonaws.com/accelerator=nvidia-tesla-t4", "nvidia.com/gpu=1", 15360, NULL},
        {"karpenter.azure.com/sku-gpu-name=T4 karpenter.azure.com/sku-gpu-count=4 "
         "karpenter.azure.com/sku-gpu-manufacturer=nvidia",
         "nvidia.com/gpu=4", 15360, NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given(rig, rows[i].labels, rows[i].allocatable);
        assert_int_equal(only(rig, SL_KIND_WHOLE)->memory_mib, rows[i].mib);
        check_model(rig->made, rows[i].model);
    }
}

TEST_ON(struct node_rig *rig, names_that_tell_no_board_tell_no_memory)
{
    const char *labels[] = {
        "k8s.amazonaws.com/accelerator=nvidia-tesla-v100", /* of 16 or 32 GB */
        "k8s.amazonaws.com/accelerator=nvidia-tesla-a100",
        "k8s.amazonaws.com/accelerator=true",
        "karpenter.azure.com/sku-gpu-name=A100 karpenter.azure.com/sku-gpu-manufacturer=nvidia",
        "kubernetes.azure.com/accelerator=nvidia",
        AWS "name=t4 " AWS "memory=16384", /* who made it is not said */
        AWS "name=t4 " AWS "manufacturer=amd",
        GKE "accelerator=",
        GKE "accelerator=nvidia-",
    };
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        given(rig, labels[i], "nvidia.com/gpu=1");
        assert_int_equal(only(rig, SL_KIND_WHOLE)->memory_mib, 0);
        assert_int_equal(rig->made->device[0].memory_mib, 0);
    }
}

/* A machine has as many GPUs as its maker built in: the rest are parts of them. */
TEST_ON(struct node_rig *rig, more_units_than_the_machine_has_gpus_are_parts_of_unknown_memory)
{
    given(rig, AWS "name=a10g " AWS "manufacturer=nvidia " AWS "count=1 " AWS "memory=22888",
          "nvidia.com/gpu=4");
    const struct sl_pool *pool = only(rig, SL_KIND_REPLICA);
    assert_int_equal(rig->made->n_devices, 0);
    assert_int_equal(pool->memory_mib, 0);
    assert_int_equal(pool->total_mib, 22888);
    assert_non_null(strstr(rig->made->problem, "nothing tells how"));
    given(rig, AWS "name=a10g " AWS "manufacturer=nvidia " AWS "count=0 " AWS "memory=22888",
          "nvidia.com/gpu=4");
    (void)only(rig, SL_KIND_WHOLE);
}

TEST_ON(struct node_rig *rig, a_fresh_node_of_a_cloud_will_have_gpus)
{
    const char *labels[] = {GKE "accelerator=nvidia-l4 " GKE "accelerator-count=2",
                            AWS "name=l4 " AWS "manufacturer=nvidia " AWS "count=2",
                            "kubernetes.azure.com/accelerator=nvidia"};
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        given(rig, labels[i], "cpu=8");
        assert_in_range(sl_node_absent(make(rig), sl_hash("nvidia.com/gpu", 14)), 2, 16);
    }
}

TEST_ON(struct node_rig *rig, absurd_texts_are_bounded)
{
    given(rig,
          GKE "accelerator=nvidia-l4 " GKE "accelerator-count=99999999999999999999 " GKE
              "max-shared-clients-per-gpu=2147483647 " GKE "gpu-sharing-strategy=x " GKE
              "gpu-partition-size=99999g.1gb",
          "nvidia.com/gpu=8");
    (void)only(rig, SL_KIND_REPLICA);
    assert_int_equal(rig->made->n_devices, 0);
    assert_non_null(rig->made->problem);
}

static const struct node_row rows[] = {
    MADE(gke_tells_how_many_share_a_gpu, TIMES "max-shared-clients-per-gpu=3", "nvidia.com/gpu=6",
         "inferred\nnvidia.com/gpu replica 6x3 on\n0 whole\n1 whole\n"),
    MADE(gke_cuts_instances_under_the_name_of_gpus, HALVES GKE "accelerator-count=2",
         "nvidia.com/gpu=4",
         "inferred\nnvidia.com/gpu mig 3g.20gb 4 on\n0 mig 3g.20gb@0 3g.20gb@4\n"
         "1 mig 3g.20gb@0 3g.20gb@4\n"),
    MADE(gke_shares_instances_under_the_name_of_gpus,
         HALVES GKE "gpu-sharing-strategy=time-sharing " GKE "max-shared-clients-per-gpu=5",
         "nvidia.com/gpu=10",
         "inferred\nnvidia.com/gpu replica 3g.20gb 10x5 on\n0 mig 3g.20gb@0 3g.20gb@4\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
