/* What a Binding tells gpushare's device plugin, and what the plugin makes of it: its matching is
 * replayed here from its own rules. */
#include "binder_rig.h"

#include "codec/object.h"
#include "kube/write/gpushare.h"

enum { PODS = 24, DEVICES = 4, DEVICE_UNITS = 16 };

static int take(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct sl_store *store = context;
    if (object->node != NULL) {
        return sl_store_put_node(store, sl_node_new(object->node, err), err);
    }
    return sl_store_put_pod(store, sl_pod_new(object->pod, err), err);
}

static void load(struct sl_store *store, const char *yaml)
{
    static const struct sl_text_limits limits = {
        .max_bytes = 1 << 20, .max_string = 1 << 16, .max_depth = 64};
    struct sl_error err = {.code = SL_ERR_NONE};
    if (sl_manifest_decode(yaml, strlen(yaml), &limits, take, store, &err) < 0) {
        fail_msg("%s: %s", err.field, err.message);
    }
}

#define MIXED                                                                                      \
    "apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  annotations:\n    sliced.dev/devices: "  \
    "'[{\"index\":0,\"memory\":\"16Gi\"},{\"index\":1,\"memory\":\"24Gi\"}]'\n"                    \
    "status: {allocatable: {aliyun.com/gpu-mem: \"40\", aliyun.com/gpu-count: \"2\"}}\n"
#define POD_P(containers)                                                                          \
    "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u1}\nspec: {containers: "            \
    "[" containers "]}\n"
#define CONTAINER(name, units)                                                                     \
    "{name: " name ", resources: {limits: {aliyun.com/gpu-mem: \"" units "\"}}}"

static void send(struct scene *scene, const char *assignment)
{
    const struct sl_binding binding = {.namespace = SL_STR("default"),
                                       .name = SL_STR("p"),
                                       .uid = SL_STR("u1"),
                                       .node = SL_STR("n1"),
                                       .assignment = assignment,
                                       .leadership = 7};
    scene->outcome = outcome_none();
    sl_kube_bind(scene->binder, &binding, on_done, &scene->outcome);
    outcome_wait(&scene->outcome);
    assert_int_equal(scene->outcome.end, SL_BIND_END_BOUND);
}

static const char *sent(struct scene *scene, unsigned i)
{
    return fake_api_request(scene->rig.api, i)->body;
}

static void has(const char *body, const char *member)
{
    if (strstr(body, member) == NULL) {
        fail_msg("%s is not in %s", member, body);
    }
}

TEST_THAT(a_share_of_memory_is_bound_with_what_the_plugin_reads)
{
    struct scene scene;
    scene_begin(&scene);
    load(scene.store, MIXED POD_P(CONTAINER("a", "5") ", " CONTAINER("b", "7")));
    scene_start(&scene);
    add(&scene.rig, "POST", BINDING, 201, "{}");
    send(&scene, "aliyun.com/gpu-mem=1*12");
    const char *body = sent(&scene, 0);
    has(body, "\"sliced.dev/assignment\":\"aliyun.com/gpu-mem=1*12\"");
    has(body, "\"ALIYUN_COM_GPU_MEM_IDX\":\"1\"");
    has(body, "\"ALIYUN_COM_GPU_MEM_DEV\":\"24\"");
    has(body, "\"ALIYUN_COM_GPU_MEM_POD\":\"12\"");
    has(body, "\"ALIYUN_COM_GPU_MEM_ASSIGNED\":\"false\"");
    has(body, "\"ALIYUN_COM_GPU_MEM_ASSUME_TIME\":\"1");
    assert_int_equal(fake_api_requests(scene.rig.api), 1);
    scene_end(&scene);
}

