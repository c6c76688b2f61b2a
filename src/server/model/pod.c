/* Pods, their asks, and where they are. */
#include "server/model/pod.h"
#include "server/model/row.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/time.h"

enum { ASK_ITEMS_MAX = 16 }; /* that users see: a malformed ask may have hundreds */

/* ---- the ask ---- */

struct ask {
    const char *resource;
    int64_t count;
    const char *kind;
};

static const struct sl_field ask_fields[] = {
    ALL("resource", TEXT, "Name of the resource.", SL_AT(struct ask, resource)),
    ALL("count", NUMBER, "Units of it.", SL_AT(struct ask, count)),
    ALL("kind", TEXT, "What a unit is: whole, mig, replica or memory.", SL_AT(struct ask, kind)),
    SL_FIELDS_END,
};

static bool next_ask(const void *record, unsigned *at, void *child)
{
    const struct sl_pod *pod = record;
    if (*at >= pod->n_items) {
        return false;
    }
    const struct sl_ask_item *item = &pod->items[(*at)++];
    *(struct ask *)child = (struct ask){item->resource, item->count, sl_kind_name(item->kind)};
    return true;
}

static bool next_of_few(const void *record, unsigned *at, void *child)
{
    return *at < ASK_ITEMS_MAX && next_ask(record, at, child);
}

/* ---- the pod ---- */

#define POD(member) SL_AT(struct sl_pod, member)

// NOLINTNEXTLINE(readability-non-const-parameter): of a field
static const char *phase_text(const void *record, char *out)
{
    const struct sl_pod *pod = record;
    (void)out;
    return sl_pod_phase_name(pod->phase);
}

const struct sl_field sl_model_pod[] = {
    OPERATORS("namespace", TEXT, POD(namespace)),
    OPERATORS("name", TEXT, POD(name)),
    OPERATORS("uid", TEXT, POD(uid)),
    OPERATORS("phase", TEXT, TEXT_BY(phase_text)),
    OPERATORS("node", TEXT, POD(node)),
    OPERATORS("createdAt", TIME, POD(created_us)),
    OPERATORS("startedAt", TIME, POD(started_us)),
    USERS("ask", LIST, "GPU resources, counted as Kubernetes counts containers.",
          LIST_OF(ask_fields, next_of_few)),
    ALL("priority", NUMBER, "Priority of the pod.", POD(priority)),
    OPERATORS("timeoutSeconds", POSITIVE, POD(timeout_s)),
    USERS("timeoutSeconds", NUMBER,
          "How long it runs at most, as it states: spec.activeDeadlineSeconds, else the annotation "
          "sliced.dev/timeout; 0: nothing.",
          POD(timeout_s)),
    OPERATORS("ask", LIST, LIST_OF(ask_fields, next_ask)),
    OPERATORS("gpuMemoryMiB", POSITIVE, POD(gpu_memory_mib)),
    OPERATORS("minGpuMemoryMiB", POSITIVE, POD(min_gpu_memory_mib)),
    OPERATORS("malformed", TEXT, POD(malformed)),
    OPERATORS("problem", TEXT, POD(problem)),
    SL_FIELDS_END,
};

/* Appends to the text in out[0..size); cuts what does not fit. */
__attribute__((format(printf, 4, 5))) static void add_text(char *out, size_t size, size_t *len,
                                                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + *len, size - *len, format, args);
    va_end(args);
    if (n > 0) {
        *len += (size_t)n < size - *len ? (size_t)n : size - *len - 1;
    }
}

void sl_model_ask_text(const struct sl_pod *pod, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < pod->n_items; i++) {
        add_text(out, size, &len, "%s%s=%lld", i == 0 ? "" : ",", pod->items[i].resource,
                 (long long)pod->items[i].count);
    }
    if (pod->gpu_memory_mib > 0) {
        add_text(out, size, &len, ",gpu-memory=%lldMi", (long long)pod->gpu_memory_mib);
    }
    if (pod->min_gpu_memory_mib > 0) {
        add_text(out, size, &len, ",min-gpu-memory=%lldMi", (long long)pod->min_gpu_memory_mib);
    }
}

/* ---- places ---- */

struct part {
    const char *resource;
    int64_t device; /* -1: the kubelet alone knows */
    const char *uuid;
    bool is_instance;
    int64_t instance;
    const char *profile;
    int64_t start;
    int64_t amount;
};

