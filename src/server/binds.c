/* The list of bindings under way. One lock makes "what does the ledger say" and "who makes it true"
 * one step, so that a second bind for the same pod always finds the first. */
#include "server/binds.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/handlers.h"
#include "server/process.h"
#include "server/request.h"

enum { RESOLVED_MAX = 64 /* at a time */ };

struct sl_bind_call {
    struct sl_bind_call *next;
    struct sl_app *app;
    struct sl_request *waiting; /* by bind.next */
    struct sl_binding binding;  /* its text stands in text */
    bool under_way;             /* else the outcome is unknown */
    int64_t since_us;           /* that it is so, monotonic */
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
    char text[];
};

/* A reading of a pod, for a request that waits for it. */
struct sl_bind_fetch {
    struct sl_bind_fetch *next;
    struct sl_app *app;
    struct sl_request *request; /* NULL: it waits no more */
};

static const char closing_text[] =
    "sliced is shutting down; whether the pod gets bound is not known here";

static const char earlier_text[] =
    "an earlier binding of the pod, begun before another replica led, is still being looked up";

uint64_t sl_binds_term(const struct sl_app *app)
{
    return app->hooks.term == NULL ? 0 : app->hooks.term(app->hooks.context);
}

void sl_binds_init(struct sl_binds *binds)
{
    memset(binds, 0, sizeof(*binds));
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

static struct sl_bind_call *find(const struct sl_binds *binds, struct sl_str uid)
{
    struct sl_bind_call *call = binds->first;
    while (call != NULL && !sl_str_eq(call->binding.uid, uid)) {
        call = call->next;
    }
    return call;
}

static void take_out(struct sl_binds *binds, struct sl_bind_call *call)
{
    struct sl_bind_call **at = &binds->first;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
    (void)atomic_fetch_sub(&binds->n, 1);
}

static struct sl_str copy(char **to, struct sl_str text)
{
    struct sl_str out = {*to, text.len};
    memcpy(*to, text.s, text.len);
    *to += text.len;
    return out;
}

/* NULL when out of memory. */
static struct sl_bind_call *add(struct sl_binds *binds, struct sl_app *app,
                                const struct sl_binding *binding)
{
    size_t len = binding->namespace.len + binding->name.len + binding->uid.len + binding->node.len;
    struct sl_bind_call *call = calloc(1, sizeof(*call) + len);
    if (call == NULL) {
        return NULL;
    }
    char *to = call->text;
    call->app = app;
    call->binding.term = binding->term;
    call->binding.claimed = binding->claimed;
    call->binding.namespace = copy(&to, binding->namespace);
    call->binding.name = copy(&to, binding->name);
    call->binding.uid = copy(&to, binding->uid);
    call->binding.node = copy(&to, binding->node);
    (void)snprintf(call->assignment, sizeof(call->assignment), "%s", binding->assignment);
    call->binding.assignment = call->assignment;
    call->next = binds->first;
    binds->first = call;
    (void)atomic_fetch_add(&binds->n, 1);
    return call;
}

static void answer(struct sl_request *request, enum sl_bind_end end, const char *text)
{
    (void)snprintf(request->bind.result.text, sizeof(request->bind.result.text), "%s", text);
    request->outcome = end == SL_BIND_END_BOUND ? SL_OUTCOME_OK : SL_OUTCOME_ERROR;
    request->bind.answered = true;
    if (request->wake != NULL) {
        MHD_resume_connection(request->connection);
    }
}

static void answer_all(struct sl_bind_call *call, enum sl_bind_end end, const char *text)
{
    while (call->waiting != NULL) {
        struct sl_request *request = call->waiting;
        call->waiting = request->bind.next;
        answer(request, end, text);
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
    char pod[600];
    char node[256];
    (void)snprintf(pod, sizeof(pod), "%.*s/%.*s", (int)b->namespace.len, b->namespace.s,
                   (int)b->name.len, b->name.s);
    (void)snprintf(node, sizeof(node), "%.*s", (int)b->node.len, b->node.s);
    if (end == SL_BIND_END_BOUND) {
        sl_log(SL_LOG_INFO, message[end], "pod", pod, "node", node, "assignment", b->assignment,
               (char *)NULL);
    } else {
        sl_log(SL_LOG_WARN, message[end], "pod", pod, "node", node, "reason", why, (char *)NULL);
    }
}

static void done(void *context, enum sl_bind_end end, const struct sl_error *err)
{
    struct sl_bind_call *call = context;
    struct sl_app *app = call->app;
    char text[sizeof(((struct sl_bind_result *)NULL)->text)] = "";
    if (end != SL_BIND_END_BOUND) {
        (void)snprintf(text, sizeof(text), "%.*s", (int)sizeof(text) - 1,
                       err == NULL || err->message[0] == '\0' ? "binding failed" : err->message);
    }
    log_end(call, end, text);
    (void)atomic_fetch_add(&app->metrics.bind_ends[end], 1);
    if (end == SL_BIND_END_BOUND && app->hooks.bound != NULL) {
        app->hooks.bound(app->hooks.context, &call->binding);
    }
    (void)pthread_mutex_lock(&app->binds.lock);
    if (end == SL_BIND_END_BOUND) {
        /* false: it lapsed or the pod is gone; the API server's next word on it counts */
        (void)sl_store_commit(app->store, call->binding.uid,
                              app->embedded ? SL_POD_RUNNING : SL_POD_PENDING);
    } else if (end == SL_BIND_END_FAILED) {
        (void)sl_store_rollback(app->store, call->binding.uid);
    }
    answer_all(call, end, text);
    if (end == SL_BIND_END_UNKNOWN) {
        call->under_way = false;
        call->since_us = sl_clock_monotonic_ns() / 1000;
        call = NULL;
    } else {
        take_out(&app->binds, call);
    }
    (void)pthread_mutex_unlock(&app->binds.lock);
    free(call);
}

/* ---- a request ---- */

/* Joins those that wait for the call. With the lock held: nobody may answer before it is suspended.
 */
static void wait_for(struct sl_request *request, struct sl_bind_call *call)
{
    struct sl_app *app = request->app;
    if (app->binds.closed) {
        answer(request, SL_BIND_END_UNKNOWN, closing_text);
        return;
    }
    request->bind.next = call->waiting;
    call->waiting = request;
    if (!app->binder.immediate) {
        request->wake = sl_bind_answered;
        MHD_suspend_connection(request->connection);
    }
}

/* The call of a new reservation; NULL when there can be none: it is given back. known: a call of an
 * earlier reservation for the same pod, which has lapsed. */
static struct sl_bind_call *begin(struct sl_request *request, struct sl_bind_call *known,
                                  const struct sl_binding *binding)
{
    struct sl_app *app = request->app;
    const char *problem = "out of memory, nothing was changed";
    struct sl_bind_call *call = NULL;
    if (known != NULL && known->under_way) {
        problem = "an earlier binding of the pod has not ended yet, nothing was changed";
    } else {
        if (known != NULL) {
            take_out(&app->binds, known);
            free(known);
        }
        call = add(&app->binds, app, binding);
    }
    if (call == NULL) {
        (void)sl_store_rollback(app->store, binding->uid);
        answer(request, SL_BIND_END_FAILED, problem);
    }
    return call;
}

/* The call that this request has to start, NULL when there is none. With the lock held. */
static struct sl_bind_call *admit(struct sl_request *request, const struct sl_binding *binding)
{
    struct sl_bind_result *result = &request->bind.result;
    struct sl_binds *binds = &request->app->binds;
    struct sl_bind_call *call = find(binds, binding->uid);
    if (result->code == SL_BIND_RESERVED) {
        call = begin(request, call, binding);
        if (call == NULL) {
            return NULL;
        }
    } else if (result->code != SL_BIND_IN_PROGRESS || call == NULL) {
        return NULL;
    }
    if (!call->under_way && call->binding.term != request->bind.term) {
        /* another replica may have given its devices since: sl_binds_resolve ends it, and the next
         * bind chooses anew */
        answer(request, SL_BIND_END_UNKNOWN, earlier_text);
        return NULL;
    }
    bool start = !call->under_way;
    call->under_way = true;
    wait_for(request, call);
    return start ? call : NULL;
}

void sl_binds_reserve(struct sl_request *request, struct sl_str ns, struct sl_str name,
                      struct sl_str uid, struct sl_str node)
{
    struct sl_app *app = request->app;
    struct sl_bind_result *result = &request->bind.result;
    struct sl_binding binding = {.namespace = ns,
                                 .name = name,
                                 .uid = uid,
                                 .node = node,
                                 .assignment = result->assignment,
                                 .term = request->bind.term};
    (void)pthread_mutex_lock(&app->binds.lock);
    sl_store_reserve(app->store, ns, name, uid, node, sl_clock_real_us(), result);
    binding.claimed = result->claimed;
    struct sl_bind_call *call = admit(request, &binding);
    (void)pthread_mutex_unlock(&app->binds.lock);
    if (call != NULL) {
        app->binder.bind(app->binder.context, &call->binding, done, call);
    }
}

/* ---- a pod that the watch has not told of ---- */

/* With the lock held. */
static void let_go(struct sl_bind_fetch *fetch)
{
    if (fetch->request != NULL) {
        MHD_resume_connection(fetch->request->connection);
        fetch->request = NULL;
    }
}

static void fetched(void *context)
{
    struct sl_bind_fetch *fetch = context;
    struct sl_binds *binds = &fetch->app->binds;
    (void)pthread_mutex_lock(&binds->lock);
    struct sl_bind_fetch **at = &binds->fetches;
    while (*at != fetch) {
        at = &(*at)->next;
    }
    *at = fetch->next;
    let_go(fetch);
    (void)pthread_mutex_unlock(&binds->lock);
    free(fetch);
}

bool sl_binds_fetch(struct sl_request *request, struct sl_str ns, struct sl_str name,
                    struct sl_str uid, void (*wake)(struct sl_request *request))
{
    struct sl_app *app = request->app;
    enum sl_bind_code code = request->bind.result.code;
    const struct sl_binding pod = {.namespace = ns, .name = name, .uid = uid};
    if ((code != SL_BIND_UNKNOWN_POD && code != SL_BIND_OTHER_UID) || request->bind.fetched ||
        app->binder.fetch == NULL) {
        return false;
    }
    request->bind.fetched = true;
    struct sl_bind_fetch *fetch = calloc(1, sizeof(*fetch));
    if (fetch == NULL) {
        return false;
    }
    (void)pthread_mutex_lock(&app->binds.lock);
    bool closed = app->binds.closed;
    if (!closed) {
        *fetch = (struct sl_bind_fetch){app->binds.fetches, app, request};
        app->binds.fetches = fetch;
        request->wake = wake;
        MHD_suspend_connection(request->connection);
    }
    (void)pthread_mutex_unlock(&app->binds.lock);
    if (closed) {
        free(fetch);
        return false;
    }
    app->binder.fetch(app->binder.context, &pod, fetched, fetch);
    return true;
}

bool sl_binds_node(struct sl_binds *binds, struct sl_str uid, char *out, size_t size)
{
    if (atomic_load(&binds->n) == 0) {
        return false;
    }
    (void)pthread_mutex_lock(&binds->lock);
    const struct sl_bind_call *call = find(binds, uid);
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
        let_go(fetch);
    }
    (void)pthread_mutex_unlock(&binds->lock);
}

void sl_binds_resolve(struct sl_app *app, int64_t now_us, int64_t age_us)
{
    struct sl_bind_call *old[RESOLVED_MAX];
    size_t n = 0;
    (void)pthread_mutex_lock(&app->binds.lock);
    for (struct sl_bind_call *call = app->binds.first; call != NULL && n < RESOLVED_MAX;
         call = call->next) {
        if (!call->under_way && now_us - call->since_us > age_us) {
            call->under_way = true; /* ours: whoever asks for it now waits */
            old[n++] = call;
        }
    }
    (void)pthread_mutex_unlock(&app->binds.lock);
    for (size_t i = 0; i < n; i++) {
        app->binder.resolve(app->binder.context, &old[i]->binding, done, old[i]);
    }
}
