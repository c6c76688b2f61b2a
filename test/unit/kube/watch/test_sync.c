/* The store as the API server's lists and watches make it. */
#include "unit/kube/fake_clock.h"
#include "watches.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "kube/watch/sync.h"
#include "util/log.h"

#define SLICE "nvidia.com/mig-1g.6gb"
#define NODE(name)                                                                                 \
    "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"nvidia.com/gpu.product\":\"NVIDIA-A30\","  \
    "\"nvidia.com/gpu.count\":\"1\",\"nvidia.com/gpu.memory\":\"24576\","                          \
    "\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/mig.capable\":\"true\","                   \
    "\"nvidia.com/mig-1g.6gb.count\":\"4\"}},\"status\":{\"allocatable\":{\"" SLICE                \
    "\":\"4\",\"nvidia.com/gpu\":\"0\"}}}"
#define POD(name, uid, meta, spec, status)                                                         \
    "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" name "\",\"uid\":\"" uid "\"" meta      \
    "},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"" SLICE              \
    "\":\"1\"}}}]" spec "},\"status\":{" status "}}"
#define WEB(name)                                                                                  \
    "{\"metadata\":{\"namespace\":\"default\",\"name\":\"" name "\",\"uid\":\"" name               \
    "\"},\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\"}]}}"
#define BOOKMARK(version) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define ON_N1             ",\"nodeName\":\"n1\""
#define ASSIGNED(text)    ",\"annotations\":{\"sliced.dev/assignment\":\"" text "\"}"

struct scene {
    struct rig rig;
    struct sl_store *store;
    struct sl_sync *sync;
    atomic_uint published;
    atomic_uint listed;
    atomic_uint changed;
    atomic_uint deleted; /* told of a */
    atomic_int listings; /* begun, less those that are over */
    atomic_uint begun;
    atomic_bool lists; /* the API server lets this client list pods */
};

static void on_published(void *context, int64_t delay_us)
{
    struct scene *scene = context;
    assert_true(delay_us >= 0);
    (void)atomic_fetch_add(&scene->published, 1);
}

static void on_listed_pod(void *context, const struct sl_pod *pod)
{
    struct scene *scene = context;
    assert_true(pod->n_items > 0);
    (void)atomic_fetch_add(&scene->listed, 1);
}

static void on_changed_pod(void *context, const struct sl_pod *pod)
{
    struct scene *scene = context;
    assert_true(pod->n_items > 0);
    (void)atomic_fetch_add(&scene->changed, 1);
}

static void on_deleted_pod(void *context, struct sl_str namespace, struct sl_str name)
{
    struct scene *scene = context;
    assert_true(sl_str_eq(namespace, SL_STR("default")));
    (void)atomic_fetch_add(&scene->deleted, sl_str_eq(name, SL_STR("a")) ? 1 : 0);
}

static void on_listing_pods(void *context, bool listing)
{
    struct scene *scene = context;
    (void)atomic_fetch_add(&scene->listings, listing ? 1 : -1);
    (void)atomic_fetch_add(&scene->begun, listing ? 1 : 0);
}

static void scene_begin(struct scene *scene)
{
    static const struct sl_store_limits limits = {100, 100, 100, 30000000};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    scene->store = sl_store_new(&limits, NULL);
    assert_non_null(scene->store);
    atomic_init(&scene->published, 0);
    atomic_init(&scene->listed, 0);
    atomic_init(&scene->changed, 0);
    atomic_init(&scene->deleted, 0);
    atomic_init(&scene->listings, 0);
    atomic_init(&scene->begun, 0);
    atomic_init(&scene->lists, false);
}

static void scene_start(struct scene *scene)
{
    const struct sl_sync_options options = {
        .client = scene->rig.client,
        .store = scene->store,
        .times = watch_times(500),
        .published = on_published,
        .listed_pod = on_listed_pod,
        .changed_pod = on_changed_pod,
        .deleted_pod = on_deleted_pod,
        .listing_pods = on_listing_pods,
        .context = scene,
    };
    scene->sync = sl_sync_start(&options, NULL);
    assert_non_null(scene->sync);
}

static void scene_end(struct scene *scene)
{
    sl_sync_stop(scene->sync);
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
    sl_store_free(scene->store);
}

