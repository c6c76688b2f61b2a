/* Who stands first for each resource, and whom that holds. */
#include "plan_rig.h"

static void put(struct plan_rig *rig, const char *name, int64_t gpus, int32_t priority,
                int64_t age_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, gpus, 60);
    p->pod.priority = priority;
    p->pod.created_us = rig->now_us - SECONDS(age_s);
    plan_rig_put(rig, p);
}

/* Is a pod for one GPU held on the node? */
static bool is_held_on(struct plan_rig *rig, unsigned node, int32_t priority, int64_t created_us)
{
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];
    struct sl_plan_front ahead[SL_PLAN_FRONTS_MAX];
    size_t n = sl_planner_fronts(rig->planner, front);
    struct sl_ask_item item = {.resource = GPU, .key = sl_hash(GPU, strlen(GPU)), .count = 1};
    struct sl_pod pod = {
        .items = &item, .n_items = 1, .priority = priority, .created_us = created_us};
    size_t n_ahead = sl_plan_fronts_ahead(front, n, &pod, ahead);
    sl_plan_fronts_free(front, n);
    bool held = sl_plan_fronts_use(ahead, n_ahead, rig->view[node]);
    sl_plan_fronts_free(ahead, n_ahead);
    return held;
}

static void assert_behind(struct plan_rig *rig, bool behind, int32_t priority, int64_t created_us)
{
    assert_int_equal(is_held_on(rig, 0, priority, created_us), behind);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, the_earliest_of_the_highest_priority_stands_first)
{
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_P,
                                                SL_ORDER_HRRN, SL_ORDER_BOUNDED};
    rig->config.preemption = false;
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "runs", "n1", 2, 7200);
    put(rig, "low", 3, 0, 100);
    put(rig, "late", 3, 5, 10);
    put(rig, "early", 3, 5, 20);
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        rig->config.order.kind = orders[i];
        plan_rig_configure(rig);
        assert_string_equal(plan_rig_plan(rig), "");
        assert_behind(rig, true, 5, rig->now_us - SECONDS(20));
        assert_behind(rig, true, 5, 0);
        assert_behind(rig, false, 5, rig->now_us - SECONDS(21));
        assert_behind(rig, true, 4, rig->now_us - SECONDS(1000));
        assert_behind(rig, false, 6, rig->now_us);
    }
}

TEST_ON(struct plan_rig *rig, who_cannot_have_units_stands_nowhere)
{
    plan_rig_node(rig, "n1", 4);
    put(rig, "never", 5, 9, 10);
    struct plan_rig_pod *gated = plan_rig_pod(rig, "gated", GPU, 1, 60);
    gated->pod.gate = SL_GATE_OTHERS;
    plan_rig_put(rig, gated);
    assert_non_null(strstr(plan_rig_plan(rig), "refuse never"));
    assert_behind(rig, false, 0, rig->now_us);
}

TEST_ON(struct plan_rig *rig, who_waits_holds_only_nodes_where_it_can_start)
{
    static const char *const west[] = {"west"};
    static const struct sl_match in_west = {
        .key = "zone", .value = west, .n_values = 1, .op = SL_MATCH_IN};
    static const struct sl_label label[] = {{"zone", "west"}};
    struct plan_rig_node *n1 = plan_rig_node(rig, "n1", 4);
    n1->node.label = label;
    n1->node.n_labels = 1;
    n1->node.site_digest = 1;
    plan_rig_node(rig, "n2", 4);
    plan_rig_node(rig, "n3", 2);
    (void)plan_rig_run_on(rig, "r1", "n1", 2, 600);
    (void)plan_rig_run_on(rig, "r2", "n2", 2, 600);
    struct plan_rig_pod *p = plan_rig_pod(rig, "picky", GPU, 4, 60);
    put(rig, "waits", 4, 0, 10);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_true(is_held_on(rig, 0, 0, rig->now_us) && is_held_on(rig, 1, 0, rig->now_us));
    assert_false(is_held_on(rig, 2, 0, rig->now_us)); /* never has four */
    sl_planner_remove(rig->planner, SL_STR("waits"), rig->now_us);

    p->constraints = (struct sl_constraints){.selector = &in_west, .n_selector = 1, .digest = 7};
    p->pod.constraints = &p->constraints;
    p->pod.created_us = rig->now_us - SECONDS(10);
    plan_rig_put(rig, p);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_true(is_held_on(rig, 0, 0, rig->now_us));
    assert_false(is_held_on(rig, 1, 0, rig->now_us)); /* its constraints do not admit it */
}

