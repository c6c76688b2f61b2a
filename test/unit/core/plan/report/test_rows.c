/* The row of a waiting pod: what it tells, and for whom GPUs may be cut. */
#include "unit/core/plan/plan_rig.h"

#include "sliced/cut.h"

static void given_two_that_wait(struct plan_rig *rig)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_run_on(rig, "x", "n1", 1, 100);
    plan_rig_wait(rig, "first", 1, 50);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "second", 1, 50);
    (void)plan_rig_plan(rig);
}

static struct sl_queue_row row_of(struct plan_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    return row;
}

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_THAT(gpus_may_be_cut_for_a_pod_that_lacks_room_and_took_every_nomination)
{
    struct plan_rig *rig = *state;
    struct sl_cut_pod cut;
    given_two_that_wait(rig);
    struct sl_queue_row row = row_of(rig, "first");
    row.latest_start_us = 7;
    assert_true(sl_queue_wants_cut(&row, rig->now_us, &cut));
    assert_ptr_equal(cut.pod, row.pod);
    assert_int_equal(cut.timeout_us, SECONDS(50));
    assert_int_equal(cut.start_us, row.start_us);
    assert_int_equal(cut.latest_us, 7);
    row.expiries = 1;
    assert_false(sl_queue_wants_cut(&row, rig->now_us, &cut));
    row.expiries = 0;
    row.reason = SL_HOLD_BEHIND; /* it has room */
    assert_false(sl_queue_wants_cut(&row, rig->now_us, &cut));
    row.reason = SL_HOLD_CUT; /* it is being done */
    assert_false(sl_queue_wants_cut(&row, rig->now_us, &cut));
    row.reason = SL_HOLD_CONSTRAINT; /* nodes have room that are not for it */
    assert_true(sl_queue_wants_cut(&row, rig->now_us, &cut));
    row.reason = SL_HOLD_NO_ROOM;
    row.state = SL_QUEUE_RELEASED;
    assert_false(sl_queue_wants_cut(&row, rig->now_us, &cut));
}

/* It counts units, and these may be too small for the pod. */
TEST_ON(struct plan_rig *rig, an_estimate_that_is_due_counts_for_none)
{
    struct sl_cut_pod cut;
    given_two_that_wait(rig);
    struct sl_queue_row row = row_of(rig, "first");
    assert_int_equal(row.estimate, SL_ESTIMATE_RESERVED);
    assert_true(sl_queue_wants_cut(&row, row.start_us - 1, &cut));
    assert_int_equal(cut.start_us, row.start_us);
    assert_true(sl_queue_wants_cut(&row, row.start_us, &cut));
    assert_int_equal(cut.start_us, 0);
    row.estimate = SL_ESTIMATE_NONE;
    assert_true(sl_queue_wants_cut(&row, row.start_us - 1, &cut));
    assert_int_equal(cut.start_us, 0);
}

