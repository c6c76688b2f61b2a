/* A cut under way on a node of nos in MPS mode: nobody says that it has ended, the node shows it.
 */
#include "unit/core/request/facts_rig.h"

#include "sliced/cut_run.h"
#include "sliced/node.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)

static const struct sl_cut_rules rules = {.timeout_us = 15 * MINUTE,
                                          .backoff_us = MINUTE,
                                          .max_backoff_us = 8 * MINUTE,
                                          .file_us = 5 * SECOND};

struct scene {
    struct facts_rig facts;
    struct sl_cut_run run;
    struct sl_node *node;
    int64_t now_us;
    bool deselected;
    const char *label; /* nvidia.com/device-plugin.config */
    const char *mark;  /* sliced.dev/cut */
};

/* What is allocatable and what the agent reports, as "10gb=8". */
static void show(struct scene *scene, const char *allocatable, const char *reported)
{
    struct sl_error err = {0};
    struct sl_node_facts facts = {.actuator =
                                      scene->deselected ? SL_ACTUATOR_NONE : SL_ACTUATOR_NOS_MPS};
    facts.name = SL_STR("n");
    facts.labels = facts_pairs(&scene->facts, "nos.nebuly.com/gpu-partitioning=mps "
                                              "nvidia.com/gpu.count=1 nvidia.com/gpu.memory=81920");
    if (scene->label != NULL) {
        facts_pair(&scene->facts, &facts.labels, "nvidia.com/device-plugin.config", scene->label);
    }
    if (scene->mark != NULL) {
        struct sl_device_facts *device = sl_arena_alloc(&scene->facts.arena, sizeof(*device));
        *device = (struct sl_device_facts){.mig = true};
        for (unsigned i = 0; i < 8; i++) {
            struct sl_instance_facts *slice = sl_arena_alloc(&scene->facts.arena, sizeof(*slice));
            *slice = (struct sl_instance_facts){SL_STR("10gb"), -1, device->instances};
            device->instances = slice;
        }
        facts.planned = device;
        facts_pair(&scene->facts, &facts.annotations, "sliced.dev/cut", scene->mark);
    }
    for (const struct sl_pair *p = facts_pairs(&scene->facts, allocatable); p != NULL;
         p = p->next) {
        char key[64];
        (void)snprintf(key, sizeof(key), "nvidia.com/gpu-%s", p->key.s);
        facts_pair(&scene->facts, &facts.allocatable, key, p->value.s);
    }
    for (const struct sl_pair *p = facts_pairs(&scene->facts, reported); p != NULL; p = p->next) {
        char key[64];
        (void)snprintf(key, sizeof(key), "nos.nebuly.com/status-gpu-0-%s-free", p->key.s);
        facts_pair(&scene->facts, &facts.annotations, key, p->value.s);
    }
    sl_node_unref(scene->node);
    scene->node = sl_node_new(&facts, &err);
    assert_non_null(scene->node);
}

static enum sl_cut_step later(struct scene *scene, int64_t us)
{
    scene->now_us += us;
    return sl_cut_run_step(&scene->run, scene->node, &rules, scene->now_us);
}

static void wrote(struct scene *scene)
{
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
}

/* One slice of 80 GB becomes eight. */
static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    const struct sl_cut cut = {.n_sizes = 1, .slices = {{10, 8}}};
    facts_init(&scene->facts);
    scene->now_us = 1000 * MINUTE;
    show(scene, "80gb=1", "80gb=1");
    sl_cut_run_begin(&scene->run, scene->node, &cut, 1, scene->now_us);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    sl_node_unref(scene->node);
    facts_free(&scene->facts);
    free(scene);
    return 0;
}

/* Until the label is written. */
static void order(struct scene *scene)
{
    assert_int_equal(later(scene, 0), SL_CUT_ORDER);
    assert_true(scene->run.announces);
    wrote(scene);
    scene->mark = scene->run.name;
    show(scene, "80gb=1", "80gb=1");
    assert_int_equal(later(scene, 4 * SECOND), SL_CUT_WAIT);
    assert_int_equal(later(scene, SECOND), SL_CUT_ORDER);
    assert_false(scene->run.announces);
    wrote(scene);
    scene->label = scene->run.name;
    show(scene, "80gb=1", "80gb=1");
    assert_int_equal(later(scene, 0), SL_CUT_WAIT);
    assert_int_equal(scene->run.attempt, 1);
}

