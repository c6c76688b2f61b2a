/* The node annotation sliced.dev/devices. */
#include "codec/object/parts.h"
#include "sliced/mig.h"
#include "sliced/node.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static void assert_devices(const char *text, const char *expected)
{
    struct sl_node_facts node = {0};
    struct sl_error err = {0};
    struct sl_arena arena;
    struct sl_buf out;
    sl_arena_init(&arena, 1 << 20);
    sl_buf_init(&out, 1 << 20);
    int result = sl_devices_decode(sl_str_of(text), &arena, &node.devices, &node.problem, &err);
    assert_int_equal(result, 0);
    if (node.problem.len > 0) {
        assert_null(node.devices);
    }
    describe_devices(&out, node.devices);
    sl_buf_puts(&out, node.problem.len > 0 ? node.problem.s : "");
    sl_buf_putc(&out, '\0');
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
    sl_arena_free(&arena);
}

static void assert_problem(const char *text, const char *expected)
{
    char whole[512];
    (void)snprintf(whole, sizeof(whole), "annotation sliced.dev/devices: %s", expected);
    assert_devices(text, whole);
}

TEST_THAT(all_that_it_can_say_is_read)
{
    assert_devices("[{\"index\":0,\"uuid\":\"GPU-5c\",\"product\":\"NVIDIA-A30\",\"memory\":24576,"
                   "\"healthy\":true,\"mig\":true,\"instances\":[{\"profile\":\"1g.6gb\","
                   "\"start\":0},{\"profile\":\"1g.6gb+me\",\"start\":3}]},"
                   "{\"index\":1,\"healthy\":false,\"memory\":\"40Gi\"}]",
                   "  device 0 uuid=GPU-5c product=NVIDIA-A30 memory=24576 mig\n"
                   "    instance 1g.6gb at 0\n"
                   "    instance 1g.6gb+me at 3\n"
                   "  device 1 memory=40960 unhealthy\n");
}

/* What it names, somebody knows. */
TEST_THAT(a_gpu_that_names_no_instances_may_be_unsure)
{
    assert_devices("[{\"index\":0,\"mig\":true,\"unsure\":true},{\"index\":1,\"unsure\":true,"
                   "\"instances\":[{\"profile\":\"1g.6gb\"}]}]",
                   "  device 0 unsure mig\n  device 1 mig\n    instance 1g.6gb at -1\n");
    assert_problem("[{\"index\":0,\"unsure\":\"yes\"}]",
                   "[0].unsure: expected a boolean, found a string (line 1, column 22)");
}

TEST_THAT(only_the_index_is_required)
{
    assert_devices("[]", "");
    assert_devices("[{\"index\":3}]", "  device 3\n");
    assert_devices(
        "[{\"index\":3,\"uuid\":null,\"memory\":null,\"serial\":[1],\"instances\":null}]",
        "  device 3\n");
}

TEST_THAT(instances_imply_mig_mode_and_may_have_no_start)
{
    assert_devices("[{\"index\":0,\"instances\":[{\"profile\":\"2g.12gb\"}]}]",
                   "  device 0 mig\n    instance 2g.12gb at -1\n");
    assert_devices("[{\"index\":0,\"instances\":[]}]", "  device 0\n");
    assert_devices("[{\"index\":0,\"mig\":true}]", "  device 0 mig\n");
}

TEST_THAT(memory_is_mib_as_a_number_and_bytes_as_a_quantity)
{
    assert_devices("[{\"index\":0,\"memory\":1}]", "  device 0 memory=1\n");
    assert_devices("[{\"index\":0,\"memory\":\"24G\"}]", "  device 0 memory=22888\n");
    assert_devices("[{\"index\":0,\"memory\":\"1Mi\"}]", "  device 0 memory=1\n");
    assert_problem("[{\"index\":0,\"memory\":\"24576\"}]",
                   "[0].memory: expected a quantity of at least 1Mi (or a number: MiB), found "
                   "\"24576\" (line 1, column 22)");
    assert_problem("[{\"index\":0,\"memory\":\"lots\"}]",
                   "[0].memory: expected a quantity of at least 1Mi (or a number: MiB), found "
                   "\"lots\" (line 1, column 22)");
    assert_problem("[{\"index\":0,\"memory\":0}]",
                   "[0].memory: expected MiB as a whole number above 0, found 0 (line 1, column "
                   "22)");
    assert_problem("[{\"index\":0,\"memory\":1.5}]",
                   "[0].memory: expected MiB as a whole number above 0, found 1.5 (line 1, column "
                   "22)");
}

