/* Memory that gpushare counts: how it is shared out over devices. */
#include "node_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, gpushares_count_may_stand_in_capacity)
{
    given(rig, "", "aliyun.com/gpu-mem=32");
    rig->node.capacity = facts_pairs(&rig->facts, "aliyun.com/gpu-count=4 aliyun.com/gpu-mem=32");
    check(rig, "inferred\naliyun.com/gpu-mem memory 32 on\n0 whole 8\n1 whole 8\n2 whole 8\n"
               "3 whole 8\n");
}

TEST_ON(struct node_rig *rig, memory_of_one_gpu_is_not_on_two)
{
    device(rig, 0, NULL);
    device(rig, 1, NULL);
    given(rig, "", "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1");
    check(rig, "annotated\naliyun.com/gpu-mem memory 24 off\n0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 24 allocatable on 1, GPUs known for it: 2\n");
    given(rig, "", "aliyun.com/gpu-mem=1"); /* less than a unit each */
    check(rig, "annotated\naliyun.com/gpu-mem memory 1 off\n0 whole\n1 whole\n"
               "! aliyun.com/gpu-mem: 1 allocatable, GPUs known for it: 2\n");
    given(rig, "", "aliyun.com/gpu-mem=2"); /* one each is enough */
    check(rig, "annotated\naliyun.com/gpu-mem memory 2 on\n0 whole 1\n1 whole 1\n");
}

TEST_ON(struct node_rig *rig, memory_follows_the_sizes_of_the_gpus)
{
    device(rig, 0, NULL)->memory_mib = 15109;
    device(rig, 1, NULL)->memory_mib = 24258;
    given(rig, "", "aliyun.com/gpu-mem=37 aliyun.com/gpu-count=2"); /* GiB, counted down */
    check(rig, "annotated\naliyun.com/gpu-mem memory 37 on\n0 whole 14\n1 whole 23\n");
    given(rig, "", "aliyun.com/gpu-mem=39367"); /* MiB */
    check(rig, "annotated\naliyun.com/gpu-mem memory 39367 on\n0 whole 15109\n1 whole 24258\n");
    given(rig, "", "aliyun.com/gpu-mem=100"); /* something else: in proportion */
    check(rig, "annotated\naliyun.com/gpu-mem memory 100 on\n0 whole 38\n1 whole 61\n");
    given(rig, "", "aliyun.com/gpu-mem=9223372036854775807"); /* cut */
    check(rig, "annotated\naliyun.com/gpu-mem memory 2147483647 on\n"
               "0 whole 824201245\n1 whole 1323282401\n"
               "! allocatable[aliyun.com/gpu-mem]: \"9223372036854775807\" is too large, taken for "
               "2147483647\n");
}

TEST_ON(struct node_rig *rig, gpushare_takes_the_first_gpus_gib_for_all)
{
    device(rig, 0, NULL)->memory_mib = 15345; /* all but 15 MiB of the fifteenth GiB */
    device(rig, 1, NULL)->memory_mib = 24258;
    given(rig, "", "aliyun.com/gpu-mem=28 aliyun.com/gpu-count=2");
    check(rig, "annotated\naliyun.com/gpu-mem memory 28 on\n0 whole 14\n1 whole 23\n");
    rig->node.devices->unhealthy = true; /* and counted, though it failed */
    describe(rig);
    assert_non_null(strstr(rig->text, " whole sick 14\n1 whole 23\n"));
    rig->node.devices->memory_mib = rig->node.devices->next->memory_mib = 16383;
    given(rig, "", "aliyun.com/gpu-mem=30"); /* a MiB less than sixteen */
    describe(rig);
    assert_non_null(strstr(rig->text, "0 whole sick 15\n1 whole 15\n"));
}

