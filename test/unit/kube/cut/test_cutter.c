/* What the steps of a cut write, by actuator. */
#include "cutter_rig.h"

#define META     "{\"metadata\":{\"uid\":\"u1\",\"resourceVersion\":\"7\","
#define MAPMETA  "{\"metadata\":{\"uid\":\"u2\",\"resourceVersion\":\"40\"},"
#define TOLD     "\"sliced.dev/cut-text\":\"GPU 1 into 2x 3g.40gb\","
#define TOLD_OFF "\"sliced.dev/cut-text\":null,"
#define PENDING  "\"nvidia.com/mig.config.state\":\"pending\""
#define BEGUN(name)                                                                                \
    NODE(GPUS,                                                                                     \
         DEVICES ",\"sliced.dev/cut\":\"" name "\",\"sliced.dev/cut-devices\":\"" PLANNED          \
                 "\",\"sliced.dev/cut-unsure\":\"" UNSURE "\"",                                    \
         ALLOCATABLE)

TEST_FIXTURE_OF(struct scene, NULL, end)

/* ---- mig-manager ---- */

TEST_ON(struct scene *scene, an_order_is_an_entry_of_the_file_and_then_a_label)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF("  all: [{devices: all}]\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", MAP_PATH),
                        MAPMETA "\"data\":{\"config.yaml\":\"version: v1\\nmig-configs:\\n" ENTRIES
                                "  all: [{devices: all}]\\n\"}}");
    assert_string_equal(sent(scene, "PATCH", NODE_PATH),
                        META "\"labels\":{\"nvidia.com/mig.config\":\"sliced-5c3d-1\"," PENDING "},"
                             "\"annotations\":{\"sliced.dev/cut-devices\":\"" PLANNED
                             "\",\"sliced.dev/cut-unsure\":\"" UNSURE "\"," TOLD
                             "\"sliced.dev/cut\":\"sliced-5c3d-1\"}}}");
}

TEST_ON(struct scene *scene, the_config_map_is_made_when_there_is_none)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 404, SAYS("NotFound", "404"));
    add(&scene->rig, "POST", MAPS_PATH, 201, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(
        sent(scene, "POST", MAPS_PATH),
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":"
        "\"gpu-operator\",\"name\":\"sliced-mig-config\"},\"data\":{\"config.yaml\":"
        "\"version: v1\\nmig-configs:\\n" ENTRIES "\"}}");
}

TEST_ON(struct scene *scene, a_file_that_has_the_entries_is_not_written_again)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, BEGUN("sliced-5c3d-1"));
    (void)snprintf(scene->run.name, sizeof(scene->run.name), "sliced-5c3d-2");
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF(ENTRIES));
    add(&scene->rig, "GET", NODE_PATH, 200, BEGUN("sliced-5c3d-1"));
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_int_equal(count(scene, "PATCH", MAP_PATH), 0);
    assert_int_equal(count(scene, NULL, PODS_PATH), 0);
    assert_string_equal(sent(scene, "PATCH", NODE_PATH),
                        META "\"labels\":{\"nvidia.com/mig.config\":\"sliced-5c3d-2\"," PENDING "},"
                             "\"annotations\":{\"sliced.dev/cut\":\"sliced-5c3d-2\"}}}");
}

/* Entries that nodes name, and all attempts of a cut under way; whatever else is ours goes. */
TEST_ON(struct scene *scene, entries_that_nodes_use_stay)
{
    static const char other[] =
        "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n2\",\"labels\":{"
        "\"nvidia.com/mig.config\":\"sliced-aa-2\"},\"annotations\":{\"sliced.dev/cut\":"
        "\"sliced-bb-1\"}}}";
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    assert_int_equal(sl_store_put_node(scene->store, node_of(other, SL_ACTUATOR_NONE), NULL), 0);
    add(&scene->rig, "GET", MAP_PATH, 200,
        FILE_OF("  sliced-aa-1: [a]\\n  sliced-aa-2: [b]\\n  sliced-bb-1: [c]\\n"
                "  sliced-bb-2: [d]\\n  sliced-cc-1: [e]\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", MAP_PATH),
                        MAPMETA "\"data\":{\"config.yaml\":\"version: v1\\nmig-configs:\\n" ENTRIES
                                "  sliced-aa-2: [b]\\n  sliced-bb-1: [c]\\n  sliced-bb-2: "
                                "[d]\\n\"}}");
}

