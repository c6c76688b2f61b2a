/* What labels of Namespaces say, as the watch shows it and as it is told. */
#include "unit/kube/watch/watches.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "kube/tenants/namespaces.h"
#include "util/log.h"

#define LIST  "/api/v1/namespaces?limit"
#define WATCH "/api/v1/namespaces?watch"
#define SPACE(name, labels)                                                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"7\",\"labels\":{" labels "}}}"
#define TEAM(name, team) SPACE(name, "\"other\":\"o\",\"example.com/team\":\"" team "\"")
#define LONGEST          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

struct scene {
    struct rig rig;
    struct sl_namespaces *all;
    _Atomic unsigned wakes;
    int refuse_from; /* the telling that fails; 0: none */
    char text[1024]; /* what was told, in order: "a=x b= " */
};

static void wake(void *context)
{
    struct scene *scene = context;
    atomic_fetch_add(&scene->wakes, 1);
}

static void scene_begin(struct scene *scene)
{
    *scene = (struct scene){.refuse_from = 0};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    const struct sl_namespaces_options options = {
        .client = scene->rig.client, .times = watch_times(500), .wake = wake, .context = scene};
    scene->all = sl_namespaces_new(&options, NULL);
    assert_non_null(scene->all);
}

static void scene_end(struct scene *scene)
{
    sl_namespaces_free(scene->all);
    fake_api_release(scene->rig.api);
    rig_end(&scene->rig);
}

static int told(void *context, struct sl_str name, struct sl_str tenant)
{
    struct scene *scene = context;
    size_t at = strlen(scene->text);
    if (scene->refuse_from > 0 && --scene->refuse_from == 0) {
        return -1;
    }
    (void)snprintf(scene->text + at, sizeof(scene->text) - at, "%.*s=%.*s ", (int)name.len, name.s,
                   (int)tenant.len, tenant.s);
    return 0;
}

static void follow(struct scene *scene, const char *label)
{
    assert_int_equal(sl_namespaces_follow(scene->all, label, NULL), 0);
}

/* Waits until all of this was told, and nothing else. */
static void assert_told(struct scene *scene, const char *expected)
{
    size_t len = strlen(expected);
    while (strlen(scene->text) < len) {
        assert_true(sl_namespaces_tell(scene->all, false, told, scene));
        (void)sched_yield();
    }
    assert_string_equal(scene->text, expected);
    scene->text[0] = '\0';
}

static void wait_known(struct scene *scene)
{
    while (sl_namespaces_missing(scene->all) != NULL) {
        (void)sched_yield();
    }
}

static void assert_anew(struct scene *scene, const char *expected)
{
    assert_true(sl_namespaces_tell(scene->all, true, told, scene));
    assert_string_equal(scene->text, expected);
    scene->text[0] = '\0';
}

TEST_FIXTURE_OF(struct scene, scene_begin, scene_end)

TEST_ON(struct scene *scene, the_list_is_told_whole_and_nobody_plans_before_it)
{
    assert_non_null(sl_namespaces_missing(scene->all));
    add_answer(&scene->rig, LIST,
               WHOLE("Namespace", TEAM("b", "x") "," SPACE("c", "\"team\":\"x\"") "," TEAM(
                                      "a", "y") "," TEAM("d", LONGEST) "," TEAM("e", LONGEST "f")),
               false);
    add_answer(&scene->rig, WATCH, "", true);
    follow(scene, "example.com/team");
    wait_known(scene);
    assert_told(scene, "b=x a=y d=" LONGEST " ");
    assert_true(atomic_load(&scene->wakes) > 0);
    assert_true(sl_namespaces_tell(scene->all, false, told, scene));
    assert_told(scene, "");
    assert_anew(scene, "b=x a=y d=" LONGEST " ");
}

