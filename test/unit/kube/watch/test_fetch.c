/* Pods read for a bind that comes before the watch has told of them. */
#include "unit/kube/calls.h"

#include <stdio.h>

#include "kube/watch/fetch.h"
#include "unit/kube/fake_clock.h"
#include "util/log.h"

#define POD "/api/v1/namespaces/default/pods/p"
#define BODY(name, uid)                                                                            \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name                       \
    "\",\"namespace\":\"default\",\"uid\":\"" uid "\"},\"spec\":{\"containers\":[{\"name\":\"c\"," \
    "\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}"

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_fetcher *fetcher;
    struct pending fetched;
    struct block block; /* where an answer stands until the test lets it go */
};

static void begin(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    *scene = (struct scene){.fetched = PENDING_INIT, .block = BLOCK_INIT};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
    const struct sl_fetcher_options options = {
        .client = scene->rig.client, .store = scene->store, .timeout_us = 3600000 * MS, .max = 2};
    scene->fetcher = sl_fetcher_new(&options, NULL);
    assert_non_null(scene->fetcher);
}

static void end(struct scene *scene)
{
    block_open(&scene->block);
    fake_api_release(scene->rig.api);
    sl_client_free(scene->rig.client);
    scene->rig.client = NULL;
    sl_fetcher_free(scene->fetcher);
    rig_end(&scene->rig);
    sl_store_free(scene->store);
}

static void on_fetched(void *call)
{
    const struct sl_reply reply = {.status = 0};
    pending_done(call, &reply);
}

static void fetch(struct scene *scene, const char *namespace, const char *name)
{
    sl_fetch_pod(scene->fetcher, sl_str_of(namespace), sl_str_of(name), SL_STR("u"), on_fetched,
                 &scene->fetched);
}

static void answer(struct scene *scene, unsigned status, const char *body)
{
    fake_api_add(scene->rig.api, (struct fake_answer){
                                     .method = "GET", .path = POD, .status = status, .body = body});
}

/* The UID of the pod that the store knows, "" for none. */
static const char *known(struct scene *scene)
{
    static char uid[64];
    struct sl_pod *pod = sl_store_pod(scene->store, SL_STR("default"), SL_STR("p"));
    (void)snprintf(uid, sizeof(uid), "%s", pod == NULL ? "" : pod->uid);
    sl_pod_unref(pod);
    return uid;
}

static uint64_t found(struct scene *scene)
{
    struct sl_fetcher_stats stats;
    sl_fetcher_stats(scene->fetcher, &stats);
    return stats.found;
}

static void put(struct scene *scene, const char *uid)
{
    struct sl_pair limit = {SL_STR("nvidia.com/gpu"), SL_STR("1"), NULL};
    struct sl_container_facts container = {.name = SL_STR("c"), .limits = &limit};
    const struct sl_pod_facts facts = {.namespace = SL_STR("default"),
                                       .name = SL_STR("p"),
                                       .uid = sl_str_of(uid),
                                       .containers = &container};
    assert_int_equal(sl_store_put_pod(scene->store, sl_pod_new(&facts, NULL), NULL), 0);
}

TEST_FIXTURE_OF(struct scene, begin, end)

TEST_ON(struct scene *scene, a_pod_that_is_there_is_known_afterwards)
{
    answer(scene, 200, BODY("p", "u"));
    fetch(scene, "default", "p");
    pending_wait(&scene->fetched, 1);
    assert_string_equal(known(scene), "u");
    assert_int_equal(found(scene), 1);
}

