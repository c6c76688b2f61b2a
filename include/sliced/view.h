/* A view: a node with the units that its pods use. Every decision reads views. A view is immutable,
 * and is built anew when the node or its pods change, so that counters cannot drift. */
#ifndef SLICED_VIEW_H
#define SLICED_VIEW_H

#include "sliced/measured.h"
#include "sliced/node.h"
#include "sliced/pod.h"

struct sl_device_use {
    bool whole;           /* given as a whole GPU */
    int32_t replicas;     /* replicas in use on the device */
    int64_t memory_units; /* units of the memory pool in use */
    int32_t instances;    /* instances in use */
    int64_t declared_mib; /* GPU memory that its replicas' pods declare to use */
};

/* A pod that holds units of the node, at view->part[first_part..first_part + n_parts). Units for
 * which no device has room (more in use than the node has) count in their pool only. */
struct sl_resident {
    struct sl_pod *pod; /* reference held by the view */
    uint32_t first_part;
    uint16_t n_parts;
    bool assumed; /* the pod carries no usable assignment: placed as if it were bound now */
};

/* The units that one pool can still give. It repeats the pool's key, so that the usual fit reads
 * nothing else. */
struct sl_pool_room {
    uint64_t key;
    int64_t free;     /* units that could be given now, over all devices; >= 0 */
    int64_t largest;  /* the most that one pod may ask now: free, or one device's share (memory) */
    int64_t capacity; /* as in the node's pool */
    int64_t most;     /* the most that one pod could ask if the node were empty and healthy */
    /* next_device is the index in node->device where sl_choose() would put the next unit; -1 when
     * no device has room, only counts are known, or it depends on the number of units (memory). On
     * a node that is repartitioned on demand, lost is the number of instances of each profile of
     * its model which that unit makes impossible. */
    int16_t next_device;
    uint8_t lost[SL_MIG_PROFILES_MAX];
    bool spans; /* as in the node's pool; largest and most then hold for no certain pod */
};

enum { SL_IDLE_STEPS = 128 }; /* of a device at most */

/* A node's idle GPUs, as all that the usual score reads. A device counts as equal steps, some of
 * them idle. */
struct sl_view_idle {
    int64_t cpu_milli;  /* of the node; -1: not stated */
    int64_t units;      /* of memory on a device; 0: no shares of memory */
    int32_t replicas;   /* of a device; 0: none */
    int32_t steps;      /* of a device; 0: they differ in size, or there are none */
    uint32_t pools;     /* bit i: the i-th pool's units are devices or parts of them */
    int16_t whole;      /* pool of whole GPUs, -1: none */
    uint16_t n_devices; /* of the node */
};

struct sl_view {
    struct sl_node *node; /* reference held by the view */
    int64_t *pool_used;   /* units in use, by node->pool */
    int64_t *pool_mib;    /* declared GPU memory in use, by node->pool; only for pools without
                             on_devices */
    struct sl_device_use *device;
    int32_t *instance_used; /* replicas in use, by node->instance (1 for an exclusive instance) */
    int64_t *instance_mib;  /* declared GPU memory in use, by node->instance */
    struct sl_measured *measured; /* by node->device; NULL: no telemetry of this node. A room that
                                      was measured beside other pods counts as -1, a load as 1000 */
    struct sl_resident *resident; /* by creation time, then UID */
    struct sl_assignment_part *part;
    struct sl_assignment_part *more; /* the memory of part once that outgrew the view */
    uint32_t n_residents;
    uint32_t n_parts;
    uint32_t parts_cap;
    uint8_t *gap; /* idle steps, by node->device, if idle.steps is not 0 */
    struct sl_view_idle idle;
    uint64_t shown;    /* generation of the first snapshot that shows it; 0: none does. Set by the
                          store, for those who ask what has changed; no decision reads it */
    uint64_t digest;   /* equal digests score alike for every ask, but for the term contention: see
                          sl_scorer_score() */
    int64_t cpu_milli; /* requested by all pods, with and without GPUs, as memory_bytes */
    int64_t memory_bytes;
    uint32_t n_pods;  /* all pods on the node */
    int32_t most_mib; /* the largest ask for which some room of measured could do; -1: none */
    uint16_t n_pools; /* the node's */
    bool unhealthy;   /* some device is unhealthy */
    bool withheld;    /* the node's GPUs are being cut: its pods keep their units, and no more are
                         given (SL_REASON_CUTTING) */
    struct sl_pool_room room[]; /* by node->pool */
};

