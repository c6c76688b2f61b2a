/* A releaser of one pod before an API server that answers as each test says. */
#ifndef SLICED_TEST_RELEASER_RIG_H
#define SLICED_TEST_RELEASER_RIG_H

#include "change_rig.h"

#include "kube/write/releaser.h"

#define POD    "/api/v1/namespaces/default/pods/p"
#define STATUS POD "/status"
#define READ(uid, meta, spec)                                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"          \
    "\"default\",\"uid\":\"" uid "\"" meta "},\"spec\":{" spec "}}"
#define GATES "\"schedulingGates\":[{\"name\":\"sliced.dev/queue\"}]"
#define GATED READ("u1", "", GATES)
#define OPEN  READ("u1", "", "\"schedulingGates\":[{\"name\":\"example.com/other\"}]")
#define BOUND READ("u1", "", "\"nodeName\":\"n2\"")

struct scene {
    struct rig rig;
    struct sl_change_options options;
    struct sl_releaser *releaser;
    struct sl_release release;
    struct reign reign;
    struct outcome outcome;
};

static inline void begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    *scene = (struct scene){.outcome = outcome_none()};
    rig_start(&scene->rig);
    scene->options = change_options(&scene->rig, &scene->reign);
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
    rig_end_client(&scene->rig);
    sl_releaser_free(scene->releaser);
    rig_end(&scene->rig);
}

static inline void on_done(void *call, enum sl_release_end how, const struct sl_error *err)
{
    outcome_note(call, (int)how, err);
}

static inline void start(struct scene *scene)
{
    sl_release(scene->releaser, &scene->release, on_done, &scene->outcome);
}

static inline enum sl_release_end wait_end(struct scene *scene)
{
    outcome_wait(&scene->outcome);
    assert_int_equal(scene->outcome.done, 1);
    return (enum sl_release_end)scene->outcome.end;
}

static inline enum sl_release_end whole(struct scene *scene)
{
    start(scene);
    return wait_end(scene);
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
