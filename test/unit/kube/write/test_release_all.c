/* Opening every gate: pages, what fails on the way, and what is told. */
#include "unit/kube/calls.h"

#include <stdio.h>

#include "kube/write/release_all.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define PODS           "/api/v1/pods?limit=2"
#define AT(ns, name)   "/api/v1/namespaces/" ns "/pods/" name
#define GATE           "{\"name\":\"sliced.dev/queue\"}"
#define OTHER          "{\"name\":\"example.com/other\"}"
#define ITEM(n, gates) /* a pod of namespace x */                                                  \
    "{\"metadata\":{\"namespace\":\"x\",\"name\":\"" n "\",\"uid\":\"u-" n                         \
    "\"},\"spec\":{\"schedulingGates\":[" gates "]}}"
#define PAGE(next, items)                                                                          \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9\","         \
    "\"continue\":\"" next "\"},\"items\":[" items "]}"
#define SAYS(code)                                                                                 \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"no\",\"reason\":\"No\","            \
    "\"code\":" code "}"

struct scene {
    struct rig rig;
    struct sl_release_all_options options;
    struct sl_release_all_counts counts;
    struct sl_error err;
    char told[512]; /* "x/a:0 x/b:3(no) " */
};

static void tell(void *context, struct sl_str namespace, struct sl_str name,
                 enum sl_opening opening, const struct sl_error *err)
{
    struct scene *scene = context;
    size_t at = strlen(scene->told);
    (void)snprintf(scene->told + at, sizeof(scene->told) - at, "%.*s/%.*s:%d%s%s ",
                   (int)namespace.len, namespace.s, (int)name.len, name.s, (int)opening,
                   err == NULL ? "" : "=", err == NULL ? "" : err->message);
}

static void begin(struct scene *scene)
{
    sl_log_configure(SL_LOG_ERROR, false);
    *scene = (struct scene){.err = {.code = SL_ERR_NONE}};
    rig_start(&scene->rig);
    scene->options = (struct sl_release_all_options){.client = scene->rig.client,
                                                     .page = 2,
                                                     .at_once = 1,
                                                     .call_us = 60000 * MS,
                                                     .tries = 2,
                                                     .tell = tell,
                                                     .context = scene};
}

static void add(struct scene *scene, const char *method, const char *path, unsigned status,
                const char *body)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){
                     .method = method, .path = path, .times = 1, .status = status, .body = body});
}

static int run(struct scene *scene)
{
    return sl_release_all(&scene->options, &scene->counts, &scene->err);
}

static void end(struct scene *scene)
{
    rig_end(&scene->rig);
}

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, every_gate_of_every_page_is_opened_and_nothing_else)
{
    add(scene, "GET", PODS "&continue=t+1", 200,
        PAGE("", ITEM("c", OTHER) "," ITEM("d", GATE "," OTHER)));
    add(scene, "GET", PODS, 200, PAGE("t+1", ITEM("a", GATE) "," ITEM("b", "")));
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "PATCH", .status = 200});
    assert_int_equal(run(scene), 0);
    assert_int_equal(scene->counts.seen, 4);
    assert_int_equal(scene->counts.openings[SL_OPENING_DONE], 2);
    assert_string_equal(scene->told, "x/a:0 x/d:0 ");
    const struct fake_request *patch = fake_api_request(scene->rig.api, 1);
    assert_string_equal(patch->path, AT("x", "a"));
    assert_string_equal(patch->content_type, "application/strategic-merge-patch+json");
    assert_string_equal(patch->body,
                        "{\"metadata\":{\"uid\":\"u-a\"},\"spec\":{\"schedulingGates\":[{"
                        "\"$patch\":\"delete\",\"name\":\"sliced.dev/queue\"}]}}");
    assert_int_equal(fake_api_requests(scene->rig.api), 4);
}

TEST_ALONE(the_condition_that_it_is_queued_is_ended_with_the_gate)
{
    static const char queued[] =
        "{\"metadata\":{\"namespace\":\"x\",\"name\":\"a\",\"uid\":\"u-a\"},\"spec\":{"
        "\"schedulingGates\":[" GATE "]},\"status\":{\"conditions\":[{\"type\":"
        "\"sliced.dev/Queued\",\"status\":\"True\"}]}}";
    static const unsigned answers[] = {200, 403};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        char page[600];
        (void)snprintf(page, sizeof(page), PAGE("", "%s"), queued);
        begin(&scene);
        add(&scene, "GET", PODS, 200, page);
        add(&scene, "PATCH", AT("x", "a") "/status", answers[i], "{}");
        add(&scene, "PATCH", AT("x", "a"), 200, "{}");
        assert_int_equal(run(&scene), 0);
        assert_string_equal(scene.told, "x/a:0 ");
        assert_non_null(strstr(fake_api_request(scene.rig.api, 1)->body,
                               "\"type\":\"sliced.dev/Queued\",\"status\":\"False\""));
        assert_non_null(strstr(fake_api_request(scene.rig.api, 2)->body, "schedulingGates"));
        end(&scene);
    }
}

