/* Bounded shortest job first: who may go, on cases that fit on a hand. Times in the cases are
 * seconds. */
#include "lane_rig.h"

static struct sl_promise_pod pod_of(uint64_t id, int64_t width, int64_t submit_s, int64_t timeout_s)
{
    return (struct sl_promise_pod){
        .id = id, .width = width, .submit_us = submit_s * s, .timeout_us = timeout_s * s};
}

static void arrive(struct sl_promise *promise, struct sl_promise_pod pod)
{
    assert_int_equal(sl_promise_arrive(promise, &pod, pod.submit_us, NULL), 0);
}

static void arrive_above(struct sl_promise *promise, struct sl_promise_pod pod, int32_t priority)
{
    pod.priority = priority;
    arrive(promise, pod);
}

static void start(struct sl_promise *promise, uint64_t id, int64_t at_s)
{
    assert_int_equal(sl_promise_start(promise, id, at_s * s, NULL), 0);
}

static void end(struct sl_promise *promise, uint64_t id, int64_t at_s)
{
    assert_int_equal(sl_promise_end(promise, id, at_s * s, NULL), 0);
}

static uint64_t due(const struct sl_promise *promise)
{
    uint64_t id = 0;
    return sl_promise_due(promise, &id) ? id : 0;
}

/* W is 1,000 s: FIFO made pod 900 wait for pod 901. Nothing waits or runs at 1,000 s. */
static struct sl_promise *lane_with_patience(void)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(901, 1, 0, 1000));
    start(promise, 901, 0);
    arrive(promise, pod_of(900, 1, 0, 1));
    end(promise, 901, 1000);
    start(promise, 900, 1000);
    end(promise, 900, 1001);
    return promise;
}

TEST_THAT(everybody_may_go_while_there_is_room_for_all)
{
    struct sl_promise *promise = lane(3);
    arrive(promise, pod_of(1, 1, 0, 100));
    arrive(promise, pod_of(2, 2, 0, 1));
    assert_true(sl_promise_admits(promise, 1, 0));
    assert_true(sl_promise_admits(promise, 2, 0));
    sl_promise_free(promise);
}

TEST_THAT(without_any_wait_so_far_it_is_fifo)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 0, 100));
    arrive(promise, pod_of(2, 1, 0, 300));
    start(promise, 1, 0);
    end(promise, 1, 100);
    arrive(promise, pod_of(3, 1, 100, 290));
    assert_int_equal(due(promise), 2);
    assert_true(sl_promise_admits(promise, 2, 100));
    assert_false(sl_promise_admits(promise, 3, 100)); /* 2 would start at 390; 1.15 * 300 at most */
    sl_promise_free(promise);
}

TEST_THAT(shorter_pod_overtakes_while_the_longer_can_start_in_time)
{
    struct sl_promise *promise = lane_with_patience();
    arrive(promise, pod_of(1, 1, 1001, 900));
    arrive(promise, pod_of(2, 1, 1001, 10));
    assert_int_equal(due(promise), 1);
    assert_true(sl_promise_admits(promise, 2, 1001));
    assert_true(sl_promise_admits(promise, 1, 1001));
    sl_promise_free(promise);
}

TEST_THAT(nobody_overtakes_a_pod_at_its_latest_start)
{
    struct sl_promise *promise = lane_with_patience();
    arrive(promise, pod_of(1, 1, 1001, 900));
    const int64_t latest_us = sl_promise_latest_start(promise, 1, 1001 * s);
    assert_in_range(latest_us, 2001 * s, 2151 * s); /* W to 1.15 * W later */
    arrive(promise, pod_of(3, 1, 1001, 2000));
    struct sl_promise_pod late = pod_of(2, 1, 1001, 10);
    late.submit_us = latest_us - 9 * s;
    arrive(promise, late);
    const int64_t now_us = sl_promise_latest_start(promise, 1, late.submit_us) - 9 * s;
    assert_false(sl_promise_admits(promise, 2, now_us));
    assert_true(sl_promise_admits(promise, 1, now_us));
    sl_promise_free(promise);
}

TEST_THAT(latest_start_is_zero_for_who_does_not_wait)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 5, 100));
    assert_true(sl_promise_latest_start(promise, 1, 5 * s) >= 5 * s);
    start(promise, 1, 5);
    assert_int_equal(sl_promise_latest_start(promise, 1, 5 * s), 0);
    assert_int_equal(sl_promise_latest_start(promise, 2, 5 * s), 0);
    sl_promise_free(promise);
}

