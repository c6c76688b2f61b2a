/* A cut under way on a node that shows what the test says. */
#ifndef SLICED_TEST_RUN_RIG_H
#define SLICED_TEST_RUN_RIG_H

#include <stdio.h>

#include <string.h>

#include "sliced/cut_run.h"
#include "unit/test.h"

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

/* A node of nos' agent, with the plans that it is to make and has made. */
#define NOS(a, b, c, d, e)                                                                         \
    (struct shown)                                                                                 \
    {                                                                                              \
        .resource = (a), .units = (b), .cut = (c), .spec = (d), .status = (e),                     \
        .actuator = SL_ACTUATOR_NOS_MIG                                                            \
    }

/* Makes the node show these; NULL: absent. */
struct shown {
    const char *resource;
    const char *units;
    const char *also; /* the node's other resource, of which it has also_units */
    const char *also_units;
    const char *config;  /* nvidia.com/mig.config */
    const char *state;   /* nvidia.com/mig.config.state */
    const char *cut;     /* sliced.dev/cut */
    const char *spec;    /* nos: spec-partitioning-plan */
    const char *status;  /* nos: status-partitioning-plan */
    const char *reports; /* nos: status-gpu-0-1g.10gb-free */
    unsigned planned;    /* small instances in sliced.dev/cut-devices */
    enum sl_actuator actuator;
};

static inline void show(struct scene *scene, struct shown shown)
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
    struct sl_pair also = {sl_str_of(shown.also), sl_str_of(shown.also_units), NULL};
    struct sl_pair allocatable = {sl_str_of(shown.resource), sl_str_of(shown.units),
                                  shown.also == NULL ? NULL : &also};
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

static inline enum sl_cut_step step(struct scene *scene)
{
    return sl_cut_run_step(&scene->run, scene->node, &rules, scene->now_us);
}

static inline enum sl_cut_step later(struct scene *scene, int64_t us)
{
    scene->now_us += us;
    return step(scene);
}

/* Begins to cut a GPU that is one large instance into seven small ones. */
static inline void begin_as(struct scene *scene, enum sl_actuator actuator)
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

static inline void begin(struct scene *scene)
{
    begin_as(scene, SL_ACTUATOR_MIG_MANAGER);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
}

/* The run ends with that outcome, and its mark is taken off the node. */
static inline void assert_ends(struct scene *scene, enum sl_cut_outcome outcome)
{
    assert_int_equal(scene->run.outcome, outcome);
    sl_cut_run_wrote(&scene->run, SL_CUT_WRITTEN, scene->now_us);
    show(scene, MIG(LARGE, "1", "x", "success", NULL));
    assert_int_equal(step(scene), SL_CUT_END);
    assert_int_equal(scene->run.outcome, outcome);
    sl_node_unref(scene->node);
    scene->node = NULL;
}

static inline void end(struct scene *scene)
{
    sl_node_unref(scene->node);
}

#endif