TEST_THAT(a_repeated_post_says_the_same)
{
    struct scene scene;
    scene_begin(&scene);
    load(scene.store, MIXED POD_P(CONTAINER("a", "5")));
    scene_start(&scene);
    add(&scene.rig, "POST", BINDING, 429, "{}");
    add(&scene.rig, "POST", BINDING, 201, "{}");
    send(&scene, "aliyun.com/gpu-mem=0*5");
    assert_int_equal(fake_api_requests(scene.rig.api), 2);
    assert_string_equal(sent(&scene, 0), sent(&scene, 1));
    scene_end(&scene);
}

TEST_THAT(what_is_no_share_of_a_known_gpu_carries_nothing_for_the_plugin)
{
    static const struct {
        const char *yaml;
        const char *assignment;
    } rows[] = {
        {MIXED POD_P("{name: a, resources: {limits: {nvidia.com/gpu: 1}}}"), "nvidia.com/gpu=0"},
        {MIXED POD_P(CONTAINER("a", "5")), "aliyun.com/gpu-mem=?*5"},
        {MIXED, "aliyun.com/gpu-mem=0*5"},                      /* the pod is not known */
        {POD_P(CONTAINER("a", "5")), "aliyun.com/gpu-mem=0*5"}, /* nor here the node */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct scene scene;
        scene_begin(&scene);
        load(scene.store, rows[i].yaml);
        scene_start(&scene);
        add(&scene.rig, "POST", BINDING, 201, "{}");
        send(&scene, rows[i].assignment);
        assert_null(strstr(sent(&scene, 0), "ALIYUN"));
        scene_end(&scene);
    }
}

TEST_THAT(time_stamps_rise_though_the_clock_stands_or_goes_back)
{
    _Atomic int64_t last = 0;
    assert_true(sl_gpushare_next_ns(&last, 1000) == 1000000);
    assert_true(sl_gpushare_next_ns(&last, 1000) == 1000001);
    assert_true(sl_gpushare_next_ns(&last, 10) == 1000002);
    assert_true(sl_gpushare_next_ns(&last, 1001) == 1001000);
}

/* ---- the plugin, replayed ---- */

/* A pod as the plugin sees it. */
struct candidate {
    int64_t units;
    int64_t assume_ns;
    int index; /* of the GPU in its annotation */
    bool assigned;
    int given; /* the GPU that its container got, -1: none yet */
};

/* The oldest that is not assigned and asks for so many; the answer to the kubelet is its GPU. */
static int allocate(struct candidate *pod, unsigned n, int64_t units)
{
    struct candidate *oldest = NULL;
    for (unsigned i = 0; i < n; i++) {
        if (!pod[i].assigned && pod[i].units == units &&
            (oldest == NULL || pod[i].assume_ns < oldest->assume_ns)) {
            oldest = &pod[i];
        }
    }
    if (oldest == NULL) {
        return -1;
    }
    oldest->assigned = true;
    return oldest->index;
}

static struct sl_store *full_store(void)
{
    static const struct sl_store_limits limits = {10, 100, 100, 30000000};
    struct sl_store *store = sl_store_new(&limits, NULL);
    assert_non_null(store);
    load(store, "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: "
                "{aliyun.com/gpu-mem: \"64\", aliyun.com/gpu-count: \"4\"}}\n");
    return store;
}

/* Binds a new pod of so many units, as one of many at the same microsecond. False: no room. */
static bool bind_one(struct sl_store *store, unsigned number, int64_t units,
                     _Atomic int64_t *last_ns, struct candidate *out)
{
    char yaml[320];
    char name[16];
    struct sl_bind_result result;
    struct sl_gpushare_marks marks;
    (void)snprintf(name, sizeof(name), "p%u", number);
    (void)snprintf(yaml, sizeof(yaml),
                   "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %s}\nspec: {containers: "
                   "[{name: c, resources: {limits: {aliyun.com/gpu-mem: \"%d\"}}}]}\n",
                   name, name, (int)units);
    load(store, yaml);
    sl_store_reserve(store, SL_STR("default"), sl_str_of(name), sl_str_of(name), SL_STR("n1"), 1,
                     &result);
    if (result.code != SL_BIND_RESERVED) {
        return false;
    }
    const struct sl_binding binding = {.namespace = SL_STR("default"),
                                       .name = sl_str_of(name),
                                       .uid = sl_str_of(name),
                                       .node = SL_STR("n1"),
                                       .assignment = result.assignment};
    sl_gpushare_marks_of(store, &binding, last_ns, 1000000, &marks);
    assert_true(marks.index[0] != '\0');
    assert_int_equal(marks.pod_units, units);
    assert_int_equal(marks.device_units, DEVICE_UNITS);
    *out = (struct candidate){
        .units = units, .assume_ns = marks.assume_ns, .index = marks.index[0] - '0', .given = -1};
    return true;
}

