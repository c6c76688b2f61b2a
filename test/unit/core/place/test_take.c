/* Taking exactly the places that an assignment names: all of them or none. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define SLICE  "nvidia.com/mig-1g.6gb"

static bool same_counters(const struct sl_node *node, const struct sl_scratch *a,
                          const struct sl_scratch *b)
{
    bool same = true;
    for (unsigned i = 0; i < node->n_pools; i++) {
        same = same && a->pool_used[i] == b->pool_used[i];
    }
    for (unsigned i = 0; i < node->n_devices; i++) {
        const struct sl_device_use *x = &a->device[i];
        const struct sl_device_use *y = &b->device[i];
        same = same && x->whole == y->whole && x->replicas == y->replicas &&
               x->memory_units == y->memory_units && x->instances == y->instances;
    }
    for (unsigned i = 0; i < node->n_instances; i++) {
        same = same && a->instance_used[i] == b->instance_used[i];
    }
    return same;
}

/* Can these places be given on the node as it is? What is refused must leave no trace. */
static bool can_take(struct rig *rig, const struct sl_ask *ask, const char *text)
{
    struct sl_assignment assignment;
    struct sl_scratch scratch;
    struct sl_scratch before;
    const struct sl_view *view = rig_view(rig);
    assert_true(sl_assignment_parse(&rig->node, ask, sl_str_of(text), &assignment));
    sl_scratch_init(&scratch, view);
    sl_scratch_init(&before, view);
    bool taken = sl_scratch_take_exactly(&scratch, ask, &assignment);
    assert_int_equal(same_counters(&rig->node, &before, &scratch), !taken);
    return taken;
}

static struct rig *two_a30(void)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, SLICE, SL_KIND_MIG, 8);
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, pool);
        }
    }
    return rig;
}

TEST_THAT(an_instance_is_taken_when_it_is_free_and_well)
{
    struct rig *rig = two_a30();
    struct sl_ask one = rig_ask(SLICE, 1);
    struct sl_ask two = rig_ask(SLICE, 2);
    rig_run(rig, one, SLICE "=0/1");
    assert_true(can_take(rig, &one, SLICE "=0/0"));
    assert_false(can_take(rig, &one, SLICE "=0/1"));
    assert_true(can_take(rig, &two, SLICE "=0/0,1/3"));
    assert_false(can_take(rig, &two, SLICE "=0/0,0/1"));
    rig->device[1].healthy = false;
    assert_false(can_take(rig, &two, SLICE "=0/0,1/3"));
    assert_true(can_take(rig, &two, SLICE "=0/0,0/3"));
}

TEST_THAT(units_without_a_place_count_against_the_pool)
{
    struct rig *rig = two_a30();
    struct sl_ask one = rig_ask(SLICE, 1);
    struct sl_ask all = rig_ask(SLICE, 8);
    rig->pool[0].capacity = 2; /* the device plugin says so */
    assert_true(can_take(rig, &one, SLICE "=0/0"));
    rig_run(rig, one, SLICE "=0/0");
    assert_true(can_take(rig, &one, SLICE "=0/1"));
    rig_run(rig, one, SLICE "=0/2");
    assert_false(can_take(rig, &one, SLICE "=0/1"));
    rig->pool[0].capacity = 8;
    assert_true(can_take(rig, &one, SLICE "=0/1"));
    assert_false(can_take(rig, &all, SLICE "=0/0,0/1,0/2,0/3,1/0,1/1,1/2,1/3"));
}

TEST_THAT(a_whole_gpu_needs_a_device_that_nobody_uses)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask gpu = rig_ask(GPU, 1);
    struct sl_ask both = rig_ask2(MEM, 4, GPU, 1);
    rig_run(rig, rig_ask(MEM, 4), MEM "=0*4");
    rig_run(rig, gpu, GPU "=1");
    assert_false(can_take(rig, &gpu, GPU "=0"));
    assert_false(can_take(rig, &gpu, GPU "=1"));
    assert_true(can_take(rig, &gpu, GPU "=2"));
    assert_true(can_take(rig, &both, MEM "=0*4;" GPU "=2"));
    assert_false(can_take(rig, &both, MEM "=2*4;" GPU "=2"));
    assert_false(can_take(rig, &both, MEM "=1*4;" GPU "=2"));
}

