/* The words of cuts for owners of pods, and for operators. */
#include "partitioner_rig.h"

TEST_FIXTURE(setup, teardown)

TEST_ON(struct rig *rig, a_pod_is_told_that_a_gpu_is_being_cut_for_it)
{
    struct sl_queue_list list;
    order_small(rig, 1);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, SL_STR("u-p0"), &list, NULL), 0);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.row[0].reason, SL_HOLD_CUT);
    assert_non_null(strstr(list.row[0].why, "GPU 0 of n is being cut into "));
    assert_true(list.row[0].start_us > rig->queue.now_us);
    sl_queue_list_free(&list);
}

static void assert_why(struct rig *rig, const char *uid, const char *why)
{
    struct sl_queue_list list;
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, sl_str_of(uid), &list, NULL), 0);
    assert_int_equal(list.row[0].reason, SL_HOLD_CUT);
    assert_string_equal(list.row[0].why, why);
    sl_queue_list_free(&list);
}

/* The GPU has room for seven: whoever comes while it is cut is told so, as far as that goes. */
TEST_ON(struct rig *rig, pods_that_come_during_a_cut_are_told_of_it)
{
    int64_t in_us = 0;
    order_small(rig, 1);
    assert_int_equal(rig->written[0].run.cut[0].n, 7);
    for (unsigned i = 1; i < 9; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%u", i);
        rig_put(&rig->queue, (struct rig_pod){.name = name, .gated = true, .resource = SMALL});
    }
    await_reason(rig, "u-p6", SL_HOLD_CUT);
    assert_int_equal(row_of(rig, "u-p0", &in_us), SL_HOLD_CUT);
    assert_int_equal(row_of(rig, "u-p6", &in_us), SL_HOLD_CUT);
    assert_true(in_us > 20 * SECOND && in_us <= 60 * SECOND);
    assert_int_equal(row_of(rig, "u-p7", &in_us), SL_HOLD_NO_ROOM);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, 10 * SECOND);
    end_first(rig, LARGE, "1", "failed");
    await_reason(rig, "u-p6", SL_HOLD_NO_ROOM); /* it has ended otherwise */
}

TEST_ON(struct rig *rig, a_node_that_was_never_cut_is_expected_to_take_as_long_as_others)
{
    int64_t in_us = 0;
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, 5 * SECOND);
    end_first(rig, SMALL, "7", "success");
    rig_put(&rig->queue, (struct rig_pod){.name = "x", .node = "n", .resource = SMALL});
    put_named(rig, "o", LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue,
            (struct rig_pod){.name = "q", .gated = true, .resource = "nvidia.com/mig-3g.40gb"});
    await_write(rig, 2);
    assert_int_equal(row_of(rig, "u-q", &in_us), SL_HOLD_CUT);
    assert_true(in_us > 0 && in_us <= 20 * SECOND); /* 60 s where none was cut */
}

/* Whoever waits may read the names of pods of the own namespace alone. */
TEST_ON(struct rig *rig, a_pod_whose_node_drains_is_told_what_must_end)
{
    struct sl_queue_list list;
    char text[SL_PLAN_TEXT_MAX];
    rig->queue.config.partitioning.drain = true;
    sl_queue_worker_configure(rig->queue.worker, &rig->queue.config);
    put_node(rig, SMALL, "7", "all-1g.10gb", "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "ours",
                                          .node = "n",
                                          .resource = SMALL,
                                          .deadline_s = 600,
                                          .started_us = rig->queue.now_us});
    rig_put(&rig->queue, (struct rig_pod){.name = "secret",
                                          .namespace = "theirs",
                                          .node = "n",
                                          .resource = SMALL,
                                          .deadline_s = 300,
                                          .started_us = rig->queue.now_us});
    rig_put(&rig->queue, (struct rig_pod){.name = "large", .gated = true, .resource = LARGE});
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(status_of(rig).phase, SL_PHASE_DRAINING);
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, SL_STR("u-large"), &list, NULL), 0);
    (void)sl_queue_text(&list.row[0], rig->queue.now_us, text, sizeof(text));
    sl_queue_list_free(&list);
    assert_non_null(strstr(text, "; n drains for it: GPU 0 is to be cut by "));
    assert_non_null(strstr(text, ", after at most default/ours and 1 pod of others"));
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "theirs"));
    rig_delete(&rig->queue, "ours");
    assert_int_equal(
        sl_store_delete_pod(rig->queue.store, SL_STR("theirs"), SL_STR("secret"), SL_STR(""), NULL),
        0);
    await_write(rig, 0);
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, SL_STR("u-large"), &list, NULL), 0);
    assert_int_equal(list.row[0].reason, SL_HOLD_CUT);
    sl_queue_list_free(&list);
}

