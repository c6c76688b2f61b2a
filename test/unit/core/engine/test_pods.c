/* Pods from their turn to their release, and what becomes of each. */
#include "engine_rig.h"

/* Two nodes with a whole GPU and one of seven small instances each. */
static void begin(struct engine_rig *rig)
{
    engine_begin(rig);
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, SMALL);
    (void)engine_node(rig, SL_ACTUATOR_NONE, NULL, SMALL);
}

TEST_FIXTURE_OF(struct engine_rig, begin, engine_end)

TEST_ON(struct engine_rig *rig, pods_go_in_their_order_each_with_all_that_it_asks_for)
{
    engine_wait(rig, "a", "gpu=1 mig-1g.5gb=5");
    engine_wait(rig, "b", "gpu=1 mig-1g.5gb=3");
    engine_wait(rig, "c", "mig-1g.5gb=5");
    engine_wait(rig, "d", "mig-1g.5gb=6");
    assert_string_equal(engine_round(rig),
                        "nominate a n0 nvidia.com/gpu=0;nvidia.com/mig-1g.5gb=1/0,1/1,1/2,1/3,1/4\n"
                        "nominate b n1 nvidia.com/gpu=0;nvidia.com/mig-1g.5gb=1/0,1/1,1/2\n"
                        "release b\n"
                        "release a\n");
    assert_int_equal(rig->result, 0);
    assert_string_equal(engine_state(rig, "c"), "Held NoRoom");
    assert_int_equal(sl_engine_outstanding(rig->engine), 2);
    engine_bind(rig, "b");
    engine_gone(rig, "b");
    assert_string_equal(engine_round(rig), "nominate c n1 "
                                           "nvidia.com/mig-1g.5gb=1/0,1/1,1/2,1/3,1/4\n"
                                           "release c\n");
    engine_bind(rig, "a");
    engine_gone(rig, "a");
    assert_string_equal(engine_round(rig),
                        "nominate d n0 nvidia.com/mig-1g.5gb=1/0,1/1,1/2,1/3,1/4,1/5\nrelease d\n");
    assert_string_equal(engine_later(rig, 1), "");
}

TEST_ON(struct engine_rig *rig, a_pod_that_is_being_bound_is_not_released)
{
    rig->bound_already = true;
    engine_wait(rig, "a", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\n");
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
}

TEST_ON(struct engine_rig *rig, who_is_refused_a_node_is_nominated_to_another_or_waits)
{
    rig->refuses_nominations = true;
    engine_wait(rig, "a", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0 (refused)\n");
    assert_int_equal(rig->result, 1); /* another plan is worth while */
    assert_string_equal(engine_state(rig, "a"), "Held None");
    assert_int_equal(sl_engine_outstanding(rig->engine), 0);
    assert_string_equal(engine_round(rig), "nominate a n1 nvidia.com/gpu=0 (refused)\n");
    rig->refuses_nominations = false;
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(rig->result, 0);
    assert_string_equal(engine_state(rig, "a"), "Held Expired");
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_int_equal(wake_us, rig->now_us + rig->config.plan.hold_us);
    rig->now_us = wake_us;
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
}

/* ---- nominations that expire ---- */

TEST_ON(struct engine_rig *rig, what_was_not_taken_is_given_back_and_withdrawn)
{
    engine_wait(rig, "a", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_RELEASED), SL_AFTER_NOTHING);
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us - 1), "");
    assert_string_equal(engine_later(rig, 1),
                        "expire a n0 nvidia.com/gpu=0: Expired\nwithdraw a -\n");
    assert_string_equal(engine_state(rig, "a"), "Held Expired");
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us - 1), "");
    assert_string_equal(engine_later(rig, 1), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
}

/* As it is bound by now there is nothing to give back. */
TEST_ON(struct engine_rig *rig, what_cannot_be_given_back_is_not_withdrawn)
{
    engine_wait(rig, "a", "gpu=1");
    (void)engine_round(rig);
    (void)engine_released(rig, "a", SL_RELEASE_RELEASED);
    rig->holds = true;
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us),
                        "expire a n0 nvidia.com/gpu=0: Expired\n");
}

/* The release under way writes the nomination; only after it is there something to withdraw. */
TEST_ON(struct engine_rig *rig, a_release_under_way_is_not_followed_by_another)
{
    engine_wait(rig, "a", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
    uint64_t first = engine_find(rig, "a")->release;
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us),
                        "expire a n0 nvidia.com/gpu=0: Expired\n");
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us),
                        "nominate a n0 nvidia.com/gpu=0\n");
    assert_string_equal(engine_later(rig, 1), "");
    assert_int_equal(sl_engine_released(rig->engine, SL_STR("a"), SL_STR("default"), first,
                                        SL_RELEASE_RELEASED, rig->now_us),
                     SL_AFTER_NOTHING);
    assert_string_equal(engine_later(rig, 1), "release a\n");
    assert_true(engine_find(rig, "a")->release > first);
}

