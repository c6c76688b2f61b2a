/* What was decided of a pod stays, whatever its owner writes on it later; and which of two pods of
 * one name is the one that there is. */
#include "unit/cluster/fixture.h"

#define MEM "aliyun.com/gpu-mem"

/* Two GPUs of 16 units. */
static int set_up(void **state)
{
    struct sl_pair allocatable[2];
    struct sl_node_facts facts = {.name = SL_STR("n")};
    allocatable[0] = pair_of(MEM, "32", NULL);
    allocatable[1] = pair_of("aliyun.com/gpu-count", "2", &allocatable[0]);
    facts.allocatable = &allocatable[1];
    *state = store_of(&roomy);
    put_node(*state, sl_node_new(&facts, NULL));
    return 0;
}

/* What an owner can write, and when. */
struct share {
    const char *name;
    const char *uid; /* NULL: the name */
    const char *node;
    const char *units; /* NULL: it asks for nothing of ours */
    const char *assignment;
    const char *gpus; /* label aliyun.com/gpu-count */
    const char *timeout;
    const char *phase;
    bool gated;
    bool queued; /* its condition says so */
    int64_t deadline_s;
    int64_t created_us;
};

static struct sl_pod *made(const struct share *share)
{
    struct sl_pair limit = pair_of(MEM, share->units, NULL);
    struct sl_container_facts container = {.name = SL_STR("c")};
    struct sl_pair label = pair_of("aliyun.com/gpu-count", share->gpus, NULL);
    struct sl_pair timeout = pair_of("sliced.dev/timeout", share->timeout, NULL);
    struct sl_pair assignment = pair_of("sliced.dev/assignment", share->assignment,
                                        share->timeout == NULL ? NULL : &timeout);
    struct sl_pair gate = pair_of("sliced.dev/queue", "", NULL);
    struct sl_pod_facts facts = {
        .namespace = SL_STR("default"),
        .name = sl_str_of(share->name),
        .uid = sl_str_of(share->uid == NULL ? share->name : share->uid),
        .node_name = sl_str_of(share->node),
        .phase = sl_str_of(share->phase),
        .containers = &container,
        .labels = share->gpus == NULL ? NULL : &label,
        .annotations = share->assignment == NULL ? assignment.next : &assignment,
        .gates = share->gated ? &gate : NULL,
        .queued = share->queued,
        .deadline_s = share->deadline_s,
        .created_us = share->created_us,
    };
    container.limits = share->units == NULL ? NULL : &limit;
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    return pod;
}

static void put(struct sl_store *store, struct share share)
{
    assert_int_equal(sl_store_put_pod(store, made(&share), NULL), 0);
}

/* Units in use on GPU 0 and 1. */
static void expect_use(struct sl_store *store, int64_t first, int64_t second)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    const struct sl_view *view = view_at(snapshot, "n");
    assert_non_null(view);
    assert_int_equal(view->device[0].memory_units, first);
    assert_int_equal(view->device[1].memory_units, second);
    sl_store_release(store, snapshot);
}

static void expect_timeout(struct sl_store *store, const char *name, int64_t seconds)
{
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), sl_str_of(name));
    assert_non_null(pod);
    assert_int_equal(pod->timeout_s, seconds);
    sl_pod_unref(pod);
}

static bool seen_gated(struct sl_store *store, const char *name)
{
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), sl_str_of(name));
    assert_non_null(pod);
    bool seen = pod->gate_seen;
    sl_pod_unref(pod);
    return seen;
}

static void bind(struct sl_store *store, const char *name)
{
    assert_int_equal(reserve_code(store, name, name, "n"), SL_BIND_RESERVED);
    assert_true(sl_store_commit(store, sl_str_of(name), SL_POD_PENDING));
}

/* ---- what was given ---- */

TEST_FIXTURE(set_up, teardown)

TEST_ON(struct sl_store *store, an_edited_assignment_moves_nothing)
{
    static const char *const lies[] = {MEM "=1*10", MEM "=1*1", MEM "=9*10", "nonsense", "", NULL};
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .assignment = MEM "=0*10"});
    put(store, (struct share){.name = "b", .node = "n", .units = "12", .assignment = MEM "=1*12"});
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        put(store, (struct share){.name = "a",
                                  .node = "n",
                                  .units = "10",
                                  .assignment = lies[i],
                                  .phase = "Running"});
        expect_use(store, 10, 12);
    }
}

