/* Fit and choice: the rules one by one, and the reasons with their numbers. Properties over random
 * nodes are in test_choose.c. */
#include "unit/core/rig.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define SHARED "nvidia.com/gpu.shared"
#define MEM    "aliyun.com/gpu-mem"
#define MIG1   "nvidia.com/mig-1g.6gb"
#define MIG2   "nvidia.com/mig-2g.12gb"

/* ---- choice ---- */

TEST_THAT(whole_gpus_are_the_lowest_free)
{
    struct rig *rig = rig_of_gpus(4, 16);
    rig_run(rig, rig_ask(GPU, 1), GPU "=1");
    assert_string_equal(rig_choose(rig, rig_ask(GPU, 2)), GPU "=0,2");
}

TEST_THAT(whole_gpu_is_never_one_with_pieces_in_use)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask whole = rig_ask(GPU, 1);
    struct sl_ask share = rig_ask(MEM, 1);
    rig_run(rig, share, MEM "=0*1");
    assert_string_equal(rig_choose(rig, whole), GPU "=1");
    rig_run(rig, whole, GPU "=1");
    assert_string_equal(rig_choose(rig, whole), "");
    assert_string_equal(rig_choose(rig, share), MEM "=0");
}

TEST_THAT(partitioned_and_ill_devices_are_not_given_whole)
{
    struct rig *rig = rig_of_gpus(3, 16);
    rig->device[0].mig = true;
    rig->device[1].healthy = false;
    assert_string_equal(rig_choose(rig, rig_ask(GPU, 1)), GPU "=2");
}

TEST_THAT(instance_comes_from_the_device_with_the_fewest_free)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MIG1, SL_KIND_MIG, 8);
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, 0);
        }
    }
    struct sl_ask one = rig_ask(MIG1, 1);
    rig_run(rig, one, MIG1 "=1/2");
    assert_string_equal(rig_choose(rig, one), MIG1 "=1/0");
    assert_string_equal(rig_choose(rig, rig_ask(MIG1, 5)), MIG1 "=1/0,1/1,1/3,0/0,0/1");
}

TEST_THAT(instance_of_an_ill_device_is_not_given)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MIG1, SL_KIND_MIG, 2);
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        rig_instance(rig, d, 0, 0);
    }
    rig->device[0].healthy = false;
    assert_string_equal(rig_choose(rig, rig_ask(MIG1, 1)), MIG1 "=1/0");
    struct sl_verdict v = rig_verdict(rig, rig_ask(MIG1, 2));
    assert_int_equal(v.reason, SL_REASON_UNHEALTHY);
    assert_int_equal(v.free, 1);
}

static struct rig *time_sliced(unsigned devices, int32_t replicas)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, SHARED, SL_KIND_REPLICA, (int64_t)devices * replicas);
    rig->pool[pool].replicas = replicas;
    for (unsigned i = 0; i < devices; i++) {
        rig_device(rig, 0);
    }
    return rig;
}

TEST_THAT(replica_goes_to_the_least_used_device)
{
    struct rig *rig = time_sliced(3, 4);
    struct sl_ask one = rig_ask(SHARED, 1);
    rig_run(rig, rig_ask(SHARED, 2), SHARED "=0*2");
    rig_run(rig, one, SHARED "=1");
    assert_string_equal(rig_choose(rig, one), SHARED "=2");
}

TEST_THAT(several_replicas_go_to_different_devices_first)
{
    struct rig *rig = time_sliced(3, 4);
    struct sl_ask two = rig_ask(SHARED, 2);
    rig_run(rig, two, SHARED "=0*2");
    assert_string_equal(rig_choose(rig, two), SHARED "=1,2");
    assert_string_equal(rig_choose(rig, rig_ask(SHARED, 8)), SHARED "=0*2,1*3,2*3");
}

TEST_THAT(millions_of_replicas_are_dealt_at_once)
{
    struct rig *rig = time_sliced(3, 1000000000);
    assert_string_equal(rig_choose(rig, rig_ask(SHARED, 2000000001)),
                        SHARED "=0*666666667,1*666666667,2*666666667");
}

