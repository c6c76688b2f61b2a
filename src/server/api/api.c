/* Pieces that several replies of the debug API have in common. */
#include "server/api/api.h"

#include <stdarg.h>
#include <stdio.h>

#include "server/app/workspace.h"
#include "sliced/overcommit.h"
#include "util/timestamp.h"

void sl_api_time(struct sl_writer *w, int64_t us)
{
    char text[32];
    if (us == 0) {
        sl_write_null(w);
        return;
    }
    sl_time_format(us, text);
    sl_write_text(w, text);
}

void sl_api_ask(struct sl_writer *w, const struct sl_pod *pod, uint32_t max)
{
    sl_write_member_array(w, "ask");
    for (uint32_t i = 0; i < pod->n_items && i < max; i++) {
        sl_write_object(w);
        sl_write_member_text(w, "resource", pod->items[i].resource);
        sl_write_member_i64(w, "count", pod->items[i].count);
        sl_write_member_text(w, "kind", sl_kind_name(pod->items[i].kind));
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

/* 0 is not known either. */
static void member_positive(struct sl_writer *w, const char *key, int64_t number)
{
    sl_write_member_known(w, key, number == 0 ? -1 : number);
}

void sl_api_pod_members(struct sl_writer *w, const struct sl_pod *pod)
{
    sl_write_member_text(w, "namespace", pod->namespace);
    sl_write_member_text(w, "name", pod->name);
    sl_write_member_text(w, "uid", pod->uid);
    sl_write_member_text(w, "phase", sl_pod_phase_name(pod->phase));
    sl_write_member_text(w, "node", pod->node);
    sl_write_key(w, "createdAt");
    sl_api_time(w, pod->created_us);
    sl_write_key(w, "startedAt");
    sl_api_time(w, pod->started_us);
    sl_write_member_i64(w, "priority", pod->priority);
    member_positive(w, "timeoutSeconds", pod->timeout_s);
    sl_api_ask(w, pod, UINT32_MAX);
    member_positive(w, "gpuMemoryMiB", pod->gpu_memory_mib);
    member_positive(w, "minGpuMemoryMiB", pod->min_gpu_memory_mib);
    sl_write_member_text(w, "malformed", pod->malformed);
    sl_write_member_text(w, "problem", pod->problem);
}

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

void sl_api_ask_text(const struct sl_pod *pod, char *out, size_t size)
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

static void write_device(struct sl_writer *w, const struct sl_node *node, int device)
{
    sl_write_key(w, "device");
    if (device < 0 || device >= node->n_devices) {
        sl_write_null(w);
        return;
    }
    sl_write_i64(w, node->device[device].index);
    if (node->device[device].uuid != NULL) {
        sl_write_member_text(w, "uuid", node->device[device].uuid);
    }
}

static void write_instance(struct sl_writer *w, const struct sl_node *node, int index)
{
    if (index < 0 || index >= node->n_instances) {
        return;
    }
    const struct sl_instance *instance = &node->instance[index];
    sl_write_member_i64(w, "instance", index);
    sl_write_member_text(w, "profile", instance->profile == NULL ? NULL : instance->profile->name);
    sl_write_member_known(w, "start", instance->start);
}

void sl_api_parts(struct sl_writer *w, const struct sl_node *node, const struct sl_pod *pod,
                  const struct sl_assignment_part *part, unsigned n)
{
    sl_write_array(w);
    for (unsigned i = 0; i < n; i++) {
        sl_write_object(w);
        sl_write_member_text(
            w, "resource", part[i].item < pod->n_items ? pod->items[part[i].item].resource : NULL);
        write_device(w, node, part[i].device);
        write_instance(w, node, part[i].instance);
        sl_write_member_i64(w, "amount", part[i].amount);
        sl_write_object_end(w);
    }
    sl_write_array_end(w);
}

void sl_api_parts_text(const struct sl_node *node, const struct sl_assignment_part *part,
                       unsigned n, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        add_text(out, size, &len, "%s", i == 0 ? "" : " ");
        if (part[i].device < 0 || part[i].device >= node->n_devices) {
            add_text(out, size, &len, "?");
        } else {
            add_text(out, size, &len, "%d", node->device[part[i].device].index);
        }
        if (part[i].instance >= 0 && part[i].instance < node->n_instances &&
            node->instance[part[i].instance].start >= 0) {
            add_text(out, size, &len, "/%d", node->instance[part[i].instance].start);
        }
        if (part[i].amount != 1) {
            add_text(out, size, &len, "*%lld", (long long)part[i].amount);
        }
    }
}

/* Only gpushare's plugin is told the GPU, by an annotation. The kubelet asks NVIDIA's and nos' for
 * any units of the resource, and they choose by a policy of their own. */
bool sl_api_is_plan(const struct sl_pod *pod)
{
    bool plan = false;
    for (uint32_t i = 0; i < pod->n_items && !plan; i++) {
        plan = !sl_kinds[pod->items[i].kind].memory;
    }
    return plan;
}

void sl_api_resident_text(const struct sl_view *view, const struct sl_resident *resident, char *out,
                          size_t size)
{
    const struct sl_assignment_part *part = view->part + resident->first_part;
    bool any = false;
    for (unsigned i = 0; i < resident->n_parts; i++) {
        any = any || part[i].device >= 0;
    }
    if (any) {
        sl_api_parts_text(view->node, part, resident->n_parts, out, size);
        size_t len = strlen(out);
        add_text(out, size, &len, "%s", resident->assumed ? " (assumed)" : "");
        add_text(out, size, &len, "%s", resident->pod->set_aside ? " (set aside)" : "");
    } else {
        (void)snprintf(out, size, "unknown: %s",
                       resident->n_parts > 0 ? "the kubelet chose"
                                             : "the node has no place left that it could hold");
    }
}

const char *sl_api_problem(const struct sl_view *view, char out[SL_API_PROBLEM_MAX])
{
    const char *problem = view->node->problem;
    int n = problem == NULL ? 0 : snprintf(out, SL_API_PROBLEM_MAX, "%s; ", problem);
    if (n < 0 || n >= SL_API_PROBLEM_MAX) {
        return problem;
    }
    sl_overcommit_text(view, out + n, (size_t)(SL_API_PROBLEM_MAX - n));
    return out[n] == '\0' ? problem : out;
}

const char *sl_api_percent(int64_t permille, char out[SL_API_PERCENT_MAX])
{
    out[0] = '\0';
    if (permille >= 0) {
        (void)snprintf(out, SL_API_PERCENT_MAX, "%lld%%", (long long)(permille + 5) / 10);
    }
    return out;
}

void sl_api_unknown_pod(struct sl_request *request, struct sl_str ns, struct sl_str name)
{
    (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "pod %.*s/%.*s is not known",
                       (int)(ns.len > 64 ? 64 : ns.len), ns.s,
                       (int)(name.len > 253 ? 253 : name.len), name.s);
    (void)sl_request_fail(request, 404);
}

/* ---- a pod in a body ---- */

struct reading {
    struct sl_pod *pod;
    struct sl_pod *(*make)(void *context, const struct sl_pod_facts *facts, struct sl_error *err);
    void *context;
};

static int take_object(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct reading *reading = context;
    if (object->pod == NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "a Pod is expected, this is a %.*s",
                            (int)object->kind_name.len, object->kind_name.s);
    }
    if (reading->pod != NULL) {
        return sl_error_set(err, SL_ERR_FIELD, "one Pod is expected, this is the second");
    }
    reading->pod = reading->make(reading->context, object->pod, err);
    return reading->pod == NULL ? -1 : 0;
}

