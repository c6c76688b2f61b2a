/* Nodes and pods in the store: what counts where, and what waits. */
#include "unit/cluster/fixture.h"

static void expect_counts(struct sl_store *store, size_t pods, size_t waiting, size_t bound)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_pods, pods);
    assert_int_equal(snapshot->n_waiting, waiting);
    assert_int_equal(snapshot->n_bound, bound);
    assert_int_equal(snapshot->n_reserved, 0);
    sl_store_release(store, snapshot);
}

TEST_FIXTURE(setup_empty, teardown)

TEST_ON(struct sl_store *store, a_new_store_has_an_empty_snapshot)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_non_null(snapshot);
    assert_int_equal(snapshot->n_nodes, 0);
    assert_int_equal(snapshot->demand.n, 0);
    sl_store_release(store, snapshot);
    expect_counts(store, 0, 0, 0);
}

TEST_ON(struct sl_store *store, a_bound_pod_takes_from_its_node)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE, .count = "3"});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 5);
    expect_counts(store, 1, 0, 1);
}

TEST_ON(struct sl_store *store, a_waiting_pod_takes_nothing)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    expect_counts(store, 1, 1, 0);
}

TEST_ON(struct sl_store *store, a_pod_put_again_moves_to_its_new_node)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-2", .resource = SLICE});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
    expect_counts(store, 1, 0, 1);
}

TEST_ON(struct sl_store *store, a_pod_on_a_node_not_yet_known_counts_when_it_comes)
{
    put_pod(store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE, .count = "2"});
    expect_counts(store, 1, 0, 1);
    put_node(store, sliced_node("gpu-1", 8));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 6);
}

TEST_ON(struct sl_store *store, a_finished_pod_holds_nothing)
{
    static const char *const phases[] = {"Succeeded", "Failed"};
    put_node(store, sliced_node("gpu-1", 8));
    for (size_t i = 0; i < 2; i++) {
        put_pod(
            store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE, .phase = "Running"});
        assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
        put_pod(
            store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE, .phase = phases[i]});
        assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
        expect_counts(store, 1, 0, 0);
    }
}

TEST_ON(struct sl_store *store, a_deleting_pod_holds_until_it_is_gone)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){
                .name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE, .deleting = true});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    expect_counts(store, 0, 0, 0);
}

/* The plan counts on it: views that are the same are not looked at again. */
TEST_ON(struct sl_store *store, a_pod_that_begins_to_be_deleted_makes_a_new_view)
{
    struct pod_spec spec = {.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE};
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store, spec);
    const struct sl_snapshot *before = sl_store_acquire(store);
    spec.deleting = true;
    put_pod(store, spec);
    const struct sl_snapshot *after = sl_store_acquire(store);
    assert_ptr_not_equal(before->view[0], after->view[0]);
    assert_false(before->view[0]->resident[0].pod->deleting);
    assert_true(after->view[0]->resident[0].pod->deleting);
    sl_store_release(store, before);
    sl_store_release(store, after);
}

TEST_ON(struct sl_store *store, a_pod_made_anew_under_its_name_frees_what_the_old_one_had)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-old", .node = "gpu-1", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-new", .resource = SLICE});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    expect_counts(store, 1, 1, 0);
    assert_false(sl_store_commit(store, SL_STR("u-old"), SL_POD_RUNNING));
}

TEST_ON(struct sl_store *store, old_news_of_a_bound_pod_does_not_unbind_it)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .phase = "Failed"});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
}

