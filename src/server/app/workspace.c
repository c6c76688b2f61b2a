/* Memory of a connection, and the decoding of a body into it. */
#include "server/app/workspace.h"

#include <stdlib.h>

#include "util/data/vec.h"

enum {
    KEEP_BYTES = 256 * 1024,     /* what a connection may keep of each buffer */
    POD_ARENA_BYTES = 4 << 20,   /* text of one pod */
    SMALL_ARENA_BYTES = 1 << 20, /* text of a review, which anybody may send; of four names */
    NAME_ARENA_BYTES = 320,      /* per candidate: an unknown name (253 at most), or its score */
    TEXT_MAX_BYTES = INT32_MAX,  /* ends are 32 bits; a body's own maximum comes first */
};

static void init_workspace(struct sl_workspace *workspace)
{
    *workspace = (struct sl_workspace){.body = NULL};
    sl_arena_init(&workspace->arena, POD_ARENA_BYTES);
    sl_buf_init(&workspace->candidates.text, 0);
    sl_buf_init(&workspace->refused, 0);
    sl_buf_init(&workspace->never, 0);
    sl_buf_init(&workspace->held, 0);
}

static void forget_unknown(struct sl_candidates *c)
{
    if (c->unknown_seen != NULL) {
        sl_map_free(c->unknown_seen);
        free(c->unknown_seen);
        c->unknown_seen = NULL;
    }
}

static void clear_workspace(struct sl_workspace *workspace)
{
    struct sl_candidates *c = &workspace->candidates;
    forget_unknown(c);
    free(c->place);
    free(c->end);
    free(c->whole_end);
    free(c->seen);
    sl_buf_free(&c->text);
    sl_body_free(workspace->body);
    sl_buf_free(&workspace->refused);
    sl_buf_free(&workspace->never);
    sl_buf_free(&workspace->held);
    sl_arena_free(&workspace->arena);
    init_workspace(workspace);
}

struct sl_workspace *sl_workspace_new(void)
{
    struct sl_workspace *workspace = malloc(sizeof(*workspace));
    if (workspace != NULL) {
        init_workspace(workspace);
    }
    return workspace;
}

void sl_workspace_free(struct sl_workspace *workspace)
{
    clear_workspace(workspace);
    free(workspace);
}

size_t sl_workspace_bytes(const struct sl_workspace *workspace)
{
    const struct sl_candidates *c = &workspace->candidates;
    size_t unknown = c->unknown_seen == NULL ? 0 : sl_map_bytes(c->unknown_seen);
    size_t body = workspace->body == NULL ? 0 : sl_body_bytes(workspace->body);
    return sl_arena_bytes(&workspace->arena) + body + unknown +
           c->cap * (sizeof(*c->place) + sizeof(*c->end)) + c->whole_cap * sizeof(*c->whole_end) +
           c->text.cap + c->seen_cap + workspace->refused.cap + workspace->never.cap +
           workspace->held.cap;
}

static void trim_buf(struct sl_buf *buf)
{
    if (buf->cap > KEEP_BYTES) {
        sl_buf_free(buf);
    }
    buf->len = 0;
    buf->failed = SL_BUF_OK;
}

void sl_workspace_reset(struct sl_workspace *workspace, bool all)
{
    struct sl_candidates *c = &workspace->candidates;
    if (all) {
        clear_workspace(workspace);
        return;
    }
    forget_unknown(c);
    if (c->cap * sizeof(*c->place) > KEEP_BYTES) {
        free(c->place);
        free(c->end);
        c->place = NULL;
        free(c->whole_end);
        c->end = NULL;
        c->whole_end = NULL;
        c->cap = 0;
        c->whole_cap = 0;
    }
    trim_buf(&c->text);
    trim_buf(&workspace->refused);
    trim_buf(&workspace->never);
    trim_buf(&workspace->held);
    if (workspace->arena.used > KEEP_BYTES) {
        sl_arena_free(&workspace->arena);
    }
    sl_arena_reset(&workspace->arena);
}

/* Has room for marks of all nodes, none of them marked. */
static int clear_seen(struct sl_candidates *c, size_t n_nodes)
{
    if (sl_vec_reserve(&c->seen, &c->seen_cap, n_nodes, sizeof(*c->seen)) < 0) {
        return -1;
    }
    if (n_nodes > 0) {
        memset(c->seen, 0, n_nodes * sizeof(*c->seen));
    }
    return 0;
}

static int renew_decoder(struct sl_request *request)
{
    struct sl_workspace *w = request->workspace;
    if (w->body != NULL && w->body_serial == request->live->serial) {
        return 0;
    }
    const struct sl_config *config = &request->live->config;
    struct sl_text_limits limits = {.max_bytes = (size_t)config->server.max_body_bytes,
                                    .max_string = (size_t)config->decode.max_string,
                                    .max_depth = (unsigned)config->decode.max_depth};
    sl_body_free(w->body);
    w->body = sl_body_new(&limits, &w->arena);
    w->body_serial = request->live->serial;
    return w->body == NULL ? -1 : 0;
}

int sl_workspace_begin(struct sl_request *request, enum sl_body_kind kind,
                       const struct sl_body_sink *sink)
{
    struct sl_workspace *w = request->workspace;
    const struct sl_config *config = &request->live->config;
    w->candidates.max = (size_t)config->extender.max_node_names;
    w->candidates.n = 0;
    w->candidates.hint = 0;
    w->candidates.text.len = 0;
    w->candidates.text.max = TEXT_MAX_BYTES;
    bool names_nodes = kind == SL_BODY_ARGS || kind == SL_BODY_PREEMPT;
    w->arena.max = names_nodes ? POD_ARENA_BYTES + w->candidates.max * NAME_ARENA_BYTES
                               : (size_t)SMALL_ARENA_BYTES;
    w->refused.max = (size_t)config->server.max_reply_bytes;
    w->never.max = w->refused.max;
    /* a body that names no nodes takes no snapshot: it would keep old views while it comes in */
    if (renew_decoder(request) < 0 ||
        (names_nodes && clear_seen(&w->candidates, sl_app_snapshot(request)->n_nodes) < 0)) {
        return sl_error_nomem(&request->err);
    }
    sl_body_begin(w->body, kind, sink);
    return 0;
}

int sl_workspace_feed(struct sl_request *request, const char *data, size_t len)
{
    const struct sl_workspace *w = request->workspace;
    if (sl_body_feed(w->body, data, len, &request->err) == 0) {
        return 0;
    }
    if (request->err.code == SL_ERR_LIMIT && w->candidates.n < w->candidates.max) {
        sl_metrics_limit(request->metrics, SL_LIMIT_DECODE);
    }
    return sl_request_fail_err(request);
}

int sl_workspace_hold(struct sl_request *request, const char *data, size_t len)
{
    struct sl_buf *held = &request->workspace->held;
    held->max = SL_HELD_MAX;
    sl_buf_append(held, data, len);
    if (held->failed == SL_BUF_FULL) {
        sl_metrics_limit(request->metrics, SL_LIMIT_BODY);
        return sl_error_set(&request->err, SL_ERR_LIMIT, "the manifest has more than %d bytes",
                            SL_HELD_MAX);
    }
    return held->failed == SL_BUF_NOMEM ? sl_error_nomem(&request->err) : 0;
}
