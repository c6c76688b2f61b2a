/* Which GPUs of a node may be cut, and why others may not. */
#include "core/cut/node/node.h"
#include "unit/core/cut/cut_rig.h"

#define SINGLE "nvidia.com/mig.strategy=single"

/* Why GPU 0 of the node may not be cut into one 7g.40gb; "": it may. */
static const char *refusal(struct cut_rig *rig, size_t node)
{
    static char reason[128];
    const struct sl_mig_model *model = rig->node[node].node->model;
    struct sl_cut cut = {.n = 1};
    reason[0] = '\0';
    cut.instance[0].profile =
        (uint8_t)(sl_mig_profile_find(model, SL_STR("7g.40gb")) - model->profiles);
    (void)sl_cut_allowed(rig->view[node], &cut, 1, rig->input.limits, reason, sizeof(reason));
    return reason;
}

/* The node as it is after a change that no facts spell. */
static struct sl_node *node_of(struct cut_rig *rig, size_t i)
{
    return rig->node[i].node;
}

static size_t node_by_labels(struct cut_rig *rig, enum sl_actuator actuator, const char *labels,
                             const char *allocatable)
{
    struct sl_error err;
    struct sl_node_facts facts = {.name = SL_STR("node-0"), .actuator = actuator};
    facts.labels = facts_pairs(&rig->facts, labels);
    facts.allocatable = facts_pairs(&rig->facts, allocatable);
    rig->node[0].node = sl_node_new(&facts, &err);
    assert_non_null(rig->node[0].node);
    rig->site[0] = (struct sl_cut_site){.seconds_us = 60 * rig_second};
    rig->n_nodes = 1;
    rig_view(rig, 0);
    return 0;
}

/* ---- the node ---- */

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_node_without_an_agent_is_never_cut)
{
    size_t node = rig_node(rig, SL_ACTUATOR_NONE, A100, NULL, GPUS(""));
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(refusal(rig, node),
                        "nothing cuts its GPUs: partitioning.nodeSelector does not select it");
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_node_that_is_being_cut_is_not_cut_again)
{
    size_t node = MANAGED(rig, A100, "");
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(refusal(rig, node), "");
    node_of(rig, node)->partition.cut = "sliced-0123-1";
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node), "its GPUs are being cut");
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, an_unhealthy_gpu_is_left_alone)
{
    size_t managed = MANAGED(rig, A100, "", "7g.40gb");
    size_t nos = NOS(rig, A100, "2g.10gb", "7g.40gb");
    node_of(rig, managed)->device[0].healthy = false;
    node_of(rig, nos)->device[0].healthy = false;
    rig_view(rig, managed);
    rig_view(rig, nos);
    for (unsigned i = 0; i < 4; i++) {
        (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    }
    assert_string_equal(refusal(rig, managed), "GPU 0 is in use or may not be cut");
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n"
                                       "node-1: GPU 1 into 1x 4g.20gb: 1\n");
    node_of(rig, managed)->device[1].healthy = false;
    rig_view(rig, managed);
    assert_string_equal(refusal(rig, managed), "GPUs of it are marked unhealthy");
}

/* A cut of it failed half way: the others keep what they have. */
TEST_ON(struct cut_rig *rig, a_gpu_of_which_nobody_knows_what_it_has_is_cut_alone)
{
    (void)MANAGED(rig, A100, "?3g.20gb", "3g.20gb 3g.20gb", "3g.20gb 3g.20gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n");
    rig_clear(rig);
    (void)MANAGED(rig, A100, "7g.40gb", "?", "3g.20gb 3g.20gb");
    (void)rig_wait(rig, "mig-1g.5gb=7", NULL);
    rig_run(rig, 0, "mig-7g.40gb=1", 0);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 7x 1g.5gb: 0\n");
}

