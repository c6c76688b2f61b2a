/* The pods that wait, and the release of each whose turn has come: begun after the plan, one at a
 * time, tried again after failures. */
#include <stdlib.h>

#include "core/engine/internal.h"

static struct sl_engine_pod *find(const struct sl_engine *engine, struct sl_str uid)
{
    return sl_map_get(&engine->pods, uid.s, uid.len);
}

/* NULL: out of memory. */
static struct sl_engine_pod *find_or_add(struct sl_engine *engine, struct sl_str uid)
{
    struct sl_engine_pod *own = find(engine, uid);
    return own != NULL ? own : SL_MAP_ADD(&engine->pods, struct sl_engine_pod, uid, uid);
}

static void list(struct sl_engine *engine, struct sl_engine_pod *own)
{
    if (!own->listed) {
        own->listed = true;
        own->todo = engine->todo;
        engine->todo = own;
    }
}

static void forget(struct sl_engine *engine, struct sl_engine_pod *own)
{
    struct sl_engine_pod **at = &engine->todo;
    while (own->listed && *at != own) {
        at = &(*at)->todo;
    }
    *at = own->listed ? own->todo : *at;
    (void)sl_map_remove(&engine->pods, own->uid, strlen(own->uid));
    sl_pod_unref(own->pod);
    free(own);
}

void sl_pods_free(struct sl_engine *engine)
{
    size_t at = 0;
    engine->todo = NULL;
    for (struct sl_engine_pod *own = sl_map_next(&engine->pods, &at); own != NULL;
         own = sl_map_next(&engine->pods, &at)) {
        own->listed = false;
        forget(engine, own);
    }
    sl_map_free(&engine->pods);
}

/* An earlier leader may have ended between nominating the pod and opening its gate. kube-scheduler
 * counts a gated pod's nomination against other pods too, so that it must be withdrawn. */
static void note_stray(struct sl_engine *engine, struct sl_engine_pod *own)
{
    own->stray = own->call == 0 && own->pod->gate == SL_GATE_OURS && own->pod->nominated != NULL;
    engine->stray = engine->stray || own->stray;
}

/* ---- what waits ---- */

int sl_engine_put(struct sl_engine *engine, struct sl_pod *pod, int64_t now_us,
                  struct sl_error *err)
{
    int result = sl_planner_put(engine->planner, pod, now_us, err);
    struct sl_engine_pod *own = result < 0 ? NULL : find_or_add(engine, sl_str_of(pod->uid));
    if (own == NULL) {
        return result < 0 ? result : sl_error_nomem(err);
    }
    struct sl_pod *old = own->pod;
    own->pod = sl_pod_ref(pod);
    sl_pod_unref(old);
    note_stray(engine, own);
    return engine->stages == NULL ? 0 : sl_stages_put(engine->stages, pod, err);
}

void sl_engine_remove(struct sl_engine *engine, struct sl_str uid, bool bound, int64_t now_us)
{
    struct sl_engine_pod *own = find(engine, uid);
    if (bound) {
        sl_window_bound(engine, uid, now_us);
    }
    sl_planner_remove(engine->planner, uid, now_us);
    if (engine->stages != NULL) {
        sl_stages_remove(engine->stages, uid);
    }
    if (own != NULL) {
        forget(engine, own);
    }
}

struct collection {
    struct sl_engine *engine;
    int64_t now_us;
    void (*staged)(void *context, struct sl_str uid, enum sl_hold_reason stage);
    void *context;
};

static void set_stage(void *context, struct sl_str uid, enum sl_hold_reason stage, const char *why)
{
    const struct collection *collection = context;
    sl_planner_set_stage(collection->engine->planner, uid, stage, why, collection->now_us);
    if (collection->staged != NULL) {
        collection->staged(collection->context, uid, stage);
    }
}

bool sl_engine_collect(struct sl_engine *engine, int64_t now_us,
                       void (*staged)(void *context, struct sl_str uid, enum sl_hold_reason stage),
                       void *context)
{
    struct collection collection = {engine, now_us, staged, context};
    return engine->stages != NULL && sl_stages_collect(engine->stages, set_stage, &collection);
}

/* ---- releases ---- */

static void release(struct sl_engine *engine, struct sl_engine_pod *own)
{
    const struct sl_engine_command command = {
        .kind = SL_DO_RELEASE, .pod = own->pod, .release = own->nomination, .bare = own->bare};
    if (own->call == 0) {
        /* it may end during the command */
        own->call = engine->config.releases ? own->nomination : 0;
        if (sl_engine_do(engine, &command)) {
            return;
        }
        own->call = 0;
    }
    own->again = true; /* an earlier release has to end first, or there is no memory */
    engine->again = true;
}

static void release_again(struct sl_engine *engine)
{
    size_t at = 0;
    engine->again = false;
    for (struct sl_engine_pod *own = sl_map_next(&engine->pods, &at); own != NULL;
         own = sl_map_next(&engine->pods, &at)) {
        if (own->again) {
            own->again = false;
            release(engine, own);
        }
    }
}

static bool end_release(struct sl_engine *engine, struct sl_engine_pod *own,
                        enum sl_release_end end, int64_t now_us)
{
    bool current = own->nomination == own->call;
    own->call = 0;
    if (end == SL_RELEASE_RELEASED) {
        sl_planner_released(engine->planner, sl_str_of(own->uid), now_us);
    }
    if (end == SL_RELEASE_REFUSED && current) {
        sl_planner_denied(engine->planner, sl_str_of(own->uid), now_us);
        own->expired = !own->bare;
        own->nomination = 0;
        own->again = false;
        list(engine, own);
        return true;
    }
    /* if the end is unknown, a nomination expires; a release without one has to be tried again */
    bool open = end == SL_RELEASE_FAILED || (end == SL_RELEASE_UNKNOWN && own->bare);
    if (open && current) {
        own->again = true;
        engine->again = true;
    } else {
        note_stray(engine, own);
    }
    return false;
}

