/* Nodes of nos in MPS mode: GPUs are cut into slices of memory. */
#include "unit/core/cut/cut_rig.h"

#include "core/cut/node/node.h"

/* A size is a resource of its own: nvidia.com/gpu-10gb. */
static void wait_for(struct cut_rig *rig, unsigned gb)
{
    char ask[32];
    (void)snprintf(ask, sizeof(ask), "gpu-%ugb=1", gb);
    (void)rig_wait(rig, ask, NULL);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_whole_gpu_is_cut_into_slices_that_pods_wait_for)
{
    (void)SHARED(rig, 80, NULL);
    wait_for(rig, 10);
    wait_for(rig, 10);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 8x 10gb: 0 1\n");
}

/* The plugin gives a container one slice, and each container of a pod one. */
TEST_ON(struct cut_rig *rig, a_pod_gets_a_slice_for_each_of_its_containers)
{
    (void)SHARED(rig, 80, NULL);
    (void)rig_wait(rig, "gpu-30gb=2", NULL);
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "gpu-30gb=2", NULL);
    rig->waiting[1]->items[0].each = 1;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 30gb: 1\n");
}

/* An H100 has 82 GB by nos' count. */
TEST_ON(struct cut_rig *rig, an_h100_is_cut_into_two_slices_of_40_gb)
{
    (void)rig_node(rig, SL_ACTUATOR_NOS_MPS, "NVIDIA-H100-80GB-HBM3",
                   "nos.nebuly.com/gpu-partitioning=mps nvidia.com/gpu.memory=81559",
                   GPUS("40gb*"));
    rig_run(rig, 0, "gpu-40gb=1", 0);
    wait_for(rig, 40);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 40gb: 0\n");
}

/* Returns how many slices of a size the first plan's GPUs will have. */
static unsigned planned(const struct cut_rig *rig, unsigned gb)
{
    const struct sl_cut_plan *plan = &rig->output.plan[0];
    unsigned sum = 0;
    for (unsigned i = 0; i < plan->n_cuts; i++) {
        for (unsigned k = 0; k < plan->cut[i].n_sizes; k++) {
            sum += plan->cut[i].slices[k].gb == gb ? plan->cut[i].slices[k].n : 0;
        }
    }
    return sum;
}

/* More than 255 slices of one size, and a pod for whose two sizes all are put anew. */
TEST_ON(struct cut_rig *rig, many_slices_of_a_plan_are_all_kept)
{
    enum { SMALL = 300 };
    (void)SHARED(rig, 80, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    for (unsigned i = 0; i < SMALL; i++) {
        wait_for(rig, 1);
    }
    (void)rig_wait(rig, "gpu-70gb=1 gpu-69gb=1", NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_pods, SMALL + 1);
    assert_in_range(planned(rig, 1), SMALL, UINT16_MAX);
    assert_int_equal(planned(rig, 69), 1);
    assert_int_equal(planned(rig, 70), 1);
}

TEST_ON(struct cut_rig *rig, gpus_that_are_shared_in_another_way_are_left_alone)
{
    size_t node = SHARED(rig, 80, "80gb", NULL);
    wait_for(rig, 10);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 8x 10gb: 0\n");
    assert_string_equal(rig->node[node].node->pool[0].resource, "nvidia.com/gpu");
    rig->node[node].node->pool[0].kind = SL_KIND_REPLICA;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_gpu_with_more_slices_than_can_be_counted_is_left_alone)
{
    char gpu[4 * (SL_CUT_SLICES_MAX + 1) + 1] = "";
    for (unsigned i = 0; i < SL_CUT_SLICES_MAX; i++) {
        memcpy(gpu + strlen(gpu), "1gb ", 5);
    }
    (void)SHARED(rig, 80, gpu);
    wait_for(rig, 40);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 40x 1gb + 1x 40gb: 0\n");
    memcpy(gpu + strlen(gpu), "1gb ", 5);
    rig_clear(rig);
    (void)SHARED(rig, 80, gpu);
    wait_for(rig, 40);
    assert_string_equal(rig_told(rig), "");
}

/* Sizes that found no room in the end leave their place in the list to others. */
TEST_ON(struct cut_rig *rig, sizes_that_fit_nowhere_keep_out_no_other)
{
    (void)SHARED(rig, 80, NULL);
    wait_for(rig, 70);
    for (unsigned gb = 20; gb < 20 + 2 * SL_MIG_PROFILES_MAX; gb++) {
        wait_for(rig, gb);
    }
    wait_for(rig, 9);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 9gb + 1x 70gb: 0 25\n");
}

/* A GPU is told of eight sizes, though its node knows more. */
TEST_ON(struct cut_rig *rig, a_node_gives_as_many_sizes_as_it_can_list)
{
    (void)SHARED(rig, 80, NULL, NULL);
    for (unsigned gb = 1; gb <= 14; gb++) {
        wait_for(rig, gb);
    }
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    const struct sl_cut_plan *plan = &rig->output.plan[0];
    assert_int_equal(plan->n_pods, SL_MIG_PROFILES_MAX);
    assert_int_equal(plan->n_cuts, 2);
    assert_int_equal(plan->cut[0].n_sizes, SL_MIG_INSTANCES_MAX);
    assert_int_equal(plan->cut[1].n_sizes, SL_MIG_PROFILES_MAX - SL_MIG_INSTANCES_MAX);
}

/* Whoever makes up sizes gets what fits, and the next pod its own. */
TEST_ON(struct cut_rig *rig, pods_that_ask_for_odd_sizes_block_nobody)
{
    (void)SHARED(rig, 80, NULL);
    (void)SHARED(rig, 80, NULL);
    for (unsigned gb = 1; gb <= 30; gb++) {
        wait_for(rig, gb);
    }
    wait_for(rig, 9999);
    wait_for(rig, 70);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_in_range(rig->output.plan[i].cut[0].n_sizes, 1, SL_MIG_INSTANCES_MAX);
    }
}

