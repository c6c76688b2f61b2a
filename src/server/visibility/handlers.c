/* Get, list and watch, and the life of what is remembered for them. */
#include "server/visibility/handlers.h"

#include <stdlib.h>

#include "server/api/api.h"
#include "server/visibility/watch.h"

struct sl_visibility *sl_visibility_new(struct sl_app *app)
{
    struct sl_visibility *visibility = calloc(1, sizeof(*visibility));
    if (visibility != NULL) {
        visibility->app = app;
        for (unsigned i = 0; i < SL_VIS_KINDS; i++) {
            sl_vis_cache_init(&visibility->cache[i], app, &sl_vis_kinds[i]);
        }
    }
    return visibility;
}

void sl_visibility_free(struct sl_visibility *visibility)
{
    for (unsigned i = 0; i < SL_VIS_KINDS; i++) {
        sl_vis_cache_free(&visibility->cache[i]);
    }
    free(visibility);
}

void sl_visibility_tick(struct sl_visibility *visibility)
{
    for (unsigned i = 0; i < SL_VIS_KINDS; i++) {
        sl_vis_watch_tick(&visibility->cache[i]);
    }
}

void sl_visibility_close(struct sl_visibility *visibility)
{
    for (unsigned i = 0; i < SL_VIS_KINDS; i++) {
        sl_vis_watch_close(&visibility->cache[i]);
    }
}

/* ---- requests ---- */

/* The memory of the kind, NULL after sl_request_fail. */
static struct sl_vis_cache *cache_of(struct sl_request *request, struct sl_str plural,
                                     bool namespaced)
{
    const struct sl_config *config = &request->live->config;
    int kind = sl_vis_kind_find(request->app, config, plural);
    if (kind < 0 || (namespaced && !sl_vis_kinds[kind].namespaced)) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND,
                           "the server could not find the requested resource: \"%.*s\"",
                           (int)(plural.len > 64 ? 64 : plural.len), plural.s);
        (void)sl_request_fail(request, 404);
        return NULL;
    }
    return &request->app->visibility->cache[kind];
}

static void write_one(struct sl_request *request, struct sl_vis_cache *cache,
                      const struct sl_vis_query *query)
{
    struct sl_writer w = {.buf = &request->reply};
    for (size_t i = 0; i < cache->look.n; i++) {
        if (sl_vis_query_matches(query, cache->kind, &cache->look, &cache->look.row[i])) {
            cache->look.detail = &request->live->config.plan.score;
            sl_vis_write_as(&w, cache, query, &cache->look.row[i], true);
            cache->look.detail = NULL;
            sl_buf_putc(&request->reply, '\n');
            return;
        }
    }
    (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "%s.%s \"%.*s\" not found",
                       cache->kind->plural, SL_VIS_GROUP,
                       (int)(query->name.len > 253 ? 253 : query->name.len), query->name.s);
    (void)sl_request_fail(request, 404);
}

/* Prometheus is being asked (429: a client asks again), or does not answer. */
static void look_failed(struct sl_request *request)
{
    switch (request->err.code) {
    case SL_ERR_LIMIT:
        (void)sl_request_fail(request, 429);
        break;
    case SL_ERR_SYSTEM:
        (void)sl_request_fail(request, 503);
        break;
    default:
        sl_api_queue_failed(request);
        break;
    }
}

static void answer(struct sl_request *request, struct sl_vis_cache *cache,
                   struct sl_vis_query *query)
{
    if (sl_vis_query_read(request, cache->kind, query) < 0) {
        return;
    }
    (void)pthread_mutex_lock(&cache->lock);
    if (sl_vis_cache_look(cache, &request->err) < 0) {
        look_failed(request);
    } else if (query->watch) {
        (void)sl_vis_watch_begin(request, cache, query);
    } else if (query->name.len > 0) {
        write_one(request, cache, query);
    } else {
        struct sl_writer w = {.buf = &request->reply};
        sl_vis_write_list(&w, cache, query);
    }
    (void)pthread_mutex_unlock(&cache->lock);
}

static void answer_about(struct sl_request *request, struct sl_str plural, struct sl_str ns,
                         struct sl_str name)
{
    struct sl_vis_query query = {.namespace = ns, .name = name};
    struct sl_vis_cache *cache = cache_of(request, plural, ns.len > 0);
    if (cache != NULL) {
        answer(request, cache, &query);
    }
}

void sl_vis_list(struct sl_request *request)
{
    answer_about(request, request->param[0], SL_STR(""), SL_STR(""));
}

void sl_vis_get(struct sl_request *request)
{
    int kind = sl_vis_kind_find(request->app, &request->live->config, request->param[0]);
    if (kind >= 0 && sl_vis_kinds[kind].namespaced) {
        (void)sl_error_set(&request->err, SL_ERR_NOTFOUND, "%s are in namespaces",
                           sl_vis_kinds[kind].plural);
        (void)sl_request_fail(request, 404);
        return;
    }
    answer_about(request, request->param[0], SL_STR(""), request->param[1]);
}

void sl_vis_list_in(struct sl_request *request)
{
    answer_about(request, request->param[1], request->param[0], SL_STR(""));
}

void sl_vis_get_in(struct sl_request *request)
{
    answer_about(request, request->param[1], request->param[0], request->param[2]);
}
