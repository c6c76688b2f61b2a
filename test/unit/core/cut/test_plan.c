#include "unit/core/cut/cut_rig.h"

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, nothing_waits_nothing_is_cut)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, a_free_gpu_is_cut_for_pods_that_wait)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    for (unsigned i = 0; i < 5; i++) {
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    }
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1 2 3 4\n");
    assert_int_equal(rig->output.plan[0].start_us, rig_now + 60 * rig_second);
}

/* Lets the plan of a pod be under way on the node. */
static void make(struct cut_rig *rig, size_t node, const char *asks, struct sl_cut *cut)
{
    size_t pod = rig->n_pods;
    (void)rig_wait(rig, asks, NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    *cut = rig->output.plan[0].cut[0];
    rig->site[node].out = true;
    rig->site[node].making = cut;
    rig->site[node].n_making = 1;
    rig->site[node].made_us = rig_now + 20 * rig_second;
    rig->pod[pod].has_room = true;
    rig->pod[pod].made = node + 1;
}

TEST_ON(struct cut_rig *rig, pods_that_come_later_wait_for_what_a_cut_under_way_makes)
{
    struct sl_cut cut;
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)MANAGED(rig, A100, "7g.40gb");
    make(rig, 0, "mig-3g.20gb=1", &cut); /* the rest is filled with 3g.20gb, too */
    assert_int_equal(cut.n, 2);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    rig->input.max_plans = 0;
    assert_string_equal(rig_told(rig), "node-0: : 1\n");
    assert_int_equal(rig->output.plan[0].start_us, rig_now + 20 * rig_second);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL); /* nothing is left for it */
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: : 1\n");
    rig->input.max_plans = 1;
    assert_string_equal(rig_told(rig),
                        "node-0: : 1\nnode-1: GPU 0 into 4x 1g.5gb + 1x 3g.20gb: 2 3\n");
    rig->pod[1].start_us = rig_now + 10 * rig_second; /* it starts sooner without */
    assert_string_equal(rig_told(rig), "node-0: : 2\nnode-1: GPU 0 into 7x 1g.5gb: 3\n");
}

/* GPUs of two models on one node, and cuts under way on the second and the third of the nodes. */
TEST_ON(struct cut_rig *rig, pods_wait_for_what_any_cut_under_way_makes)
{
    const struct sl_cut large = {.device = 1, .n = 1, .instance = {{0, 0}}};
    const struct sl_cut small = {.device = 0, .n = 2, .instance = {{0, 0}, {0, 1}}};
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    (void)MANAGED(rig, A100, "7g.40gb");
    for (size_t i = 1; i < 3; i++) {
        rig->site[i].out = true;
        rig->site[i].making = i == 1 ? &large : &small;
        rig->site[i].n_making = 1;
        rig->site[i].made_us = rig_now + 20 * rig_second;
    }
    struct sl_node *mixed = rig->node[1].node;
    mixed->device[1].model = sl_mig_model_find(SL_STR(A30), 0);
    mixed->model = NULL;
    for (unsigned i = 0; i < 4; i++) {
        (void)rig_wait(rig, i % 2 == 0 ? "mig-1g.5gb=1" : "mig-1g.6gb=1", NULL);
    }
    rig->input.max_plans = 0;
    assert_string_equal(rig_told(rig), "node-1: : 1\nnode-2: : 0 2\n");
}

TEST_ON(struct cut_rig *rig, what_stays_in_use_is_not_made)
{
    struct sl_cut cut;
    (void)NOS(rig, A100, "3g.20gb*");
    rig_run(rig, 0, "mig-3g.20gb=1", 0);
    make(rig, 0, "mig-1g.5gb=1", &cut);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: : 2\n");
}

TEST_ON(struct cut_rig *rig, slices_of_memory_that_are_made_serve_further_pods)
{
    struct sl_cut cut;
    (void)SHARED(rig, 40, "10gb* 10gb");
    rig_run(rig, 0, "gpu-10gb=1", 0);
    make(rig, 0, "gpu-5gb=1", &cut);
    for (unsigned i = 0; i < 8; i++) {
        (void)rig_wait(rig, i < 4 ? "gpu-10gb=1" : "gpu-5gb=1", NULL);
    }
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    unsigned gb = 0;
    for (size_t k = 0; k < rig->output.plan[0].n_pods; k++) {
        gb += rig->output.plan[0].pod[k] <= 4 ? 10 : 5;
    }
    assert_true(gb > 0 && gb <= 25); /* of 40, 10 stay in use, and 5 are the first pod's */
}

/* kube-scheduler takes no pods at the moment: each of two pods has room in turn, and the GPU would
 * be remade for the other one, to and fro. */
