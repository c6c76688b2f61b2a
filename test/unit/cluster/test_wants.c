/* What is wanted: by waiting pods, and of late by those that were bound. */
#include "cluster/state/state.h"
#include "unit/cluster/fixture.h"

static int32_t weight_of(struct sl_store *store, const char *resource)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    int32_t weight = 0;
    for (uint8_t i = 0; i < snapshot->demand.n; i++) {
        const struct sl_demand_row *row = &snapshot->demand.row[i];
        weight += row->key == sl_hash(resource, strlen(resource)) ? row->weight : 0;
        assert_true(row->weight > 0);
        if (i > 0) {
            const struct sl_demand_row *prev = row - 1;
            assert_true(prev->weight > row->weight ||
                        (prev->weight == row->weight && prev->rank < row->rank));
        }
    }
    sl_store_release(store, snapshot);
    return weight;
}

TEST_FIXTURE(setup_empty, teardown)

TEST_ON(struct sl_store *store, demand_counts_waiting_pods_by_resource)
{
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .count = "3"});
    put_pod(store, (struct pod_spec){.name = "b", .uid = "u-b", .resource = SLICE});
    put_pod(store, (struct pod_spec){.name = "c", .uid = "u-c", .resource = GPU});
    put_pod(store, (struct pod_spec){.name = "d", .uid = "u-d", .node = "gpu-1", .resource = GPU});
    assert_int_equal(weight_of(store, SLICE), 2);
    assert_int_equal(weight_of(store, GPU), 1);
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .phase = "Failed"});
    assert_int_equal(delete_pod(store, "c"), 0);
    assert_int_equal(weight_of(store, SLICE), 1);
    assert_int_equal(weight_of(store, GPU), 0);
}

TEST_ON(struct sl_store *store, resources_wanted_alike_come_in_one_order_whatever_the_key)
{
    static const char *const resources[] = {SLICE, GPU, "nvidia.com/gpu.shared",
                                            "nvidia.com/mig-2g.12gb", "aliyun.com/gpu-mem"};
    for (size_t i = 0; i < 5; i++) {
        put_pod(store, (struct pod_spec){
                           .name = resources[i], .uid = resources[i], .resource = resources[i]});
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(weight_of(store, resources[i]), 1); /* looks at the order too */
    }
}

TEST_ON(struct sl_store *store, demand_carries_kind_and_shape)
{
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->demand.n, 1);
    assert_int_equal(snapshot->demand.row[0].kind, SL_KIND_MIG);
    assert_int_equal(snapshot->demand.row[0].shape.compute, 1);
    assert_int_equal(snapshot->demand.row[0].shape.memory_gb, 6);
    sl_store_release(store, snapshot);
}

static void bind_once(struct sl_store *store, const char *resource, const char *node)
{
    put_pod(store, (struct pod_spec){.name = "p", .uid = "u-p", .resource = resource});
    assert_int_equal(reserve_code(store, "p", "u-p", node), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, SL_STR("u-p"), SL_POD_RUNNING));
    assert_int_equal(delete_pod(store, "p"), 0);
}

TEST_ON(struct sl_store *store, demand_remembers_the_last_1024_binds)
{
    put_node(store, sliced_node("mig", 4));
    put_node(store, whole_node("whole", 1));
    for (int i = 0; i < 10; i++) {
        bind_once(store, GPU, "whole");
    }
    for (int i = 0; i < 1014; i++) {
        bind_once(store, SLICE, "mig");
    }
    assert_int_equal(weight_of(store, GPU), 10);
    assert_int_equal(weight_of(store, SLICE), 1014);
    for (int i = 0; i < 4; i++) {
        bind_once(store, SLICE, "mig");
    }
    assert_int_equal(weight_of(store, GPU), 6);
    assert_int_equal(weight_of(store, SLICE), 1018);
    for (int i = 0; i < 6; i++) {
        bind_once(store, SLICE, "mig");
    }
    assert_int_equal(weight_of(store, GPU), 0);
    assert_int_equal(weight_of(store, SLICE), 1024);
}