#define PART(member) SL_AT(struct part, member)

static const struct sl_field instance_fields[] = {
    ALL("instance", NUMBER, "The MIG instance, counted on the node from 0; absent: it is none.",
        PART(instance)),
    ALL("profile", TEXT, "Profile of the MIG instance.", PART(profile)),
    ALL("start", KNOWN, "Slot in which the MIG instance begins.", PART(start)),
    SL_FIELDS_END,
};

static const struct sl_field part_fields[] = {
    ALL("resource", TEXT, "Of which resource.", PART(resource)),
    ALL("device", KNOWN, "Number of the GPU; null: the kubelet alone knows.", PART(device)),
    ALL("uuid", TEXT, "UUID of the GPU.", PART(uuid), .absent = true),
    MEMBERS_OF(SL_SEEN_BY_ALL, instance_fields, PART(is_instance)),
    ALL("amount", NUMBER, "Units there.", PART(amount)),
    SL_FIELDS_END,
};

static bool next_part(const void *record, unsigned *at, void *child)
{
    const struct sl_model_parts *parts = record;
    struct part *out = child;
    if (*at >= parts->n) {
        return false;
    }
    const struct sl_node *node = parts->node;
    const struct sl_assignment_part *part = &parts->part[(*at)++];
    bool known = part->device >= 0 && part->device < node->n_devices;
    bool is_instance = part->instance >= 0 && part->instance < node->n_instances;
    const struct sl_instance *instance = is_instance ? &node->instance[part->instance] : NULL;
    *out = (struct part){
        .resource =
            part->item < parts->pod->n_items ? parts->pod->items[part->item].resource : NULL,
        .device = known ? node->device[part->device].index : -1,
        .uuid = known ? node->device[part->device].uuid : NULL,
        .is_instance = is_instance,
        .instance = part->instance,
        .profile = is_instance && instance->profile != NULL ? instance->profile->name : NULL,
        .start = is_instance ? instance->start : -1,
        .amount = part->amount,
    };
    return true;
}

const struct sl_field sl_model_parts[] = {
    ALL("devices", LIST, "The places that it has.", LIST_OF(part_fields, next_part)),
    SL_FIELDS_END,
};

void sl_model_parts_text(const struct sl_model_parts *parts, char *out, size_t size)
{
    const struct sl_node *node = parts->node;
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < parts->n; i++) {
        const struct sl_assignment_part *part = &parts->part[i];
        add_text(out, size, &len, "%s", i == 0 ? "" : " ");
        if (part->device < 0 || part->device >= node->n_devices) {
            add_text(out, size, &len, "?");
        } else {
            add_text(out, size, &len, "%d", node->device[part->device].index);
        }
        if (part->instance >= 0 && part->instance < node->n_instances &&
            node->instance[part->instance].start >= 0) {
            add_text(out, size, &len, "/%d", node->instance[part->instance].start);
        }
        if (part->amount != 1) {
            add_text(out, size, &len, "*%lld", (long long)part->amount);
        }
    }
}

/* ---- a pod on a node ---- */

/* Only gpushare's plugin is told the GPU, by an annotation. The kubelet asks NVIDIA's and nos' for
 * any units of the resource, and they choose by a policy of their own. */
bool sl_model_is_plan(const struct sl_pod *pod)
{
    bool plan = false;
    for (uint32_t i = 0; i < pod->n_items && !plan; i++) {
        plan = !sl_kinds[pod->items[i].kind].memory;
    }
    return plan;
}

void sl_model_resident_text(const struct sl_model_resident *resident, char *out, size_t size)
{
    const struct sl_model_parts *parts = &resident->parts;
    bool any = false;
    for (unsigned i = 0; i < parts->n; i++) {
        any = any || parts->part[i].device >= 0;
    }
    if (any) {
        sl_model_parts_text(parts, out, size);
        size_t len = strlen(out);
        add_text(out, size, &len, "%s", resident->resident->assumed ? " (assumed)" : "");
        add_text(out, size, &len, "%s", resident->set_aside ? " (set aside)" : "");
    } else {
        (void)snprintf(out, size, "unknown: %s",
                       parts->n > 0 ? "the kubelet chose"
                                    : "the node has no place left that it could hold");
    }
}