/* gpushare's plugin takes the first GPU's memory for that of all. */
TEST_ON(struct node_rig *rig, a_plugin_that_counts_all_gpus_alike_hides_no_size)
{
    given(rig, "", "aliyun.com/gpu-mem=64 aliyun.com/gpu-count=2");
    device(rig, 0, NULL)->memory_mib = 32768;
    device(rig, 1, NULL)->memory_mib = 15360;
    check(rig, "annotated\naliyun.com/gpu-mem memory 64 on\n0 whole 32\n1 whole 15\n");
    given(rig, "", "aliyun.com/gpu-mem=65536 aliyun.com/gpu-count=2");
    check(rig, "annotated\naliyun.com/gpu-mem memory 65536 on\n0 whole 32768\n1 whole 15360\n");
    given(rig, "", "aliyun.com/gpu-mem=30 aliyun.com/gpu-count=2"); /* the small one first */
    check(rig, "annotated\naliyun.com/gpu-mem memory 30 on\n0 whole 32\n1 whole 15\n");
}

TEST_ON(struct node_rig *rig, a_failed_gpu_that_is_not_counted_leaves_the_others_their_size)
{
    given(rig, "", "aliyun.com/gpu-mem=47 aliyun.com/gpu-count=2");
    device(rig, 0, NULL)->memory_mib = 32768;
    device(rig, 1, NULL)->memory_mib = 15360;
    struct sl_device_facts *failed = device(rig, 2, NULL);
    failed->memory_mib = 15360;
    failed->unhealthy = true;
    check(rig, "annotated\naliyun.com/gpu-mem memory 47 on\n0 whole 32\n1 whole 15\n"
               "2 whole sick 15\n");
}

static const struct node_row rows[] = {
    MADE(gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys, "",
         "aliyun.com/gpu-mem=31 aliyun.com/gpu-count=2",
         "inferred\naliyun.com/gpu-mem memory 31 on\n0 whole 15\n1 whole 15\n"),
    MADE(gpushare_memory_is_shared_out_evenly_and_the_rest_is_nobodys, "nvidia.com/gpu.count=3",
         "aliyun.com/gpu-mem=45",
         "inferred\naliyun.com/gpu-mem memory 45 on\n0 whole 15\n1 whole 15\n2 whole 15\n"),
    MADE(memory_of_an_unknown_number_of_gpus_is_taken_for_one, "", "aliyun.com/gpu-mem=24",
         "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n! nothing says how many "
         "GPUs share aliyun.com/gpu-mem: taken for one\n"),
    MADE(one_gpu_by_the_label_is_enough_for_its_memory, "nvidia.com/gpu.count=1",
         "aliyun.com/gpu-mem=24", "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n"),
    MADE(one_gpu_by_the_label_is_enough_for_its_memory, "",
         "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1",
         "inferred\naliyun.com/gpu-mem memory 24 on\n0 whole 24\n"),
    MADE(whole_gpus_and_memory_are_the_same_devices, T4 "nvidia.com/gpu.count=2",
         "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=2",
         "inferred\naliyun.com/gpu-mem memory 30 on\nnvidia.com/gpu whole 2 on\n"
         "0 whole 15\n1 whole 15\n"),
    MADE(whole_gpus_and_memory_are_the_same_devices, T4,
         "nvidia.com/gpu=2 aliyun.com/gpu-mem=30 aliyun.com/gpu-count=3",
         "inferred\naliyun.com/gpu-mem memory 30 off\nnvidia.com/gpu whole 2 on\n"
         "0 whole\n1 whole\n"
         "! aliyun.com/gpu-mem: 30 allocatable on 3, GPUs known for it: 2\n"),
    DEVICES(memory_is_not_on_partitioned_gpus, A30,
            "aliyun.com/gpu-mem=24 aliyun.com/gpu-count=1 nvidia.com/mig-1g.6gb=1",
            "annotated\naliyun.com/gpu-mem memory 24 on\nnvidia.com/mig-1g.6gb mig 1g.6gb 1 on\n"
            "0 mig 1g.6gb@0\n1 whole 24\n",
            "1g.6gb@0", "whole"),
    MADE(less_memory_than_gpus_is_counts, "", "aliyun.com/gpu-mem=1 aliyun.com/gpu-count=2",
         "unknown\naliyun.com/gpu-mem memory 1 off\n"
         "! aliyun.com/gpu-mem: 1 allocatable on 2, GPUs known for it: 2\n"),
};

TEST_ON_EACH(struct node_rig *rig, a_node_is_made_of, rows)
{
    check_row(rig, row);
}
