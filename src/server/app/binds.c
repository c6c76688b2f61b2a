/* The list of bindings under way. One lock makes "what does the ledger say" and "who makes it true"
 * one step, so that a second bind for the same pod always finds the first. */
#include "server/app/binds.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/log.h"

enum { RESOLVED_MAX = 64 /* at a time */ };

struct sl_bind_call {
    struct sl_bind_call *next;
    struct sl_binds *binds;
    struct sl_bind_request *waiting; /* by next */
    struct sl_binding binding;       /* its text stands in text */
    bool under_way;                  /* else the outcome is unknown */
    int64_t since_us;                /* since when, monotonic */
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
    char text[];
};

/* A reading of a pod, for a request that waits for it. */
struct sl_bind_fetch {
    struct sl_bind_fetch *next;
    struct sl_binds *binds;
    struct sl_request *request; /* NULL: it waits no more */
};

static const char closing_text[] =
    "sliced is shutting down; whether the pod gets bound is not known here";

static const char earlier_text[] =
    "an earlier binding of the pod, begun before another replica led, is still being looked up";

void sl_binds_init(struct sl_binds *binds, const struct sl_binds_options *options)
{
    *binds = (struct sl_binds){.options = *options};
    (void)pthread_mutex_init(&binds->lock, NULL);
}

void sl_binds_free(struct sl_binds *binds)
{
    while (binds->first != NULL) {
        struct sl_bind_call *call = binds->first;
        binds->first = call->next;
        free(call);
    }
    (void)pthread_mutex_destroy(&binds->lock);
}

/* ---- the list, with the lock held ---- */

static struct sl_bind_call *find_call(const struct sl_binds *binds, struct sl_str uid)
{
    struct sl_bind_call *call = binds->first;
    while (call != NULL && !sl_str_eq(call->binding.uid, uid)) {
        call = call->next;
    }
    return call;
}

static void remove_call(struct sl_binds *binds, struct sl_bind_call *call)
{
    struct sl_bind_call **at = &binds->first;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    (void)atomic_fetch_sub(&binds->n, 1);
}

static struct sl_str copy_text(char **to, struct sl_str text)
{
    struct sl_str out = {*to, text.len};
    memcpy(*to, text.s, text.len);
    *to += text.len;
    return out;
}

/* NULL when out of memory. */
static struct sl_bind_call *add_call(struct sl_binds *binds, const struct sl_binding *binding)
{
    size_t len = binding->namespace.len + binding->name.len + binding->uid.len + binding->node.len;
    struct sl_bind_call *call = calloc(1, sizeof(*call) + len);
    if (call == NULL) {
        return NULL;
    }
    char *to = call->text;
    call->binds = binds;
    call->binding.leadership = binding->leadership;
    call->binding.nominated = binding->nominated;
    call->binding.namespace = copy_text(&to, binding->namespace);
    call->binding.name = copy_text(&to, binding->name);
    call->binding.uid = copy_text(&to, binding->uid);
    call->binding.node = copy_text(&to, binding->node);
    (void)snprintf(call->assignment, sizeof(call->assignment), "%s", binding->assignment);
    call->binding.assignment = call->assignment;
    call->next = binds->first;
    binds->first = call;
    (void)atomic_fetch_add(&binds->n, 1);
    return call;
}

static void answer_bind(struct sl_bind_request *bind, enum sl_bind_end end, const char *text)
{
    struct sl_request *request = bind->request;
    (void)snprintf(bind->result.text, sizeof(bind->result.text), "%s", text);
    request->outcome = end == SL_BIND_END_BOUND ? SL_OUTCOME_OK : SL_OUTCOME_ERROR;
    bind->answered = true;
    if (request->wake != NULL) {
        MHD_resume_connection(request->connection);
    }
}

static void answer_all(struct sl_bind_call *call, enum sl_bind_end end, const char *text)
{
    while (call->waiting != NULL) {
        struct sl_bind_request *bind = call->waiting;
        call->waiting = bind->next;
        answer_bind(bind, end, text);
    }
}

/* ---- how it ends ---- */

static void log_end(const struct sl_bind_call *call, enum sl_bind_end end, const char *why)
{
    static const char *const message[SL_BIND_ENDS] = {
        [SL_BIND_END_BOUND] = "pod bound",
        [SL_BIND_END_FAILED] = "binding failed",
        [SL_BIND_END_UNKNOWN] = "whether the pod is bound is not known",
    };
    const struct sl_binding *b = &call->binding;
    char node[256];
    (void)snprintf(node, sizeof(node), "%.*s", (int)b->node.len, b->node.s);
    if (end == SL_BIND_END_BOUND) {
        sl_log_pod(SL_LOG_INFO, b->namespace, b->name, message[end], "node", node, "assignment",
                   b->assignment, (char *)NULL);
    } else {
        sl_log_pod_share(SL_LOG_WARN, b->namespace, b->name, message[end], "node", node, "reason",
                         why, (char *)NULL);
    }
}

