/* A cut under way that a new leader takes over, a newcomer stops, or somebody else overrules. */
#include "run_rig.h"

TEST_FIXTURE_OF(struct scene, begin, end)

/* The watch shows it before the order is written, or written again. */
TEST_ALONE(what_somebody_else_told_the_agent_meanwhile_stands)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    show(&scene, MIG(LARGE, "1", "by-hand", "success", NULL));
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_int_equal(scene.run.outcome, SL_CUT_LEFT);
    sl_node_unref(scene.node);
    begin(&scene); /* what an earlier attempt told it is ours */
    char first[SL_CUT_NAME_MAX];
    (void)snprintf(first, sizeof(first), "%s", scene.run.name);
    show(&scene, MIG(LARGE, "1", first, "failed", first));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_ORDER);
    assert_string_not_equal(scene.run.name, first);
    sl_node_unref(scene.node);
}

TEST_ALONE(a_plan_of_somebody_else_ends_the_run_at_nos_too)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    show(&scene, NOS(LARGE, "1", scene.run.name, "by-hand", NULL));
    assert_int_equal(later(&scene, 9 * SECOND), SL_CUT_WAIT); /* the watch may be late */
    assert_int_equal(scene.run.wake_us, scene.now_us + SECOND);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

TEST_ON(struct scene *scene, a_label_of_somebody_else_ends_the_run)
{
    show(scene, MIG(LARGE, "1", "all-balanced", "pending", scene->run.name));
    assert_int_equal(later(scene, 9 * SECOND), SL_CUT_WAIT); /* the watch may be late */
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_LEFT);
}

/* The label is not set before the file is there: the first one finds its entry. */
TEST_ON(struct scene *scene, the_file_has_its_time_before_the_mig_manager_is_told)
{
    assert_int_equal(scene->run.attempt, 1);
    assert_int_equal(scene->now_us, scene->run.begun_us + rules.file_us);
    show(scene, MIG(LARGE, "1", "all-7g.80gb", "success", "sliced-5c3d-0"));
    assert_true(
        sl_cut_run_resume(&scene->run, scene->node, scene->now_us)); /* a restart before it */
    assert_int_equal(step(scene), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_LEFT);
}

/* Another scheduler's pod came while the mig-manager was away. */
TEST_ON(struct scene *scene, an_order_that_was_not_begun_is_taken_back_from_a_newcomer)
{
    char name[SL_CUT_NAME_MAX];
    (void)snprintf(name, sizeof(name), "%s", scene->run.name);
    show(scene, MIG(LARGE, "1", name, "pending", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    scene->run.taken = true;
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_TAKEN);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
    show(scene, MIG(LARGE, "1", "sliced-5c3d-0", "pending", NULL));
    assert_int_equal(later(scene, 9 * SECOND), SL_CUT_WAIT);
    struct scene idle = *scene; /* the mig-manager is there */
    idle.node = NULL;
    show(&idle, MIG(LARGE, "1", "sliced-5c3d-0", "failed", NULL));
    assert_int_equal(step(&idle), SL_CUT_WAIT);
    assert_int_equal(later(&idle, 9 * SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&idle, SECOND), SL_CUT_END);
    sl_node_unref(idle.node);
    struct scene begun = *scene; /* it had begun in that moment, and its clients end */
    begun.node = NULL;
    show(&begun, MIG(LARGE, "1", "sliced-5c3d-0", "pending", NULL));
    assert_int_equal(later(&begun, 40 * SECOND), SL_CUT_WAIT);
    show(&begun, MIG(LARGE, "0", "sliced-5c3d-0", "pending", NULL));
    assert_int_equal(step(&begun), SL_CUT_WAIT);
    assert_int_equal(later(&begun, 5 * MINUTE), SL_CUT_WAIT);
    show(&begun, MIG(SMALL, "0", "sliced-5c3d-0", "failed", NULL));
    assert_int_equal(step(&begun), SL_CUT_WAIT);
    assert_int_equal(later(&begun, 10 * SECOND), SL_CUT_END); /* and what it made is shown */
    sl_node_unref(begun.node);
    assert_int_equal(later(scene, 50 * SECOND), SL_CUT_WAIT); /* nobody is heard of */
    assert_int_equal(later(scene, SECOND), SL_CUT_END);
}

TEST_ON(struct scene *scene, an_order_that_was_begun_is_followed_though_a_pod_came)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "0", name, "pending", name));
    scene->run.taken = true;
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    show(scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_DONE);
}