TEST_THAT(replicas_of_instances_are_on_instances)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MIG1 ".shared", SL_KIND_REPLICA, 4);
    rig->pool[0].replicas = 2;
    rig_device(rig, 0);
    rig_instance(rig, 0, 0, 0);
    rig_instance(rig, 0, 1, 0);
    struct sl_ask ask = rig_ask(MIG1 ".shared", 3);
    assert_string_equal(rig_choose(rig, ask), MIG1 ".shared=0/0*2,0/1");
    rig_run(rig, ask, MIG1 ".shared=0/0,0/1*2");
    assert_string_equal(rig_choose(rig, ask), "");
    assert_int_equal(rig->view->device[0].instances, 2);
}

TEST_THAT(memory_takes_the_smallest_share_that_suffices)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask ten = rig_ask(MEM, 10);
    rig_run(rig, ten, MEM "=1*10");
    rig_run(rig, rig_ask(MEM, 4), MEM "=2*4");
    assert_string_equal(rig_choose(rig, rig_ask(MEM, 6)), MEM "=1*6");
    assert_string_equal(rig_choose(rig, ten), MEM "=2*10");
}

static void measure(struct rig *rig, unsigned device, int16_t load, bool apart)
{
    rig->measured[device] = sl_measured_none;
    rig->measured[device].pods = sl_view_pods_of(rig_view(rig), device);
    rig->measured[device].load = load;
    rig->measured[device].apart = apart;
}

/* gpushare's device plugin takes the GPU that it is told, and so shares of memory can be kept off a
 * busy one; replicas are dealt out by NVIDIA's plugin, which asks nobody. */
TEST_THAT(shares_of_memory_keep_off_busy_gpus)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask share = rig_ask(MEM, 4);
    rig_run(rig, rig_ask(MEM, 10), MEM "=0*10");
    rig_run(rig, share, MEM "=1*4");
    for (unsigned i = 0; i < 3; i++) {
        measure(rig, i, i == 0 ? 501 : 40, true);
    }
    rig->n_measured = 3;
    assert_string_equal(rig_choose(rig, share), MEM "=1*4");
    measure(rig, 0, 500, true); /* half its time is left */
    assert_string_equal(rig_choose(rig, share), MEM "=0*4");
    measure(rig, 0, 1000, false); /* score.weights.contention is 0 */
    assert_string_equal(rig_choose(rig, share), MEM "=0*4");
    measure(rig, 0, -1, true); /* not known: as without telemetry */
    assert_string_equal(rig_choose(rig, share), MEM "=0*4");
    measure(rig, 0, 1000, true);
    measure(rig, 1, 1000, true);
    assert_string_equal(rig_choose(rig, share), MEM "=2*4"); /* the unused one */
    assert_string_equal(rig_choose(rig, rig_ask2(MEM, 4, GPU, 1)),
                        MEM "=0*4;" GPU "=2"); /* it is wanted whole */
    measure(rig, 1, 40, true);
    rig_run(rig, share, MEM "=1*4"); /* it may have work all the time */
    assert_string_equal(rig_choose(rig, share), MEM "=2*4");
}

TEST_THAT(mixed_sizes_are_not_averaged)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 40);
    rig_device(rig, 16);
    rig_device(rig, 24);
    assert_string_equal(rig_choose(rig, rig_ask(MEM, 20)), MEM "=1*20");
}

TEST_THAT(whole_and_memory_of_one_pod_are_on_different_devices)
{
    struct rig *rig = rig_of_gpus(2, 16);
    assert_string_equal(rig_choose(rig, rig_ask2(MEM, 8, GPU, 1)), MEM "=0*8;" GPU "=1");
}

TEST_THAT(memory_spares_untouched_devices_for_the_whole_gpus_beside_it)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 40);
    rig_pool(rig, GPU, SL_KIND_WHOLE, 2);
    rig_device(rig, 8); /* the best fit, but then no GPU is whole */
    rig_device(rig, 32);
    rig_run(rig, rig_ask(MEM, 4), MEM "=1*4");
    assert_string_equal(rig_choose(rig, rig_ask2(MEM, 8, GPU, 1)), MEM "=1*8;" GPU "=0");
}

TEST_THAT(whole_gpus_leave_the_device_that_the_memory_needs)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MEM, SL_KIND_MEMORY, 40);
    rig_pool(rig, GPU, SL_KIND_WHOLE, 2);
    rig_device(rig, 32);
    rig_device(rig, 8);
    assert_string_equal(rig_choose(rig, rig_ask2(MEM, 20, GPU, 1)), MEM "=0*20;" GPU "=1");
}

