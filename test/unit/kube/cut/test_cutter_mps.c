/* Orders to nos' device plugin: its ConfigMap, then the node's label. */
#include "cutter_rig.h"

#define SHARED                                                                                     \
    "\"nos.nebuly.com/gpu-partitioning\":\"mps\",\"nvidia.com/gpu.memory\":\"81920\","             \
    "\"nvidia.com/gpu.count\":\"3\""
#define STATUS                                                                                     \
    "\"nos.nebuly.com/status-gpu-0-20gb-used\":\"1\",\"nos.nebuly.com/status-gpu-0-20gb-free\":"   \
    "\"1\",\"nos.nebuly.com/status-gpu-1-80gb-free\":\"1\""
#define OFFERS                                                                                     \
    "\"nvidia.com/gpu-20gb\":\"2\",\"nvidia.com/gpu-80gb\":\"1\",\"nvidia.com/gpu\":\"1\""
#define LABEL(value) ",\"nvidia.com/device-plugin.config\":\"" value "\""
#define MARK(value)  ",\"sliced.dev/cut\":\"" value "\""
#define NOS_MAP_PATH "/api/v1/namespaces/nebuly-nvidia/configmaps/plugin"
#define TEXT                                                                                       \
    "\"version: v1\\nflags:\\n  migStrategy: none\\nsharing:\\n  mps:\\n"                          \
    "    failRequestsGreaterThanOne: true\\n    resources:\\n"                                     \
    "    - name: nvidia.com/gpu\\n      rename: gpu-20gb\\n      memoryGB: 20\\n"                  \
    "      replicas: 2\\n      devices: [\\\"0\\\"]\\n"                                            \
    "    - name: nvidia.com/gpu\\n      rename: gpu-10gb\\n      memoryGB: 10\\n"                  \
    "      replicas: 4\\n      devices: [\\\"1\\\"]\\n"                                            \
    "    - name: nvidia.com/gpu\\n      rename: gpu-40gb\\n      memoryGB: 40\\n"                  \
    "      replicas: 1\\n      devices: [\\\"1\\\"]\\n\""

static void begin_mps(struct scene *scene, const char *node)
{
    begin(scene, SL_ACTUATOR_NOS_MIG, NODE(A100(""), "", ""));
    sl_kube_cutter_free(scene->cutter);
    sl_node_unref(scene->node);
    scene->options.mps_namespace = "nebuly-nvidia";
    scene->options.mps_config_map = "plugin";
    scene->cutter = sl_kube_cutter_new(&scene->options, NULL);
    assert_non_null(scene->cutter);
    scene->node = node_of(node, SL_ACTUATOR_NOS_MPS);
    scene->write.node = scene->node;
    scene->run.actuator = SL_ACTUATOR_NOS_MPS;
    scene->run.announces = true;
    scene->run.cut[0] = (struct sl_cut){.device = 1, .n_sizes = 2, .slices = {{10, 4}, {40, 1}}};
}

TEST_FIXTURE_OF(struct scene, NULL, end)

TEST_ON(struct scene *scene, it_is_announced_in_the_config_map_with_all_that_stays)
{
    static const char other[] =
        "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n2\"}}";
    begin_mps(scene, NODE(SHARED LABEL("n1-17"), STATUS, OFFERS));
    assert_int_equal(sl_store_put_node(scene->store, node_of(other, SL_ACTUATOR_NONE), NULL), 0);
    add(&scene->rig, "GET", NOS_MAP_PATH, 200,
        MAP(",\"data\":{\"n1-17\":\"nos'\",\"n1-sliced-77-2\":\"old\",\"sliced-78-2\":\"old\","
            "\"n2-sliced-79-2\":\"what n2 may go back to\",\"gone-sliced-79-2\":\"old\","
            "\"default\":\"x\"}"));
    add(&scene->rig, "PATCH", NOS_MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, NODE(SHARED LABEL("n1-17"), STATUS, OFFERS));
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_non_null(
        strstr(sent(scene, "PATCH", NOS_MAP_PATH),
               "\"data\":{\"n1-sliced-5c3d-1\":" TEXT ",\"n1-sliced-5c3d-2\":" TEXT
               ",\"n1-sliced-5c3d-3\":" TEXT
               ",\"n1-sliced-77-2\":null,\"sliced-78-2\":null,\"gone-sliced-79-2\":null}"));
    const char *node = sent(scene, "PATCH", NODE_PATH);
    assert_null(strstr(node, "\"labels\""));
    assert_non_null(strstr(node, "\"sliced.dev/cut-before\":\"n1-17\""));
    assert_non_null(strstr(node, "\"sliced.dev/cut\":\"sliced-5c3d-1\""));
    assert_non_null(strstr(node, "\"sliced.dev/cut-devices\":\"[{\\\"index\\\":0,"));
}

#define BEGUN NODE(SHARED LABEL("n1-17"), STATUS MARK("sliced-5c3d-1"), OFFERS)

