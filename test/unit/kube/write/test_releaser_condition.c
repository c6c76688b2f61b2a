/* The condition sliced.dev/Queued: what is sent, and with what it ends. */
#include "releaser_rig.h"

#define STRATEGIC "application/strategic-merge-patch+json"
#define UID       "{\"metadata\":{\"uid\":\"u1\"}"

static const struct sl_queued queued = {
    .namespace = {"default", 7},
    .name = {"p", 1},
    .uid = {"u1", 2},
    .reason = {"NoRoom", 6},
    .message = {"held: \"first\"", 13},
    .status = SL_QUEUED_TRUE,
    .turned_us = INT64_C(1700000000500000),
    .leadership = 7,
};

static enum sl_release_end show(struct scene *scene, const struct sl_queued *wanted)
{
    sl_release_show(scene->releaser, wanted, on_done, &scene->outcome);
    return wait_end(scene);
}

static void assert_has(struct scene *scene, unsigned at, const char *part)
{
    const struct fake_request *request = fake_api_request(scene->rig.api, at);
    assert_string_equal(request->method, "PATCH");
    assert_string_equal(request->path, STATUS);
    assert_string_equal(request->content_type, STRATEGIC);
    if (strstr(request->body, part) == NULL) {
        fail_msg("%s: %s", part, request->body);
    }
}

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, the_condition_alone_is_changed_on_the_pod_of_that_uid)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    assert_int_equal(show(scene, &queued), SL_RELEASE_RELEASED);
    assert_has(scene, 0,
               UID
               ",\"status\":{\"conditions\":[{\"type\":\"sliced.dev/Queued\",\"status\":\"True\","
               "\"reason\":\"NoRoom\",\"message\":\"held: \\\"first\\\"\",\"lastProbeTime\":\"20");
    assert_has(scene, 0, "Z\",\"lastTransitionTime\":\"2023-11-14T22:13:20Z\"}]}}");
}

TEST_ALONE(without_a_turn_the_time_of_the_last_one_stays)
{
    struct scene scene;
    struct sl_queued same = queued;
    begin(&scene);
    same.turned_us = 0;
    same.status = SL_QUEUED_UNKNOWN;
    add(&scene.rig, "PATCH", STATUS, 200, "{}");
    assert_int_equal(show(&scene, &same), SL_RELEASE_RELEASED);
    assert_has(&scene, 0, "\"status\":\"Unknown\"");
    assert_null(strstr(fake_api_request(scene.rig.api, 0)->body, "lastTransitionTime"));
    end(&scene);
}

TEST_ON(struct scene *scene, a_nomination_ends_it_in_the_same_patch)
{
    scene->release.queued = true;
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(whole(scene), SL_RELEASE_RELEASED);
    assert_has(scene, 0,
               UID
               ",\"status\":{\"nominatedNodeName\":\"n1\",\"conditions\":[{\"type\":"
               "\"sliced.dev/Queued\",\"status\":\"False\",\"reason\":\"Nominated\",\"message\":"
               "\"its turn has come: node n1\"");
    assert_int_equal(fake_api_requests(scene->rig.api), 2);
}

static const struct {
    unsigned first;
    unsigned again; /* 0: there is no second try */
    enum sl_release_end end;
} cases[] = {
    {500, 0, SL_RELEASE_FAILED}, {429, 0, SL_RELEASE_FAILED}, {409, 200, SL_RELEASE_RELEASED},
    {404, 0, SL_RELEASE_GONE},   {403, 0, SL_RELEASE_FAILED}, {400, 0, SL_RELEASE_FAILED},
};

TEST_ALONE(every_answer_leads_to_its_end)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene);
        add(&scene.rig, "PATCH", STATUS, cases[i].first, SAYS("it", "400"));
        if (cases[i].again != 0) {
            add(&scene.rig, "PATCH", STATUS, cases[i].again, "{}");
        }
        assert_int_equal(show(&scene, &queued), cases[i].end);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_pod_that_was_made_anew_is_left_alone)
{
    for (int i = 0; i < 3; i++) {
        add(&scene->rig, "PATCH", STATUS, 409, SAYS("Conflict", "409"));
    }
    assert_int_equal(show(scene, &queued), SL_RELEASE_GONE);
    assert_int_equal(fake_api_requests(scene->rig.api), 3);
}

TEST_ALONE(who_does_not_lead_writes_nothing)
{
    struct scene scene;
    struct sl_queued earlier = queued;
    struct sl_releaser_stats stats;
    begin(&scene);
    earlier.leadership = 6;
    assert_int_equal(show(&scene, &earlier), SL_RELEASE_FAILED);
    assert_int_equal(fake_api_requests(scene.rig.api), 0);
    sl_releaser_stats(scene.releaser, &stats);
    assert_int_equal(stats.shown, 0);
    assert_int_equal(stats.shown_failed, 1);
    end(&scene);
}
