/* What a release sends, and what an answer or a reading of the pod leads to. */
#include "releaser_rig.h"

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

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, a_gated_pod_is_nominated_and_then_opened)
{
    scene->release.deadline_s = 3600;
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_patch(scene, 0, STATUS, MERGE, UID, NOMINATION);
    assert_patch(scene, 1, POD, STRATEGIC, UID ANNOTATION,
                 "Z\"}},\"spec\":{" DELETE ",\"activeDeadlineSeconds\":3600}}");
    assert_int_equal(fake_api_requests(scene->rig.api), 2);
}

TEST_ON(struct scene *scene, the_gates_of_others_and_a_deadline_that_is_there_are_left_alone)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_patch(scene, 1, POD, STRATEGIC, UID ANNOTATION, "Z\"}},\"spec\":{" DELETE "}}");
}

TEST_ON(struct scene *scene, a_pod_without_a_gate_is_nominated_and_woken_by_an_annotation)
{
    scene->release.gated = false;
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_patch(scene, 0, STATUS, MERGE, UID, NOMINATION);
    assert_patch(scene, 1, POD, STRATEGIC, UID ANNOTATION, "Z\"}}}");
}

TEST_ALONE(without_a_node_or_with_its_nomination_there_the_gate_is_opened_at_once)
{
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        scene.release.node = i == 0 ? SL_STR("") : SL_STR("n1");
        scene.release.nominated = i == 1;
        add(&scene.rig, "PATCH", POD, 200, "{}");
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
    {403, 1, 0, SL_RELEASE_REFUSED, NULL, "no it"},
    {200, 403, 0, SL_RELEASE_REFUSED, NULL, "no it"},
    {200, 400, 0, SL_RELEASE_REFUSED, NULL, "no it"},
    {200, 418, 0, SL_RELEASE_REFUSED, NULL, "no it"},
    {200, 302, 0, SL_RELEASE_FAILED, NULL, "no it"},
};

static void script(struct scene *scene, const char *path, unsigned status)
{
    if (status == 0) {
        add_kind(scene, path, FAKE_CLOSE);
    } else {
        add(&scene->rig, "PATCH", path, status, status == 200 ? "{}" : SAYS("it", "400"));
    }
}

TEST_ALONE(every_answer_leads_to_its_end)
{
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
            add(&scene.rig, "GET", POD, c->read, c->pod);
        }
        enum sl_release_end how = whole(&scene);
        if (how != c->end || strcmp(scene.outcome.text, c->text) != 0) {
            fail_msg("case %zu: %d \"%s\"", i, (int)how, scene.outcome.text);
        }
        assert_int_equal(fake_api_count(scene.rig.api, "GET", POD), c->read == 0 ? 0 : 1);
        if (c->open == 1) {
            assert_int_equal(opened(&scene), 0);
        }
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_deadline_that_came_meanwhile_is_not_set_again)
{
    scene->release.deadline_s = 60;
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 422, SAYS("Invalid", "422"));
    add(&scene->rig, "GET", POD, 200, READ("u1", "", GATES ",\"activeDeadlineSeconds\":30"));
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_non_null(strstr(fake_api_request(scene->rig.api, 1)->body, "activeDeadlineSeconds"));
    assert_null(strstr(fake_api_request(scene->rig.api, 3)->body, "activeDeadlineSeconds"));
}

/* Who wants to run for longer than his turn was given for cannot say so in between. */
TEST_ON(struct scene *scene, a_longer_deadline_that_came_meanwhile_is_shortened)
{
    scene->release.deadline_s = 60;
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 422, SAYS("Invalid", "422"));
    add(&scene->rig, "GET", POD, 200, READ("u1", "", GATES ",\"activeDeadlineSeconds\":61"));
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_non_null(
        strstr(fake_api_request(scene->rig.api, 3)->body, "\"activeDeadlineSeconds\":60"));
}

/* The daemon's own rights are nothing about the pod: every other would be refused as well. */
TEST_ON(struct scene *scene, what_the_daemon_may_not_do_is_no_refusal_of_the_pod)
{
    add(&scene->rig, "PATCH", STATUS, 403,
        SAYS("User \\\"sliced\\\" cannot patch resource \\\"pods/status\\\" in API group "
             "\\\"\\\"",
             "403"));
    assert_int_equal(whole(scene), SL_RELEASE_FAILED);
    assert_non_null(strstr(scene->outcome.text, "cannot patch resource"));
}

/* The first try may have opened the gate. */
TEST_ON(struct scene *scene, a_refusal_after_a_try_of_unknown_end_leaves_it_open)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 504, SAYS("it", "504"));
    add(&scene->rig, "PATCH", POD, 403, SAYS("it", "403"));
    assert_int_equal(whole(scene), SL_RELEASE_UNKNOWN);
}

TEST_ON(struct scene *scene, a_pod_that_refuses_again_and_again_is_given_up)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "PATCH",
                                                      .path = POD,
                                                      .status = 422,
                                                      .body = SAYS("Invalid", "422")});
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "GET", .path = POD, .body = GATED});
    assert_int_equal(whole(scene), SL_RELEASE_REFUSED);
    assert_string_equal(scene->outcome.text, "no Invalid");
    assert_int_equal(opened(scene), 3);
}

TEST_ON(struct scene *scene, a_reading_that_fails_is_read_again)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 409, SAYS("Conflict", "409"));
    add(&scene->rig, "GET", POD, 500, "{}");
    add(&scene->rig, "GET", POD, 200, "<html>");
    add(&scene->rig, "GET", POD, 200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}");
    add(&scene->rig, "GET", POD, 200, OPEN);
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_int_equal(opened(scene), 1);
}
