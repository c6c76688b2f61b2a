/* Patterns of paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/http/route.h"

static bool matches(const char *pattern, const char *path, struct sl_str *param)
{
    return sl_route_matches(pattern, sl_str_of(path), param);
}

static void a_parameter_stands_for_one_segment(void **state)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX] = {{NULL, 0}};
    (void)state;

    assert_true(matches("/pods/{ns}/{name}/explain", "/pods/a/bc/explain", param));

    assert_true(sl_str_eq(param[0], SL_STR("a")));
    assert_true(sl_str_eq(param[1], SL_STR("bc")));
}

static void a_parameter_at_the_end_takes_the_rest_of_its_segment_only(void **state)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX];
    (void)state;

    assert_true(matches("/nodes/{name}", "/nodes/x", param));
    assert_false(matches("/nodes/{name}", "/nodes/", param));
    assert_false(matches("/nodes/{name}", "/nodes/x/", param));
    assert_false(matches("/nodes/{name}", "/nodes/x/y", param));
    assert_false(matches("/nodes/{name}", "/nodes", param));
    assert_false(matches("/a/{x}/b", "/a//b", param));
}

static void a_pattern_without_parameters_is_the_path(void **state)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX];
    (void)state;

    assert_true(matches("/healthz", "/healthz", param));
    assert_false(matches("/healthz", "/healthz/", param));
    assert_false(matches("/healthz", "/health", param));
    assert_false(matches("/", "", param));
}

static const struct sl_route verb = {"POST", NULL, SL_CLASS_BIND, SL_FOR_SCHEDULER, .help = ""};

static bool is_found(const char *prefix, const char *path)
{
    static struct sl_config config;
    const struct sl_route_table table = {&verb, 1};
    const struct sl_route_scope scope = {&config, SL_FOR_ALL, false};
    struct sl_str param[SL_ROUTE_PARAMS_MAX];
    sl_config_defaults(&config);
    (void)snprintf(config.extender.prefix, sizeof(config.extender.prefix), "%s", prefix);
    return sl_route_find(&table, &scope, sl_str_of(path), param) == &verb;
}

static void a_verbs_path_is_the_configured_one(void **state)
{
    (void)state;

    assert_true(is_found("/scheduler", "/scheduler/bind"));
    assert_true(is_found("", "/bind"));
    assert_false(is_found("/scheduler", "/scheduler/bin"));
    assert_false(is_found("/scheduler", "/scheduler/binds"));
    assert_false(is_found("/scheduler", "/schedulerxbind"));
    assert_false(is_found("/scheduler", "/bind"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_stands_for_one_segment),
        cmocka_unit_test(a_parameter_at_the_end_takes_the_rest_of_its_segment_only),
        cmocka_unit_test(a_pattern_without_parameters_is_the_path),
        cmocka_unit_test(a_verbs_path_is_the_configured_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
