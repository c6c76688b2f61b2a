/* Lists that are the whole truth: what they do not name is gone. */
#include "unit/cluster/fixture.h"

static bool is_known(struct sl_store *store, const char *name)
{
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), sl_str_of(name));
    sl_pod_unref(pod);
    return pod != NULL;
}

static size_t counts(struct sl_store *store, size_t *n_pods)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    size_t n_nodes = snapshot->n_nodes;
    *n_pods = snapshot->n_pods;
    sl_store_release(store, snapshot);
    return n_nodes;
}

static void put_slice(struct sl_store *store, const char *name, const char *uid, const char *node)
{
    put_pod(store, (struct pod_spec){.name = name, .uid = uid, .node = node, .resource = SLICE});
}

static struct sl_store *example(void)
{
    struct sl_store *store = store_of(&roomy);
    put_node(store, sliced_node("n1", 4));
    put_node(store, sliced_node("n2", 4));
    put_slice(store, "a", "ua", "n1");
    put_slice(store, "b", "ub", "n1");
    put_slice(store, "c", "uc", NULL);
    return store;
}

TEST_THAT(what_a_list_does_not_name_is_deleted)
{
    struct sl_store *store = example();
    size_t n_pods = 0;
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "b", "ub", "n1");
    put_slice(store, "d", "ud", "n2");
    assert_true(is_known(store, "a"));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 2);
    assert_false(is_known(store, "a"));
    assert_false(is_known(store, "c"));
    assert_int_equal(free_now(store, "n1", SLICE), 3);
    assert_int_equal(free_now(store, "n2", SLICE), 3);

    sl_store_sweep_begin(store, SL_SWEEP_NODES);
    put_node(store, sliced_node("n2", 4));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_NODES), 1);
    assert_int_equal(counts(store, &n_pods), 1);
    assert_int_equal(n_pods, 2);
    assert_int_equal(free_now(store, "n1", SLICE), -1);
    put_node(store, sliced_node("n1", 4));
    assert_int_equal(free_now(store, "n1", SLICE), 3);
    sl_store_free(store);
}

TEST_THAT(all_go_with_one_snapshot)
{
    struct sl_store *store = example();
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    const struct sl_snapshot *before = sl_store_acquire(store);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 3);
    assert_int_equal(before->n_pods, 3);
    const struct sl_snapshot *after = sl_store_acquire(store);
    assert_int_equal(after->n_pods, 0);
    sl_store_release(store, before);
    sl_store_release(store, after);
    sl_store_free(store);
}

TEST_THAT(within_a_batch_nothing_shows_before_its_end)
{
    struct sl_store *store = example();
    size_t n_pods = 0;
    sl_store_begin(store);
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 3);
    (void)counts(store, &n_pods);
    assert_int_equal(n_pods, 3);
    assert_int_equal(sl_store_end(store, NULL), 0);
    (void)counts(store, &n_pods);
    assert_int_equal(n_pods, 0);
    sl_store_free(store);
}

TEST_THAT(a_reservation_goes_with_its_pod_and_only_then)
{
    struct sl_store *store = example();
    put_slice(store, "d", "ud", NULL);
    assert_int_equal(reserve_code(store, "c", "uc", "n2"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "d", "ud", "n2"), SL_BIND_RESERVED);
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "c", "uc", NULL); /* the list is older than its binding */
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 3);
    assert_int_equal(free_now(store, "n2", SLICE), 3);
    assert_false(sl_store_rollback(store, SL_STR("ud")));
    assert_true(sl_store_commit(store, SL_STR("uc"), SL_POD_PENDING));
    assert_int_equal(free_now(store, "n2", SLICE), 3);
    sl_store_free(store);
}

TEST_THAT(an_older_word_on_a_pod_bound_meanwhile_counts_as_seen)
{
    struct sl_store *store = example();
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    assert_int_equal(reserve_code(store, "c", "uc", "n2"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("uc"), SL_POD_PENDING));
    put_slice(store, "c", "uc", NULL);
    put_slice(store, "d", "ud", "n2");
    put_slice(store, "d", "ud", NULL);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 2);
    assert_int_equal(free_now(store, "n2", SLICE), 2);
    sl_store_free(store);
}