static void end_call(void *context, enum sl_bind_end end, const struct sl_error *err)
{
    struct sl_bind_call *call = context;
    struct sl_binds *binds = call->binds;
    const struct sl_binds_options *options = &binds->options;
    char text[sizeof(((struct sl_bind_result *)NULL)->text)] = "";
    if (end != SL_BIND_END_BOUND) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1,
                       err == NULL || err->message[0] == '\0' ? "binding failed" : err->message);
    }
    log_end(call, end, text);
    (void)atomic_fetch_add(&options->metrics->bind_ends[end], 1);
    if (end == SL_BIND_END_BOUND && options->bound != NULL) {
        options->bound(options->context, &call->binding);
    }
    (void)pthread_mutex_lock(&binds->lock);
    if (end == SL_BIND_END_BOUND) {
        /* false: it expired or the pod is gone; the API server's next word on it counts */
        (void)sl_store_commit(options->store, call->binding.uid, options->phase);
    } else if (end == SL_BIND_END_FAILED) {
        (void)sl_store_rollback(options->store, call->binding.uid);
    }
    answer_all(call, end, text);
    if (end == SL_BIND_END_UNKNOWN) {
        call->under_way = false;
        call->since_us = sl_clock_monotonic_us();
        call = NULL;
    } else {
        remove_call(binds, call);
    }
    (void)pthread_mutex_unlock(&binds->lock);
    free(call);
}

/* ---- a request ---- */

/* Joins those that wait for the call. With the lock held: nobody may answer before it is suspended.
 */
static void wait_for(struct sl_bind_request *bind, struct sl_bind_call *call,
                     void (*wake)(struct sl_request *request))
{
    if (call->binds->closed) {
        answer_bind(bind, SL_BIND_END_UNKNOWN, closing_text);
        return;
    }
    bind->next = call->waiting;
    call->waiting = bind;
    bind->request->wake = wake;
    MHD_suspend_connection(bind->request->connection);
}

/* The call of a new reservation; NULL when there can be none: the reservation is given back. known:
 * the call of an earlier reservation for the same pod, which has expired. */
static struct sl_bind_call *begin_call(struct sl_binds *binds, struct sl_bind_request *bind,
                                       struct sl_bind_call *known, const struct sl_binding *binding)
{
    const char *problem = "out of memory, nothing was changed";
    struct sl_bind_call *call = NULL;
    if (known != NULL && known->under_way) {
        problem = "an earlier binding of the pod has not ended yet, nothing was changed";
    } else {
        if (known != NULL) {
            remove_call(binds, known);
            free(known);
        }
        call = add_call(binds, binding);
    }
    if (call == NULL) {
        (void)sl_store_rollback(binds->options.store, binding->uid);
        answer_bind(bind, SL_BIND_END_FAILED, problem);
    }
    return call;
}

/* The call that this request has to start, NULL when there is none. With the lock held. */
static struct sl_bind_call *admit_bind(struct sl_binds *binds, struct sl_bind_request *bind,
                                       const struct sl_binding *binding,
                                       void (*wake)(struct sl_request *request))
{
    struct sl_bind_call *call = find_call(binds, binding->uid);
    if (bind->result.code == SL_BIND_RESERVED) {
        call = begin_call(binds, bind, call, binding);
        if (call == NULL) {
            return NULL;
        }
    } else if (bind->result.code != SL_BIND_IN_PROGRESS || call == NULL) {
        return NULL;
    }
    if (!call->under_way && call->binding.leadership != bind->leadership) {
        /* another replica may have given its devices since: sl_binds_resolve ends it, and the next
         * bind chooses anew */
        answer_bind(bind, SL_BIND_END_UNKNOWN, earlier_text);
        return NULL;
    }
    bool start = !call->under_way;
    call->under_way = true;
    wait_for(bind, call, wake);
    return start ? call : NULL;
}

