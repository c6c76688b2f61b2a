/* Stages at work: what is read from the API server, and what watches tell meanwhile. */
#include "unit/kube/calls.h"

#include <stdio.h>

#include "config/config.h"
#include "daemon/stages/tracker.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define PODS(items)                                                                                \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" items "]}"
#define JOBS(items)                                                                                \
    "{\"kind\":\"JobList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" items "]}"
#define POD(name, phase)                                                                           \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                   \
    "\",\"labels\":{\"app\":\"x\"}},\"status\":{\"phase\":\"" phase "\"}}"
#define JOB(name, condition)                                                                       \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name                   \
    "\"},\"status\":{\"conditions\":[{\"type\":\"" condition "\",\"status\":\"True\"}]}}"

struct scene {
    struct rig rig;
    struct sl_stage_tracker *tracker;
    struct sl_engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned wakes;
    char told[512]; /* as the engine has it of the pod w */
};

static void wake(void *context)
{
    struct scene *scene = context;
    (void)pthread_mutex_lock(&scene->lock);
    scene->wakes++;
    (void)pthread_cond_broadcast(&scene->changed);
    (void)pthread_mutex_unlock(&scene->lock);
}

static void begin(struct scene *scene)
{
    memset(scene, 0, sizeof(*scene));
    sl_log_configure(SL_LOG_ERROR, false);
    (void)pthread_mutex_init(&scene->lock, NULL);
    (void)pthread_cond_init(&scene->changed, NULL);
    rig_start(&scene->rig);
    const struct sl_stage_tracker_options options = {.client = scene->rig.client,
                                                     .timeout_us = INT64_C(3600000000),
                                                     .wake = wake,
                                                     .context = scene};
    scene->tracker = sl_stage_tracker_new(&options, NULL);
    assert_non_null(scene->tracker);
    struct sl_config config;
    struct sl_engine_config engine;
    sl_config_defaults(&config);
    sl_config_engine(&config, &engine);
    scene->engine = sl_engine_new(&engine, sl_stage_tracker_stages(scene->tracker), NULL);
    assert_non_null(scene->engine);
}

static void end(struct scene *scene)
{
    fake_api_release(scene->rig.api);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    sl_engine_free(scene->engine);
    sl_stage_tracker_free(scene->tracker);
    rig_end(&scene->rig);
}

static struct sl_pod *make(const char *name, const char *phase, const char *after)
{
    struct sl_pair annotation = {SL_STR("sliced.dev/after"), sl_str_of(after), NULL};
    struct sl_pair label = {SL_STR("app"), SL_STR("x"), NULL};
    struct sl_pair limit = {SL_STR("nvidia.com/gpu"), SL_STR("1"), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.namespace = SL_STR("n"),
                                       .containers = &container,
                                       .name = sl_str_of(name),
                                       .uid = sl_str_of(name),
                                       .phase = sl_str_of(phase),
                                       .labels = after == NULL ? &label : NULL,
                                       .annotations = after == NULL ? NULL : &annotation};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    return pod;
}

static void wait_for(struct scene *scene, const char *name, const char *after)
{
    struct sl_pod *pod = make(name, "Pending", after);
    sl_stage_tracker_lock(scene->tracker);
    assert_int_equal(sl_engine_put(scene->engine, pod, 1, NULL), 0);
    sl_stage_tracker_unlock(scene->tracker);
    sl_pod_unref(pod);
}

static void tell_pod(struct scene *scene, const char *name, const char *phase)
{
    struct sl_pod *pod = make(name, phase, NULL);
    sl_stage_tracker_pod(scene->tracker, pod);
    sl_pod_unref(pod);
}

static void collect_once(struct scene *scene)
{
    struct sl_queue_row row;
    sl_stage_tracker_collect(scene->tracker, scene->engine, 1);
    assert_true(sl_planner_row(sl_engine_planner(scene->engine), SL_STR("w"), 1, &row));
    bool staged = row.reason == SL_HOLD_STAGE || row.reason == SL_HOLD_STAGE_FAILED;
    (void)snprintf(scene->told, sizeof(scene->told), "w %s: %s",
                   staged ? sl_hold_reason_name(row.reason) : "None",
                   row.why == NULL ? "" : row.why);
}

/* Collects whenever it is woken, until that was told; fails after a minute. */
static void collect(struct scene *scene, const char *wanted)
{
    struct timespec until;
    int code = 0;
    unsigned seen = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    collect_once(scene);
    while (strcmp(scene->told, wanted) != 0 && code == 0) {
        (void)pthread_mutex_lock(&scene->lock);
        while (scene->wakes == seen && code == 0) {
            code = pthread_cond_timedwait(&scene->changed, &scene->lock, &until);
        }
        seen = scene->wakes;
        (void)pthread_mutex_unlock(&scene->lock);
        collect_once(scene);
    }
    assert_string_equal(scene->told, wanted);
}

