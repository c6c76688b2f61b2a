/* What a node has and does not offer now: by its capacity, and by labels where it offers nothing.
 */
#include "node_rig.h"

static void capacity_is(struct node_rig *rig, const char *capacity)
{
    rig->node.capacity = facts_pairs(&rig->facts, capacity);
}

static int64_t absent(struct node_rig *rig, const char *resource)
{
    return sl_node_absent(make(rig), sl_hash(resource, strlen(resource)));
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, units_that_the_plugin_took_back_stay_in_capacity)
{
    given(rig, T4 "nvidia.com/gpu.count=8", "nvidia.com/gpu=0 nvidia.com/mig-1g.5gb=2 cpu=8");
    capacity_is(rig, "nvidia.com/gpu=8 nvidia.com/mig-1g.5gb=2 aliyun.com/gpu-mem=1k cpu=16 "
                     "aliyun.com/gpu-count=4");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 8);
    assert_int_equal(absent(rig, "aliyun.com/gpu-mem"), 1000);
    assert_int_equal(absent(rig, "nvidia.com/mig-1g.5gb"), 0); /* all offered */
    assert_int_equal(rig->made->n_absent, 2);
    assert_non_null(strstr(rig->made->problem, "nvidia.com/gpu: 8 in capacity, allocatable now 0"));
}

TEST_ON(struct node_rig *rig, some_of_the_units_may_be_offered)
{
    given(rig, T4 "nvidia.com/gpu.count=2", "nvidia.com/gpu=2");
    capacity_is(rig, "nvidia.com/gpu=8");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 8);
    capacity_is(rig, "nvidia.com/gpu=2");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 0);
    capacity_is(rig, "nvidia.com/gpu=1"); /* makes no sense: allocatable is believed */
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 0);
}

TEST_ON(struct node_rig *rig, gpu_labels_without_units_tell_what_will_come)
{
    given(rig, T4 "nvidia.com/gpu.count=8", "cpu=8");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 8);
    assert_int_equal(absent(rig, "nvidia.com/gpu.shared"), 0);
    given(rig, "nvidia.com/gpu.present=true", "cpu=8"); /* as many as any machine has */
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 16);
    given(rig, T4 "nvidia.com/gpu.count=2 nvidia.com/gpu.replicas=4", "cpu=8");
    assert_int_equal(absent(rig, "nvidia.com/gpu.shared"), 8);
    given(rig, "nvidia.com/gpu.present=false disk=ssd", "cpu=8");
    assert_int_equal(make(rig)->n_absent, 0);
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 0);
}

TEST_ON(struct node_rig *rig, mig_labels_without_units_tell_the_instances)
{
    given(rig,
          A30 "nvidia.com/gpu.count=2 nvidia.com/mig-1g.6gb.count=8 "
              "nvidia.com/mig-2g.12gb.count=3 nvidia.com/mig-2g.12gb.replicas=2 "
              "nvidia.com/mig-x.count=-1 nvidia.com/mig-.count=1 nvidia.com/mig-count=1",
          "");
    assert_int_equal(absent(rig, "nvidia.com/mig-1g.6gb"), 8);
    assert_int_equal(absent(rig, "nvidia.com/mig-2g.12gb.shared"), 6);
    assert_int_equal(absent(rig, "nvidia.com/mig-4g.24gb"), 0);
    /* what mig-manager was told to make may be any profile: nobody knows its configurations */
    given(rig, A30 "nvidia.com/gpu.count=2 nvidia.com/mig.config=ours", "");
    assert_int_equal(absent(rig, "nvidia.com/mig-4g.24gb"), 2);
    assert_int_equal(absent(rig, "nvidia.com/mig-1g.5gb"), 0);
    given(rig, A30 "nvidia.com/gpu.count=2 nvidia.com/mig.config=all-disabled", "");
    assert_int_equal(absent(rig, "nvidia.com/mig-4g.24gb"), 0);
}

