/* What a reservation keeps: devices on one node, and on which node of several. */
#include "unit/core/plan/plan_rig.h"

/* Shares of GPU memory on the node's GPUs, of eight units each. */
static void share_node(struct plan_rig *rig, const char *name, unsigned gpus)
{
    plan_rig_share(plan_rig_node(rig, name, gpus), 8);
}

static void run_share(struct plan_rig *rig, const char *name, const char *node, int64_t units,
                      const char *assignment, int64_t timeout_s)
{
    plan_rig_start(rig, plan_rig_pod(rig, name, MEM, units, timeout_s), node, assignment);
}

static void wait_share(struct plan_rig *rig, const char *name, int64_t units, int64_t timeout_s)
{
    plan_rig_put(rig, plan_rig_pod(rig, name, MEM, units, timeout_s));
    rig->now_us += 1;
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

/* The GPU with the least room that suffices would be GPU 0, all of which is reserved. */
TEST_ON(struct plan_rig *rig, a_backfilled_share_goes_beside_the_reserved_gpu)
{
    share_node(rig, "n1", 3);
    run_share(rig, "a", "n1", 6, MEM "=0*6", 100);
    run_share(rig, "b", "n1", 5, MEM "=1*5", 10000);
    run_share(rig, "c", "n1", 1, MEM "=2*1", 10000);
    wait_share(rig, "all", 8, 50);
    wait_share(rig, "long", 2, 5000);
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: " MEM "=1*2\n");
    wait_share(rig, "short", 2, 90);
    assert_string_equal(plan_rig_run(rig, 9), "backfill short on n1: " MEM "=0*2\n");
}

/* Of GPU 0, three units are in use and all are reserved: these are eight, not eleven. */
TEST_ON(struct plan_rig *rig, a_reserved_gpu_counts_once_though_it_is_still_in_use)
{
    share_node(rig, "n1", 2);
    run_share(rig, "a", "n1", 3, MEM "=0*3", 100);
    run_share(rig, "b", "n1", 2, MEM "=1*2", 10000);
    wait_share(rig, "all", 8, 50);
    wait_share(rig, "long", 5, 5000);
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: " MEM "=1*5\n");
}

TEST_THAT(a_reservation_is_on_the_node_that_frees_first_and_by_name_among_equals)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_node(rig, "n3", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 200);
    plan_rig_run_on(rig, "y", "n2", 1, 100);
    plan_rig_run_on(rig, "z", "n3", 1, 100);
    plan_rig_wait(rig, "a", 1, 50);
    (void)plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_string_equal(row.node, "n2");
    plan_rig_end(rig, "z"); /* its room goes to the pod at once */
    assert_string_equal(plan_rig_plan(rig), "nomination a on n3: " GPU "=0\n");
}

TEST_ON(struct plan_rig *rig, others_go_at_once_when_the_pod_with_the_reservation_goes)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "wide", 2, 50);
    rig->now_us += 1;
    plan_rig_wait(rig, "long", 1, 5000);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    sl_planner_remove(rig->planner, SL_STR("wide"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 9), "nomination long on n1: " GPU "=1\n");
}

/* Together the units that end first would do, but they lie on two GPUs: that shows only when the
 * node is searched. */
