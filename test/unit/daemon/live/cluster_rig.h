/* A cluster's daemon against a scripted API server with a Lease. What a scene shall be like is set
 * in variables before it begins; set_up() puts them back. */
#ifndef SLICED_TEST_CLUSTER_RIG_H
#define SLICED_TEST_CLUSTER_RIG_H

#include "unit/test.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/live/cluster.h"
#include "unit/kube/fake_api.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define LEASES  "/apis/coordination.k8s.io/v1/namespaces/gpu/leases"
#define NODES   "/api/v1/nodes?limit"
#define PODS    "/api/v1/pods?limit"
#define BINDING "/api/v1/namespaces/default/pods/p/binding"
#define EVENTS  "/apis/events.k8s.io/v1/"
#define SPACES  "/api/v1/namespaces?limit"
#define NOTE    "sliced.dev/tenants"
#define LABELS  "/api/v1/namespaces/gpu/pods"
#define WAIT_S  60

static const int64_t lease_us = 3600000000; /* only the fake clock ends it */
static const struct sl_score_config score = {.weight = {100, 50, 0}};

/* The server's one Lease. Guarded by the fake's lock, and by the test when nothing runs. */
static struct {
    _Atomic bool broken;  /* every call fails */
    _Atomic bool renewed; /* by its holder, with each look */
    _Atomic bool other;   /* another holds it; else nobody or us */
    _Atomic bool exists;
    unsigned version;
    char ours[256]; /* as it was written last */
    char acquired[64];
    char note[512]; /* its annotation; "": none */
} lease;

static const char *bound_pods;           /* what the next scene lists; NULL: one that waits */
static const char *words;                /* what its watch of pods tells; NULL: nothing */
static const char *refused;              /* the path whose PATCHes get 403; NULL: none */
static const char *own_pod;              /* of the next scene; NULL: it is not known */
static int64_t nominate_from = 1;        /* queue.nominateFrom of the next scene */
static const char *label;                /* tenants.namespaceLabel of the next scene; NULL: none */
static _Atomic bool spaces;              /* Namespaces are listed; else every call fails */
static const struct sl_tenants *tenants; /* of the next scene; NULL: those of label alone */

struct scene {
    struct fake_api *api;
    struct sl_kube_access access;
    struct sl_config config;
    struct sl_store *store;
    struct sl_cluster *cluster;
    struct sl_hooks hooks;
    struct sl_binder binder;
    _Atomic unsigned wakes;
};

/* Copies the text behind key, up to the next quote. */
static inline void take_text(const char *body, const char *key, char *out, size_t size)
{
    const char *at = strstr(body, key);
    assert_non_null(at);
    at += strlen(key);
    (void)snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
}

static inline bool is_current(const char *body)
{
    char said[32];
    char version[32];
    take_text(body, "\"resourceVersion\":\"", said, sizeof(said));
    (void)snprintf(version, sizeof(version), "v%u", lease.version);
    return strcmp(said, version) == 0;
}