static void shuffle(unsigned *order, unsigned n, unsigned *seed)
{
    for (unsigned i = n; i > 1; i--) {
        *seed = *seed * 1103515245U + 12345U;
        unsigned k = (*seed >> 16) % i;
        unsigned swap = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swap;
    }
}

/* The kubelet asks for the pods in that order; then for each GPU: what the pods on it ask for is
 * what was chosen to go there. */
static void replay(struct candidate *pod, unsigned n, const unsigned *order)
{
    int64_t chosen[DEVICES] = {0};
    int64_t given[DEVICES] = {0};
    for (unsigned i = 0; i < n; i++) {
        struct candidate *p = &pod[order[i]];
        p->given = allocate(pod, n, p->units);
        assert_in_range(p->given, 0, DEVICES - 1);
        given[p->given] += p->units;
        chosen[p->index] += p->units;
    }
    for (unsigned d = 0; d < DEVICES; d++) {
        assert_true(given[d] == chosen[d]);
        assert_true(given[d] <= DEVICE_UNITS);
    }
}

TEST_THAT(each_pod_gets_its_device_where_asks_differ)
{
    struct candidate pod[PODS];
    unsigned order[PODS];
    unsigned seed = 7;
    for (unsigned round = 0; round < 50; round++) {
        struct sl_store *store = full_store();
        _Atomic int64_t last = 0;
        unsigned n = 0;
        for (unsigned i = 0; i < 9; i++) {
            order[n] = n;
            n += bind_one(store, i, 1 + (int64_t)i, &last, &pod[n]);
        }
        assert_true(n >= 8);
        shuffle(order, n, &seed);
        replay(pod, n, order);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(pod[i].given, pod[i].index);
        }
        sl_store_free(store);
    }
}

TEST_THAT(equal_asks_bound_at_once_get_their_devices_when_the_kubelet_starts_the_oldest_first)
{
    struct candidate pod[PODS];
    unsigned order[PODS];
    struct sl_store *store = full_store();
    _Atomic int64_t last = 0;
    unsigned n = 0;
    for (unsigned i = 0; i < 8; i++) {
        order[n] = n;
        n += bind_one(store, i, 8, &last, &pod[n]);
    }
    assert_int_equal(n, 8);
    replay(pod, n, order);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(pod[i].given, pod[i].index);
        assert_true(i == 0 || pod[i].assume_ns > pod[i - 1].assume_ns);
    }
    sl_store_free(store);
}

TEST_THAT(no_device_is_overused_in_whatever_order_the_kubelet_starts_equal_asks)
{
    struct candidate pod[PODS];
    unsigned order[PODS];
    unsigned seed = 11;
    for (unsigned round = 0; round < 100; round++) {
        struct sl_store *store = full_store();
        _Atomic int64_t last = 0;
        unsigned n = 0;
        for (unsigned i = 0; i < PODS; i++) {
            seed = seed * 1103515245U + 12345U;
            order[n] = n;
            n += bind_one(store, i, 2 + 2 * (int64_t)((seed >> 16) % 4), &last, &pod[n]);
        }
        shuffle(order, n, &seed);
        replay(pod, n, order);
        sl_store_free(store);
    }
}
