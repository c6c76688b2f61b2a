/* The verb preempt: answers which of the victims that kube-scheduler would end really make room.
 * The answer is always in the meta form. */
#include "sliced/preempt.h"
#include "server/verbs/handlers.h"
#include "server/verbs/verbs.h"
#include "util/clock.h"

enum {
    VICTIM_BYTES = 64,        /* a UID and its entry in the arena */
    VICTIMS_PER_NODE = 64,    /* on average, of extender.maxNodeNames nodes */
    NODE_VICTIMS_MAX = 10000, /* of one node; a kubelet runs some hundred pods */
};

/* A node with its victims; kept until the end, because the pod may stand behind them in the body.
 * In the arena. */
struct node_victims {
    uint32_t place; /* SL_NODE_NONE: unknown */
    uint32_t n;
    uint32_t cap;
    int64_t pdb_violations;
    struct sl_str *uid;
    struct node_victims *next;
};

struct preempt {
    size_t n_victims;
    size_t max_victims;
    bool reclaims; /* the victims are runs that the queue has chosen */
    struct node_victims *first;
    struct node_victims *last;
    struct sl_grant *grant; /* the answer; NULL: not remembered, for lack of memory */
};

static struct preempt *state_of(struct sl_request *request)
{
    return request->verb_state;
}

static int fail_nomem(struct sl_request *request, struct sl_error *err)
{
    if (request->workspace->arena.full) {
        sl_metrics_limit(request->metrics, SL_LIMIT_NAMES);
        return sl_error_set(err, SL_ERR_LIMIT, "too many victims");
    }
    return sl_error_nomem(err);
}

static int on_node(void *context, struct sl_str name, struct sl_error *err)
{
    struct sl_request *request = context;
    struct preempt *p = state_of(request);
    struct sl_candidates *named = &request->workspace->candidates;
    if (sl_candidates_add(request, name, err) < 0) {
        return -1;
    }
    struct node_victims *node = sl_arena_alloc(&request->workspace->arena, sizeof(*node));
    if (node == NULL) {
        return fail_nomem(request, err);
    }
    node->place = named->place[named->n - 1];
    if (p->last == NULL) {
        p->first = node;
    } else {
        p->last->next = node;
    }
    p->last = node;
    return 0;
}

/* Makes room for more UIDs; the old array stays in the arena until the request ends. */
static int grow_victims(struct sl_request *request, struct node_victims *node)
{
    uint32_t cap = node->cap == 0 ? 8 : node->cap * 2;
    struct sl_str *grown = sl_arena_alloc(&request->workspace->arena, cap * sizeof(*grown));
    if (grown == NULL) {
        return -1;
    }
    if (node->n > 0) {
        memcpy(grown, node->uid, node->n * sizeof(*grown));
    }
    node->uid = grown;
    node->cap = cap;
    return 0;
}

static int add_victim(struct sl_request *request, struct node_victims *node, struct sl_str uid,
                      struct sl_error *err)
{
    struct preempt *p = state_of(request);
    if (node->n >= NODE_VICTIMS_MAX) {
        return sl_error_set(err, SL_ERR_FIELD, "more than %d victims on one node",
                            (int)NODE_VICTIMS_MAX);
    }
    if (p->n_victims >= p->max_victims) {
        sl_metrics_limit(request->metrics, SL_LIMIT_NAMES);
        return sl_error_set(err, SL_ERR_LIMIT, "more than %zu victims", p->max_victims);
    }
    char *copy = sl_arena_strdup(&request->workspace->arena, uid.len == 0 ? "" : uid.s, uid.len);
    if (copy == NULL || (node->n == node->cap && grow_victims(request, node) < 0)) {
        return fail_nomem(request, err);
    }
    node->uid[node->n++] = (struct sl_str){copy, uid.len};
    p->n_victims++;
    return 0;
}

static int on_victim(void *context, struct sl_str uid, struct sl_error *err)
{
    struct node_victims *node = state_of(context)->last;
    return node->place == SL_NODE_NONE ? 0 /* the answer leaves it out */
                                       : add_victim(context, node, uid, err);
}

static int on_end(void *context, int64_t pdb_violations, struct sl_error *err)
{
    (void)err;
    state_of(context)->last->pdb_violations = pdb_violations;
    return 0;
}

int sl_preempt_begin(struct sl_request *request)
{
    const struct sl_body_sink sink = {
        .context = request, .victims = on_node, .victim = on_victim, .victims_end = on_end};
    if (sl_workspace_begin(request, SL_BODY_PREEMPT, &sink) < 0) {
        return -1;
    }
    struct sl_workspace *w = request->workspace;
    struct preempt *p = sl_arena_alloc(&w->arena, sizeof(*p));
    if (p == NULL) {
        return sl_error_nomem(&request->err);
    }
    p->max_victims = w->candidates.max * VICTIMS_PER_NODE;
    w->arena.max += p->max_victims * VICTIM_BYTES;
    request->verb_state = p;
    return 0;
}

static void grant_victim(struct sl_grant *grant, const char *name, struct sl_str victim)
{
    if (grant != NULL && grant->n < SL_GRANT_VICTIMS_MAX) {
        grant->row[grant->n++] =
            (struct sl_grant_row){sl_hash(name, strlen(name)), sl_hash(victim.s, victim.len)};
    }
}

