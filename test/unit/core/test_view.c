/* What a view says is in use: residents with their assignments, assumed ones, over-commitment. */
#include "rig.h"

#define GPU "nvidia.com/gpu"
#define MEM "aliyun.com/gpu-mem"

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

static void empty_node_has_everything_free(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(4, 16);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(sl_view_free_units(view, 0), 64);
    assert_int_equal(sl_view_free_units(view, 1), 4);
    assert_int_equal(view->room[0].largest, 16);
    assert_int_equal(view->n_residents, 0);
    rig_free(rig);
}

static void whole_gpu_takes_the_memory_of_its_device(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, GPU "=1");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->device[1].whole);
    assert_int_equal(sl_view_free_units(view, 0), 16);
    assert_int_equal(sl_view_free_units(view, 1), 1);
    rig_free(rig);
}

static void memory_share_takes_the_whole_gpu_away(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(MEM, 3);
    rig_run(rig, &ask, MEM "=0*3");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->device[0].memory_units, 3);
    assert_int_equal(sl_view_free_units(view, 0), 29);
    assert_int_equal(view->room[0].largest, 16);
    assert_int_equal(sl_view_free_units(view, 1), 1);
    rig_free(rig);
}

static void assigned_pods_are_placed_before_older_ones_without_assignment(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, NULL);
    rig_run(rig, &ask, GPU "=0");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->resident[0].assumed);
    assert_int_equal(view->part[view->resident[0].first_part].device, 1);
    assert_false(view->resident[1].assumed);
    assert_int_equal(view->part[view->resident[1].first_part].device, 0);
    rig_free(rig);
}

static void residents_are_in_order_of_creation_then_uid(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, NULL)->created_us = 7;
    rig_run(rig, &ask, NULL)->created_us = 5;
    rig_run(rig, &ask, NULL)->created_us = 5;
    const struct sl_view *view = rig_view(rig);
    assert_string_equal(view->resident[0].pod->uid, "u1");
    assert_string_equal(view->resident[1].pod->uid, "u2");
    assert_string_equal(view->resident[2].pod->uid, "u0");
    assert_int_equal(view->part[view->resident[2].first_part].device, 2);
    rig_free(rig);
}

static void order_of_the_list_makes_no_difference(void **state)
{
    (void)state;
    struct rig *rig = two_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_pod *pods[5];
    struct sl_pod *turned[5];
    for (unsigned i = 0; i < 5; i++) {
        pods[i] = rig_run(rig, &ask, i == 3 ? "nvidia.com/mig-1g.6gb=0/1" : NULL);
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
    rig_free(rig);
}

static void pods_that_hold_nothing_here_are_passed_over(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(6, 16);
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, NULL)->phase = SL_POD_SUCCEEDED;
    rig_run(rig, &ask, NULL)->phase = SL_POD_FAILED;
    rig_run(rig, &ask, NULL)->node = NULL;
    rig_run(rig, &ask, NULL)->node = "node-2";
    rig_run(rig, &ask, NULL)->n_items = 0;
    rig_run(rig, &ask, NULL)->deleting = true; /* its containers may still run */
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    assert_int_equal(view->pool_used[1], 1);
    rig_free(rig);
}

static void second_claim_to_one_place_is_assumed_elsewhere(void **state)
{
    (void)state;
    struct rig *rig = two_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.6gb", 1);
    rig_run(rig, &ask, "nvidia.com/mig-1g.6gb=1/2");
    rig_run(rig, &ask, "nvidia.com/mig-1g.6gb=1/2");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_true(view->resident[1].assumed);
    assert_int_equal(view->instance_used[6], 1);
    assert_int_equal(view->instance_used[4], 1);
    assert_int_equal(view->device[1].instances, 2);
    assert_int_equal(sl_view_free_units(view, 0), 6);
    rig_free(rig);
}

