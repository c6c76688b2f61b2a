/* Manifests: what kubectl prints and people write. */
#include "codec/object.h"
#include "unit/codec/describe.h"

#include "unit/test.h"

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 20, .max_string = 1 << 12, .max_depth = 24};

static void assert_decodes(const char *text, const char *expected)
{
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    describe_manifest(&out, &limits, text, strlen(text));
    assert_string_equal(out.data, expected);
    sl_buf_free(&out);
}

/* ---- shapes ---- */

TEST_THAT(one_object_is_a_manifest)
{
    assert_decodes("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}",
                   "Node name=n\n");
    assert_decodes("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n", "Pod name=p\n");
    assert_decodes(" \n\t{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"p\"}}\n",
                   "Pod name=p\n");
}

TEST_THAT(a_list_of_kubectl_has_its_kind_before_or_after_its_items)
{
    static const char *const result = "Node name=n\nPod name=p node=n\n";
    assert_decodes("{\"apiVersion\":\"v1\",\"items\":["
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}},"
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
                   "\"spec\":{\"nodeName\":\"n\"}}],"
                   "\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"\"}}",
                   result);
    assert_decodes("apiVersion: v1\n"
                   "items:\n"
                   "- apiVersion: v1\n"
                   "  kind: Node\n"
                   "  metadata:\n"
                   "    name: n\n"
                   "- apiVersion: v1\n"
                   "  kind: Pod\n"
                   "  metadata:\n"
                   "    name: p\n"
                   "  spec:\n"
                   "    nodeName: n\n"
                   "kind: List\n"
                   "metadata:\n"
                   "  resourceVersion: \"\"\n",
                   result);
    assert_decodes("kind: List\napiVersion: v1\nmetadata: {labels: 5}\nitems:\n"
                   "- {kind: Node, apiVersion: v1, metadata: {name: n}}\n"
                   "- {kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {nodeName: n}}\n",
                   result);
}

