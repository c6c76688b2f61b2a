/* The verb filter: which nodes may take the pod now, and why not the others. One pass over the
 * candidates writes the reply and allocates nothing for a node. */
#include "server/http/connection.h"
#include "server/verbs/handlers.h"
#include "server/verbs/verbs.h"
#include "sliced/candidate.h"
#include "util/clock.h"
#include "util/log.h"

enum {
    SEEN_SLOTS = 64, /* a power of two */
    REASON_MAX = 512,
};

static const char whole_nodes[] = "{\"Nodes\":{\"items\":[";

/* Nodes are refused for few different reasons: a text that was written before is copied from where
 * it stands (13 to 25 % of the CPU time of a filter that refuses). */
struct seen {
    struct sl_verdict verdict;
    size_t at;  /* of the text in its buffer */
    size_t len; /* 0: the slot is free */
};

struct filter {
    struct sl_request *request;
    const struct sl_asked *asked;
    struct sl_grant *grant; /* victims that end for the pod; NULL: none */
    int64_t now_ns;
    char nominated[SL_NODE_NAME_BYTES]; /* node on which the plan has set devices aside, or empty */
    char standing[SL_NODE_NAME_BYTES];  /* node on which the pod's devices are reserved, or empty */
    struct seen seen[SEEN_SLOTS];
    struct sl_nominees nominees; /* that it leaves room for, on any node */
    struct sl_ahead ahead;       /* who goes before it, each where it can start */
    size_t held_at;              /* where their sentence stands among the reasons, as JSON */
    size_t held_len;             /* 0: it does not stand there yet */
    size_t n_passed;
    size_t run; /* the first of those that passed last and are not written yet */
    size_t len; /* by_nodes: of the reply up to the last node that passed; others follow there */
    bool by_nodes;
};

/* kube-scheduler goes on with the nodes that it is given back (labels, taints, images, all): where
 * it sends whole ones (nodeCacheCapable: false), the reply begins as a copy of them. */
int sl_filter_begin(struct sl_request *request)
{
    size_t room = sl_connection_room(request) / 4 * 3; /* so that it is told of a lack of it */
    request->reply.max = room < request->reply.max ? room : request->reply.max;
    sl_buf_puts(&request->reply, whole_nodes);
    return sl_verb_begin_args(request, true);
}

static bool same_verdict(const struct sl_verdict *a, const struct sl_verdict *b)
{
    return a->reason == b->reason && a->item == b->item && a->asked == b->asked &&
           a->free == b->free && a->capacity == b->capacity && a->largest == b->largest &&
           a->alias == b->alias;
}

static size_t slot_of(const struct sl_verdict *v)
{
    uint64_t mix = (uint64_t)v->reason * 31 + (uint64_t)v->free * 7 + (uint64_t)v->capacity * 3 +
                   (uint64_t)v->largest * 13;
    return (size_t)(mix & (SEEN_SLOTS - 1));
}

/* Appends again what stands in the buffer already. */
static void repeat_text(struct sl_buf *out, size_t at, size_t len)
{
    if (sl_buf_reserve(out, len)) { /* before reading: it may move the text */
        memcpy(out->data + out->len, out->data + at, len);
        out->len += len;
    }
}

/* Appends the reason as a JSON string. */
static void put_reason(struct filter *f, struct sl_buf *out, const struct sl_verdict *verdict)
{
    struct seen *seen = &f->seen[slot_of(verdict)];
    if (seen->len > 0 && same_verdict(&seen->verdict, verdict)) {
        repeat_text(out, seen->at, seen->len);
        return;
    }
    char text[REASON_MAX];
    size_t len =
        sl_verdict_text(verdict, &f->asked->ask, f->asked->pod->malformed, text, sizeof(text));
    size_t at = out->len;
    struct sl_writer w = {.buf = out};
    sl_write_str(&w, (struct sl_str){text, len});
    if (out->failed == SL_BUF_OK) {
        *seen = (struct seen){.verdict = *verdict, .at = at, .len = out->len - at};
    }
}