TEST_ON(struct sl_store *store, who_was_bound_without_an_assignment_cannot_write_one)
{
    put(store, (struct share){.name = "a", .node = "n", .units = "10"});
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .assignment = MEM "=1*10"});
    struct sl_pod *after = sl_store_pod(store, SL_STR("default"), SL_STR("a"));
    assert_null(pod->assignment);
    assert_null(after->assignment);
    sl_pod_unref(pod);
    sl_pod_unref(after);
}

/* Two GPUs of 5 would leave 11 on the first. */
TEST_ON(struct sl_store *store, an_edited_label_spreads_no_share)
{
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .assignment = MEM "=0*10"});
    put(store,
        (struct share){
            .name = "a", .node = "n", .units = "10", .gpus = "2", .assignment = MEM "=0*5,1*5"});
    expect_use(store, 10, 0);
}

TEST_ON(struct sl_store *store, the_ask_of_a_bound_pod_never_shrinks)
{
    static const char *const units[] = {"1", "0", NULL};
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .assignment = MEM "=0*10"});
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        put(store, (struct share){.name = "a", .node = "n", .units = units[i]});
        expect_use(store, 10, 0);
    }
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .phase = "Succeeded"});
    expect_use(store, 0, 0);
}

TEST_ON(struct sl_store *store, what_is_edited_while_the_binding_is_under_way_changes_nothing)
{
    put(store, (struct share){.name = "a", .units = "10"});
    assert_int_equal(reserve_code(store, "a", "a", "n"), SL_BIND_RESERVED);
    put(store, (struct share){.name = "a", .units = "10", .gpus = "2"});
    assert_true(sl_store_commit(store, SL_STR("a"), SL_POD_PENDING));
    expect_use(store, 10, 0);
    put(store,
        (struct share){
            .name = "a", .node = "n", .units = "10", .gpus = "2", .assignment = MEM "=1*10"});
    expect_use(store, 10, 0);
}

/* The watch may be ahead of the answer to the binding. */
TEST_ON(struct sl_store *store, the_share_that_the_binding_names_is_the_one_that_was_reserved)
{
    struct sl_bind_result result;
    put(store, (struct share){.name = "a", .units = "10"});
    reserve(store, "a", "a", "n", 0, &result);
    put(store,
        (struct share){
            .name = "a", .node = "n", .units = "2", .gpus = "2", .assignment = result.assignment});
    expect_use(store, 10, 0);
}

/* ... but another replica may have bound it first, to other devices. */
TEST_ON(struct sl_store *store, another_binding_than_ours_counts_as_it_is)
{
    put(store, (struct share){.name = "a", .units = "10"});
    assert_int_equal(reserve_code(store, "a", "a", "n"), SL_BIND_RESERVED);
    put(store, (struct share){.name = "a", .node = "n", .units = "10", .assignment = MEM "=1*10"});
    expect_use(store, 0, 10);
}

TEST_ON(struct sl_store *store, the_timeout_of_a_bound_pod_is_the_one_it_was_bound_with)
{
    put(store, (struct share){.name = "a", .units = "1", .timeout = "10m"});
    bind(store, "a");
    put(store,
        (struct share){
            .name = "a", .node = "n", .units = "1", .timeout = "30d", .assignment = MEM "=0"});
    expect_timeout(store, "a", 600);
    put(store, (struct share){.name = "a",
                              .node = "n",
                              .units = "1",
                              .timeout = "30d",
                              .deadline_s = 300,
                              .assignment = MEM "=0"});
    expect_timeout(store, "a", 300); /* the kubelet keeps it */
}

/* ---- the gate ---- */

TEST_ON(struct sl_store *store, a_gate_that_was_seen_is_remembered)
{
    put(store, (struct share){.name = "a", .units = "1", .gated = true});
    put(store, (struct share){.name = "b", .units = "1"});
    put(store, (struct share){.name = "a", .units = "1"});
    put(store, (struct share){.name = "a", .units = "1", .timeout = "1m"});
    assert_true(seen_gated(store, "a"));
    assert_false(seen_gated(store, "b"));
    put(store, (struct share){.name = "a", .uid = "anew", .units = "1", .created_us = 1});
    assert_false(seen_gated(store, "a"));
}

/* ---- news that change nothing ---- */

static void count_letter(void *context, struct sl_pod *pod, bool waits)
{
    unsigned *letters = context;
    (void)pod;
    (void)waits;
    (*letters)++;
}