/* The guess may be wrong: the pod may be on either. */
TEST_ON(struct cut_rig *rig, of_unsure_gpus_none_is_cut_while_one_may_be_in_use)
{
    (void)MANAGED(rig, A100, "?3g.20gb 3g.20gb", "?3g.20gb", "7g.40gb");
    rig_run(rig, 0, "mig-3g.20gb=1", 0);
    rig_run(rig, 0, "mig-7g.40gb=1", 0);
    (void)rig_wait(rig, "mig-1g.5gb=7", NULL);
    assert_string_equal(rig_told(rig), "");
    rig_clear(rig);
    (void)MANAGED(rig, A100, "?3g.20gb 3g.20gb", "?3g.20gb", "7g.40gb");
    rig_run(rig, 0, "mig-7g.40gb=1", 0);
    (void)rig_wait(rig, "mig-1g.5gb=7", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 7x 1g.5gb: 0\n");
    struct sl_cut cut = {.device = 1};
    assert_false(sl_cut_shown(rig->node[0].node, &cut, 1) &&
                 sl_cut_shown(rig->node[0].node, rig->output.plan[0].cut, 1));
}

TEST_ON(struct cut_rig *rig, a_gpu_of_an_unknown_model_is_left_alone)
{
    size_t node = MANAGED(rig, A100, "", "");
    node_of(rig, node)->device[0].model = NULL;
    rig_view(rig, node);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n");
}

/* ---- what is in use ---- */

/* Cuts make no replicas, so that nobody would make them again. */
TEST_ON(struct cut_rig *rig, replicas_keep_their_gpu_from_cuts_even_unused)
{
    size_t node = MANAGED(rig, A100, "1g.5gb", "7g.40gb");
    assert_string_equal(node_of(rig, node)->pool[0].resource, "nvidia.com/mig-1g.5gb");
    node_of(rig, node)->pool[0].kind = SL_KIND_REPLICA;
    rig_view(rig, node);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n");
}

TEST_ON(struct cut_rig *rig, replicas_of_whole_gpus_keep_them_from_cuts_even_unused)
{
    size_t node = MANAGED(rig, A100, NULL, "7g.40gb");
    rig->input.limits.mig_mode = true;
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
    assert_string_equal(node_of(rig, node)->pool[0].resource, "nvidia.com/gpu");
    node_of(rig, node)->pool[0].kind = SL_KIND_REPLICA;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n");
    node_of(rig, node)->pool[0].kind = SL_KIND_MEMORY;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n");
    node_of(rig, node)->pool[0].kind = SL_KIND_WHOLE; /* the second resource shares them */
    node_of(rig, node)->pool[1].kind = SL_KIND_REPLICA;
    node_of(rig, node)->pool[1].profile = NULL;
    rig_view(rig, node);
    assert_string_equal(rig_told(rig), "");
}

/* Only the kubelet knows on which of them a pod runs. */
TEST_ON(struct cut_rig *rig, whole_gpus_of_which_one_is_in_use_are_left_alone)
{
    size_t node = MANAGED(rig, A100, NULL, NULL, "7g.40gb");
    rig_run(rig, node, "gpu=1", 0);
    rig->input.limits.mig_mode = true;
    for (unsigned i = 0; i < 2; i++) {
        (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    }
    assert_string_equal(rig_told(rig), "node-0: GPU 2 into 1x 4g.20gb: 0\n");
}

/* Its device plugin is away: nobody can tell what is in use. */
TEST_ON(struct cut_rig *rig, a_node_is_left_alone_while_it_hides_what_a_pod_holds)
{
    size_t node = MANAGED(rig, A100, "1g.5gb 1g.5gb", "7g.40gb");
    rig_run(rig, node, "mig-1g.5gb=1", 0);
    assert_string_equal(refusal(rig, node), "GPU 0 is in use or may not be cut");
    rig_run(rig, node, "mig-1g.5gb=1 mig-2g.10gb=1", 0);
    assert_string_equal(refusal(rig, node),
                        "pods on it hold GPU resources that it does not show now");
}

/* ---- free units that no cut changes ---- */

TEST_ON(struct cut_rig *rig, free_whole_gpus_beside_one_in_use_serve_too)
{
    size_t node = MANAGED(rig, A100, NULL, NULL, "7g.40gb");
    rig_run(rig, node, "gpu=1", 0);
    rig->input.limits.mig_mode = true;
    (void)rig_wait(rig, "gpu=3", NULL);
    (void)rig_wait(rig, "gpu=2", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 2 into a whole GPU: 1\n");
}

TEST_ON(struct cut_rig *rig, a_free_instance_serves_only_asks_for_the_memory_that_it_has)
{
    size_t node = MANAGED(rig, A100, "1g.5gb 1g.5gb", "2g.10gb");
    rig_run(rig, node, "mig-1g.5gb=1", 0);
    (void)rig_wait(rig, "mig-1g.5gb=1 mig-2g.10gb=2", "sliced.dev/min-gpu-memory=4864Mi");
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 3x 2g.10gb: 0\n");
    (void)rig_wait(rig, "mig-1g.5gb=1 mig-2g.10gb=2", "sliced.dev/min-gpu-memory=4865Mi");
    rig->pod[0] = rig->pod[1];
    assert_string_equal(rig_told(rig), "");
}

/* The driver keeps some of an instance's memory: its label says what is left, else the table. */
TEST_ON(struct cut_rig *rig, an_instance_has_the_memory_that_its_label_tells)
{
    static const char *const labels[] = {"nvidia.com/mig-1g.5gb.memory=4865",
                                         "nvidia.com/mig-1g.5gb.memory=4864", NULL};
    for (unsigned i = 0; i < 3; i++) {
        size_t node =
            rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, labels[i], GPUS("1g.5gb", "7g.40gb"));
        rig_run(rig, node, "mig-1g.5gb=1", 0);
        (void)rig_wait(rig, "mig-1g.5gb=1", "sliced.dev/min-gpu-memory=4865Mi");
        assert_string_equal(rig_told(rig), i == 0 ? "node-0: GPU 1 into 7x 1g.5gb: 0\n" : "");
        (void)rig_wait(rig, "mig-1g.5gb=1", "sliced.dev/min-gpu-memory=4864Mi");
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, 1);
        rig_clear(rig);
    }
}

/* ---- GPUs of which nobody says what they hold ---- */

#define TWO_A30 "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.count=2"

/* Which of the two holds which is not known, so that both are named. */
TEST_ON(struct cut_rig *rig, gpus_that_labels_tell_apart_but_not_which_are_cut_together)
{
    size_t node =
        node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER, TWO_A30 " nvidia.com/mig.strategy=mixed",
                       "nvidia.com/mig-4g.24gb=1 nvidia.com/mig-2g.12gb=2");
    assert_int_equal(node_of(rig, node)->layout, SL_LAYOUT_INFERRED);
    (void)rig_wait(rig, "mig-1g.6gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 2x 1g.6gb + 1x 2g.12gb; GPU 1 into 1x 4g.24gb: 0\n");
    rig_run(rig, node, "mig-2g.12gb=1", 0);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, one_gpu_of_three_that_differs_is_enough_for_that)
{
    (void)node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER,
                         "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/gpu.count=3 "
                         "nvidia.com/mig.strategy=mixed",
                         "nvidia.com/mig-4g.24gb=2 nvidia.com/mig-2g.12gb=2");
    (void)rig_wait(rig, "mig-1g.6gb=1", NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_cuts, 3);
}

