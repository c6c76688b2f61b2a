/* A cut under way: each way that it can go, as a script of what the node shows. */
#include "run_rig.h"

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, success_and_the_new_instances_are_the_end)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(later(scene, 30 * SECOND), SL_CUT_WAIT);
    show(scene, MIG(SMALL, "0", name, "success", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    show(scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_DONE);
}

TEST_ON(struct scene *scene, success_without_the_instances_is_not_the_end)
{
    const char *name = scene->run.name;
    show(scene, MIG(SMALL, "5", name, "success", name));
    assert_int_equal(step(scene), SL_CUT_WAIT);
    assert_int_equal(scene->run.wake_us, scene->now_us + MINUTE);
    assert_int_equal(later(scene, 59 * SECOND), SL_CUT_WAIT);
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_NOT_FOLLOWED);
}

TEST_ON(struct scene *scene, what_follows_success_takes_no_longer_than_a_cut_may)
{
    struct sl_cut_rules hasty = rules;
    hasty.timeout_us = 5 * SECOND;
    const char *name = scene->run.name;
    show(scene, MIG(SMALL, "5", name, "success", name));
    assert_int_equal(sl_cut_run_step(&scene->run, scene->node, &hasty, scene->now_us), SL_CUT_WAIT);
    assert_int_equal(scene->run.wake_us, scene->now_us + 5 * SECOND);
    scene->now_us += 5 * SECOND;
    assert_int_equal(sl_cut_run_step(&scene->run, scene->node, &hasty, scene->now_us),
                     SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_NOT_FOLLOWED);
}

/* The file of the mig-manager's pod lags behind the ConfigMap. */
TEST_ON(struct scene *scene, a_failure_at_once_is_tried_again_under_another_name)
{
    char names[SL_CUT_ATTEMPTS][SL_CUT_NAME_MAX];
    for (unsigned i = 0; i < SL_CUT_ATTEMPTS; i++) {
        memcpy(names[i], scene->run.name, sizeof(names[i]));
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(names[i], names[k]);
        }
        show(scene, MIG(LARGE, "1", names[i], "failed", names[i]));
        if (i + 1 == SL_CUT_ATTEMPTS) {
            break;
        }
        assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
        assert_true(scene->run.wake_us > scene->now_us);
        scene->now_us = scene->run.wake_us;
        assert_int_equal(step(scene), SL_CUT_ORDER);
        sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
    }
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_FAILED);
}

TEST_ON(struct scene *scene, a_failure_of_a_run_that_took_place_is_the_end)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(step(scene), SL_CUT_WAIT);
    show(scene, MIG(LARGE, "0", name, "failed", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT); /* the device plugin comes back */
    show(scene, MIG(LARGE, "1", name, "failed", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_FAILED);
}

/* Either of two resources may tell that the run took place, whichever comes first by name. */
TEST_ALONE(a_failure_that_changed_one_of_two_resources_is_not_tried_again)
{
    static const struct {
        const char *small;
        const char *large;
        enum sl_cut_outcome outcome;
    } rows[] = {
        {"2", "1", SL_CUT_RUNNING},
        {"1", "1", SL_CUT_HALF_APPLIED},
        {"2", "0", SL_CUT_HALF_APPLIED},
        {"2", NULL, SL_CUT_HALF_APPLIED},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scene scene;
        struct shown now = MIG(SMALL, "2", "all-7g.80gb", "success", NULL);
        begin(&scene);
        now.also = LARGE;
        now.also_units = "1";
        show(&scene, now);
        struct sl_cut cut = scene.run.cut[0];
        sl_cut_run_begin(&scene.run, scene.node, &cut, 1, scene.now_us);
        while (scene.run.at != SL_CUT_AT_WORK) {
            if (later(&scene, rules.file_us) == SL_CUT_ORDER) {
                sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
            }
        }
        now = MIG(SMALL, rows[i].small, scene.run.name, "failed", scene.run.name);
        now.also = rows[i].large == NULL ? NULL : LARGE;
        now.also_units = rows[i].large;
        show(&scene, now);
        (void)step(&scene);
        (void)later(&scene, MINUTE);
        assert_int_equal(scene.run.outcome, rows[i].outcome);
        sl_node_unref(scene.node);
    }
}

/* The device plugin is away while no resource has units. */
TEST_ON(struct scene *scene, units_of_any_resource_tell_that_the_plugin_is_back)
{
    struct shown now = MIG(SMALL, "0", scene->run.name, "pending", scene->run.name);
    show(scene, now);
    (void)step(scene);
    assert_true(scene->run.moved);
    scene->run.taken = true;
    now.also = LARGE;
    now.also_units = "1";
    show(scene, now);
    (void)step(scene);
    assert_int_equal(scene->run.outcome, SL_CUT_TAKEN);
}

TEST_ON(struct scene *scene, a_gpu_left_without_instances_is_told_apart)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "0", name, "failed", name));
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(scene->run.wake_us, scene->now_us + 20 * SECOND);
    assert_int_equal(later(scene, 20 * SECOND - 1), SL_CUT_WAIT);
    assert_int_equal(later(scene, 1), SL_CUT_FINISH);
    assert_ends(scene, SL_CUT_HALF_APPLIED);
}

