/* Pods that ask for nothing of ours: what they take of the nodes that have GPUs. */
#include "unit/cluster/fixture.h"

#include "sliced/constraint.h"

struct light {
    const char *name;
    const char *node;
    const char *cpu;
    const char *memory;
    const char *phase;
};

static struct sl_pod *light_from(const struct light *light, struct sl_error *err)
{
    struct sl_pair memory = pair_of("memory", light->memory, NULL);
    struct sl_pair cpu = pair_of("cpu", light->cpu, light->memory == NULL ? NULL : &memory);
    struct sl_container_facts container = {.name = SL_STR("main"),
                                           .requests = light->cpu == NULL ? NULL : &cpu};
    const struct sl_pod_facts facts = {
        .namespace = SL_STR("kube-system"),
        .name = sl_str_of(light->name),
        .uid = sl_str_of(light->name),
        .node_name = sl_str_of(light->node),
        .phase = sl_str_of(light->phase),
        .containers = &container,
    };
    return sl_pod_new(&facts, err);
}

static void put_light(struct sl_store *store, struct light light)
{
    struct sl_pod *pod = light_from(&light, NULL);
    assert_non_null(pod);
    assert_int_equal(sl_store_put_pod(store, pod, NULL), 0);
}

static int delete_light(struct sl_store *store, const char *name)
{
    return sl_store_delete_pod(store, SL_STR("kube-system"), sl_str_of(name), SL_STR(""), NULL);
}

static struct sl_node *cpu_node(const char *name)
{
    struct sl_pair allocatable = pair_of("cpu", "64", NULL);
    const struct sl_node_facts facts = {.name = sl_str_of(name), .allocatable = &allocatable};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    return node;
}

struct use {
    int64_t cpu_milli;
    int64_t memory_bytes;
    uint32_t n_pods;
};

static void expect_use(struct sl_store *store, const char *node, struct use expected)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, node);
    assert_non_null(view);
    assert_int_equal(view->cpu_milli, expected.cpu_milli);
    assert_int_equal(view->memory_bytes, expected.memory_bytes);
    assert_int_equal(view->n_pods, expected.n_pods);
    sl_store_release(store, snapshot);
}

static int setup(void **state)
{
    struct sl_store *store = store_of(&roomy);
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    put_node(store, cpu_node("cpu-1"));
    *state = store;
    return 0;
}

TEST_FIXTURE(setup, teardown)

TEST_ON(struct sl_store *store, all_pods_of_a_node_count_whatever_they_ask_for)
{
    put_light(store, (struct light){"dns", "gpu-1", "100m", "70Mi", "Running"});
    put_light(store, (struct light){"idle", "gpu-1", NULL, NULL, "Running"});
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .node = "gpu-1"});
    put_pod(store,
            (struct pod_spec){
                .name = "b", .uid = "u-b", .resource = SLICE, .count = "1.5", .node = "gpu-1"});
    expect_use(store, "gpu-1", (struct use){2100, 70 << 20, 4});
    expect_use(store, "gpu-2", (struct use){0, 0, 0});
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    assert_int_equal(snapshot->n_pods, 2); /* those that ask for something of ours */
    assert_int_equal(view_at(snapshot, "gpu-1")->n_residents, 2); /* b holds what it may */
    sl_store_release(store, snapshot);
    assert_null(sl_store_pod(store, SL_STR("kube-system"), SL_STR("dns")));
}

TEST_ON(struct sl_store *store, a_nomination_and_a_reservation_count_on_their_node)
{
    struct sl_bind_result result;
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE});
    sl_store_nominate(store, SL_STR("u-a"), SL_STR("gpu-1"), SL_STR(SLICE "=0/0"), &result);
    expect_use(store, "gpu-1", (struct use){1000, 0, 1});
    assert_int_equal(reserve_code(store, "a", "u-a", "gpu-2"), SL_BIND_RESERVED);
    expect_use(store, "gpu-1", (struct use){0, 0, 0});
    expect_use(store, "gpu-2", (struct use){1000, 0, 1});
}