TEST_THAT(among_nodes_searched_the_one_that_has_room_first_is_reserved)
{
    static const struct {
        int64_t hope_s[2]; /* when so many units are free on each node, */
        int64_t room_s[2]; /* and when they are on one GPU */
        const char *node;
    } rows[] = {
        {{40, 50}, {100, 100}, "n1"}, {{50, 40}, {100, 100}, "n1"}, {{40, 50}, {200, 100}, "n2"},
        {{50, 40}, {200, 100}, "n2"}, {{50, 40}, {100, 200}, "n1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        struct sl_queue_row row;
        for (unsigned n = 0; n < 2; n++) {
            char name[3] = {'n', (char)('1' + n), '\0'};
            share_node(rig, name, 2);
            run_share(rig, "a", name, 4, MEM "=0*4", rows[i].hope_s[n]);
            run_share(rig, "b", name, 4, MEM "=0*4", 10000);
            run_share(rig, "c", name, 4, MEM "=1*4", rows[i].room_s[n]);
        }
        wait_share(rig, "all", 8, 50);
        (void)plan_rig_plan(rig);
        assert_true(plan_rig_row(rig, "all", &row));
        assert_string_equal(row.node, rows[i].node);
        plan_rig_free(rig);
    }
}

static struct plan_rig_pod *with_cpu(struct plan_rig_pod *p, int64_t cpu_milli)
{
    p->constraints = (struct sl_constraints){
        .cpu_milli = cpu_milli, .memory_bytes = 3 * cpu_milli, .digest = (uint64_t)cpu_milli};
    p->pod.constraints = &p->constraints;
    return p;
}

/* What the ends until then free counts, all of it, and so does what a start would take. */
TEST_THAT(a_start_leaves_a_reservation_the_cpu_and_memory_that_it_needs)
{
    static const struct {
        struct sl_host host;
        const char *told;
    } rows[] = {
        {{.cpu_milli = 10, .memory_bytes = -1, .pods = -1}, "backfill long on n1: " GPU "=2\n"},
        {{.cpu_milli = 9, .memory_bytes = -1, .pods = -1}, ""},
        {{.cpu_milli = -1, .memory_bytes = 30, .pods = -1}, "backfill long on n1: " GPU "=2\n"},
        {{.cpu_milli = -1, .memory_bytes = 29, .pods = -1}, ""},
        {{.cpu_milli = -1, .memory_bytes = -1, .pods = 3}, "backfill long on n1: " GPU "=2\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        plan_rig_node(rig, "n1", 3)->node.host = rows[i].host;
        plan_rig_start(rig, with_cpu(plan_rig_pod(rig, "x", GPU, 1, 100), 3), "n1", GPU "=0");
        plan_rig_start(rig, with_cpu(plan_rig_pod(rig, "y", GPU, 1, 100), 3), "n1", GPU "=1");
        plan_rig_put(rig, with_cpu(plan_rig_pod(rig, "pair", GPU, 2, 50), 8));
        rig->now_us += 1;
        plan_rig_put(rig, with_cpu(plan_rig_pod(rig, "long", GPU, 1, 5000), 2));
        assert_string_equal(plan_rig_plan(rig), rows[i].told);
        plan_rig_free(rig);
    }
}

/* Nothing frees the room for it: it holds nobody up, now and at the next look. */
TEST_ON(struct plan_rig *rig, a_pod_that_nothing_frees_room_for_reserves_nothing)
{
    struct sl_queue_row row;
    share_node(rig, "n1", 1);
    run_share(rig, "a", "n1", 4, MEM "=0*4", 100);
    plan_rig_put(rig, plan_rig_pod(rig, "none", "nvidia.com/mig-1g.5gb", 1, 50));
    rig->now_us += 1;
    struct plan_rig_pod *big = plan_rig_pod(rig, "big", MEM, 8, 50);
    big->constraints = (struct sl_constraints){.cpu_milli = 5000, .digest = 3};
    big->pod.constraints = &big->constraints;
    rig->node[0].node.host.cpu_milli = 4000;
    plan_rig_put(rig, big);
    wait_share(rig, "long", 2, 5000);
    for (unsigned i = 0; i < 2; i++) {
        const char *told = plan_rig_plan(rig);
        assert_string_equal(
            told, i == 0 ? "refuse none: Never\nnomination long on n1: " MEM "=0*2\n" : "");
        assert_true(plan_rig_row(rig, "big", &row));
        assert_int_equal(row.estimate, SL_ESTIMATE_NONE);
        assert_null(row.node);
        rig->now_us += SECONDS(1);
    }
}

TEST_ON(struct plan_rig *rig, a_pod_that_requests_no_cpu_reserves_where_none_is_left)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    rig->node[0].node.host = (struct sl_host){.cpu_milli = 4000, .memory_bytes = 100, .pods = 9};
    struct plan_rig_pod *all = plan_rig_pod(rig, "all", GPU, 1, 5000);
    all->constraints = (struct sl_constraints){.cpu_milli = 4000, .memory_bytes = 100, .digest = 1};
    all->pod.constraints = &all->constraints;
    plan_rig_start(rig, all, "n1", NULL);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "a", 1, 50);
    (void)plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_int_equal(row.estimate, SL_ESTIMATE_RESERVED);
    assert_int_equal(row.start_us, SECONDS(1000100));
}

TEST_ON(struct plan_rig *rig, a_pod_has_one_pardon_and_keeps_it_until_it_expires)
{
    plan_rig_node(rig, "n1", 1);
    int64_t created_us = plan_rig_wait(rig, "a", 1, 60)->pod.created_us;
    struct plan_rig_pod *shorter = plan_rig_pod(rig, "a", GPU, 1, 50);
    shorter->pod.created_us = created_us;
    plan_rig_put(rig, shorter); /* nothing is to be pardoned yet */
    (void)plan_rig_plan(rig);
    rig->now_us += rig->config.hold_us;
    assert_string_equal(plan_rig_run(rig, 9), "expire a on n1: Expired\n");
    struct plan_rig_pod *other = plan_rig_pod(rig, "a", GPU, 1, 40);
    other->pod.created_us = created_us;
    plan_rig_put(rig, other);
    assert_string_equal(plan_rig_run(rig, 9), "nomination a on n1: " GPU "=0\n");
}