enum sl_release_after sl_engine_released(struct sl_engine *engine, struct sl_str uid,
                                         struct sl_str namespace, uint64_t number,
                                         enum sl_release_end end, int64_t now_us)
{
    bool broke = end == SL_RELEASE_FAILED || end == SL_RELEASE_UNKNOWN;
    bool pauses = broke && sl_window_broke(engine, namespace, now_us);
    struct sl_engine_pod *own = find(engine, uid);
    if (!broke && end != SL_RELEASE_GONE) {
        sl_window_went(engine);
    }
    if (own == NULL || own->call == 0 || own->call != number) { /* of a pod that came and went */
        return pauses ? SL_AFTER_PAUSE : SL_AFTER_NOTHING;
    }
    if (end == SL_RELEASE_GONE) {
        return SL_AFTER_GONE;
    }
    bool denied = end_release(engine, own, end, now_us);
    return denied ? SL_AFTER_REFUSED : pauses ? SL_AFTER_PAUSE : SL_AFTER_NOTHING;
}

/* ---- a plan ---- */

static void nominate(struct sl_engine *engine, struct sl_engine_pod *own,
                     const struct sl_plan_action *action)
{
    bool bound = false;
    const struct sl_engine_command command = {
        .kind = SL_DO_NOMINATE,
        .pod = own->pod,
        .node = action->node,
        .assignment = action->assignment,
        .due_us = action->due_us,
        .backfilled = action->backfilled,
        .bound = &bound,
    };
    own->nomination = ++engine->last_release;
    own->again = false; /* of an earlier one */
    own->bare = false;
    own->failed = !sl_engine_do(engine, &command);
    own->release = !own->failed && !bound;
    engine->outdated = true;
}

static void expire(struct sl_engine *engine, struct sl_engine_pod *own,
                   const struct sl_plan_action *action)
{
    const struct sl_engine_command command = {
        .kind = SL_DO_EXPIRE,
        .pod = own->pod,
        .node = action->node,
        .assignment = action->assignment,
        .reason = action->reason,
    };
    own->nomination = 0;
    own->again = false;
    own->expired = sl_engine_do(engine, &command);
}

void sl_pods_act(struct sl_engine *engine, const struct sl_plan_action *action)
{
    struct sl_engine_pod *own = find(engine, sl_str_of(action->pod->uid));
    if (own == NULL) {
        return;
    }
    switch (action->kind) {
    case SL_PLAN_NOMINATE:
        nominate(engine, own, action);
        break;
    case SL_PLAN_EXPIRE:
        expire(engine, own, action);
        break;
    case SL_PLAN_RELEASE:
        own->nomination = ++engine->last_release;
        own->bare = true;
        own->release = true;
        break;
    case SL_PLAN_REFUSE:
        own->refused = true;
        own->why = action->reason;
        break;
    }
    list(engine, own);
}

static void withdraw_strays(struct sl_engine *engine)
{
    size_t at = 0;
    engine->stray = false;
    for (struct sl_engine_pod *own = sl_map_next(&engine->pods, &at); own != NULL;
         own = sl_map_next(&engine->pods, &at)) {
        if (own->stray && own->nomination == 0) {
            const struct sl_engine_command command = {
                .kind = SL_DO_WITHDRAW, .pod = own->pod, .node = own->pod->nominated};
            (void)sl_engine_do(engine, &command);
        }
        own->stray = false;
    }
}

/* A new nomination of the pod replaces the expired one on the API server. */
static void follow_up(struct sl_engine *engine, struct sl_engine_pod *own, int64_t now_us)
{
    struct sl_engine_command command = {.kind = SL_DO_WITHDRAW, .pod = own->pod};
    if (own->expired && own->call == 0 && !own->release) {
        (void)sl_engine_do(engine, &command);
    }
    if (own->failed) {
        own->again = false;
        own->nomination = 0;
        sl_planner_failed(engine->planner, sl_str_of(own->uid), now_us);
    } else if (own->release) {
        release(engine, own);
    }
    if (own->refused) {
        command.kind = SL_DO_REFUSE;
        command.reason = own->why;
        (void)sl_engine_do(engine, &command);
    }
    own->expired = false;
    own->failed = false;
    own->release = false;
    own->refused = false;
}

void sl_pods_prepare(struct sl_engine *engine, int64_t now_us)
{
    if (engine->again && !sl_window_is_paused(engine, now_us)) {
        release_again(engine);
    }
}

bool sl_pods_follow_up(struct sl_engine *engine, int64_t now_us)
{
    bool failed = false;
    struct sl_engine_pod *own = engine->todo;
    engine->todo = NULL;
    while (own != NULL) {
        struct sl_engine_pod *next = own->todo;
        own->todo = NULL;
        own->listed = false;
        failed = failed || own->failed;
        follow_up(engine, own, now_us);
        own = next;
    }
    if (engine->stray) {
        withdraw_strays(engine);
    }
    return failed;
}

void sl_pods_audit(const struct sl_engine *engine)
{
    size_t at = 0;
    for (const struct sl_engine_pod *own = sl_map_next(&engine->pods, &at); own != NULL;
         own = sl_map_next(&engine->pods, &at)) {
        bool nominated = sl_planner_nominated_at(engine->planner, sl_str_of(own->uid)) > 0;
        SL_CHECK(!nominated || (own->nomination != 0 && !own->bare));
        SL_CHECK(engine->again || !own->again);
        SL_CHECK(engine->config.releases || own->call == 0);
    }
}
