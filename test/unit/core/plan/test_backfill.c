/* Reservations and backfill, headroom, constraints, preemption and autoscalers, and what is told:
 * rows, estimated starts, sentences. */
#include "plan_rig.h"

#include "sliced/constraint.h"

/* ---- backfill ---- */

/* One node of two GPUs; x runs on one of them for 100 s, big waits for both. */
static void given_a_pod_that_waits_for_both(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "big", 2, 50);
    plan_rig_plan(rig);
    rig->now_us += SECONDS(10);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, the_first_that_cannot_start_has_a_reservation_at_the_end_of_what_runs)
{
    struct sl_queue_row row;
    given_a_pod_that_waits_for_both(rig);
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.estimate, SL_ESTIMATE_RESERVED);
    assert_int_equal(row.start_us, SECONDS(1000000 + 100));
    assert_string_equal(row.node, "n1");
}

TEST_ON(struct plan_rig *rig, a_pod_behind_may_start_when_it_ends_before_the_reservation)
{
    given_a_pod_that_waits_for_both(rig);
    plan_rig_wait(rig, "long", 1, 91);
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    plan_rig_wait(rig, "short", 1, 90);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, a_pod_behind_may_take_what_the_reservation_does_not_need)
{
    plan_rig_node(rig, "n1", 4);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_run_on(rig, "y", "n1", 1, 100);
    plan_rig_wait(rig, "big", 3, 50);
    plan_rig_wait(rig, "long", 1, 5000);
    plan_rig_wait(rig, "other", 1, 5000);
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: nvidia.com/gpu=2\n");
    assert_string_equal(plan_rig_state(rig, "other"), "Held Behind");
}

static struct plan_rig_pod *pod_with_cpu(struct plan_rig *rig, const char *name, int64_t cpu_milli,
                                         int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, timeout_s);
    p->constraints = (struct sl_constraints){.cpu_milli = cpu_milli, .digest = (uint64_t)cpu_milli};
    p->pod.constraints = &p->constraints;
    return p;
}

TEST_ON(struct plan_rig *rig, a_pod_behind_leaves_the_cpu_that_the_reservation_needs)
{
    plan_rig_node(rig, "n1", 4)->node.host.cpu_milli = 4;
    plan_rig_start(rig, pod_with_cpu(rig, "x", 2, 100), "n1", NULL);
    plan_rig_put(rig, pod_with_cpu(rig, "first", 3, 50));
    plan_rig_put(rig, pod_with_cpu(rig, "long", 2, 500));
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    plan_rig_put(rig, pod_with_cpu(rig, "short", 2, 100));
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: nvidia.com/gpu=1\n");
}

/* It has room now, and what keeps it from that is no run's end. */
TEST_ON(struct plan_rig *rig, a_pod_that_another_resources_reservation_keeps_waiting_wakes_nobody)
{
    struct plan_rig_node *node = plan_rig_node(rig, "n1", 4);
    plan_rig_share(node, 16);
    node->node.host.cpu_milli = 4;
    plan_rig_start(rig, pod_with_cpu(rig, "x", 2, 100), "n1", NULL);
    plan_rig_put(rig, pod_with_cpu(rig, "first", 3, 50));
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *long_one = plan_rig_pod(rig, "long", MEM, 4, 500);
    long_one->constraints = (struct sl_constraints){.cpu_milli = 2, .digest = 2};
    long_one->pod.constraints = &long_one->constraints;
    plan_rig_put(rig, long_one);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    assert_true(sl_planner_wake(rig->planner) > rig->now_us + SECONDS(98));
}

TEST_ON(struct plan_rig *rig, a_pod_behind_may_take_cpu_that_the_reservation_does_not_need)
{
    plan_rig_node(rig, "n1", 4)->node.host.cpu_milli = 4;
    plan_rig_start(rig, pod_with_cpu(rig, "x", 2, 100), "n1", NULL);
    plan_rig_put(rig, pod_with_cpu(rig, "first", 3, 50));
    plan_rig_put(rig, pod_with_cpu(rig, "long", 1, 500));
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: nvidia.com/gpu=1\n");
}

/* By then some pods have ended and others have not. */
TEST_ON(struct plan_rig *rig, a_pod_behind_may_take_cpu_that_comes_free_before_the_reservation)
{
    plan_rig_node(rig, "n1", 6)->node.host.cpu_milli = 8;
    plan_rig_start(rig, pod_with_cpu(rig, "x", 1, 50), "n1", NULL);
    plan_rig_start(rig, pod_with_cpu(rig, "y", 2, 100), "n1", NULL);
    plan_rig_start(rig, pod_with_cpu(rig, "z", 3, 900), "n1", NULL);
    plan_rig_put(rig, pod_with_cpu(rig, "first", 4, 50));
    plan_rig_put(rig, pod_with_cpu(rig, "wide", 2, 500));
    plan_rig_put(rig, pod_with_cpu(rig, "long", 1, 500));
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: nvidia.com/gpu=3\n");
}

