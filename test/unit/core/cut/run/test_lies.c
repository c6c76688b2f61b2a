/* An agent that says success and has done nothing, beside GPUs of which nobody knows what they
 * have. */
#include "unit/core/cut/cut_rig.h"

#include "sliced/cut_run.h"

static const struct sl_cut_rules rules = {.timeout_us = 900 * INT64_C(1000000)};

/* Makes a node whose GPU 2 has two instances and whose GPUs 0 and 1 are unsure. */
static struct sl_node *tell(struct cut_rig *rig, const char *wanted, const char *allocatable)
{
    char labels[256];
    struct sl_error err;
    struct sl_node_facts facts = {.name = SL_STR("node-0"), .actuator = SL_ACTUATOR_MIG_MANAGER};
    (void)snprintf(labels, sizeof(labels),
                   "nvidia.com/gpu.product=" A100 " nvidia.com/gpu.count=3 "
                   "nvidia.com/mig.strategy=mixed nvidia.com/mig.config=%s "
                   "nvidia.com/mig.config.state=success",
                   wanted);
    facts.labels = facts_pairs(&rig->facts, labels);
    facts.allocatable = facts_pairs(&rig->facts, allocatable);
    facts_device(&rig->facts, &facts, 0, "")->unsure = true;
    facts_device(&rig->facts, &facts, 1, "")->unsure = true;
    (void)facts_device(&rig->facts, &facts, 2, "3g.20gb 3g.20gb");
    struct sl_node *node = sl_node_new(&facts, &err);
    assert_non_null(node);
    return node;
}

/* Cuts GPU 2 into one instance, after which the node shows that. */
static enum sl_cut_outcome outcome_of(struct cut_rig *rig, const char *before, const char *after)
{
    struct sl_cut_run run;
    struct sl_cut cut = {.device = 2, .n = 1};
    int64_t now_us = rig_now;
    struct sl_node *node = tell(rig, "all-balanced", before);
    cut.instance[0].profile =
        (uint8_t)(sl_mig_profile_find(node->model, SL_STR("7g.40gb")) - node->model->profiles);
    sl_cut_run_begin(&run, node, &cut, 1, now_us);
    while (run.at != SL_CUT_AT_WORK) { /* the file, then the order */
        assert_int_equal(sl_cut_run_step(&run, node, &rules, now_us), SL_CUT_ORDER);
        sl_cut_run_wrote(&run, SL_CUT_WRITTEN, now_us);
    }
    sl_node_unref(node);
    node = tell(rig, run.name, after);
    while (run.outcome == SL_CUT_RUNNING) {
        (void)sl_cut_run_step(&run, node, &rules, now_us);
        now_us = run.wake_us;
    }
    sl_node_unref(node);
    return run.outcome;
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, what_unsure_gpus_have_does_not_show_that_a_cut_was_made)
{
    static const char one[] = "nvidia.com/mig-7g.40gb=1 nvidia.com/mig-3g.20gb=2";
    static const char two[] = "nvidia.com/mig-7g.40gb=2";
    assert_int_equal(outcome_of(rig, one, one), SL_CUT_NOT_FOLLOWED);
    assert_int_equal(outcome_of(rig, one, two), SL_CUT_DONE);
    assert_int_equal(outcome_of(rig, "nvidia.com/mig-3g.20gb=2", "nvidia.com/mig-7g.40gb=1"),
                     SL_CUT_DONE);
}
