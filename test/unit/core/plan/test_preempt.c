/* Preemption beside the queue: while kube-scheduler ends pods for one that matters more, what these
 * leave is not given to others; and when a pod that is being deleted ends. */
#include "plan_rig.h"

enum { LOW = 10, HIGH = 1000 };

static struct plan_rig_pod *run_low(struct plan_rig *rig, const char *name, const char *node)
{
    struct plan_rig_pod *p = plan_rig_run_on(rig, name, node, 1, 0);
    p->bound->priority = LOW;
    return p;
}

static struct plan_rig_pod *wait_with(struct plan_rig *rig, const char *name, int64_t gpus,
                                      int32_t priority)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, gpus, 0);
    p->pod.priority = priority;
    plan_rig_put(rig, p);
    return p;
}

/* The pod as kube-scheduler has it: its gate is open, and maybe it names a node. */
static void scheduler_says(struct plan_rig *rig, const char *name, const char *node)
{
    const struct plan_rig_pod *old = plan_rig_find(rig, name);
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, old->item[0].count, old->pod.timeout_s);
    p->pod.created_us = old->pod.created_us;
    p->pod.priority = old->pod.priority;
    p->pod.gate = SL_GATE_NONE;
    if (node != NULL) {
        (void)snprintf(p->nominated, sizeof(p->nominated), "%s", node);
        p->pod.nominated = p->nominated;
    }
    plan_rig_put(rig, p);
}

static void is_deleted(struct plan_rig *rig, const char *name, int64_t grace_us)
{
    struct sl_pod *pod = plan_rig_find(rig, name)->bound;
    pod->deleting = true;
    pod->gone_s = (uint32_t)((rig->now_us + grace_us) / SECONDS(1));
}

/* Two nodes of two GPUs full of pods that matter little, one more of them waits, and vip has been
 * released to preempt. */
static void given_a_preemptor(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_node(rig, "n2", 2);
    run_low(rig, "a", "n1");
    run_low(rig, "b", "n1");
    run_low(rig, "c", "n2");
    run_low(rig, "d", "n2");
    wait_with(rig, "more", 1, LOW);
    assert_string_equal(plan_rig_plan(rig), "");
    rig->now_us += SECONDS(10);
    wait_with(rig, "vip", 2, HIGH);
    assert_string_equal(plan_rig_plan(rig), "release vip\n");
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, what_victims_leave_is_kept_for_whom_they_go)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    rig->now_us += SECONDS(5);
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    assert_string_equal(plan_rig_state(rig, "vip"), "Released NoRoom");
    plan_rig_end(rig, "d");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n2: nvidia.com/gpu=0,1\n");
    assert_string_equal(plan_rig_state(rig, "more"), "Held NoRoom");
}

/* The room would suffice once d is gone, if nobody else took a part of it. */
TEST_ON(struct plan_rig *rig, what_victims_will_leave_counts_less_what_others_would_take)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    is_deleted(rig, "c", SECONDS(30));
    is_deleted(rig, "d", SECONDS(30));
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    plan_rig_end(rig, "d");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n2: nvidia.com/gpu=0,1\n");
}

/* CPU is freed by victims as GPUs are: beside it another pod may start. */
TEST_ON(struct plan_rig *rig, cpu_that_victims_will_leave_counts)
{
    static const char *const names[] = {"a", "b"};
    plan_rig_node(rig, "n1", 5)->node.host.cpu_milli = 4000; /* a GPU more than vip needs */
    for (unsigned i = 0; i < 2; i++) {
        struct plan_rig_pod *p = plan_rig_pod(rig, names[i], GPU, 2, 0);
        p->constraints = (struct sl_constraints){.cpu_milli = 2000, .digest = 1};
        p->pod.constraints = &p->constraints;
        plan_rig_start(rig, p, "n1", NULL);
        p->bound->priority = LOW;
    }
    struct plan_rig_pod *vip = plan_rig_pod(rig, "vip", GPU, 2, 0);
    vip->constraints = (struct sl_constraints){.cpu_milli = 2000, .digest = 1};
    vip->pod.constraints = &vip->constraints;
    vip->pod.priority = HIGH;
    plan_rig_put(rig, vip);
    assert_string_equal(plan_rig_plan(rig), "release vip\n");
    struct plan_rig_pod *named = plan_rig_pod(rig, "vip", GPU, 2, 0);
    named->pod.created_us = vip->pod.created_us;
    named->pod.priority = HIGH;
    named->pod.gate = SL_GATE_NONE;
    named->pod.constraints = &vip->constraints;
    (void)snprintf(named->nominated, sizeof(named->nominated), "n1");
    named->pod.nominated = named->nominated;
    plan_rig_put(rig, named);
    is_deleted(rig, "b", SECONDS(30));
    wait_with(rig, "more", 1, LOW);
    assert_string_equal(plan_rig_plan(rig), "backfill more on n1: nvidia.com/gpu=4\n");
}