TEST_ALONE(after_a_restart_the_node_says_what_is_under_way)
{
    struct scene scene = {.now_us = MINUTE};
    show(&scene, MIG(LARGE, "1", "a", "success", NULL));
    assert_false(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    show(&scene, MIG(SMALL, "0", "sliced-1-1", "pending", "sliced-1-1"));
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    assert_int_equal(step(&scene), SL_CUT_WAIT); /* and orders nothing */
    show(&scene, MIG(SMALL, "7", "sliced-1-1", "success", "sliced-1-1"));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    scene.now_us = scene.run.wake_us;
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

/* Nobody knows which pods came since: all may have. */
TEST_ALONE(after_a_restart_an_order_that_was_not_begun_is_taken_back_from_all_pods)
{
    for (int begun = 0; begun < 2; begun++) {
        struct scene scene = {.now_us = MINUTE};
        show(&scene, MIG(LARGE, begun ? "0" : "1", "sliced-1-1", "pending", "sliced-1-1"));
        assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
        scene.run.taken = true;
        assert_int_equal(step(&scene), begun ? SL_CUT_WAIT : SL_CUT_FINISH);
        assert_int_equal(scene.run.outcome, begun ? SL_CUT_RUNNING : SL_CUT_TAKEN);
        sl_node_unref(scene.node);
    }
}

/* A newcomer does not make a cut fail that is about to be done. */
TEST_ALONE(after_a_restart_an_order_that_the_node_shows_is_followed_though_a_pod_came)
{
    struct shown shows[] = {MIG(LARGE, "1", "sliced-1-1", "rebooting", "sliced-1-1"),
                            MIG(SMALL, "7", "sliced-1-1", "pending", "sliced-1-1")};
    shows[1].planned = 7;
    for (unsigned i = 0; i < 2; i++) {
        struct scene scene = {.now_us = MINUTE};
        show(&scene, shows[i]);
        assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
        scene.run.taken = true;
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        shows[1].state = "success";
        show(&scene, shows[1]);
        shows[1].state = "pending";
        assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
        assert_ends(&scene, SL_CUT_DONE);
    }
}

TEST_ON(struct scene *scene, an_order_is_followed_though_a_pod_came_when_the_node_reboots_for_it)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "1", name, "rebooting", name));
    scene->run.taken = true;
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(scene->run.outcome, SL_CUT_RUNNING);
}

/* Its GPU was unhealthy for a while, or its device plugin or kubelet has started anew. */
TEST_ALONE(an_order_is_taken_back_when_units_come_back_before_the_agent_has_ended)
{
    for (int resumed = 0; resumed < 2; resumed++) {
        struct scene scene;
        begin(&scene);
        char name[SL_CUT_NAME_MAX];
        (void)snprintf(name, sizeof(name), "%s", scene.run.name);
        show(&scene, MIG(LARGE, "0", name, "pending", name));
        if (resumed) {
            assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
        }
        assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
        scene.run.taken = true;
        assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
        show(&scene, MIG(LARGE, "1", name, "pending", name));
        assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
        assert_int_equal(scene.run.outcome, SL_CUT_TAKEN);
        sl_node_unref(scene.node);
    }
}

/* The agent repeats a plan's name when it has read it: what it makes of it is what counts. */
TEST_ALONE(after_a_restart_nos_agent_has_ended_when_it_reports_what_was_planned)
{
    static const struct shown rows[] = {
        {.resource = SMALL, .units = "6", .reports = "6", .planned = 7}, /* as before */
        {.resource = SMALL, .units = "7", .reports = "6", .planned = 7}, /* the report is behind */
        {.resource = SMALL, .units = "6", .reports = "7", .planned = 7}, /* allocatable is */
        {.resource = SMALL, .units = "7", .reports = "7", .planned = 7},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct scene scene = {.now_us = MINUTE};
        struct shown shown = rows[i];
        shown.cut = "sliced-1-1";
        shown.spec = "sliced-1-1";
        shown.status = "sliced-1-1";
        shown.actuator = SL_ACTUATOR_NOS_MIG;
        show(&scene, shown);
        assert_int_equal(scene.node->partition.at_work, i < 3);
        assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
        assert_int_equal(step(&scene), i < 3 ? SL_CUT_WAIT : SL_CUT_FINISH);
        sl_node_unref(scene.node);
    }
}

