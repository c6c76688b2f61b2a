/* A releaser of one pod before an API server that answers as each test says. */
#ifndef SLICED_TEST_RELEASER_RIG_H
#define SLICED_TEST_RELEASER_RIG_H

#include "unit/kube/calls.h"

#include <stdatomic.h>
#include <stdio.h>

#include "kube/write/releaser.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define POD    "/api/v1/namespaces/default/pods/p"
#define STATUS POD "/status"
#define SAYS(reason, code)                                                                         \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no " reason                         \
    "\",\"reason\":\"" reason "\",\"code\":" code "}"
#define READ(uid, meta, spec)                                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"          \
    "\"default\",\"uid\":\"" uid "\"" meta "},\"spec\":{" spec "}}"
#define GATES "\"schedulingGates\":[{\"name\":\"sliced.dev/queue\"}]"
#define GATED READ("u1", "", GATES)
#define OPEN  READ("u1", "", "\"schedulingGates\":[{\"name\":\"example.com/other\"}]")
#define BOUND READ("u1", "", "\"nodeName\":\"n2\"")

/* no machine is as slow as that: only the fake clock ends it */
static const int64_t long_us = INT64_C(1000000000);

struct scene {
    struct rig rig;
    struct sl_change_options options;
    struct sl_releaser *releaser;
    struct sl_release release;
    atomic_int leads; /* how often still; negative: always */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done;
    enum sl_release_end end;
    char text[384];
};

static inline bool leads(void *context, uint64_t leadership)
{
    struct scene *scene = context;
    int left = atomic_load(&scene->leads);
    if (left > 0) {
        (void)atomic_fetch_sub(&scene->leads, 1);
    }
    return left != 0 && leadership == scene->release.leadership;
}

static inline void begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    *scene = (struct scene){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    rig_start(&scene->rig);
    atomic_init(&scene->leads, -1);
    scene->options = (struct sl_change_options){
        .client = scene->rig.client,
        .leads = leads,
        .context = scene,
        .timeout_us = long_us,
        .try_us = long_us,
        .backoff_us = 1 * MS,
        .backoff_max_us = 4 * MS,
    };
    scene->releaser = sl_releaser_new(&scene->options, NULL);
    assert_non_null(scene->releaser);
    scene->release = (struct sl_release){.namespace = SL_STR("default"),
                                         .name = SL_STR("p"),
                                         .uid = SL_STR("u1"),
                                         .node = SL_STR("n1"),
                                         .leadership = 7,
                                         .gated = true};
}

static inline void end(struct scene *scene)
{
    fake_api_release(scene->rig.api);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    sl_releaser_free(scene->releaser);
    rig_end(&scene->rig);
}

static inline void on_done(void *call, enum sl_release_end how, const struct sl_error *err)
{
    struct scene *scene = call;
    (void)pthread_mutex_lock(&scene->lock);
    scene->done++;
    scene->end = how;
    (void)snprintf(scene->text, sizeof(scene->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_cond_broadcast(&scene->changed);
    (void)pthread_mutex_unlock(&scene->lock);
}

static inline void start(struct scene *scene)
{
    sl_release(scene->releaser, &scene->release, on_done, scene);
}

static inline enum sl_release_end wait_end(struct scene *scene)
{
    struct timespec until;
    int code = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    (void)pthread_mutex_lock(&scene->lock);
    while (scene->done == 0 && code == 0) {
        code = pthread_cond_timedwait(&scene->changed, &scene->lock, &until);
    }
    (void)pthread_mutex_unlock(&scene->lock);
    assert_int_equal(code, 0);
    assert_int_equal(scene->done, 1);
    return scene->end;
}

static inline enum sl_release_end whole(struct scene *scene)
{
    start(scene);
    return wait_end(scene);
}

static inline void add(struct scene *scene, const char *method, const char *path, unsigned status,
                       const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){
                     .method = method, .path = path, .times = 1, .status = status, .body = body});
}

static inline void add_kind(struct scene *scene, const char *path, enum fake_kind kind)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "PATCH", .path = path, .times = 1, .kind = kind});
}

/* Patches of the pod itself: the status is another path that begins the same. */
static inline unsigned opened(struct scene *scene)
{
    return fake_api_count(scene->rig.api, "PATCH", POD) -
           fake_api_count(scene->rig.api, "PATCH", STATUS);
}

#endif
