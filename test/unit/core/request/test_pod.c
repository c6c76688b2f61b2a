/* Pods: what is read from facts, timeouts, assignments, references. */
#include "facts_rig.h"

#include "core/request/count.h"
#include "core/request/pod_read.h"
#include "sliced/constraint.h"
#include "sliced/timeout.h"

struct pod_rig {
    struct facts_rig facts;
    struct sl_pod_facts pod;
    struct sl_pod *made;
};

static int set_up(void **state)
{
    struct pod_rig *rig = calloc(1, sizeof(*rig));
    assert_non_null(rig);
    facts_init(&rig->facts);
    rig->pod.name = SL_STR("train-0");
    rig->pod.namespace = SL_STR("team");
    rig->pod.uid = SL_STR("5e0b9b0c-7a53-4a0b-a58f-0d9a9f5f3b11");
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct pod_rig *rig = *state;
    sl_pod_unref(rig->made);
    facts_free(&rig->facts);
    free(rig);
    return 0;
}

static const struct sl_pod *make(struct pod_rig *rig)
{
    struct sl_error err = {0};
    sl_pod_unref(rig->made);
    rig->made = sl_pod_new(&rig->pod, &err);
    if (rig->made == NULL) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(err.code, SL_ERR_NONE);
    return rig->made;
}

static void asks(struct pod_rig *rig, const char *limits)
{
    rig->pod.containers = NULL;
    facts_container(&rig->facts, &rig->pod.containers, "main", NULL, limits);
}

static void annotate(struct pod_rig *rig, const char *key, const char *value)
{
    facts_pair(&rig->facts, &rig->pod.annotations, key, value);
}

/* The n-th change of the facts; false: there are no more. */
static bool change(struct pod_rig *rig, unsigned n)
{
    struct sl_pod_facts *pod = &rig->pod;
    switch (n) {
    case 0:
        pod->name = SL_STR("train-1");
        break;
    case 1:
        pod->namespace = SL_STR("other");
        break;
    case 2:
        pod->uid = SL_STR("u2");
        break;
    case 3:
        pod->node_name = SL_STR("n1");
        break;
    case 4:
        pod->nominated = SL_STR("n1");
        break;
    case 5:
        pod->phase = SL_STR("Running");
        break;
    case 6:
        pod->scheduler_name = SL_STR("another");
        break;
    case 7:
        pod->preemption_policy = SL_STR("Never");
        break;
    case 8:
        pod->created_us = 1;
        break;
    case 9:
        pod->started_us = 1;
        break;
    case 10:
        pod->deleting = true;
        pod->deleting_us = 1000000;
        break;
    case 11:
        pod->deadline_s = 90;
        break;
    case 12:
        pod->priority = 1;
        break;
    case 13:
        pod->tried = true;
        break;
    case 14:
        pod->daemon_set = true;
        break;
    case 15:
        pod->owner = SL_STR("Job/train");
        break;
    case 16:
        pod->affinity = true;
        break;
    case 17:
        asks(rig, "nvidia.com/gpu=2");
        break;
    case 18:
        asks(rig, "nvidia.com/mig-1g.5gb=1");
        break;
    case 19:
        asks(rig, "nvidia.com/gpu=9k");
        break;
    case 20:
        asks(rig, "nvidia.com/gpu=1 cpu=2");
        break;
    case 21:
        facts_pair(&rig->facts, &pod->labels, "app", "x");
        break;
    case 22:
        facts_pair(&rig->facts, &pod->node_selector, "zone", "a");
        break;
    case 23:
        facts_pair(&rig->facts, &pod->gates, "sliced.dev/queue", "");
        break;
    case 24:
        facts_pair(&rig->facts, &pod->gates, "example.com/other", "");
        break;
    case 25:
        annotate(rig, "sliced.dev/timeout", "1h");
        break;
    case 26:
        annotate(rig, "sliced.dev/timeout", "odd");
        break;
    case 27:
        annotate(rig, "sliced.dev/after", "job/a");
        break;
    case 28:
        annotate(rig, "sliced.dev/released", "now");
        break;
    case 29:
        annotate(rig, "sliced.dev/assignment", "nvidia.com/gpu=0");
        break;
    case 30:
        annotate(rig, "sliced.dev/gpu-memory", "4Gi");
        break;
    case 31:
        annotate(rig, "sliced.dev/min-gpu-memory", "4Gi");
        break;
    case 32:
        annotate(rig, "ALIYUN_COM_GPU_MEM_ASSIGNED", "true");
        break;
    default:
        return false;
    }
    return true;
}

static void two_pods_are_the_same_only_if_all_that_counts_is(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=1");
    const struct sl_pod_facts before = rig->pod;
    struct sl_pod *first = sl_pod_new(&before, NULL);
    assert_non_null(first);
    assert_true(sl_pod_same(first, make(rig)));
    for (unsigned i = 0; change(rig, i); i++) {
        if (sl_pod_same(first, make(rig))) {
            fail_msg("change %u is none", i);
        }
        rig->pod = before;
    }
    rig->pod.queued = true;
    assert_true(sl_pod_same(first, make(rig)));
    rig->pod.queued = false;
    annotate(rig, "example.com/note", "x");
    assert_true(sl_pod_same(first, make(rig)));
    sl_pod_unref(first);
}

