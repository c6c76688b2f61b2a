/* partitioning.nodeSelector: labels that a node must have. */
#include "config/config.h"
#include "unit/test.h"

TEST_THAT(labels_are_read_in_their_order)
{
    struct sl_config_selector selector;
    assert_true(
        sl_config_selector_read(SL_STR("sliced.dev/partitioning=dynamic,pool=a100"), &selector));
    assert_int_equal(selector.n, 2);
    assert_string_equal(selector.label[0].key, "sliced.dev/partitioning");
    assert_string_equal(selector.label[0].value, "dynamic");
    assert_string_equal(selector.label[1].key, "pool");
    assert_string_equal(selector.label[1].value, "a100");
}

TEST_THAT(a_value_may_be_empty_and_so_may_the_selector)
{
    struct sl_config_selector selector;
    assert_true(sl_config_selector_read(SL_STR("here="), &selector));
    assert_int_equal(selector.n, 1);
    assert_string_equal(selector.label[0].value, "");
    assert_true(sl_config_selector_read(SL_STR(""), &selector));
    assert_int_equal(selector.n, 0);
}

TEST_THAT(what_is_no_selector_is_refused)
{
    static const char *const bad[] = {
        "label",    "=value", "a=b,",  ",a=b",
        "a=b,,c=d", "a=b=c",  "a,b=c", "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9"};
    struct sl_config_selector selector;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(sl_config_selector_read(sl_str_of(bad[i]), &selector));
    }
}

TEST_THAT(nothing_is_cut_unless_it_is_switched_on)
{
    struct sl_config config;
    struct sl_config_selector selector;
    sl_config_defaults(&config);
    assert_false(sl_config_actuators(&config, &selector).enabled);
    config.partitioning.enabled = true;
    struct sl_actuator_rule rule = sl_config_actuators(&config, &selector);
    assert_true(rule.enabled);
    assert_int_equal(rule.choice, SL_CHOOSE_AUTO);
    assert_int_equal(rule.n_selector, 1);
    assert_string_equal(rule.selector[0].key, "sliced.dev/partitioning");
    assert_string_equal(rule.selector[0].value, "dynamic");
}
