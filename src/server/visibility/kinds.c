/* The table of kinds. */
#include "server/visibility/kinds.h"

#define COLUMNS(columns) .column = (columns), .n_columns = sizeof(columns) / sizeof((columns)[0])
#define MEMBERS(members) .member = (members), .n_members = sizeof(members) / sizeof((members)[0])

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
    {"Why", "string", false,
     "The step that it has reached, the failure, or what keeps its GPUs from being cut now."},
    {"Text", "string", true, "What keeps its GPUs from being cut, in a sentence."},
};

static const struct sl_vis_column usage_columns[] = {
    {"Name", "string", false, "Node, GPU and instance."},
    {"Node", "string", false, "Name of the node."},
    {"GPU", "integer", false, "Its number on the node."},
    {"Used-MiB", "integer", false, "Memory in use."},
    {"Busy", "string", false, "Share of the time in which something ran on it."},
    {"Idle", "string", false, "For how long nothing ran on it."},
    {"Watts", "integer", false, "What the GPU draws."},
    {"State", "string", false, "Good, or why the measurements say too little."},
    {"Bandwidth", "string", true, "Share of the memory's bandwidth."},
    {"Room-MiB", "integer", true, "Memory that its pods leave for one more."},
    {"Joules", "integer", true, "What the GPU drew since it was first measured."},
};

/* ---- members ---- */

#define SPEC_MEMBERS                                                                               \
    {0, "spec", SL_VIS_OF_MEMBERS, "What the pod asks for."},                                      \
        {1, "ask", SL_VIS_LIST, "GPU resources, counted as Kubernetes counts containers."},        \
        {2, "resource", SL_VIS_TEXT, "Name of the resource."},                                     \
        {2, "count", SL_VIS_NUMBER, "Units of it."},                                               \
        {2, "kind", SL_VIS_TEXT, "What a unit is: whole, mig, replica or memory."},                \
        {1, "priority", SL_VIS_NUMBER, "Priority of the pod."},                                    \
    {                                                                                              \
        1, "timeoutSeconds", SL_VIS_NUMBER,                                                        \
            "How long it runs at most, as it states: spec.activeDeadlineSeconds, else the "        \
            "annotation sliced.dev/timeout; 0: nothing."                                           \
    }

static const struct sl_vis_member queued_members[] = {
    SPEC_MEMBERS,
    {0, "status", SL_VIS_OF_MEMBERS, "How it stands in the queue."},
    {1, "position", SL_VIS_NUMBER, "Place in the whole queue, from 1."},
    {1, "state", SL_VIS_TEXT, "Held, Nominated, Released, Staged, Gated or Refused."},
    {1, "reason", SL_VIS_TEXT,
     "Why its turn has not come, in one word; None: nothing is against it."},
    {1, "message", SL_VIS_TEXT, "The same in a sentence."},
    {1, "since", SL_VIS_TIME, "Since when it has been in that state."},
    {1, "ahead", SL_VIS_NUMBER, "Pods that go before it and want the same resource."},
    {1, "plannedTimeoutSeconds", SL_VIS_NUMBER,
     "The timeout by which it is planned: what it states, or the queue's default."},
    {1, "estimatedStart", SL_VIS_OF_MEMBERS, "When it should start."},
    {2, "sure", SL_VIS_TEXT,
     "How sure that is. now: it is nominated. reserved: by that time. estimate: about then, if all "
     "ahead run for their whole timeouts. none: nothing can be said."},
    {2, "at", SL_VIS_TIME, "The time; null: unknown, or it is due."},
    {1, "latestStart", SL_VIS_TIME,
     "By when the order bounded promises a start; null: no promise."},
    {1, "node", SL_VIS_TEXT, "Where devices are set aside for it, or will be."},
    {1, "devices", SL_VIS_TEXT, "What is set aside for it there."},
    {1, "expiries", SL_VIS_NUMBER, "Nominations of it that were not bound in time."},
    {1, "remedy", SL_VIS_TEXT, "What would help; null: only time, or nothing is against it."},
    {1, "nodes", SL_VIS_OF_MEMBERS, "What nodes have against it; only where one pod is read."},
    {2, "nodes", SL_VIS_NUMBER, "How many nodes there are."},
    {2, "excluded", SL_VIS_NUMBER,
     "How many of them its node selector, affinity or tolerations exclude."},
    {2, "fit", SL_VIS_NUMBER, "How many of them could take it now."},
    {2, "reasons", SL_VIS_LIST, "What the others have against it, each reason once."},
    {3, "reason", SL_VIS_TEXT, "The reason in one word."},
    {3, "nodes", SL_VIS_NUMBER, "How many nodes give it."},
    {3, "never", SL_VIS_FLAG, "Waiting alone does not change it."},
    {3, "nearest", SL_VIS_TEXT, "What the node that lacks least says."},
    {3, "help", SL_VIS_TEXT, "What the reason means."},
    {3, "remedy", SL_VIS_TEXT, "What would help; null: nothing is known."},
    {2, "uncut", SL_VIS_LIST,
     "What keeps GPUs from being cut on nodes that it would fit on then, each thing once."},
    {3, "why", SL_VIS_TEXT, "The thing in one word."},
    {3, "nodes", SL_VIS_NUMBER, "How many nodes it is true of."},
    {3, "text", SL_VIS_TEXT, "The same in a sentence, which names one of them."},
};