TEST_ON(struct plan_rig *rig, who_waits_holds_no_node_where_nothing_states_its_end)
{
    plan_rig_node(rig, "n1", 4);
    struct plan_rig_pod *runs = plan_rig_run_on(rig, "runs", "n1", 1, 0);
    put(rig, "waits", 4, 0, 10);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, false, 0, rig->now_us);
    runs->bound->deleting = true;
    runs->bound->gone_s = (uint32_t)((rig->now_us + SECONDS(30)) / SECONDS(1));
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, true, 0, rig->now_us);
}

TEST_ON(struct plan_rig *rig, who_waits_for_absent_units_holds_no_node)
{
    plan_rig_node(rig, "n1", 4);
    struct plan_rig_node *absent = plan_rig_node(rig, "n2", 8);
    for (unsigned i = 0; i < 8; i++) {
        absent->device[i].healthy = false;
    }
    put(rig, "waits", 8, 0, 10);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "waits"), "Held NoRoom");
    assert_false(is_held_on(rig, 0, 0, rig->now_us) || is_held_on(rig, 1, 0, rig->now_us));
}

TEST_ON(struct plan_rig *rig, who_waits_behind_others_stands_before_later_pods)
{
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "runs", "n1", 2, 600);
    struct plan_rig_pod *p = plan_rig_pod(rig, "long", GPU, 2, 86400);
    p->pod.created_us = rig->now_us - SECONDS(100);
    plan_rig_put(rig, p);
    put(rig, "short", 4, 0, 10);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    assert_behind(rig, true, 0, rig->now_us - SECONDS(50)); /* earlier than the first of the lane */
    assert_behind(rig, false, 0, rig->now_us - SECONDS(200));
}

/* A pod that waits for something else than units keeps no node from others. */
TEST_ON(struct plan_rig *rig, who_waits_for_a_stage_holds_no_node)
{
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "runs", "n1", 2, 600);
    put(rig, "waits", 4, 0, 10);
    sl_planner_set_stage(rig->planner, SL_STR("waits"), SL_HOLD_STAGE, "for b", rig->now_us);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, false, 0, rig->now_us);
    sl_planner_set_stage(rig->planner, SL_STR("waits"), SL_HOLD_NONE, "", rig->now_us);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, true, 0, rig->now_us);
}

TEST_ON(struct plan_rig *rig, who_waits_holds_nodes_where_several_end)
{
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "r1", "n1", 2, 600);
    (void)plan_rig_run_on(rig, "r2", "n1", 2, 600);
    put(rig, "waits", 4, 0, 10);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, true, 0, rig->now_us);
}

/* It would cost filter too much to judge each node by them. */
TEST_ON(struct plan_rig *rig, who_has_too_many_constraints_holds_no_node)
{
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "runs", "n1", 2, 600);
    struct plan_rig_pod *p = plan_rig_pod(rig, "waits", GPU, 4, 60);
    p->constraints = (struct sl_constraints){.weight = 36, .digest = 7};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_behind(rig, false, 0, 0);
}

/* The pods of one user, each with constraints of its own, leave no place to those before them. */
TEST_ON(struct plan_rig *rig, the_foremost_stand_even_where_many_kinds_wait)
{
    rig->config.order.kind = SL_ORDER_SJF;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    (void)plan_rig_run_on(rig, "runs", "n1", 4, 600);
    for (int i = 0; i < 100; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "p%d", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1 + i % 4, i == 60 ? 5000 : 60);
        p->constraints = (struct sl_constraints){.digest = 10 + (uint64_t)i};
        p->pod.constraints = &p->constraints;
        p->pod.created_us = rig->now_us - SECONDS(i == 60 ? 500 : i);
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig), "");
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];
    size_t n = sl_planner_fronts(rig->planner, front);
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++) { /* 60, and 93 to 99 */
        assert_true(front[i].submit_us <= rig->now_us - SECONDS(93));
    }
    assert_behind(rig, true, 0, rig->now_us - SECONDS(400));
    sl_plan_fronts_free(front, n);
}

/* Any of its resources, not the first alone. */
TEST_THAT(who_waits_for_two_resources_stands_before_pods_for_either)
{
    struct sl_ask_item both[] = {{.key = 1, .count = 1}, {.key = 2, .count = 1}};
    struct sl_ask_item one[] = {{.key = 3, .count = 1}, {.key = 2, .count = 1}};
    struct sl_pod waits = {.items = both, .n_items = 2};
    struct sl_pod asks = {.items = one, .n_items = 2};
    const struct sl_plan_front front = {.pod = &waits};
    assert_ptr_equal(sl_plan_front_item(&front, &asks), &one[1]);
    one[1].key = 1;
    assert_ptr_equal(sl_plan_front_item(&front, &asks), &one[1]);
    one[1].key = 4;
    assert_null(sl_plan_front_item(&front, &asks));
}