TEST_ON(struct sl_store *store, demand_counts_asks_with_their_size)
{
    put_node(store, whole_node("whole", 4));
    for (int i = 0; i < 5; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p-%d", i);
        put_pod(store, (struct pod_spec){
                           .name = name, .uid = name, .resource = GPU, .count = i < 3 ? "1" : "2"});
    }
    put_pod(store, (struct pod_spec){.name = "mig", .uid = "mig", .resource = SLICE});
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_demand *demand = &snapshot->demand;
    assert_int_equal(demand->n, 2); /* resources */
    assert_int_equal(demand->n_typical, 2);
    assert_int_equal(demand->typical[0].count, 1);
    assert_int_equal(demand->typical[0].weight, 3);
    assert_int_equal(demand->typical[1].count, 2);
    assert_int_equal(demand->typical[1].weight, 2);
    assert_int_equal(demand->typical[0].cpu_milli, 1000);
    assert_int_equal(demand->typical[0].kind, SL_KIND_WHOLE);
    sl_store_release(store, snapshot);
    assert_int_equal(delete_pod(store, "p-0"), 0);
    assert_int_equal(weight_of(store, GPU), 4);
}

TEST_ON(struct sl_store *store, demand_keeps_the_32_resources_wanted_most)
{
    char first[64] = "";
    for (int i = 0; i < 40; i++) {
        char resource[64];
        snprintf(resource, sizeof(resource), "nvidia.com/mig-%dg.%dgb", 1 + i % 7, 5 + i);
        for (int k = 0; k <= i; k++) {
            char name[32];
            snprintf(name, sizeof(name), "p-%d-%d", i, k);
            put_pod(store, (struct pod_spec){.name = name, .uid = name, .resource = resource});
        }
        if (i == 7) {
            snprintf(first, sizeof(first), "%s", resource);
        }
    }
    assert_int_equal(weight_of(store, first), 0);
    assert_int_equal(weight_of(store, "nvidia.com/mig-5g.44gb"), 40);
    assert_int_equal(weight_of(store, "nvidia.com/mig-2g.13gb"), 9);
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->demand.n, SL_DEMAND_MAX);
    sl_store_release(store, snapshot);
}

TEST_ON(struct sl_store *store, a_malformed_ask_is_no_demand)
{
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .count = "1500m"});
    assert_int_equal(weight_of(store, SLICE), 0);
    assert_int_equal(delete_pod(store, "a"), 0);
}

/* The rows are the heaviest of all, and are found without a look at all. */
TEST_ON(struct sl_store *store, of_a_thousand_resources_the_heaviest_count)
{
    enum { RESOURCES = 300, PODS_MAX = 7 };
    for (unsigned i = 0; i < RESOURCES; i++) {
        for (unsigned n = 0; n <= i % PODS_MAX; n++) {
            char name[32];
            char resource[64];
            (void)snprintf(name, sizeof(name), "p-%u-%u", i, n);
            (void)snprintf(resource, sizeof(resource), "nvidia.com/mig-x%u", i);
            put_pod(store, (struct pod_spec){.name = name, .uid = name, .resource = resource});
        }
    }
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->demand.n, SL_DEMAND_MAX);
    for (unsigned i = 0; i < SL_DEMAND_MAX; i++) { /* 42 of them are the heaviest */
        assert_int_equal(snapshot->demand.row[i].weight, PODS_MAX);
    }
    sl_store_release(store, snapshot);
    uint64_t looks = store->wants.looks;
    assert_int_equal(delete_pod(store, "p-6-6"), 0);
    put_pod(store, (struct pod_spec){.name = "g", .uid = "g", .resource = GPU});
    assert_in_range(store->wants.looks - looks, 1, 2 * (SL_DEMAND_MAX + SL_TYPICAL_MAX));
    for (unsigned i = 0; i < RESOURCES; i++) {
        for (unsigned n = 0; n <= i % PODS_MAX; n++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "p-%u-%u", i, n);
            assert_int_equal(delete_pod(store, name), i == 6 && n == 6 ? -1 : 0);
        }
    }
    assert_int_equal(weight_of(store, GPU), 1);
}