TEST_THAT(items_of_typed_lists_need_not_say_what_they_are)
{
    assert_decodes("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":\"\"},"
                   "\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"b\"}}]}",
                   "Node name=a\nNode name=b\n");
    assert_decodes("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":["
                   "{\"metadata\":{\"name\":\"a\"}},"
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"b\"}}]}",
                   "Pod name=a\nPod name=b\n");
    assert_decodes("{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[{\"data\":{}}]}",
                   "Other ConfigMap\n");
}

TEST_THAT(a_list_may_be_empty)
{
    assert_decodes("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}", "");
    assert_decodes("apiVersion: v1\nitems: []\nkind: List\n", "");
    assert_decodes("apiVersion: v1\nkind: PodList\nitems: null\n", "");
    assert_decodes("apiVersion: v1\nkind: NodeList\n", "");
}

TEST_THAT(documents_come_one_after_another)
{
    assert_decodes("---\n"
                   "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
                   "---\n"
                   "# nothing here\n"
                   "---\n"
                   "apiVersion: v1\nkind: List\nitems:\n"
                   "- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n"
                   "---\n"
                   "apiVersion: v1\nkind: Pod\nmetadata: {name: q}\n"
                   "...\n",
                   "Node name=n\nPod name=p\nPod name=q\n");
}

TEST_THAT(a_text_without_documents_has_no_objects)
{
    assert_decodes("", "");
    assert_decodes("# only a comment\n", "");
    assert_decodes("---\n", "");
}

TEST_THAT(a_device_class_tells_its_extended_resource)
{
    assert_decodes("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
                   "spec: {extendedResourceName: nvidia.com/gpu, selectors: [{cel: {}}]}\n",
                   "Other DeviceClass offers=nvidia.com/gpu\n");
    assert_decodes("{\"spec\":{\"extendedResourceName\":\"a/b\",\"priority\":\"x\"},\"metadata\":7,"
                   "\"kind\":\"DeviceClass\",\"apiVersion\":\"resource.k8s.io/v1beta2\"}",
                   "Other DeviceClass offers=a/b\n");
    assert_decodes("{\"apiVersion\":\"v1\",\"kind\":\"DeviceClass\","
                   "\"spec\":{\"extendedResourceName\":\"a/b\"}}",
                   "Other DeviceClass\n");
    assert_decodes("{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
                   "\"spec\":{\"extendedResourceName\":[7]}}",
                   "Other DeviceClass\n");
}

TEST_THAT(a_namespace_tells_its_labels)
{
    assert_decodes(
        "apiVersion: v1\nkind: NamespaceList\nitems:\n- metadata: {name: a, labels: "
        "{team: x, b: c}, annotations: {sliced.dev/d: e}}\n- metadata: {name: b}\n  "
        "status: 7\n",
        "Other Namespace name=a\n  label team =x\n  label b =c\nOther Namespace name=b\n");
    assert_decodes("{\"metadata\":{\"labels\":{\"team\":[7],\"a\":\"b\"},\"name\":\"n\"},"
                   "\"kind\":\"Namespace\",\"apiVersion\":\"v1\"}",
                   "Other Namespace name=n\n  label a =b\n");
    assert_decodes("{\"apiVersion\":\"example.com/v1\",\"kind\":\"Namespace\",\"metadata\":"
                   "{\"name\":\"n\",\"labels\":{\"a\":\"b\"}}}",
                   "Other Namespace\n");
}

TEST_THAT(other_kinds_are_named_and_passed_over)
{
    assert_decodes("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":5,\"spec\":[],"
                   "\"items\":{}}",
                   "Other ConfigMap\n");
    assert_decodes("apiVersion: apps/v1\nkind: Deployment\nspec: {containers: none}\n"
                   "---\n"
                   "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n",
                   "Other Deployment\nPod name=p\n");
    assert_decodes("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
                   "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"spec\":{\"priority\":\"x\"}},"
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}},"
                   "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}]}",
                   "Other Service\nPod name=p\nOther List\n");
    assert_decodes("{\"apiVersion\":\"metrics.k8s.io/v1\",\"kind\":\"FooList\",\"items\":[{}]}",
                   "");
}

TEST_THAT(a_node_or_pod_of_another_api_is_another_kind)
{
    assert_decodes("apiVersion: example.com/v1\nkind: Node\nspec: []\n", "Other Node\n");
    assert_decodes("apiVersion: v1beta1\nkind: Pod\nmetadata: {name: p}\n", "Other Pod\n");
}

/* ---- kind after what it describes ---- */

TEST_THAT(the_kind_may_come_last)
{
    assert_decodes("{\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"1\"}},\"spec\":"
                   "{\"unschedulable\":true},\"metadata\":{\"name\":\"n\"},\"apiVersion\":\"v1\","
                   "\"kind\":\"Node\"}",
                   "Node name=n unschedulable\n  allocatable nvidia.com/gpu =1\n");
    assert_decodes("spec: {nodeName: n}\nstatus: {phase: Running}\nmetadata: {name: p}\n"
                   "kind: Pod\napiVersion: v1\n",
                   "Pod name=p node=n phase=Running\n");
}

TEST_THAT(faults_count_once_the_kind_is_known_to_matter)
{
    assert_decodes("spec:\n  priority: high\nmetadata: {name: p}\nkind: Pod\napiVersion: v1\n",
                   "WrongType spec.priority: expected an integer, found a string (2:13)\n");
    assert_decodes("spec:\n  priority: high\nmetadata: {name: p}\nkind: Job\napiVersion: v1\n",
                   "Other Job\n");
    assert_decodes("spec:\n  priority: high\nkind: Pod\napiVersion: apps/v1\n", "Other Pod\n");
    assert_decodes("items: {}\nkind: List\napiVersion: v1\n",
                   "WrongType items: expected an array of objects, found an object (1:8)\n");
    assert_decodes("items: {}\nkind: Box\napiVersion: v1\n", "Other Box\n");
}

