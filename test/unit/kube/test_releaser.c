/* What a release sends, and how it ends, whatever the API server answers. */
#include "calls.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "fake_clock.h"
#include "kube/releaser.h"
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
    struct sl_releaser_options options;
    struct sl_releaser *releaser;
    struct sl_release release;
    atomic_int terms_left; /* how often still the term is 7; negative: always */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned done;
    enum sl_release_end end;
    bool passed;
    char text[384];
};

static uint64_t term_of(void *context)
{
    struct scene *scene = context;
    int left = atomic_load(&scene->terms_left);
    if (left > 0) {
        (void)atomic_fetch_sub(&scene->terms_left, 1);
    }
    return left != 0 ? 7 : 8;
}

static void begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    *scene = (struct scene){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    rig_start(&scene->rig);
    atomic_init(&scene->terms_left, -1);
    scene->options = (struct sl_releaser_options){
        .client = scene->rig.client,
        .term = term_of,
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
                                         .term = 7,
                                         .gated = true};
}

static void end(struct scene *scene)
{
    fake_api_release(scene->rig.api);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    sl_releaser_free(scene->releaser);
    rig_end(&scene->rig);
}

static void on_done(void *call, enum sl_release_end how, const struct sl_error *err)
{
    struct scene *scene = call;
    (void)pthread_mutex_lock(&scene->lock);
    scene->done++;
    scene->end = how;
    (void)snprintf(scene->text, sizeof(scene->text), "%s", err == NULL ? "" : err->message);
    (void)pthread_cond_broadcast(&scene->changed);
    (void)pthread_mutex_unlock(&scene->lock);
}

static void start(struct scene *scene)
{
    sl_release(scene->releaser, &scene->release, on_done, scene);
}

static enum sl_release_end wait_end(struct scene *scene)
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

static enum sl_release_end whole(struct scene *scene)
{
    start(scene);
    return wait_end(scene);
}

static void add(struct scene *scene, const char *method, const char *path, unsigned status,
                const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){
                     .method = method, .path = path, .times = 1, .status = status, .body = body});
}

static void add_kind(struct scene *scene, const char *path, enum fake_kind kind)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "PATCH", .path = path, .times = 1, .kind = kind});
}

/* Patches of the pod itself: the status is another path that begins the same. */
static unsigned opened(struct scene *scene)
{
    return fake_api_count(scene->rig.api, "PATCH", POD) -
           fake_api_count(scene->rig.api, "PATCH", STATUS);
}

/* ---- what is sent ---- */

static void assert_patch(struct scene *scene, unsigned at, const char *path, const char *type,
                         const char *head, const char *tail)
{
    const struct fake_request *request = fake_api_request(scene->rig.api, at);
    assert_string_equal(request->method, "PATCH");
    assert_string_equal(request->path, path);
    assert_string_equal(request->content_type, type);
    size_t n = strlen(head);
    size_t m = strlen(tail);
    assert_true(request->body_len >= n + m);
    if (strncmp(request->body, head, n) != 0 ||
        strcmp(request->body + request->body_len - m, tail) != 0) {
        fail_msg("%s", request->body);
    }
}

#define MERGE      "application/merge-patch+json"
#define STRATEGIC  "application/strategic-merge-patch+json"
#define UID        "{\"metadata\":{\"uid\":\"u1\""
#define ANNOTATION ",\"annotations\":{\"sliced.dev/released\":\"20"
#define DELETE     "\"schedulingGates\":[{\"$patch\":\"delete\",\"name\":\"sliced.dev/queue\"}]"
#define NOMINATION "},\"status\":{\"nominatedNodeName\":\"n1\"}}"

static void a_gated_pod_is_nominated_and_then_opened(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    scene.release.deadline_s = 3600;
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
    assert_patch(&scene, 0, STATUS, MERGE, UID, NOMINATION);
    assert_patch(&scene, 1, POD, STRATEGIC, UID ANNOTATION,
                 "Z\"}},\"spec\":{" DELETE ",\"activeDeadlineSeconds\":3600}}");
    assert_int_equal(fake_api_requests(scene.rig.api), 2);
    end(&scene);
}

