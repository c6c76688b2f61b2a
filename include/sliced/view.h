/* A node with what is in use on it, at one generation: what every decision reads. Immutable; built
 * anew from the node and its pods whenever either changes, so that nothing can drift. */
#ifndef SLICED_VIEW_H
#define SLICED_VIEW_H

#include "sliced/node.h"
#include "sliced/pod.h"

struct sl_device_use {
    bool whole;           /* given as a whole GPU */
    int32_t replicas;     /* replicas in use on the device */
    int64_t memory_units; /* units of the memory pool in use */
    int32_t instances;    /* instances in use */
};

/* A pod that holds something here. part[0..n_parts) says where; units that could not be put on any
 * device (more in use than the node has) are counted in the pool only. */
struct sl_resident {
    struct sl_pod *pod; /* reference held by the view */
    uint16_t first_part;
    uint16_t n_parts;
    bool assumed; /* the pod carries no usable assignment: placed as if it were bound now */
};

struct sl_view {
    struct sl_node *node; /* reference held by the view */
    int64_t *pool_used;   /* units in use, by node->pool */
    struct sl_device_use *device;
    int32_t *instance_used; /* replicas in use by node->instance (1 when an instance is exclusive) */
    uint16_t n_residents;
    struct sl_resident *resident; /* by creation time, then UID */
    struct sl_assignment_part *part;
};

/* A view of node with the pods that hold devices on it (others in the list are passed over). Takes
 * references of its own. Pods with a usable assignment are placed first, then the others as
 * sl_choose() would, in order of creation time and UID. NULL when out of memory. */
struct sl_view *sl_view_new(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods);
void sl_view_free(struct sl_view *view); /* NULL is allowed */

/* Units free in a pool, never negative: what its capacity leaves, less what other pools of the
 * node hold of the same devices (a whole GPU and its replicas are one thing). */
int64_t sl_view_free_units(const struct sl_view *view, unsigned pool);

/* A copy of the use counters that a search may change; the view itself stays as it is. */
struct sl_scratch {
    const struct sl_view *view;
    int64_t pool_used[SL_NODE_POOLS_MAX];
    struct sl_device_use device[SL_NODE_DEVICES_MAX];
    int32_t instance_used[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
};

void sl_scratch_init(struct sl_scratch *scratch, const struct sl_view *view);
/* Takes the units of a resident pod out of the scratch (preemption). */
void sl_scratch_remove(struct sl_scratch *scratch, unsigned resident);

#endif
