/* Cuts: what is given on a node while its GPUs are cut (nothing), what keeps a cut from beginning,
 * and when a node is given out again. */
#include "unit/cluster/fixture.h"

#include "sliced/fit.h"

/* Two A30, which the annotation lists: GPU 0 has four slices of 1g.6gb, GPU 1 two of 2g.12gb.
 * allocatable as told; NULL: as listed. cut: annotation sliced.dev/cut, NULL: none. */
static struct sl_node *annotated_node(const char *slices, const char *halves, const char *cut)
{
    struct sl_pair label[3];
    label[0] = pair_of("nvidia.com/gpu.product", "NVIDIA-A30", NULL);
    label[1] = pair_of("nvidia.com/gpu.memory", "24576", &label[0]);
    label[2] = pair_of("nvidia.com/mig.strategy", "mixed", &label[1]);
    struct sl_pair allocatable[2];
    allocatable[0] = pair_of(SLICE, slices == NULL ? "4" : slices, NULL);
    allocatable[1] = pair_of(HALF, halves == NULL ? "2" : halves, &allocatable[0]);
    struct sl_pair annotation = pair_of("sliced.dev/cut", cut, NULL);
    struct sl_instance_facts instance[6];
    for (int i = 0; i < 6; i++) {
        instance[i] = (struct sl_instance_facts){
            .profile = i < 4 ? SL_STR("1g.6gb") : SL_STR("2g.12gb"),
            .start = i < 4 ? i : 2 * (i - 4),
            .next = i == 3 || i == 5 ? NULL : &instance[i + 1],
        };
    }
    struct sl_device_facts device[2] = {
        {.index = 0, .mig = true, .instances = &instance[0], .next = &device[1]},
        {.index = 1, .mig = true, .instances = &instance[4]},
    };
    const struct sl_node_facts facts = {.name = SL_STR("gpu-1"),
                                        .labels = &label[2],
                                        .allocatable = &allocatable[1],
                                        .annotations = cut == NULL ? NULL : &annotation,
                                        .devices = &device[0],
                                        .actuator = SL_ACTUATOR_MIG_MANAGER};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    return node;
}

/* Cuts GPU 1 of annotated_node into one 4g.24gb. */
static bool begin(struct sl_store *store, char *reason, size_t size)
{
    const struct sl_mig_model *a30 = sl_mig_model_find(SL_STR("NVIDIA-A30"), 0);
    const struct sl_mig_profile *whole = sl_mig_profile_find(a30, SL_STR("4g.24gb"));
    const struct sl_cut cut = {
        .device = 1, .n = 1, .instance = {{(uint8_t)(whole - a30->profiles), 0}}};
    reason[0] = '\0';
    return sl_store_cut_begin(store, SL_STR("gpu-1"), &cut, 1, (struct sl_cut_limits){0}, reason,
                              size);
}

static void check_refused(struct sl_store *store, const char *why)
{
    char reason[160];
    assert_false(begin(store, reason, sizeof(reason)));
    assert_string_equal(reason, why);
}

static void begin_now(struct sl_store *store)
{
    char reason[160];
    if (!begin(store, reason, sizeof(reason))) {
        fail_msg("%s", reason);
    }
}

static bool is_withheld(struct sl_store *store)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    bool withheld = view_at(snapshot, "gpu-1")->withheld;
    sl_store_release(store, snapshot);
    return withheld;
}

static struct sl_bind_result nominate(struct sl_store *store, const char *uid)
{
    struct sl_bind_result result;
    sl_store_nominate(store, sl_str_of(uid), SL_STR("gpu-1"), SL_STR("nvidia.com/mig-1g.6gb=0/0"),
                      &result);
    return result;
}

static int setup_node(void **state)
{
    struct sl_store *store = store_of(&roomy);
    put_node(store, annotated_node(NULL, NULL, NULL));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE});
    *state = store;
    return 0;
}

static void put_running(struct sl_store *store)
{
    put_pod(store, (struct pod_spec){.name = "r",
                                     .uid = "u-r",
                                     .node = "gpu-1",
                                     .resource = SLICE,
                                     .phase = "Running",
                                     .assignment = "nvidia.com/mig-1g.6gb=0/2"});
}

/* ---- while the node is cut ---- */

TEST_FIXTURE(setup_node, teardown)

TEST_ON(struct sl_store *store, nothing_is_given_on_the_node_and_its_pods_keep_their_units)
{
    put_running(store);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
    begin_now(store);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
    assert_int_equal(free_now(store, "gpu-1", HALF), 0);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, "gpu-1");
    assert_int_equal(view->instance_used[2], 1);
    assert_int_equal(view->n_residents, 1);
    sl_store_release(store, snapshot);
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    assert_int_equal(result.code, SL_BIND_NO_ROOM);
    assert_int_equal(result.verdict.reason, SL_REASON_CUTTING);
    assert_string_equal(
        result.text, "node gpu-1: nvidia.com/mig-1g.6gb: 1 asked, this node's GPUs are being cut");
    assert_int_equal(nominate(store, "u-a").code, SL_BIND_NOT_NOMINATED);
}

TEST_ON(struct sl_store *store, the_end_of_the_cut_gives_the_node_out_again)
{
    begin_now(store);
    uint64_t before = generation_of(store);
    assert_true(sl_store_cut_end(store, SL_STR("gpu-1")));
    assert_true(generation_of(store) > before);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 4);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    assert_false(sl_store_cut_end(store, SL_STR("gpu-1")));
    assert_false(sl_store_cut_end(store, SL_STR("gpu-9")));
}

