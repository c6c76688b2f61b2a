/* Candidates and scratch memory. Names are looked up as they come, so that a body of 5,000 names
 * leaves 20 KB behind and no text. */
#include "server/workspace.h"

#include <stdlib.h>

#include "codec/write.h"
#include "util/map.h"

enum {
    KEEP_BYTES = 256 * 1024,     /* what a connection may keep of each buffer */
    POD_ARENA_BYTES = 4 << 20,   /* text of one pod */
    SMALL_ARENA_BYTES = 1 << 20, /* what is kept of a review, which anybody may send; four names */
    NAME_ARENA_BYTES = 320,      /* per candidate: an unknown name (253 at most), or its score */
    FIRST_CANDIDATES = 256,
    TEXT_MAX_BYTES = INT32_MAX, /* ends are 32 bits; a body's own maximum comes first */
};

void sl_workspace_init(struct sl_workspace *workspace)
{
    memset(workspace, 0, sizeof(*workspace));
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

void sl_workspace_free(struct sl_workspace *workspace)
{
    struct sl_candidates *c = &workspace->candidates;
    forget_unknown(c);
    free(c->place);
    free(c->end);
    free(c->seen);
    sl_buf_free(&c->text);
    sl_body_free(workspace->body);
    sl_buf_free(&workspace->refused);
    sl_buf_free(&workspace->never);
    sl_buf_free(&workspace->held);
    sl_arena_free(&workspace->arena);
}

size_t sl_workspace_bytes(const struct sl_workspace *workspace)
{
    const struct sl_candidates *c = &workspace->candidates;
    size_t unknown = c->unknown_seen == NULL ? 0 : sl_map_bytes(c->unknown_seen);
    size_t body = workspace->body == NULL ? 0 : sl_body_bytes(workspace->body);
    return sl_arena_bytes(&workspace->arena) + body + unknown +
           c->cap * (sizeof(*c->place) + sizeof(*c->end)) + c->text.cap + c->seen_cap +
           workspace->refused.cap + workspace->never.cap + workspace->held.cap;
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
        free(c->end);
        c->place = NULL;
        c->end = NULL;
        c->cap = 0;
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

/* Nothing is marked, for all nodes of the snapshot. */
static int clear_seen(struct sl_candidates *c, size_t n_nodes)
{
    if (n_nodes > c->seen_cap) {
        bool *grown = realloc(c->seen, n_nodes * sizeof(*grown));
        if (grown == NULL) {
            return -1;
        }
        c->seen = grown;
        c->seen_cap = n_nodes;
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
    bool named = kind == SL_BODY_ARGS || kind == SL_BODY_PREEMPT; /* the others name no nodes */
    w->arena.max =
        named ? POD_ARENA_BYTES + w->candidates.max * NAME_ARENA_BYTES : (size_t)SMALL_ARENA_BYTES;
    w->refused.max = (size_t)config->server.max_reply_bytes;
    w->never.max = w->refused.max;
    /* no snapshot for what does not need one: it would keep old views for as long as a body takes
     */
    if (renew_decoder(request) < 0 ||
        (named && clear_seen(&w->candidates, sl_request_snapshot(request)->n_nodes) < 0)) {
        return sl_error_nomem(&request->err);
    }
    sl_body_begin(w->body, kind, sink);
    return 0;
}

/* Room for so many more candidates. */
static int make_room(struct sl_candidates *c, size_t more)
{
    if (more <= c->cap - c->n) {
        return 0;
    }
    size_t cap = c->cap == 0 ? FIRST_CANDIDATES : c->cap * 2;
    cap = cap < c->n + more ? c->n + more : cap;
    uint32_t *place = realloc(c->place, cap * sizeof(*place));
    if (place == NULL) {
        return -1;
    }
    c->place = place;
    uint32_t *end = realloc(c->end, cap * sizeof(*end));
    if (end == NULL) {
        return -1;
    }
    c->end = end;
    c->cap = cap;
    return 0;
}

static int duplicate(struct sl_str name, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD, "node \"%.*s\" is named twice",
                        (int)(name.len > 253 ? 253 : name.len), name.s == NULL ? "" : name.s);
}

/* Unknown names have no place to be marked. */
static int see_unknown(struct sl_request *request, struct sl_str name, struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (c->unknown_seen == NULL) {
        c->unknown_seen = calloc(1, sizeof(*c->unknown_seen));
    }
    char *copy = sl_arena_strdup(&request->workspace->arena, name.len == 0 ? "" : name.s, name.len);
    void *before = NULL;
    if (c->unknown_seen == NULL || copy == NULL ||
        sl_map_put(c->unknown_seen, copy, name.len, copy, &before) < 0) {
        return sl_error_nomem(err);
    }
    return before != NULL ? duplicate(name, err) : 0;
}

/* Marks a place; false when it was marked before. */
static inline bool mark(struct sl_candidates *c, uint32_t place)
{
    bool before = c->seen[place];
    c->seen[place] = true;
    return !before;
}

static int see(struct sl_request *request, uint32_t place, struct sl_str name, struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (place == SL_NODE_NONE) {
        return see_unknown(request, name, err);
    }
    if (!mark(c, place)) {
        return duplicate(name, err);
    }
    c->hint = place + 1;
    return 0;
}

/* Not 0 when one of eight bytes is a quote, a backslash or a control character. The usual tests for
 * a byte that is less than n or equal to c, on all eight at once; bytes beyond ASCII are none. */
static inline uint64_t special_of_eight(const char *at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t v = 0;
    memcpy(&v, at, sizeof(v));
    uint64_t quote = v ^ (ones * '"');
    uint64_t backslash = v ^ (ones * '\\');
    uint64_t control = (v - ones * 0x20) & ~v;
    quote = (quote - ones) & ~quote;
    backslash = (backslash - ones) & ~backslash;
    return (control | quote | backslash) & (ones * 0x80);
}

/* Text that came as a JSON string is valid UTF-8: only these need an escape. */
static bool needs_escape(struct sl_str name)
{
    char few[8] = "aaaaaaaa";
    if (name.len < sizeof(few)) {
        memcpy(few, name.len == 0 ? "" : name.s, name.len);
        return special_of_eight(few) != 0;
    }
    uint64_t special = special_of_eight(name.s + name.len - 8);
    for (size_t i = 0; i + 8 < name.len; i += 8) {
        special |= special_of_eight(name.s + i);
    }
    return special != 0;
}

static void put_quoted(struct sl_buf *text, struct sl_str name)
{
    if (needs_escape(name)) {
        struct sl_writer w = {.buf = text};
        sl_write_str(&w, name);
        sl_buf_putc(text, ',');
    } else if (sl_buf_reserve(text, name.len + 3)) {
        char *at = text->data + text->len;
        at[0] = '"';
        memcpy(at + 1, name.s, name.len);
        at[name.len + 1] = '"';
        at[name.len + 2] = ',';
        text->len += name.len + 3;
    }
}

int sl_candidates_add(struct sl_request *request, struct sl_str name, struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (c->n >= c->max) {
        sl_metrics_limit(&request->app->metrics, SL_LIMIT_NAMES);
        return sl_error_set(err, SL_ERR_LIMIT,
                            "more than %zu candidate nodes (extender.maxNodeNames)", c->max);
    }
    uint32_t place = sl_snapshot_find(request->snapshot, name, c->hint);
    if (see(request, place, name, err) < 0) {
        return -1;
    }
    put_quoted(&c->text, name);
    if (c->text.failed != SL_BUF_OK || make_room(c, 1) < 0) {
        return sl_error_nomem(err);
    }
    c->place[c->n] = place;
    c->end[c->n++] = (uint32_t)c->text.len;
    return 0;
}

size_t sl_candidates_add_run(struct sl_request *request, const struct sl_str *name, size_t n)
{
    struct sl_candidates *c = &request->workspace->candidates;
    size_t most = n < c->max - c->n ? n : c->max - c->n;
    if (most == 0 || make_room(c, most) < 0) {
        return 0;
    }
    /* as it stands in the body, from quote to quote, so it will stand in the reply */
    const char *from = name[0].s - 1;
    size_t base = c->text.len;
    if (!sl_buf_reserve(&c->text, (size_t)(name[most - 1].s + name[most - 1].len + 2 - from))) {
        return 0;
    }
    uint32_t *place = c->place + c->n;
    size_t found = sl_snapshot_find_run(request->snapshot, name, most, c->hint, place);
    size_t taken = 0;
    while (taken < found && mark(c, place[taken])) {
        taken++;
    }
    if (taken == 0) {
        return 0;
    }
    size_t len = (size_t)(name[taken - 1].s + name[taken - 1].len + 1 - from);
    memcpy(c->text.data + base, from, len);
    c->text.data[base + len] = ',';
    c->text.len = base + len + 1;
    for (size_t i = 0; i < taken; i++) {
        c->end[c->n + i] = (uint32_t)(base + (size_t)(name[i].s + name[i].len + 2 - from));
    }
    c->n += taken;
    c->hint = place[taken - 1] + 1;
    return taken;
}
