/* Whose pods the queue plans for. */
#include "facts_rig.h"

#include "sliced/pod.h"

static struct sl_pod pod_of(const char *scheduler, enum sl_gate gate)
{
    return (struct sl_pod){.scheduler = sl_hash(scheduler, strlen(scheduler)), .gate = gate};
}

static void pods_of_other_schedulers_are_not_queued_unless_they_have_our_gate(void **state)
{
    struct sl_pod ours = pod_of("sliced-scheduler", SL_GATE_NONE);
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    struct sl_pod gated = pod_of("default-scheduler", SL_GATE_OURS);
    (void)state;
    assert_true(sl_pod_is_queued(&ours, SL_STR("sliced-scheduler"), false));
    assert_false(sl_pod_is_queued(&other, SL_STR("sliced-scheduler"), false));
    assert_true(sl_pod_is_queued(&gated, SL_STR("sliced-scheduler"), false));
}

static void without_a_name_all_pods_are_queued(void **state)
{
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    (void)state;
    assert_true(sl_pod_is_queued(&other, SL_STR(""), false));
}

/* Kubernetes writes the name of the default into every pod; manifests may leave it out. */
static void a_pod_that_names_no_scheduler_is_the_default_ones(void **state)
{
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u")};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    (void)state;
    assert_non_null(pod);
    assert_true(sl_pod_is_queued(pod, SL_STR("default-scheduler"), false));
    assert_false(sl_pod_is_queued(pod, SL_STR("sliced-scheduler"), false));
    sl_pod_unref(pod);
}

/* It is for one node, and for no other it could wait. */
static void pods_of_a_daemon_set_are_queued_only_behind_our_gate(void **state)
{
    struct sl_pod pod = pod_of("s", SL_GATE_NONE);
    (void)state;
    pod.daemon_set = true;
    for (int gated = 0; gated < 2; gated++) {
        pod.gate = SL_GATE_NONE;
        assert_false(sl_pod_is_queued(&pod, SL_STR(""), gated != 0));
        pod.gate = SL_GATE_OTHERS;
        assert_false(sl_pod_is_queued(&pod, SL_STR("s"), gated != 0));
        pod.gate = SL_GATE_OURS;
        assert_true(sl_pod_is_queued(&pod, SL_STR("s"), gated != 0));
    }
}

static void where_all_get_the_gate_only_those_who_had_it_are_queued(void **state)
{
    struct sl_pod pod = pod_of("s", SL_GATE_NONE);
    (void)state;
    assert_true(sl_pod_is_queued(&pod, SL_STR("s"), false));
    assert_false(sl_pod_is_queued(&pod, SL_STR("s"), true));
    assert_false(sl_pod_is_queued(&pod, SL_STR(""), true));
    pod.released = true;
    assert_true(sl_pod_is_queued(&pod, SL_STR("s"), true));
    assert_false(sl_pod_is_queued(&pod, SL_STR("other"), true));
    pod.released = false;
    pod.gate = SL_GATE_OURS;
    assert_true(sl_pod_is_queued(&pod, SL_STR("s"), true));
    pod.gate = SL_GATE_OTHERS;
    assert_true(sl_pod_is_queued(&pod, SL_STR("s"), true));
}

static void what_the_queue_and_a_daemon_set_wrote_on_a_pod_is_read(void **state)
{
    struct sl_pair released = {SL_STR("sliced.dev/released"), SL_STR("2026-11-21T00:00:00Z"), NULL};
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u")};
    struct sl_pod *plain = sl_pod_new(&facts, NULL);
    facts.annotations = &released;
    facts.daemon_set = true;
    struct sl_pod *both = sl_pod_new(&facts, NULL);
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_of_other_schedulers_are_not_queued_unless_they_have_our_gate),
        cmocka_unit_test(without_a_name_all_pods_are_queued),
        cmocka_unit_test(a_pod_that_names_no_scheduler_is_the_default_ones),
        cmocka_unit_test(pods_of_a_daemon_set_are_queued_only_behind_our_gate),
        cmocka_unit_test(where_all_get_the_gate_only_those_who_had_it_are_queued),
        cmocka_unit_test(what_the_queue_and_a_daemon_set_wrote_on_a_pod_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
