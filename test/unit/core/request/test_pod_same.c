/* When two tellings of a pod say the same. */
#include "pod_rig.h"

#include "core/request/pod_read.h"

TEST_FIXTURE(set_up, tear_down)

/* One container asks a device plugin for two, or each of two for one. */
TEST_ON(struct pod_rig *rig, an_ask_of_one_container_is_not_that_of_two)
{
    asks(rig, "nvidia.com/gpu.shared=2");
    struct sl_pod *together = sl_pod_ref((struct sl_pod *)make(rig));
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "a", NULL, "nvidia.com/gpu.shared=1");
    facts_container(&rig->facts, &rig->pod.containers, "b", NULL, "nvidia.com/gpu.shared=1");
    const struct sl_pod *apart = make(rig);
    assert_int_equal(apart->items[0].count, together->items[0].count);
    assert_false(sl_pod_same_ask(together, apart));
    assert_false(sl_pod_same(together, apart));
    sl_pod_unref(together);
}

TEST_THAT(items_that_differ_in_anything_but_the_workload_have_other_words)
{
    const struct sl_ask_item item = {.key = 7, .count = 2, .each = 1, .gpus = 1};
    const struct sl_ask_item other[] = {
        {.key = 8, .count = 2, .each = 1, .gpus = 1},
        {.key = 7, .count = SL_UNITS_MAX, .each = 1, .gpus = 1},
        {.key = 7, .count = 2, .each = UINT8_MAX, .gpus = 1},
        {.key = 7, .count = 2, .each = 1, .gpus = 2},
        {.key = 7, .count = 2, .each = 1, .gpus = 1, .memory_mib = INT32_MAX},
        {.key = 7, .count = 2, .each = 1, .gpus = 1, .least_mib = INT32_MAX},
    };
    uint64_t words[SL_ITEM_WORDS];
    uint64_t others[SL_ITEM_WORDS];
    sl_item_words(&item, words);
    for (unsigned i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        sl_item_words(&other[i], others);
        assert_memory_not_equal(words, others, sizeof(words));
        struct sl_ask_item same = other[i];
        same.workload = 1;
        sl_item_words(&same, words);
        assert_memory_equal(words, others, sizeof(words));
        sl_item_words(&item, words);
    }
}

/* More labels than are remembered hide none that may pass for a name of an exporter's. */
TEST_ON(struct pod_rig *rig, a_label_that_poses_makes_another_pod_of_it_behind_any_number_of_others)
{
    asks(rig, "nvidia.com/gpu=1");
    for (int i = 0; i < 2 * SL_POD_LABELS_MAX; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "l%03d", i);
        facts_pair(&rig->facts, &rig->pod.labels, key, "x");
    }
    struct sl_pod *plain = sl_pod_ref((struct sl_pod *)make(rig));
    facts_pair(&rig->facts, &rig->pod.labels, "exported_pod", "victim");
    const struct sl_pod *posing = make(rig);
    assert_false(plain->poses);
    assert_true(posing->poses);
    assert_int_equal(plain->n_labels, posing->n_labels);
    assert_false(sl_pod_same(plain, posing));
    sl_pod_unref(plain);
}

/* ---- all rows of the table of fields ---- */

enum kept { NOW, GIVEN, EVER, TIMEOUT, QUIET, NEVER };

/* A pod with something in each field. */
static void fill(struct sl_pod *pod, struct sl_ask_item *item, const uint64_t label[2])
{
    *pod = (struct sl_pod){
        .items = item, .n_items = 1, .label = label, .n_labels = 2, .constraints = NULL};
#define TEXT(name, none, kept)   pod->name = #name;
#define NUMBER(type, name, kept) pod->name = 1;
#define FLAG(name, kept)         pod->name = true;
    SL_POD_TEXTS(TEXT)
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
#undef TEXT
#undef NUMBER
#undef FLAG
}