TEST_ON(struct cut_rig *rig, what_a_pod_ahead_could_have_is_not_cut_for_one_behind)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    rig_wait(rig, "mig-7g.40gb=1", NULL)->has_room = true;
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    rig_clear(rig);
    (void)MANAGED(rig, A100, "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig_wait(rig, "mig-1g.5gb=1", NULL)->has_room = true;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n");
    rig_clear(rig);
    (void)MANAGED(rig, A100, "3g.20gb"); /* the pod ahead has no room here, but on the second */
    (void)MANAGED(rig, A100, "7g.40gb");
    rig_wait(rig, "mig-7g.40gb=1", NULL)->has_room = true;
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 4x 1g.5gb + 1x 3g.20gb: 1\n");
}

/* Each pod that has room counts, whatever others would have had cut. */
TEST_ON(struct cut_rig *rig, all_pods_ahead_that_have_room_keep_it)
{
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb", "7g.40gb");
    for (unsigned i = 0; i < 3; i++) { /* the second has room elsewhere, not here */
        rig_wait(rig, i == 1 ? "mig-3g.20gb=1" : "mig-7g.40gb=1", NULL)->has_room = true;
    }
    for (unsigned i = 0; i < 3; i++) {
        (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    }
    assert_string_equal(rig_told(rig), "node-0: GPU 2 into 1x 4g.20gb: 3\n");
}

/* A node is out as its cuts failed before: the others serve the pods as if it were not there. */
TEST_ON(struct cut_rig *rig, a_node_whose_cuts_failed_leaves_the_others_as_they_are)
{
    rig->input.limits.mig_mode = true;
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    (void)MANAGED(rig, A30, "4g.24gb");
    (void)SHARED(rig, 80, "20gb 40gb");
    (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, "nvidia.com/mig.strategy=single",
                   GPUS("3g.20gb 3g.20gb"));
    (void)rig_wait(rig, "gpu=1", "sliced.dev/min-gpu-memory=40Gi");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-2g.12gb=1", NULL);
    (void)rig_wait(rig, "gpu-70gb=1", NULL);
    (void)rig_wait(rig, "gpu=3", "sliced.dev/min-gpu-memory=4Gi");
    static const char others[] = "node-0: GPU 0 into a whole GPU; GPU 1 into 2x 3g.20gb: 0 1\n"
                                 "%s"
                                 "node-2: GPU 0 into 1x 70gb: 3\n"
                                 "node-3: GPU 0 into 7x 1g.5gb: 4\n";
    char told[512];
    (void)snprintf(told, sizeof(told), others, "node-1: GPU 0 into 2x 2g.12gb: 2\n");
    assert_string_equal(rig_told(rig), told);
    for (size_t i = 0; i < 3; i++) {
        rig->site[1].failed[i] = rig->output.plan[1].view == 1 ? rig->output.plan[1].digest : 0;
        rig_plan(rig);
    }
    (void)snprintf(told, sizeof(told), others, "");
    assert_string_equal(rig_told(rig), told);
}

/* As many as an ask may have. */
TEST_ON(struct cut_rig *rig, a_pod_may_want_something_of_everything)
{
    rig->input.limits.mig_mode = true;
    (void)MANAGED(rig, A100, "", "", "", "");
    (void)rig_wait(rig,
                   "gpu=1 mig-7g.40gb=1 mig-4g.20gb=1 mig-3g.20gb=1 mig-2g.10gb=1 mig-1g.10gb=1 "
                   "mig-1g.5gb=1 mig-1g.5gb.me=1",
                   NULL);
    assert_int_equal(rig->waiting[0]->n_items, SL_ASK_ITEMS_MAX);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_cuts, 4);
}

TEST_ON(struct cut_rig *rig, what_it_leaves_is_cut)
{
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    rig_wait(rig, "mig-7g.40gb=1", NULL)->has_room = true;
    rig_wait(rig, "mig-7g.40gb=9", NULL)->has_room = true; /* it has none where GPUs may be cut */
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=2", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 7x 1g.5gb: 2\n");
}

TEST_ON(struct cut_rig *rig, nos_keeps_free_instances_while_its_report_lags)
{
    size_t node = NOS(rig, A100, "3g.20gb 3g.20gb", "7g.40gb");
    rig_run(rig, node, "mig-3g.20gb=1", 0);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0\n");
}

/* ---- when a cut is worth it ---- */

TEST_ON(struct cut_rig *rig, no_cut_for_a_pod_that_starts_earlier_without)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    struct sl_cut_pod *pod = rig_wait(rig, "mig-1g.5gb=1", NULL);
    pod->start_us = rig_now + 60 * rig_second;
    assert_string_equal(rig_told(rig), "");
    pod->start_us = rig_now + 61 * rig_second; /* saves a second, takes a minute */
    assert_string_equal(rig_told(rig), "");
    pod->start_us = rig_now + 120 * rig_second;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0\n");
}