TEST_ON(struct cut_rig *rig, what_the_plugin_would_refuse_is_not_cut)
{
    (void)SHARED(rig, 80, NULL);
    (void)rig_wait(rig, "gpu-10gb=2", NULL);
    (void)rig_wait(rig, "gpu-10gb=1", "sliced.dev/gpu-memory=20Gi");
    (void)rig_wait(rig, "gpu-0gb=1", NULL);
    (void)rig_wait(rig, "gpu-100gb=1", NULL);
    (void)rig_wait(rig, "mig-1g.10gb=1", NULL);
    (void)rig_wait(rig, "gpu=2", NULL);
    assert_string_equal(rig_told(rig), "");
}

/* The label speaks of MIG, which is not how these GPUs are shared. */
TEST_ON(struct cut_rig *rig, the_strategy_of_mig_is_nothing_to_slices)
{
    (void)rig_node(rig, SL_ACTUATOR_NOS_MPS, "Tesla-X",
                   "nos.nebuly.com/gpu-partitioning=mps nvidia.com/gpu.memory=41000 "
                   "nvidia.com/mig.strategy=single",
                   GPUS("40gb", "40gb"));
    wait_for(rig, 10);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 4x 10gb: 0\n");
}

TEST_ON(struct cut_rig *rig, a_slice_has_the_memory_of_its_name)
{
    (void)SHARED(rig, 41, NULL);
    (void)rig_wait(rig, "gpu-10gb=1", "sliced.dev/min-gpu-memory=10241Mi");
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "gpu-10gb=1", "sliced.dev/min-gpu-memory=10240Mi");
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 4x 10gb: 1\n");
}

/* The nodes have as much free, and not as much in use. */
TEST_ON(struct cut_rig *rig, nodes_are_not_alike_of_which_more_stays)
{
    (void)SHARED(rig, 80, "20gb* 20gb* 20gb*");
    (void)SHARED(rig, 80, "20gb*");
    rig_run(rig, 0, "gpu-20gb=3", 0);
    rig_run(rig, 1, "gpu-20gb=1", 0);
    rig->input.max_plans = 1;
    wait_for(rig, 10);
    wait_for(rig, 40);
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 2x 10gb + 1x 20gb + 1x 40gb: 0 1\n");
}

/* The first slice would go where least is lost, and makes room for the second. */
TEST_ON(struct cut_rig *rig, slices_of_a_plan_make_room_for_one_another)
{
    size_t node = SHARED(rig, 41, "20gb* 20gb", "20gb");
    rig_run(rig, node, "gpu-20gb=1", 0);
    wait_for(rig, 15);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 15gb + 1x 20gb: 0\n");
    wait_for(rig, 40);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 15gb + 1x 20gb; GPU 1 into 1x 40gb: 0 1\n");
    rig_clear(rig);
    node = SHARED(rig, 41, "20gb* 20gb", "20gb");
    rig_run(rig, node, "gpu-20gb=1", 0);
    (void)rig_wait(rig, "gpu-15gb=1 gpu-40gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 15gb + 1x 20gb; GPU 1 into 1x 40gb: 0\n");
}