TEST_ON(struct scene *scene, pending_for_ever_is_wedged)
{
    const char *name = scene->run.name;
    show(scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(step(scene), SL_CUT_WAIT);
    assert_int_equal(scene->run.wake_us, scene->run.begun_us + rules.timeout_us);
    show(scene, MIG(LARGE, "0", name, "rebooting", name));
    assert_string_equal(sl_cut_run_phase(&scene->run, scene->node), "rebooting");
    scene->now_us = scene->run.begun_us + rules.timeout_us;
    assert_int_equal(step(scene), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_WEDGED);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
    show(scene, MIG(LARGE, "0", "x", "pending", NULL));
    assert_int_equal(step(scene), SL_CUT_END);
}

/* It was away, and has begun in the moment in which the order was given up. */
TEST_ALONE(after_a_silent_mig_manager_units_are_withheld_until_it_has_answered)
{
    for (int answers = 0; answers < 2; answers++) {
        struct scene scene;
        begin(&scene);
        const char *name = scene.run.name;
        show(&scene, MIG(LARGE, "1", name, "pending", name));
        scene.now_us = scene.run.begun_us + rules.timeout_us;
        assert_int_equal(step(&scene), SL_CUT_FINISH);
        assert_int_equal(scene.run.outcome, SL_CUT_WEDGED);
        sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
        show(&scene, MIG(LARGE, "1", "x", answers ? "failed" : "pending", NULL));
        assert_int_equal(step(&scene), answers ? SL_CUT_END : SL_CUT_WAIT);
        assert_int_equal(later(&scene, MINUTE - 1), answers ? SL_CUT_END : SL_CUT_WAIT);
        assert_int_equal(later(&scene, 1), SL_CUT_END);
        sl_node_unref(scene.node);
    }
}

TEST_ALONE(nos_agent_ends_by_repeating_the_plans_name)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    struct shown shown = NOS(LARGE, "1", name, name, "an earlier one");
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_WAIT);
    assert_true(scene.run.wake_us > scene.now_us); /* nothing to do until it answers */
    shown.resource = SMALL;
    shown.units = "7";
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    shown.status = name;
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

TEST_ALONE(a_silent_agent_is_not_waited_for_for_ever)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    show(&scene, NOS(LARGE, "1", name, name, NULL));
    assert_int_equal(later(&scene, 14 * MINUTE), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_SILENT);
}

TEST_ALONE(an_agent_that_lies_is_found_out_by_what_is_allocatable)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    show(&scene, NOS(LARGE, "1", name, name, name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_HALF_APPLIED);
}

TEST_ON(struct scene *scene, a_node_that_is_gone_ends_its_run)
{
    sl_node_unref(scene->node);
    scene->node = NULL;
    assert_int_equal(step(scene), SL_CUT_END);
    assert_int_equal(scene->run.outcome, SL_CUT_GONE);
}

TEST_ALONE(an_order_that_is_refused_leaves_nothing_behind)
{
    struct scene scene;
    static const struct {
        enum sl_cut_write_end end;
        enum sl_cut_outcome outcome;
    } rows[] = {{SL_CUT_WRITE_REFUSED, SL_CUT_REFUSED},
                {SL_CUT_WRITE_BAD_FILE, SL_CUT_BAD_FILE},
                {SL_CUT_WRITE_MOOT, SL_CUT_LEFT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin_as(&scene, SL_ACTUATOR_NOS_MIG);
        sl_cut_run_wrote(&scene.run, rows[i].end, scene.now_us);
        assert_int_equal(step(&scene), SL_CUT_END);
        assert_int_equal(scene.run.outcome, rows[i].outcome);
        sl_node_unref(scene.node);
    }
}

TEST_ALONE(an_order_that_failed_is_written_again)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    const unsigned attempt = scene.run.attempt;
    for (unsigned i = 0; i < 10; i++) {
        sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        scene.now_us = scene.run.wake_us;
        assert_int_equal(step(&scene), SL_CUT_ORDER);
        assert_int_equal(scene.run.attempt, attempt); /* nobody has seen the name */
    }
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    assert_int_equal(later(&scene, rules.timeout_us), SL_CUT_END); /* the node was never told */
    assert_int_equal(scene.run.outcome, SL_CUT_REFUSED);
    sl_node_unref(scene.node);
}

/* However long ago another write of it was: the API server may be away for ever. */
TEST_ALONE(an_order_that_was_announced_is_given_up_in_time)
{
    struct scene scene;
    begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    assert_int_equal(later(&scene, rules.timeout_us), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_REFUSED);
}

TEST_ON(struct scene *scene, the_mark_is_taken_off_however_often_that_fails)
{
    const char *name = scene->run.name;
    show(scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(step(scene), SL_CUT_FINISH);
    for (unsigned i = 0; i < 5; i++) {
        sl_cut_run_wrote(&scene->run, SL_CUT_WRITE_FAILED, scene->now_us);
        assert_int_equal(step(scene), SL_CUT_WAIT);
        scene->now_us = scene->run.wake_us;
        assert_int_equal(step(scene), SL_CUT_FINISH);
    }
    assert_ends(scene, SL_CUT_DONE);
}

/* The mig-manager acts only when the label's value changes, and never tries a failed one again. */
TEST_ON(struct scene *scene, no_two_runs_have_one_name)
{
    const struct sl_cut cut = scene->run.cut[0];
    const struct sl_cut other = {.n = 1};
    struct sl_cut_run run[4];
    for (int i = 0; i < 4; i++) {
        sl_cut_run_begin(&run[i], scene->node, i % 2 == 0 ? &cut : &other, 1, 5 + i / 2);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(run[i].name, run[k].name);
        }
    }
    sl_cut_run_begin(&run[1], scene->node, &cut, 1, 5);
    assert_string_equal(run[1].name, run[0].name);
}
