/* Which GPUs of a node are cut, into what, and where on a GPU the instances go. */
#include "core/cut/node/finish.h"
#include "core/cut/planner.h"
#include "unit/core/cut/cut_rig.h"

/* The first cut of the first plan with its starts: "3g.20gb@4 2g.10gb@2", with nothing more than
 * what pods need or is there. */
static const char *starts(struct cut_rig *rig)
{
    static char text[256];
    static struct sl_cut cut[SL_NODE_DEVICES_MAX];
    rig_plan(rig);
    assert_true(rig->output.n_plans > 0);
    (void)sl_cut_node_finish(&rig->cutter->candidate[rig->cutter->opened[0]].node, 1, cut);
    const struct sl_mig_model *model = rig->node[0].node->model;
    size_t len = 0;
    for (unsigned i = 0; i < cut->n; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s@%u", i > 0 ? " " : "",
                                model->profiles[cut->instance[i].profile].name,
                                cut->instance[i].start);
    }
    return text;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, a_free_instance_is_taken_though_another_gpu_is_cut_anyway)
{
    (void)MANAGED(rig, A100, "2g.10gb 2g.10gb 2g.10gb", "");
    (void)rig_wait(rig, "mig-4g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=2", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 1 into 1x 4g.20gb: 0 1\n");
}

TEST_ON(struct cut_rig *rig, a_whole_gpu_is_taken_as_it_is)
{
    rig->input.limits.mig_mode = true;
    (void)MANAGED(rig, A100, "7g.40gb", NULL, "7g.40gb");
    (void)rig_wait(rig, "gpu=2", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into a whole GPU: 0\n");
}

/* A whole GPU is nobody's before MIG mode is switched off, and has the board's memory. */
TEST_ON(struct cut_rig *rig, a_gpu_becomes_whole_for_asks_that_its_memory_suffices)
{
    rig->input.limits.mig_mode = true;
    (void)MANAGED(rig, A100, "7g.40gb");
    (void)rig_wait(rig, "gpu=1", "sliced.dev/min-gpu-memory=41Gi");
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "gpu=1", "sliced.dev/min-gpu-memory=40Gi");
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into a whole GPU: 1\n");
}

TEST_ON(struct cut_rig *rig, what_a_pod_adds_goes_where_something_is_cut_anyway)
{
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb", "7g.40gb");
    (void)rig_wait(rig, "mig-4g.20gb=2", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 2g.10gb + 1x 4g.20gb; GPU 1 into 1x 4g.20gb: 0 1\n");
    /* the GPU that has least room left for it */
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 1g.5gb + 1x 2g.10gb + 1x 4g.20gb; "
                                       "GPU 1 into 1x 4g.20gb: 0 1 2\n");
}

/* The 3g.20gb and the 2g.10gb that were given one GPU leave no room for a 4g.20gb there. */
TEST_ON(struct cut_rig *rig, the_plan_puts_all_anew_where_one_more_does_not_fit)
{
    (void)MANAGED(rig, A100, "7g.40gb", "7g.40gb");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=2", NULL);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 3g.20gb + 1x 4g.20gb; GPU 1 into 1x 1g.5gb + 1x "
                        "2g.10gb + 1x 4g.20gb: 0 1 2 3\n");
}

/* One of the smallest is put anew with the rest, and what is free elsewhere stays where it is. */
/* The whole GPU stays one of the plan; instances of the two others change places. */
TEST_ON(struct cut_rig *rig, a_whole_gpu_of_the_plan_is_put_anew_once)
{
    rig->input.limits.mig_mode = true;
    (void)MANAGED(rig, A100, "", "", "");
    (void)rig_wait(rig, "gpu=1", NULL);
    (void)rig_wait(rig, "mig-3g.20gb=2", NULL);
    (void)rig_wait(rig, "mig-4g.20gb=2", NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].n_pods, 3);
}

/* On a node of two models, where room is not summed up, too much is too much. */
TEST_ON(struct cut_rig *rig, an_ask_for_more_than_gpus_can_hold_takes_nothing)
{
    size_t node = MANAGED(rig, A100, "", "");
    rig->node[node].node->device[1].model = sl_mig_model_find(SL_STR(A30), 0);
    assert_non_null(rig->node[node].node->device[1].model);
    rig_view(rig, node);
    (void)rig_wait(rig, "mig-1g.5gb=17", NULL);
    (void)rig_wait(rig, "mig-1g.5gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 7x 1g.5gb: 1\n");
}

