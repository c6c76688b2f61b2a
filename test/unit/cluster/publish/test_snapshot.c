/* The published snapshot: immutable while it is held, cheap to look names up in. */
#include "unit/cluster/fixture.h"

TEST_FIXTURE(setup_empty, teardown)

TEST_ON(struct sl_store *store, a_held_snapshot_stays_as_it_was)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    const struct sl_snapshot *held = sl_store_acquire(store);
    put_pod(store,
            (struct pod_spec){.name = "b", .uid = "u-b", .node = "gpu-1", .resource = SLICE});
    put_node(store, sliced_node("gpu-0", 8));
    assert_int_equal(delete_pod(store, "a"), 0);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    assert_int_equal(held->n_nodes, 1);
    assert_int_equal(held->n_pods, 1);
    assert_int_equal(free_at(held, "gpu-1", SLICE), 7);
    assert_null(view_at(held, "gpu-0"));
    const struct sl_view *view = view_at(held, "gpu-1");
    assert_int_equal(view->n_residents, 1);
    assert_string_equal(view->resident[0].pod->uid, "u-a");
    assert_string_equal(view->node->name, "gpu-1");
    sl_store_release(store, held);
    assert_int_equal(free_now(store, "gpu-1", SLICE), -1);
    assert_int_equal(free_now(store, "gpu-0", SLICE), 8);
}

TEST_ON(struct sl_store *store, snapshots_may_be_released_in_any_order)
{
    enum { HELD = 6 };
    static const int orders[][HELD] = {
        {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 4, 0, 5, 1, 3}, {3, 0, 5, 1, 4, 2}};
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    for (size_t round = 0; round < sizeof(orders) / sizeof(orders[0]); round++) {
        const struct sl_snapshot *held[HELD];
        for (int i = 0; i < HELD; i++) {
            char name[16];
            snprintf(name, sizeof(name), "p-%d", i);
            put_pod(store, (struct pod_spec){.name = name,
                                             .uid = name,
                                             .node = i % 3 == 0 ? "gpu-1" : "gpu-2",
                                             .resource = SLICE});
            held[i] = sl_store_acquire(store);
        }
        for (int i = 0; i < HELD; i++) {
            char name[16];
            snprintf(name, sizeof(name), "p-%d", i);
            assert_int_equal(delete_pod(store, name), 0);
        }
        bool released[HELD] = {false};
        for (int i = 0; i < HELD; i++) {
            sl_store_release(store, held[orders[round][i]]);
            released[orders[round][i]] = true;
            for (int k = 0; k < HELD; k++) {
                if (!released[k]) {
                    assert_int_equal(free_at(held[k], "gpu-1", SLICE), 8 - (1 + k / 3));
                    assert_int_equal(free_at(held[k], "gpu-2", SLICE), 8 - (k - k / 3));
                }
            }
        }
    }
}

TEST_ON(struct sl_store *store, one_snapshot_may_be_held_by_many)
{
    put_node(store, sliced_node("gpu-1", 8));
    const struct sl_snapshot *one = sl_store_acquire(store);
    const struct sl_snapshot *two = sl_store_acquire(store);
    assert_ptr_equal(one, two);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    sl_store_release(store, one);
    assert_int_equal(free_at(two, "gpu-1", SLICE), 8);
    sl_store_release(store, two);
    sl_store_release(store, NULL);
}

TEST_ON(struct sl_store *store, the_generation_goes_up_with_every_change)
{
    uint64_t last = generation_of(store);
    for (int step = 0; step < 6; step++) {
        struct sl_bind_result result;
        switch (step) {
        case 0:
            put_node(store, sliced_node("gpu-1", 8));
            break;
        case 1:
            put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
            break;
        case 2:
            reserve(store, "a", "u-a", "gpu-1", 0, &result);
            break;
        case 3:
            assert_true(sl_store_commit(store, SL_STR("u-a"), SL_POD_PENDING));
            break;
        case 4:
            assert_int_equal(delete_pod(store, "a"), 0);
            break;
        default:
            assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
            break;
        }
        uint64_t now = generation_of(store);
        assert_true(now > last);
        last = now;
    }
}