/* As after etcd was restored from a backup. */
TEST_THAT(a_list_begun_after_a_binding_may_show_the_pod_unbound)
{
    struct sl_store *store = example();
    assert_int_equal(reserve_code(store, "c", "uc", "n2"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("uc"), SL_POD_PENDING));
    put_slice(store, "c", "uc", NULL); /* of a watch: older than the binding */
    assert_int_equal(free_now(store, "n2", SLICE), 3);
    sl_store_sweep_begin(store, SL_SWEEP_NODES); /* says nothing of pods */
    put_slice(store, "c", "uc", NULL);
    assert_int_equal(free_now(store, "n2", SLICE), 3);

    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "a", "ua", NULL);
    put_slice(store, "b", "ub", "n1");
    put_slice(store, "c", "uc", NULL);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 0);
    assert_int_equal(free_now(store, "n1", SLICE), 3);
    assert_int_equal(free_now(store, "n2", SLICE), 4);
    assert_int_equal(reserve_code(store, "c", "uc", "n1"), SL_BIND_RESERVED);
    assert_int_equal(reserve_code(store, "a", "ua", "n2"), SL_BIND_RESERVED);
    sl_store_free(store);
}

TEST_THAT(what_could_not_be_put_is_kept)
{
    struct sl_store *store = example();
    size_t n_pods = 0;
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    sl_store_sweep_begin(store, SL_SWEEP_NODES);
    sl_store_sweep_keep_pod(store, SL_STR("default"), SL_STR("a"));
    sl_store_sweep_keep_pod(store, SL_STR("default"), SL_STR("nobody"));
    sl_store_sweep_keep_node(store, SL_STR("n1"));
    sl_store_sweep_keep_node(store, SL_STR("nowhere"));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 2);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_NODES), 1);
    assert_int_equal(counts(store, &n_pods), 1);
    assert_int_equal(n_pods, 1);
    assert_int_equal(free_now(store, "n1", SLICE), 3);
    sl_store_free(store);
}

TEST_THAT(sweeps_of_both_kinds_may_overlap)
{
    struct sl_store *store = example();
    size_t n_pods = 0;
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "a", "ua", "n1");
    sl_store_sweep_begin(store, SL_SWEEP_NODES);
    put_slice(store, "b", "ub", "n1");
    put_node(store, sliced_node("n1", 4));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 1);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_NODES), 1);
    assert_int_equal(counts(store, &n_pods), 1);
    assert_int_equal(n_pods, 2);
    sl_store_free(store);
}

TEST_THAT(a_sweep_that_was_given_up_deletes_nothing)
{
    struct sl_store *store = example();
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 0); /* none was begun */
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "a", "ua", "n1");
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "b", "ub", "n1");
    put_slice(store, "c", "uc", NULL);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 1);
    assert_false(is_known(store, "a"));
    assert_true(is_known(store, "b"));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 0);
    sl_store_free(store);
}

TEST_THAT(a_pod_made_anew_is_not_its_forerunner)
{
    struct sl_store *store = example();
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_slice(store, "a", "ua2", NULL);
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 2);
    assert_int_equal(free_now(store, "n1", SLICE), 4);
    sl_store_free(store);
}

TEST_THAT(pods_that_ask_for_nothing_of_ours_are_not_kept)
{
    struct sl_store *store = example();
    size_t n_pods = 0;
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    for (int i = 0; i < 200; i++) {
        char name[16];
        snprintf(name, sizeof(name), "web%d", i);
        put_pod(store, (struct pod_spec){.name = name, .uid = name, .node = "n1"});
    }
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 3);
    (void)counts(store, &n_pods);
    assert_int_equal(n_pods, 0);
    sl_store_free(store);
}
