/* The reflector against a server that talks nonsense, and its end. */
#include "reflector_rig.h"

/* ---- what cannot be used ---- */

TEST_THAT(what_cannot_be_used_is_skipped_and_counted)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    scene.story.refuse = "r";
    scene.story.refusal = SL_ERR_LIMIT;
    scene.story.refusals = 2;
    add(&scene, LIST, 1,
        PAGE("10", "", POD("a", "1") ",{\"metadata\":{\"name\":\"m\"},\"spec\":7}," POD("r", "3")));
    add_open_watch(&scene, EVENT("ADDED", "{\"metadata\":{\"name\":\"n\"},\"spec\":[]}")
                               EVENT("GROWN", POD("x", "12")) EVENT("MODIFIED", POD("r", "13"))
                                   EVENT("ADDED", POD("b", "14")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    assert_string_equal(scene.story.text, "[+a?m?r]?n??r+b");
    assert_int_equal(stats_of(&scene).skipped, 5);
    scene_end(&scene);
}

TEST_THAT(an_object_for_which_there_was_no_memory_is_told_again)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    struct history history = {0};
    scene_begin(&scene);
    scene.story.refuse = "b";
    scene.story.refusal = SL_ERR_NOMEM;
    scene.story.refusals = 2;
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = WATCH, .fn = answer_watch, .context = &history});
    scene_start(&scene);
    story_wait(&scene.story, "+last", 0);
    assert_string_equal(scene.story.text, "[+a]+b~a-b+last");
    scene_end(&scene);
}

TEST_THAT(nonsense_in_a_watch_ends_in_a_new_list)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add(&scene, WATCH, 1, "<html>\n" EVENT("ADDED", POD("b", "11")));
    add(&scene, LIST, 1, PAGE("50", "", POD("c", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("d", "51")));
    scene_start(&scene);
    story_wait(&scene.story, "+d", 0);
    assert_string_equal(scene.story.text, "[+a]?+b[+c]+d");
    scene_end(&scene);
}

/* ---- the end ---- */

TEST_THAT(nothing_is_told_after_stop_at_any_moment)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    for (unsigned n = 1; n < 120; n++) {
        fake_api_clear(scene.rig.api);
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = LIST,
                                          .piece = 3,
                                          .body = PAGE("10", "", POD("a", "1") "," POD("b", "2"))});
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = WATCH,
                                          .piece = 5,
                                          .times = 1 + n % 3,
                                          .body = EVENT("ADDED", POD("c", "11"))
                                              EVENT("DELETED", POD("c", "12")) BOOKMARK("13")});
        fake_api_add(
            scene.rig.api,
            (struct fake_answer){.path = WATCH, .piece = 7, .body = EVENT("ERROR", EXPIRED)});
        scene_start(&scene);
        story_wait(&scene.story, "", 1 + n % 17);
        scene_stop(&scene);
    }
    rig_end(&scene.rig);
}

TEST_THAT(stop_ends_a_call_that_hangs)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST, .kind = FAKE_HANG});
    scene_start(&scene);
    fake_api_wait(scene.rig.api, 1);
    scene_stop(&scene);
    struct sl_client_stats stats = {.in_flight = 1};
    while (stats.in_flight > 0) { /* the client lets go of it by itself */
        (void)sched_yield();
        sl_client_stats(scene.rig.client, &stats);
    }
    fake_api_release(scene.rig.api);
    rig_end(&scene.rig);
}

TEST_THAT(stop_does_not_wait_for_a_backoff)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    scene.options.times.backoff_us = 3600000 * MS;
    scene.options.times.backoff_max_us = 3600000 * MS;
    add_status(&scene, LIST, 500, "{}");
    scene_start(&scene);
    story_wait(&scene.story, "[!", 0);
    scene_end(&scene);
}

TEST_THAT(the_client_may_go_first)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("b", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    sl_client_free(scene.rig.client);
    scene.rig.client = NULL;
    assert_false(stats_of(&scene).synced);
    scene_end(&scene);
}