TEST_THAT(higher_priority_is_due_first)
{
    struct sl_promise *promise = lane(1);
    arrive_above(promise, pod_of(1, 1, 0, 10), 0);
    arrive_above(promise, pod_of(2, 1, 1, 10), 7);
    arrive_above(promise, pod_of(3, 1, 1, 10), -7);
    assert_int_equal(due(promise), 2);
    start(promise, 2, 1);
    assert_int_equal(due(promise), 1);
    start(promise, 1, 1);
    assert_int_equal(due(promise), 3);
    sl_promise_free(promise);
}

TEST_THAT(lower_priority_never_delays_a_higher_one)
{
    struct sl_promise *promise = lane_with_patience();
    arrive_above(promise, pod_of(1, 1, 1001, 900), 5);
    arrive_above(promise, pod_of(2, 1, 1001, 1), 0);
    assert_false(sl_promise_admits(promise, 2, 1001 * s));
    start(promise, 1, 1001);
    end(promise, 1, 1901);
    assert_true(sl_promise_admits(promise, 2, 1901 * s));
    sl_promise_free(promise);
}

TEST_THAT(lower_priority_uses_units_that_a_wide_higher_one_waits_to_complete)
{
    struct sl_promise *promise = lane(4);
    arrive(promise, pod_of(9, 3, 0, 100));
    start(promise, 9, 0);
    arrive_above(promise, pod_of(1, 4, 1, 50), 5);
    arrive_above(promise, pod_of(2, 1, 1, 99), 0);  /* ends at 100, when the wide one can start */
    arrive_above(promise, pod_of(3, 1, 1, 100), 0); /* ends at 101 */
    assert_true(sl_promise_admits(promise, 2, 1 * s));
    assert_false(sl_promise_admits(promise, 3, 1 * s));
    sl_promise_free(promise);
}

TEST_THAT(higher_priority_overtakes_lower_ones_at_their_latest_start)
{
    struct sl_promise *promise = lane_with_patience();
    arrive_above(promise, pod_of(1, 1, 1001, 900), 0);
    arrive_above(promise, pod_of(2, 1, 5001, 500), 5);
    arrive_above(promise, pod_of(3, 1, 5002, 400), 5);
    assert_int_equal(due(promise), 2);
    assert_true(sl_promise_admits(promise, 2, 5002 * s));
    assert_false(sl_promise_admits(promise, 1, 5002 * s));
    sl_promise_free(promise);
}

/* Each layout has all waiting pods; the lane lays out some 16,000 at one time. */
TEST_THAT(questions_at_one_time_are_answered_up_to_a_bound)
{
    enum { PODS = 300, LAYOUTS = 16384 / (PODS + 1) };
    struct sl_promise *promise = lane(4);
    arrive(promise, pod_of(901, 3, 0, 100));
    start(promise, 901, 0);
    arrive_above(promise, pod_of(900, 4, 1, 50), 5); /* waits for all units */
    for (uint64_t id = 1; id <= PODS; id++) {
        arrive(promise, pod_of(id, 1, 1, 50)); /* delays no one */
    }
    for (int64_t at = 1; at < 4; at++) {
        for (uint64_t id = 1; id <= PODS; id++) {
            assert_int_equal(sl_promise_admits(promise, id, at * s), id < LAYOUTS);
        }
        assert_true(sl_promise_admits(promise, 900, at * s)); /* it is due */
    }
    sl_promise_free(promise);
}

TEST_THAT(pod_wider_than_the_lane_holds_up_nobody)
{
    struct sl_promise *promise = lane(2);
    arrive(promise, pod_of(1, 3, 0, 10));
    arrive(promise, pod_of(2, 2, 0, 10));
    arrive(promise, pod_of(3, 2, 0, 10));
    assert_int_equal(due(promise), 2);
    assert_true(sl_promise_admits(promise, 2, 0));
    assert_false(sl_promise_admits(promise, 1, 0));
    assert_int_equal(sl_promise_set_capacity(promise, 3, 1 * s, NULL), 0);
    assert_int_equal(due(promise), 1);
    assert_true(sl_promise_admits(promise, 1, 1 * s));
    sl_promise_free(promise);
}