/* Units free on n1; -1 when it is not known. */
static int64_t free_on_n1(struct scene *scene)
{
    int64_t n = -1;
    const struct sl_snapshot *snapshot = sl_store_acquire(scene->store);
    uint32_t place = sl_snapshot_find(snapshot, SL_STR("n1"), 0);
    if (place != SL_NODE_NONE) {
        const struct sl_view *view = snapshot->view[place];
        int pool = sl_node_pool(view->node, sl_hash(SLICE, strlen(SLICE)));
        n = pool < 0 ? -1 : sl_view_free_units(view, (unsigned)pool);
    }
    sl_store_release(scene->store, snapshot);
    return n;
}

static bool is_known(struct scene *scene, const char *name)
{
    struct sl_pod *pod = sl_store_pod(scene->store, SL_STR("default"), sl_str_of(name));
    sl_pod_unref(pod);
    return pod != NULL;
}

static int64_t deadline(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void wait_for(struct scene *scene, bool (*holds)(struct scene *scene))
{
    int64_t until = deadline() + 60;
    while (!holds(scene)) {
        if (deadline() >= until) {
            for (unsigned i = 0; i < fake_api_requests(scene->rig.api); i++) {
                print_message("%s\n", fake_api_request(scene->rig.api, i)->path);
            }
            fail_msg("waited for too long: %s", sl_sync_missing(scene->sync));
        }
        (void)sched_yield();
    }
}

static bool is_synced(struct scene *scene)
{
    return sl_sync_missing(scene->sync) == NULL;
}

static bool knows_last(struct scene *scene)
{
    return is_known(scene, "last");
}

#define LAST EVENT("ADDED", POD("last", "ulast", "", "", ""))

TEST_FIXTURE_OF(struct scene, scene_begin, scene_end)

TEST_ON(struct scene *scene, the_store_is_what_the_lists_say)
{
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1") ",{\"metadata\":{\"name\":\"plain\"}}"),
               false);
    add_answer(
        &scene->rig, PODS,
        WHOLE(
            "Pod",
            POD("a", "ua", "", ON_N1, "\"phase\":\"Running\"") "," WEB("web") "," POD(
                "w", "uw", "", "",
                "\"phase\":\"Pending\"") "," POD("done", "ud", "", ON_N1,
                                                 "\"phase\":\"Succeeded\"") "," POD("going", "ug",
                                                                                    ",\"deletionTim"
                                                                                    "estamp\":"
                                                                                    "\"2026-11-"
                                                                                    "21T12:00:"
                                                                                    "00Z\"",
                                                                                    ON_N1,
                                                                                    "\"phase\":"
                                                                                    "\"Running\"")),
        false);
    add_answer(&scene->rig, W_NODES, "", true);
    add_answer(&scene->rig, W_PODS, "", true);
    scene_start(scene);
    wait_for(scene, is_synced);
    assert_int_equal(free_on_n1(scene), 2); /* a, and what is being deleted */
    assert_false(is_known(scene, "web"));
    assert_true(is_known(scene, "w"));
    const struct sl_snapshot *snapshot = sl_store_acquire(scene->store);
    assert_int_equal(snapshot->n_nodes, 2);
    assert_int_equal(snapshot->n_pods, 4);
    assert_int_equal(snapshot->n_waiting, 1);
    assert_int_equal(snapshot->n_bound, 2);
    sl_store_release(scene->store, snapshot);
    assert_int_equal(atomic_load(&scene->published), 0); /* lists are no events */
    assert_int_equal(atomic_load(&scene->listed), 4);    /* those that are ours */
}

TEST_ALONE(a_restart_finds_assignments_on_the_pods)
{
    struct scene scene;
    scene_begin(&scene);
    add_answer(&scene.rig, NODES, WHOLE("Node", NODE("n1")), false);
    add_answer(&scene.rig, PODS,
               WHOLE("Pod", POD("a", "ua", ASSIGNED(SLICE "=0/2"), ON_N1, "\"phase\":\"Running\"")),
               false);
    add_answer(&scene.rig, W_NODES, "", true);
    add_answer(&scene.rig, W_PODS, "", true);
    scene_start(&scene);
    wait_for(&scene, is_synced);
    struct sl_pod *pod = sl_store_pod(scene.store, SL_STR("default"), SL_STR("a"));
    assert_non_null(pod);
    assert_string_equal(pod->assignment, SLICE "=0/2");
    sl_pod_unref(pod);
    struct sl_bind_result result;
    sl_store_reserve(scene.store, SL_STR("default"), SL_STR("a"), SL_STR("ua"), SL_STR("n1"), 0,
                     &result);
    assert_int_equal(result.code, SL_BIND_ALREADY);
    assert_int_equal(free_on_n1(&scene), 3);
    scene_end(&scene);
}

