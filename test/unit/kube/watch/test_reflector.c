/* Lists and watches of the reflector, and what makes it list anew. */
#include "reflector_rig.h"

/* ---- the plain course ---- */

TEST_THAT(lists_page_by_page_then_watches_from_there)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    scene.options.query = "labelSelector=a%3Db";
    add(&scene, LIST, 1, PAGE("10", "t/1=&", POD("a", "1") "," POD("b", "2")));
    add(&scene, LIST, 1, PAGE("10", "", POD("c", "3")));
    add(&scene, WATCH, 1, EVENT("ADDED", POD("d", "11")) EVENT("DELETED", POD("a", "12")));
    add(&scene, WATCH, 1, EVENT("MODIFIED", POD("b", "13")) BOOKMARK("20"));
    add_open_watch(&scene, EVENT("MODIFIED", POD("c", "21")));

    scene_start(&scene);
    story_wait(&scene.story, "~c", 0);

    assert_string_equal(scene.story.text, "[+a+b+c]+d-a~b~c");
    assert_string_equal(path_at(&scene, 0), "/api/v1/pods?limit=2&labelSelector=a=b");
    assert_string_equal(path_at(&scene, 1),
                        "/api/v1/pods?limit=2&continue=t/1=&&labelSelector=a=b");
    assert_non_null(strstr(path_at(&scene, 2), "watch=true&allowWatchBookmarks=true&"
                                               "resourceVersion=10&timeoutSeconds="));
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=12&"));
    assert_non_null(strstr(path_at(&scene, 4), "resourceVersion=20&"));
    struct sl_reflector_stats stats = stats_of(&scene);
    assert_true(stats.synced && stats.last_event_us > 0);
    assert_int_equal(stats.lists, 1);
    assert_int_equal(stats.listed, 1);
    assert_int_equal(stats.watches, 3);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.bookmarks, 1);
    assert_int_equal(stats.failures, 0);
    scene_end(&scene);
}

TEST_THAT(is_synced_when_the_list_is_complete_not_before)
{
    static const char *const page = PAGE("10", "", POD("a", "1") "," POD("b", "1"));
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    fake_api_add(
        scene.rig.api,
        (struct fake_answer){
            .path = LIST, .times = 1, .body = page, .piece = 8, .hang = true, .cut_at = 130});
    add(&scene, LIST, 1, page);
    add_open_watch(&scene, EVENT("ADDED", POD("c", "11")));
    scene_start(&scene);
    story_wait(&scene.story, "[+a", 0);
    assert_false(stats_of(&scene).synced);
    fake_api_release(scene.rig.api);
    story_wait(&scene.story, "![+a+b]+c", 0);
    assert_true(stats_of(&scene).synced);
    scene_end(&scene);
}

/* ---- expiry ---- */

TEST_THAT(a_410_between_pages_lists_from_the_start)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "x", POD("a", "1")));
    add_status(&scene, LIST, 410, EXPIRED);
    add(&scene, LIST, 1, PAGE("30", "", POD("b", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);
    story_wait(&scene.story, "[+a![+b]", 0);
    assert_non_null(strstr(path_at(&scene, 1), "continue=x"));
    assert_null(strstr(path_at(&scene, 2), "continue"));
    assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=30&"));
    assert_int_equal(stats_of(&scene).expired, 1);
    scene_end(&scene);
}

TEST_THAT(pages_that_expire_again_and_again_end_in_one_list)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    for (int i = 0; i < 2; i++) {
        add(&scene, LIST, 1, PAGE("10", "x", POD("a", "1")));
        add_status(&scene, LIST, 410, EXPIRED);
    }
    add(&scene, "/api/v1/pods?resourceVersion", 1, PAGE("30", "", POD("b", "1")));
    add_open_watch(&scene, "");
    scene_start(&scene);
    story_wait(&scene.story, "[+a![+a![+b]", 0);
    scene_end(&scene);
}

TEST_THAT(a_410_of_the_watch_lists_anew)
{
    static const struct {
        unsigned status;
        const char *body;
    } cases[] = {
        {410, EXPIRED},
        {410, "gone"},
        {200, EVENT("ERROR", EXPIRED)},
        {200, EVENT("ADDED", POD("z", "11")) EVENT("ERROR", "{\"code\":410}")},
        {200, EVENT("ERROR", "{\"status\":\"Failure\",\"reason\":\"Gone\"}")},
        {400, "{\"reason\":\"BadRequest\"}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene = {.options = {.times = {.page = 0}}};
        scene_begin(&scene);
        add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
        add_status(&scene, WATCH, cases[i].status, cases[i].body);
        add(&scene, LIST, 1, PAGE("50", "", POD("b", "1")));
        add_open_watch(&scene, EVENT("ADDED", POD("c", "51")));
        scene_start(&scene);
        story_wait(&scene.story, "[+b]+c", 0);
        assert_non_null(strstr(path_at(&scene, 3), "resourceVersion=50&"));
        assert_true(stats_of(&scene).synced);
        assert_int_equal(stats_of(&scene).expired, 1);
        scene_end(&scene);
    }
}

TEST_THAT(other_errors_do_not_list_until_they_last)
{
    struct scene scene = {.options = {.times = {.page = 0}}};
    scene_begin(&scene);
    add(&scene, LIST, 1, PAGE("10", "", POD("a", "1")));
    for (int i = 0; i < 6; i++) {
        add_status(&scene, WATCH, 503, "{}");
    }
    add_status(&scene, WATCH, 429, "{}");
    add(&scene, WATCH, 1, EVENT("ADDED", POD("b", "11")));
    add(&scene, WATCH, 4, EVENT("ERROR", "{\"code\":500,\"message\":\"etcd\"}"));
    add(&scene, LIST, 1, PAGE("50", "", POD("c", "1")));
    add_open_watch(&scene, EVENT("ADDED", POD("d", "51")));
    scene_start(&scene);
    story_wait(&scene.story, "+d", 0);
    assert_string_equal(scene.story.text, "[+a]+b[+c]+d");
    for (unsigned at = 1; at <= 8; at++) {
        assert_non_null(strstr(path_at(&scene, at), "resourceVersion=10&"));
    }
    assert_int_equal(stats_of(&scene).failures, 11);
    scene_end(&scene);
}
