/* Watches. A connection that has nothing to say is suspended; the tick wakes it. A watch's bit in
 * an object's told and due is all that is remembered of what it was told. */
#include "server/visibility/watch.h"

#include <stdlib.h>

#include "codec/status.h"
#include "server/app/estimates.h"
#include "util/clock.h"
#include "util/data/share.h"
#include "util/time.h"

enum {
    PIECE_BYTES = 64 << 10,  /* events that go out together */
    SECOND_BYTES = 1 << 20,  /* of one watch; the rest waits for the next tick */
    WATCH_SECONDS = 30 * 60, /* where the client says nothing */
    WATCH_SECONDS_MOST = 60 * 60,
    QUIET_SECONDS = 20,       /* then a bookmark, or a blank by which a dead peer is found */
    EVENT_BYTES_MAX = 2 << 20 /* what a piece may grow to */
};

struct sl_vis_watch {
    struct sl_request *request;
    struct sl_vis_cache *cache;
    struct sl_vis_query query;
    uint64_t who; /* of sl_estimate_who */
    unsigned slot;
    int64_t ends_ns;
    int64_t spoke_ns;
    size_t budget; /* bytes until the next tick */
    size_t next;   /* the row with which the next piece begins */
    bool suspended;
    bool headed;  /* the columns of the table are told */
    bool initial; /* the end of what was there at the beginning is still to be told */
    bool over;    /* the last event was told */
};

static uint64_t bit_of(const struct sl_vis_watch *watch)
{
    return UINT64_C(1) << watch->slot;
}

/* ---- events ---- */

static void begin_event(struct sl_writer *w, struct sl_buf *out, const char *type)
{
    *w = (struct sl_writer){.buf = out};
    sl_write_object(w);
    sl_write_member_text(w, "type", type);
    sl_write_key(w, "object");
}

static void end_event(struct sl_writer *w)
{
    sl_write_object_end(w);
    sl_buf_putc(w->buf, '\n');
}

static void tell_row(struct sl_vis_watch *watch, const struct sl_vis_row *row, const char *type)
{
    struct sl_writer w;
    begin_event(&w, &watch->request->reply, type);
    sl_vis_write_as(&w, watch->cache, &watch->query, row, !watch->headed);
    end_event(&w);
    watch->headed = true;
}

static void tell_gone(struct sl_vis_watch *watch, const struct sl_vis_object *object)
{
    struct sl_writer w;
    begin_event(&w, &watch->request->reply, "DELETED");
    sl_vis_write_gone(&w, watch->cache, &watch->query, object, !watch->headed);
    end_event(&w);
    watch->headed = true;
}

static void tell_bookmark(struct sl_vis_watch *watch, bool ends_initial)
{
    struct sl_writer w;
    begin_event(&w, &watch->request->reply, "BOOKMARK");
    sl_vis_write_bookmark(&w, watch->cache, &watch->query, watch->cache->revision, ends_initial);
    end_event(&w);
}

/* It missed something: the client has to list anew. */
static void tell_lost(struct sl_vis_watch *watch)
{
    struct sl_error err = {.code = SL_ERR_NOTFOUND};
    struct sl_writer w;
    (void)sl_error_set(&err, SL_ERR_NOTFOUND, "too old resource version");
    begin_event(&w, &watch->request->reply, "ERROR");
    sl_status_write(w.buf, 410, &err, false);
    w.comma = true;
    end_event(&w);
    watch->over = true;
}

/* Tells of a row that changed, or did not match before. */
static void follow_row(struct sl_vis_watch *watch, const struct sl_vis_row *row)
{
    struct sl_vis_object *object = row->object;
    uint64_t bit = bit_of(watch);
    bool told = (object->told & bit) != 0;
    bool matches =
        sl_vis_query_matches(&watch->query, watch->cache->kind, &watch->cache->look, row);
    object->due &= ~bit;
    if (matches) {
        object->told |= bit;
        tell_row(watch, row, told ? "MODIFIED" : "ADDED");
    } else if (told) {
        object->told &= ~bit;
        tell_row(watch, row, "DELETED");
    }
}

static bool is_full(const struct sl_vis_watch *watch)
{
    size_t len = watch->request->reply.len;
    return len >= PIECE_BYTES || len >= watch->budget;
}

/* Writes what is due, up to a piece. It goes on where the last piece ended: rows in front may
 * change faster than they can be told. */
static void follow_all(struct sl_vis_watch *watch)
{
    struct sl_vis_cache *cache = watch->cache;
    uint64_t bit = bit_of(watch);
    for (size_t i = 0; i < cache->n_gone && !is_full(watch); i++) {
        struct sl_vis_object *object = cache->gone[i];
        bool due = (object->due & bit) != 0 && (object->told & bit) != 0;
        object->due &= ~bit;
        object->told &= ~bit;
        if (due) {
            tell_gone(watch, object);
        }
    }
    size_t n = cache->look.n;
    size_t from = n == 0 ? 0 : watch->next % n;
    for (size_t k = 0; k < n && !is_full(watch); k++) {
        size_t i = (from + k) % n;
        if ((cache->look.row[i].object->due & bit) != 0) {
            follow_row(watch, &cache->look.row[i]);
            watch->next = i + 1;
        }
    }
}