static void write_node(struct sl_writer *w, const char *name, const struct node_victims *node,
                       const bool *keep, struct sl_grant *grant)
{
    sl_write_key_str(w, sl_str_of(name));
    sl_write_object(w);
    sl_write_member_array(w, "Pods");
    for (uint32_t i = 0; i < node->n; i++) {
        if (keep[i]) {
            sl_write_object(w);
            sl_write_key(w, "UID");
            sl_write_str(w, node->uid[i]);
            sl_write_object_end(w);
            grant_victim(grant, name, node->uid[i]);
        }
    }
    sl_write_array_end(w);
    sl_write_member_i64(w, "NumPDBViolations", node->pdb_violations);
    sl_write_object_end(w);
}

/* ---- a pod that the queue lets preempt ---- */

struct choice {
    struct sl_request *request;
    struct node_victims *node;
    int result;
};

static void choose_run(void *to, const struct sl_pod *run)
{
    struct choice *choice = to;
    if (choice->result == 0) {
        choice->result =
            add_victim(choice->request, choice->node, sl_str_of(run->uid), &choice->request->err);
    }
}

/* Puts in place of kube-scheduler's victims the runs that end for a pod which the queue has let go
 * without a nomination, if preemption is off. -1: out of memory, or too many. */
static int choose_runs(struct sl_request *request, const struct sl_pod *pod)
{
    const struct sl_queue_reader *queue = &request->app->queue;
    struct preempt *p = state_of(request);
    struct choice choice = {.request = request};
    if (request->live->config.plan.preemption) {
        return 0; /* and waits for no plan */
    }
    for (choice.node = p->first; choice.node != NULL && queue->reclaim != NULL;
         choice.node = choice.node->next) {
        struct node_victims named = *choice.node;
        if (named.place == SL_NODE_NONE) {
            continue;
        }
        choice.node->n = 0;
        p->n_victims -= named.n;
        int64_t ends =
            queue->reclaim(queue->context, sl_str_of(pod->uid),
                           request->snapshot->view[named.place]->node->name, choose_run, &choice);
        if (ends < 0 && !p->reclaims) { /* later: its turn has come, or it has gone: nobody ends */
            *choice.node = named;
            p->n_victims += named.n;
            return 0;
        }
        p->reclaims = true;
    }
    return choice.result;
}

/* ---- the answer ---- */

/* Returns how many nodes the answer has, -1 when out of memory. */
static int64_t write_nodes(struct sl_request *request, const struct sl_ask *ask,
                           struct sl_writer *w)
{
    int64_t answered = 0;
    for (const struct node_victims *node = state_of(request)->first; node != NULL;
         node = node->next) {
        if (node->place == SL_NODE_NONE || node->n == 0) {
            continue; /* a node without victims would be an error of the whole call */
        }
        bool *keep = sl_arena_alloc(&request->workspace->arena, node->n);
        if (keep == NULL) {
            return fail_nomem(request, &request->err);
        }
        const struct sl_view *view = request->snapshot->view[node->place];
        memset(keep, 1, node->n);
        int fits =
            state_of(request)->reclaims ? 1 : sl_preempt(view, ask, node->uid, node->n, keep, NULL);
        if (fits < 0) {
            return sl_error_nomem(&request->err);
        }
        if (fits > 0) {
            write_node(w, view->node->name, node, keep, state_of(request)->grant);
            answered++;
        }
    }
    return answered;
}

static void write_result(struct sl_request *request, const struct sl_asked *asked)
{
    struct sl_writer w = {.buf = &request->reply};
    struct preempt *p = state_of(request);
    if (choose_runs(request, asked->pod) < 0) {
        (void)sl_request_fail_err(request);
        return;
    }
    size_t rows = p->n_victims < SL_GRANT_VICTIMS_MAX ? p->n_victims : SL_GRANT_VICTIMS_MAX;
    p->grant = sl_grant_new(sl_str_of(asked->pod->uid), rows, sl_clock_monotonic_ns());
    sl_write_object(&w);
    sl_write_member_object(&w, "NodeNameToMetaVictims");
    int64_t answered = write_nodes(request, &asked->ask, &w);
    sl_write_object_end(&w);
    sl_write_object_end(&w);
    sl_buf_putc(&request->reply, '\n');
    if (answered > 0 && p->grant != NULL) {
        sl_grants_put(&request->app->grants, p->grant);
    } else {
        sl_grant_unref(p->grant);
    }
    if (answered < 0) {
        (void)sl_request_fail_err(request);
        return;
    }
    request->outcome = answered > 0 ? SL_OUTCOME_OK : SL_OUTCOME_REFUSED;
}

void sl_preempt_finish(struct sl_request *request)
{
    struct sl_asked asked;
    if (sl_asked_take(request, &asked) < 0) {
        return;
    }
    if (sl_verb_ready(request) < 0) { /* ExtenderPreemptionResult has no place for an error */
        (void)sl_request_fail(request, 503);
    } else {
        write_result(request, &asked);
        sl_metrics_nodes(request->metrics, SL_CLASS_PREEMPT, request->workspace->candidates.n);
    }
    sl_asked_free(&asked);
}