TEST_ON(struct engine_rig *rig, an_old_nomination_on_the_pod_is_replaced_or_withdrawn)
{
    engine_tell(rig, (struct engine_ask){.name = "a", .asks = "gpu=1", .nominated = "n9"});
    engine_tell(rig, (struct engine_ask){.name = "b", .asks = "gpu=2", .nominated = "n8"});
    engine_tell(
        rig, (struct engine_ask){.name = "c", .asks = "gpu=2", .nominated = "n7", .ungated = true});
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\n"
                                           "release a\n"
                                           "refuse b Never\n"
                                           "refuse c Never\n"
                                           "withdraw b n8\n");
    assert_string_equal(engine_later(rig, 1), "");
    /* told of it again, it is withdrawn again */
    engine_tell(rig, (struct engine_ask){.name = "b", .asks = "gpu=2", .nominated = "n8"});
    assert_string_equal(engine_later(rig, 1), "withdraw b n8\n");
}

/* What the release under way writes on the pod stands there although its turn is over. */
TEST_ON(struct engine_rig *rig, a_turn_that_ends_during_its_release_is_withdrawn_after_it)
{
    engine_wait(rig, "a", "gpu=1");
    (void)engine_round(rig);
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us),
                        "expire a n0 nvidia.com/gpu=0: Expired\n");
    engine_tell(rig, (struct engine_ask){.name = "a", .asks = "gpu=1", .nominated = "n0"});
    rig->node[0].away = true;
    rig->node[1].away = true;
    assert_string_equal(engine_later(rig, 1), "");
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_UNKNOWN), SL_AFTER_PAUSE);
    assert_string_equal(engine_later(rig, 1), "withdraw a n0\n");
    assert_string_equal(engine_later(rig, SL_MINUTE_US), "");
}

TEST_ON(struct engine_rig *rig, a_node_that_refuses_the_pod_leaves_no_nomination_on_it)
{
    rig->refuses_nominations = true;
    engine_tell(rig, (struct engine_ask){.name = "a", .asks = "gpu=1", .nominated = "n9"});
    assert_string_equal(engine_round(rig),
                        "nominate a n0 nvidia.com/gpu=0 (refused)\nwithdraw a n9\n");
}

TEST_ON(struct engine_rig *rig, of_a_pod_that_waits_no_more_nothing_is_left)
{
    struct sl_pod *pod = engine_make(rig, &(struct engine_ask){.name = "a", .asks = "gpu=1"});
    sl_engine_remove(rig->engine, SL_STR("nobody"), true, rig->now_us);
    engine_wait(rig, "a", "gpu=1");
    engine_wait(rig, "b", "gpu=1");
    engine_wait(rig, "c", "gpu=1");
    (void)engine_round(rig);
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_FAILED), SL_AFTER_PAUSE);
    engine_gone(rig, "a");
    engine_gone(rig, "b");
    assert_int_equal(pod->refs, 1);
    assert_string_equal(engine_later(rig, SL_MINUTE_US), "nominate c n0 nvidia.com/gpu=0\n"
                                                         "release c\n");
    sl_pod_unref(pod);
}

/* ---- how releases end ---- */

TEST_ON(struct engine_rig *rig, a_release_that_cannot_begin_now_is_made_in_the_next_round)
{
    rig->refuses_releases = true;
    engine_wait(rig, "a", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a (not now)\n");
    rig->refuses_releases = false;
    assert_string_equal(engine_round(rig), "release a\n");
    assert_string_equal(engine_round(rig), "");
}

/* A pod has the first GPU, so that another waits for the second: it goes first after the refusal.
 */
TEST_ON(struct engine_rig *rig, a_refused_release_lets_others_go_first)
{
    rig->node[1].away = true;
    engine_wait(rig, "a", "gpu=1");
    engine_wait(rig, "b", "gpu=1");
    (void)engine_round(rig);
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_REFUSED), SL_AFTER_REFUSED);
    assert_string_equal(engine_round(rig),
                        "nominate b n0 nvidia.com/gpu=0\nrelease b\nwithdraw a -\n");
    assert_string_equal(engine_state(rig, "a"), "Held Expired");
    assert_string_equal(engine_later(rig, SL_SECOND_US), ""); /* a refusal lets nothing pause */
    engine_tell(rig, (struct engine_ask){.name = "a", .asks = "gpu=1", .nominated = "n0"});
    assert_string_equal(engine_later(rig, SL_SECOND_US), "withdraw a n0\n"); /* it landed late */
}

