/* What is read of a pod's facts and kept: names, owners, gates, phases, and how much room that
 * takes. */
#include "pod_rig.h"

#include "sliced/constraint.h"

/* The n-th change of a list in the facts; false: there are no more. Fields: test_pod_same.c. */
static bool change(struct pod_rig *rig, unsigned n)
{
    static const char *const ask[] = {"nvidia.com/gpu=2", "nvidia.com/mig-1g.5gb=1",
                                      "nvidia.com/gpu=9k", "nvidia.com/gpu=1 cpu=2"};
    enum { ASKS = sizeof(ask) / sizeof(ask[0]) };
    struct sl_pair **const list[] = {&rig->pod.labels, &rig->pod.node_selector, &rig->pod.gates};
    if (n < ASKS) {
        asks(rig, ask[n]);
    } else if (n < ASKS + sizeof(list) / sizeof(list[0])) {
        facts_pair(&rig->facts, list[n - ASKS], "zone", "a");
    } else {
        rig->pod.affinity = true;
    }
    return n <= ASKS + sizeof(list) / sizeof(list[0]);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct pod_rig *rig, two_pods_are_the_same_only_if_their_lists_are)
{
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
    rig->pod = before;
    annotate(rig, "example.com/note", "x");
    assert_true(sl_pod_same(first, make(rig)));
    sl_pod_unref(first);
}

TEST_ON(struct pod_rig *rig, every_field_is_kept_in_memory_of_its_own)
{
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

TEST_ON(struct pod_rig *rig, what_is_not_said_has_its_default)
{
    rig->pod = (struct sl_pod_facts){.name = SL_STR("p")};
    const struct sl_pod *pod = make(rig);
    assert_string_equal(pod->namespace, "default");
    assert_string_equal(pod->uid, "");
    assert_null(pod->node);
    assert_int_equal(pod->phase, SL_POD_PENDING);
    assert_int_equal(pod->timeout_s, 0);
    assert_int_equal(pod->n_items, 0);
}

TEST_ON(struct pod_rig *rig, texts_of_one_letter_are_kept)
{
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
TEST_ON(struct pod_rig *rig, an_owner_is_one_of_its_namespace)
{
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

TEST_ON(struct pod_rig *rig, the_jobs_of_a_cron_job_count_as_one)
{
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

TEST_ON(struct pod_rig *rig, names_that_cannot_be_are_errors)
{
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

TEST_ON(struct pod_rig *rig, a_node_that_no_node_can_be_called_is_shown)
{
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

TEST_ON(struct pod_rig *rig, the_gate_is_ours_only_when_it_is_the_only_one)
{
    assert_int_equal(make(rig)->gate, SL_GATE_NONE);
    facts_pair(&rig->facts, &rig->pod.gates, "sliced.dev/queue", "");
    assert_int_equal(make(rig)->gate, SL_GATE_OURS);
    facts_pair(&rig->facts, &rig->pod.gates, "example.com/quota", "");
    assert_int_equal(make(rig)->gate, SL_GATE_OTHERS);
    rig->pod.gates = rig->pod.gates->next;
    assert_int_equal(make(rig)->gate, SL_GATE_OTHERS);
}

TEST_ON(struct pod_rig *rig, a_pod_that_says_nothing_of_this_has_none_of_it)
{
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

TEST_ON(struct pod_rig *rig, phases_are_read_and_named)
{
    const char *names[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown"};
    for (int i = 0; i < 5; i++) {
        rig->pod.phase = sl_str_of(names[i]);
        assert_int_equal(make(rig)->phase, i);
        assert_string_equal(sl_pod_phase_name((enum sl_pod_phase)i), names[i]);
    }
    rig->pod.phase = SL_STR("running");
    assert_int_equal(make(rig)->phase, SL_POD_UNKNOWN);
}

TEST_ON(struct pod_rig *rig, a_pod_waits_that_could_still_be_bound)
{
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

TEST_ON(struct pod_rig *rig, the_last_reference_frees)
{
    (void)make(rig);
    assert_ptr_equal(sl_pod_ref(rig->made), rig->made);
    sl_pod_unref(rig->made);
    assert_string_equal(rig->made->name, "train-0");
    sl_pod_unref(NULL);
}

TEST_THAT(fifty_thousand_pods_fit_in_twenty_four_mebibytes)
{
    const size_t names = sizeof("team-a") + sizeof("train-resnet50-7d9c5b6f4-x2k8q") + 37 +
                         sizeof("gpu-node-0123") + sizeof("nvidia.com/mig-1g.6gb") +
                         sizeof("nvidia.com/mig-1g.6gb=0/3");
    const size_t words = sizeof(struct sl_constraints) + 8 * sizeof(uint64_t); /* four labels */
    const size_t one = sizeof(struct sl_pod) + sizeof(struct sl_ask_item) + words + names + 16;
    assert_true(50000 * one <= (size_t)24 << 20);
}