static void every_field_is_kept_in_memory_of_its_own(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/mig-9g.99gb=2 aliyun.com/gpu-mem=3");
    facts_pair(&rig->facts, &rig->pod.labels, "app", "x");
    facts_pair(&rig->facts, &rig->pod.labels, "tier", "y");
    rig->pod.node_name = SL_STR("node-7");
    rig->pod.phase = SL_STR("Running");
    rig->pod.created_us = 1700000000000000;
    rig->pod.deadline_s = 90;
    rig->pod.priority = -5;
    rig->pod.deleting = true;
    const struct sl_pod *pod = make(rig);
    sl_arena_reset(&rig->facts.arena);
    memset(sl_arena_alloc(&rig->facts.arena, 4096), 'x', 4096); /* over the facts */
    assert_string_equal(pod->namespace, "team");
    assert_string_equal(pod->name, "train-0");
    assert_string_equal(pod->uid, "5e0b9b0c-7a53-4a0b-a58f-0d9a9f5f3b11");
    assert_string_equal(pod->node, "node-7");
    assert_int_equal(pod->phase, SL_POD_RUNNING);
    assert_int_equal(pod->created_us, 1700000000000000);
    assert_int_equal(pod->timeout_s, 90);
    assert_int_equal(pod->priority, -5);
    assert_true(pod->deleting);
    assert_null(pod->malformed);
    assert_null(pod->assignment);
    assert_null(pod->problem);
    assert_int_equal(pod->n_items, 2);
    assert_string_equal(pod->items[0].resource, "aliyun.com/gpu-mem");
    assert_int_equal(pod->items[1].count, 2);
    assert_int_equal(pod->items[0].count, 3);
    assert_int_equal(pod->items[1].kind, SL_KIND_MIG);
    assert_int_equal(pod->n_labels, 4);
    for (uint32_t i = 1; i < pod->n_labels; i++) {
        assert_true(pod->label[i - 1] < pod->label[i]);
    }
    struct sl_ask ask;
    sl_pod_ask(pod, &ask);
    assert_int_equal(ask.n, 2);
    assert_false(ask.malformed);
    assert_string_equal(ask.item[1].resource, "nvidia.com/mig-9g.99gb");
}

static void what_is_not_said_has_its_default(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod = (struct sl_pod_facts){.name = SL_STR("p")};
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->namespace, "default");
    assert_string_equal(pod->uid, "");
    assert_null(pod->node);
    assert_int_equal(pod->phase, SL_POD_PENDING);
    assert_int_equal(pod->timeout_s, 0);
    assert_int_equal(pod->n_items, 0);
}

static uint64_t owner_of(struct pod_rig *rig, const char *namespace, const char *owner)
{
    struct sl_error err = {0};
    rig->pod = (struct sl_pod_facts){
        .name = SL_STR("p"), .namespace = sl_str_of(namespace), .owner = sl_str_of(owner)};
    struct sl_pod *pod = sl_pod_new(&rig->pod, &err);
    assert_non_null(pod);
    uint64_t found = pod->owner;
    sl_pod_unref(pod);
    return found;
}

/* A user writes any reference on a pod, but never another namespace. */
static void an_owner_is_one_of_its_namespace(void **state)
{
    struct pod_rig *rig = *state;
    uint64_t owner = owner_of(rig, "team", "Job/train");
    assert_int_equal(owner_of(rig, "team", ""), 0);
    assert_int_not_equal(owner, 0);
    assert_int_equal(owner_of(rig, "team", "Job/train"), owner);
    assert_int_not_equal(owner_of(rig, "other", "Job/train"), owner);
    assert_int_not_equal(owner_of(rig, "team", "Job/train2"), owner);
    assert_int_not_equal(owner_of(rig, "team", "PyTorchJob/train"), owner);
    assert_int_not_equal(owner_of(rig, "te", "amJob/train"), owner);
    assert_int_equal(owner_of(rig, "", "Job/train"), owner_of(rig, "default", "Job/train"));
}

static void the_jobs_of_a_cron_job_count_as_one(void **state)
{
    struct pod_rig *rig = *state;
    uint64_t owner = owner_of(rig, "team", "Job/night-29123460");
    assert_int_equal(owner_of(rig, "team", "Job/night-29124900"), owner);
    assert_int_not_equal(owner_of(rig, "team", "Job/day-29124900"), owner);
    assert_int_not_equal(owner_of(rig, "team", "Job/night-1"),
                         owner_of(rig, "team", "Job/night-2"));
    assert_int_not_equal(owner_of(rig, "team", "ReplicaSet/a-29123460"),
                         owner_of(rig, "team", "ReplicaSet/a-29123461"));
    assert_int_not_equal(owner_of(rig, "team", "Job/29123460"),
                         owner_of(rig, "team", "Job/29123461"));
}

static void check_refused(struct pod_rig *rig, const char *message)
{
    struct sl_error err = {0};
    assert_null(sl_pod_new(&rig->pod, &err));
    assert_int_equal(err.code, SL_ERR_FIELD);
    assert_string_equal(err.message, message);
    assert_null(sl_pod_new(&rig->pod, NULL));
}

static void names_that_cannot_be_are_errors(void **state)
{
    struct pod_rig *rig = *state;
    char text[300];
    memset(text, 'a', sizeof(text));
    rig->pod.name = (struct sl_str){0};
    check_refused(rig, "metadata.name is missing");
    rig->pod.name = (struct sl_str){text, 254};
    check_refused(rig, "metadata.name is longer than Kubernetes allows");
    rig->pod.name = (struct sl_str){"a\0b", 3};
    check_refused(rig, "metadata.name holds a NUL character");
    rig->pod.name = (struct sl_str){text, 253};
    rig->pod.uid = (struct sl_str){text, 129};
    check_refused(rig, "metadata.uid is longer than Kubernetes allows");
    rig->pod.uid = (struct sl_str){text, 36};
    rig->pod.namespace = (struct sl_str){text, 64};
    check_refused(rig, "metadata.namespace is longer than Kubernetes allows");
    rig->pod.namespace = (struct sl_str){text, 63};
    rig->pod.node_name = (struct sl_str){text, 254};
    check_refused(rig, "spec.nodeName is longer than Kubernetes allows");
    rig->pod.node_name = (struct sl_str){text, 253};
    assert_int_equal(strlen(make(rig)->name), 253);
}