TEST_ON(struct pod_rig *rig, the_facts_can_tell_every_field)
{
    const struct sl_pod plain = *make(rig);
    asks(rig, "nvidia.com/gpu=300 nvidia.com/mig-1g.6gb.shared=-1");
    rig->pod.name = SL_STR("other");
    rig->pod.namespace = SL_STR("others");
    rig->pod.uid = SL_STR("2");
    rig->pod.node_name = SL_STR("n1");
    rig->pod.phase = SL_STR("Running");
    rig->pod.nominated = SL_STR("n2");
    rig->pod.scheduler_name = SL_STR("mine");
    rig->pod.preemption_policy = SL_STR("Never");
    rig->pod.owner = SL_STR("Job/train");
    rig->pod.problem = SL_STR("odd");
    rig->pod.deadline_s = 60;
    rig->pod.priority = 1;
    rig->pod.created_us = rig->pod.started_us = rig->pod.deleting_us = 1700000000000000;
    rig->pod.deleting = rig->pod.tried = rig->pod.queued = rig->pod.daemon_set = true;
    facts_pair(&rig->facts, &rig->pod.gates, "sliced.dev/queue", "");
    facts_pair(&rig->facts, &rig->pod.labels, "pod", "victim");
    annotate(rig, "sliced.dev/assignment", "x");
    annotate(rig, "sliced.dev/after", "job/a");
    annotate(rig, "sliced.dev/released", "now");
    annotate(rig, "sliced.dev/gpu-memory", "5Gi");
    annotate(rig, "sliced.dev/min-gpu-memory", "4Gi");
    annotate(rig, "ALIYUN_COM_GPU_MEM_ASSIGNED", "true");
    struct sl_pod told = *make(rig);
    told.set_aside = true; /* the store's alone */
#define TEXT(name, none, kept)                                                                     \
    if (told.name == NULL || told.name[0] == '\0') {                                               \
        fail_msg("%s is not told", #name);                                                         \
    }
#define NUMBER(type, name, kept)                                                                   \
    if (told.name == plain.name) {                                                                 \
        fail_msg("%s is not told", #name);                                                         \
    }
#define FLAG(name, kept) NUMBER(bool, name, kept)
    SL_POD_TEXTS(TEXT)
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
#undef TEXT
#undef NUMBER
#undef FLAG
}

TEST_THAT(pods_that_differ_in_one_field_are_the_same_only_if_that_is_quiet)
{
    struct sl_ask_item item = {.resource = "nvidia.com/gpu", .count = 1};
    const uint64_t label[2] = {1, 2};
    struct sl_pod pod;
    struct sl_pod other;
    fill(&pod, &item, label);
#define DIFFERS(change, field, quiet)                                                              \
    fill(&other, &item, label);                                                                    \
    assert_true(sl_pod_same(&pod, &other));                                                        \
    change;                                                                                        \
    if (sl_pod_same(&pod, &other) != (quiet)) {                                                    \
        fail_msg("%s", field);                                                                     \
    }
#define TEXT(name, none, kept)                                                                     \
    DIFFERS(other.name = "x", #name, false)                                                        \
    DIFFERS(other.name = NULL, #name, false)
#define NUMBER(type, name, kept) DIFFERS(other.name = 2, #name, false)
#define FLAG(name, kept)         DIFFERS(other.name = false, #name, (kept) == QUIET)
    SL_POD_TEXTS(TEXT)
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
#undef TEXT
#undef NUMBER
#undef FLAG
#undef DIFFERS
}

TEST_THAT(a_pod_has_what_it_was_given_only_if_each_field_that_is_kept_agrees)
{
    struct sl_ask_item item = {.resource = "nvidia.com/gpu", .count = 1};
    const uint64_t label[2] = {1, 2};
    struct sl_pod pod;
    struct sl_pod given;
    fill(&pod, &item, label);
    pod.set_aside = false;
#define HAS(change, field, has)                                                                    \
    pod.has_deadline = false;                                                                      \
    fill(&given, &item, label);                                                                    \
    assert_true(sl_pod_has_given(&pod, &given));                                                   \
    change;                                                                                        \
    if (sl_pod_has_given(&pod, &given) != (has)) {                                                 \
        fail_msg("%s", field);                                                                     \
    }
#define TEXT(name, none, kept) HAS(given.name = "x", #name, (kept) != GIVEN)
#define NUMBER(type, name, kept)                                                                   \
    HAS(given.name = 2, #name, (kept) != GIVEN && (kept) != TIMEOUT)                               \
    HAS((pod.has_deadline = true, given.name = 2), #name, (kept) != GIVEN)
#define FLAG(name, kept)                                                                           \
    HAS(given.name = false, #name, true)                                                           \
    HAS(pod.name = false, #name, (kept) != EVER)                                                   \
    pod.name = (kept) != NEVER;
    SL_POD_TEXTS(TEXT)
    SL_POD_NUMBERS(NUMBER)
    SL_POD_FLAGS(FLAG)
#undef TEXT
#undef NUMBER
#undef FLAG
#undef HAS
}

TEST_THAT(a_copy_has_every_field_but_those_that_go_into_none)
{
    struct sl_ask_item item = {.resource = "nvidia.com/gpu", .count = 1};
    const uint64_t label[2] = {1, 2};
    struct sl_pod pod;
    fill(&pod, &item, label);
    struct sl_pod *copy = sl_pod_bound_to(&pod, pod.node, pod.assignment, pod.phase);
    assert_non_null(copy);
    assert_false(sl_pod_same(copy, &pod));
    pod.set_aside = false;
    assert_true(sl_pod_same(copy, &pod));
    assert_true(copy->queued);
#define TEXT(name, none, kept) assert_ptr_not_equal(copy->name, pod.name);
    SL_POD_TEXTS(TEXT)
#undef TEXT
    sl_pod_unref(copy);
}