TEST_ON(struct plan_rig *rig, a_reservation_moves_to_a_node_that_has_it_as_early)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    plan_rig_node(rig, "n2", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_run_on(rig, "y", "n2", 2, 100);
    plan_rig_wait(rig, "big", 2, 50);
    plan_rig_wait(rig, "long", 1, 5000);
    assert_string_equal(plan_rig_plan(rig), "backfill long on n1: nvidia.com/gpu=1\n");
    assert_true(plan_rig_row(rig, "big", &row));
    assert_string_equal(row.node, "n2");
    assert_int_equal(row.start_us, SECONDS(1000000 + 100));
}

TEST_ON(struct plan_rig *rig, a_pod_past_its_timeout_is_taken_to_go_on_for_as_long_as_it_is_late)
{
    struct sl_queue_row row;
    given_a_pod_that_waits_for_both(rig);
    rig->now_us += SECONDS(100); /* x is 10 s late */
    plan_rig_wait(rig, "long", 1, 11);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(10));
    plan_rig_wait(rig, "short", 1, 10);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, a_pod_that_never_ends_keeps_nothing_idle_for_one_that_waits_for_it)
{
    given_a_pod_that_waits_for_both(rig);
    rig->now_us = SECONDS(1000000 + 101);
    plan_rig_wait(rig, "small", 1, 60);
    (void)plan_rig_plan(rig);
    for (int i = 0; i < 20 && strcmp(plan_rig_state(rig, "small"), "Held Behind") == 0; i++) {
        assert_true(sl_planner_wake(rig->planner) < rig->now_us + SECONDS(1000));
        rig->now_us = sl_planner_wake(rig->planner);
        (void)plan_rig_run(rig, 1000); /* nothing has changed but the time */
    }
    assert_string_equal(plan_rig_state(rig, "small"), "Nominated None");
    assert_true(rig->now_us < SECONDS(1000000 + 100 + 2 * 64 + 2));
}

TEST_ON(struct plan_rig *rig, nothing_idles_beside_one_that_never_ends_in_the_order_bounded)
{
    rig->config.order.kind = SL_ORDER_BOUNDED;
    rig->config.default_timeout_us = SECONDS(86400);
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "server", "n1", 1, 0);
    rig->now_us += SECONDS(90000);
    plan_rig_wait(rig, "big", 2, 50);
    (void)plan_rig_plan(rig);
    plan_rig_wait(rig, "small", 1, 7200);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "small"), "Held Promise");
    rig->now_us = sl_planner_wake(rig->planner); /* 3,600 s late have become 7,200 */
    assert_string_equal(plan_rig_run(rig, 1000), "backfill small on n1: nvidia.com/gpu=1\n");
    assert_in_range(rig->now_us, SECONDS(1000000 + 93600), SECONDS(1000000 + 93601));
}

TEST_THAT(a_pod_without_a_timeout_past_the_default_is_taken_to_run_as_long_again)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    rig->config.default_timeout_us = SECONDS(1000);
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "server", "n1", 1, 0);
    rig->now_us += SECONDS(1001);
    plan_rig_wait(rig, "big", 2, 50);
    plan_rig_wait(rig, "small", 1, 0);
    assert_string_equal(plan_rig_plan(rig), "backfill small on n1: nvidia.com/gpu=1\n");
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(1001));
}

TEST_ON(struct plan_rig *rig, without_backfill_nobody_of_the_resource_overtakes)
{
    rig->config.backfill = false;
    plan_rig_configure(rig);
    given_a_pod_that_waits_for_both(rig);
    plan_rig_wait(rig, "short", 1, 1);
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_string_equal(plan_rig_state(rig, "short"), "Held Behind");
}

TEST_ON(struct plan_rig *rig, a_reservation_holds_against_other_resources_of_the_same_devices)
{
    plan_rig_share(plan_rig_node(rig, "n1", 2), 16);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "big", 2, 50);
    rig->now_us += SECONDS(1);
    plan_rig_put(rig, plan_rig_pod(rig, "long", MEM, 4, 5000));
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_put(rig, plan_rig_pod(rig, "short", MEM, 4, 5));
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: aliyun.com/gpu-mem=1*4\n");
}

