/* Fit on nodes whose GPUs may become whole: what they could offer is not now, instead of never. */
#include "unit/core/rig.h"

#include "core/place/choose.h"

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
    return sl_reason_name(rig_verdict(rig, &ask).reason);
}

static void a_gpu_in_mig_mode_may_become_whole_where_that_is_allowed(void **state)
{
    (void)state;
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
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_in_mig_mode_may_become_whole_where_that_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
