/* Which nodes are drained, for whom and until when. */
#include "unit/core/cut/cut_rig.h"

#define SINGLE "nvidia.com/mig.strategy=single"

static int set_up_drains(void **state)
{
    int rc = set_up(state);
    struct cut_rig *rig = *state;
    rig->input.drain = true;
    return rc;
}

/* ---- until when ---- */

TEST_FIXTURE(set_up_drains, tear_down)

TEST_ON(struct cut_rig *rig, a_node_drains_until_as_much_has_ended_as_is_needed)
{
    static const struct {
        const char *asks;
        const char *told;
    } rows[] = {
        {"mig-4g.20gb=1", "drain node-0 for 0 until 600 s\n"},
        {"mig-4g.20gb=2", "drain node-0 for 0 until 900 s\n"},
        {"mig-4g.20gb=3", ""}, /* one pod states no deadline */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb 2g.10gb", "7g.40gb");
        rig_run(rig, node, "mig-3g.20gb=1", 900);
        rig_run(rig, node, "mig-2g.10gb=1", 300);
        rig_run(rig, node, "mig-2g.10gb=1", 600);
        rig_run(rig, node, "mig-7g.40gb=1", 0);
        (void)rig_wait(rig, rows[i].asks, NULL);
        assert_string_equal(rig_told(rig), rows[i].told);
        rig_clear(rig);
    }
}

/* Slices have no place: their sum counts. */
static struct sl_cut_wait wait_of(struct cut_rig *rig, const struct sl_pod *pod)
{
    struct sl_cut_wait wait;
    const struct sl_cut_drain *drain = &rig->output.drain[0];
    sl_cut_wait_find(rig->view[drain->view], pod, drain, rig_now, &wait);
    return wait;
}

static void set_namespace(struct cut_rig *rig, size_t node, size_t pod, const char *namespace)
{
    rig->node[node].running[pod]->namespace = namespace;
    rig_view(rig, node);
}

TEST_ON(struct cut_rig *rig, what_a_drain_waits_for_is_told_without_the_names_of_others)
{
    (void)MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb 2g.10gb", "1g.5gb 1g.5gb");
    rig_run(rig, 0, "mig-1g.5gb=1 mig-3g.20gb=1", 600);
    rig_run(rig, 0, "mig-3g.20gb=1", 300);
    rig_run(rig, 0, "mig-2g.10gb=1", 900);
    rig_run(rig, 0, "mig-1g.5gb=1", 0); /* nobody knows when it ends */
    const struct sl_cut_pod *pod = rig_wait(rig, "mig-7g.40gb=1", NULL);
    set_namespace(rig, 0, 1, "theirs");
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    struct sl_cut_wait wait = wait_of(rig, pod->pod);
    assert_int_equal(rig->output.drain[0].n_devices, 1);
    assert_int_equal(rig->output.drain[0].device, 0);
    assert_int_equal(wait.n_own, 1);
    assert_ptr_equal(wait.own[0], rig->node[0].running[0]);
    assert_int_equal(wait.n_others, 1);
    set_namespace(rig, 0, 0, "theirs");
    wait = wait_of(rig, pod->pod);
    assert_int_equal(wait.n_own, 0);
    assert_int_equal(wait.n_others, 2);
}

TEST_ON(struct cut_rig *rig, more_pods_than_are_named_are_counted)
{
    (void)NOS(rig, A100, "1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb*");
    for (unsigned i = 0; i < 7; i++) {
        rig_run(rig, 0, "mig-1g.5gb=1", 600);
    }
    const struct sl_cut_pod *pod = rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    struct sl_cut_wait wait = wait_of(rig, pod->pod);
    assert_int_equal(wait.n_own, 7);
    assert_int_equal(wait.n_others, 0);
}

TEST_ON(struct cut_rig *rig, a_node_drains_for_a_slice_of_memory)
{
    static const struct {
        const char *ask;
        const char *told;
    } rows[] = {
        {"gpu-20gb=1", "drain node-0 for 0 until 300 s\n"},
        {"gpu-40gb=1", "drain node-0 for 0 until 600 s\n"},
        {"gpu-60gb=1", "drain node-0 for 0 until 900 s\n"},
        {"gpu-80gb=1", ""}, /* one pod states no deadline */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t node = SHARED(rig, 80, "10gb* 10gb* 20gb* 20gb* 20gb*");
        rig_run(rig, node, "gpu-20gb=1", 600);
        rig_run(rig, node, "gpu-20gb=1", 300);
        rig_run(rig, node, "gpu-20gb=1", 900);
        rig_run(rig, node, "gpu-10gb=1", 0);
        rig_run(rig, node, "gpu-10gb=1", 0);
        (void)rig_wait(rig, rows[i].ask, NULL);
        assert_string_equal(rig_told(rig), rows[i].told);
        rig_clear(rig);
    }
}