TEST_ON(struct scene *scene, one_that_fails_is_told_and_the_others_are_opened)
{
    add(scene, "GET", PODS, 200, PAGE("", ITEM("b", GATE) "," ITEM("a", GATE) "," ITEM("d", GATE)));
    add(scene, "PATCH", AT("x", "a"), 403, SAYS("403"));
    add(scene, "PATCH", AT("x", "b"), 404, SAYS("404"));
    add(scene, "PATCH", AT("x", "d"), 200, "{}");
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/d:0 x/a:3=no x/b:2 ");
    assert_int_equal(scene->counts.openings[SL_OPENING_GONE], 1);
    assert_int_equal(scene->counts.openings[SL_OPENING_FAILED], 1);
}

/* A pod of a StatefulSet, say, that was deleted and made anew, gated again, after it was listed. */
TEST_ON(struct scene *scene, a_pod_that_was_made_anew_meanwhile_is_opened_too)
{
    add(scene, "GET", PODS, 200, PAGE("", ITEM("a", GATE) "," ITEM("b", GATE)));
    add(scene, "PATCH", AT("x", "b"), 409, SAYS("409"));
    add(scene, "PATCH", AT("x", "a"), 200, "{}");
    add(scene, "GET", PODS, 200, PAGE("", ITEM("a", "") "," ITEM("b", GATE)));
    add(scene, "PATCH", AT("x", "b"), 200, "{}");
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:0 x/b:0 ");
    assert_int_equal(scene->counts.openings[SL_OPENING_FAILED], 0);
}

TEST_ON(struct scene *scene, a_pod_that_is_refused_again_and_again_has_failed)
{
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "GET",
                                                      .path = PODS,
                                                      .status = 200,
                                                      .body = PAGE("", ITEM("a", GATE))});
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "PATCH", .status = 422, .body = SAYS("422")});
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:3=no ");
    assert_int_equal(scene->counts.openings[SL_OPENING_FAILED], 1);
    assert_int_equal(scene->counts.openings[SL_OPENING_GONE], 0);
}

TEST_ON(struct scene *scene, a_list_that_has_grown_old_is_begun_anew)
{
    add(scene, "GET", PODS "&continue=t", 410, SAYS("410"));
    add(scene, "GET", PODS, 200, PAGE("t", ITEM("a", GATE)));
    add(scene, "PATCH", AT("x", "a"), 200, "{}");
    add(scene, "GET", PODS, 200, PAGE("", ITEM("a", "") "," ITEM("b", GATE)));
    add(scene, "PATCH", AT("x", "b"), 200, "{}");
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:0 x/b:0 ");
}

TEST_ALONE(a_list_that_fails_is_an_error)
{
    static const struct {
        unsigned status;
        const char *body;
    } bad[] = {{403, SAYS("403")}, {200, "<html>"}, {200, "{\"kind\":\"PodList\""}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct scene scene;
        begin(&scene);
        add(&scene, "GET", PODS, bad[i].status, bad[i].body);
        assert_int_equal(run(&scene), -1);
        assert_int_not_equal(scene.err.code, SL_ERR_NONE);
        assert_true(scene.err.message[0] != '\0');
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_dry_run_patches_nothing)
{
    scene->options.dry_run = true;
    add(scene, "GET", PODS, 200, PAGE("", ITEM("a", GATE) "," ITEM("b", "")));
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:1 ");
    assert_int_equal(fake_api_requests(scene->rig.api), 1);
}

TEST_ON(struct scene *scene, one_pod_and_one_namespace_are_asked_for_by_name)
{
    scene->options.namespace = "x";
    scene->options.name = "a";
    add(scene, "GET", "/api/v1/namespaces/x/pods?limit=2&fieldSelector=metadata.name=a", 200,
        PAGE("", ITEM("a", GATE)));
    add(scene, "PATCH", AT("x", "a"), 200, "{}");
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:0 ");
}

TEST_ON(struct scene *scene, what_was_not_answered_is_sent_again)
{
    scene->options.at_once = 8;
    add(scene, "GET", PODS, 503, SAYS("503"));
    add(scene, "GET", PODS, 200, PAGE("", ITEM("a", GATE)));
    add(scene, "PATCH", AT("x", "a"), 500, SAYS("500"));
    add(scene, "PATCH", AT("x", "a"), 200, "{}");
    assert_int_equal(run(scene), 0);
    assert_string_equal(scene->told, "x/a:0 ");
}
