/* Room that reserve leaves for pods which kube-scheduler has nominated to the node. */
#include "unit/cluster/fixture.h"

struct waiting {
    const char *name;
    const char *node; /* nominated to */
    int32_t priority;
    const char *phase; /* NULL: Pending */
    const char *gpus;  /* NULL: one */
    bool gated;
};

static void put_waiting(struct sl_store *store, struct waiting waiting)
{
    struct sl_error err = {0};
    struct sl_pair gate = pair_of("example.com/gate", "", NULL);
    struct sl_pair limit = pair_of(GPU, waiting.gpus == NULL ? "1" : waiting.gpus, NULL);
    struct sl_container_facts container = {
        .name = SL_STR("main"), .limits = &limit, .requests = &limit};
    struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                 .name = sl_str_of(waiting.name),
                                 .uid = sl_str_of(waiting.name),
                                 .nominated = sl_str_of(waiting.node),
                                 .phase = sl_str_of(waiting.phase),
                                 .priority = waiting.priority,
                                 .gates = waiting.gated ? &gate : NULL,
                                 .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    assert_non_null(pod);
    assert_int_equal(sl_store_put_pod(store, pod, &err), 0);
}

/* A pod of priority 5 asks for one of the node's two GPUs, of which one is nobody's. */
static enum sl_bind_code ask(struct sl_store *store, struct waiting nominee, bool heeds)
{
    put_node(store, whole_node("n1", 2));
    put_node(store, whole_node("n2", 2));
    put_pod(store,
            (struct pod_spec){
                .name = "runs", .uid = "runs", .node = "n1", .resource = GPU, .phase = "Running"});
    put_waiting(store, nominee);
    put_waiting(store, (struct waiting){.name = "asks", .priority = 5});
    sl_store_heed_nominees(store, heeds);
    return reserve_code(store, "asks", "asks", "n1");
}

TEST_THAT(room_is_left_for_those_of_no_lower_priority_who_will_come)
{
    static const struct {
        struct waiting nominee;
        bool heeds, left;
    } rows[] = {
        {{.name = "n", .node = "n1", .priority = 5}, true, true},
        {{.name = "n", .node = "n1", .priority = 6}, true, true},
        {{.name = "n", .node = "n1", .priority = 4}, true, false},
        {{.name = "n", .node = "n2", .priority = 6}, true, false},
        {{.name = "n", .node = "n9", .priority = 6}, true, false}, /* there is none such */
        {{.name = "n", .priority = 6}, true, false},
        {{.name = "n", .node = "n1", .priority = 6, .gated = true}, true, false},
        {{.name = "n", .node = "n1", .priority = 6, .phase = "Failed"}, true, false},
        {{.name = "n", .node = "n1", .priority = 6}, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_store *store = store_of(&roomy);
        assert_int_equal(ask(store, rows[i].nominee, rows[i].heeds),
                         rows[i].left ? SL_BIND_NO_ROOM : SL_BIND_RESERVED);
        sl_store_free(store);
    }
}

TEST_THAT(a_nominee_takes_the_room_itself_and_leaves_none_once_it_is_gone)
{
    struct sl_store *store = store_of(&roomy);
    assert_int_equal(ask(store, (struct waiting){.name = "n", .node = "n1", .priority = 5}, true),
                     SL_BIND_NO_ROOM);
    assert_int_equal(reserve_code(store, "n", "n", "n1"), SL_BIND_RESERVED);
    assert_true(sl_store_rollback(store, SL_STR("n")));
    assert_int_equal(reserve_code(store, "asks", "asks", "n1"), SL_BIND_NO_ROOM);
    assert_int_equal(delete_pod(store, "n"), 0);
    assert_int_equal(reserve_code(store, "asks", "asks", "n1"), SL_BIND_RESERVED);
    sl_store_free(store);
}

/* Each that is nominated counts, but no more than so many: of a crowd those of highest priority. */
TEST_THAT(a_crowd_keeps_no_nominee_of_higher_priority_out)
{
    struct sl_store *store = store_of(&roomy);
    put_node(store, whole_node("n1", 2));
    for (int i = 0; i < SL_NOMINEES_MAX + 16; i++) { /* they will not come: there are two GPUs */
        char name[16];
        (void)snprintf(name, sizeof(name), "p%02d", i);
        put_waiting(store,
                    (struct waiting){.name = name, .node = "n1", .priority = 6, .gpus = "3"});
    }
    put_waiting(store, (struct waiting){.name = "comes", .node = "n1", .priority = 8, .gpus = "2"});
    put_waiting(store, (struct waiting){.name = "q", .node = "n1", .priority = 9, .gpus = "3"});
    put_waiting(store, (struct waiting){.name = "asks", .priority = 5});
    sl_store_heed_nominees(store, true);
    assert_int_equal(reserve_code(store, "asks", "asks", "n1"), SL_BIND_NO_ROOM);
    sl_store_free(store);
}

static const char *shown(const struct sl_nominees *all, const char *node, size_t *n)
{
    struct sl_pod *const *first = sl_nominees_on(all, node, n);
    return first == NULL ? "" : first[0]->name;
}

/* filter finds each node's among those of all: bind must leave room for the same. */
TEST_THAT(the_list_of_all_has_those_of_each_node_the_highest_priority_first)
{
    struct sl_store *store = store_of(&roomy);
    struct sl_pod *asks =
        pod_of(&(struct pod_spec){.name = "asks", .uid = "asks", .resource = GPU});
    struct sl_nominees all;
    size_t n = 0;
    for (int i = 0; i < SL_NOMINEES_MAX + 36; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%02d", i);
        put_waiting(store, (struct waiting){.name = name, .node = "b", .priority = i % 50});
    }
    put_waiting(store, (struct waiting){.name = "first", .node = "a", .priority = 1});
    put_waiting(store, (struct waiting){.name = "asks", .node = "a", .priority = 9}); /* itself */
    put_waiting(store, (struct waiting){.name = "last", .node = "c"});
    put_waiting(store, (struct waiting){.name = "lower", .node = "c", .priority = -1});
    assert_int_equal(sl_store_nominees(store, asks, &all), 0);
    assert_int_equal(all.n, 0); /* not heeded */
    sl_nominees_free(&all);
    sl_store_heed_nominees(store, true);
    assert_int_equal(sl_store_nominees(store, asks, &all), 0);
    assert_string_equal(shown(&all, "a", &n), "first");
    assert_int_equal(n, 1);
    assert_string_equal(shown(&all, "b", &n), "p49");
    assert_int_equal(n, SL_NOMINEES_MAX);
    assert_string_equal(shown(&all, "c", &n), "last");
    assert_int_equal(n, 1);
    assert_string_equal(shown(&all, "bb", &n), "");
    assert_int_equal(n, 0);
    sl_nominees_free(&all);
    sl_pod_unref(asks);
    sl_store_free(store);
}