TEST_THAT(an_objects_faults_do_not_reach_the_next_one)
{
    assert_decodes("- 1\n", "WrongType expected an object, found an array (1:1)\n");
    assert_decodes(
        "spec: []\nkind: Job\napiVersion: v1\n---\nspec: {nodeName: a}\n"
        "metadata: {name: p, labels: {sliced.dev/a: b}}\nkind: Pod\napiVersion: v1\n---\n"
        "kind: Pod\napiVersion: v1\nmetadata: {name: q}\n",
        "Other Job\nPod name=p node=a\n  label sliced.dev/a =b\nPod name=q\n");
    assert_decodes("apiVersion: v1\nitems:\n- {spec: [], kind: Job, apiVersion: v1}\n"
                   "- {metadata: {name: p}, kind: Pod, apiVersion: v1}\nkind: List\n",
                   "Other Job\nPod name=p\n");
}

/* ---- faults ---- */

TEST_THAT(an_object_must_say_what_it_is)
{
    assert_decodes("{}", "BadField kind: is missing (1:1)\n");
    assert_decodes("\n\nmetadata: {name: p}\n", "BadField kind: is missing (3:1)\n");
    assert_decodes("kind: Pod\nmetadata: {name: p}\n", "BadField apiVersion: is missing (1:1)\n");
    assert_decodes("apiVersion: v1\nkind: List\nitems:\n- metadata: {name: p}\n",
                   "BadField items[0].kind: is missing (4:3)\n");
    assert_decodes("apiVersion: v1\nitems:\n- metadata: {name: p}\nkind: PodList\n",
                   "BadField items[0].kind: is missing (3:3)\n");
    assert_decodes("kind: 5\n", "WrongType kind: expected a string, found a number (1:7)\n");
    assert_decodes("kind: ''\n", "BadField kind: expected 1 to 63 bytes, found 0 (1:7)\n");
}

TEST_THAT(a_fault_in_a_list_has_the_items_number_and_its_line)
{
    assert_decodes("apiVersion: v1\n"
                   "items:\n"
                   "- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
                   "- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n"
                   "- {apiVersion: v1, kind: Service, metadata: 5}\n"
                   "- apiVersion: v1\n"
                   "  kind: Pod\n"
                   "  metadata:\n"
                   "    name: c\n"
                   "  spec:\n"
                   "    containers:\n"
                   "    - name: work\n"
                   "      resources:\n"
                   "        limits:\n"
                   "          nvidia.com/gpu: [1]\n"
                   "kind: List\n",
                   "Pod name=a\nPod name=b\nOther Service\n"
                   "WrongType items[3].spec.containers[0].resources.limits[nvidia.com/gpu]: "
                   "expected a quantity (a string or a number), found an array (15:27)\n");
    assert_decodes("apiVersion: v1\nkind: List\nitems:\n- 5\n",
                   "WrongType items[0]: expected an object, found a number (4:3)\n");
    assert_decodes("items: []\napiVersion: v1\nkind: 5\n",
                   "WrongType kind: expected a string, found a number (3:7)\n");
    assert_decodes("items: []\nmetadata: {labels: 5}\napiVersion: v1\nspec: []\n",
                   "WrongType spec: expected an object, found an array (4:7)\n");
    assert_decodes("apiVersion: v1\nkind: List\nitems: []\nitems: []\n",
                   "BadField items: is given twice (4:1)\n");
}