TEST_ON(struct cut_rig *rig, gpus_that_labels_say_are_alike_are_cut_one_by_one)
{
    size_t node =
        node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER, TWO_A30 " nvidia.com/mig.strategy=mixed",
                       "nvidia.com/mig-4g.24gb=2");
    assert_int_equal(node_of(rig, node)->layout, SL_LAYOUT_INFERRED);
    (void)rig_wait(rig, "mig-1g.6gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 4x 1g.6gb: 0\n");
}

/* Labels tell what there is, and not on which GPU: the empty one may be the one that a pod uses. */
TEST_ON(struct cut_rig *rig, a_gpu_that_is_only_guessed_to_be_empty_is_not_cut_beside_one_in_use)
{
    size_t node = node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER,
                                 "nvidia.com/gpu.product=" A100
                                 " nvidia.com/gpu.count=2 nvidia.com/mig.strategy=mixed",
                                 "nvidia.com/mig-7g.40gb=1");
    assert_int_equal(node_of(rig, node)->layout, SL_LAYOUT_INFERRED);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    rig_run(rig, node, "mig-7g.40gb=1", 0);
    assert_string_equal(rig_told(rig), "");
    assert_string_equal(refusal(rig, node),
                        "its GPUs can only be cut together, and not all of them are free");
}

#define UNCLEAR "nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=2"

