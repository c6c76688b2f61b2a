/* Nodes that carry more than they have say so. */
#include "unit/core/rig.h"

#include "sliced/overcommit.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define MEM    "aliyun.com/gpu-mem"
#define MIG    "nvidia.com/mig-1g.6gb"
#define SHARED "nvidia.com/gpu.shared"

static void assert_says(struct rig *rig, const char *expected)
{
    char text[256];
    const struct sl_view *view = rig_view(rig);
    sl_overcommit_text(view, text, sizeof(text));
    assert_string_equal(text, expected);
    assert_int_equal(sl_view_overcommitted(view), expected[0] != '\0');
}

static void run(struct rig *rig, const char *resource, int64_t count, const char *where)
{
    struct sl_ask ask = rig_ask(resource, count);
    (void)rig_run(rig, ask, where);
}

TEST_THAT(full_node_is_not_over_committed)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0");
    run(rig, GPU, 1, NULL);
    assert_says(rig, "");
}

TEST_THAT(more_in_use_than_there_is_gives_both_numbers)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 2, NULL);
    run(rig, GPU, 3, NULL);
    assert_says(rig, "5 in use of 2 " GPU);
}

TEST_THAT(share_of_memory_that_no_gpu_has_room_for_is_without_a_place)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 10, MEM "=0*10");
    run(rig, MEM, 10, MEM "=1*10");
    run(rig, MEM, 8, NULL);
    assert_says(rig, "8 " MEM " in use beside what else is, for which there is no place");
}

TEST_THAT(whole_gpu_beside_a_share_of_the_only_one_is_without_a_place)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, MEM, 1, MEM "=0*1");
    run(rig, GPU, 1, NULL);
    assert_says(rig, "1 " GPU " in use beside what else is, for which there is no place");
}

TEST_THAT(memory_beyond_one_gpu_names_it)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 10, MEM "=1*10");
    run(rig, MEM, 10, MEM "=1*10");
    assert_says(rig, "20 in use of 16 units of memory on GPU 1");
}

TEST_THAT(resource_that_is_not_offered_is_named)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, MIG, 1, NULL);
    run(rig, MIG, 2, NULL);
    run(rig, GPU, 2, NULL);
    assert_says(rig, "2 in use of 1 " GPU "; 3 " MIG " in use, which the node does not offer");
}

/* Two GPUs of 16 units, which a pod may have equal parts of. */
static struct rig *spanning_node(void)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig->pool[0].spans = true;
    return rig;
}

static void run_spanning(struct rig *rig, int64_t count, const char *where)
{
    struct sl_ask ask = rig_ask(MEM, count);
    ask.item[0].gpus = 2;
    (void)rig_run(rig, ask, where);
}

TEST_THAT(equal_parts_of_a_share_have_their_place)
{
    struct rig *rig = spanning_node();
    run_spanning(rig, 32, MEM "=0*16,1*16");
    assert_says(rig, "");
}

TEST_THAT(part_smaller_than_asked_for_is_without_a_place)
{
    struct rig *rig = spanning_node();
    run(rig, MEM, 6, MEM "=0*6");
    run_spanning(rig, 24, NULL); /* 12 on GPU 1; GPU 0 has but 10 */
    assert_says(rig, "12 " MEM " in use beside what else is, for which there is no place");
}

/* One GPU of 1,000 MiB that four may share. */
TEST_THAT(declared_memory_is_over_from_the_first_mib_on)
{
    static const struct {
        int32_t mib; /* that the second pod declares beside 600 of the first */
        int64_t gpu; /* MiB; 0: not known */
        const char *says;
    } cases[] = {
        {400, 1000, ""},
        {401, 1000, "1001 MiB declared of the 1000 MiB of GPU 5"},
        {401, 0, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig *rig = rig_new();
        rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 4)].replicas = 4;
        rig->device[rig_device(rig, 0)].memory_mib = cases[i].gpu;
        rig->device[0].index = 5;
        struct sl_ask ask = rig_ask(SHARED, 1);
        ask.item[0].memory_mib = 600;
        (void)rig_run(rig, ask, SHARED "=5");
        ask.item[0].memory_mib = cases[i].mib;
        (void)rig_run(rig, ask, SHARED "=5");
        assert_says(rig, cases[i].says);
    }
}

TEST_THAT(only_the_first_resource_that_is_not_offered_is_named)
{
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, MIG, 1, NULL);
    run(rig, SHARED, 5, NULL);
    run(rig, MIG, 2, NULL);
    assert_says(rig, "3 " MIG " in use, which the node does not offer");
}

TEST_THAT(everything_that_is_over_is_told)
{
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 20, MEM "=0*20");
    run(rig, MEM, 17, MEM "=1*17");
    run(rig, GPU, 3, NULL);
    assert_says(rig, "37 in use of 32 " MEM "; 3 in use of 2 " GPU
                     "; 20 in use of 16 units of memory on GPU 0; 17 in use of 16 units of memory "
                     "on GPU 1");
}