TEST_THAT(counted_pools_give_units_that_only_the_kubelet_can_place)
{
    struct rig *rig = rig_new();
    rig_pool(rig, MIG1, SL_KIND_MIG, 300);
    rig->pool[0].on_devices = false;
    assert_string_equal(rig_choose(rig, rig_ask(MIG1, 200)), MIG1 "=?*200");
}

TEST_THAT(changed_counters_are_what_choose_on_reads_and_changes)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    rig_run(rig, one, GPU "=0");
    struct sl_scratch scratch;
    struct sl_assignment assignment;
    sl_scratch_init(&scratch, rig_view(rig));
    sl_scratch_remove(&scratch, 0);
    assert_true(sl_choose_on(&scratch, &one, &assignment, NULL));
    assert_int_equal(assignment.part[0].device, 0);
    assert_true(sl_choose_on(&scratch, &one, &assignment, NULL));
    assert_int_equal(assignment.part[0].device, 1);
    struct sl_scratch before = scratch;
    assert_false(sl_choose_on(&scratch, &one, &assignment, NULL));
    assert_memory_equal(before.device, scratch.device, 2 * sizeof scratch.device[0]);
    assert_memory_equal(before.pool_used, scratch.pool_used, 2 * sizeof scratch.pool_used[0]);
}

/* ---- large asks ---- */

static struct rig *many_instances(unsigned devices)
{
    struct rig *rig = rig_new();
    rig_pool(rig, "nvidia.com/mig-1g.5gb", SL_KIND_MIG, 7 * (int64_t)devices);
    for (unsigned d = 0; d < devices; d++) {
        rig_device(rig, 0);
        for (int start = 0; start < 7; start++) {
            rig_instance(rig, d, start, 0);
        }
    }
    return rig;
}

TEST_THAT(sixty_four_whole_gpus_are_one_assignment)
{
    struct rig *rig = rig_of_gpus(64, 16);
    struct sl_ask ask = rig_ask(GPU, 64);
    struct sl_assignment assignment;
    assert_true(strlen(rig_choose(rig, ask)) > 64);
    assert_true(sl_choose(rig->view, &ask, &assignment, NULL));
    assert_int_equal(assignment.n, 64);
}

TEST_THAT(as_many_instances_as_an_assignment_holds_fit)
{
    struct rig *rig = many_instances(20);
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.5gb", SL_ASSIGNMENT_MAX);
    struct sl_assignment read;
    const char *text = rig_choose(rig, ask);
    assert_true(sl_assignment_parse(&rig->node, &ask, sl_str_of(text), &read));
    assert_int_equal(read.n, SL_ASSIGNMENT_MAX);
}

TEST_THAT(more_instances_than_an_assignment_holds_are_refused_for_good)
{
    struct rig *rig = many_instances(20);
    struct sl_verdict v = rig_verdict(rig, rig_ask("nvidia.com/mig-1g.5gb", SL_ASSIGNMENT_MAX + 1));
    assert_int_equal(v.reason, SL_REASON_EXCEEDS_NODE);
    assert_int_equal(v.capacity, SL_ASSIGNMENT_MAX);
}

TEST_THAT(parts_of_several_items_are_bounded_together)
{
    struct rig *rig = many_instances(20);
    rig_pool(rig, "nvidia.com/mig-2g.10gb", SL_KIND_MIG, 70);
    for (unsigned i = 0; i < 70; i++) {
        rig->instance[2 * (size_t)i].pool = 1;
    }
    rig->pool[0].capacity = 70;
    struct sl_ask ask = rig_ask2("nvidia.com/mig-1g.5gb", 70, "nvidia.com/mig-2g.10gb", 58);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_FITS);
    ask.item[1].count = 59;
    struct sl_verdict v = rig_verdict(rig, ask);
    assert_int_equal(v.reason, SL_REASON_EXCEEDS_TOGETHER);
    assert_int_equal(v.item, 1);
}

/* ---- reasons ---- */

