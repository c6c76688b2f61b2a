/* The reflector against a server that cuts, is silent, or hangs up. */
#include "reflector_rig.h"

/* ---- cuts ---- */

TEST_THAT(a_watch_cut_at_any_byte_goes_on_where_it_was)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    struct history history = {0};
    scene_begin(&scene);
    for (unsigned cut = 1; cut < 330; cut++) {
        history.cut = cut;
        fake_api_clear(scene.rig.api);
        add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
        fake_api_add(scene.rig.api,
                     (struct fake_answer){.path = WATCH, .fn = answer_watch, .context = &history});
        scene_start(&scene);
        story_wait(&scene.story, "+last", 0);
        assert_string_equal(scene.story.text, "[+a]+b~a-b+last");
        assert_int_equal(stats_of(&scene).lists, 1);
        scene_stop(&scene);
        fake_api_release(scene.rig.api);
    }
    rig_end(&scene.rig);
}

TEST_THAT(a_list_cut_at_any_byte_is_begun_anew)
{
    static const char *const page = PAGE("10", "", POD("a", "1") "," POD("b", "2"));
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    for (size_t cut = 0; cut < strlen(page); cut++) {
        fake_api_clear(scene.rig.api);
        fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST,
                                                         .times = 1,
                                                         .body = page,
                                                         .piece = 1 + cut % 40,
                                                         .cut = true,
                                                         .cut_at = cut});
        add(&scene, LIST, 1, page);
        add_open_watch(&scene, EVENT("ADDED", POD("z", "11")));
        scene_start(&scene);
        story_wait(&scene.story, "+z", 0);
        const char *again = strstr(scene.story.text, "!");
        assert_non_null(again);
        assert_string_equal(again, "![+a+b]+z");
        scene_stop(&scene);
        fake_api_release(scene.rig.api);
    }
    rig_end(&scene.rig);
}

TEST_THAT(a_server_that_hangs_up_is_tried_again)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    fake_api_add(scene.rig.api, (struct fake_answer){.path = LIST, .times = 3, .kind = FAKE_CLOSE});
    add_status(&scene, LIST, 500, "oops");
    add(&scene, LIST, 1, "{\"kind\":\"Status\"}");
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api,
                 (struct fake_answer){.path = WATCH, .times = 2, .kind = FAKE_CLOSE});
    add(&scene, WATCH, 1, ""); /* ends at once */
    add_open_watch(&scene, EVENT("ADDED", POD("b", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "+b", 0);
    assert_string_equal(scene.story.text, "[![![![![![+a]+b");
    scene_end(&scene);
}

TEST_THAT(a_silent_watch_is_replaced)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(scene.rig.api, (struct fake_answer){.path = WATCH, .times = 1, .kind = FAKE_HANG});
    fake_api_add(scene.rig.api, (struct fake_answer){.path = WATCH,
                                                     .times = 1,
                                                     .body = EVENT("ADDED", POD("b", "11")),
                                                     .piece = 64,
                                                     .hang = true,
                                                     .cut_at = SIZE_MAX});
    add_open_watch(&scene, EVENT("ADDED", POD("c", "12")));
    scene_start(&scene);

    fake_api_wait(scene.rig.api, 2);
    fake_clock_advance(scene.rig.client, scene.options.times.silence_us);
    story_wait(&scene.story, "+b", 0);
    fake_clock_advance(scene.rig.client, scene.options.times.silence_us);
    story_wait(&scene.story, "+c", 0);

    assert_string_equal(scene.story.text, "[+a]+b+c");
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=11&"));
    assert_int_equal(stats_of(&scene).lists, 1);
    scene_end(&scene);
}

/* Bytes are no news: neither white space nor what cannot be read. */
TEST_THAT(a_watch_that_drips_is_silent)
{
    static char drip[1 << 16];
    struct scene scene = {.options = {.times = {.page = 0}}};
    for (size_t i = 0; i < sizeof(drip) - 1; i++) {
        drip[i] = i % 2 == 0 ? '?' : '\n';
    }
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    fake_api_add(
        scene.rig.api,
        (struct fake_answer){.path = WATCH, .times = 2, .body = drip, .piece = 2, .pause_ms = 1});
    add(&scene, LIST, 1, PAGE("12", "", POD("b", "12")));
    add_open_watch(&scene, EVENT("ADDED", POD("c", "13")));
    scene_start(&scene);

    fake_api_wait(scene.rig.api, 2);
    fake_clock_advance(scene.rig.client, scene.options.times.silence_us);
    fake_api_wait(scene.rig.api, 3);
    fake_clock_advance(scene.rig.client, scene.options.times.silence_us);
    story_wait(&scene.story, "+c", 0);

    assert_int_equal(stats_of(&scene).events, 1);
    assert_int_equal(stats_of(&scene).lists, 2);
    scene_end(&scene);
}

TEST_THAT(a_server_that_asks_for_an_hour_is_tried_after_a_minute)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    struct sl_client_stats stats;
    scene_begin(&scene);
    fake_api_add(scene.rig.api,
                 (struct fake_answer){
                     .path = LIST, .times = 1, .status = 429, .body = "{}", .retry_after = "3600"});
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);

    fake_clock_pass(scene.rig.client, 50000 * MS);
    sl_client_stats(scene.rig.client, &stats);
    assert_int_equal(stats.calls, 1);
    fake_clock_advance(scene.rig.client, 10000 * MS);

    story_wait(&scene.story, "![+a]", 0);
    scene_end(&scene);
}