TEST_THAT(lane_without_units_admits_nobody)
{
    struct sl_promise *promise = lane(0);
    arrive(promise, pod_of(1, 1, 0, 10));
    assert_int_equal(due(promise), 0);
    assert_false(sl_promise_admits(promise, 1, 0));
    sl_promise_free(promise);
}

TEST_THAT(units_may_go_away_under_running_pods)
{
    struct sl_promise *promise = lane(4);
    for (uint64_t id = 1; id <= 4; id++) {
        arrive(promise, pod_of(id, 1, 0, (int64_t)id * 100));
        start(promise, id, 0);
    }
    arrive(promise, pod_of(5, 1, 1, 50));
    arrive(promise, pod_of(6, 1, 1, 40));
    assert_int_equal(sl_promise_set_capacity(promise, 2, 2 * s, NULL), 0);
    end(promise, 1, 100);
    end(promise, 2, 200);
    end(promise, 3, 300);
    assert_int_equal(due(promise), 5);
    assert_true(sl_promise_admits(promise, 5, 300 * s));
    sl_promise_free(promise);
}

TEST_THAT(nomination_that_expired_waits_again_in_its_place)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 0, 100));
    arrive(promise, pod_of(2, 1, 1, 100));
    start(promise, 1, 2);
    assert_int_equal(due(promise), 2);
    assert_int_equal(sl_promise_unstart(promise, 1, 5 * s, NULL), 0);
    assert_int_equal(due(promise), 1);
    assert_int_equal(sl_promise_waiting(promise), 2);
    assert_int_equal(sl_promise_running(promise), 0);
    sl_promise_free(promise);
}

TEST_THAT(any_number_of_nominations_of_mixed_widths_may_expire)
{
    enum { PODS = 100 };
    const struct sl_promise_node nodes[] = {{1, 100, 0}, {2, 100, 0}};
    struct sl_promise *promise = lane(200);
    assert_int_equal(sl_promise_set_nodes(promise, nodes, 2, 0, NULL), 0);
    for (int64_t id = 1; id <= PODS; id++) { /* each starts at once, in fact and virtually */
        arrive(promise, pod_of((uint64_t)id, 1 + id % 2, id, 1000));
        start(promise, (uint64_t)id, id);
    }
    for (uint64_t id = 1; id <= PODS; id++) {
        assert_int_equal(sl_promise_unstart(promise, id, PODS * s, NULL), 0);
    }
    (void)sl_promise_admits(promise, PODS, PODS * s); /* all who wait are laid out for that */
    assert_int_equal(sl_promise_waiting(promise), PODS);
    sl_promise_free(promise);
}

TEST_THAT(w_counts_only_the_pods_that_a_node_has_room_for)
{
    const struct sl_promise_node nodes[] = {{1, 8, 0}, {2, 8, 0}};
    for (int64_t width = 3; width <= 4; width++) {
        struct sl_promise *promise = lane(16);
        assert_int_equal(sl_promise_set_nodes(promise, nodes, 2, 0, NULL), 0);
        for (uint64_t id = 1; id <= 5; id++) { /* four have room, two on each node */
            arrive(promise, pod_of(id, width, 0, 100));
        }
        assert_int_equal(sl_promise_longest_us(promise, 0, 0), 100 * s);
        assert_int_equal(sl_promise_is_mixed(promise), width == 3);
        sl_promise_free(promise);
    }
}

TEST_THAT(nodes_that_the_width_divides_no_more_mix_the_lane)
{
    struct sl_promise *promise = lane(16);
    arrive(promise, pod_of(1, 2, 0, 100)); /* before any node is known */
    assert_int_equal(
        sl_promise_set_nodes(promise, (struct sl_promise_node[]){{1, 8, 0}, {2, 8, 0}}, 2, 0, NULL),
        0);
    arrive(promise, pod_of(2, 2, 1, 100));
    assert_false(sl_promise_is_mixed(promise));
    assert_int_equal(
        sl_promise_set_nodes(promise, (struct sl_promise_node[]){{1, 8, 0}, {2, 7, 0}}, 2, s, NULL),
        0);
    assert_true(sl_promise_is_mixed(promise));
    sl_promise_free(promise);
}

TEST_THAT(pods_of_a_second_width_mix_the_lane)
{
    struct sl_promise *promise = lane(16);
    assert_int_equal(
        sl_promise_set_nodes(promise, (struct sl_promise_node[]){{1, 8, 0}, {2, 8, 0}}, 2, 0, NULL),
        0);
    arrive(promise, pod_of(1, 2, 0, 100));
    arrive(promise, pod_of(2, 2, 0, 100));
    assert_false(sl_promise_is_mixed(promise));
    arrive(promise, pod_of(3, 4, 0, 100));
    assert_true(sl_promise_is_mixed(promise));
    sl_promise_free(promise);
}