TEST_THAT(broken_text_is_an_error_with_its_place)
{
    static const struct {
        const char *text;
        const char *field;
        unsigned line;
    } cases[] = {
        {"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n"
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}},\n"
         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"\xff\"}}]}",
         "items[1].metadata.name", 3},
        {"{\"metadata\":{\"labels\":\n{\"x\":\"\\q\"}}}", "metadata.labels[x]", 2},
        {"{\"spec\":{\"x\":[1,}}", "spec", 1},
        {"kind: Pod\nmetadata:\n\tname: p\n", "metadata", 3},
        {"kind: Pod\nmetadata: \"p\n", "metadata", 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sl_error err = {0};
        struct sl_buf out;
        sl_buf_init(&out, 1 << 16);
        assert_int_equal(sl_manifest_decode(cases[i].text, strlen(cases[i].text), &limits,
                                            describe_object, &out, &err),
                         -1);
        assert_int_equal(err.code, SL_ERR_SYNTAX);
        assert_string_equal(err.field, cases[i].field);
        assert_int_equal(err.line, cases[i].line);
        sl_buf_free(&out);
    }
}

TEST_THAT(every_text_that_was_cut_short_is_refused)
{
    const char *text = "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\","
                       "\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{\"priority\":12,"
                       "\"x\":\"\\u00e9\",\"y\":[true]}}]}";
    struct sl_buf out;
    sl_buf_init(&out, 1 << 20);
    for (size_t len = 1; len < strlen(text); len++) {
        describe_manifest(&out, &limits, text, len);
        const char *error = strstr(out.data, "Syntax ");
        assert_non_null(error);
        assert_non_null(strstr(error, "found the end of the text"));
    }
    sl_buf_free(&out);
}

TEST_THAT(nesting_length_and_strings_have_ceilings)
{
    struct sl_buf text;
    struct sl_buf out;
    sl_buf_init(&text, 4 << 20);
    sl_buf_init(&out, 1 << 20);
    sl_buf_puts(&text, "{\"kind\":\"Pod\",\"x\":");
    for (int i = 0; i < 1000; i++) {
        sl_buf_putc(&text, '[');
    }
    describe_manifest(&out, &limits, text.data, text.len);
    assert_string_equal(out.data, "LimitExceeded nested deeper than 24 levels (1:42)\n");
    text.len = 0;
    sl_buf_puts(&text, "{\"metadata\":{\"name\":\"");
    for (int i = 0; i < (1 << 12) + 1; i++) {
        sl_buf_putc(&text, 'x');
    }
    sl_buf_puts(&text, "\"}}");
    describe_manifest(&out, &limits, text.data, text.len);
    assert_non_null(strstr(out.data, "LimitExceeded metadata.name: "));
    text.len = 0;
    sl_buf_puts(&text, "{\"kind\":\"");
    for (int i = 0; i < SL_KIND_NAME_MAX; i++) {
        sl_buf_putc(&text, 'x');
    }
    sl_buf_puts(&text, "\"}");
    describe_manifest(&out, &limits, text.data, text.len);
    assert_string_equal(out.data, "BadField kind: expected 1 to 63 bytes, found 64 (1:9)\n");
    sl_buf_free(&text);
    sl_buf_free(&out);
}

static int count(void *context, const struct sl_object *object, struct sl_error *err)
{
    size_t *bytes = context;
    (void)err;
    *bytes += object->pod->node_name.len;
    return 0;
}