/* Which GPU has them nobody says; all are named, and what no pod needs is made again. */
TEST_THAT(instances_of_gpus_that_nobody_describes_stay_where_no_pod_needs_their_room)
{
    struct cut_rig *rig = *state;
    for (int whole = 0; whole < 2; whole++) { /* and a whole GPU, which is no instance */
        (void)node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER,
                             "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=3",
                             whole ? UNCLEAR " nvidia.com/gpu=1" : UNCLEAR);
        rig->input.limits.mig_mode = whole;
        (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
        assert_string_equal(rig_told(rig),
                            "node-0: GPU 0 into 2x 2g.10gb + 1x 3g.20gb; GPU 1 into 1x "
                            "7g.40gb; GPU 2 into nothing: 0\n");
        rig_clear(rig);
    }
}

TEST_THAT(gpus_are_known_by_what_is_told_or_where_as_many_are_inferred_as_the_label_counts)
{
    static const struct {
        enum sl_layout layout;
        uint16_t counted; /* GPUs, of which two are there */
        bool elsewhere;   /* a resource that is on none of them */
        bool known;
    } rows[] = {
        {SL_LAYOUT_ANNOTATED, 2, false, true}, {SL_LAYOUT_ANNOTATED, 3, false, true},
        {SL_LAYOUT_ANNOTATED, 2, true, false}, {SL_LAYOUT_INFERRED, 0, false, true},
        {SL_LAYOUT_INFERRED, 2, false, true},  {SL_LAYOUT_INFERRED, 3, false, false},
        {SL_LAYOUT_INFERRED, 1, false, false}, {SL_LAYOUT_INFERRED, 2, true, false},
    };
    struct cut_rig *rig = *state;
    struct sl_node *node = node_of(rig, MANAGED(rig, A100, "3g.20gb", "2g.10gb"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        node->layout = rows[i].layout;
        node->partition.n_gpus = rows[i].counted;
        node->pool[i % 2].on_devices = !rows[i].elsewhere;
        node->pool[1 - i % 2].on_devices = true;
        assert_int_equal(sl_cut_devices_are_known(node), rows[i].known);
    }
}

TEST_ON(struct cut_rig *rig, gpus_that_nobody_describes_are_cut_where_model_and_count_are_known)
{
    static const struct {
        const char *labels;
        const char *allocatable;
        bool mig_mode;
        size_t n_cuts;
    } rows[] = {
        {"nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=2", UNCLEAR, false, 2},
        {"nvidia.com/gpu.count=2", UNCLEAR, false, 0},
        {"nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=64", UNCLEAR, false, 64},
        {"nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=65", UNCLEAR, false, 0},
        /* whole GPUs are cut with the rest, where MIG mode may be switched */
        {"nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=3", UNCLEAR " nvidia.com/gpu=1",
         false, 0},
        {"nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=3", UNCLEAR " nvidia.com/gpu=1",
         true, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER, rows[i].labels, rows[i].allocatable);
        rig->input.limits.mig_mode = rows[i].mig_mode;
        (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, rows[i].n_cuts > 0);
        if (rows[i].n_cuts > 0) {
            assert_int_equal(rig->output.plan[0].n_cuts, rows[i].n_cuts);
        }
        rig_clear(rig);
    }
}

TEST_ON(struct cut_rig *rig, gpus_that_are_cut_together_must_all_be_free)
{
    size_t node = rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS("7g.40gb", "7g.40gb"));
    assert_string_equal(refusal(rig, node), "all GPUs of the node must be named");
    node_of(rig, node)->device[1].model = NULL;
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node),
                        "its GPUs are of several models, and can only be cut together");
    node_of(rig, node)->device[1].healthy = false;
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node),
                        "its GPUs are of several models, and can only be cut together");
    node_of(rig, node)->device[1].model = node_of(rig, node)->device[0].model;
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node), "GPUs of it are marked unhealthy");
    node_of(rig, node)->device[1].healthy = true;
    rig_view(rig, node);
    rig_run(rig, node, "mig-7g.40gb=1", 0);
    assert_string_equal(refusal(rig, node),
                        "its GPUs can only be cut together, and not all of them are free");
}

TEST_ON(struct cut_rig *rig, replicas_beside_keep_gpus_from_being_cut_together)
{
    size_t node = rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS("7g.40gb", "3g.20gb"));
    assert_string_equal(refusal(rig, node), "all GPUs of the node must be named");
    node_of(rig, node)->pool[1].kind = SL_KIND_MEMORY;
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node),
                        "its GPUs can only be cut together, and not all of them are free");
}

