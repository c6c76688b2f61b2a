/* Asks that lie or cannot be understood, and numbers beyond all reason: what a pod counts for all
 * the same. */
#include "pod_rig.h"

#include "core/request/count.h"
#include "sliced/constraint.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct pod_rig *rig, a_malformed_ask_makes_a_pod_that_says_so)
{
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

static int64_t held_of(const struct sl_pod *pod, const char *resource)
{
    for (unsigned i = 0; i < pod->n_items; i++) {
        if (strcmp(pod->items[i].resource, resource) == 0) {
            return pod->items[i].count;
        }
    }
    return 0;
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

TEST_ON(struct pod_rig *rig, what_stands_on_a_node_counts_though_it_is_malformed)
{
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

TEST_ON(struct pod_rig *rig, odd_numbers_of_one_container_leave_the_others_as_they_are)
{
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

TEST_ON(struct pod_rig *rig, invented_names_do_not_push_out_real_ones)
{
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
TEST_ON(struct pod_rig *rig, profiles_of_all_boards_do_not_push_out_the_real_one)
{
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

TEST_ON(struct pod_rig *rig, what_a_pod_wants_none_of_takes_no_room)
{
    invent(rig, 1000, "0", "nvidia.com/gpu=2");
    const struct sl_pod *pod = make(rig);
    assert_null(pod->malformed);
    assert_int_equal(pod->n_items, 1);
    assert_int_equal(pod->items[0].count, 2);
}

TEST_ON(struct pod_rig *rig, times_and_numbers_beyond_all_reason_are_cut)
{
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

/* As of a pod that is told with another's UID: what else is wrong with it is still said. */
TEST_ON(struct pod_rig *rig, a_pod_that_loses_its_uid_keeps_all_else)
{
    asks(rig, "nvidia.com/gpu=2");
    annotate(rig, "sliced.dev/timeout", "?");
    const struct sl_pod *pod = make(rig);
    struct sl_pod *without = sl_pod_without_uid(pod);
    assert_non_null(without);
    assert_string_equal(without->uid, "");
    assert_string_equal(without->name, pod->name);
    assert_true(sl_pod_same_ask(without, pod));
    assert_true(sl_str_starts(sl_str_of(without->problem), SL_STR("metadata.uid: another pod")));
    assert_true(sl_str_ends(sl_str_of(without->problem), sl_str_of(pod->problem)));
    sl_pod_unref(without);
}
