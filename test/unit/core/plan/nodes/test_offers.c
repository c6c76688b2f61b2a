/* What nodes offer, and what becomes of nominations when they offer it no longer. */
#include "unit/core/plan/plan_rig.h"

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

/* A device goes, and the nomination with it. */
TEST_ON(struct plan_rig *rig, a_nomination_on_a_device_that_is_gone_is_given_back)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_start(rig, plan_rig_pod(rig, "x", GPU, 1, 100), "n1", GPU "=0");
    plan_rig_wait(rig, "a", 1, 50);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: " GPU "=1\n");
    rig->node[0].node.n_devices = 1;
    rig->node[0].pool[0].capacity = 1;
    assert_string_equal(plan_rig_plan(rig), "expire a on n1: NoRoom\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_share_on_a_device_that_shrank_is_given_back)
{
    plan_rig_share(plan_rig_node(rig, "n1", 2), 8);
    plan_rig_start(rig, plan_rig_pod(rig, "x", MEM, 4, 100), "n1", MEM "=0*4");
    plan_rig_put(rig, plan_rig_pod(rig, "a", MEM, 4, 50));
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: " MEM "=0*4\n");
    rig->node[0].device[0].memory_units = 7;
    rig->node[0].pool[0].capacity = 15;
    assert_string_equal(plan_rig_plan(rig),
                        "expire a on n1: NoRoom\nnomination a on n1: " MEM "=1*4\n");
}

/* Any part of it, not the first alone. */
TEST_THAT(a_nomination_of_which_one_device_falls_ill_is_given_back)
{
    for (unsigned ill = 0; ill < 2; ill++) {
        struct plan_rig *rig = plan_rig_new();
        (void)state;
        plan_rig_node(rig, "n1", 2);
        plan_rig_wait(rig, "a", 2, 50);
        assert_string_equal(plan_rig_plan(rig), "nomination a on n1: " GPU "=0,1\n");
        rig->node[0].device[ill].healthy = false;
        assert_string_equal(plan_rig_plan(rig), "expire a on n1: NoRoom\n");
        plan_rig_free(rig);
    }
}

/* A node that may be cut offers the instances of all its GPUs, whatever models they are. */
TEST_ON(struct plan_rig *rig, every_model_of_a_node_that_may_be_cut_is_offered)
{
    struct plan_rig_node *n = plan_rig_node(rig, "n1", 2);
    n->node.partition = (struct sl_partition){.actuator = SL_ACTUATOR_MIG_MANAGER};
    n->device[0].model = sl_mig_model_find(SL_STR("NVIDIA-A30"), 0);
    n->device[0].mig = true;
    n->device[1].model = sl_mig_model_find(SL_STR("NVIDIA-A100-SXM4-40GB"), 0);
    n->device[1].mig = true;
    n->node.n_pools = 0;
    n->node.dynamic_mig = true;
    plan_rig_put(rig, plan_rig_pod(rig, "a30", "nvidia.com/mig-2g.12gb", 1, 50));
    plan_rig_put(rig, plan_rig_pod(rig, "a100", "nvidia.com/mig-2g.10gb", 1, 50));
    plan_rig_put(rig, plan_rig_pod(rig, "h100", "nvidia.com/mig-2g.20gb", 1, 50));
    assert_string_equal(plan_rig_plan(rig), "refuse h100: Never\n");
    assert_string_equal(plan_rig_state(rig, "a30"), "Held NoRoom");
    assert_string_equal(plan_rig_state(rig, "a100"), "Held NoRoom");
}

/* Its plugin restarts, or GPUs are ill: the pod need not be changed. */
TEST_ON(struct plan_rig *rig, a_pod_waits_for_units_that_are_out_of_service)
{
    static struct sl_absent absent = {.units = 8};
    struct plan_rig_node *n = plan_rig_node(rig, "n1", 2);
    absent.key = sl_hash(GPU, strlen(GPU));
    n->node.absent = &absent;
    n->node.n_absent = 1;
    plan_rig_put(rig, plan_rig_pod(rig, "all", GPU, 8, 50));
    plan_rig_put(rig, plan_rig_pod(rig, "more", GPU, 9, 50));
    plan_rig_put(rig, plan_rig_pod(rig, "some", GPU, 2, 50)); /* nothing is kept for those before */
    assert_string_equal(plan_rig_plan(rig),
                        "refuse more: Never\nnomination some on n1: " GPU "=0,1\n");
    assert_string_equal(plan_rig_state(rig, "all"), "Held NoRoom");
}

static const char *reason_of(struct plan_rig *rig, const char *name)
{
    struct sl_queue_row row;
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, name, &row));
    return sl_hold_reason_name(row.reason);
}

