/* Nodes: who cuts their GPUs, and what the agents' labels and annotations make of that. */
#include "node_rig.h"

static void annotations(struct node_rig *rig, const char *text)
{
    rig->node.annotations = facts_pairs(&rig->facts, text);
}

/* ---- the rule ---- */

static const struct sl_label chosen[] = {{"sliced.dev/partitioning", "dynamic"}, {"pool", "a"}};

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct node_rig *rig, a_node_has_no_actuator_unless_the_rule_selects_it)
{
    struct sl_actuator_rule rule = {.selector = chosen, .n_selector = 2};
    given(rig, "sliced.dev/partitioning=dynamic pool=a", "");
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_NONE);
    rule.enabled = true;
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_MIG_MANAGER);
    given(rig, "sliced.dev/partitioning=dynamic pool=b", "");
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_NONE);
    given(rig, "sliced.dev/partitioning=dynamic", "");
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_NONE);
    given(rig, "sliced.dev/partitioning=static pool=a", "");
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_NONE);
    rule.n_selector = 0;
    assert_int_equal(sl_actuator_of(&rule, &rig->node), SL_ACTUATOR_MIG_MANAGER);
}

TEST_ON(struct node_rig *rig, the_actuator_is_the_one_configured_or_the_one_of_the_nodes_label)
{
    static const struct {
        enum sl_actuator_choice choice;
        const char *labels;
        const char *actuator;
    } rows[] = {
        {SL_CHOOSE_AUTO, "", "mig-manager"},
        {SL_CHOOSE_AUTO, "nos.nebuly.com/gpu-partitioning=mig", "nos-mig"},
        {SL_CHOOSE_AUTO, "nos.nebuly.com/gpu-partitioning=mps", "nos-mps"},
        {SL_CHOOSE_AUTO, "nos.nebuly.com/gpu-partitioning=hybrid", "mig-manager"},
        {SL_CHOOSE_MIG_MANAGER, "nos.nebuly.com/gpu-partitioning=mig", "mig-manager"},
        {SL_CHOOSE_NOS, "", "nos-mig"},
        {SL_CHOOSE_NOS, "nos.nebuly.com/gpu-partitioning=mps", "nos-mps"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sl_actuator_rule rule = {.enabled = true, .choice = rows[i].choice};
        given(rig, rows[i].labels, "");
        assert_string_equal(sl_actuator_name(sl_actuator_of(&rule, &rig->node)), rows[i].actuator);
    }
    assert_string_equal(sl_actuator_name(SL_ACTUATOR_NONE), "none");
}

TEST_THAT(a_node_is_repartitioned_on_demand_by_an_actuator_that_makes_mig_instances)
{
    struct node_rig *rig = *state;
    rig->node.actuator = SL_ACTUATOR_MIG_MANAGER;
    assert_true(make(rig)->dynamic_mig);
    rig->node.actuator = SL_ACTUATOR_NOS_MIG;
    assert_true(make(rig)->dynamic_mig);
}

/* ---- what the agent says ---- */

TEST_ON(struct node_rig *rig, only_the_mig_manager_makes_gpus_whole)
{
    rig->node.mig_mode = true;
    rig->node.actuator = SL_ACTUATOR_MIG_MANAGER;
    assert_true(make(rig)->partition.mig_mode);
    rig->node.actuator = SL_ACTUATOR_NOS_MIG;
    assert_false(make(rig)->partition.mig_mode);
}

TEST_THAT(the_mig_manager_speaks_by_labels)
{
    struct node_rig *rig = *state;
    rig->node.actuator = SL_ACTUATOR_MIG_MANAGER;
    given(rig,
          A100 "nvidia.com/gpu.count=4 nvidia.com/mig.config=sliced-1-1 "
               "nvidia.com/mig.config.state=pending",
          "");
    annotations(rig, "nos.nebuly.com/spec-partitioning-plan=7 sliced.dev/cut=sliced-1-1");
    const struct sl_partition *partition = &make(rig)->partition;
    assert_int_equal(partition->actuator, SL_ACTUATOR_MIG_MANAGER);
    assert_int_equal(partition->state, SL_PARTITION_PENDING);
    assert_string_equal(partition->wanted, "sliced-1-1");
    assert_null(partition->applied);
    assert_string_equal(partition->cut, "sliced-1-1");
    assert_int_equal(partition->n_gpus, 4);
    assert_false(partition->single);
}

TEST_THAT(nos_agents_speak_by_annotations)
{
    struct node_rig *rig = *state;
    rig->node.actuator = SL_ACTUATOR_NOS_MIG;
    given(rig, A100 "nvidia.com/mig.config=other", "");
    annotations(rig, "nos.nebuly.com/spec-partitioning-plan=8 "
                     "nos.nebuly.com/status-partitioning-plan=7");
    const struct sl_partition *partition = &make(rig)->partition;
    assert_string_equal(partition->wanted, "8");
    assert_string_equal(partition->applied, "7");
    assert_null(partition->cut);
    assert_int_equal(partition->state, SL_PARTITION_NONE);
}

TEST_ON(struct node_rig *rig, under_strategy_single_the_count_is_of_gpus_only_while_they_are_whole)
{
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30 nvidia.com/mig.strategy=single "
          "nvidia.com/gpu.count=2",
          "");
    assert_true(make(rig)->partition.single);
    assert_int_equal(rig->made->partition.n_gpus, 2);
    given(rig,
          "nvidia.com/gpu.product=NVIDIA-A30-MIG-1g.6gb nvidia.com/mig.strategy=single "
          "nvidia.com/gpu.count=8",
          "");
    assert_int_equal(make(rig)->partition.n_gpus, 0);
}