/* The store would refuse it: another node may do. */
TEST_ON(struct cut_rig *rig, a_node_whose_pods_have_yet_to_start_is_not_chosen)
{
    for (int i = 0; i < 2; i++) {
        size_t near = MANAGED(rig, A100, "7g.40gb", "3g.20gb");
        size_t other = MANAGED(rig, A100, "7g.40gb", "7g.40gb");
        rig_run(rig, near, "mig-7g.40gb=1", 0);
        rig->node[near].running[0]->phase = SL_POD_PENDING;
        rig->node[near].running[0]->started_us = i == 0 ? rig_now : 0;
        (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, 1);
        assert_int_equal(rig->output.plan[0].view, i == 0 ? near : other);
        rig_clear(rig);
    }
}

static const char *bar(struct cut_rig *rig, size_t node)
{
    return sl_cut_bar_name(sl_cut_bar_of(rig->view[node], rig->input.limits));
}

TEST_THAT(each_thing_that_bars_a_cut_has_its_name)
{
    struct cut_rig *rig = *state;
    size_t node = MANAGED(rig, A100, "7g.40gb");
    assert_string_equal(bar(rig, node), "None");
    node_of(rig, node)->partition.state = SL_PARTITION_PENDING;
    node_of(rig, node)->partition.wanted = "all-7g.40gb";
    assert_string_equal(bar(rig, node), "AtWork");
    rig_clear(rig);
    node = MANAGED(rig, A100, NULL, NULL);
    assert_string_equal(bar(rig, node), "MigOff");
    rig->input.limits.mig_mode = true;
    assert_string_equal(bar(rig, node), "None");
    rig->input.limits.mig_mode = false;
    rig_clear(rig);
    node = MANAGED(rig, A100, "7g.40gb");
    rig_run(rig, node, "mig-7g.40gb=1", 0);
    assert_string_equal(bar(rig, node), "InUse");
    rig_clear(rig);
    node = MANAGED(rig, A100, "7g.40gb", "3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", 0);
    assert_string_equal(bar(rig, node), "None");
    rig->node[node].running[0]->phase = SL_POD_PENDING;
    assert_string_equal(bar(rig, node), "None");
    rig->node[node].running[0]->started_us = 0;
    assert_string_equal(bar(rig, node), "Starting");
    rig_clear(rig);
    node = node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER, "nvidia.com/gpu.count=2", UNCLEAR);
    assert_string_equal(bar(rig, node), "NoModel");
    rig_clear(rig);
    node = node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER, "nvidia.com/gpu.product=" A100, UNCLEAR);
    assert_string_equal(bar(rig, node), "Unknown");
    rig_clear(rig);
    node = rig_node(rig, SL_ACTUATOR_MIG_MANAGER, "Tesla-T4", NULL, GPUS(NULL, NULL));
    assert_string_equal(bar(rig, node), "NoModel");
    rig_clear(rig);
    node = node_by_labels(rig, SL_ACTUATOR_MIG_MANAGER,
                          "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=3",
                          UNCLEAR " nvidia.com/gpu=1");
    assert_string_equal(bar(rig, node), "MigOff");
}

