/* What the store asks before it withholds a node: are these cuts allowed on the node as it is? */
#include "unit/core/cut/cut_rig.h"

#define SINGLE "nvidia.com/mig.strategy=single"

enum { CUTS = 3 };

/* Adds "4g.20gb@0" to the cut of an A100. */
static void cut_add(struct sl_cut *cut, const char *name, unsigned start)
{
    const struct sl_mig_model *model = sl_mig_model_find(SL_STR(A100), 0);
    cut->instance[cut->n] = (struct sl_mig_placement){
        (uint8_t)(sl_mig_profile_find(model, sl_str_of(name)) - model->profiles), (uint8_t)start};
    cut->n++;
}

/* The reason why not; "": allowed. */
static const char *judged(struct cut_rig *rig, const struct sl_cut *cut, size_t n)
{
    static char reason[128];
    bool allowed = sl_cut_allowed(rig->view[0], cut, n, rig->input.limits, reason, sizeof(reason));
    assert_int_equal(allowed, reason[0] == '\0');
    assert_int_equal(sl_cut_allowed(rig->view[0], cut, n, rig->input.limits, NULL, 0), allowed);
    return reason;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_cut_names_each_gpu_once_and_in_order)
{
    struct sl_cut cut[CUTS] = {{.device = 0}, {.device = 1}};
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    assert_string_equal(judged(rig, cut, 0), "all GPUs of the node must be named");
    assert_string_equal(judged(rig, cut, 1), "");
    assert_string_equal(judged(rig, cut, 2), "");
    cut[1].device = 0;
    assert_string_equal(judged(rig, cut, 2), "GPU 0 is named out of order");
    cut[0].device = 1;
    assert_string_equal(judged(rig, cut, 2), "GPU 0 is named out of order");
    cut[1].device = 2;
    assert_string_equal(judged(rig, cut, 2), "GPU 2 is not known");
}

TEST_ON(struct cut_rig *rig, instances_are_legal_together)
{
    const char *illegal = "GPU 0 cannot have these instances beside those in use";
    struct sl_cut cut = {.device = 0};
    (void)MANAGED(rig, A100, "7g.40gb");
    cut_add(&cut, "4g.20gb", 0);
    cut_add(&cut, "3g.20gb", 4);
    assert_string_equal(judged(rig, &cut, 1), "");
    cut_add(&cut, "1g.5gb", 6);
    assert_string_equal(judged(rig, &cut, 1), illegal);
    cut = (struct sl_cut){.device = 0};
    for (unsigned i = 0; i < SL_MIG_INSTANCES_MAX; i++) {
        cut_add(&cut, "1g.5gb", i);
    }
    assert_string_equal(judged(rig, &cut, 1), illegal); /* none starts at 7 */
    cut.n = SL_MIG_INSTANCES_MAX + 1;
    assert_string_equal(judged(rig, &cut, 1), illegal);
}

TEST_ON(struct cut_rig *rig, a_gpu_becomes_whole_only_empty_and_where_mig_mode_may_be_switched)
{
    struct sl_cut cut = {.device = 0, .whole = true};
    (void)MANAGED(rig, A100, "7g.40gb");
    assert_string_equal(judged(rig, &cut, 1), "GPU 0 may not become whole");
    rig->input.limits.mig_mode = true;
    assert_string_equal(judged(rig, &cut, 1), "");
    cut_add(&cut, "7g.40gb", 0);
    assert_string_equal(judged(rig, &cut, 1), "GPU 0 may not become whole");
    rig_clear(rig);
    cut.n = 0;
    (void)NOS(rig, A100, "7g.40gb");
    assert_string_equal(judged(rig, &cut, 1), "GPU 0 may not become whole"); /* nos makes none */
}

TEST_ON(struct cut_rig *rig, an_instance_in_use_stays_where_it_is)
{
    struct sl_cut cut = {.device = 0};
    (void)NOS(rig, A100, "4g.20gb* 1g.5gb");
    rig_run(rig, 0, "mig-4g.20gb=1", 0);
    cut_add(&cut, "3g.20gb", 4);
    assert_string_equal(judged(rig, &cut, 1),
                        "GPU 0 cannot have these instances beside those in use");
    cut_add(&cut, "4g.20gb", 0);
    assert_string_equal(judged(rig, &cut, 1), "");
}

