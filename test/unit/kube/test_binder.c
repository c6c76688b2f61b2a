/* Every way in which a binding can end, told apart by reading the pod. */
#include "calls.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "kube/binder.h"
#include "util/log.h"

#define POD     "/api/v1/namespaces/default/pods/p"
#define BINDING POD "/binding"
#define STATUS(reason, code)                                                                       \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no " reason                         \
    "\",\"reason\":\"" reason "\",\"code\":" code "}"
#define READ(uid, node, meta)                                                                      \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"          \
    "\"default\",\"uid\":\"" uid "\"" meta "},\"spec\":{\"nodeName\":\"" node "\"}}"
#define OURS    READ("u1", "n1", "")
#define UNBOUND READ("u1", "", "")

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done;
    enum sl_bind_end end;
    char text[384];
};

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_kube_binder_options options;
    struct sl_kube_binder *binder;
    struct outcome outcome;
    atomic_int may_bind; /* how often still; negative: always */
};

static bool may_bind(void *context)
{
    struct scene *scene = context;
    int left = atomic_load(&scene->may_bind);
    if (left > 0) {
        (void)atomic_fetch_sub(&scene->may_bind, 1);
    }
    return left != 0;
}

static void on_done(void *call, enum sl_bind_end end, const struct sl_error *err)
{
    struct outcome *outcome = call;
    (void)pthread_mutex_lock(&outcome->lock);
    outcome->done++;
    outcome->end = end;
    (void)snprintf(outcome->text, sizeof(outcome->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_cond_broadcast(&outcome->changed);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static void scene_begin(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
    atomic_init(&scene->may_bind, -1);
    scene->options = (struct sl_kube_binder_options){
        .client = scene->rig.client,
        .store = scene->store,
        .may_bind = may_bind,
        .context = scene,
        .timeout_us = 20000 * MS,
        .try_us = 20000 * MS,
        .backoff_us = 1 * MS,
        .backoff_max_us = 4 * MS,
    };
}

static void scene_start(struct scene *scene)
{
    scene->binder = sl_kube_binder_new(&scene->options, NULL);
    assert_non_null(scene->binder);
}

static void scene_end(struct scene *scene)
{
    fake_api_release(scene->rig.api);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    sl_kube_binder_free(scene->binder);
    rig_end(&scene->rig);
    sl_store_free(scene->store);
}

static void add(struct scene *scene, const char *method, const char *path, unsigned status,
                const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){
                     .method = method, .path = path, .times = 1, .status = status, .body = body});
}

static void add_kind(struct scene *scene, const char *method, enum fake_kind kind, unsigned times)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = method, .path = POD, .times = times, .kind = kind});
}

