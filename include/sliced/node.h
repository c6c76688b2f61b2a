/* A node's GPUs as its labels, allocatable and annotations tell: immutable, counted references.
 * Allocatable is the truth about how many; labels say what they are; annotations, where they exist,
 * say which device holds what. */
#ifndef SLICED_NODE_H
#define SLICED_NODE_H

#include "sliced/ask.h"
#include "util/error.h"

#include <stdatomic.h>

enum {
    SL_NODE_DEVICES_MAX = 64,
    SL_NODE_POOLS_MAX = 32,
    SL_NODE_PROBLEM_MAX = 256,
    SL_NODE_LABELS_MAX = 512, /* those beyond are left out, which node->problem says */
    SL_NODE_TAINTS_MAX = 64,  /* the same */
};

/* How the devices of a node are known. */
enum sl_layout {
    SL_LAYOUT_UNKNOWN,   /* counts only: the node's resources are not tied to devices */
    SL_LAYOUT_INFERRED,  /* labels and allocatable leave one possibility (order of devices aside) */
    SL_LAYOUT_ANNOTATED, /* sliced.dev/devices or nos' status annotations say it */
};

/* A MIG instance that exists on a device. */
struct sl_instance {
    const struct sl_mig_profile *profile; /* NULL: a profile that the table lacks */
    uint16_t device;                      /* index in node->device */
    int8_t start;                         /* memory slice, -1 unknown */
    uint8_t pool;                         /* index in node->pool */
};

struct sl_device {
    int16_t index; /* as nvidia-smi counts */
    bool healthy;
    bool sound;                       /* healthy as the node itself says: see sl_node_marked */
    bool mig;                         /* partitioned: not to be given whole */
    const struct sl_mig_model *model; /* NULL when unknown */
    const char *uuid;                 /* NULL when unknown */
    const char *product;              /* NULL when unknown */
    int64_t memory_mib;               /* 0 when unknown */
    int64_t memory_units; /* capacity in units of the memory pool; 0 when there is none */
};

/* One schedulable resource of the node. */
struct sl_pool {
    const char *resource;
    uint64_t key;
    enum sl_kind kind;                    /* what a unit really is on this node */
    const struct sl_mig_profile *profile; /* MIG, or REPLICA of an instance; else or unknown NULL */
    int64_t capacity;                     /* allocatable, units */
    int32_t replicas;                     /* REPLICA: per device or instance (>= 1); otherwise 1 */
    bool on_devices;    /* its units are tied to node->device (and instance); else counts only */
    bool one_each;      /* the device plugin refuses a container more than one of these replicas */
    bool spans;         /* MEMORY: a pod may have parts of it on several GPUs (sl_ask_item.gpus) */
    bool equal_memory;  /* REPLICA: each gets its part of the memory and no more (MPS) */
    int64_t memory_mib; /* of one unit, by labels or its profile's name; 0: not known. Where units
                           are on devices these say it */
    int64_t total_mib;  /* REPLICA by counts only: memory of all GPUs or instances; 0: not known */
};

enum sl_taint_effect {
    SL_TAINT_ANY,
    SL_TAINT_NO_SCHEDULE,
    SL_TAINT_NO_EXECUTE,
    SL_TAINT_PREFER_NO_SCHEDULE, /* keeps nobody away */
};

struct sl_taint {
    const char *key;
    const char *value; /* "" when it has none */
    uint8_t effect;    /* enum sl_taint_effect */
};

struct sl_label {
    const char *key;
    const char *value;
};

/* What is allocatable of a node beside GPUs; -1 where it does not say. */
struct sl_host {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t pods;
};

struct sl_node {
    const char *name;
    const char *product; /* label nvidia.com/gpu.product without -SHARED and -MIG-..., or NULL */
    const char *problem; /* what is wrong with its labels or annotations, NULL when nothing is */
    const struct sl_mig_model *model; /* of the node's devices when all are of one; else NULL */
    enum sl_layout layout;
    bool dynamic_mig; /* repartitioned by demand (nos label, or sliced.dev/partitioning) */
    uint16_t n_devices;
    uint16_t n_instances;
    uint16_t n_pools;
    struct sl_device *device;     /* ordered by index */
    struct sl_instance *instance; /* ordered by device, then start */
    struct sl_pool *pool;         /* ordered by resource name */
    const struct sl_label *label; /* all of them, ordered by key */
    const struct sl_taint *taint;
    uint16_t n_labels;
    uint16_t n_taints;
    bool unschedulable; /* cordoned */
    struct sl_host host;
    uint64_t site_digest;  /* equal for nodes that sl_constraints_admit cannot tell apart, but for
                              constraints that ask by name (by_name in struct sl_constraints) */
    uint32_t size;         /* bytes of all of it, for sl_node_marked */
    _Atomic uint32_t refs; /* use sl_node_ref and sl_node_unref */
};

/* Judges the facts. What is odd becomes node->problem, never an error; an error is a node without a
 * usable name, one with more than SL_NODE_POOLS_MAX resources of ours or SL_NODE_DEVICES_MAX
 * annotated devices, or no memory. New reference; NULL on error.
 *
 * Resources of which nothing is allocatable make no pool. Devices come, in this order, from
 * facts->devices, from nos' annotations, or are inferred. A pool whose allocatable disagrees with
 * them is counts only (on_devices false), its instances are not listed, and node->problem says so;
 * a device marked unhealthy may be missing from allocatable or be counted there still. The list of
 * inferred devices leaves out partitioned ones when it is open which of them holds what. */
struct sl_node *sl_node_new(const struct sl_node_facts *facts, struct sl_error *err);
struct sl_node *sl_node_ref(struct sl_node *node);
void sl_node_unref(struct sl_node *node); /* NULL is allowed */

/* The node with the devices of these indexes marked unhealthy by somebody else, beside those that
 * the node itself says are; marks made before are forgotten. A new reference to the same where that
 * changes nothing; NULL when out of memory. */
struct sl_node *sl_node_marked(struct sl_node *node, const int16_t *index, size_t n);

/* Has it anything that sliced schedules? */
bool sl_node_has_gpus(const struct sl_node *node);

/* Index of the pool of that resource, -1 when the node has none. */
int sl_node_pool(const struct sl_node *node, uint64_t key);

/* GPU memory that one unit of the pool has on that device, or instance (>= 0); both -1: of a pool
 * of counts only. 0: not known. A replica without a share of its own has that of all. */
int64_t sl_node_unit_mib(const struct sl_node *node, unsigned pool, int device, int instance);

const char *sl_layout_name(enum sl_layout layout); /* "unknown", "inferred", "annotated" */

#endif
