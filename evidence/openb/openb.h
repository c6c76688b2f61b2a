/* reproduce openb: pods of a list arrive one by one, in a shuffled order, until they ask
 * for a multiple of the cluster's GPUs; none leaves. How much of the GPUs is allocated in the end?
 * The set-up, and six policies to compare with, are those of FGD (Weng et al., Beware of
 * Fragmentation, ATC 2023; github.com/hkust-adsl/kubernetes-scheduler-simulator). */
#ifndef SLICED_EVIDENCE_OPENB_H
#define SLICED_EVIDENCE_OPENB_H

#include "sim/input/fleet.h"
#include "sim/input/rng.h"
#include "sliced/score.h"
#include "util/error.h"

enum { SL_OPENB_GPU = 1000, SL_OPENB_GPUS_MAX = 8, SL_OPENB_PODS_MAX = 1000000 };

/* Pods that ask for the same. */
struct sl_openb_class {
    struct sl_pod *pod; /* one of them, waiting; a reference */
    struct sl_ask ask;  /* its ask; borrows from pod */
    char *models;       /* "V100M16|V100M32"; "" any */
    int64_t cpu_milli;
    int64_t memory_mib;
    int32_t gpus;
    int32_t milli; /* of each GPU; 1000 is all of it */
    uint32_t n;    /* pods in the list */
};

/* The list and the nodes; the same for all runs. */
struct sl_openb {
    struct sl_fleet fleet;
    struct sl_openb_class *class;
    uint32_t n_classes;
    size_t cap_classes;
    uint32_t *pod; /* the class of each pod of the list */
    size_t n_pods;
    size_t cap_pods;
    int64_t milli; /* of all GPUs */
};

void sl_openb_init(struct sl_openb *openb);
int sl_openb_load(struct sl_openb *openb, const char *pods, const char *nodes,
                  struct sl_error *err);
void sl_openb_free(struct sl_openb *openb);

/* A node as the policies see it. */
struct sl_openb_node {
    struct sl_view *view;
    struct sl_pod **pod; /* pods on the node; references */
    uint32_t n_pods;
    size_t cap_pods;
    uint32_t version;                         /* goes up with every pod */
    uint16_t affinity[SL_OPENB_GPUS_MAX + 1]; /* pods by how many GPUs; 0: a share of one */
};

struct sl_openb_run;
struct sl_openb_seen;

/* A policy: how good a node that fits is for a pod of the class; *gpu is the device for a share of
 * one GPU, -1 as sl_choose() says. */
struct sl_openb_policy {
    const char *name; /* "fgd" */
    int64_t (*score)(struct sl_openb_run *run, const struct sl_openb_node *node,
                     const struct sl_openb_class *class, int *gpu);
    bool random; /* one of the nodes that fit, whatever their score */
    bool ours;   /* the scorer of sliced, with what it has seen of the demand */
};

size_t sl_openb_policy_count(void);
const struct sl_openb_policy *sl_openb_policy_at(size_t i);
const struct sl_openb_policy *sl_openb_policy_find(struct sl_str name);

/* The published figure in percent for that policy and list (the name of its file), 0 when there is
 * none. */
double sl_openb_published(const struct sl_openb_policy *policy, const char *list);

/* A class that counts as typical for FGD. */
struct sl_openb_typical {
    const struct sl_openb_class *class;
    double share;
};

struct sl_openb_run {
    const struct sl_openb *openb;
    const struct sl_openb_policy *policy;
    struct sl_rng rng;
    struct sl_openb_node *node; /* in the order of their names in this run */
    size_t n_nodes;
    struct sl_openb_typical *typical;
    size_t n_typical;
    struct sl_openb_seen *seen; /* for ours */
};

/* The typical classes: the most frequent ones that make up 95 % of the list. -1: no memory. */
int sl_openb_find_typical(struct sl_openb_run *run, struct sl_error *err);

struct sl_openb_outcome {
    double allocation; /* of 1 */
    size_t pods;
    size_t failed;
};

/* One run: pods and names of the nodes are shuffled by the seed; load 1.3 is 130 %. weights: those
 * of our own policy. */
int sl_openb_simulate(const struct sl_openb *openb, const struct sl_openb_policy *policy,
                      const struct sl_score_config *weights, uint64_t seed, double load,
                      struct sl_openb_outcome *out, struct sl_error *err);

#endif
