/* A cut under way: each way that it can go, as a script of what the node shows. */
#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sliced/cut_run.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define SMALL  "nvidia.com/mig-1g.10gb"
#define LARGE  "nvidia.com/mig-7g.80gb"

static const struct sl_cut_rules rules = {.timeout_us = 15 * MINUTE,
                                          .backoff_us = MINUTE,
                                          .max_backoff_us = 8 * MINUTE,
                                          .file_us = 2 * SECOND};

struct scene {
    struct sl_cut_run run;
    struct sl_node *node; /* NULL: gone */
    int64_t now_us;
};

#define MIG(a, b, c, d, e)                                                                         \
    (struct shown)                                                                                 \
    {                                                                                              \
        .resource = (a), .units = (b), .config = (c), .state = (d), .cut = (e)                     \
    }

/* What the node shows; NULL stands for absent. */
struct shown {
    const char *resource;
    const char *units;
    const char *config;  /* nvidia.com/mig.config */
    const char *state;   /* nvidia.com/mig.config.state */
    const char *cut;     /* sliced.dev/cut */
    const char *spec;    /* nos: spec-partitioning-plan */
    const char *status;  /* nos: status-partitioning-plan */
    const char *reports; /* nos: status-gpu-0-1g.10gb-free */
    unsigned planned;    /* small instances in sliced.dev/cut-devices */
    enum sl_actuator actuator;
};

static void show(struct scene *scene, struct shown shown)
{
    struct sl_pair label[6] = {
        {SL_STR("nvidia.com/gpu.product"), SL_STR("NVIDIA-A100-SXM4-80GB"), NULL},
        {SL_STR("nvidia.com/gpu.count"), SL_STR("1"), &label[0]},
        {SL_STR("nvidia.com/gpu.memory"), SL_STR("81920"), &label[1]},
        {SL_STR("nvidia.com/mig.strategy"), SL_STR("mixed"), &label[2]},
        {SL_STR("nvidia.com/mig.config"), sl_str_of(shown.config), &label[3]},
        {SL_STR("nvidia.com/mig.config.state"), sl_str_of(shown.state), &label[4]},
    };
    struct sl_pair reported = {SL_STR("nos.nebuly.com/status-gpu-0-1g.10gb-free"),
                               sl_str_of(shown.reports), NULL};
    struct sl_instance_facts small[8] = {{.next = NULL}};
    struct sl_device_facts planned = {.mig = true};
    for (unsigned i = 0; i < shown.planned; i++) {
        small[i] = (struct sl_instance_facts){SL_STR("1g.10gb"), -1, planned.instances};
        planned.instances = &small[i];
    }
    struct sl_pair annotation[3] = {
        {SL_STR("sliced.dev/cut"), sl_str_of(shown.cut), shown.reports != NULL ? &reported : NULL},
        {SL_STR("nos.nebuly.com/spec-partitioning-plan"), sl_str_of(shown.spec), &annotation[0]},
        {SL_STR("nos.nebuly.com/status-partitioning-plan"), sl_str_of(shown.status),
         &annotation[1]},
    };
    struct sl_pair allocatable = {sl_str_of(shown.resource), sl_str_of(shown.units), NULL};
    if (shown.cut == NULL) {
        annotation[1].next = NULL;
    }
    const struct sl_node_facts facts = {
        .name = SL_STR("n"),
        .labels = shown.config == NULL ? &label[3] : &label[5],
        .annotations = shown.status != NULL ? &annotation[2]
                       : shown.spec != NULL ? &annotation[1]
                       : shown.cut != NULL  ? &annotation[0]
                                            : NULL,
        .allocatable = &allocatable,
        .capacity = &allocatable,
        .planned = shown.planned > 0 ? &planned : NULL,
        .actuator = shown.actuator == SL_ACTUATOR_NONE ? SL_ACTUATOR_MIG_MANAGER : shown.actuator};
    sl_node_unref(scene->node);
    scene->node = sl_node_new(&facts, NULL);
    assert_non_null(scene->node);
}

