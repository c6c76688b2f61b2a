/* What the planner tells the promise of a lane, as the promise has it. */
#include "unit/core/plan/plan_rig.h"

#include "core/plan/decide/decide.h"
#include "core/promise/lane.h"

static int set_up_bounded(void **state)
{
    struct plan_rig *rig = plan_rig_new();
    rig->config.order.kind = SL_ORDER_BOUNDED;
    rig->config.preemption = false;
    plan_rig_configure(rig);
    *state = rig;
    return 0;
}

static struct sl_plan_lane *lane_of(const struct plan_rig *rig, const char *resource)
{
    struct sl_plan_lane *lane =
        sl_plan_lane_find(rig->planner, sl_hash(resource, strlen(resource)));
    assert_non_null(lane);
    return lane;
}

static void promise_has(const struct plan_rig *rig, uint32_t waiting, uint32_t running)
{
    const struct sl_promise *promise = sl_plan_bounded_promise(lane_of(rig, GPU));
    assert_non_null(promise);
    assert_int_equal(sl_promise_waiting(promise), waiting);
    assert_int_equal(sl_promise_running(promise), running);
}

/* ---- numbers of pods ---- */

/* The leading 16 digits without dashes, if that is what they are. */
static uint64_t number_of(const char *uid)
{
    char digits[17] = "";
    size_t n = 0;
    for (const char *c = uid; *c != '\0' && n < 16; c++) {
        if (*c != '-') {
            digits[n++] = *c;
        }
    }
    const bool hex = n == 16 && strspn(digits, "0123456789abcdef") == 16;
    return hex ? strtoull(digits, NULL, 16) : sl_rank_hash(uid, strlen(uid));
}

TEST_FIXTURE(set_up_bounded, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, pods_of_one_submission_go_by_their_uids)
{
    static const char *const uids[] = {
        "ffffffff-0000-0000-0", "0000000f-0000-0000-0", "00000000-0000-0009-0",
        "00000000-0000-000a-0", "00000000-0000-0010-0", "00000000-0000-00f9-0",
        "00000000-0000-00a9-0", "9fffffff-ffff-ffff",   "a0000000-0000-0000",
        "00000000-0000-0001z",  "00000000-0000-000g-0", "00000000-0000-000/-0",
        "00000000-0000-000:-0", "00000000-0000-000`-0", "00000000-0000-000A-0",
        "00000000-0000-002",    "00000000-0000-0000-b", "00000000-0000-0000-a",
        "b8888888-8888-8888-8", "12345678-9abc-def0-1",
    };
    enum { UIDS = sizeof(uids) / sizeof(uids[0]) };
    bool gone[UIDS] = {false};
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 1000);
    for (size_t i = 0; i < UIDS; i++) {
        plan_rig_wait(rig, uids[i], 1, 100);
    }
    plan_rig_plan(rig);
    promise_has(rig, UIDS, 1);
    for (size_t left = UIDS; left > 0; left--) {
        size_t first = UIDS;
        for (size_t i = 0; i < UIDS; i++) {
            const bool less = first < UIDS && number_of(uids[i]) < number_of(uids[first]);
            const bool same = first < UIDS && number_of(uids[i]) == number_of(uids[first]) &&
                              strcmp(uids[i], uids[first]) < 0;
            first = !gone[i] && (first == UIDS || less || same) ? i : first;
        }
        const struct sl_plan_pod *due = sl_plan_bounded_due(rig->planner, lane_of(rig, GPU));
        assert_non_null(due);
        assert_string_equal(due->pod->uid, uids[first]);
        sl_planner_remove(rig->planner, sl_str_of(uids[first]), rig->now_us);
        gone[first] = true;
    }
    promise_has(rig, 0, 1);
}

/* ---- nodes ---- */

static void check_parts(const struct plan_rig *rig, const char *resource, const int64_t *units,
                        size_t n)
{
    const struct sl_promise *promise = sl_plan_bounded_promise(lane_of(rig, resource));
    int64_t sum = 0;
    assert_non_null(promise);
    const struct sl_bins *bins = &promise->mixed.fifo.bins;
    assert_int_equal(bins->n, n);
    for (size_t i = 0; i < n; i++) { /* ordered by node and units, and nodes by a hash */
        bool known = false;
        for (size_t k = 0; k < n; k++) {
            known = known || bins->bin[k].units == units[i];
        }
        assert_true(known);
        sum += units[i];
    }
    assert_int_equal(promise->capacity, sum);
}

TEST_ON(struct plan_rig *rig, a_node_has_the_parts_that_one_pod_can_have_together)
{
    plan_rig_share(plan_rig_node(rig, "n1", 3), 8);
    plan_rig_share(plan_rig_node(rig, "n2", 2), 8);
    rig->node[0].pool[0].capacity = 20; /* a device has but 4 units */
    plan_rig_wait(rig, "whole", 1, 100);
    plan_rig_put(rig, plan_rig_pod(rig, "shares", MEM, 3, 100));
    plan_rig_plan(rig);
    check_parts(rig, GPU, (const int64_t[]){3, 2}, 2);
    check_parts(rig, MEM, (const int64_t[]){8, 8, 4, 8, 8}, 5);
}

