/* The verb bind: choose the devices and reserve them, then make the binding true. */
#include "server/verbs/handlers.h"
#include "server/verbs/verbs.h"

#include <stdio.h>

int sl_bind_begin(struct sl_request *request)
{
    static const struct sl_body_sink none;
    if (sl_workspace_begin(request, SL_BODY_BINDING, &none) < 0) {
        return -1;
    }
    struct sl_bind_request *bind = sl_arena_alloc(&request->workspace->arena, sizeof(*bind));
    if (bind == NULL) {
        return sl_error_nomem(&request->err);
    }
    bind->request = request;
    bind->args = sl_body_binding(request->workspace->body);
    request->verb_state = bind;
    return 0;
}

static void write_result(struct sl_request *request, const char *error)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_member_text(&w, "Error", error);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void log_refusal(const struct sl_bind_request *bind)
{
    const struct sl_binding_args *args = bind->args;
    char node[256];
    (void)snprintf(node, sizeof(node), "%.*s", (int)args->node.len, args->node.s);
    sl_log_pod_share(SL_LOG_WARN, args->pod_namespace, args->pod_name, "bind refused", "node", node,
                     "ledger", sl_bind_code_name(bind->result.code), "reason", bind->result.text,
                     (char *)NULL);
}

static void note_refusal(struct sl_bind_request *bind)
{
    struct sl_bind_result *result = &bind->result;
    bind->request->outcome = SL_OUTCOME_REFUSED;
    if (result->text[0] == '\0') {
        (void)snprintf(result->text, sizeof(result->text), "%s", sl_bind_code_name(result->code));
    }
    if (result->code == SL_BIND_FULL) {
        sl_metrics_limit(bind->request->metrics, SL_LIMIT_RESERVATIONS);
    }
    log_refusal(bind);
}

/* Answers once the binding's end is known, or the ledger's word suffices. */
static void reply_bind(struct sl_request *request)
{
    struct sl_bind_request *bind = request->verb_state;
    if (!bind->answered && bind->result.code == SL_BIND_ALREADY) {
        bind->result.text[0] = '\0';
    } else if (!bind->answered) {
        note_refusal(bind);
    }
    write_result(request, bind->result.text);
}

/* The queue's word holds for whoever asks, not only for who asked filter before. The ledger judges
 * a pod that stands or is being bound, and one that it does not know. */
static bool is_held_by_queue(struct sl_bind_request *bind)
{
    const struct sl_binding_args *args = bind->args;
    struct sl_request *request = bind->request;
    struct sl_queue_status status;
    struct sl_ahead ahead = {.n = 0};
    struct sl_pod *pod = sl_store_pod(request->app->store, args->pod_namespace, args->pod_name);
    const char *held =
        pod == NULL || pod->node != NULL || !sl_str_eq(sl_str_of(pod->uid), args->pod_uid)
            ? NULL
            : sl_verb_held(request, pod, &status, &ahead);
    const struct sl_snapshot *snapshot = ahead.n > 0 ? sl_app_snapshot(request) : NULL;
    uint32_t place = ahead.n > 0 ? sl_snapshot_find(snapshot, args->node, 0) : SL_NODE_NONE;
    if (place != SL_NODE_NONE && sl_plan_fronts_use(ahead.front, ahead.n, snapshot->view[place])) {
        held = ahead.text;
    }
    sl_plan_fronts_free(ahead.front, ahead.n);
    if (held != NULL) {
        bind->result = (struct sl_bind_result){.code = SL_BIND_HELD};
        (void)snprintf(bind->result.text, sizeof(bind->result.text), "%s", held);
    }
    sl_pod_unref(pod);
    return held != NULL;
}

/* Called again after the pod was looked for: much may have changed meanwhile. */
static void reserve_and_bind(struct sl_request *request)
{
    struct sl_bind_request *bind = request->verb_state;
    struct sl_binds *binds = &request->app->binds;
    bind->leadership = sl_app_leadership(request->app);
    if (sl_verb_ready(request) < 0) {
        request->outcome = SL_OUTCOME_ERROR;
        write_result(request, request->err.message);
        return;
    }
    if (!is_held_by_queue(bind)) {
        sl_binds_reserve(binds, bind, reply_bind);
    }
    if (sl_binds_fetch(binds, bind, reserve_and_bind)) {
        return;
    }
    sl_metrics_bind(request->metrics, bind->result.code);
    if (request->wake == NULL) {
        reply_bind(request);
    }
}

void sl_bind_finish(struct sl_request *request)
{
    struct sl_bind_request *bind = request->verb_state;
    if (sl_body_finish(request->workspace->body, &request->err) < 0) {
        (void)sl_request_fail_err(request);
        return;
    }
    sl_verb_heard(request, bind->args->pod_uid);
    reserve_and_bind(request);
}
