/* Which failures are remembered. The API server refuses one pod's patch and takes the others'. */
#include "unit/kube/write/releaser_rig.h"

#include "daemon/live/unqueued.h"
#include "util/time.h"

#define PODS  "/api/v1/namespaces/default/pods/"
#define FIRST PODS "first/status"

/* Bound, and its condition says that it is queued. */
static struct sl_pod *stale_pod(const char *name)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_pair limit = {.key = SL_STR("nvidia.com/gpu"), .value = SL_STR("1")};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                       .name = sl_str_of(name),
                                       .uid = sl_str_of(name),
                                       .node_name = SL_STR("n1"),
                                       .containers = &container,
                                       .queued = true};
    struct sl_pod *pod = sl_pod_new(&facts, &err);
    assert_non_null(pod);
    return pod;
}

/* Returns when its patch has been answered. */
static void see(struct scene *scene, struct sl_unqueued *unqueued, struct sl_pod *pod)
{
    sl_unqueued_seen(unqueued, pod, scene->reign.leadership);
    fake_clock_await_rest(scene->rig.client, 0);
}

TEST_THAT(pods_whose_condition_ends_push_no_failure_out)
{
    static const struct sl_store_limits limits = {1000, 1000, 1000, 30000000};
    static struct sl_unqueued unqueued;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct scene scene;
    begin(&scene);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = FIRST, .status = 403, .body = SAYS("way", "403")});
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "PATCH", .path = PODS});
    struct sl_store *store = sl_store_new(&limits, &err);
    assert_non_null(store);
    sl_unqueued_init(&unqueued, store);
    unqueued.releaser = scene.releaser;

    struct sl_pod *pod = stale_pod("first");
    assert_int_equal(sl_store_put_pod(store, sl_pod_ref(pod), &err), 0);
    see(&scene, &unqueued, pod);
    sl_pod_unref(pod);
    for (int i = 0; i < 300; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        pod = stale_pod(name);
        see(&scene, &unqueued, pod);
        sl_pod_unref(pod);
    }
    assert_int_equal(fake_api_count(scene.rig.api, "PATCH", PODS "p"), 300);
    assert_int_equal(fake_api_count(scene.rig.api, "PATCH", FIRST), 1);
    fake_clock_pass(scene.rig.client, SL_MINUTE_US);
    sl_unqueued_tick(&unqueued, scene.reign.leadership);
    fake_clock_await_rest(scene.rig.client, 0);
    assert_int_equal(fake_api_count(scene.rig.api, "PATCH", FIRST), 2);

    end(&scene);
    sl_unqueued_free(&unqueued);
    sl_store_free(store);
}
