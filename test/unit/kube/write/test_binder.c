/* Every way in which a binding can end, told apart by reading the pod. */
#include "binder_rig.h"

#include <sched.h>

TEST_FIXTURE_OF(struct scene, scene_open, scene_end)

/* ---- what is sent ---- */

TEST_ON(struct scene *scene, the_binding_carries_the_assignment_and_the_uid)
{
    add(&scene->rig, "POST", BINDING, 201, SAYS("x", "201"));
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    const struct fake_request *request = fake_api_request(scene->rig.api, 0);
    assert_string_equal(request->path, BINDING);
    assert_string_equal(
        request->body,
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"default\",\"uid\":\"u1\",\"annotations\":{\"sliced.dev/assignment\":"
        "\"nvidia.com/mig-1g.6gb=0/2\"}},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"name\":\"n1\"}}");
    assert_string_equal(request->content_type, "application/json");
    assert_int_equal(fake_api_requests(scene->rig.api), 1);
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
    {409, 404, SAYS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {404, 404, SAYS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {404, 200, OURS, SL_BIND_END_BOUND, ""},
    {404, 200, UNBOUND, SL_BIND_END_FAILED, "no it"},
    {0, 200, OURS, SL_BIND_END_BOUND, ""},
    {0, 200, READ("u1", "n2", ""), SL_BIND_END_FAILED, "the pod is bound to node n2"},
    {0, 200, READ("u2", "", ""), SL_BIND_END_FAILED, "the pod was made anew, with UID u2"},
    {0, 404, SAYS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {0, 200, READ("u1", "", ",\"deletionTimestamp\":\"2026-11-21T12:00:00Z\""), SL_BIND_END_FAILED,
     "the pod is being deleted"},
    {500, 200, OURS, SL_BIND_END_BOUND, ""},
    {504, 404, SAYS("NotFound", "404"), SL_BIND_END_FAILED, "the pod is gone"},
    {400, 0, NULL, SL_BIND_END_FAILED, "no it"},
    {403, 0, NULL, SL_BIND_END_FAILED, "no it"},
    {422, 0, NULL, SL_BIND_END_FAILED, "no it"},
};

TEST_ALONE(an_answer_that_leaves_doubt_is_settled_by_the_pod)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct one_case *c = &cases[i];
        struct scene scene;
        scene_begin(&scene);
        scene_start(&scene);
        if (c->post == 0) {
            add_kind(&scene, "POST", FAKE_CLOSE, 1);
        } else {
            add(&scene.rig, "POST", BINDING, c->post, SAYS("it", "400"));
        }
        add(&scene.rig, "GET", POD, c->read, c->pod);
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

TEST_ON(struct scene *scene, what_was_not_carried_out_is_sent_again)
{
    for (int i = 0; i < 3; i++) {
        add(&scene->rig, "POST", BINDING, 429, SAYS("TooManyRequests", "429"));
    }
    add(&scene->rig, "POST", BINDING, 201, "{}");
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    assert_int_equal(count(scene, "POST"), 4);
    assert_int_equal(count(scene, "GET"), 0);
}

TEST_ON(struct scene *scene, an_unbound_pod_is_bound_again_while_a_post_may_be_lost)
{
    add_kind(scene, "POST", FAKE_CLOSE, 1);
    add(&scene->rig, "GET", POD, 200, UNBOUND);
    add(&scene->rig, "POST", BINDING, 503, "{}");
    add(&scene->rig, "GET", POD, 500, "{}");
    add(&scene->rig, "GET", POD, 200, "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}");
    add(&scene->rig, "GET", POD, 200, "<html>");
    add_kind(scene, "GET", FAKE_CLOSE, 1);
    add(&scene->rig, "GET", POD, 200, UNBOUND);
    add(&scene->rig, "POST", BINDING, 409, SAYS("Conflict", "409")); /* the first came through */
    add(&scene->rig, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    assert_int_equal(count(scene, "POST"), 3);
}

TEST_ON(struct scene *scene, an_answer_that_is_cut_is_read_up)
{
    static const char *const body = SAYS("x", "201");
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "POST",
                                                      .path = BINDING,
                                                      .times = 1,
                                                      .status = 201,
                                                      .body = body,
                                                      .piece = 5,
                                                      .cut = true,
                                                      .cut_at = 20});
    add(&scene->rig, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
}

/* ---- who may ---- */

TEST_ON(struct scene *scene, who_does_not_lead_sends_nothing)
{
    atomic_store(&scene->reign.leads, 0);
    assert_int_equal(bind_whole(scene), SL_BIND_END_FAILED);
    assert_string_equal(scene->outcome.text, "this replica is not the leader any more");
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

TEST_ON(struct scene *scene, nothing_of_an_earlier_leadership_is_sent)
{
    scene->reign.leadership++; /* it has lost the lead since, and has it again */
    assert_int_equal(bind_whole(scene), SL_BIND_END_FAILED);
    assert_string_equal(scene->outcome.text, "this replica is not the leader any more");
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

TEST_ON(struct scene *scene, who_is_deposed_only_reads)
{
    atomic_store(&scene->reign.leads, 1);
    add_kind(scene, "POST", FAKE_CLOSE, 1);
    add(&scene->rig, "GET", POD, 200, UNBOUND);
    add(&scene->rig, "GET", POD, 200, UNBOUND);
    add(&scene->rig, "GET", POD, 200, OURS);
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    assert_int_equal(count(scene, "POST"), 1);
}

/* ---- reading alone ---- */

TEST_ALONE(what_is_late_is_only_read)
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
        {SAYS("NotFound", "404"), "the pod is gone", 404, SL_BIND_END_FAILED},
    };
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        struct scene scene;
        scene_begin(&scene);
        scene_start(&scene);
        atomic_store(&scene.reign.leads, 0); /* who does not lead may read */
        fake_api_add(scene.rig.api, (struct fake_answer){.method = "GET",
                                                         .path = POD,
                                                         .status = looks[i].status,
                                                         .body = looks[i].body});
        bind_with(&scene, false, sl_kube_resolve);
        outcome_wait(&scene.outcome);
        assert_int_equal(scene.outcome.end, looks[i].end);
        assert_string_equal(scene.outcome.text, looks[i].text);
        assert_int_equal(count(&scene, "POST"), 0);
        scene_end(&scene);
    }
}

/* A binding that was taken for lost has been carried out, with other devices than those of now. */
TEST_ON(struct scene *scene, the_ledger_learns_what_the_pod_really_has)
{
    assert_int_equal(sl_store_put_pod(scene->store, pod_with(NULL, 0, NULL), NULL), 0);
    add(&scene->rig, "POST", BINDING, 409, SAYS("Conflict", "409"));
    add(&scene->rig, "GET", POD, 200,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"default\",\"uid\":\"u1\",\"annotations\":{\"sliced.dev/assignment\":\"y=1\"}},"
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"resources\":"
        "{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}");
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    struct sl_pod *pod = sl_store_pod(scene->store, SL_STR("default"), SL_STR("p"));
    assert_string_equal(pod->node, "n1");
    assert_string_equal(pod->assignment, "y=1");
    sl_pod_unref(pod);
}

/* ---- many ---- */

TEST_ALONE(many_bindings_go_at_the_same_time)
{
    enum { N = 200 };
    static struct outcome outcomes[N];
    struct scene scene;
    struct sl_kube_binder_stats stats = {.in_flight = 1};
    scene_open(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.method = "POST", .status = 201});
    for (int i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        const struct sl_binding binding = {
            SL_STR("default"), sl_str_of(name), sl_str_of(name), SL_STR("n1"), "x=0", 7, false};
        outcomes[i] = outcome_none();
        sl_kube_bind(scene.binder, &binding, on_done, &outcomes[i]);
    }
    while (stats.in_flight > 0) {
        (void)sched_yield();
        sl_kube_binder_stats(scene.binder, &stats);
    }
    assert_int_equal(stats.ends[SL_BIND_END_BOUND], N);
    assert_int_equal(stats.posts, N);
    scene_end(&scene); /* the last callers are told after their binding is counted out */
    for (int i = 0; i < N; i++) {
        assert_int_equal(outcomes[i].done, 1);
    }
}
