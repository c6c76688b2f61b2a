/* The condition sliced.dev/Queued: which pods get one, when it is written anew, and how it ends. */
#include "queue_rig.h"

#include "core/plan/state/calls.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

static void begin_waiting(struct queue_rig *rig, struct rig_pod waits)
{
    rig->config.queue.nominate_from = 100; /* the patch that ends it names the node here too */
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1", .timeout = "1h"});
    rig_put(rig, waits);
    (void)rig_round(rig);
}

static void assert_shown(const struct queue_rig *rig, unsigned n, const char *begin)
{
    assert_int_equal(rig->n_shown, n);
    if (strncmp(rig->shown, begin, strlen(begin)) != 0) {
        fail_msg("%s", rig->shown);
    }
}

TEST_ON(struct queue_rig *rig, a_pod_that_waits_shows_its_place_reason_and_start)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    assert_int_equal(rig->n_shown, 0); /* most that have just come are bound soon */
    int64_t came_us = rig->now_us;
    (void)rig_later(rig, 3 * SECOND);
    assert_shown(rig, 1,
                 "u-a True NoRoom: held: first for nvidia.com/gpu; position 1 in the queue; "
                 "starts by 1970-02-11T17:00:00Z");
    assert_int_equal(rig->turned_us, came_us);
    for (int i = 0; i < 100; i++) {
        (void)rig_later(rig, 20 * SECOND);
    }
    assert_int_equal(rig->n_shown, 1); /* nothing has changed */
}

TEST_ON(struct queue_rig *rig, another_reason_is_shown_and_the_time_of_its_turn_stays)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true, .after = "pod/x"});
    (void)rig_later(rig, 3 * SECOND);
    assert_shown(rig, 1, "u-a True Stage: held: it waits for ");
    sl_planner_set_stage(rig->worker->planner, SL_STR("u-a"), SL_HOLD_NONE, NULL, rig->now_us);
    (void)rig_later(rig, 20 * SECOND);
    assert_shown(rig, 2, "u-a True NoRoom: held: first for nvidia.com/gpu; position 1");
    assert_int_equal(rig->turned_us, 0);
}

TEST_ON(struct queue_rig *rig, its_nomination_ends_it_without_a_patch_more)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    rig_gated(rig, "b");
    (void)rig_later(rig, 3 * SECOND);
    assert_int_equal(rig->n_shown, 2);
    rig_delete(rig, "x");
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 1);
    assert_true(rig->released[0].queued);
    assert_string_equal(rig->released[0].node, "n1");
    (void)rig_later(rig, 15 * SECOND);
    assert_string_equal(rig->released[0].uid, "u-a");
    assert_shown(rig, 3, "u-b True NoRoom: held: first for ");
    rig_answer(rig, 0, SL_RELEASE_REFUSED); /* it waits again, behind the other */
    (void)rig_later(rig, 30 * SECOND);
    assert_shown(rig, 4, "u-a True Expired: ");
    assert_int_equal(rig->turned_us, rig->now_us);
}

TEST_ON(struct queue_rig *rig, a_pod_that_starts_at_once_shows_nothing)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    assert_false(rig->released[0].queued);
    (void)rig_later(rig, 15 * SECOND);
    assert_int_equal(rig->n_shown, 0);
}

/* Its nomination stands already, so no patch of the status is due that could end it. */
TEST_ON(struct queue_rig *rig, what_an_earlier_leader_wrote_is_ended_and_written_anew)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .nominated = "n1", .queued = true});
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .queued = true});
    (void)rig_round(rig);
    assert_true(rig->released[0].nominated);
    assert_int_equal(rig->n_shown, 2); /* no grace: what stands there is not known */
    assert_shown(rig, 2, "u-b True NoRoom: ");
    assert_int_equal(rig->turned_us, 0);
}

TEST_ON(struct queue_rig *rig, one_leader_after_another_lets_none_stand)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    (void)rig_later(rig, 3 * SECOND);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .queued = true}); /* the watch */
    rig->leadership = 2;
    rig_delete(rig, "x");
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 1);
    assert_true(rig->released[0].queued);
}

