/* Cuts after failures, restarts, changes of the leader and of the clock: none is ordered twice. */
#include "partitioner_rig.h"

TEST_FIXTURE(setup, teardown)

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