static void refuse_node(struct filter *f, size_t i, const struct sl_verdict *verdict)
{
    struct sl_workspace *w = f->request->workspace;
    struct sl_buf *out = sl_reason_is_never(verdict->reason) ? &w->never : &w->refused;
    struct sl_str name = sl_candidates_quoted(&w->candidates, i);
    if (out->len > 0) {
        sl_buf_putc(out, ',');
    }
    sl_buf_append(out, name.s, name.len);
    sl_buf_putc(out, ':');
    put_reason(f, out, verdict);
}

/* Moves a run of whole nodes to those that passed before it. */
static void keep_nodes(struct filter *f, size_t begin, size_t end)
{
    char *text = f->request->reply.data;
    const size_t *node_end = f->request->workspace->candidates.whole_end;
    size_t from = begin == 0 ? sizeof(whole_nodes) - 1 : node_end[begin - 1];
    memmove(text + f->len, text + from, node_end[end - 1] - from);
    f->len += node_end[end - 1] - from;
}

/* Writes the run of candidates up to end, all of which pass. */
static void write_run(struct filter *f, size_t end)
{
    struct sl_buf *out = &f->request->reply;
    const struct sl_candidates *c = &f->request->workspace->candidates;
    size_t begin = f->run;
    f->run = end + 1; /* end is refused, or there is none */
    if (begin >= end) {
        return;
    }
    f->n_passed += end - begin;
    if (f->by_nodes) {
        keep_nodes(f, begin, end);
        return;
    }
    if (f->n_passed > end - begin) {
        sl_buf_putc(out, ',');
    }
    const char *from = sl_candidates_quoted(c, begin).s;
    sl_buf_append(out, from, (size_t)(c->text.data + c->end[end - 1] - 1 - from));
}

/* Rejects the node as unresolvable, so that nothing is preempted for a pod whose turn has not come.
 * The text is the same for all nodes. */
static void refuse_held(struct filter *f, size_t i, const char *text)
{
    struct sl_buf *out = &f->request->workspace->never;
    struct sl_str name = sl_candidates_quoted(&f->request->workspace->candidates, i);
    sl_buf_puts(out, out->len > 0 ? "," : "");
    sl_buf_append(out, name.s, name.len);
    sl_buf_putc(out, ':');
    if (f->held_len > 0) {
        repeat_text(out, f->held_at, f->held_len);
        return;
    }
    struct sl_writer w = {.buf = out};
    f->held_at = out->len;
    sl_write_text(&w, text);
    f->held_len = out->failed == SL_BUF_OK ? out->len - f->held_at : 0;
}

/* Does it fit beside the room of those that are nominated to the node? */
static bool fits_beside(const struct filter *f, const struct sl_view *view,
                        struct sl_verdict *verdict)
{
    size_t n = 0;
    struct sl_pod *const *here = sl_nominees_on(&f->nominees, view->node->name, &n);
    return n == 0 ? sl_fit(view, &f->asked->ask, verdict)
                  : sl_choose_beside(view, here, n, &f->asked->ask, NULL, verdict);
}

static bool fits_node(const struct filter *f, const struct sl_view *view,
                      struct sl_verdict *verdict)
{
    return fits_beside(f, view, verdict) ||
           (f->grant != NULL && sl_grant_fits(f->grant, view, &f->asked->ask, f->now_ns));
}

