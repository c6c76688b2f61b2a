/* The table of routes. */
#include "rig.h"

#include "server/routes.h"

static const struct sl_config *defaults(void)
{
    static struct sl_config config;
    sl_config_defaults(&config);
    return &config;
}

static const struct sl_route *find(bool embedded, const char *path)
{
    const struct sl_route_scope scope = {defaults(), SL_FOR_ALL, embedded};
    struct sl_str param[SL_ROUTE_PARAMS_MAX];
    return sl_route_find(&sl_service.routes, &scope, sl_str_of(path), param);
}

static unsigned code_of(bool embedded, const char *method, const char *path, enum sl_class *class)
{
    const struct sl_route *route = find(embedded, path);
    if (route == NULL) {
        return 404;
    }
    *class = route->class;
    return sl_route_takes(route, method) ? 200 : 405;
}

TEST_THAT(routes_are_found_by_path_and_method)
{
    static const struct {
        const char *method;
        const char *path;
        unsigned code;
        enum sl_class class;
    } rows[] = {
        {"POST", "/scheduler/filter", 200, SL_CLASS_FILTER},
        {"POST", "/scheduler/prioritize", 200, SL_CLASS_PRIORITIZE},
        {"POST", "/scheduler/bind", 200, SL_CLASS_BIND},
        {"POST", "/scheduler/preempt", 200, SL_CLASS_PREEMPT},
        {"GET", "/scheduler/bind", 405, SL_CLASS_BIND},
        {"POST", "/gpushare-scheduler/filter", 200, SL_CLASS_FILTER},
        {"POST", "/gpushare-scheduler/bind", 200, SL_CLASS_BIND},
        {"GET", "/gpushare-scheduler/inspect", 200, SL_CLASS_API},
        {"GET", "/gpushare-scheduler/inspect/n", 200, SL_CLASS_API},
        {"GET", "/gpushare-scheduler/bind", 405, SL_CLASS_BIND},
        {"GET", "/metrics", 200, SL_CLASS_METRICS},
        {"HEAD", "/metrics", 200, SL_CLASS_METRICS},
        {"POST", "/metrics", 405, SL_CLASS_METRICS},
        {"GET", "/api/v1/nodes/a", 200, SL_CLASS_API},
        {"GET", "/api/v1/pods/a/b/explain", 200, SL_CLASS_API},
        {"POST", "/api/v1/embedded/pods", 200, SL_CLASS_EMBEDDED},
        {"POST", "/admission/gate/sliced-scheduler", 200, SL_CLASS_ADMISSION},
        {"GET", "/admission/gate/sliced-scheduler", 405, SL_CLASS_ADMISSION},
        {"POST", "/admission/assign/sliced-scheduler", 200, SL_CLASS_ADMISSION},
        {"GET", "/nothing", 404, SL_CLASS_OTHER},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum sl_class class = SL_CLASS_COUNT;
        assert_int_equal(code_of(true, rows[i].method, rows[i].path, &class), rows[i].code);
        if (rows[i].code != 404) {
            assert_int_equal(class, rows[i].class);
        }
    }
}

TEST_THAT(routes_of_the_embedded_cluster_are_there_in_that_mode_only)
{
    enum sl_class class;

    assert_int_equal(code_of(true, "DELETE", "/api/v1/embedded/pods/a/b", &class), 200);
    assert_int_equal(code_of(false, "DELETE", "/api/v1/embedded/pods/a/b", &class), 404);
    assert_int_equal(code_of(false, "GET", "/api/v1/state", &class), 200);
}

TEST_THAT(a_route_names_the_methods_that_it_takes)
{
    assert_string_equal(sl_route_allow(find(true, "/healthz")), "GET, HEAD");
    assert_string_equal(sl_route_allow(find(true, "/scheduler/bind")), "POST");
}

TEST_THAT(the_list_shows_what_this_process_serves)
{
    const struct sl_route_scope scope = {defaults(), SL_FOR_ALL, false};
    struct sl_buf out;
    sl_buf_init(&out, 1 << 14);

    sl_route_list(&sl_service.routes, &scope, &out);

    assert_non_null(strstr(rig_text(&out), "POST   /scheduler/bind "));
    assert_null(strstr(rig_text(&out), "embedded"));
    sl_buf_free(&out);
}
