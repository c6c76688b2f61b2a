/* The order bounded in the plan: what its lanes are told, and that its promise is kept where
 * devices are all alike. What a bound itself does is tested elsewhere. */
#include "plan_rig.h"

static int set_up(void **state)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    *state = rig;
    return 0;
}

TEST_FIXTURE(set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, the_shortest_goes_first_where_nobody_is_late)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "long", 1, 1000);
    plan_rig_wait(rig, "mid", 1, 100);
    plan_rig_wait(rig, "short", 1, 10);
    plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "short"), "Nominated None");
}

TEST_THAT(a_long_pod_in_a_stream_of_short_ones_starts_by_its_latest_start)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    char name[PLAN_NAME];
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "long", 1, 300);
    int64_t latest = 0;
    const char *running = "x";
    int64_t end = rig->now_us + SECONDS(100);
    static char nominated[PLAN_NAME];
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "s%03u", i);
        plan_rig_wait(rig, name, 1, 60); /* as many as the node can take: it never runs empty */
        plan_rig_plan(rig);
        assert_true(plan_rig_row(rig, "long", &row));
        latest = row.latest_start_us > latest ? row.latest_start_us : latest;
        rig->now_us = end;
        plan_rig_end(rig, running);
        plan_rig_plan(rig);
        assert_true(plan_rig_row(rig, "long", &row));
        if (row.state == SL_QUEUE_NOMINATED) {
            assert_true(i > 0);
            assert_true(rig->now_us <= latest);
            return;
        }
        assert_true(row.latest_start_us > 0);
        for (unsigned k = 0; k <= i; k++) {
            snprintf(nominated, sizeof(nominated), "s%03u", k);
            if (plan_rig_row(rig, nominated, &row) && row.state == SL_QUEUE_NOMINATED) {
                break;
            }
        }
        plan_rig_bind(rig, nominated);
        running = nominated;
        end = rig->now_us + SECONDS(60);
    }
    fail_msg("the long pod never started");
}

TEST_ON(struct plan_rig *rig, the_wait_of_a_pod_begins_when_its_stage_opens)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 10000);
    plan_rig_wait(rig, "first", 1, 100); /* W begins to grow */
    struct plan_rig_pod *staged = plan_rig_pod(rig, "staged", GPU, 1, 100);
    staged->pod.after = "pod/a";
    plan_rig_put(rig, staged);
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "staged", &row));
    assert_int_equal(row.latest_start_us, 0); /* nothing is promised yet */
    rig->now_us += SECONDS(5000);
    int64_t opened_us = rig->now_us;
    sl_planner_set_stage(rig->planner, SL_STR("staged"), SL_HOLD_NONE, NULL, rig->now_us);
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "first", &row));
    int64_t first_us = row.latest_start_us;
    assert_true(plan_rig_row(rig, "staged", &row));
    /* as long after the opening as the other's is after its submission */
    assert_int_equal(row.latest_start_us - opened_us, first_us - row.pod->created_us);
}

TEST_ON(struct plan_rig *rig, a_wide_pod_that_is_the_shortest_has_the_reservation)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 2);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "wide", 2, 10);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "long", 1, 500);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "long"), "Held Behind");
    assert_true(plan_rig_row(rig, "wide", &row));
    assert_int_equal(row.estimate, SL_ESTIMATE_RESERVED);
    assert_int_equal(row.start_us, SECONDS(1000000 + 100));
    plan_rig_wait(rig, "short", 1, 50);
    assert_string_equal(plan_rig_run(rig, 1000), "backfill short on n1: nvidia.com/gpu=1\n");
}

static void wait_above(struct plan_rig *rig, const char *name, int64_t count, int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, count, timeout_s);
    p->pod.priority = 10;
    plan_rig_put(rig, p);
}

/* The reservation of the shortest may stand on either node, and "low" would delay a pod on both. */
TEST_ON(struct plan_rig *rig, a_reservation_does_not_move_to_and_fro)
{
    plan_rig_node(rig, "n1", 4);
    plan_rig_node(rig, "n2", 4);
    plan_rig_run_on(rig, "x", "n1", 2, 10);
    plan_rig_run_on(rig, "y", "n2", 2, 10);
    wait_above(rig, "shortest", 4, 5);
    wait_above(rig, "next", 4, 6);
    plan_rig_wait(rig, "low", 2, 20);
    rig->config.preemption = false;
    plan_rig_configure(rig);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "low"), "Held Promise");
}

