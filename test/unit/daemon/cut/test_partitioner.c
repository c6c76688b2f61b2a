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

/* GPU 0 is one large instance, GPU 1 seven small ones. */
static void put_two_gpus(struct rig *rig)
{
    struct sl_pair label[4] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR(PRODUCT), NULL},
        {SL_STR("nvidia.com/gpu.count"), SL_STR("2"), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("81920"), &label[1]},
        {SL_STR("nvidia.com/mig.strategy"), SL_STR("mixed"), &label[2]},
    };
    struct sl_pair allocatable[2] = {{SL_STR(LARGE), SL_STR("1"), NULL},
                                     {SL_STR(SMALL), SL_STR("7"), &allocatable[0]}};
    struct sl_instance_facts instance[8] = {{SL_STR("7g.80gb"), -1, NULL}};
    struct sl_device_facts device[2] = {{.mig = true, .instances = &instance[0]},
                                        {.index = 1, .mig = true, .next = &device[0]}};
    for (unsigned i = 1; i < 8; i++) {
        instance[i] = (struct sl_instance_facts){SL_STR("1g.10gb"), -1, device[1].instances};
        device[1].instances = &instance[i];
    }
    const struct sl_node_facts facts = {.name = SL_STR("n"),
                                        .labels = &label[3],
                                        .allocatable = &allocatable[1],
                                        .capacity = &allocatable[1],
                                        .devices = &device[1],
                                        .actuator = SL_ACTUATOR_MIG_MANAGER};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    assert_int_equal(sl_store_put_node(rig->queue.store, node, NULL), 0);
}

static unsigned refused(struct rig *rig)
{
    return metric(rig, "\nsliced_partition_cuts_dropped_total ");
}

/* The kubelet may be about to give a pod its units. */
TEST_ON(struct rig *rig, a_node_on_which_a_pod_has_yet_to_start_is_not_cut_and_says_so)
{
    put_two_gpus(rig);
    rig_put(&rig->queue, (struct rig_pod){.name = "comes", .node = "n", .resource = SMALL});
    rig_put(&rig->queue,
            (struct rig_pod){.name = "waits", .gated = true, .resource = "nvidia.com/mig-3g.40gb"});
    for (unsigned i = 0; i < 80; i++) { /* 8 s */
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(refused(rig), 0);
    assert_int_equal(rig->n_written, 0);
    assert_int_equal(status_of(rig).phase, SL_PHASE_IDLE);
    assert_string_equal(status_of(rig).why, "Starting");
    assert_int_equal(status_of(rig).failures, 0);
    rig_delete(&rig->queue, "comes");
    await_write(rig, 0);
}

/* One GPU with seven small instances, one of which nos' agent reports in use. */
static void put_reported(struct rig *rig)
{
    struct sl_pair label[4] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR(PRODUCT), NULL},
        {SL_STR("nvidia.com/gpu.count"), SL_STR("1"), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("81920"), &label[1]},
        {SL_STR("nos.nebuly.com/gpu-partitioning"), SL_STR("mig"), &label[2]},
    };
    struct sl_pair report[2] = {
        {SL_STR("nos.nebuly.com/status-gpu-0-1g.10gb-used"), SL_STR("1"), NULL},
        {SL_STR("nos.nebuly.com/status-gpu-0-1g.10gb-free"), SL_STR("6"), &report[0]},
    };
    struct sl_pair allocatable = {SL_STR(SMALL), SL_STR("7"), NULL};
    const struct sl_node_facts facts = {.name = SL_STR("n"),
                                        .labels = &label[3],
                                        .annotations = &report[1],
                                        .allocatable = &allocatable,
                                        .capacity = &allocatable,
                                        .actuator = SL_ACTUATOR_NOS_MIG};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    assert_int_equal(sl_store_put_node(rig->queue.store, node, NULL), 0);
}

/* The report may be that of a pod which has ended: then the new one has an instance called free. */
TEST_THAT(a_new_pod_is_reported_an_interval_after_it_was_seen_whatever_its_kubelets_clock)
{
    struct rig *rig = *state;
    int64_t interval_us = rig->queue.config.partitioning.nos_report_us;
    put_reported(rig);
    rig_put(&rig->queue, (struct rig_pod){.name = "x",
                                          .node = "n",
                                          .resource = SMALL,
                                          .started_us = rig->queue.now_us - 3600 * SECOND});
    rig_put(&rig->queue,
            (struct rig_pod){.name = "waits", .gated = true, .resource = "nvidia.com/mig-3g.40gb"});
    int64_t seen_us = rig->queue.now_us;
    assert_true(interval_us > 2 * SECOND);
    while (rig->queue.now_us < seen_us + interval_us - SECOND) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(rig->n_written, 0);
    await_write(rig, 0);
    assert_int_equal(rig->written[0].step, SL_CUT_ORDER);
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