static bool says_queued(struct sl_store *store, const char *name)
{
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), sl_str_of(name));
    assert_non_null(pod);
    bool queued = pod->queued;
    sl_pod_unref(pod);
    return queued;
}

TEST_ON(struct sl_store *store, the_condition_that_it_is_queued_costs_no_snapshot_and_no_plan)
{
    unsigned letters = 0;
    put(store, (struct share){.name = "a", .units = "1", .gated = true});
    sl_store_set_feed(store, count_letter, &letters);
    assert_int_equal(letters, 1);
    uint64_t generation = generation_of(store);
    put(store, (struct share){.name = "a", .units = "1", .gated = true, .queued = true});
    assert_true(says_queued(store, "a"));
    assert_int_equal(letters, 1);
    assert_int_equal(generation_of(store), generation);
    put(store, (struct share){.name = "a", .units = "1", .gated = true});
    assert_false(says_queued(store, "a"));
    put(store, (struct share){.name = "a", .units = "2", .gated = true, .queued = true});
    assert_int_equal(letters, 2);
    assert_int_not_equal(generation_of(store), generation);
    sl_store_set_feed(store, NULL, NULL);
}

TEST_ON(struct sl_store *store, a_bound_pod_that_is_told_of_again_costs_no_snapshot)
{
    const struct share bound = {.name = "a", .units = "4", .node = "n", .assignment = MEM "=0*4"};
    put(store, bound);
    expect_use(store, 4, 0);
    uint64_t generation = generation_of(store);
    put(store, bound);
    assert_int_equal(generation_of(store), generation);
    expect_use(store, 4, 0);
    put(store, (struct share){.name = "a", .units = "4"}); /* older than what is known */
    expect_use(store, 4, 0);
}

/* ---- two pods of one name ---- */

/* kube-scheduler asked for the new one before the watch had told of it. */
TEST_ON(struct sl_store *store, late_news_of_the_pod_before_it_frees_nothing)
{
    const struct share earlier = {.name = "a", .uid = "old", .units = "4", .created_us = 1000000};
    for (int64_t later_us = 0; later_us < 2; later_us++) {
        const struct share fresh = {
            .name = "a", .uid = "new", .units = "10", .created_us = 1000000 + later_us};
        put(store, earlier);
        assert_int_equal(sl_store_put_pod_ahead(store, made(&fresh), NULL), 0);
        assert_int_equal(reserve_code(store, "a", "new", "n"), SL_BIND_RESERVED);
        put(store, earlier);
        expect_use(store, 10, 0);
        assert_int_equal(
            sl_store_delete_pod(store, SL_STR("default"), SL_STR("a"), SL_STR("old"), NULL), -1);
        expect_use(store, 10, 0);
        assert_true(sl_store_commit(store, SL_STR("new"), SL_POD_PENDING));
        assert_int_equal(
            sl_store_delete_pod(store, SL_STR("default"), SL_STR("a"), SL_STR("new"), NULL), 0);
        expect_use(store, 0, 0);
    }
}

/* The clocks of two API servers need not agree. */
TEST_ON(struct sl_store *store, of_two_pods_that_the_watch_tells_of_the_last_counts)
{
    const struct share first = {.name = "a", .uid = "first", .units = "4", .created_us = 2};
    assert_int_equal(sl_store_put_pod_ahead(store, made(&first), NULL), 0);
    put(store, first);
    put(store, (struct share){.name = "a",
                              .uid = "next",
                              .node = "n",
                              .units = "10",
                              .assignment = MEM "=1*10",
                              .created_us = 1});
    expect_use(store, 0, 10);
}

TEST_ON(struct sl_store *store, a_list_says_which_of_two_pods_of_one_name_there_is)
{
    const struct share old = {.name = "a", .uid = "old", .units = "10", .created_us = 2};
    assert_int_equal(sl_store_put_pod_ahead(store, made(&old), NULL), 0);
    assert_int_equal(reserve_code(store, "a", "old", "n"), SL_BIND_RESERVED);
    sl_store_sweep_begin(store, SL_SWEEP_PODS);
    put(store, (struct share){.name = "a", .uid = "new", .units = "4", .created_us = 1});
    (void)sl_store_sweep_end(store, SL_SWEEP_PODS);
    expect_use(store, 0, 0);
    assert_int_equal(reserve_code(store, "a", "new", "n"), SL_BIND_RESERVED);
}