TEST_ON(struct cut_rig *rig, a_drain_saves_more_waiting_than_the_cut_takes)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    struct sl_cut_pod *pod = rig_wait(rig, "mig-7g.40gb=1", NULL);
    pod->start_us = rig_now + 720 * rig_second; /* 600 s, and twice the 60 s of a cut */
    assert_string_equal(rig_told(rig), "");
    pod->start_us++;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* A pod that should have ended is about to. */
TEST_ON(struct cut_rig *rig, a_pod_past_its_deadline_ends_now)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    rig->node[node].running[0]->started_us = rig_now - 629 * rig_second;
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 0 s\n");
    rig->node[node].running[0]->started_us = 0; /* it has yet to start */
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* Whichever of the two instances is held for good. */
TEST_ON(struct cut_rig *rig, what_nos_reports_in_use_stays_unless_its_pod_ends)
{
    static const char *const holds[][2] = {{"mig-4g.20gb=1", "mig-3g.20gb=1"},
                                           {"mig-3g.20gb=1", "mig-4g.20gb=1"}};
    for (unsigned i = 0; i < 2; i++) {
        size_t node = NOS(rig, A100, "4g.20gb* 3g.20gb*");
        rig_run(rig, node, holds[i][0], 600);
        rig_run(rig, node, holds[i][1], 0);
        (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
        assert_string_equal(rig_told(rig), "");
        rig_clear(rig);
    }
}

/* Nobody ends a pod for what it says of itself. */
TEST_ON(struct cut_rig *rig, a_timeout_that_is_not_enforced_frees_nothing)
{
    struct rig_node *node = &rig->node[MANAGED(rig, A100, "3g.20gb 3g.20gb")];
    node->running[0] =
        rig_pod(rig, node->node->name, "mig-3g.20gb=1", "sliced.dev/timeout=600s", 0);
    node->n_running = 1;
    assert_int_equal(node->running[0]->timeout_s, 600);
    rig_view(rig, 0);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_pod_of_two_resources_holds_both_until_it_ends)
{
    size_t node = MANAGED(rig, A100, "1g.5gb", "2g.10gb");
    rig_run(rig, node, "mig-1g.5gb=1 mig-2g.10gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    rig_run(rig, node, "mig-1g.5gb=1", 300); /* GPU 0 is as free as it will be, GPU 1 is not */
    rig->n_pods = 0;
    sl_pod_unref(rig->waiting[0]);
    (void)rig_wait(rig, "mig-7g.40gb=2", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

TEST_ON(struct cut_rig *rig, gpus_that_are_cut_together_drain_together)
{
    size_t node =
        rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS("7g.40gb", "1g.5gb 1g.5gb"));
    rig_run(rig, node, "mig-7g.40gb=1", 300);
    rig_run(rig, node, "mig-1g.5gb=1", 900);
    (void)rig_wait(rig, "gpu=3", "sliced.dev/min-gpu-memory=18Gi");
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
}

/* ---- what is not free then ---- */

/* Only the kubelet knows which of them is whose. */
TEST_ON(struct cut_rig *rig, whole_gpus_drain_until_the_last_of_their_pods_has_ended)
{
    size_t node = MANAGED(rig, A100, NULL, NULL);
    rig->input.limits.mig_mode = true;
    rig_run(rig, node, "gpu=1", 300);
    rig_run(rig, node, "gpu=1", 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
    rig->node[node].node->pool[0].kind = SL_KIND_MEMORY; /* shares: no cut may end them */
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, no_node_drains_whose_replicas_no_cut_may_end)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    rig->node[node].node->pool[0].kind = SL_KIND_REPLICA;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, no_node_drains_for_a_gpu_that_is_unhealthy_or_unknown)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    rig_run(rig, node, "mig-2g.10gb=1", 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->node[node].node->device[0].healthy = false;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
    rig->node[node].node->device[0].healthy = true;
    rig->node[node].node->device[0].model = NULL;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
    rig->node[node].node->device[1].healthy = false;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "");
}

/* What the agent calls in use though no pod holds it nobody will end. */
TEST_ON(struct cut_rig *rig, an_instance_that_no_pod_holds_outlasts_a_drain)
{
    size_t node = NOS(rig, A100, "3g.20gb* 1g.5gb*");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    rig_run(rig, node, "mig-1g.5gb=1", 900);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
}

/* A GPU of nos is not drained for what cannot be told of it: an instance of no known profile. */
TEST_ON(struct cut_rig *rig, a_gpu_with_an_instance_of_no_profile_is_not_drained)
{
    size_t node = NOS(rig, A100, "3g.20gb* 1g.5gb*");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    rig_run(rig, node, "mig-1g.5gb=1", 0);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    for (unsigned i = 0; i < 2; i++) {
        struct sl_instance *instance = &rig->node[node].node->instance[i];
        instance->profile = instance->profile->memory == 1 ? NULL : instance->profile;
    }
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_node_whose_pods_hold_what_it_does_not_show_is_not_drained)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1 mig-1g.5gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    rig_clear(rig); /* whatever was read of another node before */
    rig_run(rig, MANAGED(rig, A100, "3g.20gb 3g.20gb"), "mig-3g.20gb=1", 900);
    rig_run(rig, MANAGED(rig, A100, "3g.20gb 3g.20gb"), "mig-3g.20gb=1 mig-1g.5gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 900 s\n");
}

/* ---- which node ---- */

static size_t busy(struct cut_rig *rig, int64_t deadline_s)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", deadline_s);
    return node;
}

