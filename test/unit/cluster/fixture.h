/* Nodes, pods and questions for the tests of the store. */
#ifndef SLICED_TEST_CLUSTER_FIXTURE_H
#define SLICED_TEST_CLUSTER_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/store.h"
#include "unit/test.h"

#define SLICE "nvidia.com/mig-1g.6gb"
#define HALF  "nvidia.com/mig-2g.12gb"
#define GPU   "nvidia.com/gpu"

enum { FIXTURE_PAIRS_MAX = 8 };

static inline struct sl_pair pair_of(const char *key, const char *value, struct sl_pair *next)
{
    return (struct sl_pair){sl_str_of(key), sl_str_of(value), next};
}

/* A node of A30s cut into 1g.6gb (mixed strategy), four on each; slices is a multiple of 4. */
static inline struct sl_node *sliced_node(const char *name, int slices)
{
    char count[16];
    char gpus[16];
    snprintf(count, sizeof(count), "%d", slices);
    snprintf(gpus, sizeof(gpus), "%d", slices / 4);
    struct sl_pair label[FIXTURE_PAIRS_MAX];
    label[0] = pair_of("nvidia.com/gpu.product", "NVIDIA-A30", NULL);
    label[1] = pair_of("nvidia.com/gpu.count", gpus, &label[0]);
    label[2] = pair_of("nvidia.com/gpu.memory", "24576", &label[1]);
    label[3] = pair_of("nvidia.com/mig.strategy", "mixed", &label[2]);
    label[4] = pair_of("nvidia.com/mig.capable", "true", &label[3]);
    label[5] = pair_of("nvidia.com/mig-1g.6gb.count", count, &label[4]);
    struct sl_pair allocatable[2];
    allocatable[0] = pair_of(GPU, "0", NULL);
    allocatable[1] = pair_of(SLICE, count, &allocatable[0]);
    struct sl_node_facts facts = {0};
    facts.name = sl_str_of(name);
    facts.labels = &label[5];
    facts.allocatable = &allocatable[1];
    facts.capacity = &allocatable[1];
    struct sl_node *node = sl_node_new(&facts, NULL);
    assert_non_null(node);
    return node;
}

/* A node of whole T4s; NULL with *err set when there is no memory. */
static inline struct sl_node *whole_node_from(const char *name, int gpus, struct sl_error *err)
{
    char count[16];
    snprintf(count, sizeof(count), "%d", gpus);
    struct sl_pair label[FIXTURE_PAIRS_MAX];
    label[0] = pair_of("nvidia.com/gpu.product", "Tesla-T4", NULL);
    label[1] = pair_of("nvidia.com/gpu.count", count, &label[0]);
    label[2] = pair_of("nvidia.com/gpu.memory", "15360", &label[1]);
    label[3] = pair_of("nvidia.com/gpu.replicas", "1", &label[2]);
    struct sl_pair allocatable = pair_of(GPU, count, NULL);
    struct sl_node_facts facts = {0};
    facts.name = sl_str_of(name);
    facts.labels = &label[3];
    facts.allocatable = &allocatable;
    facts.capacity = &allocatable;
    return sl_node_new(&facts, err);
}

static inline struct sl_node *whole_node(const char *name, int gpus)
{
    struct sl_node *node = whole_node_from(name, gpus, NULL);
    assert_non_null(node);
    return node;
}

struct pod_spec {
    const char *name;
    const char *uid;
    const char *node;       /* NULL: not bound */
    const char *resource;   /* NULL: asks for nothing of ours */
    const char *count;      /* NULL: "1" */
    const char *second;     /* NULL: no second resource; else one unit of it too */
    const char *phase;      /* NULL: Pending */
    const char *assignment; /* NULL: none */
    int64_t created_us;
    int64_t started_us;
    bool deleting;
    const char *space; /* namespace; NULL: default */
};

/* NULL with *err set when there is no memory. */
static inline struct sl_pod *pod_from(const struct pod_spec *spec, struct sl_error *err)
{
    struct sl_pair second = pair_of(spec->second, "1", NULL);
    struct sl_pair cpu = pair_of("cpu", "1", spec->second == NULL ? NULL : &second);
    struct sl_pair limit = pair_of(spec->resource, spec->count == NULL ? "1" : spec->count, &cpu);
    struct sl_pair annotation = pair_of("sliced.dev/assignment", spec->assignment, NULL);
    struct sl_container_facts container = {0};
    container.name = SL_STR("main");
    container.limits = spec->resource == NULL ? &cpu : &limit;
    container.requests = container.limits;
    struct sl_pod_facts facts = {0};
    facts.namespace = sl_str_of(spec->space == NULL ? "default" : spec->space);
    facts.name = sl_str_of(spec->name);
    facts.uid = sl_str_of(spec->uid);
    facts.node_name = sl_str_of(spec->node);
    facts.phase = sl_str_of(spec->phase);
    facts.created_us = spec->created_us;
    facts.started_us = spec->started_us;
    facts.deleting = spec->deleting;
    facts.annotations = spec->assignment == NULL ? NULL : &annotation;
    facts.containers = &container;
    return sl_pod_new(&facts, err);
}

