/* What a view says is in use: residents with their assignments, assumed ones, over-commitment. */
#include "unit/core/rig.h"

#include "core/place/choose.h"
#include "sliced/constraint.h"
#include "sliced/score.h"

TEST_FIXTURE(NULL, rig_free_all)

#define GPU    "nvidia.com/gpu"
#define MEM    "aliyun.com/gpu-mem"
#define SHARED "nvidia.com/gpu.shared"

static struct rig *two_a30(void)
{
    struct rig *rig = rig_new();
    unsigned pool = rig_pool(rig, "nvidia.com/mig-1g.6gb", SL_KIND_MIG, 8);
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 0);
        for (int start = 0; start < 4; start++) {
            rig_instance(rig, d, start, pool);
        }
    }
    return rig;
}

TEST_THAT(empty_node_has_everything_free)
{
    struct rig *rig = rig_of_gpus(4, 16);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(sl_view_free_units(view, 0), 64);
    assert_int_equal(sl_view_free_units(view, 1), 4);
    assert_int_equal(view->room[0].largest, 16);
    assert_int_equal(view->n_residents, 0);
}

TEST_THAT(whole_gpu_takes_the_memory_of_its_device)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig_run(rig, rig_ask(GPU, 1), GPU "=1");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->device[1].whole);
    assert_int_equal(sl_view_free_units(view, 0), 16);
    assert_int_equal(sl_view_free_units(view, 1), 1);
}

TEST_THAT(memory_share_takes_the_whole_gpu_away)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig_run(rig, rig_ask(MEM, 3), MEM "=0*3");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->device[0].memory_units, 3);
    assert_int_equal(sl_view_free_units(view, 0), 29);
    assert_int_equal(view->room[0].largest, 16);
    assert_int_equal(sl_view_free_units(view, 1), 1);
}

TEST_THAT(assigned_pods_are_placed_before_older_ones_without_assignment)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, ask, NULL);
    rig_run(rig, ask, GPU "=0");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->resident[0].assumed);
    assert_int_equal(view->part[view->resident[0].first_part].device, 1);
    assert_false(view->resident[1].assumed);
    assert_int_equal(view->part[view->resident[1].first_part].device, 0);
}

TEST_THAT(residents_are_in_order_of_creation_then_uid)
{
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, ask, NULL)->created_us = 7;
    rig_run(rig, ask, NULL)->created_us = 5;
    rig_run(rig, ask, NULL)->created_us = 5;
    const struct sl_view *view = rig_view(rig);
    assert_string_equal(view->resident[0].pod->uid, "u1");
    assert_string_equal(view->resident[1].pod->uid, "u2");
    assert_string_equal(view->resident[2].pod->uid, "u0");
    assert_int_equal(view->part[view->resident[2].first_part].device, 2);
}

TEST_THAT(order_of_the_list_makes_no_difference)
{
    struct rig *rig = two_a30();
    struct sl_pod *pods[5];
    struct sl_pod *turned[5];
    for (unsigned i = 0; i < 5; i++) {
        pods[i] = rig_run(rig, rig_ask("nvidia.com/mig-1g.6gb", 1),
                          i == 3 ? "nvidia.com/mig-1g.6gb=0/1" : NULL);
        pods[i]->created_us = i / 3; /* some at one time: their UIDs decide */
        turned[4 - i] = pods[i];
    }
    struct sl_view *a = sl_view_new(&rig->node, pods, 5);
    struct sl_view *b = sl_view_new(&rig->node, turned, 5);
    assert_memory_equal(a->instance_used, b->instance_used, 8 * sizeof a->instance_used[0]);
    for (unsigned i = 0; i < 5; i++) {
        assert_ptr_equal(a->resident[i].pod, b->resident[i].pod);
        assert_int_equal(a->part[a->resident[i].first_part].instance,
                         b->part[b->resident[i].first_part].instance);
    }
    sl_view_free(a);
    sl_view_free(b);
}

