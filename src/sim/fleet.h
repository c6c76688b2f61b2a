/* The nodes of a simulation: from manifests, from a list, or so many GPUs. Immutable once made;
 * shared by all runs. */
#ifndef SLICED_SIM_FLEET_H
#define SLICED_SIM_FLEET_H

#include "sliced/node.h"
#include "sliced/pod.h"
#include "util/map.h"

enum { SL_FLEET_NODES_MAX = 20000, SL_FLEET_GPUS_PER_NODE = 8 };

struct sl_fleet {
    struct sl_node **node; /* with GPUs, by name; references */
    size_t n;
    size_t cap;
    struct sl_pod **pod; /* that hold devices there, from manifests; references */
    size_t n_pods;
    size_t cap_pods;
    size_t waiting;   /* pods of manifests that hold nothing: passed over */
    size_t without;   /* nodes without GPUs: passed over */
    struct sl_map at; /* name -> &node[i] */
};

void sl_fleet_init(struct sl_fleet *fleet);
void sl_fleet_free(struct sl_fleet *fleet);

/* Manifests as sliced --cluster takes them: files, "-" for standard input. */
int sl_fleet_manifests(struct sl_fleet *fleet, const char *const *files, size_t n,
                       struct sl_error *err);

/* "openb:FILE" (sn, cpu_milli, memory_mib, gpu, model: a GPU is nvidia.com/gpu, and 1000 units of
 * aliyun.com/gpu-mem to be shared) or "csv:FILE" (name, gpus, and when there model, cpu_milli,
 * memory_mib). */
int sl_fleet_list(struct sl_fleet *fleet, const char *format_and_file, struct sl_error *err);

/* "9": so many whole GPUs, at most 8 to a node. "4x2": four nodes of two. "2x2:A30": of a model.
 * "1x2:A30:1g.6gb*4": each cut into four instances. */
int sl_fleet_gpus(struct sl_fleet *fleet, const char *text, struct sl_error *err);

/* A node with that many GPUs of product (may be NULL); share_units > 0: each GPU is so many units
 * of aliyun.com/gpu-mem too. cpu_milli and memory_mib may be 0: not said. */
struct sl_fleet_node {
    const char *name;
    const char *product;
    int gpus;
    int64_t share_units;
    int64_t cpu_milli;
    int64_t memory_mib;
};
int sl_fleet_add(struct sl_fleet *fleet, const struct sl_fleet_node *node, struct sl_error *err);

/* Sorts by name. Of two nodes of one name -1. */
int sl_fleet_finish(struct sl_fleet *fleet, struct sl_error *err);

/* The most units of a resource that a node has, in use or not; 0: none has any. */
int64_t sl_fleet_widest(const struct sl_fleet *fleet, struct sl_str resource);

/* Index of a node, -1 when there is none of that name. Only when finished. */
int sl_fleet_find(const struct sl_fleet *fleet, const char *name);

#endif
