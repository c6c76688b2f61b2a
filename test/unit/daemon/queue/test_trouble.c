/* The queue at work when things go wrong: releases that fail, leaders that change, news
 * that is lost. */
#include "queue_rig.h"

TEST_FIXTURE_OF(struct queue_rig, rig_begin, rig_end)

/* ---- how releases end ---- */

/* A short timeout gets a pod its turn: it cannot be taken back once it has. */
TEST_ON(struct queue_rig *rig, the_timeout_that_a_nomination_was_made_by_is_enforced)
{
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "1m"});
    (void)rig_round(rig);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "30d"});
    rig_answer(rig, 0, SL_RELEASE_FAILED);
    (void)rig_round(rig);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 2);
    assert_int_equal(rig->released[1].deadline_s, 60);
}

/* It has no nomination that would expire, and must not be asked for again and again. */
TEST_ON(struct queue_rig *rig,
        a_release_without_a_nomination_that_is_refused_is_made_again_after_a_time_out)
{
    rig->config.plan.autoscaler_pods = 1;
    rig_start_on(rig, 1);
    rig_put(rig, (struct rig_pod){.name = "x", .node = "n1"});
    rig_come(rig, "a");
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_RELEASED);
    rig_answer(rig, 0, SL_RELEASE_REFUSED);
    rig_round(rig);
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_HELD);
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 1);
    assert_non_null(strstr(rig->told, "ReleaseRefused: "));
    (void)rig_later(rig, 2 * rig->config.queue.hold_s * SECOND);
    assert_int_equal(rig->n_released, 2);
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_RELEASED);
}

TEST_ON(struct queue_rig *rig,
        a_release_that_the_api_server_refuses_gives_its_devices_to_the_next_at_once)
{
    struct sl_queue_stats stats;
    struct sl_queue_status status;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_gated(rig, "b");
    rig_answer(rig, 0, SL_RELEASE_REFUSED);
    (void)rig_round(rig);
    assert_string_equal(rig_nominate(rig, "a"), "");
    assert_int_equal(rig_state(rig, "a"), SL_QUEUE_HELD);
    assert_string_equal(rig_nominate(rig, "b"), "n1");
    assert_int_equal(rig->n_released, 2);
    assert_string_equal(rig->withdrawn, "u-a n1");
    assert_string_equal(rig->told, "ReleaseRefused: the API server refused to open its gate: no "
                                   "answer; others go first until its next turn");
    rig->queue.status(rig->queue.context, SL_STR("u-a"), &status);
    assert_non_null(strstr(status.text, "the API server refused to let it go"));
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.counts.ends[SL_RELEASE_REFUSED], 1);
    assert_int_equal(stats.counts.ends[SL_RELEASE_FAILED], 0);
    rig_answer(rig, 1, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "b", .node = "n1", .ended = true});
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 2); /* its time-out is not over */
    (void)rig_later(rig, 2 * rig->config.queue.hold_s * SECOND);
    assert_int_equal(rig->n_released, 3);
    assert_string_equal(rig->released[2].uid, "u-a");
}

TEST_ON(struct queue_rig *rig, a_pod_that_is_gone_gives_its_devices_to_the_next)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_gated(rig, "b");
    rig_answer(rig, 0, SL_RELEASE_GONE);
    (void)rig_round(rig);
    assert_string_equal(rig_nominate(rig, "a"), "");
    assert_string_equal(rig_nominate(rig, "b"), "n1");
}

/* kube-scheduler counts a nomination against others, behind a gate too. */
TEST_ON(struct queue_rig *rig,
        a_nomination_left_by_a_leader_before_is_taken_back_from_a_pod_that_has_to_wait)
{
    rig->config.plan.order.kind = SL_ORDER_SJF;
    rig_node(rig, "n1", 1);
    rig_node(rig, "n2", 1);
    rig_start(rig);
    rig_put(rig, (struct rig_pod){.name = "a", .gated = true, .timeout = "1m", .nominated = "n1"});
    rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = "2m"});
    rig_put(rig, (struct rig_pod){.name = "c", .gated = true, .timeout = "3m", .nominated = "n2"});
    rig_round(rig);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
    assert_int_equal(rig->n_released, 2);
    assert_int_equal(rig->n_withdrawn, 1);
    assert_string_equal(rig->withdrawn, "u-c n2");
    rig_later(rig, SECOND);
    assert_int_equal(rig->n_withdrawn, 1);
}

/* The watch may tell of the withdrawal after the next nomination. */
TEST_ON(struct queue_rig *rig,
        a_nomination_that_was_taken_back_is_made_again_with_the_next_nomination)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .nominated = "n1", .tried = true});
    rig_later(rig, SECOND);
    rig_later(rig, rig->config.queue.hold_s * SECOND);
    assert_string_equal(rig->withdrawn, "u-a n1");
    rig_later(rig, HOUR);
    assert_int_equal(rig->n_released, 2);
    assert_string_equal(rig->released[1].node, "n1");
    assert_false(rig->released[1].nominated);
}