static void half_usable_assignment_is_not_used_at_all(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(4, 16);
    struct sl_ask one = rig_ask(GPU, 1);
    struct sl_ask two = rig_ask(GPU, 2);
    rig_run(rig, &one, GPU "=3");
    rig_run(rig, &two, GPU "=2,3");
    const struct sl_view *view = rig_view(rig);
    assert_true(view->resident[1].assumed);
    assert_true(view->device[0].whole);
    assert_true(view->device[1].whole);
    assert_false(view->device[2].whole);
    rig_free(rig);
}

static void over_commitment_counts_in_the_pool_and_frees_nothing(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(GPU, 3);
    rig_run(rig, &ask, NULL);
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->pool_used[1], 3);
    assert_int_equal(view->resident[0].n_parts, 2);
    assert_int_equal(sl_view_free_units(view, 1), 0);
    assert_int_equal(sl_view_free_units(view, 0), 0);
    rig_free(rig);
}

static void over_committed_memory_never_underflows(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask(MEM, 12);
    rig_run(rig, &ask, MEM "=0*12");
    rig_run(rig, &ask, MEM "=0*12");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->device[0].memory_units, 24);
    assert_false(view->resident[1].assumed);
    assert_int_equal(view->pool_used[0], 24);
    assert_int_equal(sl_view_free_units(view, 0), 8);
    assert_int_equal(view->room[0].largest, 8);
    struct sl_ask more = rig_ask(MEM, 9);
    assert_false(sl_fit(view, &more, NULL));
    rig_free(rig);
}

static void huge_counts_do_not_overflow(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    rig->pool[1].on_devices = false;
    rig->pool[1].capacity = INT64_MAX;
    struct sl_ask ask = rig_ask2(MEM, INT64_MAX, GPU, INT64_MAX);
    for (unsigned i = 0; i < 8; i++) {
        rig_run(rig, &ask, i % 2 == 0 ? NULL : MEM "=0*9223372036854775807;" GPU "=?*1");
    }
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(sl_view_free_units(view, 0), 0);
    assert_true(view->pool_used[1] > 0);
    rig_free(rig);
}

static void share_that_no_device_has_room_for_is_on_several(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(3, 16);
    struct sl_ask ask = rig_ask(MEM, 40);
    rig_run(rig, &ask, NULL);
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
    rig_free(rig);
}

/* A pod has more resources than an ask may have: what the node has of them counts. */
static void all_that_a_pod_holds_counts_however_much_it_names(void **state)
{
    (void)state;
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
    struct sl_pod *pod = rig_run(rig, &none, NULL);
    pod->items = items;
    pod->n_items = NAMES;
    pod->malformed = "more than 8";
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    for (unsigned i = 0; i < view->n_pools; i++) {
        assert_int_equal(view->pool_used[i], 2 + 2 * i);
        assert_int_equal(sl_view_free_units(view, i), 18 - 2 * i);
    }
    rig_free(rig);
}

static void pods_stay_on_a_device_that_falls_ill(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    rig->device[0].healthy = false;
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, GPU "=0");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_true(view->device[0].whole);
    assert_int_equal(sl_view_free_units(view, 1), 1);
    rig_free(rig);
}

static void assumed_pods_take_healthy_devices_first_and_ill_ones_last(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(3, 16);
    rig->device[0].healthy = false;
    struct sl_ask ask = rig_ask(GPU, 1);
    rig_run(rig, &ask, NULL);
    assert_false(rig_view(rig)->device[0].whole);
    rig_run(rig, &ask, NULL);
    rig_run(rig, &ask, NULL);
    assert_true(rig_view(rig)->device[0].whole);
    assert_int_equal(sl_view_free_units(rig->view, 1), 0);
    rig_free(rig);
}

static void resource_that_the_node_lost_is_no_part_of_the_view(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask ask = rig_ask2(GPU, 1, "nvidia.com/mig-1g.5gb", 2);
    rig_run(rig, &ask, GPU "=0;nvidia.com/mig-1g.5gb=1/0,1/1");
    const struct sl_view *view = rig_view(rig);
    assert_int_equal(view->n_residents, 1);
    assert_int_equal(view->resident[0].n_parts, 1);
    assert_int_equal(view->pool_used[1], 1);
    rig_free(rig);
}

