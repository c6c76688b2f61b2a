/* Preemptive reclaim: for a pod that is due borrowed runs end, and no others. */
#include "tenant_rig.h"

enum { HIGH = 10, MIN_RUNTIME_S = 600 };

static void begin(struct tenant_rig *rig)
{
    rig->plan = plan_rig_new();
    rig->plan->config.preemption = false;
    rig->tenants.reclaim = true;
    rig->tenants.min_runtime_us = SECONDS(MIN_RUNTIME_S);
    plan_rig_node(rig->plan, "n1", 4);
    tenant_rig_add(rig, "a", 1);
    tenant_rig_add(rig, "b", 1);
    tenant_rig_configure(rig);
}

static void end(struct tenant_rig *rig)
{
    plan_rig_free(rig->plan);
}

TEST_FIXTURE_OF(struct tenant_rig, begin, end)

/* Starts a pod of a namespace, a second after the one before. */
static void run(struct tenant_rig *rig, const char *name, const char *namespace, int64_t gpus)
{
    pass(rig, 1);
    (void)tenant_rig_wait(rig, name, namespace, GPU, gpus, 100000);
    (void)plan_rig_plan(rig->plan);
    plan_rig_bind(rig->plan, name);
    (void)plan_rig_plan(rig->plan);
}

/* a has all four GPUs, two of which it borrows. */
static void fill(struct tenant_rig *rig)
{
    for (const char *at = "a1\0a2\0a3\0a4\0"; *at != '\0'; at += 3) {
        run(rig, at, "a", 1);
    }
}

static void wait_with(struct tenant_rig *rig, const char *name, const char *namespace, int64_t gpus,
                      int32_t priority)
{
    struct plan_rig_pod *p = tenant_rig_wait(rig, name, namespace, GPU, gpus, 1000);
    p->pod.priority = priority;
    plan_rig_put(rig->plan, p);
}

static void add_name(void *context, const struct sl_pod *pod)
{
    char *names = context;
    (void)snprintf(names + strlen(names), PLAN_LOG - strlen(names), "%s%s",
                   names[0] == '\0' ? "" : " ", pod->name);
}

/* Whoever ends for the pod on n1; "-": whom kube-scheduler names. */
static const char *who_ends(struct tenant_rig *rig, const char *name)
{
    static char names[PLAN_LOG];
    names[0] = '\0';
    int64_t n = sl_planner_reclaim(rig->plan->planner, sl_str_of(name), "n1", add_name, names);
    return n < 0 ? "-" : names;
}

TEST_ON(struct tenant_rig *rig, the_youngest_borrowed_run_ends_once_it_has_had_its_time)
{
    fill(rig);
    wait_with(rig, "b1", "b", 1, HIGH);
    wait_with(rig, "b2", "b", 1, HIGH);
    wait_with(rig, "b3", "b", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "b1"), "");
    assert_int_equal(sl_planner_wake(rig->plan->planner),
                     rig->plan->now_us + SECONDS(MIN_RUNTIME_S - 3));
    pass(rig, MIN_RUNTIME_S - 1); /* a4 has not had it yet */
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    assert_string_equal(who_ends(rig, "b1"), "a3");
    pass(rig, 1);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "b1"), "a4");
    plan_rig_end(rig->plan, "a4");
    assert_string_equal(plan_rig_plan(rig->plan),
                        "nomination b1 on n1: nvidia.com/gpu=3\nrelease b2\n");
    assert_string_equal(who_ends(rig, "b1"), "-");
    assert_string_equal(who_ends(rig, "b2"), "a3");
    plan_rig_bind(rig->plan, "b1");
    plan_rig_end(rig->plan, "a3");
    assert_string_equal(plan_rig_plan(rig->plan), "nomination b2 on n1: nvidia.com/gpu=2\n");
    assert_string_equal(who_ends(rig, "b3"), ""); /* b has its share, and a no more than its own */
}

TEST_ON(struct tenant_rig *rig, between_runs_the_cluster_counts_as_it_is)
{
    fill(rig);
    pass(rig, MIN_RUNTIME_S);
    wait_with(rig, "b1", "b", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    plan_rig_end(rig->plan, "a4");
    plan_rig_cluster(rig->plan);
    plan_rig_cluster(rig->plan); /* the view of the last run is gone */
    assert_string_equal(who_ends(rig, "b1"), "");
}

/* One that is deleted, and lets its grace last. */
static void linger(struct tenant_rig *rig, const char *name, int64_t grace_s)
{
    struct plan_rig_pod *p = plan_rig_find(rig->plan, name);
    struct sl_pod *pod =
        sl_pod_bound_to(p->bound, p->bound->node, p->bound->assignment, SL_POD_RUNNING);
    assert_non_null(pod);
    pod->started_us = p->bound->started_us;
    pod->deleting = true;
    pod->gone_s = (uint32_t)(rig->plan->now_us / SECONDS(1) + grace_s);
    sl_pod_unref(p->bound);
    p->bound = pod;
}

TEST_ON(struct tenant_rig *rig, a_run_that_is_long_in_going_spares_no_other)
{
    fill(rig);
    pass(rig, MIN_RUNTIME_S);
    linger(rig, "a4", 30);
    wait_with(rig, "b1", "b", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "b1"), "");
    linger(rig, "a4", 1000000);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    assert_string_equal(who_ends(rig, "b1"), "a3");
}