TEST_THAT(widths_that_differ_before_any_node_is_known_mix_the_lane_later)
{
    const struct sl_promise_node nodes[] = {{1, 8, 0}, {2, 8, 0}};
    struct sl_promise *promise = lane(16);
    arrive(promise, pod_of(1, 2, 0, 100));
    arrive(promise, pod_of(2, 4, 0, 100));
    arrive(promise, pod_of(3, 4, 0, 100));
    assert_int_equal(sl_promise_set_nodes(promise, nodes, 2, 0, NULL), 0);
    assert_true(sl_promise_is_mixed(promise));
    sl_promise_free(promise);
}

TEST_THAT(on_other_nodes_the_last_to_end_chooses_first)
{
    struct sl_promise *promise = lane(16);
    assert_int_equal(
        sl_promise_set_nodes(promise, (struct sl_promise_node[]){{1, 8, 0}, {2, 8, 0}}, 2, 0, NULL),
        0);
    arrive(promise, pod_of(1, 6, 0, 100));
    arrive(promise, pod_of(2, 2, 0, 200));
    assert_int_equal(sl_promise_set_nodes(promise, (struct sl_promise_node[]){{3, 8, 0}, {4, 6, 0}},
                                          2, 10 * s, NULL),
                     0);
    arrive(promise, pod_of(3, 6, 10, 100)); /* 2 has part of the node of 6, 1 of the other */
    assert_int_equal(sl_promise_longest_us(promise, 0, 10 * s), 90 * s);
    sl_promise_free(promise);
}

TEST_THAT(withdrawn_pod_leaves_no_trace)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 0, 100));
    arrive(promise, pod_of(2, 1, 0, 5000));
    arrive(promise, pod_of(3, 1, 0, 10));
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 5100 * s);
    assert_int_equal(sl_promise_withdraw(promise, 2, 0, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 100 * s);
    assert_int_equal(sl_promise_waiting(promise), 2);
    sl_promise_free(promise);
}

TEST_THAT(equal_submissions_go_by_id)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(30, 1, 0, 1));
    arrive(promise, pod_of(10, 1, 0, 1));
    arrive(promise, pod_of(20, 1, 0, 1));
    assert_int_equal(due(promise), 10);
    start(promise, 10, 0);
    assert_int_equal(due(promise), 20);
    sl_promise_free(promise);
}

TEST_THAT(longest_wait_is_the_fifos_also_of_what_it_foresees)
{
    struct sl_promise *promise = lane(2);
    arrive(promise, pod_of(1, 1, 0, 100));
    arrive(promise, pod_of(2, 1, 0, 60));
    arrive(promise, pod_of(3, 2, 10, 30)); /* FIFO starts it at 100 */
    arrive(promise, pod_of(4, 1, 20, 30)); /* and this at 130, though a unit is free from 60 on */
    assert_int_equal(sl_promise_longest_us(promise, 0, 20 * s), 110 * s);
    sl_promise_free(promise);
}

TEST_THAT(virtual_fifo_starts_nobody_before_he_came)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 1000, 100));
    arrive(promise, pod_of(2, 1, 1010, 100));
    assert_int_equal(sl_promise_longest_us(promise, 0, 1010 * s), 90 * s);
    sl_promise_free(promise);
}

TEST_THAT(while_w_is_small_the_end_of_the_lane_stays_close_to_fifos)
{
    struct sl_promise *promise = lane(2);
    arrive(promise, pod_of(1, 1, 0, 1000));
    arrive(promise, pod_of(2, 1, 0, 1000));
    start(promise, 1, 0);
    start(promise, 2, 0);
    arrive(promise, pod_of(3, 1, 930, 1000)); /* waits 70 s: W */
    end(promise, 1, 1000);
    end(promise, 2, 1000);
    start(promise, 3, 1000);
    arrive(promise, pod_of(4, 1, 1000, 1010));
    start(promise, 4, 1000);
    arrive(promise, pod_of(5, 1, 1950, 1000));
    arrive(promise, pod_of(6, 1, 1999, 5));
    end(promise, 3, 2000);
    /* 5 could start at 2005, after 55 s; but then it would end at 3005, under FIFO at 3000. */
    assert_true(sl_promise_latest_start(promise, 5, 2000 * s) > 2005 * s);
    assert_false(sl_promise_admits(promise, 6, 2000 * s));
    assert_true(sl_promise_admits(promise, 5, 2000 * s));
    sl_promise_free(promise);
}

