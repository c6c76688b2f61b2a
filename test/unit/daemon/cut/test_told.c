/* The words of cuts for owners of pods, and for operators. */
#include "partitioner_rig.h"

TEST_FIXTURE(setup, teardown)

static void assert_why(struct rig *rig, const char *uid, const char *why)
{
    struct sl_queue_list list;
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, sl_str_of(uid), &list, NULL), 0);
    assert_int_equal(list.row[0].reason, SL_HOLD_CUT);
    assert_string_equal(list.row[0].why, why);
    sl_queue_list_free(&list);
}

TEST_ON(struct rig *rig, an_order_that_was_not_taken_is_told_with_what_was_said_of_it)
{
    struct sl_error err;
    order_small(rig, 1);
    struct written *last = &rig->written[0];
    (void)sl_error_set(&err, SL_ERR_FIELD, "config.yaml: line 3");
    last->done(last->call, SL_CUT_WRITE_BAD_FILE, &err);
    last->call = NULL;
    await_write(rig, 1); /* the file was announced */
    answer(rig, SL_CUT_WRITTEN);
    for (unsigned i = 0; i < 12; i++) {
        (void)rig_later(&rig->queue, SECOND);
    }
    assert_string_equal(status_of(rig).why, "BadFile");
    assert_non_null(strstr(rig->queue.all_told, "CutFailed: BadFile: GPU 0 into 7x 1g.10gb: "
                                                "config.yaml: line 3\n"));
}

/* Puts a pod that waits for others for ten seconds. */
static void put_within_window(struct rig *rig)
{
    struct sl_config config = rig->queue.config;
    config.partitioning.batch_us = 10 * SECOND;
    sl_queue_worker_configure(rig->queue.worker, &config);
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "a", .gated = true, .resource = SMALL});
    await_reason(rig, "u-a", SL_HOLD_CUT);
}

TEST_ON(struct rig *rig, pods_that_come_within_the_window_share_a_cut)
{
    put_within_window(rig);
    rig_put(&rig->queue, (struct rig_pod){.name = "b", .gated = true, .resource = SMALL});
    await_reason(rig, "u-b", SL_HOLD_CUT);
    assert_int_equal(rig->n_written, 0);
    assert_why(rig, "u-b", "GPU 0 of n is to be cut into 7x 1g.10gb for it");
    assert_string_equal(status_of(rig).why, "Planned");
    assert_string_equal(status_of(rig).cut, "GPU 0 into 7x 1g.10gb");
    await_write(rig, 0);
    assert_why(rig, "u-b", "GPU 0 of n is being cut into 7x 1g.10gb for it");
    assert_non_null(strstr(status_of(rig).pods, "/a"));
    assert_non_null(strstr(status_of(rig).pods, "/b"));
}

/* An admin's order that the mig-manager does not end keeps the node as it is, for as long as it
 * lasts. */
TEST_ON(struct rig *rig, a_node_that_cannot_be_cut_says_why)
{
    put_node(rig, LARGE, "1", "all-7g.80gb", "pending", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    (void)rig_later(&rig->queue, SECOND);
    struct sl_partition_status status = status_of(rig);
    assert_int_equal(status.phase, SL_PHASE_IDLE);
    assert_string_equal(status.why, "AtWork");
    assert_string_equal(status.text, sl_cut_bar_text(SL_CUT_BAR_AT_WORK));
    assert_int_equal(metric(rig, "\nsliced_partition_nodes{why=\"AtWork\"} "), 1);
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    await_write(rig, 0);
    assert_int_equal(metric(rig, "\nsliced_partition_nodes{why=\"AtWork\"} "), 0);
    assert_int_equal(metric(rig, "\nsliced_partition_nodes{why=\"Cutting\"} "), 1);
}
