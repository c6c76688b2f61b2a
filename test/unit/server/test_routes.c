/* Patterns of paths, and the table of routes. */
#include "rig.h"

#include "server/routes.h"

static bool matches(const char *pattern, const char *path, struct sl_str *param)
{
    return sl_routes_pattern(pattern, sl_str_of(path), param);
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

/* A request as the HTTP library begins it. */
struct request_rig {
    struct sl_store *store;
    struct sl_app *app;
    struct sl_request request;
};

static void set_up(struct request_rig *rig, bool embedded, const char *path)
{
    static struct sl_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    memset(rig, 0, sizeof(*rig));
    sl_config_defaults(&config);
    rig->store = rig_store(RIG_NODE("n", "nvidia.com/gpu", "1"));
    const struct sl_app_options options = {
        .config = &config, .store = rig->store, .embedded = embedded};
    rig->app = sl_app_new(&options, &err);
    assert_non_null(rig->app);
    rig->request = (struct sl_request){.app = rig->app,
                                       .audiences = SL_FOR_ALL,
                                       .live = sl_app_live(rig->app),
                                       .path = sl_str_of(path)};
}

static void tear_down(struct request_rig *rig)
{
    sl_live_release(rig->request.live);
    sl_app_free(rig->app);
    sl_store_free(rig->store);
}

static unsigned code_of(bool embedded, const char *method, const char *path, enum sl_class *class)
{
    struct request_rig rig;
    set_up(&rig, embedded, path);
    unsigned code = sl_routes_match(&rig.request, method) == 0 ? 200 : rig.request.code;
    *class = rig.request.class;
    tear_down(&rig);
    return code;
}

static void routes_are_found_by_path_and_method(void **state)
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
        {"GET", "/nothing", 404, SL_CLASS_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum sl_class class = SL_CLASS_COUNT;
        assert_int_equal(code_of(true, rows[i].method, rows[i].path, &class), rows[i].code);
        if (rows[i].code != 404) {
            assert_int_equal(class, rows[i].class);
        }
    }
}

static void routes_of_the_embedded_cluster_are_there_in_that_mode_only(void **state)
{
    enum sl_class class;
    (void)state;

    assert_int_equal(code_of(true, "DELETE", "/api/v1/embedded/pods/a/b", &class), 200);
    assert_int_equal(code_of(false, "DELETE", "/api/v1/embedded/pods/a/b", &class), 404);
    assert_int_equal(code_of(false, "GET", "/api/v1/state", &class), 200);
}

static void a_wrong_method_names_the_right_one(void **state)
{
    struct request_rig rig;
    (void)state;
    set_up(&rig, true, "/healthz");

    assert_int_equal(sl_routes_match(&rig.request, "DELETE"), -1);

    assert_int_equal(rig.request.code, 405);
    assert_string_equal(rig.request.allow, "GET, HEAD");
    tear_down(&rig);
}

static void the_index_shows_what_this_process_serves(void **state)
{
    struct request_rig rig;
    struct sl_buf out;
    (void)state;
    sl_buf_init(&out, 1 << 14);
    set_up(&rig, false, "/");

    sl_routes_index(&rig.request, &out);

    assert_non_null(strstr(rig_text(&out), "POST   /scheduler/bind "));
    assert_null(strstr(rig_text(&out), "embedded"));
    sl_buf_free(&out);
    tear_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_stands_for_one_segment),
        cmocka_unit_test(a_parameter_at_the_end_takes_the_rest_of_its_segment_only),
        cmocka_unit_test(a_pattern_without_parameters_is_the_path),
        cmocka_unit_test(routes_are_found_by_path_and_method),
        cmocka_unit_test(routes_of_the_embedded_cluster_are_there_in_that_mode_only),
        cmocka_unit_test(a_wrong_method_names_the_right_one),
        cmocka_unit_test(the_index_shows_what_this_process_serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