TEST_ON(struct sl_store *store, all_cuts_end_at_once)
{
    begin_now(store);
    assert_int_equal(sl_store_cut_end_all(store), 1);
    assert_false(is_withheld(store));
    assert_int_equal(sl_store_cut_end_all(store), 0);
}

TEST_ON(struct sl_store *store, a_node_that_is_put_anew_stays_withheld)
{
    begin_now(store);
    put_node(store, annotated_node("0", "0", NULL));
    assert_true(is_withheld(store));
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_NO_ROOM);
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_true(is_withheld(store));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
}

TEST_ON(struct sl_store *store, a_node_that_is_deleted_is_not_withheld_when_it_comes_back)
{
    put_running(store);
    begin_now(store);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    assert_false(sl_store_cut_end(store, SL_STR("gpu-1")));
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_false(is_withheld(store));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
}

/* ---- after a restart ---- */

TEST_ON(struct sl_store *store, the_annotation_alone_withholds_the_node)
{
    put_node(store, annotated_node(NULL, NULL, "sliced-1-1"));
    assert_true(is_withheld(store));
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_NO_ROOM);
    check_refused(store, "the node is being cut");
    assert_false(sl_store_cut_end(store, SL_STR("gpu-1")));
    assert_true(is_withheld(store));
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_false(is_withheld(store));
}

TEST_ON(struct sl_store *store, a_cut_that_has_ended_withholds_until_the_node_shows_it)
{
    begin_now(store);
    put_node(store, annotated_node(NULL, NULL, "sliced-1-1"));
    assert_true(sl_store_cut_end(store, SL_STR("gpu-1")));
    assert_true(is_withheld(store));
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_false(is_withheld(store));
}

/* ---- what keeps a cut from beginning ---- */

TEST_ON(struct sl_store *store, no_cut_begins_on_a_node_that_is_not_known_or_is_cut_already)
{
    begin_now(store);
    check_refused(store, "the node is being cut");
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    check_refused(store, "the node is not known");
}

TEST_ON(struct sl_store *store, a_nomination_or_a_reservation_comes_before_a_cut)
{
    assert_int_equal(nominate(store, "u-a").code, SL_BIND_RESERVED);
    check_refused(store, "pod default/a is about to start there");
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_RESERVED);
    check_refused(store, "pod default/a is about to start there");
    assert_true(sl_store_rollback(store, SL_STR("u-a")));
    begin_now(store);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_NO_ROOM);
}

TEST_ON(struct sl_store *store, a_pod_that_the_kubelet_has_not_taken_yet_comes_before_a_cut)
{
    struct pod_spec spec = {.name = "r", .uid = "u-r", .node = "gpu-1", .resource = SLICE};
    put_pod(store, spec);
    check_refused(store, "pods on it have not started yet");
    spec.started_us = 5;
    put_pod(store, spec);
    begin_now(store);
}

TEST_ON(struct sl_store *store, pods_whose_units_the_node_does_not_show_keep_a_cut_from_beginning)
{
    put_running(store);
    put_node(store, annotated_node("0", NULL, NULL));
    check_refused(store, "pods on it hold GPU resources that it does not show now");
    put_node(store, annotated_node(NULL, NULL, NULL));
    begin_now(store);
}

TEST_ON(struct sl_store *store, a_cut_that_the_node_cannot_have_does_not_begin)
{
    const struct sl_cut cut = {.device = 7, .n = 0};
    char reason[160] = "";
    assert_false(sl_store_cut_begin(store, SL_STR("gpu-1"), &cut, 1, (struct sl_cut_limits){0},
                                    reason, sizeof(reason)));
    assert_int_not_equal(strlen(reason), 0);
    assert_false(is_withheld(store));
}

/* ---- resources that come and go with the device plugin ---- */

TEST_ON(struct sl_store *store, pods_keep_their_instances_while_allocatable_comes_and_goes)
{
    put_running(store);
    begin_now(store);
    put_node(store, annotated_node("0", "0", "sliced-1-1"));
    put_node(store, annotated_node("4", "0", "sliced-1-1"));
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_true(sl_store_cut_end(store, SL_STR("gpu-1")));
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, "gpu-1");
    assert_false(view->resident[0].assumed);
    assert_int_equal(view->instance_used[2], 1);
    sl_store_release(store, snapshot);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
}

TEST_ON(struct sl_store *store, units_whose_place_is_not_listed_count_all_the_same)
{
    put_running(store);
    put_node(store, annotated_node("3", NULL, NULL)); /* not what is listed: only counted */
    assert_int_equal(free_now(store, "gpu-1", SLICE), 2);
    put_node(store, annotated_node("1", NULL, NULL));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 0);
    put_node(store, annotated_node(NULL, NULL, NULL));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
}

/* ---- in the middle of a list ---- */

TEST_ON(struct sl_store *store, a_cut_in_the_middle_of_a_list_counts_at_once)
{
    sl_store_begin(store);
    begin_now(store);
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-1"), SL_BIND_NO_ROOM);
    assert_int_equal(sl_store_end(store, NULL), 0);
    assert_true(is_withheld(store));
}