TEST_ON(struct sl_store *store, a_uid_belongs_to_one_pod)
{
    struct sl_error err = {0};
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-1", .resource = SLICE});
    struct pod_spec twin = {.name = "b", .uid = "u-1", .resource = SLICE};
    assert_int_equal(sl_store_put_pod(store, pod_of(&twin), &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    assert_string_equal(err.message, "pod default/b has the UID of pod default/a");
    expect_counts(store, 1, 1, 0);
}

/* No API server tells so, but a device that is not counted would be given twice. */
TEST_ON(struct sl_store *store, a_pod_told_with_anothers_uid_holds_what_it_has)
{
    struct pod_spec first = {.name = "a", .uid = "u-1", .resource = SLICE};
    struct pod_spec twin = {.name = "b", .uid = "u-1", .node = "gpu-1", .resource = SLICE};
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store, first);
    put_pod(store, twin);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("b"));
    assert_string_equal(pod->problem, "metadata.uid: another pod has it too, so it is not used");
    sl_pod_unref(pod);
    first.node = "gpu-1";
    put_pod(store, first); /* the UID is still its own */
    put_pod(store, twin);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 6);
    struct pod_spec stale = twin;
    stale.node = NULL;
    put_pod(store, stale);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 6);
    assert_int_equal(delete_pod(store, "a"), 0);
    put_pod(store, twin); /* which is now the only one with it */
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    put_pod(store, first);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 6);
    twin.phase = "Succeeded";
    put_pod(store, twin);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    assert_int_equal(
        sl_store_delete_pod(store, SL_STR("default"), SL_STR("a"), SL_STR("u-1"), NULL), 0);
    assert_int_equal(
        sl_store_delete_pod(store, SL_STR("default"), SL_STR("b"), SL_STR("u-1"), NULL), 0);
    expect_counts(store, 0, 0, 0);
}

TEST_ON(struct sl_store *store, pods_without_a_uid_are_kept_apart_by_name)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "", .node = "gpu-1", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 6);
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
}

TEST_ON(struct sl_store *store, pods_that_ask_for_nothing_of_ours_are_passed_over)
{
    uint64_t before = generation_of(store);
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1"});
    expect_counts(store, 0, 0, 0);
    assert_int_equal(generation_of(store), before);
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-b", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-c"});
    expect_counts(store, 0, 0, 0);
}

TEST_ON(struct sl_store *store, a_malformed_ask_is_kept_for_its_explanation)
{
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .count = "1500m"});
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_non_null(pod);
    assert_non_null(pod->malformed);
    sl_pod_unref(pod);
}

TEST_ON(struct sl_store *store, the_same_pod_put_twice_changes_nothing)
{
    struct pod_spec spec = {.name = "a", .uid = "u-a", .resource = SLICE};
    struct sl_pod *pod = pod_of(&spec);
    assert_int_equal(sl_store_put_pod(store, sl_pod_ref(pod), NULL), 0);
    uint64_t before = generation_of(store);
    assert_int_equal(sl_store_put_pod(store, pod, NULL), 0);
    assert_int_equal(generation_of(store), before);
    expect_counts(store, 1, 1, 0);
}

TEST_ON(struct sl_store *store, pods_are_found_by_namespace_and_name)
{
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_non_null(pod);
    assert_string_equal(pod->uid, "u-a");
    sl_pod_unref(pod);
    assert_null(sl_store_pod(store, SL_STR("other"), SL_STR("a")));
    assert_null(sl_store_pod(store, SL_STR("default"), SL_STR("b")));
    assert_null(sl_store_pod(store, SL_STR("defaulta"), SL_STR("")));
}

TEST_ON(struct sl_store *store, deleting_what_is_not_known_says_so)
{
    struct sl_error err = {0};
    assert_int_equal(sl_store_delete_pod(store, SL_STR("ns"), SL_STR("a"), SL_STR(""), &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_string_equal(err.message, "pod ns/a is not known");
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_string_equal(err.message, "node gpu-1 is not known");
}

TEST_ON(struct sl_store *store, a_node_that_only_pods_name_is_not_a_node)
{
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_nodes, 0);
    assert_int_equal(sl_snapshot_find(snapshot, SL_STR("gpu-1"), 0), SL_NODE_NONE);
    sl_store_release(store, snapshot);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), -1);
}

TEST_ON(struct sl_store *store, a_node_that_comes_back_finds_its_pods)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), -1);
    expect_counts(store, 1, 0, 1);
    put_node(store, sliced_node("gpu-1", 4));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
}

