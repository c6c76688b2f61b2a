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

static void assert_behind(struct plan_rig *rig, bool behind, int32_t priority, int64_t created_us)
{
    struct sl_plan_front front[SL_PLAN_FRONTS_MAX];
    size_t n = sl_planner_fronts(rig->planner, front);
    struct sl_ask_item item = {.resource = GPU, .key = sl_hash(GPU, strlen(GPU)), .count = 1};
    struct sl_pod pod = {
        .items = &item, .n_items = 1, .priority = priority, .created_us = created_us};
    assert_int_equal(sl_plan_behind(front, n, &pod) != NULL, behind);
}

static void the_earliest_of_the_highest_priority_stands_first(void **state)
{
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_P,
                                                SL_ORDER_HRRN, SL_ORDER_BOUNDED};
    struct plan_rig *rig = *state;
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

static void who_cannot_have_units_stands_nowhere(void **state)
{
    struct plan_rig *rig = *state;
    plan_rig_node(rig, "n1", 4);
    put(rig, "never", 5, 9, 10);
    struct plan_rig_pod *gated = plan_rig_pod(rig, "gated", GPU, 1, 60);
    gated->pod.gate = SL_GATE_OTHERS;
    plan_rig_put(rig, gated);
    assert_non_null(strstr(plan_rig_plan(rig), "refuse never"));
    assert_behind(rig, false, 0, rig->now_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAN_TEST(the_earliest_of_the_highest_priority_stands_first),
        PLAN_TEST(who_cannot_have_units_stands_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
