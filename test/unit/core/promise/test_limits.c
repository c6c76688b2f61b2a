/* Units that come and go, and how far a lane looks. Times in the cases are seconds. */
#include "core/promise/lane.h"
#include "lane_rig.h"

enum { FIRST = 999 }; /* a pod of higher priority */

static void arrive(struct sl_promise *promise, uint64_t id, int64_t width, int64_t at_s,
                   int64_t timeout_s)
{
    const struct sl_promise_pod pod = {.id = id,
                                       .width = width,
                                       .submit_us = at_s * s,
                                       .timeout_us = timeout_s * s,
                                       .priority = id == FIRST};
    assert_int_equal(sl_promise_arrive(promise, &pod, at_s * s, NULL), 0);
}

TEST_THAT(units_count_for_the_fifo_from_when_they_come)
{
    struct sl_promise *promise = lane(1);
    arrive(promise, 1, 1, 0, 100);
    arrive(promise, 2, 1, 0, 100);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 100 * s);
    assert_int_equal(sl_promise_set_capacity(promise, 2, 10 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 10 * s), 10 * s);
    sl_promise_free(promise);
}

TEST_THAT(units_that_go_are_those_which_are_free_first)
{
    struct sl_promise *promise = lane(3);
    arrive(promise, 1, 1, 0, 100);
    arrive(promise, 2, 1, 0, 50);
    arrive(promise, 3, 1, 0, 50);
    arrive(promise, 4, 1, 0, 50);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 50 * s);
    assert_int_equal(sl_promise_set_capacity(promise, 1, 10 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 10 * s), 200 * s);
    sl_promise_free(promise);
}

/* What has ended does not count again: its units are those that are left. */
TEST_THAT(units_go_after_what_is_over)
{
    struct sl_promise *promise = lane(2);
    arrive(promise, 1, 1, 0, 100);
    assert_int_equal(sl_promise_start(promise, 1, 0, NULL), 0);
    assert_int_equal(sl_promise_end(promise, 1, 40 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 40 * s), 0);
    assert_int_equal(sl_promise_set_capacity(promise, 1, 50 * s, NULL), 0);
    arrive(promise, 2, 1, 50, 1000);
    arrive(promise, 3, 1, 50, 1000);
    assert_in_range(sl_promise_longest_us(promise, 0, 50 * s), 1, 1000 * s);
    assert_int_equal(sl_promise_set_capacity(promise, 3, 60 * s, NULL), 0);
    assert_int_equal(sl_promise_longest_us(promise, 0, 60 * s), 10 * s);
    sl_promise_free(promise);
}

TEST_THAT(an_empty_lane_has_the_units_that_it_was_told_last)
{
    struct sl_promise *promise = lane(2);
    assert_int_equal(sl_promise_set_capacity(promise, 1, 0, NULL), 0);
    arrive(promise, 1, 1, 0, 100);
    arrive(promise, 2, 1, 0, 100);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 100 * s);
    sl_promise_free(promise);
    promise = lane(1);
    assert_int_equal(sl_promise_set_capacity(promise, 2, 0, NULL), 0);
    arrive(promise, 1, 1, 0, 100);
    arrive(promise, 2, 1, 0, 100);
    assert_int_equal(sl_promise_longest_us(promise, 0, 0), 0);
    sl_promise_free(promise);
}

/* ---- time ---- */

enum call {
    CAPACITY,
    ARRIVE,
    ADOPT,
    START,
    UNSTART,
    END,
    WITHDRAW,
    ADMITS,
    LATEST,
    LONGEST,
    CALLS
};

/* One of the calls, at 100 s; 1 runs and 2 waits. */
static void call_at_100(struct sl_promise *promise, enum call call)
{
    const struct sl_promise_pod pod = {.id = 3, .width = 1, .timeout_us = s};
    switch (call) {
    case CAPACITY:
        assert_int_equal(sl_promise_set_capacity(promise, 5, 100 * s, NULL), 0);
        break;
    case ARRIVE:
        arrive(promise, 3, 1, 100, 1);
        break;
    case ADOPT:
        assert_int_equal(sl_promise_adopt(promise, &pod, 0, 100 * s, NULL), 0);
        break;
    case START:
        assert_int_equal(sl_promise_start(promise, 2, 100 * s, NULL), 0);
        break;
    case UNSTART:
        assert_int_equal(sl_promise_unstart(promise, 1, 100 * s, NULL), 0);
        break;
    case END:
        assert_int_equal(sl_promise_end(promise, 1, 100 * s, NULL), 0);
        break;
    case WITHDRAW:
        assert_int_equal(sl_promise_withdraw(promise, 2, 100 * s, NULL), 0);
        break;
    case ADMITS:
        assert_true(sl_promise_admits(promise, 2, 100 * s));
        break;
    case LATEST:
        assert_int_equal(sl_promise_latest_start(promise, 2, 100 * s), 0);
        break;
    default:
        assert_int_equal(sl_promise_longest_us(promise, 0, 100 * s), 0);
        break;
    }
}

