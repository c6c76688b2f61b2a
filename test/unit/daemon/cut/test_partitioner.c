/* A cut from the pods that wait to its end. */
#include "partitioner_rig.h"

TEST_FIXTURE(setup, teardown)

TEST_ON(struct rig *rig, the_waiting_pods_get_the_instances_that_are_cut_for_them)
{
    order_small(rig, 5);
    assert_int_equal(rig->written[0].step, SL_CUT_ORDER);
    assert_int_equal(rig->written[0].run.n_cuts, 1);
    assert_true(rig->written[0].run.cut[0].n >= 5);
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
    assert_int_equal(rig->queue.n_released, 0);
    /* who reads the Events of nodes may not read the names of pods */
    const char *cutting = strstr(rig->queue.all_told, "Cutting: ");
    assert_non_null(cutting);
    const char *line_end = strchr(cutting, '\n');
    assert_ptr_equal(strstr(cutting, ", for 5 pods that wait\n"),
                     line_end - strlen(", for 5 pods that wait"));
    assert_true(strstr(cutting, "default/p0") == NULL || strstr(cutting, "default/p0") > line_end);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->queue.n_released, 0);
    put_node(rig, SMALL, "7", name_of(rig), "success", name_of(rig));
    await_write(rig, 1);
    assert_int_equal(rig->written[1].step, SL_CUT_FINISH);
    assert_int_equal(rig->queue.n_released, 0);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", name_of(rig), "success", "");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->queue.n_released, 5);
    assert_int_equal(status_of(rig).phase, SL_PHASE_IDLE);
}

TEST_ON(struct rig *rig, a_node_whose_cut_failed_is_left_out)
{
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, 10 * SECOND);
    put_node(rig, LARGE, "1", name_of(rig), "failed", name_of(rig));
    await_write(rig, 1);
    assert_int_equal(rig->written[1].step, SL_CUT_FINISH);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", name_of(rig), "failed", "");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    struct sl_partition_status status = status_of(rig);
    assert_int_equal(status.phase, SL_PHASE_OUT);
    assert_int_equal(status.failures, 1);
    assert_string_equal(status.why, "Failed");
    assert_int_equal(status.bar, SL_CUT_BAR_LEFT_OUT);
    assert_non_null(strstr(status.text, "its last cut ended (Failed), and it is left out until "));
    assert_int_equal(rig->n_written, 2);
    assert_non_null(strstr(rig->queue.all_told, "CutFailed: "));
}

/* As while the file is on its way. */
TEST_ON(struct rig *rig, a_pod_that_comes_between_decision_and_order_ends_the_cut)
{
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    while (rig->n_announced == 0) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
    rig_put(&rig->queue, (struct rig_pod){.name = "x", .node = "n", .resource = LARGE});
    await_write(rig, 0);
    assert_int_equal(rig->written[0].step, SL_CUT_FINISH);
    assert_int_equal(rig->written[0].run.outcome, SL_CUT_TAKEN);
    answer(rig, SL_CUT_WRITTEN);
    for (unsigned s = 0; s < 30; s++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_int_equal(rig->n_written, 1);
    assert_string_equal(status_of(rig).why, "Starting");
    assert_int_equal(status_of(rig).failures, 0);
}