static void a_malformed_ask_makes_a_pod_that_says_so(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=500m");
    const struct sl_pod *pod = make(rig);
    assert_string_equal(
        pod->malformed,
        "container \"main\": limits[nvidia.com/gpu]: \"500m\" is not a whole number");
    assert_int_equal(pod->n_items, 0);
    struct sl_ask ask;
    sl_pod_ask(pod, &ask);
    assert_true(ask.malformed);
    assert_true(sl_pod_waits(pod));
}

/* Pods that stand on a node: what they may hold there, "name=count name=count". */
static void check_held(struct pod_rig *rig, const char *expected)
{
    char got[4096] = "";
    const struct sl_pod *pod = make(rig);
    assert_non_null(pod->malformed);
    for (unsigned i = 0; i < pod->n_items; i++) {
        size_t len = strlen(got);
        (void)snprintf(got + len, sizeof(got) - len, "%s%s=%lld", i > 0 ? " " : "",
                       pod->items[i].resource, (long long)pod->items[i].count);
    }
    assert_string_equal(got, expected);
}

static void what_stands_on_a_node_counts_though_it_is_malformed(void **state)
{
    struct pod_rig *rig = *state;
    static const struct {
        const char *requests;
        const char *limits;
        const char *held;
    } cases[] = {
        {NULL, "nvidia.com/gpu=2500m aliyun.com/gpu-mem=4",
         "aliyun.com/gpu-mem=4 nvidia.com/gpu=3"},
        {NULL, "nvidia.com/gpu=2 nvidia.com/mig-1g.6gb=one",
         "nvidia.com/gpu=2 nvidia.com/mig-1g.6gb=1"},
        {"nvidia.com/gpu=1", "nvidia.com/gpu=2", "nvidia.com/gpu=2"},
        {"nvidia.com/gpu=0", "nvidia.com/gpu=2", "nvidia.com/gpu=2"},
        {"nvidia.com/gpu=2", "nvidia.com/gpu=0", "nvidia.com/gpu=2"},
        {"nvidia.com/gpu=x", "nvidia.com/gpu=2", "nvidia.com/gpu=2"},
        {"nvidia.com/gpu=-1", "nvidia.com/gpu=2", "nvidia.com/gpu=2"},
        {NULL, "nvidia.com/gpu=-9999999999999999999 aliyun.com/gpu-mem=1", "aliyun.com/gpu-mem=1"},
        {NULL, "aliyun.com/gpu-mem=9223372036854775807 nvidia.com/gpu=1",
         "aliyun.com/gpu-mem=2147483647 nvidia.com/gpu=1"},
        {NULL, "aliyun.com/gpu-mem=16Ei nvidia.com/gpu=1",
         "aliyun.com/gpu-mem=2147483647 nvidia.com/gpu=1"},
        {NULL, "aliyun.com/gpu-mem=2147483648", "aliyun.com/gpu-mem=2147483647"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.containers = NULL;
        facts_container(&rig->facts, &rig->pod.containers, "c", cases[i].requests, cases[i].limits);
        rig->pod.node_name = (struct sl_str){0};
        assert_non_null(make(rig)->malformed);
        assert_int_equal(rig->made->n_items, 0);
        rig->pod.node_name = SL_STR("node-7");
        check_held(rig, cases[i].held);
        struct sl_ask ask;
        sl_pod_ask(rig->made, &ask);
        assert_true(ask.malformed);
    }
}

static void odd_numbers_of_one_container_leave_the_others_as_they_are(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod.node_name = SL_STR("node-7");
    asks(rig, "nvidia.com/gpu=2");
    facts_container(&rig->facts, &rig->pod.containers, "b", NULL, "nvidia.com/gpu=1.5");
    facts_container(&rig->facts, &rig->pod.init_containers, "i", "nvidia.com/gpu=1",
                    "nvidia.com/gpu=6");
    check_held(rig, "nvidia.com/gpu=6");
    rig->pod.init_containers->restart_always = true;
    check_held(rig, "nvidia.com/gpu=10");
    rig->pod.overhead = facts_pairs(&rig->facts, "nvidia.com/gpu=7Ei nvidia.com/mig-1g.6gb=500m");
    check_held(rig, "nvidia.com/gpu=2147483647 nvidia.com/mig-1g.6gb=1");
}

/* Names that nobody offers, which sort before those that are real. */
static void invent(struct pod_rig *rig, unsigned n, const char *count, const char *real)
{
    char text[64];
    struct sl_container_facts *c = NULL;
    rig->pod.containers = NULL;
    c = facts_container(&rig->facts, &rig->pod.containers, "c", NULL, NULL);
    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(text, sizeof(text), "nvidia.com/mig-0%05u=%s", i, count);
        struct sl_pair *pair = facts_pairs(&rig->facts, text);
        pair->next = c->limits;
        c->limits = pair;
    }
    struct sl_pair **end = &c->limits;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = facts_pairs(&rig->facts, real);
}

static int64_t held_of(const struct sl_pod *pod, const char *resource)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (strcmp(pod->items[i].resource, resource) == 0) {
            return pod->items[i].count;
        }
    }
    return 0;
}

