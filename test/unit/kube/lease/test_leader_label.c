/* The leader's label: on its own pod and on no other, whatever was there. */
#include "unit/test.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "kube/lease/leader_label.h"
#include "unit/kube/calls.h"
#include "util/log.h"

#define LIST    "/api/v1/namespaces/gpu/pods?labelSelector=sliced.dev/leader"
#define PATCHES "/api/v1/namespaces/gpu/pods/"

struct scene {
    struct rig rig;
    struct sl_leader_label *label;
    atomic_bool leads;
    atomic_uint asked; /* whether it leads */
};

static bool leads(void *context)
{
    struct scene *scene = context;
    (void)atomic_fetch_add(&scene->asked, 1);
    return atomic_load(&scene->leads);
}

static void scene_begin(struct scene *scene, const char *pods)
{
    *scene = (struct scene){.label = NULL};
    sl_log_configure(SL_LOG_ERROR, false);
    rig_start(&scene->rig);
    fake_api_add(scene->rig.api, (struct fake_answer){.path = LIST, .body = pods});
    fake_api_add(scene->rig.api, (struct fake_answer){.method = "PATCH", .path = PATCHES});
    atomic_store(&scene->leads, true);
    const struct sl_leader_label_options options = {
        .client = scene->rig.client,
        .namespace = "gpu",
        .pod = "me",
        .leads = leads,
        .context = scene,
        .period_us = 1000,
    };
    scene->label = sl_leader_label_start(&options, NULL);
    assert_non_null(scene->label);
}

static void scene_end(struct scene *scene)
{
    rig_end(&scene->rig);
    sl_leader_label_free(scene->label);
}

static void wait_count(struct scene *scene, const char *method, const char *path, unsigned n)
{
    while (fake_api_count(scene->rig.api, method, path) < n) {
        (void)sched_yield();
    }
}

static void wait_asked(struct scene *scene, unsigned n)
{
    unsigned from = atomic_load(&scene->asked);
    while (atomic_load(&scene->asked) < from + n) {
        (void)sched_yield();
    }
}

static const struct fake_request *first_patch(struct scene *scene, const char *path)
{
    for (unsigned i = 0;; i++) {
        const struct fake_request *request = fake_api_request(scene->rig.api, i);
        if (strcmp(request->method, "PATCH") == 0 && strcmp(request->path, path) == 0) {
            return request;
        }
    }
}

TEST_FIXTURE_OF(struct scene, NULL, scene_end)

TEST_ON(struct scene *scene, a_leader_marks_its_own_pod_and_clears_the_others)
{
    scene_begin(scene, "{\"items\":[{\"metadata\":{\"name\":\"former\"}}]}");
    wait_count(scene, "PATCH", PATCHES "me", 1);
    wait_count(scene, "PATCH", PATCHES "former", 1);
    const struct fake_request *mine = first_patch(scene, PATCHES "me");
    assert_string_equal(mine->body, "{\"metadata\":{\"labels\":{\"sliced.dev/leader\":\"true\"}}}");
    assert_string_equal(mine->content_type, "application/merge-patch+json");
    assert_string_equal(first_patch(scene, PATCHES "former")->body,
                        "{\"metadata\":{\"labels\":{\"sliced.dev/leader\":null}}}");
}

TEST_ON(struct scene *scene, what_is_right_is_left_as_it_is)
{
    scene_begin(scene, "{\"items\":[{\"metadata\":{\"name\":\"me\"}}]}");
    wait_count(scene, "GET", LIST, 3);
    assert_int_equal(fake_api_count(scene->rig.api, "PATCH", NULL), 0);
}

TEST_ON(struct scene *scene, a_standby_writes_nothing)
{
    scene_begin(scene, "{\"items\":[{\"metadata\":{\"name\":\"me\"}}]}");
    wait_count(scene, "GET", LIST, 1);
    atomic_store(&scene->leads, false);
    wait_asked(scene, 2); /* what was listed before is over */
    unsigned before = fake_api_count(scene->rig.api, "GET", LIST);
    wait_asked(scene, 10);
    assert_true(fake_api_count(scene->rig.api, "GET", LIST) <= before + 1);
    assert_int_equal(fake_api_count(scene->rig.api, "PATCH", NULL), 0);
}

TEST_ALONE(an_odd_answer_is_no_reason_to_write)
{
    static const char strange[] =
        "{\"items\":[{\"metadata\":{\"name\":\"me\"}},{},{\"metadata\":{\"name\":7}},"
        "{\"metadata\":{\"name\":\"../nodes/n\"}},{\"metadata\":{\"name\":\"\"}},null]}";
    static const char *const answers[] = {
        "", "[]", "{}", "{\"items\":{}}", "{\"items\":", "nonsense", strange};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct scene scene;
        scene_begin(&scene, answers[i]);
        wait_count(&scene, "GET", LIST, 2);
        assert_int_equal(fake_api_count(scene.rig.api, "PATCH", NULL), 0);
        scene_end(&scene);
    }
}
