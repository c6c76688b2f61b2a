/* The order in which a run tries pods, and where it stops. */
#include "unit/core/plan/plan_rig.h"

#define SHARED "nvidia.com/gpu.shared"

enum { PODS = 24, ROUNDS = 30 };

static unsigned draw(uint64_t *random, unsigned n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*random >> 33) % n;
}

/* A node of each resource that has room for all. */
static void given_room_for_all(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 8);
    plan_rig_node(rig, "n2", 8);
    plan_rig_node(rig, "n3", 8);
    plan_rig_share(plan_rig_node(rig, "n4", 8), 8);
    struct sl_pool *pool = &plan_rig_node(rig, "n5", 8)->pool[1];
    rig->node[4].node.n_pools = 2;
    *pool = (struct sl_pool){.resource = SHARED,
                             .key = sl_hash(SHARED, strlen(SHARED)),
                             .kind = SL_KIND_REPLICA,
                             .capacity = 32,
                             .replicas = 4,
                             .on_devices = true};
}

/* Names of the pods in the order in which they were nominated. */
static const char *names_in(const char *log)
{
    static char names[PLAN_LOG];
    size_t len = 0;
    for (const char *at = strstr(log, "nomination "); at != NULL; at = strstr(at, "nomination ")) {
        at += strlen("nomination ");
        len +=
            (size_t)snprintf(names + len, sizeof(names) - len, "%.*s ", (int)strcspn(at, " "), at);
    }
    names[len] = '\0';
    return names;
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(pods_of_all_resources_go_in_one_order)
{
    static const char *const resources[] = {GPU, MEM, SHARED};
    for (uint64_t random = 1; random <= ROUNDS; random++) {
        struct plan_rig *rig = plan_rig_new();
        uint64_t seed = random;
        char expected[PLAN_LOG] = "";
        given_room_for_all(rig);
        for (unsigned i = 0; i < PODS; i++) {
            char name[PLAN_NAME];
            (void)snprintf(name, sizeof(name), "p%02u", i);
            rig->now_us += SECONDS(1);
            plan_rig_put(rig, plan_rig_pod(rig, name, resources[draw(&seed, 3)], 1, 60));
            (void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s ",
                           name);
        }
        assert_string_equal(names_in(plan_rig_plan(rig)), expected);
        plan_rig_free(rig);
    }
}

TEST_ON(struct plan_rig *rig, a_run_that_stops_for_its_pace_goes_on_where_it_stopped)
{
    struct sl_queue_row row;
    given_room_for_all(rig);
    plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += 1;
    plan_rig_put(rig, plan_rig_pod(rig, "b", MEM, 1, 60));
    rig->now_us += 1;
    plan_rig_wait(rig, "c", 1, 60);
    rig->now_us += 1;
    plan_rig_wait(rig, "d", 1, 60);
    plan_rig_cluster(rig);
    assert_string_equal(plan_rig_run(rig, 1), "nomination a on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Pace");
    assert_string_equal(plan_rig_state(rig, "c"), "Held Pace");
    assert_string_equal(plan_rig_state(rig, "d"), "Held Pace");
    assert_string_equal(names_in(plan_rig_run(rig, 2)), "b c ");
    assert_string_equal(plan_rig_state(rig, "d"), "Held Pace");
    assert_string_equal(names_in(plan_rig_run(rig, 2)), "d ");
    assert_true(plan_rig_row(rig, "d", &row));
    assert_int_equal(row.since_us, rig->now_us); /* nominated just now */
}

TEST_ON(struct plan_rig *rig, many_that_find_no_room_keep_those_behind_from_no_other_lane)
{
    char name[PLAN_NAME];
    plan_rig_node(rig, "n1", 2);
    plan_rig_share(plan_rig_node(rig, "n2", 1), 8);
    plan_rig_run_on(rig, "x", "n1", 2, 600);
    plan_rig_run_on(rig, "y", "n2", 1, 600);
    for (unsigned i = 0; i < PODS; i++) {
        (void)snprintf(name, sizeof(name), "p%02u", i);
        plan_rig_wait(rig, name, 1 + i % 2, 60);
    }
    plan_rig_put(rig, plan_rig_pod(rig, "shares", MEM, 1, 60));
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_end(rig, "y");
    assert_string_equal(names_in(plan_rig_plan(rig)), "p00 ");
    assert_string_equal(plan_rig_state(rig, "shares"), "Held NoRoom");
    assert_string_equal(plan_rig_state(rig, "p01"), "Held NoRoom");
    assert_string_equal(plan_rig_state(rig, "p23"), "Held NoRoom");
}