/* Replicas that a pod has one each of. */
TEST_THAT(a_node_of_too_many_parts_has_one)
{
    static const struct {
        int64_t units;
        size_t parts;
    } rows[] = {{63, 63}, {64, 64}, {65, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan_rig *rig = NULL;
        (void)set_up_bounded((void **)&rig);
        struct sl_pool *pool = plan_rig_node(rig, "n1", 1)->pool;
        pool->kind = SL_KIND_REPLICA;
        pool->capacity = rows[i].units;
        pool->replicas = (int32_t)rows[i].units;
        pool->one_each = true;
        plan_rig_wait(rig, "a", 1, 100);
        plan_rig_plan(rig);
        const struct sl_bins *bins = &sl_plan_bounded_promise(lane_of(rig, GPU))->mixed.fifo.bins;
        assert_int_equal(bins->n, rows[i].parts);
        plan_rig_free(rig);
    }
}

TEST_ON(struct plan_rig *rig, a_lane_without_a_promise_bears_any_drain)
{
    rig->config.order.kind = SL_ORDER_FIFO;
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    assert_true(sl_plan_bounded_spares(rig->planner, lane_of(rig, GPU)));
}

TEST_ON(struct plan_rig *rig, the_promise_learns_of_other_nodes)
{
    plan_rig_node(rig, "n1", 3);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    check_parts(rig, GPU, (const int64_t[]){3}, 1);
    plan_rig_node(rig, "n2", 2);
    plan_rig_plan(rig);
    check_parts(rig, GPU, (const int64_t[]){3, 2}, 2);
    rig->n_nodes = 1;
    plan_rig_plan(rig);
    check_parts(rig, GPU, (const int64_t[]){3}, 1);
    rig->n_nodes = 2;
}

/* ---- what runs and ends ---- */

TEST_ON(struct plan_rig *rig, a_nominated_pod_runs_for_the_promise_until_no_node_shows_it)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    promise_has(rig, 0, 1);
    plan_rig_bind(rig, "a");
    promise_has(rig, 0, 1);
    plan_rig_plan(rig);
    promise_has(rig, 0, 1);
    plan_rig_end(rig, "a");
    plan_rig_plan(rig);
    promise_has(rig, 0, 0);
}

TEST_ON(struct plan_rig *rig, a_nominated_pod_may_show_before_it_waits_no_more)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    struct plan_rig_pod *p = plan_rig_find(rig, "a");
    p->bound = sl_pod_bound_to(&p->pod, "n1", GPU "=0", SL_POD_RUNNING);
    plan_rig_plan(rig);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    plan_rig_plan(rig);
    promise_has(rig, 0, 1);
}

TEST_ON(struct plan_rig *rig, a_nominated_pod_that_goes_unseen_never_ran)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    promise_has(rig, 0, 1); /* until the cluster is told without it */
    rig->now_us += SECONDS(50);
    plan_rig_plan(rig);
    promise_has(rig, 0, 0);
    assert_int_equal(sl_promise_ratio_permille(sl_plan_bounded_promise(lane_of(rig, GPU))), 1000);
}

TEST_ON(struct plan_rig *rig, all_nominated_pods_that_go_unseen_never_ran)
{
    plan_rig_node(rig, "n1", 3);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_wait(rig, "b", 1, 100);
    plan_rig_wait(rig, "c", 1, 100);
    plan_rig_plan(rig);
    promise_has(rig, 0, 3);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    sl_planner_remove(rig->planner, SL_STR("b"), rig->now_us);
    sl_planner_remove(rig->planner, SL_STR("c"), rig->now_us);
    plan_rig_plan(rig);
    promise_has(rig, 0, 0);
}

/* No node can host it; so that others may go first, the promise does not count it. */
static struct plan_rig_pod *given_a_pod_set_aside(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 1)->node.host.cpu_milli = 1000;
    struct plan_rig_pod *p = plan_rig_pod(rig, "huge", GPU, 1, 100);
    p->constraints = (struct sl_constraints){.cpu_milli = 5000, .digest = 1};
    p->pod.constraints = &p->constraints;
    plan_rig_put(rig, p);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "a", 1, 5000);
    plan_rig_plan(rig);
    assert_int_equal(rig->planner->account.n_aside, 1);
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
    promise_has(rig, 0, 1);
    return p;
}

static void put_with_gate(struct plan_rig *rig, const struct plan_rig_pod *was, enum sl_gate gate)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, was->name, GPU, 1, 100);
    p->pod.created_us = was->pod.created_us;
    p->constraints = was->constraints;
    p->pod.constraints = &p->constraints;
    p->pod.gate = gate;
    plan_rig_put(rig, p);
}

