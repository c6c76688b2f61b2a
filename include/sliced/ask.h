/* A pod's ask: the GPU resources that it wants, counted as Kubernetes counts (KEP-753 for
 * sidecars): max(sum of containers and sidecars, largest init step) + overhead, per resource. */
#ifndef SLICED_ASK_H
#define SLICED_ASK_H

#include "sliced/facts.h"
#include "sliced/kind.h"
#include "sliced/mig.h"

/* Resources of one ask; a pod with more is malformed. When such a pod is bound all the same, up to
 * SL_POD_ITEMS_MAX of its resources count on the node: more than there are MIG profiles, whole and
 * shared. */
enum { SL_ASK_ITEMS_MAX = 8, SL_POD_ITEMS_MAX = 256 };

/* The most units of one resource that a pod may ask for or a node may have: more than any real node
 * has, yet so few that no sum of units, memory or scores over all pods overflows. */
#define SL_UNITS_MAX INT64_C(2147483647)

/* An extended resource that sliced schedules, recognised from its name. */
struct sl_resource {
    /* sl_hash of the name, compared instead of the name. Two names collide with a chance of 2^-64,
     * and an attacker who lacks the process' key cannot search for such a pair. */
    uint64_t key;
    enum sl_kind kind;
    bool shared;               /* the name ends in ".shared" */
    int32_t slice_gb;          /* REPLICA: N of nos' nvidia.com/gpu-<N>gb; else 0 */
    bool inventory;            /* aliyun.com/gpu-count: describes a node, is never given to a pod */
    struct sl_mig_shape shape; /* MIG: parsed from the name; zeros when it cannot be parsed */
    struct sl_str profile; /* MIG: "1g.6gb.me", a slice: "10gb"; points into the name; else empty */
};

/* Returns N of "<N>gb", as nos names slices of a GPU's memory; 0 when the text is none: N is a
 * number of at most SL_SLICE_DIGITS_MAX digits, without leading zeros. */
enum { SL_SLICE_DIGITS_MAX = 4 };
int32_t sl_slice_parse(struct sl_str text);

/* Returns the GB of slices into which nos cuts a GPU of that memory: thousands of MiB, rounded up
 * (GetMemoryGB in nos' pkg/gpu/util.go). */
int64_t sl_slice_room_gb(int64_t memory_mib);

/* False when sliced does not schedule the resource (cpu, memory, other vendors), or when Kubernetes
 * would not accept the name: more than 63 characters behind the '/', or characters other than
 * [-._0-9A-Za-z]. sliced schedules every nvidia.com/mig-<something>; it only counts instances of a
 * profile which its table lacks. */
bool sl_resource_parse(struct sl_str name, struct sl_resource *out);

struct sl_ask_item {
    const char *resource; /* NUL-terminated, lives as long as the ask's owner */
    uint64_t key;         /* as in sl_resource */
    int64_t count;        /* 1..SL_UNITS_MAX units of the resource */
    enum sl_kind kind;    /* by name; a MIG single node offers nvidia.com/gpu as MIG */
    struct sl_mig_shape shape;
    /* MEMORY: split the share equally over this many GPUs, where the node's plugin can; 0 and 1:
     * one GPU. Divides count. */
    uint8_t gpus;
    /* The most units that one container asks for, cut to 255: a device plugin is asked for each
     * container. 0: as 1. */
    uint8_t each;
    /* MiB of GPU memory; 0: the pod states none, or its units are memory (aliyun.com/gpu-mem). */
    int32_t memory_mib; /* the pod uses of each unit; for a replica its declared share */
    int32_t least_mib;  /* each GPU, instance or replica must have at least */
    uint32_t workload;  /* with memory_mib: the same for pods of one namespace whose
                           containers have the same images, a hash; else 0 */
};

/* What an item asks for, as words to compare and to hash: items of equal words fit the same nodes,
 * and the same units of them. */
enum { SL_ITEM_WORDS = 3 };
void sl_item_words(const struct sl_ask_item *item, uint64_t out[SL_ITEM_WORDS]);

/* Returns N of an item that asks for nvidia.com/gpu-<N>gb; else 0. */
int32_t sl_item_slice_gb(const struct sl_ask_item *item);

struct sl_ask {
    uint8_t n; /* 0: the pod asks for no resource that sliced schedules */
    bool malformed;
    int64_t cpu_milli; /* CPU that the pod requests; 0: none stated. Only scores read it */
    struct sl_ask_item item[SL_ASK_ITEMS_MAX]; /* sorted by resource name */
};

#endif