struct sl_text_limits sl_api_text_limits(const struct sl_request *request)
{
    const struct sl_config *config = &request->live->config;
    return (struct sl_text_limits){.max_bytes = SL_HELD_MAX,
                                   .max_string = (size_t)config->decode.max_string,
                                   .max_depth = (unsigned)config->decode.max_depth};
}

bool sl_api_asks(const struct sl_pod *pod, const char *place, struct sl_error *err)
{
    if (pod->n_items > 0 || pod->malformed != NULL) {
        return true;
    }
    (void)sl_error_set(err, SL_ERR_FIELD,
                       "pod %s/%s asks for no GPU resource: sliced has nothing to decide",
                       pod->namespace, pod->name);
    (void)snprintf(err->field, sizeof(err->field), "%s.spec.containers", place);
    return false;
}

struct sl_pod *sl_api_read_pod(struct sl_request *request,
                               struct sl_pod *(*make)(void *context,
                                                      const struct sl_pod_facts *facts,
                                                      struct sl_error *err),
                               void *context)
{
    const struct sl_buf *held = &request->workspace->held;
    const struct sl_text_limits limits = sl_api_text_limits(request);
    struct reading reading = {.make = make, .context = context};
    if (held->len == 0) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "the body is empty, a Pod is expected");
        return NULL;
    }
    if (sl_manifest_decode(held->data, held->len, &limits, take_object, &reading, &request->err) <
        0) {
        sl_pod_unref(reading.pod);
        return NULL;
    }
    if (reading.pod == NULL) {
        (void)sl_error_set(&request->err, SL_ERR_FIELD, "the body holds no Pod");
    } else if (!sl_api_asks(reading.pod, "Pod", &request->err)) {
        sl_pod_unref(reading.pod);
        reading.pod = NULL;
    }
    return reading.pod;
}
