/* Bounded shortest job first: who may go, on cases that fit on a hand. Times in the cases are
 * seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sliced/bound.h"

static const int64_t s = 1000000;

static struct sl_bound *lane(int64_t units)
{
    struct sl_bound_config config;
    sl_bound_defaults(&config);
    struct sl_bound *bound = sl_bound_new(&config);
    assert_non_null(bound);
    assert_int_equal(sl_bound_set_capacity(bound, units, 0, NULL), 0);
    return bound;
}

static struct sl_bound_pod pod_of(uint64_t id, int64_t width, int64_t submit_s, int64_t timeout_s)
{
    return (struct sl_bound_pod){
        .id = id, .width = width, .submit_us = submit_s * s, .timeout_us = timeout_s * s};
}

static void arrive(struct sl_bound *bound, struct sl_bound_pod pod)
{
    assert_int_equal(sl_bound_arrive(bound, &pod, pod.submit_us, NULL), 0);
}

static void arrive_above(struct sl_bound *bound, struct sl_bound_pod pod, int32_t priority)
{
    pod.priority = priority;
    arrive(bound, pod);
}

static void start(struct sl_bound *bound, uint64_t id, int64_t at_s)
{
    assert_int_equal(sl_bound_start(bound, id, at_s * s, NULL), 0);
}

static void end(struct sl_bound *bound, uint64_t id, int64_t at_s)
{
    assert_int_equal(sl_bound_end(bound, id, at_s * s, NULL), 0);
}

static uint64_t due(const struct sl_bound *bound)
{
    uint64_t id = 0;
    return sl_bound_due(bound, &id) ? id : 0;
}

/* W is 1,000 s: FIFO made pod 900 wait for pod 901. Nothing waits or runs at 1,000 s. */
static struct sl_bound *lane_with_patience(void)
{
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(901, 1, 0, 1000));
    start(bound, 901, 0);
    arrive(bound, pod_of(900, 1, 0, 1));
    end(bound, 901, 1000);
    start(bound, 900, 1000);
    end(bound, 900, 1001);
    return bound;
}

static void everybody_may_go_while_there_is_room_for_all(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(3);
    arrive(bound, pod_of(1, 1, 0, 100));
    arrive(bound, pod_of(2, 2, 0, 1));
    assert_true(sl_bound_admits(bound, 1, 0));
    assert_true(sl_bound_admits(bound, 2, 0));
    sl_bound_free(bound);
}

static void without_any_wait_so_far_it_is_fifo(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 0, 100));
    arrive(bound, pod_of(2, 1, 0, 300));
    start(bound, 1, 0);
    end(bound, 1, 100);
    arrive(bound, pod_of(3, 1, 100, 290));
    assert_int_equal(due(bound), 2);
    assert_true(sl_bound_admits(bound, 2, 100));
    assert_false(sl_bound_admits(bound, 3, 100)); /* 2 would start at 390; 1.15 * 300 at most */
    sl_bound_free(bound);
}

static void shorter_pod_overtakes_while_the_longer_can_start_in_time(void **state)
{
    (void)state;
    struct sl_bound *bound = lane_with_patience();
    arrive(bound, pod_of(1, 1, 1001, 900));
    arrive(bound, pod_of(2, 1, 1001, 10));
    assert_int_equal(due(bound), 1);
    assert_true(sl_bound_admits(bound, 2, 1001));
    assert_true(sl_bound_admits(bound, 1, 1001));
    sl_bound_free(bound);
}

static void nobody_overtakes_a_pod_at_its_latest_start(void **state)
{
    (void)state;
    struct sl_bound *bound = lane_with_patience();
    arrive(bound, pod_of(1, 1, 1001, 900));
    const int64_t latest_us = sl_bound_latest_start(bound, 1, 1001 * s);
    assert_in_range(latest_us, 2001 * s, 2151 * s); /* W to 1.15 * W later */
    arrive(bound, pod_of(3, 1, 1001, 2000));
    struct sl_bound_pod late = pod_of(2, 1, 1001, 10);
    late.submit_us = latest_us - 9 * s;
    arrive(bound, late);
    const int64_t now_us = sl_bound_latest_start(bound, 1, late.submit_us) - 9 * s;
    assert_false(sl_bound_admits(bound, 2, now_us));
    assert_true(sl_bound_admits(bound, 1, now_us));
    sl_bound_free(bound);
}

