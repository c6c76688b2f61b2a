/* What owners of pods are told that hold GPUs and do nothing with them, and how often. */
#include "unit/core/rig.h"

#include "daemon/live/idlers.h"

#define GPU "nvidia.com/gpu"

#define SECOND INT64_C(1000000)
#define NOW    (INT64_C(1700000000) * SECOND)

static struct {
    char text[8][900];
    unsigned n;
    unsigned ended;
    bool counts; /* the notes, and keeps no text */
    bool deaf;
} g;

static bool tell(void *context, const struct sl_event_note *note)
{
    (void)context;
    if (g.deaf) {
        return false;
    }
    if (g.counts) {
        g.n++;
        return true;
    }
    assert_true(g.n < 8);
    assert_int_equal(note->once, strstr(note->note, "is ended") == NULL);
    (void)snprintf(g.text[g.n++], sizeof(g.text[0]), "%s %.*s/%.*s %.*s %s: %s",
                   note->warning ? "Warning" : "Normal", (int)note->namespace.len,
                   note->namespace.s, (int)note->name.len, note->name.s, (int)note->uid.len,
                   note->uid.s, note->reason, note->note);
    return true;
}

static void end(void *context, const struct sl_pod *pod, int64_t now_us)
{
    (void)context;
    (void)now_us;
    assert_string_equal(pod->uid, "u0");
    g.ended++;
}

struct scene {
    struct rig *rig;
    struct sl_idlers *idlers;
    struct sl_pod *pod;
    struct sl_pod_use use;
    bool by_name; /* on GPUs that it shares: nothing is sure */
};

static int set_up_with(void **state, int64_t deadline_us)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    const struct sl_idlers_options options = {
        .tell = tell, .end = end, .idle_us = 1800 * SECOND, .deadline_us = deadline_us};
    struct sl_ask ask = rig_ask(GPU, 1);
    assert_non_null(scene);
    scene->rig = rig_of_gpus(1, 0);
    scene->pod = rig_run(scene->rig, ask, GPU "=0");
    scene->idlers = sl_idlers_new(&options);
    assert_non_null(scene->idlers);
    scene->use = (struct sl_pod_use){.declared_mib = -1,
                                     .used_mib = -1,
                                     .idle_us = 1800 * SECOND,
                                     .since_us = NOW - 1800 * SECOND,
                                     .held = 1,
                                     .gpus = 1};
    g.n = 0;
    g.ended = 0;
    g.deaf = false;
    g.counts = false;
    (void)rig_view(scene->rig);
    *state = scene;
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, 0);
}

static int set_up_ending(void **state)
{
    return set_up_with(state, 600 * SECOND);
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
    scene->use.sure_us = scene->by_name ? -1 : scene->use.idle_us;
    sl_idlers_see(scene->idlers, view, &view->resident[0], &scene->use, now_us);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, an_owner_is_told_once_of_a_spell)
{
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

TEST_ON(struct scene *scene, shorter_and_unknown_spells_are_passed_over)
{
    scene->use.idle_us = 1800 * SECOND - 1;
    see(scene, NOW);
    scene->use.idle_us = -1;
    see(scene, NOW);
    assert_int_equal(g.n, 0);
}

TEST_ON(struct scene *scene, what_was_not_taken_is_told_again)
{
    g.deaf = true;
    see(scene, NOW);
    g.deaf = false;
    see(scene, NOW + SECOND);
    assert_int_equal(g.n, 1);
}

TEST_ON(struct scene *scene, however_many_pods_idle_none_is_told_of_twice)
{
    char uid[24];
    scene->pod->uid = uid;
    g.counts = true;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 20000; i++) { /* more than there are places */
            (void)snprintf(uid, sizeof(uid), "u-%u", i);
            sl_idlers_see(scene->idlers, scene->rig->view, &scene->rig->view->resident[0],
                          &scene->use, NOW + (int64_t)round * 10 * SECOND);
        }
        assert_in_range(g.n, 4096, 8192);
    }
    unsigned told = g.n;
    (void)snprintf(uid, sizeof(uid), "u-new");
    for (unsigned i = 0; i < 2; i++) { /* the others have gone */
        sl_idlers_see(scene->idlers, scene->rig->view, &scene->rig->view->resident[0], &scene->use,
                      NOW + 10800 * SECOND);
    }
    assert_int_equal(g.n, told + 1);
}

TEST_ON(struct scene *scene, a_pod_that_is_being_deleted_is_left_alone)
{
    scene->pod->deleting = true;
    scene->use.over_mib = 1000;
    see(scene, NOW);
    assert_int_equal(g.n, 0);
}

