/* The verb prioritize: a score of 0..10 for each candidate. */
#include <stdio.h>

#include "server/verbs/handlers.h"
#include "server/verbs/verbs.h"
#include "util/log.h"

enum {
    BYTES_PER_SCORE = 24, /* ,{"Host":,"Score":10} */
    BEST = 10,            /* MaxExtenderPriority */
};

/* Scores of the candidates on which the ask fits; the others keep 0 on the wire. */
struct scores {
    int32_t *total;
    uint32_t *rank;
    uint32_t *candidate; /* whose score it is */
    uint8_t *wire;       /* by candidate */
    uint8_t *packed;     /* wire, by place in total */
    size_t n;
};

int sl_prioritize_begin(struct sl_request *request)
{
    return sl_verb_begin_args(request, false);
}

static int scores_init(struct scores *s, struct sl_arena *arena, size_t n)
{
    s->n = 0;
    s->total = sl_arena_alloc(arena, n * sizeof(*s->total) + 1);
    s->rank = sl_arena_alloc(arena, n * sizeof(*s->rank) + 1);
    s->candidate = sl_arena_alloc(arena, n * sizeof(*s->candidate) + 1);
    s->wire = sl_arena_alloc(arena, n + 1);
    s->packed = sl_arena_alloc(arena, n + 1);
    return s->total == NULL || s->rank == NULL || s->candidate == NULL || s->wire == NULL ||
                   s->packed == NULL
               ? -1
               : 0;
}

static void score_candidates(struct sl_request *request, const struct sl_ask *ask, struct scores *s)
{
    const struct sl_candidates *c = &request->workspace->candidates;
    struct sl_scorer scorer;
    sl_scorer_init(&scorer, ask, &request->snapshot->demand, &request->live->config.plan.score);
    for (size_t i = 0; i < c->n; i++) {
        struct sl_score score;
        if (c->place[i] != SL_NODE_NONE &&
            sl_scorer_score(&scorer, request->snapshot->view[c->place[i]], &score)) {
            s->total[s->n] = score.total;
            s->rank[s->n] = c->place[i];
            s->candidate[s->n++] = (uint32_t)i;
        }
    }
    sl_score_wire(s->total, s->rank, s->n, s->packed);
    for (size_t i = 0; i < s->n; i++) {
        s->wire[s->candidate[i]] = s->packed[i];
    }
}

/* Makes the node of the pod's nomination alone the best, though that nomination may fill it: the
 * plan has chosen. */
static void prefer_nominated(struct sl_request *request, const struct sl_pod *pod, uint8_t *wire)
{
    const struct sl_candidates *c = &request->workspace->candidates;
    char node[SL_NODE_NAME_BYTES];
    if (request->app->queue.status == NULL ||
        !sl_store_nominated_node(request->app->store, sl_str_of(pod->uid), node, sizeof(node))) {
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        if (sl_candidates_is(c, i, node)) {
            wire[i] = BEST;
        } else if (wire[i] == BEST) {
            wire[i] = BEST - 1;
        }
    }
}

static char *put_text(char *at, struct sl_str text)
{
    memcpy(at, text.s, text.len);
    return at + text.len;
}

static void write_list(struct sl_request *request, const uint8_t *wire)
{
    struct sl_buf *out = &request->reply;
    const struct sl_candidates *c = &request->workspace->candidates;
    if (!sl_buf_reserve(out, 16 + c->text.len + c->n * BYTES_PER_SCORE)) {
        return;
    }
    char *at = out->data;
    *at++ = '[';
    for (size_t i = 0; i < c->n; i++) {
        at = put_text(at, i == 0 ? SL_STR("{\"Host\":") : SL_STR(",{\"Host\":"));
        at = put_text(at, sl_candidates_quoted(c, i));
        at = put_text(at, SL_STR(",\"Score\":"));
        if (wire[i] >= 10) {
            *at++ = '1';
        }
        *at++ = (char)('0' + wire[i] % 10);
        *at++ = '}';
    }
    at = put_text(at, SL_STR("]\n"));
    out->len = (size_t)(at - out->data);
}

static void log_best(const struct sl_request *request, const struct sl_pod *pod,
                     const uint8_t *wire)
{
    const struct sl_candidates *c = &request->workspace->candidates;
    char node[SL_NODE_NAME_BYTES] = "";
    size_t best = 0;
    for (size_t i = 1; i < c->n; i++) {
        best = wire[i] > wire[best] ? i : best;
    }
    if (c->n > 0) {
        struct sl_str quoted = sl_candidates_quoted(c, best);
        (void)snprintf(node, sizeof(node), "%.*s", (int)quoted.len - 2, quoted.s + 1);
    }
    sl_log_pod(SL_LOG_DEBUG, sl_str_of(pod->namespace), sl_str_of(pod->name), "prioritize",
               "#nodes", SL_LOG_NUMBER(c->n), "best", node, "#score",
               SL_LOG_NUMBER(c->n > 0 ? wire[best] : 0), (char *)NULL);
}

void sl_prioritize_finish(struct sl_request *request)
{
    struct sl_asked asked;
    struct scores scores;
    if (sl_asked_take(request, &asked) < 0) {
        return;
    }
    if (sl_verb_ready(request) < 0) { /* HostPriorityList has no place for an error */
        (void)sl_request_fail(request, 503);
    } else if (scores_init(&scores, &request->workspace->arena, request->workspace->candidates.n) <
               0) {
        (void)sl_error_nomem(&request->err);
        (void)sl_request_fail_err(request);
    } else {
        if (asked.ask.n > 0 && !asked.ask.malformed) {
            score_candidates(request, &asked.ask, &scores);
            prefer_nominated(request, asked.pod, scores.wire);
        }
        write_list(request, scores.wire);
        if (sl_log_pod_on(SL_LOG_DEBUG, sl_str_of(asked.pod->namespace),
                          sl_str_of(asked.pod->name))) {
            log_best(request, asked.pod, scores.wire);
        }
        sl_metrics_nodes(request->metrics, SL_CLASS_PRIORITIZE, request->workspace->candidates.n);
    }
    sl_asked_free(&asked);
}
