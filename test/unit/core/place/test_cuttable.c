/* Fit on nodes whose GPUs may become whole: what they could offer is not now, instead of never. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU "nvidia.com/gpu"

/* Two A30 in MIG mode, each with four slices. */
static struct rig *two_a30(void)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *a30 = rig_model("A30-24GB");
    unsigned pool = rig_pool(rig, "nvidia.com/mig-1g.6gb", SL_KIND_MIG, 8);
    rig->pool[pool].profile = rig_profile(a30, "1g.6gb");
    rig->node.dynamic_mig = true;
    rig->node.model = a30;
    rig->node.partition.actuator = SL_ACTUATOR_MIG_MANAGER;
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        rig->device[d].mig = true;
        rig->device[d].model = a30;
        rig->device[d].memory_mib = 24576;
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, pool);
        }
    }
    return rig;
}

static struct sl_ask gpus(int64_t count, int32_t least_mib)
{
    struct sl_ask ask = rig_ask(GPU, count);
    ask.item[0].least_mib = least_mib;
    return ask;
}

static const char *reason(struct rig *rig, struct sl_ask ask)
{
    return sl_reason_name(rig_verdict(rig, ask).reason);
}

TEST_THAT(a_gpu_in_mig_mode_may_become_whole_where_that_is_allowed)
{
    struct rig *rig = two_a30();
    assert_string_equal(reason(rig, gpus(1, 0)), "NotOffered");
    rig->node.partition.mig_mode = true;
    assert_string_equal(reason(rig, gpus(1, 0)), "NotPartitioned");
    assert_string_equal(reason(rig, gpus(2, 24000)), "NotPartitioned");
    assert_string_equal(reason(rig, gpus(2, 25000)), "NotOffered");
    assert_string_equal(reason(rig, gpus(3, 0)), "ExceedsNode");
    struct sl_ask share = gpus(1, 0);
    share.item[0].memory_mib = 25000;
    assert_string_equal(reason(rig, share), "NotOffered");
}

/* Two A30 under strategy single, each one instance of all slices. */
static struct rig *two_boards(void)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *a30 = rig_model("A30-24GB");
    unsigned pool = rig_pool(rig, GPU, SL_KIND_MIG, 2);
    rig->pool[pool].profile = rig_profile(a30, "4g.24gb");
    rig->node.dynamic_mig = true;
    rig->node.model = a30;
    rig->node.partition.actuator = SL_ACTUATOR_MIG_MANAGER;
    rig->node.partition.single = true;
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        rig->device[d].model = a30;
        rig->device[d].memory_mib = 24576;
        rig_instance(rig, d, 0, pool);
    }
    return rig;
}

TEST_THAT(gpus_that_are_cut_alike_could_be_as_many_as_the_smallest_that_suffices)
{
    static const struct {
        int64_t count;
        int32_t least_mib;
        const char *reason;
        int64_t capacity;
    } rows[] = {
        {2, 0, "Fits", 0},
        {3, 0, "ExceedsNode", 2}, /* who states no memory wants a board */
        {8, 5000, "NotPartitioned", 2},
        {9, 5000, "ExceedsNode", 8},
        {4, 5953, "NotPartitioned", 2}, /* a 1g.6gb has 5952 MiB */
        {5, 5953, "ExceedsNode", 4},
        {2, 24064, "Fits", 0},
        {3, 24064, "ExceedsNode", 2},
    };
    struct rig *rig = two_boards();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_ask ask = gpus(rows[i].count, rows[i].least_mib);
        struct sl_verdict verdict = rig_verdict(rig, ask);
        assert_string_equal(sl_reason_name(verdict.reason), rows[i].reason);
        if (rows[i].capacity > 0) {
            assert_int_equal(verdict.capacity, rows[i].capacity);
        }
    }
}

/* They are cut all at once: one pod keeps all as they are. */
TEST_THAT(gpus_that_are_cut_alike_wait_for_the_last_pod)
{
    struct rig *rig = two_boards();
    struct sl_ask one = gpus(1, 0);
    rig_run(rig, one, GPU "=0/0");
    assert_string_equal(reason(rig, gpus(8, 5000)), "Insufficient");
    assert_string_equal(reason(rig, gpus(9, 5000)), "ExceedsNode");
    assert_string_equal(reason(rig, gpus(1, 5000)), "Fits");
}