TEST_ON(struct sl_store *store, what_ends_goes_or_moves_counts_no_more)
{
    put_light(store, (struct light){"a", "gpu-1", "1", "1Ki", "Running"});
    put_light(store, (struct light){"b", "gpu-1", "2", "1Ki", "Running"});
    put_light(store, (struct light){"c", "gpu-1", "4", "1Ki", "Running"});
    put_light(store, (struct light){"waiting", NULL, "9", NULL, "Pending"});
    expect_use(store, "gpu-1", (struct use){7000, 3072, 3});
    put_light(store, (struct light){"a", "gpu-1", "1", "1Ki", "Succeeded"});
    assert_int_equal(delete_light(store, "b"), 0);
    assert_int_equal(delete_light(store, "b"), -1);
    assert_int_equal(delete_light(store, "waiting"), -1);
    put_light(store, (struct light){"c", "gpu-2", "5", "2Ki", "Running"});
    expect_use(store, "gpu-1", (struct use){0, 0, 0});
    expect_use(store, "gpu-2", (struct use){5000, 2048, 1});
}

TEST_ON(struct sl_store *store, a_pod_that_begins_to_ask_for_ours_counts_once)
{
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-a", .node = "gpu-1"});
    expect_use(store, "gpu-1", (struct use){1000, 0, 1});
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .node = "gpu-1"});
    expect_use(store, "gpu-1", (struct use){1000, 0, 1});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 7);
    put_pod(store, (struct pod_spec){.name = "a", .uid = "u-b", .node = "gpu-1"});
    expect_use(store, "gpu-1", (struct use){1000, 0, 1});
    assert_int_equal(free_now(store, "gpu-1", SLICE), 8);
    assert_int_equal(delete_pod(store, "a"), 0);
    expect_use(store, "gpu-1", (struct use){0, 0, 0});
}

TEST_ON(struct sl_store *store, pods_of_nodes_without_gpus_are_not_kept_and_publish_nothing)
{
    uint64_t generation = generation_of(store);
    put_light(store, (struct light){"web", "cpu-1", "1", "1Gi", "Running"});
    put_light(store, (struct light){"waiting", NULL, "1", "1Gi", "Pending"});
    put_light(store, (struct light){"later", "gpu-9", "1", "1Gi", "Running"});
    assert_int_equal(generation_of(store), generation);
    assert_int_equal(delete_light(store, "web"), -1);
    expect_use(store, "cpu-1", (struct use){0, 0, 0});
}

TEST_ON(struct sl_store *store, news_that_change_nothing_publish_nothing)
{
    put_light(store, (struct light){"dns", "gpu-1", "100m", "70Mi", "Pending"});
    uint64_t generation = generation_of(store);
    put_light(store, (struct light){"dns", "gpu-1", "100m", "70Mi", "Running"});
    assert_int_equal(generation_of(store), generation);
    put_light(store, (struct light){"dns", "gpu-1", "200m", "70Mi", "Running"});
    assert_true(generation_of(store) > generation);
}

TEST_ON(struct sl_store *store, pods_of_a_node_that_is_not_known_yet_count_when_it_comes)
{
    put_light(store, (struct light){"a", "gpu-9", "1", "1Mi", "Running"});
    put_node(store, sliced_node("gpu-9", 4));
    expect_use(store, "gpu-9", (struct use){1000, 1 << 20, 1});
    assert_int_equal(sl_store_delete_node(store, SL_STR("gpu-9"), NULL), 0);
    put_node(store, sliced_node("gpu-9", 8));
    expect_use(store, "gpu-9", (struct use){1000, 1 << 20, 1});
    assert_int_equal(delete_light(store, "a"), 0);
    expect_use(store, "gpu-9", (struct use){0, 0, 0});
}

/* As while the device plugin is restarted. */
TEST_ON(struct sl_store *store, a_node_whose_gpus_are_away_keeps_its_pods)
{
    put_light(store, (struct light){"a", "gpu-1", "1", NULL, "Running"});
    put_node(store, whole_node("gpu-1", 0));
    put_light(store, (struct light){"b", "gpu-1", "1", NULL, "Running"});
    put_node(store, sliced_node("gpu-1", 8));
    expect_use(store, "gpu-1", (struct use){2000, 0, 2});
}

TEST_ON(struct sl_store *store, a_list_forgets_what_it_does_not_name)
{
    put_light(store, (struct light){"a", "gpu-1", "1", NULL, "Running"});
    put_light(store, (struct light){"b", "gpu-1", "2", NULL, "Running"});
    put_light(store, (struct light){"c", "gpu-1", "4", NULL, "Running"});
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put_light(store, (struct light){"a", "gpu-1", "1", NULL, "Running"});
    sl_store_sweep_keep_pod(store, SL_STR("kube-system"), SL_STR("c"));
    put_light(store, (struct light){"d", "gpu-1", "8", NULL, "Running"});
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_PODS), 0);
    expect_use(store, "gpu-1", (struct use){13000, 0, 3});
}