TEST_ON(struct cut_rig *rig, pods_for_slices_and_for_instances_go_to_nodes_of_their_kind)
{
    (void)SHARED(rig, 41, "40gb");
    (void)NOS(rig, A100, "7g.40gb");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    wait_for(rig, 20);
    assert_string_equal(rig_told(rig), "node-1: GPU 0 into 2x 3g.20gb: 0\n"
                                       "node-0: GPU 0 into 2x 20gb: 1\n");
}

/* ---- what is refused ---- */

static bool is_allowed(struct cut_rig *rig, size_t node, struct sl_cut cut)
{
    char reason[256];
    return sl_cut_allowed(rig->view[node], &cut, 1, (struct sl_cut_limits){0}, reason,
                          sizeof(reason));
}

TEST_ON(struct cut_rig *rig, cuts_against_the_rules_are_refused)
{
    size_t node = SHARED(rig, 80, "20gb* 20gb 40gb");
    size_t other = NOS(rig, A100, "7g.40gb");
    rig_run(rig, node, "gpu-20gb=1", 0);
    assert_true(is_allowed(rig, node, (struct sl_cut){.n_sizes = 1, .slices = {{20, 4}}}));
    assert_true(is_allowed(rig, node, (struct sl_cut){.n_sizes = 2, .slices = {{20, 1}, {60, 1}}}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n_sizes = 1, .slices = {{40, 2}}}));
    assert_false(/* what stands behind the last size is none */
                 is_allowed(rig, node,
                            (struct sl_cut){.n_sizes = 1, .slices = {{40, 1}, {60, 1}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.n_sizes = 1, .slices = {{10, 1}, {20, 1}}}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n_sizes = 1, .slices = {{20, 5}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.n_sizes = 2, .slices = {{60, 1}, {20, 1}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.n_sizes = 2, .slices = {{20, 1}, {60, 0}}}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n_sizes = 2, .slices = {{0, 1}, {20, 1}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.n_sizes = 2, .slices = {{1, 48}, {20, 1}}}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n_sizes = 9, .slices = {{20, 1}}}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.whole = true}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n = 1}));
    assert_false(is_allowed(rig, node, (struct sl_cut){.n = 1, .n_sizes = 1, .slices = {{20, 4}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.whole = true, .n_sizes = 1, .slices = {{20, 4}}}));
    assert_false(
        is_allowed(rig, node, (struct sl_cut){.device = 1, .n_sizes = 1, .slices = {{20, 1}}}));
    assert_false(is_allowed(rig, other, (struct sl_cut){.n_sizes = 1, .slices = {{20, 1}}}));
}

TEST_ON(struct cut_rig *rig, a_node_shows_a_cut_when_agent_and_plugin_say_so)
{
    size_t node = SHARED(rig, 80, "20gb* 20gb 40gb", "80gb");
    const struct sl_cut cut[] = {{.n_sizes = 2, .slices = {{20, 2}, {40, 1}}},
                                 {.device = 1, .n_sizes = 1, .slices = {{80, 1}}}};
    struct sl_cut other = cut[0];
    assert_true(sl_cut_shown(rig->node[node].node, cut, 2));
    other.slices[0].n = 1;
    assert_false(sl_cut_shown(rig->node[node].node, &other, 1));
    other = cut[0];
    other.n_sizes = 1;
    assert_false(sl_cut_shown(rig->node[node].node, &other, 1));
    other = cut[1];
    other.device = 0;
    assert_false(sl_cut_shown(rig->node[node].node, &other, 1));
}

TEST_ON(struct cut_rig *rig, digests_tell_slices_apart)
{
    const struct sl_node *node = rig->node[SHARED(rig, 80, "80gb")].node;
    const struct sl_cut a = {.n_sizes = 1, .slices = {{20, 2}}};
    const struct sl_cut b = {.n_sizes = 1, .slices = {{20, 1}}};
    const struct sl_cut c = {.n_sizes = 1, .slices = {{10, 2}}};
    assert_int_not_equal(sl_cut_digest(node, &a, 1), sl_cut_digest(node, &b, 1));
    assert_int_not_equal(sl_cut_digest(node, &a, 1), sl_cut_digest(node, &c, 1));
}
