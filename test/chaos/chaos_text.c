/* Decoders and the configuration under lack of memory. */
#include "unit/cluster/fixture.h"

#include "chaos/scenario.h"
#include "codec/extender.h"
#include "codec/object.h"
#include "codec/watch.h"
#include "config/config.h"

static const struct sl_text_limits limits = {
    .max_bytes = 1 << 20, .max_string = 1 << 14, .max_depth = 64};

static const char manifest_json[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"gpu-1\",\"labels\":{"
    "\"nvidia.com/gpu.product\":\"NVIDIA-A30\",\"nvidia.com/gpu.count\":\"2\","
    "\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/gpu.memory\":\"24576\"},"
    "\"annotations\":{\"sliced.dev/devices\":\"[{\\\"index\\\":0,\\\"uuid\\\":\\\"GPU-0\\\","
    "\\\"mig\\\":true,\\\"instances\\\":[{\\\"profile\\\":\\\"1g.6gb\\\",\\\"start\\\":0},"
    "{\\\"profile\\\":\\\"1g.6gb\\\",\\\"start\\\":1}]}]\"}},"
    "\"status\":{\"allocatable\":{\"nvidia.com/mig-1g.6gb\":\"2\"}}},"
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"other\"}},"
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\","
    "\"uid\":\"u-a\","
    "\"creationTimestamp\":\"2026-01-02T03:04:05Z\"},\"spec\":{\"nodeName\":\"gpu-1\","
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"
    "\"nvidia.com/mig-1g.6gb\":\"1\"}}}]},\"status\":{\"phase\":\"Running\"}},"
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\","
    "\"uid\":\"u-b\"},"
    "\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{"
    "\"nvidia.com/mig-1g.6gb\":\"x\"}}}]}}"
    "]}";

static const char manifest_yaml[] = "apiVersion: v1\n"
                                    "kind: Node\n"
                                    "metadata:\n"
                                    "  name: gpu-1\n"
                                    "  labels: {nvidia.com/gpu.product: Tesla-T4}\n"
                                    "status:\n"
                                    "  allocatable:\n"
                                    "    nvidia.com/gpu: 4\n"
                                    "---\n"
                                    "apiVersion: v1\n"
                                    "kind: Pod\n"
                                    "metadata: {name: a, namespace: ns, uid: u-a}\n"
                                    "spec:\n"
                                    "  nodeName: gpu-1\n"
                                    "  containers:\n"
                                    "  - name: main\n"
                                    "    resources: {limits: {nvidia.com/gpu: 2}}\n";

static const char filter_body[] =
    "{\"Pod\":{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u-a\"},\"spec\":{"
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\"}}}]}},"
    "\"NodeNames\":[\"gpu-1\",\"gpu-2\",\"gpu-3\"]}";

static const char configuration[] = "apiVersion: sliced.dev/v1alpha1\n"
                                    "kind: SlicedConfiguration\n"
                                    "server:\n"
                                    "  listen: 127.0.0.1:8080\n"
                                    "score:\n"
                                    "  weights: {packing: 5}\n";

/* What a text became: a store, names of candidates, or a configuration. */
struct reading {
    struct sl_store *store;
    struct sl_config config;
    struct sl_arena arena;
    struct sl_buf names;
};

static void *setup_reading(const void *given)
{
    (void)given;
    struct reading *reading = calloc(1, sizeof(*reading));
    assert_non_null(reading);
    reading->store = store_of(&roomy);
    sl_config_defaults(&reading->config);
    sl_arena_init(&reading->arena, 1 << 20);
    sl_buf_init(&reading->names, 1 << 16);
    return reading;
}

static void teardown_reading(void *context)
{
    struct reading *reading = context;
    sl_store_free(reading->store);
    sl_arena_free(&reading->arena);
    sl_buf_free(&reading->names);
    free(reading);
}

static int told(int rc, const struct sl_error *err)
{
    if (rc < 0 && err->code != SL_ERR_NOMEM) {
        fail_msg("%s: %s", err->field, err->message);
    }
    assert_int_equal(err->code, rc == 0 ? SL_ERR_NONE : SL_ERR_NOMEM);
    return rc;
}

/* ---- manifests into a store ---- */

static int receive(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct reading *reading = context;
    if (object->kind == SL_OBJECT_NODE) {
        struct sl_node *node = sl_node_new(object->node, err);
        return node == NULL ? -1 : sl_store_put_node(reading->store, node, err);
    }
    if (object->kind == SL_OBJECT_POD) {
        struct sl_pod *pod = sl_pod_new(object->pod, err);
        return pod == NULL ? -1 : sl_store_put_pod(reading->store, pod, err);
    }
    return 0;
}

static int load(struct reading *reading, const char *text, size_t len)
{
    struct sl_error err = {0};
    sl_store_begin(reading->store);
    int rc = sl_manifest_decode(text, len, &limits, receive, reading, &err);
    int end = sl_store_end(reading->store, rc < 0 ? NULL : &err);
    return told(rc < 0 || end < 0 ? -1 : 0, &err);
}

static int run_load_json(void *context)
{
    return load(context, manifest_json, sizeof(manifest_json) - 1);
}

static int run_load_yaml(void *context)
{
    return load(context, manifest_yaml, sizeof(manifest_yaml) - 1);
}

/* The same in pieces, as a POST brings it. */
static int run_feed_json(void *context)
{
    struct reading *reading = context;
    struct sl_error err = {0};
    struct sl_manifest *manifest = sl_manifest_new(&limits, receive, reading);
    if (manifest == NULL) {
        return -1;
    }
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < sizeof(manifest_json) - 1; at += 7) {
        size_t left = sizeof(manifest_json) - 1 - at;
        rc = sl_manifest_feed(manifest, manifest_json + at, left < 7 ? left : 7, &err);
    }
    if (rc == 0) {
        rc = sl_manifest_finish(manifest, &err);
    }
    sl_manifest_free(manifest);
    return told(rc, &err);
}