static void invented_names_do_not_push_out_real_ones(void **state)
{
    struct pod_rig *rig = *state;
    static const unsigned numbers[] = {9, SL_POD_ITEMS_MAX, 5000};
    rig->pod.node_name = SL_STR("node-7");
    for (unsigned i = 0; i < 3; i++) {
        invent(rig, numbers[i], "1",
               "nvidia.com/mig-1g.5gb=3 nvidia.com/gpu=2 nvidia.com/mig-3g.20gb.shared=4");
        const struct sl_pod *pod = make(rig);
        assert_non_null(pod->malformed);
        assert_true(pod->n_items <= SL_POD_ITEMS_MAX);
        assert_int_equal(held_of(pod, "nvidia.com/gpu"), 2);
        assert_int_equal(held_of(pod, "nvidia.com/mig-1g.5gb"), 3);
        assert_int_equal(held_of(pod, "nvidia.com/mig-3g.20gb.shared"), 4);
        struct sl_pod *copy = sl_pod_bound_to(pod, "n", NULL, SL_POD_RUNNING);
        assert_int_equal(held_of(copy, "nvidia.com/gpu"), 2);
        sl_pod_unref(copy);
    }
}

/* Of the table itself, whole and shared, and as drivers round them: any of them may be real. */
static void profiles_of_all_boards_do_not_push_out_the_real_one(void **state)
{
    struct pod_rig *rig = *state;
    static const char *const real[] = {"nvidia.com/mig-7g.79gb", "nvidia.com/mig-4g.96gb.gfx",
                                       "nvidia.com/mig-1g.24gb.me.all.shared"};
    char text[128];
    rig->pod.node_name = SL_STR("node-7");
    rig->pod.containers = NULL;
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        for (unsigned i = 0; i < sl_mig_model_at(m)->n_profiles; i++) {
            const char *name = sl_mig_model_at(m)->profiles[i].resource;
            (void)snprintf(text, sizeof(text), "%s=1 %s.shared=1", name, name);
            facts_container(&rig->facts, &rig->pod.containers, "c", NULL, text);
        }
    }
    for (unsigned i = 0; i < 300; i++) {
        (void)snprintf(text, sizeof(text), "nvidia.com/mig-1g.%ugb=1", 1000 + i);
        facts_container(&rig->facts, &rig->pod.containers, "c", NULL, text);
    }
    (void)snprintf(text, sizeof(text), "%s=3 %s=3 %s=3", real[0], real[1], real[2]);
    facts_container(&rig->facts, &rig->pod.containers, "c", NULL, text);
    const struct sl_pod *pod = make(rig);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(held_of(pod, real[i]) >= 3);
    }
}

static void what_a_pod_wants_none_of_takes_no_room(void **state)
{
    struct pod_rig *rig = *state;
    invent(rig, 1000, "0", "nvidia.com/gpu=2");
    const struct sl_pod *pod = make(rig);
    assert_null(pod->malformed);
    assert_int_equal(pod->n_items, 1);
    assert_int_equal(pod->items[0].count, 2);
}

static void times_and_numbers_beyond_all_reason_are_cut(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod.created_us = INT64_MAX;
    rig->pod.started_us = INT64_MIN;
    rig->pod.deadline_s = INT64_MAX;
    rig->pod.deleting_us = INT64_MAX;
    facts_container(&rig->facts, &rig->pod.containers, "c", "cpu=9Ei memory=8191Pi", "cpu=1");
    facts_container(&rig->facts, &rig->pod.containers, "d", "cpu=7E memory=8191Pi", NULL);
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->created_us, INT64_C(1) << 53);
    assert_int_equal(pod->started_us, 0);
    assert_int_equal(pod->timeout_s, INT32_MAX);
    assert_int_equal(pod->gone_s, UINT32_MAX);
    rig->pod.deleting_us = -1000000;
    assert_int_equal(make(rig)->gone_s, 0);
    pod = rig->made;
    assert_int_equal(pod->constraints->cpu_milli, SL_HOST_MAX);
    assert_int_equal(pod->constraints->memory_bytes, SL_HOST_MAX);
}

static void a_node_that_no_node_can_be_called_is_shown(void **state)
{
    struct pod_rig *rig = *state;
    char longest[254];
    rig->pod.node_name = SL_STR("n\x1b[2J\xe2\x80\xae\n1");
    assert_string_equal(make(rig)->node, "n\\u001b[2J\\u202e\\u000a1");
    memset(longest, '\n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    rig->pod.node_name = sl_str_of(longest);
    assert_int_equal(strlen(make(rig)->node), 252);
    rig->pod.node_name = SL_STR("node-7.example.com");
    assert_string_equal(make(rig)->node, "node-7.example.com");
}

static void durations_are_read_as_go_does_and_rounded_up(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        {"1h30m", 5400},
        {"90s", 90},
        {"90", 90},
        {"1", 1},
        {"500ms", 1},
        {"1500ms", 2},
        {"1ns", 1},
        {"1us", 1},
        {"1\xc2\xb5s", 1},
        {"1\xce\xbcs", 1},
        {"2.5h", 9000},
        {"1.5s", 2},
        {".5m", 30},
        {"5.m", 300},
        {"1h0m0.000000001s", 3601},
        {"1m1m", 120},
        {"0.1s0.9s", 1},
        {"2147483647", 2147483647},
        {"2147483647s", 2147483647},
        {"1.99999999999999999999999999s", 2},
        {"0.000000001h", 1},
        {"0.999999999h", 3600},
        {"0.5ms", 1},
        {"1d", 86400},
        {"1.5d", 129600},
        {"1d12h", 129600},
        {"24855d", 2147472000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t seconds = -1;
        if (!sl_timeout_parse(sl_str_of(cases[i].text), &seconds) || seconds != cases[i].seconds) {
            fail_msg("\"%s\" gave %lld", cases[i].text, (long long)seconds);
        }
    }
}

static void other_text_is_no_timeout(void **state)
{
    (void)state;
    const char *texts[] = {"",
                           ".s",
                           ".h",
                           "1s.m",
                           "0",
                           "0s",
                           "-1",
                           "-1h",
                           "+1h",
                           "d",
                           "1day",
                           "2w",
                           "90min",
                           "1h 30m",
                           "596524h",
                           "24856d",
                           "h",
                           ".s",
                           "1 h",
                           "1h ",
                           "1.5",
                           "1h30",
                           "s1",
                           "0.0000000001s",
                           "1hh",
                           "1..5s",
                           "1e3s",
                           "2147483648",
                           "2147483648s",
                           "99999999999999999h",
                           "99999999999999999999",
                           "9223372036s9223372036s"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        int64_t seconds = -1;
        if (sl_timeout_parse(sl_str_of(texts[i]), &seconds)) {
            fail_msg("\"%s\" gave %lld", texts[i], (long long)seconds);
        }
        assert_int_equal(seconds, -1);
    }
}

static void the_deadline_goes_before_the_annotation(void **state)
{
    struct pod_rig *rig = *state;
    annotate(rig, "sliced.dev/timeout", "1h30m");
    assert_int_equal(make(rig)->timeout_s, 5400);
    assert_false(make(rig)->has_deadline);
    rig->pod.deadline_s = 60;
    assert_int_equal(make(rig)->timeout_s, 60);
    assert_true(make(rig)->has_deadline);
    rig->pod.deadline_s = INT64_MAX;
    assert_int_equal(make(rig)->timeout_s, INT32_MAX);
}

static void a_malformed_timeout_is_none_and_told(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=1");
    annotate(rig, "sliced.dev/timeout", "soon");
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->timeout_s, 0);
    assert_null(pod->malformed);
    assert_int_equal(pod->n_items, 1);
    assert_string_equal(pod->problem,
                        "annotation sliced.dev/timeout: \"soon\" cannot be read, expected such as "
                        "90m, 2h30m, 1d, of less than 24856 days: the default timeout counts");
}