TEST_ALONE(after_a_restart_the_plan_that_the_node_keeps_ends_a_cut_at_once)
{
    struct scene scene = {.now_us = MINUTE};
    show(&scene, (struct shown){.resource = SMALL,
                                .units = "7",
                                .config = "sliced-1-1",
                                .state = "success",
                                .cut = "sliced-1-1",
                                .planned = 7});
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

/* The label would name a good order, which a mig-manager that starts anew carries out. */
TEST_ALONE(after_a_restart_success_without_what_was_planned_is_not_the_end)
{
    struct scene scene = {.now_us = MINUTE};
    struct shown shown = MIG(SMALL, "5", "sliced-1-1", "success", "sliced-1-1");
    shown.planned = 7;
    show(&scene, shown);
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    assert_int_equal(later(&scene, 59 * SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_NOT_FOLLOWED);
}

/* nos' agent may still delete what a pod would be given. */
TEST_ALONE(a_node_is_left_when_nos_agent_has_answered)
{
    struct scene scene;
    struct shown shown = {.resource = LARGE, .units = "1", .status = "8"};
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    shown.cut = scene.run.name;
    shown.spec = scene.run.name;
    shown.actuator = SL_ACTUATOR_MIG_MANAGER; /* it is another's now */
    show(&scene, shown);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_WAIT);
    assert_true(sl_node_is_cut(scene.node));
    shown.status = scene.run.name;
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

/* The watch has never shown the mark, which is there all the same. */
TEST_ALONE(a_mark_that_was_written_is_taken_off_though_nobody_saw_it)
{
    static const enum sl_cut_write_end ends[] = {SL_CUT_WRITTEN, SL_CUT_WRITE_UNKNOWN};
    for (unsigned i = 0; i < 2; i++) {
        struct scene scene;
        begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
        sl_cut_run_wrote(&scene.run, ends[i], scene.now_us);
        show(&scene, MIG(LARGE, "1", "all-balanced", "pending", NULL));
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        assert_int_equal(scene.run.wake_us, scene.now_us + 10 * SECOND);
        assert_int_equal(later(&scene, 10 * SECOND), SL_CUT_FINISH);
        assert_ends(&scene, SL_CUT_LEFT);
    }
}

TEST_ON(struct scene *scene, a_node_that_is_not_selected_any_more_is_left)
{
    show(scene, NOS(LARGE, "1", scene->run.name, NULL, NULL));
    assert_int_equal(step(scene), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_LEFT);
}

/* The mig-manager may still destroy what a pod would be given. */
TEST_ON(struct scene *scene, a_node_at_work_is_left_when_its_agent_has_ended)
{
    const char *name = scene->run.name;
    struct shown shown = {.resource = LARGE,
                          .units = "1",
                          .config = name,
                          .state = "pending",
                          .cut = name,
                          .actuator = SL_ACTUATOR_NOS_MIG};
    show(scene, shown);
    assert_int_equal(later(scene, MINUTE), SL_CUT_WAIT);
    assert_int_equal(scene->run.wake_us, scene->run.begun_us + rules.timeout_us);
    shown.state = "success";
    show(scene, shown);
    assert_int_equal(step(scene), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_LEFT);
}

TEST_ON(struct scene *scene, a_node_that_is_not_selected_any_more_is_ordered_nothing)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "1", name, "failed", name));
    assert_int_equal(step(scene), SL_CUT_WAIT);
    show(scene, NOS(LARGE, "1", name, NULL, NULL));
    scene->now_us = scene->run.wake_us;
    assert_int_equal(step(scene), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_LEFT);
}