/* ---- watches into a store ---- */

static const char watch_json[] =
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"metadata\":{\"name\":\"gpu-1\","
    "\"resourceVersion\":\"7\",\"annotations\":{\"sliced.dev/devices\":\"[{\\\"index\\\":0,"
    "\\\"uuid\\\":\\\"GPU-0\\\"}]\"}},\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"1\"}}}}\n"
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"bad\"},\"spec\":5}}\n"
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"gpu-1\"}}}\n"
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"gpu-2\"}}}\n";

/* Nothing is passed over for lack of memory: the watch ends, and is begun again. */
static int receive_item(void *context, const struct sl_watch_item *item, struct sl_error *err)
{
    struct reading *reading = context;
    if (item->problem != NULL) {
        assert_int_equal(item->problem->code, SL_ERR_TYPE);
        return 0;
    }
    if (item->event == SL_WATCH_DELETED) {
        return sl_store_delete_node(reading->store, item->name, err);
    }
    return receive(context, item->object, err);
}

static int run_watch(void *context)
{
    struct reading *reading = context;
    struct sl_error err = {0};
    struct sl_watch *watch =
        sl_watch_new(SL_WATCH_STREAM, SL_OBJECT_NODE, &limits, receive_item, reading);
    if (watch == NULL) {
        return -1;
    }
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < sizeof(watch_json) - 1; at += 7) {
        size_t left = sizeof(watch_json) - 1 - at;
        rc = sl_watch_feed(watch, watch_json + at, left < 7 ? left : 7, &err);
    }
    if (rc == 0) {
        rc = sl_watch_finish(watch, NULL, &err);
    }
    sl_watch_free(watch);
    return told(rc, &err);
}

static void write_node(const struct sl_view *view, struct sl_buf *out)
{
    const struct sl_node *node = view->node;
    sl_buf_printf(out, "%s %s %s devices %u instances %u:", node->name,
                  sl_layout_name(node->layout), node->problem == NULL ? "-" : node->problem,
                  node->n_devices, node->n_instances);
    for (unsigned i = 0; i < node->n_pools; i++) {
        sl_buf_printf(out, " %s %lld", node->pool[i].resource,
                      (long long)sl_view_free_units(view, i));
    }
    sl_buf_putc(out, '\n');
}

static void digest_store(void *context, struct sl_buf *out)
{
    struct reading *reading = context;
    static const char *const names[] = {"a", "b"};
    const struct sl_snapshot *snapshot = sl_store_acquire(reading->store);
    for (size_t i = 0; i < snapshot->n_nodes; i++) {
        write_node(snapshot->view[i], out);
    }
    for (size_t i = 0; i < 2; i++) {
        struct sl_pod *pod = sl_store_pod(reading->store, SL_STR("ns"), sl_str_of(names[i]));
        if (pod != NULL) {
            sl_buf_printf(out, "%s %s %s %s %lld %s\n", pod->namespace, pod->name, pod->uid,
                          pod->node == NULL ? "-" : pod->node, (long long)pod->created_us,
                          pod->malformed == NULL ? "-" : pod->malformed);
        }
        sl_pod_unref(pod);
    }
    sl_store_release(reading->store, snapshot);
}

