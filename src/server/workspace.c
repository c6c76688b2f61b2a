/* Candidates and scratch memory. Names are looked up as they come, so that a body of 5,000 names
 * leaves 20 KB behind and no text. */
#include "server/workspace.h"

#include <stdlib.h>

#include "util/map.h"

enum {
    KEEP_BYTES = 256 * 1024,   /* what a connection may keep of each buffer */
    POD_ARENA_BYTES = 4 << 20, /* text of one pod */
    NAME_ARENA_BYTES = 320,    /* per candidate: an unknown name (253 at most), or its score */
    FIRST_CANDIDATES = 256,
};

void sl_workspace_init(struct sl_workspace *workspace)
{
    memset(workspace, 0, sizeof(*workspace));
    sl_arena_init(&workspace->arena, POD_ARENA_BYTES);
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
    c->n_unknown = 0;
}

void sl_workspace_free(struct sl_workspace *workspace)
{
    struct sl_candidates *c = &workspace->candidates;
    forget_unknown(c);
    free(c->place);
    free(c->unknown);
    free(c->seen);
    sl_body_free(workspace->body);
    sl_buf_free(&workspace->refused);
    sl_buf_free(&workspace->never);
    sl_buf_free(&workspace->held);
    sl_arena_free(&workspace->arena);
}

static void trim_buf(struct sl_buf *buf)
{
    if (buf->cap > KEEP_BYTES) {
        sl_buf_free(buf);
    }
    buf->len = 0;
    buf->failed = SL_BUF_OK;
}

void sl_workspace_reset(struct sl_workspace *workspace)
{
    struct sl_candidates *c = &workspace->candidates;
    forget_unknown(c);
    if (c->cap * sizeof(*c->place) > KEEP_BYTES) {
        free(c->place);
        c->place = NULL;
        c->cap = 0;
    }
    if (c->cap_unknown * sizeof(*c->unknown) > KEEP_BYTES) {
        free(c->unknown);
        c->unknown = NULL;
        c->cap_unknown = 0;
    }
    trim_buf(&workspace->refused);
    trim_buf(&workspace->never);
    trim_buf(&workspace->held);
    if (workspace->arena.used > KEEP_BYTES) {
        sl_arena_free(&workspace->arena);
    }
    sl_arena_reset(&workspace->arena);
}

/* A clear bitmap with a bit for every node of the snapshot. */
static int clear_seen(struct sl_candidates *c, size_t n_nodes)
{
    size_t words = n_nodes / 64 + 1;
    if (words > c->seen_words) {
        uint64_t *grown = realloc(c->seen, words * sizeof(*grown));
        if (grown == NULL) {
            return -1;
        }
        c->seen = grown;
        c->seen_words = words;
    }
    memset(c->seen, 0, words * sizeof(*c->seen));
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
    w->arena.max = POD_ARENA_BYTES + w->candidates.max * NAME_ARENA_BYTES;
    w->refused.max = (size_t)config->server.max_reply_bytes;
    w->never.max = w->refused.max;
    if (renew_decoder(request) < 0 ||
        clear_seen(&w->candidates, sl_request_snapshot(request)->n_nodes) < 0) {
        return sl_error_nomem(&request->err);
    }
    sl_body_begin(w->body, kind, sink);
    return 0;
}

/* The array with room for one more element of that size; NULL, and the array untouched, when out
 * of memory. */
static void *with_room(void *array, size_t *cap, size_t n, size_t size)
{
    if (n < *cap) {
        return array;
    }
    size_t wanted = *cap == 0 ? FIRST_CANDIDATES : *cap * 2;
    void *grown = realloc(array, wanted * size);
    if (grown != NULL) {
        *cap = wanted;
    }
    return grown;
}

static int duplicate(struct sl_str name, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD, "node \"%.*s\" is named twice",
                        (int)(name.len > 253 ? 253 : name.len), name.s == NULL ? "" : name.s);
}

static int add_unknown(struct sl_request *request, struct sl_str name, uint32_t *place,
                       struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (c->unknown_seen == NULL) {
        c->unknown_seen = calloc(1, sizeof(*c->unknown_seen));
    }
    struct sl_str *unknown =
        with_room(c->unknown, &c->cap_unknown, c->n_unknown, sizeof(*c->unknown));
    char *copy = sl_arena_strdup(&request->workspace->arena, name.len == 0 ? "" : name.s, name.len);
    c->unknown = unknown != NULL ? unknown : c->unknown;
    if (c->unknown_seen == NULL || copy == NULL || unknown == NULL) {
        return sl_error_nomem(err);
    }
    void *before = NULL;
    if (sl_map_put(c->unknown_seen, copy, name.len, copy, &before) < 0) {
        return sl_error_nomem(err);
    }
    if (before != NULL) {
        return duplicate(name, err);
    }
    *place = SL_CANDIDATE_UNKNOWN | (uint32_t)c->n_unknown;
    c->unknown[c->n_unknown++] = (struct sl_str){copy, name.len};
    return 0;
}

int sl_candidates_add(struct sl_request *request, struct sl_str name, struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (c->n >= c->max) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_NAMES);
        return sl_error_set(err, SL_ERR_LIMIT,
                            "more than %zu candidate nodes (extender.maxNodeNames)", c->max);
    }
    uint32_t *room = with_room(c->place, &c->cap, c->n, sizeof(*c->place));
    if (room == NULL) {
        return sl_error_nomem(err);
    }
    c->place = room;
    uint32_t place = sl_snapshot_find(request->snapshot, name, c->hint);
    if (place == SL_NODE_NONE) {
        if (add_unknown(request, name, &place, err) < 0) {
            return -1;
        }
    } else {
        uint64_t bit = UINT64_C(1) << (place % 64);
        if ((c->seen[place / 64] & bit) != 0) {
            return duplicate(name, err);
        }
        c->seen[place / 64] |= bit;
        c->hint = place + 1;
    }
    c->place[c->n++] = place;
    return 0;
}

struct sl_str sl_candidates_name(const struct sl_request *request, size_t i)
{
    const struct sl_candidates *c = &request->workspace->candidates;
    uint32_t place = c->place[i];
    if ((place & SL_CANDIDATE_UNKNOWN) != 0) {
        return c->unknown[place & ~SL_CANDIDATE_UNKNOWN];
    }
    return sl_str_of(request->snapshot->view[place]->node->name);
}
