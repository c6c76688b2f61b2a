/* A pod that is bound: its assignment, the copy that stands on a node, and what it was given there.
 */
#include "pod_rig.h"

#include "sliced/constraint.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct pod_rig *rig, the_assignment_is_kept_as_it_stands)
{
    asks(rig, "aliyun.com/gpu-mem=8");
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "3");
    annotate(rig, "sliced.dev/assignment", "aliyun.com/gpu-mem=1*8");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=1*8");
}

TEST_ON(struct pod_rig *rig, an_assignment_too_long_is_ignored_and_told)
{
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

TEST_ON(struct pod_rig *rig, gpushares_index_becomes_an_assignment)
{
    asks(rig, "aliyun.com/gpu-mem=8 cpu=1");
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "3");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=3*8");
    rig->pod.annotations = NULL;
    annotate(rig, "ALIYUN_COM_GPU_MEM_IDX", "0");
    assert_string_equal(make(rig)->assignment, "aliyun.com/gpu-mem=0*8");
}

TEST_ON(struct pod_rig *rig, gpushares_index_is_passed_over_where_it_cannot_speak)
{
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

TEST_ON(struct pod_rig *rig, a_bound_copy_differs_in_node_assignment_and_phase_only)
{
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
    struct sl_pod *plain = sl_pod_bound_to(copy, "n2", NULL, SL_POD_PENDING);
    assert_null(plain->assignment);
    assert_string_equal(plain->node, "n2");
    sl_pod_unref(plain);
}

TEST_ON(struct pod_rig *rig, what_the_queue_needs_is_kept_by_a_bound_copy_too)
{
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

TEST_ON(struct pod_rig *rig, a_bound_pod_holds_until_it_has_finished)
{
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

/* Fields and items: test_pod_same.c. */
TEST_THAT(an_ask_that_differs_is_not_what_a_pod_was_given)
{
    struct sl_ask_item item[] = {{.key = 7, .count = 1}, {.key = 7, .count = 1}};
    struct sl_pod pod = {.n_items = 1, .items = &item[0]};
    struct sl_pod given = {.n_items = 1, .items = &item[1]};
    assert_true(sl_pod_has_given(&pod, &given));
    item[1].count = 2;
    assert_false(sl_pod_has_given(&pod, &given));
    item[1].count = 1;
    given.n_items = 0;
    assert_false(sl_pod_has_given(&pod, &given));
}

TEST_ON(struct pod_rig *rig, a_pod_keeps_what_it_was_given_whatever_is_edited)
{
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