TEST_ON(struct sl_store *store, what_changes_nothing_publishes_nothing)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1", .resource = SLICE});
    const struct sl_snapshot *held = sl_store_acquire(store);
    struct sl_bind_result result;
    reserve(store, "a", "u-a", "gpu-1", 0, &result);
    reserve(store, "b", "u-b", "gpu-1", 0, &result);
    assert_false(sl_store_rollback(store, SL_STR("u-a")));
    assert_int_equal(sl_store_expire(store, INT64_MAX), 0);
    sl_store_delete_node(store, SL_STR("gpu-9"), NULL);
    const struct sl_snapshot *now = sl_store_acquire(store);
    assert_ptr_equal(now, held);
    sl_store_release(store, now);
    sl_store_release(store, held);
}

TEST_ON(struct sl_store *store, nodes_that_did_not_change_share_their_view_and_the_index)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    const struct sl_snapshot *before = sl_store_acquire(store);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-2", .resource = SLICE});
    put_node(store, sliced_node("gpu-2", 4));
    const struct sl_snapshot *after = sl_store_acquire(store);
    assert_ptr_equal(view_at(before, "gpu-1"), view_at(after, "gpu-1"));
    assert_ptr_not_equal(view_at(before, "gpu-2"), view_at(after, "gpu-2"));
    assert_ptr_equal(before->index, after->index);
    sl_store_release(store, before);
    put_node(store, sliced_node("gpu-3", 8));
    const struct sl_snapshot *grown = sl_store_acquire(store);
    assert_ptr_not_equal(grown->index, after->index);
    assert_int_equal(sl_snapshot_find(after, SL_STR("gpu-3"), 0), SL_NODE_NONE);
    sl_store_release(store, after);
    sl_store_release(store, grown);
}

/* ---- lookup ---- */

TEST_ON(struct sl_store *store, views_stand_in_order_of_name)
{
    static const char *const names[] = {"m", "b", "zz", "a-very-long-name-of-a-node", "z", "b1"};
    static const char *const sorted[] = {"a-very-long-name-of-a-node", "b", "b1", "m", "z", "zz"};
    for (size_t i = 0; i < 6; i++) {
        put_node(store, whole_node(names[i], 1));
    }
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_nodes, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(snapshot->view[i]->node->name, sorted[i]);
        for (uint32_t hint = 0; hint < 8; hint++) {
            assert_int_equal(sl_snapshot_find(snapshot, sl_str_of(sorted[i]), hint), i);
        }
        assert_int_equal(sl_snapshot_find(snapshot, sl_str_of(sorted[i]), SL_NODE_NONE), i);
    }
    sl_store_release(store, snapshot);
}

static void add_random_nodes(struct sl_store *store, uint64_t *seed)
{
    sl_store_begin(store);
    for (int i = 0; i < 300; i++) {
        char name[40];
        static const char *const forms[] = {"n%u", "gpu-node-%u", "%u-gpu-node-in-the-rack",
                                            "a%03u-12345678"};
        const char *form = forms[random_below(seed, 4)];
        unsigned number = random_below(seed, 120);
        char digits[16];
        snprintf(digits, sizeof(digits), "%u", number);
        const char *mark = strchr(form, '%');
        snprintf(name, sizeof(name), "%.*s%s%s", (int)(mark - form), form, digits,
                 strchr(mark, 'u') + 1);
        put_node(store, whole_node(name, 1));
    }
    assert_int_equal(sl_store_end(store, NULL), 0);
}

static uint32_t find_by_hand(const struct sl_snapshot *snapshot, const char *name)
{
    for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
        if (strcmp(snapshot->view[i]->node->name, name) == 0) {
            return i;
        }
    }
    return SL_NODE_NONE;
}

