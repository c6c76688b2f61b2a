/* What a pod's annotations and labels say of stages and of GPU memory, and what is passed over. */
#include "pod_rig.h"

#include "core/request/pod_read.h"

static bool has_label(const struct sl_pod *pod, const char *text)
{
    uint64_t hash = sl_hash(text, strlen(text));
    for (uint32_t i = 0; i < pod->n_labels; i++) {
        if (pod->label[i] == hash) {
            return true;
        }
    }
    return false;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct pod_rig *rig, each_annotation_that_is_passed_over_is_named)
{
    annotate(rig, "sliced.dev/timeout", "soon");
    annotate(rig, "sliced.dev/min-gpu-memory", "much");
    assert_string_equal(
        make(rig)->problem,
        "annotation sliced.dev/timeout: \"soon\" cannot be read, expected such as 90m, 2h30m, 1d, "
        "of less than 24856 days: the default timeout counts; annotation "
        "sliced.dev/min-gpu-memory: \"much\" is not an amount of "
        "memory such as \"5Gi\" or \"5120\" (MiB): ignored");
}

/* Texts of pods are read on terminals. */
TEST_ON(struct pod_rig *rig, what_could_not_be_read_is_said_and_escaped)
{
    char long_name[300];
    memset(long_name, 'n', sizeof(long_name));
    annotate(rig, "sliced.dev/timeout", "\x1b[2J\xe2\x80\xae");
    rig->pod.problem = SL_STR("Pod.metadata.labels[\x1b]: passed over");
    rig->pod.nominated = (struct sl_str){long_name, sizeof(long_name)}; /* costs itself alone */
    const struct sl_pod *pod = make(rig);
    assert_non_null(pod);
    assert_null(pod->nominated);
    assert_true(sl_str_starts(sl_str_of(pod->problem),
                              SL_STR("Pod.metadata.labels[\\u001b]: passed over; annotation "
                                     "sliced.dev/timeout: \"\\u001b[2J\\u202e\" cannot be read")));
}

/* Where an exporter copies labels of pods to its series. */
TEST_ON(struct pod_rig *rig, a_label_that_may_pass_for_an_exporters_name_is_noted)
{
    static const struct {
        const char *key;
        bool poses;
    } cases[] = {
        {"pod", true},
        {"namespace", true},
        {"pod-name", true},
        {"pod/namespace", true},
        {"exported_pod", true},
        {"exported.exported/exported-pod_namespace", true},
        {"pod-template-hash", false},
        {"statefulset.kubernetes.io/pod-name", false},
        {"exported_", false},
        {"", false},
        {"app", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.labels = NULL;
        facts_pair(&rig->facts, &rig->pod.labels, "app", "x");
        facts_pair(&rig->facts, &rig->pod.labels, cases[i].key, "victim");
        const struct sl_pod *pod = make(rig);
        assert_int_equal(pod->poses, cases[i].poses);
        struct sl_pod *bound = sl_pod_bound_to(pod, "n", NULL, SL_POD_RUNNING);
        assert_int_equal(bound->poses, cases[i].poses);
        sl_pod_unref(bound);
    }
}

TEST_ON(struct pod_rig *rig, gpu_memory_is_a_quantity_or_a_number_of_mebibytes)
{
    static const struct {
        const char *text;
        int64_t mib; /* 0: malformed */
    } cases[] = {
        {"24576", 24576},  {"1", 1},           {"5Gi", 5120}, {"1.5Gi", 1536},
        {"1M", 1},         {"1048577k", 1001}, {"1e9", 954},  {"2147483647", INT32_MAX},
        {"2147483648", 0}, {"0", 0},           {"-1Gi", 0},   {"", 0},
        {"5 Gi", 0},       {"5GB", 0},         {"lots", 0},   {"8Ei", 0},
        {"0.1Ki", 1},      {"7", 7},           {"1Mi", 1},    {"1048577000m", 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.annotations = NULL;
        annotate(rig, "sliced.dev/gpu-memory", cases[i].text);
        const struct sl_pod *pod = make(rig);
        assert_int_equal(pod->gpu_memory_mib, cases[i].mib);
        assert_int_equal(pod->problem == NULL, cases[i].mib > 0);
    }
}

TEST_ON(struct pod_rig *rig, gpu_memory_is_of_all_items_but_shares_of_memory)
{
    asks(rig, "aliyun.com/gpu-mem=3 nvidia.com/gpu=1");
    annotate(rig, "sliced.dev/gpu-memory", "5Gi");
    annotate(rig, "sliced.dev/min-gpu-memory", "9Gi");
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->items[0].memory_mib, 0);
    assert_int_equal(pod->items[0].least_mib, 0);
    assert_int_equal(pod->items[1].memory_mib, 5120);
    assert_int_equal(pod->items[1].least_mib, 9216);
}

TEST_ON(struct pod_rig *rig, a_share_of_memory_may_be_parted_over_gpus)
{
    static const struct {
        const char *label;
        int gpus;
        bool told;
    } cases[] = {{"1", 1, false}, {"4", 4, false}, {"8", 8, false}, {"3", 1, true},
                 {"0", 1, true},  {"-2", 1, true}, {"65", 1, true}, {"x", 1, true}};
    asks(rig, "aliyun.com/gpu-mem=8");
    assert_int_equal(make(rig)->items[0].gpus, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.labels = NULL;
        facts_pair(&rig->facts, &rig->pod.labels, "aliyun.com/gpu-count", cases[i].label);
        const struct sl_pod *pod = make(rig);
        assert_int_equal(pod->items[0].gpus, cases[i].gpus);
        assert_int_equal(pod->problem != NULL, cases[i].told);
    }
    assert_string_equal(rig->made->problem,
                        "label aliyun.com/gpu-count: \"x\" is no number of GPUs by which "
                        "aliyun.com/gpu-mem can be divided: ignored");
    asks(rig, "aliyun.com/gpu-mem=65");
    rig->pod.labels = NULL;
    facts_pair(&rig->facts, &rig->pod.labels, "aliyun.com/gpu-count", "65");
    assert_int_equal(make(rig)->items[0].gpus, 1); /* more than a node has */
    asks(rig, "aliyun.com/gpu-mem=64");
    rig->pod.labels = NULL;
    facts_pair(&rig->facts, &rig->pod.labels, "aliyun.com/gpu-count", "64");
    assert_int_equal(make(rig)->items[0].gpus, SL_NODE_DEVICES_MAX);
    annotate(rig, "sliced.dev/gpu-memory", "lots");
    facts_pair(&rig->facts, &rig->pod.labels, "aliyun.com/gpu-count", "x");
    rig->pod.labels = rig->pod.labels->next;
    assert_non_null(strstr(make(rig)->problem, "; label aliyun.com/gpu-count: \"x\" is no"));
}

TEST_ON(struct pod_rig *rig, stages_with_a_nul_are_told)
{
    struct sl_pair after = {SL_STR("sliced.dev/after"), {"a\0b", 3}, NULL};
    rig->pod.annotations = &after;
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->problem, "annotation sliced.dev/after: has a NUL");
    assert_string_equal(pod->after, "?");
    rig->pod.annotations = NULL;
}