/* Something bars each of two GPUs: the node's bar is what is so of both. */
TEST_ON(struct cut_rig *rig, what_bars_some_gpus_only_is_not_what_bars_the_node)
{
    static const struct {
        const char *gpu[2];
        const char *pods[2];
        bool unhealthy[2];
        bool mig_mode;
        const char *bar;
    } rows[] = {
        {{NULL, NULL}, {"gpu=1"}, {false}, false, "MigOff"},
        {{NULL, NULL}, {"gpu=1"}, {false}, true, "InUse"},
        {{NULL, "3g.20gb"}, {"mig-3g.20gb=1"}, {false}, false, "InUse"},
        {{"3g.20gb", NULL}, {"mig-3g.20gb=1"}, {false}, false, "InUse"},
        {{"3g.20gb", "2g.10gb"}, {"mig-3g.20gb=1"}, {false, true}, false, "InUse"},
        {{"3g.20gb", "2g.10gb"}, {"mig-2g.10gb=1"}, {true, false}, false, "InUse"},
        {{"3g.20gb", "2g.10gb"}, {NULL}, {true, true}, false, "Unhealthy"},
        {{"3g.20gb", "2g.10gb"}, {NULL}, {true, false}, false, "None"},
        {{"3g.20gb", "2g.10gb"}, {"mig-3g.20gb=1", "mig-2g.10gb=1"}, {false}, false, "InUse"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t node = rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, NULL, 2, rows[i].gpu);
        rig->input.limits.mig_mode = rows[i].mig_mode;
        for (unsigned k = 0; k < 2; k++) {
            node_of(rig, node)->device[k].healthy = !rows[i].unhealthy[k];
            if (rows[i].pods[k] != NULL) {
                rig_run(rig, node, rows[i].pods[k], 0);
            }
        }
        rig_view(rig, node);
        assert_string_equal(bar(rig, node), rows[i].bar);
        rig_clear(rig);
    }
    size_t node = SHARED(rig, 80, NULL, NULL);
    rig_run(rig, node, "gpu=1", 0);
    rig->input.limits.mig_mode = false;
    assert_string_equal(bar(rig, node), "InUse");
}

TEST_THAT(all_bars_are_told_apart_and_in_words)
{
    for (unsigned i = 0; i < SL_CUT_BARS; i++) {
        assert_true(strlen(sl_cut_bar_text((enum sl_cut_bar)i)) > 0);
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(sl_cut_bar_name((enum sl_cut_bar)i),
                                    sl_cut_bar_name((enum sl_cut_bar)k));
        }
    }
}

/* ---- nos ---- */

/* Its agent has nothing to report of GPUs without instances. */
TEST_ON(struct cut_rig *rig, a_node_of_nos_without_any_resource_has_empty_gpus)
{
    size_t node = NOS(rig, A100, "", "");
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 4g.20gb: 0\n");
    assert_string_equal(refusal(rig, node), "");
}

TEST_ON(struct cut_rig *rig, a_node_of_nos_whose_agent_is_silent_is_left_alone)
{
    size_t node = node_by_labels(rig, SL_ACTUATOR_NOS_MIG,
                                 "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=1",
                                 "nvidia.com/mig-7g.40gb=1");
    assert_string_equal(refusal(rig, node), "nos' agent does not report its GPUs");
    rig_clear(rig);
    node = rig_node(rig, SL_ACTUATOR_NOS_MIG, A100, SINGLE, GPUS("7g.40gb"));
    assert_string_equal(refusal(rig, node), "nos' agent does not report its GPUs");
    rig_clear(rig);
    node = NOS(rig, A100, "7g.40gb");
    node_of(rig, node)->pool[0].on_devices = false;
    rig_view(rig, node);
    assert_string_equal(refusal(rig, node), "nos' agent reports others than are allocatable");
}

/* What cannot be lies somewhere that nobody knows. */
TEST_ON(struct cut_rig *rig, a_gpu_that_reports_more_in_use_than_it_can_hold_is_left_alone)
{
    size_t node = NOS(rig, A100, "4g.20gb* 4g.20gb*", "7g.40gb");
    rig_run(rig, node, "mig-4g.20gb=2", 0);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 7x 1g.5gb: 0\n");
}

/* Four of seven slices, by whichever profile: 35 ways, each counted once. */
TEST_ON(struct cut_rig *rig, a_way_to_lie_counts_once_whichever_instance_is_where)
{
    size_t node = NOS(rig, A100, "1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb+me*");
    rig_run(rig, node, "mig-1g.5gb=3", 0);
    rig_run(rig, node, "mig-1g.5gb.me=1", 0);
    (void)rig_wait(rig, "mig-1g.5gb=3", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 6x 1g.5gb + 1x 1g.5gb+me: 0\n");
}

TEST_ON(struct cut_rig *rig, an_instance_in_use_of_an_unknown_profile_keeps_its_gpu_from_cuts)
{
    size_t node = NOS(rig, A100, "1g.5gb* 2g.10gb", "1g.5gb* 2g.10gb");
    rig_run(rig, node, "mig-1g.5gb=2", 0);
    assert_int_equal(node_of(rig, node)->instance[0].device, 0);
    node_of(rig, node)->instance[0].profile = NULL;
    rig_view(rig, node);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 1g.5gb + 1x 3g.20gb: 0\n");
}