TEST_ALONE(what_is_not_that_pod_is_not_taken)
{
    static const struct {
        unsigned status;
        const char *body;
    } cases[] = {
        {200, BODY("p", "u2")},
        {200, BODY("q", "u")},
        {200, "{\"kind\":\"Status\"}"},
        {200, "<html>"},
        {404, "{}"},
        {403, "{}"},
        {500, "{}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        begin(&scene);
        answer(&scene, cases[i].status, cases[i].body);
        fetch(&scene, "default", "p");
        pending_wait(&scene.fetched, 1);
        assert_string_equal(known(&scene), "");
        assert_int_equal(fake_api_requests(scene.rig.api), 1);
        end(&scene);
    }
}

TEST_ON(struct scene *scene, a_pod_made_anew_takes_the_place_of_the_old_one)
{
    put(scene, "u-old");
    answer(scene, 200, BODY("p", "u"));
    fetch(scene, "default", "p");
    pending_wait(&scene->fetched, 1);
    assert_string_equal(known(scene), "u");
}

static void wait_to_answer(void *context, const struct fake_request *request,
                           struct fake_answer *reply)
{
    (void)request;
    (void)reply;
    block_stand(context);
}

/* What the watch tells before the answer comes. */
static const struct meanwhile {
    const char *name;
    const char *put;
    const char *deleted[2][2];
    bool listed;
    const char *known;
    uint64_t found;
} meanwhiles[] = {
    {"what came by the watch stays", "u", {{NULL}}, false, "u", 0},
    {"a pod that was deleted does not come back", NULL, {{"default", "p"}}, false, "", 0},
    {"the end of another pod does not matter",
     NULL,
     {{"default", "p2"}, {"other", "p"}},
     false,
     "u",
     1},
    {"a list that was begun knows better", NULL, {{NULL}}, true, "", 0},
};

TEST_ON_EACH(struct scene *scene, what_the_watch_tells_meanwhile, meanwhiles)
{
    fake_api_add(scene->rig.api, (struct fake_answer){.path = POD,
                                                      .body = BODY("p", "u"),
                                                      .fn = wait_to_answer,
                                                      .context = &scene->block});
    fetch(scene, "default", "p");
    block_wait(&scene->block); /* the server has it */
    if (row->put != NULL) {
        put(scene, row->put);
    }
    for (unsigned i = 0; i < 2 && row->deleted[i][0] != NULL; i++) {
        sl_fetcher_deleted(scene->fetcher, sl_str_of(row->deleted[i][0]),
                           sl_str_of(row->deleted[i][1]));
    }
    if (row->listed) {
        sl_fetcher_listing(scene->fetcher, true);
        sl_fetcher_listing(scene->fetcher, false);
    }
    block_open(&scene->block);
    pending_wait(&scene->fetched, 1);
    assert_string_equal(known(scene), row->known);
    assert_int_equal(found(scene), row->found);
}

TEST_ON(struct scene *scene, nothing_is_taken_while_a_list_is_read)
{
    answer(scene, 200, BODY("p", "u"));
    sl_fetcher_listing(scene->fetcher, true);
    fetch(scene, "default", "p");
    pending_wait(&scene->fetched, 1);
    assert_string_equal(known(scene), "");
    sl_fetcher_listing(scene->fetcher, false);
    fetch(scene, "default", "p");
    pending_wait(&scene->fetched, 2);
    assert_string_equal(known(scene), "u");
}

/* They come from whoever asks for a binding. */
TEST_ON(struct scene *scene, names_that_lead_elsewhere_are_not_asked_for)
{
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", "a%2fb", "A", "a b", "a?b=c"};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        fetch(scene, bad[i], "p");
        fetch(scene, "default", bad[i]);
        n += 2;
    }
    assert_int_equal(scene->fetched.done, n);
    assert_int_equal(fake_api_requests(scene->rig.api), 0);
}

TEST_ALONE(more_than_so_many_at_a_time_are_not_read)
{
    struct scene scene;
    begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = "/", .kind = FAKE_HANG});
    fetch(&scene, "default", "p");
    fetch(&scene, "default", "q");
    fetch(&scene, "default", "r");
    pending_wait(&scene.fetched, 1);
    fake_api_wait(scene.rig.api, 2);
    fake_clock_advance(scene.rig.client, 3600000 * MS);
    pending_wait(&scene.fetched, 3);
    fetch(&scene, "default", "r");
    fake_api_wait(scene.rig.api, 3);
    end(&scene);
    assert_int_equal(scene.fetched.done, 4);
}
