/* The watch of Jobs, and lists that are read once, against a scripted API server. */
#include "watches.h"

#include <stdio.h>

#include "kube/watch/jobs.h"
#include "kube/watch/list_read.h"
#include "util/log.h"

#define LIST     "/apis/batch/v1/jobs?limit"
#define WATCH    "/apis/batch/v1/jobs?watch"
#define COMPLETE "{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\"}]}"
#define JOB(name, status)                                                                          \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                   \
    "\",\"resourceVersion\":\"7\"},\"status\":" status "}"

/* What was told, as text. */
struct story {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char text[1024];
    size_t len;
};

static void tell(struct story *story, const char *sign, struct sl_str name)
{
    (void)pthread_mutex_lock(&story->lock);
    int n = snprintf(story->text + story->len, sizeof(story->text) - story->len, "%s%.*s ", sign,
                     (int)name.len, name.len == 0 ? "" : name.s);
    assert_true(n > 0 && story->len + (size_t)n < sizeof(story->text));
    story->len += (size_t)n;
    (void)pthread_cond_broadcast(&story->changed);
    (void)pthread_mutex_unlock(&story->lock);
}

/* Waits until the text has that part. */
static void story_wait(struct story *story, const char *part)
{
    (void)pthread_mutex_lock(&story->lock);
    while (strstr(story->text, part) == NULL) {
        if (!calls_wait(&story->changed, &story->lock)) {
            fail_msg("waited for \"%s\", was told \"%s\"", part, story->text);
        }
    }
    (void)pthread_mutex_unlock(&story->lock);
}

struct scene {
    struct rig rig;
    struct story story;
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){
        .story = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
}

static void end(struct scene *scene)
{
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
}

/* ---- the watch ---- */

static void on_job(void *context, const struct sl_job_facts *job)
{
    tell(context, job->complete ? "+" : job->failed ? "!" : "~", job->name);
}

static void on_gone(void *context, struct sl_str namespace, struct sl_str name)
{
    assert_true(sl_str_eq(namespace, SL_STR("n")));
    tell(context, "-", name);
}

static void on_listed(void *context)
{
    tell(context, "listed", SL_STR(""));
}

TEST_THAT(a_watch_tells_how_jobs_end)
{
    struct scene scene;
    struct sl_error err = {.code = SL_ERR_NONE};
    begin(&scene);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = LIST,
                                      .body = "{\"kind\":\"JobList\",\"metadata\":{"
                                              "\"resourceVersion\":\"5\"},\"items\":[" JOB(
                                                  "a", "{}") "," JOB("b", COMPLETE) "]}"});
    fake_api_add(
        scene.rig.api,
        (struct fake_answer){
            .path = WATCH,
            .body = "{\"type\":\"MODIFIED\",\"object\":" JOB(
                "a", COMPLETE) "}\n"
                               "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"odd\"},"
                               "\"status\":"
                               "7}}\n"
                               "{\"type\":\"ADDED\",\"object\":" JOB(
                                   "c", "{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\"}"
                                        "]}") "}\n"
                                              "{\"type\":\"DELETED\",\"object\":" JOB(
                                                  "a", COMPLETE) "}\n",
            .piece = 7,
            .hang = true,
            .cut_at = SIZE_MAX});
    const struct sl_jobs_options options = {
        .client = scene.rig.client,
        .times = watch_times(10),
        .job = on_job,
        .gone = on_gone,
        .listed = on_listed,
        .context = &scene.story,
    };
    struct sl_jobs *jobs = sl_jobs_start(&options, &err);
    assert_non_null(jobs);
    story_wait(&scene.story, "~a +b listed +a !c -a ");
    sl_jobs_stop(jobs);
    end(&scene);
}

/* ---- a list ---- */

static void on_object(void *context, const struct sl_object *object)
{
    tell(context, object->pod != NULL ? "pod:" : "job:",
         object->pod != NULL ? object->pod->name : object->job->name);
}

static void on_done(void *context, bool ok, const struct sl_error *err)
{
    tell(context, ok ? "done" : "failed", ok ? SL_STR("") : sl_str_of(err->message));
}

static void read_list(struct scene *scene, enum sl_object_kind kind, const char *path)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    const struct sl_list_read options = {
        .client = scene->rig.client,
        .kind = kind,
        .path = path,
        .timeout_us = 60000 * MS,
        .object = on_object,
        .done = on_done,
        .context = &scene->story,
    };
    assert_int_equal(sl_list_read(&options, &err), 0);
}

TEST_THAT(a_list_is_told_object_by_object)
{
    struct scene scene;
    begin(&scene);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = "/pods",
                                      .piece = 5,
                                      .body = "{\"kind\":\"PodList\",\"metadata\":{"
                                              "\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":"
                                              "{\"name\":\"a\"}},{\"metadata\":7},{\"metadata\":{"
                                              "\"name\":\"b\"}}]}"});
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = "/jobs",
                                      .body = "{\"kind\":\"JobList\",\"metadata\":{"
                                              "\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":"
                                              "{\"name\":\"j\"}}]}"});
    read_list(&scene, SL_OBJECT_POD, "/pods");
    story_wait(&scene.story, "pod:a pod:b done ");
    read_list(&scene, SL_OBJECT_JOB, "/jobs");
    story_wait(&scene.story, "job:j done ");
    end(&scene);
}

TEST_THAT(what_is_no_list_has_failed)
{
    static const struct {
        unsigned status;
        const char *body;
    } cases[] = {
        {403, "{\"kind\":\"Status\",\"message\":\"forbidden\"}"},
        {200, "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["},
        {200, "{}"},
        {200, "<html>"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene);
        fake_api_add(scene.rig.api, (struct fake_answer){.path = "/pods",
                                                         .status = cases[i].status,
                                                         .body = cases[i].body});
        read_list(&scene, SL_OBJECT_POD, "/pods");
        story_wait(&scene.story, "failed");
        assert_int_equal(fake_api_requests(scene.rig.api), 1);
        end(&scene);
    }
}
