/* Pods that their owners hold back: their wait begins when they let go. */
#include "plan_rig.h"

/* Lets all start one after the other, each for a second, and tells in which order. */
static void assert_starts(struct plan_rig *rig, const char *names)
{
    plan_rig_end(rig, "runs");
    for (const char *at = names; *at != '\0'; at++) {
        char name[] = {*at, '\0'};
        char text[64];
        (void)snprintf(text, sizeof(text), "nomination %s on n1: nvidia.com/gpu=0\n", name);
        assert_string_equal(plan_rig_plan(rig), text);
        plan_rig_bind(rig, name);
        rig->now_us += SECONDS(1);
        plan_rig_end(rig, name);
    }
}

/* The pod a, which b follows after a second, is held back by its owner; now an hour has passed. */
static struct plan_rig_pod *hold_back(struct plan_rig *rig, enum sl_order_kind order,
                                      enum sl_gate gate, int64_t timeout_s)
{
    rig->config.order.kind = order;
    rig->config.n_limits = 1;
    rig->config.limit[0] = (struct sl_plan_limit){.max_timeout_us = SECONDS(3600)};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    (void)plan_rig_run_on(rig, "runs", "n1", 1, 7200);
    struct plan_rig_pod *a = plan_rig_pod(rig, "a", GPU, 1, timeout_s);
    a->pod.gate = gate;
    plan_rig_put(rig, a);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "b", 1, 60);
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(3600);
    return a;
}

/* It is as its owner wants it, and c follows after a second. */
static void let_go(struct plan_rig *rig, const struct plan_rig_pod *a)
{
    struct plan_rig_pod *open = plan_rig_pod(rig, "a", GPU, 1, 60);
    open->pod.created_us = a->pod.created_us;
    plan_rig_put(rig, open);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "c", 1, 60);
    (void)plan_rig_plan(rig);
}

TEST_THAT(who_holds_itself_back_gains_no_place)
{
    static const enum sl_order_kind orders[] = {SL_ORDER_FIFO, SL_ORDER_SJF, SL_ORDER_P,
                                                SL_ORDER_HRRN, SL_ORDER_BOUNDED};
    for (size_t i = 0; i < 2 * sizeof(orders) / sizeof(orders[0]); i++) {
        struct plan_rig *rig = plan_rig_new();
        bool by_gate = i % 2 == 0;
        const struct plan_rig_pod *a = hold_back(
            rig, orders[i / 2], by_gate ? SL_GATE_OTHERS : SL_GATE_OURS, by_gate ? 60 : 9999);
        assert_string_equal(plan_rig_state(rig, "a"), by_gate ? "Gated Gates" : "Refused Limit");
        let_go(rig, a);
        rig->config.order.weights.alpha++; /* it stays so in a new configuration */
        plan_rig_configure(rig);
        assert_starts(rig, "bac");
        plan_rig_free(rig);
    }
}

TEST_THAT_WITH(a_clock_that_was_ahead_does_not_keep_back_who_was_let_go, plan_rig_set_up,
               plan_rig_tear_down)
{
    struct plan_rig *rig = *state;
    const struct plan_rig_pod *a = hold_back(rig, SL_ORDER_FIFO, SL_GATE_OTHERS, 60);
    struct plan_rig_pod *open = plan_rig_pod(rig, "a", GPU, 1, 60);
    open->pod.created_us = a->pod.created_us;
    rig->now_us += SECONDS(1);
    plan_rig_put(rig, open);
    (void)plan_rig_plan(rig);
    rig->now_us -= SECONDS(3600); /* the hour had not passed: the clock was wrong */
    sl_planner_rebase(rig->planner, -SECONDS(3600), rig->now_us);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "c", 1, 60);
    (void)plan_rig_plan(rig);
    assert_starts(rig, "bac");
}