void sl_binds_reserve(struct sl_binds *binds, struct sl_bind_request *bind,
                      void (*wake)(struct sl_request *request))
{
    const struct sl_binding_args *args = bind->args;
    const struct sl_binder *binder = &binds->options.binder;
    struct sl_binding binding = {.namespace = args->pod_namespace,
                                 .name = args->pod_name,
                                 .uid = args->pod_uid,
                                 .node = args->node,
                                 .assignment = bind->result.assignment,
                                 .leadership = bind->leadership};
    (void)pthread_mutex_lock(&binds->lock);
    sl_store_reserve(binds->options.store, args->pod_namespace, args->pod_name, args->pod_uid,
                     args->node, sl_clock_real_us(), &bind->result);
    binding.nominated = bind->result.nominated;
    struct sl_bind_call *call = admit_bind(binds, bind, &binding, wake);
    (void)pthread_mutex_unlock(&binds->lock);
    if (call != NULL) {
        binder->bind(binder->context, &call->binding, end_call, call);
    }
}

/* ---- a pod that the watch has not told of ---- */

/* With the lock held. */
static void wake_fetch(struct sl_bind_fetch *fetch)
{
    if (fetch->request != NULL) {
        MHD_resume_connection(fetch->request->connection);
        fetch->request = NULL;
    }
}

static void end_fetch(void *context)
{
    struct sl_bind_fetch *fetch = context;
    struct sl_binds *binds = fetch->binds;
    (void)pthread_mutex_lock(&binds->lock);
    struct sl_bind_fetch **at = &binds->fetches;
    while (*at != fetch) {
        at = &(*at)->next;
    }
    *at = fetch->next;
    wake_fetch(fetch);
    (void)pthread_mutex_unlock(&binds->lock);
    free(fetch);
}

bool sl_binds_fetch(struct sl_binds *binds, struct sl_bind_request *bind,
                    void (*wake)(struct sl_request *request))
{
    const struct sl_binder *binder = &binds->options.binder;
    const struct sl_binding pod = {.namespace = bind->args->pod_namespace,
                                   .name = bind->args->pod_name,
                                   .uid = bind->args->pod_uid};
    enum sl_bind_code code = bind->result.code;
    if ((code != SL_BIND_UNKNOWN_POD && code != SL_BIND_OTHER_UID) || bind->fetched ||
        binder->fetch == NULL) {
        return false;
    }
    bind->fetched = true;
    struct sl_bind_fetch *fetch = calloc(1, sizeof(*fetch));
    if (fetch == NULL) {
        return false;
    }
    (void)pthread_mutex_lock(&binds->lock);
    bool closed = binds->closed;
    if (!closed) {
        *fetch = (struct sl_bind_fetch){binds->fetches, binds, bind->request};
        binds->fetches = fetch;
        bind->request->wake = wake;
        MHD_suspend_connection(bind->request->connection);
    }
    (void)pthread_mutex_unlock(&binds->lock);
    if (closed) {
        free(fetch);
        return false;
    }
    binder->fetch(binder->fetcher, &pod, end_fetch, fetch);
    return true;
}

bool sl_binds_node(struct sl_binds *binds, struct sl_str uid, char *out, size_t size)
{
    if (atomic_load(&binds->n) == 0) {
        return false;
    }
    (void)pthread_mutex_lock(&binds->lock);
    const struct sl_bind_call *call = find_call(binds, uid);
    if (call != NULL) {
        (void)snprintf(out, size, "%.*s", (int)call->binding.node.len, call->binding.node.s);
    }
    (void)pthread_mutex_unlock(&binds->lock);
    return call != NULL;
}

void sl_binds_close(struct sl_binds *binds)
{
    (void)pthread_mutex_lock(&binds->lock);
    binds->closed = true;
    for (struct sl_bind_call *call = binds->first; call != NULL; call = call->next) {
        answer_all(call, SL_BIND_END_UNKNOWN, closing_text);
    }
    for (struct sl_bind_fetch *fetch = binds->fetches; fetch != NULL; fetch = fetch->next) {
        wake_fetch(fetch);
    }
    (void)pthread_mutex_unlock(&binds->lock);
}

void sl_binds_resolve(struct sl_binds *binds, int64_t now_us, int64_t age_us)
{
    const struct sl_binder *binder = &binds->options.binder;
    struct sl_bind_call *old[RESOLVED_MAX];
    size_t n = 0;
    (void)pthread_mutex_lock(&binds->lock);
    for (struct sl_bind_call *call = binds->first; call != NULL && n < RESOLVED_MAX;
         call = call->next) {
        if (!call->under_way && now_us - call->since_us > age_us) {
            call->under_way = true; /* ours: whoever asks for it now waits */
            old[n++] = call;
        }
    }
    (void)pthread_mutex_unlock(&binds->lock);
    for (size_t i = 0; i < n; i++) {
        binder->resolve(binder->context, &old[i]->binding, end_call, old[i]);
    }
}