static void the_gates_of_others_and_a_deadline_that_is_there_are_left_alone(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
    assert_patch(&scene, 1, POD, STRATEGIC, UID ANNOTATION, "Z\"}},\"spec\":{" DELETE "}}");
    end(&scene);
}

static void a_pod_without_a_gate_is_nominated_and_woken_by_an_annotation(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    scene.release.gated = false;
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
    assert_patch(&scene, 0, STATUS, MERGE, UID, NOMINATION);
    assert_patch(&scene, 1, POD, STRATEGIC, UID ANNOTATION, "Z\"}}}");
    end(&scene);
}

static void without_a_node_or_with_its_nomination_there_the_gate_is_opened_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        scene.release.node = i == 0 ? SL_STR("") : SL_STR("n1");
        scene.release.nominated = i == 1;
        add(&scene, "PATCH", POD, 200, "{}");
        assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
        assert_patch(&scene, 0, POD, STRATEGIC, UID ANNOTATION, DELETE "}}");
        assert_int_equal(fake_api_requests(scene.rig.api), 1);
        end(&scene);
    }
}

/* ---- what one answer and one reading mean ---- */

struct one_case {
    unsigned nominate; /* 0: the connection is closed without an answer, and all is well then */
    unsigned open;     /* the same; 1: it must not come to that */
    unsigned read;     /* 0: there must be none */
    enum sl_release_end end;
    const char *pod;
    const char *text;
};

static const struct one_case cases[] = {
    {200, 200, 0, SL_RELEASE_RELEASED, NULL, ""},
    {0, 200, 0, SL_RELEASE_RELEASED, NULL, ""},
    {200, 0, 0, SL_RELEASE_RELEASED, NULL, ""},
    {429, 200, 0, SL_RELEASE_RELEASED, NULL, ""},
    {200, 429, 0, SL_RELEASE_RELEASED, NULL, ""},
    {500, 200, 0, SL_RELEASE_RELEASED, NULL, ""},
    {200, 504, 0, SL_RELEASE_RELEASED, NULL, ""},
    {404, 1, 0, SL_RELEASE_GONE, NULL, "the pod is gone"},
    {200, 404, 0, SL_RELEASE_GONE, NULL, "the pod is gone"},
    {409, 200, 200, SL_RELEASE_RELEASED, GATED, ""},
    {200, 409, 200, SL_RELEASE_RELEASED, GATED, ""},
    {200, 409, 200, SL_RELEASE_RELEASED, OPEN, ""},
    {200, 409, 200, SL_RELEASE_RELEASED, BOUND, ""},
    {422, 1, 200, SL_RELEASE_GONE, READ("u2", "", GATES), "the pod was made anew, with UID u2"},
    {200, 422, 200, SL_RELEASE_GONE, READ("u2", "", ""), "the pod was made anew, with UID u2"},
    {200, 422, 404, SL_RELEASE_GONE, SAYS("NotFound", "404"), "the pod is gone"},
    {200, 422, 200, SL_RELEASE_GONE,
     READ("u1", ",\"deletionTimestamp\":\"2026-11-21T12:00:00Z\"", GATES),
     "the pod has ended or is being deleted"},
    {200, 422, 200, SL_RELEASE_GONE,
     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"uid\":\"u1\"},"
     "\"status\":{\"phase\":\"Failed\"}}",
     "the pod has ended or is being deleted"},
    {403, 1, 0, SL_RELEASE_FAILED, NULL, "no it"},
    {200, 403, 0, SL_RELEASE_FAILED, NULL, "no it"},
    {200, 400, 0, SL_RELEASE_FAILED, NULL, "no it"},
};

static void script(struct scene *scene, const char *path, unsigned status)
{
    if (status == 0) {
        add_kind(scene, path, FAKE_CLOSE);
    } else {
        add(scene, "PATCH", path, status, status == 200 ? "{}" : SAYS("it", "400"));
    }
}