TEST_ON(struct scene *scene, the_label_follows_with_the_next_attempt)
{
    begin_mps(scene, BEGUN);
    scene->run.announces = false;
    (void)snprintf(scene->run.name, sizeof(scene->run.name), "sliced-5c3d-2");
    add(&scene->rig, "GET", NOS_MAP_PATH, 200,
        MAP(",\"data\":{\"n1-sliced-5c3d-1\":" TEXT ",\"n1-sliced-5c3d-2\":" TEXT
            ",\"n1-sliced-5c3d-3\":" TEXT "}"));
    add(&scene->rig, "GET", NODE_PATH, 200, BEGUN);
    add(&scene->rig, "PATCH", NODE_PATH, 200, "{}");
    assert_int_equal(whole(scene), SL_CUT_WRITTEN);
    assert_int_equal(count(scene, "PATCH", NOS_MAP_PATH), 0);
    const char *node = sent(scene, "PATCH", NODE_PATH);
    assert_non_null(
        strstr(node, "\"labels\":{\"nvidia.com/device-plugin.config\":\"n1-sliced-5c3d-2\"}"));
    assert_non_null(strstr(node, "\"sliced.dev/cut\":\"sliced-5c3d-2\""));
    assert_null(strstr(node, "cut-devices"));
}

TEST_ON(struct scene *scene, what_is_in_use_by_now_is_not_taken_away)
{
    begin_mps(scene, NODE(SHARED LABEL("n1-17"), STATUS, OFFERS));
    add(&scene->rig, "GET", NOS_MAP_PATH, 404, SAYS("NotFound", "404"));
    add(&scene->rig, "POST", "/api/v1/namespaces/nebuly-nvidia/configmaps", 201, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200,
        NODE(SHARED LABEL("n1-17"), "\"nos.nebuly.com/status-gpu-1-80gb-used\":\"1\"", OFFERS));
    assert_int_equal(whole(scene), SL_CUT_WRITE_MOOT);
    assert_string_equal(scene->outcome.text, "it would take away instances in use: "
                                             "nos.nebuly.com/status-gpu-1-80gb-used is 1");
}

TEST_ON(struct scene *scene, a_label_that_somebody_has_set_stays)
{
    begin_mps(scene, NODE(SHARED LABEL("n1-17"), STATUS, OFFERS));
    add(&scene->rig, "GET", NOS_MAP_PATH, 200, MAP(""));
    add(&scene->rig, "PATCH", NOS_MAP_PATH, 200, "{}");
    add(&scene->rig, "GET", NODE_PATH, 200, NODE(SHARED LABEL("n1-18"), STATUS, OFFERS));
    assert_int_equal(whole(scene), SL_CUT_WRITE_MOOT);
    assert_string_equal(scene->outcome.text,
                        "somebody has set nvidia.com/device-plugin.config to \"n1-18\"");
}

TEST_ON(struct scene *scene, what_the_plugin_could_not_read_is_not_written)
{
    begin_mps(scene, NODE(SHARED, STATUS, OFFERS));
    scene->run.cut[0].n_sizes = 0;
    assert_int_equal(whole(scene), SL_CUT_WRITE_MOOT);
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

/* Or the plugin would carry it out when it comes to it, with slices gone that pods have by then. */
TEST_ALONE(an_order_that_is_given_up_is_taken_back)
{
    static const struct {
        const char *node;
        enum sl_cut_outcome outcome;
        const char *labels; /* NULL: they stay */
        bool taken;
        bool moved;
    } cases[] = {
        {NODE(SHARED LABEL("n1-sliced-5c3d-2"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"n1-17\"", OFFERS),
         SL_CUT_SILENT, "\"labels\":{\"nvidia.com/device-plugin.config\":\"n1-17\"}", false, false},
        {NODE(SHARED LABEL("n1-sliced-5c3d-2"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"\"", OFFERS),
         SL_CUT_SILENT, "\"labels\":{\"nvidia.com/device-plugin.config\":null}", false, false},
        {NODE(SHARED LABEL("n1-sliced-5c3d-2"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"n1-17\"", OFFERS),
         SL_CUT_DONE, NULL, false, false},
        {NODE(SHARED LABEL("n1-18"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"n1-17\"", OFFERS),
         SL_CUT_LEFT, NULL, false, false},
        {NODE(SHARED LABEL("n1-sliced-5c3d-2"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"n1-17\"", OFFERS),
         SL_CUT_NOT_FOLLOWED, NULL, true, true}, /* pods may have its slices by now */
        {NODE(SHARED LABEL("n1-sliced-5c3d-2"),
              STATUS MARK("sliced-5c3d-2") ",\"sliced.dev/cut-before\":\"n1-17\"", OFFERS),
         SL_CUT_SILENT, "\"labels\":{\"nvidia.com/device-plugin.config\":\"n1-17\"}", true,
         false}, /* pods that came have slices of before */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin_mps(&scene, cases[i].node);
        scene.write.step = SL_CUT_FINISH;
        scene.run.outcome = cases[i].outcome;
        scene.run.taken = cases[i].taken;
        scene.run.moved = cases[i].moved;
        add(&scene.rig, "GET", NODE_PATH, 200, cases[i].node);
        add(&scene.rig, "PATCH", NODE_PATH, 200, "{}");
        assert_int_equal(whole(&scene), SL_CUT_WRITTEN);
        const char *sent_text = sent(&scene, "PATCH", NODE_PATH);
        if (cases[i].labels != NULL) {
            assert_non_null(strstr(sent_text, cases[i].labels));
        } else {
            assert_null(strstr(sent_text, "\"labels\""));
        }
        assert_non_null(strstr(sent_text, "\"sliced.dev/cut\":null"));
        assert_non_null(strstr(sent_text, "\"sliced.dev/cut-devices\":null"));
        assert_non_null(strstr(sent_text, "\"sliced.dev/cut-before\":null"));
        end(&scene);
    }
}