TEST_ON(struct sl_store *store, a_node_put_again_shows_its_new_resources)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    put_node(store, sliced_node("gpu-1", 4));
    assert_int_equal(free_now(store, "gpu-1", SLICE), 3);
    struct sl_node *node = whole_node("gpu-1", 2);
    put_node(store, sl_node_ref(node));
    assert_int_equal(free_now(store, "gpu-1", SLICE), -1);
    assert_int_equal(free_now(store, "gpu-1", GPU), 2);
    uint64_t before = generation_of(store);
    put_node(store, node);
    assert_int_equal(generation_of(store), before);
}

static int setup_a_hundred_pods(void **state)
{
    *state = store_of(&(struct sl_store_limits){1, 100, 1, 1});
    return 0;
}

TEST_THAT_WITH(one_namespace_leaves_others_room_for_their_pods, setup_a_hundred_pods, teardown)
{
    struct sl_store *store = *state;
    struct sl_error err = {0};
    char name[16];
    unsigned n = 0;
    int rc = 0;
    put_node(store, sliced_node("gpu-1", 4));
    while (rc == 0 && n < 200) {
        (void)snprintf(name, sizeof(name), "p%u", n++);
        struct pod_spec pod = {.name = name, .uid = name, .resource = SLICE};
        rc = sl_store_put_pod(store, pod_of(&pod), &err);
    }
    assert_in_range(n, 70, 78);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_non_null(strstr(err.message, "its share of cluster.maxPods"));
    put_pod(store,
            (struct pod_spec){.name = "o", .uid = "u-o", .resource = SLICE, .space = "others"});
    put_pod(store,
            (struct pod_spec){.name = "stands", .uid = "u-s", .node = "gpu-1", .resource = SLICE});
    assert_int_equal(delete_pod(store, "p0"), 0); /* who goes makes room */
    assert_int_equal(delete_pod(store, "p1"), 0);
    put_pod(store, (struct pod_spec){.name = "p0", .uid = "p0", .resource = SLICE});
}

static int setup_two_pods(void **state)
{
    *state = store_of(&(struct sl_store_limits){1, 2, 1, 1});
    return 0;
}

TEST_THAT_WITH(more_than_the_maximum_is_refused_and_counted, setup_two_pods, teardown)
{
    struct sl_store *store = *state;
    struct sl_store_stats stats;
    struct sl_error err = {0};
    put_node(store, sliced_node("gpu-1", 4));
    put_node(store, sliced_node("gpu-1", 8));
    assert_int_equal(sl_store_put_node(store, sliced_node("gpu-2", 4), &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_non_null(strstr(err.message, "(cluster.maxNodes)"));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE});
    put_pod(store,
            (struct pod_spec){.name = "b", .uid = "u-b", .node = "gpu-1", .resource = SLICE});
    struct pod_spec third = {.name = "c", .uid = "u-c", .resource = SLICE};
    err = (struct sl_error){0};
    assert_int_equal(sl_store_put_pod(store, pod_of(&third), &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_non_null(strstr(err.message, "(cluster.maxPods)"));
    sl_store_stats(store, &stats);
    assert_int_equal(stats.limit_hits, 2);
    expect_counts(store, 2, 1, 1);
    assert_int_equal(delete_pod(store, "a"), 0);
    put_pod(store, third);
}

static int setup_one_pod(void **state)
{
    *state = store_of(&(struct sl_store_limits){1, 1, 1, 1});
    return 0;
}

TEST_THAT_WITH(what_holds_devices_counts_beyond_the_maximum_of_pods, setup_one_pod, teardown)
{
    struct sl_store *store = *state;
    put_node(store, whole_node("gpu-1", 1));
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = GPU});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .node = "gpu-1", .resource = GPU});
    assert_int_equal(free_now(store, "gpu-1", GPU), 0);
}

