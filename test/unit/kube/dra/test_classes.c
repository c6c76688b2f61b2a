/* What DeviceClasses offer, read from a scripted API server into the store. */
#include "unit/kube/calls.h"

#include "kube/dra/classes.h"
#include "util/log.h"

#define PATH "/apis/resource.k8s.io/v1/deviceclasses"
#define LIST(items)                                                                                \
    "{\"kind\":\"DeviceClassList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" items "]" \
    "}"
#define CLASS(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":" spec "}"

struct scene {
    struct rig rig;
    struct sl_store *store;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

static void on_published(void *context)
{
    struct scene *scene = context;
    (void)pthread_mutex_lock(&scene->lock);
    (void)pthread_cond_broadcast(&scene->changed);
    (void)pthread_mutex_unlock(&scene->lock);
}

static struct sl_dra offered(struct scene *scene)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(scene->store);
    struct sl_dra dra = snapshot->dra;
    sl_store_release(scene->store, snapshot);
    return dra;
}

/* Waits until so many resources are offered. */
static struct sl_dra wait_for(struct scene *scene, uint32_t n)
{
    (void)pthread_mutex_lock(&scene->lock);
    struct sl_dra dra = offered(scene);
    while (dra.n != n) {
        if (!calls_wait(&scene->changed, &scene->lock)) {
            fail_msg("%u resources are offered, not %u", dra.n, n);
        }
        dra = offered(scene);
    }
    (void)pthread_mutex_unlock(&scene->lock);
    return dra;
}

static void answer(struct scene *scene, unsigned status, const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = PATH, .times = 1, .status = status, .body = body});
}

TEST_THAT(the_store_learns_what_classes_offer_through_every_refusal)
{
    const struct sl_store_limits limits = {.max_nodes = 10, .max_pods = 10, .max_reservations = 10};
    struct scene scene = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct sl_error err = {.code = SL_ERR_NONE};
    sl_log_configure(SL_LOG_ERROR, false);
    scene.store = sl_store_new(&limits, &err);
    assert_non_null(scene.store);
    sl_store_set_published(scene.store, on_published, &scene);
    rig_start(&scene.rig);
    answer(&scene, 404, "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}");
    answer(&scene, 403, "{\"kind\":\"Status\",\"code\":403,\"reason\":\"Forbidden\"}");
    answer(&scene, 200, "{\"kind\":\"PodList\",\"items\":[]}");
    static const char many[] =
        "{\"kind\":\"DeviceClassList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
        "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{\"extendedResourceName\":\"nvidia.com/gpu\"}},"
        "{\"metadata\":{\"name\":\"mig\"},\"spec\":{\"extendedResourceName\":\"nvidia.com/"
        "mig-1g.5gb\"}},"
        "{\"metadata\":{\"name\":\"again\"},\"spec\":{\"extendedResourceName\":\"nvidia.com/"
        "gpu\"}},"
        "{\"metadata\":{\"name\":\"other\"},\"spec\":{\"extendedResourceName\":\"example.com/"
        "nic\"}},"
        "{\"metadata\":{\"name\":\"plain\"},\"spec\":{}},"
        "{\"metadata\":{\"name\":\"odd\"},\"spec\":{\"extendedResourceName\":7}}]}";
    answer(&scene, 200, many);
    answer(&scene, 200, LIST(CLASS("plain", "{}")));
    answer(&scene, 200, LIST(CLASS("gpu", "{\"extendedResourceName\":\"nvidia.com/gpu\"}")));
    const struct sl_dra_classes_options options = {
        .client = scene.rig.client, .store = scene.store, .every_us = 1 * MS};
    struct sl_dra_classes *classes = sl_dra_classes_start(&options, &err);
    assert_non_null(classes);
    struct sl_dra dra = wait_for(&scene, 1); /* the last list's, which stays through refusals */
    assert_true(sl_dra_offers(&dra, sl_hash("nvidia.com/gpu", strlen("nvidia.com/gpu"))));
    rig_end(&scene.rig);
    sl_dra_classes_stop(classes);
    sl_store_free(scene.store);
}
