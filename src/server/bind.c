/* The verb bind: choose the devices and reserve them, then make the binding true. */
#include "server/handlers.h"
#include "server/process.h"
#include "server/verbs.h"

#include <stdio.h>

int sl_bind_begin(struct sl_request *request)
{
    static const struct sl_body_sink none;
    return sl_workspace_begin(request, SL_BODY_BINDING, &none);
}

static void write_result(struct sl_request *request, const char *error)
{
    struct sl_writer w = {.buf = &request->reply};
    sl_write_object(&w);
    sl_write_key(&w, "Error");
    sl_write_text(&w, error);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
}

static void log_refusal(const struct sl_binding_args *args, const struct sl_bind_result *result)
{
    char pod[600];
    char node[256];
    (void)snprintf(pod, sizeof(pod), "%.*s/%.*s", (int)args->pod_namespace.len,
                   args->pod_namespace.s, (int)args->pod_name.len, args->pod_name.s);
    (void)snprintf(node, sizeof(node), "%.*s", (int)args->node.len, args->node.s);
    sl_log(SL_LOG_WARN, "bind refused", "pod", pod, "node", node, "ledger",
           sl_bind_code_name(result->code), "reason", result->text, (char *)NULL);
}

void sl_bind_answered(struct sl_request *request)
{
    write_result(request, request->bind.result.text);
}

static void reply_to(struct sl_request *request, const struct sl_binding_args *args)
{
    struct sl_metrics *metrics = &request->app->metrics;
    struct sl_bind_result *result = &request->bind.result;
    if (!request->bind.answered && result->code == SL_BIND_ALREADY) {
        result->text[0] = '\0';
    } else if (!request->bind.answered) {
        request->outcome = SL_OUTCOME_REFUSED;
        if (result->text[0] == '\0') {
            (void)snprintf(result->text, sizeof(result->text), "%s",
                           sl_bind_code_name(result->code));
        }
        if (result->code == SL_BIND_FULL) {
            sl_metrics_limit(metrics, SL_LIMIT_RESERVATIONS);
        }
        log_refusal(args, result);
    }
    sl_bind_answered(request);
}

/* The queue's word holds for whoever asks, not only for who asked filter before. What stands, or is
 * being bound, is for the ledger to judge, and so is a pod that it does not know. */
static bool held_by_queue(struct sl_request *request, const struct sl_binding_args *args)
{
    struct sl_bind_result *result = &request->bind.result;
    struct sl_queue_status status;
    struct sl_pod *pod = sl_store_pod(request->app->store, args->pod_namespace, args->pod_name);
    const char *held =
        pod == NULL || pod->node != NULL || !sl_str_eq(sl_str_of(pod->uid), args->pod_uid)
            ? NULL
            : sl_verb_held(request, pod, &status);
    if (held != NULL) {
        *result = (struct sl_bind_result){.code = SL_BIND_HELD};
        (void)snprintf(result->text, sizeof(result->text), "%s", held);
    }
    sl_pod_unref(pod);
    return held != NULL;
}

/* Again when the pod was looked for: much may have changed meanwhile. */
static void reserve_and_bind(struct sl_request *request)
{
    const struct sl_binding_args *args = sl_body_binding(request->workspace->body);
    request->bind.term = sl_binds_term(request->app);
    if (sl_verb_ready(request) < 0) {
        request->outcome = SL_OUTCOME_ERROR;
        write_result(request, request->err.message);
        return;
    }
    if (!held_by_queue(request, args)) {
        sl_binds_reserve(request, args->pod_namespace, args->pod_name, args->pod_uid, args->node);
    }
    if (sl_binds_fetch(request, args->pod_namespace, args->pod_name, args->pod_uid,
                       reserve_and_bind)) {
        return;
    }
    sl_metrics_bind(&request->app->metrics, request->bind.result.code);
    if (request->wake == NULL) {
        reply_to(request, args);
    }
}

void sl_bind_finish(struct sl_request *request)
{
    if (sl_body_finish(request->workspace->body, &request->err) < 0) {
        (void)sl_request_fail_err(request);
        return;
    }
    sl_verb_heard(request, sl_body_binding(request->workspace->body)->pod_uid);
    reserve_and_bind(request);
}
