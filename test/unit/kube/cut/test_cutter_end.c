/* What answers and readings lead to: how a step of a cut ends. */
#include "cutter_rig.h"

#define GONE SAYS("NotFound", "404")

static void assert_end(struct scene *scene, enum sl_cut_write_end how, const char *text)
{
    assert_int_equal(whole(scene), how);
    if (strstr(scene->outcome.text, text) == NULL) {
        fail_msg("%s", scene->outcome.text);
    }
}

/* An order whose entry is there, so that only the node is to be written. */
static void begin_order(struct scene *scene)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF(ENTRIES));
}

TEST_FIXTURE_OF(struct scene, NULL, end)

/* ---- races ---- */

TEST_ON(struct scene *scene, an_object_that_somebody_changed_meanwhile_is_read_again)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF("  a: []\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 409, SAYS("Conflict", "409"));
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF("  b: []\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 409, SAYS("Conflict", "409"));
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_end(scene, SL_CUT_WRITTEN, "");
    assert_non_null(strstr(sent(scene, "PATCH", MAP_PATH), "  b: []"));
    assert_int_equal(count(scene, "PATCH", NODE_PATH), 2);
}

TEST_ON(struct scene *scene, a_config_map_that_comes_or_goes_meanwhile_is_read_again)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 404, GONE);
    add(&scene->rig, "POST", MAPS_PATH, 409, SAYS("AlreadyExists", "409"));
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF("  a: []\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 404, GONE);
    add(&scene->rig, "GET", MAP_PATH, 404, GONE);
    add(&scene->rig, "POST", MAPS_PATH, 201, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_end(scene, SL_CUT_WRITTEN, "");
}

TEST_ALONE(a_write_whose_answer_was_lost_is_looked_up)
{
    static const char written[] =
        NODE(GPUS, DEVICES ",\"sliced.dev/cut\":\"sliced-5c3d-1\"", ALLOCATABLE);
    for (int i = 0; i < 2; i++) { /* it was carried out, or was not */
        struct scene scene;
        begin_order(&scene);
        add(&scene.rig, "GET", NODE_PATH, 200, PLAIN);
        fake_api_add(scene.rig.api,
                     (struct fake_answer){
                         .method = "PATCH", .path = NODE_PATH, .times = 1, .kind = FAKE_CLOSE});
        add(&scene.rig, "GET", NODE_PATH, 200, i == 0 ? written : PLAIN);
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_end(&scene, SL_CUT_WRITTEN, "");
        assert_int_equal(count(&scene, "PATCH", NODE_PATH), 1 + i);
        end(&scene);
    }
}

/* ---- orders that must not be ---- */

TEST_ALONE(an_order_does_not_overtake_what_somebody_did_meanwhile)
{
    static const struct {
        const char *node;
        const char *text;
    } cases[] = {
        {NODE(GPUS, "\"sliced.dev/cut\":\"sliced-77-1\"", ""),
         "a cut of the node is under way: sliced-77-1"},
        {NODE(A100(",\"nvidia.com/mig.config\":\"by-hand\""), "", ""),
         "somebody has set nvidia.com/mig.config to \"by-hand\""},
        {NODE(A100(""), "", ""), "somebody has set nvidia.com/mig.config to \"\""},
        {"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u9\"}}",
         "the node was made anew, with UID u9"},
        {"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\","
         "\"deletionTimestamp\":\"2026-11-21T12:00:00Z\"}}",
         "the node is being deleted"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin_order(&scene);
        add(&scene.rig, "GET", NODE_PATH, 200, cases[i].node);
        assert_end(&scene, SL_CUT_WRITE_MOOT, cases[i].text);
        assert_int_equal(count(&scene, "PATCH", NODE_PATH), 0);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_node_that_is_gone_takes_no_order)
{
    begin_order(scene);
    add(&scene->rig, "GET", NODE_PATH, 404, GONE);
    assert_end(scene, SL_CUT_WRITE_MOOT, "the node is gone");
}

/* Nothing names an entry that may not be there. */
TEST_ALONE(without_its_entry_nothing_is_ordered)
{
    static const struct {
        const char *map;
        const char *text;
    } cases[] = {
        {MAP(",\"data\":{\"config.yaml\":\"{}\"}"),
         "the mig-manager's ConfigMap, config.yaml: its "},
        {MAP(",\"data\":{\"config.yaml\":\"a: [\"}"), "the mig-manager's ConfigMap, config.yaml: "},
        {FILE_OF("  sliced-5c3d-1:\\n  - devices: all\\n"), "was rewritten by somebody"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
        add(&scene.rig, "GET", MAP_PATH, 200, cases[i].map);
        assert_end(&scene, SL_CUT_WRITE_BAD_FILE, cases[i].text);
        assert_int_equal(fake_api_requests(scene.rig.api), 1);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, what_cannot_be_ordered_is_refused_at_once)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    scene->run.n_cuts = 0;
    assert_end(scene, SL_CUT_WRITE_MOOT, "the cut names no GPU");
    scene->run.n_cuts = 1;
    scene->run.cut[0].instance[0].profile = 99;
    assert_end(scene, SL_CUT_WRITE_MOOT, "GPU 1 cannot be cut as planned");
    scene->run.actuator = SL_ACTUATOR_NONE;
    assert_end(scene, SL_CUT_WRITE_MOOT, "nothing cuts the node's GPUs");
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

/* ---- refusals and failures of the API server ---- */

TEST_ALONE(a_refusal_of_the_api_server_is_told_in_its_words)
{
    struct scene scene;
    begin_order(&scene);
    add(&scene.rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene.rig, "PATCH", NODE_PATH, 403, SAYS("Forbidden", "403"));
    assert_end(&scene, SL_CUT_WRITE_REFUSED, "no Forbidden");
    end(&scene);

    begin(&scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene.rig, "GET", MAP_PATH, 404, GONE);
    add(&scene.rig, "POST", MAPS_PATH, 403, SAYS("Forbidden", "403"));
    assert_end(&scene, SL_CUT_WRITE_REFUSED, "no Forbidden");
    end(&scene);
}

TEST_ON(struct scene *scene, a_missing_namespace_is_not_waited_for)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    fake_api_add(scene->rig.api, (struct fake_answer){.status = 404, .body = GONE});
    assert_end(scene, SL_CUT_WRITE_FAILED, "no NotFound");
    assert_int_equal(count(scene, "POST", MAPS_PATH), 3);
}

TEST_ON(struct scene *scene, answers_that_are_no_such_object_are_asked_for_again)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 200, "{");
    add(&scene->rig, "GET", MAP_PATH, 200, "{\"metadata\":[]}");
    add(&scene->rig, "GET", MAP_PATH, 200, "{\"kind\":\"ConfigMap\"}");
    add(&scene->rig, "GET", MAP_PATH, 500, "");
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF(ENTRIES));
    add(&scene->rig, "GET", NODE_PATH, 200, MAP(""));
    add(&scene->rig, "GET", NODE_PATH, 200,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\"}}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 429, SAYS("TooManyRequests", "429"));
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_end(scene, SL_CUT_WRITTEN, "");
}

TEST_ON(struct scene *scene, an_order_without_an_answer_ends_as_unknown)
{
    begin_order(scene);
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 504, SAYS("Timeout", "504"));
    atomic_store(&scene->reign.leads, 1); /* not for a second try */
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    assert_end(scene, SL_CUT_WRITE_UNKNOWN, "not the leader");
    assert_int_equal(count(scene, "PATCH", NODE_PATH), 1);
}

TEST_ON(struct scene *scene, an_order_that_is_refused_after_one_without_an_answer_ends_as_unknown)
{
    begin_order(scene);
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 504, SAYS("Timeout", "504"));
    add(&scene->rig, "GET", NODE_PATH, 200,
        NODE(A100(",\"nvidia.com/mig.config\":\"by-hand\""), "", ""));
    assert_end(scene, SL_CUT_WRITE_UNKNOWN, "somebody has set nvidia.com/mig.config");
}

TEST_ON(struct scene *scene, a_replica_that_does_not_lead_writes_nothing)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    atomic_store(&scene->reign.leads, 0);
    add(&scene->rig, "GET", MAP_PATH, 404, GONE);
    assert_end(scene, SL_CUT_WRITE_FAILED, "not the leader");
    assert_int_equal(count(scene, "POST", MAPS_PATH), 0);
}

TEST_ON(struct scene *scene, a_nudge_that_fails_keeps_nobody_waiting)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 404, GONE);
    add(&scene->rig, "POST", MAPS_PATH, 201, "{}");
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "GET", .path = PODS_PATH, .kind = FAKE_HANG});
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_end(scene, SL_CUT_WRITTEN, "");
}
