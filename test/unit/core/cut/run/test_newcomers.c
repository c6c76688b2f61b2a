/* Pods that come to a node while its cut is under way: their UIDs tell, no clock does. */
#include "unit/core/cut/cut_rig.h"

#include "sliced/cut_run.h"

#include "util/data/hash.h"

static const struct sl_cut_rules rules = {.timeout_us = 900 * INT64_C(1000000)};

/* Begins to cut GPU 1 of a node on whose GPU 0 a pod runs. */
static void begin(struct cut_rig *rig, struct sl_cut_run *run)
{
    struct sl_cut cut = {.device = 1};
    (void)MANAGED(rig, A100, "7g.40gb", "3g.20gb 3g.20gb");
    rig_run(rig, 0, "mig-7g.40gb=1", 0);
    sl_cut_run_begin(run, rig->node[0].node, &cut, 1, rig_now);
    sl_cut_run_note_pods(run, rig->view[0]);
}

static enum sl_cut_step look(struct cut_rig *rig, struct sl_cut_run *run)
{
    sl_cut_run_look_at_pods(run, rig->view[0]);
    return sl_cut_run_step(run, rig->node[0].node, &rules, rig_now);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct cut_rig *rig, pods_that_were_there_at_the_decision_do_not_end_it)
{
    struct sl_cut_run run;
    begin(rig, &run);
    assert_int_equal(look(rig, &run), SL_CUT_ORDER);
    assert_false(run.taken);
}

TEST_ON(struct cut_rig *rig, a_pod_that_came_since_ends_it_though_it_started_before_by_its_clock)
{
    struct sl_cut_run run;
    begin(rig, &run);
    rig_run(rig, 0, "mig-3g.20gb=1", 0);
    rig->node[0].running[1]->started_us = rig_now - 3600 * rig_second;
    assert_int_equal(look(rig, &run), SL_CUT_END); /* the node was never told */
    assert_int_equal(run.outcome, SL_CUT_TAKEN);
}

TEST_ON(struct cut_rig *rig, pods_without_units_are_no_newcomers)
{
    struct sl_cut_run run;
    begin(rig, &run);
    rig_run(rig, 0, NULL, 0);
    assert_int_equal(look(rig, &run), SL_CUT_ORDER);
}

/* After a restart nobody knows which pods were there. */
TEST_ON(struct cut_rig *rig, all_pods_are_newcomers_of_a_run_that_was_resumed)
{
    struct sl_cut_run run;
    begin(rig, &run);
    run = (struct sl_cut_run){.resumed = true};
    sl_cut_run_look_at_pods(&run, rig->view[0]);
    assert_true(run.taken);
    sl_pod_unref(rig->node[0].running[0]);
    rig->node[0].n_running = 0;
    rig_view(rig, 0);
    sl_cut_run_look_at_pods(&run, rig->view[0]);
    assert_false(run.taken);
}

/* Nobody can have a cut made by creating more pods than are noted. */
TEST_ON(struct cut_rig *rig, pods_beyond_those_that_can_be_noted_are_newcomers)
{
    static struct sl_resident resident[SL_CUT_STOOD_MAX + 1];
    struct sl_cut_run run;
    begin(rig, &run);
    struct sl_view many = *rig->view[0];
    struct sl_pod pods[2] = {*rig->node[0].running[0], *rig->node[0].running[0]};
    pods[1].uid = "another";
    for (size_t i = 0; i <= SL_CUT_STOOD_MAX; i++) {
        resident[i].pod = &pods[i == SL_CUT_STOOD_MAX];
    }
    many.resident = resident;
    many.n_residents = SL_CUT_STOOD_MAX;
    sl_cut_run_note_pods(&run, &many);
    sl_cut_run_look_at_pods(&run, &many);
    assert_false(run.taken);
    many.n_residents++;
    sl_cut_run_note_pods(&run, &many);
    sl_cut_run_look_at_pods(&run, &many);
    assert_true(run.taken);
}

/* Steps a run whose order is written, as long as so many units of each resource are allocatable. */
static enum sl_cut_step look_at_units(struct cut_rig *rig, struct sl_cut_run *run, int64_t units)
{
    struct sl_node shown = *rig->node[0].node;
    struct sl_pool pool[SL_NODE_POOLS_MAX];
    shown.partition.wanted = run->name;
    shown.partition.state = SL_PARTITION_PENDING;
    for (unsigned i = 0; i < shown.n_pools; i++) {
        pool[i] = shown.pool[i];
        pool[i].capacity = units < pool[i].capacity ? units : pool[i].capacity;
    }
    shown.pool = pool;
    sl_cut_run_look_at_pods(run, rig->view[0]);
    return sl_cut_run_step(run, &shown, &rules, rig_now);
}

TEST_THAT(an_order_is_taken_back_though_a_gpu_has_turned_unhealthy)
{
    struct cut_rig *rig = *state;
    for (int64_t left = 0; left < 2; left++) {
        struct sl_cut_run run;
        begin(rig, &run);
        run.announces = false;
        assert_int_equal(look(rig, &run), SL_CUT_ORDER);
        sl_cut_run_wrote(&run, SL_CUT_WRITTEN, rig_now);
        assert_int_equal(look_at_units(rig, &run, left), SL_CUT_WAIT); /* 0: it has begun */
        rig_run(rig, 0, "mig-3g.20gb=1", 0);
        assert_int_equal(look_at_units(rig, &run, left), left > 0 ? SL_CUT_FINISH : SL_CUT_WAIT);
        assert_int_equal(run.outcome, left > 0 ? SL_CUT_TAKEN : SL_CUT_RUNNING);
        tear_down(state);
        set_up(state);
        rig = *state;
    }
}