TEST_THAT(pods_that_hold_nothing_here_are_passed_over)
{
    struct rig *rig = rig_of_gpus(6, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, ask, NULL)->phase = SL_POD_SUCCEEDED;
    rig_run(rig, ask, NULL)->phase = SL_POD_FAILED;
    rig_run(rig, ask, NULL)->node = NULL;
    rig_run(rig, ask, NULL)->node = "node-2";
    rig_run(rig, ask, NULL)->n_items = 0;
    rig_run(rig, ask, NULL)->deleting = true; /* its containers may still run */
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    assert_int_equal(view->pool_used[1], 1);
}

TEST_THAT(second_nomination_to_one_place_is_assumed_elsewhere)
{
    struct rig *rig = two_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.6gb", 1);
    rig_run(rig, ask, "nvidia.com/mig-1g.6gb=1/2");
    rig_run(rig, ask, "nvidia.com/mig-1g.6gb=1/2");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_true(view->resident[1].assumed);
    assert_int_equal(view->instance_used[6], 1);
    assert_int_equal(view->instance_used[4], 1);
    assert_int_equal(view->device[1].instances, 2);
    assert_int_equal(sl_view_free_units(view, 0), 6);
}

TEST_THAT(half_usable_assignment_is_not_used_at_all)
{
    struct rig *rig = rig_of_gpus(4, 16);
    rig_run(rig, rig_ask(GPU, 1), GPU "=3");
    rig_run(rig, rig_ask(GPU, 2), GPU "=2,3");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->resident[1].assumed);
    assert_true(view->device[0].whole);
    assert_true(view->device[1].whole);
    assert_false(view->device[2].whole);
}

TEST_THAT(over_commitment_counts_in_the_pool_and_frees_nothing)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig_run(rig, rig_ask(GPU, 3), NULL);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->pool_used[1], 3);
    assert_int_equal(view->resident[0].n_parts, 2);
    assert_int_equal(sl_view_free_units(view, 1), 0);
    assert_int_equal(sl_view_free_units(view, 0), 0);
}

TEST_THAT(over_committed_memory_never_underflows)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(MEM, 12);
    rig_run(rig, ask, MEM "=0*12");
    rig_run(rig, ask, MEM "=0*12");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->device[0].memory_units, 24);
    assert_false(view->resident[1].assumed);
    assert_int_equal(view->pool_used[0], 24);
    assert_int_equal(sl_view_free_units(view, 0), 8);
    assert_int_equal(view->room[0].largest, 8);
    struct sl_ask more = rig_ask(MEM, 9);
    assert_false(sl_fit(view, &more, NULL));
}

TEST_THAT(huge_counts_do_not_overflow)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig->pool[1].on_devices = false;
    rig->pool[1].capacity = INT64_MAX;
    for (unsigned i = 0; i < 8; i++) {
        rig_run(rig, rig_ask2(MEM, INT64_MAX, GPU, INT64_MAX),
                i % 2 == 0 ? NULL : MEM "=0*9223372036854775807;" GPU "=?*1");
    }
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(sl_view_free_units(view, 0), 0);
    assert_true(view->pool_used[1] > 0);
}

TEST_THAT(share_that_no_device_has_room_for_is_on_several)
{
    struct rig *rig = rig_of_gpus(3, 16);
    rig_run(rig, rig_ask(MEM, 40), NULL);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->pool_used[0], 40);
    assert_int_equal(sl_view_free_units(view, 0), 8);
    assert_int_equal(sl_view_free_units(view, 1), 0); /* none of them is free as a whole */
    assert_int_equal(view->n_parts, 3);
    assert_true(view->n_parts > 1); /* more than room was made for beforehand */
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, view);
    sl_scratch_remove(&scratch, 0);
    assert_int_equal(scratch.pool_used[0], 0);
    assert_int_equal(scratch.device[0].memory_units + scratch.device[1].memory_units +
                         scratch.device[2].memory_units,
                     0);
}