static const char *text_of(struct plan_rig *rig, const char *name)
{
    static char text[256];
    struct sl_queue_row row;
    plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, name, &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    return text;
}

/* Makes two states of one node, with two GPUs in service and with so many, of eight. */
static void make_states(struct plan_rig *rig, struct plan_rig_node *state[2], unsigned in_service)
{
    static struct sl_absent absent = {.units = 8};
    absent.key = sl_hash(GPU, strlen(GPU));
    state[0] = plan_rig_node(rig, "n1", 2);
    state[1] = plan_rig_node(rig, "n1", in_service);
    state[1]->node.absent = &absent;
    state[1]->node.n_absent = 1;
    state[1]->node.n_pools = in_service > 0;
    state[1]->away = true;
}

static void turn(struct plan_rig_node *state[2])
{
    state[0]->away = !state[0]->away;
    state[1]->away = !state[1]->away;
}

TEST_ON(struct plan_rig *rig, the_text_says_that_units_are_out_of_service)
{
    struct plan_rig_node *n1[2];
    make_states(rig, n1, 1);
    plan_rig_start(rig, plan_rig_pod(rig, "x", GPU, 1, 100), "n1", GPU "=0");
    plan_rig_wait(rig, "a", 2, 50);
    assert_null(strstr(text_of(rig, "a"), "out of service"));
    turn(n1);
    assert_non_null(strstr(text_of(rig, "a"), "; the nodes that could take it do not offer all"));
    turn(n1);
    assert_null(strstr(text_of(rig, "a"), "out of service"));
}

TEST_ON(struct plan_rig *rig, what_a_device_class_offers_is_waited_for_and_said_to_be_so)
{
    struct sl_dra dra = {0};
    plan_rig_node(rig, "n1", 2);
    plan_rig_put(rig, plan_rig_pod(rig, "dra", "nvidia.com/mig-1g.5gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "never", "nvidia.com/mig-2g.10gb", 1, 100));
    plan_rig_put(rig, plan_rig_pod(rig, "large", GPU, 3, 100));
    assert_string_equal(reason_of(rig, "dra"), "Never");
    sl_dra_add(&dra, SL_STR("nvidia.com/mig-1g.5gb"));
    sl_dra_add(&dra, SL_STR(GPU)); /* a plugin offers it: DRA is not asked */
    sl_planner_set_dra(rig->planner, &dra);
    assert_string_equal(reason_of(rig, "dra"), "DeviceClass");
    assert_string_equal(plan_rig_state(rig, "dra"), "Held DeviceClass");
    struct sl_queue_row row;
    char text[256];
    assert_true(plan_rig_row(rig, "dra", &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    assert_string_equal(text, "held: a DeviceClass offers its resource (DRA), whose devices sliced "
                              "does not schedule");
    assert_string_equal(reason_of(rig, "never"), "Never");
    assert_string_equal(reason_of(rig, "large"), "Never");
    dra.n = 0;
    sl_planner_set_dra(rig->planner, &dra);
    assert_string_equal(reason_of(rig, "dra"), "Never");
}

/* GPUs that DRA gives have labels too, and no plugin will come to offer them. */
TEST_ON(struct plan_rig *rig, labels_of_gpus_do_not_hide_the_device_class)
{
    struct sl_dra dra = {0};
    struct plan_rig_node *n1[2];
    make_states(rig, n1, 0);
    turn(n1);
    plan_rig_put(rig, plan_rig_pod(rig, "a", GPU, 1, 100));
    assert_string_equal(reason_of(rig, "a"), "NoRoom");
    sl_dra_add(&dra, SL_STR(GPU));
    sl_planner_set_dra(rig->planner, &dra);
    assert_string_equal(reason_of(rig, "a"), "DeviceClass");
    dra.n = 0;
    sl_planner_set_dra(rig->planner, &dra);
    assert_string_equal(reason_of(rig, "a"), "NoRoom");
    dra.n = 1;
    sl_planner_set_dra(rig->planner, &dra);
    assert_string_equal(reason_of(rig, "a"), "DeviceClass");
    turn(n1); /* a plugin came after all */
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: " GPU "=0\n");
    turn(n1); /* and went */
    plan_rig_put(rig, plan_rig_pod(rig, "b", GPU, 1, 100));
    assert_string_equal(reason_of(rig, "b"), "DeviceClass");
}