/* ---- a request's body ---- */

static int note_node(void *context, struct sl_str name, struct sl_error *err)
{
    struct reading *reading = context;
    sl_buf_append(&reading->names, name.s, name.len);
    sl_buf_putc(&reading->names, ' ');
    return reading->names.failed == SL_BUF_OK ? 0 : sl_error_nomem(err);
}

static int read_body(struct reading *reading, struct sl_body *body, struct sl_error *err)
{
    const struct sl_body_sink sink = {.context = reading, .node = note_node};
    sl_body_begin(body, SL_BODY_ARGS, &sink);
    for (size_t at = 0; at < sizeof(filter_body) - 1; at += 11) {
        size_t left = sizeof(filter_body) - 1 - at;
        if (sl_body_feed(body, filter_body + at, left < 11 ? left : 11, err) < 0) {
            return -1;
        }
    }
    if (sl_body_finish(body, err) < 0) {
        return -1;
    }
    struct sl_pod *pod = sl_pod_new(sl_body_pod(body), err);
    if (pod == NULL) {
        return -1;
    }
    sl_buf_printf(&reading->names, "for %s", pod->name);
    sl_pod_unref(pod);
    return reading->names.failed == SL_BUF_OK ? 0 : sl_error_nomem(err);
}

static int run_body(void *context)
{
    struct reading *reading = context;
    struct sl_error err = {0};
    sl_buf_free(&reading->names);
    sl_buf_init(&reading->names, 1 << 16);
    sl_arena_reset(&reading->arena);
    struct sl_body *body = sl_body_new(&limits, &reading->arena);
    if (body == NULL) {
        return -1;
    }
    int rc = read_body(reading, body, &err);
    sl_body_free(body);
    return told(rc, &err);
}

static void digest_names(void *context, struct sl_buf *out)
{
    struct reading *reading = context;
    sl_buf_append(out, reading->names.data, reading->names.len);
}

/* ---- the configuration ---- */

static int run_parse_config(void *context)
{
    struct reading *reading = context;
    struct sl_error err = {0};
    return told(sl_config_parse("memory", configuration, sizeof(configuration) - 1,
                                &reading->config, NULL, &err),
                &err);
}

static int run_load_config(void *context)
{
    struct reading *reading = context;
    struct sl_error err = {0};
    return told(
        sl_config_load(SL_SOURCE_DIR "/test/chaos/config.yaml", &reading->config, NULL, &err),
        &err);
}

static int run_print_config(void *context)
{
    struct reading *reading = context;
    sl_buf_free(&reading->names);
    sl_buf_init(&reading->names, 1 << 16);
    sl_config_print(&reading->config, &reading->names);
    assert_int_not_equal(reading->names.failed, SL_BUF_FULL);
    return reading->names.failed == SL_BUF_OK ? 0 : -1;
}

static void digest_config(void *context, struct sl_buf *out)
{
    struct reading *reading = context;
    sl_config_print(&reading->config, out);
}

#define READING .setup = setup_reading, .teardown = teardown_reading

const struct scenario text_scenarios[] = {
    {.name = "load a JSON list",
     .run = run_load_json,
     .digest = digest_store,
     .partial = true,
     READING},
    {.name = "load YAML documents",
     .run = run_load_yaml,
     .digest = digest_store,
     .partial = true,
     READING},
    {.name = "feed a JSON list in pieces",
     .run = run_feed_json,
     .digest = digest_store,
     .partial = true,
     READING},
    {.name = "watch nodes in pieces",
     .run = run_watch,
     .digest = digest_store,
     .partial = true,
     READING},
    {.name = "decode a filter body",
     .run = run_body,
     .digest = digest_names,
     .partial = true,
     READING},
    {.name = "parse a configuration", .run = run_parse_config, .digest = digest_config, READING},
    {.name = "load a configuration", .run = run_load_config, .digest = digest_config, READING},
    {.name = "print a configuration",
     .run = run_print_config,
     .digest = digest_names,
     .partial = true,
     READING},
};

const size_t n_text_scenarios = sizeof(text_scenarios) / sizeof(text_scenarios[0]);
