/* Who goes when: nominations, holds, expiries and what is told of them. */
#include "plan_rig.h"

#include "sliced/constraint.h"

TEST_FIXTURE(plan_rig_set_up, plan_rig_tear_down)

TEST_ON(struct plan_rig *rig, a_pod_that_fits_gets_a_nomination_with_its_devices)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Nominated None");
}

TEST_ON(struct plan_rig *rig, nominations_stand_over_runs_and_are_not_given_twice)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    plan_rig_wait(rig, "b", 2, 60);
    plan_rig_wait(rig, "c", 1, 30);
    assert_string_equal(plan_rig_plan(rig), "backfill c on n1: nvidia.com/gpu=1\n");
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_string_equal(plan_rig_state(rig, "b"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_bound_nomination_is_counted_once_while_the_cluster_shows_it)
{
    plan_rig_node(rig, "n1", 2);
    struct plan_rig_pod *a = plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_cluster(rig);
    plan_rig_run(rig, 1);
    a->bound = sl_pod_bound_to(&a->pod, "n1", "nvidia.com/gpu=0", SL_POD_PENDING);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n1: nvidia.com/gpu=1\n");
    plan_rig_wait(rig, "c", 1, 60);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    assert_string_equal(plan_rig_plan(rig), "");
    plan_rig_end(rig, "a");
    assert_string_equal(plan_rig_plan(rig), "nomination c on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_removed_pod_gives_its_nomination_back)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_plan(rig);
    sl_planner_remove(rig->planner, SL_STR("a"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination b on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "a"), "unknown");
}

TEST_ON(struct plan_rig *rig, the_pace_is_kept_and_those_behind_follow)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_wait(rig, "c", 1, 60);
    plan_rig_cluster(rig);
    assert_string_equal(plan_rig_run(rig, 1), "nomination a on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Held Pace");
    assert_string_equal(plan_rig_run(rig, 1), "nomination b on n1: nvidia.com/gpu=1\n");
    assert_string_equal(plan_rig_run(rig, 1), "");
    assert_string_equal(plan_rig_state(rig, "c"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_nomination_that_is_not_taken_expires_and_the_next_goes)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += SECONDS(1);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_plan(rig);
    assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + rig->config.hold_us);
    rig->now_us += rig->config.hold_us - 1;
    assert_string_equal(plan_rig_run(rig, 1000), "");
    rig->now_us += 1;
    assert_string_equal(plan_rig_run(rig, 1000),
                        "expire a on n1: Expired\nnomination b on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Held Expired");
}

TEST_ON(struct plan_rig *rig, a_time_out_after_a_expire_doubles_to_its_maximum)
{
    rig->config.hold_us = SECONDS(10);
    rig->config.hold_max_us = SECONDS(30);
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    static const int64_t waits[] = {10, 20, 30, 30};
    for (unsigned i = 0; i < 4; i++) {
        rig->now_us += SECONDS(10);
        assert_string_equal(plan_rig_run(rig, 1000), "expire a on n1: Expired\n");
        assert_int_equal(sl_planner_wake(rig->planner), rig->now_us + SECONDS(waits[i]));
        rig->now_us += SECONDS(waits[i]) - 1;
        assert_string_equal(plan_rig_run(rig, 1000), "");
        rig->now_us += 1;
        assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
    }
}

TEST_ON(struct plan_rig *rig, a_change_that_matters_ends_the_time_out)
{
    plan_rig_node(rig, "n1", 1);
    struct plan_rig_pod *a = plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    rig->now_us += rig->config.hold_us;
    plan_rig_run(rig, 1000);
    struct plan_rig_pod *same = plan_rig_pod(rig, "a", GPU, 1, 60);
    same->pod.created_us = a->pod.created_us;
    same->pod.gate = SL_GATE_NONE; /* our own doing */
    plan_rig_put(rig, same);
    assert_string_equal(plan_rig_run(rig, 1000), "");
    struct plan_rig_pod *other = plan_rig_pod(rig, "a", GPU, 1, 30);
    other->pod.created_us = a->pod.created_us;
    plan_rig_put(rig, other);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
}

/* Its owner sees it expire, and states another timeout each time. */
TEST_THAT(whoever_changes_a_pod_all_the_time_gains_nothing)
{
    struct plan_rig *rig = *state;
    int64_t held_us = 0;
    int64_t begin_us = rig->now_us;
    plan_rig_node(rig, "n1", 1);
    int64_t created_us = plan_rig_wait(rig, "a", 1, 60)->pod.created_us;
    plan_rig_plan(rig);
    while (rig->now_us < begin_us + 3 * rig->config.hold_max_us) {
        struct sl_queue_row row;
        rig->now_us += rig->config.hold_us / 2;
        (void)plan_rig_run(rig, 1000);
        assert_true(plan_rig_row(rig, "a", &row));
        held_us += row.state == SL_QUEUE_NOMINATED ? rig->config.hold_us / 2 : 0;
        if (row.reason == SL_HOLD_EXPIRED) {
            struct plan_rig_pod *p = plan_rig_pod(rig, "a", GPU, 1, 60 + rig->n_pods % 7);
            p->pod.created_us = created_us;
            plan_rig_put(rig, p);
        }
    }
    assert_in_range(held_us, rig->config.hold_us, rig->config.hold_max_us);
}

TEST_ON(struct plan_rig *rig, new_nodes_end_the_time_out)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    rig->now_us += rig->config.hold_us;
    assert_string_equal(plan_rig_plan(rig), "expire a on n1: Expired\n");
    plan_rig_node(rig, "n2", 1);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_failed_nomination_goes_elsewhere)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    sl_planner_failed(rig->planner, SL_STR("a"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n2: nvidia.com/gpu=0\n");
    sl_planner_failed(rig->planner, SL_STR("a"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), ""); /* twice: it waits as after an expiry */
    assert_string_equal(plan_rig_state(rig, "a"), "Held Expired");
    rig->now_us = sl_planner_wake(rig->planner);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, where_a_pod_failed_others_may_go)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_plan(rig);
    sl_planner_failed(rig->planner, SL_STR("a"), rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination b on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, nominations_on_a_node_that_vanishes_are_given_back)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_wait(rig, "b", 1, 60);
    plan_rig_plan(rig);
    struct sl_view *gone = rig->view[1];
    rig->view[1] = NULL;
    rig->n_nodes = 1;
    assert_string_equal(plan_rig_plan(rig), "expire b on n2: NoRoom\n");
    sl_view_free(gone);
    assert_string_equal(plan_rig_state(rig, "b"), "Held NoRoom");
}

