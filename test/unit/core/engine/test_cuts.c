/* Cuts from the pods that wait to their end, and how the nodes stand meanwhile. */
#include "engine_rig.h"

static void begin(struct engine_rig *rig)
{
    engine_begin(rig);
    rig->config.cutting.enabled = true;
    engine_configure(rig);
}

TEST_FIXTURE_OF(struct engine_rig, begin, engine_end)

#define MANAGER SL_ACTUATOR_MIG_MANAGER

/* The agent has done what was ordered; the node's mark goes. */
static void finish(struct engine_rig *rig, unsigned node)
{
    engine_made(rig, node);
    assert_non_null(strstr(engine_round(rig), " end\n"));
    engine_written(rig, node);
}

/* The agent says that it failed. */
static const char *break_off(struct engine_rig *rig, unsigned node)
{
    rig->node[node].state = "failed";
    rig->node[node].absent = false;
    engine_show(rig, node);
    assert_non_null(strstr(engine_round(rig), " end\n"));
    engine_written(rig, node);
    return engine_round(rig);
}

static void come(struct engine_rig *rig, const char *names, unsigned n, const char *asks)
{
    for (unsigned i = 0; i < n; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%s%u", names, i);
        engine_wait(rig, name, asks);
    }
}

/* "Cutting|cut|pods|text|why" */
static const char *told(struct engine_rig *rig, unsigned node)
{
    static char text[2000];
    struct sl_partition_status status = engine_status(rig, node);
    (void)snprintf(text, sizeof(text), "%s|%s|%s|%s|%s", sl_partition_phase_name(status.phase),
                   status.cut, status.pods, status.text, status.why);
    return text;
}

static struct sl_queue_row row_of(struct engine_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(sl_planner_row(sl_engine_planner(rig->engine), sl_str_of(name), rig->now_us, &row));
    return row;
}

TEST_ON(struct engine_rig *rig, gpus_are_cut_for_the_pods_that_wait_for_them)
{
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    come(rig, "p", 5, "mig-1g.5gb=2");
    assert_string_equal(engine_round(rig),
                        "begin n0: GPU 0 into 7x 1g.5gb; GPU 1 into 7x 1g.5gb for default/p0, "
                        "default/p1, default/p2 and 2 more\n"
                        "write n0 order\n");
    assert_int_equal(rig->cuts, 1);
    assert_string_equal(told(rig, 0), "Cutting|GPU 0 into 7x 1g.5gb; GPU 1 into 7x 1g.5gb|"
                                      "default/p0, default/p1, default/p2 and 2 more|"
                                      "its GPUs are being cut|being ordered");
    struct sl_partition_status status = engine_status(rig, 0);
    assert_int_equal(status.since_us, rig->now_us);
    assert_int_equal(status.until_us, rig->now_us + SL_MINUTE_US);
    assert_int_equal(status.bar, SL_CUT_BAR_CUTTING);
    for (unsigned i = 0; i < 5; i++) {
        const char name[] = {'p', (char)('0' + i), '\0'};
        assert_string_equal(engine_state(rig, name), "Held Cut");
        assert_string_equal(row_of(rig, name).cut_node, "n0");
        assert_string_equal(row_of(rig, name).why, "GPUs of n0 are being cut for it: GPU 0 into "
                                                   "7x 1g.5gb; GPU 1 into 7x 1g.5gb");
    }
    engine_ordered(rig, 0);
    assert_int_equal(engine_status(rig, 0).since_us, status.since_us);
    rig->now_us += 30 * SL_SECOND_US;
    finish(rig, 0);
    assert_string_equal(told(rig, 0), "Cutting|GPU 0 into 7x 1g.5gb; GPU 1 into 7x 1g.5gb|"
                                      "default/p0, default/p1, default/p2 and 2 more|"
                                      "its GPUs are being cut|ending");
    const char *ended = engine_round(rig);
    static const char first[] =
        "end n0 Done GPU 0 into 7x 1g.5gb; GPU 1 into 7x 1g.5gb after 30 s\n"
        "nominate p0 n0 nvidia.com/mig-1g.5gb=0/0,0/1\n";
    assert_memory_equal(ended, first, strlen(first));
    assert_int_equal(sl_engine_outstanding(rig->engine), 5);
    assert_string_equal(told(rig, 0), "Idle|||pods on it have not started yet|Starting");
    assert_int_equal(engine_status(rig, 0).seconds_us, 30 * SL_SECOND_US);
    assert_int_equal(engine_status(rig, 0).since_us, 0);
    assert_int_equal(engine_status(rig, 0).until_us, 0);
}

