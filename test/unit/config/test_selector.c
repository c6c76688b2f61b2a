/* partitioning.nodeSelector: labels that a node must have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config.h"

static void labels_are_read_in_their_order(void **state)
{
    struct sl_config_selector selector;
    (void)state;
    assert_true(
        sl_config_selector_read(SL_STR("sliced.dev/partitioning=dynamic,pool=a100"), &selector));
    assert_int_equal(selector.n, 2);
    assert_string_equal(selector.label[0].key, "sliced.dev/partitioning");
    assert_string_equal(selector.label[0].value, "dynamic");
    assert_string_equal(selector.label[1].key, "pool");
    assert_string_equal(selector.label[1].value, "a100");
}

static void a_value_may_be_empty_and_so_may_the_selector(void **state)
{
    struct sl_config_selector selector;
    (void)state;
    assert_true(sl_config_selector_read(SL_STR("here="), &selector));
    assert_int_equal(selector.n, 1);
    assert_string_equal(selector.label[0].value, "");
    assert_true(sl_config_selector_read(SL_STR(""), &selector));
    assert_int_equal(selector.n, 0);
}

static void what_is_no_selector_is_refused(void **state)
{
    static const char *const bad[] = {
        "label",    "=value", "a=b,",  ",a=b",
        "a=b,,c=d", "a=b=c",  "a,b=c", "a=1,b=2,c=3,d=4,e=5,f=6,g=7,h=8,i=9"};
    struct sl_config_selector selector;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(sl_config_selector_read(sl_str_of(bad[i]), &selector));
    }
}

static void nothing_is_cut_unless_it_is_switched_on(void **state)
{
    struct sl_config config;
    struct sl_config_selector selector;
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_read_in_their_order),
        cmocka_unit_test(a_value_may_be_empty_and_so_may_the_selector),
        cmocka_unit_test(what_is_no_selector_is_refused),
        cmocka_unit_test(nothing_is_cut_unless_it_is_switched_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