/* The agent tells that a 3g.20gb is in use, not where: a guess says 0 or 4. */
TEST_ON(struct cut_rig *rig, a_new_instance_has_room_wherever_those_in_use_lie)
{
    (void)NOS(rig, A100, "3g.20gb*");
    rig_run(rig, 0, "mig-3g.20gb=1", 0);
    const struct sl_instance *held = &rig->node[0].node->instance[0];
    assert_true(held->guessed);
    struct sl_cut cut = {.device = 0};
    cut_add(&cut, "3g.20gb", (unsigned)held->start);
    cut_add(&cut, "3g.20gb", held->start == 0 ? 4 : 0);
    assert_string_equal(judged(rig, &cut, 1), "");
    cut = (struct sl_cut){.device = 0};
    cut_add(&cut, "3g.20gb", (unsigned)held->start);
    cut_add(&cut, "2g.10gb", held->start == 0 ? 4 : 0);
    assert_string_equal(judged(rig, &cut, 1), "");
    if (held->start == 4) {
        cut_add(&cut, "2g.10gb", 2);
        assert_string_equal(judged(rig, &cut, 1),
                            "GPU 0 may lack room where the instances in use lie");
    }
}

/* As one pod ends and another starts, the sum of what is in use agrees with an old report. */
TEST_ON(struct cut_rig *rig, nos_agents_have_to_report_first_what_a_new_pod_holds)
{
    (void)NOS(rig, A100, "1g.5gb* 1g.5gb 2g.10gb");
    rig_run(rig, 0, "mig-1g.5gb=1", 0);
    const struct sl_instance *has = rig->node[0].node->instance;
    while (!has->in_use) {
        has++;
    }
    const char *uid = rig->view[0]->resident[0].pod->uid;
    struct sl_cut_seen seen[3] = {
        {.pod = 1}, {sl_hash(uid, strlen(uid)), rig_now}, {UINT64_MAX, 1}};
    struct sl_cut one = {.device = 0};
    struct sl_cut both = {.device = 0};
    cut_add(&one, "1g.5gb", (unsigned)has->start);
    cut_add(&both, "1g.5gb", (unsigned)has->start);
    for (has = rig->node[0].node->instance; both.n < 2; has++) {
        if (!has->in_use && strcmp(has->profile->name, "1g.5gb") == 0) {
            cut_add(&both, "1g.5gb", (unsigned)has->start);
        }
    }
    rig->input.limits = (struct sl_cut_limits){.reported_us = rig_now, .seen = seen, .n_seen = 3};
    assert_string_equal(judged(rig, &one, 1), "");
    assert_string_equal(judged(rig, &both, 1), "");
    rig->input.limits.reported_us = rig_now - 1;
    assert_string_equal(judged(rig, &one, 1),
                        "GPU 0 cannot have these instances beside those in use");
    rig->input.limits.reported_us = rig_now;
    rig->input.limits.n_seen = 1; /* whenever the pod's kubelet says that it started */
    assert_string_equal(judged(rig, &one, 1),
                        "GPU 0 cannot have these instances beside those in use");
    assert_string_equal(judged(rig, &both, 1), ""); /* no pod got what has gone */
}

/* A pod of two resources: of either the agent may call the wrong one free. */
TEST_ON(struct cut_rig *rig, a_new_pod_keeps_all_that_it_may_hold)
{
    (void)NOS(rig, A100, "1g.5gb* 1g.5gb 1g.5gb", "2g.10gb* 2g.10gb 2g.10gb");
    rig_run(rig, 0, "mig-1g.5gb=1 mig-2g.10gb=1", 0);
    const char *uid = rig->view[0]->resident[0].pod->uid;
    const struct sl_cut_seen seen = {sl_hash(uid, strlen(uid)), rig_now};
    rig->input.limits =
        (struct sl_cut_limits){.reported_us = rig_now - 1, .seen = &seen, .n_seen = 1};
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    rig->input.limits.reported_us = rig_now;
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_pods, 2);
    assert_int_equal(rig->output.plan[0].n_cuts, 2);
}

TEST_ON(struct cut_rig *rig, nos_makes_no_instance_with_attributes)
{
    struct sl_cut cut = {.device = 0};
    cut_add(&cut, "1g.5gb+me", 0);
    (void)NOS(rig, A100, "7g.40gb");
    assert_string_equal(judged(rig, &cut, 1), "GPU 0: nos cannot make instances with attributes");
    rig_clear(rig);
    (void)MANAGED(rig, A100, "7g.40gb");
    assert_string_equal(judged(rig, &cut, 1), "");
}

