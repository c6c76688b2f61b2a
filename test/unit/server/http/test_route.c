/* Patterns of paths. */
#include <stdio.h>

#include "server/http/route.h"
#include "unit/test.h"

static bool matches(const char *pattern, const char *path, struct sl_str *param)
{
    return sl_route_matches(pattern, sl_str_of(path), param);
}

TEST_THAT(a_parameter_stands_for_one_segment)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX] = {{NULL, 0}};

    assert_true(matches("/pods/{ns}/{name}/explain", "/pods/a/bc/explain", param));

    assert_true(sl_str_eq(param[0], SL_STR("a")));
    assert_true(sl_str_eq(param[1], SL_STR("bc")));
}

TEST_THAT(a_parameter_at_the_end_takes_the_rest_of_its_segment_only)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX];

    assert_true(matches("/nodes/{name}", "/nodes/x", param));
    assert_false(matches("/nodes/{name}", "/nodes/", param));
    assert_false(matches("/nodes/{name}", "/nodes/x/", param));
    assert_false(matches("/nodes/{name}", "/nodes/x/y", param));
    assert_false(matches("/nodes/{name}", "/nodes", param));
    assert_false(matches("/a/{x}/b", "/a//b", param));
}

TEST_THAT(a_pattern_without_parameters_is_the_path)
{
    struct sl_str param[SL_ROUTE_PARAMS_MAX];

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

TEST_THAT(a_verbs_path_is_the_configured_one)
{
    assert_true(is_found("/scheduler", "/scheduler/bind"));
    assert_true(is_found("", "/bind"));
    assert_false(is_found("/scheduler", "/scheduler/bin"));
    assert_false(is_found("/scheduler", "/scheduler/binds"));
    assert_false(is_found("/scheduler", "/schedulerxbind"));
    assert_false(is_found("/scheduler", "/bind"));
}