static void judge_node(struct filter *f, size_t i)
{
    const struct sl_request *request = f->request;
    const struct sl_candidates *c = &request->workspace->candidates;
    const struct sl_candidate candidate = {
        .ask = &f->asked->ask,
        .view = c->place[i] == SL_NODE_NONE ? NULL : request->snapshot->view[c->place[i]],
        .front = f->ahead.front,
        .n_fronts = f->ahead.n,
        .stands = f->standing[0] != '\0',
        .here = f->standing[0] != '\0' && sl_candidates_is(c, i, f->standing),
    };
    struct sl_verdict verdict = {.reason = SL_REASON_FITS};
    enum sl_candidacy candidacy = sl_candidate_judge(&candidate, &verdict.reason);
    if (candidacy == SL_CANDIDATE_PASSES ||
        (candidacy == SL_CANDIDATE_IF_ROOM && candidate.view != NULL &&
         fits_node(f, candidate.view, &verdict))) {
        return;
    }
    write_run(f, i);
    if (candidacy == SL_CANDIDATE_BEHIND) {
        refuse_held(f, i, f->ahead.text);
        return;
    }
    sl_verdict_by_dra(&verdict, candidate.ask, &request->snapshot->dra);
    refuse_node(f, i, &verdict);
}

/* Passes the node of the pod's nomination alone, whose devices are its own: kube-scheduler then has
 * nothing to score. False when it is no candidate. */
static bool pass_nominated(struct filter *f)
{
    const struct sl_candidates *c = &f->request->workspace->candidates;
    size_t i = f->nominated[0] == '\0' ? c->n : 0;
    while (i < c->n && !sl_candidates_is(c, i, f->nominated)) {
        i++;
    }
    if (i < c->n) {
        f->run = i;
        write_run(f, i + 1);
    }
    return i < c->n;
}

/* Appends the members as an object, with the trouble that there was in writing them. */
static void put_map(struct sl_buf *out, const char *key, const struct sl_buf *members)
{
    sl_buf_puts(out, key);
    sl_buf_append(out, members->data, members->len);
    sl_buf_putc(out, '}');
    if (members->failed != SL_BUF_OK) {
        out->failed = members->failed;
    }
}

static void write_error(struct sl_request *request, const char *text)
{
    struct sl_writer w = {.buf = &request->reply};
    request->reply.len = 0;
    request->reply.failed = SL_BUF_OK;
    sl_buf_puts(&request->reply, "{\"Nodes\":null,\"NodeNames\":null,\"FailedNodes\":{},"
                                 "\"FailedAndUnresolvableNodes\":{},\"Error\":");
    sl_write_text(&w, text);
    sl_buf_puts(&request->reply, "}\n");
    request->outcome = SL_OUTCOME_ERROR;
}

/* Begins a reply of names: it may have what is left by now, whatever was when the request began. */
static void begin_names(struct sl_request *request)
{
    struct sl_buf *out = &request->reply;
    size_t room = sl_connection_room(request) + out->cap;
    size_t max = (size_t)request->live->config.server.max_reply_bytes;
    out->max = room < max ? room : max;
    out->len = 0;
    (void)sl_buf_reserve(out, 256 + request->workspace->candidates.text.len);
    sl_buf_puts(out, "{\"Nodes\":null,\"NodeNames\":[");
}

/* held: why the pod's turn has not come; NULL: it may go. */
static void write_result(struct filter *f, const char *held)
{
    struct sl_request *request = f->request;
    struct sl_buf *out = &request->reply;
    size_t n = request->workspace->candidates.n;
    if (!f->by_nodes) {
        begin_names(request);
    }
    if (held != NULL) {
        f->run = n;
        for (size_t i = 0; i < n; i++) {
            refuse_held(f, i, held);
        }
    } else if (!pass_nominated(f)) {
        for (size_t i = 0; i < n; i++) {
            judge_node(f, i);
        }
        write_run(f, n);
    }
    if (f->by_nodes) {
        out->len = f->len - (f->n_passed > 0 ? 1 : 0); /* without the last comma */
    }
    sl_buf_puts(out, f->by_nodes ? "]},\"NodeNames\":null" : "]");
    put_map(out, ",\"FailedNodes\":{", &request->workspace->refused);
    put_map(out, ",\"FailedAndUnresolvableNodes\":{", &request->workspace->never);
    sl_buf_puts(out, ",\"Error\":\"\"}\n");
}

