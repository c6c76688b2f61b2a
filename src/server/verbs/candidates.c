/* Reads candidates. Their nodes are looked up as the names come, so that a body of 5,000 names
 * leaves 20 KB behind and its text once. */
#include "server/verbs/candidates.h"

#include <stdlib.h>

#include "codec/stream/json_scan.h"
#include "codec/write.h"
#include "util/data/vec.h"

/* Makes room for so many more candidates. */
static int reserve_candidates(struct sl_candidates *c, size_t more)
{
    size_t cap = c->cap; /* the two arrays grow alike */
    return sl_vec_reserve(&c->end, &cap, c->n + more, sizeof(*c->end)) < 0
               ? -1
               : sl_vec_reserve(&c->place, &c->cap, c->n + more, sizeof(*c->place));
}

static int refuse_twice(struct sl_str name, struct sl_error *err)
{
    return sl_error_set(err, SL_ERR_FIELD, "node \"%.*s\" is named twice",
                        (int)(name.len > 253 ? 253 : name.len), name.s == NULL ? "" : name.s);
}

/* Remembers an unknown name, which has no place to mark. */
static int mark_unknown(struct sl_request *request, struct sl_str name, struct sl_error *err)
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
    return before != NULL ? refuse_twice(name, err) : 0;
}

/* Marks a place; false when it was marked before. */
static inline bool mark_place(struct sl_candidates *c, uint32_t place)
{
    bool before = c->seen[place];
    c->seen[place] = true;
    return !before;
}

static int mark_candidate(struct sl_request *request, uint32_t place, struct sl_str name,
                          struct sl_error *err)
{
    struct sl_candidates *c = &request->workspace->candidates;
    if (place == SL_NODE_NONE) {
        return mark_unknown(request, name, err);
    }
    if (!mark_place(c, place)) {
        return refuse_twice(name, err);
    }
    c->hint = place + 1;
    return 0;
}

static void put_quoted(struct sl_buf *text, struct sl_str name)
{
    const char *end = name.s + name.len;
    if (sl_scan_plain(name.s, end) != end) {
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
        sl_metrics_limit(request->metrics, SL_LIMIT_NAMES);
        return sl_error_set(err, SL_ERR_LIMIT,
                            "more than %zu candidate nodes (extender.maxNodeNames)", c->max);
    }
    uint32_t place = sl_snapshot_find(request->snapshot, name, c->hint);
    if (mark_candidate(request, place, name, err) < 0) {
        return -1;
    }
    put_quoted(&c->text, name);
    if (c->text.failed != SL_BUF_OK || reserve_candidates(c, 1) < 0) {
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
    if (most == 0 || reserve_candidates(c, most) < 0) {
        return 0;
    }
    /* the names stand in the reply as in the body, from quote to quote */
    const char *from = name[0].s - 1;
    size_t base = c->text.len;
    if (!sl_buf_reserve(&c->text, (size_t)(name[most - 1].s + name[most - 1].len + 2 - from))) {
        return 0;
    }
    uint32_t *place = c->place + c->n;
    size_t found = sl_snapshot_find_run(request->snapshot, name, most, c->hint, place);
    size_t taken = 0;
    while (taken < found && mark_place(c, place[taken])) {
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