static void assert_verdict(struct sl_verdict v, enum sl_reason reason, int64_t free,
                           int64_t capacity, int64_t largest)
{
    assert_string_equal(sl_reason_name(v.reason), sl_reason_name(reason));
    assert_int_equal(v.free, free);
    assert_int_equal(v.capacity, capacity);
    assert_int_equal(v.largest, largest);
}

TEST_THAT(asks_for_nothing_fit_and_malformed_ones_never_do)
{
    struct rig *rig = rig_of_gpus(1, 16);
    struct sl_ask none = {0};
    struct sl_ask malformed = rig_ask(GPU, 1);
    malformed.malformed = true;
    struct sl_verdict v;
    assert_true(sl_fit(rig_view(rig), &none, &v));
    assert_int_equal(v.reason, SL_REASON_NO_ASK);
    assert_false(sl_fit(rig->view, &malformed, &v));
    assert_int_equal(v.reason, SL_REASON_MALFORMED_ASK);
    malformed.n = 0;
    assert_false(sl_fit(rig->view, &malformed, &v));
}

TEST_THAT(unknown_resource_is_not_offered)
{
    struct rig *rig = rig_of_gpus(1, 16);
    assert_verdict(rig_verdict(rig, rig_ask(MIG1, 1)), SL_REASON_NOT_OFFERED, 0, 0, 0);
}

TEST_THAT(never_goes_before_not_now)
{
    struct rig *rig = rig_of_gpus(1, 16);
    rig_run(rig, rig_ask(GPU, 1), NULL);
    struct sl_verdict v = rig_verdict(rig, rig_ask2(GPU, 1, MIG1, 1));
    assert_int_equal(v.reason, SL_REASON_NOT_OFFERED);
    assert_int_equal(v.item, 1);
}

TEST_THAT(full_node_is_insufficient_and_too_large_an_ask_exceeds_it)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    rig_run(rig, one, NULL);
    assert_verdict(rig_verdict(rig, one), SL_REASON_FITS, 1, 2, 0);
    assert_verdict(rig_verdict(rig, rig_ask(GPU, 2)), SL_REASON_INSUFFICIENT, 1, 2, 0);
    assert_verdict(rig_verdict(rig, rig_ask(GPU, 3)), SL_REASON_EXCEEDS_NODE, 0, 2, 0);
}

TEST_THAT(memory_in_sum_but_on_no_device_is_fragmented)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ten = rig_ask(MEM, 10);
    rig_run(rig, ten, MEM "=0*10");
    rig_run(rig, ten, MEM "=1*10");
    assert_verdict(rig_verdict(rig, ten), SL_REASON_FRAGMENTED, 12, 32, 6);
    assert_verdict(rig_verdict(rig, rig_ask(MEM, 13)), SL_REASON_INSUFFICIENT, 12, 32, 0);
    assert_verdict(rig_verdict(rig, rig_ask(MEM, 20)), SL_REASON_EXCEEDS_DEVICE, 0, 32, 16);
    assert_verdict(rig_verdict(rig, rig_ask(MEM, 40)), SL_REASON_EXCEEDS_NODE, 0, 32, 0);
}

TEST_THAT(unit_of_a_gpu_may_be_all_it_has)
{
    struct rig *rig = rig_of_gpus(2, 1);
    struct sl_verdict v = rig_verdict(rig, rig_ask(MEM, 2));
    assert_int_equal(v.reason, SL_REASON_EXCEEDS_DEVICE);
    assert_int_equal(v.largest, 1);
}

TEST_THAT(pieces_are_named_before_a_failed_gpu)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask share = rig_ask(MEM, 1);
    rig_run(rig, share, MEM "=0*1");
    rig_run(rig, share, MEM "=1*1");
    rig->device[2].healthy = false;
    assert_int_equal(rig_verdict(rig, rig_ask(GPU, 1)).reason, SL_REASON_DEVICES_SHARED);
    assert_int_equal(rig_verdict(rig, rig_ask(GPU, 3)).reason, SL_REASON_UNHEALTHY);
}

TEST_THAT(whole_gpus_wait_for_the_pieces_in_use)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig_run(rig, rig_ask(MEM, 1), NULL);
    assert_verdict(rig_verdict(rig, rig_ask(GPU, 2)), SL_REASON_DEVICES_SHARED, 1, 2, 0);
}

