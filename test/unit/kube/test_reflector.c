/* The reflector against a server that cuts, expires, is silent, and talks nonsense. */
#include "calls.h"

#include <sched.h>
#include <stdio.h>

#include "fake_clock.h"
#include "kube/reflector.h"
#include "util/log.h"

#define LIST  "/api/v1/pods?limit"
#define WATCH "/api/v1/pods?watch"
#define POD(name, version)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define PAGE(version, next, items)                                                                 \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" next \
    "\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version)   EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define EXPIRED             "{\"kind\":\"Status\",\"message\":\"old\",\"reason\":\"Expired\",\"code\":410}"

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

static void tell(struct story *story, const char *sign, struct sl_str name)
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

static void on_begin(void *context)
{
    tell(context, "[", SL_STR(""));
}

static int on_object(void *context, const struct sl_watch_item *item, int64_t received_us,
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

static void on_skipped(void *context, const struct sl_watch_item *item, const struct sl_error *why)
{
    assert_true(why->code != SL_ERR_NONE);
    tell(context, "?", item->name);
}

static void on_listed(void *context, bool ok)
{
    tell(context, ok ? "]" : "!", SL_STR(""));
}

/* Waits until so many callbacks ran, or (n 0) until the text has part in it; fails after a minute.
 */
static void story_wait(struct story *story, const char *part, unsigned n)
{
    struct timespec until;
    int code = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    (void)pthread_mutex_lock(&story->lock);
    while ((n > 0 ? story->calls < n : strstr(story->text, part) == NULL) && code == 0) {
        code = pthread_cond_timedwait(&story->changed, &story->lock, &until);
    }
    (void)pthread_mutex_unlock(&story->lock);
    if (code != 0) {
        fail_msg("waited for \"%s\", was told \"%s\"", part, story->text);
    }
}

struct scene {
    struct rig rig;
    struct story story;
    struct sl_reflector_options options;
    struct sl_reflector *reflector;
};

static void scene_begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->options = (struct sl_reflector_options){
        .client = scene->rig.client,
        .kind = SL_OBJECT_POD,
        .name = "pods",
        .path = "/api/v1/pods",
        .page = 2,
        .page_us = 20000 * MS,
        .watch_us = 300000 * MS,
        .silence_us = 1000000 * MS,
        .backoff_us = 1 * MS,
        .backoff_max_us = 4 * MS,
        .limits = {.max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 32},
        .calls = {.context = &scene->story,
                  .list_begin = on_begin,
                  .object = on_object,
                  .skipped = on_skipped,
                  .listed = on_listed},
    };
}

static void scene_start(struct scene *scene)
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
static void scene_stop(struct scene *scene)
{
    sl_reflector_stop(scene->reflector);
    (void)pthread_mutex_lock(&scene->story.lock);
    scene->story.closed = true;
    (void)pthread_mutex_unlock(&scene->story.lock);
}

static void scene_end(struct scene *scene)
{
    scene_stop(scene);
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
}

static void add(struct scene *scene, const char *path, unsigned times, const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = path, .times = times, .body = body, .piece = 64});
}

static void add_status(struct scene *scene, const char *path, unsigned status, const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = path, .times = 1, .status = status, .body = body});
}

/* A watch that tells this and then stays open. */
static void add_open_watch(struct scene *scene, const char *body)
{
    fake_api_add(
        scene->rig.api,
        (struct fake_answer){
            .path = WATCH, .body = body, .piece = 64, .hang = true, .cut_at = strlen(body)});
}

static const char *path_at(struct scene *scene, unsigned at)
{
    fake_api_wait(scene->rig.api, at + 1);
    return fake_api_request(scene->rig.api, at)->path;
}

static struct sl_reflector_stats stats_of(struct scene *scene)
{
    struct sl_reflector_stats stats;
    sl_reflector_stats(scene->reflector, &stats);
    return stats;
}

/* ---- the plain course ---- */

static void lists_page_by_page_then_watches_from_there(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    scene.options.query = "labelSelector=a%3Db";
    add(&scene, LIST, 1, PAGE("10", "t/1=&", POD("a", "1") "," POD("b", "2")));
    add(&scene, LIST, 1, PAGE("10", "", POD("c", "3")));
    add(&scene, WATCH, 1, EVENT("ADDED", POD("d", "11")) EVENT("DELETED", POD("a", "12")));
    add(&scene, WATCH, 1, EVENT("MODIFIED", POD("b", "13")) BOOKMARK("20"));
    add_open_watch(&scene, EVENT("MODIFIED", POD("c", "21")));

    scene_start(&scene);
    story_wait(&scene.story, "~c", 0);

    assert_string_equal(scene.story.text, "[+a+b+c]+d-a~b~c");
    assert_string_equal(path_at(&scene, 0), "/api/v1/pods?limit=2&labelSelector=a=b");
    assert_string_equal(path_at(&scene, 1),
                        "/api/v1/pods?limit=2&continue=t/1=&&labelSelector=a=b");
    assert_non_null(strstr(path_at(&scene, 2), "watch=true&allowWatchBookmarks=true&"
                                               "resourceVersion=10&timeoutSeconds="));
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=12&"));
    assert_non_null(strstr(path_at(&scene, 4), "resourceVersion=20&"));
    struct sl_reflector_stats stats = stats_of(&scene);
    assert_true(stats.synced && stats.last_event_us > 0);
    assert_int_equal(stats.lists, 1);
    assert_int_equal(stats.listed, 1);
    assert_int_equal(stats.watches, 3);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.bookmarks, 1);
    assert_int_equal(stats.failures, 0);
    scene_end(&scene);
}

