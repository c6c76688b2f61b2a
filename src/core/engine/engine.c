/* The engine's life, and its parts put together. */
#include "sliced/engine.h"

#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/check.h"

struct sl_engine *sl_engine_new(const struct sl_engine_config *config, struct sl_error *err)
{
    struct sl_engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    engine->config = *config;
    sl_window_init(engine);
    engine->follow_us = INT64_MAX;
    engine->want_us = INT64_MAX;
    engine->planner = sl_planner_new(&config->plan, err);
    engine->cutter = engine->planner == NULL ? NULL : sl_cutter_new(err);
    if (engine->cutter == NULL) {
        sl_engine_free(engine);
        return NULL;
    }
    return engine;
}

void sl_engine_free(struct sl_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    sl_books_free(engine);
    sl_cutter_free(engine->cutter);
    sl_planner_free(engine->planner);
    free(engine->seen);
    free(engine);
}

int sl_engine_configure(struct sl_engine *engine, const struct sl_engine_config *config,
                        struct sl_error *err)
{
    if (sl_planner_configure(engine->planner, &config->plan, err) < 0) {
        return -1;
    }
    engine->config = *config;
    sl_pace_set_max(&engine->window.pace, config->max_releases);
    return 0;
}

struct sl_planner *sl_engine_planner(struct sl_engine *engine)
{
    return engine->planner;
}

void sl_engine_rebase(struct sl_engine *engine, int64_t by_us, int64_t now_us)
{
    sl_planner_rebase(engine->planner, by_us, now_us);
    sl_window_rebase(engine, by_us);
    sl_books_rebase(engine, by_us);
}

void sl_engine_remove(struct sl_engine *engine, struct sl_str uid, bool bound, int64_t now_us)
{
    if (bound) {
        sl_window_bound(engine, uid, now_us);
    }
    sl_planner_remove(engine->planner, uid, now_us);
}

int sl_engine_cluster(struct sl_engine *engine, const struct sl_view *const *view, size_t n,
                      const struct sl_demand *demand, int64_t now_us, struct sl_error *err)
{
    int result = sl_planner_cluster(engine->planner, view, n, now_us, err);
    engine->view = result == 0 ? view : NULL;
    engine->n_views = result == 0 ? n : 0;
    engine->demand = result == 0 ? demand : NULL;
    engine->outdated = false;
    return result;
}

bool sl_engine_follow(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context)
{
    engine->act = act;
    engine->context = context;
    engine->now_us = now_us;
    engine->round++;
    return engine->config.cutting.enabled && sl_cuts_follow(engine, now_us);
}

int sl_engine_cut(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context,
                  struct sl_error *err)
{
    engine->act = act;
    engine->context = context;
    engine->now_us = now_us;
    if (!engine->config.cutting.enabled) {
        return 0;
    }
    if (now_us < engine->rest_us || engine->outdated) {
        engine->want_us = engine->outdated ? now_us : engine->rest_us; /* to look again */
        return 0;
    }
    int result = sl_cuts_want(engine, now_us, err);
    sl_books_sweep(engine, now_us);
    return result < 0 ? -1 : 1;
}

void sl_engine_rest(struct sl_engine *engine, int64_t until_us)
{
    engine->rest_us = until_us;
}

int64_t sl_engine_wake(const struct sl_engine *engine)
{
    int64_t want_us = engine->want_us < engine->rest_us ? engine->rest_us : engine->want_us;
    int64_t wake_us = sl_planner_wake(engine->planner);
    wake_us = engine->window.wake_us < wake_us ? engine->window.wake_us : wake_us;
    wake_us = engine->follow_us < wake_us ? engine->follow_us : wake_us;
    return want_us < wake_us ? want_us : wake_us;
}

void sl_engine_audit(const struct sl_engine *engine)
{
    size_t under_way = 0;
    size_t at = 0;
    sl_planner_audit(engine->planner);
    for (const struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        under_way += book->run != NULL && !book->run->resumed;
        SL_CHECK(book->run != NULL || book->write == 0);
        SL_CHECK(!book->draining);
    }
    SL_CHECK(under_way == engine->under_way);
}