TEST_THAT(pieces_are_seen_whichever_gpu_they_are_of)
{
    for (unsigned shared = 0; shared < 3; shared++) {
        struct rig *rig = rig_of_gpus(3, 16);
        struct sl_ask gpu = rig_ask(GPU, 1);
        struct sl_ask share = rig_ask(MEM, 4);
        for (unsigned i = 0; i < 3; i++) {
            char text[64];
            (void)snprintf(text, sizeof(text), i == shared ? MEM "=%u*4" : GPU "=%u", i);
            rig_run(rig, i == shared ? share : gpu, text);
        }
        assert_int_equal(rig_verdict(rig, gpu).reason, SL_REASON_DEVICES_SHARED);
        rig_free(rig);
    }
}

TEST_THAT(room_on_ill_devices_is_told_as_such)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig->device[1].healthy = false;
    struct sl_ask share = rig_ask(MEM, 16);
    assert_verdict(rig_verdict(rig, rig_ask(GPU, 2)), SL_REASON_UNHEALTHY, 1, 2, 0);
    assert_int_equal(rig_verdict(rig, share).reason, SL_REASON_FITS);
    rig_run(rig, share, MEM "=0*16");
    assert_verdict(rig_verdict(rig, share), SL_REASON_UNHEALTHY, 0, 32, 0);
}

TEST_THAT(items_that_fit_alone_but_not_together_even_when_empty_are_told_as_such)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask2(MEM, 1, GPU, 2);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_EXCEEDS_TOGETHER);
    ask.item[1].count = 1;
    rig_run(rig, rig_ask(GPU, 1), GPU "=0");
    assert_false(sl_reason_is_never(rig_verdict(rig, ask).reason));
}

/* ---- repartitioning by demand ---- */

/* One A30 with a 2g.12gb at 0 and two 1g.6gb at 2 and 3. */
static struct rig *dynamic_a30(void)
{
    struct rig *rig = rig_new();
    const struct sl_mig_model *a30 = rig_model("A30-24GB");
    rig->node.dynamic_mig = true;
    rig->node.model = a30;
    rig_pool(rig, MIG1, SL_KIND_MIG, 2);
    rig_pool(rig, MIG2, SL_KIND_MIG, 1);
    rig->pool[0].profile = rig_profile(a30, "1g.6gb");
    rig->pool[1].profile = rig_profile(a30, "2g.12gb");
    rig_device(rig, 0);
    rig->device[0].model = a30;
    rig_instance(rig, 0, 0, 1);
    rig_instance(rig, 0, 2, 0);
    rig_instance(rig, 0, 3, 0);
    return rig;
}

TEST_THAT(profile_not_offered_now_may_be_made)
{
    struct rig *rig = dynamic_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-4g.24gb", 1);
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_PARTITIONED);
    rig->node.dynamic_mig = false;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_OFFERED);
}

