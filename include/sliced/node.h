/* A node's GPUs, read from allocatable (how many there are), labels (of which kind) and
 * annotations, if any (what each device holds). Immutable, with counted references. */
#ifndef SLICED_NODE_H
#define SLICED_NODE_H

#include "sliced/actuator.h"
#include "sliced/ask.h"
#include "util/error.h"

#include <stdatomic.h>

enum {
    SL_NODE_POOLS_MAX = 32,
    SL_NODE_PROBLEM_MAX = 256,
    SL_NODE_LABELS_MAX = 512,    /* more are left out, and node->problem says so */
    SL_NODE_TAINTS_MAX = 64,     /* the same */
    SL_PARTITION_TEXT_MAX = 253, /* of a text of sl_partition; a longer one is left out, likewise */
};

/* How sliced learned about a node's devices. */
enum sl_layout {
    SL_LAYOUT_UNKNOWN,   /* only counts are known, no devices */
    SL_LAYOUT_INFERRED,  /* labels and allocatable allow one arrangement (order of devices aside) */
    SL_LAYOUT_ANNOTATED, /* sliced.dev/devices or nos' status annotations list them */
};

/* A MIG instance that exists on a device, or all of nos' slices of one size on it. */
struct sl_instance {
    const struct sl_mig_profile *profile; /* NULL: not in the table, or slices */
    uint16_t device;                      /* index in node->device */
    int8_t start;                         /* memory slice, -1 unknown */
    uint8_t pool;                         /* index in node->pool */
    uint16_t slices;                      /* how many slices; 0: it is a MIG instance */
    bool guessed;    /* nobody tells the start: it is one at which the instance fits */
    uint16_t in_use; /* how many of it nos' agent says are in use: 1, or slices */
};

struct sl_device {
    int16_t index; /* as nvidia-smi counts */
    bool healthy;
    bool mig;    /* partitioned: never given whole */
    bool unsure; /* its instances are those that no other device has: of several such devices nobody
                    knows which has which */
    const struct sl_mig_model *model; /* NULL when unknown */
    const char *uuid;                 /* NULL when unknown */
    const char *product;              /* NULL when unknown */
    int64_t memory_mib;               /* 0 when unknown */
    int64_t memory_units;             /* capacity in units of the memory pool; 0: no such pool */
};

/* One schedulable resource of the node. */
struct sl_pool {
    const char *resource;
    uint64_t key;
    enum sl_kind kind;                    /* of a unit on this node, whatever the name suggests */
    const struct sl_mig_profile *profile; /* of MIG or REPLICA of an instance; NULL: unknown, none
                                           */
    int64_t capacity;                     /* allocatable, units */
    int32_t replicas;                     /* REPLICA: per device or instance (>= 1); otherwise 1 */
    bool on_devices;    /* units are tied to node->device (and instance); else only counted */
    bool one_each;      /* the device plugin refuses a container several of these replicas */
    bool slices;        /* REPLICA: slices of memory, each of memory_mib; a GPU has any number */
    bool spans;         /* MEMORY: a pod may get parts on several GPUs (sl_ask_item.gpus) */
    bool equal_memory;  /* REPLICA: each is limited to its part of the memory (MPS) */
    int64_t memory_mib; /* of one unit, by labels or its profile's name; 0: unknown. With on_devices
                           the devices tell instead */
    int64_t total_mib;  /* REPLICA without on_devices: memory of all together; 0: unknown */
};

/* A resource of which the node has more units than it offers now: its device plugin restarts or has
 * yet to start, or GPUs are unhealthy. */