TEST_ON(struct cut_rig *rig, under_strategy_single_all_gpus_hold_the_same)
{
    const char *unlike = "strategy single needs all GPUs cut alike";
    struct sl_cut cut[2] = {{.device = 0}, {.device = 1}};
    rig->input.limits.mig_mode = true;
    (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS("7g.40gb", "7g.40gb"));
    cut_add(&cut[0], "3g.20gb", 0);
    cut_add(&cut[1], "3g.20gb", 0);
    assert_string_equal(judged(rig, cut, 1), "all GPUs of the node must be named");
    assert_string_equal(judged(rig, cut, 2), "");
    cut[1].n = 0;
    cut_add(&cut[1], "2g.10gb", 0);
    assert_string_equal(judged(rig, cut, 2), unlike); /* as many, of another profile */
    cut[1].n = 0;
    cut_add(&cut[1], "3g.20gb", 0);
    cut_add(&cut[1], "3g.20gb", 4);
    assert_string_equal(judged(rig, cut, 2), unlike);
    cut_add(&cut[0], "2g.10gb", 4); /* two profiles on the first */
    assert_string_equal(judged(rig, cut, 2), unlike);
    cut[1].n = 1;
    cut_add(&cut[1], "2g.10gb", 4); /* and on both */
    assert_string_equal(judged(rig, cut, 2), unlike);
    cut[0].n = 0;
    cut[1].n = 0;
    cut[1].whole = true;
    assert_string_equal(judged(rig, cut, 2), unlike);
    cut[0].whole = true;
    assert_string_equal(judged(rig, cut, 2), "");
}

TEST_ON(struct cut_rig *rig, a_gpu_of_slices_is_cut_into_slices_alone)
{
    const char *illegal = "GPU 0 cannot have these slices beside those in use";
    struct sl_cut cut = {.device = 0, .n_sizes = 1, .slices = {{.gb = 20, .n = 2}}};
    (void)SHARED(rig, 80, NULL);
    assert_string_equal(judged(rig, &cut, 1), "");
    cut.whole = true;
    assert_string_equal(judged(rig, &cut, 1), illegal);
    cut.whole = false;
    cut.n_sizes = 0;
    assert_string_equal(judged(rig, &cut, 1), illegal);
    cut.n_sizes = SL_MIG_INSTANCES_MAX + 1;
    assert_string_equal(judged(rig, &cut, 1), illegal);
    cut.n_sizes = 1;
    cut.n = 1;
    assert_string_equal(judged(rig, &cut, 1), illegal);
}

/* ---- what a node shows ---- */

static bool shown(struct cut_rig *rig, const struct sl_cut *cut, size_t n)
{
    return sl_cut_shown(rig->node[0].node, cut, n);
}

TEST_ON(struct cut_rig *rig, a_device_shows_its_cut_instance_by_instance)
{
    struct sl_cut cut[2] = {{.device = 1}, {.device = 7}};
    cut_add(&cut[0], "3g.20gb", 0);
    cut_add(&cut[0], "3g.20gb", 4);
    (void)MANAGED(rig, A100, "3g.20gb 3g.20gb", "3g.20gb 3g.20gb");
    assert_true(shown(rig, cut, 1));
    assert_false(shown(rig, cut, 2)); /* no GPU 7 is there */
    cut[0].n = 1;
    assert_false(shown(rig, cut, 1)); /* one more than ordered */
    cut[0].n = 2;
    cut_add(&cut[0], "1g.5gb", 6);
    assert_false(shown(rig, cut, 1)); /* one less */
    cut[0].n = 0;
    cut[0].whole = true;
    assert_false(shown(rig, cut, 1));
    rig_clear(rig);
    (void)MANAGED(rig, A100, "7g.40gb", NULL);
    assert_true(shown(rig, cut, 1));
    cut[0].whole = false;
    assert_false(shown(rig, cut, 1)); /* MIG mode is still off */
}

/* Without devices allocatable alone tells; where the cut names all GPUs it must be that and no
 * more. */
