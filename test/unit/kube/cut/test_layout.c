/* What a node's devices hold after a cut, as agents and the annotation sliced.dev/devices say it.
 */
#include "cut_rig.h"

#include "kube/cut/layout.h"

#define DEVICES                                                                                    \
    "\"sliced.dev/devices\":\"[{\\\"index\\\":0,\\\"uuid\\\":\\\"GPU-a\\\",\\\"product\\\":"       \
    "\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"memory\\\":81920,\\\"healthy\\\":false,\\\"instances\\\":"  \
    "[{\\\"profile\\\":\\\"3g.40gb\\\",\\\"start\\\":4},{\\\"profile\\\":\\\"1g.10gb\\\"}]},"      \
    "{\\\"index\\\":3,\\\"product\\\":\\\"NVIDIA-A100-SXM4-80GB\\\",\\\"mig\\\":false}]\""
#define TOLD                                                                                       \
    NODE(A100(""), DEVICES,                                                                        \
         "\"nvidia.com/mig-3g.40gb\":\"1\",\"nvidia.com/mig-1g.10gb\":\"1\",\"nvidia.com/gpu\":"   \
         "\"1\"")

struct devices {
    struct sl_cut_device device[SL_NODE_DEVICES_MAX];
    size_t n;
};

static void list(const struct sl_node *node, const struct sl_cut *cut, size_t n,
                 struct devices *out)
{
    struct sl_error err = {.message = ""};
    int count = sl_cut_devices(node, cut, n, out->device, &err);
    if (count < 0) {
        fail_msg("%s", err.message);
    }
    out->n = (size_t)count;
}

static void assert_devices(const struct sl_node *node, const struct sl_cut *cut, size_t n,
                           const char *expected)
{
    struct devices devices;
    struct sl_buf text;
    struct sl_writer w = {.buf = &text};
    sl_buf_init(&text, 1 << 16);
    list(node, cut, n, &devices);
    sl_cut_write_devices(node, devices.device, devices.n, false, &w);
    sl_buf_putc(&text, '\0');
    assert_string_equal(text.data, expected);
    sl_buf_free(&text);
}

TEST_THAT(a_device_that_stays_is_told_as_it_is)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    const struct sl_cut cut = cut_of(node, 3, "4g.40gb 3g.40gb");
    assert_devices(node, &cut, 1,
                   "[{\"index\":0,\"uuid\":\"GPU-a\",\"product\":\"NVIDIA-A100-SXM4-80GB\","
                   "\"memory\":81920,\"healthy\":false,\"mig\":true,\"instances\":"
                   "[{\"profile\":\"1g.10gb\"},{\"profile\":\"3g.40gb\",\"start\":4}]},"
                   "{\"index\":3,\"product\":\"NVIDIA-A100-SXM4-80GB\",\"memory\":81920,\"mig\":"
                   "true,\"instances\":[{\"profile\":\"4g.40gb\"},{\"profile\":\"3g.40gb\"}]}]");
    sl_node_unref(node);
}

TEST_THAT(a_device_without_mig_has_no_instances)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    const struct sl_cut cut = cut_of(node, 0, "whole");
    assert_devices(node, &cut, 1,
                   "[{\"index\":0,\"uuid\":\"GPU-a\",\"product\":\"NVIDIA-A100-SXM4-80GB\","
                   "\"memory\":81920,\"healthy\":false,\"mig\":false},"
                   "{\"index\":3,\"product\":\"NVIDIA-A100-SXM4-80GB\",\"memory\":81920,\"mig\":"
                   "false}]");
    sl_node_unref(node);
}