/* ---- what was tried is remembered ---- */

/* "n1 Expired, n1 ReleaseRefused: no answer" */
static void assert_tried(struct queue_rig *rig, const char *uid, const char *expected)
{
    struct sl_queue_list list;
    char text[512] = "";
    assert_int_equal(rig->queue.row(rig->queue.context, sl_str_of(uid), &list, NULL), 0);
    for (unsigned i = 0; i < list.n_tried; i++) {
        const struct sl_queue_try *tried = &list.tried[i];
        size_t at = strlen(text);
        assert_true(tried->at_us > 0 && tried->ended_us >= tried->at_us);
        (void)snprintf(text + at, sizeof(text) - at, "%s%s %s%s%s", at == 0 ? "" : ", ",
                       tried->node == NULL ? "-" : tried->node, sl_queue_try_end_name(tried->end),
                       tried->why == NULL ? "" : ": ", tried->why == NULL ? "" : tried->why);
    }
    sl_queue_list_free(&list);
    assert_string_equal(text, expected);
}

TEST_ON(struct queue_rig *rig, what_became_of_a_pods_turns_is_remembered)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    assert_tried(rig, "u-a", "");
    rig_answer(rig, 0, SL_RELEASE_REFUSED);
    (void)rig_round(rig);
    assert_tried(rig, "u-a", "n1 ReleaseRefused: no answer");
    (void)rig_later(rig, HOUR);
    rig_answer(rig, 1, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .tried = true});
    (void)rig_later(rig, SECOND);
    rig_node_as(rig, "n1", 1, true); /* it is cordoned */
    (void)rig_later(rig, SECOND);
    assert_tried(rig, "u-a", "n1 ReleaseRefused: no answer, n1 Withdrawn");
    rig_node(rig, "n1", 1);
    (void)rig_later(rig, SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
    rig_answer(rig, 2, SL_RELEASE_RELEASED);
    (void)rig_later(rig, 2 * rig->config.queue.hold_s * SECOND);
    assert_tried(rig, "u-a", "n1 ReleaseRefused: no answer, n1 Withdrawn, n1 Expired");
}

TEST_ON(struct queue_rig *rig, of_many_turns_the_last_are_remembered)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    for (unsigned i = 0; i < SL_QUEUE_TRIES_MAX + 3; i++) {
        assert_int_equal(rig->n_released, i + 1);
        rig_answer(rig, i, SL_RELEASE_REFUSED);
        (void)rig_round(rig);
        (void)rig_later(rig, 24 * HOUR);
    }
    assert_tried(rig, "u-a",
                 "n1 ReleaseRefused: no answer, n1 ReleaseRefused: no answer, "
                 "n1 ReleaseRefused: no answer, n1 ReleaseRefused: no answer");
}

/* ---- kube-scheduler is away ---- */