TEST_THAT(a_lists_items_together_may_be_larger_than_one_object_may)
{
    struct sl_text_limits large = limits;
    struct sl_error err = {0};
    struct sl_buf text;
    size_t bytes = 0;
    large.max_bytes = (size_t)4 * SL_OBJECT_BYTES_MAX;
    sl_buf_init(&text, large.max_bytes);
    sl_buf_puts(&text, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[");
    while (text.len < (size_t)2 * SL_OBJECT_BYTES_MAX) {
        sl_buf_printf(&text, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"%04000d\"}},",
                      0);
    }
    sl_buf_puts(&text, "{\"metadata\":{\"name\":\"last\"}}]}");
    assert_int_equal(text.failed, SL_BUF_OK);
    assert_int_equal(sl_manifest_decode(text.data, text.len, &large, count, &bytes, &err), 0);
    assert_true(bytes > SL_OBJECT_BYTES_MAX);
    sl_buf_free(&text);
}

static int refuse(void *context, const struct sl_object *object, struct sl_error *err)
{
    (void)context;
    return object->kind_name.len == 4
               ? 0
               : sl_error_set(err, SL_ERR_CONFLICT, "no room for %s", object->pod->name.s);
}

TEST_THAT(a_receiver_that_refuses_stops_the_reading_with_the_place)
{
    const char *text = "apiVersion: v1\nkind: List\nitems:\n"
                       "- {apiVersion: v1, kind: Node, metadata: {name: n}}\n"
                       "- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n"
                       "- {apiVersion: v1, kind: Pod, metadata: {name: q}}\n";
    struct sl_error err = {0};
    assert_int_equal(sl_manifest_decode(text, strlen(text), &limits, refuse, NULL, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    assert_string_equal(err.message, "no room for p");
    assert_string_equal(err.field, "items[1]");
    assert_int_equal(err.line, 5);
    assert_int_equal(err.column, 3);
}

/* ---- pieces ---- */

TEST_THAT(json_may_come_in_pieces_of_any_size)
{
    const char *text =
        "{\"apiVersion\":\"v1\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"metadata\":{\"name\":\"n\",\"annotations\":{\"sliced.dev/devices\":"
        "\"[{\\\"index\\\":0}]\"}},\"status\":{\"allocatable\":{\"cpu\":\"1\"}}},"
        "{\"spec\":{\"containers\":[{\"name\":\"c\"}]},\"kind\":\"Pod\",\"apiVersion\":\"v1\","
        "\"metadata\":{\"name\":\"p\"}}],\"kind\":\"List\"}";
    for (size_t chunk = 1; chunk <= strlen(text); chunk++) {
        struct sl_buf out;
        struct sl_error err = {0};
        sl_buf_init(&out, 1 << 16);
        struct sl_manifest *manifest = sl_manifest_new(&limits, describe_object, &out);
        assert_non_null(manifest);
        for (size_t at = 0; at < strlen(text); at += chunk) {
            size_t n = strlen(text) - at < chunk ? strlen(text) - at : chunk;
            assert_int_equal(sl_manifest_feed(manifest, text + at, n, &err), 0);
        }
        assert_int_equal(sl_manifest_finish(manifest, &err), 0);
        sl_manifest_free(manifest);
        sl_buf_putc(&out, '\0');
        assert_string_equal(out.data,
                            "Node name=n\n  annotation sliced.dev/devices =[{\"index\":0}]\n"
                            "  allocatable cpu =1\n  device 0\nPod name=p\n  container name=c\n");
        sl_buf_free(&out);
    }
}

TEST_THAT(after_a_failure_every_call_fails_the_same_way)
{
    struct sl_buf out;
    struct sl_error first = {0};
    struct sl_error later = {0};
    sl_buf_init(&out, 1 << 16);
    struct sl_manifest *manifest = sl_manifest_new(&limits, describe_object, &out);
    assert_non_null(manifest);
    assert_int_equal(sl_manifest_feed(manifest, "{\"kind\":", 8, &first), 0);
    assert_int_equal(sl_manifest_feed(manifest, "x", 1, &first), -1);
    assert_int_equal(sl_manifest_feed(manifest, "{}", 2, &later), -1);
    assert_memory_equal(&first, &later, sizeof(first));
    assert_int_equal(sl_manifest_finish(manifest, &later), -1);
    assert_memory_equal(&first, &later, sizeof(first));
    assert_int_equal(sl_manifest_finish(manifest, NULL), -1);
    sl_manifest_free(manifest);
    sl_buf_free(&out);
}

TEST_THAT(nothing_at_all_is_no_json)
{
    struct sl_error err = {0};
    struct sl_manifest *manifest = sl_manifest_new(&limits, describe_object, NULL);
    assert_non_null(manifest);
    assert_int_equal(sl_manifest_finish(manifest, &err), -1);
    assert_int_equal(err.code, SL_ERR_SYNTAX);
    sl_manifest_free(manifest);
    sl_manifest_free(NULL);
}