TEST_THAT(each_state_of_the_mig_manager_is_known_and_any_other_text_is_none)
{
    static const char *const texts[] = {"none", "pending", "rebooting", "success", "failed"};
    struct node_rig *rig = *state;
    char labels[128];
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)snprintf(labels, sizeof(labels), "nvidia.com/mig.config.state=%s", texts[i]);
        given(rig, labels, "");
        assert_int_equal(make(rig)->partition.state, i);
        assert_string_equal(sl_partition_state_name(rig->made->partition.state), texts[i]);
    }
    given(rig, "nvidia.com/mig.config.state=Pending", "");
    assert_int_equal(make(rig)->partition.state, SL_PARTITION_NONE);
}

TEST_ON(struct node_rig *rig, nos_tells_which_instances_are_in_use_and_not_where_they_stand)
{
    given(rig, A30 "nvidia.com/gpu.count=1 nos.nebuly.com/gpu-partitioning=mig",
          "nvidia.com/mig-1g.6gb=2 nvidia.com/mig-2g.12gb=1");
    annotations(rig, "nos.nebuly.com/status-gpu-0-1g.6gb-free=1 "
                     "nos.nebuly.com/status-gpu-0-1g.6gb-used=1 "
                     "nos.nebuly.com/status-gpu-0-2g.12gb-used=1");
    make(rig);
    unsigned in_use = 0;
    for (unsigned i = 0; i < rig->made->n_instances; i++) {
        assert_true(rig->made->instance[i].guessed);
        in_use += rig->made->instance[i].in_use;
        assert_true(rig->made->instance[i].in_use || rig->made->instance[i].profile->compute == 1);
    }
    assert_int_equal(in_use, 2);
}

TEST_ON(struct node_rig *rig, a_start_is_guessed_unless_the_annotation_tells_it)
{
    given(rig, A30, "nvidia.com/mig-1g.6gb=2");
    device(rig, 0, "1g.6gb@3 1g.6gb");
    make(rig);
    assert_int_equal(rig->made->instance[0].start, 0);
    assert_true(rig->made->instance[0].guessed);
    assert_int_equal(rig->made->instance[1].start, 3);
    assert_false(rig->made->instance[1].guessed);
    rig->node.devices = NULL;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-2g.12gb=2");
    assert_int_equal(make(rig)->layout, SL_LAYOUT_INFERRED);
    assert_true(rig->made->instance[0].guessed && rig->made->instance[1].guessed);
}

/* ---- a cut under way ---- */

static bool is_cut(struct node_rig *rig, enum sl_actuator actuator, const char *state)
{
    char labels[128];
    (void)snprintf(labels, sizeof(labels), "nvidia.com/mig.config.state=%s", state);
    given(rig, labels, "");
    rig->node.actuator = actuator;
    return sl_node_is_cut(make(rig));
}

TEST_ON(struct node_rig *rig, the_annotation_says_that_a_cut_is_under_way)
{
    assert_false(is_cut(rig, SL_ACTUATOR_MIG_MANAGER, "pending"));
    annotations(rig, "sliced.dev/cut=sliced-1-1");
    assert_true(is_cut(rig, SL_ACTUATOR_MIG_MANAGER, "success"));
    assert_true(is_cut(rig, SL_ACTUATOR_NOS_MIG, "x"));
}

/* After a restart in the middle of a cut, what the order noted tells how it went. */
TEST_ON(struct node_rig *rig,
        a_cut_is_followed_when_all_it_planned_is_allocatable_and_nothing_is_unsure)
{
    static const struct {
        const char *allocatable;
        const char *other; /* GPU 0 has these, besides GPU 1's instance; NULL: it is unsure */
        bool follows;
    } rows[] = {
        {"nvidia.com/mig-7g.40gb=1 nvidia.com/mig-3g.20gb=2", "3g.20gb 3g.20gb", true},
        {"nvidia.com/mig-7g.40gb=1 nvidia.com/mig-3g.20gb=1", "3g.20gb 3g.20gb", false},
        {"nvidia.com/mig-7g.40gb=1 nvidia.com/mig-3g.20gb=2", "7g.40gb", false},
        {"nvidia.com/mig-7g.40gb=1 nvidia.com/mig-3g.20gb=2", NULL, false},
        {"nvidia.com/mig-7g.40gb=1", NULL, false},
    };
    annotations(rig, "sliced.dev/cut=sliced-1-1");
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        given(rig, "nvidia.com/gpu.product=NVIDIA-A100-SXM4-40GB", rows[i].allocatable);
        rig->node.devices = NULL;
        device(rig, 0, rows[i].other == NULL ? "" : rows[i].other)->unsure = rows[i].other == NULL;
        (void)device(rig, 1, "7g.40gb");
        rig->node.planned = rig->node.devices;
        rig->node.devices = NULL;
        assert_int_equal(make(rig)->partition.follows, rows[i].follows);
    }
}

