/* The webhook that puts the gate sliced.dev/queue on new pods, and where that is wanted gives them
 * our scheduler, for clusters without MutatingAdmissionPolicy. Its answer follows from the question
 * alone, so that every replica may give it, and refuses no pod. */
#include "server/api/handlers.h"
#include "server/app/workspace.h"
#include "util/base64.h"

enum { PATCH_BYTES_MAX = 4096, ANSWER_BYTES_MAX = 8192 };

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

/* What is to be changed of a new pod. */
struct change {
    bool gate;               /* put it on */
    bool first;              /* the pod has no list of gates */
    struct sl_str scheduler; /* to be given; empty: it has ours */
};

/* Is the pod for the scheduler, or to be given to it? Kubernetes fills the default in before it
 * asks, so that a pod which names it cannot be told from one that names none. */
static bool is_for(struct sl_str scheduler, bool assigns, const struct sl_pod_facts *pod)
{
    return sl_str_eq(pod->scheduler_name, scheduler) ||
           (assigns && sl_str_eq(pod->scheduler_name, SL_STR("default-scheduler")));
}

/* Chooses what to change of the pod. False with *err set when there is no memory to tell. A webhook
 * that was left behind when the queue was turned off changes nothing: nobody would open the gate.
 */
static bool choose_change(const struct sl_request *request, bool assigns, struct change *out,
                          struct sl_error *err)
{
    const struct sl_body *body = request->workspace->body;
    struct sl_str scheduler = request->param[0];
    const struct sl_review *review = sl_body_review(body);
    const struct sl_pod_facts *pod = sl_body_pod(body);
    const struct sl_config *config = &request->live->config;
    bool asks = false;
    *out = (struct change){.gate = false};
    if (!config->queue.enabled || config->queue.gate == SL_QUEUE_GATE_NONE || !is_new_pod(review) ||
        is_exempt(config, review, pod) || pod->node_name.len > 0 ||
        !is_for(scheduler, assigns, pod)) {
        return true;
    }
    if (!asks_for_ours(pod, &asks, err)) {
        return false;
    }
    if (asks) {
        out->gate = sl_pair_find(pod->gates, SL_STR("sliced.dev/queue")) == NULL;
        out->first = pod->gates == NULL;
        out->scheduler =
            sl_str_eq(pod->scheduler_name, scheduler) ? (struct sl_str){NULL, 0} : scheduler;
    }
    return true;
}

/* Begins an operation of a JSON patch (RFC 6902); its value follows. */
static void write_operation(struct sl_writer *w, const char *path)
{
    sl_write_object(w);
    sl_write_member_text(w, "op", "add");
    sl_write_member_text(w, "path", path);
    sl_write_key(w, "value");
}

static void write_gate(struct sl_writer *w, bool first)
{
    write_operation(w, first ? "/spec/schedulingGates" : "/spec/schedulingGates/-");
    if (first) {
        sl_write_array(w);
    }
    sl_write_object(w);
    sl_write_member_text(w, "name", "sliced.dev/queue");
    sl_write_object_end(w);
    if (first) {
        sl_write_array_end(w);
    }
    sl_write_object_end(w);
}

/* The patch in base64, as the answer has it. */
static void write_patch(struct sl_writer *w, const struct change *change)
{
    struct sl_buf plain;
    struct sl_buf text;
    sl_buf_init(&plain, PATCH_BYTES_MAX);
    sl_buf_init(&text, ANSWER_BYTES_MAX);
    struct sl_writer patch = {.buf = &plain};
    sl_write_array(&patch);
    if (change->scheduler.len > 0) {
        write_operation(&patch, "/spec/schedulerName");
        sl_write_str(&patch, change->scheduler);
        sl_write_object_end(&patch);
    }
    if (change->gate) {
        write_gate(&patch, change->first);
    }
    sl_write_array_end(&patch);
    sl_base64_encode((struct sl_str){plain.data, plain.len}, &text);
    sl_write_member_text(w, "patchType", "JSONPatch");
    sl_write_member_str(w, "patch", (struct sl_str){text.data, text.len});
    if (plain.failed != SL_BUF_OK || text.failed != SL_BUF_OK) {
        w->buf->failed = SL_BUF_NOMEM;
    }
    sl_buf_free(&plain);
    sl_buf_free(&text);
}

static void write_answer(struct sl_request *request, const struct change *change)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "kind", "AdmissionReview");
    sl_write_member_text(&w, "apiVersion", "admission.k8s.io/v1");
    sl_write_member_object(&w, "response");
    sl_write_key(&w, "uid");
    sl_write_str(&w, sl_body_review(request->workspace->body)->uid);
    sl_write_member_bool(&w, "allowed", true);
    if (change->gate || change->scheduler.len > 0) {
        write_patch(&w, change);
    }
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void finish_review(struct sl_request *request, bool assigns)
{
    struct change change;
    if (sl_body_finish(request->workspace->body, &request->err) < 0 ||
        !choose_change(request, assigns, &change, &request->err)) {
        (void)sl_request_fail_err(request);
        return;
    }
    request->err.code = SL_ERR_NONE;
    write_answer(request, &change);
}

void sl_gate_finish(struct sl_request *request)
{
    finish_review(request, false);
}

void sl_assign_finish(struct sl_request *request)
{
    finish_review(request, true);
}
