/* Any text as the record of tenants' shares that a planner before wrote: pods come, run and start
 * as they would without it, all accounts agree, and what is written of it is read the same. */
#include <stdlib.h>
#include <string.h>

#include "../unit/core/plan/plan_defaults.h"
#include "core/plan/state/calls.h"

#define GPU "nvidia.com/gpu"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PODS = 8, RUNNING = 3, GPUS = 4, TEXT_MAX = 4096 };

static const int64_t now_us = INT64_C(1000000) * SL_SECOND_US; /* as in the corpus */

static struct sl_tenants tenants = {
    .n_shares = 2,
    .n_spaces = 2,
    .share = {{.tenant = "a", .weight = SL_TENANT_WEIGHT_ONE, .users = true},
              {.tenant = "b", .weight = SL_TENANT_WEIGHT_ONE, .max_waiting = 2}},
    .space = {{.namespace = "a*", .tenant = "a"}, {.namespace = "b", .tenant = "b"}},
    .n_guarantees = 1,
    .guarantee = {{.tenant = "a", .resource = GPU, .model = "m", .units = 1}},
};

static struct {
    struct sl_node node;
    struct sl_pool pool;
    struct sl_label label;
    struct sl_device device[GPUS];
    struct sl_ask_item item;
    struct sl_pod pod[PODS];
    char uid[PODS][17];
} scene;

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Two tenants, of whom one has two users; the first pods run, and some select the node's model. */
static void set_scene(void)
{
    static const char *const namespaces[] = {"a", "b", "a-2"};
    const uint64_t key = sl_hash(GPU, strlen(GPU));
    scene.pool = (struct sl_pool){.resource = GPU,
                                  .key = key,
                                  .kind = SL_KIND_WHOLE,
                                  .capacity = GPUS,
                                  .replicas = 1,
                                  .on_devices = true};
    scene.node = (struct sl_node){.name = "n",
                                  .layout = SL_LAYOUT_ANNOTATED,
                                  .n_devices = GPUS,
                                  .n_pools = 1,
                                  .device = scene.device,
                                  .pool = &scene.pool,
                                  .host = {-1, -1, -1},
                                  .refs = 1000000};
    scene.item =
        (struct sl_ask_item){.resource = GPU, .key = key, .kind = SL_KIND_WHOLE, .count = 1};
    for (int i = 0; i < GPUS; i++) {
        scene.device[i] = (struct sl_device){.index = (int16_t)i, .healthy = true};
    }
    static const char *const model = "m";
    static const struct sl_match selects = {
        .key = SL_MODEL_LABEL, .op = SL_MATCH_IN, .value = &model, .n_values = 1};
    static const struct sl_constraints constraints = {
        .selector = &selects, .n_selector = 1, .digest = 7};
    scene.label = (struct sl_label){.key = SL_MODEL_LABEL, .value = model};
    scene.node.label = &scene.label;
    scene.node.n_labels = 1;
    for (int i = 0; i < PODS; i++) {
        memcpy(scene.uid[i], "0000000000000000", sizeof(scene.uid[i]));
        scene.uid[i][15] = (char)('0' + i);
        scene.pod[i] = (struct sl_pod){.namespace = namespaces[i % 3],
                                       .name = scene.uid[i],
                                       .uid = scene.uid[i],
                                       .gate = SL_GATE_OURS,
                                       .created_us = now_us - SL_SECOND_US * (100 - i),
                                       .timeout_s = 50 + i,
                                       .items = &scene.item,
                                       .n_items = 1,
                                       .refs = 1000000};
        scene.pod[i].constraints = i % 4 == 0 ? &constraints : NULL;
        if (i < RUNNING) {
            scene.pod[i].node = "n";
            scene.pod[i].phase = SL_POD_RUNNING;
            scene.pod[i].started_us = now_us - 10 * SL_SECOND_US;
        }
    }
}

static void act(void *context, const struct sl_plan_action *action)
{
    int *nominated = context;
    *nominated += action->kind == SL_PLAN_NOMINATE;
}

static struct sl_planner *planner_with(struct sl_str record, int64_t at_us)
{
    struct sl_plan_config config;
    plan_defaults(&config);
    config.tenants = &tenants;
    struct sl_planner *planner = sl_planner_new(&config, NULL);
    check(planner != NULL && sl_planner_tenants_load(planner, record, at_us, NULL) == 0);
    return planner;
}

static char *save(const struct sl_planner *planner, size_t *len)
{
    char *text = sl_planner_tenants_save(planner, TEXT_MAX, len);
    check(text != NULL && *len <= TEXT_MAX);
    return text;
}

/* Runs with so many pods on the node; returns how many were nominated. */
static int run(struct sl_planner *planner, int running, int64_t at_us)
{
    struct sl_pod *pods[PODS];
    int nominated = 0;
    for (int i = 0; i < running; i++) {
        pods[i] = &scene.pod[i];
    }
    struct sl_view *view = sl_view_new(&scene.node, pods, (unsigned)running);
    const struct sl_view *const views[] = {view};
    check(view != NULL && sl_planner_cluster(planner, views, 1, at_us, NULL) == 0);
    sl_planner_audit(planner);
    check(sl_planner_run(planner, NULL, PODS, at_us, act, &nominated, NULL) == 0);
    sl_planner_audit(planner);
    check(sl_planner_cluster(planner, NULL, 0, at_us, NULL) == 0);
    sl_view_free(view);
    return nominated;
}

static void check_saved(const struct sl_planner *planner, int64_t at_us)
{
    size_t len = 0;
    size_t again = 0;
    char *text = save(planner, &len);
    struct sl_planner *next = planner_with((struct sl_str){text, len}, at_us);
    char *same = save(next, &again);
    check(again == len && memcmp(text, same, len) == 0);
    sl_planner_free(next);
    free(text);
    free(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set_scene();
    struct sl_planner *planner = planner_with((struct sl_str){(const char *)data, size}, now_us);
    for (int i = RUNNING; i < PODS; i++) {
        check(sl_planner_put(planner, &scene.pod[i], now_us, NULL) == 0);
    }
    check(run(planner, RUNNING, now_us) == GPUS - RUNNING);
    check_saved(planner, now_us);
    for (int i = 1; i < 4; i++) {
        int64_t at_us = now_us + SL_SECOND_US * 100 * i;
        (void)run(planner, RUNNING - i, at_us);
        check_saved(planner, at_us);
    }
    sl_planner_free(planner);
    for (int i = 0; i < PODS; i++) {
        check(scene.pod[i].refs == 1000000);
    }
    check(scene.node.refs == 1000000);
    return 0;
}
