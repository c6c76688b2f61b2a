/* How a release ends with its leadership, its time or its client; nominations that are taken back;
 * and, whatever fails, that the end says how the pod stands. */
#include "releaser_rig.h"

TEST_FIXTURE_OF(struct scene, begin, end)

/* ---- leadership, time, the end ---- */

TEST_ALONE(who_leads_no_more_patches_no_more)
{
    static const struct {
        int leaderships;
        unsigned patches;
    } one[] = {{0, 0}, {1, 1}};
    for (size_t i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        atomic_store(&scene.reign.leads, one[i].leaderships);
        add(&scene.rig, "PATCH", STATUS, 200, "{}");
        add(&scene.rig, "PATCH", POD, 200, "{}");
        assert_int_equal(whole(&scene), SL_RELEASE_FAILED);
        assert_string_equal(scene.outcome.text, "this replica is not the leader any more");
        assert_int_equal(fake_api_requests(scene.rig.api), one[i].patches);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, an_opening_that_may_be_lost_at_the_end_of_the_leadership_is_not_known)
{
    atomic_store(&scene->reign.leads, 2);
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    fake_api_add(scene->rig.api, (struct fake_answer){.path = POD, .kind = FAKE_CLOSE});
    assert_int_equal(whole(scene), SL_RELEASE_UNKNOWN);
    assert_string_equal(scene->outcome.text, "this replica is not the leader any more");
}

TEST_ALONE(what_has_no_answer_in_time_ends_by_what_may_have_been_carried_out)
{
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene);
        if (i == 0) {
            add_kind(&scene, STATUS, FAKE_HANG);
        } else {
            add(&scene.rig, "PATCH", STATUS, 200, "{}");
            add_kind(&scene, POD, FAKE_HANG);
        }
        start(&scene);
        fake_api_wait(scene.rig.api, (unsigned)i + 1);
        fake_clock_advance(scene.rig.client, long_us);
        assert_int_equal(wait_end(&scene), i == 0 ? SL_RELEASE_FAILED : SL_RELEASE_UNKNOWN);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_release_takes_as_long_as_was_said_last)
{
    sl_releaser_set_timeout(scene->releaser, long_us / 2);
    add_kind(scene, STATUS, FAKE_HANG);
    start(scene);
    fake_api_wait(scene->rig.api, 1);
    fake_clock_advance(scene->rig.client, long_us / 2);
    assert_int_equal(wait_end(scene), SL_RELEASE_FAILED);
}

TEST_ON(struct scene *scene, the_end_of_the_client_ends_a_release)
{
    add_kind(scene, STATUS, FAKE_HANG);
    start(scene);
    fake_api_wait(scene->rig.api, 1);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    assert_int_equal(scene->outcome.done, 1);
    assert_int_equal(scene->outcome.end, SL_RELEASE_FAILED);
}

TEST_ON(struct scene *scene, the_server_says_when_to_come_again)
{
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "PATCH",
                                                      .path = STATUS,
                                                      .times = 1,
                                                      .status = 429,
                                                      .retry_after = "500",
                                                      .body = SAYS("TooManyRequests", "429")});
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    start(scene);
    fake_clock_pass(scene->rig.client, MS * 1000 * 400);
    assert_int_equal(fake_api_requests(scene->rig.api), 1);
    fake_clock_pass(scene->rig.client, MS * 1000 * 200);
    assert_int_equal(wait_end(scene), SL_RELEASE_RELEASED);
}

/* ---- taking a nomination back ---- */

TEST_ON(struct scene *scene, a_nomination_is_taken_back_only_while_it_is_ours)
{
    add(&scene->rig, "PATCH", STATUS, 200, "{}");
    sl_release_withdraw(scene->releaser, &scene->release);
    fake_clock_pass(scene->rig.client, 0);
    const struct fake_request *request = fake_api_request(scene->rig.api, 0);
    assert_string_equal(request->path, STATUS);
    assert_string_equal(request->content_type, "application/json-patch+json");
    assert_string_equal(request->body,
                        "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"u1\"},"
                        "{\"op\":\"test\",\"path\":\"/status/nominatedNodeName\",\"value\":\"n1\"},"
                        "{\"op\":\"remove\",\"path\":\"/status/nominatedNodeName\"}]");
    assert_int_equal(fake_api_requests(scene->rig.api), 1);
}

TEST_ON(struct scene *scene, no_nomination_is_taken_back_by_who_does_not_lead)
{
    atomic_store(&scene->reign.leads, 0);
    sl_release_withdraw(scene->releaser, &scene->release);
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
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

TEST_ALONE(whatever_fails_the_end_says_how_the_pod_stands)
{
    unsigned ends[SL_RELEASE_ENDS] = {0};
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct scene scene;
        struct model model = {.random = seed * UINT64_C(0x9e3779b97f4a7c15)};
        begin(&scene);
        atomic_store(&scene.reign.leads, draw(&model, 3) == 0 ? (int)draw(&model, 6) : -1);
        fake_api_add(scene.rig.api, (struct fake_answer){.fn = serve, .context = &model});
        enum sl_release_end how = whole(&scene);
        ends[how]++;
        fake_api_release(scene.rig.api);
        sl_client_free(scene.rig.client);
        scene.rig.client = NULL;
        assert_int_equal(scene.outcome.done, 1);
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