void sl_model_resident_of(const struct sl_view *view, const struct sl_resident *resident,
                          int64_t now_us, struct sl_model_resident *out)
{
    const struct sl_pod *pod = resident->pod;
    bool ends = pod->started_us > 0 && pod->timeout_s > 0;
    int64_t timeout_us = pod->timeout_s * SL_SECOND_US;
    int64_t end_us = ends ? pod->started_us + timeout_us : 0;
    *out = (struct sl_model_resident){
        .parts = {view->node, pod, view->part + resident->first_part, resident->n_parts},
        .pod = pod,
        .node = view->node->name,
        .state = pod->set_aside ? "Nominated" : sl_pod_phase_name(pod->phase),
        .picked_by = sl_model_is_plan(pod) ? "devicePlugin" : "sliced",
        .resident = resident,
        .end_us = end_us,
        .left_us = end_us > now_us ? end_us - now_us : -1,
        .timeout_us = timeout_us > 0 ? timeout_us : -1,
        .set_aside = pod->set_aside,
    };
}

enum { SHOWN_TEXT = 512 };

static const char *pod_text(const void *record, char *out)
{
    const struct sl_model_resident *resident = record;
    (void)snprintf(out, SL_FIELD_TEXT_MAX, "%s/%s", resident->pod->namespace, resident->pod->name);
    return out;
}

static const char *ask_text(const void *record, char *out)
{
    const struct sl_model_resident *resident = record;
    sl_model_ask_text(resident->pod, out, SHOWN_TEXT);
    return out;
}

static const char *parts_text(const void *record, char *out)
{
    const struct sl_model_resident *resident = record;
    sl_model_parts_text(&resident->parts, out, SHOWN_TEXT);
    return out;
}

static const char *devices_text(const void *record, char *out)
{
    sl_model_resident_text(record, out, SHOWN_TEXT);
    return out;
}

#define RESIDENT(member) SL_AT(struct sl_model_resident, member)
#define OF_POD(member)   SL_BEHIND(struct sl_model_resident, pod, struct sl_pod, member)
#define OF_RESIDENT(member)                                                                        \
    SL_BEHIND(struct sl_model_resident, resident, struct sl_resident, member)

const struct sl_field sl_model_resident[] = {
    MEMBERS_OF(SL_SEEN_IN_LISTS, sl_model_pod, RESIDENT(pod)),
    CELL(TEXT, NULL, TEXT_BY(pod_text), COLUMN(1, "POD")),
    CELL(TEXT, NULL, RESIDENT(state), COLUMN(2, "PHASE")),
    CELL(TEXT, NULL, TEXT_BY(ask_text), COLUMN(3, "ASK")),
    CELL(TEXT, NULL, TEXT_BY(parts_text), COLUMN(4, "DEVICE/START")),
    USERS("phase", TEXT, "Phase of the pod.", RESIDENT(state), SHOWN(4, "Phase")),
    USERS("node", TEXT, "Its node.", OF_POD(node), SHOWN(1, "Node")),
    SEEN(SL_SEEN_IN_LISTS, "setAside", FLAG, NULL, RESIDENT(set_aside)),
    ALL("assumed", FLAG, "Its units are known by number alone, and these places are a guess.",
        OF_RESIDENT(assumed)),
    SEEN(SL_SEEN_ALONE | SL_SEEN_BY_USERS, "pickedBy", TEXT,
         "Who picks the devices: sliced, or devicePlugin, which may pick others.",
         RESIDENT(picked_by), WIDE(7, "Picked-By")),
    MEMBERS_OF(SL_SEEN_BY_ALL, sl_model_parts, .at = 0),
    USERS("startedAt", TIME, "When the kubelet saw it.", OF_POD(started_us)),
    USERS("endsBy", TIME, "When its timeout ends it; null: it has none.", RESIDENT(end_us)),
    CELL(TEXT, "GPU, or GPU/start slot, of each unit.", TEXT_BY(devices_text), SHOWN(2, "Devices")),
    CELL(TEXT, "Its ask: resources and counts.", TEXT_BY(ask_text), SHOWN(3, "Ask")),
    CELL(LEFT, "Until its timeout.", RESIDENT(left_us), SHOWN(5, "Ends-In")),
    CELL(LEFT, "How long it runs at most.", RESIDENT(timeout_us), WIDE(6, "Timeout")),
    CELL(NUMBER, "Priority of the pod.", OF_POD(priority), WIDE(8, "Priority")),
    SL_FIELDS_END,
};