TEST_ON(struct plan_rig *rig, a_nomination_whose_devices_another_took_moves)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    struct plan_rig_pod *other = plan_rig_pod(rig, "x", GPU, 1, 60);
    plan_rig_start(rig, other, "n1", "nvidia.com/gpu=0");
    assert_string_equal(plan_rig_plan(rig),
                        "expire a on n1: NoRoom\nnomination a on n1: nvidia.com/gpu=1\n");
}

TEST_ON(struct plan_rig *rig, a_nomination_on_a_device_that_falls_ill_is_given_back)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    rig->node[0].device[0].healthy = false;
    assert_string_equal(plan_rig_plan(rig), "expire a on n1: NoRoom\n");
}

TEST_ON(struct plan_rig *rig, a_nomination_of_a_pod_that_changes_twice_before_a_run_is_given_back)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    plan_rig_plan(rig);
    plan_rig_pod(rig, "a", GPU, 2, 60);
    plan_rig_find(rig, "a")->pod.malformed = "for a moment";
    plan_rig_put(rig, plan_rig_find(rig, "a"));
    for (int32_t priority = 1; priority < 3; priority++) {
        struct plan_rig_pod *p = plan_rig_pod(rig, "a", GPU, 2, 60);
        p->pod.priority = priority;
        plan_rig_put(rig, p);
    }
    assert_string_equal(plan_rig_plan(rig),
                        "expire a on n1: NoRoom\nnomination a on n1: nvidia.com/gpu=0,1\n");
}