TEST_ON(struct cut_rig *rig, a_node_that_may_not_be_cut_is_not_drained)
{
    size_t out = busy(rig, 100);
    size_t withheld = busy(rig, 200);
    size_t theirs = busy(rig, 300);
    size_t cordoned = busy(rig, 400);
    (void)busy(rig, 900);
    rig->site[out].out = true;
    rig->node[withheld].node->partition.cut = "sliced-0123-1";
    rig_view(rig, withheld);
    rig->node[theirs].node->partition.actuator = SL_ACTUATOR_NONE;
    rig->node[cordoned].node->unschedulable = true;
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-4 for 0 until 900 s\n");
}

TEST_ON(struct cut_rig *rig, a_node_that_is_cut_now_or_drains_already_is_not_drained_again)
{
    size_t first = busy(rig, 600);
    (void)busy(rig, 900);
    (void)busy(rig, 1200);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1 mig-3g.20gb=1", NULL); /* two drains are enough */
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n"
                                       "drain node-1 for 1 until 900 s\n");
    rig_clear(rig);
    first = MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb");
    rig_run(rig, first, "mig-3g.20gb=1", 600);
    (void)busy(rig, 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL); /* GPU 1 of the first node is cut for it */
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 7g.40gb: 0\n"
                                       "drain node-1 for 1 until 900 s\n");
}