TEST_THAT(early_end_shortens_what_fifo_foresees)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, pod_of(1, 1, 0, 1000));
    arrive(promise, pod_of(2, 1, 0, 1000));
    start(promise, 1, 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 1000 * s);
    end(promise, 1, 300);
    assert_int_equal(sl_promise_longest_us(promise, 0, 300 * s), 300 * s);
    sl_promise_free(promise);
}

TEST_THAT(share_of_timeouts_that_is_used_is_learned)
{
    struct sl_promise *promise = lane(1);
    assert_int_equal(sl_promise_ratio_permille(promise), 1000);
    for (uint64_t id = 1; id <= 400; id++) {
        const int64_t at = (int64_t)id * 1000;
        arrive(promise, pod_of(id, 1, at, 400));
        start(promise, id, at);
        end(promise, id, at + 100);
    }
    assert_in_range(sl_promise_ratio_permille(promise), 240, 270);
    sl_promise_free(promise);
}

TEST_THAT(after_a_restart_the_wait_of_running_pods_counts_less_its_stretch)
{
    struct sl_promise *promise = lane(1);
    const struct sl_promise_pod pod = pod_of(1, 1, 0, 1000);
    assert_int_equal(sl_promise_adopt(promise, &pod, 1150 * s, 1500 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 1500 * s), 1000 * s);
    assert_int_equal(sl_promise_running(promise), 1);
    /* It holds the lane until 2150 in both schedules; 230 s of waiting before count as 200. */
    struct sl_promise_pod waits = pod_of(2, 1, 1270, 10);
    assert_int_equal(sl_promise_arrive(promise, &waits, 1500 * s, NULL), 0);
    waits = pod_of(3, 1, 1270, 500);
    assert_int_equal(sl_promise_arrive(promise, &waits, 1500 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 1500 * s), 1000 * s);
    end(promise, 1, 2150);
    assert_true(sl_promise_admits(promise, 2, 2150 * s));
    sl_promise_free(promise);
}

TEST_THAT(observed_wait_raises_w_and_never_lowers_it)
{
    struct sl_promise *promise = lane(1);
    sl_promise_observe(promise, 0, 2300 * s);
    sl_promise_observe(promise, 0, 23 * s);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 2000 * s);
    assert_int_equal(sl_promise_longest_us(promise, 1, 0), 0);
    sl_promise_free(promise);
}

TEST_THAT(pod_that_runs_for_weeks_does_not_keep_the_past)
{
    struct sl_promise *promise = lane(2);
    arrive(promise, pod_of(1, 1, 0, 10000000));
    start(promise, 1, 0);
    for (uint64_t id = 2; id < 20000; id++) { /* FIFO makes every second one wait 10 s */
        const int64_t at = (int64_t)(id / 2) * 40;
        arrive(promise, pod_of(id, 1, at, 10));
        if (id % 2 == 1) {
            start(promise, id - 1, at);
            end(promise, id - 1, at + 10);
            start(promise, id, at + 10);
            end(promise, id, at + 20);
        }
    }
    assert_int_equal(sl_promise_longest_us(promise, 0, 400000 * s), 10 * s);
    assert_int_equal(sl_promise_ratio_permille(promise), 1000);
    sl_promise_free(promise);
}

TEST_THAT(asking_for_a_priority_never_seen_leaves_the_others_alone)
{
    struct sl_promise *promise = lane(1);
    for (int32_t priority = 1000; priority < 1100; priority++) {
        assert_int_equal(sl_promise_longest_us(promise, priority, 0), 0);
    }
    arrive_above(promise, pod_of(1, 1, 0, 10), 5);
    arrive_above(promise, pod_of(2, 1, 0, 10), 4);
    assert_int_equal(sl_promise_longest_us(promise, 5, 0), 0);
    assert_int_equal(sl_promise_longest_us(promise, 4, 0), 10 * s);
    sl_promise_free(promise);
}

