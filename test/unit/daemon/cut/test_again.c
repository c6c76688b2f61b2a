/* Cuts after failures, restarts, changes of the leader and of the clock: none is ordered twice. */
#include "partitioner_rig.h"

TEST_FIXTURE(setup, teardown)

TEST_ON(struct rig *rig, a_cut_under_way_is_taken_over)
{
    put_node(rig, SMALL, "0", "sliced-1234-1", "pending", "sliced-1234-1");
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
    assert_int_equal(rig->n_written, 0);
    put_node(rig, SMALL, "7", "sliced-1234-1", "success", "sliced-1234-1");
    await_write(rig, 0);
    assert_int_equal(rig->written[0].step, SL_CUT_FINISH);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", "sliced-1234-1", "success", "");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->queue.n_released, 1);
}

static bool is_withheld(struct rig *rig)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(rig->queue.store);
    uint32_t place = sl_snapshot_find(snapshot, SL_STR("n"), 0);
    assert_int_not_equal(place, SL_NODE_NONE);
    bool withheld = snapshot->view[place]->withheld;
    sl_store_release(rig->queue.store, snapshot);
    return withheld;
}

/* The agent may have begun in the moment in which the order was taken back. */
TEST_ON(struct rig *rig, a_cut_that_was_taken_over_and_back_withholds_the_node_to_its_end)
{
    put_node(rig, LARGE, "1", "sliced-1234-1", "pending", "sliced-1234-1");
    rig_put(&rig->queue, (struct rig_pod){.name = "x", .node = "n", .resource = LARGE});
    await_write(rig, 0);
    assert_int_equal(rig->written[0].step, SL_CUT_FINISH);
    assert_int_equal(rig->written[0].run.outcome, SL_CUT_TAKEN);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", "sliced-1234-0", "pending", "");
    (void)rig_later(&rig->queue, SECOND);
    assert_true(is_withheld(rig));
    put_node(rig, LARGE, "1", "sliced-1234-0", "failed", "");
    for (unsigned s = 0; s < 20; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_false(is_withheld(rig));
    assert_int_equal(rig->n_written, 1);
}

TEST_ON(struct rig *rig, a_new_leadership_writes_nothing_of_the_old_one)
{
    order_small(rig, 1);
    rig->queue.leadership = 0;
    (void)rig_later(&rig->queue, SECOND);
    answer(rig, SL_CUT_WRITTEN);
    rig->queue.leadership = 2;
    put_node(rig, LARGE, "1", name_of(rig), "success", name_of(rig));
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->n_written, 1);
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
}

