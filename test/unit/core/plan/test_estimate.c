/* Estimated starts: none where nothing is known, and none before one node can have the units. */
#include "plan_rig.h"

#include "core/plan/report/report.h"
#include "sliced/constraint.h"

static const char *const second[] = {"n2"};
static const struct sl_match on_second = {
    .key = "metadata.name", .value = second, .n_values = 1, .op = SL_MATCH_IN, .field = true};
static const char *const nowhere[] = {"n9"};
static const struct sl_match on_none = {
    .key = "metadata.name", .value = nowhere, .n_values = 1, .op = SL_MATCH_IN, .field = true};

static void wait_on(struct plan_rig *rig, const char *name, const struct sl_match *match,
                    int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, timeout_s);
    p->constraints = (struct sl_constraints){
        .selector = match, .n_selector = 1, .by_name = true, .digest = match == &on_none ? 2 : 1};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
}

static void plan_and_estimate(struct plan_rig *rig)
{
    struct sl_error err = {0};
    plan_rig_plan(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
}

/* Seconds from now; -1: nothing is said. */
static int64_t estimate_of(struct plan_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    if (row.estimate == SL_ESTIMATE_NONE) {
        assert_int_equal(row.start_us, 0);
        return -1;
    }
    assert_int_equal((row.start_us - rig->now_us) % SECONDS(1), 0);
    return (row.start_us - rig->now_us) / SECONDS(1);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

/* A GPU of each of four nodes is free: no two of them are together before 7200 s. */
TEST_ON(struct plan_rig *rig, units_that_lie_apart_are_no_start_of_a_pod_that_needs_them_together)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    for (unsigned i = 0; i < 4; i++) {
        char pod[PLAN_NAME];
        snprintf(pod, sizeof(pod), "x%u", i);
        plan_rig_node(rig, names[i], 2);
        plan_rig_run_on(rig, pod, names[i], 1, 7200 + i);
    }
    plan_rig_wait(rig, "a", 2, 60);
    plan_rig_wait(rig, "b", 2, 60);
    plan_and_estimate(rig);
    assert_string_equal(plan_rig_state(rig, "b"), "Held NoRoom");
    assert_int_equal(estimate_of(rig, "a"), 7200);
    assert_int_equal(estimate_of(rig, "b"), 7200);
}

TEST_ON(struct plan_rig *rig, a_pod_that_one_node_admits_starts_no_earlier_than_that_frees)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 30);
    plan_rig_run_on(rig, "y", "n2", 1, 3600);
    plan_rig_wait(rig, "any", 1, 600);
    rig->now_us += SECONDS(1);
    wait_on(rig, "there", &on_second, 60);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "third", 1, 60);
    plan_and_estimate(rig);
    assert_int_equal(estimate_of(rig, "any"), 28);
    assert_int_equal(estimate_of(rig, "there"), 3598);
    assert_int_equal(estimate_of(rig, "third"), 628);
}

TEST_ON(struct plan_rig *rig, a_short_pod_starts_in_what_a_wide_one_cannot_use_yet)
{
    rig->config.backfill = false; /* it would start at once */
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_node(rig, "n2", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 3600);
    plan_rig_run_on(rig, "y", "n2", 1, 3600);
    plan_rig_wait(rig, "wide", 2, 60);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "a", 1, 1000);
    plan_rig_wait(rig, "b", 1, 2599);
    plan_rig_wait(rig, "c", 1, 3599);
    plan_rig_wait(rig, "d", 1, 1000);
    plan_rig_wait(rig, "wide2", 2, 60);
    plan_and_estimate(rig);
    assert_int_equal(estimate_of(rig, "wide"), 3599);
    assert_int_equal(estimate_of(rig, "a"), 0);
    assert_int_equal(estimate_of(rig, "b"), 0);
    assert_true(estimate_of(rig, "c") >= 3599);
    assert_int_equal(estimate_of(rig, "d"), 1000);
    assert_true(estimate_of(rig, "wide2") >= 3599);
}