TEST_THAT(absurd_timeouts_overflow_nothing)
{
    struct sl_promise *promise = lane(1);
    for (uint64_t id = 1; id <= 300; id++) {
        struct sl_promise_pod pod = pod_of(id, 1, 0, 0);
        pod.timeout_us = id % 3 == 0 ? INT64_MAX : id % 3 == 1 ? INT64_MIN : 1;
        arrive(promise, pod);
    }
    for (uint64_t id = 1; id <= 300; id++) {
        assert_true(sl_promise_longest_us(promise, 0, 0) <=
                    100 * SL_PROMISE_TIMEOUT_MAX_US + 101 * s);
        assert_int_equal(due(promise), id);
        assert_true(sl_promise_admits(promise, id, (int64_t)id * s));
        start(promise, id, (int64_t)id * s);
        end(promise, id, (int64_t)id * s + s);
    }
    sl_promise_free(promise);
}

/* Of pods that stand on nodes, whatever they ask for. */
TEST_THAT(absurd_widths_and_times_overflow_nothing)
{
    static const struct sl_promise_node nodes[] = {
        {1, 8, 0}, {1, 8, 0}, {2, 100, 0}, {3, INT64_MAX, 0}};
    struct sl_promise *promise = lane(1);
    assert_int_equal(sl_promise_set_nodes(promise, nodes, 4, 0, NULL), 0);
    for (int64_t id = 1; id <= 40; id++) {
        struct sl_promise_pod pod = pod_of((uint64_t)id, id % 5 + 1, 0, 60);
        pod.width = id % 4 == 0 ? INT64_MAX - id * (INT64_C(1) << 39) : pod.width;
        pod.submit_us = id % 8 == 0 ? INT64_MIN : pod.submit_us;
        if (id % 4 == 0) {
            assert_int_equal(sl_promise_adopt(promise, &pod, id * s, id * s, NULL), 0);
            sl_promise_place(promise, pod.id, pod.id % 3);
        } else {
            assert_int_equal(sl_promise_arrive(promise, &pod, id * s, NULL), 0);
        }
        (void)sl_promise_admits(promise, pod.id, id * s);
        (void)sl_promise_latest_start(promise, pod.id, id * s);
    }
    assert_true(sl_promise_is_mixed(promise));
    for (uint64_t id = 4; id <= 40; id += 4) {
        end(promise, id, 1000);
    }
    sl_promise_free(promise);
}

TEST_THAT(wrong_calls_are_errors_that_change_nothing)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    config.pods_max = 2;
    struct sl_promise *promise = sl_promise_new(&config);
    struct sl_error err;
    const struct sl_promise_pod none = pod_of(1, 0, 0, 1);
    const struct sl_promise_pod one = pod_of(1, 1, 0, 1);
    const struct sl_promise_pod two = pod_of(2, 1, 0, 1);
    const struct sl_promise_pod three = pod_of(3, 1, 0, 1);
    assert_int_equal(sl_promise_arrive(promise, &none, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_FIELD);
    arrive(promise, one);
    assert_int_equal(sl_promise_arrive(promise, &one, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    arrive(promise, two);
    assert_int_equal(sl_promise_arrive(promise, &three, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_int_equal(sl_promise_end(promise, 1, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_int_equal(sl_promise_unstart(promise, 1, 0, &err), -1);
    assert_int_equal(sl_promise_start(promise, 3, 0, &err), -1);
    start(promise, 1, 0);
    assert_int_equal(sl_promise_start(promise, 1, 0, &err), -1);
    assert_int_equal(sl_promise_withdraw(promise, 1, 0, &err), -1);
    assert_false(sl_promise_admits(promise, 1, 0));
    assert_int_equal(sl_promise_waiting(promise), 1);
    assert_int_equal(sl_promise_running(promise), 1);
    sl_promise_free(promise);
}

TEST_THAT(any_number_of_priorities_is_served_in_order)
{
    struct sl_promise *promise = lane(1);
    for (uint64_t id = 1; id <= 40; id++) {
        arrive_above(promise, pod_of(id, 1, 0, 10), (int32_t)(id * 7 % 41));
    }
    for (int64_t i = 0; i < 40; i++) {
        const uint64_t id = due(promise);
        assert_int_equal(id * 7 % 41, 40 - i); /* the highest that is left */
        assert_true(sl_promise_admits(promise, id, 0));
        start(promise, id, i * 10);
        end(promise, id, i * 10 + 10);
    }
    assert_int_equal(sl_promise_waiting(promise), 0);
    sl_promise_free(promise);
}