static void assert_missing(struct scene *scene, const char *start)
{
    const char *text = sl_sync_missing(scene->sync);
    assert_non_null(text);
    assert_true(sl_str_starts(sl_str_of(text), sl_str_of(start)));
}

TEST_ON(struct scene *scene, says_which_list_is_missing)
{
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = NODES, .times = 1, .kind = FAKE_HANG});
    fake_api_add(scene->rig.api, (struct fake_answer){.path = PODS, .times = 1, .kind = FAKE_HANG});
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1")), false);
    fake_api_add(scene->rig.api, (struct fake_answer){.path = PODS, .times = 1, .kind = FAKE_HANG});
    add_answer(&scene->rig, W_NODES, "", true);
    add_answer(&scene->rig, PODS, WHOLE("Pod", ""), false);
    add_answer(&scene->rig, W_PODS, "", true);
    scene_start(scene);
    assert_missing(scene, "waiting for the list of nodes since 2");
    fake_api_wait(scene->rig.api, 2);
    fake_api_release(scene->rig.api);
    fake_api_wait(scene->rig.api, 5); /* the watch of nodes too */
    assert_missing(scene, "waiting for the list of pods since 2");
    fake_api_release(scene->rig.api);
    wait_for(scene, is_synced);
    assert_int_equal(free_on_n1(scene), 4);
}

TEST_ON(struct scene *scene, events_change_the_store)
{
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1") "," NODE("n2")), false);
    add_answer(&scene->rig, PODS,
               WHOLE("Pod", POD("a", "ua", "", ON_N1, "") "," POD("b", "ub", "", "", "") "," POD(
                                "c", "uc", "", ON_N1, "")),
               false);
    add_answer(&scene->rig, W_NODES, "", true);
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = W_PODS, .times = 1, .kind = FAKE_HANG});
    add_answer(&scene->rig, W_PODS,
               EVENT("MODIFIED", POD("b", "ub", "", ON_N1, "")) EVENT("ADDED", WEB("web"))
                   EVENT("MODIFIED", POD("c", "uc", "", ON_N1, "\"phase\":\"Failed\""))
                       EVENT("DELETED", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}}")
                           EVENT("DELETED", WEB("web")) LAST,
               true);
    scene_start(scene);
    wait_for(scene, is_synced);
    assert_int_equal(free_on_n1(scene), 2);
    fake_api_wait(scene->rig.api, 4); /* both watches */
    fake_api_release(scene->rig.api);
    wait_for(scene, knows_last);
    assert_int_equal(free_on_n1(scene), 3);
    assert_false(is_known(scene, "a"));
    assert_int_equal(atomic_load(&scene->deleted), 1);
    assert_int_equal(atomic_load(&scene->changed), 3); /* b, c and last */
    assert_true(atomic_load(&scene->published) >= 3);  /* of those that are ours */
}

static bool has_failed(struct scene *scene)
{
    struct sl_sync_stats stats;
    sl_sync_stats(scene->sync, &stats);
    return strstr(stats.pods.trouble, "403") != NULL && stats.nodes.listed == 2;
}

/* Refuses a list until the scene lets pods be listed. */
static void list_or_refuse(void *context, const struct fake_request *request,
                           struct fake_answer *reply)
{
    const struct scene *scene = context;
    (void)request;
    reply->status = atomic_load(&scene->lists) ? 200 : 403;
}

/* Bookmarks come on a quiet cluster, so that silence says something. When the clock is put forward,
 * watches and lists under way end and begin anew: every answer of the last script stays, so that it
 * does not matter when they do. */
TEST_ON(struct scene *scene, a_picture_without_news_is_not_the_cluster)
{
    const int64_t silence_us = watch_times(500).silence_us;
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1")), false);
    add_answer(&scene->rig, PODS, WHOLE("Pod", ""), false);
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = W_NODES, .times = 2, .kind = FAKE_HANG});
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = W_PODS, .times = 2, .kind = FAKE_HANG});
    scene_start(scene);
    fake_api_wait(scene->rig.api, 4); /* two lists, two watches */
    assert_null(sl_sync_missing(scene->sync));
    fake_clock_advance(scene->rig.client, silence_us); /* the first watch is replaced ... */
    fake_api_wait(scene->rig.api, 6);
    assert_null(sl_sync_missing(scene->sync));
    fake_api_clear(scene->rig.api);
    add_answer(&scene->rig, W_NODES, BOOKMARK("20"), true);
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.path = NODES, .body = WHOLE("Node", NODE("n1"))});
    fake_api_add(scene->rig.api, (struct fake_answer){.path = PODS,
                                                      .body = WHOLE("Pod", ""),
                                                      .fn = list_or_refuse,
                                                      .context = scene});
    add_answer(&scene->rig, W_PODS, LAST, true);
    fake_clock_advance(scene->rig.client, silence_us); /* ... after the second a list is tried */
    wait_for(scene, has_failed);
    atomic_fetch_add(&fake_clock_ahead_us, silence_us);
    assert_missing(scene, "no news of pods since 2");
    atomic_store(&scene->lists, true);
    fake_clock_advance(scene->rig.client, 0);
    wait_for(scene, is_synced);
    wait_for(scene, knows_last);
}