/* Its devices are not told apart: the cut of all of them says which there are. */
TEST_THAT(a_node_of_unknown_layout_gets_the_devices_of_the_cut)
{
    struct sl_node *node =
        node_of(NODE(A100(",\"nvidia.com/gpu.count\":\"2\",\"nvidia.com/mig.strategy\":\"mixed\""),
                     "", "\"nvidia.com/mig-3g.40gb\":\"1\",\"nvidia.com/mig-1g.10gb\":\"5\""),
                SL_ACTUATOR_MIG_MANAGER);
    const struct sl_cut cut[] = {cut_of(node, 0, "7g.80gb"), cut_of(node, 1, "")};
    assert_int_equal(node->n_devices, 0);
    assert_devices(
        node, cut, 2,
        "[{\"index\":0,\"product\":\"NVIDIA-A100-SXM4-80GB\",\"mig\":true,\"instances\":"
        "[{\"profile\":\"7g.80gb\"}]},{\"index\":1,\"product\":\"NVIDIA-A100-SXM4-80GB\","
        "\"mig\":true,\"instances\":[]}]");
    sl_node_unref(node);
}

/* A mark on a device (gpushare's list of unhealthy GPUs) is not the node's own word. */
TEST_THAT(a_mark_by_others_is_not_written)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    const int16_t index = 3;
    struct sl_node *marked = sl_node_marked(node, &index, 1);
    assert_false(marked->device[1].healthy);
    assert_devices(marked, NULL, 0,
                   "[{\"index\":0,\"uuid\":\"GPU-a\",\"product\":\"NVIDIA-A100-SXM4-80GB\","
                   "\"memory\":81920,\"healthy\":false,\"mig\":true,\"instances\":"
                   "[{\"profile\":\"1g.10gb\"},{\"profile\":\"3g.40gb\",\"start\":4}]},"
                   "{\"index\":3,\"product\":\"NVIDIA-A100-SXM4-80GB\",\"memory\":81920,\"mig\":"
                   "false}]");
    sl_node_unref(marked);
    sl_node_unref(node);
}

/* As the watch reads the annotation: the node made of it has the devices and instances of the cut.
 */
TEST_THAT(our_own_decoder_reads_it_back)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    const struct sl_cut cut = cut_of(node, 3, "4g.40gb 3g.40gb");
    struct devices devices;
    struct sl_buf text;
    struct sl_buf json;
    struct sl_writer w = {.buf = &text};
    sl_buf_init(&text, 1 << 16);
    sl_buf_init(&json, 1 << 16);
    list(node, &cut, 1, &devices);
    sl_cut_write_devices(node, devices.device, devices.n, false, &w);
    w = (struct sl_writer){.buf = &json};
    sl_buf_puts(&json, "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\","
                       "\"labels\":{" A100("") "},\"annotations\":{\"sliced.dev/devices\":");
    sl_write_str(&w, (struct sl_str){text.data, text.len});
    sl_buf_puts(&json, "}},\"status\":{\"allocatable\":{\"nvidia.com/mig-3g.40gb\":\"2\","
                       "\"nvidia.com/mig-1g.10gb\":\"1\",\"nvidia.com/mig-4g.40gb\":\"1\"}}}");
    sl_buf_putc(&json, '\0');

    struct sl_node *read = node_of(json.data, SL_ACTUATOR_MIG_MANAGER);

    assert_null(read->problem);
    assert_int_equal(read->layout, SL_LAYOUT_ANNOTATED);
    assert_int_equal(read->n_devices, 2);
    assert_string_equal(read->device[0].uuid, "GPU-a");
    assert_false(read->device[0].healthy);
    assert_int_equal(read->device[1].index, 3);
    assert_true(read->device[1].mig && read->device[1].healthy);
    assert_int_equal(read->n_instances, 4);
    assert_int_equal(read->instance[1].start, 4);
    assert_false(read->instance[1].guessed);
    assert_true(read->instance[2].guessed && read->instance[3].guessed);
    sl_node_unref(read);
    sl_node_unref(node);
    sl_buf_free(&text);
    sl_buf_free(&json);
}