/* After eight refusals in a row the pods of the namespace try one at a time. */
static const struct refusals {
    const char *name;
    enum sl_release_end between; /* seven and the next */
    const char *state;           /* of the last that comes */
} refusals[] = {
    {"broken by a release", SL_RELEASE_RELEASED, "Nominated None"},
    {"not broken by a failure", SL_RELEASE_FAILED, "Held Expired"},
    {"not broken by what nobody knows", SL_RELEASE_UNKNOWN, "Held Expired"},
};

TEST_ON_EACH(struct engine_rig *rig, refusals_in_a_row, refusals)
{
    rig->config.plan.hold_us = SL_HOUR_US;
    engine_configure(rig);
    for (unsigned i = 0; i < 9; i++) {
        char name[] = "p0";
        name[1] = (char)('0' + i);
        engine_wait(rig, name, "mig-1g.5gb=1");
        (void)engine_later(rig, SL_SECOND_US);
        (void)engine_released(rig, name, i == 7 ? row->between : SL_RELEASE_REFUSED);
    }
    engine_wait(rig, "x", "mig-1g.5gb=1");
    engine_wait(rig, "y", "mig-1g.5gb=1");
    (void)engine_later(rig, 2 * SL_SECOND_US);
    assert_string_equal(engine_state(rig, "y"), row->state);
}

/* Its gate may be open: whoever is nominated there then finds the node taken. */
TEST_ON(struct engine_rig *rig, a_release_of_unknown_end_is_not_made_again_before_it_has_expired)
{
    engine_wait(rig, "a", "gpu=1");
    (void)engine_round(rig);
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_UNKNOWN), SL_AFTER_PAUSE);
    assert_string_equal(engine_later(rig, SL_SECOND_US), "");
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us - SL_SECOND_US - 1), "");
    assert_non_null(strstr(engine_later(rig, 1), "expire a n0 nvidia.com/gpu=0: Expired\n"));
}

TEST_ON(struct engine_rig *rig, a_pod_that_is_gone_is_to_be_removed)
{
    engine_wait(rig, "a", "gpu=1");
    (void)engine_round(rig);
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_GONE), SL_AFTER_GONE);
    engine_gone(rig, "a");
    assert_int_equal(sl_engine_outstanding(rig->engine), 0);
    assert_string_equal(engine_round(rig), "");
}

/* With the number of another release, or of a pod that nobody knows, an end is none of its own. */
TEST_ON(struct engine_rig *rig, an_end_of_another_release_changes_nothing)
{
    engine_wait(rig, "a", "gpu=1");
    (void)engine_round(rig);
    uint64_t number = engine_find(rig, "a")->release;
    for (enum sl_release_end end = SL_RELEASE_RELEASED; end <= SL_RELEASE_REFUSED; end++) {
        assert_int_equal(sl_engine_released(rig->engine, SL_STR("a"), SL_STR("default"), number + 1,
                                            end, rig->now_us),
                         SL_AFTER_NOTHING);
        assert_int_equal(sl_engine_released(rig->engine, SL_STR("x"), SL_STR("default"), number,
                                            end, rig->now_us),
                         SL_AFTER_NOTHING);
    }
    assert_string_equal(engine_state(rig, "a"), "Nominated None");
    assert_string_equal(engine_round(rig), "");
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_REFUSED), SL_AFTER_REFUSED);
    assert_int_equal(sl_engine_released(rig->engine, SL_STR("a"), SL_STR("default"), number,
                                        SL_RELEASE_REFUSED, rig->now_us),
                     SL_AFTER_NOTHING);
}

/* ---- stages ---- */

static void note_stage(void *context, struct sl_str uid, enum sl_hold_reason stage)
{
    struct engine_rig *rig = context;
    engine_log(rig, "stage %.*s %s\n", (int)uid.len, uid.s, sl_hold_reason_name(stage));
}