static void bind_with(struct scene *scene,
                      void (*bind)(void *context, const struct sl_binding *binding,
                                   sl_bind_done done, void *call))
{
    const struct sl_binding binding = {.namespace = SL_STR("default"),
                                       .name = SL_STR("p"),
                                       .uid = SL_STR("u1"),
                                       .node = SL_STR("n1"),
                                       .assignment = "nvidia.com/mig-1g.6gb=0/2"};
    scene->outcome =
        (struct outcome){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    bind(scene->binder, &binding, on_done, &scene->outcome);
}

static void bind_begin(struct scene *scene)
{
    bind_with(scene, sl_kube_bind);
}

static void bind_wait(struct scene *scene)
{
    struct outcome *outcome = &scene->outcome;
    struct timespec until;
    int code = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    (void)pthread_mutex_lock(&outcome->lock);
    while (outcome->done == 0 && code == 0) {
        code = pthread_cond_timedwait(&outcome->changed, &outcome->lock, &until);
    }
    (void)pthread_mutex_unlock(&outcome->lock);
    assert_int_equal(code, 0);
}

static enum sl_bind_end bind_whole(struct scene *scene)
{
    bind_begin(scene);
    bind_wait(scene);
    return scene->outcome.end;
}

static unsigned count(struct scene *scene, const char *method)
{
    return fake_api_count(scene->rig.api, method, POD);
}

/* ---- what is sent ---- */

static void the_binding_carries_the_assignment_and_the_uid(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    add(&scene, "POST", BINDING, 201, STATUS("x", "201"));
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    const struct fake_request *request = fake_api_request(scene.rig.api, 0);
    assert_string_equal(request->path, BINDING);
    assert_string_equal(
        request->body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"default\",\"uid\":\"u1\",\"annotations\":{\"sliced.dev/assignment\":"
        "\"nvidia.com/mig-1g.6gb=0/2\"}},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"name\":\"n1\"}}");
    assert_string_equal(request->content_type, "application/json");
    assert_int_equal(fake_api_requests(scene.rig.api), 1);
    scene_end(&scene);
}

/* ---- what one answer to the POST and one reading mean ---- */

struct one_case {
    unsigned post; /* 0: the connection is closed without an answer */
    unsigned read; /* 0: there must be none */
    const char *pod;
    enum sl_bind_end end;
    const char *text;
};

static const struct one_case cases[] = {
    {201, 0, NULL, SL_BIND_END_BOUND, ""},
    {200, 0, NULL, SL_BIND_END_BOUND, ""},
    {409, 200, OURS, SL_BIND_END_BOUND, ""},
    {409, 200, READ("u1", "n2", ""), SL_BIND_END_FAILED, "the pod is bound to node n2"},
    {409, 200, READ("u2", "n1", ""), SL_BIND_END_FAILED, "the pod was made anew, with UID u2"},
    {409, 200, UNBOUND, SL_BIND_END_FAILED, "no it"},
    {409, 404, STATUS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {404, 404, STATUS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {404, 200, OURS, SL_BIND_END_BOUND, ""},
    {404, 200, UNBOUND, SL_BIND_END_FAILED, "no it"},
    {0, 200, OURS, SL_BIND_END_BOUND, ""},
    {0, 200, READ("u1", "n2", ""), SL_BIND_END_FAILED, "the pod is bound to node n2"},
    {0, 200, READ("u2", "", ""), SL_BIND_END_FAILED, "the pod was made anew, with UID u2"},
    {0, 404, STATUS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {0, 200, READ("u1", "", ",\"deletionTimestamp\":\"2026-11-21T12:00:00Z\""), SL_BIND_END_FAILED,
     "the pod is being deleted"},
    {500, 200, OURS, SL_BIND_END_BOUND, ""},
    {504, 404, STATUS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {400, 0, NULL, SL_BIND_END_FAILED, "no it"},
    {403, 0, NULL, SL_BIND_END_FAILED, "no it"},
    {422, 0, NULL, SL_BIND_END_FAILED, "no it"},
};

static void an_answer_that_leaves_doubt_is_settled_by_the_pod(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct one_case *c = &cases[i];
        struct scene scene;
        scene_begin(&scene);
        scene_start(&scene);
        if (c->post == 0) {
            add_kind(&scene, "POST", FAKE_CLOSE, 1);
        } else {
            add(&scene, "POST", BINDING, c->post, STATUS("it", "400"));
        }
        add(&scene, "GET", POD, c->read, c->pod);
        enum sl_bind_end end = bind_whole(&scene);
        if (end != c->end || strcmp(scene.outcome.text, c->text) != 0) {
            fail_msg("case %zu: %d \"%s\"", i, (int)end, scene.outcome.text);
        }
        assert_int_equal(count(&scene, "POST"), 1);
        assert_int_equal(count(&scene, "GET"), c->read == 0 ? 0 : 1);
        scene_end(&scene);
    }
}

/* ---- more than one try ---- */

static void what_was_not_carried_out_is_sent_again(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    for (int i = 0; i < 3; i++) {
        add(&scene, "POST", BINDING, 429, STATUS("TooManyRequests", "429"));
    }
    add(&scene, "POST", BINDING, 201, "{}");
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    assert_int_equal(count(&scene, "POST"), 4);
    assert_int_equal(count(&scene, "GET"), 0);
    scene_end(&scene);
}

static void an_unbound_pod_is_bound_again_while_a_post_may_be_lost(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_CLOSE, 1);
    add(&scene, "GET", POD, 200, UNBOUND);
    add(&scene, "POST", BINDING, 503, "{}");
    add(&scene, "GET", POD, 500, "{}");
    add(&scene, "GET", POD, 200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}");
    add(&scene, "GET", POD, 200, "<html>");
    add_kind(&scene, "GET", FAKE_CLOSE, 1);
    add(&scene, "GET", POD, 200, UNBOUND);
    add(&scene, "POST", BINDING, 409, STATUS("Conflict", "409")); /* the first came through */
    add(&scene, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    assert_int_equal(count(&scene, "POST"), 3);
    scene_end(&scene);
}

static void an_answer_that_is_cut_is_read_up(void **state)
{
    static const char *const body = STATUS("x", "201");
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "POST",
                                                     .path = BINDING,
                                                     .times = 1,
                                                     .status = 201,
                                                     .body = body,
                                                     .piece = 5,
                                                     .cut = true,
                                                     .cut_at = 20});
    add(&scene, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    scene_end(&scene);
}

static void a_post_without_an_answer_is_given_up_and_read_up(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.try_us = 50 * MS;
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_HANG, 1);
    add(&scene, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    scene_end(&scene);
}

static void what_cannot_be_learnt_in_time_is_unknown(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.timeout_us = 100 * MS;
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_CLOSE, 1);
    add_kind(&scene, "GET", FAKE_HANG, 0);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_UNKNOWN);
    assert_true(strncmp(scene.outcome.text, "whether the pod is bound is not known: ", 39) == 0);
    scene_end(&scene);
}

static void a_pod_that_stays_unbound_after_a_lost_post_is_unknown(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.timeout_us = 100 * MS;
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_CLOSE, 0);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.method = "GET", .path = POD, .body = UNBOUND});
    assert_int_equal(bind_whole(&scene), SL_BIND_END_UNKNOWN);
    assert_true(count(&scene, "POST") > 1);
    scene_end(&scene);
}

