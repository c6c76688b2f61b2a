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
    int64_t declared_mib; /* GPU memory that the replicas' pods say they use of it */
};

/* A pod that holds something here. part[first_part..+n_parts) says where; units that could not be
 * put on any device (more in use than the node has) are counted in the pool only. */
struct sl_resident {
    struct sl_pod *pod; /* reference held by the view */
    uint32_t first_part;
    uint16_t n_parts;
    bool assumed; /* the pod carries no usable assignment: placed as if it were bound now */
};

/* What one pool can still give. Kept beside the keys so that the usual fit reads nothing else. */
struct sl_pool_room {
    uint64_t key;
    int64_t free;     /* units that could be given now, over all devices; never negative */
    int64_t largest;  /* the most that one pod may ask now: free, or what one device has (memory) */
    int64_t capacity; /* as in the node's pool */
    int64_t most;     /* the most that one pod could ask if the node were empty and healthy */
    /* Where the next unit would go, as sl_choose() says: an index in the node's devices; -1 when
     * there is none, or only counts are known, or it depends on how many are asked (memory). And,
     * where the node is repartitioned by demand, how many instances of each profile of its model
     * could then no longer be made. */
    int16_t next_device;
    uint8_t lost[SL_MIG_PROFILES_MAX];
    bool spans; /* as in the node's pool: largest and most are of no pod in particular then */
};

/* What scores read of idle GPUs, kept together: the usual score looks at nothing else. A device is
 * so many steps, of which some are idle. */
struct sl_view_idle {
    int64_t cpu_milli;  /* of the node; -1: it does not say */
    int64_t units;      /* of memory on a device; 0: no shares of memory */
    int32_t replicas;   /* of a device; 0: none */
    int32_t steps;      /* of a device; 0: they differ in size, or there are none */
    uint32_t pools;     /* bit i: units of the i-th pool are devices or parts of them */
    int16_t whole;      /* pool of whole GPUs, -1: none */
    uint16_t n_devices; /* of the node */
};

struct sl_view {
    struct sl_node *node; /* reference held by the view */
    int64_t *pool_used;   /* units in use, by node->pool */
    int64_t *pool_mib;    /* declared GPU memory in use, by pool; of pools of counts only */
    struct sl_device_use *device;
    int32_t
        *instance_used;    /* replicas in use by node->instance (1 when an instance is exclusive) */
    int64_t *instance_mib; /* declared GPU memory in use, by node->instance */
    struct sl_resident *resident; /* by creation time, then UID */
    struct sl_assignment_part *part;
    struct sl_assignment_part *more; /* where part is when it outgrew the view's own allocation */
    uint32_t n_residents;
    uint32_t n_parts;
    uint32_t parts_cap;
    uint8_t *gap; /* idle steps by node->device, where idle.steps is not 0 */
    struct sl_view_idle idle;
    uint64_t digest;   /* equal where every ask scores alike: see sl_scorer_score() */
    int64_t cpu_milli; /* requests of all pods on the node, those that ask for nothing of
                          ours too; as is memory_bytes */
    int64_t memory_bytes;
    uint32_t n_pods;            /* all pods on the node */
    uint16_t n_pools;           /* the node's */
    bool unhealthy;             /* some device is */
    struct sl_pool_room room[]; /* by node->pool */
};

enum { SL_VIEW_PODS_MAX = 1 << 20 };

/* A view of node with the pods that hold devices on it (others in the list are passed over). Takes
 * references of its own. Pods with a usable assignment are placed first, in order of creation time
 * and UID: it names places that the node has and nobody placed before holds (shares of memory may
 * be over-committed: then nothing of that device is free). The others follow in the same order,
 * placed as sl_choose() would, and where that fails as many of their units as find a place, on
 * devices marked unhealthy last; a share of memory that no device has room for on several. NULL
 * when out of memory or beyond SL_VIEW_PODS_MAX. */
struct sl_view *sl_view_new(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods);

/* The same beside pods of which only that is known, that they take CPU and memory there. */
struct sl_host_use {
    int64_t cpu_milli;
    int64_t memory_bytes;
    uint32_t n_pods;
};
struct sl_view *sl_view_new_beside(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods,
                                   const struct sl_host_use *others);
void sl_view_free(struct sl_view *view); /* NULL is allowed */

/* Index of the pool of that resource, -1 when the node has none. */
static inline int sl_view_pool(const struct sl_view *view, uint64_t key)
{
    for (int i = 0; i < (int)view->n_pools; i++) {
        if (view->room[i].key == key) {
            return i;
        }
    }
    return -1;
}

/* Units free in a pool, never negative: what its capacity leaves, less what other pools of the
 * node hold of the same devices (a whole GPU and its replicas are one thing). */
int64_t sl_view_free_units(const struct sl_view *view, unsigned pool);

/* A copy of the use counters that a search may change; the view itself stays as it is. Large:
 * sl_scratch_init copies only as much as the node has. */
struct sl_scratch {
    const struct sl_view *view;
    int64_t pool_used[SL_NODE_POOLS_MAX];
    int64_t pool_mib[SL_NODE_POOLS_MAX];
    struct sl_device_use device[SL_NODE_DEVICES_MAX];
    int32_t instance_used[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
    int64_t instance_mib[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
};

void sl_scratch_init(struct sl_scratch *scratch, const struct sl_view *view);
/* Takes the units of a resident pod out of the scratch (preemption, a claim's own pod). */
void sl_scratch_remove(struct sl_scratch *scratch, unsigned resident);
/* Takes exactly these places for the ask if all of them can be given now: free, on healthy devices,
 * in what the pools have left. False: nothing is changed. The assignment is one that
 * sl_assignment_parse() read against the node for that ask. */
bool sl_scratch_take_exactly(struct sl_scratch *scratch, const struct sl_ask *ask,
                             const struct sl_assignment *assignment);

#endif