TEST_FIXTURE(set_up, tear_down)

TEST_ON(struct scene *scene, it_is_announced_then_ordered_and_ends_when_the_node_shows_it)
{
    order(scene);
    show(scene, "", "80gb=1");
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    show(scene, "10gb=8", "80gb=1"); /* the agent is behind */
    assert_int_equal(later(scene, SECOND), SL_CUT_WAIT);
    show(scene, "10gb=8", "10gb=8");
    assert_int_equal(later(scene, SECOND), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_DONE);
}

TEST_ON(struct scene *scene, a_plugin_that_lacked_the_file_is_told_again_twice)
{
    order(scene);
    assert_int_equal(later(scene, 59 * SECOND), SL_CUT_WAIT);
    for (unsigned attempt = 2; attempt <= SL_CUT_ATTEMPTS; attempt++) {
        assert_int_equal(later(scene, SECOND), SL_CUT_ORDER);
        assert_int_equal(scene->run.attempt, attempt);
        wrote(scene);
        scene->label = scene->run.name;
        show(scene, "80gb=1", "80gb=1");
        assert_int_equal(later(scene, 59 * SECOND), SL_CUT_WAIT);
    }
    assert_int_equal(later(scene, 10 * MINUTE), SL_CUT_WAIT);
    assert_int_equal(later(scene, 5 * MINUTE), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_SILENT);
}

TEST_ON(struct scene *scene, a_plugin_that_does_not_come_back_is_not_told_again)
{
    order(scene);
    show(scene, "", "80gb=1");
    assert_int_equal(later(scene, 14 * MINUTE), SL_CUT_WAIT);
    assert_int_equal(scene->run.attempt, 1);
    assert_int_equal(later(scene, MINUTE), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_NOT_FOLLOWED);
}

TEST_ON(struct scene *scene, somebody_who_sets_the_label_takes_the_node_over)
{
    order(scene);
    scene->label = "n-1700000000";
    show(scene, "80gb=1", "80gb=1");
    assert_int_equal(later(scene, 10 * SECOND), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_LEFT);
}

TEST_ON(struct scene *scene, a_restart_takes_it_up_and_believes_only_what_was_ordered)
{
    struct sl_cut_run resumed;
    order(scene);
    scene->label = "n-sliced-0-2";
    scene->mark = "sliced-0-2";
    show(scene, "80gb=1", "80gb=1");
    assert_true(sl_cut_run_resume(&resumed, scene->node, scene->now_us));
    scene->run = resumed;
    assert_int_equal(later(scene, 5 * MINUTE), SL_CUT_WAIT); /* it may be carried out yet */
    assert_true(sl_node_is_cut(scene->node));
    show(scene, "10gb=8", "10gb=8");
    assert_int_equal(later(scene, 0), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_DONE);
}

TEST_ON(struct scene *scene, a_restart_before_the_label_gives_it_up)
{
    struct sl_cut_run resumed;
    scene->mark = "sliced-0-1";
    show(scene, "80gb=1", "80gb=1");
    assert_true(sl_cut_run_resume(&resumed, scene->node, scene->now_us));
    scene->run = resumed;
    assert_int_equal(later(scene, 0), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_LEFT);
}

/* Whoever selects the node: the plugin carries it out. */
TEST_ON(struct scene *scene, switched_off_it_is_waited_for)
{
    order(scene);
    scene->deselected = true;
    show(scene, "80gb=1", "80gb=1");
    assert_true(sl_node_is_cut(scene->node));
    assert_int_equal(later(scene, MINUTE), SL_CUT_WAIT);
    show(scene, "10gb=8", "10gb=8");
    assert_false(sl_node_is_cut(scene->node));
    assert_int_equal(later(scene, 0), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_LEFT);
}

TEST_ON(struct scene *scene, switched_off_before_the_label_nothing_is_ordered)
{
    assert_int_equal(later(scene, 0), SL_CUT_ORDER);
    wrote(scene);
    scene->mark = scene->run.name;
    scene->deselected = true;
    show(scene, "80gb=1", "80gb=1");
    assert_false(sl_node_is_cut(scene->node));
    assert_int_equal(later(scene, 5 * SECOND), SL_CUT_FINISH);
    assert_int_equal(scene->run.outcome, SL_CUT_LEFT);
}
