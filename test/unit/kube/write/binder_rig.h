/* What the tests of the binder share: one pod, an API server that answers by a script, and the end
 * of a binding, which is waited for. */
#ifndef SLICED_TEST_BINDER_RIG_H
#define SLICED_TEST_BINDER_RIG_H

#include "change_rig.h"

#include "kube/write/binder.h"

#define POD     "/api/v1/namespaces/default/pods/p"
#define BINDING POD "/binding"
#define READ(uid, node, meta)                                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"          \
    "\"default\",\"uid\":\"" uid "\"" meta "},\"spec\":{\"nodeName\":\"" node "\"}}"
#define OURS    READ("u1", "n1", "")
#define UNBOUND READ("u1", "", "")

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_change_options options;
    struct sl_kube_binder *binder;
    struct outcome outcome;
    struct reign reign;
};

static inline void on_done(void *call, enum sl_bind_end how, const struct sl_error *err)
{
    outcome_note(call, (int)how, err);
}

static inline void scene_begin(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
    scene->options = change_options(&scene->rig, &scene->reign);
}

static inline void scene_start(struct scene *scene)
{
    scene->binder = sl_kube_binder_new(&scene->options, scene->store, NULL);
    assert_non_null(scene->binder);
}

/* Both, where nothing is special about the binder. */
static inline void scene_open(struct scene *scene)
{
    scene_begin(scene);
    scene_start(scene);
}

static inline void scene_end(struct scene *scene)
{
    rig_end_client(&scene->rig);
    sl_kube_binder_free(scene->binder);
    rig_end(&scene->rig);
    sl_store_free(scene->store);
}

static inline void add_kind(struct scene *scene, const char *method, enum fake_kind kind,
                            unsigned times)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = method, .path = POD, .times = times, .kind = kind});
}

static inline void bind_with(struct scene *scene, bool nominated,
                             void (*bind)(void *context, const struct sl_binding *binding,
                                          sl_bind_done done, void *call))
{
    const struct sl_binding binding = {.namespace = SL_STR("default"),
                                       .name = SL_STR("p"),
                                       .uid = SL_STR("u1"),
                                       .node = SL_STR("n1"),
                                       .assignment = "nvidia.com/mig-1g.6gb=0/2",
                                       .leadership = 7,
                                       .nominated = nominated};
    scene->outcome = outcome_none();
    bind(scene->binder, &binding, on_done, &scene->outcome);
}

static inline void bind_begin(struct scene *scene)
{
    bind_with(scene, false, sl_kube_bind);
}

static inline enum sl_bind_end bind_whole(struct scene *scene)
{
    bind_begin(scene);
    outcome_wait(&scene->outcome);
    return (enum sl_bind_end)scene->outcome.end;
}

static inline unsigned count(struct scene *scene, const char *method)
{
    return fake_api_count(scene->rig.api, method, POD);
}

/* No answer comes any more in time. */
static inline void time_runs_out(struct scene *scene)
{
    fake_clock_advance(scene->rig.client, scene->options.timeout_us);
}

static inline struct sl_pod *pod_with(const char *timeout, int64_t deadline_s, const char *node)
{
    struct sl_pair annotation = {SL_STR("sliced.dev/timeout"), sl_str_of(timeout), NULL};
    struct sl_pair assignment = {SL_STR("sliced.dev/assignment"), SL_STR("x=0"),
                                 timeout == NULL ? NULL : &annotation};
    struct sl_pair limit = {SL_STR("nvidia.com/gpu"), SL_STR("1"), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                       .name = SL_STR("p"),
                                       .uid = SL_STR("u1"),
                                       .node_name = sl_str_of(node),
                                       .deadline_s = deadline_s,
                                       .annotations = &assignment,
                                       .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    return pod;
}

#endif