/* "wide" has the node reserved, until its turn shows that it cannot use it. */
TEST_ON(struct plan_rig *rig, others_go_at_once_when_the_pod_that_is_due_cannot)
{
    static const char *const model = "NOPE";
    static const struct sl_match select = {
        .key = SL_MODEL_LABEL, .op = SL_MATCH_IN, .value = &model, .n_values = 1};
    const struct sl_constraints constraints = {
        .selector = &select, .n_selector = 1, .digest = 7, .by_name = true};
    plan_rig_node(rig, "n1", 8);
    struct plan_rig_pod *wide = plan_rig_pod(rig, "wide", GPU, 8, 100);
    wide->constraints = constraints;
    wide->pod.constraints = &wide->constraints;
    plan_rig_put(rig, wide);
    plan_rig_wait(rig, "short", 4, 10);
    plan_rig_wait(rig, "long", 4, 1000);
    (void)plan_rig_plan(rig);
    while (sl_planner_wake(rig->planner) <= rig->now_us) {
        (void)plan_rig_run(rig, 1000);
    }
    assert_string_equal(plan_rig_state(rig, "short"), "Nominated None");
    assert_string_equal(plan_rig_state(rig, "long"), "Nominated None");
    assert_string_equal(plan_rig_state(rig, "wide"), "Held Constraint");
}

/* All of them are longer than the one that is in the way, so that its promise is at stake. */
static void all_but_the_first_run(struct plan_rig *rig, const char *first)
{
    struct sl_queue_row row;
    char name[PLAN_NAME];
    unsigned started = 0;
    for (unsigned i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "s%03u", i);
        plan_rig_wait(rig, name, 1, 50);
    }
    for (unsigned step = 0; step < 20; step++) {
        plan_rig_plan(rig);
        char running[PLAN_NAME] = "";
        for (unsigned i = 0; i < 20; i++) {
            snprintf(name, sizeof(name), "s%03u", i);
            if (plan_rig_row(rig, name, &row) && row.state == SL_QUEUE_NOMINATED) {
                plan_rig_bind(rig, name);
                snprintf(running, sizeof(running), "%s", name);
                started++;
                break;
            }
        }
        plan_rig_plan(rig);
        rig->now_us += SECONDS(50);
        if (running[0] != '\0') {
            plan_rig_end(rig, running);
        }
    }
    assert_true(started >= 18);
    assert_true(plan_rig_row(rig, first, &row));
}

TEST_ON(struct plan_rig *rig, a_pod_that_nobody_can_host_is_waited_for_by_nobody)
{
    plan_rig_node(rig, "n1", 1)->node.host.cpu_milli = 1000;
    struct plan_rig_pod *p = plan_rig_pod(rig, "huge", GPU, 1, 100);
    p->constraints = (struct sl_constraints){.cpu_milli = 5000, .digest = 1};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    all_but_the_first_run(rig, "huge");
}

TEST_THAT(many_pods_that_nobody_can_host_are_waited_for_by_nobody)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    char name[PLAN_NAME];
    plan_rig_node(rig, "n1", 1)->node.host.cpu_milli = 1000;
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "h%03u", i);
        struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
        p->constraints = (struct sl_constraints){.cpu_milli = 5000 + i, .digest = 1 + i};
        p->pod.constraints = &p->constraints;
        plan_rig_put(rig, p);
    }
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "a", 1, 5000);
    plan_rig_cluster(rig);
    unsigned runs = 0;
    do {
        assert_true(runs < 20);
        plan_rig_run(rig, 1000);
        runs++;
        assert_true(plan_rig_row(rig, "a", &row));
    } while (sl_planner_wake(rig->planner) <= rig->now_us);
    assert_int_equal(row.state, SL_QUEUE_NOMINATED);
}