static void the_assignment_is_kept_as_it_stands(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "aliyun.com/gpu-mem=8");
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "3");
    annotate(rig, "sliced.dev/assignment", "aliyun.com/gpu-mem=1*8");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=1*8");
}

/* Texts of pods are read on terminals. */
static void what_could_not_be_read_is_said_and_escaped(void **state)
{
    struct pod_rig *rig = *state;
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

static void an_assignment_too_long_is_ignored_and_told(void **state)
{
    struct pod_rig *rig = *state;
    char text[SL_ASSIGNMENT_TEXT_MAX + 2];
    memset(text, 'x', sizeof(text));
    text[SL_ASSIGNMENT_TEXT_MAX] = '\0';
    annotate(rig, "sliced.dev/assignment", text);
    assert_int_equal(strlen(make(rig)->assignment), SL_ASSIGNMENT_TEXT_MAX);
    text[SL_ASSIGNMENT_TEXT_MAX] = 'x';
    text[SL_ASSIGNMENT_TEXT_MAX + 1] = '\0';
    rig->pod.annotations = NULL;
    annotate(rig, "sliced.dev/timeout", "?");
    annotate(rig, "sliced.dev/assignment", text);
    const struct sl_pod *pod = make(rig);
    assert_null(pod->assignment);
    assert_non_null(strstr(pod->problem, "sliced.dev/timeout"));
    assert_non_null(strstr(pod->problem, "; annotation sliced.dev/assignment: "));
}

static void gpushares_index_becomes_an_assignment(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "aliyun.com/gpu-mem=8 cpu=1");
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "3");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=3*8");
    rig->pod.annotations = NULL;
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "0");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=0*8");
}

static void stages_with_a_nul_are_told(void **state)
{
    struct pod_rig *rig = *state;
    struct sl_pair after = {SL_STR("sliced.dev/after"), {"a\0b", 3}, NULL};
    rig->pod.annotations = &after;
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->problem, "annotation sliced.dev/after: has a NUL");
    assert_string_equal(pod->after, "?");
    rig->pod.annotations = NULL;
}

static void gpushares_index_is_passed_over_where_it_cannot_speak(void **state)
{
    struct pod_rig *rig = *state;
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "3");
    asks(rig, "aliyun.com/gpu-mem=8 nvidia.com/gpu=1");
    assert_null(make(rig)->assignment);
    asks(rig, "nvidia.com/gpu=1");
    assert_null(make(rig)->assignment);
    asks(rig, "cpu=1");
    assert_null(make(rig)->assignment);
    asks(rig, "aliyun.com/gpu-mem=8");
    rig->pod.annotations = NULL;
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "-1");
    assert_null(make(rig)->assignment);
    rig->pod.annotations = NULL;
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "first");
    assert_null(make(rig)->assignment);
}