/* The watch may not show yet that the node before was given its label. */
TEST_ON(struct scene *scene, entries_of_the_last_orders_stay)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    for (int i = 0; i < 2; i++) {
        add(&scene->rig, "GET", MAP_PATH, 200,
            i == 0 ? FILE_OF("  a: []\\n") : FILE_OF(ENTRIES "  sliced-dd-1: [a]\\n"));
        add(&scene->rig, "PATCH", MAP_PATH, 200, "{}");
        add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
        add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    }
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    (void)snprintf(scene->run.name, sizeof(scene->run.name), "sliced-ee-3");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", MAP_PATH),
                        MAPMETA "\"data\":{\"config.yaml\":\"version: v1\\nmig-configs:\\n"
                                "  sliced-ee-1" ENTRY "  sliced-ee-2" ENTRY
                                "  sliced-ee-3" ENTRY ENTRIES "\"}}");
}

TEST_ON(struct scene *scene, the_mig_managers_pod_is_told_to_look_at_the_file)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    add(&scene->rig, "GET", MAP_PATH, 200, FILE_OF("  a: []\\n"));
    add(&scene->rig, "PATCH", MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", PODS_PATH, 200,
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"mm-x\","
        "\"namespace\":\"gpu-operator\",\"uid\":\"u3\"}},{\"metadata\":{\"name\":\"mm-y\","
        "\"namespace\":\"other\"}}]}");
    add(&scene->rig, "PATCH", "/api/v1/namespaces/gpu-operator/pods/mm-x", 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    fake_api_wait(scene->rig.api, 6);
    const char *patch = sent(scene, "PATCH", "/api/v1/namespaces/gpu-operator/pods/mm-x");
    const char head[] = "{\"metadata\":{\"uid\":\"u3\",\"annotations\":{\"sliced.dev/nudged\":\"20";
    assert_int_equal(strncmp(patch, head, sizeof(head) - 1), 0);
    assert_int_equal(
        count(scene, "GET",
              "/api/v1/namespaces/gpu-operator/pods?labelSelector=app=nvidia-mig-manager&limit=1&"
              "fieldSelector=spec.nodeName=n1"),
        1);
}