TEST_ON(struct engine_rig *rig, a_pod_waits_for_its_predecessors)
{
    struct sl_stage_read read;
    engine_wait(rig, "a", "gpu=1");
    engine_tell(rig, (struct engine_ask){.name = "b", .asks = "gpu=1", .after = "a"});
    assert_true(sl_stages_next_read(rig->stages, rig->now_us, &read));
    sl_stages_read_pod(rig->stages, read.id, engine_find(rig, "a")->pod);
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
    assert_string_equal(engine_state(rig, "b"), "Staged Stage");
    engine_bind(rig, "a");
    assert_string_equal(engine_round(rig), "");
    struct sl_pod *ended =
        sl_pod_bound_to(engine_find(rig, "a")->pod, "n0", NULL, SL_POD_SUCCEEDED);
    assert_non_null(ended);
    sl_stages_pod(rig->stages, ended);
    sl_pod_unref(ended);
    rig->len = 0;
    assert_false(sl_engine_collect(rig->engine, rig->now_us, note_stage, rig));
    assert_string_equal(rig->log, "stage b None\n");
    assert_string_equal(engine_round(rig), "nominate b n1 nvidia.com/gpu=0\nrelease b\n");
}

TEST_ON(struct engine_rig *rig, a_pod_whose_predecessor_failed_is_refused_and_one_that_left_no_more)
{
    struct sl_stages_stats stats;
    struct sl_pod *failed = engine_make(rig, &(struct engine_ask){.name = "a", .asks = "gpu=1"});
    struct sl_pod *ended = sl_pod_bound_to(failed, "n0", NULL, SL_POD_FAILED);
    struct sl_stage_read read;
    engine_tell(rig, (struct engine_ask){.name = "b", .asks = "gpu=1", .after = "a"});
    assert_true(sl_stages_next_read(rig->stages, rig->now_us, &read));
    sl_stages_read_pod(rig->stages, read.id, ended);
    sl_stages_read_end(rig->stages, read.id, true, rig->now_us);
    assert_string_equal(engine_round(rig), "refuse b StageFailed\n");
    assert_string_equal(engine_round(rig), "");
    sl_pod_unref(failed);
    sl_pod_unref(ended);
    engine_gone(rig, "b");
    sl_stages_stats(rig->stages, &stats);
    assert_int_equal(stats.waiters, 0);
}

/* ---- releases without a nomination ---- */

TEST_ON(struct engine_rig *rig, an_autoscaler_sees_so_many_pods_that_do_not_fit)
{
    rig->config.plan.autoscaler_pods = 2;
    engine_configure(rig);
    engine_wait(rig, "a", "mig-1g.5gb=8");
    engine_wait(rig, "b", "mig-1g.5gb=8");
    engine_wait(rig, "c", "mig-1g.5gb=8");
    assert_string_equal(engine_round(rig), "release b bare\nrelease a bare\n");
    assert_int_equal(sl_engine_outstanding(rig->engine), 0); /* they have none */
    /* of one end it is not known whether its gate is open, the other is tried again, too */
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_UNKNOWN), SL_AFTER_PAUSE);
    assert_int_equal(engine_released(rig, "b", SL_RELEASE_FAILED), SL_AFTER_NOTHING);
    assert_string_equal(engine_round(rig), "");
    int64_t wake_us = sl_engine_wake(rig->engine);
    assert_int_equal(wake_us, rig->now_us + SL_SECOND_US);
    const char *again = engine_later(rig, SL_SECOND_US);
    assert_non_null(strstr(again, "release a bare\n"));
    assert_non_null(strstr(again, "release b bare\n"));
    assert_int_equal(engine_released(rig, "b", SL_RELEASE_REFUSED), SL_AFTER_REFUSED);
    assert_null(strstr(engine_round(rig), "withdraw"));
    assert_int_equal(engine_released(rig, "a", SL_RELEASE_RELEASED), SL_AFTER_NOTHING);
    assert_null(strstr(engine_later(rig, SL_SECOND_US), "release a"));
}

/* ---- without kube-scheduler, as in slicesim and on an embedded cluster ---- */

TEST_ON(struct engine_rig *rig, where_nobody_binds_no_release_is_waited_for)
{
    rig->config.releases = false;
    rig->config.max_releases = 1;
    engine_configure(rig);
    engine_wait(rig, "a", "gpu=1");
    engine_wait(rig, "b", "gpu=1");
    assert_string_equal(engine_round(rig), "nominate a n0 nvidia.com/gpu=0\nrelease a\n");
    assert_int_equal(sl_engine_room(rig->engine, rig->now_us), 0);
    assert_string_equal(engine_state(rig, "b"), "Held Pace");
    assert_string_equal(engine_later(rig, rig->config.plan.hold_us),
                        "expire a n0 nvidia.com/gpu=0: Expired\nwithdraw a -\n");
    assert_string_equal(engine_round(rig), "nominate b n0 nvidia.com/gpu=0\nrelease b\n");
}