/* ---- the stream ---- */

/* Writes the next piece; nothing when there is nothing to say. */
static void write_piece(struct sl_vis_watch *watch, int64_t now_ns)
{
    struct sl_buf *out = &watch->request->reply;
    if ((watch->cache->lost & bit_of(watch)) != 0) {
        tell_lost(watch);
        return;
    }
    if (watch->budget == 0) {
        return;
    }
    follow_all(watch);
    if (watch->initial && !is_full(watch)) {
        watch->initial = false;
        tell_bookmark(watch, true);
    }
    if (out->len == 0 && now_ns - watch->spoke_ns > QUIET_SECONDS * SL_SECOND_NS) {
        if (watch->query.bookmarks) {
            tell_bookmark(watch, false);
        } else {
            sl_buf_putc(out, '\n');
        }
    }
    watch->budget -= out->len < watch->budget ? out->len : watch->budget;
}

static int watch_more(struct sl_request *request)
{
    struct sl_vis_watch *watch = request->verb_state;
    struct sl_vis_cache *cache = watch->cache;
    int64_t now_ns = sl_clock_monotonic_ns();
    int rc = 0;
    (void)pthread_mutex_lock(&cache->lock);
    if (cache->closed || watch->over || now_ns >= watch->ends_ns) {
        rc = -1;
    } else {
        write_piece(watch, now_ns);
        if (request->reply.len > 0) {
            watch->spoke_ns = now_ns;
        } else {
            watch->suspended = true;
            MHD_suspend_connection(request->connection);
        }
    }
    (void)pthread_mutex_unlock(&cache->lock);
    return rc;
}

static void watch_ended(struct sl_request *request)
{
    struct sl_vis_watch *watch = request->verb_state;
    struct sl_vis_cache *cache = watch->cache;
    (void)pthread_mutex_lock(&cache->lock);
    cache->slots &= ~bit_of(watch);
    cache->watch[watch->slot] = NULL;
    (void)pthread_mutex_unlock(&cache->lock);
    free(watch);
}

/* Did the client know the object, and has it changed since, or gone? */
static bool changed_behind(const struct sl_vis_query *query, const struct sl_vis_object *object)
{
    const struct sl_str namespace = {object->key, object->namespace_len};
    const struct sl_str name = {object->key + object->namespace_len + 1, object->name_len};
    return query->since > 0 && object->born <= query->since && object->revision >= query->since &&
           sl_vis_query_names_match(query, namespace, name);
}

/* Where the watch begins: all that changed behind the revision that the client knows is due. */
static void set_due(struct sl_vis_watch *watch)
{
    struct sl_vis_cache *cache = watch->cache;
    int64_t since = watch->query.since;
    uint64_t bit = bit_of(watch);
    bool by_names = sl_vis_query_is_by_names(&watch->query);
    for (size_t i = 0; i < cache->look.n; i++) {
        const struct sl_vis_row *row = &cache->look.row[i];
        struct sl_vis_object *object = row->object;
        bool known = since > 0 && object->born <= since &&
                     sl_vis_query_matches(&watch->query, cache->kind, &cache->look, row);
        object->told = known ? object->told | bit : object->told & ~bit;
        object->due = object->revision >= since ? object->due | bit : object->due & ~bit;
    }
    for (size_t i = 0; i < cache->n_gone; i++) {
        struct sl_vis_object *object = cache->gone[i];
        bool known = by_names && changed_behind(&watch->query, object);
        object->told = known ? object->told | bit : object->told & ~bit;
        object->due = known ? object->due | bit : object->due & ~bit;
    }
}

enum { WATCHES_OF_ONE = 8, WATCHES_OF_ALL = 16, WATCHES_OF_USER = 16 };

/* Has the namespace its part of the watches, or the user (0: nobody says which)? They may ask for
 * any number, but not shut others out; some stay for watches of all namespaces. */
static bool is_crowded(const struct sl_vis_cache *cache, struct sl_str namespace, uint64_t who)
{
    unsigned same = 0;
    unsigned bound = 0;
    unsigned own = 0;
    unsigned all = 0;
    for (unsigned i = 0; i < SL_VIS_WATCHES_MAX; i++) {
        const struct sl_vis_watch *watch = cache->watch[i];
        bool one = watch != NULL && watch->query.namespace.len > 0;
        all += watch != NULL;
        own += watch != NULL && watch->who == who;
        bound += one;
        same += one && sl_str_eq(watch->query.namespace, namespace);
    }
    bool greedy =
        who != 0 && (own >= WATCHES_OF_USER || !sl_share_allows(own, all, SL_VIS_WATCHES_MAX));
    return greedy || (namespace.len > 0 &&
                      (same >= WATCHES_OF_ONE || bound >= SL_VIS_WATCHES_MAX - WATCHES_OF_ALL));
}