static void assert_groups(const struct sl_node *node, const char *cut_text, const char *expected)
{
    const struct sl_cut cut = cut_of(node, 0, cut_text);
    struct devices devices;
    struct sl_cut_group group[SL_MIG_INSTANCES_MAX];
    char text[SL_MIG_INSTANCES_MAX * (SL_CUT_PROFILE_MAX + 16)] = "";
    list(node, &cut, 1, &devices);
    size_t n = sl_cut_groups(node, &devices.device[0], group);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%u %.*s;", group[i].n,
                       (int)sizeof(group[i].profile), group[i].profile);
    }
    assert_string_equal(text, expected);
}

TEST_THAT(instances_are_counted_by_profile)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    assert_groups(node, "1g.10gb 3g.40gb 1g.10gb 1g.10gb+me", "2 1g.10gb;1 3g.40gb;1 1g.10gb+me;");
    assert_groups(node, "", "");
    sl_node_unref(node);
}

/* The driver of a board may round the memory otherwise, and agents take its names only. */
TEST_THAT(profiles_have_the_names_of_the_nodes_driver)
{
    struct sl_node *node =
        node_of(NODE(A100(",\"nvidia.com/gpu.count\":\"1\",\"nvidia.com/mig.strategy\":\"mixed\""),
                     "", "\"nvidia.com/mig-3g.39gb\":\"1\",\"nvidia.com/mig-1g.9gb.me\":\"1\""),
                SL_ACTUATOR_MIG_MANAGER);
    assert_groups(node, "3g.40gb 1g.10gb+me 1g.10gb", "1 3g.39gb;1 1g.9gb+me;1 1g.10gb;");
    sl_node_unref(node);
}

TEST_THAT(cuts_that_no_device_can_have_are_refused)
{
    struct sl_node *node = node_of(TOLD, SL_ACTUATOR_MIG_MANAGER);
    struct sl_node *unknown =
        node_of(NODE("\"nvidia.com/gpu.product\":\"NVIDIA-Z9\"", "", "\"nvidia.com/gpu\":\"1\""),
                SL_ACTUATOR_MIG_MANAGER);
    struct sl_node *strange = node_of(
        NODE(A100(""),
             "\"sliced.dev/devices\":\"[{\\\"index\\\":0,\\\"instances\\\":[{\\\"profile\\\":"
             "\\\"6g.60gb\\\"}]}]\"",
             "\"nvidia.com/mig-6g.60gb\":\"1\""),
        SL_ACTUATOR_MIG_MANAGER);
    struct sl_node *doubtful = node_of(
        NODE(A100(""), DEVICES,
             "\"nvidia.com/mig-3g.40gb\":\"2\",\"nvidia.com/mig-1g.10gb\":\"1\",\"nvidia.com/gpu\":"
             "\"1\""),
        SL_ACTUATOR_MIG_MANAGER);
    struct sl_cut_device out[SL_NODE_DEVICES_MAX];
    struct sl_cut cut = cut_of(node, 0, "7g.80gb");
    struct sl_error err;
    assert_int_equal(sl_cut_devices(unknown, &cut, 1, out, &err), -1);
    assert_string_equal(err.message, "GPU 0 cannot be cut as planned: its model is not known");
    cut.instance[0].profile = SL_MIG_PROFILES_MAX;
    assert_int_equal(sl_cut_devices(node, &cut, 1, out, &err), -1);
    assert_string_equal(err.message, "GPU 0 cannot be cut as planned: no such profiles");
    cut = cut_of(node, 0, "7g.80gb");
    cut.whole = true;
    assert_int_equal(sl_cut_devices(node, &cut, 1, out, &err), -1);
    assert_int_equal(sl_cut_devices(strange, NULL, 0, out, &err), -1);
    assert_string_equal(err.message, "GPU 0 has an instance of an unknown profile");
    assert_int_equal(sl_cut_devices(doubtful, NULL, 0, out, &err), -1);
    assert_string_equal(err.message, "it is not known which GPU has its nvidia.com/mig-3g.40gb");
    sl_node_unref(node);
    sl_node_unref(unknown);
    sl_node_unref(strange);
    sl_node_unref(doubtful);
}
