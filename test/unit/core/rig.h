/* Nodes and pods put together by hand, for the tests of what reads views: what labels make of them
 * is tested elsewhere. */
#ifndef SLICED_TEST_RIG_H
#define SLICED_TEST_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "sliced/fit.h"
#include "unit/test.h"

enum { RIG_MADE = 256, RIG_PODS = 64, RIG_INSTANCES = SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX };

struct rig_pod {
    struct sl_pod pod;
    struct sl_ask_item item[SL_ASK_ITEMS_MAX];
    char uid[24];
    char assignment[SL_ASSIGNMENT_TEXT_MAX];
};

struct rig {
    struct sl_node node;
    struct sl_device device[SL_NODE_DEVICES_MAX];
    struct sl_instance instance[RIG_INSTANCES];
    struct sl_pool pool[SL_NODE_POOLS_MAX];
    struct rig_pod pods[RIG_PODS];
    unsigned n_pods;
    struct sl_measured measured[SL_NODE_DEVICES_MAX];
    size_t n_measured;
    struct sl_view *view;
};

/* All that there are; a test that makes very many frees each when it is done with it. */
static struct rig *rig_made[RIG_MADE];

static inline struct rig *rig_new(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    unsigned at = 0;
    while (at < RIG_MADE && rig_made[at] != NULL) {
        at++;
    }
    assert_true(at < RIG_MADE);
    rig_made[at] = rig;
    rig->node.name = "node-1";
    rig->node.layout = SL_LAYOUT_ANNOTATED;
    rig->node.device = rig->device;
    rig->node.instance = rig->instance;
    rig->node.pool = rig->pool;
    rig->node.refs = 1000; /* the rig's own: never freed by a view */
    return rig;
}

static inline void rig_free(struct rig *rig)
{
    sl_view_free(rig->view);
    assert_int_equal(rig->node.refs, 1000);
    for (unsigned i = 0; i < rig->n_pods; i++) {
        assert_int_equal(rig->pods[i].pod.refs, 1000);
    }
    for (unsigned i = 0; i < RIG_MADE; i++) {
        rig_made[i] = rig_made[i] == rig ? NULL : rig_made[i];
    }
    free(rig);
}

/* As a program's fixture: what a test made ends with it. */
static inline int rig_free_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RIG_MADE; i++) {
        if (rig_made[i] != NULL) {
            rig_free(rig_made[i]);
        }
    }
    return 0;
}

static inline unsigned rig_device(struct rig *rig, int64_t memory_units)
{
    unsigned i = rig->node.n_devices;
    rig->device[i] =
        (struct sl_device){.index = (int16_t)i, .healthy = true, .memory_units = memory_units};
    rig->node.n_devices++;
    return i;
}

static inline unsigned rig_pool(struct rig *rig, const char *resource, enum sl_kind kind,
                                int64_t capacity)
{
    unsigned i = rig->node.n_pools;
    rig->pool[i] = (struct sl_pool){.resource = resource,
                                    .key = sl_hash(resource, strlen(resource)),
                                    .kind = kind,
                                    .capacity = capacity,
                                    .replicas = 1,
                                    .on_devices = true};
    rig->node.n_pools++;
    return i;
}

static inline unsigned rig_instance(struct rig *rig, unsigned device, int start, unsigned pool)
{
    unsigned i = rig->node.n_instances;
    rig->instance[i] = (struct sl_instance){.profile = rig->pool[pool].profile,
                                            .device = (uint16_t)device,
                                            .start = (int8_t)start,
                                            .pool = (uint8_t)pool};
    rig->device[device].mig = true;
    rig->node.n_instances++;
    return i;
}

/* n GPUs that can be given whole and shared as memory. */
static inline struct rig *rig_of_gpus(unsigned n, int64_t memory)
{
    struct rig *rig = rig_new();
    rig_pool(rig, "aliyun.com/gpu-mem", SL_KIND_MEMORY, n * memory);
    rig_pool(rig, "nvidia.com/gpu", SL_KIND_WHOLE, n);
    for (unsigned i = 0; i < n; i++) {
        rig_device(rig, memory);
    }
    return rig;
}

static inline const struct sl_mig_model *rig_model(const char *name)
{
    for (size_t i = 0; i < sl_mig_model_count(); i++) {
        if (strcmp(sl_mig_model_at(i)->name, name) == 0) {
            return sl_mig_model_at(i);
        }
    }
    fail_msg("no model %s", name);
    return NULL;
}

