/* The table of kinds. */
#include "server/visibility/kinds.h"

#define COLUMNS(columns) .column = (columns), .n_columns = sizeof(columns) / sizeof((columns)[0])

static const struct sl_vis_column queued_columns[] = {
    {"Name", "string", false, "Name of the pod."},
    {"Position", "integer", false, "Place in the whole queue."},
    {"Ask", "string", false, "Its ask: resources and counts."},
    {"Timeout", "string", false, "How long it runs at most."},
    {"Waited", "string", false, "Since it was created."},
    {"State", "string", false, "Held, Nominated, Released, Staged, Gated or Refused."},
    {"Reason", "string", false, "Why its turn has not come."},
    {"Ahead", "integer", false, "Pods that go before it and want the same."},
    {"Start-In", "string", false, "Estimated time until it starts."},
    {"Node", "string", false, "Where devices are set aside for it, or will be."},
    {"Sure", "string", true, "How sure the estimate is: now, reserved, estimate or none."},
    {"Devices", "string", true, "Devices that are set aside for it, by plan."},
    {"Priority", "integer", true, "Priority of the pod."},
    {"Message", "string", true, "The same in a sentence."},
};

static const struct sl_vis_column running_columns[] = {
    {"Name", "string", false, "Name of the pod."},
    {"Node", "string", false, "Where it is."},
    {"Devices", "string", false, "GPU, or GPU/start slot, of each unit."},
    {"Ask", "string", false, "Its ask: resources and counts."},
    {"Phase", "string", false, "Phase of the pod."},
    {"Ends-In", "string", false, "Until its timeout."},
    {"Timeout", "string", true, "How long it runs at most."},
    {"Picked-By", "string", true, "sliced, or devicePlugin: then the devices are a plan."},
    {"Priority", "integer", true, "Priority of the pod."},
};

static const struct sl_vis_column node_columns[] = {
    {"Name", "string", false, "Name of the node."},
    {"Product", "string", false, "Product name of its GPUs."},
    {"GPUs", "integer", false, "Number of GPUs that are known one by one."},
    {"Used", "string", false, "Units that pods have."},
    {"Set-Aside", "string", false, "Units that are set aside for pods which still wait."},
    {"Free", "string", false, "Units that can be given."},
    {"Problem", "string", false, "Contradictions in its labels or its pods' units."},
    {"Capacity", "string", true, "Units of each resource."},
    {"Layout", "string", true, "How its GPUs are known: annotated, inferred or unknown."},
};

static const struct sl_vis_column partition_columns[] = {
    {"Name", "string", false, "Name of the node."},
    {"Actuator", "string", false, "The agent that cuts its GPUs."},
    {"State", "string", false, "Idle, Draining, Cutting or LeftOut."},
    {"Instances", "string", false, "By profile, over all its GPUs."},
    {"Cut", "string", false, "The cut under way, or the one that failed."},
    {"Why", "string", true, "The step that it has reached, or the failure."},
};

static const struct sl_vis_column usage_columns[] = {
    {"Name", "string", false, "Node, GPU and instance."},
    {"Node", "string", false, "Name of the node."},
    {"GPU", "integer", false, "Its number on the node."},
    {"Used-MiB", "integer", false, "Memory in use."},
    {"Busy", "string", false, "Share of the time in which something ran on it."},
    {"Idle", "string", false, "For how long nothing ran on it."},
    {"State", "string", false, "Good, or why the measurements say too little."},
    {"Bandwidth", "string", true, "Share of the memory's bandwidth."},
    {"Room-MiB", "integer", true, "Memory that its pods leave for one more."},
};

static bool is_always(const struct sl_app *app, const struct sl_config *config)
{
    (void)app;
    (void)config;
    return true;
}

const struct sl_vis_kind sl_vis_kinds[SL_VIS_KINDS] = {
    {"queuedpods", "queuedpod", "QueuedPod", "qp", true, sl_vis_queued_there, sl_vis_queued_collect,
     sl_vis_queued_write, COLUMNS(queued_columns), sl_vis_queued_cells, sl_vis_queued_field,
     "metadata.name, metadata.namespace, status.state, status.reason, status.node"},
    {"runningpods", "runningpod", "RunningPod", "rp", true, is_always, sl_vis_running_collect,
     sl_vis_running_write, COLUMNS(running_columns), sl_vis_running_cells, sl_vis_running_field,
     "metadata.name, metadata.namespace, status.node, status.phase"},
    {"slicenodes", "slicenode", "SliceNode", "sn", false, is_always, sl_vis_nodes_collect,
     sl_vis_nodes_write, COLUMNS(node_columns), sl_vis_nodes_cells, sl_vis_node_field,
     "metadata.name, status.node"},
    {"partitions", "partition", "Partition", "part", false, sl_vis_partitions_there,
     sl_vis_partitions_collect, sl_vis_partitions_write, COLUMNS(partition_columns),
     sl_vis_partitions_cells, sl_vis_node_field, "metadata.name, status.node"},
    {"usages", "usage", "Usage", "gu", false, sl_vis_usages_there, sl_vis_usages_collect,
     sl_vis_usages_write, COLUMNS(usage_columns), sl_vis_usages_cells, sl_vis_node_field,
     "metadata.name, status.node"},
};

int sl_vis_kind_find(const struct sl_app *app, const struct sl_config *config, struct sl_str plural)
{
    for (int i = 0; i < SL_VIS_KINDS; i++) {
        if (sl_str_eq(plural, sl_str_of(sl_vis_kinds[i].plural))) {
            return sl_vis_kinds[i].is_there(app, config) ? i : -1;
        }
    }
    return -1;
}