TEST_THAT(a_share_of_memory_is_what_its_device_has_left)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask six = rig_ask(MEM, 6);
    struct sl_ask seven = rig_ask(MEM, 7);
    rig_run(rig, rig_ask(MEM, 10), MEM "=0*10");
    assert_true(can_take(rig, &six, MEM "=0*6"));
    assert_false(can_take(rig, &seven, MEM "=0*7"));
    assert_true(can_take(rig, &seven, MEM "=1*7"));
    rig->device[1].healthy = false;
    assert_false(can_take(rig, &seven, MEM "=1*7"));
}

TEST_THAT(counts_are_taken_while_they_last)
{
    struct rig *rig = rig_new();
    struct sl_ask two = rig_ask(SHARED, 2);
    struct sl_ask three = rig_ask(SHARED, 3);
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, 5);
    rig->pool[pool].on_devices = false;
    rig_run(rig, two, NULL);
    assert_true(can_take(rig, &three, SHARED "=?*3"));
    rig_run(rig, two, NULL);
    assert_false(can_take(rig, &two, SHARED "=?*2"));
}

TEST_THAT(counts_are_taken_while_their_memory_suffices)
{
    struct rig *rig = rig_new();
    struct sl_ask two = rig_ask(SHARED, 2);
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, 4);
    rig->pool[pool].on_devices = false;
    rig->pool[pool].memory_mib = 8000;
    two.item[0].least_mib = 8000;
    assert_true(can_take(rig, &two, SHARED "=?*2"));
    two.item[0].least_mib = 8001;
    assert_false(can_take(rig, &two, SHARED "=?*2"));
}

TEST_THAT(a_resource_that_the_node_lost_cannot_be_taken)
{
    struct rig *rig = two_a30();
    struct sl_ask one = rig_ask(SLICE, 1);
    struct sl_ask gone = rig_ask(GPU, 1);
    struct sl_assignment assignment;
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, rig_view(rig));
    assert_true(sl_assignment_parse(&rig->node, &one, SL_STR(SLICE "=0/0"), &assignment));
    assert_false(sl_scratch_take_exactly(&scratch, &gone, &assignment));
}

/* What is chosen can be taken, once; and who stands on what was taken stands where he is said to.
 */
TEST_THAT(what_is_chosen_can_be_taken_and_then_is_gone)
{
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        bool slices = rig_random(&seed, 2) == 0;
        struct rig *rig = slices ? two_a30() : rig_of_gpus(4, 16);
        for (int i = 0; i < 12; i++) {
            struct sl_ask ask = slices ? rig_ask(SLICE, 1 + rig_random(&seed, 3))
                                : rig_random(&seed, 2) == 0
                                    ? rig_ask(GPU, 1 + rig_random(&seed, 2))
                                    : rig_ask(MEM, 1 + rig_random(&seed, 12));
            char text[SL_ASSIGNMENT_TEXT_MAX];
            (void)snprintf(text, sizeof(text), "%s", rig_choose(rig, ask));
            if (text[0] == '\0') {
                continue;
            }
            assert_true(can_take(rig, &ask, text));
            rig_run(rig, ask, text);
            const struct sl_view *view = rig_view(rig);
            for (unsigned r = 0; r < view->n_residents; r++) {
                assert_false(view->resident[r].assumed);
            }
            if (slices || strncmp(text, GPU, strlen(GPU)) == 0) {
                assert_false(can_take(rig, &ask, text));
            }
        }
        rig_free(rig);
    }
}