static const struct sl_vis_member running_members[] = {
    SPEC_MEMBERS,
    {0, "status", SL_VIS_OF_MEMBERS, "Where it is, and until when."},
    {1, "phase", SL_VIS_TEXT, "Phase of the pod."},
    {1, "node", SL_VIS_TEXT, "Its node."},
    {1, "assumed", SL_VIS_FLAG,
     "Its units are known by number alone, and these places are a guess."},
    {1, "pickedBy", SL_VIS_TEXT,
     "Who picks the devices: sliced, or devicePlugin, which may pick others."},
    {1, "devices", SL_VIS_LIST, "The places that it has."},
    {2, "resource", SL_VIS_TEXT, "Of which resource."},
    {2, "device", SL_VIS_NUMBER, "Number of the GPU; null: the kubelet alone knows."},
    {2, "uuid", SL_VIS_TEXT, "UUID of the GPU."},
    {2, "instance", SL_VIS_NUMBER,
     "The MIG instance, counted on the node from 0; absent: it is none."},
    {2, "profile", SL_VIS_TEXT, "Profile of the MIG instance."},
    {2, "start", SL_VIS_NUMBER, "Slot in which the MIG instance begins."},
    {2, "amount", SL_VIS_NUMBER, "Units there."},
    {1, "startedAt", SL_VIS_TIME, "When the kubelet saw it."},
    {1, "endsBy", SL_VIS_TIME, "When its timeout ends it; null: it has none."},
};

static const struct sl_vis_member node_members[] = {
    {0, "status", SL_VIS_OF_MEMBERS, "What the node has, and who uses it."},
    {1, "product", SL_VIS_TEXT, "Of its GPUs."},
    {1, "layout", SL_VIS_TEXT,
     "How its GPUs are known: annotated (one by one), inferred (from labels) or unknown."},
    {1, "problem", SL_VIS_TEXT, "What is wrong with its labels or its pods' units."},
    {1, "resources", SL_VIS_LIST, "Units of each resource."},
    {2, "resource", SL_VIS_TEXT, "Name of the resource."},
    {2, "kind", SL_VIS_TEXT, "What a unit is: whole, mig, replica or memory."},
    {2, "capacity", SL_VIS_NUMBER, "Units that there are."},
    {2, "used", SL_VIS_NUMBER, "Units that pods have."},
    {2, "setAside", SL_VIS_NUMBER, "Units that are set aside for pods which still wait."},
    {2, "free", SL_VIS_NUMBER, "Units that can be given."},
    {1, "devices", SL_VIS_LIST, "GPUs that are known one by one."},
    {2, "index", SL_VIS_NUMBER, "Number of the GPU on its node."},
    {2, "uuid", SL_VIS_TEXT, "UUID of the GPU."},
    {2, "memoryMiB", SL_VIS_NUMBER, "Its memory; absent where it is unknown."},
    {2, "healthy", SL_VIS_FLAG, "Nothing says that it is broken."},
    {2, "mig", SL_VIS_FLAG, "Its MIG mode is on."},
    {2, "instances", SL_VIS_LIST, "Its MIG instances."},
    {3, "profile", SL_VIS_TEXT, "Profile of the instance."},
    {3, "start", SL_VIS_NUMBER, "Slot in which it begins; -1: unknown."},
    {3, "taken", SL_VIS_FLAG, "A pod has it, or it is set aside for one."},
};

static const struct sl_vis_member partition_members[] = {
    {0, "status", SL_VIS_OF_MEMBERS, "How the node's GPUs are cut."},
    {1, "actuator", SL_VIS_TEXT, "Which agent cuts them."},
    {1, "state", SL_VIS_TEXT, "Idle, Draining, Cutting or LeftOut."},
    {1, "instances", SL_VIS_TEXT, "MIG instances by profile, over all its GPUs."},
    {1, "since", SL_VIS_TIME, "Since when it has been in that state."},
    {1, "until", SL_VIS_TIME,
     "When the cut or the drain is expected to end, or the node may be cut again; null: not "
     "known, as of a cut that takes longer than expected."},
    {1, "failures", SL_VIS_NUMBER, "Cuts of it that failed in a row."},
    {1, "cut", SL_VIS_TEXT, "What is being cut, or is planned, or what failed."},
    {1, "why", SL_VIS_TEXT,
     "The step that it has reached, Planned, what failed, or what keeps its GPUs from being cut "
     "now, in one word."},
    {1, "text", SL_VIS_TEXT, "The same in a sentence."},
};