/* One look is enough for pods of one ask that follow each other. */
TEST_ON(struct cut_rig *rig, pods_of_one_ask_get_one_drain)
{
    (void)busy(rig, 600);
    (void)busy(rig, 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* Pods of other profiles go on to start there. */
TEST_ON(struct cut_rig *rig, only_what_the_drained_gpu_has_is_drained)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb 2g.10gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    rig_run(rig, node, "mig-2g.10gb=1", 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    assert_int_equal(rig->output.drain[0].n_keys, 1);
    static const char name[] = "nvidia.com/mig-3g.20gb";
    assert_int_equal(rig->output.drain[0].key[0], sl_hash(name, strlen(name)));
}

/* The first of them starts soon without a cut, the last would wait for an hour. */
TEST_ON(struct cut_rig *rig, a_node_drains_for_the_one_of_an_ask_that_has_waited_the_longest)
{
    (void)busy(rig, 600);
    rig_wait(rig, "mig-7g.40gb=1", NULL)->start_us = rig_now + 60 * rig_second;
    struct sl_cut_pod *last = rig_wait(rig, "mig-7g.40gb=1", NULL);
    last->start_us = rig_now + 60 * rig_second;
    assert_string_equal(rig_told(rig), "");
    last->start_us = rig_now + 3600 * rig_second;
    last->ready_us = rig_now - rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 1 until 600 s\n");
}

/* ---- whom it would hold up ---- */

TEST_ON(struct cut_rig *rig, a_promise_for_what_the_node_does_not_have_bears_a_drain)
{
    (void)busy(rig, 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    struct sl_cut_pod *promised = rig_wait(rig, "mig-2g.10gb=1", NULL);
    promised->start_us = rig_now + 600 * rig_second;
    promised->latest_us = rig_now + 100 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    rig->pod[0].latest_us = rig_now + 100 * rig_second; /* its own: it cannot start earlier */
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

TEST_ON(struct cut_rig *rig, a_promise_to_a_pod_ahead_holds_too)
{
    (void)busy(rig, 600);
    struct sl_cut_pod *promised = rig_wait(rig, "mig-3g.20gb=2", NULL);
    promised->start_us = rig_now + 60 * rig_second;
    promised->latest_us = rig_now + 659 * rig_second;
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    promised->latest_us = rig_now + 660 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 1 until 600 s\n");
}

/* Under a stream of small pods, some promise is always due soon. */
TEST_ON(struct cut_rig *rig, a_pod_that_waited_long_does_not_wait_for_promises_to_those_behind)
{
    (void)busy(rig, 600);
    struct sl_cut_pod *large = rig_wait(rig, "mig-7g.40gb=1", NULL);
    struct sl_cut_pod *promised = rig_wait(rig, "mig-3g.20gb=1", NULL);
    promised->start_us = rig_now + 30 * rig_second;
    promised->latest_us = rig_now + 60 * rig_second;
    large->ready_us = rig_now - 450 * rig_second; /* it may run for an hour */
    assert_string_equal(rig_told(rig), "");
    large->ready_us--;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
    promised->ready_us = large->ready_us; /* it came no later */
    assert_string_equal(rig_told(rig), "");
    promised->ready_us = rig_now;
    large->timeout_us = rig_second; /* with the drain and the cut it waits for 754 s */
    large->ready_us = rig_now - 94 * rig_second;
    assert_string_equal(rig_told(rig), "");
    large->ready_us -= rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* ---- drains that there are ---- */

/* Just after a pod has ended, nos' agent tells of it still. */
TEST_ON(struct cut_rig *rig, a_drain_goes_on_while_a_report_lags)
{
    (void)MANAGED(rig, A30, "4g.24gb"); /* nothing to the pod */
    size_t node = NOS(rig, A100, "3g.20gb* 3g.20gb*");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 700 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-1 for 0 until 700 s\n");
    rig->site[node].drains_until_us = rig_now - 29 * rig_second; /* they are slow to end */
    assert_string_equal(rig_told(rig), "drain node-1 for 0 until -29 s\n");
    rig->site[node].drains_until_us = rig_now - 30 * rig_second;
    assert_string_equal(rig_told(rig), "");
}

/* Small pods would take what has come free until the cut begins. */
TEST_ON(struct cut_rig *rig, a_drain_goes_on_until_the_cut_begins)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 60 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n"
                                       "drain node-0 for 0 until 60 s\n");
}

TEST_ON(struct cut_rig *rig, a_node_that_drains_is_not_cut_for_those_behind)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb", "7g.40gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=2", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 3x 2g.10gb: 1\n");
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 600 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

TEST_ON(struct cut_rig *rig, a_drain_ends_when_another_node_is_cut)
{
    size_t node = busy(rig, 600);
    (void)MANAGED(rig, A100, "3g.20gb 3g.20gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 900 * rig_second;
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 1x 7g.40gb: 0\n");
}

TEST_ON(struct cut_rig *rig, a_drain_ends_earlier_when_pods_do)
{
    size_t node = busy(rig, 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 900 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* Its turn came before that of the pod for which the node drains. */
TEST_ON(struct cut_rig *rig, a_pod_ahead_gets_the_drain_of_one_behind)
{
    size_t first = busy(rig, 600);
    size_t second = busy(rig, 900);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1 mig-2g.10gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=2", NULL);
    rig->site[first].drains_for = 3;
    rig->site[first].drains_until_us = rig_now + 600 * rig_second;
    rig->site[second].drains_for = 2;
    rig->site[second].drains_until_us = rig_now + 900 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n"
                                       "drain node-1 for 1 until 900 s\n");
}

/* A container may take as long to end as its owner lets it. */
TEST_ON(struct cut_rig *rig, a_pod_long_past_its_deadline_may_stay)
{
    size_t node = busy(rig, 600);
    rig->node[node].running[0]->started_us = rig_now - 630 * rig_second;
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_drain_ends_when_its_pod_has_room)
{
    size_t node = busy(rig, 600);
    struct sl_cut_pod *large = rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->site[node].drains_for = 1;
    rig->site[node].drains_until_us = rig_now + 900 * rig_second;
    large->has_room = true;
    assert_string_equal(rig_told(rig), "");
}
