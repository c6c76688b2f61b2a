/* Devices marked by gpushare's ConfigMaps, whichever of node and ConfigMap comes first. */
#include "watches.h"

#include <sched.h>
#include <stdio.h>

#include "kube/watch/sync.h"
#include "kube/watch/unhealthy.h"
#include "util/log.h"

#define MAPS   "/api/v1/namespaces/kube-system/configmaps?limit"
#define W_MAPS "/api/v1/namespaces/kube-system/configmaps?watch"
#define NODE(name, version)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version                          \
    "\",\"annotations\":{\"sliced.dev/devices\":\"[{\\\"index\\\":0,\\\"memory\\\":\\\"16Gi\\\"}," \
    "{\\\"index\\\":1,\\\"memory\\\":\\\"16Gi\\\"},{\\\"index\\\":2,\\\"memory\\\":\\\"16Gi\\\","  \
    "\\\"healthy\\\":false}]\"}},\"status\":{\"allocatable\":{\"aliyun.com/gpu-mem\":\"48\"}}}"
#define MAP(name, data)                                                                            \
    "{\"metadata\":{\"namespace\":\"kube-system\",\"name\":\"" name "\"},\"data\":{" data "}}"

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_unhealthy *unhealthy;
    struct sl_sync *sync;
};

static size_t marked(void *context, const struct sl_node *node, int16_t index[SL_NODE_DEVICES_MAX])
{
    const struct scene *scene = context;
    return sl_unhealthy_of(scene->unhealthy, sl_str_of(node->name), index);
}

static void scene_begin(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    *scene = (struct scene){.sync = NULL};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
}

static void start_unhealthy(struct scene *scene)
{
    const struct sl_unhealthy_options options = {
        .client = scene->rig.client,
        .store = scene->store,
        .namespace = "kube-system",
        .times = watch_times(500),
    };
    scene->unhealthy = sl_unhealthy_start(&options, NULL);
    assert_non_null(scene->unhealthy);
}

static void start_nodes(struct scene *scene)
{
    const struct sl_sync_options options = {
        .client = scene->rig.client,
        .store = scene->store,
        .times = watch_times(500),
        .unhealthy = scene->unhealthy == NULL ? NULL : marked,
        .context = scene,
    };
    add_answer(&scene->rig, PODS, WHOLE("Pod", ""), false);
    add_answer(&scene->rig, W_PODS, "", true);
    scene->sync = sl_sync_start(&options, NULL);
    assert_non_null(scene->sync);
}

static void scene_end(struct scene *scene)
{
    sl_sync_stop(scene->sync);
    sl_unhealthy_stop(scene->unhealthy);
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
    sl_store_free(scene->store);
}

/* Bit i: the i-th device of n1 is healthy; -1: the node is not known. */
static int healthy(struct scene *scene)
{
    struct sl_node *node = sl_store_node(scene->store, SL_STR("n1"));
    int bits = node == NULL ? -1 : 0;
    for (unsigned i = 0; node != NULL && i < node->n_devices; i++) {
        bits |= node->device[i].healthy << i;
        assert_string_equal(node->name, "n1");
        assert_string_equal(node->pool[0].resource, "aliyun.com/gpu-mem");
    }
    sl_node_unref(node);
    return bits;
}

static void wait_healthy(struct scene *scene, int bits)
{
    while (healthy(scene) != bits) {
        (void)sched_yield();
    }
}

/* The node is there before the ConfigMaps are. */
static void scene_begin_with_node(struct scene *scene)
{
    scene_begin(scene);
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1", "1")), false);
    add_answer(&scene->rig, W_NODES, "", true);
    start_nodes(scene);
    wait_healthy(scene, 3);
}

static void wait_listed(struct scene *scene)
{
    while (sl_unhealthy_missing(scene->unhealthy) != NULL) {
        (void)sched_yield();
    }
}

TEST_FIXTURE_OF(struct scene, NULL, scene_end)