TEST_ON(struct plan_rig *rig, a_expired_pod_blocks_nobody)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "stuck", 2, 50);
    plan_rig_plan(rig);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "long", 1, 5000);
    assert_string_equal(plan_rig_run(rig, 1000), "");
    rig->now_us += rig->config.hold_us;
    assert_string_equal(plan_rig_run(rig, 1000),
                        "expire stuck on n1: Expired\nnomination long on n1: nvidia.com/gpu=0\n");
}

/* ---- orders ---- */

TEST_THAT(each_order_chooses_its_own_first)
{
    static const struct {
        enum sl_order_kind kind;
        const char *first;
    } cases[] = {{SL_ORDER_FIFO, "nomination old on n1: nvidia.com/gpu=0\n"},
                 {SL_ORDER_SJF, "nomination short on n1: nvidia.com/gpu=0\n"},
                 {SL_ORDER_P, "nomination mid on n1: nvidia.com/gpu=0\n"},
                 {SL_ORDER_HRRN, "nomination mid on n1: nvidia.com/gpu=0\n"}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        rig->config.order.kind = cases[i].kind;
        plan_rig_configure(rig);
        plan_rig_node(rig, "n1", 1);
        plan_rig_wait(rig, "old", 1, 1000);
        rig->now_us += SECONDS(600);
        plan_rig_wait(rig, "mid", 1, 300);
        rig->now_us += SECONDS(600);
        plan_rig_wait(rig, "short", 1, 100);
        assert_string_equal(plan_rig_plan(rig), cases[i].first);
        plan_rig_free(rig);
    }
}

TEST_ON(struct plan_rig *rig, weights_of_a_namespace_count_for_its_pods_alone)
{
    rig->config.order.kind = SL_ORDER_P;
    rig->config.n_overrides = 1;
    rig->config.override[0] = (struct sl_plan_override){
        .namespace = "vip", .weights = {SL_ORDER_ALPHA_MAX, 0, SL_ORDER_ONE}};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    struct plan_rig_pod *b = plan_rig_pod(rig, "b", GPU, 1, 1000);
    b->pod.namespace = "vip";
    plan_rig_put(rig, b);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n1: nvidia.com/gpu=0\n");
}

/* ---- headroom ---- */

TEST_ON(struct plan_rig *rig, headroom_is_kept_for_short_pods)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_node(rig, "n2", 1);
    plan_rig_wait(rig, "long1", 2, 100);
    plan_rig_wait(rig, "long2", 1, 100);
    plan_rig_wait(rig, "short", 1, 60);
    assert_string_equal(plan_rig_plan(rig), "nomination long1 on n1: nvidia.com/gpu=0,1\n"
                                            "nomination short on n2: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "long2"), "Held Headroom");
    plan_rig_bind(rig, "short");
    plan_rig_cluster(rig);
    plan_rig_end(rig, "short");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long2"), "Held Headroom");
}

TEST_THAT(a_pod_that_asks_for_more_than_headroom_leaves_is_refused_until_that_changes)
{
    struct plan_rig *rig = *state;
    char text[SL_PLAN_TEXT_MAX];
    struct sl_queue_row row;
    rig->config.n_headrooms = 2;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(900), 2};
    rig->config.headroom[1] = (struct sl_plan_headroom){"", SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 8);
    plan_rig_wait(rig, "all", 8, 3600);
    plan_rig_wait(rig, "six", 6, 3600);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "short", 8, 60);
    assert_string_equal(plan_rig_plan(rig), "refuse all: OverHeadroom\n"
                                            "nomination six on n1: nvidia.com/gpu=0,1,2,3,4,5\n");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "all"), "Refused OverHeadroom");
    assert_true(plan_rig_row(rig, "all", &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "refused: it asks for 8 of nvidia.com/gpu, and of the 8 that there "
                              "are headroom keeps 2 for pods of up to 15m; ask for 6 at most, or "
                              "state a timeout of at most 15m");
    plan_rig_node(rig, "n2", 2);
    plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "all"), "Held NoRoom");
    rig->n_nodes = 1;
    assert_string_equal(plan_rig_plan(rig), "refuse all: OverHeadroom\n");
    rig->config.n_headrooms = 0;
    plan_rig_configure(rig);
    plan_rig_run(rig, 1000);
    assert_string_equal(plan_rig_state(rig, "all"), "Held NoRoom");
    rig->n_nodes = 2; /* its views are to be freed */
}

/* ---- constraints ---- */

static const char *const west[] = {"west"};
static const struct sl_match in_west = {
    .key = "zone", .value = west, .n_values = 1, .op = SL_MATCH_IN};