TEST_ON(struct engine_rig *rig, one_gpu_is_told_by_itself)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=2");
    (void)engine_round(rig);
    assert_string_equal(row_of(rig, "a").why,
                        "GPU 1 of n0 is being cut into 4x 1g.5gb + 1x 3g.20gb for it");
    assert_int_equal(row_of(rig, "a").start_us, rig->now_us + SL_MINUTE_US);
}

/* Nobody knows how long it takes, but longer than that. */
TEST_ON(struct engine_rig *rig, a_cut_that_is_late_has_no_expected_end)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=2");
    (void)engine_round(rig);
    engine_ordered(rig, 0);
    (void)engine_later(rig, SL_MINUTE_US - 1);
    assert_int_equal(engine_status(rig, 0).until_us, rig->now_us + 1);
    (void)engine_later(rig, 1);
    assert_int_equal(engine_status(rig, 0).until_us, 0);
    assert_string_equal(engine_status(rig, 0).text,
                        "its GPUs are being cut, which takes longer than expected");
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    (void)engine_later(rig, SL_MINUTE_US - 1);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 1);
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    (void)engine_later(rig, 1); /* after twice that time it may be stuck */
    assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
    assert_null(strstr(engine_later(rig, SL_SECOND_US), "begin")); /* the node is withheld still */
}

TEST_ON(struct engine_rig *rig, pods_that_come_during_a_cut_join_it)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=2");
    (void)engine_round(rig);
    engine_ordered(rig, 0);
    engine_wait(rig, "b", "mig-1g.5gb=2");
    engine_wait(rig, "c", "mig-1g.5gb=1");
    (void)engine_later(rig, SL_SECOND_US);
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    assert_string_equal(engine_state(rig, "b"), "Held Cut");
    assert_string_equal(engine_state(rig, "c"), "Held NoRoom"); /* four are in use then */
    rig->node[0].away = true;
    (void)engine_round(rig);
    assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
    assert_string_equal(engine_state(rig, "b"), "Held NoRoom");
}

TEST_ON(struct engine_rig *rig, no_more_nodes_are_cut_at_once_than_may_be)
{
    for (unsigned i = 0; i < 3; i++) {
        (void)engine_node(rig, MANAGER, LARGE, LARGE);
    }
    come(rig, "p", 3, "mig-1g.5gb=14");
    engine_round(rig);
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_CUTTING);
    assert_int_equal(engine_status(rig, 1).phase, SL_PHASE_CUTTING);
    assert_string_equal(
        told(rig, 2),
        "Idle|||as many nodes are being cut as partitioning.maxNodes allows|MaxNodes");
    assert_int_equal(engine_status(rig, 2).bar, SL_CUT_BAR_MAX_NODES);
    rig->node[0].away = true; /* its cut is given up with it */
    assert_non_null(strstr(engine_later(rig, SL_SECOND_US), "end n0 Gone"));
    assert_int_equal(engine_status(rig, 2).phase, SL_PHASE_CUTTING);
}

/* ---- waiting for more pods ---- */

