/* nos' slices of a GPU's memory: given on the GPU that has them, several sizes on one GPU, one to a
 * request, and assigned by the GPU and the resource. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define SMALL "nvidia.com/gpu-10gb"
#define LARGE "nvidia.com/gpu-20gb"

static unsigned slices_pool(struct rig *rig, const char *resource, int64_t mib, int64_t n)
{
    unsigned pool = rig_pool(rig, resource, SL_KIND_REPLICA, n);
    rig->pool[pool].slices = true;
    rig->pool[pool].equal_memory = true;
    rig->pool[pool].one_each = true;
    rig->pool[pool].memory_mib = mib;
    return pool;
}

static void slices(struct rig *rig, unsigned device, unsigned pool, uint16_t n)
{
    rig->instance[rig_instance(rig, device, -1, pool)].slices = n;
}

/* GPU 0 with two small and a large one, GPU 1 with four small ones. */
static struct rig *mixed(void)
{
    struct rig *rig = rig_new();
    unsigned small = slices_pool(rig, SMALL, 10240, 6);
    unsigned large = slices_pool(rig, LARGE, 20480, 1);
    rig->device[rig_device(rig, 0)].memory_mib = 40960;
    rig->device[rig_device(rig, 0)].memory_mib = 40960;
    slices(rig, 0, small, 2);
    slices(rig, 0, large, 1);
    slices(rig, 1, small, 4);
    return rig;
}

TEST_THAT(gpu_gives_as_many_slices_of_a_size_as_it_has)
{
    struct rig *rig = mixed();
    struct sl_ask small = rig_ask(SMALL, 1);
    struct sl_ask large = rig_ask(LARGE, 1);
    unsigned on[2] = {0};
    assert_string_equal(rig_choose(rig, large), LARGE "=0");
    (void)rig_run(rig, large, LARGE "=0");
    for (unsigned i = 0; i < 6; i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "%s", rig_choose(rig, small));
        on[strcmp(text, SMALL "=1") == 0]++;
        (void)rig_run(rig, small, text);
    }
    assert_int_equal(on[0], 2);
    assert_int_equal(on[1], 4);
    assert_int_equal(rig_verdict(rig, small).reason, SL_REASON_INSUFFICIENT);
    assert_int_equal(rig_verdict(rig, large).reason, SL_REASON_INSUFFICIENT);
}

static const char *reason(struct rig *rig, const char *resource, int64_t count, int32_t mib)
{
    struct sl_ask ask = rig_ask(resource, count);
    ask.item[0].memory_mib = mib;
    return sl_reason_name(rig_verdict(rig, ask).reason);
}

TEST_THAT(slices_that_sliced_may_have_cut_are_not_out_of_the_question)
{
    struct rig *rig = mixed();
    struct sl_ask small = rig_ask(SMALL, 1);
    assert_string_equal(reason(rig, "nvidia.com/gpu-40gb", 1, 0), "NotOffered");
    rig->node.partition.actuator = SL_ACTUATOR_NOS_MPS;
    assert_string_equal(reason(rig, "nvidia.com/gpu-40gb", 1, 0), "NotPartitioned");
    assert_string_equal(reason(rig, "nvidia.com/gpu-40gb", 1, 40960), "NotPartitioned");
    assert_string_equal(reason(rig, "nvidia.com/gpu-30gb", 1, 40960), "NotOffered");
    assert_string_equal(reason(rig, "nvidia.com/gpu-41gb", 1, 0), "NotPartitioned"); /* 40960 MiB */
    assert_string_equal(reason(rig, "nvidia.com/gpu-42gb", 1, 0), "NotOffered");
    assert_string_equal(reason(rig, "nvidia.com/gpu-30gb", 2, 0), "ExceedsNode");
    struct sl_ask each = rig_ask("nvidia.com/gpu-30gb", 2); /* of two containers */
    each.item[0].each = 1;
    assert_int_equal(rig_verdict(rig, each).reason, SL_REASON_NOT_PARTITIONED);
    each.item[0].count = 3;
    assert_int_equal(rig_verdict(rig, each).reason, SL_REASON_EXCEEDS_NODE);
    assert_string_equal(reason(rig, LARGE, 2, 0), "OneReplicaEach");
    assert_string_equal(reason(rig, "nvidia.com/mig-1g.5gb", 1, 0), "NotOffered");
    (void)rig_run(rig, rig_ask(LARGE, 1), LARGE "=0");
    assert_string_equal(reason(rig, LARGE, 1, 0), "NotPartitioned");
    for (unsigned i = 0; i < 3; i++) {
        (void)rig_run(rig, small, SMALL "=1");
    }
    assert_string_equal(reason(rig, LARGE, 1, 0), "NotPartitioned"); /* on GPU 0 */
    (void)rig_run(rig, small, SMALL "=0");
    assert_string_equal(reason(rig, LARGE, 1, 0), "Insufficient");
}

