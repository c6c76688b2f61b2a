/* While kube-scheduler is not there, nobody is blamed for not taking a nomination; who is seen by
 * it and does not come is. */
#include "plan_rig.h"

enum { HOLD = 60, LONG = 5 * HOLD, MOST = SL_PLAN_SILENT_HOLDS * HOLD };

static void put(struct plan_rig *rig, const char *name, enum sl_gate gate, bool tried)
{
    struct plan_rig_pod *p = plan_rig_pod(rig, name, GPU, 1, 100);
    p->pod.created_us = SECONDS(1000000);
    p->pod.gate = gate;
    p->pod.tried = tried;
    plan_rig_put(rig, p);
}

static void heard(struct plan_rig *rig, const char *uid)
{
    sl_planner_heard(rig->planner, sl_str_of(uid), rig->now_us);
}

/* One GPU; a has the nomination and its gate is open, b waits behind. */
static void given_a_nomination(struct plan_rig *rig)
{
    heard(rig, "");
    plan_rig_node(rig, "n1", 1);
    put(rig, "a", SL_GATE_OURS, false);
    put(rig, "b", SL_GATE_OURS, false);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
    put(rig, "a", SL_GATE_NONE, false);
}

static const char *later(struct plan_rig *rig, int64_t seconds)
{
    rig->now_us += SECONDS(seconds);
    return plan_rig_run(rig, 1000);
}

static const char expire[] = "expire a on n1: Expired\nnomination b on n1: nvidia.com/gpu=0\n";

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, a_nomination_is_held_while_nothing_is_heard)
{
    given_a_nomination(rig);
    assert_string_equal(later(rig, HOLD), "");
    assert_string_equal(later(rig, LONG), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
}

TEST_ON(struct plan_rig *rig, the_hold_begins_anew_with_the_first_word)
{
    struct sl_queue_row row;
    given_a_nomination(rig);
    assert_string_equal(later(rig, LONG), "");
    heard(rig, "other");
    assert_string_equal(later(rig, HOLD / 3), "");
    heard(rig, "a"); /* and now it has been seen */
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(HOLD - HOLD / 3));
    assert_string_equal(later(rig, HOLD - HOLD / 3 - 1), "");
    assert_string_equal(later(rig, 1), expire);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_int_equal(row.expiries, 1);
}

/* It looked at another pod and could not place it: it is there. */
TEST_ON(struct plan_rig *rig, a_pod_that_becomes_marked_as_unschedulable_is_a_sign_of_life)
{
    given_a_nomination(rig);
    assert_string_equal(later(rig, LONG), "");
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us), SECONDS(1000000));
    put(rig, "b", SL_GATE_OURS, true);
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us), 0);
    assert_string_equal(later(rig, HOLD / 2), "");
    int64_t silent_us = sl_planner_silent(rig->planner, rig->now_us);
    put(rig, "b", SL_GATE_OURS, true); /* told once more: that is no news */
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us), silent_us);
}

TEST_ON(struct plan_rig *rig, who_has_been_asked_about_expires_in_time_however_quiet_it_is)
{
    given_a_nomination(rig);
    rig->now_us += SECONDS(1);
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD - 2), "");
    assert_string_equal(later(rig, 1), expire);
}

/* It may have crashed in the middle: others go first, and nothing is held against the pod. */
TEST_ON(struct plan_rig *rig, who_was_asked_about_last_before_a_silence_is_excused_once)
{
    given_a_nomination(rig);
    rig->now_us += SECONDS(1);
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD - 1), expire);
    heard(rig, "b");
    heard(rig, "");
    plan_rig_bind(rig, "b");
    plan_rig_end(rig, "b");
    plan_rig_cluster(rig);
    assert_string_equal(later(rig, HOLD), "nomination a on n1: nvidia.com/gpu=0\n");
    put(rig, "c", SL_GATE_OURS, false);
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD),
                        "expire a on n1: Expired\nnomination c on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Held Expired");
    plan_rig_bind(rig, "c");
    plan_rig_end(rig, "c");
    plan_rig_cluster(rig);
    assert_string_equal(later(rig, HOLD), "nomination a on n1: nvidia.com/gpu=0\n");
    heard(rig, "a");
    heard(rig, "x");
    assert_string_equal(later(rig, HOLD), "expire a on n1: Expired\n");
    assert_string_equal(later(rig, HOLD), ""); /* longer now */
}