TEST_ON(struct scene *scene, a_gpu_may_be_given_back_whole)
{
    begin(scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
    scene->run.n_cuts = 2;
    scene->run.cut[0] = cut_of(scene->node, 0, "whole");
    scene->run.cut[1] = cut_of(scene->node, 1, "1g.10gb+me 1g.10gb 1g.10gb");
    add(&scene->rig, "GET", MAP_PATH, 404, SAYS("NotFound", "404"));
    add(&scene->rig, "POST", MAPS_PATH, 201, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, PLAIN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_non_null(strstr(sent(scene, "POST", MAPS_PATH),
                           "  sliced-5c3d-1: [{devices: [0], mig-enabled: false, mig-devices: {}}, "
                           "{devices: [1], mig-enabled: true, mig-devices: {\\\"1g.10gb+me\\\": 1, "
                           "\\\"1g.10gb\\\": 2}}]\\n"));
}

/* ---- nos' MIG agent ---- */

#define NOS_LABELS                                                                                 \
    A100(",\"nos.nebuly.com/gpu-partitioning\":\"mig\",\"nvidia.com/gpu.count\":\"2\"")
#define NOS_STATUS                                                                                 \
    "\"nos.nebuly.com/status-gpu-0-2g.20gb-used\":\"1\","                                          \
    "\"nos.nebuly.com/status-gpu-0-1g.10gb-free\":\"2\","                                          \
    "\"nos.nebuly.com/status-gpu-1-7g.80gb-free\":\"1\""
#define NOS_ALLOCATABLE                                                                            \
    "\"nvidia.com/mig-2g.20gb\":\"1\",\"nvidia.com/mig-1g.10gb\":\"2\",\"nvidia.com/"              \
    "mig-7g.80gb\":"                                                                               \
    "\"1\""
#define NOS(annotations) NODE(NOS_LABELS, annotations, NOS_ALLOCATABLE)

#define NOS_PLANNED                                                                                \
    "[{\\\"index\\\":0,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"mig" \
    "\\\":true,\\\"instances\\\":[{\\\"profile\\\":\\\"2g.20gb\\\"},{\\\"profile\\\":\\\"1g."      \
    "10gb\\\"},"                                                                                   \
    "{\\\"profile\\\":\\\"1g.10gb\\\"}]},{\\\"index\\\":1,\\\"product\\\":\\\"NVIDIA-A100-SXM4-"   \
    "80GB\\\",\\\"memory\\\":81920,\\\"mig\\\":true,\\\"instances\\\":[{\\\"profile\\\":\\\"3g."   \
    "40gb"                                                                                         \
    "\\\"},{\\\"profile\\\":\\\"3g.40gb\\\"}]}]"

TEST_ON(struct scene *scene, an_order_to_nos_names_what_every_gpu_shall_have)
{
    begin(scene, SL_ACTUATOR_NOS_MIG, NOS(NOS_STATUS));
    add(&scene->rig, "GET", NODE_PATH, 200,
        NOS(NOS_STATUS ",\"nos.nebuly.com/spec-gpu-0-2g.20gb\":\"1\","
                       "\"nos.nebuly.com/spec-gpu-1-7g.80gb\":\"1\","
                       "\"nos.nebuly.com/spec-partitioning-plan\":\"8\""));
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", NODE_PATH),
                        META "\"annotations\":{\"nos.nebuly.com/spec-gpu-1-7g.80gb\":null,"
                             "\"nos.nebuly.com/spec-gpu-0-2g.20gb\":\"1\","
                             "\"nos.nebuly.com/spec-gpu-0-1g.10gb\":\"2\","
                             "\"nos.nebuly.com/spec-gpu-1-3g.40gb\":\"2\","
                             "\"nos.nebuly.com/spec-partitioning-plan\":\"sliced-5c3d-1\","
                             "\"sliced.dev/cut-devices\":\"" NOS_PLANNED "\"," TOLD
                             "\"sliced.dev/cut\":\"sliced-5c3d-1\"}}}");
    assert_int_equal(fake_api_requests(scene->rig.api), 2);
}

/* An agent that was away would carry it out under pods that have come by then: it is told to leave
 * what it reports. */
TEST_ALONE(an_order_to_nos_that_is_given_up_is_taken_back)
{
    static const char told[] =
        NOS(NOS_STATUS
            ",\"nos.nebuly.com/status-gpu-0-2g.20gb-free\":\"1\","
            "\"nos.nebuly.com/spec-gpu-0-2g.20gb\":\"1\",\"nos.nebuly.com/spec-gpu-1-3g.40gb\":"
            "\"2\",\"nos.nebuly.com/spec-partitioning-plan\":\"sliced-5c3d-1\","
            "\"sliced.dev/cut\":\"sliced-5c3d-1\"");
    static const char overruled[] =
        NOS(NOS_STATUS ",\"nos.nebuly.com/spec-gpu-1-3g.40gb\":\"2\",\"nos.nebuly.com/"
                       "spec-partitioning-plan\":\"9\",\"sliced.dev/cut\":\"sliced-5c3d-1\"");
    static const struct {
        const char *node;
        enum sl_cut_outcome outcome;
        const char *spec; /* NULL: it stays */
    } cases[] = {
        {told, SL_CUT_SILENT,
         "\"nos.nebuly.com/spec-gpu-0-2g.20gb\":\"2\",\"nos.nebuly.com/spec-gpu-0-1g.10gb\":"
         "\"2\",\"nos.nebuly.com/spec-gpu-1-7g.80gb\":\"1\",\"nos.nebuly.com/"
         "spec-gpu-1-3g.40gb\":null,\"nos.nebuly.com/spec-partitioning-plan\":"
         "\"sliced-5c3d-0\""},
        {told, SL_CUT_DONE, NULL},
        {overruled, SL_CUT_LEFT, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene, SL_ACTUATOR_NOS_MIG, cases[i].node);
        scene.write.step = SL_CUT_FINISH;
        scene.run.outcome = cases[i].outcome;
        add(&scene.rig, "GET", NODE_PATH, 200, cases[i].node);
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_int_equal(whole(&scene), SL_CUT_WRITTEN);
        const char *text = sent(&scene, "PATCH", NODE_PATH);
        if (cases[i].spec != NULL) {
            assert_non_null(strstr(text, cases[i].spec));
        } else {
            assert_null(strstr(text, "spec-"));
        }
        assert_non_null(strstr(text, "\"sliced.dev/cut\":null"));
        end(&scene);
    }
}

TEST_ALONE(nos_gets_no_order_that_it_cannot_read)
{
    static const struct {
        const char *cut;
        const char *text;
    } cases[] = {
        {"1g.10gb+me", "GPU 1: nos' agent cannot read the profile 1g.10gb+me"},
        {"whole", "GPU 1: nos' agent does not switch MIG mode off"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene, SL_ACTUATOR_NOS_MIG, NOS(NOS_STATUS));
        scene.run.cut[0] = cut_of(scene.node, 1, cases[i].cut);
        assert_int_equal(whole(&scene), SL_CUT_WRITE_MOOT);
        assert_string_equal(scene.outcome.text, cases[i].text);
        assert_int_equal(fake_api_requests(scene.rig.api), 0);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, nos_gets_no_order_that_takes_away_what_is_in_use_by_now)
{
    begin(scene, SL_ACTUATOR_NOS_MIG, NOS(NOS_STATUS));
    add(&scene->rig, "GET", NODE_PATH, 200,
        NOS("\"nos.nebuly.com/status-gpu-0-2g.20gb-used\":\"1\","
            "\"nos.nebuly.com/status-gpu-1-7g.80gb-used\":\"1\""));
    assert_int_equal(whole(scene), SL_CUT_WRITE_MOOT);
    assert_string_equal(scene->outcome.text, "it would take away instances in use: "
                                             "nos.nebuly.com/status-gpu-1-7g.80gb-used is 1");
}

/* ---- pods ---- */

static int take_pod(void *context, const struct sl_object *object, struct sl_error *err)
{
    return sl_store_put_pod(context, sl_pod_new(object->pod, err), err);
}

/* Another scheduler's: the daemon may be told of it while the order's file is being written. */
TEST_ALONE(nothing_is_ordered_of_a_node_to_which_a_pod_has_come)
{
    static const char pod[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"a\",\"uid\":\"u3\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\","
        "\"resources\":{\"limits\":{\"nvidia.com/mig-7g.80gb\":\"1\"}}}]}}";
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = 1 << 20, .max_depth = 64};
    for (int stood = 0; stood < 2; stood++) {
        struct scene scene;
        begin(&scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
        add(&scene.rig, "GET", MAP_PATH, 200, FILE_OF(ENTRIES));
        add(&scene.rig, "GET", NODE_PATH, 200, PLAIN);
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_int_equal(
            sl_store_put_node(scene.store, node_of(PLAIN, SL_ACTUATOR_MIG_MANAGER), NULL), 0);
        assert_int_equal(sl_manifest_decode(pod, strlen(pod), &limits, take_pod, scene.store, NULL),
                         0);
        const struct sl_snapshot *snapshot = sl_store_acquire(scene.store);
        if (stood == 1) {
            sl_cut_run_note_pods(&scene.run, snapshot->view[0]);
        }
        sl_store_release(scene.store, snapshot);
        assert_int_equal(whole(&scene), stood == 1 ? SL_CUT_WRITTEN : SL_CUT_WRITE_FAILED);
        assert_int_equal(count(&scene, "PATCH", NODE_PATH), stood);
        end(&scene);
    }
}

/* ---- the end ---- */

/* It would destroy instances that pods have been given since. */
TEST_ALONE(a_mig_manager_that_starts_anew_does_not_carry_out_what_was_given_up)
{
    static const struct {
        enum sl_cut_outcome outcome;
        const char *state;
    } cases[] = {
        {SL_CUT_WEDGED, "pending"},       {SL_CUT_TAKEN, "pending"},       {SL_CUT_TAKEN, "failed"},
        {SL_CUT_FAILED, "failed"},        {SL_CUT_HALF_APPLIED, "failed"}, {SL_CUT_LEFT, "failed"},
        {SL_CUT_NOT_FOLLOWED, "success"}, {SL_CUT_WEDGED, "rebooting"},    {SL_CUT_DONE, "success"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        char node[4096];
        (void)snprintf(node, sizeof(node),
                       NODE("\"nvidia.com/mig.config\":\"sliced-5c3d-2\","
                            "\"nvidia.com/mig.config.state\":\"%s\"",
                            "\"sliced.dev/cut\":\"sliced-5c3d-2\"", ALLOCATABLE),
                       cases[i].state);
        begin(&scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
        scene.write.step = SL_CUT_FINISH;
        scene.run.outcome = cases[i].outcome;
        add(&scene.rig, "GET", NODE_PATH, 200, node);
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_int_equal(whole(&scene), SL_CUT_WRITTEN);
        bool cancelled =
            strstr(sent(&scene, "PATCH", NODE_PATH),
                   "\"labels\":{\"nvidia.com/mig.config\":\"sliced-5c3d-0\"},") != NULL;
        assert_int_equal(cancelled, cases[i].outcome != SL_CUT_DONE);
        end(&scene);
    }
}

struct finish_case {
    enum sl_cut_outcome outcome;
    const char *annotations; /* of the patch */
};

#define NOTES_OFF                                                                                  \
    "\"sliced.dev/cut-devices\":null,\"sliced.dev/cut-unsure\":null,\"sliced.dev/cut-text\":null,"

TEST_ALONE(the_end_of_a_cut_says_what_the_gpus_hold)
{
    static const struct finish_case cases[] = {
        {SL_CUT_DONE, "\"sliced.dev/devices\":\"" PLANNED "\"," NOTES_OFF},
        {SL_CUT_FAILED, NOTES_OFF},
        {SL_CUT_WEDGED, "\"sliced.dev/devices\":\"" UNSURE "\"," NOTES_OFF},
        {SL_CUT_TAKEN, "\"sliced.dev/devices\":\"" UNSURE "\"," NOTES_OFF},
        {SL_CUT_HALF_APPLIED, "\"sliced.dev/devices\":\"" UNSURE "\"," NOTES_OFF},
        {SL_CUT_SILENT, NOTES_OFF},
        {SL_CUT_LEFT, NOTES_OFF},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        char expected[2048];
        begin(&scene, SL_ACTUATOR_MIG_MANAGER, BEGUN("sliced-5c3d-1"));
        scene.write.step = SL_CUT_FINISH;
        scene.run.outcome = cases[i].outcome;
        scene.run.told = true;
        scene.run.n_cuts = 0; /* as after a restart */
        add(&scene.rig, "GET", NODE_PATH, 200, BEGUN("sliced-5c3d-1"));
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_int_equal(whole(&scene), SL_CUT_WRITTEN);
        (void)snprintf(expected, sizeof(expected),
                       META "\"annotations\":{%s\"sliced.dev/cut\":null}}}", cases[i].annotations);
        assert_string_equal(sent(&scene, "PATCH", NODE_PATH), expected);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, an_agent_that_reports_its_gpus_needs_no_words_of_ours)
{
    begin(scene, SL_ACTUATOR_NOS_MIG, NOS(NOS_STATUS));
    scene->write.step = SL_CUT_FINISH;
    scene->run.outcome = SL_CUT_DONE;
    add(&scene->rig, "GET", NODE_PATH, 200,
        NOS(NOS_STATUS ",\"sliced.dev/cut\":\"sliced-5c3d-1\""));
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", NODE_PATH),
                        META "\"annotations\":{\"sliced.dev/cut-devices\":null," TOLD_OFF
                             "\"sliced.dev/cut\":null}}}");
}

TEST_ALONE(the_mark_of_another_cut_is_left_alone)
{
    static const char *const nodes[] = {PLAIN, BEGUN("sliced-77-1"), BEGUN("sliced-5c3")};
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        struct scene scene;
        begin(&scene, SL_ACTUATOR_MIG_MANAGER, PLAIN);
        scene.write.step = SL_CUT_FINISH;
        add(&scene.rig, "GET", NODE_PATH, 200, nodes[i]);
        assert_int_equal(whole(&scene), SL_CUT_WRITTEN);
        assert_int_equal(fake_api_requests(scene.rig.api), 1);
        end(&scene);
    }
}

/* Whatever somebody wrote there is taken off, or the node would be withheld for ever. */
TEST_ON(struct scene *scene, a_mark_that_somebody_made_up_is_taken_off)
{
    begin(scene, SL_ACTUATOR_NONE,
          BEGUN("a made up name that is longer than any name of a run could ever be, for tests"));
    scene->write.step = SL_CUT_FINISH;
    scene->run.outcome = SL_CUT_LEFT;
    (void)snprintf(scene->run.name, sizeof(scene->run.name), "%.*s", SL_CUT_NAME_MAX - 1,
                   scene->node->partition.cut);
    add(&scene->rig, "GET", NODE_PATH, 200,
        BEGUN("a made up name that is longer than any name of a run could ever be, for tests"));
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_string_equal(sent(scene, "PATCH", NODE_PATH),
                        META "\"annotations\":{" TOLD_OFF "\"sliced.dev/cut\":null}}}");
}