/* The queue's sentence against the pod; NULL: none. A pod that is being bound has left the queue.
 */
static const char *held_by_queue(struct filter *f, struct sl_queue_status *status)
{
    const struct sl_pod *pod = f->asked->pod;
    if (f->standing[0] != '\0') {
        return NULL;
    }
    const char *held = sl_verb_held(f->request, pod, status, &f->ahead);
    if (held == NULL && f->request->app->queue.status != NULL) {
        (void)sl_store_nominated_node(f->request->app->store, sl_str_of(pod->uid), f->nominated,
                                      sizeof(f->nominated));
    }
    return held;
}

/* A part of the JSON that names the refused nodes, each with its reason. */
static const char *refused_shown(const struct sl_buf *members, char *text, size_t size)
{
    size_t len = members->len < size ? members->len : size - 1;
    if (len > 0) {
        memcpy(text, members->data, len);
    }
    text[len] = '\0';
    return text;
}

/* held: NULL: the queue has nothing against it. */
static void log_result(const struct filter *f, const char *held)
{
    const struct sl_pod *pod = f->asked->pod;
    struct sl_str namespace = sl_str_of(pod->namespace);
    struct sl_str name = sl_str_of(pod->name);
    char never[REASON_MAX];
    char refused[REASON_MAX];
    if (!sl_log_pod_on(SL_LOG_DEBUG, namespace, name)) {
        return;
    }
    if (held != NULL) {
        sl_log_pod(SL_LOG_DEBUG, namespace, name, "filter: not its turn", "reason", held,
                   (char *)NULL);
        return;
    }
    sl_log_pod(SL_LOG_DEBUG, namespace, name, "filter", "#nodes",
               SL_LOG_NUMBER(f->request->workspace->candidates.n), "#passed",
               SL_LOG_NUMBER(f->n_passed), "nominated", f->nominated, "refused",
               refused_shown(&f->request->workspace->refused, refused, sizeof(refused)), "never",
               refused_shown(&f->request->workspace->never, never, sizeof(never)), (char *)NULL);
}

void sl_filter_finish(struct sl_request *request)
{
    struct sl_asked asked;
    if (sl_asked_take(request, &asked) < 0) {
        return;
    }
    if (sl_verb_ready(request) < 0) {
        write_error(request, request->err.message);
    } else if (request->reply.failed == SL_BUF_FULL) {
        sl_metrics_limit(request->metrics, SL_LIMIT_REPLY);
        write_error(request, "sliced has no room for so many whole nodes (server.maxReplyBytes, "
                             "server.maxBufferedBytes): nodeCacheCapable: true at kube-scheduler's "
                             "extender has it send names");
    } else {
        struct filter filter = {.request = request,
                                .asked = &asked,
                                .now_ns = sl_clock_monotonic_ns(),
                                .len = sizeof(whole_nodes) - 1,
                                .by_nodes = sl_body_by_nodes(request->workspace->body)};
        filter.grant =
            sl_grants_get(&request->app->grants, sl_str_of(asked.pod->uid), filter.now_ns);
        (void)sl_binds_node(&request->app->binds, sl_str_of(asked.pod->uid), filter.standing,
                            sizeof(filter.standing));
        struct sl_queue_status status;
        const char *held = held_by_queue(&filter, &status);
        if (sl_store_nominees(request->app->store, asked.pod, &filter.nominees) < 0) {
            write_error(request, "out of memory");
        } else {
            write_result(&filter, held);
            log_result(&filter, held);
            request->outcome = filter.n_passed > 0 ? SL_OUTCOME_OK : SL_OUTCOME_REFUSED;
        }
        sl_plan_fronts_free(filter.ahead.front, filter.ahead.n);
        sl_grant_unref(filter.grant);
        sl_nominees_free(&filter.nominees);
        sl_metrics_nodes(request->metrics, SL_CLASS_FILTER, request->workspace->candidates.n);
    }
    sl_asked_free(&asked);
}