TEST_ON(struct pod_rig *rig, what_is_kept_of_stages_and_labels_is_bounded)
{
    char text[SL_POD_AFTER_MAX + 2];
    memset(text, 'a', sizeof(text));
    text[SL_POD_AFTER_MAX + 1] = '\0';
    annotate(rig, "sliced.dev/after", text);
    for (int i = 0; i < SL_POD_LABELS_MAX + 1; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "key-%d", i);
        facts_pair(&rig->facts, &rig->pod.labels, key, "v");
    }
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->after, text); /* too long to be read, and not none either */
    assert_int_equal(pod->n_labels, 2 * SL_POD_LABELS_MAX);
    assert_string_equal(pod->problem,
                        "annotation sliced.dev/after: longer than 1024 bytes; "
                        "metadata.labels: more or longer than what is kept of them: the rest is "
                        "ignored");
    text[SL_POD_AFTER_MAX] = '\0';
    rig->pod.annotations = NULL;
    rig->pod.labels = rig->pod.labels->next;
    annotate(rig, "sliced.dev/after", text);
    pod = make(rig);
    assert_string_equal(pod->after, text);
    assert_null(pod->problem);
}

TEST_ON(struct pod_rig *rig, labels_are_kept_as_hashes_in_order)
{
    rig->pod.labels = facts_pairs(&rig->facts, "app=a app.kubernetes.io/name=b empty=");
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->n_labels, 6);
    for (uint32_t i = 1; i < pod->n_labels; i++) {
        assert_true(pod->label[i - 1] < pod->label[i]);
    }
    assert_true(has_label(pod, "app"));
    assert_true(has_label(pod, "app=a"));
    assert_true(has_label(pod, "app.kubernetes.io/name=b"));
    assert_true(has_label(pod, "empty"));
    assert_true(has_label(pod, "empty="));
    assert_false(has_label(pod, "app=b"));
}

TEST_ON(struct pod_rig *rig, a_label_of_512_bytes_is_kept_and_a_longer_one_told)
{
    char key[450];
    char value[63 + 1];
    memset(key, 'k', sizeof(key));
    memset(value, 'v', sizeof(value));
    value[63] = '\0';
    key[448] = '\0';
    facts_pair(&rig->facts, &rig->pod.labels, key, value);
    assert_null(make(rig)->problem);
    assert_int_equal(rig->made->n_labels, 2);
    key[448] = 'k';
    key[449] = '\0';
    rig->pod.labels = NULL;
    facts_pair(&rig->facts, &rig->pod.labels, key, value);
    assert_non_null(make(rig)->problem);
    assert_int_equal(rig->made->n_labels, 0);
}
