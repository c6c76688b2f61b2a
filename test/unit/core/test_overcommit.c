/* Nodes that carry more than they have say so. */
#include "rig.h"

#include "sliced/overcommit.h"

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"
#define MIG "nvidia.com/mig-1g.6gb"

static void assert_says(struct rig *rig, const char *expected)
{
    char text[256];
    const struct sl_view *view = rig_view(rig);
    sl_overcommit_text(view, text, sizeof(text));
    assert_string_equal(text, expected);
    assert_int_equal(sl_view_overcommitted(view), expected[0] != '\0');
    rig_free(rig);
}

static void run(struct rig *rig, const char *resource, int64_t count, const char *where)
{
    struct sl_ask ask = rig_ask(resource, count);
    (void)rig_run(rig, &ask, where);
}

static void full_node_is_not_over_committed(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 1, GPU "=0");
    run(rig, GPU, 1, NULL);
    assert_says(rig, "");
}

static void more_in_use_than_there_is_gives_both_numbers(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, GPU, 2, NULL);
    run(rig, GPU, 3, NULL);
    assert_says(rig, "5 in use of 2 " GPU);
}

static void share_of_memory_that_no_gpu_has_room_for_is_without_a_place(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 10, MEM "=0*10");
    run(rig, MEM, 10, MEM "=1*10");
    run(rig, MEM, 8, NULL);
    assert_says(rig, "8 " MEM " in use beside what else is, for which there is no place");
}

static void whole_gpu_beside_a_share_of_the_only_one_is_without_a_place(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, MEM, 1, MEM "=0*1");
    run(rig, GPU, 1, NULL);
    assert_says(rig, "1 " GPU " in use beside what else is, for which there is no place");
}

static void memory_beyond_one_gpu_names_it(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    run(rig, MEM, 10, MEM "=1*10");
    run(rig, MEM, 10, MEM "=1*10");
    assert_says(rig, "20 in use of 16 units of memory on GPU 1");
}

static void resource_that_is_not_offered_is_named(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(1, 16);
    run(rig, MIG, 1, NULL);
    run(rig, MIG, 2, NULL);
    run(rig, GPU, 2, NULL);
    assert_says(rig, "2 in use of 1 " GPU "; 3 " MIG " in use, which the node does not offer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_node_is_not_over_committed),
        cmocka_unit_test(more_in_use_than_there_is_gives_both_numbers),
        cmocka_unit_test(share_of_memory_that_no_gpu_has_room_for_is_without_a_place),
        cmocka_unit_test(whole_gpu_beside_a_share_of_the_only_one_is_without_a_place),
        cmocka_unit_test(memory_beyond_one_gpu_names_it),
        cmocka_unit_test(resource_that_is_not_offered_is_named),
    };
    return cmocka_run_group_tests_name("overcommit", tests, NULL, NULL);
}