TEST_ON(struct scene *scene, a_node_that_comes_later_is_marked)
{
    scene_begin(scene);
    add_answer(
        &scene->rig, MAPS,
        WHOLE("ConfigMap", MAP("coredns", "\"Corefile\":\"x\"") "," MAP(
                               "unhealthy-gpu-n1", "\"gpus\":\"1, x,,70000\",\"other\":\"0\"")),
        false);
    add_answer(&scene->rig, W_MAPS, "", true);
    start_unhealthy(scene);
    wait_listed(scene);
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1", "1")), false);
    add_answer(&scene->rig, W_NODES, "", true);
    start_nodes(scene);
    wait_healthy(scene, 1); /* 1 by the ConfigMap, 2 by its own annotation */
}

TEST_ON(struct scene *scene, a_configmap_that_comes_later_marks_and_its_end_unmarks)
{
    scene_begin_with_node(scene);
    add_answer(&scene->rig, MAPS, WHOLE("ConfigMap", ""), false);
    add_answer(&scene->rig, W_MAPS,
               EVENT("ADDED", MAP("unhealthy-gpu-n1", "\"gpus\":\"0\"")) TOO_OLD, false);
    add_answer(&scene->rig, MAPS, WHOLE("ConfigMap", MAP("unhealthy-gpu-n1", "\"gpus\":\"0\"")),
               false);
    add_answer(&scene->rig, W_MAPS, "", true);
    start_unhealthy(scene);
    wait_healthy(scene, 2);
    fake_api_wait(scene->rig.api, 8); /* the second watch is there: no request is on its way */
    sl_unhealthy_stop(scene->unhealthy);
    fake_api_clear(scene->rig.api);
    add_answer(&scene->rig, MAPS, WHOLE("ConfigMap", MAP("unhealthy-gpu-n1", "\"gpus\":\"1\"")),
               false);
    add_answer(&scene->rig, W_MAPS,
               EVENT("DELETED", MAP("unhealthy-gpu-n1", ""))
                   EVENT("ADDED", MAP("unhealthy-gpu-n2", "\"gpus\":1")),
               true);
    start_unhealthy(scene);
    wait_healthy(scene, 3);
}

TEST_ALONE(what_a_list_does_not_name_is_healthy_again)
{
    struct scene scene;
    scene_begin_with_node(&scene);
    add_answer(&scene.rig, MAPS, WHOLE("ConfigMap", MAP("unhealthy-gpu-n1", "\"gpus\":\"0,1\"")),
               false);
    add_answer(&scene.rig, W_MAPS, "", true);
    start_unhealthy(&scene);
    wait_healthy(&scene, 0);
    scene_end(&scene);

    scene_begin_with_node(&scene);
    add_answer(&scene.rig, MAPS, WHOLE("ConfigMap", MAP("unhealthy-gpu-n1", "\"gpus\":\"0,1\"")),
               false);
    add_answer(&scene.rig, W_MAPS,
               EVENT("MODIFIED", MAP("unhealthy-gpu-n1", "\"gpus\":\"1\"")) TOO_OLD, false);
    add_answer(&scene.rig, MAPS, WHOLE("ConfigMap", ""), false);
    add_answer(&scene.rig, W_MAPS, "", true);
    start_unhealthy(&scene);
    wait_listed(&scene);
    wait_healthy(&scene, 3);
    scene_end(&scene);
}

TEST_ON(struct scene *scene, marks_outlive_news_of_the_node)
{
    scene_begin(scene);
    add_answer(&scene->rig, MAPS, WHOLE("ConfigMap", MAP("unhealthy-gpu-n1", "\"gpus\":\"0\"")),
               false);
    add_answer(&scene->rig, W_MAPS, "", true);
    start_unhealthy(scene);
    wait_listed(scene);
    add_answer(&scene->rig, NODES, WHOLE("Node", ""), false);
    add_answer(&scene->rig, W_NODES,
               EVENT("ADDED", NODE("n1", "11")) EVENT("DELETED", NODE("n1", "12"))
                   EVENT("ADDED", NODE("n1", "13")) EVENT("MODIFIED", NODE("n1", "14")),
               true);
    start_nodes(scene);
    wait_healthy(scene, 2);
}

TEST_ON(struct scene *scene, who_may_not_look_is_not_waited_for)
{
    scene_begin(scene);
    fake_api_add(scene->rig.api, (struct fake_answer){.path = MAPS, .status = 403});
    start_unhealthy(scene);
    wait_listed(scene);
}
