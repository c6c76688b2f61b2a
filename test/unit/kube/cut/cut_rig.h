/* Nodes and cuts for the tests of this room. */
#ifndef SLICED_TEST_CUT_RIG_H
#define SLICED_TEST_CUT_RIG_H

#include "unit/kube/calls.h"

#include <stdio.h>

#include "codec/object.h"
#include "sliced/cut_run.h"

#define A100(labels)                                                                               \
    "\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-80GB\",\"nvidia.com/"                           \
    "gpu.memory\":\"81920\"" labels

/* A node as the API server tells it. */
#define NODE(labels, annotations, allocatable)                                                     \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u1\","       \
    "\"resourceVersion\":\"7\",\"labels\":{" labels "},\"annotations\":{" annotations              \
    "}},\"status\":{\"allocatable\":{" allocatable "}}}"

struct node_reading {
    enum sl_actuator actuator;
    struct sl_node *node;
};

static inline int take_node(void *context, const struct sl_object *object, struct sl_error *err)
{
    struct node_reading *reading = context;
    assert_non_null(object->node);
    object->node->actuator = reading->actuator;
    reading->node = sl_node_new(object->node, err);
    return reading->node == NULL ? -1 : 0;
}

static inline struct sl_node *node_of(const char *json, enum sl_actuator actuator)
{
    const struct sl_text_limits limits = {
        .max_bytes = SIZE_MAX, .max_string = 1 << 20, .max_depth = 64};
    struct node_reading reading = {actuator, NULL};
    struct sl_error err = {.message = ""};
    if (sl_manifest_decode(json, strlen(json), &limits, take_node, &reading, &err) < 0) {
        fail_msg("%s %s\n%s", err.field, err.message, json);
    }
    return reading.node;
}

static inline uint8_t profile_at(const struct sl_mig_model *model, const char *name)
{
    const struct sl_mig_profile *profile = sl_mig_profile_find(model, sl_str_of(name));
    assert_non_null(profile);
    return (uint8_t)(profile - model->profiles);
}

/* A cut of the node's model: "3g.40gb 3g.40gb"; "whole": MIG mode off. */
static inline struct sl_cut cut_of(const struct sl_node *node, uint16_t device,
                                   const char *profiles)
{
    struct sl_cut cut = {.device = device, .whole = strcmp(profiles, "whole") == 0};
    struct sl_str rest = sl_str_of(profiles);
    const struct sl_mig_model *model =
        node->model != NULL ? node->model : node->device[device].model;
    while (!cut.whole && rest.len > 0) {
        char name[32];
        struct sl_str part = sl_str_cut(&rest, ' ');
        (void)snprintf(name, sizeof(name), "%.*s", (int)part.len, part.s);
        cut.instance[cut.n++].profile = profile_at(model, name);
    }
    return cut;
}

#endif