TEST_THAT(slices_go_one_to_a_container)
{
    struct rig *rig = mixed();
    struct sl_ask ask = rig_ask(SMALL, 2);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_ONE_EACH);
    ask.item[0].each = 1;
    assert_string_equal(rig_choose(rig, ask), SMALL "=0,1");
    ask = rig_ask2(SMALL, 1, LARGE, 1);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
}

TEST_THAT(declared_memory_is_limited_by_the_slice_and_by_no_other)
{
    struct rig *rig = mixed();
    struct sl_ask ask = rig_ask(LARGE, 1);
    rig->instance[1].slices = 2;
    rig->pool[1].capacity = 2;
    ask.item[0].memory_mib = 20480;
    (void)rig_run(rig, ask, LARGE "=0");
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    ask.item[0].memory_mib = 20481;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_LITTLE_MEMORY);
}

TEST_THAT(assignment_that_its_gpu_has_no_slice_for_is_assumed_elsewhere)
{
    struct rig *rig = mixed();
    (void)rig_run(rig, rig_ask(LARGE, 1), LARGE "=1");
    (void)rig_run(rig, rig_ask(SMALL, 1), SMALL "=1/#0");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->resident[0].assumed);
    assert_true(view->resident[1].assumed);
    assert_int_equal(view->instance_used[1], 1);
    assert_int_equal(view->pool_used[0], 1);
}

TEST_THAT(slices_of_a_failed_gpu_are_not_given)
{
    struct rig *rig = mixed();
    rig->device[0].healthy = false;
    assert_int_equal(rig_verdict(rig, rig_ask(LARGE, 1)).reason, SL_REASON_UNHEALTHY);
}

/* GPUs as drivers tell them, and the GB that nos' planner makes of them. */
TEST_THAT(nos_counts_thousands_of_mib_and_rounds_up)
{
    static const struct {
        int64_t mib;
        int64_t gb;
    } rows[] = {{81559, 82}, {40000, 40}, {40001, 41}, {40536, 41}, {15360, 16},
                {2000, 2},   {1, 1},      {0, 0},      {-1, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(sl_slice_room_gb(rows[i].mib), rows[i].gb);
    }
}

TEST_THAT(an_h100_has_room_for_two_slices_of_40_gb)
{
    struct rig *rig = rig_new();
    unsigned pool = slices_pool(rig, "nvidia.com/gpu-40gb", 40960, 1);
    struct sl_ask ask = rig_ask("nvidia.com/gpu-40gb", 1);
    rig->node.partition.actuator = SL_ACTUATOR_NOS_MPS;
    rig->device[rig_device(rig, 0)].memory_mib = 81559;
    slices(rig, 0, pool, 1);
    (void)rig_run(rig, ask, rig_choose(rig, ask));
    assert_string_equal(reason(rig, "nvidia.com/gpu-40gb", 1, 0), "NotPartitioned");
    assert_string_equal(reason(rig, "nvidia.com/gpu-42gb", 1, 0), "NotPartitioned");
    assert_string_equal(reason(rig, "nvidia.com/gpu-83gb", 1, 0), "NotOffered");
}
