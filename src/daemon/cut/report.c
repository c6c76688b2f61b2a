/* The partitioner's account of itself: one node's state, and metrics. */
#include <stdio.h>

#include "codec/object/time.h"
#include "daemon/cut/internal.h"
#include "util/clock.h"
#include "util/time.h"

static enum sl_partition_phase phase_of(const struct sl_cut_place *place, int64_t now_us)
{
    if (place->run != NULL) {
        return SL_PHASE_CUTTING;
    }
    if (now_us < place->record.out_until_us) {
        return SL_PHASE_OUT;
    }
    return place->drained_us > 0 ? SL_PHASE_DRAINING : SL_PHASE_IDLE;
}

static void copy_text(char out[SL_PARTITION_WORDS_MAX], const char *text)
{
    (void)snprintf(out, SL_PARTITION_WORDS_MAX, "%s", text);
}

/* The partitioner itself may have something against a cut of the node. */
static enum sl_cut_bar own_bar(const struct sl_partitioner *partitioner,
                               const struct sl_cut_place *place, int64_t now_us)
{
    enum sl_partition_phase phase = place == NULL ? SL_PHASE_IDLE : phase_of(place, now_us);
    bool full = partitioner->under_way >= (size_t)partitioner->config.partitioning.max_nodes;
    bool failed = place != NULL && sl_cut_record_failed(&place->record, now_us)[0] != 0;
    return phase == SL_PHASE_CUTTING ? SL_CUT_BAR_CUTTING
           : phase == SL_PHASE_OUT   ? SL_CUT_BAR_LEFT_OUT
           : full                    ? SL_CUT_BAR_MAX_NODES
           : failed                  ? SL_CUT_BAR_FAILED_BEFORE
                                     : SL_CUT_BAR_NONE;
}

static void say_bar(struct sl_partition_status *out)
{
    char until[32];
    bool overdue = out->phase == SL_PHASE_CUTTING && out->until_us == 0;
    (void)snprintf(out->text, sizeof(out->text), "%s%s", sl_cut_bar_text(out->bar),
                   overdue ? ", which takes longer than expected" : "");
    if (out->phase == SL_PHASE_OUT) {
        sl_time_format(out->until_us / SL_SECOND_US * SL_SECOND_US, until);
        (void)snprintf(out->text, sizeof(out->text),
                       "its last cut ended (%.64s), and it is left out until %s", out->why, until);
    } else if (out->why[0] == '\0') {
        copy_text(out->why, sl_cut_bar_name(out->bar));
    }
}

static void read_status(void *context, const struct sl_view *view, int64_t now_us,
                        struct sl_partition_status *out)
{
    struct sl_partitioner *partitioner = context;
    const char *node = view->node->name;
    *out = (struct sl_partition_status){.phase = SL_PHASE_IDLE};
    (void)pthread_mutex_lock(&partitioner->status);
    const struct sl_cut_place *place = sl_map_get(&partitioner->places, node, strlen(node));
    enum sl_cut_bar own = own_bar(partitioner, place, now_us);
    bool planned = false;
    if (place != NULL) {
        out->phase = phase_of(place, now_us);
        planned = place->planned && out->phase != SL_PHASE_CUTTING;
        out->failures = place->record.failures;
        out->seconds_us = place->record.seconds_us;
        if (out->phase == SL_PHASE_CUTTING) {
            out->since_us = place->begun_us;
            out->until_us = place->expected_us > now_us ? place->expected_us : 0;
        } else if (out->phase == SL_PHASE_OUT) {
            out->until_us = place->record.out_until_us;
        } else if (out->phase == SL_PHASE_DRAINING) {
            out->until_us = place->drained_us;
        }
        if (out->phase == SL_PHASE_CUTTING || out->phase == SL_PHASE_OUT || planned) {
            copy_text(out->cut, place->cut);
            copy_text(out->pods, place->pods);
            copy_text(out->why, planned ? "Planned" : place->why);
            copy_text(out->text, planned ? "a cut of it is planned, and waits for more pods" : "");
        }
    }
    bool acts = own == SL_CUT_BAR_CUTTING || own == SL_CUT_BAR_LEFT_OUT;
    out->bar = acts ? own : sl_cut_bar_of(view, sl_cut_limits_now(partitioner, now_us));
    out->bar = out->bar == SL_CUT_BAR_NONE ? own : out->bar;
    (void)pthread_mutex_unlock(&partitioner->status);
    if (out->bar != SL_CUT_BAR_NONE && !planned) {
        say_bar(out);
    }
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
    uint64_t gpus[SL_CUT_GPU_STATES] = {0};
    uint64_t slices = 0;
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        const struct sl_view *view = snapshot->view[i];
        if (view->node->partition.actuator == SL_ACTUATOR_NONE) {
            continue;
        }
        const struct sl_cut_place *place = sl_cut_place_find(partitioner, view->node->name);
        gpus[place == NULL ? SL_PHASE_IDLE : phase_of(place, now_us)] += view->node->n_devices;
        slices += snapshot->n_waiting > 0 ? idle_slices(snapshot, view) : 0;
    }
    (void)pthread_mutex_lock(&partitioner->status);
    memcpy(partitioner->counts.gpus, gpus, sizeof(gpus));
    partitioner->counts.idle_slices = slices;
    (void)pthread_mutex_unlock(&partitioner->status);
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
    for (unsigned i = 0; i < SL_CUT_GPU_STATES; i++) {
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
    bool leads = partitioner->leadership != 0;
    (void)pthread_mutex_unlock(&partitioner->status);
    if (leads) {
        count_bars(partitioner, counts.bars);
    }
    sl_metric_write(&sl_partitioner_metrics[0], &counts, out);
    sl_metric_write(&sl_partitioner_metrics[1], partitioner, out);
}