static const struct sl_vis_member usage_members[] = {
    {0, "status", SL_VIS_OF_MEMBERS, "What was measured of the GPU, or of the MIG instance."},
    {1, "node", SL_VIS_TEXT, "Name of the node."},
    {1, "gpu", SL_VIS_NUMBER, "Number of the GPU on its node."},
    {1, "profile", SL_VIS_TEXT, "Profile of the instance; null: it is a GPU."},
    {1, "usedMiB", SL_VIS_NUMBER, "Memory in use."},
    {1, "busyPermille", SL_VIS_NUMBER, "Share of the time in which something ran on it."},
    {1, "bandwidthPermille", SL_VIS_NUMBER, "Share of the memory's bandwidth."},
    {1, "powerWatts", SL_VIS_NUMBER, "What the GPU draws."},
    {1, "energyJoules", SL_VIS_NUMBER, "What the GPU drew since it was first measured."},
    {1, "roomMiB", SL_VIS_NUMBER, "Memory that its pods leave for one more."},
    {1, "state", SL_VIS_TEXT, "Of the measurements: Good, Short, Gappy, Stale or Absent."},
    {1, "sampledAt", SL_VIS_TIME, "When the last sample was taken."},
};

static const struct sl_vis_member estimate_members[] = {
    {0, "spec", SL_VIS_OF_MEMBERS, "The question."},
    {1, "pod", SL_VIS_OF_MEMBERS, "The Pod, as it would be created."},
    {0, "status", SL_VIS_OF_MEMBERS, "The answer: where the pod would stand if it came now."},
    {1, "position", SL_VIS_NUMBER, "Place in the whole queue, from 1."},
    {1, "ahead", SL_VIS_NUMBER, "Pods that go before it and want the same resource."},
    {1, "startsInSeconds", SL_VIS_NUMBER, "How long it would wait; null: nothing can be said."},
    {1, "estimatedStart", SL_VIS_TIME, "When it would start; null: nothing can be said."},
    {1, "estimateKind", SL_VIS_TEXT, "How sure that is: now, reserved, estimate or none."},
    {1, "state", SL_VIS_TEXT, "Held, Nominated, Staged, Gated or Refused."},
    {1, "reason", SL_VIS_TEXT, "Why its turn would not have come, in one word, or None."},
    {1, "node", SL_VIS_TEXT, "Where devices would be set aside for it at once."},
    {1, "devices", SL_VIS_TEXT, "The devices that it would get there."},
    {1, "message", SL_VIS_TEXT, "The reason in a sentence."},
    {1, "delayed", SL_VIS_NUMBER,
     "Pods that wait now and would start later, or at a time no longer known."},
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
     "metadata.name, metadata.namespace, status.state, status.reason, status.node",
     "QueuedPod is a pod that waits: its place in the queue, why it waits, and when it should "
     "start.",
     MEMBERS(queued_members)},
    {"runningpods", "runningpod", "RunningPod", "rp", true, is_always, sl_vis_running_collect,
     sl_vis_running_write, COLUMNS(running_columns), sl_vis_running_cells, sl_vis_running_field,
     "metadata.name, metadata.namespace, status.node, status.phase",
     "RunningPod is a pod that has GPUs: where it is, and until when.", MEMBERS(running_members)},
    {"slicenodes", "slicenode", "SliceNode", "sn", false, is_always, sl_vis_nodes_collect,
     sl_vis_nodes_write, COLUMNS(node_columns), sl_vis_nodes_cells, sl_vis_node_field,
     "metadata.name, status.node",
     "SliceNode is a node with GPUs: its slices, and how many are used, set aside and free.",
     MEMBERS(node_members)},
    {"partitions", "partition", "Partition", "part", false, sl_vis_partitions_there,
     sl_vis_partitions_collect, sl_vis_partitions_write, COLUMNS(partition_columns),
     sl_vis_partitions_cells, sl_vis_node_field, "metadata.name, status.node",
     "Partition is a node whose GPUs may be cut: how they are cut, and what is under way.",
     MEMBERS(partition_members)},
    {"usages", "usage", "Usage", "gu", false, sl_vis_usages_there, sl_vis_usages_collect,
     sl_vis_usages_write, COLUMNS(usage_columns), sl_vis_usages_cells, sl_vis_node_field,
     "metadata.name, status.node", "Usage is a GPU or MIG instance: what it was measured to do.",
     MEMBERS(usage_members)},
};

const struct sl_vis_kind sl_vis_estimate_kind = {
    .plural = "startestimates",
    .singular = "startestimate",
    .kind = "StartEstimate",
    .namespaced = true,
    .is_there = sl_vis_queued_there,
    .help =
        "StartEstimate asks when a pod would start that does not exist. It is answered, not kept.",
    MEMBERS(estimate_members),
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
