/* Bounded shortest job first: whether free units may idle for a while. Times are seconds. */
#include "sliced/promise.h"
#include "unit/test.h"

static const int64_t s = 1000000;

static void arrive(struct sl_promise *promise, uint64_t id, int64_t width, int64_t at_s,
                   int64_t timeout_s)
{
    const struct sl_promise_pod pod = {
        .id = id, .width = width, .submit_us = at_s * s, .timeout_us = timeout_s * s};
    assert_int_equal(sl_promise_arrive(promise, &pod, at_s * s, NULL), 0);
}

static void start(struct sl_promise *promise, uint64_t id, int64_t at_s)
{
    assert_int_equal(sl_promise_start(promise, id, at_s * s, NULL), 0);
}

/* Units on nodes; a pod must start 1,150 s after it came. */
static struct sl_promise *patient_lane(const struct sl_promise_node *node, size_t n)
{
    struct sl_promise_config config;
    sl_promise_defaults(&config);
    struct sl_promise *promise = sl_promise_new(&config);
    assert_non_null(promise);
    assert_int_equal(sl_promise_set_nodes(promise, node, n, 0, NULL), 0);
    sl_promise_observe(promise, 0, 1150 * s);
    return promise;
}

static bool spares(struct sl_promise *promise, uint64_t node, int64_t units, int64_t until_s,
                   int64_t now_s)
{
    const struct sl_promise_idle idle = {node, units, until_s * s};
    return sl_promise_spares(promise, &idle, 1, now_s * s);
}

static const struct sl_promise_node one[] = {{1, 1, 0}};
static const struct sl_promise_node pairs[] = {{1, 2, 0}, {2, 2, 0}};

TEST_THAT(units_may_idle_while_nobody_waits)
{
    struct sl_promise *promise = patient_lane(one, 1);
    assert_true(spares(promise, 1, 1, 999999, 2000));
    sl_promise_free(promise);
}

TEST_THAT(a_unit_may_idle_until_the_latest_start_of_a_pod)
{
    struct sl_promise *promise = patient_lane(one, 1);
    arrive(promise, 1, 1, 2000, 10);
    assert_int_equal(sl_promise_latest_start(promise, 1, 2000 * s), 3150 * s);
    assert_true(spares(promise, 1, 1, 3150, 2000));
    assert_false(spares(promise, 1, 1, 3151, 2000));
    assert_true(spares(promise, 1, 1, 3150, 2500));
    sl_promise_free(promise);
}

TEST_THAT(pods_behind_the_first_count_too)
{
    struct sl_promise *promise = patient_lane(one, 1);
    arrive(promise, 1, 1, 2000, 500);
    arrive(promise, 2, 1, 2000, 10);
    assert_true(spares(promise, 1, 1, 2650, 2000));
    assert_false(spares(promise, 1, 1, 2651, 2000));
    sl_promise_free(promise);
}

TEST_THAT(units_that_idle_in_several_places_count_together)
{
    struct sl_promise *promise = patient_lane(pairs, 2);
    arrive(promise, 1, 1, 2000, 10);
    const struct sl_promise_idle idle[] = {{1, 2, 9000 * s}, {2, 2, 9000 * s}};
    assert_true(sl_promise_spares(promise, &idle[0], 1, 2000 * s));
    assert_true(sl_promise_spares(promise, &idle[1], 1, 2000 * s));
    assert_false(sl_promise_spares(promise, idle, 2, 2000 * s));
    sl_promise_free(promise);
}

TEST_THAT(where_widths_differ_it_matters_on_which_node_units_idle)
{
    struct sl_promise *promise = patient_lane(pairs, 2);
    arrive(promise, 5, 1, 2000, 5000);
    start(promise, 5, 2000);
    sl_promise_place(promise, 5, 1);
    arrive(promise, 1, 2, 2000, 10); /* only node 2 has two units before 7,000 */
    assert_true(sl_promise_is_mixed(promise));
    assert_true(spares(promise, 1, 1, 9000, 2000));
    assert_false(spares(promise, 2, 1, 9000, 2000));
    assert_true(spares(promise, 2, 1, 2500, 2000));
    sl_promise_free(promise);
}

TEST_THAT(more_units_than_pods_may_idle)
{
    static const struct sl_promise_node nodes[] = {{1, 20, 0}, {2, 3, 0}};
    static const struct sl_promise_idle idle[] = {{1, 20, INT64_C(9000000000)},
                                                  {2, 3, INT64_C(9000000000)}};
    struct sl_promise *promise = patient_lane(nodes, 2);
    arrive(promise, 1, 3, 2000, 10);
    assert_true(sl_promise_is_mixed(promise));
    assert_true(sl_promise_spares(promise, idle, 1, 2000 * s)); /* node 2 takes it */
    assert_false(sl_promise_spares(promise, idle, 2, 2000 * s));
    sl_promise_free(promise);
}

TEST_THAT(a_pod_that_is_late_already_may_not_become_later)
{
    struct sl_promise *promise = patient_lane(one, 1);
    arrive(promise, 1, 1, 2000, 10);
    assert_false(spares(promise, 1, 1, 5001, 5000));
    assert_true(spares(promise, 1, 1, 5000, 5000));
    sl_promise_free(promise);
}