/* A pod has more resources than an ask may have: what the node has of them counts. */
TEST_THAT(all_that_a_pod_holds_counts_however_much_it_names)
{
    enum { NAMES = 12 };
    struct rig *rig = rig_new();
    struct sl_ask_item items[NAMES];
    static char name[NAMES][32];
    struct sl_ask none = {.n = 0};
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name[i], sizeof name[i], "nvidia.com/mig-x%02u", i);
        items[i] = rig_item(name[i], 1 + i);
        if (i % 2 == 1) {
            rig->pool[rig_pool(rig, name[i], SL_KIND_MIG, 20)].on_devices = false;
        }
    }
    struct sl_pod *pod = rig_run(rig, none, NULL);
    pod->items = items;
    pod->n_items = NAMES;
    pod->malformed = "more than 8";
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    for (unsigned i = 0; i < view->n_pools; i++) {
        assert_int_equal(view->pool_used[i], 2 + 2 * i);
        assert_int_equal(sl_view_free_units(view, i), 18 - 2 * i);
    }
}

TEST_THAT(pods_stay_on_a_device_that_falls_ill)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig->device[0].healthy = false;
    rig_run(rig, rig_ask(GPU, 1), GPU "=0");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_true(view->device[0].whole);
    assert_int_equal(sl_view_free_units(view, 1), 1);
}

TEST_THAT(assumed_pods_take_healthy_devices_first_and_ill_ones_last)
{
    struct rig *rig = rig_of_gpus(3, 16);
    rig->device[0].healthy = false;
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, ask, NULL);
    assert_false(rig_view(rig)->device[0].whole);
    rig_run(rig, ask, NULL);
    rig_run(rig, ask, NULL);
    assert_true(rig_view(rig)->device[0].whole);
    assert_int_equal(sl_view_free_units(rig->view, 1), 0);
}

TEST_THAT(resource_that_the_node_lost_is_no_part_of_the_view)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig_run(rig, rig_ask2(GPU, 1, "nvidia.com/mig-1g.5gb", 2),
            GPU "=0;nvidia.com/mig-1g.5gb=1/0,1/1");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    assert_int_equal(view->resident[0].n_parts, 1);
    assert_int_equal(view->pool_used[1], 1);
}

TEST_THAT(scratch_without_a_resident_is_the_view_without_it)
{
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask whole = rig_ask(GPU, 2); /* one of them has no place */
    rig_run(rig, rig_ask(MEM, 5), MEM "=0*5");
    rig_run(rig, whole, NULL);
    struct sl_scratch scratch;
    sl_scratch_init(&scratch, rig_view(rig));
    assert_int_equal(scratch.pool_used[1], 2);
    sl_scratch_remove(&scratch, 1);
    assert_int_equal(scratch.pool_used[1], 0);
    assert_int_equal(scratch.pool_used[0], 5);
    assert_false(scratch.device[1].whole);
    sl_scratch_remove(&scratch, 0);
    assert_int_equal(scratch.device[0].memory_units, 0);
    assert_int_equal(rig->view->pool_used[1], 2);
}

TEST_THAT(counted_pools_need_no_devices)
{
    struct rig *rig = rig_new();
    rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
    rig->pool[0].on_devices = false;
    rig_run(rig, rig_ask(GPU, 3), GPU "=0,1,2");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_int_equal(view->resident[0].n_parts, 1);
    assert_int_equal(view->part[0].device, -1);
    assert_int_equal(view->part[0].amount, 3);
    assert_int_equal(sl_view_free_units(view, 0), 1);
}