static void latest_start_is_zero_for_who_does_not_wait(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 5, 100));
    assert_true(sl_bound_latest_start(bound, 1, 5 * s) >= 5 * s);
    start(bound, 1, 5);
    assert_int_equal(sl_bound_latest_start(bound, 1, 5 * s), 0);
    assert_int_equal(sl_bound_latest_start(bound, 2, 5 * s), 0);
    sl_bound_free(bound);
}

static void higher_priority_is_due_first(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive_above(bound, pod_of(1, 1, 0, 10), 0);
    arrive_above(bound, pod_of(2, 1, 1, 10), 7);
    arrive_above(bound, pod_of(3, 1, 1, 10), -7);
    assert_int_equal(due(bound), 2);
    start(bound, 2, 1);
    assert_int_equal(due(bound), 1);
    start(bound, 1, 1);
    assert_int_equal(due(bound), 3);
    sl_bound_free(bound);
}

static void lower_priority_never_delays_a_higher_one(void **state)
{
    (void)state;
    struct sl_bound *bound = lane_with_patience();
    arrive_above(bound, pod_of(1, 1, 1001, 900), 5);
    arrive_above(bound, pod_of(2, 1, 1001, 1), 0);
    assert_false(sl_bound_admits(bound, 2, 1001 * s));
    start(bound, 1, 1001);
    end(bound, 1, 1901);
    assert_true(sl_bound_admits(bound, 2, 1901 * s));
    sl_bound_free(bound);
}

static void lower_priority_uses_units_that_a_wide_higher_one_waits_to_complete(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(4);
    arrive(bound, pod_of(9, 3, 0, 100));
    start(bound, 9, 0);
    arrive_above(bound, pod_of(1, 4, 1, 50), 5);
    arrive_above(bound, pod_of(2, 1, 1, 99), 0);  /* ends at 100, when the wide one can start */
    arrive_above(bound, pod_of(3, 1, 1, 100), 0); /* ends at 101 */
    assert_true(sl_bound_admits(bound, 2, 1 * s));
    assert_false(sl_bound_admits(bound, 3, 1 * s));
    sl_bound_free(bound);
}

static void higher_priority_overtakes_lower_ones_at_their_latest_start(void **state)
{
    (void)state;
    struct sl_bound *bound = lane_with_patience();
    arrive_above(bound, pod_of(1, 1, 1001, 900), 0);
    arrive_above(bound, pod_of(2, 1, 5001, 500), 5);
    arrive_above(bound, pod_of(3, 1, 5002, 400), 5);
    assert_int_equal(due(bound), 2);
    assert_true(sl_bound_admits(bound, 2, 5002 * s));
    assert_false(sl_bound_admits(bound, 1, 5002 * s));
    sl_bound_free(bound);
}

static void pod_wider_than_the_lane_holds_up_nobody(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(2);
    arrive(bound, pod_of(1, 3, 0, 10));
    arrive(bound, pod_of(2, 2, 0, 10));
    arrive(bound, pod_of(3, 2, 0, 10));
    assert_int_equal(due(bound), 2);
    assert_true(sl_bound_admits(bound, 2, 0));
    assert_false(sl_bound_admits(bound, 1, 0));
    assert_int_equal(sl_bound_set_capacity(bound, 3, 1 * s, NULL), 0);
    assert_int_equal(due(bound), 1);
    assert_true(sl_bound_admits(bound, 1, 1 * s));
    sl_bound_free(bound);
}

static void lane_without_units_admits_nobody(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(0);
    arrive(bound, pod_of(1, 1, 0, 10));
    assert_int_equal(due(bound), 0);
    assert_false(sl_bound_admits(bound, 1, 0));
    sl_bound_free(bound);
}