TEST_ON(struct plan_rig *rig, a_pod_goes_only_where_its_constraints_allow)
{
    static const struct sl_label east_label[] = {{"zone", "east"}};
    static const struct sl_label west_label[] = {{"zone", "west"}};
    struct plan_rig_node *n1 = plan_rig_node(rig, "n1", 1);
    struct plan_rig_node *n2 = plan_rig_node(rig, "n2", 1);
    n1->node.label = east_label;
    n1->node.n_labels = 1;
    n1->node.site_digest = 1;
    n2->node.label = west_label;
    n2->node.n_labels = 1;
    n2->node.site_digest = 2;
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        struct plan_rig_pod *p = plan_rig_pod(rig, names[i], GPU, 1, 100);
        p->constraints =
            (struct sl_constraints){.selector = &in_west, .n_selector = 1, .digest = 7};
        p->pod.constraints = i < 2 ? &p->constraints : NULL;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig), "nomination a on n2: nvidia.com/gpu=0\n"
                                            "backfill c on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Constraint");
    plan_rig_bind(rig, "c");
    plan_rig_cluster(rig);
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Constraint");
}

/* Their digests are equal: names of nodes are left out of them. */
TEST_ON(struct plan_rig *rig, a_pod_that_asks_for_a_node_by_its_hostname_is_judged_by_no_other_node)
{
    static const char *const second[] = {"n2"};
    static const struct sl_match on_second = {
        .key = "kubernetes.io/hostname", .value = second, .n_values = 1, .op = SL_MATCH_IN};
    static const struct sl_label label[] = {{"kubernetes.io/hostname", "n1"},
                                            {"kubernetes.io/hostname", "n2"}};
    for (unsigned i = 0; i < 2; i++) {
        struct plan_rig_node *n = plan_rig_node(rig, label[i].value, 1);
        n->node.label = &label[i];
        n->node.n_labels = 1;
    }
    struct plan_rig_pod *p = plan_rig_pod(rig, "a", GPU, 1, 100);
    p->constraints = (struct sl_constraints){
        .selector = &on_second, .n_selector = 1, .by_name = true, .digest = 7};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n2: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, cpu_that_nominations_need_counts)
{
    plan_rig_node(rig, "n1", 2)->node.host.cpu_milli = 1000;
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};
        struct plan_rig_pod *p = plan_rig_pod(rig, names[i], GPU, 1, 100);
        p->constraints =
            (struct sl_constraints){.cpu_milli = i < 2 ? 600 : 400, .digest = i < 2 ? 1 : 2};
        p->pod.constraints = &p->constraints;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n"
                                            "backfill c on n1: nvidia.com/gpu=1\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Constraint");
}

TEST_ON(struct plan_rig *rig, a_pod_that_nobody_can_host_blocks_nobody)
{
    plan_rig_node(rig, "n1", 2)->node.host.cpu_milli = 1000;
    struct plan_rig_pod *p = plan_rig_pod(rig, "huge", GPU, 2, 100);
    p->constraints = (struct sl_constraints){.cpu_milli = 5000, .digest = 1};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    plan_rig_wait(rig, "small", 1, 5000);
    assert_string_equal(plan_rig_plan(rig), "nomination small on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "huge"), "Held Constraint");
}

/* ---- released though it does not fit ---- */

TEST_ON(struct plan_rig *rig, one_pod_that_could_preempt_is_released)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 1000);
    static const char *const names[] = {"a", "b"};
    for (unsigned i = 0; i < 2; i++) {
        struct plan_rig_pod *p = plan_rig_pod(rig, names[i], GPU, 1, 100);
        p->pod.priority = 10;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig), "release a\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Released NoRoom");
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_end(rig, "x");
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, nobody_is_released_who_may_not_or_could_not_preempt)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 1000)->bound->priority = 10;
    plan_rig_run_on(rig, "y", "n1", 1, 1000);
    struct plan_rig_pod *never = plan_rig_pod(rig, "never", GPU, 1, 100);
    never->pod.priority = 10;
    never->pod.never_preempts = true;
    plan_rig_put(rig, never);
    struct plan_rig_pod *two = plan_rig_pod(rig, "two", GPU, 2, 100);
    two->pod.priority = 10;
    plan_rig_put(rig, two);
    plan_rig_wait(rig, "equal", 1, 100);
    assert_string_equal(plan_rig_plan(rig), "");
}

