/* Bindings that nobody answers in time. Only the fake clock ends them. */
#include "binder_rig.h"

#include <sched.h>

static void end_is(struct scene *scene, enum sl_bind_end end, const char *text)
{
    assert_int_equal(scene->outcome.end, end);
    assert_string_equal(scene->outcome.text, text);
}

/* Time runs out when the API server has had so many requests of the binding. */
static void run_out_after(struct scene *scene, unsigned requests)
{
    fake_api_wait(scene->rig.api, requests);
    time_runs_out(scene);
    outcome_wait(&scene->outcome);
}

/* A binding whose POST has no answer. */
static void lose_a_post(struct scene *scene)
{
    add_kind(scene, "POST", FAKE_HANG, 1);
    bind_begin(scene);
    run_out_after(scene, 1);
}

TEST_FIXTURE_OF(struct scene, NULL, scene_end)

TEST_ON(struct scene *scene, a_post_without_an_answer_is_given_up_and_read_up)
{
    scene_begin(scene);
    scene->options.try_us = scene->options.timeout_us / 4;
    scene_start(scene);
    add_kind(scene, "POST", FAKE_HANG, 1);
    add(&scene->rig, "GET", POD, 200, OURS);
    bind_begin(scene);
    fake_api_wait(scene->rig.api, 1);
    fake_clock_advance(scene->rig.client, scene->options.try_us);
    outcome_wait(&scene->outcome);
    end_is(scene, SL_BIND_END_BOUND, "");
}

TEST_ON(struct scene *scene, what_cannot_be_learnt_in_time_is_unknown)
{
    scene_open(scene);
    lose_a_post(scene);
    end_is(scene, SL_BIND_END_UNKNOWN,
           "whether the pod is bound is not known: the API server did not answer in time");
}

TEST_ON(struct scene *scene, what_cannot_be_read_in_time_is_unknown)
{
    scene_open(scene);
    add_kind(scene, "POST", FAKE_CLOSE, 1);
    add_kind(scene, "GET", FAKE_HANG, 1);
    bind_begin(scene);
    run_out_after(scene, 2);
    assert_int_equal(scene->outcome.end, SL_BIND_END_UNKNOWN);
    assert_true(strncmp(scene->outcome.text, "whether the pod is bound is not known: ", 39) == 0);
}

TEST_ON(struct scene *scene, a_pod_that_stays_unbound_after_a_lost_post_is_unknown)
{
    scene_open(scene);
    add_kind(scene, "POST", FAKE_CLOSE, 0);
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "GET", .path = POD, .body = UNBOUND});
    bind_begin(scene);
    run_out_after(scene, 5);
    assert_int_equal(scene->outcome.end, SL_BIND_END_UNKNOWN);
    assert_true(count(scene, "POST") > 1);
}

TEST_ON(struct scene *scene, a_refusal_that_could_not_be_read_up_is_unknown)
{
    scene_open(scene);
    add(&scene->rig, "POST", BINDING, 409, SAYS("Conflict", "409"));
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "GET", .path = POD, .status = 500});
    bind_begin(scene);
    run_out_after(scene, 4);
    assert_int_equal(scene->outcome.end, SL_BIND_END_UNKNOWN);
}

/* The last try is ended by time: what the server said before tells more than that. */
TEST_ON(struct scene *scene, an_unknown_end_tells_what_the_server_said)
{
    scene_open(scene);
    add(&scene->rig, "GET", POD, 403, SAYS("Forbidden", "403"));
    add_kind(scene, "GET", FAKE_HANG, 1);
    bind_with(scene, false, sl_kube_resolve);
    run_out_after(scene, 2);
    end_is(scene, SL_BIND_END_UNKNOWN, "whether the pod is bound is not known: no Forbidden");
    assert_int_equal(count(scene, "POST"), 0);
}

TEST_ON(struct scene *scene, a_server_that_was_too_busy_has_not_bound)
{
    scene_open(scene);
    fake_api_add(
        scene->rig.api,
        (struct fake_answer){.method = "POST", .path = POD, .status = 429, .retry_after = "3600"});
    assert_int_equal(bind_whole(scene), SL_BIND_END_FAILED);
}

TEST_ON(struct scene *scene, an_unknown_end_is_remembered)
{
    scene_open(scene);
    lose_a_post(scene);
    assert_int_equal(scene->outcome.end, SL_BIND_END_UNKNOWN);
    assert_false(sl_kube_binder_is_quiet(scene->binder));
    fake_api_add(scene->rig.api,
                 (struct fake_answer){.method = "GET", .path = POD, .body = UNBOUND});
    atomic_store(&scene->reign.leads, 0);
    bind_begin(scene);
    run_out_after(scene, 3);
    assert_int_equal(scene->outcome.end, SL_BIND_END_UNKNOWN); /* the first may come through yet */
    assert_int_equal(count(scene, "POST"), 1);
}

TEST_ON(struct scene *scene, an_unknown_end_is_forgotten_after_two_minutes)
{
    scene_open(scene);
    lose_a_post(scene);
    fake_clock_advance(scene->rig.client, 121000 * MS);
    atomic_store(&scene->reign.leads, 0);
    assert_int_equal(bind_whole(scene), SL_BIND_END_FAILED);
    while (!sl_kube_binder_is_quiet(scene->binder)) { /* just after done was called */
        (void)sched_yield();
    }
}

TEST_ALONE(what_was_allowed_before_a_pause_is_not_sent_after_it)
{
    struct scene scene;
    struct block block = BLOCK_INIT;
    scene_open(&scene);
    block_close(&block, scene.rig.client);
    bind_begin(&scene);
    time_runs_out(&scene);
    block_open(&block);
    outcome_wait(&scene.outcome);
    assert_int_equal(scene.outcome.end, SL_BIND_END_FAILED);
    assert_int_equal(count(&scene, "POST"), 0);
    scene_end(&scene);
}

TEST_ALONE(a_client_that_goes_ends_all)
{
    struct scene scene;
    scene_open(&scene);
    add_kind(&scene, "POST", FAKE_HANG, 0);
    bind_begin(&scene);
    fake_api_wait(scene.rig.api, 1);
    sl_client_free(scene.rig.client);
    scene.rig.client = NULL;
    assert_int_equal(scene.outcome.done, 1);
    assert_int_equal(scene.outcome.end, SL_BIND_END_UNKNOWN);
    struct sl_kube_binder_stats stats;
    sl_kube_binder_stats(scene.binder, &stats);
    assert_int_equal(stats.in_flight, 0);
    assert_int_equal(stats.ends[SL_BIND_END_UNKNOWN], 1);
    scene_end(&scene);
}
