/* The queue has GPUs cut for the pods that wait: a node of the mig-manager, played by the test. */
#include "daemon/cut/partitioner.h"
#include "daemon/queue/clock.h"
#include "unit/daemon/queue/queue_rig.h"

#define PRODUCT "NVIDIA-A100-SXM4-80GB"
#define SMALL   "nvidia.com/mig-1g.10gb"
#define LARGE   "nvidia.com/mig-7g.80gb"

enum { WRITES_MAX = 16 };

struct written {
    enum sl_cut_step step;
    struct sl_cut_run run;
    void *call; /* NULL: it has ended */
    sl_cut_done done;
};

struct rig {
    struct queue_rig queue; /* first */
    struct sl_partitioner *partitioner;
    struct sl_partition_reader reader;
    struct written written[WRITES_MAX];
    unsigned n_written;
    unsigned n_announced;
    unsigned n_wakes;
    const char *uid; /* of the node; NULL: none */
};

/* Orders that the agent hears of; of the file's alone nothing is noted. */
static void note_write(void *context, const struct sl_cut_write *write, sl_cut_done done,
                       void *call)
{
    struct rig *rig = context;
    if (write->step == SL_CUT_ORDER && write->run->announces) {
        rig->n_announced++;
        done(call, SL_CUT_WRITTEN, NULL);
        return;
    }
    assert_true(rig->n_written < WRITES_MAX);
    rig->written[rig->n_written++] =
        (struct written){.step = write->step, .run = *write->run, .call = call, .done = done};
}

static void answer(struct rig *rig, enum sl_cut_write_end end)
{
    struct written *last = &rig->written[rig->n_written - 1];
    assert_non_null(last->call);
    last->done(last->call, end, NULL);
    last->call = NULL;
}

static void wake(void *context)
{
    struct rig *rig = context;
    rig->n_wakes++;
    sl_queue_worker_wake(rig->queue.worker);
}

static void begin(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig_begin(&rig->queue);
    rig->queue.config.partitioning.enabled = true;
    rig->queue.config.partitioning.batch_us = 0;
    const struct sl_partitioner_options options = {
        .store = rig->queue.store,
        .config = &rig->queue.config,
        .write = note_write,
        .tell = rig_tell,
        .wake = wake,
        .context = rig,
    };
    rig->partitioner = sl_partitioner_new(&options, NULL);
    assert_non_null(rig->partitioner);
    rig->reader = sl_partitioner_reader(rig->partitioner);
    rig_start(&rig->queue);
    rig->queue.worker->options.partitioner = rig->partitioner;
}

static void end(struct rig *rig)
{
    for (unsigned i = 0; i < rig->n_written; i++) {
        if (rig->written[i].call != NULL) {
            rig->written[i].done(rig->written[i].call, SL_CUT_WRITE_UNKNOWN, NULL);
        }
    }
    rig_end(&rig->queue);
    sl_partitioner_free(rig->partitioner);
}

/* Puts the node n with one A100: units of a profile; config is the label nvidia.com/mig.config. */
static void put_named(struct rig *rig, const char *name, const char *resource, const char *units,
                      const char *config, const char *state, const char *cut)
{
    struct sl_pair label[6] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR(PRODUCT), NULL},
        {SL_STR("nvidia.com/gpu.count"), SL_STR("1"), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("81920"), &label[1]},
        {SL_STR("nvidia.com/mig.strategy"), SL_STR("mixed"), &label[2]},
        {SL_STR("nvidia.com/mig.config"), sl_str_of(config), &label[3]},
        {SL_STR("nvidia.com/mig.config.state"), sl_str_of(state), &label[4]},
    };
    struct sl_pair text = {SL_STR("sliced.dev/cut-text"), SL_STR("GPU 0 into 7x 1g.10gb"), NULL};
    struct sl_pair annotation = {SL_STR("sliced.dev/cut"), sl_str_of(cut), &text};
    struct sl_pair allocatable = {sl_str_of(resource), sl_str_of(units), NULL};
    const struct sl_node_facts facts = {.name = sl_str_of(name),
                                        .uid = sl_str_of(rig->uid),
                                        .labels = &label[5],
                                        .annotations = cut[0] == '\0' ? NULL : &annotation,
                                        .allocatable = &allocatable,
                                        .capacity = &allocatable,
                                        .actuator = SL_ACTUATOR_MIG_MANAGER};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    assert_int_equal(sl_store_put_node(rig->queue.store, node, NULL), 0);
}

static void put_node(struct rig *rig, const char *resource, const char *units, const char *config,
                     const char *state, const char *cut)
{
    put_named(rig, "n", resource, units, config, state, cut);
}

