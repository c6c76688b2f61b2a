/* What is shown of a node: its resources, its GPUs, and who uses them. */
#ifndef SLICED_SERVER_MODEL_NODE_H
#define SLICED_SERVER_MODEL_NODE_H

#include "server/model/field.h"
#include "sliced/view.h"

/* Of a struct sl_view. Users see no pods. */
extern const struct sl_field sl_model_node[];

/* A resource of a node. */
struct sl_model_pool {
    const struct sl_pool *pool;
    const char *kind;
    const char *profile;
    int64_t used;
    int64_t set_aside;
    int64_t free;
    int64_t declared_mib;
};
extern const struct sl_field sl_model_pool[];
void sl_model_pool_of(const struct sl_view *view, unsigned pool, struct sl_model_pool *out);

/* A GPU, or an instance on it (-1: none). */
struct sl_model_place {
    const struct sl_view *view;
    int device;
    int instance;
};

struct sl_model_device {
    struct sl_model_place place; /* the first */
    const struct sl_device *device;
    const struct sl_device_use *use;
    const struct sl_measured *measured; /* NULL: there is no telemetry */
    bool is_measured;
    const char *model;
    const char *state; /* of measured */
    int64_t memory_slices;
    int64_t declared_mib;
    int64_t over_mib;
};
extern const struct sl_field sl_model_device[];
void sl_model_device_of(const struct sl_view *view, unsigned device, struct sl_model_device *out);

struct sl_model_instance {
    struct sl_model_place place; /* the first */
    const char *profile;
    const char *resource;
    const char *label; /* what people call it: the profile, of slices the resource */
    int64_t start;     /* -1: not known */
    int64_t memory_slices;
    int64_t units;
    int64_t used;
    bool taken;
};
extern const struct sl_field sl_model_instance[];
/* instance -1: the GPU itself. */
void sl_model_instance_of(const struct sl_view *view, unsigned device, int instance,
                          struct sl_model_instance *out);

/* Returns what is wrong with the node's labels and with what its pods hold: a text in out or in the
 * view; NULL: nothing is wrong. record: a struct sl_view. */
const char *sl_model_problem(const void *record, char out[SL_FIELD_TEXT_MAX]);

#endif
