/* A bind that comes before the watch has told of its pod, from kube-scheduler's call to the
 * Binding: the server and the cluster's side together, against a scripted API server. */
#include "unit/kube/calls.h"

#include <sched.h>
#include <stdio.h>

#include "daemon/live/cluster.h"
#include "server/app/app.h"
#include "server/routes.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define POD "/api/v1/namespaces/default/pods/p"

struct scene {
    struct fake_api *api;
    struct sl_kube_access access;
    struct sl_config config;
    struct sl_store *store;
    struct sl_cluster *cluster;
    struct sl_app *app;
    struct rig scheduler; /* its client alone is used */
    char url[64];
};

static void wake(void *context)
{
    (void)context;
}

static void script(struct fake_api *api, unsigned status)
{
    static const char nodes[] =
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{"
        "\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"2\"}}}]}";
    static const char pods[] =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}";
    static const char pod[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"default\",\"uid\":\"u-p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}";
    fake_api_add(api, (struct fake_answer){.path = "/api/v1/nodes?limit", .body = nodes});
    fake_api_add(api, (struct fake_answer){.path = "/api/v1/pods?limit", .body = pods});
    fake_api_add(api, (struct fake_answer){.path = "/api/v1/nodes?watch", .kind = FAKE_HANG});
    fake_api_add(api, (struct fake_answer){.path = "/api/v1/pods?watch", .kind = FAKE_HANG});
    fake_api_add(api, (struct fake_answer){.path = POD "/binding", .status = 201});
    fake_api_add(api, (struct fake_answer){
                          .path = POD, .status = status, .body = status == 200 ? pod : "{}"});
}

static void begin_cluster(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_config_defaults(&scene->config);
    scene->config.election.enabled = false;
    scene->config.events.enabled = false;
    scene->config.server.threads = 1;
    scene->config.kubernetes.bind_timeout_us = INT64_C(1000000000);
    (void)snprintf(scene->config.server.listen, sizeof(scene->config.server.listen), "127.0.0.1:0");
    scene->store = sl_store_new(&limits, &err);
    assert_non_null(scene->store);
    const struct sl_cluster_options options = {.config = &scene->config,
                                               .access = &scene->access,
                                               .from = "a test",
                                               .store = scene->store,
                                               .wake = wake};
    scene->cluster = sl_cluster_new(&options, &err);
    assert_non_null(scene->cluster);
    assert_int_equal(sl_cluster_start(scene->cluster, &err), 0);
}

static void begin(struct scene *scene, unsigned status)
{
    struct sl_error err = {.code = SL_ERR_NONE};
    memset(scene, 0, sizeof(*scene));
    sl_log_configure(SL_LOG_ERROR, false);
    scene->api = fake_api_start();
    scene->access = fake_api_access(scene->api);
    script(scene->api, status);
    begin_cluster(scene);
    const struct sl_app_options options = {.config = &scene->config,
                                           .service = &sl_service,
                                           .store = scene->store,
                                           .binder = sl_cluster_binder(scene->cluster),
                                           .hooks = sl_cluster_hooks(scene->cluster)};
    scene->app = sl_app_new(&options, &err);
    assert_non_null(scene->app);
    atomic_store(&scene->app->synced, true);
    assert_int_equal(sl_app_serve(scene->app, &err), 0);
    while (sl_app_missing(scene->app) != NULL) {
        (void)sched_yield();
    }
    rig_prepare(&scene->scheduler, scene->api);
    (void)snprintf(scene->url, sizeof(scene->url), "http://127.0.0.1:%u",
                   sl_server_port(scene->app->server));
    scene->scheduler.access.server = scene->url;
    rig_start_client(&scene->scheduler);
}

static void end(struct scene *scene)
{
    sl_client_free(scene->scheduler.client);
    sl_app_stop(scene->app);
    sl_cluster_free(scene->cluster);
    sl_app_free(scene->app);
    fake_api_release(scene->api);
    fake_api_stop(scene->api);
    sl_store_free(scene->store);
}

static void bind_pod(struct scene *scene, struct pending *reply)
{
    struct sl_call_options call = rig_post("/scheduler/bind");
    call.body = SL_STR("{\"PodName\":\"p\",\"PodNamespace\":\"default\",\"PodUID\":\"u-p\","
                       "\"Node\":\"n1\"}");
    rig_call(&scene->scheduler, call, reply);
    pending_wait(reply, 1);
    assert_int_equal(reply->reply.status, 200);
}

TEST_THAT(a_pod_that_the_watch_has_not_told_of_is_read_and_bound)
{
    struct scene scene;
    struct pending reply = PENDING_INIT;
    begin(&scene, 200);
    bind_pod(&scene, &reply);
    assert_string_equal(reply.body, "{\"Error\":\"\"}\n");
    assert_int_equal(fake_api_count(scene.api, "GET", POD), 1);
    assert_int_equal(fake_api_count(scene.api, "POST", POD "/binding"), 1);
    unsigned at = 0;
    while (strcmp(fake_api_request(scene.api, at)->method, "POST") != 0) {
        at++;
    }
    const struct fake_request *binding = fake_api_request(scene.api, at);
    assert_non_null(strstr(binding->body, "\"sliced.dev/assignment\":\"nvidia.com/gpu="));
    struct sl_pod *pod = sl_store_pod(scene.store, SL_STR("default"), SL_STR("p"));
    assert_non_null(pod);
    assert_string_equal(pod->node, "n1");
    sl_pod_unref(pod);
    end(&scene);
}

TEST_THAT(a_pod_that_is_not_there_either_is_refused)
{
    struct scene scene;
    struct pending reply = PENDING_INIT;
    begin(&scene, 404);
    bind_pod(&scene, &reply);
    assert_non_null(strstr(reply.body, "pod default/p is not known"));
    assert_int_equal(fake_api_count(scene.api, "GET", POD), 1);
    assert_int_equal(fake_api_count(scene.api, "POST", NULL), 0);
    end(&scene);
}
