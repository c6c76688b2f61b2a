/* The partitioner's account of itself: one node's state, and metrics. */
#include "daemon/cut/internal.h"
#include "util/clock.h"

static void read_status(void *context, const struct sl_view *view, int64_t now_us,
                        struct sl_partition_status *out)
{
    struct sl_partitioner *partitioner = context;
    (void)pthread_mutex_lock(&partitioner->status);
    sl_engine_node(partitioner->engine, view, now_us, out);
    (void)pthread_mutex_unlock(&partitioner->status);
}

struct sl_partition_reader sl_partitioner_reader(struct sl_partitioner *partitioner)
{
    return partitioner == NULL
               ? (struct sl_partition_reader){.context = NULL}
               : (struct sl_partition_reader){.context = partitioner, .status = read_status};
}

/* ---- metrics ---- */

/* Memory slices of the view's free instances whose profile no pod asks for. */
static uint64_t idle_slices(const struct sl_snapshot *snapshot, const struct sl_view *view)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < view->node->n_instances; i++) {
        const struct sl_instance *instance = &view->node->instance[i];
        if (view->instance_used[i] == 0 && instance->profile != NULL &&
            sl_demand_weight(&snapshot->demand, instance->profile) == 0) {
            sum += instance->profile->memory;
        }
    }
    return sum;
}

void sl_cut_count_gpus(struct sl_partitioner *partitioner, const struct sl_snapshot *snapshot,
                       int64_t now_us)
{
    struct sl_cut_counts *counts = &partitioner->counts;
    memset(counts->gpus, 0, sizeof(counts->gpus));
    counts->idle_slices = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const struct sl_view *view = snapshot->view[i];
        if (view->node->partition.actuator == SL_ACTUATOR_NONE) {
            continue;
        }
        enum sl_partition_phase phase =
            sl_engine_phase(partitioner->engine, view->node->name, now_us);
        counts->gpus[phase] += view->node->n_devices;
        counts->idle_slices += snapshot->n_waiting > 0 ? idle_slices(snapshot, view) : 0;
    }
}

/* Asks the cluster as it is now: what bars a cut passes though nothing wakes the queue. */
static void count_bars(struct sl_partitioner *partitioner, uint64_t nodes[SL_CUT_BARS])
{
    struct sl_store *store = partitioner->options.store;
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    int64_t now_us = sl_clock_real_us();
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const struct sl_view *view = snapshot->view[i];
        struct sl_partition_status status;
        if (view->node->partition.actuator != SL_ACTUATOR_NONE || sl_node_has_gpus(view->node)) {
            read_status(partitioner, view, now_us, &status);
            nodes[status.bar]++;
        }
    }
    sl_store_release(store, snapshot);
}

static void write_bars(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_cut_counts *counts = source;
    for (unsigned i = 0; i < SL_CUT_BARS; i++) {
        sl_metric_sample(out, name, "why", sl_cut_bar_name((enum sl_cut_bar)i), counts->bars[i]);
    }
}

static void write_ends(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_cut_counts *counts = source;
    for (unsigned i = SL_CUT_RUNNING + 1; i < SL_CUT_OUTCOMES; i++) {
        sl_metric_sample(out, name, "outcome", sl_cut_outcome_name((enum sl_cut_outcome)i),
                         counts->ends[i]);
    }
}

static void write_gpus(const void *source, const char *name, struct sl_buf *out)
{
    const struct sl_cut_counts *counts = source;
    for (unsigned i = 0; i < SL_PHASES; i++) {
        sl_metric_sample(out, name, "state", sl_partition_phase_name((enum sl_partition_phase)i),
                         counts->gpus[i]);
    }
}

#define COUNT(member) SL_METRIC_AT(SL_METRIC_U64, struct sl_cut_counts, member)
static const struct sl_metric rows[] = {
    {"sliced_partition_cuts_total", SL_METRIC_COUNTER,
     "Cuts of a node's GPUs that have ended, by outcome.", "outcome", .write = write_ends},
    {"sliced_partition_cuts_begun_total", SL_METRIC_COUNTER, "Cuts begun.", NULL, COUNT(begun)},
    {"sliced_partition_cuts_resumed_total", SL_METRIC_COUNTER,
     "Cuts found under way at the begin of a leadership; an earlier leader counted their begin.",
     NULL, COUNT(resumed)},
    {"sliced_partition_cuts_dropped_total", SL_METRIC_COUNTER,
     "Cuts planned but not begun, as the node had changed.", NULL, COUNT(refused)},
    {"sliced_partition_gpus", SL_METRIC_GAUGE,
     "GPUs of the nodes that may be cut, by the state of their node.", "state",
     .write = write_gpus},
    {"sliced_partition_nodes", SL_METRIC_GAUGE,
     "Nodes with GPUs, by what keeps these from being cut now; None: some may be cut.", "why",
     .write = write_bars},
    {"sliced_partition_idle_slices", SL_METRIC_GAUGE,
     "Memory slices of free instances of these GPUs for which no pod waits or waited of late, "
     "while others wait.",
     NULL, COUNT(idle_slices)},
    {"sliced_partition_plans_total", SL_METRIC_COUNTER, "Plans of cuts.", NULL, COUNT(plans)},
    {"sliced_partition_plan_seconds_total", SL_METRIC_COUNTER, "Time spent in plans of cuts.", NULL,
     SL_METRIC_AT(SL_METRIC_US, struct sl_cut_counts, plan_us)},
};
#undef COUNT

static const struct sl_metric time_rows[] = {
    {"sliced_partition_cut_seconds", SL_METRIC_HISTOGRAM,
     "Time from the begin of a cut to the end of one that was done.", NULL,
     SL_METRIC_AT(SL_METRIC_DISTRIBUTED, struct sl_partitioner, seconds)},
};

const struct sl_metric_table sl_partitioner_metrics[] = {
    SL_METRIC_TABLE(rows), SL_METRIC_TABLE(time_rows), {NULL, 0}};

void sl_partitioner_write_metrics(struct sl_partitioner *partitioner, struct sl_buf *out)
{
    (void)pthread_mutex_lock(&partitioner->status);
    struct sl_cut_counts counts = partitioner->counts;
    bool leads = partitioner->engine != NULL;
    (void)pthread_mutex_unlock(&partitioner->status);
    if (leads) {
        count_bars(partitioner, counts.bars);
    }
    sl_metric_write(&sl_partitioner_metrics[0], &counts, out);
    sl_metric_write(&sl_partitioner_metrics[1], partitioner, out);
}