TEST_ALONE(a_new_list_sweeps_what_is_gone)
{
    struct scene scene;
    struct sl_sync_stats stats;
    scene_begin(&scene);
    add_answer(&scene.rig, NODES, WHOLE("Node", NODE("n1") "," NODE("n2")), false);
    add_answer(&scene.rig, PODS,
               WHOLE("Pod", POD("a", "ua", "", ON_N1, "") "," POD("b", "ub", "", ON_N1, "") "," POD(
                                "k", "uk", "", ON_N1, "")),
               false);
    add_answer(&scene.rig, W_NODES, "", true);
    add_answer(&scene.rig, W_PODS, TOO_OLD, false);
    add_answer(&scene.rig, PODS,
               WHOLE("Pod",
                     POD("b", "ub", "", ON_N1, "") ",{\"metadata\":{\"namespace\":\"default\","
                                                   "\"name\":\"k\"},\"spec\":9}"),
               false);
    add_answer(&scene.rig, W_PODS, LAST, true);
    scene_start(&scene);
    wait_for(&scene, knows_last);
    assert_false(is_known(&scene, "a"));
    assert_true(is_known(&scene, "k")); /* it could not be read: its devices stay taken */
    wait_for(&scene, is_synced);
    assert_int_equal(free_on_n1(&scene), 2);
    sl_sync_stats(scene.sync, &stats);
    assert_int_equal(atomic_load(&scene.begun), 2); /* of pods alone */
    assert_int_equal(atomic_load(&scene.listings), 0);
    assert_int_equal(stats.swept_pods, 1);
    assert_int_equal(stats.swept_nodes, 0);
    assert_int_equal(stats.pods.skipped, 1);
    assert_int_equal(stats.pods.expired, 1);
    scene_end(&scene);
}

TEST_ON(struct scene *scene, a_list_with_a_nameless_object_deletes_nothing)
{
    add_answer(&scene->rig, NODES, WHOLE("Node", NODE("n1")), false);
    add_answer(&scene->rig, PODS, WHOLE("Pod", POD("a", "ua", "", ON_N1, "")), false);
    add_answer(&scene->rig, W_NODES, "", true);
    add_answer(&scene->rig, W_PODS, TOO_OLD, false);
    add_answer(&scene->rig, PODS, WHOLE("Pod", "{\"metadata\":{\"name\":8}}"), false);
    add_answer(&scene->rig, W_PODS, LAST, true);
    scene_start(scene);
    wait_for(scene, knows_last);
    assert_true(is_known(scene, "a"));
}

TEST_ALONE(a_list_given_up_half_way_keeps_what_there_was)
{
    static const char *const half = WHOLE("Pod", POD("b", "ub", "", ON_N1, ""));
    struct scene scene;
    scene_begin(&scene);
    add_answer(&scene.rig, NODES, WHOLE("Node", NODE("n1")), false);
    add_answer(&scene.rig, PODS, WHOLE("Pod", POD("a", "ua", "", ON_N1, "")), false);
    add_answer(&scene.rig, W_NODES, "", true);
    add_answer(&scene.rig, W_PODS, TOO_OLD, false);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = PODS,
                                                     .times = 1,
                                                     .body = half,
                                                     .piece = 50,
                                                     .cut = true,
                                                     .cut_at = strlen(half) - 2});
    fake_api_add(scene.rig.api, (struct fake_answer){.path = PODS, .times = 1, .kind = FAKE_HANG});
    scene_start(&scene);
    fake_api_wait(scene.rig.api, 6);
    assert_true(is_known(&scene, "a"));
    assert_true(is_known(&scene, "b"));
    assert_non_null(sl_sync_missing(scene.sync));
    assert_int_equal(atomic_load(&scene.listings), 1);
    scene_end(&scene); /* in the middle of a list: the store is left in order */
    assert_int_equal(atomic_load(&scene.listings), 0);
}