TEST_ON(struct sl_store *store, a_list_of_nodes_shows_whose_pods_are_not_kept)
{
    put_light(store, (struct light){"a", "cpu-2", "1", NULL, "Running"});
    put_light(store, (struct light){"b", "gpu-1", "1", NULL, "Running"});
    put_light(store, (struct light){"c", "gpu-7", "1", NULL, "Running"});
    sl_store_sweep_begin(store, SL_SWEEP_NODES);
    put_node(store, cpu_node("cpu-2"));
    put_node(store, sliced_node("gpu-1", 8));
    assert_int_equal(sl_store_sweep_end(store, SL_SWEEP_NODES), 2);
    assert_int_equal(delete_light(store, "a"), -1);
    assert_int_equal(delete_light(store, "c"), 0);
    expect_use(store, "gpu-1", (struct use){1000, 0, 1});
}

/* On a node that is there all count; of those that name any other the maximum. */
TEST_THAT(how_many_are_kept_is_bounded)
{
    const struct sl_store_limits tight = {10, 2, 10, 1000};
    struct sl_store *store = store_of(&tight);
    struct sl_store_stats stats;
    put_node(store, sliced_node("gpu-1", 8));
    put_light(store, (struct light){"a", "gpu-1", "1", NULL, "Running"});
    put_light(store, (struct light){"b", "gpu-1", "1", NULL, "Running"});
    put_light(store, (struct light){"c", "gpu-1", "1", NULL, "Running"});
    put_light(store, (struct light){"b", "gpu-1", "3", NULL, "Running"});
    expect_use(store, "gpu-1", (struct use){5000, 0, 3});
    put_light(store, (struct light){"d", "nowhere", "1", NULL, "Running"});
    sl_store_stats(store, &stats);
    assert_int_equal(stats.limit_hits, 1);
    put_pod(store, (struct pod_spec){.name = "p", .uid = "u", .resource = SLICE});
    sl_store_free(store);
}

TEST_ON(struct sl_store *store, requests_beyond_measure_are_cut)
{
    put_light(store, (struct light){"a", "gpu-1", "9223372036854775807", "7Ei", "Running"});
    put_pod(store, (struct pod_spec){.name = "p", .uid = "u", .resource = SLICE, .node = "gpu-1"});
    expect_use(store, "gpu-1",
               (struct use){(int64_t)UINT32_MAX + 1000, (int64_t)UINT32_MAX * 1024, 2});
}

/* ---- a long random life against plain arrays ---- */

enum { NODES = 4, PODS = 24, STEPS = 4000 };

struct model_light {
    int node; /* -1: not there */
    int cpu;
};

static const char *const nodes[NODES] = {"gpu-1", "gpu-2", "gpu-3", "gpu-4"};

static void expect_sums(struct sl_store *store, const struct model_light *pod, const bool *known)
{
    for (int node = 0; node < NODES; node++) {
        struct use use = {0, 0, 0};
        for (int i = 0; i < PODS; i++) {
            use.cpu_milli += pod[i].node == node ? pod[i].cpu : 0;
            use.n_pods += pod[i].node == node;
        }
        if (known[node]) {
            expect_use(store, nodes[node], use);
        }
    }
}

TEST_THAT(a_random_life_adds_up)
{
    struct sl_store *store = store_of(&roomy);
    struct model_light pod[PODS];
    bool known[NODES] = {false};
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < PODS; i++) {
        pod[i].node = -1;
    }
    for (int step = 0; step < STEPS; step++) {
        int i = (int)random_below(&seed, PODS);
        int node = (int)random_below(&seed, NODES);
        char name[16];
        char cpu[16];
        snprintf(name, sizeof(name), "p%d", i);
        unsigned dice = random_below(&seed, 10);
        if (dice < 6) {
            pod[i] = (struct model_light){node, (int)random_below(&seed, 3000)};
            snprintf(cpu, sizeof(cpu), "%dm", pod[i].cpu);
            put_light(store, (struct light){name, nodes[node], cpu, NULL, "Running"});
        } else if (dice < 8) {
            assert_int_equal(delete_light(store, name), pod[i].node < 0 ? -1 : 0);
            pod[i].node = -1;
        } else if (dice == 8) {
            put_node(store, sliced_node(nodes[node], 4));
            known[node] = true;
        } else if (known[node]) {
            assert_int_equal(sl_store_delete_node(store, sl_str_of(nodes[node]), NULL), 0);
            known[node] = false;
        }
        expect_sums(store, pod, known);
    }
    sl_store_free(store);
}
