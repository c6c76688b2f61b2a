/* Pieces that several replies of the debug API have in common. */
#include "server/api/api.h"

#include <stdio.h>

#include "server/app/workspace.h"

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