TEST_THAT(next_unit_is_where_the_choice_puts_it)
{
    struct rig *rig = two_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.6gb", 1);
    for (unsigned i = 0; i < 8; i++) {
        struct sl_assignment assignment;
        const struct sl_view *view = rig_view(rig);
        assert_true(sl_choose(view, &ask, &assignment, NULL));
        assert_int_equal(view->room[0].next_device, assignment.part[0].device);
        assert_int_equal(sl_view_free_units(view, 0), 8 - i);
        rig_run(rig, ask, NULL);
    }
    assert_int_equal(rig_view(rig)->room[0].next_device, -1);
}

/* ---- CPU and memory of all that stands there ---- */

TEST_THAT(requests_of_all_pods_that_stand_on_the_node_count)
{
    struct rig *rig = rig_of_gpus(4, 16);
    const struct sl_constraints large = {.cpu_milli = 1000, .memory_bytes = 300};
    const struct sl_constraints small = {.cpu_milli = 20, .memory_bytes = 4};
    const struct sl_host_use others = {.cpu_milli = 5, .memory_bytes = 7, .n_pods = 2};
    struct sl_ask gpu = rig_ask(GPU, 1);
    struct sl_ask nothing = {.n = 0};
    struct sl_pod *pods[5];
    pods[0] = rig_run(rig, gpu, NULL);
    pods[0]->constraints = &large;
    pods[1] = rig_run(rig, nothing, NULL);
    pods[1]->constraints = &small;
    pods[2] = rig_run(rig, gpu, NULL);
    pods[3] = rig_run(rig, gpu, NULL);
    pods[3]->constraints = &large;
    pods[3]->phase = SL_POD_SUCCEEDED;
    pods[4] = rig_run(rig, gpu, NULL);
    pods[4]->constraints = &large;
    pods[4]->node = "node-2";
    struct sl_view *view = sl_view_new_beside(&rig->node, pods, 5, &others);
    assert_int_equal(view->cpu_milli, 1025);
    assert_int_equal(view->memory_bytes, 311);
    assert_int_equal(view->n_pods, 5);
    sl_view_free(view);
}

/* ---- the summary of idle GPUs ---- */

TEST_THAT(gaps_are_counted_in_units_of_memory_where_devices_are_alike)
{
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask whole = rig_ask(GPU, 1);
    rig_run(rig, rig_ask(MEM, 5), MEM "=1*5");
    rig_run(rig, whole, GPU "=2");
    rig->device[3].healthy = false;
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->idle.whole, 1);
    assert_int_equal(view->idle.pools, 3);
    assert_int_equal(view->idle.n_devices, 4);
    assert_int_equal(view->idle.units, 16);
    assert_int_equal(view->idle.steps, 16);
    assert_int_equal(view->idle.cpu_milli, -1);
    assert_int_equal(view->gap[0], 16);
    assert_int_equal(view->gap[1], 11);
    assert_int_equal(view->gap[2], 0);
    assert_int_equal(view->gap[3], 0);
    rig->device[2].memory_units = 24; /* one is larger */
    assert_int_equal(rig_view(rig)->idle.steps, 0);
}

TEST_THAT(where_units_stand_on_no_devices_there_are_no_gaps)
{
    struct rig *rig = rig_of_gpus(2, 16);
    rig->pool[1].kind = SL_KIND_MEMORY; /* nobody gives a whole GPU away */
    assert_int_equal(rig_view(rig)->idle.whole, -1);
    assert_int_equal(rig->view->idle.steps, 16);
    rig->pool[0].on_devices = false;
    assert_int_equal(rig_view(rig)->idle.steps, 0);
}

TEST_THAT(gaps_are_what_replicas_leave_too)
{
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask one = rig_ask(SHARED, 1);
    rig->pool[rig_pool(rig, SHARED, SL_KIND_REPLICA, 12)].replicas = 4;
    rig_run(rig, one, SHARED "=0");
    rig_run(rig, one, SHARED "=1");
    rig_run(rig, rig_ask(MEM, 6), MEM "=1*6");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->idle.replicas, 4);
    assert_int_equal(view->idle.units, 16);
    assert_int_equal(view->idle.whole, 1);
    assert_int_equal(view->gap[0], 12);
    assert_int_equal(view->gap[1], 10);
    assert_int_equal(view->gap[2], 16);
}