static void is_synced_when_the_list_is_complete_not_before(void **state)
{
    static const char *const page = PAGE("10", "", POD("a", "1") "," POD("b", "1"));
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    fake_api_add(
        scene.rig.api,
        (struct fake_answer){
            .path = LIST, .times = 1, .body = page, .piece = 8, .hang = true, .cut_at = 130});
    add(&scene, LIST, 1, page);
    add_open_watch(&scene, EVENT("ADDED", POD("c", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "[+a", 0);
    assert_false(stats_of(&scene).synced);
    fake_api_release(scene.rig.api);
    story_wait(&scene.story, "![+a+b]+c", 0);
    assert_true(stats_of(&scene).synced);
    scene_end(&scene);
}

/* ---- expiry ---- */

static void a_410_between_pages_lists_from_the_start(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "x", POD("a", "1")));
    add_status(&scene, LIST, 410, EXPIRED);
    add(&scene, LIST, 1, PAGE("30", "", POD("b", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);
    story_wait(&scene.story, "[+a![+b]", 0);
    assert_non_null(strstr(path_at(&scene, 1), "continue=x"));
    assert_null(strstr(path_at(&scene, 2), "continue"));
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=30&"));
    assert_int_equal(stats_of(&scene).expired, 1);
    scene_end(&scene);
}

static void pages_that_expire_again_and_again_end_in_one_list(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    for (int i = 0; i < 2; i++) {
        add(&scene, LIST, 1, PAGE("10", "x", POD("a", "1")));
        add_status(&scene, LIST, 410, EXPIRED);
    }
    add(&scene, "/api/v1/pods?resourceVersion", 1, PAGE("30", "", POD("b", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);
    story_wait(&scene.story, "[+a![+a![+b]", 0);
    scene_end(&scene);
}

static void a_410_of_the_watch_lists_anew(void **state)
{
    static const struct {
        unsigned status;
        const char *body;
    } cases[] = {
        {410, EXPIRED},
        {410, "gone"},
        {200, EVENT("ERROR", EXPIRED)},
        {200, EVENT("ADDED", POD("z", "11")) EVENT("ERROR", "{\"code\":410}")},
        {200, EVENT("ERROR", "{\"status\":\"Failure\",\"reason\":\"Gone\"}")},
        {400, "{\"reason\":\"BadRequest\"}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene = {.options = {.page = 0}};
        scene_begin(&scene);
        add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
        add_status(&scene, WATCH, cases[i].status, cases[i].body);
        add(&scene, LIST, 1, PAGE("50", "", POD("b", "1")));
        add_open_watch(&scene, EVENT("ADDED", POD("c", "51")));
        scene_start(&scene);
        story_wait(&scene.story, "[+b]+c", 0);
        assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=50&"));
        assert_true(stats_of(&scene).synced);
        assert_int_equal(stats_of(&scene).expired, 1);
        scene_end(&scene);
    }
}

static void other_errors_do_not_list_until_they_last(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    for (int i = 0; i < 6; i++) {
        add_status(&scene, WATCH, 503, "{}");
    }
    add_status(&scene, WATCH, 429, "{}");
    add(&scene, WATCH, 1, EVENT("ADDED", POD("b", "11")));
    add(&scene, WATCH, 4, EVENT("ERROR", "{\"code\":500,\"message\":\"etcd\"}"));
    add(&scene, LIST, 1, PAGE("50", "", POD("c", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("d", "51")));
    scene_start(&scene);
    story_wait(&scene.story, "+d", 0);
    assert_string_equal(scene.story.text, "[+a]+b[+c]+d");
    for (unsigned at = 1; at <= 8; at++) {
        assert_non_null(strstr(path_at(&scene, at), "resourceVersion=10&"));
    }
    assert_int_equal(stats_of(&scene).failures, 11);
    scene_end(&scene);
}

/* ---- cuts ---- */

/* A server with a history: a watch gets what is after its version. */
struct history {
    unsigned cut; /* 0: no more */
};

static void answer_watch(void *context, const struct fake_request *request,
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

static void a_watch_cut_at_any_byte_goes_on_where_it_was(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    struct history history = {0};
    (void)state;
    scene_begin(&scene);
    for (unsigned cut = 1; cut < 330; cut++) {
        history.cut = cut;
        fake_api_clear(scene.rig.api);
        add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = WATCH, .fn = answer_watch, .context = &history});
        scene_start(&scene);
        story_wait(&scene.story, "+last", 0);
        assert_string_equal(scene.story.text, "[+a]+b~a-b+last");
        assert_int_equal(stats_of(&scene).lists, 1);
        scene_stop(&scene);
        fake_api_release(scene.rig.api);
    }
    rig_end(&scene.rig);
}

static void a_list_cut_at_any_byte_is_begun_anew(void **state)
{
    static const char *const page = PAGE("10", "", POD("a", "1") "," POD("b", "2"));
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    for (size_t cut = 0; cut < strlen(page); cut++) {
        fake_api_clear(scene.rig.api);
        fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST,
                                                         .times = 1,
                                                         .body = page,
                                                         .piece = 1 + cut % 40,
                                                         .cut = true,
                                                         .cut_at = cut});
        add(&scene, LIST, 1, page);
        add_open_watch(&scene, EVENT("ADDED", POD("z", "11")));
        scene_start(&scene);
        story_wait(&scene.story, "+z", 0);
        const char *again = strstr(scene.story.text, "!");
        assert_non_null(again);
        assert_string_equal(again, "![+a+b]+z");
        scene_stop(&scene);
        fake_api_release(scene.rig.api);
    }
    rig_end(&scene.rig);
}

static void a_server_that_hangs_up_is_tried_again(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST, .times = 3, .kind = FAKE_CLOSE});
    add_status(&scene, LIST, 500, "oops");
    add(&scene, LIST, 1, "{\"kind\":\"Status\"}");
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = WATCH, .times = 2, .kind = FAKE_CLOSE});
    add(&scene, WATCH, 1, ""); /* ends at once */
    add_open_watch(&scene, EVENT("ADDED", POD("b", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    assert_string_equal(scene.story.text, "[![![![![![+a]+b");
    scene_end(&scene);
}

static void a_silent_watch_is_replaced(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api, (struct fake_answer){.path = WATCH, .times = 1, .kind = FAKE_HANG});
    fake_api_add(scene.rig.api, (struct fake_answer){.path = WATCH,
                                                     .times = 1,
                                                     .body = EVENT("ADDED", POD("b", "11")),
                                                     .piece = 64,
                                                     .hang = true,
                                                     .cut_at = SIZE_MAX});
    add_open_watch(&scene, EVENT("ADDED", POD("c", "12")));
    scene_start(&scene);

    fake_api_wait(scene.rig.api, 2);
    fake_clock_advance(scene.rig.client, scene.options.silence_us);
    story_wait(&scene.story, "+b", 0);
    fake_clock_advance(scene.rig.client, scene.options.silence_us);
    story_wait(&scene.story, "+c", 0);

    assert_string_equal(scene.story.text, "[+a]+b+c");
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=11&"));
    assert_int_equal(stats_of(&scene).lists, 1);
    scene_end(&scene);
}

static void note_turn(void *context)
{
    const struct sl_reply reply = {.status = 0};
    pending_done(context, &reply);
}

/* The client's thread has done all that was due. */
static void turn_over(struct scene *scene)
{
    struct pending turn = PENDING_INIT;
    assert_int_equal(sl_client_after(scene->rig.client, 0, note_turn, &turn), 0);
    pending_wait(&turn, 1);
}

static void a_server_that_asks_for_an_hour_is_tried_after_a_minute(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    struct sl_client_stats stats;
    (void)state;
    scene_begin(&scene);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){
                     .path = LIST, .times = 1, .status = 429, .body = "{}", .retry_after = "3600"});
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);
    story_wait(&scene.story, "[!", 0);

    turn_over(&scene); /* its timer is set */
    fake_clock_advance(scene.rig.client, 50000 * MS);
    turn_over(&scene);
    sl_client_stats(scene.rig.client, &stats);
    assert_int_equal(stats.calls, 1);
    fake_clock_advance(scene.rig.client, 10000 * MS);

    story_wait(&scene.story, "![+a]", 0);
    scene_end(&scene);
}