/* Every name, and names made from it by one change, with every kind of hint. */
TEST_ON(struct sl_store *store, lookup_agrees_with_a_search_by_hand)
{
    uint64_t seed = 42;
    add_random_nodes(store, &seed);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_true(snapshot->n_nodes > 100);
    for (uint32_t i = 0; i < snapshot->n_nodes; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s", snapshot->view[i]->node->name);
        for (int change = 0; change < 4; change++) {
            size_t len = strlen(name);
            if (change == 1) {
                name[random_below(&seed, (unsigned)len)] ^= 1;
            } else if (change == 2) {
                name[len - 1] = '\0';
            } else if (change == 3) {
                memmove(name + 1, name, len + 1);
                name[0] = '1';
            }
            uint32_t expected = find_by_hand(snapshot, name);
            struct sl_str key = sl_str_of(name);
            assert_int_equal(sl_snapshot_find(snapshot, key, i), expected);
            assert_int_equal(sl_snapshot_find(snapshot, key, expected), expected);
            assert_int_equal(sl_snapshot_find(snapshot, key, random_below(&seed, 400)), expected);
        }
    }
    sl_store_release(store, snapshot);
}

/* Runs of names in any order, some unknown: as one by one, up to the first that is unknown. */
TEST_ON(struct sl_store *store, a_run_of_names_is_found_up_to_the_first_unknown)
{
    uint64_t seed = 7;
    add_random_nodes(store, &seed);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    unsigned n_nodes = (unsigned)snapshot->n_nodes;
    for (int round = 0; round < 500; round++) {
        struct sl_str name[16];
        uint32_t place[16];
        size_t n = random_below(&seed, 17);
        size_t known = n;
        uint32_t next = random_below(&seed, n_nodes);
        for (size_t i = 0; i < n; i++) {
            next =
                random_below(&seed, 3) == 0 ? random_below(&seed, n_nodes) : (next + 1) % n_nodes;
            name[i] = sl_str_of(snapshot->view[next]->node->name);
            if (random_below(&seed, 20) == 0) {
                name[i] = SL_STR("no-such-node");
                known = known < i ? known : i;
            }
        }
        uint32_t hint = random_below(&seed, 400);
        assert_int_equal(sl_snapshot_find_run(snapshot, name, n, hint, place), known);
        for (size_t i = 0; i < known; i++) {
            assert_int_equal(place[i], sl_snapshot_find(snapshot, name[i], 0));
        }
    }
    sl_store_release(store, snapshot);
}

TEST_ON(struct sl_store *store, odd_names_are_not_found)
{
    const struct sl_snapshot *empty = sl_store_acquire(store);
    assert_int_equal(sl_snapshot_find(empty, SL_STR("a"), 0), SL_NODE_NONE);
    sl_store_release(store, empty);
    put_node(store, whole_node("a", 1));
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(sl_snapshot_find(snapshot, SL_STR(""), 0), SL_NODE_NONE);
    assert_int_equal(sl_snapshot_find(snapshot, (struct sl_str){NULL, 0}, 0), SL_NODE_NONE);
    assert_int_equal(sl_snapshot_find(snapshot, SL_STR("a\0"), 0), SL_NODE_NONE);
    assert_int_equal(sl_snapshot_find(snapshot, SL_STR("a"), 77), 0);
    sl_store_release(store, snapshot);
}

/* Whoever has seen a generation can ask for what is newer. */
TEST_ON(struct sl_store *store, a_view_says_since_when_it_is_shown)
{
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    const struct sl_snapshot *before = sl_store_acquire(store);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-2", .resource = SLICE});
    const struct sl_snapshot *after = sl_store_acquire(store);
    assert_true(view_at(after, "gpu-1")->shown <= before->generation);
    assert_true(view_at(before, "gpu-2")->shown <= before->generation);
    assert_true(view_at(after, "gpu-2")->shown > before->generation);
    assert_int_equal(after->nodes_generation, before->nodes_generation);
    sl_store_release(store, before);
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-1"), NULL), 0);
    const struct sl_snapshot *last = sl_store_acquire(store);
    assert_true(last->nodes_generation > after->generation);
    sl_store_release(store, after);
    sl_store_release(store, last);
}
