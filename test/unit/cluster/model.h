/* A model of the store: plain arrays, counted anew each time. It knows only sums; every node has
 * one resource, so a pod fits where the sum allows it. */
#ifndef SLICED_TEST_MODEL_H
#define SLICED_TEST_MODEL_H

#include "unit/cluster/fixture.h"

enum { NODES = 6, PODS = 40, HELD = 8, STEPS = 6000, EXPIRE_US = 1000 };

struct model_pod {
    bool there;
    unsigned uid;
    int node;      /* -1: not bound; NODES: one that is never known */
    int reserved;  /* -1: not reserved */
    int nominated; /* -1: no nomination */
    bool finished;
    bool deleting;
    bool whole;
    int count;
    int64_t expires_us;
};

struct model {
    struct sl_store *store;
    uint64_t seed;
    int64_t now_us;
    unsigned last_uid;
    unsigned nominations; /* that were made */
    int capacity[NODES];  /* -1: not known */
    struct model_pod pod[PODS];
    unsigned fed[PODS]; /* UID of the pod that the queue believes to wait; 0: none */
    bool batch;
    uint64_t generation;
};

/* What a snapshot must go on showing while it is held. */
struct picture {
    const struct sl_snapshot *snapshot;
    uint64_t generation;
    size_t n_nodes;
    int64_t free[NODES];
    uint64_t residents[NODES];
};

static const char *node_name(int node)
{
    static const char *const names[] = {"gpu-3", "gpu-1", "gpu-10", "b", "gpu-2", "a", "nowhere"};
    return names[node];
}

static inline bool node_is_whole(int node)
{
    return node % 2 == 1;
}

static inline struct sl_node *node_of(int node, int capacity)
{
    return node_is_whole(node) ? whole_node(node_name(node), capacity)
                               : sliced_node(node_name(node), capacity);
}

static inline int place_of(const struct model_pod *pod)
{
    if (!pod->there || pod->finished) {
        return -1;
    }
    if (pod->nominated >= 0) {
        return pod->nominated;
    }
    return pod->reserved >= 0 ? pod->reserved : pod->node;
}

/* For the queue: also while it is reserved or nominated. */
static inline bool waits(const struct model_pod *pod)
{
    return pod->there && pod->node < 0 && !pod->finished && !pod->deleting;
}

static inline int64_t free_in_model(const struct model *model, int node)
{
    int64_t left = model->capacity[node];
    for (int i = 0; i < PODS; i++) {
        const struct model_pod *pod = &model->pod[i];
        if (place_of(pod) == node && pod->whole == node_is_whole(node)) {
            left -= pod->count;
        }
    }
    return left < 0 ? 0 : left;
}

/* Which pods stand on the node, as a set of bits. */
static inline uint64_t residents_in_model(const struct model *model, int node)
{
    uint64_t set = 0;
    for (int i = 0; i < PODS; i++) {
        set |= place_of(&model->pod[i]) == node ? (uint64_t)1 << i : 0;
    }
    return set;
}

static inline uint64_t residents_in_view(const struct sl_view *view)
{
    uint64_t set = 0;
    for (uint32_t i = 0; i < view->n_residents; i++) {
        const struct sl_pod *pod = view->resident[i].pod;
        assert_string_equal(pod->node, view->node->name);
        set |= (uint64_t)1 << strtol(pod->name + 1, NULL, 10);
    }
    return set;
}

static const char *resource_at(int node)
{
    return node_is_whole(node) ? GPU : SLICE;
}

static inline void expect_counts(const struct model *model, const struct sl_snapshot *snapshot)
{
    size_t n_pods = 0;
    size_t n_waiting = 0;
    size_t n_bound = 0;
    size_t n_reserved = 0;
    size_t n_nominated = 0;
    for (int i = 0; i < PODS; i++) {
        const struct model_pod *pod = &model->pod[i];
        if (!pod->there) {
            continue;
        }
        n_pods++;
        n_bound += place_of(pod) >= 0 && pod->nominated < 0;
        n_reserved += pod->reserved >= 0;
        n_nominated += pod->nominated >= 0;
        n_waiting += waits(pod) && pod->reserved < 0;
    }
    assert_int_equal(snapshot->n_pods, n_pods);
    assert_int_equal(snapshot->n_waiting, n_waiting);
    assert_int_equal(snapshot->n_bound, n_bound);
    assert_int_equal(snapshot->n_reserved, n_reserved);
    assert_int_equal(snapshot->n_nominated, n_nominated);
}

static inline void expect_feed(const struct model *model)
{
    for (int i = 0; i < PODS; i++) {
        const struct model_pod *pod = &model->pod[i];
        assert_int_equal(model->fed[i], waits(pod) ? pod->uid : 0);
    }
}

static inline void expect_same(struct model *model)
{
    expect_feed(model);
    if (model->batch) {
        return;
    }
    const struct sl_snapshot *snapshot = sl_store_acquire(model->store);
    size_t n_nodes = 0;
    for (int node = 0; node < NODES; node++) {
        const struct sl_view *view = view_at(snapshot, node_name(node));
        assert_int_equal(view != NULL, model->capacity[node] >= 0);
        if (view != NULL) {
            n_nodes++;
            assert_int_equal(free_at(snapshot, node_name(node), resource_at(node)),
                             free_in_model(model, node));
            assert_int_equal(residents_in_view(view), residents_in_model(model, node));
        }
    }
    assert_int_equal(snapshot->n_nodes, n_nodes);
    assert_true(snapshot->generation >= model->generation);
    model->generation = snapshot->generation;
    expect_counts(model, snapshot);
    sl_store_release(model->store, snapshot);
}

#endif
