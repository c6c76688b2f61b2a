/* Estimates by how long former pods of an owner ran: beside those by timeouts, and deciding
 * nothing. */
#include "plan_rig.h"

enum { OURS = 7, THEIRS = 8 };

static struct plan_rig_pod *starts(struct plan_rig *rig, const char *name, uint64_t owner,
                                   int64_t timeout_s)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, timeout_s);
    p->pod.owner = owner;
    plan_rig_start(rig, p, "n1", NULL);
    return p;
}

/* A pod of the owner comes, runs that long and ends. */
static void ran(struct plan_rig *rig, uint64_t owner, int64_t seconds)
{
    static unsigned number;
    char name[PLAN_NAME];
    (void)snprintf(name, sizeof(name), "former%u", number++);
    (void)starts(rig, name, owner, 7200);
    plan_rig_cluster(rig);
    rig->now_us += SECONDS(seconds);
    plan_rig_end(rig, name);
    plan_rig_cluster(rig);
}

static struct sl_queue_row row_of(struct plan_rig *rig, const char *name)
{
    struct sl_error err = {0};
    struct sl_queue_row row;
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_true(plan_rig_row(rig, name, &row));
    return row;
}

/* Seconds from now; 0: nothing is said. */
static int64_t usual_start(struct plan_rig *rig, const struct sl_queue_row *row)
{
    return row->usual_start_us == 0 ? 0 : (row->usual_start_us - rig->now_us) / SECONDS(1);
}

static struct plan_rig *learning(void **state)
{
    struct plan_rig *rig = *state;
    rig->config.learn_runtime = true;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_cluster(rig);
    return rig;
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(a_start_is_told_by_timeouts_and_as_is_usual)
{
    struct plan_rig *rig = learning(state);
    ran(rig, OURS, 100);
    ran(rig, OURS, 9000); /* an outlier */
    ran(rig, OURS, 120);
    (void)starts(rig, "runs", OURS, 7200);
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "last", 1, 3600);
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(19);
    struct sl_queue_row next = row_of(rig, "next");
    assert_int_equal((next.start_us - rig->now_us) / SECONDS(1), 7180);
    assert_int_equal(next.usual_us, SECONDS(120));
    assert_int_equal(usual_start(rig, &next), 100);
    struct sl_queue_row last = row_of(rig, "last");
    assert_int_equal((last.start_us - rig->now_us) / SECONDS(1), 7180 + 3600);
    assert_int_equal(last.usual_us, 0); /* it has no owner */
    assert_int_equal(usual_start(rig, &last), 220);
}

TEST_THAT(a_pod_that_runs_longer_than_is_usual_runs_on_for_as_long_as_it_is_late)
{
    struct plan_rig *rig = learning(state);
    for (int i = 0; i < 3; i++) {
        ran(rig, OURS, 100);
    }
    (void)starts(rig, "runs", OURS, 1000);
    plan_rig_wait(rig, "next", 1, 3600);
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(300);
    struct sl_queue_row row = row_of(rig, "next");
    assert_int_equal(usual_start(rig, &row), 200);
    rig->now_us += SECONDS(600); /* no longer than its timeout: nothing more to say */
    row = row_of(rig, "next");
    assert_int_equal((row.start_us - rig->now_us) / SECONDS(1), 100);
    assert_int_equal(row.usual_start_us, 0);
}

TEST_THAT(three_pods_must_have_ended_that_have_started)
{
    struct plan_rig *rig = learning(state);
    ran(rig, OURS, 100);
    ran(rig, OURS, 100);
    struct plan_rig_pod *p = starts(rig, "stuck", OURS, 7200);
    p->bound->started_us = 0;
    plan_rig_cluster(rig);
    plan_rig_end(rig, "stuck");
    plan_rig_cluster(rig);
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    assert_int_equal(row_of(rig, "next").usual_us, 0);
    ran(rig, OURS, 100);
    assert_int_equal(row_of(rig, "next").usual_us, SECONDS(100));
}

TEST_THAT(runs_that_took_their_whole_timeout_are_counted)
{
    struct plan_rig *rig = learning(state);
    struct sl_plan_stats stats;
    ran(rig, OURS, 7199);
    ran(rig, 0, 7200);
    ran(rig, THEIRS, 7230); /* the kubelet took a while */
    (void)starts(rig, "endless", OURS, 0);
    plan_rig_cluster(rig);
    rig->now_us += SECONDS(90000);
    plan_rig_end(rig, "endless");
    struct plan_rig_pod *p = starts(rig, "stuck", OURS, 10);
    p->bound->started_us = 0; /* it never ran */
    plan_rig_cluster(rig);
    plan_rig_end(rig, "stuck");
    plan_rig_cluster(rig);
    sl_planner_stats(rig->planner, &stats);
    assert_int_equal(stats.ended, 4);
    assert_int_equal(stats.timeouts, 2);
}

TEST_THAT(pods_of_a_node_that_goes_teach_nothing)
{
    struct plan_rig *rig = learning(state);
    for (int i = 0; i < 3; i++) {
        (void)starts(rig, "runs", OURS, 7200);
        plan_rig_cluster(rig);
        rig->now_us += SECONDS(5);
        plan_rig_end(rig, "runs");
        rig->n_nodes = 0;
        plan_rig_cluster(rig);
        sl_view_free(rig->view[0]);
        sl_view_free(rig->old[0]);
        rig->view[0] = NULL;
        rig->old[0] = NULL;
        plan_rig_node(rig, "n1", 1);
        plan_rig_cluster(rig);
    }
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    assert_int_equal(row_of(rig, "next").usual_us, 0);
}