static void a_refusal_that_could_not_be_read_up_is_unknown(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.timeout_us = 50 * MS;
    scene_start(&scene);
    add(&scene, "POST", BINDING, 409, STATUS("Conflict", "409"));
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "GET", .path = POD, .status = 500});
    assert_int_equal(bind_whole(&scene), SL_BIND_END_UNKNOWN);
    scene_end(&scene);
}

static void a_server_that_was_too_busy_has_not_bound(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.timeout_us = 10000 * MS;
    scene_start(&scene);
    fake_api_add(
        scene.rig.api,
        (struct fake_answer){.method = "POST", .path = POD, .status = 429, .retry_after = "60"});
    assert_int_equal(bind_whole(&scene), SL_BIND_END_FAILED);
    scene_end(&scene);
}

static void an_unknown_end_is_remembered(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene.options.timeout_us = 100 * MS;
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_CLOSE, 1);
    add_kind(&scene, "GET", FAKE_HANG, 1);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_UNKNOWN);
    fake_api_clear(scene.rig.api);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.method = "GET", .path = POD, .body = UNBOUND});
    atomic_store(&scene.may_bind, 0);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_UNKNOWN); /* the first may come through yet */
    assert_int_equal(count(&scene, "POST"), 1);
    scene_end(&scene);
}

/* ---- who may ---- */

static void who_does_not_lead_sends_nothing(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    atomic_store(&scene.may_bind, 0);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_FAILED);
    assert_string_equal(scene.outcome.text, "this replica is not the leader any more");
    assert_int_equal(fake_api_requests(scene.rig.api), 0);
    scene_end(&scene);
}

static struct sl_pod *pod_with(const char *timeout, int64_t deadline_s, const char *node)
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