TEST_THAT(each_call_moves_time_and_none_moves_it_back)
{
    for (enum call call = CAPACITY; call < CALLS; call++) {
        struct sl_promise *promise = lane(4);
        arrive(promise, 1, 1, 0, 500);
        assert_int_equal(sl_promise_start(promise, 1, 0, NULL), 0);
        arrive(promise, 2, 1, 0, 500);
        call_at_100(promise, call);
        arrive(promise, 4, 1, 0, 500); /* at 100, in fact: it may have waited for 100 / c */
        assert_in_range(sl_promise_longest_us(promise, 0, 0), 86 * s, 87 * s);
        sl_promise_free(promise);
    }
}

/* ---- looks ahead ---- */

/* So many pods wait behind one that no pod of theirs may delay. */
static struct sl_promise *mixed_lane_of(uint64_t pods)
{
    static const struct sl_promise_node nodes[] = {{1, 8, 0}, {2, 8, 0}};
    struct sl_promise *promise = lane(16);
    assert_int_equal(sl_promise_set_nodes(promise, nodes, 2, 0, NULL), 0);
    arrive(promise, FIRST, 8, 0, 100);
    for (uint64_t id = 1; id <= pods; id++) {
        arrive(promise, id, 3 + (int64_t)(id % 2), 0, 10000 - (int64_t)id);
    }
    assert_true(sl_promise_is_mixed(promise));
    return promise;
}

/* How often W is brought up to date for so many events, each with a question. */
static uint64_t looks_for(struct sl_promise *promise, uint64_t events)
{
    const uint64_t before = promise->mixed.looks;
    for (uint64_t i = 0; i < events; i++) {
        arrive(promise, 100000 + i, 3, 0, 5000);
        (void)sl_promise_admits(promise, 100000 + i, 0);
    }
    return promise->mixed.looks - before;
}

TEST_THAT(a_large_mixed_lane_looks_ahead_as_far_as_events_pay_for)
{
    struct sl_promise *promise = mixed_lane_of(900); /* with credit for 36 looks */
    assert_in_range(looks_for(promise, 256), 40, 55);
    sl_promise_free(promise);
}

TEST_THAT(a_small_mixed_lane_looks_ahead_for_nothing)
{
    struct sl_promise *promise = mixed_lane_of(200);
    assert_int_equal(looks_for(promise, 50), 50);
    sl_promise_free(promise);
}

/* However many wait, one question at a time is answered: a pod that fits into a gap may go. */
TEST_THAT(a_lane_of_any_length_is_laid_out_once_at_a_time)
{
    enum { PODS = 17000 };
    struct sl_promise *promise = lane(2);
    arrive(promise, PODS, 1, 0, 100);
    assert_int_equal(sl_promise_start(promise, PODS, 0, NULL), 0);
    for (uint64_t id = 1; id < PODS; id++) {
        arrive(promise, id, 2, 0, 1);
    }
    arrive(promise, PODS + 1, 1, 0, 10);
    arrive(promise, PODS + 2, 1, 0, 10);
    assert_true(sl_promise_admits(promise, PODS + 1, 0));
    assert_false(sl_promise_admits(promise, PODS + 2, 0)); /* one layout has been made */
    assert_true(sl_promise_admits(promise, PODS + 2, s));
    sl_promise_free(promise);
}

/* ---- errors ---- */

TEST_THAT(an_error_says_what_the_pod_does_not_do)
{
    struct sl_error err = {0};
    struct sl_promise *promise = lane(1);
    assert_int_equal(sl_promise_start(promise, 10, 0, &err), -1);
    assert_string_equal(err.message, "no pod a waits");
    assert_int_equal(sl_promise_end(promise, 10, 0, &err), -1);
    assert_string_equal(err.message, "no pod a runs");
    assert_int_equal(err.code, SL_ERR_NOTFOUND);
    sl_promise_free(promise);
}