TEST_ON(struct plan_rig *rig, what_victims_leave_is_kept_through_a_reload)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    plan_rig_configure(rig);
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    plan_rig_configure(rig);
    plan_rig_end(rig, "d");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n2: nvidia.com/gpu=0,1\n");
}

TEST_ON(struct plan_rig *rig, a_reload_that_forbids_preemption_ends_it)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    rig->config.preemption = false;
    plan_rig_configure(rig);
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "backfill more on n2: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, other_nodes_are_not_kept)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    plan_rig_end(rig, "c");
    plan_rig_end(rig, "b");
    assert_string_equal(plan_rig_plan(rig), "backfill more on n1: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, a_nomination_counts_as_soon_as_it_is_told)
{
    given_a_preemptor(rig);
    rig->now_us += SECONDS(30); /* long after it was released */
    plan_rig_end(rig, "c");
    plan_rig_cluster(rig);
    scheduler_says(rig, "vip", "n2");
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    scheduler_says(rig, "vip", NULL); /* it thought better of it */
    rig->now_us += SECONDS(2);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill more on n2: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, until_a_node_is_named_others_wait_for_a_moment)
{
    given_a_preemptor(rig);
    plan_rig_end(rig, "c"); /* before it is told for whom */
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(2));
    rig->now_us += SECONDS(1);
    scheduler_says(rig, "vip", NULL); /* only now its gate is seen to be open */
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(2));
    rig->now_us = sl_planner_wake(rig->planner);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill more on n2: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, who_matters_more_does_not_wait)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    plan_rig_end(rig, "c");
    wait_with(rig, "top", 1, HIGH + 1);
    wait_with(rig, "peer", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig), "nomination top on n2: nvidia.com/gpu=1\n");
    assert_string_equal(plan_rig_state(rig, "peer"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_pod_of_equal_priority_behind_it_waits_too)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    plan_rig_end(rig, "c");
    rig->now_us += SECONDS(1);
    wait_with(rig, "peer", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "peer"), "Held Behind");
}

TEST_ON(struct plan_rig *rig, beside_what_is_being_left_others_start)
{
    plan_rig_node(rig, "n1", 4);
    static const char *const names[] = {"a", "b", "c", "d"};
    for (unsigned i = 0; i < 4; i++) {
        run_low(rig, names[i], "n1");
    }
    wait_with(rig, "vip", 2, HIGH);
    assert_string_equal(plan_rig_plan(rig), "release vip\n");
    wait_with(rig, "more", 1, LOW);
    rig->now_us += SECONDS(1);
    wait_with(rig, "last", 1, LOW);
    scheduler_says(rig, "vip", "n1");
    is_deleted(rig, "a", SECONDS(30));
    plan_rig_end(rig, "d"); /* it had run its time */
    assert_string_equal(plan_rig_plan(rig), "");
    is_deleted(rig, "b", SECONDS(30));
    assert_string_equal(plan_rig_plan(rig), "backfill more on n1: nvidia.com/gpu=3\n");
    plan_rig_end(rig, "a");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "last"), "Held Behind");
    plan_rig_end(rig, "b");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n1: nvidia.com/gpu=1,2\n");
}

TEST_ON(struct plan_rig *rig, victims_that_take_their_time_are_waited_for)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    is_deleted(rig, "c", SECONDS(300));
    is_deleted(rig, "d", SECONDS(300));
    assert_string_equal(plan_rig_plan(rig), "");
    rig->now_us += SECONDS(200); /* far beyond what a nomination is held */
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    rig->now_us += SECONDS(99);
    plan_rig_end(rig, "d");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n2: nvidia.com/gpu=0,1\n");
}