static void every_answer_leads_to_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct one_case *c = &cases[i];
        struct scene scene;
        begin(&scene);
        script(&scene, STATUS, c->nominate);
        if (c->nominate != 200) {
            script(&scene, STATUS, 200);
        }
        if (c->open != 1) {
            script(&scene, POD, c->open);
            script(&scene, POD, 200);
        }
        if (c->read != 0) {
            add(&scene, "GET", POD, c->read, c->pod);
        }
        enum sl_release_end how = whole(&scene);
        if (how != c->end || strcmp(scene.text, c->text) != 0) {
            fail_msg("case %zu: %d \"%s\"", i, (int)how, scene.text);
        }
        assert_int_equal(fake_api_count(scene.rig.api, "GET", POD), c->read == 0 ? 0 : 1);
        if (c->open == 1) {
            assert_int_equal(opened(&scene), 0);
        }
        end(&scene);
    }
}

static void a_deadline_that_came_meanwhile_is_not_set_again(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    scene.release.deadline_s = 60;
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 422, SAYS("Invalid", "422"));
    add(&scene, "GET", POD, 200, READ("u1", "", GATES ",\"activeDeadlineSeconds\":30"));
    add(&scene, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
    assert_non_null(strstr(fake_api_request(scene.rig.api, 1)->body, "activeDeadlineSeconds"));
    assert_null(strstr(fake_api_request(scene.rig.api, 3)->body, "activeDeadlineSeconds"));
    end(&scene);
}

static void a_pod_that_refuses_again_and_again_is_given_up(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    add(&scene, "PATCH", STATUS, 200, "{}");
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "PATCH",
                                                     .path = POD,
                                                     .status = 422,
                                                     .body = SAYS("Invalid", "422")});
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "GET", .path = POD, .body = GATED});
    assert_int_equal(whole(&scene), SL_RELEASE_FAILED);
    assert_string_equal(scene.text, "no Invalid");
    assert_int_equal(opened(&scene), 3);
    end(&scene);
}

static void a_reading_that_fails_is_read_again(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 409, SAYS("Conflict", "409"));
    add(&scene, "GET", POD, 500, "{}");
    add(&scene, "GET", POD, 200, "<html>");
    add(&scene, "GET", POD, 200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}");
    add(&scene, "GET", POD, 200, OPEN);
    assert_int_equal(whole(&scene), SL_RELEASE_RELEASED);
    assert_int_equal(opened(&scene), 1);
    end(&scene);
}

/* ---- leadership, time, the end ---- */

static void who_leads_no_more_patches_no_more(void **state)
{
    static const struct {
        int terms;
        unsigned patches;
    } one[] = {{0, 0}, {1, 1}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        atomic_store(&scene.terms_left, one[i].terms);
        add(&scene, "PATCH", STATUS, 200, "{}");
        add(&scene, "PATCH", POD, 200, "{}");
        assert_int_equal(whole(&scene), SL_RELEASE_FAILED);
        assert_string_equal(scene.text, "this replica is not the leader any more");
        assert_int_equal(fake_api_requests(scene.rig.api), one[i].patches);
        end(&scene);
    }
}

static void an_opening_that_may_be_lost_at_the_end_of_the_term_is_not_known(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    atomic_store(&scene.terms_left, 2);
    add(&scene, "PATCH", STATUS, 200, "{}");
    fake_api_add(scene.rig.api, (struct fake_answer){.path = POD, .kind = FAKE_CLOSE});
    assert_int_equal(whole(&scene), SL_RELEASE_UNKNOWN);
    assert_string_equal(scene.text, "this replica is not the leader any more");
    end(&scene);
}

static void what_has_no_answer_in_time_ends_by_what_may_have_been_carried_out(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        if (i == 0) {
            add_kind(&scene, STATUS, FAKE_HANG);
        } else {
            add(&scene, "PATCH", STATUS, 200, "{}");
            add_kind(&scene, POD, FAKE_HANG);
        }
        start(&scene);
        fake_api_wait(scene.rig.api, (unsigned)i + 1);
        fake_clock_advance(scene.rig.client, long_us);
        assert_int_equal(wait_end(&scene), i == 0 ? SL_RELEASE_FAILED : SL_RELEASE_UNKNOWN);
        end(&scene);
    }
}