static enum sl_cut_step step(struct scene *scene)
{
    return sl_cut_run_step(&scene->run, scene->node, &rules, scene->now_us);
}

static enum sl_cut_step later(struct scene *scene, int64_t us)
{
    scene->now_us += us;
    return step(scene);
}

/* Begins to cut a GPU that is one large instance into seven small ones. */
static void begin_as(struct scene *scene, enum sl_actuator actuator)
{
    memset(scene, 0, sizeof(*scene));
    scene->now_us = 1000 * MINUTE;
    show(scene, (struct shown){.resource = LARGE,
                               .units = "1",
                               .config = "all-7g.80gb",
                               .state = "success",
                               .actuator = actuator});
    assert_non_null(scene->node->model);
    const struct sl_mig_model *model = scene->node->model;
    const struct sl_mig_profile *small = sl_mig_profile_find(model, SL_STR("1g.10gb"));
    struct sl_cut cut = {.device = 0, .n = 7};
    for (uint8_t i = 0; i < 7; i++) {
        cut.instance[i] =
            (struct sl_mig_placement){.profile = (uint8_t)(small - model->profiles), .start = i};
    }
    sl_cut_run_begin(&scene->run, scene->node, &cut, 1, scene->now_us);
    assert_int_equal(step(scene), SL_CUT_ORDER);
    assert_int_equal(step(scene), SL_CUT_WAIT); /* the write is under way */
    if (scene->run.announces) {
        sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
        assert_int_equal(later(scene, rules.file_us - 1), SL_CUT_WAIT);
        assert_int_equal(later(scene, 1), SL_CUT_ORDER);
        assert_false(scene->run.announces);
    }
}

static void begin(struct scene *scene)
{
    begin_as(scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
}

/* The run ends with that outcome, and its mark is taken off the node. */
static void assert_ends(struct scene *scene, enum sl_cut_outcome outcome)
{
    assert_int_equal(scene->run.outcome, outcome);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
    show(scene, MIG(LARGE, "1", "x", "success", NULL));
    assert_int_equal(step(scene), SL_CUT_END);
    assert_int_equal(scene->run.outcome, outcome);
    sl_node_unref(scene->node);
}

static void success_and_the_new_instances_are_the_end(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(later(&scene, 30 * SECOND), SL_CUT_WAIT);
    show(&scene, MIG(SMALL, "0", name, "success", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    show(&scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

/* The watch shows it before the order is written, or written again. */
static void what_somebody_else_told_the_agent_meanwhile_stands(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    show(&scene, MIG(LARGE, "1", "by-hand", "success", NULL));
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_int_equal(scene.run.outcome, SL_CUT_LEFT);
    sl_node_unref(scene.node);
    begin(&scene); /* what an earlier attempt told it is ours */
    char first[SL_CUT_NAME_MAX];
    (void)snprintf(first, sizeof(first), "%s", scene.run.name);
    show(&scene, MIG(LARGE, "1", first, "failed", first));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_ORDER);
    assert_string_not_equal(scene.run.name, first);
    sl_node_unref(scene.node);
}

static void success_without_the_instances_is_not_the_end(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(SMALL, "5", name, "success", name));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    assert_int_equal(scene.run.wake_us, scene.now_us + MINUTE);
    assert_int_equal(later(&scene, 59 * SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_NOT_FOLLOWED);
}

static void what_follows_success_takes_no_longer_than_a_cut_may(void **state)
{
    struct sl_cut_rules hasty = rules;
    struct scene scene;
    (void)state;
    hasty.timeout_us = 5 * SECOND;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(SMALL, "5", name, "success", name));
    assert_int_equal(sl_cut_run_step(&scene.run, scene.node, &hasty, scene.now_us), SL_CUT_WAIT);
    assert_int_equal(scene.run.wake_us, scene.now_us + 5 * SECOND);
    scene.now_us += 5 * SECOND;
    assert_int_equal(sl_cut_run_step(&scene.run, scene.node, &hasty, scene.now_us), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_NOT_FOLLOWED);
}

/* The file of the mig-manager's pod lags behind the ConfigMap. */
static void a_failure_at_once_is_tried_again_under_another_name(void **state)
{
    struct scene scene;
    char names[SL_CUT_ATTEMPTS][SL_CUT_NAME_MAX];
    (void)state;
    begin(&scene);
    for (unsigned i = 0; i < SL_CUT_ATTEMPTS; i++) {
        memcpy(names[i], scene.run.name, sizeof(names[i]));
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(names[i], names[k]);
        }
        show(&scene, MIG(LARGE, "1", names[i], "failed", names[i]));
        if (i + 1 == SL_CUT_ATTEMPTS) {
            break;
        }
        assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
        assert_true(scene.run.wake_us > scene.now_us);
        scene.now_us = scene.run.wake_us;
        assert_int_equal(step(&scene), SL_CUT_ORDER);
        sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    }
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_FAILED);
}

static void a_failure_of_a_run_that_took_place_is_the_end(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    show(&scene, MIG(LARGE, "0", name, "failed", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT); /* the device plugin comes back */
    show(&scene, MIG(LARGE, "1", name, "failed", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_FAILED);
}

static void a_gpu_left_without_instances_is_told_apart(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "0", name, "failed", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(scene.run.wake_us, scene.now_us + 20 * SECOND);
    assert_int_equal(later(&scene, 20 * SECOND - 1), SL_CUT_WAIT);
    assert_int_equal(later(&scene, 1), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_HALF_APPLIED);
}

static void pending_for_ever_is_wedged(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "0", name, "pending", name));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    assert_int_equal(scene.run.wake_us, scene.run.begun_us + rules.timeout_us);
    show(&scene, MIG(LARGE, "0", name, "rebooting", name));
    assert_string_equal(sl_cut_run_phase(&scene.run, scene.node), "rebooting");
    scene.now_us = scene.run.begun_us + rules.timeout_us;
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_WEDGED);
}

