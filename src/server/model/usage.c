/* Measured GPUs, pods and namespaces. */
#include "server/model/usage.h"
#include "server/model/row.h"

#include <stdio.h>

/* ---- GPUs ---- */

#define USAGE(member)       SL_AT(struct sl_model_usage, member)
#define OF_ROW(member)      SL_BEHIND(struct sl_model_usage, row, struct sl_usage_row, member)
#define OF_MEASURED(member) SL_BEHIND(struct sl_model_usage, measured, struct sl_measured, member)

static const char *instance_text(const void *record, char *out)
{
    const struct sl_usage_row *row = ((const struct sl_model_usage *)record)->row;
    if (row->instance < 0) {
        return NULL;
    }
    (void)snprintf(out, SL_FIELD_TEXT_MAX, "%d %s", row->instance, row->profile);
    return out;
}

const struct sl_field sl_model_usage[] = {
    ALL("node", TEXT, "Name of the node.", USAGE(node), COLUMN(1, "NODE"), SHOWN(1, "Node")),
    ALL("gpu", NUMBER, "Number of the GPU on its node.", OF_ROW(gpu), COLUMN(2, "GPU"),
        SHOWN(2, "GPU")),
    OPERATORS("instance", KNOWN, OF_ROW(instance)),
    CELL(TEXT, NULL, TEXT_BY(instance_text), COLUMN(3, "INSTANCE")),
    ALL("profile", TEXT, "Profile of the instance; null: it is a GPU.", OF_ROW(profile)),
    OPERATORS("pods", NUMBER, USAGE(pods)),
    CELL(KNOWN, NULL, USAGE(pods_on_gpu), COLUMN(4, "PODS")),
    ALL("usedMiB", KNOWN, "Memory in use.", OF_MEASURED(used_mib), COLUMN(5, "USED MiB"),
        SHOWN(3, "Used-MiB")),
    OPERATORS("memoryMiB", POSITIVE, USAGE(memory_mib), COLUMN(6, "OF")),
    ALL("busyPermille", PERMILLE, "Share of the time in which something ran on it.",
        OF_MEASURED(busy), COLUMN(7, "BUSY"), SHOWN(4, "Busy")),
    ALL("bandwidthPermille", PERMILLE, "Share of the memory's bandwidth.", OF_MEASURED(bandwidth),
        COLUMN(8, "BANDWIDTH"), WIDE(8, "Bandwidth")),
    ALL("powerWatts", KNOWN, "What the GPU draws.", OF_ROW(watts), COLUMN(9, "POWER W"),
        SHOWN(6, "Watts")),
    ALL("energyJoules", JOULES, "What the GPU drew since it was first measured.", OF_ROW(joules),
        COLUMN(10, "ENERGY kJ"), WIDE(10, "Joules")),
    OPERATORS("idleSeconds", SPAN, OF_ROW(idle_us), COLUMN(11, "IDLE")),
    CELL(LEFT, "For how long nothing ran on it.", USAGE(idle_us), SHOWN(5, "Idle")),
    OPERATORS("idleSince", TIME, USAGE(since_us)),
    ALL("state", TEXT, "Of the measurements: Good, Short, Gappy, Stale or Absent.", USAGE(state),
        COLUMN(12, "STATE"), SHOWN(7, "State")),
    ALL("sampledAt", TIME, "When the last sample was taken.", OF_ROW(sampled_us)),
    ALL("roomMiB", KNOWN, "Memory that its pods leave for one more.", OF_MEASURED(room_mib),
        COLUMN(13, "ROOM MiB"), WIDE(9, "Room-MiB")),
    OPERATORS("roomBy", TEXT, USAGE(room_by), COLUMN(14, "BY")),
    OPERATORS("overMiB", NUMBER, OF_MEASURED(over_mib)),
    SL_FIELDS_END,
};

void sl_model_usage_of(const struct sl_view *view, const struct sl_usage_row *row,
                       struct sl_model_usage *out)
{
    const struct sl_measured *measured = &row->measured;
    *out = (struct sl_model_usage){
        .node = view->node->name,
        .row = row,
        .measured = measured,
        .state = sl_series_state_name(measured->state),
        .room_by = measured->room_mib < 0 ? NULL : sl_sharing_name(measured->by),
        .pods_on_gpu = row->instance < 0 ? 0 : -1,
        .idle_us = row->idle_us > 0 ? row->idle_us : -1,
        .since_us = row->idle_us > 0 ? row->since_us : 0,
    };
}

static int device_of(const struct sl_view *view, int32_t gpu)
{
    for (unsigned i = 0; i < view->node->n_devices; i++) {
        if (view->node->device[i].index == gpu) {
            return (int)i;
        }
    }
    return -1;
}

