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
    assert_true(sl_pod_is_queued(&ours, SL_STR("sliced-scheduler")));
    assert_false(sl_pod_is_queued(&other, SL_STR("sliced-scheduler")));
    assert_true(sl_pod_is_queued(&gated, SL_STR("sliced-scheduler")));
}

static void without_a_name_all_pods_are_queued(void **state)
{
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    (void)state;
    assert_true(sl_pod_is_queued(&other, SL_STR("")));
}

/* Kubernetes writes the name of the default into every pod; manifests may leave it out. */
static void a_pod_that_names_no_scheduler_is_the_default_ones(void **state)
{
    struct sl_pod_facts facts = {.name = SL_STR("p"), .uid = SL_STR("u")};
    struct sl_pod *pod = sl_pod_new(&facts, NULL);
    (void)state;
    assert_non_null(pod);
    assert_true(sl_pod_is_queued(pod, SL_STR("default-scheduler")));
    assert_false(sl_pod_is_queued(pod, SL_STR("sliced-scheduler")));
    sl_pod_unref(pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_of_other_schedulers_are_not_queued_unless_they_have_our_gate),
        cmocka_unit_test(without_a_name_all_pods_are_queued),
        cmocka_unit_test(a_pod_that_names_no_scheduler_is_the_default_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