static void nos_agent_ends_by_repeating_the_plans_name(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    struct shown shown = {.resource = LARGE,
                          .units = "1",
                          .cut = name,
                          .spec = name,
                          .status = "an earlier one",
                          .actuator = SL_ACTUATOR_NOS_MIG};
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_WAIT);
    assert_true(scene.run.wake_us > scene.now_us); /* nothing to do until it answers */
    shown.resource = SMALL;
    shown.units = "7";
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    shown.status = name;
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

static void a_plan_of_somebody_else_ends_the_run_at_nos_too(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    show(&scene, (struct shown){.resource = LARGE,
                                .units = "1",
                                .cut = scene.run.name,
                                .spec = "by-hand",
                                .actuator = SL_ACTUATOR_NOS_MIG});
    assert_int_equal(later(&scene, 9 * SECOND), SL_CUT_WAIT); /* the watch may be late */
    assert_int_equal(scene.run.wake_us, scene.now_us + SECOND);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

static void a_silent_agent_is_not_waited_for_for_ever(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    show(&scene, (struct shown){.resource = LARGE,
                                .units = "1",
                                .cut = name,
                                .spec = name,
                                .actuator = SL_ACTUATOR_NOS_MIG});
    assert_int_equal(later(&scene, 14 * MINUTE), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_SILENT);
}

static void an_agent_that_lies_is_found_out_by_what_is_allocatable(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    const char *name = scene.run.name;
    show(&scene, (struct shown){.resource = LARGE,
                                .units = "1",
                                .cut = name,
                                .spec = name,
                                .status = name,
                                .actuator = SL_ACTUATOR_NOS_MIG});
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_HALF_APPLIED);
}

static void a_node_that_is_gone_ends_its_run(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    sl_node_unref(scene.node);
    scene.node = NULL;
    assert_int_equal(step(&scene), SL_CUT_END);
    assert_int_equal(scene.run.outcome, SL_CUT_GONE);
}