static inline void give_lease(void *context, const struct fake_request *request,
                              struct fake_answer *reply)
{
    (void)context;
    char *text = malloc(2048);
    char annotations[600] = "";
    const char *note = strstr(request->body, "\"" NOTE "\":\"");
    reply->body = text;
    reply->free_body = true;
    if (atomic_load(&lease.broken)) {
        reply->status = 500;
        (void)snprintf(text, 1024, "{\"kind\":\"Status\",\"code\":500,\"message\":\"broken\"}");
        return;
    }
    if (strcmp(request->method, "PUT") == 0 && !is_current(request->body)) {
        reply->status = 409;
        (void)snprintf(text, 1024, "{\"kind\":\"Status\",\"code\":409,\"reason\":\"Conflict\"}");
        return;
    }
    if (strcmp(request->method, "GET") != 0) {
        take_text(request->body, "\"holderIdentity\":\"", lease.ours, sizeof(lease.ours));
        take_text(request->body, "\"acquireTime\":\"", lease.acquired, sizeof(lease.acquired));
        lease.note[0] = '\0';
        if (note != NULL) {
            take_text(note, "\"" NOTE "\":\"", lease.note, sizeof(lease.note));
        }
        atomic_store(&lease.exists, true);
        lease.version++;
    } else if (!atomic_load(&lease.exists)) {
        reply->status = 404;
        (void)snprintf(text, 1024, "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\"}");
        return;
    }
    lease.version += atomic_load(&lease.renewed) ? 1 : 0;
    reply->status = strcmp(request->method, "POST") == 0 ? 201 : 200;
    if (lease.note[0] != '\0') {
        (void)snprintf(annotations, sizeof(annotations), ",\"annotations\":{\"" NOTE "\":\"%s\"}",
                       lease.note);
    }
    (void)snprintf(text, 2048,
                   "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
                   "\"name\":\"sliced\",\"namespace\":\"gpu\",\"resourceVersion\":\"v%u\"%s},"
                   "\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":3600,"
                   "\"acquireTime\":\"%s\",\"renewTime\":\"2026-01-01T00:00:00.%06uZ\"}}",
                   lease.version, annotations, atomic_load(&lease.other) ? "other" : lease.ours,
                   lease.acquired, lease.version);
}

static inline void give_spaces(void *context, const struct fake_request *request,
                               struct fake_answer *reply)
{
    (void)context;
    (void)request;
    reply->status = atomic_load(&spaces) ? 200 : 403;
    reply->body = atomic_load(&spaces) ? "{\"kind\":\"NamespaceList\",\"metadata\":{"
                                         "\"resourceVersion\":\"5\"},\"items\":[]}"
                                       : "{\"kind\":\"Status\",\"code\":403}";
}