static void scratch_without_a_resident_is_the_view_without_it(void **state)
{
    (void)state;
    struct rig *rig = rig_of_gpus(2, 16);
    struct sl_ask whole = rig_ask(GPU, 2); /* one of them has no place */
    struct sl_ask share = rig_ask(MEM, 5);
    rig_run(rig, &share, MEM "=0*5");
    rig_run(rig, &whole, NULL);
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
    rig_free(rig);
}

static void counted_pools_need_no_devices(void **state)
{
    (void)state;
    struct rig *rig = rig_new();
    rig_pool(rig, GPU, SL_KIND_WHOLE, 4);
    rig->pool[0].on_devices = false;
    struct sl_ask ask = rig_ask(GPU, 3);
    rig_run(rig, &ask, GPU "=0,1,2");
    const struct sl_view *view = rig_view(rig);
    assert_false(view->resident[0].assumed);
    assert_int_equal(view->resident[0].n_parts, 1);
    assert_int_equal(view->part[0].device, -1);
    assert_int_equal(view->part[0].amount, 3);
    assert_int_equal(sl_view_free_units(view, 0), 1);
    rig_free(rig);
}

static void next_unit_is_where_the_choice_puts_it(void **state)
{
    (void)state;
    struct rig *rig = two_a30();
    struct sl_ask ask = rig_ask("nvidia.com/mig-1g.6gb", 1);
    for (unsigned i = 0; i < 8; i++) {
        struct sl_assignment assignment;
        const struct sl_view *view = rig_view(rig);
        assert_true(sl_choose(view, &ask, &assignment, NULL));
        assert_int_equal(view->room[0].next_device, assignment.part[0].device);
        assert_int_equal(sl_view_free_units(view, 0), 8 - i);
        rig_run(rig, &ask, NULL);
    }
    assert_int_equal(rig_view(rig)->room[0].next_device, -1);
    rig_free(rig);
}

/* ---- the digest ---- */

/* Has something of everything that a digest covers. */
static struct rig *rig_of_all(void)
{
    const struct sl_mig_model *model = rig_model("A30-24GB");
    struct rig *rig = rig_new();
    struct sl_ask mig = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_ask share = rig_ask(MEM, 3);
    rig->node.model = model;
    rig_pool(rig, MEM, SL_KIND_MEMORY, 16);
    rig_pool(rig, "nvidia.com/mig-1g.6gb", SL_KIND_MIG, 4);
    rig->pool[1].profile = rig_profile(model, "1g.6gb");
    for (unsigned d = 0; d < 2; d++) {
        rig_device(rig, 8);
        rig->device[d].model = model;
    }
    for (int start = 0; start < 4; start++) {
        rig_instance(rig, 0, start, 1);
    }
    rig_run(rig, &mig, NULL);
    rig_run(rig, &share, NULL);
    return rig;
}