static struct sl_partition_status status_of(struct rig *rig)
{
    struct sl_partition_status status;
    const struct sl_snapshot *snapshot = sl_store_acquire(rig->queue.store);
    uint32_t place = sl_snapshot_find(snapshot, SL_STR("n"), 0);
    assert_int_not_equal(place, SL_NODE_NONE);
    rig->reader.status(rig->reader.context, snapshot->view[place], rig->queue.now_us, &status);
    sl_store_release(rig->queue.store, snapshot);
    return status;
}

/* Rounds until the i-th write, or so many seconds have passed. */
static void await_write(struct rig *rig, unsigned i)
{
    for (unsigned s = 0; s < 1300 && rig->n_written <= i; s++) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(rig->n_written, i + 1);
}

static const char *name_of(const struct rig *rig)
{
    return rig->written[rig->n_written - 1].run.name;
}

static void order_small(struct rig *rig, unsigned pods)
{
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    for (unsigned i = 0; i < pods; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%u", i);
        rig_put(&rig->queue, (struct rig_pod){.name = name, .gated = true, .resource = SMALL});
    }
    await_write(rig, 0);
}

static void the_waiting_pods_get_the_instances_that_are_cut_for_them(void **state)
{
    struct rig *rig = *state;
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

static void a_pod_is_told_that_a_gpu_is_being_cut_for_it(void **state)
{
    struct rig *rig = *state;
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

static enum sl_hold_reason row_of(struct rig *rig, const char *uid, int64_t *in_us)
{
    struct sl_queue_list list;
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, sl_str_of(uid), &list, NULL), 0);
    enum sl_hold_reason reason = list.row[0].reason;
    *in_us = list.row[0].start_us - rig->queue.now_us;
    sl_queue_list_free(&list);
    return reason;
}

/* The GPU has room for seven: whoever comes while it is cut is told so, as far as that goes. */
static void pods_that_come_during_a_cut_are_told_of_it(void **state)
{
    struct rig *rig = *state;
    int64_t in_us = 0;
    order_small(rig, 1);
    assert_int_equal(rig->written[0].run.cut[0].n, 7);
    for (unsigned i = 1; i < 9; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%u", i);
        rig_put(&rig->queue, (struct rig_pod){.name = name, .gated = true, .resource = SMALL});
    }
    for (unsigned i = 0; i < 20; i++) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(row_of(rig, "u-p0", &in_us), SL_HOLD_CUT);
    assert_int_equal(row_of(rig, "u-p6", &in_us), SL_HOLD_CUT);
    assert_true(in_us > 50 * SECOND && in_us <= 60 * SECOND);
    assert_int_equal(row_of(rig, "u-p7", &in_us), SL_HOLD_NO_ROOM);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, 10 * SECOND);
    put_node(rig, LARGE, "1", name_of(rig), "failed", name_of(rig));
    await_write(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", name_of(rig), "failed", "");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(row_of(rig, "u-p6", &in_us), SL_HOLD_NO_ROOM); /* it has ended otherwise */
}

static void a_node_that_was_never_cut_is_expected_to_take_as_long_as_others(void **state)
{
    struct rig *rig = *state;
    int64_t in_us = 0;
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "0", name_of(rig), "pending", name_of(rig));
    (void)rig_later(&rig->queue, 5 * SECOND);
    put_node(rig, SMALL, "7", name_of(rig), "success", name_of(rig));
    await_write(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", name_of(rig), "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "x", .node = "n", .resource = SMALL});
    put_named(rig, "o", LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue,
            (struct rig_pod){.name = "q", .gated = true, .resource = "nvidia.com/mig-3g.40gb"});
    await_write(rig, 2);
    assert_int_equal(row_of(rig, "u-q", &in_us), SL_HOLD_CUT);
    assert_true(in_us > 0 && in_us <= 20 * SECOND); /* 60 s where none was cut */
}