TEST_ON(struct queue_rig *rig, far_behind_no_pod_gets_one)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    rig->worker->config.queue.condition.max_pods = 1;
    rig_gated(rig, "b");
    rig_put(rig, (struct rig_pod){.name = "c", .gated = true, .queued = true});
    (void)rig_later(rig, 30 * SECOND);
    assert_int_equal(rig->n_shown, 2); /* a, and c, whose own is kept up */
}

/* Twenty pods of one namespace, all ahead, and one of another. */
TEST_ON(struct queue_rig *rig, pods_of_one_namespace_leave_conditions_to_others)
{
    begin_waiting(rig, (struct rig_pod){.name = "a0", .gated = true});
    rig->worker->config.queue.condition.max_pods = 8;
    for (unsigned i = 1; i < 20; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "a%u", i);
        rig_gated(rig, name);
    }
    rig_put(rig, (struct rig_pod){.name = "z", .namespace = "others", .gated = true});
    for (unsigned i = 0; i < 10; i++) {
        (void)rig_later(rig, 20 * SECOND);
    }
    assert_int_equal(sl_queue_find(rig->worker, SL_STR("u-z"))->shown, SL_QUEUE_SHOWN_TRUE);
    assert_int_equal(rig->worker->stood.all, 7);
}

TEST_ON(struct queue_rig *rig, switched_off_it_is_marked_once)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    (void)rig_later(rig, 3 * SECOND);
    rig->worker->config.queue.condition.enabled = false;
    (void)rig_later(rig, 20 * SECOND);
    assert_shown(rig, 2, "u-a Unknown NotKept: kubectl get queuedpods");
    (void)rig_later(rig, 100 * SECOND);
    assert_int_equal(rig->n_shown, 2);
    rig->worker->config.queue.condition.enabled = true;
    (void)rig_later(rig, 20 * SECOND);
    assert_shown(rig, 3, "u-a True NoRoom: ");
}

TEST_ON(struct queue_rig *rig, what_could_not_be_written_is_written_later)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    rig->unwritten = true;
    (void)rig_later(rig, 3 * SECOND);
    assert_int_equal(rig->n_shown, 1);
    (void)rig_later(rig, SECOND);
    rig->unwritten = false;
    (void)rig_later(rig, 30 * SECOND);
    assert_int_equal(rig->n_shown, 1);
    (void)rig_later(rig, 40 * SECOND);
    assert_shown(rig, 2, "u-a True NoRoom: ");
    (void)rig_later(rig, 100 * SECOND);
    assert_int_equal(rig->n_shown, 2);
}

static void put_many(struct queue_rig *rig, const char *space, int n)
{
    char name[NAME_BYTES];
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "%s-%03d", space, i);
        rig_put(rig, (struct rig_pod){.name = name, .gated = true, .namespace = space});
    }
}

TEST_ON(struct queue_rig *rig, only_so_many_are_written_a_second_and_each_namespace_has_its_turn)
{
    begin_waiting(rig, (struct rig_pod){.name = "a", .gated = true});
    put_many(rig, "many", 100);
    put_many(rig, "few", 1);
    (void)rig_later(rig, 3 * SECOND);
    assert_int_equal(rig->n_shown, 10); /* none is saved up */
    assert_non_null(sl_queue_find(rig->worker, SL_STR("u-few-000")));
    assert_int_equal(sl_queue_find(rig->worker, SL_STR("u-few-000"))->shown, SL_QUEUE_SHOWN_TRUE);
    assert_int_equal(rig->worker->unshown, 102 - 10);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_shown, 20);
    for (int i = 0; i < 10; i++) {
        (void)rig_later(rig, SECOND);
    }
    assert_int_equal(rig->n_shown, 102);
    assert_int_equal(rig->worker->unshown, 0);
}

TEST_ON(struct queue_rig *rig, the_sentence_names_no_other_pod)
{
    begin_waiting(rig, (struct rig_pod){.name = "secret", .gated = true, .namespace = "theirs"});
    rig_gated(rig, "z");
    (void)rig_later(rig, 3 * SECOND);
    assert_shown(rig, 2, "u-z True NoRoom: held: 1 pod ahead for nvidia.com/gpu; position 2");
    assert_null(strstr(rig->shown, "secret"));
}
