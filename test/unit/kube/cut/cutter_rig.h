/* A cutter of one node before an API server that answers as each test says. */
#ifndef SLICED_TEST_CUTTER_RIG_H
#define SLICED_TEST_CUTTER_RIG_H

#include "cut_rig.h"

#include "kube/cut/cutter.h"
#include "unit/kube/write/change_rig.h"

#define NODE_PATH "/api/v1/nodes/n1"
#define MAPS_PATH "/api/v1/namespaces/gpu-operator/configmaps"
#define MAP_PATH  MAPS_PATH "/sliced-mig-config"
#define PODS_PATH "/api/v1/namespaces/gpu-operator/pods?"

/* Two GPUs, of which the second is to be cut. */
#define DEVICES                                                                                    \
    "\"sliced.dev/devices\":\"[{\\\"index\\\":0,\\\"instances\\\":[{\\\"profile\\\":\\\"7g.80gb"   \
    "\\\",\\\"start\\\":0}]},{\\\"index\\\":1,\\\"mig\\\":true}]\""
#define GPUS                                                                                       \
    A100(",\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/gpu.count\":\"2\","                  \
         "\"nvidia.com/mig.config\":\"old\"")
#define ALLOCATABLE "\"nvidia.com/mig-7g.80gb\":\"1\""
#define PLAIN       NODE(GPUS, DEVICES, ALLOCATABLE)
#define PLANNED                                                                                    \
    "[{\\\"index\\\":0,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"mig" \
    "\\\":true,\\\"instances\\\":[{\\\"profile\\\":\\\"7g.80gb\\\",\\\"start\\\":0}]},{\\\"index"  \
    "\\\":1,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"mig\\\":true,"  \
    "\\\"instances\\\":[{\\\"profile\\\":\\\"3g.40gb\\\"},{\\\"profile\\\":\\\"3g.40gb\\\"}]}]"
/* As it is when nobody knows what came of the cut. */
#define UNSURE                                                                                     \
    "[{\\\"index\\\":0,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"mig" \
    "\\\":true,\\\"instances\\\":[{\\\"profile\\\":\\\"7g.80gb\\\",\\\"start\\\":0}]},{\\\"index"  \
    "\\\":1,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"mig\\\":true,"  \
    "\\\"unsure\\\":true}]"
#define ENTRY ": [{devices: [1], mig-enabled: true, mig-devices: {\\\"3g.40gb\\\": 2}}]\\n"
#define MAP(data)                                                                                  \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"sliced-mig-config\","  \
    "\"uid\":\"u2\",\"resourceVersion\":\"40\"}" data "}"
#define ENTRIES "  sliced-5c3d-1" ENTRY "  sliced-5c3d-2" ENTRY "  sliced-5c3d-3" ENTRY
#define FILE_OF(entries)                                                                           \
    MAP(",\"data\":{\"config.yaml\":\"version: v1\\nmig-configs:\\n" entries "\"}")

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_kube_cutter_options options;
    struct sl_kube_cutter *cutter;
    struct sl_node *node;
    struct sl_cut_run run;
    struct sl_cut_write write;
    struct reign reign;
    struct outcome outcome;
};

static inline void begin(struct scene *scene, enum sl_actuator actuator, const char *node)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    sl_log_configure(SL_LOG_ERROR, false);
    *scene = (struct scene){.outcome = outcome_none()};
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
    scene->options = (struct sl_kube_cutter_options){
        .change = change_options(&scene->rig, &scene->reign),
        .store = scene->store,
        .mig_namespace = "gpu-operator",
        .mig_config_map = "sliced-mig-config",
    };
    scene->cutter = sl_kube_cutter_new(&scene->options, NULL);
    assert_non_null(scene->cutter);
    scene->node = node_of(node, actuator);
    scene->run = (struct sl_cut_run){
        .name = "sliced-5c3d-1", .actuator = actuator, .outcome = SL_CUT_RUNNING, .n_cuts = 1};
    scene->run.cut[0] = cut_of(scene->node, 1, "3g.40gb 3g.40gb");
    scene->write = (struct sl_cut_write){
        .step = SL_CUT_ORDER, .node = scene->node, .run = &scene->run, .leadership = 7};
}

static inline void end(struct scene *scene)
{
    rig_end_client(&scene->rig);
    sl_kube_cutter_free(scene->cutter);
    sl_node_unref(scene->node);
    sl_store_free(scene->store);
    rig_end(&scene->rig);
}

static inline void on_done(void *call, enum sl_cut_write_end how, const struct sl_error *err)
{
    outcome_note(call, (int)how, err);
}

static inline enum sl_cut_write_end whole(struct scene *scene)
{
    scene->outcome.done = 0;
    sl_kube_cut(scene->cutter, &scene->write, on_done, &scene->outcome);
    outcome_wait(&scene->outcome);
    assert_int_equal(scene->outcome.done, 1);
    return (enum sl_cut_write_end)scene->outcome.end;
}

/* The body of the last request of that method whose path begins so. */
static inline const char *sent(struct scene *scene, const char *method, const char *path)
{
    for (unsigned i = fake_api_requests(scene->rig.api); i > 0; i--) {
        const struct fake_request *request = fake_api_request(scene->rig.api, i - 1);
        if (strcmp(request->method, method) == 0 &&
            strncmp(request->path, path, strlen(path)) == 0) {
            return request->body;
        }
    }
    fail_msg("no %s %s", method, path);
    return NULL;
}

static inline unsigned count(struct scene *scene, const char *method, const char *path)
{
    return fake_api_count(scene->rig.api, method, path);
}

#endif
