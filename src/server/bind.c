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

static void log_bind(const struct sl_binding *binding, const struct sl_bind_result *result,
                     const char *error)
{
    bool ok = error[0] == '\0';
    char pod[600];
    char node[256];
    (void)snprintf(pod, sizeof(pod), "%.*s/%.*s", (int)binding->namespace.len, binding->namespace.s,
                   (int)binding->name.len, binding->name.s);
    (void)snprintf(node, sizeof(node), "%.*s", (int)binding->node.len, binding->node.s);
    if (ok) {
        sl_log(SL_LOG_INFO, "pod bound", "pod", pod, "node", node, "assignment", result->assignment,
               "ledger", sl_bind_code_name(result->code), (char *)NULL);
    } else {
        sl_log(SL_LOG_WARN, "bind refused", "pod", pod, "node", node, "ledger",
               sl_bind_code_name(result->code), "reason", error, (char *)NULL);
    }
}

/* The binding of a fresh reservation; on failure the devices are given back. */
static void make_true(struct sl_request *request, const struct sl_binding *binding,
                      struct sl_bind_result *result)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_binder *binder = &request->app->binder;
    if (binder->bind(binder->context, binding, &err) < 0) {
        (void)sl_store_rollback(request->app->store, binding->uid);
        (void)snprintf(result->text, sizeof(result->text), "%.*s", (int)sizeof(result->text) - 1,
                       err.message);
        request->outcome = SL_OUTCOME_ERROR;
    }
}

static void reserve_and_bind(struct sl_request *request, const struct sl_binding_args *args)
{
    struct sl_bind_result result;
    memset(&result, 0, sizeof(result));
    sl_store_reserve(request->app->store, args->pod_namespace, args->pod_name, args->pod_uid,
                     args->node, sl_clock_real_us(), &result);
    const struct sl_binding binding = {.namespace = args->pod_namespace,
                                       .name = args->pod_name,
                                       .uid = args->pod_uid,
                                       .node = args->node,
                                       .assignment = result.assignment};
    bool stands = result.code == SL_BIND_RESERVED || result.code == SL_BIND_ALREADY;
    request->outcome = stands ? SL_OUTCOME_OK : SL_OUTCOME_REFUSED;
    sl_metrics_bind(&request->app->metrics, result.code);
    if (stands) {
        result.text[0] = '\0';
    } else if (result.text[0] == '\0') {
        (void)snprintf(result.text, sizeof(result.text), "%s", sl_bind_code_name(result.code));
    }
    if (result.code == SL_BIND_RESERVED) {
        make_true(request, &binding, &result);
    } else if (result.code == SL_BIND_FULL) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_RESERVATIONS);
    }
    log_bind(&binding, &result, result.text);
    write_result(request, result.text);
}

void sl_bind_finish(struct sl_request *request)
{
    struct sl_body *body = request->workspace->body;
    if (sl_body_finish(body, &request->err) < 0) {
        (void)sl_request_fail_err(request);
        return;
    }
    if (sl_verb_not_ready(request)) {
        request->outcome = SL_OUTCOME_ERROR;
        write_result(request, sl_verb_not_ready_text);
        return;
    }
    reserve_and_bind(request, sl_body_binding(body));
}