/* As after a change of the leader, while images are pulled. */
TEST_ON(struct tenant_rig *rig, who_has_not_begun_has_not_had_its_time)
{
    for (const char *at = "a1\0a2\0a3\0a4\0"; *at != '\0'; at += 3) {
        struct plan_rig_pod *p = tenant_rig_pod(rig, at, "a", GPU, 1, 100000, NULL);
        p->pod.created_us -= SECONDS(10 * MIN_RUNTIME_S);
        plan_rig_start(rig->plan, p, "n1", NULL);
        p->bound->started_us = 0;
    }
    wait_with(rig, "b1", "b", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    pass(rig, MIN_RUNTIME_S);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
}

TEST_ON(struct tenant_rig *rig, a_reload_ends_no_reclaim)
{
    fill(rig);
    pass(rig, MIN_RUNTIME_S);
    wait_with(rig, "b1", "b", 1, HIGH);
    wait_with(rig, "b2", "b", 1, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    tenant_rig_configure(rig);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    rig->tenants.reclaim = false;
    tenant_rig_configure(rig);
    assert_string_equal(plan_rig_plan(rig->plan), "");
}

TEST_ON(struct tenant_rig *rig, nobody_ends_for_who_is_not_due_or_matters_no_more)
{
    fill(rig);
    pass(rig, MIN_RUNTIME_S);
    wait_with(rig, "a5", "a", 1, HIGH);
    wait_with(rig, "b1", "b", 1, 0);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "a5"), "");
    assert_string_equal(who_ends(rig, "b1"), "");
    assert_string_equal(who_ends(rig, "unknown"), "-");
    rig->plan->config.preemption = true;
    tenant_rig_configure(rig);
    assert_string_equal(who_ends(rig, "b1"), "-");
}

TEST_ON(struct tenant_rig *rig, who_has_no_more_than_its_share_keeps_it)
{
    tenant_rig_add(rig, "c", 0);
    tenant_rig_configure(rig);
    run(rig, "c1", "c", 1);
    run(rig, "c2", "c", 1);
    run(rig, "a1", "a", 1);
    run(rig, "a2", "a", 1);
    pass(rig, MIN_RUNTIME_S);
    wait_with(rig, "b1", "b", 2, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    assert_string_equal(who_ends(rig, "b1"), "c2 c1");
    plan_rig_end(rig->plan, "c1");
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "b1"), "c2");
}

TEST_ON(struct tenant_rig *rig, who_is_wider_than_the_share_keeps_what_is_due_to_it)
{
    run(rig, "a1", "a", 1);
    run(rig, "wide", "a", 3); /* on the share it waits for a1 */
    wait_with(rig, "b1", "b", 1, HIGH);
    pass(rig, MIN_RUNTIME_S);
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(who_ends(rig, "b1"), "wide");
    end_all(rig, "a1");
    (void)plan_rig_plan(rig->plan);
    plan_rig_bind(rig->plan, "b1");
    wait_with(rig, "b2", "b", 1, HIGH);
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(who_ends(rig, "b2"), "");
}

TEST_ON(struct tenant_rig *rig, who_is_wider_than_the_share_stays_when_nothing_else_does)
{
    run(rig, "a1", "a", 1);
    run(rig, "wide", "a", 3);
    pass(rig, MIN_RUNTIME_S);
    linger(rig, "a1", 30);
    wait_with(rig, "b1", "b", 2, HIGH);
    (void)plan_rig_plan(rig->plan);
    assert_string_equal(who_ends(rig, "b1"), "");
}

TEST_ON(struct tenant_rig *rig, who_would_leave_no_room_that_is_needed_stays)
{
    rig->tenants.share[0].weight = 0;
    tenant_rig_configure(rig);
    run(rig, "a1", "a", 3);
    run(rig, "a2", "a", 1);
    pass(rig, MIN_RUNTIME_S);
    wait_with(rig, "b1", "b", 3, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "release b1\n");
    assert_string_equal(who_ends(rig, "b1"), "a1");
}

TEST_ON(struct tenant_rig *rig, who_goes_anyway_is_not_kept)
{
    plan_rig_node(rig->plan, "n2", 4);
    for (int i = 1; i <= 8; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "a%d", i);
        struct plan_rig_pod *p = plan_rig_pod(rig->plan, name, GPU, 1, 100000);
        p->pod.namespace = "a";
        plan_rig_start(rig->plan, p, i <= 4 ? "n2" : "n1", NULL);
    }
    (void)plan_rig_plan(rig->plan);
    pass(rig, MIN_RUNTIME_S);
    for (int i = 1; i <= 4; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "a%d", i);
        linger(rig, name, 300);
    }
    wait_with(rig, "b1", "b", 2, HIGH);
    assert_string_equal(plan_rig_plan(rig->plan), "");
    assert_string_equal(who_ends(rig, "b1"), "");
}