static inline void script(struct scene *scene)
{
    static const char node[] =
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{"
        "\"metadata\":{\"name\":\"n1\"},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"2\"}}}]}";
    static const char pods[] =
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{"
        "\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"u-p\",\"creationTimestamp\":"
        "\"2026-01-01T00:00:00Z\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"limits\":{\"nvidia.com/gpu\":\"3\"}}}]}}]}";
    fake_api_add(scene->api, (struct fake_answer){.path = LEASES, .fn = give_lease});
    fake_api_add(scene->api, (struct fake_answer){.path = NODES, .body = node});
    fake_api_add(scene->api, (struct fake_answer){.path = PODS,
                                                  .body = bound_pods == NULL ? pods : bound_pods});
    if (words != NULL) {
        fake_api_add(scene->api, (struct fake_answer){.path = "/api/v1/pods?watch",
                                                      .body = words,
                                                      .times = 1,
                                                      .piece = 4096,
                                                      .cut_at = strlen(words),
                                                      .hang = true});
    }
    fake_api_add(scene->api,
                 (struct fake_answer){.path = "/api/v1/nodes?watch", .kind = FAKE_HANG});
    fake_api_add(scene->api, (struct fake_answer){.path = "/api/v1/pods?watch", .kind = FAKE_HANG});
    fake_api_add(scene->api, (struct fake_answer){.path = SPACES, .fn = give_spaces});
    fake_api_add(scene->api,
                 (struct fake_answer){.path = "/api/v1/namespaces?watch", .kind = FAKE_HANG});
    fake_api_add(scene->api, (struct fake_answer){.path = BINDING, .status = 201});
    fake_api_add(scene->api, (struct fake_answer){.path = EVENTS, .status = 201});
    if (refused != NULL) {
        fake_api_add(scene->api,
                     (struct fake_answer){.method = "PATCH",
                                          .path = refused,
                                          .status = 403,
                                          .body = "{\"kind\":\"Status\",\"code\":403}"});
    }
}

static inline void wake(void *context)
{
    struct scene *scene = context;
    (void)atomic_fetch_add(&scene->wakes, 1);
}

static inline void begin_with(struct scene *scene, bool election, bool queue)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    struct sl_error err = {.code = SL_ERR_NONE};
    memset(scene, 0, sizeof(*scene));
    sl_log_configure(SL_LOG_ERROR, false);
    scene->api = fake_api_start();
    scene->access = fake_api_access(scene->api);
    sl_config_defaults(&scene->config);
    scene->config.election.enabled = election;
    scene->config.queue.enabled = queue;
    scene->config.queue.nominate_from = nominate_from;
    if (tenants != NULL) {
        scene->config.tenants = *tenants;
    }
    (void)snprintf(scene->config.tenants.label, sizeof(scene->config.tenants.label), "%s",
                   label == NULL ? "" : label);
    scene->config.election.lease_duration_us = lease_us;
    scene->config.election.renew_deadline_us = lease_us / 2;
    scene->config.election.retry_period_us = 50000;
    scene->config.kubernetes.watch_silence_us = 2 * lease_us; /* the lease is what is broken */
    (void)snprintf(scene->config.election.namespace, sizeof(scene->config.election.namespace),
                   "gpu");
    scene->store = sl_store_new(&limits, &err);
    assert_non_null(scene->store);
    script(scene);
    const struct sl_cluster_options options = {.config = &scene->config,
                                               .access = &scene->access,
                                               .from = "a test",
                                               .pod = own_pod,
                                               .store = scene->store,
                                               .wake = wake,
                                               .context = scene};
    scene->cluster = sl_cluster_new(&options, &err);
    assert_non_null(scene->cluster);
    scene->hooks = sl_cluster_hooks(scene->cluster);
    scene->binder = sl_cluster_binder(scene->cluster);
    assert_int_equal(sl_cluster_start(scene->cluster, &err), 0);
}

static inline void begin(struct scene *scene, bool election)
{
    begin_with(scene, election, false);
}

static inline int set_up(void **state)
{
    (void)state;
    bound_pods = NULL;
    words = NULL;
    refused = NULL;
    own_pod = NULL;
    nominate_from = 1;
    label = NULL;
    tenants = NULL;
    memset(&lease, 0, sizeof(lease));
    return 0;
}

static inline void end(struct scene *scene)
{
    sl_cluster_stop(scene->cluster);
    sl_cluster_free(scene->cluster);
    fake_api_release(scene->api);
    fake_api_stop(scene->api);
    sl_store_free(scene->store);
}

static inline const char *missing(struct scene *scene)
{
    const char *text = scene->hooks.missing(scene->hooks.context);
    return text == NULL ? "" : text;
}

/* As the main thread does, until it says so; "" is ready. */
static inline void wait_missing(struct scene *scene, const char *text)
{
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    while (strcmp(missing(scene), text) != 0) {
        if ((int64_t)time(NULL) > until) {
            fail_msg("\"%s\" and not \"%s\"", missing(scene), text);
        }
        sl_cluster_tick(scene->cluster, &score);
        (void)sched_yield();
    }
}

static inline void wait_requests(struct scene *scene, const char *method, const char *path,
                                 unsigned n)
{
    int64_t until = (int64_t)time(NULL) + WAIT_S;
    while (fake_api_count(scene->api, method, path) < n) {
        assert_true((int64_t)time(NULL) <= until);
        sl_cluster_tick(scene->cluster, &score);
        (void)sched_yield();
    }
}

/* Place of the n-th request (from 1) of that kind among all. */
static inline unsigned place_of(struct scene *scene, const char *method, const char *path,
                                unsigned n)
{
    unsigned all = fake_api_requests(scene->api);
    for (unsigned i = 0; i < all; i++) {
        const struct fake_request *request = fake_api_request(scene->api, i);
        if (strcmp(request->method, method) == 0 &&
            strncmp(request->path, path, strlen(path)) == 0 && --n == 0) {
            return i;
        }
    }
    fail_msg("no such request: %s %s", method, path);
    return 0;
}

static inline struct sl_pod *small_pod(void)
{
    struct sl_pair limit = {SL_STR("nvidia.com/gpu"), SL_STR("1"), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                       .name = SL_STR("s"),
                                       .uid = SL_STR("u-s"),
                                       .created_us = (int64_t)time(NULL) * 1000000,
                                       .containers = &container};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    return pod;
}

#endif