TEST_ON(struct cut_rig *rig, pods_that_gain_little_each_are_worth_it_together)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    for (unsigned i = 0; i < 3; i++) {
        rig_wait(rig, "mig-1g.5gb=1", NULL)->start_us = rig_now + 80 * rig_second;
    }
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1 2\n");
}

/* ---- which node, which device ---- */

TEST_ON(struct cut_rig *rig, one_node_serves_all_where_it_can)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-1: GPU 0 into 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
}

TEST_ON(struct cut_rig *rig, free_instances_in_demand_are_spared)
{
    static struct sl_demand demand;
    (void)MANAGED(rig, A100, "3g.20gb 3g.20gb", "2g.10gb 2g.10gb 2g.10gb");
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    demand = (struct sl_demand){.n = 1, .row = {{.kind = SL_KIND_MIG, .weight = 5}}};
    assert_true(sl_mig_shape_parse(SL_STR("2g.10gb"), &demand.row[0].shape));
    rig->input.demand = &demand;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 7g.40gb: 0\n");
    assert_true(sl_mig_shape_parse(SL_STR("3g.20gb"), &demand.row[0].shape));
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 7g.40gb: 0\n");
}

TEST_ON(struct cut_rig *rig, cpu_that_pods_of_the_plan_take_counts)
{
    (void)MANAGED(rig, A100, "7g.40gb");
    rig->node[0].node->host.pods = 2;
    for (unsigned i = 0; i < 4; i++) {
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    }
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 0 1\n");
}

/* ---- strategies and modes ---- */

#define SINGLE "nvidia.com/mig.strategy=single"

TEST_ON(struct cut_rig *rig, strategy_single_cuts_all_gpus_alike_for_asks_that_state_memory)
{
    rig->input.limits.mig_mode = true;
    (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS(NULL, NULL));
    for (unsigned i = 0; i < 3; i++) {
        (void)rig_wait(rig, "gpu=1", "sliced.dev/min-gpu-memory=8Gi");
    }
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 4x 1g.10gb; GPU 1 into 4x 1g.10gb: 0 1 2\n");
}

TEST_ON(struct cut_rig *rig, strategy_single_keeps_boards_whole_for_asks_that_state_none)
{
    rig->input.limits.mig_mode = true;
    (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, SINGLE, GPUS(NULL, NULL));
    (void)rig_wait(rig, "gpu=3", NULL);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, gpus_that_nobody_describes_are_cut_together)
{
    struct sl_error err;
    struct sl_node_facts facts = {.name = SL_STR("node-0"), .actuator = SL_ACTUATOR_MIG_MANAGER};
    facts.labels =
        facts_pairs(&rig->facts, "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=2");
    facts.allocatable =
        facts_pairs(&rig->facts, "nvidia.com/mig-3g.20gb=1 nvidia.com/mig-2g.10gb=2");
    rig->node[0].node = sl_node_new(&facts, &err);
    rig->n_nodes = 1;
    rig_view(rig, 0);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_cuts, 2);
    rig_run(rig, 0, "mig-2g.10gb=1", 0);
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, pods_whose_resource_is_not_shown_keep_the_node_from_cuts)
{
    size_t node = MANAGED(rig, A100, "7g.40gb");
    rig_run(rig, node, "mig-2g.10gb=1", 0);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
}

/* Whoever else orders cuts there, ours would end theirs half way; a name of ours is nobody else's.
 */
TEST_THAT(an_agent_at_work_for_somebody_else_is_left_alone)
{
    static const struct {
        const char *labels;
        size_t n_plans;
    } rows[] = {
        {"nvidia.com/mig.config=all-1g.5gb nvidia.com/mig.config.state=pending", 0},
        {"nvidia.com/mig.config=all-1g.5gb nvidia.com/mig.config.state=rebooting", 0},
        {"nvidia.com/mig.config.state=pending", 0},
        {"nvidia.com/mig.config=sliced-0123-1 nvidia.com/mig.config.state=pending", 1},
        {"nvidia.com/mig.config=all-1g.5gb nvidia.com/mig.config.state=failed", 1},
        {"nvidia.com/mig.config=all-1g.5gb nvidia.com/mig.config.state=busy", 1},
    };
    struct cut_rig *rig = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100, rows[i].labels, GPUS("7g.40gb"));
        (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
        rig_plan(rig);
        assert_int_equal(rig->output.n_plans, rows[i].n_plans);
        rig_clear(rig);
    }
}

/* An agent that says in use what nobody holds loses its GPU for cuts, and no more. */
TEST_ON(struct cut_rig *rig, instances_that_nos_calls_in_use_stay_though_no_pod_holds_them)
{
    (void)NOS(rig, A100, "7g.40gb*", "7g.40gb");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=2", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 2x 3g.20gb: 0\n");
}

