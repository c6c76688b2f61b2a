/* What the API says of the queue where there is none now. */
#include "unit/server/rig.h"

#include "server/api/api.h"

struct cluster {
    const char *missing;
    const char *leader;
};

static const char *missing(void *context)
{
    const struct cluster *cluster = context;
    return cluster->missing;
}

static void leader(void *context, char *out, size_t size)
{
    const struct cluster *cluster = context;
    (void)snprintf(out, size, "%s", cluster->leader);
}

static void assert_says(struct cluster cluster, enum sl_error_code code, unsigned status,
                        const char *text)
{
    static struct sl_config config;
    struct sl_error err = {.code = SL_ERR_NONE};
    struct sl_store *store = rig_store(RIG_NODE("n", "nvidia.com/gpu", "1"));
    sl_config_defaults(&config);
    const struct sl_app_options options = {
        .config = &config,
        .store = store,
        .hooks = {.context = &cluster, .missing = missing, .leader = leader}};
    struct sl_app *app = sl_app_new(&options, &err);
    assert_non_null(app);
    atomic_store(&app->synced, true);
    struct sl_request request = {.app = app};
    (void)sl_error_set(&request.err, code, "no");
    sl_api_queue_failed(&request);
    assert_int_equal(request.code, status);
    assert_string_equal(request.err.message, text);
    sl_app_free(app);
    sl_store_free(store);
}

TEST_THAT(a_standby_says_who_leads)
{
    assert_says((struct cluster){"another replica leads", "sliced-1_ab"}, SL_ERR_CONFLICT, 503,
                "no queue is kept here now: another replica leads, sliced-1_ab");
    assert_says((struct cluster){"no replica leads, it tries to take the lease", ""},
                SL_ERR_CONFLICT, 503,
                "no queue is kept here now: no replica leads, it tries to take the lease");
}

TEST_THAT(a_leader_without_a_plan_says_that_it_makes_the_first)
{
    assert_says((struct cluster){NULL, ""}, SL_ERR_CONFLICT, 503,
                "no queue is kept here now: the first plan is being made");
}

TEST_THAT(other_failures_stay_what_they_are)
{
    assert_says((struct cluster){NULL, ""}, SL_ERR_NOMEM, 503, "no");
    assert_says((struct cluster){NULL, ""}, SL_ERR_INTERNAL, 500, "no");
}