TEST_ON(struct engine_rig *rig, a_cut_waits_for_more_pods_and_its_pods_are_told)
{
    rig->config.cutting.batch_us = 10 * SL_SECOND_US;
    engine_configure(rig);
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 2 * SL_SECOND_US);
    assert_string_equal(told(rig, 0),
                        "Idle|GPU 1 into 4x 1g.5gb + 1x 3g.20gb|default/a|a cut of it is planned, "
                        "and waits for more pods|Planned");
    assert_string_equal(row_of(rig, "a").why,
                        "GPU 1 of n0 is to be cut into 4x 1g.5gb + 1x 3g.20gb for it");
    assert_int_equal(row_of(rig, "a").start_us, rig->now_us + 62 * SL_SECOND_US);
    engine_wait(rig, "b", "mig-1g.5gb=1");
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    assert_string_equal(engine_state(rig, "b"), "Held Cut");
    engine_gone(rig, "a");
    engine_gone(rig, "b");
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    assert_string_equal(told(rig, 0), "Idle||||");
    engine_wait(rig, "c", "mig-1g.5gb=1");
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    assert_string_equal(engine_later(rig, 2 * SL_SECOND_US - 1), "");
    assert_string_equal(engine_later(rig, 1),
                        "begin n0: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/c\n"
                        "write n0 order\n");
    assert_string_equal(row_of(rig, "c").why,
                        "GPU 1 of n0 is being cut into 4x 1g.5gb + 1x 3g.20gb for it");
}

TEST_ON(struct engine_rig *rig, a_plan_that_is_not_carried_out_leaves_pods_as_they_were)
{
    rig->config.cutting.batch_us = 10 * SL_SECOND_US;
    engine_configure(rig);
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    (void)engine_round(rig);
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    rig->node[0].config[0] = 'x'; /* the agent works for somebody else */
    rig->node[0].state = "pending";
    engine_show(rig, 0);
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
    assert_string_equal(engine_status(rig, 0).why, "AtWork");
}

/* ---- refusals and failures ---- */

TEST_ON(struct engine_rig *rig, a_node_whose_cut_is_refused_is_left_out_for_a_moment)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    rig->refuses_cuts = true;
    engine_wait(rig, "a", "mig-1g.5gb=1");
    assert_string_equal(engine_round(rig),
                        "begin n0: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/a (refused)\n");
    assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_IDLE);
    assert_string_equal(engine_round(rig),
                        "begin n1: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/a (refused)\n");
    assert_string_equal(engine_later(rig, 4 * SL_SECOND_US - 1), "");
    assert_true(sl_engine_wake(rig->engine) <= rig->now_us + 5 * SL_SECOND_US);
    rig->refuses_cuts = false;
    assert_string_equal(
        engine_later(rig, 1),
        "begin n0: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/a\nwrite n0 order\n");
}

TEST_ON(struct engine_rig *rig, after_each_failure_a_node_is_left_out_for_twice_as_long)
{
    static const int64_t minutes[] = {1, 2, 4, 8, 8};
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    for (unsigned i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
        assert_non_null(strstr(engine_round(rig), "begin n0"));
        sl_engine_wrote(rig->engine, "n0", rig->write, SL_CUT_WRITE_REFUSED, NULL, rig->now_us);
        assert_non_null(strstr(engine_round(rig), "end n0 Refused"));
        struct sl_partition_status status = engine_status(rig, 0);
        assert_int_equal(status.phase, SL_PHASE_OUT);
        assert_int_equal(status.failures, i + 1);
        assert_int_equal(status.bar, SL_CUT_BAR_LEFT_OUT);
        assert_int_equal(status.until_us, rig->now_us + minutes[i] * SL_MINUTE_US);
        assert_string_equal(status.why, "Refused");
        assert_string_equal(status.pods, "default/a");
        assert_string_equal(status.cut, "GPU 0 into 7x 1g.5gb");
        assert_non_null(strstr(status.text, "its last cut ended (Refused), and it is left out "));
        assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
        assert_string_equal(engine_later(rig, minutes[i] * SL_MINUTE_US - 1), "");
        rig->now_us++;
    }
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_IDLE);
    engine_gone(rig, "a");
    /* a day after that the failures are forgotten, once the node is gone, too */
    rig->node[0].away = true;
    (void)engine_later(rig, SL_DAY_US - 1);
    assert_int_equal(engine_status(rig, 0).failures, 5);
    (void)engine_later(rig, 1);
    assert_int_equal(engine_status(rig, 0).failures, 0);
}