TEST_ON(struct plan_rig *rig, an_estimate_is_never_in_the_past)
{
    struct sl_error err = {0};
    given_two_that_wait(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_int_equal(row_of(rig, "second").start_us, SECONDS(1000000 + 150));
    rig->now_us += SECONDS(200); /* nobody has planned since */
    assert_int_equal(sl_planner_wake(rig->planner), SECONDS(1000000 + 100) + 1);
    struct sl_queue_row row;
    assert_true(sl_planner_row(rig->planner, SL_STR("second"), rig->now_us, &row));
    assert_int_equal(row.start_us, SECONDS(1000000 + 150));
    (void)plan_rig_run(rig, 9);
    assert_int_equal(row_of(rig, "first").start_us, rig->now_us + SECONDS(101)); /* as long late */
    assert_int_equal(row_of(rig, "second").start_us, rig->now_us);
}

TEST_ON(struct plan_rig *rig, an_estimate_is_forgotten_when_the_clock_is_put)
{
    struct sl_error err = {0};
    given_two_that_wait(rig);
    assert_int_equal(sl_planner_estimate(rig->planner, rig->now_us, &err), 0);
    assert_int_equal(row_of(rig, "second").estimate, SL_ESTIMATE_LAID_OUT);
    rig->now_us += SECONDS(3600);
    sl_planner_rebase(rig->planner, SECONDS(3600), rig->now_us);
    assert_int_equal(row_of(rig, "second").estimate, SL_ESTIMATE_NONE);
    assert_int_equal(row_of(rig, "second").start_us, 0);
}

TEST_ON(struct plan_rig *rig, only_a_pod_that_waits_in_line_has_others_ahead)
{
    given_two_that_wait(rig);
    plan_rig_node(rig, "n2", 1);
    assert_string_equal(plan_rig_plan(rig), "nomination first on n2: " GPU "=0\n");
    plan_rig_wait(rig, "third", 1, 50);
    (void)plan_rig_run(rig, 9);
    assert_int_equal(row_of(rig, "first").ahead, 0);
    assert_null(row_of(rig, "first").first);
    assert_int_equal(row_of(rig, "second").ahead, 0);
    assert_int_equal(row_of(rig, "third").ahead, 1);
    assert_string_equal(row_of(rig, "third").first->name, "second");
}

/* ---- cuts ---- */

TEST_ON(struct plan_rig *rig, the_last_word_on_a_cut_counts)
{
    char node[] = "n1";
    char text[] = "GPU 0 of n1 is being cut";
    given_two_that_wait(rig);
    plan_rig_wait(rig, "third", 2, 50);
    rig->node[0].pool[0].capacity = 2; /* so that it is not refused */
    (void)plan_rig_plan(rig);
    sl_planner_set_cut(rig->planner, SL_STR("first"), node, text, rig->now_us + SECONDS(9));
    memset(node, 'x', 2); /* the caller's texts are copied */
    memset(text, 'x', 9);
    struct sl_queue_row row = row_of(rig, "first");
    assert_int_equal(row.reason, SL_HOLD_CUT);
    assert_string_equal(row.cut_node, "n1");
    assert_int_equal(row.estimate, SL_ESTIMATE_LAID_OUT); /* earlier than what is reserved */
    assert_int_equal(row.start_us, rig->now_us + SECONDS(9));
    assert_string_equal(row.why, "GPU 0 of n1 is being cut");
    sl_planner_set_cut(rig->planner, SL_STR("first"), "n2", NULL, 0);
    assert_int_equal(row_of(rig, "first").reason, SL_HOLD_NO_ROOM);
    assert_null(row_of(rig, "first").why);
    assert_null(row_of(rig, "first").cut_node);
}

TEST_ON(struct plan_rig *rig, the_earlier_of_a_reservation_and_a_cut_is_estimated)
{
    given_two_that_wait(rig);
    struct sl_queue_row reserved = row_of(rig, "first");
    assert_int_equal(reserved.estimate, SL_ESTIMATE_RESERVED);
    assert_null(reserved.cut_node);
    for (int later = 0; later < 2; later++) {
        sl_planner_set_cut(rig->planner, SL_STR("first"), "n2", "a cut",
                           reserved.start_us + (later == 1 ? 1 : -1));
        struct sl_queue_row row = row_of(rig, "first");
        assert_string_equal(row.cut_node, "n2");
        assert_string_equal(row.node, later == 1 ? "n1" : "n2");
        assert_int_equal(row.start_us, reserved.start_us - (later == 1 ? 0 : 1));
    }
    sl_planner_set_cut(rig->planner, SL_STR("first"), "n2", "a cut", rig->now_us); /* overdue */
    assert_int_equal(row_of(rig, "first").estimate, SL_ESTIMATE_RESERVED);
}

TEST_ON(struct plan_rig *rig, a_cut_moves_with_the_clock)
{
    given_two_that_wait(rig);
    sl_planner_set_cut(rig->planner, SL_STR("second"), "n1", "a cut", rig->now_us + SECONDS(40));
    assert_int_equal(row_of(rig, "second").start_us, rig->now_us + SECONDS(40));
    rig->now_us -= SECONDS(3600);
    sl_planner_rebase(rig->planner, SECONDS(-3600), rig->now_us);
    assert_int_equal(row_of(rig, "second").start_us, rig->now_us + SECONDS(40));
}

/* ---- all rows ---- */

static void add_name(void *context, const struct sl_queue_row *row)
{
    plan_rig_log(context, "%s %u\n", row->pod->name, row->ahead);
}

TEST_ON(struct plan_rig *rig, no_more_rows_are_told_than_asked_for_and_all_are_counted)
{
    rig->log[0] = '\0';
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 9, add_name, rig), 0);
    given_two_that_wait(rig);
    rig->log[0] = '\0';
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 1, add_name, rig), 2);
    assert_string_equal(rig->log, "first 0\n");
    rig->log[0] = '\0';
    assert_int_equal(sl_planner_visit(rig->planner, rig->now_us, 2, add_name, rig), 2);
    assert_string_equal(rig->log, "first 0\nsecond 1\n");
}

TEST_ON(struct plan_rig *rig, the_oldest_of_those_that_are_not_refused_is_told)
{
    struct sl_plan_stats stats;
    sl_planner_stats(rig->planner, &stats);
    assert_int_equal(stats.oldest_us, 0);
    plan_rig_wait(rig, "huge", 7, 50);
    rig->now_us += SECONDS(1);
    given_two_that_wait(rig);
    assert_string_equal(plan_rig_state(rig, "huge"), "Refused Never");
    sl_planner_stats(rig->planner, &stats);
    assert_int_equal(stats.oldest_us, SECONDS(1000001));
}
