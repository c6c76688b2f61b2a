/* What a pod wants of GPUs, counted as Kubernetes counts (KEP-753 for sidecars):
 * max(sum of containers and sidecars, largest init step) + overhead, per resource. */
#ifndef SLICED_ASK_H
#define SLICED_ASK_H

#include "sliced/facts.h"
#include "sliced/mig.h"

/* Resources of one ask. A pod with more is malformed; where it stands on a node all the same, so
 * many more are counted there: more than there are MIG profiles, whole and shared. */
enum { SL_ASK_ITEMS_MAX = 8, SL_POD_ITEMS_MAX = 256 };

/* The most units of one resource that a pod may ask for, or a node have: far above what there is,
 * and so small that no sum of units, their memory and their scores over all pods overflows. */
#define SL_UNITS_MAX INT64_C(2147483647)

enum sl_kind {
    SL_KIND_WHOLE,   /* a GPU of its own; on a MIG single node nvidia.com/gpu is an instance */
    SL_KIND_MIG,     /* an instance of a profile */
    SL_KIND_REPLICA, /* a time-sliced or MPS replica of a GPU or of an instance */
    SL_KIND_MEMORY,  /* a share of one GPU's memory (aliyun.com/gpu-mem) */
};

/* "whole", "mig", "replica", "memory". */
const char *sl_kind_name(enum sl_kind kind);

/* An extended resource that sliced schedules, recognised from its name. */
struct sl_resource {
    uint64_t key; /* sl_hash of the name: equal names, equal keys */
    enum sl_kind kind;
    bool shared;    /* the name ends in ".shared" */
    bool inventory; /* aliyun.com/gpu-count: describes a node, nobody is given one */
    struct sl_mig_shape
        shape;             /* of a mig name; zeros otherwise or when not a profile we can read */
    struct sl_str profile; /* of a mig name: "1g.6gb.me", points into the name; else empty */
};

/* False when the resource is not one of ours (cpu, memory, other vendors), or is spelled as
 * Kubernetes would not accept it (more than 63 characters behind the '/', others than
 * [-._0-9A-Za-z]). Every nvidia.com/mig-<something> is ours: profiles that nobody here knows are
 * scheduled by count. */
bool sl_resource_parse(struct sl_str name, struct sl_resource *out);

struct sl_ask_item {
    const char *resource; /* NUL-terminated, lives as long as the ask's owner */
    uint64_t key;         /* as in sl_resource */
    int64_t count;        /* 1..SL_UNITS_MAX units of the resource */
    enum sl_kind kind;    /* by name; what a node makes of nvidia.com/gpu is the node's */
    struct sl_mig_shape shape;
    /* MiB of GPU memory; 0: the pod says nothing, or asks for memory anyhow (aliyun.com/gpu-mem).
     */
    int32_t memory_mib; /* that it uses of each unit; of a replica its declared share */
    int32_t least_mib;  /* that each GPU, instance or replica it is given has to have */
    /* A share of memory (aliyun.com/gpu-mem): equal parts of it on so many GPUs, where the node's
     * plugin gives that; 0 and 1: on one. It divides the count. */
    uint8_t gpus;
};

struct sl_ask {
    uint8_t n; /* 0: the pod asks for nothing of ours */
    bool malformed;
    int64_t cpu_milli; /* CPU that the pod requests beside; 0: says nothing. Only scores read it */
    struct sl_ask_item item[SL_ASK_ITEMS_MAX]; /* sorted by resource name */
};

#endif