/* By units alone the narrow pod could go to n1, so that it need not yield. */
TEST_ON(struct plan_rig *rig, a_pod_that_nobody_can_host_keeps_no_other_from_a_node)
{
    struct plan_rig_node *mps = plan_rig_node(rig, "n1", 4);
    mps->pool[0].one_each = true;
    mps->node.host.cpu_milli = 100;
    plan_rig_node(rig, "n2", 2)->node.host.cpu_milli = 50;
    struct plan_rig_pod *two = plan_rig_pod(rig, "two", GPU, 2, 604800);
    two->item[0].each = 2;
    two->constraints = (struct sl_constraints){.cpu_milli = 60, .digest = 1};
    two->pod.constraints = &two->constraints;
    plan_rig_put(rig, two);
    plan_rig_plan(rig);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "narrow", 1, 604800);
    plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "narrow"), "Nominated None");
    assert_string_equal(plan_rig_state(rig, "two"), "Held Constraint");
}

TEST_ON(struct plan_rig *rig, a_pod_that_does_not_come_is_waited_for_by_nobody)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "stuck", 1, 100);
    plan_rig_plan(rig);
    rig->now_us += rig->config.hold_us;
    plan_rig_plan(rig);
    rig->now_us += rig->config.hold_us; /* it may have another now, and comes behind no more */
    plan_rig_node(rig, "n2", 1)->node.unschedulable = false;
    all_but_the_first_run(rig, "stuck");
}

TEST_ON(struct plan_rig *rig, a_pod_that_only_a_new_node_could_take_is_waited_for_by_nobody)
{
    rig->config.autoscaler_pods = 1;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "wide", 8, 10);
    all_but_the_first_run(rig, "wide");
}

TEST_ON(struct plan_rig *rig, a_pod_that_headroom_is_kept_from_is_waited_for_by_nobody)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 3);
    plan_rig_run_on(rig, "x", "n1", 1, 1000000);
    plan_rig_run_on(rig, "y", "n1", 1, 1000000);
    plan_rig_wait(rig, "long", 1, 100);
    all_but_the_first_run(rig, "long");
}

/* What keeps it from there ends only after the other: that makes nobody late for the headroom. */
TEST_ON(struct plan_rig *rig, a_wide_pod_that_headroom_is_kept_from_is_waited_for_by_nobody)
{
    rig->config.n_headrooms = 1;
    rig->config.headroom[0] = (struct sl_plan_headroom){GPU, SECONDS(60), 1};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 4);
    plan_rig_run_on(rig, "x", "n1", 1, 1000000);
    plan_rig_wait(rig, "wide", 3, 3600);
    plan_rig_wait(rig, "long", 1, 86400);
    assert_string_equal(plan_rig_plan(rig), "nomination long on n1: nvidia.com/gpu=1\n");
    assert_string_equal(plan_rig_state(rig, "wide"), "Held Headroom");
}

TEST_ON(struct plan_rig *rig, what_others_started_counts_as_running)
{
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 1000);
    plan_rig_wait(rig, "a", 1, 10);
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_true(row.latest_start_us >= rig->now_us + SECONDS(1000));
}

TEST_ON(struct plan_rig *rig, another_order_and_back_forgets_no_pod)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    plan_rig_wait(rig, "b", 1, 10);
    plan_rig_run(rig, 1000);
    rig->config.order.kind = SL_ORDER_FIFO;
    plan_rig_configure(rig);
    plan_rig_run(rig, 1000);
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    plan_rig_run(rig, 1000);
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
    plan_rig_bind(rig, "a");
    plan_rig_plan(rig);
    plan_rig_end(rig, "a");
    plan_rig_plan(rig);
    assert_string_equal(plan_rig_state(rig, "b"), "Nominated None");
}

/* n1 has one GPU, and the nomination of a pod of 1000 s there is bound. */
static void given_a_nomination_that_runs(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "x", 1, 1000);
    plan_rig_plan(rig);
    plan_rig_bind(rig, "x");
}

static int64_t wait_for_x(struct plan_rig *rig)
{
    struct sl_queue_row row;
    plan_rig_wait(rig, "a", 1, 10);
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_true(row.latest_start_us > 0);
    return row.latest_start_us - rig->now_us;
}

TEST_ON(struct plan_rig *rig, what_runs_counts_when_the_order_becomes_bounded)
{
    rig->config.order.kind = SL_ORDER_FIFO;
    plan_rig_configure(rig);
    given_a_nomination_that_runs(rig);
    plan_rig_plan(rig);
    rig->config.order.kind = SL_ORDER_BOUNDED;
    plan_rig_configure(rig);
    assert_true(wait_for_x(rig) >= SECONDS(1000));
}