/* Whoever waits may read the names of pods of the own namespace alone. */
static void a_pod_whose_node_drains_is_told_what_must_end(void **state)
{
    struct rig *rig = *state;
    struct sl_queue_list list;
    char text[SL_PLAN_TEXT_MAX];
    rig->queue.config.partitioning.drain = true;
    sl_partitioner_configure(rig->partitioner, &rig->queue.config);
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

static void a_node_whose_cut_failed_is_left_out(void **state)
{
    struct rig *rig = *state;
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

static void a_cut_under_way_is_taken_over(void **state)
{
    struct rig *rig = *state;
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

static void a_cut_that_was_taken_over_is_told_with_its_gpus(void **state)
{
    struct rig *rig = *state;
    put_node(rig, SMALL, "0", "sliced-1234-1", "pending", "sliced-1234-1");
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_string_equal(status_of(rig).cut, "GPU 0 into 7x 1g.10gb");
    rig_put(&rig->queue, (struct rig_pod){.name = "p", .gated = true, .resource = SMALL});
    int64_t in_us = 0;
    (void)rig_later(&rig->queue, SECOND);
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(row_of(rig, "u-p", &in_us), SL_HOLD_CUT); /* whoever it was begun for */
    assert_true(in_us > 0 && in_us <= 60 * SECOND);
    put_node(rig, SMALL, "0", "sliced-1234-1", "failed", "sliced-1234-1");
    await_write(rig, 0);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "0", "sliced-1234-1", "failed", "");
    (void)rig_later(&rig->queue, SECOND);
    assert_non_null(strstr(rig->queue.all_told, "CutFailed: Failed: GPU 0 into 7x 1g.10gb\n"));
}

static void an_order_that_was_not_taken_is_told_with_what_was_said_of_it(void **state)
{
    struct rig *rig = *state;
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

static void a_new_leadership_writes_nothing_of_the_old_one(void **state)
{
    struct rig *rig = *state;
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

static void pods_that_come_within_the_window_share_a_cut(void **state)
{
    struct rig *rig = *state;
    struct sl_config config = rig->queue.config;
    config.partitioning.batch_us = 10 * SECOND;
    sl_queue_worker_configure(rig->queue.worker, &config);
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "a", .gated = true, .resource = SMALL});
    (void)rig_later(&rig->queue, SECOND);
    rig_put(&rig->queue, (struct rig_pod){.name = "b", .gated = true, .resource = SMALL});
    (void)rig_later(&rig->queue, SECOND);
    assert_int_equal(rig->n_written, 0);
    assert_why(rig, "u-b", "GPU 0 of n is to be cut into 7x 1g.10gb for it");
    assert_string_equal(status_of(rig).why, "Planned");
    assert_string_equal(status_of(rig).cut, "GPU 0 into 7x 1g.10gb");
    await_write(rig, 0);
    assert_why(rig, "u-b", "GPU 0 of n is being cut into 7x 1g.10gb for it");
    assert_non_null(strstr(status_of(rig).pods, "/a"));
    assert_non_null(strstr(status_of(rig).pods, "/b"));
}

static void a_plan_whose_pods_are_gone_is_not_told_any_more(void **state)
{
    struct rig *rig = *state;
    struct sl_config config = rig->queue.config;
    config.partitioning.batch_us = 10 * SECOND;
    sl_queue_worker_configure(rig->queue.worker, &config);
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    rig_put(&rig->queue, (struct rig_pod){.name = "a", .gated = true, .resource = SMALL});
    (void)rig_later(&rig->queue, SECOND);
    assert_string_equal(status_of(rig).pods, "default/a");
    rig_delete(&rig->queue, "a");
    (void)rig_later(&rig->queue, SECOND);
    assert_string_equal(status_of(rig).pods, "");
    assert_string_equal(status_of(rig).why, "");
}

static void a_cut_that_is_overdue_has_no_estimate(void **state)
{
    struct rig *rig = *state;
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

/* A write of it that the API server had not answered landed after all. */
static void a_mark_that_comes_back_after_the_end_is_taken_off(void **state)
{
    struct rig *rig = *state;
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

static void fail_at_once(struct rig *rig)
{
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", name_of(rig), "failed", name_of(rig));
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

static void a_cut_is_not_ordered_again_over_a_pod_that_came_since(void **state)
{
    assert_not_again_over(*state, 0);
}

static void a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_behind(void **state)
{
    assert_not_again_over(*state, -3600 * SECOND);
}

static void a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_ahead(void **state)
{
    assert_not_again_over(*state, 3600 * SECOND);
}

static void end_failed(struct rig *rig)
{
    assert_int_equal(rig->written[rig->n_written - 1].step, SL_CUT_FINISH);
    assert_int_equal(rig->written[rig->n_written - 1].run.outcome, SL_CUT_FAILED);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, LARGE, "1", name_of(rig), "failed", "");
}

/* The file was behind for as long as three attempts take: nothing is wrong with the cut. */
static void the_only_cut_that_can_be_made_is_ordered_again_after_the_backoff(void **state)
{
    struct rig *rig = *state;
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
static void a_cut_that_failed_twice_long_ago_is_ordered_again(void **state)
{
    struct rig *rig = *state;
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

static void a_cut_lasts_as_long_when_the_clock_is_set(void **state)
{
    struct rig *rig = *state;
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
static void a_node_that_was_made_anew_is_not_ordered_what_the_old_one_was(void **state)
{
    struct rig *rig = *state;
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
static void nothing_is_cut_again_for_a_pod_that_did_not_take_its_nomination(void **state)
{
    struct rig *rig = *state;
    order_small(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", name_of(rig), "success", name_of(rig));
    await_write(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, SMALL, "7", name_of(rig), "success", "");
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

static unsigned metric(struct rig *rig, const char *sample)
{
    struct sl_buf text;
    sl_buf_init(&text, SIZE_MAX);
    sl_partitioner_write_metrics(rig->partitioner, &text);
    sl_buf_putc(&text, '\0');
    const char *at = strstr(text.data, sample);
    assert_non_null(at);
    unsigned n = (unsigned)strtoul(strchr(at, ' ') + 1, NULL, 10);
    sl_buf_free(&text);
    return n;
}

static unsigned refused(struct rig *rig)
{
    return metric(rig, "\nsliced_partition_cuts_dropped_total ");
}

/* An admin's order that the mig-manager does not end keeps the node as it is, for as long as it
 * lasts. */
static void a_node_that_cannot_be_cut_says_why(void **state)
{
    struct rig *rig = *state;
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

static void a_node_that_may_be_cut_has_nothing_against_it(void **state)
{
    struct rig *rig = *state;
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    (void)rig_later(&rig->queue, SECOND);
    struct sl_partition_status status = status_of(rig);
    assert_int_equal(status.bar, SL_CUT_BAR_NONE);
    assert_string_equal(status.why, "");
    rig->queue.config.partitioning.max_nodes = 0;
    sl_partitioner_configure(rig->partitioner, &rig->queue.config);
    assert_string_equal(status_of(rig).why, "MaxNodes");
}

/* The kubelet may be about to give a pod its units. */
static void a_node_on_which_a_pod_has_yet_to_start_is_not_cut_and_says_so(void **state)
{
    struct rig *rig = *state;
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
static void
a_new_pod_is_reported_an_interval_after_it_was_seen_whatever_its_kubelets_clock(void **state)
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
static void a_pod_that_comes_between_decision_and_order_ends_the_cut(void **state)
{
    struct rig *rig = *state;
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

static int setup(void **state)
{
    static struct rig rig;
    begin(&rig);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    end(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_waiting_pods_get_the_instances_that_are_cut_for_them),
        TEST(a_pod_is_told_that_a_gpu_is_being_cut_for_it),
        TEST(pods_that_come_during_a_cut_are_told_of_it),
        TEST(a_pod_whose_node_drains_is_told_what_must_end),
        TEST(a_node_that_was_never_cut_is_expected_to_take_as_long_as_others),
        TEST(a_node_whose_cut_failed_is_left_out),
        TEST(a_cut_under_way_is_taken_over),
        TEST(a_cut_that_was_taken_over_is_told_with_its_gpus),
        TEST(an_order_that_was_not_taken_is_told_with_what_was_said_of_it),
        TEST(a_new_leadership_writes_nothing_of_the_old_one),
        TEST(a_cut_is_not_ordered_again_over_a_pod_that_came_since),
        TEST(a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_behind),
        TEST(a_cut_is_not_ordered_again_over_a_pod_whose_kubelet_is_ahead),
        TEST(a_cut_lasts_as_long_when_the_clock_is_set),
        TEST(a_node_that_was_made_anew_is_not_ordered_what_the_old_one_was),
        TEST(nothing_is_cut_again_for_a_pod_that_did_not_take_its_nomination),
        TEST(the_only_cut_that_can_be_made_is_ordered_again_after_the_backoff),
        TEST(a_cut_that_failed_twice_long_ago_is_ordered_again),
        TEST(pods_that_come_within_the_window_share_a_cut),
        TEST(a_plan_whose_pods_are_gone_is_not_told_any_more),
        TEST(a_cut_that_is_overdue_has_no_estimate),
        TEST(a_mark_that_comes_back_after_the_end_is_taken_off),
        TEST(a_node_that_cannot_be_cut_says_why),
        TEST(a_node_that_may_be_cut_has_nothing_against_it),
        TEST(a_node_on_which_a_pod_has_yet_to_start_is_not_cut_and_says_so),
        TEST(a_new_pod_is_reported_an_interval_after_it_was_seen_whatever_its_kubelets_clock),
        TEST(a_pod_that_comes_between_decision_and_order_ends_the_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