TEST_THAT(nothing_is_learned_unless_asked_for)
{
    struct plan_rig *rig = learning(state);
    rig->config.learn_runtime = false;
    plan_rig_configure(rig);
    for (int i = 0; i < 3; i++) {
        ran(rig, OURS, 100);
    }
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    assert_int_equal(row_of(rig, "next").usual_us, 0);
    rig->config.learn_runtime = true;
    plan_rig_configure(rig);
    assert_int_equal(row_of(rig, "next").usual_us, 0);
    for (int i = 0; i < 3; i++) {
        ran(rig, OURS, 100);
    }
    assert_int_equal(row_of(rig, "next").usual_us, SECONDS(100));
    rig->config.learn_runtime = false; /* what was learned is told no more */
    plan_rig_configure(rig);
    assert_int_equal(row_of(rig, "next").usual_us, 0);
}

/* Whatever an owner's pods did, others are told nothing else of themselves; a usual run is never
 * longer than the timeout, and nobody starts sooner or later for it. */
TEST_THAT(who_lies_about_its_owner_spoils_its_own_estimates_alone)
{
    struct plan_rig *rig = learning(state);
    for (int i = 0; i < 3; i++) {
        ran(rig, THEIRS, 10); /* short on purpose */
        ran(rig, OURS, 1000);
    }
    (void)starts(rig, "runs", 0, 600);
    plan_rig_wait(rig, "theirs", 1, 100000)->pod.owner = THEIRS;
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "ours", 1, 500)->pod.owner = OURS;
    (void)plan_rig_plan(rig);
    assert_int_equal(row_of(rig, "theirs").usual_us, SECONDS(10));
    assert_int_equal(row_of(rig, "ours").usual_us, SECONDS(500));
    assert_int_equal(row_of(rig, "theirs").timeout_us, SECONDS(100000));
    assert_int_equal((row_of(rig, "ours").start_us - rig->now_us) / SECONDS(1), 599 + 100000);
}

/* Two planners that differ in nothing else decide alike, for hundreds of pods of few owners. */
TEST_THAT(every_decision_is_the_same_with_it_and_without)
{
    struct plan_rig *rig[2] = {*state, plan_rig_new()};
    uint64_t seed = 11;
    char told[PLAN_LOG];
    for (unsigned k = 0; k < 2; k++) {
        rig[k]->config.order.kind = SL_ORDER_BOUNDED;
        rig[k]->config.learn_runtime = k == 1;
        plan_rig_configure(rig[k]);
        plan_rig_node(rig[k], "n1", 4);
        plan_rig_node(rig[k], "n2", 4);
    }
    for (unsigned step = 0; step < 300; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned draw = (unsigned)(seed >> 33);
        char name[PLAN_NAME];
        (void)snprintf(name, sizeof(name), "p%u", step);
        for (unsigned k = 0; k < 2; k++) {
            struct plan_rig_pod *p =
                plan_rig_pod(rig[k], name, GPU, 1 + draw % 4, 60 + draw / 8 % 2000);
            struct sl_error err = {0};
            p->pod.owner = 1 + draw / 4 % 3;
            plan_rig_put(rig[k], p);
            rig[k]->now_us += SECONDS(30);
            for (unsigned i = 0; i < rig[k]->n_pods; i++) { /* a third of the timeout */
                const struct sl_pod *bound = rig[k]->pod[i]->bound;
                if (bound != NULL &&
                    rig[k]->now_us - bound->started_us > bound->timeout_s * SECONDS(1) / 3) {
                    plan_rig_end(rig[k], rig[k]->pod[i]->name);
                }
            }
            (void)plan_rig_plan(rig[k]);
            for (unsigned i = 0; i < rig[k]->n_pods; i++) {
                if (strncmp(plan_rig_state(rig[k], rig[k]->pod[i]->name), "Nominated", 9) == 0) {
                    plan_rig_bind(rig[k], rig[k]->pod[i]->name);
                }
            }
            assert_int_equal(sl_planner_estimate(rig[k]->planner, rig[k]->now_us, &err), 0);
            if (k == 0) {
                memcpy(told, rig[0]->log, sizeof(told));
            }
        }
        assert_string_equal(told, rig[1]->log);
    }
    plan_rig_free(rig[1]);
}

/* How long the one that runs takes is not known but by its timeout. */
TEST_THAT(behind_a_pod_of_an_owner_without_former_ones_a_start_is_told_by_its_timeout)
{
    struct plan_rig *rig = learning(state);
    for (unsigned i = 0; i < 3; i++) {
        ran(rig, OURS, 100);
    }
    (void)starts(rig, "runs", THEIRS, 1000);
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(10);
    struct sl_queue_row next = row_of(rig, "next");
    assert_int_equal((next.start_us - rig->now_us) / SECONDS(1), 990);
    assert_int_equal(next.usual_us, SECONDS(100));
    assert_int_equal(usual_start(rig, &next), 0);
}

TEST_THAT(switched_off_nothing_is_usual)
{
    struct plan_rig *rig = learning(state);
    for (unsigned i = 0; i < 3; i++) {
        ran(rig, OURS, 100);
    }
    (void)starts(rig, "runs", OURS, 1000);
    plan_rig_wait(rig, "next", 1, 3600)->pod.owner = OURS;
    (void)plan_rig_plan(rig);
    assert_int_equal(row_of(rig, "next").usual_us, SECONDS(100));
    rig->config.learn_runtime = false;
    plan_rig_configure(rig);
    (void)plan_rig_plan(rig);
    struct sl_queue_row next = row_of(rig, "next");
    assert_int_equal(next.usual_us, 0);
    assert_int_equal(usual_start(rig, &next), 0);
}