/* Wide pods leave a gap each, and short ones part these into more than are kept. */
TEST_ON(struct plan_rig *rig, more_gaps_than_are_kept_harm_no_estimate)
{
    enum { NODES = 15, WIDE = 13, SHORT = 40 };
    char name[PLAN_NAME];
    rig->config.backfill = false; /* the short ones would start at once */
    plan_rig_configure(rig);
    for (unsigned i = 0; i < NODES; i++) {
        char node[PLAN_NAME];
        snprintf(node, sizeof(node), "n%02u", i);
        snprintf(name, sizeof(name), "x%02u", i);
        plan_rig_node(rig, node, 8);
        plan_rig_run_on(rig, name, node, 1, 3600);
    }
    for (unsigned i = 0; i < WIDE; i++) {
        snprintf(name, sizeof(name), "a%02u", i);
        plan_rig_wait(rig, name, 8, 60);
    }
    for (unsigned i = 0; i < SHORT; i++) {
        snprintf(name, sizeof(name), "b%02u", i);
        plan_rig_wait(rig, name, 1, 1000);
    }
    plan_and_estimate(rig);
    assert_int_equal(estimate_of(rig, "a12"), 3600);
    for (unsigned i = 0; i < SHORT; i++) {
        snprintf(name, sizeof(name), "b%02u", i);
        assert_int_equal(estimate_of(rig, name), 0);
    }
}

/* The promise is reckoned in units alone. */
TEST_ON(struct plan_rig *rig, a_latest_start_is_no_estimate_before_the_node_frees)
{
    struct sl_queue_row row;
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 30);
    plan_rig_run_on(rig, "y", "n2", 1, 3600);
    plan_rig_wait(rig, "any", 1, 20);
    rig->now_us += SECONDS(1);
    wait_on(rig, "there", &on_second, 40);
    wait_on(rig, "then", &on_second, 60);
    plan_and_estimate(rig);
    assert_true(plan_rig_row(rig, "then", &row));
    assert_true(row.latest_start_us > 0 && row.latest_start_us < rig->now_us + SECONDS(3599));
    assert_int_equal(estimate_of(rig, "then"), 3599);
}

TEST_ON(struct plan_rig *rig, nothing_is_said_of_a_pod_that_no_node_admits)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    wait_on(rig, "lost", &on_none, 60);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_and_estimate(rig);
    assert_string_equal(plan_rig_state(rig, "lost"), "Held NoRoom");
    assert_int_equal(estimate_of(rig, "lost"), -1);
    assert_int_equal(estimate_of(rig, "a"), 100);
    assert_int_equal(estimate_of(rig, "b"), 160);
    plan_rig_end(rig, "x");
    plan_and_estimate(rig);
    assert_int_equal(estimate_of(rig, "lost"), -1);
    assert_int_equal(estimate_of(rig, "b"), 60);
}

TEST_ON(struct plan_rig *rig, nothing_is_said_of_a_pod_that_constraints_keep_from_what_is_free)
{
    plan_rig_node(rig, "n1", 1)->node.host.cpu_milli = 1000;
    struct plan_rig_pod *p = plan_rig_pod(rig, "huge", GPU, 1, 100);
    p->constraints = (struct sl_constraints){.cpu_milli = 5000, .digest = 3};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    plan_and_estimate(rig);
    assert_string_equal(plan_rig_state(rig, "huge"), "Held Constraint");
    assert_int_equal(estimate_of(rig, "huge"), -1);
}

TEST_ON(struct plan_rig *rig, nothing_is_said_of_a_pod_that_headroom_is_kept_from)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 3);
    plan_rig_run_on(rig, "x", "n1", 1, 1000);
    plan_rig_run_on(rig, "y", "n1", 1, 1000);
    plan_rig_wait(rig, "long", 1, 100);
    plan_and_estimate(rig);
    assert_string_equal(plan_rig_state(rig, "long"), "Held Headroom");
    assert_int_equal(estimate_of(rig, "long"), -1);
}