/* ---- what cannot be used ---- */

static void what_cannot_be_used_is_skipped_and_counted(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    scene.story.refuse = "r";
    scene.story.refusal = SL_ERR_LIMIT;
    scene.story.refusals = 2;
    add(&scene, LIST, 1,
        PAGE("10", "", POD("a", "1") ",{\"metadata\":{\"name\":\"m\"},\"spec\":7}," POD("r", "3")));
    add_open_watch(&scene, EVENT("ADDED", "{\"metadata\":{\"name\":\"n\"},\"spec\":[]}")
                               EVENT("GROWN", POD("x", "12")) EVENT("MODIFIED", POD("r", "13"))
                                   EVENT("ADDED", POD("b", "14")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    assert_string_equal(scene.story.text, "[+a?m?r]?n??r+b");
    assert_int_equal(stats_of(&scene).skipped, 5);
    scene_end(&scene);
}

static void an_object_for_which_there_was_no_memory_is_told_again(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    struct history history = {0};
    (void)state;
    scene_begin(&scene);
    scene.story.refuse = "b";
    scene.story.refusal = SL_ERR_NOMEM;
    scene.story.refusals = 2;
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = WATCH, .fn = answer_watch, .context = &history});
    scene_start(&scene);
    story_wait(&scene.story, "+last", 0);
    assert_string_equal(scene.story.text, "[+a]+b~a-b+last");
    scene_end(&scene);
}

