/* How many GPUs a cloud's labels count, and what of them wins. */
#include "node_rig.h"

#include "core/node/pool.h"

#define GKE "cloud.google.com/gke-"
#define AWS "karpenter.k8s.aws/instance-gpu-"

TEST_FIXTURE(set_up, tear_down)

/* The maker's count does not lag: two units more are parts already. */
TEST_ON(struct node_rig *rig, a_cloud_counts_all_gpus_of_the_machine)
{
    static const struct {
        const char *labels, *units;
        enum sl_kind kind;
    } rows[] = {
        {GKE "accelerator=nvidia-l4 " GKE "accelerator-count=4", "nvidia.com/gpu=6",
         SL_KIND_REPLICA},
        {GKE "accelerator=nvidia-l4 " GKE "accelerator-count=1", "nvidia.com/gpu=2",
         SL_KIND_REPLICA},
        {GKE "accelerator=nvidia-l4 " GKE "accelerator-count=4", "nvidia.com/gpu=4", SL_KIND_WHOLE},
        {T4 "nvidia.com/gpu.count=4", "nvidia.com/gpu=6", SL_KIND_WHOLE}, /* it may lag */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given(rig, rows[i].labels, rows[i].units);
        assert_int_equal(make(rig)->pool[0].kind, rows[i].kind);
        const char *problem = rig->made->problem == NULL ? "" : rig->made->problem;
        assert_int_equal(strstr(problem, "nothing tells how") != NULL,
                         rows[i].kind == SL_KIND_REPLICA);
    }
}

TEST_ON(struct node_rig *rig, either_of_gkes_labels_tells_that_gpus_are_shared)
{
    const char *const labels[] = {
        GKE "accelerator=nvidia-l4 " GKE "max-shared-clients-per-gpu=3",
        GKE "accelerator=nvidia-l4 " GKE "gpu-sharing-strategy=time-sharing",
    };
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        given(rig, labels[i], "nvidia.com/gpu=6");
        assert_int_equal(make(rig)->pool[0].kind, SL_KIND_REPLICA);
        assert_true(rig->made->pool[0].one_each);
    }
}

TEST_ON(struct node_rig *rig, gke_counts_gpus_where_units_are_shares_of_instances)
{
    given(rig,
          GKE "accelerator=nvidia-tesla-a100 " GKE "gpu-partition-size=3g.20gb " GKE
              "accelerator-count=1 " GKE "gpu-sharing-strategy=time-sharing " GKE
              "max-shared-clients-per-gpu=5",
          "nvidia.com/gpu=10");
    check(rig, "inferred\nnvidia.com/gpu replica 3g.20gb 10x5 on\n0 mig 3g.20gb@0 3g.20gb@4\n");
    given(rig, GKE "accelerator=nvidia-tesla-a100 " GKE "gpu-partition-size=all",
          "nvidia.com/gpu=1");
    assert_string_equal(make(rig)->problem, "cloud.google.com/gke-gpu-partition-size: \"all\" is "
                                            "no MIG profile, ignored");
}

TEST_ON(struct node_rig *rig, memory_that_feature_discovery_tells_wins_over_the_clouds)
{
    given(rig,
          "nvidia.com/gpu.memory=20000 " AWS "name=a10g " AWS "manufacturer=nvidia " AWS
          "count=1 " AWS "memory=22888",
          "nvidia.com/gpu=1");
    assert_int_equal(make(rig)->device[0].memory_mib, 20000);
}