TEST_ON(struct cut_rig *rig, what_is_allocatable_shows_a_cut_of_gpus_that_nobody_describes)
{
    static const struct {
        const char *allocatable;
        bool one;  /* of GPU 0 alone */
        bool both; /* of both GPUs */
    } rows[] = {
        {"nvidia.com/mig-3g.20gb=2 nvidia.com/mig-2g.10gb=2", true, true},
        {"nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=2", true, false},
        {"nvidia.com/mig-3g.20gb=2 nvidia.com/mig-2g.10gb=1", false, false},
        {"nvidia.com/mig-3g.20gb=2 nvidia.com/mig-2g.10gb=3", true, false},
        {"nvidia.com/mig-3g.20gb=2 nvidia.com/mig-2g.10gb=2 nvidia.com/mig-1g.5gb=1", true, false},
        {"nvidia.com/mig-3g.20gb=2 nvidia.com/mig-2g.10gb=2 nvidia.com/gpu=1", true, false},
    };
    struct sl_cut cut[2] = {{.device = 0}, {.device = 1}};
    cut_add(&cut[0], "3g.20gb", 0);
    cut_add(&cut[0], "2g.10gb", 4);
    cut_add(&cut[1], "3g.20gb", 0);
    cut_add(&cut[1], "2g.10gb", 4);
    cut[0].n = 2;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sl_error err;
        struct sl_node_facts facts = {.name = SL_STR("node-0"),
                                      .actuator = SL_ACTUATOR_MIG_MANAGER};
        struct sl_cut first = cut[0];
        facts.labels =
            facts_pairs(&rig->facts, "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=2");
        facts.allocatable = facts_pairs(&rig->facts, rows[i].allocatable);
        cut_add(&first, "2g.10gb", 2); /* two, of which the second is elsewhere */
        first.n = 3;
        struct sl_node *node = sl_node_new(&facts, &err);
        assert_non_null(node);
        assert_int_equal(sl_cut_shown(node, &first, 1), rows[i].one);
        assert_int_equal(sl_cut_shown(node, cut, 2), rows[i].both);
        sl_node_unref(node);
    }
}

/* Labels do not tell which GPU holds which: in whatever order, the node may show the cut. */
TEST_ON(struct cut_rig *rig, allocatable_shows_a_cut_of_gpus_that_labels_tell_apart)
{
    struct sl_error err;
    struct sl_node_facts facts = {.name = SL_STR("node-0"), .actuator = SL_ACTUATOR_MIG_MANAGER};
    facts.labels = facts_pairs(&rig->facts, "nvidia.com/gpu.product=" A30 " nvidia.com/gpu.count=2 "
                                            "nvidia.com/mig.strategy=mixed");
    facts.allocatable =
        facts_pairs(&rig->facts, "nvidia.com/mig-4g.24gb=1 nvidia.com/mig-2g.12gb=2");
    struct sl_node *node = sl_node_new(&facts, &err);
    assert_non_null(node);
    assert_int_equal(node->layout, SL_LAYOUT_INFERRED);
    const uint8_t half =
        (uint8_t)(sl_mig_profile_find(node->model, SL_STR("2g.12gb")) - node->model->profiles);
    const uint8_t all =
        (uint8_t)(sl_mig_profile_find(node->model, SL_STR("4g.24gb")) - node->model->profiles);
    for (uint16_t first = 0; first < 2; first++) {
        struct sl_cut cut[2] = {{.device = 0}, {.device = 1}};
        cut[first] = (struct sl_cut){.device = first, .n = 2, .instance = {{half, 0}, {half, 2}}};
        cut[1 - first] =
            (struct sl_cut){.device = (uint16_t)(1 - first), .n = 1, .instance = {{all, 0}}};
        assert_true(sl_cut_shown(node, cut, 2));
        cut[first].n = 1;
        assert_false(sl_cut_shown(node, cut, 2));
    }
    sl_node_unref(node);
}

TEST_ON(struct cut_rig *rig, a_digest_tells_cuts_apart)
{
    struct sl_cut cut = {.device = 0};
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)MANAGED(rig, A100, "7g.40gb");
    const struct sl_node *node = rig->node[0].node;
    cut_add(&cut, "3g.20gb", 0);
    const uint64_t digest = sl_cut_digest(node, &cut, 1);
    cut.instance[0].start = 4; /* the agent places it where it likes */
    assert_true(sl_cut_digest(node, &cut, 1) == digest);
    assert_true(sl_cut_digest(rig->node[1].node, &cut, 1) != digest);
    cut.device = 1;
    assert_true(sl_cut_digest(node, &cut, 1) != digest);
    cut = (struct sl_cut){.device = 0};
    cut_add(&cut, "4g.20gb", 0);
    assert_true(sl_cut_digest(node, &cut, 1) != digest);
    cut.n = 0;
    const uint64_t empty = sl_cut_digest(node, &cut, 1);
    cut.whole = true;
    assert_true(sl_cut_digest(node, &cut, 1) != empty);
    struct sl_cut two[] = {cut, {.device = 1}};
    const uint64_t both = sl_cut_digest(node, two, 2);
    assert_true(both != sl_cut_digest(node, two, 1));
    cut_add(&two[1], "7g.40gb", 0);
    assert_true(sl_cut_digest(node, two, 2) != both);
}