/* Whose turn has come, with its gate open, while b waits for the same GPU. */
static void given_a_turn(struct queue_rig *rig)
{
    rig->config.queue.hold_s = 20;
    rig_start_on(rig, 1);
    rig_gated(rig, "a");
    (void)rig_round(rig);
    rig_answer(rig, 0, SL_RELEASE_RELEASED);
    rig_put(rig, (struct rig_pod){.name = "a", .nominated = "n1"});
    rig_gated(rig, "b");
    (void)rig_later(rig, SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
}

static uint64_t expiries_of(struct queue_rig *rig)
{
    struct sl_queue_stats stats;
    sl_queue_stats(rig->worker, &stats);
    return stats.plan.expiries;
}

TEST_ON(struct queue_rig *rig, turns_are_kept_while_kube_scheduler_is_away)
{
    given_a_turn(rig);
    for (int i = 0; i < 100; i++) {
        (void)rig_later(rig, SECOND);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
    }
    rig->queue.heard(rig->queue.context, SL_STR("u-a"));
    for (int i = 0; i < 19; i++) { /* asked about, and not bound */
        (void)rig_later(rig, SECOND);
        assert_string_equal(rig_nominate(rig, "a"), "n1");
    }
    assert_int_equal(expiries_of(rig), 0);
    (void)rig_later(rig, 2 * SECOND);
    assert_string_equal(rig_nominate(rig, "a"), "");
    assert_int_equal(expiries_of(rig), 1);
}

TEST_ON(struct queue_rig *rig, a_release_that_fails_at_once_is_no_harm)
{
    rig_start_on(rig, 1);
    rig->refuses = true;
    rig_come(rig, "a");
    (void)rig_round(rig);
    rig->refuses = false;
    (void)rig_later(rig, SECOND);
    assert_int_equal(rig->n_released, 2);
}

/* ---- leaderships ---- */

TEST_ON(struct queue_rig *rig, who_does_not_lead_plans_nothing)
{
    struct sl_queue_stats stats;
    rig->leadership = 0;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    assert_int_equal(rig->n_released, 0);
    sl_queue_stats(rig->worker, &stats);
    assert_false(stats.plans);
}

TEST_ON(struct queue_rig *rig, who_does_not_plan_says_so_instead_of_showing_an_empty_queue)
{
    struct sl_queue_list list;
    struct sl_error err = {.code = SL_ERR_NONE};
    rig->leadership = 0;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    assert_int_equal(rig->queue.list(rig->queue.context, 10, &list, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    sl_queue_list_free(&list);
    err.code = SL_ERR_NONE;
    assert_int_equal(rig->queue.row(rig->queue.context, SL_STR("u-a"), &list, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    sl_queue_list_free(&list);
    rig->leadership = 1;
    (void)rig_round(rig);
    assert_int_equal(rig->queue.list(rig->queue.context, 10, &list, &err), 0);
    assert_int_equal(list.total, 1);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, the_end_of_a_term_drops_all_nominations_and_a_new_one_plans_anew)
{
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    rig->leadership = 0;
    (void)rig_round(rig);
    assert_string_equal(rig_nominate(rig, "a"), "");
    rig_answer(rig, 0, SL_RELEASE_FAILED); /* of the leadership that is over */
    (void)rig_later(rig, 60 * SECOND);
    assert_int_equal(rig->n_released, 1);
    rig->leadership = 2;
    (void)rig_round(rig);
    assert_int_equal(rig->n_released, 2);
    assert_int_equal(rig->released[1].leadership, 2);
    assert_string_equal(rig_nominate(rig, "a"), "n1");
}

TEST_ON(struct queue_rig *rig, a_new_leader_gives_those_released_before_it_their_nodes_first)
{
    rig_node(rig, "n1", 1);
    rig_node(rig, "n2", 1);
    rig_gated(rig, "a");
    rig_gated(rig, "b");
    rig->now_us += HOUR;
    rig_put(rig, (struct rig_pod){.name = "c", .nominated = "n1"});
    rig_start(rig);
    (void)rig_round(rig);
    assert_string_equal(rig_nominate(rig, "c"), "n1");
    for (unsigned i = 0; i < rig->n_released; i++) {
        if (strcmp(rig->released[i].uid, "u-c") == 0) {
            assert_true(rig->released[i].nominated);
        }
    }
}

/* ---- mail ---- */

TEST_ON(struct queue_rig *rig, who_changes_a_pod_all_the_time_fills_no_box)
{
    static const char *const timeouts[] = {"1h", "2h", "3h"};
    struct sl_queue_list list;
    rig_start_on(rig, 1);
    rig_come(rig, "a");
    for (int i = 0; i <= 1000; i++) {
        rig_put(rig, (struct rig_pod){.name = "b", .gated = true, .timeout = timeouts[i % 3]});
    }
    assert_int_equal(rig->worker->box.n, 1);
    rig_delete(rig, "b"); /* and what is made anew after that counts by itself */
    rig_put(rig, (struct rig_pod){.name = "c", .gated = true, .timeout = "1h"});
    rig_put(rig, (struct rig_pod){.name = "c", .gated = true, .timeout = "4h"});
    assert_int_equal(rig->worker->box.n, 3);
    (void)rig_round(rig);
    assert_int_equal(rig->queue.list(rig->queue.context, 10, &list, NULL), 0);
    assert_int_equal(list.total, 2);
    assert_string_equal(list.row[1].pod->name, "c");
    assert_int_equal(list.row[1].timeout_us, 4 * HOUR);
    sl_queue_list_free(&list);
}

TEST_ON(struct queue_rig *rig, what_was_lost_on_the_way_is_read_again)
{
    struct sl_queue_stats stats;
    rig_start_on(rig, 8);
    rig_gated(rig, "a");
    rig_come(rig, "b");
    rig->worker->max_letters = 0; /* no news has a place */
    rig_delete(rig, "a");
    rig_gated(rig, "c");
    rig->worker->max_letters = 1000;
    (void)rig_round(rig);
    sl_queue_stats(rig->worker, &stats);
    assert_int_equal(stats.counts.rereads, 2); /* the first is the begin */
    assert_int_equal(stats.outstanding, 2);
    assert_int_equal(rig_state(rig, "c"), SL_QUEUE_NOMINATED);
    assert_int_equal(rig->n_released, 3);
}
