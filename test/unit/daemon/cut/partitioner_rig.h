/* The queue has GPUs cut for the pods that wait: a node of the mig-manager, played by the test. */
#ifndef SLICED_TEST_PARTITIONER_RIG_H
#define SLICED_TEST_PARTITIONER_RIG_H

#include "daemon/cut/partitioner.h"
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
};

/* Orders that the agent hears of; of the file's alone nothing is noted. */
static inline void note_write(void *context, const struct sl_cut_write *write, sl_cut_done done,
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

static inline void answer(struct rig *rig, enum sl_cut_write_end end)
{
    struct written *last = &rig->written[rig->n_written - 1];
    assert_non_null(last->call);
    last->done(last->call, end, NULL);
    last->call = NULL;
}

static inline void wake(void *context)
{
    struct rig *rig = context;
    sl_queue_worker_wake(rig->queue.worker);
}

static inline void begin(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig_begin(&rig->queue);
    rig->queue.config.partitioning.enabled = true;
    rig->queue.config.partitioning.batch_us = 0;
    const struct sl_partitioner_options options = {
        .store = rig->queue.store,
        .write = note_write,
        .cutter = rig,
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

static inline void end(struct rig *rig)
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
static inline void put_node(struct rig *rig, const char *resource, const char *units,
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
    const struct sl_node_facts facts = {.name = SL_STR("n"),
                                        .labels = &label[5],
                                        .annotations = cut[0] == '\0' ? NULL : &annotation,
                                        .allocatable = &allocatable,
                                        .capacity = &allocatable,
                                        .actuator = SL_ACTUATOR_MIG_MANAGER};
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    assert_int_equal(sl_store_put_node(rig->queue.store, node, NULL), 0);
}

static inline struct sl_partition_status status_of(struct rig *rig)
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
static inline void await_write(struct rig *rig, unsigned i)
{
    for (unsigned s = 0; s < 6000 && rig->n_written <= i; s++) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(rig->n_written, i + 1);
}

static inline const char *name_of(const struct rig *rig)
{
    return rig->written[rig->n_written - 1].run.name;
}

/* The agent says how the first cut ended, with the units that the node has then; the mark goes. */
static inline void end_first(struct rig *rig, const char *resource, const char *units,
                             const char *state)
{
    put_node(rig, resource, units, name_of(rig), state, name_of(rig));
    await_write(rig, 1);
    answer(rig, SL_CUT_WRITTEN);
    put_node(rig, resource, units, name_of(rig), state, "");
}

static inline void order_small(struct rig *rig, unsigned pods)
{
    put_node(rig, LARGE, "1", "all-7g.80gb", "success", "");
    for (unsigned i = 0; i < pods; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%u", i);
        rig_put(&rig->queue, (struct rig_pod){.name = name, .gated = true, .resource = SMALL});
    }
    await_write(rig, 0);
}

static inline enum sl_hold_reason row_of(struct rig *rig, const char *uid, int64_t *in_us)
{
    struct sl_queue_list list;
    assert_int_equal(rig->queue.queue.row(rig->queue.worker, sl_str_of(uid), &list, NULL), 0);
    enum sl_hold_reason reason = list.row[0].reason;
    *in_us = list.row[0].start_us - rig->queue.now_us;
    sl_queue_list_free(&list);
    return reason;
}

/* Rounds until the pod is held for that reason: after a plan that took long on the clock of the
 * machine the partitioner rests for longer. */
static inline void await_reason(struct rig *rig, const char *uid, enum sl_hold_reason reason)
{
    int64_t in_us = 0;
    (void)rig_later(&rig->queue, SECOND / 10); /* by then the queue has the pod */
    for (unsigned i = 0; i < 6000 && row_of(rig, uid, &in_us) != reason; i++) {
        (void)rig_later(&rig->queue, SECOND / 10);
    }
    assert_int_equal(row_of(rig, uid, &in_us), reason);
}

static inline unsigned metric(struct rig *rig, const char *sample)
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

static inline int setup(void **state)
{
    static struct rig rig;
    begin(&rig);
    *state = &rig;
    return 0;
}

static inline int teardown(void **state)
{
    end(*state);
    return 0;
}

#endif