static unsigned free_slot(const struct sl_vis_cache *cache)
{
    unsigned slot = 0;
    while (slot < SL_VIS_WATCHES_MAX && (cache->slots & (UINT64_C(1) << slot)) != 0) {
        slot++;
    }
    return slot;
}

/* May something have left the client's selection while it was away? Only names are remembered of
 * how an object was before, so what labels or a status selected cannot be told. */
static bool may_have_left(const struct sl_vis_cache *cache, const struct sl_vis_query *query)
{
    bool left = false;
    if (sl_vis_query_is_by_names(query)) {
        return false;
    }
    for (size_t i = 0; i < cache->n_gone && !left; i++) {
        left = changed_behind(query, cache->gone[i]);
    }
    for (size_t i = 0; i < cache->look.n && !left; i++) {
        const struct sl_vis_row *row = &cache->look.row[i];
        left = changed_behind(query, row->object) &&
               !sl_vis_query_matches(query, cache->kind, &cache->look, row);
    }
    return left;
}

/* Has something gone from the client's selection of which it could not be told? */
static bool is_too_old(const struct sl_vis_cache *cache, const struct sl_vis_query *query)
{
    bool goes_on = query->since > 0 && !query->initial; /* else it is told all that is there */
    return query->since > cache->revision ||
           (goes_on && (query->since < sl_vis_cache_floor(cache, query->namespace) ||
                        may_have_left(cache, query)));
}

int sl_vis_watch_begin(struct sl_request *request, struct sl_vis_cache *cache,
                       const struct sl_vis_query *query)
{
    unsigned slot = free_slot(cache);
    uint64_t who = sl_estimate_who(sl_request_user(request));
    if (slot == SL_VIS_WATCHES_MAX || cache->closed || is_crowded(cache, query->namespace, who)) {
        sl_metrics_limit(request->metrics, SL_LIMIT_CONNECTIONS);
        (void)sl_error_set(&request->err, SL_ERR_LIMIT, "as many as may watch %s already",
                           cache->kind->plural);
        return sl_request_fail(request, 429);
    }
    if (is_too_old(cache, query)) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "too old resource version");
        return sl_request_fail(request, 410);
    }
    struct sl_vis_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        (void)sl_error_nomem(&request->err);
        return sl_request_fail_err(request);
    }
    int64_t seconds = query->timeout_s > 0 ? query->timeout_s : WATCH_SECONDS;
    seconds = seconds < WATCH_SECONDS_MOST ? seconds : WATCH_SECONDS_MOST;
    *watch = (struct sl_vis_watch){.request = request,
                                   .cache = cache,
                                   .query = *query,
                                   .who = who,
                                   .slot = slot,
                                   .budget = SECOND_BYTES,
                                   .initial = query->initial};
    watch->query.since = query->initial ? 0 : query->since;
    watch->spoke_ns = sl_clock_monotonic_ns();
    watch->ends_ns = watch->spoke_ns + seconds * SL_SECOND_NS;
    cache->watch[slot] = watch;
    cache->slots |= bit_of(watch);
    cache->lost &= ~bit_of(watch);
    set_due(watch);
    sl_buf_free(&request->reply);
    sl_buf_init(&request->reply, EVENT_BYTES_MAX);
    request->verb_state = watch;
    request->more = watch_more;
    request->ended = watch_ended;
    return 0;
}

/* ---- ticks ---- */

static void wake_all(struct sl_vis_cache *cache)
{
    for (unsigned i = 0; i < SL_VIS_WATCHES_MAX; i++) {
        struct sl_vis_watch *watch = cache->watch[i];
        if (watch == NULL) {
            continue;
        }
        watch->budget = SECOND_BYTES;
        if (watch->suspended) {
            watch->suspended = false;
            MHD_resume_connection(watch->request->connection);
        }
    }
}

void sl_vis_watch_tick(struct sl_vis_cache *cache)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    (void)pthread_mutex_lock(&cache->lock);
    if (cache->slots != 0) {
        (void)sl_vis_cache_look(cache, &err); /* what it cannot tell any more, watches are told */
        wake_all(cache);
    }
    sl_vis_cache_rest(cache);
    (void)pthread_mutex_unlock(&cache->lock);
}

void sl_vis_watch_close(struct sl_vis_cache *cache)
{
    (void)pthread_mutex_lock(&cache->lock);
    cache->closed = true;
    wake_all(cache);
    (void)pthread_mutex_unlock(&cache->lock);
}