/* A Pod is none, whatever its labels are. */
TEST_ON(struct scene *scene, a_changed_label_a_lost_one_and_a_namespace_that_goes_are_told)
{
    add_answer(&scene->rig, LIST,
               WHOLE("Namespace", TEAM("a", "x") "," TEAM("b", "x") "," TEAM("c", "x") "," TEAM(
                                      "d", "x") "," TEAM("last", "x")),
               false);
    add_answer(&scene->rig, WATCH,
               EVENT("MODIFIED", TEAM("a", "y")) EVENT("MODIFIED", SPACE("b", ""))
                   EVENT("DELETED", TEAM("c", "x")) EVENT("MODIFIED", "{\"metadata\":7}")
                       EVENT("ADDED",
                             "{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"d\",\"name\":\"d\","
                             "\"labels\":{\"example.com/team\":\"evil\"}}}")
                           EVENT("MODIFIED", TEAM("d", LONGEST "f")) EVENT("ADDED", TEAM("e", "z"))
                               EVENT("DELETED", TEAM("last", "x")),
               true);
    follow(scene, "example.com/team");
    char all[4096] = "";
    while (strstr(all, "last= ") == NULL) {
        scene->text[0] = '\0';
        assert_true(sl_namespaces_tell(scene->all, false, told, scene));
        (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s", scene->text);
        (void)sched_yield();
    }
    scene->text[0] = '\0';
    assert_null(strstr(all, "evil"));
    assert_non_null(strstr(all, "b= "));
    assert_non_null(strstr(all, "c= "));
    assert_non_null(strstr(all, "d= "));
    assert_anew(scene, "a=y e=z ");
}

TEST_ON(struct scene *scene, what_a_later_list_lacks_has_no_tenant_and_what_it_spoils_keeps_its_own)
{
    add_answer(&scene->rig, LIST, WHOLE("Namespace", TEAM("a", "x") "," TEAM("b", "y")), false);
    add_answer(&scene->rig, WATCH, TOO_OLD, false);
    add_answer(
        &scene->rig, LIST,
        WHOLE("Namespace", TEAM("c", "z") ",{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}"),
        false);
    add_answer(&scene->rig, WATCH, "", true);
    follow(scene, "example.com/team");
    while (strcmp(scene->text, "b=y c=z ") != 0) {
        scene->text[0] = '\0';
        assert_true(sl_namespaces_tell(scene->all, true, told, scene));
        (void)sched_yield();
    }
}

TEST_ON(struct scene *scene, another_label_is_read_anew_and_none_leaves_no_tenants)
{
    add_answer(&scene->rig, LIST, WHOLE("Namespace", TEAM("a", "x") "," TEAM("b", "y")), false);
    add_answer(&scene->rig, WATCH, "", true);
    follow(scene, "");
    assert_null(sl_namespaces_missing(scene->all));
    follow(scene, "example.com/team");
    follow(scene, "example.com/team");
    assert_null(sl_namespaces_missing(scene->all));
    assert_told(scene, "a=x b=y ");
    assert_int_equal(fake_api_count(scene->rig.api, "GET", LIST), 1);
    add_answer(&scene->rig, LIST, WHOLE("Namespace", TEAM("a", "x") "," TEAM("b", "y")), false);
    follow(scene, "other");
    assert_told(scene, "a=o b=o ");
    follow(scene, "");
    assert_told(scene, "a= b= ");
    assert_anew(scene, "");
}

TEST_ON(struct scene *scene, what_the_reader_could_not_take_is_told_again)
{
    add_answer(&scene->rig, LIST,
               WHOLE("Namespace", TEAM("a", "x") "," TEAM("b", "y") "," TEAM("c", "z")), false);
    add_answer(&scene->rig, WATCH, "", true);
    follow(scene, "example.com/team");
    wait_known(scene);
    scene->refuse_from = 2;
    assert_false(sl_namespaces_tell(scene->all, false, told, scene));
    assert_string_equal(scene->text, "a=x ");
    assert_told(scene, "a=x b=y c=z ");
}

TEST_ALONE(an_embedded_cluster_s_namespaces_are_read_by_any_label)
{
    struct scene scene = {.refuse_from = 0};
    const struct sl_namespaces_options options = {.wake = wake, .context = &scene};
    struct sl_pair pair[2] = {{SL_STR("team"), SL_STR("x"), NULL},
                              {SL_STR("owner"), SL_STR("o"), &pair[0]}};
    scene.all = sl_namespaces_new(&options, NULL);
    assert_int_equal(sl_namespaces_put(scene.all, SL_STR("a"), &pair[1], NULL), 0);
    assert_int_equal(sl_namespaces_put(scene.all, SL_STR("b"), &pair[0], NULL), 0);
    assert_int_equal(sl_namespaces_put(scene.all, SL_STR("c"), NULL, NULL), 0);
    pair[0].value = SL_STR("changed");
    follow(&scene, "team");
    assert_null(sl_namespaces_missing(scene.all));
    assert_told(&scene, "a=x b=x ");
    follow(&scene, "owner");
    assert_told(&scene, "a=o b= ");
    sl_namespaces_free(scene.all);
}
