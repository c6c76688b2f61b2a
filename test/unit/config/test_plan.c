/* What the configuration says of plans. */
#include "config/config.h"
#include "unit/test.h"

TEST_THAT(the_queue_s_keys_are_those_of_the_plan)
{
    struct sl_config config;
    struct sl_plan_config plan;
    sl_config_defaults(&config);
    config.plan.order.kind = SL_ORDER_HRRN;
    config.queue.bound = 1300000;
    config.queue.hold_s = 30;
    config.plan.default_timeout_us = 7000000;
    config.plan.backfill = false;
    config.plan.learn_runtime = true;
    config.plan.preemption = false;
    config.plan.autoscaler_pods = 3;
    sl_config_plan(&config, &plan);
    assert_int_equal(plan.order.kind, SL_ORDER_HRRN);
    assert_int_equal(plan.promise.c_permille, 1300);
    assert_int_equal(plan.hold_us, 30000000);
    assert_int_equal(plan.hold_max_us, 16 * 30000000);
    assert_int_equal(plan.default_timeout_us, 7000000);
    assert_false(plan.backfill);
    assert_true(plan.learn_runtime);
    assert_false(plan.preemption);
    assert_int_equal(plan.autoscaler_pods, 3);
}

TEST_THAT(weights_that_an_override_leaves_open_are_those_of_the_order)
{
    struct sl_config config;
    struct sl_plan_config plan;
    sl_config_defaults(&config);
    config.plan.order.weights.alpha = 5;
    config.plan.order.weights.beta = 6;
    config.plan.order.weights.gamma = 7;
    config.plan.n_overrides = 2;
    config.plan.override[0] =
        (struct sl_plan_override){.namespace = "a", .priority = INT32_MIN, .weights = {-1, 60, -1}};
    config.plan.override[1] = (struct sl_plan_override){.priority = 100, .weights = {-1, -1, 70}};
    sl_config_plan(&config, &plan);
    assert_int_equal(plan.n_overrides, 2);
    assert_false(plan.override[0].of_priority);
    assert_int_equal(plan.override[0].weights.alpha, 5);
    assert_int_equal(plan.override[0].weights.beta, 60);
    assert_int_equal(plan.override[0].weights.gamma, 7);
    assert_true(plan.override[1].of_priority);
    assert_int_equal(plan.override[1].weights.beta, 6);
    assert_int_equal(plan.override[1].weights.gamma, 70);
}