static void the_end_of_the_client_ends_a_release(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    add_kind(&scene, STATUS, FAKE_HANG);
    start(&scene);
    fake_api_wait(scene.rig.api, 1);
    sl_client_free(scene.rig.client);
    scene.rig.client = NULL;
    assert_int_equal(scene.done, 1);
    assert_int_equal(scene.end, SL_RELEASE_FAILED);
    end(&scene);
}

static void on_passed(void *context)
{
    struct scene *scene = context;
    (void)pthread_mutex_lock(&scene->lock);
    scene->passed = true;
    (void)pthread_cond_broadcast(&scene->changed);
    (void)pthread_mutex_unlock(&scene->lock);
}

/* The client's thread has done what it was at. */
static void pass_by(struct scene *scene)
{
    scene->passed = false;
    assert_int_equal(sl_client_after(scene->rig.client, 0, on_passed, scene), 0);
    (void)pthread_mutex_lock(&scene->lock);
    while (!scene->passed) {
        (void)pthread_cond_wait(&scene->changed, &scene->lock);
    }
    (void)pthread_mutex_unlock(&scene->lock);
}

static void wait_repeat(struct scene *scene)
{
    struct sl_releaser_stats stats;
    do {
        (void)sched_yield();
        sl_releaser_stats(scene->releaser, &stats);
    } while (stats.repeats == 0);
    pass_by(scene);
}

static void the_server_says_when_to_come_again(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "PATCH",
                                                     .path = STATUS,
                                                     .times = 1,
                                                     .status = 429,
                                                     .retry_after = "500",
                                                     .body = SAYS("TooManyRequests", "429")});
    add(&scene, "PATCH", STATUS, 200, "{}");
    add(&scene, "PATCH", POD, 200, "{}");
    start(&scene);
    wait_repeat(&scene);
    fake_clock_advance(scene.rig.client, MS * 1000 * 400);
    pass_by(&scene);
    assert_int_equal(fake_api_requests(scene.rig.api), 1);
    fake_clock_advance(scene.rig.client, MS * 1000 * 200);
    assert_int_equal(wait_end(&scene), SL_RELEASE_RELEASED);
    end(&scene);
}

/* ---- taking a nomination back ---- */

static void wait_withdrawn(struct scene *scene, uint64_t n)
{
    struct sl_releaser_stats stats;
    do {
        (void)sched_yield();
        sl_releaser_stats(scene->releaser, &stats);
    } while (stats.withdrawn < n);
    pass_by(scene);
}

static void a_nomination_is_taken_back_only_while_it_is_ours(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    add(&scene, "PATCH", STATUS, 200, "{}");
    sl_release_withdraw(scene.releaser, &scene.release);
    wait_withdrawn(&scene, 1);
    const struct fake_request *request = fake_api_request(scene.rig.api, 0);
    assert_string_equal(request->path, STATUS);
    assert_string_equal(request->content_type, "application/json-patch+json");
    assert_string_equal(request->body,
                        "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u1\"},"
                        "{\"op\":\"test\",\"path\":\"/status/nominatedNodeName\",\"value\":\"n1\"},"
                        "{\"op\":\"remove\",\"path\":\"/status/nominatedNodeName\"}]");
    assert_int_equal(fake_api_requests(scene.rig.api), 1);
    end(&scene);
}

static void no_nomination_is_taken_back_by_who_does_not_lead(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    atomic_store(&scene.terms_left, 0);
    sl_release_withdraw(scene.releaser, &scene.release);
    assert_int_equal(fake_api_requests(scene.rig.api), 0);
    end(&scene);
}

/* ---- whatever fails ---- */

/* A pod on a server that fails as it likes, before or after it has carried the request out. */
struct model {
    uint64_t random;
    bool gone;
    bool anew; /* made anew under the same name */
    bool open;
    bool nominated;
    unsigned openings; /* patches that changed the gate */
};

static uint64_t draw(struct model *model, uint64_t n)
{
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return model->random % n;
}

