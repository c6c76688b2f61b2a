/* What the tests of the reflector share: a scripted server, and what the reflector told of it. */
#ifndef SLICED_TEST_REFLECTOR_RIG_H
#define SLICED_TEST_REFLECTOR_RIG_H

#include "watches.h"

#include <sched.h>
#include <stdio.h>

#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define LIST  "/api/v1/pods?limit"
#define WATCH "/api/v1/pods?watch"
#define POD(name, version)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define PAGE(version, next, items)                                                                 \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next \
    "\"},\"items\":[" items "]}"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define EXPIRED           "{\"kind\":\"Status\",\"message\":\"old\",\"reason\":\"Expired\",\"code\":410}"

/* What the callbacks were told, as text: "[" list_begin, "+a" "~a" "-a" objects, "?a" skipped, "]"
 * listed, "!" given up. */
struct story {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char text[1 << 14];
    size_t len;
    unsigned calls;
    bool closed;        /* nothing may be told any more */
    const char *refuse; /* an object of that name is refused */
    enum sl_error_code refusal;
    unsigned refusals; /* that many times */
};

static inline void tell(struct story *story, const char *sign, struct sl_str name)
{
    (void)pthread_mutex_lock(&story->lock);
    if (story->closed) {
        (void)fprintf(stderr, "told after its end: %s\n", sign);
        abort();
    }
    int n = snprintf(story->text + story->len, sizeof(story->text) - story->len, "%s%.*s", sign,
                     (int)name.len, name.len == 0 ? "" : name.s);
    story->len += n < 0 || story->len + (size_t)n >= sizeof(story->text) ? 0 : (size_t)n;
    story->calls++;
    (void)pthread_cond_broadcast(&story->changed);
    (void)pthread_mutex_unlock(&story->lock);
}

static inline void on_begin(void *context)
{
    tell(context, "[", SL_STR(""));
}

static inline int on_object(void *context, const struct sl_watch_item *item, int64_t received_us,
                            struct sl_error *err)
{
    static const char *const signs[] = {"+", "~", "-"};
    struct story *story = context;
    assert_true(received_us > 0);
    if (story->refusals > 0 && sl_str_eq(item->name, sl_str_of(story->refuse))) {
        story->refusals--;
        return sl_error_set(err, story->refusal, "refused");
    }
    tell(story, signs[item->event], item->name);
    return 0;
}

static inline void on_skipped(void *context, const struct sl_watch_item *item,
                              const struct sl_error *why)
{
    assert_true(why->code != SL_ERR_NONE);
    tell(context, "?", item->name);
}

static inline void on_listed(void *context, bool ok)
{
    tell(context, ok ? "]" : "!", SL_STR(""));
}

/* Waits until so many callbacks ran, or (n 0) until the text has part in it. */
static inline void story_wait(struct story *story, const char *part, unsigned n)
{
    (void)pthread_mutex_lock(&story->lock);
    while (n > 0 ? story->calls < n : strstr(story->text, part) == NULL) {
        if (!calls_wait(&story->changed, &story->lock)) {
            fail_msg("waited for \"%s\", was told \"%s\"", part, story->text);
        }
    }
    (void)pthread_mutex_unlock(&story->lock);
}

struct scene {
    struct rig rig;
    struct story story;
    struct sl_reflector_options options;
    struct sl_reflector *reflector;
};

static inline void scene_begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->options = (struct sl_reflector_options){
        .client = scene->rig.client,
        .kind = SL_OBJECT_POD,
        .name = "pods",
        .path = "/api/v1/pods",
        .times = watch_times(2),
        .limits = {.max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 32},
        .calls = {.context = &scene->story,
                  .list_begin = on_begin,
                  .object = on_object,
                  .skipped = on_skipped,
                  .listed = on_listed},
    };
}

static inline void scene_start(struct scene *scene)
{
    struct sl_error err;
    scene->story = (struct story){.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER,
                                  .refuse = scene->story.refuse,
                                  .refusal = scene->story.refusal,
                                  .refusals = scene->story.refusals};
    scene->reflector = sl_reflector_start(&scene->options, &err);
    assert_non_null(scene->reflector);
}

/* Ends the reflector; nothing may be told from now on. */
static inline void scene_stop(struct scene *scene)
{
    sl_reflector_stop(scene->reflector);
    (void)pthread_mutex_lock(&scene->story.lock);
    scene->story.closed = true;
    (void)pthread_mutex_unlock(&scene->story.lock);
}

static inline void scene_end(struct scene *scene)
{
    scene_stop(scene);
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
}

static inline void add(struct scene *scene, const char *path, unsigned times, const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = path, .times = times, .body = body, .piece = 64});
}

static inline void add_status(struct scene *scene, const char *path, unsigned status,
                              const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = path, .times = 1, .status = status, .body = body});
}

/* A watch that tells this and then stays open. */
static inline void add_open_watch(struct scene *scene, const char *body)
{
    fake_api_add(
        scene->rig.api,
        (struct fake_answer){
            .path = WATCH, .body = body, .piece = 64, .hang = true, .cut_at = strlen(body)});
}

static inline const char *path_at(struct scene *scene, unsigned at)
{
    fake_api_wait(scene->rig.api, at + 1);
    return fake_api_request(scene->rig.api, at)->path;
}

static inline struct sl_reflector_stats stats_of(struct scene *scene)
{
    struct sl_reflector_stats stats;
    sl_reflector_stats(scene->reflector, &stats);
    return stats;
}

/* A server with a history: a watch gets what is after its version. */
struct history {
    unsigned cut; /* 0: no more */
};

static inline void answer_watch(void *context, const struct fake_request *request,
                                struct fake_answer *reply)
{
    static const char *const events[] = {
        EVENT("ADDED", POD("b", "11")),   EVENT("MODIFIED", POD("a", "12")), BOOKMARK("15"),
        EVENT("DELETED", POD("b", "16")), EVENT("ADDED", POD("last", "17")),
    };
    static const unsigned versions[] = {11, 12, 15, 16, 17};
    struct history *history = context;
    const char *version = strstr(request->path, "resourceVersion=");
    unsigned from =
        version == NULL ? 0 : (unsigned)strtoul(version + strlen("resourceVersion="), NULL, 10);
    char *body = calloc(1, 4096);
    if (body == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (versions[i] > from) {
            memcpy(body + strlen(body), events[i], strlen(events[i]) + 1);
        }
    }
    reply->body = body;
    reply->free_body = true;
    reply->body_len = strlen(body);
    reply->hang = history->cut == 0;
    reply->cut = history->cut > 0;
    reply->cut_at = history->cut > 0 ? history->cut : reply->body_len;
    reply->piece = 1 + history->cut % 50;
    history->cut = 0;
}

#endif