TEST_THAT(what_is_wrong_is_said_with_its_place)
{
    assert_problem("", "expected a value, found the end of the text (line 1, column 1)");
    assert_problem("{}", "expected an array of objects, found an object (line 1, column 1)");
    assert_problem("[1]", "[0]: expected an object, found a number (line 1, column 2)");
    assert_problem("[{\"index\":0},{\"uuid\":\"x\"}]", "[1].index: is missing (line 1, column 25)");
    assert_problem("[{\"index\":-5}]", "[0]: index is -5, expected 0 to 32767 (line 1, column 13)");
    assert_problem("[{\"index\":40000}]",
                   "[0]: index is 40000, expected 0 to 32767 (line 1, column 16)");
    assert_problem("[{\"index\":1},\n{\"index\":1}]",
                   "[1]: a second device with index 1 (line 2, column 11)");
    assert_problem("[{\"index\":1,\"index\":1}]", "[0].index: is given twice (line 1, column 13)");
    assert_problem("[{\"index\":1,\"mig\":1}]",
                   "[0].mig: expected a boolean, found a number (line 1, column 19)");
    assert_problem("[{\"index\":1,\"instances\":[{\"start\":0}]}]",
                   "[0].instances[0].profile: is missing (line 1, column 36)");
    assert_problem("[{\"index\":1,\"instances\":[{\"profile\":\"1g.5gb\",\"start\":128}]}]",
                   "[0].instances[0]: start is 128, expected 0 to 127 (line 1, column 57)");
    assert_problem("[{\"index\":1}", "[1]: expected ',' or ']', found the end of the text (line 1, "
                                     "column 13)");
    assert_problem("[{\"index\":1}]]", "expected the end of the text after its value, found ']' "
                                       "(line 1, column 14)");
    assert_problem("[{\"index\":1,\"x\":[[[[[[[[[[[[[[[[[",
                   "[0]: nested deeper than 16 levels (line 1, column 31)");
}

/* n elements, each text. */
static void write_many(struct sl_buf *out, const char *before, const char *format, int n,
                       const char *after)
{
    sl_buf_puts(out, before);
    for (int i = 0; i < n; i++) {
        sl_buf_puts(out, i > 0 ? "," : "");
        sl_buf_puts(out, format);
        sl_buf_i64(out, i);
        sl_buf_putc(out, '}');
    }
    sl_buf_puts(out, after);
    sl_buf_putc(out, '\0');
}

static void assert_problem_or_none(const char *text, const char *problem)
{
    struct sl_node_facts node = {0};
    struct sl_error err = {0};
    struct sl_arena arena;
    sl_arena_init(&arena, 1 << 20);
    assert_int_equal(sl_devices_decode(sl_str_of(text), &arena, &node.devices, &node.problem, &err),
                     0);
    if (problem == NULL) {
        assert_int_equal(node.problem.len, 0);
        assert_non_null(node.devices);
    } else {
        assert_non_null(strstr(node.problem.s, problem));
        assert_null(node.devices);
    }
    sl_arena_free(&arena);
}

TEST_THAT(there_are_ceilings_of_devices_and_instances)
{
    static const char *const device = "{\"index\":";
    static const char *const instance = "{\"profile\":\"1g.5gb\",\"start\":";
    struct sl_buf text;
    sl_buf_init(&text, 1 << 16);
    write_many(&text, "[", device, SL_NODE_DEVICES_MAX, "]");
    assert_problem_or_none(text.data, NULL);
    text.len = 0;
    write_many(&text, "[", device, SL_NODE_DEVICES_MAX + 1, "]");
    assert_problem_or_none(text.data, "[64]: more than 64 of them");
    text.len = 0;
    write_many(&text, "[{\"index\":0,\"instances\":[", instance, SL_MIG_INSTANCES_MAX, "]}]");
    assert_problem_or_none(text.data, NULL);
    text.len = 0;
    write_many(&text, "[{\"index\":0,\"instances\":[", instance, SL_MIG_INSTANCES_MAX + 1, "]}]");
    assert_problem_or_none(text.data, "[0].instances[8]: more than 8 of them");
    sl_buf_free(&text);
}

TEST_THAT(a_full_arena_is_an_error_and_no_problem_of_the_node)
{
    struct sl_node_facts node = {0};
    struct sl_error err = {0};
    struct sl_arena arena;
    char text[1000];
    char uuid[901];
    memset(uuid, 'u', sizeof(uuid) - 1);
    uuid[sizeof(uuid) - 1] = '\0';
    int n = snprintf(text, sizeof(text), "[{\"index\":0},{\"index\":1,\"uuid\":\"%s\"}]", uuid);
    /* no second device; and no UUID, though a problem's text would find room */
    static const size_t sizes[] = {120, 900};
    for (size_t i = 0; i < 2; i++) {
        err.code = SL_ERR_NONE;
        sl_arena_init(&arena, sizes[i]);
        assert_int_equal(sl_devices_decode((struct sl_str){text, (size_t)n}, &arena, &node.devices,
                                           &node.problem, &err),
                         -1);
        assert_int_equal(err.code, SL_ERR_LIMIT);
        assert_int_equal(node.problem.len, 0);
        sl_arena_free(&arena);
    }
}