TEST_ON(struct engine_rig *rig, what_failed_twice_is_not_tried_again_for_a_while)
{
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    rig->config.cutting.max_backoff_us = SL_MINUTE_US;
    engine_configure(rig);
    engine_wait(rig, "a", "mig-1g.5gb=14");
    for (unsigned i = 0; i < 2; i++) {
        assert_non_null(strstr(engine_later(rig, SL_MINUTE_US), "begin n0"));
        engine_ordered(rig, 0);
        (void)break_off(rig, 0);
    }
    assert_string_equal(engine_later(rig, SL_MINUTE_US), "");
    assert_string_equal(told(rig, 0),
                        "Idle|||a cut of it failed there, and the same one is not tried again yet"
                        "|FailedBefore");
    assert_string_equal(engine_later(rig, SL_MINUTE_US - 1), "");
    assert_non_null(strstr(engine_later(rig, 5 * SL_SECOND_US), "begin n0"));
}

TEST_ON(struct engine_rig *rig, an_order_that_cannot_be_written_now_is_written_later)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    rig->refuses_writes = true;
    engine_wait(rig, "a", "mig-1g.5gb=1");
    assert_string_equal(engine_round(rig),
                        "begin n0: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/a\n"
                        "write n0 order (not now)\n");
    assert_string_equal(engine_round(rig), "");
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_true(wake_us > rig->now_us && wake_us < rig->now_us + SL_MINUTE_US);
    rig->refuses_writes = false;
    rig->now_us = wake_us;
    assert_string_equal(engine_round(rig), "write n0 order\n");
    assert_string_equal(engine_later(rig, SL_MINUTE_US - 1), ""); /* its end is waited for */
}

TEST_ON(struct engine_rig *rig, a_refused_order_ends_the_cut_with_what_was_said)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    (void)engine_round(rig);
    sl_engine_wrote(rig->engine, "n0", rig->write + 1, SL_CUT_WRITE_REFUSED, NULL, rig->now_us);
    sl_engine_wrote(rig->engine, "n9", rig->write, SL_CUT_WRITE_REFUSED, "no", rig->now_us);
    assert_string_equal(engine_round(rig), ""); /* of another write */
    sl_engine_wrote(rig->engine, "n0", rig->write, SL_CUT_WRITE_REFUSED, "forbidden", rig->now_us);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us);
    assert_string_equal(engine_later(rig, 3 * SL_SECOND_US),
                        "end n0 Refused GPU 1 into 4x 1g.5gb + 1x 3g.20gb: forbidden after 3 s\n");
    assert_string_equal(engine_status(rig, 0).why, "Refused");
    assert_string_equal(
        engine_later(rig, SL_MINUTE_US),
        "begin n0: GPU 1 into 4x 1g.5gb + 1x 3g.20gb for default/a\nwrite n0 order\n");
    engine_ordered(rig, 0);
    finish(rig, 0);
    const char *ended = engine_round(rig); /* the trouble was that of the first run */
    assert_non_null(strstr(ended, "end n0 Done GPU 1 into 4x 1g.5gb + 1x 3g.20gb after 0 s\n"));
}

/* ---- nodes that come and go ---- */

TEST_ON(struct engine_rig *rig, a_node_made_anew_is_not_ordered_what_the_old_one_was)
{
    engine_node(rig, MANAGER, LARGE, HALF)->uid = "first";
    engine_show(rig, 0);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    (void)engine_round(rig);
    rig->node[0].uid = "second";
    engine_show(rig, 0);
    const char *round = engine_later(rig, SL_SECOND_US);
    assert_non_null(strstr(round, "end n0 Gone GPU 1 into 4x 1g.5gb + 1x 3g.20gb after 1 s\n"));
    assert_null(strstr(round, "write n0 end"));
}

