/* Shares of memory in equal parts on several GPUs, where the node's plugin gives that, against a
 * plain count of the GPUs that have a part's room. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define MEM "aliyun.com/gpu-mem"

static struct rig *gpus(const int64_t *units, unsigned n, bool spans)
{
    int64_t sum = 0;
    struct rig *rig = rig_new();
    for (unsigned i = 0; i < n; i++) {
        rig_device(rig, units[i]);
        sum += units[i];
    }
    rig->pool[rig_pool(rig, MEM, SL_KIND_MEMORY, sum)].spans = spans;
    return rig;
}

static struct sl_ask ask_of(int64_t count, uint8_t parts)
{
    struct sl_ask ask = rig_ask(MEM, count);
    ask.item[0].gpus = parts;
    return ask;
}

TEST_THAT(equal_parts_go_to_the_gpus_with_the_least_room)
{
    static const int64_t units[] = {8, 4, 16, 5};
    struct rig *rig = gpus(units, 4, true);
    struct sl_ask ask = ask_of(8, 2);
    assert_string_equal(rig_choose(rig, ask), "aliyun.com/gpu-mem=1*4,3*4");
    ask = ask_of(30, 2);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_EXCEEDS_DEVICE);
    assert_int_equal(rig_verdict(rig, ask).largest, 16);
    ask = ask_of(16, 2);
    assert_string_equal(rig_choose(rig, ask), "aliyun.com/gpu-mem=0*8,2*8");
}

TEST_THAT(where_the_plugin_gives_one_gpu_the_number_says_nothing)
{
    static const int64_t units[] = {8, 8};
    struct rig *rig = gpus(units, 2, false);
    struct sl_ask ask = ask_of(8, 2);
    assert_string_equal(rig_choose(rig, ask), "aliyun.com/gpu-mem=0*8");
    ask = ask_of(10, 2);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_EXCEEDS_DEVICE);
}

TEST_THAT(a_share_of_one_gpu_never_spans)
{
    static const int64_t units[] = {8, 8};
    struct rig *rig = gpus(units, 2, true);
    struct sl_ask ask = ask_of(10, 1);
    struct sl_verdict v;
    v = rig_verdict(rig, ask);
    assert_int_equal(v.reason, SL_REASON_EXCEEDS_DEVICE);
    assert_int_equal(v.largest, 8);
    ask = ask_of(5, 1);
    rig_run(rig, ask, "aliyun.com/gpu-mem=0*5");
    rig_run(rig, ask, "aliyun.com/gpu-mem=1*5");
    v = rig_verdict(rig, ask);
    assert_int_equal(v.reason, SL_REASON_FRAGMENTED);
    assert_int_equal(v.largest, 3);
}

TEST_THAT(an_assignment_to_several_gpus_is_read_back)
{
    static const int64_t units[] = {8, 8, 8};
    struct rig *rig = gpus(units, 3, true);
    struct sl_ask ask = ask_of(12, 2);
    struct sl_assignment assignment;
    rig_run(rig, ask, "aliyun.com/gpu-mem=0*6,2*6");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_int_equal(view->device[0].memory_units, 6);
    assert_int_equal(view->device[1].memory_units, 0);
    assert_int_equal(view->device[2].memory_units, 6);
    assert_false(sl_assignment_parse(&rig->node, &ask, SL_STR(MEM "=0*6,0*6"), &assignment));
    ask.item[0].gpus = 1;
    assert_false(sl_assignment_parse(&rig->node, &ask, SL_STR(MEM "=0*6,2*6"), &assignment));
}

TEST_THAT(an_assignment_to_more_gpus_than_asked_or_in_other_parts_is_not_believed)
{
    static const int64_t units[] = {8, 8, 8, 8, 8, 8, 8, 8};
    static const char *const texts[] = {
        MEM "=0,1,2,3,4,5,6,7", MEM "=0*1,1*7", MEM "=0*4,1*3,2*1", MEM "=0*4",
        MEM "=0*4,1*4,2*4",     MEM "=0*0,1*8", MEM "=0*4,0*4",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct rig *rig = gpus(units, 8, true);
        struct sl_ask ask = ask_of(8, 2);
        rig_run(rig, ask, texts[i]);
        const struct sl_view *view = rig_view(rig);
        assert_true(view->resident[0].assumed);
        assert_int_equal(view->resident[0].n_parts, 2);
        assert_true(view->n_parts <= view->parts_cap);
        assert_int_equal(view->pool_used[0], 8);
        rig_free(rig);
    }
}

TEST_THAT(a_share_that_spans_may_stand_on_one_gpu)
{
    static const int64_t units[] = {8, 8, 8};
    struct rig *rig = gpus(units, 3, true);
    struct sl_ask ask = ask_of(8, 2);
    rig_run(rig, ask, MEM "=1*8"); /* as where the node's plugin gave one GPU */
    assert_false(rig_view(rig)->resident[0].assumed);
    assert_int_equal(rig_view(rig)->device[1].memory_units, 8);
}

TEST_THAT(a_pod_without_an_assignment_is_taken_to_span_as_it_asks)
{
    static const int64_t units[] = {8, 8};
    struct rig *rig = gpus(units, 2, true);
    struct sl_ask ask = ask_of(12, 2);
    rig_run(rig, ask, NULL);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->device[0].memory_units, 6);
    assert_int_equal(view->device[1].memory_units, 6);
    assert_int_equal(view->pool_used[0], 12);
}

TEST_THAT(it_fits_when_so_many_gpus_have_a_parts_room)
{
    uint64_t seed = 3;
    unsigned fitted = 0;
    unsigned refused = 0;
    for (unsigned round = 0; round < 2000; round++) {
        int64_t left[4];
        unsigned n = 1 + rig_random(&seed, 4);
        for (unsigned i = 0; i < n; i++) {
            left[i] = 1 + rig_random(&seed, 12);
        }
        struct rig *rig = gpus(left, n, true);
        for (unsigned k = 0; k < 4; k++) {
            uint8_t parts = (uint8_t)(1 + rig_random(&seed, 3));
            int64_t share = 1 + rig_random(&seed, 5);
            struct sl_ask ask = ask_of(share * parts, parts);
            struct sl_assignment assignment;
            char text[256];
            unsigned roomy = 0;
            for (unsigned i = 0; i < n; i++) {
                roomy += left[i] >= share;
            }
            assert_int_equal(rig_verdict(rig, ask).reason == SL_REASON_FITS, roomy >= parts);
            if (roomy < parts) {
                refused++;
                continue;
            }
            fitted++;
            assert_true(sl_choose(rig_view(rig), &ask, &assignment, NULL));
            assert_int_equal(assignment.n, parts);
            for (unsigned i = 0; i < assignment.n; i++) {
                assert_int_equal(assignment.part[i].amount, share);
                left[assignment.part[i].device] -= share;
                assert_true(left[assignment.part[i].device] >= 0);
            }
            assert_true(sl_assignment_format(&rig->node, &ask, &assignment, text, sizeof text) > 0);
            rig_run(rig, ask, text);
        }
        rig_free(rig);
    }
    assert_true(fitted > 1000 && refused > 1000);
}