/* A plugin that starts beside a failed GPU does not tell it in capacity. */
TEST_ON(struct node_rig *rig, whole_gpus_that_the_label_counts_beyond_those_offered_are_absent)
{
    const char *const explained[][2] = {
        {T4 "nvidia.com/gpu.count=4", "nvidia.com/gpu=4"},
        {T4 "nvidia.com/gpu.count=2", "nvidia.com/gpu=4"},
        {T4 "nvidia.com/gpu.count=8 nvidia.com/gpu.replicas=2", "nvidia.com/gpu=4"},
        {T4 "nvidia.com/gpu.count=8 nvidia.com/gpu.sharing-strategy=mps", "nvidia.com/gpu=4"},
        {T4 "nvidia.com/gpu.count=8", "nvidia.com/gpu=4 nvidia.com/gpu.shared=16"},
        {T4 "nvidia.com/gpu.count=8", "nvidia.com/gpu.shared=4"},
        {A30 "nvidia.com/gpu.count=8", "nvidia.com/gpu=4 nvidia.com/mig-1g.6gb=16"},
        {A30 "nvidia.com/gpu.count=8 nos.nebuly.com/gpu-partitioning=mig", "nvidia.com/gpu=4"},
        {"nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/gpu.count=8", "nvidia.com/gpu=4"},
        {T4 "nvidia.com/gpu.count=8", "aliyun.com/gpu-mem=4"},
    };
    given(rig, T4 "nvidia.com/gpu.count=8", "nvidia.com/gpu=4");
    capacity_is(rig, "nvidia.com/gpu=4");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 8);
    assert_int_equal(rig->made->n_devices, 4);
    rig->node.capacity = NULL;
    for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++) {
        given(rig, explained[i][0], explained[i][1]);
        assert_int_equal(absent(rig, "nvidia.com/gpu"), 0);
    }
}

TEST_ON(struct node_rig *rig, gpus_of_virtual_machines_do_not_come_back)
{
    const char *const labels = T4 "nvidia.com/gpu.present=true nvidia.com/gpu.count=8 ";
    const char *const machines[] = {"nvidia.com/GH100_H100_SXM5_80GB=8", "nvidia.com/GRID_T4-1Q=16",
                                    "nvidia.com/pgpu=8"};
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        given(rig, labels, machines[i]);
        assert_int_equal(make(rig)->n_absent, 0);
    }
    given(rig, T4 "nvidia.com/gpu.workload.config=vm-passthrough", "cpu=8");
    assert_int_equal(make(rig)->n_absent, 0);
    given(rig, T4 "nvidia.com/gpu.workload.config=vm-vgpu", "cpu=8");
    assert_int_equal(make(rig)->n_absent, 0);
    given(rig, T4 "nvidia.com/gpu.count=8 nvidia.com/gpu.workload.config=container",
          "nvidia.com/hostdev=8 nvidia.com/=1 example.com/GPU=1"); /* network cards, and none */
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 8);
}

TEST_ON(struct node_rig *rig, labels_say_nothing_beside_units)
{
    given(rig, A30 "nvidia.com/gpu.count=2 nvidia.com/mig-1g.6gb.count=8",
          "nvidia.com/mig-2g.12gb=4");
    assert_int_equal(make(rig)->n_absent, 0); /* they lag behind a cut */
    given(rig, A30 "nvidia.com/gpu.count=2", "aliyun.com/gpu-mem=48");
    assert_int_equal(make(rig)->n_absent, 0);
}

TEST_ON(struct node_rig *rig, absurd_numbers_are_bounded)
{
    struct sl_pair *many = NULL;
    given(rig, "nvidia.com/gpu.count=2147483647 nvidia.com/gpu.replicas=2147483647", "");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), SL_UNITS_MAX);
    given(rig, "nvidia.com/gpu.present=true nvidia.com/gpu.count=99999999999", ""); /* no count */
    assert_int_equal(absent(rig, "nvidia.com/gpu"), 16);
    given(rig,
          "nvidia.com/gpu.present=true nvidia.com/mig-1g.6gb.count=9223372036854775807 "
          "nvidia.com/mig-1g.6gb.replicas=3",
          "");
    assert_int_equal(absent(rig, "nvidia.com/mig-1g.6gb"), SL_UNITS_MAX);
    given(rig, "", "");
    capacity_is(rig, "nvidia.com/gpu=99999999999999999999 nvidia.com/gpu.shared=-1 "
                     "nvidia.com/mig-1g.6gb=x");
    assert_int_equal(absent(rig, "nvidia.com/gpu"), SL_UNITS_MAX);
    assert_int_equal(rig->made->n_absent, 1);
    for (unsigned i = 0; i < 2 * SL_NODE_POOLS_MAX; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "nvidia.com/mig-%ug.6gb", i + 1);
        facts_pair(&rig->facts, &many, name, "1");
    }
    rig->node.capacity = many;
    assert_int_equal(make(rig)->n_absent, SL_NODE_POOLS_MAX);
    for (struct sl_pair *pair = many; pair != NULL; pair = pair->next) {
        char label[64];
        (void)snprintf(label, sizeof(label), "%s.count", pair->key.s);
        facts_pair(&rig->facts, &rig->node.labels, label, "1");
    }
    facts_pair(&rig->facts, &rig->node.labels, "nvidia.com/gpu.present", "true");
    rig->node.capacity = NULL;
    assert_int_equal(make(rig)->n_absent, SL_NODE_POOLS_MAX);
}