static void a_bound_copy_differs_in_node_assignment_and_phase_only(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=2");
    annotate(rig, "sliced.dev/timeout", "x");
    rig->pod.priority = 9;
    rig->pod.created_us = 77;
    rig->pod.deleting = true;
    rig->pod.deleting_us = 3000000;
    rig->pod.tried = true;
    struct sl_pod *copy = sl_pod_bound_to(make(rig), "n1", "nvidia.com/gpu=0,1", SL_POD_RUNNING);
    assert_non_null(copy);
    sl_pod_unref(rig->made);
    rig->made = copy;
    sl_arena_reset(&rig->facts.arena);
    assert_string_equal(copy->node, "n1");
    assert_string_equal(copy->assignment, "nvidia.com/gpu=0,1");
    assert_int_equal(copy->phase, SL_POD_RUNNING);
    assert_string_equal(copy->name, "train-0");
    assert_string_equal(copy->namespace, "team");
    assert_int_equal(copy->n_items, 1);
    assert_string_equal(copy->items[0].resource, "nvidia.com/gpu");
    assert_int_equal(copy->items[0].count, 2);
    assert_int_equal(copy->priority, 9);
    assert_int_equal(copy->created_us, 77);
    assert_true(copy->deleting);
    assert_true(copy->tried);
    assert_int_equal(copy->gone_s, 3);
    assert_non_null(copy->problem);
    copy->gate = SL_GATE_OURS;
    copy->started_us = 78;
    copy->timeout_s = 79;
    copy->gpu_memory_mib = 80;
    copy->min_gpu_memory_mib = 81;
    copy->has_deadline = copy->never_preempts = copy->plugin_took = true;
    copy->daemon_set = copy->gate_seen = copy->released = true;
    copy->owner = 82;
    struct sl_pod *other = sl_pod_bound_to(copy, "n1", "nvidia.com/gpu=0,1", SL_POD_RUNNING);
    assert_int_equal(other->gate, SL_GATE_OURS);
    assert_int_equal(other->started_us, 78);
    assert_int_equal(other->timeout_s, 79);
    assert_int_equal(other->gpu_memory_mib, 80);
    assert_int_equal(other->min_gpu_memory_mib, 81);
    assert_true(other->has_deadline && other->never_preempts && other->plugin_took);
    assert_true(other->daemon_set && other->gate_seen && other->released);
    assert_true(other->scheduler == copy->scheduler && other->scheduler != 0);
    assert_int_equal(other->owner, 82);
    sl_pod_unref(other);
    struct sl_pod *plain = sl_pod_bound_to(copy, "n2", NULL, SL_POD_PENDING);
    assert_null(plain->assignment);
    assert_string_equal(plain->node, "n2");
    sl_pod_unref(plain);
}

static void phases_are_read_and_named(void **state)
{
    struct pod_rig *rig = *state;
    const char *names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    for (int i = 0; i < 5; i++) {
        rig->pod.phase = sl_str_of(names[i]);
        assert_int_equal(make(rig)->phase, i);
        assert_string_equal(sl_pod_phase_name((enum sl_pod_phase)i), names[i]);
    }
    rig->pod.phase = SL_STR("running");
    assert_int_equal(make(rig)->phase, SL_POD_UNKNOWN);
}

static void a_bound_pod_holds_until_it_has_finished(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=1");
    assert_false(sl_pod_holds(make(rig)));
    rig->pod.node_name = SL_STR("n");
    assert_true(sl_pod_holds(make(rig)));
    rig->pod.deleting = true;
    assert_true(sl_pod_holds(make(rig)));
    rig->pod.phase = SL_STR("Succeeded");
    assert_false(sl_pod_holds(make(rig)));
    rig->pod.phase = SL_STR("Failed");
    assert_false(sl_pod_holds(make(rig)));
    rig->pod.phase = SL_STR("Unknown");
    assert_true(sl_pod_holds(make(rig)));
}

static void a_pod_waits_that_could_still_be_bound(void **state)
{
    struct pod_rig *rig = *state;
    assert_false(sl_pod_waits(make(rig)));
    asks(rig, "nvidia.com/gpu=1");
    assert_true(sl_pod_waits(make(rig)));
    rig->pod.deleting = true;
    assert_false(sl_pod_waits(make(rig)));
    rig->pod.deleting = false;
    rig->pod.phase = SL_STR("Failed");
    assert_false(sl_pod_waits(make(rig)));
    rig->pod.phase = SL_STR("Pending");
    rig->pod.node_name = SL_STR("n");
    assert_false(sl_pod_waits(make(rig)));
}

static void the_last_reference_frees(void **state)
{
    struct pod_rig *rig = *state;
    (void)make(rig);
    assert_ptr_equal(sl_pod_ref(rig->made), rig->made);
    sl_pod_unref(rig->made);
    assert_string_equal(rig->made->name, "train-0");
    sl_pod_unref(NULL);
}

/* ---- what the queue and the plan need ---- */

static void the_gate_is_ours_only_when_it_is_the_only_one(void **state)
{
    struct pod_rig *rig = *state;
    assert_int_equal(make(rig)->gate, SL_GATE_NONE);
    facts_pair(&rig->facts, &rig->pod.gates, "sliced.dev/queue", "");
    assert_int_equal(make(rig)->gate, SL_GATE_OURS);
    facts_pair(&rig->facts, &rig->pod.gates, "example.com/quota", "");
    assert_int_equal(make(rig)->gate, SL_GATE_OTHERS);
    rig->pod.gates = rig->pod.gates->next;
    assert_int_equal(make(rig)->gate, SL_GATE_OTHERS);
}

static void what_the_queue_needs_is_kept_by_a_bound_copy_too(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod.nominated = SL_STR("n-2");
    rig->pod.started_us = 12;
    rig->pod.preemption_policy = SL_STR("Never");
    rig->pod.labels = facts_pairs(&rig->facts, "app=a team=b");
    rig->pod.node_selector = facts_pairs(&rig->facts, "zone=a");
    facts_pair(&rig->facts, &rig->pod.gates, "sliced.dev/queue", "");
    annotate(rig, "sliced.dev/after", "job/prepare");
    annotate(rig, "sliced.dev/gpu-memory", "5Gi");
    annotate(rig, "sliced.dev/min-gpu-memory", "4000");
    for (int copied = 0; copied < 2; copied++) {
        const struct sl_pod *pod = make(rig);
        if (copied == 1) {
            struct sl_pod *copy = sl_pod_bound_to(pod, "n", NULL, SL_POD_RUNNING);
            sl_pod_unref(rig->made);
            rig->made = copy;
            pod = copy;
            sl_arena_reset(&rig->facts.arena);
        }
        assert_string_equal(pod->nominated, "n-2");
        assert_string_equal(pod->after, "job/prepare");
        assert_int_equal(pod->gate, SL_GATE_OURS);
        assert_int_equal(pod->started_us, 12);
        assert_int_equal(pod->gpu_memory_mib, 5120);
        assert_int_equal(pod->min_gpu_memory_mib, 4000);
        assert_true(pod->never_preempts);
        assert_null(pod->problem);
        assert_int_equal(pod->n_labels, 4);
        assert_int_equal(pod->constraints->n_selector, 1);
        assert_string_equal(pod->constraints->selector[0].key, "zone");
        assert_string_equal(pod->constraints->selector[0].value[0], "a");
    }
}