TEST_ON(struct rig *rig, a_cut_that_was_taken_over_is_told_with_its_gpus)
{
    put_node(rig, SMALL, "0", "sliced-1234-1", "pending", "sliced-1234-1");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_string_equal(status_of(rig).cut, "GPU 0 into 7x 1g.10gb");
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    int64_t in_us = 0;
    await_reason(rig, "u-p", SL_HOLD_CUT); /* whoever it was begun for */
    (void)row_of(rig, "u-p", &in_us);
    assert_true(in_us > 0 && in_us <= 60 * SECOND);
    put_node(rig, SMALL, "0", "sliced-1234-1", "failed", "sliced-1234-1");
    await_write(rig, 0);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "0", "sliced-1234-1", "failed", "");
    (void)rig_later(&rig->queue, SECOND);
    assert_non_null(strstr(rig->queue.all_told, "CutFailed: Failed: GPU 0 into 7x 1g.10gb\n"));
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

TEST_ON(struct rig *rig, a_plan_whose_pods_are_gone_is_not_told_any_more)
{
    put_within_window(rig);
    assert_string_equal(status_of(rig).pods, "default/a");
    rig_delete(&rig->queue, "a");
    for (unsigned i = 0; i < 6000 && status_of(rig).pods[0] != '\0'; i++) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_string_equal(status_of(rig).pods, "");
    assert_string_equal(status_of(rig).why, "");
}

TEST_ON(struct rig *rig, a_cut_that_is_overdue_has_no_estimate)
{
    int64_t in_us = 0;
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(row_of(rig, "u-p0", &in_us), SL_HOLD_CUT);
    assert_true(in_us > 0);
    assert_true(status_of(rig).until_us > rig->queue.now_us);
    (void)rig_later(&rig->queue, 60 * SECOND);
    assert_int_equal(row_of(rig, "u-p0", &in_us), SL_HOLD_CUT);
    assert_int_equal(in_us, -rig->queue.now_us);
    assert_int_equal(status_of(rig).until_us, 0);
    assert_string_equal(status_of(rig).text,
                        "its GPUs are being cut, which takes longer than expected");
}

/* A node's owner writes what it is said to be cut into, and whether that goes on. */
TEST_ON(struct rig *rig, pods_do_not_wait_for_ever_for_a_cut_that_is_stuck)
{
    int64_t in_us = 0;
    put_node(rig, SMALL, "0", "sliced-1234-1", "pending", "sliced-1234-1");
    (void)rig_later(&rig->queue, SECOND);
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    await_reason(rig, "u-p", SL_HOLD_CUT);
    put_named(rig, "o", LARGE, "1", "all-7g.80gb", "success", "");
    (void)rig_later(&rig->queue, 100 * SECOND); /* 60 s are expected */
    assert_int_equal(row_of(rig, "u-p", &in_us), SL_HOLD_CUT);
    assert_int_equal(rig->n_announced, 0);
    await_write(rig, 0);
    assert_int_equal(rig->written[0].step, SL_CUT_ORDER);
    assert_int_equal(status_of(rig).phase, SL_PHASE_CUTTING);
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

TEST_ON(struct rig *rig, a_node_that_may_be_cut_has_nothing_against_it)
{
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    (void)rig_later(&rig->queue, SECOND);
    struct sl_partition_status status = status_of(rig);
    assert_int_equal(status.bar, SL_CUT_BAR_NONE);
    assert_string_equal(status.why, "");
    rig->queue.config.partitioning.max_nodes = 0;
    sl_queue_worker_configure(rig->queue.worker, &rig->queue.config);
    (void)rig_later(&rig->queue, SECOND);
    assert_string_equal(status_of(rig).why, "MaxNodes");
}