/* One change each. */
static void change(struct rig *rig, unsigned which)
{
    struct sl_ask mig = rig_ask("nvidia.com/mig-1g.6gb", 1);
    struct sl_ask share = rig_ask(MEM, 1);
    switch (which) {
    case 0:
        rig->node.dynamic_mig = true;
        break;
    case 1:
        rig->node.model = NULL;
        break;
    case 2:
        rig->node.n_devices = 1;
        break;
    case 3:
        rig->pool[0].key++;
        break;
    case 4:
        rig->pool[0].capacity++;
        break;
    case 5:
        rig->pool[1].kind = SL_KIND_REPLICA;
        break;
    case 6:
        rig->pool[1].replicas = 2;
        break;
    case 7:
        rig->pool[1].on_devices = false;
        break;
    case 8:
        rig->pool[1].profile = NULL;
        break;
    case 9:
        rig->device[1].healthy = false;
        break;
    case 10:
        rig->device[1].mig = true;
        break;
    case 11:
        rig->device[1].memory_units++;
        break;
    case 12:
        rig->device[1].model = rig_model("A100-40GB / A800-40GB");
        break;
    case 13:
        rig->instance[3].profile = NULL;
        break;
    case 14:
        rig->instance[3].start = -1;
        break;
    case 15:
        rig->instance[3].device = 1;
        break;
    case 16:
        rig->instance[3].pool = 0;
        break;
    case 17:
        rig_run(rig, &mig, NULL);
        break;
    case 18:
        rig_run(rig, &share, NULL);
        break;
    default:
        rig->pods[0].pod.assignment = "nvidia.com/mig-1g.6gb=0/2"; /* elsewhere on the device */
        break;
    }
}

enum { CHANGES = 20 };

static void digest_differs_in_all_that_scores_read(void **state)
{
    (void)state;
    uint64_t digest[CHANGES + 1];
    struct rig *rig = rig_of_all();
    digest[CHANGES] = rig_view(rig)->digest;
    rig_free(rig);
    for (unsigned i = 0; i < CHANGES; i++) {
        rig = rig_of_all();
        change(rig, i);
        digest[i] = rig_view(rig)->digest;
        rig_free(rig);
    }
    for (unsigned i = 0; i <= CHANGES; i++) {
        assert_int_not_equal(digest[i], 0);
        for (unsigned k = 0; k < i; k++) {
            if (digest[i] == digest[k]) {
                fail_msg("changes %u and %u have one digest", k, i);
            }
        }
    }
}

static void equal_nodes_have_one_digest_whatever_their_names_and_pods(void **state)
{
    (void)state;
    struct rig *a = rig_of_all();
    struct rig *b = rig_of_all();
    b->node.product = "NVIDIA-A30";
    b->device[0].uuid = "GPU-1";
    b->pods[0].pod.namespace = "other";
    b->pods[0].pod.name = "other";
    b->pods[1].pod.created_us = 99;
    assert_int_equal(rig_view(a)->digest, rig_view(b)->digest);
    rig_free(a);
    rig_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_node_has_everything_free),
        cmocka_unit_test(whole_gpu_takes_the_memory_of_its_device),
        cmocka_unit_test(memory_share_takes_the_whole_gpu_away),
        cmocka_unit_test(assigned_pods_are_placed_before_older_ones_without_assignment),
        cmocka_unit_test(residents_are_in_order_of_creation_then_uid),
        cmocka_unit_test(order_of_the_list_makes_no_difference),
        cmocka_unit_test(pods_that_hold_nothing_here_are_passed_over),
        cmocka_unit_test(second_claim_to_one_place_is_assumed_elsewhere),
        cmocka_unit_test(half_usable_assignment_is_not_used_at_all),
        cmocka_unit_test(over_commitment_counts_in_the_pool_and_frees_nothing),
        cmocka_unit_test(over_committed_memory_never_underflows),
        cmocka_unit_test(huge_counts_do_not_overflow),
        cmocka_unit_test(share_that_no_device_has_room_for_is_on_several),
        cmocka_unit_test(all_that_a_pod_holds_counts_however_much_it_names),
        cmocka_unit_test(pods_stay_on_a_device_that_falls_ill),
        cmocka_unit_test(assumed_pods_take_healthy_devices_first_and_ill_ones_last),
        cmocka_unit_test(resource_that_the_node_lost_is_no_part_of_the_view),
        cmocka_unit_test(scratch_without_a_resident_is_the_view_without_it),
        cmocka_unit_test(counted_pools_need_no_devices),
        cmocka_unit_test(next_unit_is_where_the_choice_puts_it),
        cmocka_unit_test(digest_differs_in_all_that_scores_read),
        cmocka_unit_test(equal_nodes_have_one_digest_whatever_their_names_and_pods),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
