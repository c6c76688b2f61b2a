/* What changes while pods wait: the pods themselves, the configuration, what nodes have. */
#include "plan_rig.h"

#include "core/plan/decide/decide.h"

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, what_a_pod_was_may_be_forgotten_once_it_has_changed)
{
    struct sl_queue_row row;
    struct plan_rig_pod *was = plan_rig_wait(rig, "a", 1, 60);
    struct plan_rig_pod *is = plan_rig_pod(rig, "a", GPU, 1, 60);
    is->pod.created_us = was->pod.created_us;
    plan_rig_put(rig, is);
    assert_int_equal(was->pod.refs, 1000000 + 2); /* its class and its ask are still named by it */
    (void)snprintf(was->name, sizeof(was->name), "?");
    assert_true(plan_rig_row(rig, "a", &row));
    assert_ptr_equal(row.pod, &is->pod);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    assert_false(plan_rig_row(rig, "a", &row));
}

TEST_ON(struct plan_rig *rig, a_pod_that_asks_for_nothing_is_none_of_the_planners)
{
    struct sl_error err = {0};
    struct plan_rig_pod *p = plan_rig_pod(rig, "a", GPU, 1, 60);
    p->pod.n_items = 0;
    assert_int_equal(sl_planner_put(rig->planner, &p->pod, rig->now_us, &err), 0);
    assert_string_equal(plan_rig_state(rig, "a"), "unknown");
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 10, NULL, NULL), 0);
    p->pod.n_items = 1;
    p->pod.uid = "";
    assert_int_equal(sl_planner_put(rig->planner, &p->pod, rig->now_us, &err), -1);
    assert_int_equal(err.code, SL_ERR_FIELD);
}

TEST_ON(struct plan_rig *rig, another_default_timeout_counts_for_pods_that_wait)
{
    struct sl_queue_row row;
    plan_rig_wait(rig, "a", 1, 0);
    rig->config.default_timeout_us = SECONDS(77);
    plan_rig_configure(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_int_equal(row.timeout_us, SECONDS(77));
}

/* The view by which the last plan saw n1 is gone by then. */
TEST_ON(struct plan_rig *rig, another_order_begins_with_nodes_as_they_are_now)
{
    rig->config.order.kind = SL_ORDER_FIFO;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_start(rig, plan_rig_pod(rig, "a", GPU, 1, 60), "n1", NULL);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_wait(rig, "c", 1, 60);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n2: nvidia.com/gpu=0\n");
    for (int i = 0; i < 3; i++) {
        plan_rig_cluster(rig);
    }
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "c"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_stage_says_why_it_holds_and_why_it_refuses)
{
    static const enum sl_hold_reason stages[] = {SL_HOLD_STAGE, SL_HOLD_STAGE_FAILED,
                                                 SL_HOLD_STAGE_CYCLE};
    struct sl_queue_row row;
    plan_rig_wait(rig, "a", 1, 60);
    for (unsigned i = 0; i < 3; i++) {
        sl_planner_set_stage(rig->planner, SL_STR("a"), stages[i], "for b", rig->now_us);
        assert_true(plan_rig_row(rig, "a", &row));
        assert_int_equal(row.reason, stages[i]);
        assert_string_equal(row.why, "for b");
    }
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_NONE, "for b", rig->now_us);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_null(row.why);
}

/* a is nominated to 6 of 8 units of a device; then so many are found in use there. */
static const char *with_units_in_use(int64_t units, int64_t capacity)
{
    static char text[64];
    struct plan_rig *rig = plan_rig_new();
    plan_rig_share(plan_rig_node(rig, "n1", 2), 8);
    plan_rig_put(rig, plan_rig_pod(rig, "a", MEM, 6, 60));
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: aliyun.com/gpu-mem=0*6\n");
    struct plan_rig_pod *other = plan_rig_pod(rig, "x", MEM, units, 60);
    plan_rig_start(rig, other, "n1",
                   units == 7   ? MEM "=1*7"
                   : units == 2 ? MEM "=0*2"
                                : MEM "=0*3");
    rig->node[0].pool[0].capacity = capacity;
    (void)snprintf(text, sizeof(text), "%.*s", (int)strcspn(plan_rig_plan(rig), "\n"), rig->log);
    plan_rig_free(rig);
    return text;
}

TEST_THAT(a_nomination_stands_while_its_units_are_there)
{
    assert_string_equal(with_units_in_use(2, 16), "");
    assert_string_equal(with_units_in_use(3, 16), "expire a on n1: NoRoom");
    assert_string_equal(with_units_in_use(7, 16), "");
    assert_string_equal(with_units_in_use(7, 13), "");
    assert_string_equal(with_units_in_use(7, 12), "expire a on n1: NoRoom");
}

TEST_ON(struct plan_rig *rig, victims_are_waited_for_until_the_last_grace_is_over)
{
    plan_rig_node(rig, "n1", 3);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = {"v1", "v2", "v3"};
        struct plan_rig_pod *victim = plan_rig_run_on(rig, names[i], "n1", 1, 0);
        victim->bound->deleting = true;
        victim->bound->gone_s = (uint32_t)(rig->now_us / SECONDS(1)) + (i == 1 ? 201 : 100 + i);
    }
    struct plan_rig_pod *vip = plan_rig_pod(rig, "vip", GPU, 3, 0);
    vip->pod.priority = 10;
    plan_rig_put(rig, vip);
    assert_string_equal(plan_rig_plan(rig), "release vip\n");
    struct plan_rig_pod *open = plan_rig_pod(rig, "vip", GPU, 3, 0);
    open->pod.created_us = vip->pod.created_us;
    open->pod.priority = 10;
    open->pod.gate = SL_GATE_NONE;
    open->pod.nominated = "n1";
    plan_rig_put(rig, open);
    plan_rig_plan(rig);
    const struct sl_plan_lane *lane = sl_plan_lane_find(rig->planner, sl_hash(GPU, strlen(GPU)));
    assert_int_equal(sl_plan_preempt_wake(rig->planner, lane),
                     rig->now_us + SECONDS(201) + rig->config.hold_us);
}

/* One node goes as another comes. */
TEST_THAT(a_pod_keeps_its_queue_when_of_two_resources_one_goes_as_the_other_comes)
{
    struct plan_rig *rig = *state;
    struct plan_rig_node *shared = plan_rig_node(rig, "n1", 1);
    struct plan_rig_node *whole = plan_rig_node(rig, "n2", 1);
    rig->config.autoscaler_pods = 10; /* pods that fit nowhere wait for nodes */
    plan_rig_configure(rig);
    plan_rig_share(shared, 10);
    shared->node.n_pools = 1; /* memory */
    whole->away = true;
    plan_rig_cluster(rig);
    struct plan_rig_pod *p = plan_rig_pod(rig, "a", MEM, 1, 60);
    p->item[1] = plan_rig_pod(rig, "other", GPU, 1, 60)->item[0];
    p->pod.n_items = 2;
    plan_rig_put(rig, p);
    shared->away = true;
    whole->away = false;
    plan_rig_cluster(rig);
    (void)plan_rig_plan(rig);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    (void)plan_rig_wait(rig, "b", 1, 60);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n2: nvidia.com/gpu=0\n");
}