static void a_label_of_somebody_else_ends_the_run(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    show(&scene, MIG(LARGE, "1", "all-balanced", "pending", scene.run.name));
    assert_int_equal(later(&scene, 9 * SECOND), SL_CUT_WAIT); /* the watch may be late */
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

static void an_order_that_is_refused_leaves_nothing_behind(void **state)
{
    struct scene scene;
    (void)state;
    static const struct {
        enum sl_cut_write_end end;
        enum sl_cut_outcome outcome;
    } rows[] = {{SL_CUT_WRITE_REFUSED, SL_CUT_REFUSED},
                {SL_CUT_WRITE_BAD_FILE, SL_CUT_BAD_FILE},
                {SL_CUT_WRITE_MOOT, SL_CUT_LEFT}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        begin_as(&scene, SL_ACTUATOR_NOS_MIG);
        sl_cut_run_wrote(&scene.run, rows[i].end, scene.now_us);
        assert_int_equal(step(&scene), SL_CUT_END);
        assert_int_equal(scene.run.outcome, rows[i].outcome);
        sl_node_unref(scene.node);
    }
}

static void an_order_that_failed_is_written_again(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    const unsigned attempt = scene.run.attempt;
    for (unsigned i = 0; i < 10; i++) {
        sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        scene.now_us = scene.run.wake_us;
        assert_int_equal(step(&scene), SL_CUT_ORDER);
        assert_int_equal(scene.run.attempt, attempt); /* nobody has seen the name */
    }
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    assert_int_equal(later(&scene, rules.timeout_us), SL_CUT_END); /* the node was never told */
    assert_int_equal(scene.run.outcome, SL_CUT_REFUSED);
    sl_node_unref(scene.node);
}

/* However long ago another write of it was: the API server may be away for ever. */
static void an_order_that_was_announced_is_given_up_in_time(void **state)
{
    struct scene scene;
    (void)state;
    begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
    assert_int_equal(later(&scene, rules.timeout_us), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_REFUSED);
}

/* The label is not set before the file is there: the first one finds its entry. */
static void the_file_has_its_time_before_the_mig_manager_is_told(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    assert_int_equal(scene.run.attempt, 1);
    assert_int_equal(scene.now_us, scene.run.begun_us + rules.file_us);
    show(&scene, MIG(LARGE, "1", "all-7g.80gb", "success", "sliced-5c3d-0"));
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us)); /* a restart before it */
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