/* "sliced.dev/cut" tells of a cut that an earlier process has begun. */
TEST_ON(struct engine_rig *rig, a_cut_that_another_process_began_is_seen_through)
{
    struct engine_node *n = engine_node(rig, MANAGER, LARGE, LARGE);
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    (void)snprintf(n->cut, sizeof(n->cut), "sliced-1234-1");
    (void)snprintf(n->config, sizeof(n->config), "sliced-1234-1");
    n->state = "pending";
    n->cut_text = "GPU 0 into 7x 1g.5gb";
    n->absent = true;
    engine_show(rig, 0);
    engine_wait(rig, "a", "mig-1g.5gb=7");
    assert_string_equal(engine_round(rig), "hold n0\n");
    assert_string_equal(told(rig, 0), "Cutting|GPU 0 into 7x 1g.5gb||its GPUs are being cut"
                                      "|pending");
    assert_int_equal(engine_status(rig, 0).until_us, rig->now_us + SL_MINUTE_US);
    assert_string_equal(engine_state(rig, "a"), "Held Cut"); /* it waits for that */
    come(rig, "p", 2, "mig-1g.5gb=14");
    const char *others = engine_later(rig, SL_SECOND_US); /* it is not one of those that may be */
    assert_non_null(strstr(others, "begin n1"));
    assert_non_null(strstr(others, "begin n2"));
    n->gpu[0] = SMALL;
    n->absent = false;
    n->state = "success";
    engine_show(rig, 0);
    (void)engine_later(rig, SL_SECOND_US); /* are these all? */
    assert_non_null(strstr(engine_later(rig, 20 * SL_SECOND_US), "write n0 end\n"));
    n->cut[0] = '\0';
    engine_show(rig, 0);
    sl_engine_wrote(rig->engine, "n0", rig->write, SL_CUT_WRITTEN, NULL, rig->now_us);
    const char *ended = engine_round(rig);
    assert_non_null(strstr(ended, "end n0 Done GPU 0 into 7x 1g.5gb after 22 s\n"));
    assert_non_null(strstr(ended, "nominate a n0"));
    assert_int_equal(engine_status(rig, 0).seconds_us, 0); /* nobody knows when it began */
}

/* The watch may show the mark for a while after it was taken off. */
TEST_ON(struct engine_rig *rig, a_mark_of_the_own_cut_begins_no_other)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    (void)engine_round(rig);
    engine_ordered(rig, 0);
    engine_made(rig, 0);
    (void)engine_round(rig);
    sl_engine_wrote(rig->engine, "n0", rig->write, SL_CUT_WRITTEN, NULL, rig->now_us);
    assert_non_null(strstr(engine_later(rig, SL_MINUTE_US), "end n0 Done"));
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    char mark[SL_CUT_NAME_MAX];
    (void)snprintf(mark, sizeof(mark), "%s", rig->node[0].cut);
    rig->node[0].cut[0] = '\0';
    engine_show(rig, 0);
    (void)engine_later(rig, SL_SECOND_US);
    (void)snprintf(rig->node[0].cut, sizeof(rig->node[0].cut), "%s", mark); /* it is back */
    engine_show(rig, 0);
    assert_non_null(strstr(engine_later(rig, SL_SECOND_US), "hold n0\n"));
}

/* ---- what is learned ---- */

TEST_ON(struct engine_rig *rig, a_node_is_expected_to_take_as_long_as_it_did_or_others_did)
{
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    (void)engine_node(rig, SL_ACTUATOR_NOS_MIG, "7g.40gb", "7g.40gb*");
    engine_wait(rig, "a", "mig-1g.5gb=7");
    rig->node[1].away = true;
    rig->node[2].away = true;
    (void)engine_round(rig);
    engine_ordered(rig, 0);
    rig->now_us += 40 * SL_SECOND_US;
    finish(rig, 0);
    (void)engine_round(rig);
    rig->node[0].away = true;
    rig->node[1].away = false;
    engine_wait(rig, "b", "mig-1g.5gb=7");
    (void)engine_round(rig);
    assert_int_equal(engine_status(rig, 1).until_us, rig->now_us + 40 * SL_SECOND_US);
    rig->node[1].away = true; /* of another agent nothing is learned by that */
    rig->node[2].away = false;
    assert_non_null(strstr(engine_round(rig), "begin n2"));
    assert_int_equal(engine_status(rig, 2).until_us, rig->now_us + 10 * SL_SECOND_US);
}

