/* What a view says of its idle GPUs. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-1g.6gb"

TEST_THAT(gap_is_what_of_a_gpu_is_idle)
{
    struct rig *rig = rig_of_gpus(4, 16);
    rig->device[3].healthy = false;
    rig_run(rig, rig_ask(MEM, 6), MEM "=1*6");
    rig_run(rig, rig_ask(GPU, 1), GPU "=2");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->idle.whole, 1);
    assert_int_equal(view->idle.pools, 3);
    assert_int_equal(view->idle.units, 16);
    assert_int_equal(view->idle.steps, 16);
    assert_int_equal(view->idle.replicas, 0);
    assert_int_equal(view->idle.n_devices, 4);
    const uint8_t gaps[] = {16, 10, 0, 0};
    assert_memory_equal(view->gap, gaps, 4);
}

/* A GPU with shares and replicas has the smaller rest of both. */
TEST_THAT(gap_of_replicas_is_in_steps_of_the_memory)
{
    struct rig *rig = rig_of_gpus(1, 24);
    struct sl_ask share = rig_ask(SHARED, 1);
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 4)].replicas = 4;
    assert_int_equal(rig_view(rig)->gap[0], 24);
    rig_run(rig, rig_ask(MEM, 6), MEM "=0*6");
    assert_int_equal(rig_view(rig)->gap[0], 18);
    rig_run(rig, share, SHARED "=0*1");
    assert_int_equal(rig_view(rig)->gap[0], 18);
    rig_run(rig, share, SHARED "=0*1");
    assert_int_equal(rig_view(rig)->gap[0], 12);
    assert_int_equal(rig->view->idle.replicas, 4);
}

TEST_THAT(replicas_alone_are_steps)
{
    struct rig *rig = rig_new();
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 10)].replicas = 5;
    rig_device(rig, 0);
    rig_device(rig, 0);
    rig_run(rig, rig_ask(SHARED, 1), SHARED "=1*1");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->idle.steps, 5);
    assert_int_equal(view->idle.whole, -1);
    assert_int_equal(view->gap[0], 5);
    assert_int_equal(view->gap[1], 4);
}

TEST_THAT(many_units_are_counted_in_hundredths_rounded_down)
{
    static const struct {
        int64_t units;
        int64_t used;
        int steps;
        int gap;
    } rows[] = {
        {128, 1, 128, 127},   {129, 1, 100, 99}, {1000, 504, 100, 49},
        {1000, 500, 100, 50}, {2, 1, 2, 1},      {1, 0, 100, 100},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig *rig = rig_of_gpus(1, rows[i].units);
        struct sl_ask share = rig_ask(MEM, rows[i].used);
        if (rows[i].used > 0) {
            rig_run(rig, share, NULL);
        }
        assert_int_equal(rig_view(rig)->idle.steps, rows[i].steps);
        assert_int_equal(rig->view->gap[0], rows[i].gap);
        rig_free(rig);
    }
}

TEST_THAT(devices_that_differ_or_are_not_known_have_no_steps)
{
    struct rig *rig = rig_of_gpus(3, 16);
    rig->device[1].memory_units = 8;
    assert_int_equal(rig_view(rig)->idle.steps, 0);
    rig->device[1].memory_units = 16;
    rig->pool[1].on_devices = false;
    assert_int_equal(rig_view(rig)->idle.steps, 0);
    rig->pool[1].on_devices = true;
    assert_int_equal(rig_view(rig)->idle.steps, 16);
    rig->node.n_pools = 0;
    rig_pool(rig, GPU, SL_KIND_WHOLE, 3); /* of which memory nobody takes a share */
    rig->device[1].memory_units = 8;
    assert_int_equal(rig_view(rig)->idle.steps, 100);
    assert_int_equal(rig->view->idle.units, 0);
}

TEST_THAT(instances_are_not_idle_gpus)
{
    struct rig *rig = rig_of_gpus(1, 16);
    unsigned pool = rig_pool(rig, MIG, SL_KIND_MIG, 1);
    rig->pool[pool].on_devices = false;
    rig->device[0].mig = true;
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->idle.pools, 3); /* without its bit */
    assert_int_equal(view->idle.steps, 16);
    assert_int_equal(view->gap[0], 0);
}

TEST_THAT(cpu_is_the_nodes_when_it_is_stated)
{
    struct rig *rig = rig_of_gpus(1, 16);
    rig->node.host.cpu_milli = 1;
    assert_int_equal(rig_view(rig)->idle.cpu_milli, 1);
    rig->node.host.cpu_milli = 0;
    assert_int_equal(rig_view(rig)->idle.cpu_milli, -1);
    rig->node.host.cpu_milli = -1;
    assert_int_equal(rig_view(rig)->idle.cpu_milli, -1);
}
