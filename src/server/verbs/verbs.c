/* Steps that several verbs have in common. */
#include "server/verbs/verbs.h"

#include <stdio.h>

#include "util/data/hash.h"
#include "util/data/vec.h"

int sl_asked_take(struct sl_request *request, struct sl_asked *out)
{
    struct sl_body *body = request->workspace->body;
    if (sl_body_finish(body, &request->err) < 0) {
        return sl_request_fail_err(request);
    }
    out->pod = sl_pod_new(sl_body_pod(body), &request->err);
    if (out->pod == NULL) {
        return sl_request_fail_err(request);
    }
    sl_pod_ask(out->pod, &out->ask);
    sl_verb_heard(request, sl_str_of(out->pod->uid));
    return 0;
}

void sl_verb_heard(const struct sl_request *request, struct sl_str uid)
{
    const struct sl_queue_reader *queue = &request->app->queue;
    if (queue->heard != NULL) {
        queue->heard(queue->context, uid);
    }
}

void sl_asked_free(struct sl_asked *asked)
{
    sl_pod_unref(asked->pod);
    asked->pod = NULL;
}

static int take_node(void *context, struct sl_str name, struct sl_error *err)
{
    return sl_candidates_add(context, name, err);
}

static size_t take_nodes(void *context, const struct sl_str *name, size_t n)
{
    return sl_candidates_add_run(context, name, n);
}

static int take_whole(void *context, struct sl_error *err)
{
    struct sl_request *request = context;
    struct sl_candidates *c = &request->workspace->candidates;
    if (sl_vec_reserve(&c->whole_end, &c->whole_cap, c->n, sizeof(*c->whole_end)) < 0) {
        return sl_error_nomem(err);
    }
    if (request->reply.failed == SL_BUF_FULL) { /* there will be a refusal: that takes no room */
        sl_buf_free(&request->reply);
        request->reply.failed = SL_BUF_FULL;
    }
    c->whole_end[c->n - 1] = request->reply.len;
    return 0;
}

int sl_verb_begin_args(struct sl_request *request, bool whole)
{
    const struct sl_body_sink sink = {.context = request,
                                      .node = take_node,
                                      .nodes = take_nodes,
                                      .whole = whole ? &request->reply : NULL,
                                      .node_end = take_whole};
    return sl_workspace_begin(request, SL_BODY_ARGS, &sink);
}

/* A pod that names another scheduler than the queue's goes behind those that came before it and
 * wait for its resource: it is asked about, so that it has the same kube-scheduler. Pods of the
 * namespaces whose DaemonSets pass go before all, whoever made them: the cluster needs them. */
static void find_ahead(const struct sl_queue_reader *queue, const struct sl_pod *pod,
                       const struct sl_queue_scope *scope, struct sl_ahead *ahead)
{
    struct sl_str scheduler = scope->scheduler;
    if (queue->ahead != NULL && scheduler.len > 0 &&
        pod->scheduler != sl_hash(scheduler.s, scheduler.len) &&
        !sl_pod_is_exempt(sl_str_of(pod->namespace), true, scope)) {
        ahead->n = queue->ahead(queue->context, pod, ahead->front);
    }
    if (ahead->n > 0) {
        (void)snprintf(ahead->text, sizeof(ahead->text),
                       "held: pods that came before it wait for %s in the queue; it may wait there "
                       "with spec.schedulerName %.*s",
                       sl_plan_front_item(&ahead->front[0], pod)->resource, (int)scheduler.len,
                       scheduler.s);
    }
}

const char *sl_verb_held(const struct sl_request *request, const struct sl_pod *pod,
                         struct sl_queue_status *status, struct sl_ahead *ahead)
{
    ahead->n = 0;
    const struct sl_queue_reader *queue = &request->app->queue;
    const struct sl_queue_scope scope = sl_config_scope(&request->live->config);
    bool asks = pod->n_items > 0 || pod->malformed != NULL;
    if (queue->status == NULL || !asks) {
        return NULL;
    }
    /* the queue is asked first: it remembers gates that the pod has no more */
    queue->status(queue->context, sl_str_of(pod->uid), status);
    if (!status->known && !sl_pod_is_queued(pod, &scope)) {
        find_ahead(queue, pod, &scope, ahead);
        return NULL;
    }
    return sl_queue_may_go(status) ? NULL : status->text;
}

int sl_verb_ready(struct sl_request *request)
{
    const char *missing = sl_app_missing(request->app);
    if (missing == NULL) {
        return 0;
    }
    /* a Service leads new connections to the replica that is ready, but none that is open */
    request->close = true;
    return sl_error_set(&request->err, SL_ERR_SYSTEM, "sliced is not ready: %s", missing);
}
