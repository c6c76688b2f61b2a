/* Whose pods the queue plans for. */
#include "facts_rig.h"

#include "sliced/pod.h"

static struct sl_pod pod_of(const char *scheduler, enum sl_gate gate)
{
    return (struct sl_pod){.namespace = "default",
                           .scheduler = sl_hash(scheduler, strlen(scheduler)),
                           .gate = gate,
                           .gate_seen = gate == SL_GATE_OURS};
}

static const struct sl_queue_trusted agents[] = {{"monitoring"}, {"agents"}};

static bool is_queued(const struct sl_pod *pod, const char *scheduler, bool gated)
{
    const struct sl_queue_scope scope = {sl_str_of(scheduler), gated, agents, 2};
    return sl_pod_is_queued(pod, &scope);
}

TEST_THAT(pods_of_other_schedulers_are_not_queued_unless_they_have_our_gate)
{
    struct sl_pod ours = pod_of("sliced-scheduler", SL_GATE_NONE);
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    struct sl_pod gated = pod_of("default-scheduler", SL_GATE_OURS);
    assert_true(is_queued(&ours, "sliced-scheduler", false));
    assert_false(is_queued(&other, "sliced-scheduler", false));
    assert_true(is_queued(&gated, "sliced-scheduler", false));
}

TEST_THAT(without_a_name_all_pods_are_queued)
{
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    assert_true(is_queued(&other, "", false));
}

/* Kubernetes writes the name of the default into every pod; manifests may leave it out. */
TEST_THAT(a_pod_that_names_no_scheduler_is_the_default_ones)
{
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u")};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    assert_non_null(pod);
    assert_true(is_queued(pod, "default-scheduler", false));
    assert_false(is_queued(pod, "sliced-scheduler", false));
    sl_pod_unref(pod);
}

/* It is for one node, and for no other it could wait. */
TEST_THAT(pods_of_a_daemon_set_that_is_believed_are_queued_only_behind_our_gate)
{
    static const char *const namespaces[] = {"kube-system", "monitoring", "agents"};
    struct sl_pod pod = pod_of("s", SL_GATE_NONE);
    pod.daemon_set = true;
    for (int i = 0; i < 6; i++) {
        bool gated = i >= 3;
        pod.namespace = namespaces[i % 3];
        pod.gate = SL_GATE_NONE;
        assert_false(is_queued(&pod, "", gated));
        pod.gate = SL_GATE_OTHERS;
        assert_false(is_queued(&pod, "s", gated));
        pod.gate = SL_GATE_OURS;
        assert_true(is_queued(&pod, "s", gated));
    }
}

/* Whoever makes a pod says whose it is. */
TEST_THAT(who_names_a_daemon_set_elsewhere_waits_as_others_do)
{
    static const char *const namespaces[] = {"default", "kube", "kube-systems", "monitorin", ""};
    struct sl_pod pod = pod_of("s", SL_GATE_NONE);
    pod.daemon_set = true;
    for (int i = 0; i < 10; i++) {
        pod.namespace = namespaces[i % 5];
        assert_true(is_queued(&pod, "s", i >= 5));
        assert_false(is_queued(&pod, "other", i >= 5));
    }
    pod.daemon_set = false;
    pod.namespace = "kube-system";
    assert_true(is_queued(&pod, "s", false));
}

TEST_THAT(whoever_takes_the_gate_off_stays_in_the_queue)
{
    struct sl_pod pod = pod_of("default-scheduler", SL_GATE_OURS);
    pod.daemon_set = true;
    pod.namespace = "kube-system";
    pod.gate = SL_GATE_NONE;
    assert_true(is_queued(&pod, "s", true));
    assert_true(is_queued(&pod, "s", false));
    pod.gate = SL_GATE_OTHERS;
    assert_true(is_queued(&pod, "s", true));
}

TEST_THAT(where_all_get_the_gate_only_those_who_had_it_are_queued)
{
    struct sl_pod pod = pod_of("s", SL_GATE_NONE);
    assert_true(is_queued(&pod, "s", false));
    assert_false(is_queued(&pod, "s", true));
    assert_false(is_queued(&pod, "", true));
    pod.released = true;
    assert_true(is_queued(&pod, "s", true));
    assert_false(is_queued(&pod, "other", true));
    pod.released = false;
    pod.gate = SL_GATE_OURS;
    assert_true(is_queued(&pod, "s", true));
    pod.gate = SL_GATE_OTHERS;
    assert_true(is_queued(&pod, "s", true));
}

TEST_THAT(what_the_queue_and_a_daemon_set_wrote_on_a_pod_is_read)
{
    struct sl_pair released = {SL_STR("sliced.dev/released"), SL_STR("2026-11-21T00:00:00Z"), NULL};
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u")};
    struct sl_pod *plain = sl_pod_new(&facts, NULL);
    facts.annotations = &released;
    facts.daemon_set = true;
    struct sl_pod *both = sl_pod_new(&facts, NULL);
    assert_non_null(plain);
    assert_non_null(both);
    struct sl_pod *bound = sl_pod_bound_to(both, "n", NULL, SL_POD_RUNNING);
    assert_non_null(bound);
    assert_false(plain->daemon_set || plain->released);
    assert_true(both->daemon_set && both->released);
    assert_true(bound->daemon_set && bound->released);
    sl_pod_unref(plain);
    sl_pod_unref(both);
    sl_pod_unref(bound);
}