TEST_ON(struct plan_rig *rig, what_runs_counts_when_the_bound_is_another)
{
    given_a_nomination_that_runs(rig);
    plan_rig_plan(rig);
    rig->config.promise.c_permille += 1;
    plan_rig_configure(rig);
    assert_true(wait_for_x(rig) >= SECONDS(1000));
}

TEST_ON(struct plan_rig *rig, what_was_bound_when_the_bound_became_another_counts_once_it_is_seen)
{
    given_a_nomination_that_runs(rig);
    rig->config.promise.c_permille += 1;
    plan_rig_configure(rig);
    plan_rig_wait(rig, "b", 1, 5);
    plan_rig_run(rig, 0); /* there is a bound again, and no node has shown x yet */
    assert_true(wait_for_x(rig) >= SECONDS(1000));
}

/* ---- many pods on devices that are alike: nothing idles, nobody waits too long ---- */

enum { PODS = 60, SEEDS = 40 };

struct job {
    char name[PLAN_NAME];
    int64_t arrive;
    int64_t run;
    int64_t start; /* -1: waits */
    int64_t fifo;  /* wait under strict order of submission */
};

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static int64_t longest_under_fifo(struct job *job, unsigned gpus)
{
    int64_t free_at[8] = {0};
    int64_t longest = 0;
    for (unsigned i = 0; i < PODS; i++) {
        unsigned first = 0;
        for (unsigned g = 1; g < gpus; g++) {
            first = free_at[g] < free_at[first] ? g : first;
        }
        int64_t start = free_at[first] > job[i].arrive ? free_at[first] : job[i].arrive;
        job[i].fifo = start - job[i].arrive;
        longest = job[i].fifo > longest ? job[i].fifo : longest;
        free_at[first] = start + job[i].run;
    }
    return longest;
}

static void step(struct plan_rig *rig, struct job *job, int64_t now, unsigned gpus)
{
    unsigned busy = 0;
    unsigned waiting = 0;
    for (unsigned i = 0; i < PODS; i++) {
        if (job[i].arrive == now) {
            plan_rig_wait(rig, job[i].name, 1, job[i].run);
        }
        if (job[i].start >= 0 && job[i].start + job[i].run == now) {
            plan_rig_end(rig, job[i].name);
        }
    }
    plan_rig_plan(rig);
    for (unsigned i = 0; i < PODS; i++) {
        struct sl_queue_row row;
        if (job[i].start < 0 && plan_rig_row(rig, job[i].name, &row)) {
            waiting += row.state != SL_QUEUE_NOMINATED;
            if (row.state == SL_QUEUE_NOMINATED) {
                plan_rig_bind(rig, job[i].name);
                job[i].start = now;
            }
        }
        busy += job[i].start >= 0 && now < job[i].start + job[i].run;
    }
    assert_true(waiting == 0 || busy == gpus); /* work conserving */
}

static void play(uint64_t seed)
{
    struct job job[PODS];
    struct plan_rig *rig = plan_rig_new();
    uint64_t random = seed;
    int64_t at = 0;
    unsigned gpus = 1 + (unsigned)next_random(&random) % 4;
    rig->config.order.kind = SL_ORDER_BOUNDED;
    rig->config.preemption = false;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", gpus);
    for (unsigned i = 0; i < PODS; i++) {
        int64_t run = 1 + (int64_t)(next_random(&random) % 10);
        at += (int64_t)(next_random(&random) % 4);
        job[i] = (struct job){.arrive = at, .start = -1};
        job[i].run = next_random(&random) % 4 == 0 ? run * 10 : run;
        snprintf(job[i].name, sizeof(job[i].name), "p%03u", i);
    }
    int64_t longest = longest_under_fifo(job, gpus);
    for (int64_t now = 0; now < 5000; now++) {
        step(rig, job, now, gpus);
        rig->now_us += SECONDS(1);
    }
    for (unsigned i = 0; i < PODS; i++) {
        assert_true(job[i].start >= 0);
        assert_true((job[i].start - job[i].arrive) * 1000 <= longest * 1150 + longest * 500);
    }
    plan_rig_free(rig);
}

TEST_THAT(no_device_idles_and_nobody_waits_longer_than_promised)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play(seed);
    }
}