static void units_may_go_away_under_running_pods(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(4);
    for (uint64_t id = 1; id <= 4; id++) {
        arrive(bound, pod_of(id, 1, 0, (int64_t)id * 100));
        start(bound, id, 0);
    }
    arrive(bound, pod_of(5, 1, 1, 50));
    arrive(bound, pod_of(6, 1, 1, 40));
    assert_int_equal(sl_bound_set_capacity(bound, 2, 2 * s, NULL), 0);
    end(bound, 1, 100);
    end(bound, 2, 200);
    end(bound, 3, 300);
    assert_int_equal(due(bound), 5);
    assert_true(sl_bound_admits(bound, 5, 300 * s));
    sl_bound_free(bound);
}

static void claim_that_lapsed_waits_again_in_its_place(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 0, 100));
    arrive(bound, pod_of(2, 1, 1, 100));
    start(bound, 1, 2);
    assert_int_equal(due(bound), 2);
    assert_int_equal(sl_bound_unstart(bound, 1, 5 * s, NULL), 0);
    assert_int_equal(due(bound), 1);
    assert_int_equal(sl_bound_waiting(bound), 2);
    assert_int_equal(sl_bound_running(bound), 0);
    sl_bound_free(bound);
}

static void any_number_of_claims_of_mixed_widths_may_lapse(void **state)
{
    enum { PODS = 100 };
    const struct sl_bound_node nodes[] = {{1, 100}, {2, 100}};
    (void)state;
    struct sl_bound *bound = lane(200);
    assert_int_equal(sl_bound_set_nodes(bound, nodes, 2, 0, NULL), 0);
    for (int64_t id = 1; id <= PODS; id++) { /* each starts at once, in fact and virtually */
        arrive(bound, pod_of((uint64_t)id, 1 + id % 2, id, 1000));
        start(bound, (uint64_t)id, id);
    }
    for (uint64_t id = 1; id <= PODS; id++) {
        assert_int_equal(sl_bound_unstart(bound, id, PODS * s, NULL), 0);
    }
    (void)sl_bound_admits(bound, PODS, PODS * s); /* all who wait are laid out for that */
    assert_int_equal(sl_bound_waiting(bound), PODS);
    sl_bound_free(bound);
}

static void withdrawn_pod_leaves_no_trace(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 0, 100));
    arrive(bound, pod_of(2, 1, 0, 5000));
    arrive(bound, pod_of(3, 1, 0, 10));
    assert_int_equal(sl_bound_longest_us(bound, 0, 0), 5100 * s);
    assert_int_equal(sl_bound_withdraw(bound, 2, 0, NULL), 0);
    assert_int_equal(sl_bound_longest_us(bound, 0, 0), 100 * s);
    assert_int_equal(sl_bound_waiting(bound), 2);
    sl_bound_free(bound);
}

static void equal_submissions_go_by_id(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(30, 1, 0, 1));
    arrive(bound, pod_of(10, 1, 0, 1));
    arrive(bound, pod_of(20, 1, 0, 1));
    assert_int_equal(due(bound), 10);
    start(bound, 10, 0);
    assert_int_equal(due(bound), 20);
    sl_bound_free(bound);
}

static void longest_wait_is_the_fifos_also_of_what_it_foresees(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(2);
    arrive(bound, pod_of(1, 1, 0, 100));
    arrive(bound, pod_of(2, 1, 0, 60));
    arrive(bound, pod_of(3, 2, 10, 30)); /* FIFO starts it at 100 */
    arrive(bound, pod_of(4, 1, 20, 30)); /* and this at 130, though a unit is free from 60 on */
    assert_int_equal(sl_bound_longest_us(bound, 0, 20 * s), 110 * s);
    sl_bound_free(bound);
}

static void virtual_fifo_starts_nobody_before_he_came(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 1000, 100));
    arrive(bound, pod_of(2, 1, 1010, 100));
    assert_int_equal(sl_bound_longest_us(bound, 0, 1010 * s), 90 * s);
    sl_bound_free(bound);
}