/* The kubelet compares names: a node makes the instance, but not under the name that was asked. */
TEST_THAT(profile_asked_under_another_name_is_told_with_the_nodes_own)
{
    struct rig *rig = dynamic_a30();
    static const struct {
        const char *asked;
        const char *text;
    } cases[] = {
        {"nvidia.com/mig-4g.23gb",
         "nvidia.com/mig-4g.23gb: 1 asked, this node's GPUs are not cut for it now; it offers that "
         "profile as nvidia.com/mig-4g.24gb"},
        {"nvidia.com/mig-4g.24gb",
         "nvidia.com/mig-4g.24gb: 1 asked, this node's GPUs are not cut for it now"},
        {"nvidia.com/mig-1g.6gb.me",
         "nvidia.com/mig-1g.6gb.me: 1 asked, this node's GPUs are not cut for it now"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        struct sl_ask ask = rig_ask(cases[i].asked, 1);
        struct sl_verdict v = rig_verdict(rig, ask);
        (void)sl_verdict_text(&v, &ask, NULL, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
    }
}

TEST_THAT(profile_of_another_model_is_not_offered)
{
    struct rig *rig = dynamic_a30();
    assert_int_equal(rig_verdict(rig, rig_ask("nvidia.com/mig-3g.20gb", 1)).reason,
                     SL_REASON_NOT_OFFERED);
}

TEST_THAT(more_than_any_partition_has_is_never)
{
    struct rig *rig = dynamic_a30();
    assert_verdict(rig_verdict(rig, rig_ask(MIG1, 5)), SL_REASON_EXCEEDS_NODE, 0, 4, 0);
    assert_verdict(rig_verdict(rig, rig_ask("nvidia.com/mig-4g.24gb", 2)), SL_REASON_EXCEEDS_NODE,
                   0, 1, 0);
}

TEST_THAT(what_is_not_offered_at_all_is_named_before_what_could_be_made)
{
    struct rig *rig = dynamic_a30();
    struct sl_ask ask = rig_ask2("nvidia.com/mig-4g.24gb", 1, "nvidia.com/mig-7g.80gb", 1);
    struct sl_verdict v = rig_verdict(rig, ask);
    assert_int_equal(v.reason, SL_REASON_NOT_OFFERED);
    assert_int_equal(v.item, 1);
    ask.n = 1;
    assert_int_equal(rig_verdict(rig, ask).reason, SL_REASON_NOT_PARTITIONED);
}

TEST_THAT(fewer_offered_than_free_room_allows_is_not_partitioned)
{
    struct rig *rig = dynamic_a30();
    struct sl_ask three = rig_ask(MIG1, 3);
    assert_verdict(rig_verdict(rig, three), SL_REASON_NOT_PARTITIONED, 2, 2, 0);
    rig_run(rig, rig_ask(MIG2, 1), MIG2 "=0/0");
    struct sl_verdict v = rig_verdict(rig, three);
    assert_int_equal(v.reason, SL_REASON_INSUFFICIENT);
    assert_int_equal(rig_verdict(rig, rig_ask(MIG1, 2)).reason, SL_REASON_FITS);
}

TEST_THAT(room_beside_instances_of_unknown_start_is_searched)
{
    struct rig *rig = dynamic_a30();
    for (unsigned i = 0; i < 3; i++) {
        rig->instance[i].start = -1;
    }
    struct sl_ask three = rig_ask(MIG1, 3);
    rig_run(rig, rig_ask(MIG1, 1), MIG1 "=0/#1");
    assert_false(rig_view(rig)->n_residents == 0 || rig->view->resident[0].assumed);
    assert_int_equal(rig_verdict(rig, three).reason, SL_REASON_NOT_PARTITIONED);
    three.item[0].count = 4;
    assert_int_equal(rig_verdict(rig, three).reason, SL_REASON_INSUFFICIENT);
}

/* A device that is not cut up can be, unless something of it is in use. */
TEST_THAT(room_to_partition_is_on_devices_that_nobody_uses)
{
    static const char *const users[] = {GPU, SHARED, MEM};
    struct sl_ask eight = rig_ask(MIG1, 8); /* four on each device */
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        struct rig *rig = dynamic_a30();
        struct sl_ask user = rig_ask(users[i], 1);
        unsigned pool = rig_pool(rig, users[i], user.item[0].kind, 4);
        rig->pool[pool].replicas = user.item[0].kind == SL_KIND_REPLICA ? 4 : 1;
        rig->device[rig_device(rig, 16)].model = rig->node.model;
        assert_int_equal(rig_verdict(rig, eight).reason, SL_REASON_NOT_PARTITIONED);
        rig_run(rig, user, NULL);
        assert_int_equal(rig_verdict(rig, eight).reason, SL_REASON_INSUFFICIENT);
        rig_free(rig);
    }
}

TEST_THAT(what_does_not_fit_is_assigned_nothing)
{
    struct rig *rig = rig_of_gpus(1, 16);
    struct sl_ask malformed = {.malformed = true};
    struct sl_ask none = {0};
    struct sl_ask two = rig_ask(GPU, 2);
    const struct sl_ask *asks[] = {&malformed, &none, &two};
    for (size_t i = 0; i < 3; i++) {
        struct sl_assignment assignment = {.n = 7};
        (void)sl_choose(rig_view(rig), asks[i], &assignment, NULL);
        assert_int_equal(assignment.n, 0);
    }
}

TEST_THAT(one_gpu_waits_for_the_pieces_of_one)
{
    struct rig *rig = rig_of_gpus(1, 16);
    rig_run(rig, rig_ask(MEM, 1), MEM "=0*1");
    assert_int_equal(rig_verdict(rig, rig_ask(GPU, 1)).reason, SL_REASON_DEVICES_SHARED);
}