/* Its digest goes with it, as that of a node that is read anew does. */
static void cordon(struct plan_rig *rig, unsigned node, bool cordoned)
{
    rig->node[node].node.unschedulable = cordoned;
    rig->node[node].node.site_digest = cordoned;
}

TEST_THAT(a_nomination_on_a_node_that_is_cordoned_moves_and_is_no_expire_of_the_pod)
{
    struct plan_rig *rig = *state;
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_wait(rig, "a", 1, 60);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
    cordon(rig, 0, true);
    assert_string_equal(plan_rig_plan(rig),
                        "expire a on n1: NoRoom\nnomination a on n2: nvidia.com/gpu=0\n");
    cordon(rig, 1, true);
    assert_string_equal(plan_rig_plan(rig), "expire a on n2: NoRoom\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Held Constraint");
    assert_true(plan_rig_row(rig, "a", &row));
    assert_int_equal(row.expiries, 0);
    cordon(rig, 1, false);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n2: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_nomination_on_a_node_that_is_tainted_stays_with_who_tolerates_it)
{
    static const struct sl_toleration all = {.effect = SL_TAINT_ANY};
    static const struct sl_taint taint = {"example.com/t", "", SL_TAINT_NO_SCHEDULE};
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 60);
    struct plan_rig_pod *b = plan_rig_pod(rig, "b", GPU, 1, 60);
    b->constraints = (struct sl_constraints){.toleration = &all, .n_tolerations = 1, .digest = 7};
    b->pod.constraints = &b->constraints;
    plan_rig_put(rig, b);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n"
                                            "nomination b on n1: nvidia.com/gpu=1\n");
    rig->node[0].node.taint = &taint;
    rig->node[0].node.n_taints = 1;
    rig->node[0].node.site_digest = 1;
    assert_string_equal(plan_rig_plan(rig), "expire a on n1: NoRoom\n");
    assert_string_equal(plan_rig_state(rig, "b"), "Nominated None");
}

TEST_ON(struct plan_rig *rig, pods_with_gates_of_others_are_reported_and_not_planned)
{
    plan_rig_node(rig, "n1", 1);
    struct plan_rig_pod *a = plan_rig_pod(rig, "a", GPU, 1, 60);
    a->pod.gate = SL_GATE_OTHERS;
    plan_rig_put(rig, a);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Gated Gates");
    struct plan_rig_pod *free = plan_rig_pod(rig, "a", GPU, 1, 60);
    plan_rig_put(rig, free);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, stages_hold_and_refuse)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_STAGE, NULL, rig->now_us);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Staged Stage");
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_STAGE_FAILED, NULL, rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "refuse a: StageFailed\n");
    assert_string_equal(plan_rig_run(rig, 1000), "");
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_STAGE_CYCLE, NULL, rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "refuse a: StageCycle\n");
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_NONE, NULL, rig->now_us);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_pod_that_names_others_is_staged_until_told_otherwise)
{
    char text[SL_PLAN_TEXT_MAX];
    struct sl_queue_row row;
    plan_rig_node(rig, "n1", 1);
    struct plan_rig_pod *a = plan_rig_pod(rig, "a", GPU, 1, 60);
    a->pod.after = "pod/x";
    plan_rig_put(rig, a);
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Staged Stage");
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_STAGE, "it waits for pod/x (running)",
                         rig->now_us);
    assert_true(sl_planner_row(rig->planner, SL_STR("a"), 0, &row));
    (void)sl_queue_text(&row, 0, text, sizeof(text));
    assert_string_equal(text, "held: it waits for pod/x (running)");
    a->pod.problem = "annotation x: odd";
    (void)sl_queue_text(&row, 0, text, sizeof(text));
    assert_string_equal(text, "held: it waits for pod/x (running); annotation x: odd");
    sl_planner_set_stage(rig->planner, SL_STR("a"), SL_HOLD_NONE, NULL, rig->now_us);
    struct plan_rig_pod *other = plan_rig_pod(rig, "a", GPU, 1, 60);
    other->pod.after = "pod/y";
    plan_rig_put(rig, other);
    assert_string_equal(plan_rig_plan(rig), "");
    struct plan_rig_pod *none = plan_rig_pod(rig, "a", GPU, 1, 60);
    plan_rig_put(rig, none);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_pod_over_a_limit_is_refused_once)
{
    rig->config.n_limits = 1;
    rig->config.limit[0] = (struct sl_plan_limit){GPU, SECONDS(60)};
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 1, 61);
    plan_rig_wait(rig, "b", 1, 60);
    assert_string_equal(plan_rig_plan(rig),
                        "refuse a: Limit\nnomination b on n1: nvidia.com/gpu=0\n");
    assert_string_equal(plan_rig_plan(rig), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Refused Limit");
    rig->config.n_limits = 0;
    plan_rig_configure(rig);
    assert_string_equal(plan_rig_run(rig, 1000), "nomination a on n1: nvidia.com/gpu=1\n");
}