static int32_t gap(int64_t units, int32_t replicas, struct sl_device_use use)
{
    const struct sl_device device = {.healthy = true};
    return sl_idle_gap(&device, &use, units, replicas);
}

TEST_THAT(gap_is_the_smaller_of_what_memory_and_replicas_leave)
{
    const int64_t huge = INT64_C(1) << 62;
    assert_int_equal(sl_idle_steps(16, 0), 16);
    assert_int_equal(sl_idle_steps(0, 4), 4);
    assert_int_equal(sl_idle_steps(1, 0), 100); /* one step would be no measure */
    assert_int_equal(sl_idle_steps(2, 0), 2);
    assert_int_equal(sl_idle_steps(SL_IDLE_STEPS, 0), SL_IDLE_STEPS);
    assert_int_equal(sl_idle_steps(SL_IDLE_STEPS + 1, 0), 100);
    assert_int_equal(gap(16, 0, (struct sl_device_use){.memory_units = 4}), 12);
    assert_int_equal(gap(16, 0, (struct sl_device_use){.memory_units = 16}), 0);
    assert_int_equal(gap(16, 0, (struct sl_device_use){.memory_units = 17}), 0);
    assert_int_equal(gap(huge, 0, (struct sl_device_use){.memory_units = huge / 4}), 75);
    assert_int_equal(gap(0, 4, (struct sl_device_use){.replicas = 1}), 3);
    assert_int_equal(gap(0, 4, (struct sl_device_use){.replicas = 5}), 0);
    assert_int_equal(gap(16, 4, (struct sl_device_use){.replicas = 1}), 12);
    assert_int_equal(gap(16, 4, (struct sl_device_use){.replicas = 1, .memory_units = 6}), 10);
    assert_int_equal(gap(16, 4, (struct sl_device_use){.replicas = 3, .memory_units = 6}), 4);
    assert_int_equal(gap(16, 4, (struct sl_device_use){.instances = 1}), 0);
}

TEST_THAT(shares_on_several_devices_make_room_as_often_as_need_be)
{
    struct rig *rig = rig_of_gpus(12, 16);
    for (unsigned i = 0; i < 3; i++) {
        rig_run(rig, rig_ask(MEM, 60), NULL);
    }
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_parts, 12);
    assert_int_equal(sl_view_free_units(view, 0), 12);
    for (unsigned i = 0; i < view->n_residents; i++) {
        int64_t sum = 0;
        for (unsigned k = 0; k < view->resident[i].n_parts; k++) {
            sum += view->part[view->resident[i].first_part + k].amount;
        }
        assert_int_equal(sum, 60);
    }
}

TEST_THAT(devices_behind_those_measured_count_as_not_measured)
{
    struct rig *rig = rig_of_gpus(3, 8);
    rig->measured[0] = (struct sl_measured){.used_mib = 7, .room_mib = -1, .load = -1};
    rig->n_measured = 1;
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->measured[0].used_mib, 7);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(view->measured[i].used_mib, sl_measured_none.used_mib);
        assert_int_equal(view->measured[i].room_mib, sl_measured_none.room_mib);
        assert_int_equal(view->measured[i].load, sl_measured_none.load);
    }
}

TEST_THAT(units_that_are_only_set_aside_are_told_by_pool)
{
    struct rig *rig = rig_of_gpus(3, 8);
    struct sl_ask gpu = rig_ask("nvidia.com/gpu", 1);
    rig_run(rig, gpu, NULL)->set_aside = true;
    rig_run(rig, rig_ask("aliyun.com/gpu-mem", 5), NULL)->set_aside = true;
    rig_run(rig, gpu, NULL);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(sl_view_set_aside_units(view, 0), 5);
    assert_int_equal(sl_view_set_aside_units(view, 1), 1);
}