TEST_ON(struct sl_store *store, a_batch_is_published_at_its_end)
{
    sl_store_begin(store);
    put_node(store, sliced_node("gpu-2", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-2", .resource = SLICE});
    put_pod(store,
            (struct pod_spec){.name = "b", .uid = "u-b", .node = "gpu-1", .resource = SLICE});
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){
                .name = "b", .uid = "u-b", .node = "gpu-1", .resource = SLICE, .phase = "Failed"});
    expect_counts(store, 0, 0, 0);
    assert_int_equal(free_now(store, "gpu-1", SLICE), -1);
    assert_int_equal(sl_store_end(store, NULL), 0);
    expect_counts(store, 2, 0, 1);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    assert_int_equal(free_now(store, "gpu-2", SLICE), 7);
}

TEST_ON(struct sl_store *store, a_node_that_comes_and_goes_in_a_batch_leaves_nothing)
{
    put_node(store, sliced_node("gpu-1", 8));
    sl_store_begin(store);
    put_node(store, sliced_node("gpu-0", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-0", .resource = SLICE});
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-0"), NULL), 0);
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(sl_store_end(store, NULL), 0);
    assert_int_equal(free_now(store, "gpu-0", SLICE), -1);
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
}

/* ---- waiting pods ---- */

struct seen {
    char names[128];
    size_t n;
};

static void note(void *context, const struct sl_pod *pod)
{
    struct seen *seen = context;
    seen->n++;
    size_t len = strlen(seen->names);
    snprintf(seen->names + len, sizeof(seen->names) - len, "%s ", pod->name);
}

TEST_ON(struct sl_store *store, waiting_pods_come_by_creation_time_and_uid)
{
    put_pod(store,
            (struct pod_spec){.name = "c", .uid = "u-3", .resource = SLICE, .created_us = 30});
    put_pod(store,
            (struct pod_spec){.name = "e", .uid = "u-9", .resource = SLICE, .created_us = 20});
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-1", .resource = SLICE, .created_us = 40});
    put_pod(store,
            (struct pod_spec){
                .name = "x", .uid = "u-x", .node = "gpu-1", .resource = SLICE, .created_us = 1});
    put_pod(store,
            (struct pod_spec){.name = "y", .uid = "u-y", .resource = SLICE, .phase = "Failed"});
    put_pod(store,
            (struct pod_spec){.name = "d", .uid = "u-4", .resource = SLICE, .created_us = 20});
    struct seen seen = {0};
    assert_int_equal(sl_store_visit_waiting(store, 10, note, &seen), 4);
    assert_string_equal(seen.names, "d e c a ");
    seen = (struct seen){0};
    put_pod(store,
            (struct pod_spec){.name = "b", .uid = "u-0", .resource = SLICE, .created_us = 20});
    assert_int_equal(delete_pod(store, "e"), 0);
    assert_int_equal(sl_store_visit_waiting(store, 2, note, &seen), 4);
    assert_string_equal(seen.names, "b d ");
}

struct order {
    int64_t created_us;
    char uid[16];
    size_t n;
};

static void expect_order(void *context, const struct sl_pod *pod)
{
    struct order *order = context;
    if (order->n > 0 && pod->created_us == order->created_us) {
        assert_true(strcmp(pod->uid, order->uid) > 0);
    } else if (order->n > 0) {
        assert_true(pod->created_us > order->created_us);
    }
    order->created_us = pod->created_us;
    snprintf(order->uid, sizeof(order->uid), "%s", pod->uid);
    order->n++;
}

TEST_ON(struct sl_store *store, many_waiting_pods_are_visited_in_order)
{
    uint64_t seed = 7;
    sl_store_begin(store);
    for (int i = 0; i < 1000; i++) {
        char name[16];
        char uid[16];
        snprintf(name, sizeof(name), "p-%d", i);
        snprintf(uid, sizeof(uid), "u-%04u", (unsigned)i * 7919u % 1000u);
        put_pod(store, (struct pod_spec){.name = name,
                                         .uid = uid,
                                         .resource = SLICE,
                                         .created_us = random_below(&seed, 50)});
    }
    assert_int_equal(sl_store_end(store, NULL), 0);
    struct order order = {0};
    assert_int_equal(sl_store_visit_waiting(store, 1000, expect_order, &order), 1000);
    assert_int_equal(order.n, 1000);
}
