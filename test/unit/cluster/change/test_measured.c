/* What telemetry says of nodes: shown from then on, once, and no longer than it is said. */
#include "unit/cluster/fixture.h"

static struct sl_measured used_of(int32_t mib)
{
    struct sl_measured measured = sl_measured_none;
    measured.used_mib = mib;
    measured.state = SL_SERIES_GOOD;
    return measured;
}

static void put_measured(struct sl_store *store, const char *node, const struct sl_measured *device,
                         size_t n)
{
    const struct sl_node_measured measured = {sl_str_of(node), device, n};
    assert_int_equal(sl_store_put_measured(store, &measured, 1, NULL), 0);
}

/* The used memory that a node's device shows now; -2: it shows no telemetry. */
static int32_t shown(struct sl_store *store, const char *node, unsigned device)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, node);
    int32_t used = view->measured == NULL ? -2 : view->measured[device].used_mib;
    sl_store_release(store, snapshot);
    return used;
}

TEST_FIXTURE(setup_empty, teardown)

TEST_ON(struct sl_store *store, a_view_shows_what_was_measured)
{
    const struct sl_measured device[] = {used_of(100), used_of(200)};
    put_node(store, whole_node("t4", 2));
    assert_int_equal(shown(store, "t4", 0), -2);
    put_measured(store, "t4", device, 2);
    assert_int_equal(shown(store, "t4", 0), 100);
    assert_int_equal(shown(store, "t4", 1), 200);
    put_measured(store, "t4", NULL, 0);
    assert_int_equal(shown(store, "t4", 0), -2);
}

TEST_THAT(the_same_again_changes_nothing)
{
    struct sl_store *store = *state;
    struct sl_measured device[] = {used_of(100), used_of(200)};
    put_node(store, whole_node("t4", 2));
    put_measured(store, "t4", device, 2);
    uint64_t generation = generation_of(store);
    put_measured(store, "t4", device, 2);
    assert_int_equal(generation_of(store), generation);
    device[1].state = SL_SERIES_STALE;
    put_measured(store, "t4", device, 2);
    assert_true(generation_of(store) > generation);
}

TEST_ON(struct sl_store *store, nodes_that_nobody_knows_are_passed_over)
{
    const struct sl_measured device = used_of(100);
    put_node(store, whole_node("t4", 1));
    put_pod(store, (struct pod_spec){.name = "p", .uid = "u", .node = "early", .resource = GPU});
    uint64_t generation = generation_of(store);
    put_measured(store, "stranger", &device, 1);
    put_measured(store, "early", &device, 1); /* a pod stands there, the node was not told yet */
    assert_int_equal(generation_of(store), generation);
    put_node(store, whole_node("early", 1));
    assert_int_equal(shown(store, "early", 0), -2);
}

/* The node may have changed between judgement and this. */
TEST_ON(struct sl_store *store, devices_that_the_node_has_not_are_as_none)
{
    const struct sl_measured device[] = {used_of(100), used_of(200), used_of(300)};
    put_node(store, whole_node("t4", 1));
    put_measured(store, "t4", device, 3);
    assert_int_equal(shown(store, "t4", 0), 100);
    put_node(store, whole_node("t4", 3));
    put_measured(store, "t4", device, 1);
    assert_int_equal(shown(store, "t4", 0), 100);
    assert_int_equal(shown(store, "t4", 2), -1);
}

TEST_ON(struct sl_store *store, a_node_that_comes_back_starts_without)
{
    const struct sl_measured device = used_of(100);
    put_node(store, whole_node("t4", 1));
    put_measured(store, "t4", &device, 1);
    assert_int_equal(sl_store_delete_node(store, SL_STR("t4"), NULL), 0);
    put_node(store, whole_node("t4", 1));
    assert_int_equal(shown(store, "t4", 0), -2);
}

TEST_ON(struct sl_store *store, snapshots_that_are_held_stay_as_they_are)
{
    const struct sl_measured device = used_of(100);
    const struct sl_measured later = used_of(200);
    put_node(store, whole_node("t4", 1));
    put_measured(store, "t4", &device, 1);
    const struct sl_snapshot *held = sl_store_acquire(store);
    put_measured(store, "t4", &later, 1);
    assert_int_equal(view_at(held, "t4")->measured[0].used_mib, 100);
    assert_int_equal(shown(store, "t4", 0), 200);
    sl_store_release(store, held);
}