TEST_ON(struct plan_rig *rig, who_was_asked_about_and_left_lying_is_not_excused)
{
    given_a_nomination(rig);
    heard(rig, "a");
    rig->now_us += SECONDS(2);
    heard(rig, "other"); /* it went on */
    assert_string_equal(later(rig, HOLD - 2), expire);
    plan_rig_bind(rig, "b");
    plan_rig_end(rig, "b");
    plan_rig_cluster(rig);
    assert_string_equal(later(rig, HOLD), "nomination a on n1: nvidia.com/gpu=0\n");
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD), "expire a on n1: Expired\n");
    assert_string_equal(later(rig, HOLD), "");
    assert_string_equal(later(rig, HOLD), "nomination a on n1: nvidia.com/gpu=0\n");
}

/* b, whose gate is open, is not asked about: so kube-scheduler is not there. */
TEST_ON(struct plan_rig *rig, who_was_asked_about_last_is_held_where_others_show_that_it_is_away)
{
    heard(rig, "");
    plan_rig_node(rig, "n1", 2);
    put(rig, "a", SL_GATE_NONE, false);
    put(rig, "b", SL_GATE_NONE, false);
    (void)plan_rig_plan(rig);
    rig->now_us += SECONDS(1);
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD), "");
    assert_string_equal(later(rig, LONG), "");
    assert_true(sl_planner_wake(rig->planner) > rig->now_us);
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
    heard(rig, "b"); /* it is back */
    assert_string_equal(later(rig, HOLD - 1), "");
    heard(rig, "a");
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
}

TEST_ON(struct plan_rig *rig, who_cannot_be_placed_by_its_condition_expires_in_time)
{
    given_a_nomination(rig);
    rig->now_us += SECONDS(1);
    put(rig, "a", SL_GATE_NONE, true);
    assert_string_equal(later(rig, HOLD - 2), "");
    assert_string_equal(later(rig, 1), expire);
}

TEST_ON(struct plan_rig *rig, who_is_passed_over_while_others_are_asked_about_expires_in_time)
{
    given_a_nomination(rig);
    for (int i = 0; i < HOLD - 1; i++) {
        assert_string_equal(later(rig, 1), "");
        heard(rig, "other");
    }
    assert_string_equal(later(rig, 1), expire);
}

TEST_ON(struct plan_rig *rig, a_silence_that_begins_after_the_nomination_counts_too)
{
    given_a_nomination(rig);
    assert_string_equal(later(rig, 1), "");
    heard(rig, "other"); /* its last word */
    assert_string_equal(later(rig, LONG), "");
    heard(rig, "other");
    assert_string_equal(later(rig, HOLD / 2 + 1), "");
    heard(rig, "other");
    assert_string_equal(later(rig, HOLD - 1), "");
}

TEST_ON(struct plan_rig *rig, a_gate_that_is_shut_is_not_kube_schedulers_silence)
{
    given_a_nomination(rig);
    put(rig, "a", SL_GATE_OURS, false);
    assert_string_equal(later(rig, HOLD), expire);
}

TEST_ON(struct plan_rig *rig, who_expired_before_expires_in_time)
{
    given_a_nomination(rig);
    heard(rig, "a");
    assert_string_equal(later(rig, HOLD), expire);
    plan_rig_bind(rig, "b");
    plan_rig_end(rig, "b");
    assert_string_equal(later(rig, HOLD), "nomination a on n1: nvidia.com/gpu=0\n");
    assert_string_equal(later(rig, HOLD), "expire a on n1: Expired\n");
}

TEST_ON(struct plan_rig *rig, nothing_is_held_for_ever)
{
    given_a_nomination(rig);
    assert_string_equal(later(rig, MOST - 1), "");
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(1));
    assert_string_equal(later(rig, 1), expire);
}

TEST_ON(struct plan_rig *rig, where_nobody_tells_nominations_expire_in_time)
{
    plan_rig_node(rig, "n1", 1);
    put(rig, "a", SL_GATE_NONE, false);
    put(rig, "b", SL_GATE_NONE, false);
    (void)plan_rig_plan(rig);
    assert_string_equal(later(rig, HOLD), expire);
}

TEST_ON(struct plan_rig *rig, a_silence_is_told)
{
    struct sl_queue_row row;
    char text[SL_PLAN_TEXT_MAX];
    int64_t begin_us = rig->now_us;
    given_a_nomination(rig);
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us), 0);
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(HOLD / 2));
    (void)later(rig, 75);
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us), begin_us);
    assert_true(plan_rig_row(rig, "a", &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "its turn has come: node n1; kube-scheduler has not been heard from "
                              "for 1m15s");
    heard(rig, "a");
    assert_int_equal(sl_planner_silent(rig->planner, rig->now_us + SECONDS(40)), 0);
    assert_true(plan_rig_row(rig, "a", &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "its turn has come: node n1");
}