static void carry_out(struct model *model, const struct fake_request *request,
                      struct fake_answer *reply)
{
    if (model->gone) {
        reply->status = 404;
        reply->body = SAYS("NotFound", "404");
    } else if (strcmp(request->method, "GET") == 0) {
        reply->body = model->anew ? READ("u2", "", GATES) : model->open ? OPEN : GATED;
    } else if (model->anew) {
        reply->status = 422;
        reply->body = SAYS("Invalid", "422");
    } else if (strcmp(request->path, STATUS) == 0) {
        model->nominated = true;
    } else {
        model->openings += model->open ? 0 : 1;
        model->open = true;
    }
}

static void serve(void *context, const struct fake_request *request, struct fake_answer *reply)
{
    struct model *model = context;
    static const unsigned refusals[] = {429, 500, 503, 409};
    uint64_t luck = draw(model, 12);
    if (draw(model, 16) == 0) {
        model->gone = draw(model, 2) == 0;
        model->anew = !model->gone;
    }
    if (luck < 4) { /* refused, not carried out */
        reply->status = refusals[luck];
        reply->body = SAYS("it", "500");
    } else if (luck == 4) { /* lost on the way there */
        reply->kind = FAKE_CLOSE;
    } else {
        carry_out(model, request, reply);
        if (luck == 5) { /* lost on the way back */
            reply->kind = FAKE_CLOSE;
        } else if (luck == 6 && reply->status == 0) {
            reply->status = 504;
        }
    }
}

static void whatever_fails_the_end_says_how_the_pod_stands(void **state)
{
    unsigned ends[SL_RELEASE_ENDS] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct scene scene;
        struct model model = {.random = seed * UINT64_C(0x9e3779b97f4a7c15)};
        begin(&scene);
        atomic_store(&scene.terms_left, draw(&model, 3) == 0 ? (int)draw(&model, 6) : -1);
        fake_api_add(scene.rig.api, (struct fake_answer){.fn = serve, .context = &model});
        enum sl_release_end how = whole(&scene);
        ends[how]++;
        fake_api_release(scene.rig.api);
        sl_client_free(scene.rig.client);
        scene.rig.client = NULL;
        assert_int_equal(scene.done, 1);
        assert_true(model.openings <= 1);
        if (how == SL_RELEASE_RELEASED) {
            assert_true(model.open && model.nominated);
        } else if (how == SL_RELEASE_GONE) {
            assert_true(model.gone || model.anew);
        } else if (how == SL_RELEASE_FAILED) {
            assert_false(model.open);
        }
        end(&scene);
    }
    for (size_t i = 0; i < SL_RELEASE_ENDS; i++) {
        assert_true(ends[i] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gated_pod_is_nominated_and_then_opened),
        cmocka_unit_test(the_gates_of_others_and_a_deadline_that_is_there_are_left_alone),
        cmocka_unit_test(a_pod_without_a_gate_is_nominated_and_woken_by_an_annotation),
        cmocka_unit_test(without_a_node_or_with_its_nomination_there_the_gate_is_opened_at_once),
        cmocka_unit_test(every_answer_leads_to_its_end),
        cmocka_unit_test(a_deadline_that_came_meanwhile_is_not_set_again),
        cmocka_unit_test(a_pod_that_refuses_again_and_again_is_given_up),
        cmocka_unit_test(a_reading_that_fails_is_read_again),
        cmocka_unit_test(who_leads_no_more_patches_no_more),
        cmocka_unit_test(an_opening_that_may_be_lost_at_the_end_of_the_term_is_not_known),
        cmocka_unit_test(what_has_no_answer_in_time_ends_by_what_may_have_been_carried_out),
        cmocka_unit_test(the_end_of_the_client_ends_a_release),
        cmocka_unit_test(the_server_says_when_to_come_again),
        cmocka_unit_test(a_nomination_is_taken_back_only_while_it_is_ours),
        cmocka_unit_test(no_nomination_is_taken_back_by_who_does_not_lead),
        cmocka_unit_test(whatever_fails_the_end_says_how_the_pod_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