/* Another scheduler's pod came while the mig-manager was away. */
static void an_order_that_was_not_begun_is_taken_back_from_a_newcomer(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    char name[SL_CUT_NAME_MAX];
    (void)snprintf(name, sizeof(name), "%s", scene.run.name);
    show(&scene, MIG(LARGE, "1", name, "pending", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    scene.run.taken = true;
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_int_equal(scene.run.outcome, SL_CUT_TAKEN);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    show(&scene, MIG(LARGE, "1", "sliced-5c3d-0", "pending", NULL));
    assert_int_equal(later(&scene, 9 * SECOND), SL_CUT_WAIT);
    struct scene begun = scene; /* it had begun in that moment */
    begun.node = NULL;
    show(&begun, MIG(LARGE, "0", "sliced-5c3d-0", "pending", NULL));
    assert_int_equal(step(&begun), SL_CUT_WAIT);
    assert_int_equal(later(&begun, MINUTE), SL_CUT_WAIT);
    show(&begun, MIG(SMALL, "0", "sliced-5c3d-0", "failed", NULL));
    assert_int_equal(step(&begun), SL_CUT_END);
    sl_node_unref(begun.node);
    assert_int_equal(later(&scene, SECOND), SL_CUT_END);
    sl_node_unref(scene.node);
}

static void an_order_that_was_begun_is_followed_though_a_pod_came(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "0", name, "pending", name));
    scene.run.taken = true;
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    show(&scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

static void the_mark_is_taken_off_however_often_that_fails(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(SMALL, "7", name, "success", name));
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    for (unsigned i = 0; i < 5; i++) {
        sl_cut_run_wrote(&scene.run, SL_CUT_WRITE_FAILED, scene.now_us);
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        scene.now_us = scene.run.wake_us;
        assert_int_equal(step(&scene), SL_CUT_FINISH);
    }
    assert_ends(&scene, SL_CUT_DONE);
}

static void after_a_restart_the_node_says_what_is_under_way(void **state)
{
    struct scene scene = {.now_us = MINUTE};
    (void)state;
    show(&scene, MIG(LARGE, "1", "a", "success", NULL));
    assert_false(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    show(&scene, MIG(SMALL, "0", "sliced-1-1", "pending", "sliced-1-1"));
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    assert_int_equal(step(&scene), SL_CUT_WAIT); /* and orders nothing */
    show(&scene, MIG(SMALL, "7", "sliced-1-1", "success", "sliced-1-1"));
    assert_int_equal(later(&scene, SECOND), SL_CUT_WAIT);
    scene.now_us = scene.run.wake_us;
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

/* The agent repeats a plan's name when it has read it: what it makes of it is what counts. */
static void after_a_restart_nos_agent_has_ended_when_it_reports_what_was_planned(void **state)
{
    static const struct shown rows[] = {
        {.resource = SMALL, .units = "6", .reports = "6", .planned = 7}, /* as before */
        {.resource = SMALL, .units = "7", .reports = "6", .planned = 7}, /* the report is behind */
        {.resource = SMALL, .units = "6", .reports = "7", .planned = 7}, /* allocatable is */
        {.resource = SMALL, .units = "7", .reports = "7", .planned = 7},
    };
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct scene scene = {.now_us = MINUTE};
        struct shown shown = rows[i];
        shown.cut = "sliced-1-1";
        shown.spec = "sliced-1-1";
        shown.status = "sliced-1-1";
        shown.actuator = SL_ACTUATOR_NOS_MIG;
        show(&scene, shown);
        assert_int_equal(scene.node->partition.at_work, i < 3);
        assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
        assert_int_equal(step(&scene), i < 3 ? SL_CUT_WAIT : SL_CUT_FINISH);
        sl_node_unref(scene.node);
    }
}

static void after_a_restart_the_plan_that_the_node_keeps_ends_a_cut_at_once(void **state)
{
    struct scene scene = {.now_us = MINUTE};
    (void)state;
    show(&scene, (struct shown){.resource = SMALL,
                                .units = "7",
                                .config = "sliced-1-1",
                                .state = "success",
                                .cut = "sliced-1-1",
                                .planned = 7});
    assert_true(sl_cut_run_resume(&scene.run, scene.node, scene.now_us));
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_DONE);
}

/* nos' agent may still delete what a pod would be given. */
static void a_node_is_left_when_nos_agent_has_answered(void **state)
{
    struct scene scene;
    struct shown shown = {.resource = LARGE, .units = "1", .status = "8"};
    (void)state;
    begin_as(&scene, SL_ACTUATOR_NOS_MIG);
    sl_cut_run_wrote(&scene.run, SL_CUT_WRITTEN, scene.now_us);
    shown.cut = scene.run.name;
    shown.spec = scene.run.name;
    shown.actuator = SL_ACTUATOR_MIG_MANAGER; /* it is another's now */
    show(&scene, shown);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_WAIT);
    assert_true(sl_node_is_cut(scene.node));
    shown.status = scene.run.name;
    show(&scene, shown);
    assert_int_equal(later(&scene, SECOND), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

/* The watch has never shown the mark, which is there all the same. */
static void a_mark_that_was_written_is_taken_off_though_nobody_saw_it(void **state)
{
    static const enum sl_cut_write_end ends[] = {SL_CUT_WRITTEN, SL_CUT_WRITE_UNKNOWN};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct scene scene;
        begin_as(&scene, SL_ACTUATOR_MIG_MANAGER);
        sl_cut_run_wrote(&scene.run, ends[i], scene.now_us);
        show(&scene, MIG(LARGE, "1", "all-balanced", "pending", NULL));
        assert_int_equal(step(&scene), SL_CUT_WAIT);
        assert_int_equal(scene.run.wake_us, scene.now_us + 10 * SECOND);
        assert_int_equal(later(&scene, 10 * SECOND), SL_CUT_FINISH);
        assert_ends(&scene, SL_CUT_LEFT);
    }
}

static void a_node_that_is_not_selected_any_more_is_left(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    show(&scene, (struct shown){.resource = LARGE,
                                .units = "1",
                                .cut = scene.run.name,
                                .actuator = SL_ACTUATOR_NOS_MIG});
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

/* The mig-manager may still destroy what a pod would be given. */
static void a_node_at_work_is_left_when_its_agent_has_ended(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    struct shown shown = {.resource = LARGE,
                          .units = "1",
                          .config = name,
                          .state = "pending",
                          .cut = name,
                          .actuator = SL_ACTUATOR_NOS_MIG};
    show(&scene, shown);
    assert_int_equal(later(&scene, MINUTE), SL_CUT_WAIT);
    assert_int_equal(scene.run.wake_us, scene.run.begun_us + rules.timeout_us);
    shown.state = "success";
    show(&scene, shown);
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

static void a_node_that_is_not_selected_any_more_is_ordered_nothing(void **state)
{
    struct scene scene;
    (void)state;
    begin(&scene);
    const char *name = scene.run.name;
    show(&scene, MIG(LARGE, "1", name, "failed", name));
    assert_int_equal(step(&scene), SL_CUT_WAIT);
    show(&scene,
         (struct shown){
             .resource = LARGE, .units = "1", .cut = name, .actuator = SL_ACTUATOR_NOS_MIG});
    scene.now_us = scene.run.wake_us;
    assert_int_equal(step(&scene), SL_CUT_FINISH);
    assert_ends(&scene, SL_CUT_LEFT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_and_the_new_instances_are_the_end),
        cmocka_unit_test(what_somebody_else_told_the_agent_meanwhile_stands),
        cmocka_unit_test(success_without_the_instances_is_not_the_end),
        cmocka_unit_test(what_follows_success_takes_no_longer_than_a_cut_may),
        cmocka_unit_test(a_failure_at_once_is_tried_again_under_another_name),
        cmocka_unit_test(a_failure_of_a_run_that_took_place_is_the_end),
        cmocka_unit_test(a_gpu_left_without_instances_is_told_apart),
        cmocka_unit_test(pending_for_ever_is_wedged),
        cmocka_unit_test(nos_agent_ends_by_repeating_the_plans_name),
        cmocka_unit_test(a_plan_of_somebody_else_ends_the_run_at_nos_too),
        cmocka_unit_test(a_silent_agent_is_not_waited_for_for_ever),
        cmocka_unit_test(an_agent_that_lies_is_found_out_by_what_is_allocatable),
        cmocka_unit_test(a_node_that_is_gone_ends_its_run),
        cmocka_unit_test(a_label_of_somebody_else_ends_the_run),
        cmocka_unit_test(an_order_that_is_refused_leaves_nothing_behind),
        cmocka_unit_test(an_order_that_failed_is_written_again),
        cmocka_unit_test(an_order_that_was_announced_is_given_up_in_time),
        cmocka_unit_test(the_file_has_its_time_before_the_mig_manager_is_told),
        cmocka_unit_test(an_order_that_was_not_begun_is_taken_back_from_a_newcomer),
        cmocka_unit_test(an_order_that_was_begun_is_followed_though_a_pod_came),
        cmocka_unit_test(the_mark_is_taken_off_however_often_that_fails),
        cmocka_unit_test(after_a_restart_the_node_says_what_is_under_way),
        cmocka_unit_test(after_a_restart_nos_agent_has_ended_when_it_reports_what_was_planned),
        cmocka_unit_test(after_a_restart_the_plan_that_the_node_keeps_ends_a_cut_at_once),
        cmocka_unit_test(a_node_is_left_when_nos_agent_has_answered),
        cmocka_unit_test(a_mark_that_was_written_is_taken_off_though_nobody_saw_it),
        cmocka_unit_test(a_node_that_is_not_selected_any_more_is_left),
        cmocka_unit_test(a_node_at_work_is_left_when_its_agent_has_ended),
        cmocka_unit_test(a_node_that_is_not_selected_any_more_is_ordered_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