TEST_ON(struct cut_rig *rig, what_a_pod_has_of_free_units_is_not_put_anew)
{
    size_t node = MANAGED(rig, A100, "7g.40gb", "7g.40gb", "1g.5gb 1g.5gb 2g.10gb");
    rig_run(rig, node, "mig-2g.10gb=1", 0);
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    (void)rig_wait(rig, "mig-1g.5gb=3 mig-4g.20gb=2", NULL);
    assert_string_equal(rig_told(rig),
                        "node-0: GPU 0 into 1x 3g.20gb + 1x 4g.20gb; GPU 1 into 1x 1g.5gb + 1x "
                        "2g.10gb + 1x 4g.20gb: 0 1 2\n");
}

/* Drivers round GB: a profile has the name that the node gives it already. */
TEST_ON(struct cut_rig *rig, an_ask_must_spell_a_profile_as_the_node_does)
{
    (void)MANAGED(rig, "NVIDIA-A100-SXM4-80GB", "3g.39gb", "7g.79gb");
    (void)rig_wait(rig, "mig-3g.40gb=2 mig-7g.80gb=1", NULL);
    (void)rig_wait(rig, "mig-7g.80gb=2", NULL);
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "mig-3g.39gb=2", NULL);
    rig_plan(rig);
    assert_int_equal(rig->output.n_plans, 1);
    assert_int_equal(rig->output.plan[0].pod[0], 2);
    rig_clear(rig);
    (void)MANAGED(rig, "NVIDIA-A100-SXM4-80GB", ""); /* no name yet: as the table spells it */
    (void)rig_wait(rig, "mig-3g.39gb=1", NULL);
    assert_string_equal(rig_told(rig), "");
    (void)rig_wait(rig, "mig-3g.40gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 3g.40gb: 1\n");
}

/* ---- what no pod needs ---- */

/* Ways to cut, one after the other failed: with what is free and more of what waits; without what
 * is free. A way that makes less is none. */
TEST_ON(struct cut_rig *rig, a_plan_that_failed_is_varied_by_the_next)
{
    size_t node = MANAGED(rig, A100, "1g.5gb 1g.5gb");
    (void)rig_wait(rig, "mig-3g.20gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 1g.5gb + 1x 3g.20gb: 0\n");
    rig->site[node].failed[0] = rig->output.plan[0].digest;
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 2x 3g.20gb: 0\n");
    rig->site[node].failed[1] = rig->output.plan[0].digest;
    assert_string_equal(rig_told(rig), "");
    rig_clear(rig);
    node = MANAGED(rig, A100, "1g.5gb");
    (void)rig_wait(rig, "mig-2g.10gb=1", NULL);
    assert_string_equal(rig_told(rig), "node-0: GPU 0 into 1x 1g.5gb + 3x 2g.10gb: 0\n");
    rig->site[node].failed[0] = rig->output.plan[0].digest;
    assert_string_equal(rig_told(rig), "");
    (void)MANAGED(rig, A30, "4g.24gb");
    (void)MANAGED(rig, A100, "7g.40gb"); /* what failed on one node may be right on another */
    assert_string_equal(rig_told(rig), "node-2: GPU 0 into 3x 2g.10gb: 0\n");
}

TEST_ON(struct cut_rig *rig, instances_go_where_larger_ones_keep_room)
{
    static const struct {
        const char *asks;
        const char *starts;
    } rows[] = {
        {"mig-1g.5gb=1", "1g.5gb@6"},
        {"mig-2g.10gb=1", "2g.10gb@4"},
        {"mig-3g.20gb=1", "3g.20gb@4"},
        {"mig-4g.20gb=1", "4g.20gb@0"},
        {"mig-2g.10gb=1 mig-1g.5gb=2", "1g.5gb@3 2g.10gb@4 1g.5gb@6"},
        {"mig-3g.20gb=1 mig-1g.5gb=1", "1g.5gb@3 3g.20gb@4"},
        {"mig-4g.20gb=1 mig-1g.5gb=1", "4g.20gb@0 1g.5gb@6"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)MANAGED(rig, A100, "");
        (void)rig_wait(rig, rows[i].asks, NULL);
        assert_string_equal(starts(rig), rows[i].starts);
        rig_clear(rig);
    }
}

/* Beside a 1g.5gb in use at 4 a 1g.5gb goes to the same half, so that a 3g.20gb fits at 0. */
TEST_ON(struct cut_rig *rig, instances_go_where_least_is_lost_of_what_is_in_demand)
{
    static struct sl_demand demand;
    demand = (struct sl_demand){.n = 1, .row = {{.kind = SL_KIND_MIG, .weight = 5}}};
    assert_true(sl_mig_shape_parse(SL_STR("4g.20gb"), &demand.row[0].shape));
    rig->input.demand = &demand;
    (void)MANAGED(rig, A100, "");
    (void)rig_wait(rig, "mig-1g.5gb=3", NULL);
    assert_string_equal(starts(rig), "1g.5gb@4 1g.5gb@5 1g.5gb@6");
}
