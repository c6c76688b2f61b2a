/* What owners of pods are told that hold GPUs and do nothing with them, and how often. */
#include "unit/core/rig.h"

#include "daemon/live/idlers.h"

#define GPU "nvidia.com/gpu"

#define SECOND INT64_C(1000000)
#define NOW    (INT64_C(1700000000) * SECOND)

static struct {
    char text[8][900];
    unsigned n;
    bool deaf;
} g;

static bool tell(void *context, const struct sl_event_note *note)
{
    (void)context;
    if (g.deaf) {
        return false;
    }
    assert_true(g.n < 8);
    assert_true(note->once);
    (void)snprintf(g.text[g.n++], sizeof(g.text[0]), "%s %.*s/%.*s %.*s %s: %s",
                   note->warning ? "Warning" : "Normal", (int)note->namespace.len,
                   note->namespace.s, (int)note->name.len, note->name.s, (int)note->uid.len,
                   note->uid.s, note->reason, note->note);
    return true;
}

struct scene {
    struct rig *rig;
    struct sl_idlers *idlers;
    struct sl_pod *pod;
    struct sl_pod_use use;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    const struct sl_idlers_options options = {.tell = tell, .idle_us = 1800 * SECOND};
    struct sl_ask ask = rig_ask(GPU, 1);
    assert_non_null(scene);
    scene->rig = rig_of_gpus(1, 0);
    scene->pod = rig_run(scene->rig, &ask, GPU "=0");
    scene->idlers = sl_idlers_new(&options);
    assert_non_null(scene->idlers);
    scene->use = (struct sl_pod_use){.declared_mib = -1,
                                     .used_mib = -1,
                                     .idle_us = 1800 * SECOND,
                                     .since_us = NOW - 1800 * SECOND,
                                     .held = 1,
                                     .gpus = 1};
    g.n = 0;
    g.deaf = false;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    sl_idlers_free(scene->idlers);
    rig_free(scene->rig);
    free(scene);
    return 0;
}

static void see(struct scene *scene, int64_t now_us)
{
    const struct sl_view *view = rig_view(scene->rig);
    sl_idlers_see(scene->idlers, view, &view->resident[0], &scene->use, now_us);
}

static void an_owner_is_told_once_of_a_spell(void **state)
{
    struct scene *scene = *state;
    see(scene, NOW);
    assert_int_equal(g.n, 1);
    assert_string_equal(g.text[0],
                        "Normal default/u0 u0 GPUIdle: nothing has run for 30m on what it holds "
                        "of node node-1, GPU 0, since 2023-11-14T21:43:20Z; other pods cannot "
                        "have it meanwhile");
    scene->use.idle_us += 3600 * SECOND;
    see(scene, NOW + 3600 * SECOND);
    assert_int_equal(g.n, 1);
    scene->use.since_us += 1000 * SECOND; /* it worked in between */
    see(scene, NOW + 7200 * SECOND);
    assert_int_equal(g.n, 2);
}

static void shorter_and_unknown_spells_are_passed_over(void **state)
{
    struct scene *scene = *state;
    scene->use.idle_us = 1800 * SECOND - 1;
    see(scene, NOW);
    scene->use.idle_us = -1;
    see(scene, NOW);
    assert_int_equal(g.n, 0);
}

static void what_was_not_taken_is_told_again(void **state)
{
    struct scene *scene = *state;
    g.deaf = true;
    see(scene, NOW);
    g.deaf = false;
    see(scene, NOW + SECOND);
    assert_int_equal(g.n, 1);
}

static void a_pod_that_is_being_deleted_is_left_alone(void **state)
{
    struct scene *scene = *state;
    scene->pod->deleting = true;
    scene->use.over_mib = 1000;
    see(scene, NOW);
    assert_int_equal(g.n, 0);
}

static void use_beyond_what_is_declared_is_warned_of_once(void **state)
{
    struct scene *scene = *state;
    scene->use.idle_us = 0;
    scene->use.declared_mib = 3000;
    scene->use.used_mib = 13000;
    scene->use.over_mib = 10000;
    see(scene, NOW);
    see(scene, NOW + SECOND);
    assert_int_equal(g.n, 1);
    assert_string_equal(g.text[0], "Warning default/u0 u0 GPUMemoryExceeded: it uses 13000 MiB of "
                                   "GPU memory and declares 3000: its neighbours may run out of "
                                   "memory, and none are placed beside it for what is beyond");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_owner_is_told_once_of_a_spell),
        TEST(shorter_and_unknown_spells_are_passed_over),
        TEST(what_was_not_taken_is_told_again),
        TEST(a_pod_that_is_being_deleted_is_left_alone),
        TEST(use_beyond_what_is_declared_is_warned_of_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
