/* The engine's life, and its parts put together. */
#include "sliced/engine.h"

#include <stdlib.h>

#include "core/engine/internal.h"
#include "util/check.h"

static void use_stages(struct sl_engine *engine)
{
    if (engine->stages != NULL) {
        sl_stages_set_max(engine->stages, engine->config.max_predecessors);
    }
}

struct sl_engine *sl_engine_new(const struct sl_engine_config *config, struct sl_stages *stages,
                                struct sl_error *err)
{
    struct sl_engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL) {
        (void)sl_error_nomem(err);
        return NULL;
    }
    engine->config = *config;
    engine->stages = stages;
    use_stages(engine);
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
    sl_pods_free(engine);
    sl_cutter_free(engine->cutter);
    if (engine->stages != NULL) {
        sl_stages_clear(engine->stages);
    }
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
    use_stages(engine);
    return 0;
}

struct sl_planner *sl_engine_planner(struct sl_engine *engine)
{
    return engine->planner;
}

void sl_engine_rebase(struct sl_engine *engine, int64_t by_us, int64_t now_us)
{
    sl_planner_rebase(engine->planner, by_us, now_us);
    sl_times_move(engine, by_us);
    sl_times_move(&engine->window, by_us);
    sl_times_move(&engine->window.pace, by_us);
    sl_times_move(&engine->batch, by_us);
    for (size_t i = 0; i < engine->n_seen; i++) {
        sl_times_move_n(&engine->seen[i].since_us, 1, by_us);
    }
    sl_books_rebase(engine, by_us);
}

/* ---- plans of pods ---- */

struct plan {
    struct sl_engine *engine;
    size_t nominations;
};

static void pass_on(void *context, const struct sl_plan_action *action)
{
    struct plan *plan = context;
    plan->nominations += action->kind == SL_PLAN_NOMINATE;
    if (action->kind == SL_PLAN_EXPIRE && action->reason == SL_HOLD_EXPIRED) {
        sl_pace_expiry(&plan->engine->window.pace);
    }
    sl_pods_act(plan->engine, action);
}

int sl_engine_plan(struct sl_engine *engine, int64_t now_us, sl_engine_do_fn act, void *context,
                   struct sl_error *err)
{
    struct plan plan = {.engine = engine};
    engine->act = act;
    engine->context = context;
    engine->now_us = now_us;
    sl_pods_prepare(engine, now_us);
    size_t room = sl_engine_room(engine, now_us);
    int result = sl_planner_run(engine->planner, engine->demand, room, now_us, pass_on, &plan, err);
    sl_window_note(engine, plan.nominations >= room, now_us);
    bool failed = sl_pods_follow_up(engine, now_us);
    return result < 0 ? -1 : failed;
}

/* ---- the cluster and the cuts ---- */

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
    sl_pods_audit(engine);
    for (const struct sl_cut_book *book = sl_map_next(&engine->books, &at); book != NULL;
         book = sl_map_next(&engine->books, &at)) {
        under_way += book->run != NULL && !book->run->resumed;
        SL_CHECK(book->run != NULL || book->write == 0);
        SL_CHECK(!book->draining);
    }
    SL_CHECK(under_way == engine->under_way);
}
