/* How many pods may be released now: the window, and the pause after releases that failed. */
#include <stdio.h>

#include "core/engine/internal.h"
#include "util/time.h"

enum { FAILURES_MIN = 3 };

static const int64_t pause_first_us = SL_SECOND_US;
static const int64_t pause_max_us = 30 * SL_SECOND_US;

/* Nominations, and those of them for which kube-scheduler was not given long yet. */
struct tally {
    int64_t since_us;
    unsigned n;
    unsigned fresh;
    int64_t oldest_us; /* of the fresh ones */
};

static void count_one(void *context, const struct sl_pod *pod, int64_t nominated_us)
{
    struct tally *tally = context;
    bool fresh = nominated_us > tally->since_us;
    (void)pod;
    tally->oldest_us = fresh && tally->fresh == 0 ? nominated_us : tally->oldest_us;
    tally->n++;
    tally->fresh += fresh;
}

static struct tally count(const struct sl_engine *engine, int64_t now_us)
{
    struct tally tally = {.since_us = now_us - sl_pace_patience_us(&engine->window.pace)};
    sl_planner_nominated(engine->planner, count_one, &tally);
    return tally;
}

unsigned sl_engine_outstanding(const struct sl_engine *engine)
{
    return count(engine, 0).n;
}

size_t sl_engine_room(const struct sl_engine *engine, int64_t now_us)
{
    const struct sl_window *window = &engine->window;
    struct tally tally = count(engine, now_us);
    unsigned max = engine->config.max_releases;
    unsigned left = tally.n < max ? max - tally.n : 0;
    unsigned pace = sl_pace_window(&window->pace);
    if (!engine->config.releases) {
        return left;
    }
    if (window->failures >= FAILURES_MIN && now_us < window->paused_until_us &&
        (window->failed_for_all || !sl_planner_waits_beside(engine->planner, window->failed))) {
        return 0;
    }
    pace = tally.fresh < pace ? pace - tally.fresh : 0;
    return pace < left ? pace : left;
}

/* ---- what is told ---- */

void sl_window_init(struct sl_engine *engine)
{
    engine->window = (struct sl_window){.failures = 0};
    engine->window.wake_us = INT64_MAX;
    sl_pace_init(&engine->window.pace, engine->config.max_releases);
}

void sl_window_bound(struct sl_engine *engine, struct sl_str uid, int64_t now_us)
{
    struct sl_pace *pace = &engine->window.pace;
    int64_t nominated_us = sl_planner_nominated_at(engine->planner, uid);
    if (nominated_us > 0 && now_us - nominated_us <= sl_pace_patience_us(pace)) {
        sl_pace_bound(pace, now_us - nominated_us, engine->window.full, now_us);
    }
}

/* Other namespaces do not wait while releases fail in one namespace alone, as with pods that are
 * too large for the API server's store. */
bool sl_window_broke(struct sl_engine *engine, struct sl_str namespace, int64_t now_us)
{
    struct sl_window *window = &engine->window;
    if (window->failures == 0) {
        (void)snprintf(window->failed, sizeof(window->failed), "%.*s", (int)namespace.len,
                       namespace.s);
        window->failed_for_all = false;
    }
    window->failures++;
    window->failed_for_all =
        window->failed_for_all || !sl_str_eq(namespace, sl_str_of(window->failed));
    window->pause_us = window->pause_us == 0 ? pause_first_us : window->pause_us * 2;
    window->pause_us = window->pause_us > pause_max_us ? pause_max_us : window->pause_us;
    if (now_us < window->paused_until_us) {
        return false;
    }
    window->paused_until_us = now_us + window->pause_us;
    return true;
}

void sl_window_went(struct sl_engine *engine)
{
    engine->window.failures = 0;
    engine->window.pause_us = 0;
}

bool sl_window_is_paused(const struct sl_engine *engine, int64_t now_us)
{
    return now_us < engine->window.paused_until_us;
}

unsigned sl_engine_window(const struct sl_engine *engine)
{
    return sl_pace_window(&engine->window.pace);
}

/* ---- a plan's end ---- */

void sl_window_note(struct sl_engine *engine, bool full, int64_t now_us)
{
    struct sl_window *window = &engine->window;
    struct tally tally = count(engine, now_us);
    window->full = full;
    window->wake_us = INT64_MAX;
    if (full && tally.fresh > 0 && engine->config.releases) { /* as one grows old another may go */
        window->wake_us = tally.oldest_us + sl_pace_patience_us(&window->pace);
    }
    if (now_us < window->paused_until_us && window->paused_until_us < window->wake_us) {
        window->wake_us = window->paused_until_us;
    }
}
