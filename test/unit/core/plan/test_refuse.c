/* The API server lets nobody of a namespace go: that costs it little, and others nothing. */
#include "plan_rig.h"

enum { MANY = 200, FIRST = 8, WINDOW = 16 };

static void wait_in(struct plan_rig *rig, const char *namespace, const char *name)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
    p->pod.namespace = namespace;
    p->pod.gate = SL_GATE_OURS;
    plan_rig_put(rig, p);
}

static void many_wait(struct plan_rig *rig, const char *namespace)
{
    for (int i = 0; i < MANY; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "%s%03d", namespace, i);
        wait_in(rig, namespace, name);
    }
}

/* Refuses whatever of the namespace has a nomination; returns how many had. */
static unsigned refuse(struct plan_rig *rig, const char *namespace)
{
    unsigned n = 0;
    for (unsigned i = 0; i < rig->n_pods; i++) {
        const struct sl_pod *pod = &rig->pod[i]->pod;
        struct sl_queue_row row;
        if (strcmp(pod->namespace, namespace) == 0 &&
            sl_planner_row(rig->planner, sl_str_of(pod->uid), rig->now_us, &row) &&
            row.state == SL_QUEUE_NOMINATED) {
            sl_planner_denied(rig->planner, sl_str_of(pod->uid), rig->now_us);
            n++;
        }
    }
    return n;
}

/* Plans and refuses, as fast as the API server answers, until nothing more comes of it. */
static unsigned refuse_all(struct plan_rig *rig, const char *namespace)
{
    unsigned sum = 0;
    unsigned n = 1;
    plan_rig_cluster(rig);
    while (n > 0) {
        (void)plan_rig_run(rig, WINDOW);
        n = refuse(rig, namespace);
        sum += n;
        rig->now_us += 5000;
    }
    return sum;
}

static void run_in(enum sl_order_kind order, struct plan_rig *rig)
{
    rig->config.order.kind = order;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(a_policy_that_refuses_every_pod_is_asked_a_few_times_and_then_now_and_then)
{
    struct plan_rig *rig = *state;
    run_in(SL_ORDER_FIFO, rig);
    many_wait(rig, "bad");
    assert_in_range(refuse_all(rig, "bad"), FIRST, FIRST + WINDOW);
    int64_t begin_us = rig->now_us;
    unsigned more = 0;
    for (int i = 0; i < 100; i++) {
        rig->now_us += SECONDS(1) / 2;
        more += refuse_all(rig, "bad");
    }
    assert_in_range(more, 20, (rig->now_us - begin_us) / SECONDS(1) + 4);
}

TEST_THAT(others_go_as_if_nobody_was_refused)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    run_in(SL_ORDER_BOUNDED, rig);
    many_wait(rig, "bad");
    rig->now_us += SECONDS(1);
    for (int i = 0; i < 4; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "good%d", i);
        wait_in(rig, "good", name);
    }
    (void)refuse_all(rig, "bad");
    assert_string_equal(plan_rig_state(rig, "good0"), "Nominated None");
    assert_string_equal(plan_rig_state(rig, "good3"), "Nominated None");
    assert_true(plan_rig_row(rig, "bad150", &row));
    assert_int_equal(row.state, SL_QUEUE_HELD);
}

/* A policy may refuse some of a namespace, for good, and they may stand ahead. */
TEST_ON(struct plan_rig *rig, others_of_the_namespace_wait_for_a_second_at_most)
{
    run_in(SL_ORDER_FIFO, rig);
    for (int i = 0; i < 3 * FIRST; i++) {
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "bad%d", i);
        wait_in(rig, "ns", name);
    }
    (void)refuse_all(rig, "ns");
    for (int i = 0; i < 120; i++) { /* each has been tried, some again */
        rig->now_us += SECONDS(1);
        (void)refuse_all(rig, "ns");
    }
    rig->now_us += SECONDS(1);
    wait_in(rig, "ns", "other");
    for (int i = 0; i < 4; i++) {
        const char *log = plan_rig_plan(rig);
        if (strstr(log, "nomination other") != NULL) {
            return;
        }
        rig->now_us += SECONDS(1) / 4;
    }
    fail_msg("it was not tried within a second");
}