static const struct learned {
    const char *name;
    int64_t took_s;
    int64_t stuck_s; /* after so long pods wait for the next no longer */
} learned[] = {{"short", 40, 100}, {"long", 180, 360}};

TEST_ON_EACH(struct engine_rig *rig, a_cut_is_stuck_by_how_long_cuts_take, learned)
{
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    for (unsigned i = 0; i < 2; i++) {
        engine_wait(rig, "a", i == 0 ? "mig-1g.5gb=14" : "mig-7g.40gb=1");
        assert_non_null(strstr(engine_round(rig), "begin n0"));
        engine_ordered(rig, 0);
        if (i == 0) {
            rig->now_us += row->took_s * SL_SECOND_US;
            finish(rig, 0);
            engine_gone(rig, "a");
            (void)engine_round(rig);
        }
    }
    (void)engine_later(rig, row->stuck_s * SL_SECOND_US - 1);
    assert_string_equal(engine_state(rig, "a"), "Held Cut");
    (void)engine_later(rig, 1);
    assert_string_equal(engine_state(rig, "a"), "Held NoRoom");
}

/* ---- when ---- */

TEST_ON(struct engine_rig *rig, no_cut_is_planned_while_the_engine_rests_or_the_views_are_old)
{
    struct sl_error err;
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, NULL);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    sl_engine_rest(rig->engine, rig->now_us + 10 * SL_SECOND_US);
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(rig->cuts, 0);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 10 * SL_SECOND_US);
    assert_string_equal(engine_later(rig, 10 * SL_SECOND_US - 1), "");
    rig->now_us++;
    engine_wait(rig, "b", "gpu=1");
    engine_cluster(rig);
    assert_int_equal(sl_engine_plan(rig->engine, rig->now_us, engine_act, rig, &err), 0);
    rig->len = 0;
    rig->log[0] = '\0';
    assert_int_equal(sl_engine_cut(rig->engine, rig->now_us, engine_act, rig, &err), 0);
    assert_string_equal(rig->log, "");
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us); /* at once, with other views */
    assert_non_null(strstr(engine_round(rig), "begin n0"));
}

TEST_ON(struct engine_rig *rig, switched_off_nothing_is_cut)
{
    (void)engine_node(rig, MANAGER, LARGE, LARGE);
    (void)snprintf(rig->node[0].cut, sizeof(rig->node[0].cut), "sliced-1234-1");
    engine_show(rig, 0);
    rig->config.cutting.enabled = false;
    engine_configure(rig);
    engine_wait(rig, "a", "mig-1g.5gb=1");
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(rig->cuts, 0);
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_IDLE);
    rig->config.plan.hold_us = 0; /* a configuration that is wrong changes nothing */
    rig->config.cutting.enabled = true;
    struct sl_error err;
    assert_int_equal(sl_engine_configure(rig->engine, &rig->config, &err), -1);
    assert_string_equal(engine_round(rig), "");
}

TEST_ON(struct engine_rig *rig, a_cut_lasts_as_long_when_the_clock_is_put)
{
    static const int64_t by_us = -SL_DAY_US;
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    (void)engine_node(rig, MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-1g.5gb=7");
    (void)engine_round(rig);
    engine_ordered(rig, 0);
    (void)break_off(rig, 0);
    (void)engine_later(rig, SL_SECOND_US); /* another node serves it */
    struct sl_partition_status out = engine_status(rig, 0);
    struct sl_partition_status cutting = engine_status(rig, 1);
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_int_equal(out.phase, SL_PHASE_OUT);
    assert_int_equal(cutting.phase, SL_PHASE_CUTTING);
    rig->now_us += by_us;
    sl_engine_rebase(rig->engine, by_us, rig->now_us);
    assert_int_equal(engine_status(rig, 0).until_us, out.until_us + by_us);
    assert_int_equal(engine_status(rig, 1).since_us, cutting.since_us + by_us);
    assert_int_equal(engine_status(rig, 1).until_us, cutting.until_us + by_us);
    assert_int_equal(sl_engine_wake(rig->engine), wake_us + by_us);
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(sl_engine_wake(rig->engine), wake_us + by_us);
}