static bool is_on(const struct sl_view *view, const struct sl_resident *resident, int device)
{
    for (unsigned p = 0; p < resident->n_parts; p++) {
        if (view->part[resident->first_part + p].device == device) {
            return true;
        }
    }
    return false;
}

void sl_model_usage_now(const struct sl_view *view, const struct sl_usage_row *row,
                        struct sl_model_usage *out)
{
    int device = row->instance < 0 ? device_of(view, row->gpu) : -1;
    sl_model_usage_of(view, row, out);
    if (device < 0) {
        return;
    }
    for (unsigned i = 0; i < view->n_residents; i++) {
        out->pods += is_on(view, &view->resident[i], device);
    }
    out->pods_on_gpu = out->pods;
    out->memory_mib = view->node->device[device].memory_mib;
    if (row->measured.state == SL_SERIES_GOOD &&
        row->measured.pods != sl_view_pods_of(view, (unsigned)device)) {
        out->own = row->measured;
        out->own.state = SL_SERIES_SHORT;
        out->own.room_mib = -1;
        out->measured = &out->own;
        out->state = sl_series_state_name(SL_SERIES_SHORT);
        out->room_by = NULL;
    }
}

/* ---- pods ---- */

#define POD_USE(member) SL_AT(struct sl_model_pod_use, member)
#define OF_USE(member)  SL_BEHIND(struct sl_model_pod_use, use, struct sl_pod_use, member)
#define OF_POD(member)  SL_BEHIND(struct sl_model_pod_use, resident.pod, struct sl_pod, member)

static const char *pods_devices_text(const void *record, char *out)
{
    const struct sl_model_pod_use *pod = record;
    sl_model_resident_text(&pod->resident, out, SL_FIELD_TEXT_MAX);
    return out;
}

const struct sl_field sl_model_pod_use[] = {
    MEMBERS_OF(SL_SEEN_BY_OPERATORS, sl_model_pod, POD_USE(resident.pod)),
    CELL(TEXT, NULL, OF_POD(namespace), COLUMN(1, "NAMESPACE")),
    CELL(TEXT, NULL, OF_POD(name), COLUMN(2, "POD")),
    CELL(TEXT, NULL, POD_USE(resident.node), COLUMN(3, "NODE")),
    MEMBERS_OF(SL_SEEN_BY_OPERATORS, sl_model_parts, .at = 0),
    CELL(TEXT, NULL, TEXT_BY(pods_devices_text), COLUMN(4, "DEVICES")),
    OPERATORS("gpuPermille", NUMBER, OF_USE(share)),
    OPERATORS("declaredMiB", KNOWN, OF_USE(declared_mib), COLUMN(5, "DECLARED MiB")),
    OPERATORS("usedMiB", KNOWN, OF_USE(used_mib), COLUMN(6, "USED MiB")),
    OPERATORS("overMiB", NUMBER, OF_USE(over_mib)),
    OPERATORS("energyJoules", JOULES, POD_USE(joules), COLUMN(7, "ENERGY kJ")),
    OPERATORS("idleSeconds", SPAN, OF_USE(idle_us), COLUMN(8, "IDLE")),
    OPERATORS("idleSince", TIME, POD_USE(since_us)),
    OPERATORS("idle", FLAG, POD_USE(idle)),
    SL_FIELDS_END,
};

/* ---- namespaces ---- */

#define SPACE(member) SL_AT(struct sl_model_space, member)

const struct sl_field sl_model_space[] = {
    OPERATORS("namespace", TEXT, SPACE(name), COLUMN(1, "NAMESPACE")),
    OPERATORS("pods", NUMBER, SPACE(pods), COLUMN(2, "PODS")),
    OPERATORS("devices", NUMBER, SPACE(devices), COLUMN(3, "DEVICES")),
    OPERATORS("gpuPermille", SHARE, SPACE(share), COLUMN(4, "GPUS")),
    OPERATORS("idlePods", NUMBER, SPACE(idle_pods), COLUMN(5, "IDLE PODS")),
    OPERATORS("idleGpuPermille", SHARE, SPACE(idle_share), COLUMN(6, "IDLE GPUS")),
    OPERATORS("idleGpuSeconds", SPAN, SPACE(idle_us), COLUMN(7, "IDLE GPU TIME")),
    OPERATORS("declaredMiB", NUMBER, SPACE(declared_mib), COLUMN(8, "DECLARED MiB")),
    OPERATORS("usedMiB", KNOWN, SPACE(used_mib), COLUMN(9, "USED MiB")),
    OPERATORS("energyJoules", JOULES, SPACE(joules), COLUMN(10, "ENERGY kJ")),
    SL_FIELDS_END,
};