TEST_THAT(a_cut_that_nobody_follows_any_more_counts_while_the_mig_manager_is_at_it)
{
    struct node_rig *rig = *state;
    annotations(rig, "sliced.dev/cut=sliced-1-1");
    assert_true(is_cut(rig, SL_ACTUATOR_NONE, "pending"));
    assert_true(is_cut(rig, SL_ACTUATOR_NONE, "rebooting"));
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "success"));
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "failed"));
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "x"));
}

TEST_ON(struct node_rig *rig, it_counts_while_nos_agent_has_not_answered)
{
    annotations(rig, "sliced.dev/cut=sliced-1-1 nos.nebuly.com/spec-partitioning-plan=sliced-1-1 "
                     "nos.nebuly.com/status-partitioning-plan=8");
    assert_true(is_cut(rig, SL_ACTUATOR_NONE, "x"));
    annotations(rig, "sliced.dev/cut=sliced-1-1 nos.nebuly.com/spec-partitioning-plan=sliced-1-1 "
                     "nos.nebuly.com/status-partitioning-plan=sliced-1-1");
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "x"));
    annotations(rig, "sliced.dev/cut=sliced-1-1 nos.nebuly.com/spec-partitioning-plan=8");
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "x"));
    annotations(rig, "nos.nebuly.com/spec-partitioning-plan=8");
    assert_false(is_cut(rig, SL_ACTUATOR_NONE, "x"));
}

/* ---- lies ---- */

TEST_ON(struct node_rig *rig, texts_that_are_too_long_count_as_absent)
{
    char text[512] = "sliced.dev/cut=";
    memset(text + strlen(text), 'x', SL_PARTITION_TEXT_MAX);
    rig->node.actuator = SL_ACTUATOR_NOS_MIG;
    annotations(rig, text);
    assert_int_equal(strlen(make(rig)->partition.cut), SL_PARTITION_TEXT_MAX);
    assert_null(rig->made->problem);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
                   "x nos.nebuly.com/spec-partitioning-plan=1");
    annotations(rig, text);
    assert_null(make(rig)->partition.cut);
    assert_string_equal(rig->made->partition.wanted, "1");
    assert_string_equal(rig->made->problem, "sliced.dev/cut: 254 bytes long, ignored");
    char told[512] = "sliced.dev/cut-text=";
    annotations(rig, "sliced.dev/cut-text=GPU-1");
    assert_string_equal(make(rig)->partition.cut_text, "GPU-1");
    memset(told + strlen(told), 'x', SL_PARTITION_TEXT_MAX + 1);
    annotations(rig, told);
    assert_null(make(rig)->partition.cut_text);
}

TEST_ON(struct node_rig *rig, an_empty_text_counts_as_absent)
{
    annotations(rig, "sliced.dev/cut= nos.nebuly.com/status-partitioning-plan=");
    assert_false(is_cut(rig, SL_ACTUATOR_NOS_MIG, ""));
    assert_null(rig->made->partition.cut);
    assert_null(rig->made->partition.applied);
}

TEST_ON(struct node_rig *rig, a_count_that_no_node_has_is_unknown)
{
    static const char *const counts[] = {
        "65", "9223372036854775807", "99999999999999999999", "-1", "0", "x"};
    char labels[128];
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        (void)snprintf(labels, sizeof(labels), "nvidia.com/gpu.count=%s", counts[i]);
        given(rig, labels, "");
        assert_int_equal(make(rig)->partition.n_gpus, 0);
    }
    given(rig, "nvidia.com/gpu.count=64", "");
    assert_int_equal(make(rig)->partition.n_gpus, 64);
}

TEST_ON(struct node_rig *rig, reports_of_more_instances_in_use_than_fit_are_a_problem_and_no_more)
{
    rig->node.actuator = SL_ACTUATOR_NOS_MIG;
    given(rig, A30 "nvidia.com/gpu.count=1", "nvidia.com/mig-2g.12gb=2");
    annotations(rig, "nos.nebuly.com/status-gpu-0-2g.12gb-used=2 "
                     "nos.nebuly.com/status-gpu-0-1g.6gb-used=4 "
                     "nos.nebuly.com/spec-gpu-0-4g.24gb=1");
    make(rig);
    assert_non_null(rig->made->problem);
    assert_int_equal(rig->made->n_instances, 2);
    annotations(rig, "nos.nebuly.com/status-gpu-0-2g.12gb-used=9223372036854775807");
    make(rig);
    assert_string_equal(rig->made->problem, "nos reports too many instances on one GPU");
    assert_int_equal(rig->made->pool[0].capacity, 2);
}