TEST_ON(struct plan_rig *rig, the_first_few_are_released_for_an_autoscaler)
{
    rig->config.autoscaler_pods = 2;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_wait(rig, "b", 8, 100); /* no node has so many, a new one may */
    plan_rig_wait(rig, "c", 1, 100);
    plan_rig_wait(rig, "d", 1, 100);
    assert_string_equal(plan_rig_plan(rig),
                        "nomination a on n1: nvidia.com/gpu=0\nrelease b\nrelease c\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Released Never");
    plan_rig_node(rig, "n2", 8);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n2: nvidia.com/gpu=0,1,2,3,4,5,6,7\n"
                                            "release d\n");
}

/* ---- what is told ---- */

static const char *sentence(struct plan_rig *rig, const char *name)
{
    static char text[SL_PLAN_TEXT_MAX];
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    size_t len = sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_int_equal(len, strlen(text));
    return text;
}

TEST_ON(struct plan_rig *rig, the_sentence_says_who_is_ahead_and_when_it_starts)
{
    struct sl_error err = {0};
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "a", 1, 150);
    plan_rig_wait(rig, "b", 1, 7200);
    plan_rig_wait(rig, "c", 1, 60);
    plan_rig_plan(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_string_equal(sentence(rig, "a"),
                        "held: first for nvidia.com/gpu; starts in 1m40s at the latest");
    assert_string_equal(
        sentence(rig, "b"),
        "held: 1 pod ahead for nvidia.com/gpu; it is ns/a; estimated start in 4m10s");
    assert_string_equal(
        sentence(rig, "c"),
        "held: 2 pods ahead for nvidia.com/gpu; first is ns/a; estimated start in 2h5m");
    plan_rig_end(rig, "x");
    plan_rig_plan(rig);
    assert_string_equal(sentence(rig, "a"), "its turn has come: node n1");
}

TEST_ON(struct plan_rig *rig, estimated_starts_lay_pods_out_over_all_devices)
{
    struct sl_error err = {0};
    struct sl_queue_row row;
    static const char *const names[] = {"a", "b", "c", "d"};
    static const int64_t starts[] = {100, 100, 200, 300};
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_run_on(rig, "y", "n1", 1, 200);
    plan_rig_wait(rig, "a", 1, 200);
    for (unsigned i = 1; i < 4; i++) {
        plan_rig_wait(rig, names[i], 1, 1000);
    }
    plan_rig_plan(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(plan_rig_row(rig, names[i], &row));
        int64_t expected = i == 1 ? 200 : i == 2 ? 300 : i == 3 ? 1200 : starts[i];
        assert_int_equal(row.start_us, SECONDS(1000000 + expected));
    }
}

static void add_name(void *context, const struct sl_queue_row *row)
{
    char *text = context;
    size_t len = strlen(text);
    (void)snprintf(text + len, 200 - len, "%s:%u ", row->pod->name, (unsigned)row->ahead);
}

TEST_ON(struct plan_rig *rig, rows_come_in_the_order_in_which_pods_go)
{
    char text[200] = "";
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 300);
    plan_rig_wait(rig, "b", 1, 100);
    plan_rig_wait(rig, "c", 1, 200);
    plan_rig_wait(rig, "d", 5, 50);
    plan_rig_plan(rig);
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 10, add_name, text), 4);
    assert_string_equal(text, "b:0 c:0 a:1 d:0 ");
    text[0] = '\0';
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 2, add_name, text), 4);
    assert_string_equal(text, "b:0 c:0 ");
}

TEST_ON(struct plan_rig *rig, numbers_count_what_happened)
{
    struct sl_plan_stats stats;
    given_a_pod_that_waits_for_both(rig);
    plan_rig_wait(rig, "short", 1, 5);
    plan_rig_wait(rig, "never", 9, 5);
    plan_rig_run(rig, 1000);
    sl_planner_stats(rig->planner, &stats);
    assert_int_equal(stats.nominations, 1);
    assert_int_equal(stats.backfills, 1);
    assert_int_equal(stats.refusals, 1);
    assert_int_equal(stats.waiting[SL_QUEUE_HELD], 1);
    assert_int_equal(stats.waiting[SL_QUEUE_NOMINATED], 1);
    assert_int_equal(stats.waiting[SL_QUEUE_REFUSED], 1);
    assert_int_equal(stats.oldest_us, SECONDS(1000000));
}

TEST_THAT(every_name_and_help_is_there)
{
    for (unsigned i = 0; i < SL_HOLD_REASONS; i++) {
        assert_true(strlen(sl_hold_reason_name((enum sl_hold_reason)i)) > 0);
        assert_true(strlen(sl_hold_reason_help((enum sl_hold_reason)i)) > 0);
    }
    for (unsigned i = 0; i < SL_QUEUE_STATES; i++) {
        assert_true(strlen(sl_queue_state_name((enum sl_queue_state)i)) > 0);
    }
}
