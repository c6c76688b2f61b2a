/* Drains of nodes, what nos' agents report, and rules that plan cuts in place of the engine's. */
#include "engine_rig.h"

static void begin(struct engine_rig *rig)
{
    engine_begin(rig);
    rig->config.cutting.enabled = true;
    rig->config.cutting.drain = true;
    engine_configure(rig);
}

TEST_FIXTURE_OF(struct engine_rig, begin, engine_end)

static void record(void *context, int64_t now_us, const char *line)
{
    struct engine_rig *rig = context;
    assert_int_equal(now_us, rig->now_us);
    engine_log(rig, "= %s\n", line);
}

/* A pod runs there since now, for so long at most. */
static void run(struct engine_rig *rig, const char *name, const char *asks, int64_t deadline_s,
                const char *node, const char *assignment)
{
    engine_tell(rig, (struct engine_ask){.name = name, .asks = asks, .deadline_s = deadline_s});
    engine_run_on(rig, name, node, assignment);
}

static struct sl_queue_row row_of(struct engine_rig *rig, const char *name)
{
    struct sl_queue_row row;
    assert_true(sl_planner_row(sl_engine_planner(rig->engine), sl_str_of(name), rig->now_us, &row));
    return row;
}

/* GPU 0 has a pod of the same namespace for ten minutes, GPU 1 one of another for a day. */
static void put_full_node(struct engine_rig *rig)
{
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, HALF, LARGE);
    run(rig, "r0", "mig-3g.20gb=1", 600, "n0", "nvidia.com/mig-3g.20gb=0/0");
    run(rig, "r1", "mig-3g.20gb=1", 600, "n0", "nvidia.com/mig-3g.20gb=0/4");
    run(rig, "r2", "mig-7g.40gb=1", 86400, "n0", "nvidia.com/mig-7g.40gb=1/0");
}

TEST_ON(struct engine_rig *rig, a_node_drains_for_a_pod_until_a_gpu_can_be_cut_for_it)
{
    put_full_node(rig);
    sl_engine_record(rig->engine, record, rig);
    engine_wait(rig, "a", "mig-7g.40gb=1");
    int64_t until_us = rig->now_us + 600 * SL_SECOND_US;
    assert_string_equal(engine_round(rig), "= drain n0: for default/a\n");
    assert_string_equal(row_of(rig, "a").why,
                        "n0 drains for it: GPU 0 is to be cut by 2023-11-14T22:23:20Z, "
                        "after at most default/r0, default/r1");
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_DRAINING);
    assert_int_equal(engine_status(rig, 0).until_us, until_us);
    assert_string_equal(engine_later(rig, SL_MINUTE_US), ""); /* it goes on */
    assert_int_equal(engine_status(rig, 0).until_us, until_us);
    engine_gone(rig, "r0");
    /* what comes free is kept, but from those that end soon enough, with a grace of 30 s */
    engine_tell(rig, (struct engine_ask){.name = "b", .asks = "mig-3g.20gb=1", .timeout = "571s"});
    assert_string_equal(engine_round(rig), "");
    assert_string_equal(engine_state(rig, "b"), "Held Behind");
    assert_string_equal(row_of(rig, "a").why,
                        "n0 drains for it: GPU 0 is to be cut by 2023-11-14T22:23:20Z, "
                        "after at most default/r1");
    engine_tell(rig, (struct engine_ask){.name = "c", .asks = "mig-3g.20gb=1", .timeout = "570s"});
    assert_non_null(strstr(engine_round(rig), "nominate c n0"));
    engine_gone(rig, "c");
    engine_gone(rig, "b");
    assert_string_equal(engine_round(rig), "");
    engine_gone(rig, "r1");
    const char *cut = engine_later(rig, SL_SECOND_US);
    assert_non_null(strstr(cut, "= cut n0: GPU 0 into 1x 7g.40gb\n"));
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_CUTTING);
    assert_string_equal(engine_later(rig, SL_SECOND_US), "= drain n0: ends\n");
}

TEST_ON(struct engine_rig *rig, a_drain_ends_with_its_pod_or_is_for_another)
{
    put_full_node(rig);
    sl_engine_record(rig->engine, record, rig);
    engine_wait(rig, "a", "mig-7g.40gb=1");
    (void)engine_round(rig);
    engine_wait(rig, "b", "mig-4g.20gb=1");
    assert_string_equal(engine_round(rig), "");
    engine_gone(rig, "a");
    assert_string_equal(engine_round(rig), "= drain n0: for default/b\n");
    engine_gone(rig, "b");
    assert_string_equal(engine_round(rig), "= drain n0: ends\n");
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_IDLE);
    assert_string_equal(engine_round(rig), "");
    engine_gone(rig, "r0"); /* nothing is kept any more */
    engine_wait(rig, "c", "mig-3g.20gb=1");
    assert_non_null(strstr(engine_round(rig), "nominate c n0"));
}