static void while_w_is_small_the_end_of_the_lane_stays_close_to_fifos(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(2);
    arrive(bound, pod_of(1, 1, 0, 1000));
    arrive(bound, pod_of(2, 1, 0, 1000));
    start(bound, 1, 0);
    start(bound, 2, 0);
    arrive(bound, pod_of(3, 1, 930, 1000)); /* waits 70 s: W */
    end(bound, 1, 1000);
    end(bound, 2, 1000);
    start(bound, 3, 1000);
    arrive(bound, pod_of(4, 1, 1000, 1010));
    start(bound, 4, 1000);
    arrive(bound, pod_of(5, 1, 1950, 1000));
    arrive(bound, pod_of(6, 1, 1999, 5));
    end(bound, 3, 2000);
    /* 5 could start at 2005, after 55 s; but then it would end at 3005, under FIFO at 3000. */
    assert_true(sl_bound_latest_start(bound, 5, 2000 * s) > 2005 * s);
    assert_false(sl_bound_admits(bound, 6, 2000 * s));
    assert_true(sl_bound_admits(bound, 5, 2000 * s));
    sl_bound_free(bound);
}

static void early_end_shortens_what_fifo_foresees(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    arrive(bound, pod_of(1, 1, 0, 1000));
    arrive(bound, pod_of(2, 1, 0, 1000));
    start(bound, 1, 0);
    assert_int_equal(sl_bound_longest_us(bound, 0, 0), 1000 * s);
    end(bound, 1, 300);
    assert_int_equal(sl_bound_longest_us(bound, 0, 300 * s), 300 * s);
    sl_bound_free(bound);
}

static void share_of_timeouts_that_is_used_is_learned(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    assert_int_equal(sl_bound_ratio_permille(bound), 1000);
    for (uint64_t id = 1; id <= 400; id++) {
        const int64_t at = (int64_t)id * 1000;
        arrive(bound, pod_of(id, 1, at, 400));
        start(bound, id, at);
        end(bound, id, at + 100);
    }
    assert_in_range(sl_bound_ratio_permille(bound), 240, 270);
    sl_bound_free(bound);
}

static void after_a_restart_the_wait_of_running_pods_counts_less_its_stretch(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    const struct sl_bound_pod pod = pod_of(1, 1, 0, 1000);
    assert_int_equal(sl_bound_adopt(bound, &pod, 1150 * s, 1500 * s, NULL), 0);
    assert_int_equal(sl_bound_longest_us(bound, 0, 1500 * s), 1000 * s);
    assert_int_equal(sl_bound_running(bound), 1);
    /* It holds the lane until 2150 in both schedules; 230 s of waiting before count as 200. */
    struct sl_bound_pod waits = pod_of(2, 1, 1270, 10);
    assert_int_equal(sl_bound_arrive(bound, &waits, 1500 * s, NULL), 0);
    waits = pod_of(3, 1, 1270, 500);
    assert_int_equal(sl_bound_arrive(bound, &waits, 1500 * s, NULL), 0);
    assert_int_equal(sl_bound_longest_us(bound, 0, 1500 * s), 1000 * s);
    end(bound, 1, 2150);
    assert_true(sl_bound_admits(bound, 2, 2150 * s));
    sl_bound_free(bound);
}

static void observed_wait_raises_w_and_never_lowers_it(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    sl_bound_observe(bound, 0, 2300 * s);
    sl_bound_observe(bound, 0, 23 * s);
    assert_int_equal(sl_bound_longest_us(bound, 0, 0), 2000 * s);
    assert_int_equal(sl_bound_longest_us(bound, 1, 0), 0);
    sl_bound_free(bound);
}