static void answer(struct scene *scene, const char *path, const char *body)
{
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "GET", .path = path, .body = body});
}

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, what_is_there_is_read_when_somebody_waits_for_it)
{
    answer(scene, "/api/v1/namespaces/n/pods?fieldSelector=metadata.name=one",
           PODS(POD("one", "Succeeded")));
    answer(scene, "/apis/batch/v1/namespaces/n/jobs?fieldSelector=metadata.name=j",
           JOBS(JOB("j", "Complete")));
    answer(scene, "/api/v1/namespaces/n/pods?labelSelector=app in (x,y)",
           PODS(POD("one", "Succeeded") "," POD("two", "Running")));
    wait_for(scene, "w", "one, job/j, app in (x,y)");
    collect(scene, "w Stage: it waits for pods (app in (x,y)) (1 of 2 have succeeded)");
    assert_true(sl_stage_tracker_wants_jobs(scene->tracker));
    tell_pod(scene, "two", "Succeeded");
    collect(scene, "w None: ");
    assert_int_equal(fake_api_requests(scene->rig.api), 3);
    sl_stage_tracker_lock(scene->tracker);
    sl_engine_remove(scene->engine, SL_STR("w"), false, 1);
    sl_stage_tracker_unlock(scene->tracker);
    assert_false(sl_stage_tracker_wants_jobs(scene->tracker));
}

TEST_ON(struct scene *scene, jobs_are_told_by_their_watch)
{
    const struct sl_job_facts failed = {
        .namespace = SL_STR("n"), .name = SL_STR("j"), .uid = SL_STR("u"), .failed = true};
    answer(scene, "/apis/batch/v1/namespaces/n/jobs?", JOBS(""));
    wait_for(scene, "w", "job/j");
    collect(scene, "w Stage: it waits for job/j (not there)");
    sl_stage_tracker_job(scene->tracker, &failed);
    collect(scene, "w StageFailed: job/j has failed, and sliced.dev/after names it");
    sl_stage_tracker_job_gone(scene->tracker, SL_STR("n"), SL_STR("j"));
    collect(scene, "w Stage: it waits for job/j (not there)");
    fake_api_clear(scene->rig.api);
    answer(scene, "/apis/batch/v1/namespaces/n/jobs?", JOBS(JOB("j", "Complete")));
    sl_stage_tracker_listed(scene->tracker,
                            true); /* the watch listed anew: who knows what it missed */
    collect(scene, "w None: ");
}

/* What the watch has told while the answer was on its way is newer than the answer. */
TEST_ON(struct scene *scene, a_watch_is_ahead_of_a_reading)
{
    fake_api_add(
        scene->rig.api,
        (struct fake_answer){.path = "/api/v1/namespaces/n/pods?", .kind = FAKE_HANG, .times = 1});
    answer(scene, "/api/v1/namespaces/n/pods?", PODS(POD("one", "Running")));
    wait_for(scene, "w", "one");
    collect(scene, "w Stage: it waits for pod/one (not read yet)");
    fake_api_wait(scene->rig.api, 1);
    tell_pod(scene, "one", "Running");
    sl_stage_tracker_pod_gone(scene->tracker, SL_STR("n"), SL_STR("one"));
    fake_api_release(scene->rig.api); /* the reading fails, and is made again after a pause */
    fake_clock_pass(scene->rig.client, 1000 * MS);
    collect(scene, "w Stage: it waits for pod/one (running)");
    assert_int_equal(fake_api_requests(scene->rig.api), 2);
}

TEST_ON(struct scene *scene, a_refusal_is_tried_again_after_a_pause)
{
    sl_log_configure(SL_LOG_ERROR, false);
    fake_api_add(scene->rig.api, (struct fake_answer){.status = 403, .times = 1});
    answer(scene, "/api/v1/namespaces/n/pods?", PODS(POD("one", "Succeeded")));
    wait_for(scene, "w", "one");
    collect(scene, "w Stage: it waits for pod/one (not read yet)");
    fake_clock_pass(scene->rig.client, 1000 * MS);
    collect(scene, "w None: ");
}

TEST_ON(struct scene *scene, what_it_does_is_counted)
{
    struct sl_buf out;
    answer(scene, "/api/v1/namespaces/n/pods?", PODS(POD("one", "Running")));
    wait_for(scene, "w", "one");
    collect(scene, "w Stage: it waits for pod/one (running)");
    sl_buf_init(&out, 1 << 16);
    sl_stage_tracker_write_metrics(scene->tracker, &out);
    sl_buf_putc(&out, '\0');
    assert_non_null(strstr(out.data, "sliced_stages_waiting_pods 1\n"));
    assert_non_null(strstr(out.data, "sliced_stages_items 1\n"));
    assert_non_null(strstr(out.data, "sliced_stages_predecessors 1\n"));
    assert_non_null(strstr(out.data, "sliced_stages_reads_total 1\n"));
    sl_buf_free(&out);
}