static void what_is_late_is_only_read(void **state)
{
    static const struct {
        const char *body;
        const char *text;
        unsigned status;
        enum sl_bind_end end;
    } looks[] = {
        {OURS, "", 200, SL_BIND_END_BOUND},
        {UNBOUND, "the pod was not bound", 200, SL_BIND_END_FAILED},
        {READ("u1", "n2", ""), "the pod is bound to node n2", 200, SL_BIND_END_FAILED},
        {STATUS("NotFound", "404"), "the pod is gone", 404, SL_BIND_END_FAILED},
        {STATUS("Forbidden", "403"), "whether the pod is bound is not known: no Forbidden", 403,
         SL_BIND_END_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        struct scene scene;
        scene_begin(&scene);
        scene.options.timeout_us = looks[i].status == 403 ? 100 * MS : scene.options.timeout_us;
        scene_start(&scene);
        atomic_store(&scene.may_bind, 0); /* who does not lead may read */
        fake_api_add(scene.rig.api, (struct fake_answer){.method = "GET",
                                                         .path = POD,
                                                         .status = looks[i].status,
                                                         .body = looks[i].body});
        bind_with(&scene, sl_kube_resolve);
        bind_wait(&scene);
        assert_int_equal(scene.outcome.end, looks[i].end);
        assert_string_equal(scene.outcome.text, looks[i].text);
        assert_int_equal(count(&scene, "POST"), 0);
        scene_end(&scene);
    }
}

/* A binding that was taken for lost has been carried out, with other devices than those of now. */
static void the_ledger_learns_what_the_pod_really_has(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    assert_int_equal(sl_store_put_pod(scene.store, pod_with(NULL, 0, NULL), NULL), 0);
    add(&scene, "POST", BINDING, 409, STATUS("Conflict", "409"));
    add(&scene, "GET", POD, 200,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"default\",\"uid\":\"u1\",\"annotations\":{\"sliced.dev/assignment\":\"y=1\"}},"
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":"
        "{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}");
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    struct sl_pod *pod = sl_store_pod(scene.store, SL_STR("default"), SL_STR("p"));
    assert_string_equal(pod->node, "n1");
    assert_string_equal(pod->assignment, "y=1");
    sl_pod_unref(pod);
    scene_end(&scene);
}

/* Keeps the client's thread from going on, as a machine that stands still does. */
static void stand_still(void *context, const struct sl_reply *reply)
{
    atomic_int *still = context;
    (void)reply;
    atomic_store(still, 2);
    while (atomic_load(still) != 0) {
        (void)sched_yield();
    }
}

static int64_t now_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void what_was_allowed_before_a_pause_is_not_sent_after_it(void **state)
{
    struct scene scene;
    atomic_int still = 1;
    (void)state;
    scene_begin(&scene);
    scene.options.try_us = 1 * MS;
    scene.options.timeout_us = 2 * MS;
    scene_start(&scene);
    struct sl_call_options call = rig_get("/still");
    call.done = stand_still;
    call.context = &still;
    assert_int_equal(sl_client_call(scene.rig.client, &call, NULL, NULL), 0);
    while (atomic_load(&still) == 1) {
        (void)sched_yield();
    }
    bind_begin(&scene);
    for (int64_t until_us = now_us() + 5 * MS; now_us() < until_us;) {
        (void)sched_yield();
    }
    atomic_store(&still, 0);
    bind_wait(&scene);
    assert_int_equal(scene.outcome.end, SL_BIND_END_FAILED);
    assert_int_equal(count(&scene, "POST"), 0);
    scene_end(&scene);
}

static void who_is_deposed_only_reads(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    atomic_store(&scene.may_bind, 1);
    add_kind(&scene, "POST", FAKE_CLOSE, 1);
    add(&scene, "GET", POD, 200, UNBOUND);
    add(&scene, "GET", POD, 200, UNBOUND);
    add(&scene, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    assert_int_equal(count(&scene, "POST"), 1);
    scene_end(&scene);
}

static void a_client_that_goes_ends_all(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    add_kind(&scene, "POST", FAKE_HANG, 0);
    bind_begin(&scene);
    fake_api_wait(scene.rig.api, 1);
    sl_client_free(scene.rig.client);
    scene.rig.client = NULL;
    assert_int_equal(scene.outcome.done, 1);
    assert_int_equal(scene.outcome.end, SL_BIND_END_UNKNOWN);
    struct sl_kube_binder_stats stats;
    sl_kube_binder_stats(scene.binder, &stats);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.ends[SL_BIND_END_UNKNOWN], 1);
    scene_end(&scene);
}

/* ---- the deadline ---- */

static void wait_for_deadline(struct scene *scene, uint64_t set, uint64_t failed)
{
    struct sl_kube_binder_stats stats = {.deadlines = 0};
    int64_t now_s = 0;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    now_s = now.tv_sec;
    while (stats.deadlines < set || stats.deadline_failures < failed) {
        sl_kube_binder_stats(scene->binder, &stats);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        assert_true(now.tv_sec - now_s < 30);
    }
}

static void a_bound_pods_timeout_becomes_its_deadline(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    assert_int_equal(sl_store_put_pod(scene.store, pod_with("90m", 0, NULL), NULL), 0);
    add(&scene, "POST", BINDING, 201, "{}");
    add(&scene, "PATCH", POD, 503, "{}");
    add(&scene, "PATCH", POD, 200, "{}");
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    wait_for_deadline(&scene, 1, 0);
    const struct fake_request *request = fake_api_request(scene.rig.api, 1);
    assert_string_equal(request->method, "PATCH");
    assert_string_equal(request->path, POD);
    assert_string_equal(request->content_type, "application/merge-patch+json");
    assert_string_equal(request->body, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{"
                                       "\"activeDeadlineSeconds\":5400}}");
    scene_end(&scene);
}

static void a_deadline_that_cannot_be_set_is_counted_not_fatal(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    assert_int_equal(sl_store_put_pod(scene.store, pod_with("90m", 0, NULL), NULL), 0);
    add(&scene, "POST", BINDING, 201, "{}");
    add(&scene, "PATCH", POD, 403, STATUS("Forbidden", "403"));
    assert_int_equal(bind_whole(&scene), SL_BIND_END_BOUND);
    wait_for_deadline(&scene, 0, 1);
    scene_end(&scene);
}

static void nobody_elses_deadline_is_touched(void **state)
{
    struct scene scene;
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    struct sl_pod *const left[] = {pod_with("90m", 60, "n1"), pod_with(NULL, 0, "n1"),
                                   pod_with("90m", 0, NULL)};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        sl_kube_set_deadline(scene.binder, left[i]);
        sl_pod_unref(left[i]);
    }
    struct sl_pod *pod = pod_with("90m", 0, "n1");
    atomic_store(&scene.may_bind, 0);
    sl_kube_set_deadline(scene.binder, pod);
    atomic_store(&scene.may_bind, -1);
    add(&scene, "PATCH", POD, 200, "{}");
    sl_kube_set_deadline(scene.binder, pod);
    sl_pod_unref(pod);
    wait_for_deadline(&scene, 1, 0);
    assert_int_equal(fake_api_requests(scene.rig.api), 1);
    scene_end(&scene);
}

static void many_bindings_go_at_the_same_time(void **state)
{
    enum { N = 200 };
    static struct outcome outcomes[N];
    struct scene scene;
    struct sl_kube_binder_stats stats = {.in_flight = 1};
    (void)state;
    scene_begin(&scene);
    scene_start(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "POST", .status = 201});
    for (int i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        const struct sl_binding binding = {SL_STR("default"), sl_str_of(name), sl_str_of(name),
                                           SL_STR("n1"), "x=0"};
        outcomes[i] = (struct outcome){.lock = PTHREAD_MUTEX_INITIALIZER,
                                       .changed = PTHREAD_COND_INITIALIZER};
        sl_kube_bind(scene.binder, &binding, on_done, &outcomes[i]);
    }
    while (stats.in_flight > 0) {
        sl_kube_binder_stats(scene.binder, &stats);
    }
    assert_int_equal(stats.ends[SL_BIND_END_BOUND], N);
    assert_int_equal(stats.posts, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(outcomes[i].done, 1);
    }
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_binding_carries_the_assignment_and_the_uid),
        cmocka_unit_test(an_answer_that_leaves_doubt_is_settled_by_the_pod),
        cmocka_unit_test(what_was_not_carried_out_is_sent_again),
        cmocka_unit_test(an_unbound_pod_is_bound_again_while_a_post_may_be_lost),
        cmocka_unit_test(an_answer_that_is_cut_is_read_up),
        cmocka_unit_test(a_post_without_an_answer_is_given_up_and_read_up),
        cmocka_unit_test(what_cannot_be_learnt_in_time_is_unknown),
        cmocka_unit_test(a_pod_that_stays_unbound_after_a_lost_post_is_unknown),
        cmocka_unit_test(a_refusal_that_could_not_be_read_up_is_unknown),
        cmocka_unit_test(a_server_that_was_too_busy_has_not_bound),
        cmocka_unit_test(an_unknown_end_is_remembered),
        cmocka_unit_test(who_does_not_lead_sends_nothing),
        cmocka_unit_test(what_is_late_is_only_read),
        cmocka_unit_test(the_ledger_learns_what_the_pod_really_has),
        cmocka_unit_test(what_was_allowed_before_a_pause_is_not_sent_after_it),
        cmocka_unit_test(who_is_deposed_only_reads),
        cmocka_unit_test(a_client_that_goes_ends_all),
        cmocka_unit_test(a_bound_pods_timeout_becomes_its_deadline),
        cmocka_unit_test(a_deadline_that_cannot_be_set_is_counted_not_fatal),
        cmocka_unit_test(nobody_elses_deadline_is_touched),
        cmocka_unit_test(many_bindings_go_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