static void a_pod_that_says_nothing_of_this_has_none_of_it(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod.preemption_policy = SL_STR("PreemptLowerPriority");
    annotate(rig, "sliced.dev/after", "");
    const struct sl_pod *pod = make(rig);
    assert_null(pod->nominated);
    assert_null(pod->after);
    assert_null(pod->constraints);
    assert_null(pod->problem);
    assert_int_equal(pod->started_us, 0);
    assert_int_equal(pod->gpu_memory_mib, 0);
    assert_int_equal(pod->n_labels, 0);
    assert_false(pod->never_preempts);
}

static void gpu_memory_is_a_quantity_or_a_number_of_mebibytes(void **state)
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
    struct pod_rig *rig = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig->pod.annotations = NULL;
        annotate(rig, "sliced.dev/gpu-memory", cases[i].text);
        const struct sl_pod *pod = make(rig);
        assert_int_equal(pod->gpu_memory_mib, cases[i].mib);
        assert_int_equal(pod->problem == NULL, cases[i].mib > 0);
    }
}

static void gpu_memory_is_of_all_items_but_shares_of_memory(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "aliyun.com/gpu-mem=3 nvidia.com/gpu=1");
    annotate(rig, "sliced.dev/gpu-memory", "5Gi");
    annotate(rig, "sliced.dev/min-gpu-memory", "9Gi");
    const struct sl_pod *pod = make(rig);
    assert_int_equal(pod->items[0].memory_mib, 0);
    assert_int_equal(pod->items[0].least_mib, 0);
    assert_int_equal(pod->items[1].memory_mib, 5120);
    assert_int_equal(pod->items[1].least_mib, 9216);
}

static void each_annotation_that_is_passed_over_is_named(void **state)
{
    struct pod_rig *rig = *state;
    annotate(rig, "sliced.dev/timeout", "soon");
    annotate(rig, "sliced.dev/min-gpu-memory", "much");
    assert_string_equal(
        make(rig)->problem,
        "annotation sliced.dev/timeout: \"soon\" cannot be read, expected such as 90m, 2h30m, 1d, "
        "of less than 24856 days: the default timeout counts; annotation "
        "sliced.dev/min-gpu-memory: \"much\" is not an amount of "
        "memory such as \"5Gi\" or \"5120\" (MiB): ignored");
}