TEST_ON(struct engine_rig *rig, a_drain_that_is_switched_off_keeps_nothing)
{
    put_full_node(rig);
    sl_engine_record(rig->engine, record, rig);
    engine_wait(rig, "a", "mig-7g.40gb=1");
    (void)engine_round(rig);
    engine_wait(rig, "b", "mig-3g.20gb=1");
    engine_gone(rig, "r0");
    (void)engine_round(rig);
    assert_string_equal(engine_state(rig, "b"), "Held Behind");
    rig->config.cutting.drain = false;
    engine_configure(rig);
    assert_string_equal(engine_later(rig, SL_SECOND_US), "= drain n0: ends\n");
    assert_int_equal(engine_status(rig, 0).phase, SL_PHASE_IDLE);
    assert_non_null(strstr(engine_later(rig, SL_SECOND_US), "nominate b n0"));
}

static const struct waits {
    const char *name;
    const char *pods[4]; /* that hold a 1g.5gb each for 5, 6, 7 and 8 minutes */
    const char *asks;
    const char *told;
} waits[] = {
    {"of others",
     {"x/a", NULL},
     "mig-7g.40gb=1",
     "GPU 0 is to be cut by 2023-11-14T22:18:20Z, after at most 1 pod of others"},
    {"of others, and own ones",
     {"x/a", "b", "x/c", NULL},
     "mig-7g.40gb=1",
     "GPU 0 is to be cut by 2023-11-14T22:20:20Z, after at most default/b and 2 pods of others"},
    {"many",
     {"a", "b", "c", "d"},
     "mig-7g.40gb=1",
     "GPU 0 is to be cut by 2023-11-14T22:21:20Z, after at most default/a, default/b, default/c "
     "and 1 more of its namespace"},
};

TEST_ON_EACH(struct engine_rig *rig, what_a_drain_waits_for_is_told, waits)
{
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, SMALL, LARGE);
    run(rig, "long", "mig-7g.40gb=1", 86400, "n0", "nvidia.com/mig-7g.40gb=1/0");
    for (unsigned i = 0; i < 4 && row->pods[i] != NULL; i++) {
        char assignment[40];
        (void)snprintf(assignment, sizeof(assignment), "nvidia.com/mig-1g.5gb=0/%u", i);
        run(rig, row->pods[i], "mig-1g.5gb=1", 300 + 60 * (int64_t)i, "n0", assignment);
    }
    engine_wait(rig, "wants", row->asks);
    (void)engine_round(rig);
    const char *why = row_of(rig, "wants").why;
    assert_non_null(why);
    assert_string_equal(why + strlen("n0 drains for it: "), row->told);
}

TEST_ON(struct engine_rig *rig, gpus_that_drain_together_are_told_together)
{
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, HALF, HALF);
    run(rig, "a", "mig-3g.20gb=2", 300, "n0", "nvidia.com/mig-3g.20gb=0/0,0/4");
    run(rig, "b", "mig-3g.20gb=2", 600, "n0", "nvidia.com/mig-3g.20gb=1/0,1/4");
    engine_wait(rig, "wants", "mig-7g.40gb=2");
    (void)engine_round(rig);
    assert_string_equal(row_of(rig, "wants").why,
                        "n0 drains for it: GPUs are to be cut by 2023-11-14T22:23:20Z, after at "
                        "most default/a, default/b");
}

/* ---- what nos' agents report ---- */

/* A report may be older than the pods that were seen lately. */
TEST_ON(struct engine_rig *rig, a_node_of_nos_is_cut_once_its_pods_were_reported)
{
    rig->config.cutting.report_us = 10 * SL_SECOND_US;
    rig->config.cutting.drain = false;
    engine_configure(rig);
    for (unsigned i = 0; i < 2; i++) {
        (void)engine_node(rig, SL_ACTUATOR_NOS_MIG,
                          "1g.5gb* 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb",
                          "1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb* 1g.5gb*");
        for (unsigned k = 0; k < 8; k++) {
            char name[] = "a0";
            name[0] = (char)(i == 0 ? 'a' : 'c');
            name[1] = (char)('0' + k);
            run(rig, name, "mig-1g.5gb=1", 0, rig->node[i].name, NULL);
        }
    }
    assert_string_equal(engine_round(rig), "");
    engine_wait(rig, "w", "mig-3g.20gb=1");
    assert_string_equal(engine_later(rig, 4 * SL_SECOND_US), "");
    engine_gone(rig, "c3");
    run(rig, "e", "mig-1g.5gb=1", 0, "n1", NULL); /* unlike the others it is new */
    rig->now_us += SL_HOUR_US;                    /* the clock is put */
    sl_engine_rebase(rig->engine, SL_HOUR_US, rig->now_us);
    assert_string_equal(engine_later(rig, 6 * SL_SECOND_US - 1), "");
    const char *begun = engine_later(rig, 1);
    assert_non_null(strstr(begun, "begin n0"));
    engine_wait(rig, "v", "mig-3g.20gb=1");
    assert_null(strstr(engine_later(rig, 10 * SL_SECOND_US - 2), "begin n1"));
    assert_non_null(strstr(engine_later(rig, 1), "begin n1"));
}