static inline const struct sl_mig_profile *rig_profile(const struct sl_mig_model *model,
                                                       const char *name)
{
    const struct sl_mig_profile *profile = sl_mig_profile_find(model, sl_str_of(name));
    assert_non_null(profile);
    return profile;
}

static inline struct sl_ask_item rig_item(const char *resource, int64_t count)
{
    struct sl_resource parsed;
    struct sl_ask_item item = {.resource = resource,
                               .key = sl_hash(resource, strlen(resource)),
                               .count = count,
                               .each = count < UINT8_MAX ? (uint8_t)count : UINT8_MAX};
    if (sl_resource_parse(sl_str_of(resource), &parsed)) {
        item.kind = parsed.kind;
        item.shape = parsed.shape;
    }
    return item;
}

static inline struct sl_ask rig_ask(const char *resource, int64_t count)
{
    struct sl_ask ask = {.n = 1};
    ask.item[0] = rig_item(resource, count);
    return ask;
}

static inline struct sl_ask rig_ask2(const char *a, int64_t a_count, const char *b, int64_t b_count)
{
    struct sl_ask ask = {.n = 2};
    ask.item[0] = rig_item(a, a_count);
    ask.item[1] = rig_item(b, b_count);
    return ask;
}

/* A pod that runs on the node; assignment may be NULL. Its UID is "u<number>", its place in time
 * that number. */
static inline struct sl_pod *rig_run(struct rig *rig, struct sl_ask ask, const char *assignment)
{
    assert_true(rig->n_pods < RIG_PODS);
    struct rig_pod *p = &rig->pods[rig->n_pods];
    snprintf(p->uid, sizeof p->uid, "u%u", rig->n_pods);
    for (unsigned i = 0; i < ask.n; i++) {
        p->item[i] = ask.item[i];
    }
    p->pod.namespace = "default";
    p->pod.name = p->uid;
    p->pod.uid = p->uid;
    p->pod.node = "node-1";
    p->pod.phase = SL_POD_RUNNING;
    p->pod.created_us = rig->n_pods;
    p->pod.n_items = ask.n;
    p->pod.items = p->item;
    p->pod.refs = 1000;
    if (assignment != NULL) {
        snprintf(p->assignment, sizeof p->assignment, "%s", assignment);
        p->pod.assignment = p->assignment;
    }
    rig->n_pods++;
    return &p->pod;
}

static inline struct sl_view *rig_view(struct rig *rig)
{
    struct sl_pod *pods[RIG_PODS];
    for (unsigned i = 0; i < rig->n_pods; i++) {
        pods[i] = &rig->pods[i].pod;
    }
    const struct sl_host_use beside = {.measured = rig->measured, .n_measured = rig->n_measured};
    struct sl_view *view = sl_view_new_beside(&rig->node, pods, rig->n_pods, &beside);
    assert_non_null(view);
    sl_view_free(rig->view);
    rig->view = view;
    return view;
}

/* The assignment that sl_choose makes, as text; "" when the ask does not fit. */
static inline const char *rig_choose(struct rig *rig, struct sl_ask ask)
{
    static char text[SL_ASSIGNMENT_TEXT_MAX];
    struct sl_assignment assignment;
    text[0] = '\0';
    if (sl_choose(rig_view(rig), &ask, &assignment, NULL)) {
        assert_true(sl_assignment_format(&rig->node, &ask, &assignment, text, sizeof text) > 0);
    }
    return text;
}

static inline struct sl_verdict rig_verdict(struct rig *rig, struct sl_ask ask)
{
    struct sl_verdict by_fit;
    struct sl_verdict by_choose;
    const struct sl_view *view = rig_view(rig);
    bool fits = sl_fit(view, &ask, &by_fit);
    assert_int_equal(fits, sl_choose(view, &ask, NULL, &by_choose));
    assert_int_equal(fits, sl_fit(view, &ask, NULL));
    assert_int_equal(by_fit.reason, by_choose.reason);
    assert_int_equal(by_fit.item, by_choose.item);
    assert_int_equal(by_fit.asked, by_choose.asked);
    assert_int_equal(by_fit.free, by_choose.free);
    assert_int_equal(by_fit.capacity, by_choose.capacity);
    assert_int_equal(by_fit.largest, by_choose.largest);
    return by_fit;
}

/* Numbers 0..n-1 that are the same in every run. */
static inline unsigned rig_random(uint64_t *state, unsigned n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % n;
}

#endif