static void what_is_kept_of_stages_and_labels_is_bounded(void **state)
{
    struct pod_rig *rig = *state;
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

static void labels_are_kept_as_hashes_in_order(void **state)
{
    struct pod_rig *rig = *state;
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

static void fifty_thousand_pods_fit_in_twenty_four_mebibytes(void **state)
{
    (void)state;
    const size_t names = sizeof("team-a") + sizeof("train-resnet50-7d9c5b6f4-x2k8q") + 37 +
                         sizeof("gpu-node-0123") + sizeof("nvidia.com/mig-1g.6gb") +
                         sizeof("nvidia.com/mig-1g.6gb=0/3");
    const size_t words = sizeof(struct sl_constraints) + 8 * sizeof(uint64_t); /* four labels */
    const size_t one = sizeof(struct sl_pod) + sizeof(struct sl_ask_item) + words + names + 16;
    assert_true(50000 * one <= (size_t)24 << 20);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* Changes one thing that is given a pod when it is bound. */
static void change_given(struct sl_pod *pod, struct sl_ask_item *item, unsigned which)
{
    switch (which) {
    case 0:
        pod->n_items = 0;
        break;
    case 1:
        item->key++;
        break;
    case 2:
        item->count++;
        break;
    case 3:
        item->memory_mib++;
        break;
    case 4:
        item->least_mib++;
        break;
    case 5:
        item->gpus++;
        break;
    case 6:
        pod->node = "n2";
        break;
    case 7:
        pod->node = NULL;
        break;
    case 8:
        pod->assignment = "nvidia.com/gpu=1";
        break;
    case 9:
        pod->malformed = "";
        break;
    case 10:
        pod->gpu_memory_mib++;
        break;
    case 11:
        pod->min_gpu_memory_mib++;
        break;
    case 12:
        pod->timeout_s++;
        break;
    case 13:
        pod->gate_seen = true;
        break;
    case 14:
        pod->plugin_took = true;
        break;
    default:
        fail();
    }
}

static void a_pod_has_what_it_was_given_when_nothing_of_it_differs(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 15; which++) {
        struct sl_ask_item item[2] = {{.key = 7, .count = 1}, {.key = 7, .count = 1}};
        struct sl_pod pod = {.node = "n1",
                             .assignment = "nvidia.com/gpu=0",
                             .n_items = 1,
                             .items = &item[0],
                             .timeout_s = 60};
        struct sl_pod given = pod;
        given.items = &item[1];
        assert_true(sl_pod_has_given(&pod, &given));
        change_given(&given, &item[1], which);
        assert_false(sl_pod_has_given(&pod, &given));
    }
}

static void its_own_deadline_and_what_it_has_besides_make_no_difference(void **state)
{
    (void)state;
    const struct sl_pod given = {.node = "n1", .timeout_s = 60};
    struct sl_pod pod = given;
    pod.timeout_s = 30;
    pod.has_deadline = true;
    pod.gate_seen = true;
    pod.plugin_took = true;
    assert_true(sl_pod_has_given(&pod, &given));
}

static void texts_of_one_letter_are_kept(void **state)
{
    struct pod_rig *rig = *state;
    rig->pod = (struct sl_pod_facts){.namespace = SL_STR("n"),
                                     .name = SL_STR("p"),
                                     .uid = SL_STR("u"),
                                     .node_name = SL_STR("o")};
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->namespace, "n");
    assert_string_equal(pod->name, "p");
    assert_string_equal(pod->uid, "u");
    assert_string_equal(pod->node, "o");
}

static void a_share_of_memory_may_be_parted_over_gpus(void **state)
{
    static const struct {
        const char *label;
        int gpus;
        bool told;
    } cases[] = {{"1", 1, false}, {"4", 4, false}, {"8", 8, false}, {"3", 1, true},
                 {"0", 1, true},  {"-2", 1, true}, {"65", 1, true}, {"x", 1, true}};
    struct pod_rig *rig = *state;
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

static void a_pod_keeps_what_it_was_given_whatever_is_edited(void **state)
{
    struct pod_rig *rig = *state;
    asks(rig, "nvidia.com/gpu=2");
    struct sl_pod given = *make(rig);
    struct sl_pod pod = given;
    struct sl_ask_item edited = {.resource = "nvidia.com/gpu", .count = 9};
    given.node = "n1";
    given.assignment = "nvidia.com/gpu=0,1";
    given.timeout_s = 60;
    given.gate_seen = true;
    given.plugin_took = true;
    pod.items = &edited;
    pod.timeout_s = 30;
    struct sl_pod *made = sl_pod_given(&pod, &given, SL_POD_RUNNING);
    assert_non_null(made);
    assert_true(sl_pod_has_given(made, &given));
    assert_int_equal(made->items[0].count, 2);
    assert_string_equal(made->node, "n1");
    assert_string_equal(made->assignment, "nvidia.com/gpu=0,1");
    assert_int_equal(made->phase, SL_POD_RUNNING);
    assert_int_equal(made->timeout_s, 60);
    sl_pod_unref(made);
    pod.has_deadline = true; /* which Kubernetes enforces */
    given.gate_seen = false;
    given.plugin_took = false;
    made = sl_pod_given(&pod, &given, SL_POD_RUNNING);
    assert_int_equal(made->timeout_s, 30);
    assert_false(made->gate_seen);
    assert_false(made->plugin_took);
    sl_pod_unref(made);
}

static void a_label_of_512_bytes_is_kept_and_a_longer_one_told(void **state)
{
    struct pod_rig *rig = *state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_pods_are_the_same_only_if_all_that_counts_is, set_up,
                                        tear_down),
        TEST(every_field_is_kept_in_memory_of_its_own),
        TEST(what_is_not_said_has_its_default),
        TEST(an_owner_is_one_of_its_namespace),
        TEST(the_jobs_of_a_cron_job_count_as_one),
        TEST(names_that_cannot_be_are_errors),
        TEST(a_malformed_ask_makes_a_pod_that_says_so),
        TEST(what_stands_on_a_node_counts_though_it_is_malformed),
        TEST(odd_numbers_of_one_container_leave_the_others_as_they_are),
        TEST(invented_names_do_not_push_out_real_ones),
        TEST(profiles_of_all_boards_do_not_push_out_the_real_one),
        TEST(what_a_pod_wants_none_of_takes_no_room),
        TEST(a_node_that_no_node_can_be_called_is_shown),
        TEST(times_and_numbers_beyond_all_reason_are_cut),
        cmocka_unit_test(durations_are_read_as_go_does_and_rounded_up),
        cmocka_unit_test(other_text_is_no_timeout),
        TEST(the_deadline_goes_before_the_annotation),
        TEST(a_malformed_timeout_is_none_and_told),
        TEST(the_assignment_is_kept_as_it_stands),
        TEST(an_assignment_too_long_is_ignored_and_told),
        TEST(what_could_not_be_read_is_said_and_escaped),
        TEST(gpushares_index_becomes_an_assignment),
        TEST(stages_with_a_nul_are_told),
        TEST(gpushares_index_is_passed_over_where_it_cannot_speak),
        TEST(a_bound_copy_differs_in_node_assignment_and_phase_only),
        TEST(phases_are_read_and_named),
        TEST(a_bound_pod_holds_until_it_has_finished),
        TEST(a_pod_waits_that_could_still_be_bound),
        TEST(the_last_reference_frees),
        TEST(the_gate_is_ours_only_when_it_is_the_only_one),
        TEST(what_the_queue_needs_is_kept_by_a_bound_copy_too),
        TEST(a_pod_that_says_nothing_of_this_has_none_of_it),
        TEST(gpu_memory_is_a_quantity_or_a_number_of_mebibytes),
        TEST(gpu_memory_is_of_all_items_but_shares_of_memory),
        TEST(each_annotation_that_is_passed_over_is_named),
        TEST(what_is_kept_of_stages_and_labels_is_bounded),
        TEST(labels_are_kept_as_hashes_in_order),
        cmocka_unit_test(fifty_thousand_pods_fit_in_twenty_four_mebibytes),
        TEST(a_pod_has_what_it_was_given_when_nothing_of_it_differs),
        TEST(its_own_deadline_and_what_it_has_besides_make_no_difference),
        TEST(texts_of_one_letter_are_kept),
        TEST(a_share_of_memory_may_be_parted_over_gpus),
        TEST(a_pod_keeps_what_it_was_given_whatever_is_edited),
        TEST(a_label_of_512_bytes_is_kept_and_a_longer_one_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
