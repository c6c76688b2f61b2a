/* Whose pods the queue plans for. */
#include "rig.h"

#include "server/queue.h"

static struct sl_pod pod_of(const char *scheduler, enum sl_gate gate)
{
    return (struct sl_pod){.scheduler = sl_hash(scheduler, strlen(scheduler)), .gate = gate};
}

static void pods_of_other_schedulers_are_not_ours_unless_they_have_our_gate(void **state)
{
    struct sl_config config = {.queue.scheduler = "sliced-scheduler"};
    struct sl_pod ours = pod_of("sliced-scheduler", SL_GATE_NONE);
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    struct sl_pod gated = pod_of("default-scheduler", SL_GATE_OURS);
    (void)state;
    assert_true(sl_queue_is_ours(&config, &ours));
    assert_false(sl_queue_is_ours(&config, &other));
    assert_true(sl_queue_is_ours(&config, &gated));
}

static void without_a_name_all_pods_are_ours(void **state)
{
    struct sl_config config = {.queue.scheduler = ""};
    struct sl_pod other = pod_of("default-scheduler", SL_GATE_NONE);
    (void)state;
    assert_true(sl_queue_is_ours(&config, &other));
}

/* Kubernetes writes the name of the default into every pod; manifests may leave it out. */
static void a_pod_that_names_no_scheduler_is_the_default_ones(void **state)
{
    struct sl_config config = {.queue.scheduler = "default-scheduler"};
    struct sl_store *store = rig_store(RIG_POD("p", "u", "nvidia.com/gpu", "1"));
    struct sl_pod *pod = sl_store_pod(store, SL_STR("default"), SL_STR("p"));
    (void)state;
    assert_non_null(pod);
    assert_true(sl_queue_is_ours(&config, pod));
    (void)snprintf(config.queue.scheduler, sizeof(config.queue.scheduler), "sliced-scheduler");
    assert_false(sl_queue_is_ours(&config, pod));
    sl_pod_unref(pod);
    sl_store_free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_of_other_schedulers_are_not_ours_unless_they_have_our_gate),
        cmocka_unit_test(without_a_name_all_pods_are_ours),
        cmocka_unit_test(a_pod_that_names_no_scheduler_is_the_default_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
