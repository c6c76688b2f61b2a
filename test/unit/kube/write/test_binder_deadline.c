/* The timeout of a pod that was bound: spec.activeDeadlineSeconds. */
#include "binder_rig.h"
#include "util/clock.h"

#include <sched.h>

static void wait_for_deadline(struct scene *scene, uint64_t set, uint64_t failed)
{
    struct sl_kube_binder_stats stats = {.deadlines = 0};
    int64_t until_us = sl_clock_monotonic_us() + 60000 * MS;
    while (stats.deadlines < set || stats.deadline_failures < failed) {
        assert_true(sl_clock_monotonic_us() < until_us);
        (void)sched_yield();
        sl_kube_binder_stats(scene->binder, &stats);
    }
}

TEST_FIXTURE_OF(struct scene, scene_open, scene_end)

TEST_ON(struct scene *scene, a_bound_pods_timeout_becomes_its_deadline)
{
    assert_int_equal(sl_store_put_pod(scene->store, pod_with("90m", 0, NULL), NULL), 0);
    add(&scene->rig, "POST", BINDING, 201, "{}");
    add(&scene->rig, "PATCH", POD, 503, "{}");
    add(&scene->rig, "PATCH", POD, 200, "{}");
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    wait_for_deadline(scene, 1, 0);
    const struct fake_request *request = fake_api_request(scene->rig.api, 1);
    assert_string_equal(request->method, "PATCH");
    assert_string_equal(request->path, POD);
    assert_string_equal(request->content_type, "application/merge-patch+json");
    assert_string_equal(request->body, "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{"
                                       "\"activeDeadlineSeconds\":5400}}");
}

TEST_ON(struct scene *scene, a_deadline_that_cannot_be_set_is_counted_not_fatal)
{
    assert_int_equal(sl_store_put_pod(scene->store, pod_with("90m", 0, NULL), NULL), 0);
    add(&scene->rig, "POST", BINDING, 201, "{}");
    add(&scene->rig, "PATCH", POD, 403, SAYS("Forbidden", "403"));
    assert_int_equal(bind_whole(scene), SL_BIND_END_BOUND);
    wait_for_deadline(scene, 0, 1);
}

TEST_ON(struct scene *scene,
        a_deadline_that_could_not_be_set_is_tried_again_when_the_pod_is_told_of)
{
    struct sl_pod *pod = pod_with("90m", 0, "n1");
    add(&scene->rig, "PATCH", POD, 403, SAYS("Forbidden", "403"));
    add(&scene->rig, "PATCH", POD, 200, "{}");
    sl_kube_retry_deadline(scene->binder, pod, 7); /* nothing has failed */
    sl_kube_set_deadline(scene->binder, pod, 7);
    wait_for_deadline(scene, 0, 1);
    assert_int_equal(count(scene, "PATCH"), 1);

    sl_kube_retry_deadline(scene->binder, pod, 7);
    sl_kube_retry_deadline(scene->binder, pod, 7); /* once for each failure */
    wait_for_deadline(scene, 1, 1);
    assert_int_equal(count(scene, "PATCH"), 2);
    sl_pod_unref(pod);
}

TEST_ALONE(a_pod_that_is_to_end_gets_the_deadline_that_has_just_passed)
{
    struct scene scene;
    scene_open(&scene);
    struct sl_pod *pod = pod_with("90m", 0, "n1");
    struct sl_kube_binder_stats stats = {.deadlines = 0};
    const int64_t start_us = INT64_C(1700000000) * 1000 * MS;
    add(&scene.rig, "PATCH", POD, 200, "{}");
    assert_false(sl_kube_end_early(scene.binder, pod, start_us, 7)); /* it has not started */
    pod->started_us = start_us;
    assert_false(sl_kube_end_early(scene.binder, pod, start_us - 10000 * MS, 7));
    assert_false(sl_kube_end_early(scene.binder, pod, start_us + INT64_C(5400000) * MS, 7));
    pod->timeout_s = 0; /* it states none */
    assert_false(sl_kube_end_early(scene.binder, pod, start_us + 100000 * MS, 7));
    pod->timeout_s = 5400;
    assert_true(sl_kube_end_early(scene.binder, pod, start_us + 100500 * MS, 7));
    int64_t until_us = sl_clock_monotonic_us() + 60000 * MS;
    while (stats.deadlines_shortened == 0) {
        assert_true(sl_clock_monotonic_us() < until_us);
        (void)sched_yield();
        sl_kube_binder_stats(scene.binder, &stats);
    }
    assert_string_equal(fake_api_request(scene.rig.api, 0)->body,
                        "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{"
                        "\"activeDeadlineSeconds\":100}}");
    sl_pod_unref(pod);
    scene_end(&scene);
}

/* The patch that opened its gate has set it; the watch may not have told of that yet. */
TEST_ALONE(a_released_pods_deadline_is_set_only_when_its_next_event_lacks_it)
{
    struct scene scene;
    scene_open(&scene);
    assert_int_equal(sl_store_put_pod(scene.store, pod_with("90m", 0, NULL), NULL), 0);
    struct sl_pod *has = pod_with("90m", 5400, "n1");
    struct sl_pod *lacks = pod_with("60m", 0, "n1"); /* tells its patch from one after the bind */
    struct sl_kube_binder_stats stats = {.deadlines = 0};
    int64_t until_us = sl_clock_monotonic_us() + 60000 * MS;
    add(&scene.rig, "POST", BINDING, 201, "{}");
    add(&scene.rig, "PATCH", POD, 200, "{}");
    bind_with(&scene, true, sl_kube_bind);
    outcome_wait(&scene.outcome);
    while (stats.deadlines == 0) {
        assert_true(sl_clock_monotonic_us() < until_us);
        sl_kube_retry_deadline(scene.binder, has, 7);
        assert_int_equal(stats.deadlines, 0);
        sl_kube_retry_deadline(scene.binder, lacks, 7);
        (void)sched_yield();
        sl_kube_binder_stats(scene.binder, &stats);
    }
    assert_int_equal(count(&scene, "PATCH"), 1);
    assert_string_equal(fake_api_request(scene.rig.api, 1)->body,
                        "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{"
                        "\"activeDeadlineSeconds\":3600}}");
    assert_int_equal(stats.deadline_failures, 0);
    sl_pod_unref(has);
    sl_pod_unref(lacks);
    scene_end(&scene);
}

TEST_ON(struct scene *scene, nobody_elses_deadline_is_touched)
{
    struct sl_pod *const left[] = {pod_with("90m", 60, "n1"), pod_with(NULL, 0, "n1"),
                                   pod_with("90m", 0, NULL)};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        sl_kube_set_deadline(scene->binder, left[i], 7);
        sl_pod_unref(left[i]);
    }
    struct sl_pod *pod = pod_with("90m", 0, "n1");
    atomic_store(&scene->reign.leads, 0);
    sl_kube_set_deadline(scene->binder, pod, 7);
    atomic_store(&scene->reign.leads, -1);
    add(&scene->rig, "PATCH", POD, 200, "{}");
    sl_kube_set_deadline(scene->binder, pod, 7);
    sl_pod_unref(pod);
    wait_for_deadline(scene, 1, 0);
    assert_int_equal(fake_api_requests(scene->rig.api), 1);
}