enum { SL_VIEW_PODS_MAX = 1 << 20 };

/* Makes the view of a node with the pods of the list that hold units of it, ignoring other pods.
 * The view takes references of its own to node and pods. Returns NULL when out of memory or with
 * more than SL_VIEW_PODS_MAX such pods.
 *
 * Pods with a usable assignment are placed first, by creation time, then UID. An assignment is
 * usable when the node has its places and no pod placed before holds them; a share of memory may
 * over-commit its device, which then has nothing free. The other pods follow in the same order,
 * placed as sl_choose() would place them. If that fails, as many of their units as find a place are
 * placed, on unhealthy devices last, and a share of memory that fits on no device is spread over
 * several. */
struct sl_view *sl_view_new(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods);

/* Facts for sl_view_new_beside() that sl_view_new() does without: the CPU and memory of pods
 * without units of the node's pools; whether to withhold the node (while sl_node_is_cut() it is
 * withheld anyway); and the measurements of its devices. */
struct sl_host_use {
    int64_t cpu_milli;
    int64_t memory_bytes;
    uint32_t n_pods;
    bool withheld;
    const struct sl_measured *measured; /* by node->device, copied; NULL: none */
    size_t n_measured;                  /* devices behind it count as not measured */
};
struct sl_view *sl_view_new_beside(struct sl_node *node, struct sl_pod *const *pods, size_t n_pods,
                                   const struct sl_host_use *others);
void sl_view_free(struct sl_view *view); /* NULL is allowed */

/* Returns the index in the node's pools of the resource with that key, -1 when it has none.
 * O(pools) over adjacent memory. */
static inline int sl_view_pool(const struct sl_view *view, uint64_t key)
{
    for (int i = 0; i < (int)view->n_pools; i++) {
        if (view->room[i].key == key) {
            return i;
        }
    }
    return -1;
}

/* Do pods that share a GPU of the node take turns? Under MPS they run side by side. */
bool sl_view_takes_turns(const struct sl_view *view);

/* Digests all that a view shows, as it stands in memory: never 0. Who made a view and gave it away
 * sees thereby that nobody has changed it. */
uint64_t sl_view_seal(const struct sl_view *view);

/* Digests which pods have units of the device, in any order: never 0. */
uint64_t sl_view_pods_of(const struct sl_view *view, unsigned device);

/* Returns the MiB that the resident asks for on the device; -1: it does not say. *there: it has
 * units of the device. */
int64_t sl_view_ask_mib(const struct sl_view *view, const struct sl_resident *resident,
                        unsigned device, bool *there);

/* Returns the free units of a pool (an index in the node's pools), >= 0: its capacity less its own
 * use, and less the use of other pools on the same devices (a whole GPU and its replicas exclude
 * each other). */
int64_t sl_view_free_units(const struct sl_view *view, unsigned pool);

/* Returns how many of the pool's units in use are only set aside for pods that still wait. */
int64_t sl_view_set_aside_units(const struct sl_view *view, unsigned pool);

/* Makes the view of the node as if that resident (an index in view->resident) were gone. NULL when
 * out of memory; the caller frees it. */
struct sl_view *sl_view_without(const struct sl_view *view, unsigned resident);

/* A copy of a view's counters that a search may change; it borrows the view. It takes some 9 KiB:
 * leave it uninitialised, and sl_scratch_init copies as much as the node has. */
struct sl_scratch {
    const struct sl_view *view;
    bool returning; /* memory that was freed on this copy may be taken again even if the residents
                       declare more than the device has: measured room had admitted its pod */
    int64_t pool_used[SL_NODE_POOLS_MAX];
    int64_t pool_mib[SL_NODE_POOLS_MAX];
    struct sl_device_use device[SL_NODE_DEVICES_MAX];
    int32_t instance_used[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
    int64_t instance_mib[SL_NODE_DEVICES_MAX * SL_MIG_INSTANCES_MAX];
};

void sl_scratch_init(struct sl_scratch *scratch, const struct sl_view *view);
/* Frees the units of one pod (an index in view->resident), as if it were gone. */
void sl_scratch_remove(struct sl_scratch *scratch, unsigned resident);
/* Takes exactly these places for the ask. Returns false, and changes nothing, unless all of them
 * are free, on healthy devices, and within what the pools have left. The assignment comes from
 * sl_assignment_parse() for that node and ask. */
bool sl_scratch_take_exactly(struct sl_scratch *scratch, const struct sl_ask *ask,
                             const struct sl_assignment *assignment);

#endif