/* ---- a rule of its own ---- */

/* What the engine has to say of nodes and pods is written down; then the cutter plans. */
static int plan_instead(void *state, const struct sl_cut_input *input, struct sl_cut_output *output,
                        struct sl_error *err)
{
    struct engine_rig *rig = state;
    engine_log(rig, "plan of %zu%s\n", input->max_plans, input->drain ? ", with drains" : "");
    for (size_t i = 0; i < input->n_views; i++) {
        const struct sl_cut_site *site = &input->site[i];
        engine_log(rig, "  %s%s %d s, %zu made in %d s, drains for %zu, %d failed\n",
                   input->view[i]->node->name, site->out ? " out" : "",
                   (int)(site->seconds_us / SL_SECOND_US), site->n_making,
                   site->n_making == 0 ? 0 : (int)((site->made_us - input->now_us) / SL_SECOND_US),
                   site->drains_for, site->failed[0] != 0);
    }
    for (size_t i = 0; i < input->n_pods; i++) {
        engine_log(rig, "  %s%s\n", input->pod[i].pod->name,
                   input->pod[i].has_room ? " has room" : "");
    }
    return rig->refuses_writes ? sl_error_nomem(err)
                               : sl_cutter_plan(rig->cut.cutter, input, output, err);
}

TEST_ON(struct engine_rig *rig, another_rule_plans_in_place_of_the_engines)
{
    struct sl_error err;
    rig->cut.cutter = sl_cutter_new(&err);
    assert_non_null(rig->cut.cutter);
    rig->config.cutting.plan = plan_instead;
    rig->config.cutting.state = rig;
    rig->config.cutting.batch_us = 10 * SL_SECOND_US;
    rig->config.cutting.max_nodes = 1;
    rig->config.max_releases = 0;
    engine_configure(rig);
    put_full_node(rig);
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, NULL);
    (void)engine_node(rig, SL_ACTUATOR_MIG_MANAGER, LARGE, HALF);
    engine_wait(rig, "a", "mig-3g.20gb=2");
    assert_string_equal(engine_round(rig), ""); /* it has room, and nothing is to be cut */
    assert_string_equal(engine_state(rig, "a"), "Held Pace");
    engine_wait(rig, "b", "mig-1g.5gb=4");
    engine_wait(rig, "c", "mig-2g.10gb=3");
    engine_wait(rig, "d", "gpu=1");
    rig->refuses_writes = true; /* there is no memory */
    assert_string_equal(engine_round(rig), "plan of 1, with drains\n"
                                           "  n0 60 s, 0 made in 0 s, drains for 0, 0 failed\n"
                                           "  n1 out 0 s, 0 made in 0 s, drains for 0, 0 failed\n"
                                           "  n2 60 s, 0 made in 0 s, drains for 0, 0 failed\n"
                                           "  a has room\n"
                                           "  b\n"
                                           "  c\n"
                                           "  d has room\n");
    assert_int_equal(rig->cuts, -1);
    assert_int_equal(sl_engine_wake(rig->engine), rig->now_us + 5 * SL_SECOND_US);
    rig->refuses_writes = false;
    const char *second = engine_round(rig); /* at once: no further pods are waited for */
    assert_non_null(strstr(second, "begin n2: GPU 0 into 7x 1g.5gb for default/b\n"));
    const char *third = engine_later(rig, 20 * SL_SECOND_US);
    assert_non_null(strstr(third, "plan of 0, with drains\n"
                                  "  n0 60 s, 0 made in 0 s, drains for 2, 0 failed\n"
                                  "  n1 out 0 s, 0 made in 0 s, drains for 0, 0 failed\n"
                                  "  n2 out 60 s, 1 made in 40 s, drains for 0, 0 failed\n"
                                  "  a\n"
                                  "  c\n"
                                  "  d has room\n"));
    sl_cutter_free(rig->cut.cutter);
}