/* A write of it that the API server had not answered landed after all. */
TEST_ON(struct rig *rig, a_mark_that_comes_back_after_the_end_is_taken_off)
{
    char name[SL_CUT_NAME_MAX];
    order_small(rig, 1);
    (void)snprintf(name, sizeof(name), "%s", name_of(rig));
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", name, "success", name);
    await_write(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    (void)rig_later(&rig->queue, SECOND); /* the watch still shows it */
    put_node(rig, SMALL, "7", name, "success", "");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(status_of(rig).phase, SL_PHASE_IDLE);
    put_node(rig, SMALL, "7", name, "success", name);
    await_write(rig, 2);
    assert_int_equal(rig->written[2].step, SL_CUT_FINISH);
}

/* Another scheduler may place pods on the node, whose clock is another one, of whole seconds. */
static void assert_not_again_over(struct rig *rig, int64_t after_us)
{
    order_small(rig, 1);
    int64_t started_us = (rig->queue.now_us + after_us) / SECOND * SECOND;
    fail_at_once(rig);
    (void)rig_later(&rig->queue, SECOND);
    rig_put(
        &rig->queue,
        (struct rig_pod){.name = "x", .node = "n", .resource = LARGE, .started_us = started_us});
    await_write(rig, 1);
    assert_int_equal(rig->written[1].step, SL_CUT_FINISH);
    assert_int_equal(rig->written[1].run.outcome, SL_CUT_TAKEN);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", name_of(rig), "failed", "");
    for (unsigned s = 0; s < 30; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_int_equal(rig->n_written, 2);
    assert_int_equal(status_of(rig).failures, 0); /* nothing went wrong on the node */
    rig_delete(&rig->queue, "x");
    await_write(rig, 2);
    assert_int_equal(rig->written[2].step, SL_CUT_ORDER);
}

TEST_THAT(a_cut_is_not_ordered_again_over_a_pod_that_came_since)
{
    assert_not_again_over(*state, 0);
}

TEST_THAT(a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_behind)
{
    assert_not_again_over(*state, -3600 * SECOND);
}

TEST_THAT(a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_ahead)
{
    assert_not_again_over(*state, 3600 * SECOND);
}

/* The file was behind for as long as three attempts take: nothing is wrong with the cut. */
TEST_ON(struct rig *rig, the_only_cut_that_can_be_made_is_ordered_again_after_the_backoff)
{
    order_small(rig, 7);
    for (unsigned i = 1; i <= SL_CUT_ATTEMPTS; i++) {
        fail_at_once(rig);
        (void)rig_later(&rig->queue, SECOND);
        (void)rig_later(&rig->queue, 45 * SECOND);
        await_write(rig, i);
    }
    end_failed(rig);
    for (unsigned s = 0; s < 55; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_int_equal(rig->n_written, SL_CUT_ATTEMPTS + 1);
    await_write(rig, SL_CUT_ATTEMPTS + 1);
    assert_int_equal(rig->written[SL_CUT_ATTEMPTS + 1].step, SL_CUT_ORDER);
    assert_int_equal(rig->written[SL_CUT_ATTEMPTS + 1].run.cut[0].n, 7);
}

/* Whoever mends the node need not restart the daemon. */
TEST_ON(struct rig *rig, a_cut_that_failed_twice_long_ago_is_ordered_again)
{
    order_small(rig, 1);
    for (unsigned i = 0; i < 2; i++) {
        await_write(rig, 2 * i);
        assert_int_equal(rig->written[i == 0 ? 0 : 2].run.cut[0].n, 7); /* none that makes less */
        answer(rig, SL_CUT_WRITTEN);
        put_node(rig, LARGE, "0", name_of(rig), "pending", name_of(rig));
        (void)rig_later(&rig->queue, SECOND);
        put_node(rig, LARGE, "1", name_of(rig), "failed", name_of(rig));
        await_write(rig, 2 * i + 1);
        end_failed(rig);
    }
    for (int64_t s = 0; s < 300; s += 10) {
        (void)rig_later(&rig->queue, 10 * SECOND);
    }
    assert_int_equal(rig->n_written, 4);
    (void)rig_later(&rig->queue, rig->queue.config.partitioning.max_backoff_us);
    await_write(rig, 4);
    assert_int_equal(rig->written[4].step, SL_CUT_ORDER);
}

static void set_clock(struct rig *rig, int64_t by_us)
{
    struct sl_queue_worker *worker = rig->queue.worker;
    (void)sl_queue_follow_clock(worker, rig->queue.now_us, 1000);
    rig->queue.now_us = sl_queue_follow_clock(worker, rig->queue.now_us + by_us, 1000);
}

TEST_ON(struct rig *rig, a_cut_lasts_as_long_when_the_clock_is_set)
{
    order_small(rig, 1);
    fail_at_once(rig);
    (void)rig_later(&rig->queue, SECOND);
    char first[SL_CUT_NAME_MAX];
    (void)snprintf(first, sizeof(first), "%s", name_of(rig));
    set_clock(rig, -3600 * SECOND);
    await_write(rig, 1);
    assert_int_equal(rig->written[1].step, SL_CUT_ORDER);
    const char *second = name_of(rig);
    assert_int_equal(strncmp(first, second, strlen(first) - 1), 0); /* its file has both names */
    assert_string_not_equal(first, second);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "0", second, "pending", second);
    set_clock(rig, 3600 * SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->n_written, 2);
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
    put_node(rig, LARGE, "1", second, "failed", second);
    await_write(rig, 2);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", second, "failed", "");
    (void)rig_later(&rig->queue, SECOND);
    set_clock(rig, 3600 * SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(status_of(rig).phase, SL_PHASE_OUT);
}

/* Nothing withholds the new node, and nobody has looked at what runs there. */
TEST_ON(struct rig *rig, a_node_that_was_made_anew_is_not_ordered_what_the_old_one_was)
{
    order_small(rig, 1);
    fail_at_once(rig);
    (void)rig_later(&rig->queue, SECOND);
    rig_put(&rig->queue, (struct rig_pod){.name = "p0", .gated = true, .ended = true});
    rig->uid = "another";
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    for (unsigned s = 0; s < 30; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_int_equal(rig->n_written, 1);
    assert_int_not_equal(status_of(rig).phase, SL_PHASE_CUTTING);
}

/* Pods that are never bound would else have one GPU cut to and fro for ever. */
TEST_ON(struct rig *rig, nothing_is_cut_again_for_a_pod_that_did_not_take_its_nomination)
{
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    end_first(rig, SMALL, "7", "success");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->queue.n_released, 1);
    rig_answer(&rig->queue, 0, SL_RELEASE_RELEASED);
    rig->queue.queue.heard(rig->queue.queue.context, SL_STR("u-p0"));
    (void)rig_later(&rig->queue, 40 * SECOND);
    assert_string_equal(rig_nominate(&rig->queue, "p0"), "");
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    for (unsigned s = 0; s < 300; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_int_equal(rig->n_written, 2);
}