struct sl_absent {
    uint64_t key;
    int64_t units; /* with those that it offers; > 0 */
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

/* A node's allocatable beside GPUs; -1: not stated. */
struct sl_host {
    int64_t cpu_milli;
    int64_t memory_bytes;
    int64_t pods;
};

enum sl_partition_state {
    SL_PARTITION_NONE, /* absent, or none of these */
    SL_PARTITION_PENDING,
    SL_PARTITION_REBOOTING,
    SL_PARTITION_SUCCESS,
    SL_PARTITION_FAILED,
};

/* Names the agent that cuts the node's GPUs, and says how far it is. Texts are NULL when absent. */
struct sl_partition {
    enum sl_actuator actuator;
    enum sl_partition_state state; /* label nvidia.com/mig.config.state */
    const char *wanted;            /* label nvidia.com/mig.config, annotation
                                      nos.nebuly.com/spec-partitioning-plan, or label
                                      nvidia.com/device-plugin.config */
    const char *applied;           /* annotation nos.nebuly.com/status-partitioning-plan */
    const char *cut;      /* annotation sliced.dev/cut: the cut plan that sliced has under way */
    const char *cut_text; /* annotation sliced.dev/cut-text: the same for people */
    bool at_work;    /* its agent has yet to carry out what it was told, whoever selects the node:
                        for nos an order of ours */
    bool planned;    /* sliced.dev/cut-devices says what the cut makes */
    bool follows;    /* with cut: devices and allocatable are as that says */
    bool single;     /* label nvidia.com/mig.strategy=single */
    bool mig_mode;   /* the actuator may also make GPUs whole */
    uint16_t n_gpus; /* label nvidia.com/gpu.count where it counts GPUs; 0: unknown */
};

struct sl_node {
    const char *name;
    const char *uid;     /* NULL when not told */
    const char *address; /* its first InternalIP, IPv4 or IPv6; NULL when it has none */
    const char *product; /* label nvidia.com/gpu.product without -SHARED and -MIG-..., or NULL */
    const char *problem; /* sentences on odd labels or annotations; NULL when there are none */
    const struct sl_mig_model *model; /* common to all devices; else NULL */
    enum sl_layout layout;
    bool dynamic_mig; /* repartitioned on demand: it has an actuator that makes MIG instances, nos'
                         label, or sliced.dev/partitioning */
    struct sl_partition partition;
    uint16_t n_devices;
    uint16_t n_instances;
    uint16_t n_pools;
    uint16_t n_absent;            /* at most SL_NODE_POOLS_MAX */
    struct sl_device *device;     /* ordered by index */
    struct sl_instance *instance; /* ordered by device, then start */
    struct sl_pool *pool;         /* ordered by resource name */
    struct sl_absent *absent;     /* in any order */
    const struct sl_label *label; /* all of them, ordered by key */
    const struct sl_taint *taint;
    uint16_t n_labels;
    uint16_t n_taints;
    bool unschedulable; /* cordoned */
    struct sl_host host;
    uint64_t site_digest;   /* sl_constraints_admit answers alike for equal digests, unless
                               sl_constraints.by_name is set: then */
    uint64_t own_digest;    /* and the name count too */
    struct sl_node *judged; /* set by sl_node_marked: a reference to the node as judged, which owns
                               all but the devices; else NULL */
    _Atomic uint32_t refs;  /* use sl_node_ref and sl_node_unref; the last member */
};

/* Judges the facts. Returns a new reference, or NULL with *err set: when the node has no usable
 * name, more than SL_NODE_POOLS_MAX resources that sliced schedules or more than
 * SL_NODE_DEVICES_MAX annotated devices, or when out of memory. node->problem tells anything else
 * that is odd.
 *
 * A resource with nothing allocatable makes no pool; status.capacity, or labels on a node that
 * offers nothing, may tell that it has some (sl_node_absent). Devices come from facts->devices,
 * else from nos' annotations, else they are inferred. A pool whose allocatable disagrees with the
 * devices is only counted (on_devices false): its instances are not listed, and node->problem says
 * so. Allocatable may or may not count a device marked unhealthy. Inference leaves out partitioned
 * devices whose instances could be arranged in several ways. */
struct sl_node *sl_node_new(const struct sl_node_facts *facts, struct sl_error *err);
struct sl_node *sl_node_ref(struct sl_node *node);
void sl_node_unref(struct sl_node *node); /* NULL is allowed */

/* Returns the node with the devices of these n indexes (struct sl_device.index) unhealthy, beside
 * those which it reports unhealthy itself. Forgets earlier marks. Returns a new reference, to the
 * same node when no device's health changes; NULL when out of memory. */
struct sl_node *sl_node_marked(struct sl_node *node, const int16_t *index, size_t n);

/* True when the node has a resource that sliced schedules. */
bool sl_node_has_gpus(const struct sl_node *node);

/* True while a cut of the node's GPUs is under way. Where sliced has no actuator (any more), its
 * annotation counts only while an agent is at work. */
bool sl_node_is_cut(const struct sl_node *node);

/* Returns the value of the node's label, NULL when the node has no label of that key. */
const char *sl_node_label(const struct sl_node *node, const char *key);

/* The label by which pods select the model of a node's GPUs. */
#define SL_MODEL_LABEL "nvidia.com/gpu.product"
/* Are the node's GPUs of the model, as that label names it, or else its product? "": all are. */
bool sl_node_is_of(const struct sl_node *node, const char *model);

/* Returns the index in node->pool of the resource with that key, -1 when the node has none. */
int sl_node_pool(const struct sl_node *node, uint64_t key);

/* Returns how many units of the resource the node has with those that it does not offer now; 0 when
 * nothing tells of more than it offers. */
int64_t sl_node_absent(const struct sl_node *node, uint64_t key);

/* Returns how many units the instance at that index has: its slices, its replicas, or 1. */
int32_t sl_node_instance_units(const struct sl_node *node, unsigned instance);

const char *sl_partition_state_name(enum sl_partition_state state); /* "pending", ... */
const char *sl_layout_name(enum sl_layout layout); /* "unknown", "inferred", "annotated" */

#endif
