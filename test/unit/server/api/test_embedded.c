/* Pods of an embedded cluster: what a plan can see of a change while it is made. */
#include "unit/server/rig.h"

#include "server/api/handlers.h"
#include "server/app/workspace.h"
#include "util/log.h"

/* The order of events: a letter each for hold, change of the snapshot, release, settle. */
struct scene {
    struct sl_store *store;
    struct sl_app *app;
    struct sl_workspace *workspace;
    char steps[16];
};

static void note(struct scene *scene, const char *step)
{
    size_t len = strlen(scene->steps);
    (void)snprintf(scene->steps + len, sizeof(scene->steps) - len, "%s", step);
}

static void hold(void *context, bool begins)
{
    note(context, begins ? "h" : "r");
}

static void published(void *context)
{
    note(context, "c");
}

static bool settle(void *context, int64_t timeout_us)
{
    assert_true(timeout_us > 0);
    note(context, "s");
    return true;
}

static void begin(struct scene *scene)
{
    static struct sl_config config;
    sl_config_defaults(&config);
    sl_log_configure(SL_LOG_ERROR, false);
    scene->store = rig_store(RIG_NODE("n", "nvidia.com/gpu", "1")
                                 RIG_POD("there", "u-there", "nvidia.com/gpu", "1"));
    const struct sl_app_options options = {
        .config = &config,
        .store = scene->store,
        .queue = {.context = scene, .hold = hold, .settle = settle},
        .embedded = true};
    scene->app = sl_app_new(&options, NULL);
    scene->workspace = sl_workspace_new();
    assert_non_null(scene->app);
    assert_non_null(scene->workspace);
    sl_store_set_published(scene->store, published, scene);
}

static void end(struct scene *scene)
{
    sl_workspace_free(scene->workspace);
    sl_app_free(scene->app);
    sl_store_free(scene->store);
}

TEST_FIXTURE_OF(struct scene, begin, end)

/* The code of the answer, 0 where it is left at that of success. */
static unsigned ask(struct scene *scene, void (*handler)(struct sl_request *request),
                    const char *pod, const char *body)
{
    static struct sl_live live;
    sl_config_defaults(&live.config);
    struct sl_request request = {.app = scene->app,
                                 .live = &live,
                                 .workspace = scene->workspace,
                                 .param = {SL_STR("default"), sl_str_of(pod)}};
    sl_buf_init(&request.reply, 1 << 14);
    assert_int_equal(sl_workspace_hold(&request, body, strlen(body)), 0);
    scene->steps[0] = '\0';
    handler(&request);
    sl_buf_free(&request.reply);
    sl_workspace_reset(scene->workspace, true);
    return request.code;
}

static unsigned post(struct scene *scene, const char *yaml)
{
    return ask(scene, sl_embedded_post, "", yaml);
}

static unsigned delete (struct scene *scene, const char *pod)
{
    return ask(scene, sl_embedded_delete, pod, "");
}

/* Units that come free and the stage that opens: a plan between them gave the units to another. */
TEST_ON(struct scene *scene, no_plan_is_made_while_a_pod_ends)
{
    assert_int_equal(delete (scene, "there"), 0);
    assert_string_equal(scene->steps, "hcrs");
    assert_null(sl_store_pod(scene->store, SL_STR("default"), SL_STR("there")));
}

TEST_ON(struct scene *scene, an_end_that_is_none_leaves_plans_free)
{
    assert_int_equal(delete (scene, "nobody"), 404);
    assert_string_equal(scene->steps, "hr");
    assert_int_equal(delete (scene, "there"), 0);
    assert_int_equal(delete (scene, "there"), 404);
    assert_string_equal(scene->steps, "hr");
}

/* It frees nothing, so that no plan need wait for it; the answer waits for the plan. */
TEST_ON(struct scene *scene, a_pod_that_comes_holds_no_plan)
{
    assert_int_equal(post(scene, RIG_POD("new", "u-new", "nvidia.com/gpu", "1")), 201);
    assert_string_equal(scene->steps, "cs");
    assert_int_equal(post(scene, RIG_POD("new", "u-other", "nvidia.com/gpu", "1")), 409);
    assert_string_equal(scene->steps, "");
    assert_int_equal(post(scene, RIG_NODE("m", "nvidia.com/gpu", "1")), 400);
    assert_string_equal(scene->steps, "");
}

TEST_ON(struct scene *scene, without_a_queue_pods_come_and_go_too)
{
    scene->app->queue = (struct sl_queue_reader){.context = NULL};
    assert_int_equal(post(scene, RIG_POD("new", "u-new", "nvidia.com/gpu", "1")), 201);
    assert_int_equal(delete (scene, "new"), 0);
    assert_string_equal(scene->steps, "c");
}