static void nonsense_in_a_watch_ends_in_a_new_list(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add(&scene, WATCH, 4, "<html>");
    add(&scene, LIST, 1, PAGE("50", "", POD("c", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("d", "51")));
    scene_start(&scene);
    story_wait(&scene.story, "+d", 0);
    assert_string_equal(scene.story.text, "[+a][+c]+d");
    scene_end(&scene);
}

/* ---- the end ---- */

static void nothing_is_told_after_stop_at_any_moment(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    for (unsigned n = 1; n < 120; n++) {
        fake_api_clear(scene.rig.api);
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = LIST,
                                          .piece = 3,
                                          .body = PAGE("10", "", POD("a", "1") "," POD("b", "2"))});
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = WATCH,
                                          .piece = 5,
                                          .times = 1 + n % 3,
                                          .body = EVENT("ADDED", POD("c", "11"))
                                              EVENT("DELETED", POD("c", "12")) BOOKMARK("13")});
        fake_api_add(
            scene.rig.api,
            (struct fake_answer){.path = WATCH, .piece = 7, .body = EVENT("ERROR", EXPIRED)});
        scene_start(&scene);
        story_wait(&scene.story, "", 1 + n % 17);
        scene_stop(&scene);
    }
    rig_end(&scene.rig);
}

static void stop_ends_a_call_that_hangs(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST, .kind = FAKE_HANG});
    scene_start(&scene);
    fake_api_wait(scene.rig.api, 1);
    scene_stop(&scene);
    struct sl_client_stats stats = {.in_flight = 1};
    while (stats.in_flight > 0) { /* the client lets go of it by itself */
        (void)sched_yield();
        sl_client_stats(scene.rig.client, &stats);
    }
    fake_api_release(scene.rig.api);
    rig_end(&scene.rig);
}

static void stop_does_not_wait_for_a_backoff(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    scene.options.backoff_us = 3600000 * MS;
    scene.options.backoff_max_us = 3600000 * MS;
    add_status(&scene, LIST, 500, "{}");
    scene_start(&scene);
    story_wait(&scene.story, "[!", 0);
    scene_end(&scene);
}

static void the_client_may_go_first(void **state)
{
    struct scene scene = {.options = {.page = 0}};
    (void)state;
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("b", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    sl_client_free(scene.rig.client);
    scene.rig.client = NULL;
    assert_false(stats_of(&scene).synced);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_page_by_page_then_watches_from_there),
        cmocka_unit_test(is_synced_when_the_list_is_complete_not_before),
        cmocka_unit_test(a_410_between_pages_lists_from_the_start),
        cmocka_unit_test(pages_that_expire_again_and_again_end_in_one_list),
        cmocka_unit_test(a_410_of_the_watch_lists_anew),
        cmocka_unit_test(other_errors_do_not_list_until_they_last),
        cmocka_unit_test(a_watch_cut_at_any_byte_goes_on_where_it_was),
        cmocka_unit_test(a_list_cut_at_any_byte_is_begun_anew),
        cmocka_unit_test(a_server_that_hangs_up_is_tried_again),
        cmocka_unit_test(a_silent_watch_is_replaced),
        cmocka_unit_test(a_server_that_asks_for_an_hour_is_tried_after_a_minute),
        cmocka_unit_test(what_cannot_be_used_is_skipped_and_counted),
        cmocka_unit_test(an_object_for_which_there_was_no_memory_is_told_again),
        cmocka_unit_test(nonsense_in_a_watch_ends_in_a_new_list),
        cmocka_unit_test(nothing_is_told_after_stop_at_any_moment),
        cmocka_unit_test(stop_ends_a_call_that_hangs),
        cmocka_unit_test(stop_does_not_wait_for_a_backoff),
        cmocka_unit_test(the_client_may_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