/* ---- all models and multisets ---- */

TEST_ON(struct cut_rig *rig, every_profile_of_every_model)
{
    for (size_t m = 0; m < sl_mig_model_count(); m++) {
        const struct sl_mig_model *model = sl_mig_model_at(m);
        for (unsigned p = 0; p < model->n_profiles; p++) {
            char resource[96];
            char asks[128];
            rig_clear(rig);
            (void)rig_node(rig, SL_ACTUATOR_MIG_MANAGER, model->products[0], NULL, GPUS(""));
            rig_resource(model->profiles[p].name, resource);
            (void)snprintf(asks, sizeof(asks), "%s=%u", resource + strlen("nvidia.com/"),
                           model->profiles[p].max_count);
            (void)rig_wait(rig, asks, NULL);
            rig_plan(rig);
            assert_int_equal(rig->output.n_plans, 1);
        }
    }
}

/* ---- drains ---- */

TEST_ON(struct cut_rig *rig, a_device_of_nos_drains_alone)
{
    size_t node = NOS(rig, A100, "3g.20gb* 2g.10gb*", "7g.40gb*");
    rig_run(rig, node, "mig-3g.20gb=1", 900);
    rig_run(rig, node, "mig-2g.10gb=1", 300);
    rig_run(rig, node, "mig-7g.40gb=1", 7200);
    rig->input.drain = true;
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 300 s\n");
}

TEST_THAT(a_node_whose_agent_is_at_work_for_somebody_else_is_not_drained)
{
    struct cut_rig *rig = *state;
    size_t node = rig_node(rig, SL_ACTUATOR_MIG_MANAGER, A100,
                           "nvidia.com/mig.config=all-3g.20gb nvidia.com/mig.config.state=pending",
                           GPUS("3g.20gb 3g.20gb"));
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    rig->input.drain = true;
    assert_string_equal(rig_told(rig), "");
}

TEST_ON(struct cut_rig *rig, no_drain_breaks_a_promise)
{
    size_t node = MANAGED(rig, A100, "3g.20gb 3g.20gb");
    rig_run(rig, node, "mig-3g.20gb=1", 600);
    (void)rig_wait(rig, "mig-7g.40gb=1", NULL);
    struct sl_cut_pod *promised = rig_wait(rig, "mig-3g.20gb=2", NULL);
    promised->start_us = rig_now + 600 * rig_second;
    promised->latest_us = rig_now + 650 * rig_second;
    rig->input.drain = true;
    assert_string_equal(rig_told(rig), "");
    promised->latest_us = rig_now + 660 * rig_second;
    assert_string_equal(rig_told(rig), "drain node-0 for 0 until 600 s\n");
}

/* ---- judging ---- */

TEST_ON(struct cut_rig *rig, cuts_are_judged_against_the_node_as_it_is)
{
    char reason[128];
    size_t node = MANAGED(rig, A100, "7g.40gb");
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    rig_plan(rig);
    struct sl_cut cut = rig->output.plan[0].cut[0];
    cut.instance[0].start = 7;
    assert_false(
        sl_cut_allowed(rig->view[0], &cut, 1, (struct sl_cut_limits){0}, reason, sizeof(reason)));
    assert_string_equal(reason, "GPU 0 cannot have these instances beside those in use");
    cut = rig->output.plan[0].cut[0];
    cut.device = 1;
    assert_false(
        sl_cut_allowed(rig->view[0], &cut, 1, (struct sl_cut_limits){0}, reason, sizeof(reason)));
    assert_string_equal(reason, "GPU 1 is not known");
    cut.device = 0;
    rig_run(rig, node, "mig-7g.40gb=1", 0);
    assert_false(
        sl_cut_allowed(rig->view[0], &cut, 1, (struct sl_cut_limits){0}, reason, sizeof(reason)));
    assert_string_equal(reason, "every GPU of it is in use or may not be cut");
}

TEST_ON(struct cut_rig *rig, a_node_shows_a_cut_once_devices_and_allocatable_agree)
{
    (void)MANAGED(rig, A100, "3g.20gb", "7g.40gb");
    (void)MANAGED(rig, A100, "1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb", "7g.40gb");
    (void)rig_wait(rig, "mig-1g.5gb=7", NULL);
    rig->site[1].out = true;
    rig_plan(rig);
    const struct sl_cut_plan *plan = &rig->output.plan[0];
    assert_false(sl_cut_shown(rig->node[0].node, plan->cut, plan->n_cuts));
    assert_true(sl_cut_shown(rig->node[1].node, plan->cut, plan->n_cuts));
}