TEST_ON(struct plan_rig *rig, nobody_waits_for_ever_for_a_victim_that_does_not_go)
{
    int64_t begin_us = rig->now_us + SECONDS(10);
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    is_deleted(rig, "d", SECONDS(30));
    plan_rig_end(rig, "c");
    plan_rig_wait(rig, "short", 1, 20);
    assert_string_equal(plan_rig_plan(rig), "");
    for (int i = 0; i < 200 && rig->log[0] == '\0'; i++) {
        assert_true(sl_planner_wake(rig->planner) <= begin_us + SECONDS(30 + 60));
        rig->now_us = sl_planner_wake(rig->planner);
        (void)plan_rig_run(rig, 1000);
    }
    assert_int_equal(rig->now_us, begin_us + SECONDS(30 + 60));
    assert_string_equal(rig->log, "backfill short on n2: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, without_victims_the_next_may_try_after_a_while)
{
    given_a_preemptor(rig);
    wait_with(rig, "peer", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig), "");
    rig->now_us += SECONDS(60);
    assert_string_equal(plan_rig_plan(rig), "release peer\n");
}

TEST_ON(struct plan_rig *rig, a_node_that_is_named_late_is_kept_all_the_same)
{
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", NULL);
    rig->now_us += SECONDS(90); /* kube-scheduler had other things to do */
    assert_string_equal(plan_rig_plan(rig), "");
    scheduler_says(rig, "vip", "n2");
    plan_rig_end(rig, "c");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
}

TEST_ON(struct plan_rig *rig, a_planner_that_begins_goes_on_with_a_preemption)
{
    plan_rig_node(rig, "n1", 2);
    run_low(rig, "a", "n1"); /* and another is gone already */
    wait_with(rig, "more", 1, LOW);
    struct plan_rig_pod *vip = plan_rig_pod(rig, "vip", GPU, 2, 0);
    vip->pod.priority = HIGH;
    vip->pod.gate = SL_GATE_NONE;
    vip->pod.nominated = "n1";
    plan_rig_put(rig, vip);
    assert_string_equal(plan_rig_plan(rig), "release vip\n");
    assert_string_equal(plan_rig_state(rig, "vip"), "Released NoRoom");
    assert_string_equal(plan_rig_state(rig, "more"), "Held Behind");
    plan_rig_end(rig, "a");
    assert_string_equal(plan_rig_plan(rig), "nomination vip on n1: nvidia.com/gpu=0,1\n");
}

TEST_ON(struct plan_rig *rig, all_of_it_holds_in_every_order)
{
    static const enum sl_order_kind kinds[] = {SL_ORDER_SJF, SL_ORDER_P, SL_ORDER_HRRN,
                                               SL_ORDER_BOUNDED};
    given_a_preemptor(rig);
    scheduler_says(rig, "vip", "n2");
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct plan_rig *other = plan_rig_new();
        other->config.order.kind = kinds[i];
        plan_rig_configure(other);
        given_a_preemptor(other);
        scheduler_says(other, "vip", "n2");
        plan_rig_end(other, "c");
        assert_string_equal(plan_rig_plan(other), "");
        assert_string_equal(plan_rig_state(other, "more"), "Held Behind");
        plan_rig_end(other, "d");
        assert_string_equal(plan_rig_plan(other), "nomination vip on n2: nvidia.com/gpu=0,1\n");
        plan_rig_end(other, "a");
        assert_string_equal(plan_rig_plan(other), "nomination more on n1: nvidia.com/gpu=1\n");
        plan_rig_free(other);
    }
}

/* ---- when they end ---- */

TEST_ON(struct plan_rig *rig, a_pod_that_is_deleted_ends_with_its_grace)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 5000);
    plan_rig_wait(rig, "big", 2, 50);
    (void)plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(5000));
    is_deleted(rig, "x", SECONDS(30));
    plan_rig_wait(rig, "long", 1, 31);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(30));
    plan_rig_wait(rig, "short", 1, 30);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, one_that_outlives_its_grace_goes_on_for_as_long_as_it_is_late)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 0);
    plan_rig_wait(rig, "big", 2, 50);
    is_deleted(rig, "x", SECONDS(30));
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(42);
    (void)plan_rig_run(rig, 1000); /* nothing has changed but the time */
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(12));
}

TEST_ON(struct plan_rig *rig, one_whose_grace_is_not_told_ends_soon)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    struct plan_rig_pod *x = plan_rig_run_on(rig, "x", "n1", 1, 5000);
    plan_rig_wait(rig, "big", 2, 50);
    x->bound->deleting = true;
    (void)plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(1));
    rig->now_us += SECONDS(5);
    (void)plan_rig_run(rig, 1000);
    assert_true(plan_rig_row(rig, "big", &row));
    assert_int_equal(row.start_us, rig->now_us + SECONDS(1));
}