TEST_ON(struct plan_rig *rig, a_pod_that_was_set_aside_counts_again_when_it_comes_again)
{
    const struct plan_rig_pod *huge = given_a_pod_set_aside(rig);
    put_with_gate(rig, huge, SL_GATE_OTHERS);
    assert_int_equal(rig->planner->account.n_aside, 0);
    put_with_gate(rig, huge, SL_GATE_OURS);
    plan_rig_run(rig, 1000);
    assert_int_equal(rig->planner->account.n_aside, 0);
    promise_has(rig, 1, 1);
}

TEST_ON(struct plan_rig *rig, a_pod_that_was_set_aside_comes_back_when_a_node_has_more_room)
{
    (void)given_a_pod_set_aside(rig);
    plan_rig_bind(rig, "a");
    plan_rig_plan(rig);
    plan_rig_end(rig, "a");
    plan_rig_plan(rig);
    assert_int_equal(rig->planner->account.n_aside, 0);
    promise_has(rig, 1, 0);
}

/* Nothing is promised to pods of a namespace whose releases the API server refuses. */
TEST_ON(struct plan_rig *rig, a_namespace_that_is_refused_does_not_wait_until_one_is_let_go)
{
    enum { UNTRIED = 2 };
    char name[PLAN_NAME];
    plan_rig_node(rig, "n1", 1);
    for (unsigned i = 0; i < SL_PLAN_REFUSALS_MAX + UNTRIED; i++) {
        (void)snprintf(name, sizeof(name), "p%02u", i);
        plan_rig_wait(rig, name, 1, 100);
        rig->now_us += 1;
    }
    plan_rig_cluster(rig);
    for (unsigned i = 0; i < SL_PLAN_REFUSALS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "p%02u", i);
        assert_non_null(strstr(plan_rig_run(rig, 1), name));
        promise_has(rig, SL_PLAN_REFUSALS_MAX + UNTRIED - 1 - i, 1);
        sl_planner_denied(rig->planner, sl_str_of(name), rig->now_us);
    }
    promise_has(rig, 0, 0);
    rig->now_us += SECONDS(10);
    char tried[PLAN_NAME] = "";
    assert_int_equal(sscanf(plan_rig_run(rig, 1), "%*s %23s on", tried), 1);
    sl_planner_released(rig->planner, sl_str_of(tried), rig->now_us);
    (void)plan_rig_run(rig, 1);
    assert_in_range(sl_promise_waiting(sl_plan_bounded_promise(lane_of(rig, GPU))), UNTRIED - 1,
                    UNTRIED);
}

TEST_ON(struct plan_rig *rig, a_nomination_that_ends_makes_its_pod_wait_again)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    sl_planner_failed(rig->planner, SL_STR("a"), rig->now_us);
    plan_rig_run(rig, 1000);
    promise_has(rig, 1, 0);
}

TEST_ON(struct plan_rig *rig, a_waiting_pod_that_others_started_runs_once_it_waits_no_more)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    struct plan_rig_pod *p = plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    promise_has(rig, 1, 1);
    plan_rig_end(rig, "x");
    p->bound = sl_pod_bound_to(&p->pod, "n1", NULL, SL_POD_RUNNING);
    plan_rig_cluster(rig);
    promise_has(rig, 1, 0);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    promise_has(rig, 0, 1);
    plan_rig_end(rig, "a");
    plan_rig_plan(rig);
    promise_has(rig, 0, 0);
}

/* The lane of a resource is kept for what it has learned, unless there are many. */
TEST_ON(struct plan_rig *rig, an_idle_lane_is_remembered)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 100);
    plan_rig_plan(rig);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    plan_rig_plan(rig);
    struct sl_plan_lane *lane = lane_of(rig, GPU);
    assert_false(sl_plan_bounded.forget(lane, false));
    plan_rig_wait(rig, "b", 1, 100);
    plan_rig_plan(rig);
    assert_false(sl_plan_bounded.forget(lane, true)); /* b runs */
    sl_planner_remove(rig->planner, SL_STR("b"), rig->now_us);
    plan_rig_plan(rig);
    assert_true(sl_plan_bounded.forget(lane, true));
}

TEST_ON(struct plan_rig *rig, pods_that_leave_before_the_run_are_not_told_of)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 1000);
    for (unsigned i = 0; i < 4; i++) {
        plan_rig_wait(rig, names[i], 1, 100);
    }
    sl_planner_remove(rig->planner, SL_STR("b"), rig->now_us);
    sl_planner_remove(rig->planner, SL_STR("d"), rig->now_us);
    plan_rig_plan(rig);
    promise_has(rig, 2, 1);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    sl_planner_remove(rig->planner, SL_STR("c"), rig->now_us);
    promise_has(rig, 0, 1);
}
