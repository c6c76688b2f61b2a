/* The webhook that puts the gate sliced.dev/queue on new pods, for clusters without
 * MutatingAdmissionPolicy. Its answer follows from the question alone, so that every replica may
 * give it, and refuses no pod. */
#include "server/api/handlers.h"
#include "server/app/workspace.h"

/* JSON patches (RFC 6902) in base64, as the answer has them; the tests read them back:
 * [{"op":"add","path":"/spec/schedulingGates","value":[{"name":"sliced.dev/queue"}]}] */
static const char first_gate[] =
    "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvc2NoZWR1bGluZ0dhdGVzIiwidmFsdWUiOlt7Im5hbWUiOiJzbGlj"
    "ZWQuZGV2L3F1ZXVlIn1dfV0=";
/* [{"op":"add","path":"/spec/schedulingGates/-","value":{"name":"sliced.dev/queue"}}] */
static const char one_more_gate[] =
    "W3sib3AiOiJhZGQiLCJwYXRoIjoiL3NwZWMvc2NoZWR1bGluZ0dhdGVzLy0iLCJ2YWx1ZSI6eyJuYW1lIjoic2xp"
    "Y2VkLmRldi9xdWV1ZSJ9fV0=";

int sl_gate_begin(struct sl_request *request)
{
    static const struct sl_body_sink none;
    return sl_workspace_begin(request, SL_BODY_REVIEW, &none);
}

/* Is a pod created, and not a part of one changed? */
static bool is_new_pod(const struct sl_review *review)
{
    return review->has_object && sl_str_eq(review->operation, SL_STR("CREATE")) &&
           review->subresource.len == 0 && review->group.len == 0 &&
           sl_str_eq(review->version, SL_STR("v1")) && sl_str_eq(review->kind, SL_STR("Pod"));
}

/* Does the pod ask for GPUs? The queue knows only such pods, and nobody opens the others' gates. */
static bool asks_for_ours(const struct sl_pod_facts *facts, bool *out, struct sl_error *err)
{
    struct sl_pod_facts named = *facts;
    if (named.name.len == 0) {
        named.name = SL_STR("unnamed"); /* it has a generateName */
    }
    struct sl_pod *pod = sl_pod_new(&named, err);
    *out = pod != NULL && (pod->n_items > 0 || pod->malformed != NULL);
    sl_pod_unref(pod);
    /* the API server says what else is wrong with the pod */
    return pod != NULL || err->code != SL_ERR_NOMEM;
}

/* Is the pod of a DaemonSet that is exempt, and made by the user that makes those? */
static bool is_exempt(const struct sl_config *config, const struct sl_review *review,
                      const struct sl_pod_facts *pod)
{
    const struct sl_queue_scope scope = sl_config_scope(config);
    return sl_pod_is_exempt(review->namespace, pod->daemon_set, &scope) &&
           sl_str_eq(review->user, sl_str_of(config->queue.daemon_set_user));
}

/* Chooses the patch for the pod; NULL: none. False with *err set when there is no memory to tell. A
 * webhook that was left behind when the queue was turned off patches none: nobody would open the
 * gate. */
static bool choose_patch(const struct sl_request *request, const char **out, struct sl_error *err)
{
    const struct sl_body *body = request->workspace->body;
    struct sl_str scheduler = request->param[0];
    const struct sl_review *review = sl_body_review(body);
    const struct sl_pod_facts *pod = sl_body_pod(body);
    const struct sl_config *config = &request->live->config;
    bool asks = false;
    *out = NULL;
    if (!config->queue.enabled || config->queue.gate == SL_QUEUE_GATE_NONE || !is_new_pod(review) ||
        is_exempt(config, review, pod) || pod->node_name.len > 0 ||
        !sl_str_eq(pod->scheduler_name, scheduler) ||
        sl_pair_find(pod->gates, SL_STR("sliced.dev/queue")) != NULL) {
        return true;
    }
    if (!asks_for_ours(pod, &asks, err)) {
        return false;
    }
    if (asks) {
        *out = pod->gates == NULL ? first_gate : one_more_gate;
    }
    return true;
}

static void write_answer(struct sl_request *request, const char *patch)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "kind", "AdmissionReview");
    sl_write_member_text(&w, "apiVersion", "admission.k8s.io/v1");
    sl_write_member_object(&w, "response");
    sl_write_key(&w, "uid");
    sl_write_str(&w, sl_body_review(request->workspace->body)->uid);
    sl_write_member_bool(&w, "allowed", true);
    if (patch != NULL) {
        sl_write_member_text(&w, "patchType", "JSONPatch");
        sl_write_member_text(&w, "patch", patch);
    }
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

void sl_gate_finish(struct sl_request *request)
{
    const char *patch = NULL;
    if (sl_body_finish(request->workspace->body, &request->err) < 0 ||
        !choose_patch(request, &patch, &request->err)) {
        (void)sl_request_fail_err(request);
        return;
    }
    request->err.code = SL_ERR_NONE;
    write_answer(request, patch);
}