static const char *sentence(struct plan_rig *rig, const char *name)
{
    static char text[SL_PLAN_TEXT_MAX];
    struct sl_queue_row row;
    assert_true(plan_rig_row(rig, name, &row));
    (void)sl_queue_text(&row, rig->now_us, text, sizeof(text));
    return text;
}

TEST_THAT(a_refusal_for_a_limit_names_the_strictest_and_both_timeouts)
{
    struct plan_rig *rig = *state;
    rig->config.default_timeout_us = SECONDS(168 * 3600);
    rig->config.n_limits = 3;
    rig->config.limit[0] = (struct sl_plan_limit){"", SECONDS(100 * 3600 + 90)};
    rig->config.limit[1] = (struct sl_plan_limit){GPU, SECONDS(48 * 3600)};
    rig->config.limit[2] = (struct sl_plan_limit){MEM, SECONDS(3600)};
    plan_rig_configure(rig);
    plan_rig_wait(rig, "none", 1, 0);
    plan_rig_wait(rig, "long", 1, 49 * 3600 + 1800);
    assert_string_equal(sentence(rig, "none"),
                        "refused: its timeout, 168h (the default: it states none), is over the "
                        "limit of 48h for nvidia.com/gpu; state a shorter activeDeadlineSeconds or "
                        "the annotation sliced.dev/timeout");
    assert_string_equal(sentence(rig, "long"),
                        "refused: its timeout, 49h30m, is over the limit of 48h for "
                        "nvidia.com/gpu; state a shorter activeDeadlineSeconds or the annotation "
                        "sliced.dev/timeout");
    struct plan_rig_pod *both = plan_rig_pod(rig, "both", GPU, 1, 7200);
    both->item[1] = plan_rig_pod(rig, "-", MEM, 1, 1)->item[0];
    both->pod.n_items = 2;
    plan_rig_put(rig, both);
    assert_non_null(strstr(sentence(rig, "both"), "is over the limit of 1h for " MEM));
    rig->config.n_limits = 1;
    plan_rig_configure(rig);
    assert_string_equal(sentence(rig, "none"),
                        "refused: its timeout, 168h (the default: it states none), is over the "
                        "limit of 100h1m30s; state a shorter activeDeadlineSeconds or the "
                        "annotation sliced.dev/timeout");
}

TEST_ON(struct plan_rig *rig, a_malformed_pod_is_refused)
{
    plan_rig_node(rig, "n1", 2);
    struct plan_rig_pod *a = plan_rig_pod(rig, "a", GPU, 1, 60);
    a->pod.malformed = "limits and requests differ";
    a->pod.n_items = 0;
    plan_rig_put(rig, a);
    assert_string_equal(plan_rig_plan(rig), "refuse a: Malformed\n");
}

TEST_ON(struct plan_rig *rig, what_no_node_could_take_is_refused_until_one_comes)
{
    plan_rig_node(rig, "n1", 2);
    plan_rig_wait(rig, "a", 4, 60);
    plan_rig_wait(rig, "b", 2, 60);
    assert_string_equal(plan_rig_plan(rig),
                        "refuse a: Never\nnomination b on n1: nvidia.com/gpu=0,1\n");
    assert_string_equal(plan_rig_state(rig, "a"), "Refused Never");
    plan_rig_node(rig, "n2", 4);
    assert_string_equal(plan_rig_plan(rig), "nomination a on n2: nvidia.com/gpu=0,1,2,3\n");
}