static inline struct sl_pod *pod_of(const struct pod_spec *spec)
{
    struct sl_pod *pod = pod_from(spec, NULL);
    assert_non_null(pod);
    return pod;
}

static const struct sl_store_limits roomy = {10000, 100000, 10000, 30000000};

static inline struct sl_store *store_of(const struct sl_store_limits *limits)
{
    struct sl_error err = {0};
    struct sl_store *store = sl_store_new(limits, &err);
    assert_non_null(store);
    return store;
}

static inline void put_node(struct sl_store *store, struct sl_node *node)
{
    struct sl_error err = {0};
    assert_int_equal(sl_store_put_node(store, node, &err), 0);
}

static inline void put_pod(struct sl_store *store, struct pod_spec spec)
{
    struct sl_error err = {0};
    assert_int_equal(sl_store_put_pod(store, pod_of(&spec), &err), 0);
}

static inline int delete_pod(struct sl_store *store, const char *name)
{
    return sl_store_delete_pod(store, SL_STR("default"), sl_str_of(name), SL_STR(""), NULL);
}

static inline void reserve(struct sl_store *store, const char *name, const char *uid,
                           const char *node, int64_t now_us, struct sl_bind_result *result)
{
    sl_store_reserve(store, SL_STR("default"), sl_str_of(name), sl_str_of(uid), sl_str_of(node),
                     now_us, result);
}

static inline enum sl_bind_code reserve_code(struct sl_store *store, const char *name,
                                             const char *uid, const char *node)
{
    struct sl_bind_result result;
    reserve(store, name, uid, node, 0, &result);
    return result.code;
}

static inline const struct sl_view *view_at(const struct sl_snapshot *snapshot, const char *node)
{
    uint32_t place = sl_snapshot_find(snapshot, sl_str_of(node), 0);
    return place == SL_NODE_NONE ? NULL : snapshot->view[place];
}

/* Units free of the resource on the node in that snapshot; -1 when node or resource is not there.
 */
static inline int64_t free_at(const struct sl_snapshot *snapshot, const char *node,
                              const char *resource)
{
    const struct sl_view *view = view_at(snapshot, node);
    int pool = view == NULL ? -1 : sl_node_pool(view->node, sl_hash(resource, strlen(resource)));
    return pool < 0 ? -1 : sl_view_free_units(view, (unsigned)pool);
}

/* The same in the store's present snapshot. */
static inline int64_t free_now(struct sl_store *store, const char *node, const char *resource)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    int64_t n = free_at(snapshot, node, resource);
    sl_store_release(store, snapshot);
    return n;
}

static inline uint64_t generation_of(struct sl_store *store)
{
    const struct sl_snapshot *snapshot = sl_store_acquire(store);
    uint64_t generation = snapshot->generation;
    sl_store_release(store, snapshot);
    return generation;
}

/* ---- stores that tests begin with ---- */

static inline int setup_empty(void **state)
{
    *state = store_of(&roomy);
    return 0;
}

/* Two nodes of eight slices; a wants one slice, b all eight of a node. */
static inline int setup_slices_within(void **state, const struct sl_store_limits *limits)
{
    struct sl_store *store = store_of(limits);
    put_node(store, sliced_node("gpu-1", 8));
    put_node(store, sliced_node("gpu-2", 8));
    put_pod(store,
            (struct pod_spec){.name = "a", .uid = "u-a", .resource = SLICE, .created_us = 1});
    put_pod(store,
            (struct pod_spec){
                .name = "b", .uid = "u-b", .resource = SLICE, .count = "8", .created_us = 2});
    *state = store;
    return 0;
}

static inline int setup_slices(void **state)
{
    return setup_slices_within(state, &roomy);
}

static inline int teardown(void **state)
{
    sl_store_free(*state);
    return 0;
}

/* xorshift64*: the tests' randomness is the same in every run. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static inline unsigned random_below(uint64_t *state, unsigned n)
{
    return (unsigned)((random_next(state) >> 33) % n);
}

#endif
