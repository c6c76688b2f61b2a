/* When the clock is put, what the planner says goes on as if it had not been: two planners are told
 * the same, one of them by a clock that is put in between. */
#include "plan_rig.h"

enum { STEPS = 24 };

/* What one planner is told at a step; what runs out in between shows in what it does. */
static void tell(struct plan_rig *rig, unsigned step)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    if (step < 5) {
        struct plan_rig_pod *p =
            plan_rig_pod(rig, names[step], GPU, step == 2 ? 2 : 1, 600 + 100 * step);
        p->pod.created_us = SECONDS(step); /* by the API server's clock */
        plan_rig_put(rig, p);
    }
    if (step == 6) {
        sl_planner_heard(rig->planner, SL_STR("a"), rig->now_us);
    }
    if (step == 9) {
        sl_planner_denied(rig->planner, SL_STR("b"), rig->now_us);
    }
    if (step == 3) { /* its node tells nothing of its start: that was its nomination */
        plan_rig_bind(rig, "a");
        plan_rig_find(rig, "a")->bound->started_us = 0;
    }
    if (step == 15) {
        sl_planner_heard(rig->planner, SL_STR(""), rig->now_us);
    }
}

static void step_on(struct plan_rig *rig, unsigned step)
{
    rig->now_us += SECONDS(17);
    tell(rig, step);
    (void)plan_rig_plan(rig);
    for (unsigned i = 0; i < rig->n_pods; i++) {
        plan_rig_log(rig, "%s %s\n", rig->pod[i]->name, plan_rig_state(rig, rig->pod[i]->name));
    }
}

static int64_t ahead_of(int64_t at_us, const struct plan_rig *rig)
{
    return at_us == 0 || at_us == INT64_MAX ? at_us : at_us - rig->now_us;
}

static void check_alike(struct plan_rig *is, struct plan_rig *wanted)
{
    assert_string_equal(is->log, wanted->log);
    assert_int_equal(ahead_of(sl_planner_wake(is->planner), is),
                     ahead_of(sl_planner_wake(wanted->planner), wanted));
    assert_int_equal(ahead_of(sl_planner_silent(is->planner, is->now_us), is),
                     ahead_of(sl_planner_silent(wanted->planner, wanted->now_us), wanted));
    for (unsigned i = 0; i < is->n_pods; i++) {
        struct sl_queue_row a;
        struct sl_queue_row b;
        if (is->pod[i]->bound != NULL) {
            continue;
        }
        assert_true(plan_rig_row(is, is->pod[i]->name, &a));
        assert_true(plan_rig_row(wanted, is->pod[i]->name, &b));
        assert_int_equal(a.estimate, b.estimate);
        if (a.estimate != SL_ESTIMATE_NONE) {
            assert_int_equal(ahead_of(a.start_us, is), ahead_of(b.start_us, wanted));
        }
        assert_int_equal(ahead_of(a.since_us, is), ahead_of(b.since_us, wanted));
        assert_int_equal(ahead_of(a.silent_us, is), ahead_of(b.silent_us, wanted));
        assert_int_equal(a.expiries, b.expiries);
    }
}

static void put_at(enum sl_order_kind order, unsigned put, int64_t by_us)
{
    struct plan_rig *rigs[2] = {plan_rig_new(), plan_rig_new()};
    for (unsigned r = 0; r < 2; r++) {
        rigs[r]->config.order.kind = order;
        rigs[r]->config.hold_us = SECONDS(60);
        rigs[r]->config.hold_max_us = SECONDS(200);
        plan_rig_configure(rigs[r]);
        (void)plan_rig_node(rigs[r], "n1", 2);
    }
    for (unsigned step = 0; step < STEPS; step++) {
        if (step == put) {
            rigs[0]->now_us += by_us;
            sl_planner_rebase(rigs[0]->planner, by_us, rigs[0]->now_us);
        }
        step_on(rigs[0], step);
        step_on(rigs[1], step);
        check_alike(rigs[0], rigs[1]);
    }
    plan_rig_free(rigs[0]);
    plan_rig_free(rigs[1]);
}

TEST_THAT(nothing_runs_out_sooner_or_later_for_a_clock_that_is_put)
{
    for (unsigned put = 1; put < STEPS; put++) {
        put_at(SL_ORDER_FIFO, put, SECONDS(3600));
        put_at(SL_ORDER_FIFO, put, -SECONDS(3600));
        put_at(SL_ORDER_BOUNDED, put, SECONDS(3600));
        put_at(SL_ORDER_SJF, put, SECONDS(3600));
    }
}