TEST_ON(struct scene *scene, use_beyond_what_is_declared_is_warned_of_once)
{
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

/* ---- with telemetry.idleDeadline ---- */

/* It has idled, by samples up to now. */
static void idle(struct scene *scene, int64_t now_us)
{
    scene->use.idle_us = now_us - scene->use.since_us;
    see(scene, now_us);
}

TEST_THAT_WITH(a_pod_with_a_timeout_is_warned_and_then_ended, set_up_ending, tear_down)
{
    struct scene *scene = *state;
    scene->pod->timeout_s = 7200;
    idle(scene, NOW);
    assert_int_equal(g.n, 1);
    assert_string_equal(g.text[0],
                        "Warning default/u0 u0 GPUIdle: nothing has run for 30m on what it holds "
                        "of node node-1, GPU 0, since 2023-11-14T21:43:20Z; if nothing runs "
                        "there, the pod is ended at 2023-11-14T22:23:20Z");
    idle(scene, NOW + 600 * SECOND - 1);
    assert_int_equal(g.ended, 0);
    idle(scene, NOW + 600 * SECOND);
    assert_int_equal(g.ended, 1);
    idle(scene, NOW + 610 * SECOND); /* the deadline is on its way */
    assert_int_equal(g.ended, 1);
    idle(scene, NOW + 660 * SECOND);
    assert_int_equal(g.ended, 2);
    assert_int_equal(g.n, 1);
}

TEST_THAT_WITH(a_pod_without_a_timeout_is_never_ended, set_up_ending, tear_down)
{
    struct scene *scene = *state;
    idle(scene, NOW);
    idle(scene, NOW + 100000 * SECOND);
    assert_int_equal(g.ended, 0);
    assert_non_null(strstr(g.text[0], "Normal"));
    scene->pod->timeout_s = 7200; /* by its owner, or by sliced: after no warning */
    idle(scene, NOW + 200000 * SECOND);
    assert_int_equal(g.ended, 0);
}

TEST_THAT_WITH(what_works_in_between_is_warned_anew, set_up_ending, tear_down)
{
    struct scene *scene = *state;
    scene->pod->timeout_s = 7200;
    idle(scene, NOW);
    scene->use.since_us = NOW + 500 * SECOND;
    idle(scene, NOW + 2300 * SECOND);
    assert_int_equal(g.n, 2);
    assert_int_equal(g.ended, 0);
    idle(scene, NOW + 2900 * SECOND);
    assert_int_equal(g.ended, 1);
}

TEST_THAT_WITH(nobody_is_ended_without_a_warning_or_on_samples_that_say_nothing, set_up_ending,
               tear_down)
{
    struct scene *scene = *state;
    scene->pod->timeout_s = 7200;
    g.deaf = true;
    see(scene, NOW);
    see(scene, NOW + 600 * SECOND);
    assert_int_equal(g.ended, 0);
    g.deaf = false;
    see(scene, NOW + 700 * SECOND);
    scene->use.idle_us = -1; /* stale */
    see(scene, NOW + 1300 * SECOND);
    assert_int_equal(g.ended, 0);
    scene->use.idle_us = 3000 * SECOND;
    see(scene, NOW + 1310 * SECOND);
    assert_int_equal(g.ended, 1);
}

TEST_THAT_WITH(a_pod_is_not_ended_for_idleness_that_samples_do_not_show_yet, set_up_ending,
               tear_down)
{
    struct scene *scene = *state;
    scene->pod->timeout_s = 7200;
    idle(scene, NOW);
    see(scene, NOW + 600 * SECOND); /* no sample has come since, and the last is not stale yet */
    assert_int_equal(g.ended, 0);
    scene->use.idle_us += 599 * SECOND;
    see(scene, NOW + 620 * SECOND);
    assert_int_equal(g.ended, 0);
    idle(scene, NOW + 630 * SECOND);
    assert_int_equal(g.ended, 1);
}

/* A name may be wrong, and a busy pod would be ended. */
TEST_THAT_WITH(nobody_is_ended_by_a_name_on_gpus_that_are_shared, set_up_ending, tear_down)
{
    struct scene *scene = *state;
    scene->pod->timeout_s = 7200;
    scene->by_name = true;
    idle(scene, NOW);
    assert_non_null(strstr(g.text[0], "Normal"));
    idle(scene, NOW + 700 * SECOND);
    assert_int_equal(g.n, 1);
    scene->by_name = false; /* all of the node's GPUs idle by now */
    idle(scene, NOW + 800 * SECOND);
    assert_non_null(strstr(g.text[1], "Warning"));
    scene->by_name = true; /* and one works again */
    idle(scene, NOW + 1400 * SECOND);
    assert_int_equal(g.ended, 0);
    scene->by_name = false;
    idle(scene, NOW + 1500 * SECOND);
    assert_int_equal(g.ended, 1);
}