static void pod_that_runs_for_weeks_does_not_keep_the_past(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(2);
    arrive(bound, pod_of(1, 1, 0, 10000000));
    start(bound, 1, 0);
    for (uint64_t id = 2; id < 20000; id++) { /* FIFO makes every second one wait 10 s */
        const int64_t at = (int64_t)(id / 2) * 40;
        arrive(bound, pod_of(id, 1, at, 10));
        if (id % 2 == 1) {
            start(bound, id - 1, at);
            end(bound, id - 1, at + 10);
            start(bound, id, at + 10);
            end(bound, id, at + 20);
        }
    }
    assert_int_equal(sl_bound_longest_us(bound, 0, 400000 * s), 10 * s);
    assert_int_equal(sl_bound_ratio_permille(bound), 1000);
    sl_bound_free(bound);
}

static void asking_for_a_priority_never_seen_leaves_the_others_alone(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    for (int32_t priority = 1000; priority < 1100; priority++) {
        assert_int_equal(sl_bound_longest_us(bound, priority, 0), 0);
    }
    arrive_above(bound, pod_of(1, 1, 0, 10), 5);
    arrive_above(bound, pod_of(2, 1, 0, 10), 4);
    assert_int_equal(sl_bound_longest_us(bound, 5, 0), 0);
    assert_int_equal(sl_bound_longest_us(bound, 4, 0), 10 * s);
    sl_bound_free(bound);
}

static void absurd_timeouts_overflow_nothing(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    for (uint64_t id = 1; id <= 300; id++) {
        struct sl_bound_pod pod = pod_of(id, 1, 0, 0);
        pod.timeout_us = id % 3 == 0 ? INT64_MAX : id % 3 == 1 ? INT64_MIN : 1;
        arrive(bound, pod);
    }
    for (uint64_t id = 1; id <= 300; id++) {
        assert_true(sl_bound_longest_us(bound, 0, 0) <= 100 * SL_BOUND_TIMEOUT_MAX_US + 101 * s);
        assert_int_equal(due(bound), id);
        assert_true(sl_bound_admits(bound, id, (int64_t)id * s));
        start(bound, id, (int64_t)id * s);
        end(bound, id, (int64_t)id * s + s);
    }
    sl_bound_free(bound);
}

/* Of pods that stand on nodes, whatever they ask for. */
static void absurd_widths_and_times_overflow_nothing(void **state)
{
    (void)state;
    static const struct sl_bound_node nodes[] = {{1, 8}, {1, 8}, {2, 100}, {3, INT64_MAX}};
    struct sl_bound *bound = lane(1);
    assert_int_equal(sl_bound_set_nodes(bound, nodes, 4, 0, NULL), 0);
    for (int64_t id = 1; id <= 40; id++) {
        struct sl_bound_pod pod = pod_of((uint64_t)id, id % 5 + 1, 0, 60);
        pod.width = id % 4 == 0 ? INT64_MAX - id * (INT64_C(1) << 39) : pod.width;
        pod.submit_us = id % 8 == 0 ? INT64_MIN : pod.submit_us;
        if (id % 4 == 0) {
            assert_int_equal(sl_bound_adopt(bound, &pod, id * s, id * s, NULL), 0);
            sl_bound_place(bound, pod.id, pod.id % 3);
        } else {
            assert_int_equal(sl_bound_arrive(bound, &pod, id * s, NULL), 0);
        }
        (void)sl_bound_admits(bound, pod.id, id * s);
        (void)sl_bound_latest_start(bound, pod.id, id * s);
    }
    assert_true(sl_bound_is_mixed(bound));
    for (uint64_t id = 4; id <= 40; id += 4) {
        end(bound, id, 1000);
    }
    sl_bound_free(bound);
}