/* A unit is free on each node, but none with that much memory. */
TEST_ON(struct plan_rig *rig, free_units_with_too_little_memory_are_no_start)
{
    enum { SMALL = 40960, ASKED = 61440, LARGE = 81920 };
    struct plan_rig_node *n1 = plan_rig_node(rig, "n1", 2);
    struct plan_rig_node *n2 = plan_rig_node(rig, "n2", 1);
    n1->device[0].memory_mib = LARGE;
    n1->device[1].memory_mib = SMALL;
    n2->device[0].memory_mib = SMALL;
    plan_rig_start(rig, plan_rig_pod(rig, "x", GPU, 1, 7200), "n1", GPU "=0");
    plan_rig_wait(rig, "wide", 2, 60);
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *p = plan_rig_pod(rig, "big", GPU, 1, 60);
    p->item[0].least_mib = ASKED;
    plan_rig_put(rig, p);
    plan_and_estimate(rig);
    assert_string_equal(plan_rig_state(rig, "big"), "Held NoRoom");
    assert_int_equal(estimate_of(rig, "wide"), 7199);
    assert_in_range(estimate_of(rig, "big"), 7199, 7259);
}

/* No run has looked at the node yet: what is free there can be had now. */
TEST_ON(struct plan_rig *rig, a_node_that_has_just_come_has_room_now)
{
    struct sl_error err = {0};
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    wait_on(rig, "there", &on_second, 60);
    plan_rig_wait(rig, "wide", 2, 60);
    plan_and_estimate(rig);
    assert_int_equal(estimate_of(rig, "there"), -1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_cluster(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_int_equal(estimate_of(rig, "there"), 0);
    assert_int_equal(estimate_of(rig, "wide"), -1); /* it has one GPU, too */
}

/* ---- what estimates look at ---- */

enum { DEAR = 200, WEIGHT = UINT16_MAX };

/* Pods of a namespace, of which each looks at all nodes at great cost, and none admits it. */
static void wait_dearly(struct plan_rig *rig)
{
    for (unsigned i = 0; i < DEAR; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "dear%u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 60);
        p->constraints =
            (struct sl_constraints){.affinity = true, .weight = WEIGHT, .digest = 100 + i};
        p->pod.constraints = &p->constraints;
        p->pod.namespace = "greedy";
        plan_rig_put(rig, p);
    }
}

/* Nodes that constraints tell apart, as most do. */
static void nodes_of_their_own(struct plan_rig *rig)
{
    for (unsigned i = 0; i < PLAN_NODES; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "n%u", i < 9 ? i + 1 : i + 81);
        plan_rig_node(rig, name, 1)->node.site_digest = UINT64_C(2) * (i + 1);
    }
}

TEST_ON(struct plan_rig *rig, estimates_count_what_constraints_compare)
{
    struct sl_error err = {0};
    nodes_of_their_own(rig);
    plan_rig_cluster(rig);
    wait_dearly(rig);
    uint64_t looked = rig->planner->looked;
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_in_range(rig->planner->looked - looked, 1,
                    SL_PLAN_EARLY_CHECKS + WEIGHT / SL_CONSTRAINTS_OF_A_LOOK);
}

TEST_ON(struct plan_rig *rig, a_namespace_leaves_some_of_what_estimates_look_at_to_others)
{
    nodes_of_their_own(rig);
    plan_rig_run_on(rig, "y", "n2", 1, 3600);
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *other = plan_rig_pod(rig, "there", GPU, 1, 60);
    other->constraints = (struct sl_constraints){
        .selector = &on_second, .n_selector = 1, .by_name = true, .digest = 1};
    other->pod.constraints = &other->constraints;
    plan_rig_put(rig, other); /* first, and so the last of its ask to be worked out */
    rig->now_us += SECONDS(1);
    wait_dearly(rig);
    plan_and_estimate(rig);
    while (sl_planner_wake(rig->planner) <= rig->now_us) { /* why it waits is found out */
        (void)plan_rig_run(rig, 10);
    }
    struct sl_error err = {0};
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_int_equal(sl_plan_find(rig->planner, SL_STR("there"))->class->early_us - rig->now_us,
                     SECONDS(3598));
}