TEST_ON(struct plan_rig *rig, who_comes_later_is_not_tried_at_once)
{
    struct sl_queue_row row;
    run_in(SL_ORDER_FIFO, rig);
    many_wait(rig, "bad");
    (void)refuse_all(rig, "bad");
    wait_in(rig, "bad", "late");
    wait_in(rig, "good", "good");
    assert_string_equal(plan_rig_plan(rig), "nomination good on n1: nvidia.com/gpu=0\n");
    assert_true(plan_rig_row(rig, "late", &row));
    assert_int_equal(row.reason, SL_HOLD_EXPIRED);
    assert_string_equal(row.why, "the API server lets no pod of its namespace go, so these are "
                                 "tried one at a time");
}

TEST_ON(struct plan_rig *rig, the_first_that_is_let_go_ends_it)
{
    run_in(SL_ORDER_BOUNDED, rig);
    many_wait(rig, "bad");
    (void)refuse_all(rig, "bad");
    const char *log = "";
    for (int i = 0; i < 100 && log[0] == '\0'; i++) { /* until one tries again */
        rig->now_us += SECONDS(1);
        log = plan_rig_run(rig, WINDOW);
    }
    char uid[PLAN_NAME] = "";
    assert_int_equal(sscanf(log, "%*s %23s on", uid), 1);
    sl_planner_released(rig->planner, sl_str_of(uid), rig->now_us);
    log = plan_rig_run(rig, WINDOW);
    assert_non_null(strstr(log, "nomination"));
    assert_non_null(strstr(strstr(log, "nomination") + 1, "nomination")); /* all that is free */
}

TEST_ON(struct plan_rig *rig, some_that_are_let_go_in_between_keep_the_namespace_going)
{
    unsigned refused = 0;
    run_in(SL_ORDER_FIFO, rig);
    many_wait(rig, "half");
    plan_rig_cluster(rig);
    for (int i = 0; i < 60; i++) {
        char uid[PLAN_NAME] = "";
        const char *log = plan_rig_run(rig, 1);
        if (sscanf(log, "%*s %23s on", uid) == 1 && i % 4 != 0) {
            sl_planner_denied(rig->planner, sl_str_of(uid), rig->now_us);
            refused++;
        } else if (uid[0] != '\0') {
            sl_planner_released(rig->planner, sl_str_of(uid), rig->now_us);
            sl_planner_remove(rig->planner, sl_str_of(uid), rig->now_us);
        }
        rig->now_us += 5000;
    }
    assert_int_equal(refused, 45);
}

/* The limit of any resource that it asks for counts, and of several the strictest. */
TEST_ON(struct plan_rig *rig, a_pod_of_two_resources_keeps_the_limits_of_both)
{
    struct sl_queue_row row;
    plan_rig_share(plan_rig_node(rig, "n1", 2), 16);
    rig->config.n_limits = 3;
    rig->config.limit[0] = (struct sl_plan_limit){"nvidia.com/other", 10};
    rig->config.limit[1] = (struct sl_plan_limit){GPU, SECONDS(100)};
    rig->config.limit[2] = (struct sl_plan_limit){"", SECONDS(200)};
    plan_rig_configure(rig);
    for (unsigned i = 0; i < 2; i++) {
        struct plan_rig_pod *p = plan_rig_pod(rig, i == 0 ? "a" : "b", MEM, 1, 100 + i);
        p->item[1] = plan_rig_pod(rig, "of-its-item", GPU, 1, 1)->item[0];
        p->pod.n_items = 2;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig),
                        "refuse b: Limit\nnomination a on n1: aliyun.com/gpu-mem=0;"
                        "nvidia.com/gpu=1\n");
    assert_true(plan_rig_row(rig, "b", &row));
    assert_int_equal(row.limit.max_timeout_us, SECONDS(100));
    assert_string_equal(row.limit.resource, GPU);
}