static void wrong_calls_are_errors_that_change_nothing(void **state)
{
    (void)state;
    struct sl_bound_config config;
    sl_bound_defaults(&config);
    config.pods_max = 2;
    struct sl_bound *bound = sl_bound_new(&config);
    struct sl_error err;
    const struct sl_bound_pod none = pod_of(1, 0, 0, 1);
    const struct sl_bound_pod one = pod_of(1, 1, 0, 1);
    const struct sl_bound_pod two = pod_of(2, 1, 0, 1);
    const struct sl_bound_pod three = pod_of(3, 1, 0, 1);
    assert_int_equal(sl_bound_arrive(bound, &none, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_FIELD);
    arrive(bound, one);
    assert_int_equal(sl_bound_arrive(bound, &one, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_CONFLICT);
    arrive(bound, two);
    assert_int_equal(sl_bound_arrive(bound, &three, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_LIMIT);
    assert_int_equal(sl_bound_end(bound, 1, 0, &err), -1);
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    assert_int_equal(sl_bound_unstart(bound, 1, 0, &err), -1);
    assert_int_equal(sl_bound_start(bound, 3, 0, &err), -1);
    start(bound, 1, 0);
    assert_int_equal(sl_bound_start(bound, 1, 0, &err), -1);
    assert_int_equal(sl_bound_withdraw(bound, 1, 0, &err), -1);
    assert_false(sl_bound_admits(bound, 1, 0));
    assert_int_equal(sl_bound_waiting(bound), 1);
    assert_int_equal(sl_bound_running(bound), 1);
    sl_bound_free(bound);
}

static void any_number_of_priorities_is_served_in_order(void **state)
{
    (void)state;
    struct sl_bound *bound = lane(1);
    for (uint64_t id = 1; id <= 40; id++) {
        arrive_above(bound, pod_of(id, 1, 0, 10), (int32_t)(id * 7 % 41));
    }
    for (int64_t i = 0; i < 40; i++) {
        const uint64_t id = due(bound);
        assert_int_equal(id * 7 % 41, 40 - i); /* the highest that is left */
        assert_true(sl_bound_admits(bound, id, 0));
        start(bound, id, i * 10);
        end(bound, id, i * 10 + 10);
    }
    assert_int_equal(sl_bound_waiting(bound), 0);
    sl_bound_free(bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_may_go_while_there_is_room_for_all),
        cmocka_unit_test(without_any_wait_so_far_it_is_fifo),
        cmocka_unit_test(shorter_pod_overtakes_while_the_longer_can_start_in_time),
        cmocka_unit_test(nobody_overtakes_a_pod_at_its_latest_start),
        cmocka_unit_test(latest_start_is_zero_for_who_does_not_wait),
        cmocka_unit_test(higher_priority_is_due_first),
        cmocka_unit_test(lower_priority_never_delays_a_higher_one),
        cmocka_unit_test(lower_priority_uses_units_that_a_wide_higher_one_waits_to_complete),
        cmocka_unit_test(higher_priority_overtakes_lower_ones_at_their_latest_start),
        cmocka_unit_test(pod_wider_than_the_lane_holds_up_nobody),
        cmocka_unit_test(lane_without_units_admits_nobody),
        cmocka_unit_test(units_may_go_away_under_running_pods),
        cmocka_unit_test(claim_that_lapsed_waits_again_in_its_place),
        cmocka_unit_test(any_number_of_claims_of_mixed_widths_may_lapse),
        cmocka_unit_test(withdrawn_pod_leaves_no_trace),
        cmocka_unit_test(equal_submissions_go_by_id),
        cmocka_unit_test(longest_wait_is_the_fifos_also_of_what_it_foresees),
        cmocka_unit_test(virtual_fifo_starts_nobody_before_he_came),
        cmocka_unit_test(while_w_is_small_the_end_of_the_lane_stays_close_to_fifos),
        cmocka_unit_test(early_end_shortens_what_fifo_foresees),
        cmocka_unit_test(share_of_timeouts_that_is_used_is_learned),
        cmocka_unit_test(after_a_restart_the_wait_of_running_pods_counts_less_its_stretch),
        cmocka_unit_test(observed_wait_raises_w_and_never_lowers_it),
        cmocka_unit_test(pod_that_runs_for_weeks_does_not_keep_the_past),
        cmocka_unit_test(asking_for_a_priority_never_seen_leaves_the_others_alone),
        cmocka_unit_test(absurd_timeouts_overflow_nothing),
        cmocka_unit_test(absurd_widths_and_times_overflow_nothing),
        cmocka_unit_test(wrong_calls_are_errors_that_change_nothing),
        cmocka_unit_test(any_number_of_priorities_is_served_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