TEST_ON(struct plan_rig *rig, a_pod_released_before_a_restart_gets_its_nomination_there_first)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_node(rig, "n2", 1);
    plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *b = plan_rig_pod(rig, "b", GPU, 1, 60);
    b->pod.gate = SL_GATE_NONE;
    b->pod.nominated = "n1";
    plan_rig_put(rig, b);
    assert_string_equal(
        plan_rig_plan(rig),
        "nomination b on n1: nvidia.com/gpu=0\nnomination a on n2: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, a_name_counts_once_the_gate_is_open)
{
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += SECONDS(1);
    plan_rig_pod(rig, "b", GPU, 1, 60)->pod.nominated = "n1";
    plan_rig_put(rig, plan_rig_find(rig, "b"));
    assert_string_equal(plan_rig_plan(rig), "nomination a on n1: nvidia.com/gpu=0\n");
}

TEST_ON(struct plan_rig *rig, nothing_is_planned_before_a_cluster_is_known)
{
    plan_rig_wait(rig, "a", 1, 60);
    assert_string_equal(plan_rig_run(rig, 1000), "");
    assert_string_equal(plan_rig_state(rig, "a"), "Held None");
    assert_string_equal(plan_rig_plan(rig), ""); /* a cluster without nodes refuses nobody */
    assert_string_equal(plan_rig_state(rig, "a"), "Held NoRoom");
}

/* What the planner says against the configuration; "": it takes it. */
static const char *said_against(const struct plan_rig *rig, const struct sl_plan_config *config)
{
    static struct sl_error err;
    err = (struct sl_error){.code = SL_ERR_NONE};
    const int done = sl_planner_configure(rig->planner, config, &err);
    const bool taken = done == 0;
    assert_in_range(done + 1, 0, 1);
    struct sl_planner *made = sl_planner_new(config, &err);
    assert_int_equal(made != NULL, taken);
    assert_int_equal(err.code, taken ? SL_ERR_NONE : SL_ERR_FIELD);
    sl_planner_free(made);
    return taken ? "" : err.message;
}

TEST_ON(const struct plan_rig *rig, a_configuration_that_cannot_be_is_refused)
{
    static const char held[] =
        "nominations must be held for a time above 0 and at most their longest time-out";
    static const char many[] = "there are too many limits, headrooms or overrides";
    struct sl_plan_config config = rig->config;
    config.order.kind = SL_ORDER_KINDS;
    assert_string_equal(said_against(rig, &config), "there is no such order");
    config = rig->config;
    config.default_timeout_us = 0;
    assert_string_equal(said_against(rig, &config), "the default timeout must be above 0");
    config = rig->config;
    config.hold_us = 0;
    assert_string_equal(said_against(rig, &config), held);
    config.hold_us = config.hold_max_us + 1;
    assert_string_equal(said_against(rig, &config), held);
    config = rig->config;
    config.n_limits = SL_PLAN_RULES_MAX + 1;
    assert_string_equal(said_against(rig, &config), many);
    config = rig->config;
    config.n_headrooms = SL_PLAN_RULES_MAX + 1;
    assert_string_equal(said_against(rig, &config), many);
    config = rig->config;
    config.n_overrides = SL_PLAN_RULES_MAX + 1;
    assert_string_equal(said_against(rig, &config), many);
}

TEST_ON(const struct plan_rig *rig, a_configuration_at_its_bounds_is_taken)
{
    struct sl_plan_config config = rig->config;
    config.order.kind = (enum sl_order_kind)(SL_ORDER_KINDS - 1);
    config.default_timeout_us = 1;
    config.hold_us = 1;
    config.hold_max_us = 1;
    config.n_limits = SL_PLAN_RULES_MAX;
    config.n_headrooms = SL_PLAN_RULES_MAX;
    config.n_overrides = SL_PLAN_RULES_MAX;
    assert_string_equal(said_against(rig, &config), "");
}

TEST_ON(struct plan_rig *rig, weights_of_a_priority_are_those_of_its_override)
{
    rig->config.order.kind = SL_ORDER_P;
    rig->config.n_overrides = 1;
    rig->config.override[0] =
        (struct sl_plan_override){.of_priority = true, .priority = -5}; /* P is 0 */
    plan_rig_configure(rig);
    plan_rig_node(rig, "n1", 1);
    plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *p = plan_rig_pod(rig, "b", GPU, 1, 6000);
    p->pod.priority = -5;
    plan_rig_put(rig, p);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n1: " GPU "=0\n");
}

/* Each on a node of its own; they come and go in another order than their names'. */
TEST_ON(struct plan_rig *rig, pods_of_many_resources_find_the_nodes_that_have_them)
{
    enum { RESOURCES = 13 };
    static char resource[RESOURCES][32];
    char name[PLAN_NAME];
    char expected[96];
    for (unsigned i = 0; i < RESOURCES; i++) {
        (void)snprintf(resource[i], sizeof(resource[i]), "nvidia.com/mig-%ug.5gb", i + 1);
        (void)snprintf(name, sizeof(name), "n%02u", i);
        struct sl_pool *pool = &plan_rig_node(rig, name, 1)->pool[0];
        pool->resource = resource[i];
        pool->key = sl_hash(resource[i], strlen(resource[i]));
        pool->kind = SL_KIND_MIG;
        pool->on_devices = false;
    }
    for (unsigned k = 0; k < RESOURCES; k++) {
        unsigned i = k * 5 % RESOURCES;
        (void)snprintf(name, sizeof(name), "p%02u", i);
        plan_rig_put(rig, plan_rig_pod(rig, name, resource[i], 1, 60));
        (void)snprintf(expected, sizeof(expected), "nomination p%02u on n%02u: %s=?*1\n", i, i,
                       resource[i]);
        assert_string_equal(plan_rig_plan(rig), expected);
    }
    for (unsigned k = 0; k < RESOURCES; k++) {
        (void)snprintf(name, sizeof(name), "p%02u", k * 8 % RESOURCES);
        sl_planner_remove(rig->planner, sl_str_of(name), rig->now_us);
        assert_string_equal(plan_rig_plan(rig), "");
    }
    plan_rig_put(rig, plan_rig_pod(rig, "more", resource[4], 2, 60));
    assert_string_equal(plan_rig_plan(rig), "refuse more: Never\n");
}

TEST_ON(struct plan_rig *rig, weights_of_a_namespace_are_those_of_the_first_override_that_names_it)
{
    rig->config.order.kind = SL_ORDER_P;
    rig->config.n_overrides = 3;
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(rig->config.override[i].namespace, SL_PLAN_NAME_MAX, "%s",
                       i == 0 ? "other" : "early");
        rig->config.override[i].weights = rig->config.order.weights;
    }
    rig->config.override[1].weights = (struct sl_order_weights){0}; /* P is 0, below it elsewhere */
    plan_rig_configure(rig);
    (void)plan_rig_node(rig, "n1", 1);
    (void)plan_rig_wait(rig, "a", 1, 60);
    rig->now_us += SECONDS(1);
    struct plan_rig_pod *p = plan_rig_pod(rig, "b", GPU, 1, 6000);
    p->pod.namespace = "early";
    plan_rig_put(rig, p);
    assert_string_equal(plan_rig_plan(rig), "nomination b on n1: " GPU "=0\n");
}

TEST_ON(struct plan_rig *rig, a_nominated_pod_is_estimated_to_start_now)
{
    struct sl_queue_row row;
    (void)plan_rig_node(rig, "n1", 1);
    (void)plan_rig_wait(rig, "a", 1, 60);
    (void)plan_rig_plan(rig);
    assert_true(plan_rig_row(rig, "a", &row));
    assert_int_equal(row.estimate, SL_ESTIMATE_NOW);
    assert_int_equal(row.start_us, rig->now_us);
}
